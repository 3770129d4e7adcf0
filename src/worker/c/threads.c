#include "worker/c/threads.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"

#include "base/banned.h"

enum {
    PROBE_S = 5, /* for a region of two threads, which starts one */
    NAMED_MOST = 8
};

/* A call that sets the size of a pool, and the variable that says it. */
struct pool {
    const char *call, *variable;
};

/* OpenBLAS's name depends on how it was built. */
static const struct pool pools[] = {
    {"omp_set_num_threads", "OMP_NUM_THREADS"},
    {"openblas_set_num_threads", "OPENBLAS_NUM_THREADS"},
    {"openblas_set_num_threads64_", "OPENBLAS_NUM_THREADS"},
    {"MKL_Set_Num_Threads", "MKL_NUM_THREADS"},
    {"bli_thread_set_num_threads", "BLIS_NUM_THREADS"},
};

enum { POOLS = sizeof pools / sizeof *pools };

void jr_worker_threads_limit(void)
{
    for (int i = 0; i < POOLS; i++)
        (void)setenv(pools[i].variable, "1", 1);
}

static void append_name(struct jr_buf *names, const char *task)
{
    char path[64], name[32];
    (void)snprintf(path, sizeof path, "/proc/self/task/%.16s/comm", task);
    JR_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = read(fd, name, sizeof name); /* of -1, too: -1 */
    if (len > 1)
        jr_buf_printf(names, "%s%.*s", names->len > 0 ? ", " : "", (int)len - 1, name);
}

unsigned jr_worker_threads_print(struct jr_buf *ret)
{
    JR_BUF_CLEANUP struct jr_buf names = JR_BUF_INIT;
    char self[16];
    (void)snprintf(self, sizeof self, "%d", (int)syscall(SYS_gettid));
    JR_CLOSEDIR DIR *dir = opendir("/proc/self/task");
    unsigned count = 0;
    struct dirent *task;
    while (dir != NULL && (task = readdir(dir)) != NULL) {
        if (task->d_name[0] == '.' || strcmp(task->d_name, self) == 0)
            continue;
        if (count++ < NAMED_MOST)
            append_name(&names, task->d_name);
    }
    if (count > 0 && !names.failed)
        jr_buf_printf(ret, "%u thread%s (%s%s)", count, count == 1 ? "" : "s",
                      names.data == NULL ? "" : names.data, count > NAMED_MOST ? ", ..." : "");
    return count;
}

static void do_nothing(void *data)
{
    (void)data;
}

typedef void parallel_function(void (*)(void *), void *, unsigned, unsigned);

/* GOMP_parallel, as GCC calls it for `#pragma omp parallel`. */
static parallel_function *find_parallel(void)
{
    parallel_function *function;
    void *symbol = dlsym(RTLD_DEFAULT, "GOMP_parallel");
    memcpy(&function, &symbol, sizeof function); /* ISO C has no cast */
    return function;
}

bool jr_worker_threads_hang(void)
{
    parallel_function *parallel = find_parallel();
    int status = 0;
    pid_t probe = parallel == NULL ? -1 : fork();
    if (probe == 0) {
        (void)signal(SIGALRM, SIG_DFL);
        (void)alarm(PROBE_S);
        parallel(do_nothing, NULL, 2, 0);
        _exit(0);
    }
    return probe > 0 && waitpid(probe, &status, 0) == probe && status != 0;
}

static uint32_t read_pool_size(const char *variable)
{
    const char *const names[] = {variable, "OMP_NUM_THREADS"};
    for (int i = 0; i < 2; i++) {
        const char *text = getenv(names[i]);
        char *first = text == NULL ? NULL : strndup(text, strcspn(text, ","));
        uint32_t size = 0;
        bool is_number = first != NULL && jr_num_u32(first, &size);
        free(first);
        if (is_number && size > 0 && size <= INT32_MAX)
            return size;
    }
    return 0;
}

void jr_worker_threads_resize(void)
{
    for (int i = 0; i < POOLS; i++) {
        void (*set)(int);
        void *symbol = dlsym(RTLD_DEFAULT, pools[i].call);
        uint32_t size = read_pool_size(pools[i].variable);
        memcpy(&set, &symbol, sizeof set);
        if (symbol != NULL && size > 0)
            set((int)size);
    }
}
