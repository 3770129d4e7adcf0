/* The helper of a library's ranks, as a child of this test, which is the runner
 * that it talks to: each rank that is asked for is a fork of it, with its own
 * words, folder, environment and files. */
#include "worker/c/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* In a rank: tell by files and the exit code what it was given. */
static _Noreturn void be_rank(const struct jr_worker_words *words)
{
    char folder[128] = "";
    (void)printf("%s|%s", getcwd(folder, sizeof folder) == NULL ? "" : folder,
                 getenv("X") == NULL ? "none" : getenv("X"));
    for (int i = 0; i < words->argc; i++)
        (void)printf("|%s", words->argv[i]);
    (void)printf("|%d", words->argv[words->argc] == NULL);
    (void)printf("|%d", getppid() == atoi(getenv("RUNNER")));
    (void)printf("|%d\n", getsid(0) == getpid());
    (void)fflush(stdout);
    (void)fprintf(stderr, "err\n");
    if (fcntl(JR_WORKER_CONTROL, F_GETFD) >= 0)
        (void)!write(JR_WORKER_CONTROL, "r", 1);
    _exit(words->argc);
}

static void begin(const char *path, bool refuse)
{
    int ends[2];
    char runner[16];
    bench = (struct bench){0};
    scratch_start(&bench.scratch);
    (void)snprintf(runner, sizeof runner, "%d", getpid());
    (void)setenv("RUNNER", runner, 1);
    CU_ASSERT_EQUAL(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    bench.helper = fork();
    if (bench.helper == 0) {
        struct jr_worker_words words = {0};
        (void)alarm(60);
        (void)dup2(ends[1], CHANNEL);
        for (int fd = CHANNEL + 1; fd < 64; fd++)
            (void)close(fd);
        jr_worker_serve(path, refuse, &words);
        be_rank(&words);
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

static void end(void)
{
    int status;
    (void)close(bench.channel);
    while (waitpid(-1, &status, 0) > 0)
        continue;
    scratch_end(&bench.scratch);
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

/* Ask for a rank whose request is these bytes; its files are "out" and "err"
 * with its number. `control`: with a socket too, whose other end is returned.
 */
static int ask(unsigned rank, const char *request, size_t len, bool control)
{
    char out[16], err[16], text[16];
    int ends[2] = {-1, -1};
    (void)snprintf(out, sizeof out, "out%u", rank);
    (void)snprintf(err, sizeof err, "err%u", rank);
    (void)snprintf(text, sizeof text, "rank %u", rank);
    int fds[MOST_FDS] = {open_file("request"), open("/dev/null", O_RDONLY),
                         open_file(out), open_file(err), -1};
    CU_ASSERT_EQUAL(ftruncate(fds[0], 0), 0);
    CU_ASSERT_EQUAL(write(fds[0], request, len), (ssize_t)len);
    (void)close(fds[0]);
    fds[0] = openat(bench.scratch.fd, "request", O_RDONLY);
    (void)unlinkat(bench.scratch.fd, "request", 0);
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

/* A library that cannot be loaded is said, and no rank is asked for. */
static void a_library_has_to_load(void)
{
    begin("/nosuch/lib.so", false);
    const char *text = hear();
    CU_ASSERT_EQUAL(strncmp(text, "failed import\n", 14), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "/nosuch/lib.so"));
    JR_ASSERT_TEXT(hear(), "");
    end();
}

/* A rank is a fork with its own folder, words, environment and files, and a
 * child of the runner. */
static void a_rank_is_what_was_asked_for(void)
{
    begin(TEST_LIBRARY, false);
    JR_ASSERT_TEXT(hear(), "ready");
    char request[256], expected[256], runner[32];
    int len = snprintf(runner, sizeof runner, "RUNNER=%d", getpid());
    CU_ASSERT_TRUE(len > 0);
    size_t size = 0;
    const char *const parts[] = {"/",   "", "3",   "step",
                                 "a b", "", "X=7", runner};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memcpy(request + size, parts[i], strlen(parts[i]) + 1);
        size += strlen(parts[i]) + 1;
    }
    int control = ask(5, request, size, true);
    send_text("go", NULL, 0);
    CU_ASSERT_EQUAL(await(5), 3);
    JR_ASSERT_TEXT(hear(), "done");
    (void)snprintf(expected, sizeof expected, "/|7|step|a b||1|1|1\n");
    JR_ASSERT_TEXT(content("out5"), expected);
    JR_ASSERT_TEXT(content("err5"), "err\n");
    char byte = 0;
    CU_ASSERT_EQUAL(read(control, &byte, 1), 1);
    CU_ASSERT_EQUAL(byte, 'r');
    CU_ASSERT_EQUAL(read(control, &byte, 1), 0); /* nobody else has it */
    (void)close(control);
    end();
}

/* Several are made at once, in their order, and more with the next `go`. */
static void makes_ranks_in_batches(void)
{
    begin(TEST_LIBRARY, false);
    JR_ASSERT_TEXT(hear(), "ready");
    for (unsigned batch = 0; batch < 3; batch++) {
        unsigned count = batch == 1 ? 16 : 2;
        for (unsigned i = 0; i < count; i++)
            (void)ask(100 * batch + i,
                      REQUEST("/\0\0"
                              "1\0one\0RUNNER=-1"),
                      false);
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
    JR_ASSERT_TEXT(content("out115"), "/|none|one|1|0|1\n");
    end();
}

/* More than it takes at once is an error of the runner. */
static void refuses_too_many(void)
{
    begin(TEST_LIBRARY, false);
    JR_ASSERT_TEXT(hear(), "ready");
    for (unsigned i = 0; i < 17; i++)
        (void)ask(i,
                  REQUEST("/\0\0"
                          "0\0RUNNER=-1"),
                  false);
    JR_ASSERT_TEXT(hear(), "failed fork\nmore ranks were asked for than it "
                           "takes at once");
    JR_ASSERT_TEXT(hear(), "");
    end();
}

/* A request that is none, or asks for what is not there, is no rank. */
static void a_bad_request_is_no_rank(void)
{
    static const struct {
        const char *bytes;
        size_t len;
    } vectors[] = {
        {REQUEST("")},
        {REQUEST("/\0\0x\0")},
        {REQUEST("/\0\0-1\0")},
        {REQUEST("/\0\0"
                 "99999\0a")},
        {REQUEST("/nosuch\0\0"
                 "0\0RUNNER=-1")},
        {REQUEST("/\0x\0"
                 "0\0RUNNER=-1")},
        {REQUEST("/\0"
                 "8191\0"
                 "0\0RUNNER=-1")},
    };
    begin(TEST_LIBRARY, false);
    JR_ASSERT_TEXT(hear(), "ready");
    for (unsigned i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char name[16];
        (void)ask(i, vectors[i].bytes, vectors[i].len, false);
        send_text("go", NULL, 0);
        CU_ASSERT_EQUAL(await(i), 127);
        JR_ASSERT_TEXT(hear(), "done");
        (void)snprintf(name, sizeof name, "err%u", i);
        CU_ASSERT_PTR_NOT_NULL(strstr(content(name),
                                      "a rank could not be made of the "
                                      "helper"));
    }
    end();
}

/* The end of the runner is the helper's. */
static void ends_with_the_runner(void)
{
    int status = -1;
    begin(TEST_LIBRARY, true);
    JR_ASSERT_TEXT(hear(), "ready");
    (void)shutdown(bench.channel, SHUT_WR);
    CU_ASSERT_EQUAL(waitpid(bench.helper, &status, 0), bench.helper);
    CU_ASSERT_EQUAL(status, 0);
    end();
}

/* A word that it does not know, and a `go` without ranks, do nothing. */
static void passes_over_other_words(void)
{
    begin(TEST_LIBRARY, false);
    JR_ASSERT_TEXT(hear(), "ready");
    send_text("nonsense", NULL, 0);
    send_text("gone", NULL, 0);
    send_text("go", NULL, 0);
    JR_ASSERT_TEXT(hear(), "done");
    (void)ask(3,
              REQUEST("/\0\0"
                      "2\0a\0b\0RUNNER=-1"),
              false);
    send_text("go", NULL, 0);
    CU_ASSERT_EQUAL(await(3), 2);
    JR_ASSERT_TEXT(hear(), "done");
    end();
}

JR_UNIT_MAIN("serve", CASE(a_library_has_to_load),
             CASE(a_rank_is_what_was_asked_for), CASE(makes_ranks_in_batches),
             CASE(refuses_too_many), CASE(a_bad_request_is_no_rank),
             CASE(ends_with_the_runner), CASE(passes_over_other_words))
