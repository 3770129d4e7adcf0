/* What a helper does about threads, in processes of their own: each case sets the environment and
 * starts what it wants. The test itself exports what the libraries would. */
#include "worker/c/threads.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptors.h"
#include "unit.h"

#define EXPORTED __attribute__((visibility("default")))

/* The sizes that were set; -1: none was. */
static int omp, openblas, openblas64, mkl, blis;

EXPORTED void omp_set_num_threads(int size);
EXPORTED void openblas_set_num_threads(int size);
EXPORTED void openblas_set_num_threads64_(int size);
EXPORTED void MKL_Set_Num_Threads(int size);
EXPORTED void bli_thread_set_num_threads(int size);
EXPORTED void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags);

void omp_set_num_threads(int size)
{
    omp = size;
}

void openblas_set_num_threads(int size)
{
    openblas = size;
}

void openblas_set_num_threads64_(int size)
{
    openblas64 = size;
}

void MKL_Set_Num_Threads(int size)
{
    mkl = size;
}

void bli_thread_set_num_threads(int size)
{
    blis = size;
}

/* How a parallel region ends in a fork: 0 well, NEVER not at all, else by this signal. */
enum { NEVER = -1, REGION_S = 5, WAIT_MS = 60000 };
static int region_signal;

/* Hang until the alarm of the one who tries the region, which is due in five seconds, and comes at
 * once here. */
static void hang_until_alarm(void)
{
    static const struct itimerval soon = {.it_value = {.tv_usec = 1}};
    struct itimerval left = {0};
    if (getitimer(ITIMER_REAL, &left) != 0 || left.it_value.tv_sec > REGION_S ||
        (left.it_value.tv_sec == 0 && left.it_value.tv_usec == 0))
        _exit(0); /* it is another's, or none: nobody would know */
    (void)setitimer(ITIMER_REAL, &soon, NULL);
    (void)poll(NULL, 0, WAIT_MS);
    _exit(0);
}

void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags)
{
    if (threads != 2 || flags != 0)
        _exit(0); /* it is not asked for two threads: nothing hangs */
    function(data);
    if (region_signal == NEVER)
        hang_until_alarm();
    if (region_signal != 0)
        (void)raise(region_signal);
}

static const char *const variables[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                        "MKL_NUM_THREADS", "BLIS_NUM_THREADS"};

static void set_all(const char *value)
{
    for (size_t i = 0; i < 4; i++)
        if (value == NULL)
            (void)unsetenv(variables[i]);
        else
            (void)setenv(variables[i], value, 1);
}

TEST(limits_pools_that_are_made)
{
    for (int i = 0; i < 2; i++) {
        set_all(i == 0 ? NULL : "64");
        jr_worker_threads_limit();
        for (size_t k = 0; k < 4; k++)
            JR_ASSERT_TEXT(getenv(variables[k]), "1");
    }
}

