/* The process that ranks are forked from, by what it is sent and by what is made of what it says:
 * here a shell, or the test itself at the other end. */
#include "spawn/start_helper.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "bench.h"
#include "descriptors.h"
#include "starve.h"
#include "store/run_folder.h"

enum { RANK_FDS = 5 };

/* What the hooks were called with. */
static struct {
    unsigned threads, started, failed; /* how often */
    char text[256];
    uint32_t i;
    pid_t pid;
    enum jr_stage stage;
    int error;
} heard;

static void on_started(void *owner, uint32_t i, pid_t pid)
{
    CU_ASSERT_PTR_EQUAL(owner, &heard);
    heard.started++;
    heard.i = i;
    heard.pid = pid;
}

static void on_threads(void *owner, const char *text)
{
    CU_ASSERT_PTR_EQUAL(owner, &heard);
    heard.threads++;
    (void)snprintf(heard.text, sizeof heard.text, "%s", text);
}

static void on_failed(void *owner, enum jr_stage stage, int error, const char *text)
{
    CU_ASSERT_PTR_EQUAL(owner, &heard);
    heard.failed++;
    heard.stage = stage;
    heard.error = error;
    (void)snprintf(heard.text, sizeof heard.text, "%s", text);
}

static struct jr_helper make_helper(int socket)
{
    memset(&heard, 0, sizeof heard);
    return (struct jr_helper){.socket.fd = socket,
                              .process.fd = -1,
                              .hooks = {&heard, on_started, on_threads, on_failed}};
}

/* A helper whose process is the test. */
static struct jr_helper make_pair(int *ret_end)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    *ret_end = ends[1];
    return make_helper(ends[0]);
}

static void say(struct jr_helper *helper, int far, const char *text)
{
    CU_ASSERT_EQUAL(send(far, text, strlen(text), 0), (ssize_t)strlen(text));
    jr_helper_receive(helper);
}

TEST(understands_what_is_said)
{
    static const struct {
        const char *said;
        uint32_t pending, left; /* ranks, before and after */
        bool ready;
        unsigned threads, started, failed;
        enum jr_stage stage;
        int error;
        const char *text;
    } vectors[] = {
        {"ready", 0, 0, true, 0, 0, 0, JR_STAGE_NONE, 0, ""},
        {"ready or not", 0, 0, false, 0, 0, 0, JR_STAGE_NONE, 0, ""},
        {"threads 2: a, b", 0, 0, false, 1, 0, 0, JR_STAGE_NONE, 0, "2: a, b"},
        {"rank 7 4321", 2, 1, false, 0, 1, 0, JR_STAGE_NONE, 0, ""},
        {"rank 7", 2, 2, false, 0, 0, 0, JR_STAGE_NONE, 0, ""},
        {"refused 3 11", 2, 1, false, 0, 0, 1, JR_STAGE_FORK, 11, ""},
        {"failed import\nno module", 0, 0, false, 0, 0, 1, JR_STAGE_IMPORT, 0, "no module"},
        {"failed import", 0, 0, false, 0, 0, 1, JR_STAGE_IMPORT, 0, ""},
        {"failed fork\nwhy", 0, 0, false, 0, 0, 1, JR_STAGE_FORK, 0, "why"},
        {"done", 0, 0, false, 0, 0, 0, JR_STAGE_NONE, 0, ""},
        {"done", 1, 1, false, 0, 0, 1, JR_STAGE_FORK, 0,
         "the process that forks the ranks was killed"},
        {"threads", 0, 0, false, 0, 0, 0, JR_STAGE_NONE, 0, ""},
        {"failed", 0, 0, false, 0, 0, 0, JR_STAGE_NONE, 0, ""},
        {"failed format\nwhy", 0, 0, false, 0, 0, 1, JR_STAGE_IMPORT, 0, "why"},
        {"of another build", 1, 1, false, 0, 0, 0, JR_STAGE_NONE, 0, ""},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        int far;
        struct jr_helper helper = make_pair(&far);
        helper.pending = vectors[i].pending;
        helper.forking = true;
        say(&helper, far, vectors[i].said);
        CU_ASSERT_EQUAL(helper.pending, vectors[i].left);
        CU_ASSERT_EQUAL(helper.ready, vectors[i].ready);
        CU_ASSERT_EQUAL(helper.failed, vectors[i].failed != 0);
        CU_ASSERT_EQUAL(helper.forking, strcmp(vectors[i].said, "done") != 0);
        CU_ASSERT_EQUAL(heard.threads, vectors[i].threads);
        CU_ASSERT_EQUAL(heard.started, vectors[i].started);
        CU_ASSERT_EQUAL(heard.failed, vectors[i].failed);
        CU_ASSERT_EQUAL(heard.stage, vectors[i].stage);
        CU_ASSERT_EQUAL(heard.error, vectors[i].error);
        JR_ASSERT_TEXT(heard.text, vectors[i].text);
        if (vectors[i].started > 0) {
            CU_ASSERT_EQUAL(heard.i, 7);
            CU_ASSERT_EQUAL(heard.pid, 4321);
        }
        jr_helper_close(&helper);
        (void)close(far);
    }
}

