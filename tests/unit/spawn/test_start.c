/* Starting a rank: which way its streams go and what that costs, what its
 * process finds, and at which stage a start fails. */
#include "spawn/start.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/pidfd.h"
#include "base/rank_set.h"
#include "scratch.h"
#include "store/run_folder.h"

struct bench {
    struct scratch scratch;
    struct jr_run_folder folder;
    struct jr_run_options options;
    struct jr_policy policy;
    struct jr_plan plan;
    struct jr_plan_rank rank;
    struct jr_budget budget;
    struct jr_starter starter;
    struct jr_started started;
    char workdir[64];
};

static struct bench bench;
static char *environment[] = {(char *)"PATH=/bin:/usr/bin", (char *)"X=1",
                              NULL};

/* A rank that executes shell text, with its folder and both logs. */
static void begin(const char *text)
{
    static char *argv[4];
    argv[0] = (char *)"sh";
    argv[1] = (char *)"-c";
    argv[2] = (char *)text;
    bench = (struct bench){0};
    scratch_start(&bench.scratch);
    (void)snprintf(bench.workdir, sizeof bench.workdir, "%s",
                   bench.scratch.dir);
    bench.folder = (struct jr_run_folder){
        .fd = bench.scratch.fd, .dir_mode = 0700, .file_mode = 0640};
    bench.options = (struct jr_run_options){
        .dir = &bench.folder, .in_fd = -1, .out_fd = -1, .err_fd = -1};
    bench.rank = (struct jr_plan_rank){.argv = argv,
                                       .env = environment,
                                       .workdir = bench.workdir,
                                       .on_console = true,
                                       .out = JR_SINK_FILE,
                                       .err = JR_SINK_FILE,
                                       .dir = "attempt_0/3",
                                       .out_path = "attempt_0/3/stdout.log",
                                       .err_path = "attempt_0/3/stderr.log"};
    bench.plan = (struct jr_plan){
        .policy = &bench.policy, .ranks = &bench.rank, .count = 1};
}

static void open_starter(void)
{
    CU_ASSERT_EQUAL_FATAL(jr_starter_open(&bench.starter, &bench.plan,
                                          &bench.options, &bench.budget),
                          0);
    (void)umask(022);
}

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

static void end(void)
{
    const int fds[] = {bench.started.pidfd, bench.started.control,
                       bench.started.pipes[0], bench.started.pipes[1],
                       bench.starter.attempt_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] > 2)
            (void)close(fds[i]);
    for (int fd = JR_SLOT_DIR; fd < JR_SLOT_END; fd++)
        (void)close(fd);
    scratch_end(&bench.scratch);
}

