/* A rank's place in the job, read from its environment, and the command line of the program. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"
#include "worker/c/worker.h"

/* main.c is compiled with its main() under this name. */
int jr_step_main(int argc, char **argv);

/* The contract's variables, of rank 17 of 24: 2 model x 3 pipeline x 4 data. */
static const char *const variables[][2] = {
    {"RANK", "17"},
    {"WORLD_SIZE", "24"},
    {"LOCAL_RANK", "1"},
    {"LOCAL_WORLD_SIZE", "8"},
    {"NODE_RANK", "2"},
    {"GROUP_WORLD_SIZE", "3"},
    {"JOBRUN_ATTEMPT", "4"},
    {"MASTER_PORT", "29500"},
    {"MODEL_PARALLEL_SIZE", "2"},
    {"MODEL_PARALLEL_RANK", "1"},
    {"MODEL_PARALLEL_GROUP", "8"},
    {"PIPELINE_PARALLEL_SIZE", "3"},
    {"PIPELINE_PARALLEL_RANK", "2"},
    {"PIPELINE_PARALLEL_GROUP", "5"},
    {"DATA_PARALLEL_SIZE", "4"},
    {"DATA_PARALLEL_RANK", "2"},
    {"DATA_PARALLEL_GROUP", "7"},
};
#define COUNT (sizeof variables / sizeof *variables)

static void set_all(void)
{
    CU_ASSERT_EQUAL(clearenv(), 0);
    for (size_t i = 0; i < COUNT; i++)
        (void)setenv(variables[i][0], variables[i][1], 1);
    (void)setenv("MODEL_PARALLEL_BACKEND", "nccl", 1);
    (void)setenv("DATA_PARALLEL_BACKEND", "gloo", 1);
    (void)setenv("MASTER_ADDR", "n0", 1);
    (void)setenv("INIT_METHOD", "env://", 1);
    (void)setenv("JOBRUN_RUN_ID", "run-7", 1);
    (void)setenv("JOBRUN_RUN_DIR", "/runs/run-7", 1);
    (void)setenv("JOBRUN_RANK_DIR", "/runs/run-7/attempt_4/17", 1);
}

/* Each number is needed, and has to be one. */
TEST(every_number_is_needed)
{
    static const char *const bad[] = {NULL, "", "x", "-1", "1.5", "4294967296", " 1", "1 "};
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            struct jr_rank rank = {.rank = 99};
            struct jr_error err = {0};
            char text[256];
            set_all();
            if (bad[k] == NULL)
                (void)unsetenv(variables[i][0]);
            else
                (void)setenv(variables[i][0], bad[k], 1);
            CU_ASSERT_EQUAL(jr_worker_rank(&rank, &err), -1);
            (void)snprintf(text, sizeof text, "%s is %s: this process is not a rank of jobrun",
                           variables[i][0], bad[k] == NULL ? "not set" : "not a number");
            JR_ASSERT_TEXT(err.text, text);
            CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
            CU_ASSERT_EQUAL(rank.rank, 99); /* it is left as it was */
        }
}

/* Each goes where it belongs. */
TEST(knows_its_place)
{
    struct jr_rank rank;
    struct jr_error err = {0};
    set_all();
    CU_ASSERT_EQUAL_FATAL(jr_worker_rank(&rank, &err), 0);
    CU_ASSERT_TRUE(rank.rank == 17 && rank.world_size == 24 && rank.local_rank == 1);
    CU_ASSERT_TRUE(rank.local_world_size == 8 && rank.node_rank == 2 && rank.nodes == 3);
    CU_ASSERT_TRUE(rank.attempt == 4 && rank.master_port == 29500);
    JR_ASSERT_TEXT(rank.master_addr, "n0");
    JR_ASSERT_TEXT(rank.init_method, "env://");
    JR_ASSERT_TEXT(rank.run_id, "run-7");
    JR_ASSERT_TEXT(rank.run_dir, "/runs/run-7");
    JR_ASSERT_TEXT(rank.rank_dir, "/runs/run-7/attempt_4/17");
    CU_ASSERT_TRUE(rank.argc == 0 && rank.progress == jr_worker_progress);
}

