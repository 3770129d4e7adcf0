/* Starting a rank: which way its streams go and what that costs, what its process finds, and at
 * which stage a start fails. */
#include "spawn/start.h"

#include <errno.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/pidfd.h"
#include "base/rank_set.h"
#include "bench.h"
#include "deny.h"
#include "descriptors.h"
#include "elsewhere.h"
#include "store/run_folder.h"

static void start(void)
{
    open_starter();
    jr_start_spawn(&bench.starter, &bench.rank, &bench.started);
}

/* How the rank ended: its exit code, or 1000 and its signal. */
static int await(void)
{
    int status = 0;
    CU_ASSERT_EQUAL(bench.started.stage, JR_STAGE_NONE);
    CU_ASSERT_TRUE_FATAL(bench.started.pid > 0);
    CU_ASSERT_EQUAL(waitpid(bench.started.pid, &status, 0), bench.started.pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Which way a stream goes. */
TEST(streams_have_routes)
{
    static const struct {
        enum jr_sink sink;
        enum jr_input input;
        bool console, shown, limited, watched;
        enum jr_route route;
    } vectors[] = {
        {JR_SINK_INHERIT, JR_INPUT_NONE, true, true, true, true, JR_ROUTE_INHERIT},
        {JR_SINK_INHERIT, JR_INPUT_NONE, false, true, false, false, JR_ROUTE_NULL},
        {JR_SINK_INHERIT, JR_INPUT_STDIN, true, false, false, false, JR_ROUTE_INHERIT},
        {JR_SINK_FILE, JR_INPUT_TERMINAL, true, true, true, true, JR_ROUTE_TERMINAL},
        {JR_SINK_FILE, JR_INPUT_NONE, true, true, false, false, JR_ROUTE_FILE},
        {JR_SINK_FILE, JR_INPUT_NONE, true, true, true, false, JR_ROUTE_PIPE},
        {JR_SINK_FILE, JR_INPUT_NONE, false, false, false, true, JR_ROUTE_PIPE},
        {JR_SINK_CONSOLE, JR_INPUT_NONE, true, true, false, false, JR_ROUTE_PIPE},
        {JR_SINK_CONSOLE, JR_INPUT_NONE, false, true, false, false, JR_ROUTE_NULL},
        {JR_SINK_CONSOLE, JR_INPUT_NONE, true, false, true, false, JR_ROUTE_NULL},
        {JR_SINK_FILE | JR_SINK_CONSOLE, JR_INPUT_NONE, true, true, false, false, JR_ROUTE_PIPE},
        {JR_SINK_FILE | JR_SINK_CONSOLE, JR_INPUT_NONE, false, true, false, false, JR_ROUTE_FILE},
        {JR_SINK_FILE | JR_SINK_CONSOLE, JR_INPUT_NONE, true, false, false, false, JR_ROUTE_FILE},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        for (int stream = 0; stream < 2; stream++) {
            struct jr_plan_rank rank = {.input = vectors[i].input,
                                        .on_console = vectors[i].shown,
                                        .limited = vectors[i].limited,
                                        .watched = vectors[i].watched,
                                        .out = JR_SINK_INHERIT,
                                        .err = JR_SINK_INHERIT};
            struct jr_run_options options = {.out_fd = -1, .err_fd = -1};
            *(stream == 0 ? &rank.out : &rank.err) = vectors[i].sink;
            *(stream == 0 ? &options.out_fd : &options.err_fd) = vectors[i].console ? 1 : -1;
            CU_ASSERT_EQUAL(jr_start_route(&rank, stream, &options), vectors[i].route);
            bool shown =
                (vectors[i].sink & JR_SINK_CONSOLE) != 0 && vectors[i].console && vectors[i].shown;
            CU_ASSERT_EQUAL(jr_start_is_shown(&rank, stream, &options), shown);
        }
}

/* Pipes, and files that jobrun writes itself, over the ranks that start here; the setup has two of
 * both. */
TEST(counts_what_it_costs)
{
    struct jr_plan_rank ranks[5] = {
        {.out = JR_SINK_FILE | JR_SINK_CONSOLE, .on_console = true},
        {.out = JR_SINK_FILE | JR_SINK_CONSOLE, .err = JR_SINK_CONSOLE, .on_console = true},
        {.out = JR_SINK_FILE, .err = JR_SINK_FILE, .on_console = true},
        {.out = JR_SINK_FILE, .err = JR_SINK_FILE, .limited = true},
        {.out = JR_SINK_CONSOLE, .err = JR_SINK_CONSOLE, .on_console = true},
    };
    static const struct {
        uint32_t first, count;
        bool setup;
        uint64_t pipes, files;
    } vectors[] = {
        {0, 0, false, 0, 0}, {0, 0, true, 2, 2},  {0, 1, false, 1, 1}, {0, 2, false, 3, 2},
        {2, 1, false, 0, 0}, {3, 1, false, 2, 2}, {1, 4, false, 6, 3}, {0, 5, true, 9, 6},
    };
    const struct jr_run_options options = {.out_fd = 1, .err_fd = 2};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_plan plan = {
            .ranks = ranks, .first = vectors[i].first, .count = vectors[i].count};
        plan.setup.text = vectors[i].setup ? "true" : NULL;
        struct jr_start_cost cost = jr_start_cost(&plan, &options);
        CU_ASSERT_EQUAL(cost.pipes, vectors[i].pipes);
        CU_ASSERT_EQUAL(cost.files, vectors[i].files);
    }
}

/* Where a file lies that is no rank's own. */
TEST(places_files_beside_the_ranks)
{
    static const struct {
        const char *dir;
        bool link;
        const char *path;
    } vectors[] = {
        {NULL, false, "setup.log"},
        {"attempt_2/0", false, "attempt_2/setup.log"},
        {NULL, true, "node_4/setup.log"},
        {"attempt_2/0", true, "node_4/attempt_2/setup.log"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct jr_run_link link = {0};
        const struct jr_run_options options = {.link = vectors[i].link ? &link : NULL};
        const struct jr_starter starter = {.options = &options};
        const struct jr_plan_rank rank = {.dir = vectors[i].dir, .node_rank = 4};
        char path[64];
        jr_start_beside(&starter, &rank, "setup.log", path, sizeof path);
        JR_ASSERT_TEXT(path, vectors[i].path);
    }
}

/* A process of its own session, in its folder, with its environment, and nothing else. */
TEST(a_rank_finds_what_the_plan_says)
{
    begin("test $$ = $(ps -o sid= -p $$) || echo session; pwd; echo $X; "
          "ls /proc/self/fd | tr '\\n' ' '; echo err >&2; umask; exit 7");
    start();
    CU_ASSERT_EQUAL(await(), 7);
    char expected[256];
    (void)snprintf(expected, sizeof expected, "%s\n1\n0 1 2 3 0027\n", bench.workdir);
    JR_ASSERT_TEXT(content("attempt_0/3/stdout.log"), expected);
    JR_ASSERT_TEXT(content("attempt_0/3/stderr.log"), "err\n");
    CU_ASSERT_EQUAL(bench.started.pipes[0], -1);
    CU_ASSERT_EQUAL(bench.started.control, -1);
    CU_ASSERT_EQUAL(bench.started.error, 0);
    struct stat st;
    CU_ASSERT_EQUAL(fstatat(bench.scratch.fd, "attempt_0/3/stdout.log", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0640);
    CU_ASSERT_EQUAL(fstatat(bench.scratch.fd, "attempt_0/progress", &st, 0), 0);
    CU_ASSERT_TRUE(S_ISDIR(st.st_mode));
    end();
}

/* What goes to the console comes by a pipe; where it has a file too, that is made by whoever reads
 * the pipe. */
TEST(pipes_come_back)
{
    for (int file = 0; file < 2; file++) {
        char bytes[16];
        begin("echo out; echo err >&2");
        bench.options.out_fd = bench.options.err_fd = 1;
        bench.rank.out = JR_SINK_CONSOLE | (file ? JR_SINK_FILE : 0);
        open_starter();
        bench.starter.pipe_size = file ? 1 << 17 : 0; /* 0: as it is made */
        jr_start_spawn(&bench.starter, &bench.rank, &bench.started);
        CU_ASSERT_EQUAL(fcntl(bench.started.pipes[0], F_GETPIPE_SZ), file ? 1 << 17 : 1 << 16);
        CU_ASSERT_EQUAL(await(), 0);
        CU_ASSERT_TRUE_FATAL(bench.started.pipes[0] >= 0);
        CU_ASSERT_EQUAL(bench.started.pipes[1], -1);
        CU_ASSERT_EQUAL(bench.started.kept[0], file);
        CU_ASSERT_FALSE(bench.started.kept[1]);
        CU_ASSERT_EQUAL(read(bench.started.pipes[0], bytes, sizeof bytes), 4);
        CU_ASSERT_EQUAL(memcmp(bytes, "out\n", 4), 0);
        CU_ASSERT_EQUAL(read(bench.started.pipes[0], bytes, sizeof bytes), 0);
        JR_ASSERT_TEXT(content("attempt_0/3/stdout.log"), "");
        JR_ASSERT_TEXT(content("attempt_0/3/stderr.log"), "err\n");
        end();
    }
}

/* One file for both streams has both, in their order. */
TEST(both_streams_may_share_a_file)
{
    begin("echo 1; echo 2 >&2; echo 3");
    bench.rank.err_path = bench.rank.out_path;
    CU_ASSERT_TRUE(jr_start_shares_file(&bench.rank));
    start();
    CU_ASSERT_EQUAL(await(), 0);
    JR_ASSERT_TEXT(content("attempt_0/3/stdout.log"), "1\n2\n3\n");
    bench.rank.err_path = "attempt_0/3/stderr.log";
    CU_ASSERT_FALSE(jr_start_shares_file(&bench.rank));
    bench.rank.err_path = NULL;
    CU_ASSERT_FALSE(jr_start_shares_file(&bench.rank));
    end();
}

/* A rank that has to return has a socket as its descriptor 3, whose other end is ours, and says who
 * wrote. */
TEST(a_rank_may_have_a_control_socket)
{
    char byte;
    begin("printf r >&3; read x <&3; exit 5");
    bench.plan.returns = true;
    start();
    CU_ASSERT_TRUE_FATAL(bench.started.control >= 0);
    (void)fcntl(bench.started.control, F_SETFL, 0);
    CU_ASSERT_EQUAL(read(bench.started.control, &byte, 1), 1);
    CU_ASSERT_EQUAL(byte, 'r');
    CU_ASSERT_EQUAL(send(bench.started.control, "g\n", 2, 0), 2);
    CU_ASSERT_EQUAL(await(), 5);
    end();
}

/* A stream to its process manager, with and without the control socket. */
TEST(a_rank_may_have_a_process_manager)
{
    for (int both = 0; both < 2; both++) {
        char byte;
        begin("test -e /proc/$$/fd/3 && echo extra; printf p >&4; exit 6");
        bench.plan.mpi.protocol = JR_MPI_PROTOCOL_PMI1;
        bench.plan.returns = both;
        start();
        CU_ASSERT_TRUE_FATAL(bench.started.pmi >= 0);
        CU_ASSERT_EQUAL(bench.started.control >= 0, both);
        CU_ASSERT_EQUAL(await(), 6);
        CU_ASSERT_EQUAL(read(bench.started.pmi, &byte, 1), 1);
        CU_ASSERT_EQUAL(byte, 'p');
        CU_ASSERT_EQUAL(read(bench.started.pmi, &byte, 1), 0);
        JR_ASSERT_TEXT(content("attempt_0/3/stdout.log"), both ? "extra\n" : "");
        (void)close(bench.started.pmi);
        end();
    }
}

/* Nothing of the runner's, whatever it has open. */
TEST(a_rank_has_no_other_descriptor)
{
    static const char *const expected[] = {"0 1 2 3 ", "0 1 2 3 4 ", "0 1 2 3 4 ", "0 1 2 3 4 5 "};
    for (int i = 0; i < 4; i++) {
        int fds[JR_SLOT_END + 8], count = 0;
        begin("ls /proc/self/fd | tr '\\n' ' '"); /* and its folder */
        bench.plan.returns = (i & 1) != 0;
        bench.plan.mpi.protocol = (i & 2) != 0 ? JR_MPI_PROTOCOL_PMI1 : JR_MPI_PROTOCOL_NONE;
        do
            fds[count] = fcntl(STDIN_FILENO, F_DUPFD, 3); /* kept by execve */
        while (fds[count++] < JR_SLOT_DIR - 1);
        fds[count++] = fcntl(STDIN_FILENO, F_DUPFD, JR_SLOT_END + 20);
        start();
        CU_ASSERT_EQUAL(await(), 0);
        JR_ASSERT_TEXT(content("attempt_0/3/stdout.log"), expected[i]);
        if (bench.started.pmi >= 0)
            (void)close(bench.started.pmi);
        while (count > 0)
            (void)close(fds[--count]);
        end();
    }
}

/* Together, pipes take no more than an unprivileged user may have. */
TEST(pipes_are_as_large_as_all_may_be)
{
    static struct jr_plan_rank ranks[1024];
    static const struct {
        uint32_t pipes;
        int size;
    } vectors[] = {{1, 1 << 20},   {64, 1 << 20},  {65, 1 << 19}, {128, 1 << 19},
                   {129, 1 << 18}, {512, 1 << 17}, {513, 0},      {1024, 0}};
    for (size_t i = 0; i < 1024; i++)
        ranks[i] =
            (struct jr_plan_rank){.on_console = true, .out = JR_SINK_CONSOLE, .err = JR_SINK_FILE};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        begin("");
        bench.options.out_fd = 1;
        bench.plan.ranks = ranks;
        bench.plan.count = vectors[i].pipes;
        open_starter();
        CU_ASSERT_EQUAL(bench.starter.pipe_size, vectors[i].size);
        end();
    }
}

/* Descriptors that the caller has where the slots will be serve as before, under other numbers. */
TEST(slots_take_the_place_of_nothing)
{
    static const int places[] = {JR_SLOT_DIR, JR_SLOT_NULL, JR_SLOT_ERR, JR_SLOT_END - 1,
                                 JR_SLOT_END};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int pair[2], lease[2];
        char bytes[8];
        begin("echo out");
        CU_ASSERT_EQUAL(pipe2(pair, O_CLOEXEC), 0);
        CU_ASSERT_EQUAL(pipe2(lease, O_CLOEXEC | O_NONBLOCK), 0);
        CU_ASSERT_EQUAL(dup3(pair[1], places[i], O_CLOEXEC), places[i]);
        CU_ASSERT_EQUAL(dup3(lease[1], JR_SLOT_PIPE_OUT + 3, O_CLOEXEC), JR_SLOT_PIPE_OUT + 3);
        (void)close(lease[1]);
        bench.options.out_fd = places[i];
        bench.rank.out = JR_SINK_INHERIT;
        start();
        CU_ASSERT_EQUAL(await(), 0);
        CU_ASSERT_EQUAL(read(pair[0], bytes, sizeof bytes), 4);
        CU_ASSERT_EQUAL(memcmp(bytes, "out\n", 4), 0);
        CU_ASSERT_EQUAL(read(lease[0], bytes, 1), -1); /* it is held still */
        CU_ASSERT_EQUAL(errno, EAGAIN);
        (void)close(pair[0]);
        (void)close(pair[1]);
        (void)close(lease[0]);
        (void)close(JR_SLOT_END);
        end();
    }
}

/* Even one that comes to lie there by itself. */
TEST(a_slot_may_be_the_next_descriptor)
{
    int fds[16], count = 0;
    begin("cat; echo out");
    do
        fds[count] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    while (fds[count++] < JR_SLOT_DIR && count < 16);
    start();
    CU_ASSERT_EQUAL(await(), 0);
    JR_ASSERT_TEXT(content("attempt_0/3/stdout.log"), "out\n");
    for (int i = 0; i < count; i++)
        if (fds[i] < JR_SLOT_DIR)
            (void)close(fds[i]);
    end();
}

/* An attempt's folder that this run has claimed may be there already, if it is ours. */
TEST(takes_the_folder_that_was_claimed)
{
    static const struct {
        unsigned claimed; /* attempts */
        uid_t owner;
        bool good;
    } vectors[] = {{1, 0, true}, {2, 0, false}, {0, 0, false}, {1, 65534, false}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        begin("exit 0");
        bench.folder.claimed = vectors[i].claimed;
        CU_ASSERT_EQUAL(mkdirat(bench.scratch.fd, "attempt_0", 0700), 0);
        if (vectors[i].owner != 0 &&
            fchownat(bench.scratch.fd, "attempt_0", vectors[i].owner, 0, 0) != 0) {
            end(); /* this user cannot give it away */
            continue;
        }
        start();
        if (vectors[i].good) {
            CU_ASSERT_EQUAL(await(), 0);
        } else {
            CU_ASSERT_EQUAL(bench.started.stage, JR_STAGE_FOLDER);
            CU_ASSERT_EQUAL(bench.started.error, EEXIST);
        }
        end();
    }
}

/* What only a child of its own can find out. */
TEST(says_what_the_child_could_not_do)
{
    static char name[300];
    memset(name, 'x', sizeof name - 3);
    (void)strcat(name, "/3");
    for (int i = 0; i < 4; i++) {
        begin("exit 0");
        if (i == 0) {
            bench.rank.input = JR_INPUT_TERMINAL; /* there is none */
        } else if (i < 3) {
            bench.budget.limits =
                (struct jr_limit_list){2, {{RLIMIT_CORE, {0, 0}}, {RLIMIT_CORE, {0, 0}}}};
            bench.budget.limits.items[i - 1] = (struct jr_limit){RLIMIT_NOFILE, {20, 10}};
        } else {
            bench.rank.dir = name;
        }
        start();
        CU_ASSERT_EQUAL(bench.started.stage, i == 0   ? JR_STAGE_STDIN
                                             : i == 3 ? JR_STAGE_FOLDER
                                                      : JR_STAGE_LIMITS);
        CU_ASSERT_EQUAL(bench.started.error, i == 0 ? ENOTTY : i == 3 ? ENAMETOOLONG : EINVAL);
        CU_ASSERT_EQUAL(bench.started.pid, 0);
        end();
    }
}

/* In another process, with a kernel that lacks these calls: one start at a time, and a rank that
 * ends as any other. */
static bool starts_without(const struct deny_call *calls, size_t count)
{
    begin("test -e /proc/$$/fd/12 && exit 8; exit 7");
    if (!deny(calls, count))
        return false;
    open_starter();
    CU_ASSERT_TRUE(bench.starter.waits);
    jr_start_spawn(&bench.starter, &bench.rank, &bench.started);
    bool good = jr_start_width(&bench.starter) == 1 && await() == 7;
    end();
    return good && CU_get_number_of_failures() == 0;
}

/* A call that fails, and what of a start that means. */
struct failing {
    struct deny_call call;
    bool controls, shown; /* it has a control socket, or a pipe */
    enum jr_stage stage;  /* NONE: the starter is not opened */
};

static bool fails_to_start(const struct failing *failing)
{
    bool early = failing->stage == JR_STAGE_NONE;
    begin("exit 0");
    bench.plan.returns = failing->controls;
    bench.options.out_fd = failing->shown ? 1 : -1;
    bench.rank.out = failing->shown ? JR_SINK_CONSOLE : JR_SINK_FILE;
    if (early) {
        bool denied = deny(&failing->call, 1);
        int status = jr_starter_open(&bench.starter, &bench.plan, &bench.options, &bench.budget);
        return denied && status == -1 && errno == (int)failing->call.error;
    }
    open_starter();
    bool waits = bench.starter.waits; /* as with a sanitizer */
    bool denied = deny(&failing->call, 1);
    jr_start_spawn(&bench.starter, &bench.rank, &bench.started);
    bool good = denied && bench.started.stage == failing->stage &&
                bench.started.error == (int)failing->call.error && bench.started.pidfd == -1 &&
                bench.started.pid <= 0 && bench.starter.waits == waits &&
                waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
    end();
    return good;
}

TEST(says_which_call_has_failed)
{
    static const struct failing vectors[] = {
        {{SYS_clone, EAGAIN}, false, false, JR_STAGE_CLONE},
        {{SYS_socketpair, EMFILE}, true, false, JR_STAGE_CLONE},
        {{SYS_setsockopt, ENOPROTOOPT}, true, false, JR_STAGE_CLONE},
        {{SYS_dup3, EBUSY}, true, false, JR_STAGE_CLONE},
        {{SYS_mkdirat, EROFS}, false, false, JR_STAGE_FOLDER},
        {{SYS_fcntl, EINVAL}, false, false, JR_STAGE_FOLDER},
        {{SYS_pipe2, ENFILE}, false, true, JR_STAGE_STDOUT},
        {{SYS_dup3, EBUSY}, false, true, JR_STAGE_STDOUT},
        {{SYS_openat2, EACCES}, false, false, JR_STAGE_STDOUT},
        {{SYS_dup3, EBUSY}, false, false, JR_STAGE_STDOUT},
        {{SYS_dup3, EBUSY}, false, false, JR_STAGE_NONE},
        {{SYS_openat, ENFILE}, false, false, JR_STAGE_NONE},
        {{SYS_mmap, ENOMEM}, false, false, JR_STAGE_NONE},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        ELSEWHERE(fails_to_start(&vectors[i]));
}

TEST(starts_where_a_kernel_lacks_something)
{
    static const struct deny_call calls[] = {{SYS_close_range, ENOSYS}, {SYS_pidfd_open, ENOSYS}};
    for (int i = 0; i < 3; i++)
        ELSEWHERE(starts_without(calls + i % 2, i == 2 ? 2 : 1));
}

/* Its input is /dev/null, or jobrun's own. */
TEST(a_rank_has_an_input)
{
    for (int own = 0; own < 2; own++) {
        int pair[2];
        begin("cat");
        CU_ASSERT_EQUAL(pipe2(pair, O_CLOEXEC), 0);
        CU_ASSERT_EQUAL(write(pair[1], "input\n", 6), 6);
        (void)close(pair[1]);
        bench.options.in_fd = pair[0];
        bench.rank.input = own ? JR_INPUT_STDIN : JR_INPUT_NONE;
        start();
        CU_ASSERT_EQUAL(await(), 0);
        JR_ASSERT_TEXT(content("attempt_0/3/stdout.log"), own ? "input\n" : "");
        (void)close(pair[0]);
        end();
    }
}

/* Limits are the plan's, and signals as they were before jobrun. */
TEST(limits_and_signals_are_its_own)
{
    begin("ulimit -n; ulimit -c; kill -PIPE $$; exit 0");
    (void)signal(SIGUSR1, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    bench.budget.limits =
        (struct jr_limit_list){2, {{RLIMIT_NOFILE, {77, 77}}, {RLIMIT_CORE, {0, 0}}}};
    start();
    CU_ASSERT_EQUAL(await(), 1000 + SIGPIPE);
    JR_ASSERT_TEXT(content("attempt_0/3/stdout.log"), "77\n0\n");
    end();
    begin("kill -PIPE $$; exit 0");
    (void)sigemptyset(&bench.options.ignored);
    (void)sigaddset(&bench.options.ignored, SIGPIPE); /* by the user's wish */
    start();
    CU_ASSERT_EQUAL(await(), 0);
    end();
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGUSR1, SIG_DFL);
    sigset_t all, before;
    begin("kill -TERM $$; exit 0"); /* whatever the runner has blocked, it has not */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    start();
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    CU_ASSERT_EQUAL(await(), 1000 + SIGTERM);
    end();
}

/* One that is also the terminal of its session. */
TEST(a_rank_may_have_a_terminal)
{
    static const char expected[] = "all three\r\nthe session's\r\n";
    char text[64] = "";
    size_t len = 0;
    int master, slave;
    begin("test -t 0 && test -t 1 && test -t 2 && echo all three; "
          "echo \"the session's\" >/dev/tty");
    CU_ASSERT_EQUAL_FATAL(openpty(&master, &slave, NULL, NULL, NULL), 0);
    bench.options.in_fd = slave;
    bench.rank.input = JR_INPUT_TERMINAL;
    start();
    CU_ASSERT_EQUAL(await(), 0);
    while (len < sizeof expected - 1) {
        ssize_t got = read(master, text + len, sizeof text - 1 - len);
        CU_ASSERT_TRUE_FATAL(got > 0);
        len += (size_t)got;
    }
    JR_ASSERT_TEXT(text, expected);
    (void)close(master);
    (void)close(slave);
    end();
}

/* A rank may be bound to CPUs, of which none may be missing. */
TEST(binds_to_cpus)
{
    cpu_set_t own;
    char text[16];
    unsigned cpu = 0;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof own, &own), 0);
    while (!CPU_ISSET(cpu, &own))
        cpu++;
    begin("grep Cpus_allowed_list /proc/self/status | cut -f 2");
    (void)snprintf(text, sizeof text, "%u", cpu);
    bench.rank.cpus = text;
    start();
    CU_ASSERT_EQUAL(await(), 0);
    char expected[24];
    (void)snprintf(expected, sizeof expected, "%u\n", cpu);
    JR_ASSERT_TEXT(content("attempt_0/3/stdout.log"), expected);
    end();
}

/* At which stage a start fails, and with which error. */
TEST(says_at_which_stage_it_fails)
{
    static const struct {
        const char *program, *workdir, *cpus;
        const char *planted; /* is made before; with a slash: a folder */
        enum jr_stage stage;
        int error;
    } vectors[] = {
        {"/nosuch/program", NULL, NULL, NULL, JR_STAGE_EXEC, ENOENT},
        {"nosuchprogram", NULL, NULL, NULL, JR_STAGE_EXEC, ENOENT},
        {"/etc", NULL, NULL, NULL, JR_STAGE_EXEC, EISDIR},
        {"/etc/passwd", NULL, NULL, NULL, JR_STAGE_EXEC, EACCES},
        {"/bin/sh", "/nosuch", NULL, NULL, JR_STAGE_WORKDIR, ENOENT},
        {"/bin/sh", "/etc/passwd", NULL, NULL, JR_STAGE_WORKDIR, ENOTDIR},
        {"/bin/sh", NULL, "8191", NULL, JR_STAGE_CPUS, EINVAL},
        {"/bin/sh", NULL, "x", NULL, JR_STAGE_CPUS, EINVAL},
        {"/bin/sh", NULL, NULL, "attempt_0/", JR_STAGE_FOLDER, EEXIST},
        {"/bin/sh", NULL, NULL, "attempt_0", JR_STAGE_FOLDER, EEXIST},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const char *planted = vectors[i].planted;
        char *argv[] = {(char *)vectors[i].program, NULL};
        begin("");
        bench.rank.argv = argv;
        bench.rank.cpus = vectors[i].cpus;
        if (vectors[i].workdir != NULL)
            bench.rank.workdir = vectors[i].workdir;
        if (planted != NULL && strchr(planted, '/') != NULL)
            CU_ASSERT_EQUAL(mkdirat(bench.scratch.fd, planted, 0700), 0)
        else if (planted != NULL)
            scratch_write(&bench.scratch, planted, "");
        open_starter();
        unsigned open = count_descriptors();
        jr_start_spawn(&bench.starter, &bench.rank, &bench.started);
        CU_ASSERT_EQUAL(bench.started.stage, vectors[i].stage);
        CU_ASSERT_EQUAL(bench.started.error, vectors[i].error);
        CU_ASSERT_EQUAL(bench.started.pid, 0);
        CU_ASSERT_EQUAL(bench.started.pidfd, -1);
        CU_ASSERT_EQUAL(count_descriptors(), open + (bench.starter.attempt_fd >= 0));
        CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1); /* it was reaped */
        end();
    }
}