static const char *content(const char *name)
{
    static char text[4096];
    int fd = openat(bench.scratch.fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[len < 0 ? 0 : len] = '\0';
    if (fd >= 0)
        (void)close(fd);
    return text;
}

/* Which way a stream goes. */
static void streams_have_routes(void)
{
    static const struct {
        enum jr_sink sink;
        enum jr_input input;
        bool console, shown, limited, watched;
        enum jr_route route;
    } vectors[] = {
        {JR_SINK_INHERIT, JR_INPUT_NONE, true, true, true, true,
         JR_ROUTE_INHERIT},
        {JR_SINK_INHERIT, JR_INPUT_NONE, false, true, false, false,
         JR_ROUTE_NULL},
        {JR_SINK_INHERIT, JR_INPUT_STDIN, true, false, false, false,
         JR_ROUTE_INHERIT},
        {JR_SINK_FILE, JR_INPUT_TERMINAL, true, true, true, true,
         JR_ROUTE_TERMINAL},
        {JR_SINK_FILE, JR_INPUT_NONE, true, true, false, false, JR_ROUTE_FILE},
        {JR_SINK_FILE, JR_INPUT_NONE, true, true, true, false, JR_ROUTE_PIPE},
        {JR_SINK_FILE, JR_INPUT_NONE, false, false, false, true, JR_ROUTE_PIPE},
        {JR_SINK_CONSOLE, JR_INPUT_NONE, true, true, false, false,
         JR_ROUTE_PIPE},
        {JR_SINK_CONSOLE, JR_INPUT_NONE, false, true, false, false,
         JR_ROUTE_NULL},
        {JR_SINK_CONSOLE, JR_INPUT_NONE, true, false, true, false,
         JR_ROUTE_NULL},
        {JR_SINK_FILE | JR_SINK_CONSOLE, JR_INPUT_NONE, true, true, false,
         false, JR_ROUTE_PIPE},
        {JR_SINK_FILE | JR_SINK_CONSOLE, JR_INPUT_NONE, false, true, false,
         false, JR_ROUTE_FILE},
        {JR_SINK_FILE | JR_SINK_CONSOLE, JR_INPUT_NONE, true, false, false,
         false, JR_ROUTE_FILE},
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
            *(stream == 0 ? &options.out_fd : &options.err_fd) =
                vectors[i].console ? 1 : -1;
            CU_ASSERT_EQUAL(jr_start_route(&rank, stream, &options),
                            vectors[i].route);
            bool shown = (vectors[i].sink & JR_SINK_CONSOLE) != 0 &&
                         vectors[i].console && vectors[i].shown;
            CU_ASSERT_EQUAL(jr_start_is_shown(&rank, stream, &options), shown);
        }
}

/* Pipes, and files that jobrun writes itself, over the ranks that start here;
 * the setup has two of both. */
static void counts_what_it_costs(void)
{
    struct jr_plan_rank ranks[5] = {
        {.out = JR_SINK_FILE | JR_SINK_CONSOLE, .on_console = true},
        {.out = JR_SINK_FILE | JR_SINK_CONSOLE,
         .err = JR_SINK_CONSOLE,
         .on_console = true},
        {.out = JR_SINK_FILE, .err = JR_SINK_FILE, .on_console = true},
        {.out = JR_SINK_FILE, .err = JR_SINK_FILE, .limited = true},
        {.out = JR_SINK_CONSOLE, .err = JR_SINK_CONSOLE, .on_console = true},
    };
    static const struct {
        uint32_t first, count;
        bool setup;
        uint64_t pipes, files;
    } vectors[] = {
        {0, 0, false, 0, 0}, {0, 0, true, 2, 2},  {0, 1, false, 1, 1},
        {0, 2, false, 3, 2}, {2, 1, false, 0, 0}, {3, 1, false, 2, 2},
        {1, 4, false, 6, 3}, {0, 5, true, 9, 6},
    };
    const struct jr_run_options options = {.out_fd = 1, .err_fd = 2};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_plan plan = {.ranks = ranks,
                               .first = vectors[i].first,
                               .count = vectors[i].count};
        plan.setup.text = vectors[i].setup ? "true" : NULL;
        struct jr_start_cost cost = jr_start_cost(&plan, &options);
        CU_ASSERT_EQUAL(cost.pipes, vectors[i].pipes);
        CU_ASSERT_EQUAL(cost.files, vectors[i].files);
    }
}

/* Where a file lies that is no rank's own. */
static void places_files_beside_the_ranks(void)
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
        const struct jr_run_options options = {.link = vectors[i].link ? &link
                                                                       : NULL};
        const struct jr_starter starter = {.options = &options};
        const struct jr_plan_rank rank = {.dir = vectors[i].dir,
                                          .node_rank = 4};
        char path[64];
        jr_start_beside(&starter, &rank, "setup.log", path, sizeof path);
        JR_ASSERT_TEXT(path, vectors[i].path);
    }
}

/* A process of its own session, in its folder, with its environment, and
 * nothing else. */
