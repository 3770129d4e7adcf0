/* The helper of a library's ranks, as a child of this test, which is the runner that it talks to:
 * each rank that is asked for is a fork of it, with its own words, folder, environment and
 * files. */
#include "worker/c/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/proc.h"
#include "scratch.h"
#include "worker/c/worker.h"

enum { CHANNEL = 3, WAIT_MS = 60000, MOST_FDS = 5 };

/* What entry_call.c asks of main.c, and no rank here does. */
int jr_worker_rank(struct jr_rank *ret, struct jr_error *err)
{
    (void)ret;
    return jr_error_set(err, JR_STATUS_LAUNCH, "no rank here");
}

struct bench {
    struct scratch scratch;
    int channel;
    pid_t helper;
};

static struct bench bench;

/* How many CPUs it may run on, and the first of them. */
static int own_cpus(int *ret_first)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    (void)sched_getaffinity(0, sizeof cpus, &cpus);
    for (*ret_first = 0; *ret_first < CPU_SETSIZE - 1; ++*ret_first)
        if (CPU_ISSET((size_t)*ret_first, &cpus))
            break;
    return CPU_COUNT(&cpus);
}

/* How many descriptors are open besides standard input, output and error. */
static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 3; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* In a rank: tell by files and the exit code what it was given. */
static _Noreturn void be_rank(const struct jr_worker_words *words)
{
    char folder[128] = "";
    (void)printf("%s|%s", getcwd(folder, sizeof folder) == NULL ? "" : folder,
                 getenv("X") == NULL ? "none" : getenv("X"));
    for (int i = 0; i < words->argc; i++)
        (void)printf("|%s", words->argv[i]);
    int death = 0, first = 0, cpus = own_cpus(&first);
    const char *runner = getenv("RUNNER");
    (void)prctl(PR_GET_PDEATHSIG, &death);
    (void)printf("|%d", words->argv[words->argc] == NULL);
    (void)printf("|%d", runner != NULL && getppid() == atoi(runner));
    (void)printf("|%d", getsid(0) == getpid());
    (void)printf("|%d|%d|%d\n", death == SIGKILL, count_descriptors(), cpus);
    (void)fflush(stdout);
    (void)fprintf(stderr, "err\n");
    if (fcntl(JR_WORKER_CONTROL, F_GETFD) >= 0)
        (void)!write(JR_WORKER_CONTROL, "r", 1);
    _exit(words->argc);
}

/* How the helper is begun, besides its library. */
enum start {
    PLAIN,
    REFUSE,      /* threads */
    IN_DEV,      /* with a /dev of its own that has the file LIBRARY_OPENS */
    BELOW,       /* a process between, which does not take ranks over */
    ONE_PROCESS, /* it may have no other */
    TWO_PROCESSES
};

static const char *const dev_folders[] = {"/dev/dri", "/dev/accel", "/dev/shm"};

/* What has a file of its own name in /dev; false where it cannot be. */
static bool make_device(const char *path)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("dev", "/dev", "tmpfs", 0, NULL) != 0)
        return false;
    for (size_t i = 0; i < sizeof dev_folders / sizeof *dev_folders; i++)
        (void)mkdir(dev_folders[i], 0700);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    return fd >= 0 && close(fd) == 0;
}

/* As a user of which there are `most` processes at most, this one counted. */
static bool limit_processes(unsigned most)
{
    const struct rlimit limit = {most, most};
    return setrlimit(RLIMIT_NPROC, &limit) == 0 && setgid(64321) == 0 && setuid(64321) == 0 &&
           prctl(PR_SET_DUMPABLE, 1) == 0; /* it may see its descriptors */
}

/* A copy of the library that every user may load, wherever it lies. */
static int copy_library(void)
{
    JR_BUF_CLEANUP struct jr_buf bytes = JR_BUF_INIT;
    char path[64];
    CU_ASSERT_EQUAL(jr_io_read_file(&bytes, AT_FDCWD, TEST_LIBRARY, 16 << 20, NULL), 0);
    int to = openat(bench.scratch.fd, "library", O_WRONLY | O_CREAT, 0600);
    CU_ASSERT_TRUE(fchmod(to, 0755) == 0 && jr_io_write_all(to, bytes.data, bytes.len) == 0);
    (void)close(to);
    (void)snprintf(path, sizeof path, "%s/library", bench.scratch.dir);
    return open(path, O_RDONLY);
}