/* What lies in the place of a log is neither written to nor followed, and a FIFO in the place of a
 * file for both streams holds nobody. */
TEST(a_planted_log_stops_the_start)
{
    enum planted { PLAIN, LINK, FIFO };
    static const struct {
        const char *name;
        enum planted what;
        enum jr_stage stage;
    } vectors[] = {
        {"attempt_0/3/stdout.log", PLAIN, JR_STAGE_STDOUT},
        {"attempt_0/3/stdout.log", LINK, JR_STAGE_STDOUT},
        {"attempt_0/3/stderr.log", PLAIN, JR_STAGE_STDERR},
        {"attempt_0/3/stderr.log", LINK, JR_STAGE_STDERR},
        {"attempt_0/3/stdout.log", FIFO, JR_STAGE_STDOUT},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        int reader = -1;
        begin("exit 0");
        if (vectors[i].what == FIFO)
            bench.rank.err_path = bench.rank.out_path;
        open_starter();
        CU_ASSERT_EQUAL(jr_start_folder(&bench.starter, "attempt_0/3"), 0);
        scratch_write(&bench.scratch, "victim", "mine");
        if (vectors[i].what == LINK) {
            CU_ASSERT_EQUAL(symlinkat("../../victim", bench.scratch.fd, vectors[i].name), 0);
        } else if (vectors[i].what == FIFO) {
            CU_ASSERT_EQUAL(mkfifoat(bench.scratch.fd, vectors[i].name, 0600), 0);
            reader = openat(bench.scratch.fd, vectors[i].name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        } else {
            scratch_write(&bench.scratch, vectors[i].name, "planted");
        }
        jr_start_spawn(&bench.starter, &bench.rank, &bench.started);
        CU_ASSERT_EQUAL(bench.started.stage, vectors[i].stage);
        CU_ASSERT_EQUAL(bench.started.error, EEXIST);
        JR_ASSERT_TEXT(content("victim"), "mine");
        if (reader >= 0)
            (void)close(reader);
        end();
    }
}

/* A folder is made once; a second rank's that is there is refused. */
TEST(makes_folders_once)
{
    begin("");
    open_starter();
    CU_ASSERT_EQUAL(jr_start_folder(&bench.starter, NULL), 0);
    CU_ASSERT_EQUAL(bench.starter.attempt_fd, -1);
    CU_ASSERT_EQUAL(jr_start_folder(&bench.starter, "attempt_0/3"), 0);
    CU_ASSERT_EQUAL(jr_start_folder(&bench.starter, "attempt_0/3"), 0);
    CU_ASSERT_EQUAL(jr_start_folder(&bench.starter, "attempt_0/4"), 0);
    CU_ASSERT_EQUAL(jr_start_folder(&bench.starter, "attempt_0/4"), -1);
    CU_ASSERT_EQUAL(errno, EEXIST);
    end();
    begin("");
    const struct jr_run_link link = {0};
    bench.options.link = &link; /* the head has made the attempt's */
    open_starter();
    CU_ASSERT_EQUAL(mkdirat(bench.scratch.fd, "attempt_0", 0700), 0);
    CU_ASSERT_EQUAL(jr_start_folder(&bench.starter, "attempt_0/3"), 0);
    end();
}

/* The rank dies with its runner: the kernel is told so. */
TEST(a_rank_dies_with_its_runner)
{
    begin("exec sleep 1000");
    open_starter();
    int pair[2], status;
    CU_ASSERT_EQUAL(pipe2(pair, O_CLOEXEC), 0);
    pid_t runner = fork();
    if (runner == 0) {
        bench.starter.runner = getpid();
        jr_start_spawn(&bench.starter, &bench.rank, &bench.started);
        if (write(pair[1], &bench.started.pid, sizeof(pid_t)) < 0)
            _exit(1);
        _exit(0);
    }
    pid_t rank = 0;
    CU_ASSERT_EQUAL(read(pair[0], &rank, sizeof rank), (ssize_t)sizeof rank);
    CU_ASSERT_TRUE(rank > 0);
    struct jr_hold hold = jr_hold_open(rank);
    CU_ASSERT_EQUAL(waitpid(runner, &status, 0), runner);
    CU_ASSERT_TRUE(jr_hold_await(&hold, 60000));
    jr_hold_close(&hold);
    (void)close(pair[0]);
    (void)close(pair[1]);
    end();
}

/* Another process than the runner starts no rank that would outlive it. */
TEST(only_the_runner_starts_ranks)
{
    begin("exit 0");
    open_starter();
    bench.starter.runner = getppid();
    jr_start_spawn(&bench.starter, &bench.rank, &bench.started);
    CU_ASSERT_EQUAL(bench.started.stage, JR_STAGE_PARENT);
    CU_ASSERT_EQUAL(bench.started.error, ESRCH);
    end();
}

/* Several starts under way at once: each has its own folder, streams, control socket and CPUs, no
 * descriptor of another, and fails by itself. */
TEST(several_start_at_once)
{
    static char dirs[JR_FLIGHTS][32], texts[JR_FLIGHTS][64];
    static char *argv[JR_FLIGHTS][4];
    struct jr_started started[JR_FLIGHTS];
    begin("");
    bench.options.out_fd = 1;
    bench.plan.returns = true;
    open_starter();
    unsigned width = jr_start_width(&bench.starter);
    for (unsigned n = 0; n < width; n++) {
        struct jr_plan_rank rank = bench.rank;
        (void)snprintf(dirs[n], sizeof dirs[n], "attempt_0/%u", n);
        (void)snprintf(texts[n], sizeof texts[n],
                       "set -- /proc/$$/fd/*; echo $#; read x <&3; exit %u", n);
        argv[n][0] = (char *)(n == 2 ? "/nosuch/program" : "/bin/sh");
        argv[n][1] = (char *)"-c";
        argv[n][2] = texts[n];
        rank.dir = dirs[n];
        rank.out = JR_SINK_CONSOLE;
        rank.err = 0;
        rank.argv = argv[n];
        rank.cpus = n == 4 ? "8191" : NULL;
        CU_ASSERT_EQUAL(jr_start_begin(&bench.starter, n, &rank), 0);
    }
    for (unsigned n = 0; n < width; n++)
        jr_start_end(&bench.starter, n, &started[n]);
    for (unsigned n = 0; n < width; n++) {
        char bytes[16];
        int status = 0;
        CU_ASSERT_EQUAL(started[n].stage, n == 2   ? JR_STAGE_EXEC
                                          : n == 4 ? JR_STAGE_CPUS
                                                   : JR_STAGE_NONE);
        CU_ASSERT_EQUAL(started[n].error, n == 2 ? ENOENT : n == 4 ? EINVAL : 0);
        if (started[n].stage == JR_STAGE_NONE) {
            /* 0, 1, 2, the socket, and the folder that is read. */
            CU_ASSERT_EQUAL(read(started[n].pipes[0], bytes, sizeof bytes), 2);
            CU_ASSERT_EQUAL(memcmp(bytes, "5\n", 2), 0);
            CU_ASSERT_EQUAL(write(started[n].control, "\n", 1), 1);
            CU_ASSERT_EQUAL(waitpid(started[n].pid, &status, 0), started[n].pid);
            CU_ASSERT_EQUAL(WEXITSTATUS(status), n);
            CU_ASSERT_EQUAL(read(started[n].pipes[0], bytes, sizeof bytes), 0);
            (void)close(started[n].pidfd);
        }
        (void)close(started[n].pipes[0]);
        (void)close(started[n].control);
    }
    bench.started = JR_STARTED_NONE;
    end();
}

/* A child that is killed on its way to execve is waited for no longer than it lives, whether or not
 * it got there. */
TEST(a_start_may_be_killed)
{
    for (int i = 0; i < 50; i++) {
        begin("exec sleep 1000");
        open_starter();
        CU_ASSERT_EQUAL(jr_start_begin(&bench.starter, 0, &bench.rank), 0);
        CU_ASSERT_EQUAL(kill(bench.starter.flights[0].started.pid, SIGKILL), 0);
        jr_start_end(&bench.starter, 0, &bench.started);
        CU_ASSERT_EQUAL(await(), 1000 + SIGKILL);
        end();
    }
}

/* What fails in a child leaves the errno of who starts it alone: both run in the same memory. */
TEST(a_child_has_its_own_errno)
{
    for (int i = 0; i < 50; i++) {
        begin("");
        open_starter();
        bench.rank.workdir = "/nosuch";
        CU_ASSERT_EQUAL(jr_start_begin(&bench.starter, 0, &bench.rank), 0);
        errno = EXDEV;
        while (__atomic_load_n(&bench.starter.flights[0].up, __ATOMIC_ACQUIRE) != 0)
            continue;
        CU_ASSERT_EQUAL(errno, EXDEV);
        jr_start_end(&bench.starter, 0, &bench.started);
        CU_ASSERT_EQUAL(bench.started.stage, JR_STAGE_WORKDIR);
        CU_ASSERT_EQUAL(bench.started.error, ENOENT);
        end();
    }
}

/* One at a time where the environment is made anew for each, or where the kernel lacks
 * something. */
TEST(starts_one_at_a_time_if_it_must)
{
    char *const more[] = {(char *)"A=1", NULL};
    begin("");
    open_starter();
    bench.starter.waits = false;
    CU_ASSERT_EQUAL(jr_start_width(&bench.starter), JR_FLIGHTS);
    bench.starter.more = more;
    CU_ASSERT_EQUAL(jr_start_width(&bench.starter), 1);
    bench.starter.more = NULL;
    bench.starter.exported.there = true;
    CU_ASSERT_EQUAL(jr_start_width(&bench.starter), 1);
    bench.starter.exported.there = false;
    bench.starter.waits = true;
    CU_ASSERT_EQUAL(jr_start_width(&bench.starter), 1);
    CU_ASSERT_EQUAL(jr_start_begin(&bench.starter, 0, &bench.rank), 0);
    CU_ASSERT_EQUAL(bench.starter.flights[0].up, 0);
    jr_start_end(&bench.starter, 0, &bench.started);
    CU_ASSERT_EQUAL(await(), 0);
    end();
}