static void a_rank_finds_what_the_plan_says(void)
{
    begin("test $$ = $(ps -o sid= -p $$) || echo session; pwd; echo $X; "
          "ls /proc/self/fd | tr '\\n' ' '; echo err >&2; umask; exit 7");
    start();
    CU_ASSERT_EQUAL(await(), 7);
    char expected[256];
    (void)snprintf(expected, sizeof expected, "%s\n1\n0 1 2 3 ", bench.workdir);
    const char *out = content("attempt_0/3/stdout.log");
    if (strncmp(out, expected, strlen(expected)) != 0)
        printf("\n    %s", out);
    CU_ASSERT_EQUAL(strncmp(out, expected, strlen(expected)), 0);
    JR_ASSERT_TEXT(content("attempt_0/3/stderr.log"), "err\n");
    CU_ASSERT_EQUAL(bench.started.pipes[0], -1);
    CU_ASSERT_EQUAL(bench.started.control, -1);
    CU_ASSERT_EQUAL(bench.started.error, 0);
    struct stat st;
    CU_ASSERT_EQUAL(fstatat(bench.scratch.fd, "attempt_0/3/stdout.log", &st, 0),
                    0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0640);
    CU_ASSERT_EQUAL(fstatat(bench.scratch.fd, "attempt_0/progress", &st, 0), 0);
    CU_ASSERT_TRUE(S_ISDIR(st.st_mode));
    end();
}

/* What goes to the console comes by a pipe; where it has a file too, that is
 * made by whoever reads the pipe. */
static void pipes_come_back(void)
{
    for (int file = 0; file < 2; file++) {
        char bytes[16];
        begin("echo out; echo err >&2");
        bench.options.out_fd = bench.options.err_fd = 1;
        bench.rank.out = JR_SINK_CONSOLE | (file ? JR_SINK_FILE : 0);
        start();
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
static void both_streams_may_share_a_file(void)
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

/* A rank that has to return has a socket as its descriptor 3, whose other end
 * is ours, and says who wrote. */
static void a_rank_may_have_a_control_socket(void)
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

/* Its input is /dev/null, or jobrun's own. */
static void a_rank_has_an_input(void)
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
static void limits_and_signals_are_its_own(void)
{
    begin("ulimit -n; ulimit -c; kill -PIPE $$; exit 0");
    (void)signal(SIGPIPE, SIG_IGN);
    bench.budget.limits = (struct jr_limit_list){
        2, {{RLIMIT_NOFILE, {77, 77}}, {RLIMIT_CORE, {0, 0}}}};
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
}

/* A rank may be bound to CPUs, of which none may be missing. */
static void binds_to_cpus(void)
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
static void says_at_which_stage_it_fails(void)
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
        start();
        CU_ASSERT_EQUAL(bench.started.stage, vectors[i].stage);
        CU_ASSERT_EQUAL(bench.started.error, vectors[i].error);
        CU_ASSERT_EQUAL(bench.started.pid, 0);
        CU_ASSERT_EQUAL(bench.started.pidfd, -1);
        end();
    }
}

/* What lies in the place of a log is neither written to nor followed. */
static void a_planted_log_stops_the_start(void)
{
    static const struct {
        const char *name;
        bool link;
        enum jr_stage stage;
    } vectors[] = {
        {"attempt_0/3/stdout.log", false, JR_STAGE_STDOUT},
        {"attempt_0/3/stdout.log", true, JR_STAGE_STDOUT},
        {"attempt_0/3/stderr.log", false, JR_STAGE_STDERR},
        {"attempt_0/3/stderr.log", true, JR_STAGE_STDERR},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        begin("exit 0");
        open_starter();
        CU_ASSERT_EQUAL(jr_start_folder(&bench.starter, "attempt_0/3"), 0);
        scratch_write(&bench.scratch, "victim", "mine");
        if (vectors[i].link)
            CU_ASSERT_EQUAL(
                symlinkat("../../victim", bench.scratch.fd, vectors[i].name), 0)
        else
            scratch_write(&bench.scratch, vectors[i].name, "planted");
        jr_start_spawn(&bench.starter, &bench.rank, &bench.started);
        CU_ASSERT_EQUAL(bench.started.stage, vectors[i].stage);
        CU_ASSERT_EQUAL(bench.started.error, EEXIST);
        JR_ASSERT_TEXT(content("victim"), "mine");
        end();
    }
}