/* `channel` becomes descriptor 3, which the folder may have. */
static _Noreturn void be_helper(const char *path, enum start start, int channel)
{
    struct jr_worker_words words = {0};
    int said = openat(bench.scratch.fd, "said", O_WRONLY | O_CREAT, 0600);
    (void)alarm(60);
    if (start == ONE_PROCESS || start == TWO_PROCESSES)
        (void)dup2(copy_library(), STDIN_FILENO);
    (void)dup2(said, STDOUT_FILENO);
    if (start == BELOW)
        (void)dup2(openat(bench.scratch.fd, "told", O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    (void)dup2(channel, CHANNEL);
    for (int fd = CHANNEL + 1; fd < 1024; fd++)
        (void)close(fd);
    if ((start == IN_DEV && !make_device(getenv("LIBRARY_OPENS"))) ||
        (start == ONE_PROCESS && !limit_processes(1)) ||
        (start == TWO_PROCESSES && !limit_processes(2))) {
        (void)send(CHANNEL, "skipped", 7, MSG_NOSIGNAL);
        _exit(0);
    }
    jr_worker_serve(path, start == REFUSE, &words);
    be_rank(&words);
}

static void begin(const char *path, enum start start)
{
    int ends[2];
    char runner[16];
    bench = (struct bench){0};
    (void)fflush(stdout);
    scratch_start(&bench.scratch);
    (void)snprintf(runner, sizeof runner, "%d", getpid());
    (void)setenv("RUNNER", runner, 1);
    CU_ASSERT_EQUAL(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    bench.helper = fork();
    if (bench.helper == 0) {
        (void)close(ends[0]); /* its end is seen by who is left */
        if (start == BELOW && fork() != 0)
            _exit(wait(NULL) < 0);
        be_helper(path, start, ends[1]);
    }
    (void)close(ends[1]);
    bench.channel = ends[0];
}

/* The next message of the helper; "" at its end. Static. */
static const char *hear(void)
{
    static char text[4097];
    struct pollfd item = {.fd = bench.channel, .events = POLLIN};
    CU_ASSERT_EQUAL_FATAL(poll(&item, 1, WAIT_MS), 1);
    ssize_t len = recv(bench.channel, text, sizeof text - 1, 0);
    text[len < 0 ? 0 : len] = '\0';
    return text;
}

static void begin_ready(enum start start)
{
    begin(TEST_LIBRARY, start);
    JR_ASSERT_TEXT(hear(), "ready");
}

ENDING(end)
{
    int status;
    (void)close(bench.channel);
    while (waitpid(-1, &status, 0) > 0)
        continue;
    scratch_end(&bench.scratch);
}

/* The helper says `last` and ends with this exit code. */
static void end_failed(const char *last)
{
    int status = -1;
    JR_ASSERT_TEXT(hear(), last);
    JR_ASSERT_TEXT(hear(), "");
    CU_ASSERT_EQUAL(waitpid(bench.helper, &status, 0), bench.helper);
    CU_ASSERT_EQUAL(status, 1 << 8);
    end();
}

static int open_file(const char *name)
{
    int fd = openat(bench.scratch.fd, name, O_RDWR | O_CREAT | O_APPEND, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    return fd;
}

static const char *content(const char *name)
{
    static char text[1024];
    int fd = openat(bench.scratch.fd, name, O_RDONLY);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[len < 0 ? 0 : len] = '\0';
    if (fd >= 0)
        (void)close(fd);
    return text;
}

static void send_text(const char *text, const int *fds, size_t count)
{
    union {
        char bytes[CMSG_SPACE(MOST_FDS * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec iov = {(char *)(uintptr_t)text, strlen(text)};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(head), fds, count * sizeof(int));
    }
    CU_ASSERT_TRUE(sendmsg(bench.channel, &message, MSG_NOSIGNAL) >= 0);
}

/* Ask for a rank by this file, which is closed; its files are "out" and "err"
 * with its number. `control`: with a socket too, whose other end is returned.
 */
static int ask_by(unsigned rank, int request, bool control)
{
    char out[16], err[16], text[16];
    int ends[2] = {-1, -1};
    (void)snprintf(out, sizeof out, "out%u", rank);
    (void)snprintf(err, sizeof err, "err%u", rank);
    (void)snprintf(text, sizeof text, "rank %u 0", rank);
    int fds[MOST_FDS] = {request, open("/dev/null", O_RDONLY), open_file(out), open_file(err), -1};
    if (control) {
        CU_ASSERT_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        fds[4] = ends[1];
    }
    send_text(text, fds, control ? 5 : 4);
    for (int i = 0; i < MOST_FDS; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    return ends[0];
}

/* The same by these bytes. */
static int ask(unsigned rank, const char *request, size_t len, bool control)
{
    int fd = open_file("request");
    CU_ASSERT_TRUE(ftruncate(fd, 0) == 0 && write(fd, request, len) == (ssize_t)len);
    (void)close(fd);
    fd = openat(bench.scratch.fd, "request", O_RDONLY);
    (void)unlinkat(bench.scratch.fd, "request", 0);
    return ask_by(rank, fd, control);
}

/* The exit code of the rank that the helper names next; -1: none was made. */
static int await(unsigned rank)
{
    unsigned place = 99;
    int pid = 0, status = 0;
    CU_ASSERT_EQUAL(sscanf(hear(), "rank %u %d", &place, &pid), 2);
    CU_ASSERT_EQUAL(place, rank);
    if (pid <= 0)
        return -1;
    struct pollfd none = {.fd = -1};
    /* It becomes ours when the process between has ended. */
    while (waitpid(pid, &status, 0) < 0 && errno == ECHILD)
        (void)poll(&none, 1, 1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

#define REQUEST(text) (text), sizeof(text)
#define INVALID       "Invalid argument"

/* A library that cannot be loaded is said, and no rank is asked for. */
TEST(a_library_has_to_load)
{
    BEGIN(end, begin("/nosuch/lib.so", PLAIN));
    const char *text = hear();
    CU_ASSERT_EQUAL(strncmp(text, "failed import\n", 14), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "/nosuch/lib.so"));
    JR_ASSERT_TEXT(hear(), "");
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(bench.helper, &status, 0), bench.helper);
    CU_ASSERT_EQUAL(status, 1 << 8);
}

/* A rank is a fork with its own folder, words, environment and files, and a child of the runner. */
TEST(a_rank_is_what_was_asked_for)
{
    BEGIN(end, begin_ready(PLAIN));
    char request[256], expected[256], runner[32];
    int len = snprintf(runner, sizeof runner, "RUNNER=%d", getpid());
    CU_ASSERT_TRUE(len > 0);
    size_t size = 0;
    const char *const parts[] = {"/", "", "3", "step", "a b", "", "X=7", runner};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memcpy(request + size, parts[i], strlen(parts[i]) + 1);
        size += strlen(parts[i]) + 1;
    }
    int control = ask(5, request, size, true);
    send_text("go", NULL, 0);
    CU_ASSERT_EQUAL(await(5), 3);
    JR_ASSERT_TEXT(hear(), "done");
    int first, cpus = own_cpus(&first);
    (void)snprintf(expected, sizeof expected, "/|7|step|a b||1|1|1|1|1|%d\n", cpus);
    JR_ASSERT_TEXT(content("out5"), expected);
    JR_ASSERT_TEXT(content("err5"), "err\n");
    char byte = 0;
    CU_ASSERT_EQUAL(read(control, &byte, 1), 1);
    CU_ASSERT_EQUAL(byte, 'r');
    CU_ASSERT_EQUAL(read(control, &byte, 1), 0); /* nobody else has it */
    (void)close(control);
}

/* Several are made at once, in their order, and more with the next `go`. */
TEST(makes_ranks_in_batches)
{
    BEGIN(end, begin_ready(PLAIN));
    for (unsigned batch = 0; batch < 3; batch++) {
        unsigned count = batch == 1 ? 16 : 2;
        for (unsigned i = 0; i < count; i++)
            (void)ask(100 * batch + i, REQUEST("/\0\0001\0one\0RUNNER=-1"), false);
        send_text("go", NULL, 0);
        pid_t pids[16];
        unsigned place;
        for (unsigned i = 0; i < count; i++) {
            CU_ASSERT_EQUAL(sscanf(hear(), "rank %u %d", &place, &pids[i]), 2);
            CU_ASSERT_EQUAL(place, 100 * batch + i);
        }
        JR_ASSERT_TEXT(hear(), "done");
        for (unsigned i = 0; i < count; i++) {
            int status = 0;
            CU_ASSERT_EQUAL(waitpid(pids[i], &status, 0), pids[i]);
            CU_ASSERT_EQUAL(status, 1 << 8);
        }
    }
    int first, cpus = own_cpus(&first);
    char expected[64];
    (void)snprintf(expected, sizeof expected, "/|none|one|1|0|1|1|0|%d\n", cpus);
    JR_ASSERT_TEXT(content("out115"), expected);
}

/* More than it takes at once is an error of the runner. */
TEST(refuses_too_many)
{
    begin(TEST_LIBRARY, PLAIN);
    JR_ASSERT_TEXT(hear(), "ready");
    for (unsigned i = 0; i < 17; i++)
        (void)ask(i, REQUEST("/\0\0000\0RUNNER=-1"), false);
    end_failed("failed fork\nmore ranks were asked for than it takes at once");
}

/* The rank that was asked for last is none, and says why. */
static void check_no_rank(unsigned rank, const char *why)
{
    char name[16], line[128];
    send_text("go", NULL, 0);
    CU_ASSERT_EQUAL(await(rank), 127);
    JR_ASSERT_TEXT(hear(), "done");
    (void)snprintf(name, sizeof name, "err%u", rank);
    (void)snprintf(line, sizeof line, "jobrun: a rank could not be made of the helper: %s\n", why);
    JR_ASSERT_TEXT(content(name), line);
}

/* A request that is none, or asks for what is not there, is no rank. */
TEST(a_bad_request_is_no_rank)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *why;
    } vectors[] = {
        {"", 0, INVALID},
        {REQUEST(""), INVALID},
        {"/", 1, INVALID},
        {REQUEST("/\0"), INVALID},
        {REQUEST("/\0\0x\0"), INVALID},
        {REQUEST("/\0\0-1\0"), INVALID},
        {REQUEST("/\0\00099999\0a"), INVALID},
        {"/\0\0001", 4, INVALID},
        {REQUEST("/nosuch\0\0000\0RUNNER=-1"), "No such file or directory"},
        {REQUEST("/\0x\0000\0RUNNER=-1"), INVALID},
        {REQUEST("/\0008191\0000\0RUNNER=-1"), INVALID},
        {REQUEST("/\0008192\0000\0RUNNER=-1"), INVALID},
    };
    BEGIN(end, begin_ready(PLAIN));
    for (unsigned i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        (void)ask(i, vectors[i].bytes, vectors[i].len, false);
        check_no_rank(i, vectors[i].why);
    }
    (void)ask_by(99, open("/", O_RDONLY), false);
    check_no_rank(99, "Is a directory");
}

/* The end of the runner is the helper's. */
TEST(ends_with_the_runner)
{
    int status = -1;
    BEGIN(end, begin_ready(REFUSE));
    (void)shutdown(bench.channel, SHUT_WR);
    CU_ASSERT_EQUAL(waitpid(bench.helper, &status, 0), bench.helper);
    CU_ASSERT_EQUAL(status, 0);
}

/* A word that it does not know, and a `go` without ranks, do nothing. */
TEST(passes_over_other_words)
{
    BEGIN(end, begin_ready(PLAIN));
    char longest[6000];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    const char *const words[] = {"x", "nonsense", "gone", "rank", "rank x", longest};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        send_text(words[i], NULL, 0);
    send_text("go", NULL, 0);
    JR_ASSERT_TEXT(hear(), "done");
    (void)ask(3, REQUEST("/\0\0002\0a\0b\0RUNNER=-1"), false);
    send_text("go", NULL, 0);
    CU_ASSERT_EQUAL(await(3), 2);
    JR_ASSERT_TEXT(hear(), "done");
}

/* Ask for one rank, and see what it printed. */
static void check_rank(const char *request, size_t len, const char *expected)
{
    (void)ask(0, request, len, false);
    send_text("go", NULL, 0);
    CU_ASSERT_TRUE(await(0) >= 0);
    JR_ASSERT_TEXT(hear(), "done");
    JR_ASSERT_TEXT(content("out0"), expected);
}

/* Its words may all be empty: then as many bytes as words are left. */
TEST(words_may_be_empty)
{
    char expected[64];
    int first, cpus = own_cpus(&first);
    BEGIN(end, begin_ready(PLAIN));
    (void)snprintf(expected, sizeof expected, "/|none|||1|0|1|1|0|%d\n", cpus);
    check_rank(REQUEST("/\0\0002\0\0"), expected);
}

/* A rank runs on the CPUs that it is to have, or on none. */
TEST(binds_to_cpus)
{
    char request[64], expected[256];
    int first;
    (void)own_cpus(&first);
    BEGIN(end, begin_ready(PLAIN));
    int len = snprintf(request, sizeof request, "/%c%d%c0", 0, first, 0);
    check_rank(request, (size_t)len + 1, "/|none|1|0|1|1|0|1\n");
    len = snprintf(request, sizeof request, "/%c%d,8191%c0", 0, first, 0);
    (void)ask(1, request, (size_t)len + 1, false);
    send_text("go", NULL, 0);
    CU_ASSERT_EQUAL(await(1), 127);
    (void)snprintf(expected, sizeof expected,
                   "jobrun: the rank was to run on CPUs %d,8191, which are not all allowed here\n"
                   "jobrun: a rank could not be made of the helper: Invalid argument\n",
                   first);
    JR_ASSERT_TEXT(content("err1"), expected);
}

/* A rank that became another process's child would outlive the runner: it is none. */
TEST(a_rank_is_the_runners)
{
    BEGIN(end, begin_ready(BELOW));
    (void)ask(4, REQUEST("/\0\0000\0"), false);
    send_text("go", NULL, 0);
    CU_ASSERT_EQUAL(await(4), 127);
    JR_ASSERT_TEXT(hear(), "done");
    /* It has not taken its files yet: the helper's log tells of it. */
    JR_ASSERT_TEXT(content("told"), "jobrun: a rank could not be made of the "
                                    "helper: No such process\n");
}

/* Nobody hears the helper: it ends, as the runner wants no rank any more. */
TEST(ends_when_nobody_hears)
{
    int status = -1;
    BEGIN(end, begin_ready(PLAIN));
    (void)shutdown(bench.channel, SHUT_RD);
    send_text("go", NULL, 0);
    CU_ASSERT_EQUAL(waitpid(bench.helper, &status, 0), bench.helper);
    CU_ASSERT_EQUAL(status, 0);
}

/* A signal that the library takes does not end the helper. */
TEST(waits_on_when_a_signal_comes)
{
    (void)setenv("LIBRARY_DOES", "signal", 1);
    BEGIN(end, begin(TEST_LIBRARY, PLAIN));
    (void)unsetenv("LIBRARY_DOES");
    JR_ASSERT_TEXT(hear(), "ready");
    struct pollfd none = {.fd = -1};
    struct jr_proc proc;
    while (jr_proc_of(&proc, bench.helper) && proc.state != 'S')
        (void)poll(&none, 1, 1); /* until it waits for the next word */
    CU_ASSERT_EQUAL(kill(bench.helper, SIGUSR1), 0);
    JR_ASSERT_TEXT(hear(), "handled");
    send_text("go", NULL, 0);
    JR_ASSERT_TEXT(hear(), "done");
}

/* What loading leaves of threads is told, or is a reason to fork no rank. */
TEST(tells_of_threads_of_the_library)
{
    static const struct {
        const char *loading;
        enum start start;
        const char *told; /* before it is ready; or why it fails */
        bool fails;
    } vectors[] = {
        {"thread", PLAIN, "threads 1 thread (busy)", false},
        {"thread", REFUSE,
         "failed fork\nloading the library started 1 thread (busy), and a fork has only one: "
         "fork_threads is refuse. Start them in the step, or use start_method: spawn",
         true},
        {"thread hang", PLAIN,
         "failed fork\nloading the library has begun to use OpenMP with several threads, and a "
         "fork hangs in its next parallel region: do that in the step, or use start_method: spawn",
         true},
        {"hang", REFUSE, NULL, false}, /* nobody uses it */
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        (void)setenv("LIBRARY_DOES", vectors[i].loading, 1);
        begin(TEST_LIBRARY, vectors[i].start);
        (void)unsetenv("LIBRARY_DOES");
        if (vectors[i].fails) {
            end_failed(vectors[i].told);
            continue;
        }
        if (vectors[i].told != NULL)
            JR_ASSERT_TEXT(hear(), vectors[i].told);
        JR_ASSERT_TEXT(hear(), "ready");
        end();
    }
}

/* A pool has one thread while the library is loaded, and in the rank as many as its variables
 * say. */
TEST(sizes_the_pools_of_a_rank)
{
    char expected[64];
    int first, cpus = own_cpus(&first);
    (void)setenv("LIBRARY_DOES", "print", 1);
    (void)setenv("OMP_NUM_THREADS", "64", 1);
    BEGIN(end, begin(TEST_LIBRARY, PLAIN));
    (void)unsetenv("LIBRARY_DOES");
    (void)unsetenv("OMP_NUM_THREADS");
    JR_ASSERT_TEXT(hear(), "ready");
    /* It is printed now, and not once more by each rank. */
    JR_ASSERT_TEXT(content("said"), "limit 1.");
    (void)snprintf(expected, sizeof expected, "pool 3|/|none|1|0|1|1|0|%d\n", cpus);
    check_rank(REQUEST("/\0\0000\0OMP_NUM_THREADS=3"), expected);
}

/* What loading has printed is there, if no rank is forked, too. */
TEST(prints_before_it_fails)
{
    (void)setenv("LIBRARY_DOES", "print thread", 1);
    BEGIN(end, begin(TEST_LIBRARY, REFUSE));
    (void)unsetenv("LIBRARY_DOES");
    CU_ASSERT_PTR_NOT_NULL(strstr(hear(), "failed fork\n"));
    JR_ASSERT_TEXT(hear(), "");
    JR_ASSERT_TEXT(content("said"), "limit 1.");
}

#define TEN  "0123456789"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

/* A device that loading has opened is a reason to fork no rank. Other files in /dev are not. */
TEST(refuses_devices)
{
    static const struct {
        const char *path;
        bool refused;
    } vectors[] = {
        {"/dev/nvidia0", true},          {"/dev/kfd", true},          {"/dev/dri/renderD128", true},
        {"/dev/davinci0", true},         {"/dev/accel/accel0", true}, {"/dev/dri/card0", false},
        {"/dev/shm/dev/nvidia0", false}, {"/dev/nvidia" LONG, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char expected[256];
        (void)setenv("LIBRARY_OPENS", vectors[i].path, 1);
        begin(TEST_LIBRARY, IN_DEV);
        (void)unsetenv("LIBRARY_OPENS");
        (void)snprintf(expected, sizeof expected,
                       "failed fork\nloading the library initialised a device (%.63s), which does "
                       "not survive a fork: do that in the step, or use start_method: spawn",
                       vectors[i].path);
        const char *text = hear();
        if (strcmp(text, "skipped") != 0)
            JR_ASSERT_TEXT(text, vectors[i].refused ? expected : "ready");
        end();
    }
}

/* Where no process can be made, that is said instead of a rank. */
TEST(says_that_it_cannot_fork)
{
    char refused[32];
    for (int processes = ONE_PROCESS; processes <= TWO_PROCESSES; processes++) {
        begin("/proc/self/fd/0", (enum start)processes);
        const char *text = hear();
        if (strcmp(text, "skipped") == 0) { /* this user may not change */
            end();
            continue;
        }
        JR_ASSERT_TEXT(text, "ready");
        (void)ask(7, REQUEST("/\0\0000\0"), false);
        send_text("go", NULL, 0);
        if (processes == ONE_PROCESS) {
            end_failed("failed fork\nResource temporarily unavailable");
            continue;
        }
        (void)snprintf(refused, sizeof refused, "refused 7 %d", EAGAIN);
        JR_ASSERT_TEXT(hear(), refused);
        JR_ASSERT_TEXT(hear(), "done");
        end();
    }
}