/* Of each axis the members of its group: from `first` on, `stride` apart. */
TEST(knows_its_groups)
{
    static const struct jr_rank_place expected[3] = {
        {2, 1, 8, 16, 1, "nccl"}, {3, 2, 5, 13, 2, NULL}, {4, 2, 7, 5, 6, "gloo"}};
    struct jr_rank rank;
    struct jr_error err = {0};
    set_all();
    CU_ASSERT_EQUAL_FATAL(jr_worker_rank(&rank, &err), 0);
    for (int i = 0; i < 3; i++) {
        const struct jr_rank_place *axis = &rank.axes[i];
        CU_ASSERT_TRUE(axis->size == expected[i].size && axis->at == expected[i].at);
        CU_ASSERT_TRUE(axis->group == expected[i].group && axis->stride == expected[i].stride);
        CU_ASSERT_EQUAL(axis->first, expected[i].first);
        if (expected[i].backend == NULL)
            CU_ASSERT_PTR_NULL(axis->backend)
        else
            JR_ASSERT_TEXT(axis->backend, expected[i].backend);
        /* The rank is in its own group. */
        CU_ASSERT_EQUAL(axis->first + axis->at * axis->stride, rank.rank);
    }
}

/* What the program says of a command line, and its exit code. */
static void check_usage(char **argv, bool told)
{
    static const char usage[] = "usage: jobrun-step PATH SYMBOL [ARG]...\n"
                                "       jobrun-step serve [--refuse-threads] PATH\n";
    char text[512];
    int ends[2], status = 0, argc = 0;
    size_t len = 0;
    while (argv[argc] != NULL)
        argc++;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)close(JR_WORKER_CONTROL);
        _exit(jr_step_main(argc, argv));
    }
    (void)close(ends[1]);
    for (ssize_t got;
         len < sizeof text - 1 && (got = read(ends[0], text + len, sizeof text - 1 - len)) > 0;)
        len += (size_t)got;
    text[len] = '\0';
    (void)close(ends[0]);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == JR_WORKER_UNSTARTED);
    CU_ASSERT_EQUAL(strcmp(text, usage) == 0, told);
    if (!told)
        CU_ASSERT_PTR_NOT_NULL(strstr(text, "/nosuch/lib.so"));
}

TEST(says_how_it_is_called)
{
    char *none[] = {(char *)"jobrun-step", NULL};
    char *one[] = {(char *)"jobrun-step", (char *)"lib.so", NULL};
    char *serve[] = {(char *)"jobrun-step", (char *)"serve", NULL};
    set_all();
    check_usage(none, true);
    check_usage(one, true);
    check_usage(serve, true);
}

/* A library that is not there is no start of the user's code. */
TEST(a_library_has_to_be_there)
{
    char *two[] = {(char *)"jobrun-step", (char *)"/nosuch/lib.so", (char *)"step", NULL};
    char *three[] = {(char *)"jobrun-step", (char *)"/nosuch/lib.so", (char *)"step",
                     (char *)"argument", NULL};
    set_all();
    check_usage(two, false);
    check_usage(three, false);
}

enum { WAIT_MS = 60000, WORDS = 6 };

/* The program with these words, and a descriptor 3: a socket, whose other end is returned in
 * *ret_channel, or a file. */
static pid_t start(const char *const words[static WORDS], bool socket, int *ret_channel)
{
    int ends[2], argc = 0;
    char *argv[WORDS + 2] = {(char *)"jobrun-step"};
    for (argc = 0; words[argc] != NULL; argc++)
        argv[argc + 1] = (char *)(uintptr_t)words[argc];
    (void)fflush(stdout);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(60);
        int file = open("/dev/null", O_RDWR);
        (void)dup2(socket ? ends[1] : file, JR_WORKER_CONTROL);
        for (int fd = JR_WORKER_CONTROL + 1; fd < 64; fd++)
            (void)close(fd);
        _exit(jr_step_main(argc + 1, argv));
    }
    (void)close(ends[1]);
    *ret_channel = ends[0];
    return pid;
}

/* The next message; "" at the end. Static. */
static const char *hear(int channel)
{
    static char text[4097];
    struct pollfd item = {.fd = channel, .events = POLLIN};
    CU_ASSERT_EQUAL_FATAL(poll(&item, 1, WAIT_MS), 1);
    ssize_t len = recv(channel, text, sizeof text - 1, 0);
    text[len < 0 ? 0 : len] = '\0';
    return text;
}