/* A folder is made once; a second rank's that is there is refused. */
static void makes_folders_once(void)
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
static void a_rank_dies_with_its_runner(void)
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
static void only_the_runner_starts_ranks(void)
{
    begin("exit 0");
    open_starter();
    bench.starter.runner = getppid();
    jr_start_spawn(&bench.starter, &bench.rank, &bench.started);
    CU_ASSERT_EQUAL(bench.started.stage, JR_STAGE_PARENT);
    CU_ASSERT_EQUAL(bench.started.error, ESRCH);
    end();
}

/* Several starts under way at once: each has its own folder, streams, control
 * socket and CPUs, no descriptor of another, and fails by itself. */
static void several_start_at_once(void)
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
        CU_ASSERT_EQUAL(started[n].error, n == 2   ? ENOENT
                                          : n == 4 ? EINVAL
                                                   : 0);
        if (started[n].stage == JR_STAGE_NONE) {
            /* 0, 1, 2, the socket, and the folder that is read. */
            CU_ASSERT_EQUAL(read(started[n].pipes[0], bytes, sizeof bytes), 2);
            CU_ASSERT_EQUAL(memcmp(bytes, "5\n", 2), 0);
            CU_ASSERT_EQUAL(write(started[n].control, "\n", 1), 1);
            CU_ASSERT_EQUAL(waitpid(started[n].pid, &status, 0),
                            started[n].pid);
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

/* A child that is killed on its way to execve is waited for no longer than it
 * lives, whether or not it got there. */
static void a_start_may_be_killed(void)
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

/* What fails in a child leaves the errno of who starts it alone: both run in
 * the same memory. */
static void a_child_has_its_own_errno(void)
{
    for (int i = 0; i < 50; i++) {
        begin("");
        open_starter();
        bench.rank.workdir = "/nosuch";
        CU_ASSERT_EQUAL(jr_start_begin(&bench.starter, 0, &bench.rank), 0);
        errno = EXDEV;
        while (__atomic_load_n(&bench.starter.flights[0].up,
                               __ATOMIC_ACQUIRE) != 0)
            continue;
        CU_ASSERT_EQUAL(errno, EXDEV);
        jr_start_end(&bench.starter, 0, &bench.started);
        CU_ASSERT_EQUAL(bench.started.stage, JR_STAGE_WORKDIR);
        CU_ASSERT_EQUAL(bench.started.error, ENOENT);
        end();
    }
}

/* One at a time where the environment is made anew for each, or where the
 * kernel lacks something. */
static void starts_one_at_a_time_if_it_must(void)
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

JR_UNIT_MAIN("start", CASE(streams_have_routes), CASE(counts_what_it_costs),
             CASE(places_files_beside_the_ranks),
             CASE(a_rank_finds_what_the_plan_says), CASE(pipes_come_back),
             CASE(both_streams_may_share_a_file),
             CASE(a_rank_may_have_a_control_socket), CASE(a_rank_has_an_input),
             CASE(limits_and_signals_are_its_own), CASE(binds_to_cpus),
             CASE(says_at_which_stage_it_fails),
             CASE(a_planted_log_stops_the_start), CASE(makes_folders_once),
             CASE(a_rank_dies_with_its_runner),
             CASE(only_the_runner_starts_ranks), CASE(several_start_at_once),
             CASE(a_start_may_be_killed), CASE(a_child_has_its_own_errno),
             CASE(starts_one_at_a_time_if_it_must))
