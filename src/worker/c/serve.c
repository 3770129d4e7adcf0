/*
 * The helper of a library's ranks: it loads the library once, and every rank is a fork of it. The
 * other side, and what the two say to each other, is in src/spawn/start_helper.h;
 * python/jobrun/_serve.py does the same for Python.
 */
#include "worker/c/serve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/num.h"
#include "base/pidfd.h"
#include "base/rank_set.h"
#include "worker/c/entry_call.h"
#include "worker/c/threads.h"
#include "worker/c/worker.h"

#include "base/banned.h"

enum {
    CHANNEL = 3,  /* to the runner */
    BATCH = 16,   /* ranks asked for before a `go`, at most */
    RANK_FDS = 6, /* the request, 0, 1, 2, control socket, life line */
    MESSAGE = 4096,
    REQUEST_MOST = 1 << 30,
    CPUS = 8192 /* as many as Linux may be built for */
};

/* A rank that was asked for. */
struct asked {
    unsigned place;
    int line; /* what its life line is to be; 0: it has none */
    int fds[RANK_FDS];
    size_t count;
};

struct helper {
    pid_t runner;
    struct asked batch[BATCH + 1]; /* and a place to receive into */
    size_t count;
};

static void send_message(const char *text)
{
    if (send(CHANNEL, text, strlen(text), MSG_NOSIGNAL) < 0)
        _exit(0); /* the runner has all ranks that it wants */
}

static _Noreturn void fail_helper_stage(const char *stage, const char *why)
{
    char text[MESSAGE];
    (void)snprintf(text, sizeof text, "failed %s\n%s", stage, why);
    (void)fflush(NULL);
    send_message(text);
    _exit(1);
}

/* A device that a descriptor is open on does not survive a fork. `name` is its number, in the
 * folder `fds`; what is none leads nowhere. */
static void refuse_device(int fds, const char *name)
{
    static const char *const devices[] = {"/dev/nvidia", "/dev/kfd", "/dev/dri/render",
                                          "/dev/davinci", "/dev/accel/"};
    char path[64] = "";
    char why[256];
    if (readlinkat(fds, name, path, sizeof path - 1) < 0)
        return;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        if (strncmp(path, devices[i], strlen(devices[i])) != 0)
            continue;
        (void)snprintf(why, sizeof why,
                       "loading the library initialised a device (%s), which does not survive a "
                       "fork: do that in the step, or use start_method: spawn",
                       path);
        fail_helper_stage("fork", why);
    }
}

static void refuse_open_devices(void)
{
    JR_CLOSEDIR DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        refuse_device(dirfd(dir), entry->d_name);
}

/* Threads that loading has left: report them, or fork no rank. */
static void judge_threads(bool refuse)
{
    JR_BUF_CLEANUP struct jr_buf threads = JR_BUF_INIT;
    char text[512];
    if (jr_worker_threads_print(&threads) == 0 || threads.failed)
        return;
    if (jr_worker_threads_hang())
        fail_helper_stage("fork", "loading the library has begun to use OpenMP with several "
                                  "threads, and a fork hangs in its next parallel region: do "
                                  "that in the step, or use start_method: spawn");
    if (refuse) {
        (void)snprintf(text, sizeof text,
                       "loading the library started %s, and a fork has only one: fork_threads is "
                       "refuse. Start them in the step, or use start_method: spawn",
                       threads.data);
        fail_helper_stage("fork", text);
    }
    (void)snprintf(text, sizeof text, "threads %s", threads.data);
    send_message(text);
}

static void load_step_library(const char *path, bool refuse_threads)
{
    struct jr_error err = {0};
    jr_worker_threads_limit();
    if (jr_worker_load(path, &err) == NULL)
        fail_helper_stage("import", err.text);
    judge_threads(refuse_threads);
    refuse_open_devices();
    (void)fflush(NULL); /* or every rank would print it again */
}