static int wait_for(pid_t pid)
{
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Which words make it a helper, of which library, and what of threads. */
TEST(is_a_helper_when_asked)
{
    static const struct {
        const char *words[WORDS];
        const char *said; /* its first message begins with this; "": none */
        int code;
    } vectors[] = {
        {{"serve", "/nosuch/lib.so"},
         "failed import\ncould not load the library: /nosuch/lib.so",
         1},
        {{"serve", "--refuse-threads", "/nosuch/lib.so"},
         "failed import\ncould not load the library: /nosuch/lib.so",
         1},
        {{"serve", TEST_LIBRARY}, "threads 1 thread (busy)", 0},
        {{"serve", "--refuse-threads", TEST_LIBRARY},
         "failed fork\nloading the library started 1 thread (busy)",
         1},
        {{"serve", "--refuse", TEST_LIBRARY}, "", JR_WORKER_UNSTARTED},
        {{"serve", TEST_LIBRARY, "code"}, "", JR_WORKER_UNSTARTED},
        {{"served", TEST_LIBRARY}, "", JR_WORKER_UNSTARTED},
        {{"serve", "--refuse-threads", TEST_LIBRARY, "code"}, "", JR_WORKER_UNSTARTED},
        {{"/nosuch/lib.so", "--refuse-threads", TEST_LIBRARY}, "", JR_WORKER_UNSTARTED},
    };
    set_all();
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        int channel;
        const char *said = vectors[i].said;
        (void)setenv("LIBRARY_DOES", "thread", 1);
        pid_t pid = start(vectors[i].words, true, &channel);
        (void)unsetenv("LIBRARY_DOES");
        const char *text = hear(channel);
        CU_ASSERT_EQUAL(strncmp(text, said, strlen(said)), 0);
        CU_ASSERT_EQUAL(*text == '\0', *said == '\0');
        (void)shutdown(channel, SHUT_RDWR); /* a helper that waits ends */
        CU_ASSERT_EQUAL(wait_for(pid), vectors[i].code);
        (void)close(channel);
    }
}

/* A rank has the words behind its function, and a socket as descriptor 3 is the runner's, which
 * what it starts does not get. */
TEST(calls_with_the_words_behind)
{
    static const struct {
        const char *words[WORDS];
        bool socket;
        const char *said;
        int code;
    } vectors[] = {
        {{TEST_LIBRARY, "code", "7"}, true, "x 7", 7},
        {{TEST_LIBRARY, "code", "7"}, false, "", 7},
        {{TEST_LIBRARY, "code", "8", "9"}, true, "x 8", 8},
        {{TEST_LIBRARY, "control_flags"}, true, "x 41", 41},
        {{TEST_LIBRARY, "control_flags"}, false, "", 40},
    };
    set_all();
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        int channel;
        pid_t pid = start(vectors[i].words, vectors[i].socket, &channel);
        JR_ASSERT_TEXT(hear(channel), vectors[i].said);
        (void)send(channel, "!", 1, MSG_NOSIGNAL);
        CU_ASSERT_EQUAL(wait_for(pid), vectors[i].code);
        (void)close(channel);
    }
}

/* All words behind the function are the step's, and no other. */
TEST(gives_the_step_its_words)
{
    char path[64], text[1024] = "";
    int channel;
    SCRATCH(scratch);
    set_all();
    (void)snprintf(path, sizeof path, "%s/result.json", scratch.dir);
    (void)setenv("JOBRUN_RESULT_FILE", path, 1);
    const char *words[WORDS] = {TEST_LIBRARY, "place", "one", "two"};
    pid_t pid = start(words, false, &channel);
    CU_ASSERT_EQUAL(wait_for(pid), 0);
    (void)close(channel);
    int fd = open(path, O_RDONLY);
    CU_ASSERT_TRUE(read(fd, text, sizeof text - 1) > 0);
    CU_ASSERT_EQUAL(strncmp(text, "[17,24,1,8,2,3,4,29500,", 23), 0);
    const char *last = strstr(text, "attempt_4/17");
    CU_ASSERT_PTR_NOT_NULL_FATAL(last);
    JR_ASSERT_TEXT(last, "attempt_4/17\",\"one\",\"two\"]\n");
    (void)close(fd);
}