/* Several messages at once, of which each is whole; the longest too. */
TEST(takes_all_that_has_come)
{
    static char longest[4096];
    int far;
    struct jr_helper helper = make_pair(&far);
    helper.pending = 3;
    for (int i = 1; i < 4; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "rank %d %d", i, 100 + i);
        CU_ASSERT_TRUE(send(far, text, strlen(text), 0) > 0);
    }
    memset(longest, 'x', sizeof longest);
    (void)memcpy(longest, "threads ", 8);
    CU_ASSERT_EQUAL(send(far, longest, sizeof longest, 0), (ssize_t)sizeof longest);
    jr_helper_receive(&helper);
    CU_ASSERT_EQUAL(heard.started, 3);
    CU_ASSERT_EQUAL(heard.i, 3);
    CU_ASSERT_EQUAL(heard.pid, 103);
    CU_ASSERT_EQUAL(helper.pending, 0);
    CU_ASSERT_EQUAL(heard.threads, 1);
    CU_ASSERT_EQUAL(heard.text[0], 'x');
    jr_helper_close(&helper);
    (void)close(far);
}

/* The first failure is told, and no later one; nor is it ready after that. */
TEST(fails_once)
{
    int far;
    struct jr_helper helper = make_pair(&far);
    say(&helper, far, "ready");
    CU_ASSERT_TRUE(jr_helper_may_start(&helper));
    say(&helper, far, "failed fork\nfirst");
    CU_ASSERT_FALSE(jr_helper_may_start(&helper));
    say(&helper, far, "ready");
    CU_ASSERT_FALSE(helper.ready);
    say(&helper, far, "failed import\nsecond");
    CU_ASSERT_EQUAL(heard.failed, 1);
    JR_ASSERT_TEXT(heard.text, "first");
    jr_helper_close(&helper);
    (void)close(far);
}

/* What was requested is forked together, and the next only after that. */
TEST(forks_in_batches)
{
    int far;
    char text[16];
    struct jr_helper helper = make_pair(&far);
    CU_ASSERT_FALSE(jr_helper_may_start(&helper));
    jr_helper_fork(&helper); /* nothing was requested */
    CU_ASSERT_EQUAL(recv(far, text, sizeof text, MSG_DONTWAIT), -1);
    CU_ASSERT_FALSE(helper.forking);
    helper.ready = true;
    helper.batched = JR_HELPER_BATCH - 1;
    CU_ASSERT_TRUE(jr_helper_may_start(&helper));
    helper.batched = JR_HELPER_BATCH;
    CU_ASSERT_FALSE(jr_helper_may_start(&helper));
    jr_helper_fork(&helper);
    CU_ASSERT_EQUAL(recv(far, text, sizeof text, MSG_DONTWAIT), 2);
    CU_ASSERT_EQUAL(memcmp(text, "go", 2), 0);
    CU_ASSERT_TRUE(helper.forking);
    CU_ASSERT_EQUAL(helper.batched, 0);
    CU_ASSERT_FALSE(jr_helper_may_start(&helper));
    helper.batched = 1;
    jr_helper_fork(&helper);
    CU_ASSERT_EQUAL(recv(far, text, sizeof text, MSG_DONTWAIT), -1);
    CU_ASSERT_EQUAL(helper.batched, 1);
    say(&helper, far, "done");
    CU_ASSERT_TRUE(jr_helper_may_start(&helper));
    jr_helper_close(&helper);
    (void)close(far);
}