/* The next message; the descriptors that came with it go to `ret`. */
static bool receive_request(char text[static MESSAGE + 1], struct asked *ret)
{
    union {
        char bytes[CMSG_SPACE(RANK_FDS * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = {text, MESSAGE};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t len;
    do
        len = recvmsg(CHANNEL, &message, MSG_CMSG_CLOEXEC);
    while (len < 0 && errno == EINTR);
    if (len <= 0)
        return false;
    text[len] = '\0';
    ret->count = 0;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_type == SCM_RIGHTS) {
        ret->count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(ret->fds, CMSG_DATA(head), ret->count * sizeof(int));
    }
    return true;
}

static void close_batch(struct helper *helper, const struct asked *but)
{
    for (size_t i = 0; i < helper->count; i++)
        for (size_t j = 0; j < helper->batch[i].count; j++)
            if (&helper->batch[i] != but)
                (void)close(helper->batch[i].fds[j]);
}

/* Become the runner's child: `between` has forked us and is ending. A death signal set before would
 * be for its end. */
static int adopt_runner(pid_t runner, pid_t between)
{
    int fd = jr_pidfd_open(between);
    struct pollfd end = {.fd = fd, .events = POLLIN};
    while (getppid() == between) /* without pidfds it is looked at */
        (void)poll(&end, 1, fd >= 0 ? -1 : 1);
    if (fd >= 0)
        (void)close(fd);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a signal that there is */
    errno = ESRCH;
    return getppid() == runner ? 0 : -1;
}

/* What a cpuset does not allow is left out in silence: here none may be missing. */
static int bind_rank_cpus(const char *text)
{
    cpu_set_t cpus[CPUS / CPU_SETSIZE], real[CPUS / CPU_SETSIZE] = {0};
    if (*text == '\0')
        return 0;
    (void)jr_set_cpus(cpus, sizeof cpus, text); /* none is EINVAL below */
    if (sched_setaffinity(0, sizeof cpus, cpus) != 0 || sched_getaffinity(0, sizeof real, real) < 0)
        return -1;
    if (CPU_EQUAL_S(sizeof cpus, cpus, real))
        return 0;
    (void)fprintf(stderr,
                  "jobrun: the rank was to run on CPUs %s, which are not all allowed here\n", text);
    errno = EINVAL;
    return -1;
}

/* The string at `at`, and `at` behind it; "" at the end. */
static char *next_string(char **at, char *end)
{
    char *string = *at;
    size_t len = strlen(string);
    *at = len < (size_t)(end - string) ? string + len + 1 : end;
    return string;
}

/* Pointers to the strings from `at` to `end`: `count` of them, a NULL, the others, and a NULL
 * again. One array, so that all of it is in use as long as its second part, the environment, is.
 * NULL if memory runs out. */
static char **take_strings(char *at, char *end, size_t count)
{
    char **strings = calloc((size_t)(end - at) + 2, sizeof *strings);
    size_t used = 0;
    while (strings != NULL && at < end) {
        used += used == count;
        strings[used++] = next_string(&at, end);
    }
    return strings;
}

/* Read the request: the folder and the command line of this process. The text is the rank's until
 * its end. */
static int read_request(int fd, struct jr_worker_words *ret)
{
    struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    uint32_t count = 0;
    if (jr_io_read_fd(&text, fd, REQUEST_MOST, &err) != 0)
        return -1;
    errno = EINVAL;
    if (text.len == 0)
        return -1;
    char *at = text.data, *end = text.data + text.len;
    const char *workdir = next_string(&at, end);
    const char *cpus = next_string(&at, end);
    if (!jr_num_u32(next_string(&at, end), &count) || count > (size_t)(end - at))
        return -1;
    ret->argv = take_strings(at, end, count);
    if (ret->argv == NULL || chdir(workdir) != 0)
        return -1;
    ret->argc = (int)count;
    environ = ret->argv + count + 1;
    return bind_rank_cpus(cpus);
}

static int take_rank_files(const struct asked *mine, struct jr_worker_words *ret)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (dup2(mine->fds[1 + fd], fd) < 0)
            return -1;
    size_t count = mine->count;
    /* The descriptor of the highest number is let go of first at the end. */
    if (mine->line > 0 && dup3(mine->fds[--count], mine->line, O_CLOEXEC) < 0)
        return -1;
    if (count > 4 && dup2(mine->fds[4], JR_WORKER_CONTROL) < 0)
        return -1;
    int result = read_request(mine->fds[0], ret);
    for (size_t i = 0; i < mine->count; i++)
        if (mine->fds[i] > JR_WORKER_CONTROL)
            (void)close(mine->fds[i]);
    return result;
}

/* In a rank: give up what is the helper's, and be ready to run. */
static void become_rank(struct helper *helper, const struct asked *mine, pid_t between,
                        struct jr_worker_words *ret)
{
    close_batch(helper, mine);
    (void)close(CHANNEL);
    (void)setsid(); /* a fork leads no group yet, so it can */
    if (adopt_runner(helper->runner, between) == 0 && take_rank_files(mine, ret) == 0)
        return;
    perror("jobrun: a rank could not be made of the helper");
    _exit(127);
}

/* In the process between: returns true in the ranks only. */
static bool fork_batch(struct helper *helper, struct jr_worker_words *ret)
{
    pid_t between = getpid();
    char text[64];
    for (size_t i = 0; i < helper->count; i++) {
        const struct asked *mine = &helper->batch[i];
        pid_t pid = fork();
        if (pid == 0) {
            become_rank(helper, mine, between, ret);
            return true;
        }
        if (pid < 0)
            (void)snprintf(text, sizeof text, "refused %u %d", mine->place, errno);
        else
            (void)snprintf(text, sizeof text, "rank %u %d", mine->place, pid);
        send_message(text);
    }
    _exit(0);
}

/* Fork what was asked for; true in the ranks. */
static bool fork_ranks(struct helper *helper, struct jr_worker_words *ret)
{
    pid_t between = fork();
    if (between < 0)
        fail_helper_stage("fork", strerror(errno));
    if (between == 0)
        return fork_batch(helper, ret);
    close_batch(helper, NULL);
    helper->count = 0;
    while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
        continue;
    send_message("done");
    return false;
}

void jr_worker_serve(const char *path, bool refuse_threads, struct jr_worker_words *ret)
{
    struct helper helper = {.runner = getppid()};
    char text[MESSAGE + 1];
    load_step_library(path, refuse_threads);
    send_message("ready");
    for (;;) {
        struct asked *next = &helper.batch[helper.count];
        if (!receive_request(text, next))
            _exit(0);
        if (sscanf(text, "rank %u %d", &next->place, &next->line) == 2 && ++helper.count > BATCH)
            fail_helper_stage("fork", "more ranks were asked for than it takes at once");
        if (strcmp(text, "go") == 0 && fork_ranks(&helper, ret)) {
            jr_worker_threads_resize();
            return;
        }
    }
}