TEST(sizes_pools_by_their_variables)
{
    static const struct {
        const char *omp, *openblas, *mkl, *blis;
        int want[4];
    } vectors[] = {
        {NULL, NULL, NULL, NULL, {0, 0, 0, 0}},
        {"", "", "", "", {0, 0, 0, 0}},
        {"x", "-1", "0", "1.5", {0, 0, 0, 0}},
        {"2147483648", NULL, NULL, NULL, {0, 0, 0, 0}},
        {"2147483647", NULL, NULL, "1", {2147483647, 2147483647, 2147483647, 1}},
        {"4", NULL, NULL, NULL, {4, 4, 4, 4}},
        {"4", "5", "6", "7", {4, 5, 6, 7}},
        {"4,2", "", "6", "x", {4, 4, 6, 4}},
        {"4", "0", "-1", "1.5", {4, 4, 4, 4}},
        {NULL, "5", NULL, NULL, {0, 5, 0, 0}},
        {"0", NULL, "6", NULL, {0, 0, 6, 0}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const char *const values[] = {vectors[i].omp, vectors[i].openblas, vectors[i].mkl,
                                      vectors[i].blis};
        set_all(NULL);
        for (size_t k = 0; k < 4; k++)
            if (values[k] != NULL)
                (void)setenv(variables[k], values[k], 1);
        omp = openblas = openblas64 = mkl = blis = -1;
        jr_worker_threads_resize();
        int want[4];
        for (size_t k = 0; k < 4; k++)
            want[k] = vectors[i].want[k] == 0 ? -1 : vectors[i].want[k];
        CU_ASSERT_EQUAL(omp, want[0]);
        CU_ASSERT_EQUAL(openblas, want[1]);
        CU_ASSERT_EQUAL(openblas64, want[1]);
        CU_ASSERT_EQUAL(mkl, want[2]);
        CU_ASSERT_EQUAL(blis, want[3]);
    }
}

static pthread_barrier_t named;

static void *wait_by_name(void *name)
{
    (void)prctl(PR_SET_NAME, name);
    (void)pthread_barrier_wait(&named);
    for (;;)
        (void)pause();
    return NULL;
}

/* In a fork with `count` more threads, named a, b, c... but that the nameless one has no name: what
 * is told. */
static void check_told(unsigned count, unsigned nameless, const char *want)
{
    int ends[2];
    char told[256] = "";
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        static char names[16][2];
        struct jr_buf text = JR_BUF_INIT;
        pthread_t thread;
        (void)pthread_barrier_init(&named, NULL, count + 1);
        for (unsigned i = 0; i < count; i++) {
            names[i][0] = (char)(i == nameless ? '\0' : 'a' + i);
            (void)pthread_create(&thread, NULL, wait_by_name, names[i]);
        }
        if (count > 0)
            (void)pthread_barrier_wait(&named);
        unsigned found = jr_worker_threads_print(&text);
        if (text.len > 0 && write(ends[1], text.data, text.len) < 0)
            _exit(100);
        _exit((int)found);
    }
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(WEXITSTATUS(status), (int)count);
    (void)close(ends[1]);
    CU_ASSERT_TRUE(read(ends[0], told, sizeof told - 1) >= 0);
    JR_ASSERT_TEXT(told, want);
    (void)close(ends[0]);
}

TEST(tells_of_threads)
{
    enum { ALL_NAMED = 99 };
    check_told(0, ALL_NAMED, "");
    check_told(1, ALL_NAMED, "1 thread (a)");
    check_told(2, ALL_NAMED, "2 threads (a, b)");
    check_told(2, 1, "2 threads (a)");
    check_told(1, 0, "1 thread ()");
    check_told(8, ALL_NAMED, "8 threads (a, b, c, d, e, f, g, h)");
    check_told(9, ALL_NAMED, "9 threads (a, b, c, d, e, f, g, h, ...)");
}

/* The thread that asks is not told of, nor is a descriptor left. */
TEST(tells_of_others_alone)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    unsigned before = count_descriptors();
    CU_ASSERT_TRUE(jr_worker_threads_print(&text) == 0 && text.len == 0);
    CU_ASSERT_EQUAL(count_descriptors(), before);
}

TEST(knows_of_regions_that_hang)
{
    pid_t self = getpid();
    region_signal = 0;
    CU_ASSERT_FALSE(jr_worker_threads_hang());
    if (getpid() != self)
        _exit(99);           /* what was forked to try it ends with that */
    region_signal = SIGALRM; /* as one that hangs is ended */
    CU_ASSERT_TRUE(jr_worker_threads_hang());
    region_signal = SIGKILL;
    CU_ASSERT_TRUE(jr_worker_threads_hang());
    region_signal = NEVER;
    (void)signal(SIGALRM, SIG_IGN); /* the library may have done so */
    CU_ASSERT_TRUE(jr_worker_threads_hang());
    (void)signal(SIGALRM, SIG_DFL);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
}