/* The request, and how many descriptors came with it. */
static size_t take_request(int far, char text[static 32], int fds[RANK_FDS])
{
    union {
        char bytes[CMSG_SPACE(RANK_FDS * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = {text, 31};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t len = recvmsg(far, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    text[len < 0 ? 0 : len] = '\0';
    const struct cmsghdr *head = len < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(fds, CMSG_DATA(head), count * sizeof(int));
    return count;
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
}

static void check_same_file(int fd, const char *name)
{
    struct stat a, b;
    CU_ASSERT_EQUAL(fstat(fd, &a), 0);
    CU_ASSERT_EQUAL(fstatat(bench.scratch.fd, name, &b, 0), 0);
    CU_ASSERT_TRUE(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
    CU_ASSERT_TRUE((fcntl(fd, F_GETFL) & O_APPEND) != 0);
}

/* Its folder, CPUs, arguments and environment, each with its end. */
static void check_request(int fd)
{
    char got[512], expected[512];
    ssize_t len = read(fd, got, sizeof got);
    int size =
        snprintf(expected, sizeof expected, "%s%c0,1,3%c3%csh%c-c%ctrue%cPATH=/bin:/usr/bin%cX=1",
                 bench.workdir, 0, 0, 0, 0, 0, 0, 0);
    CU_ASSERT_EQUAL_FATAL(len, size + 1);
    CU_ASSERT_EQUAL(memcmp(got, expected, (size_t)len), 0);
}

TEST(sends_what_a_rank_is_to_have)
{
    int far, fds[RANK_FDS];
    char text[32];
    struct stat st;
    begin("true");
    bench.rank.cpus = "0-1,3";
    open_starter();
    struct jr_helper helper = make_pair(&far);
    jr_helper_start(&helper, &bench.starter, &bench.rank, 5, &bench.started);
    CU_ASSERT_EQUAL(bench.started.stage, JR_STAGE_NONE);
    CU_ASSERT_EQUAL(bench.started.pid, 0);
    CU_ASSERT_EQUAL(helper.batched, 1);
    CU_ASSERT_EQUAL(helper.pending, 1);
    CU_ASSERT_EQUAL_FATAL(take_request(far, text, fds), RANK_FDS - 1);
    JR_ASSERT_TEXT(text, "rank 5 0");
    check_request(fds[0]);
    CU_ASSERT_EQUAL(fstat(fds[1], &st), 0);
    CU_ASSERT_TRUE(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
    check_same_file(fds[2], "attempt_0/3/stdout.log");
    check_same_file(fds[3], "attempt_0/3/stderr.log");
    close_all(fds, RANK_FDS - 1);
    jr_helper_close(&helper);
    (void)close(far);
    end();
}

/* What goes through jobrun has a pipe, and nothing but the two ends of each stays open. */
TEST(sends_pipes_and_a_control_socket)
{
    int far, fds[RANK_FDS], pair[2];
    char text[32];
    begin("true");
    CU_ASSERT_EQUAL(pipe2(pair, O_CLOEXEC), 0);
    bench.options.in_fd = pair[0];
    bench.options.out_fd = bench.options.err_fd = 1;
    bench.rank.input = JR_INPUT_STDIN;
    bench.rank.out = bench.rank.err = JR_SINK_CONSOLE;
    bench.plan.returns = true;
    open_starter();
    struct jr_helper helper = make_pair(&far);
    unsigned open = count_descriptors();
    jr_helper_start(&helper, &bench.starter, &bench.rank, 0, &bench.started);
    CU_ASSERT_EQUAL(bench.started.stage, JR_STAGE_NONE);
    CU_ASSERT_EQUAL_FATAL(take_request(far, text, fds), RANK_FDS);
    JR_ASSERT_TEXT(text, "rank 0 0");
    CU_ASSERT_EQUAL(write(pair[1], "i", 1), 1);
    CU_ASSERT_EQUAL(read(fds[1], text, 1), 1);
    for (int stream = 0; stream < 2; stream++) {
        CU_ASSERT_EQUAL(write(fds[2 + stream], &"oe"[stream], 1), 1);
        CU_ASSERT_EQUAL(read(bench.started.pipes[stream], text, 1), 1);
        CU_ASSERT_EQUAL(text[0], "oe"[stream]);
    }
    CU_ASSERT_EQUAL(write(fds[4], "r", 1), 1);
    CU_ASSERT_EQUAL(read(bench.started.control, text, 1), 1);
    close_all(fds, RANK_FDS);
    for (int stream = 0; stream < 2; stream++)
        CU_ASSERT_EQUAL(read(bench.started.pipes[stream], text, 1), 0);
    CU_ASSERT_EQUAL(read(bench.started.control, text, 1), 0);
    /* Ours of two pipes and a socket, and the attempt's folder. */
    CU_ASSERT_EQUAL(count_descriptors(), open + 4);
    jr_helper_close(&helper);
    (void)close(far);
    (void)close(pair[0]);
    (void)close(pair[1]);
    end();
}

/* What cannot be made is not requested. */
TEST(says_at_which_stage_a_request_fails)
{
    static const struct {
        const char *planted; /* in the place of a log, or of the folder */
        const char *cpus;
        bool gone; /* the helper is */
        enum jr_stage stage;
        int error;
    } vectors[] = {
        {"attempt_0/3/stdout.log", NULL, false, JR_STAGE_STDOUT, EEXIST},
        {"attempt_0/3/stderr.log", NULL, false, JR_STAGE_STDERR, EEXIST},
        {"attempt_0/4", NULL, false, JR_STAGE_FOLDER, EEXIST},
        {NULL, "x", false, JR_STAGE_CPUS, EINVAL},
        {NULL, NULL, true, JR_STAGE_FORK, EPIPE},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        int far;
        begin("true");
        open_starter();
        CU_ASSERT_EQUAL(jr_start_folder(&bench.starter, "attempt_0/3"), 0);
        if (vectors[i].stage == JR_STAGE_FOLDER)
            bench.rank.dir = "attempt_0/4";
        if (vectors[i].planted != NULL)
            scratch_write(&bench.scratch, vectors[i].planted, "");
        bench.rank.cpus = vectors[i].cpus;
        struct jr_helper helper = make_pair(&far);
        if (vectors[i].gone)
            (void)close(far);
        unsigned open = count_descriptors();
        jr_helper_start(&helper, &bench.starter, &bench.rank, 0, &bench.started);
        CU_ASSERT_EQUAL(bench.started.stage, vectors[i].stage);
        CU_ASSERT_EQUAL(bench.started.error, vectors[i].error);
        CU_ASSERT_EQUAL(helper.batched, 0);
        CU_ASSERT_EQUAL(helper.pending, 0);
        CU_ASSERT_EQUAL(count_descriptors(), open);
        jr_helper_close(&helper);
        if (!vectors[i].gone)
            (void)close(far);
        end();
    }
}

/* Without memory for it a request is not made, and says so. */
static bool request(struct jr_buf *out)
{
    int far, fds[RANK_FDS];
    char text[512];
    begin("true");
    open_starter();
    struct jr_helper helper = make_pair(&far);
    starve_begin();
    jr_helper_start(&helper, &bench.starter, &bench.rank, 0, &bench.started);
    starve_end();
    bool good = bench.started.stage == JR_STAGE_NONE;
    size_t count = take_request(far, text, fds);
    CU_ASSERT_EQUAL(count, good ? RANK_FDS - 1 : 0);
    CU_ASSERT_EQUAL(helper.pending, good);
    CU_ASSERT_TRUE(good || (bench.started.stage == JR_STAGE_FORK && bench.started.error == ENOMEM));
    ssize_t len = good ? read(fds[0], text, sizeof text) : 0;
    for (ssize_t i = (ssize_t)strlen(bench.workdir); i < len; i++)
        jr_buf_char(out, text[i] == '\0' ? '|' : text[i]);
    close_all(fds, count);
    jr_helper_close(&helper);
    (void)close(far);
    end();
    return good;
}

TEST(says_that_there_is_no_memory)
{
    starve(request);
}

/* Start `text` in the shell as the helper, which has the socket as its descriptor 3. */
static struct jr_helper *start_shell(const char *text, struct jr_loop *loop)
{
    static struct jr_helper helper; /* which the loop knows */
    enum jr_stage stage = JR_STAGE_IMPORT;
    helper = make_helper(-1);
    (void)alarm(120);
    begin(text);
    bench.plan.helper.argv = bench.rank.argv;
    bench.plan.helper.env = environment;
    open_starter();
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(loop), 0);
    CU_ASSERT_EQUAL_FATAL(jr_helper_open(&helper, &bench.starter, &bench.plan, loop, &stage), 0);
    CU_ASSERT_EQUAL(stage, JR_STAGE_NONE);
    return &helper;
}

/* Until it has ended, and all that it said was heard. */
static void await_end(struct jr_helper *helper, struct jr_loop *loop)
{
    while (helper->process.fd >= 0 || helper->socket.fd >= 0)
        (void)jr_loop_turn(loop, false);
    (void)alarm(0);
}

static void end_shell(struct jr_helper *helper, struct jr_loop *loop)
{
    jr_helper_close(helper);
    (void)close(loop->epoll_fd);
    bench.started = JR_STARTED_NONE;
    end();
}

TEST(is_told_when_it_ends)
{
    static const struct {
        const char *text;
        bool forks; /* a rank is awaited when it ends */
        enum jr_stage stage;
        const char *why;
    } vectors[] = {
        {"exit 3", false, JR_STAGE_IMPORT, "it exited with code 3 before it was ready"},
        {"kill -9 $$", false, JR_STAGE_IMPORT, "it was killed by SIGKILL before it was ready"},
        {"printf ready >&3; exit 0", false, JR_STAGE_FORK, "it exited with code 0"},
        {"printf ready >&3; exit 5", true, JR_STAGE_FORK,
         "it exited with code 5 while it forked ranks"},
        {"printf 'failed import\\nno such' >&3; exit 1", false, JR_STAGE_IMPORT, "no such"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_loop loop;
        struct jr_helper *helper = start_shell(vectors[i].text, &loop);
        helper->pending = vectors[i].forks;
        await_end(helper, &loop);
        CU_ASSERT_TRUE(helper->failed);
        CU_ASSERT_FALSE(helper->ready);
        CU_ASSERT_EQUAL(heard.failed, 1);
        CU_ASSERT_EQUAL(heard.stage, vectors[i].stage);
        CU_ASSERT_EQUAL(heard.error, 0);
        JR_ASSERT_TEXT(heard.text, vectors[i].why);
        end_shell(helper, &loop);
    }
}

/* In the ranks' folder, with their environment, and nothing else of jobrun's; what it prints is
 * kept. */
TEST(finds_what_the_plan_says)
{
    struct jr_loop loop;
    struct jr_helper *helper =
        start_shell("pwd; echo $X; echo err >&2; ls /proc/self/fd | tr '\\n' ' '; "
                    "printf ready >&3; read x <&3; exit 0",
                    &loop);
    while (!helper->ready && helper->socket.fd >= 0)
        (void)jr_loop_turn(&loop, false);
    CU_ASSERT_TRUE(jr_helper_may_start(helper));
    JR_ASSERT_TEXT(helper->log, "attempt_0/helper.log");
    jr_helper_close(helper); /* it is to end, and that is no failure */
    CU_ASSERT_FALSE(jr_helper_may_start(helper));
    await_end(helper, &loop);
    CU_ASSERT_EQUAL(heard.failed, 0);
    char expected[256];
    (void)snprintf(expected, sizeof expected, "%s\n1\nerr\n0 1 2 3 4 ", bench.workdir);
    JR_ASSERT_TEXT(content("attempt_0/helper.log"), expected);
    jr_helper_tidy(helper);
    CU_ASSERT_EQUAL(faccessat(bench.scratch.fd, "attempt_0/helper.log", F_OK, 0), 0);
    end_shell(helper, &loop);
}

/* Its log goes where it is empty. */
TEST(is_killed_and_leaves_nothing)
{
    struct jr_loop loop;
    struct jr_helper *helper = start_shell("printf ready >&3; exec sleep 1000", &loop);
    while (!helper->ready && helper->socket.fd >= 0)
        (void)jr_loop_turn(&loop, false);
    jr_helper_kill(helper);
    CU_ASSERT_FALSE(helper->ready);
    await_end(helper, &loop);
    CU_ASSERT_EQUAL(helper->code, CLD_KILLED);
    CU_ASSERT_EQUAL(helper->status, SIGKILL);
    CU_ASSERT_EQUAL(heard.failed, 0);
    jr_helper_kill(helper); /* it is gone */
    CU_ASSERT_EQUAL(faccessat(bench.scratch.fd, "attempt_0/helper.log", F_OK, 0), 0);
    jr_helper_tidy(helper);
    CU_ASSERT_NOT_EQUAL(faccessat(bench.scratch.fd, "attempt_0/helper.log", F_OK, 0), 0);
    end_shell(helper, &loop);
}

TEST(says_at_which_stage_it_does_not_begin)
{
    for (int i = 0; i < 2; i++) {
        char *argv[] = {(char *)(i == 0 ? "/nosuch/program" : "/bin/sh"), NULL};
        struct jr_loop loop;
        enum jr_stage stage = JR_STAGE_NONE;
        struct jr_helper helper = make_helper(-1);
        begin("");
        bench.plan.helper.argv = argv;
        bench.plan.helper.env = environment;
        open_starter();
        if (i == 1)
            scratch_write(&bench.scratch, "attempt_0", "");
        CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
        errno = 0;
        CU_ASSERT_EQUAL(jr_helper_open(&helper, &bench.starter, &bench.plan, &loop, &stage), -1);
        CU_ASSERT_EQUAL(errno, i == 0 ? ENOENT : EEXIST);
        CU_ASSERT_EQUAL(stage, i == 0 ? JR_STAGE_EXEC : JR_STAGE_FOLDER);
        CU_ASSERT_EQUAL(heard.failed, 0);
        end_shell(&helper, &loop);
    }
}
