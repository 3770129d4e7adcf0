#include "cluster/transport.h"
#include "cluster/controller.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "descriptors.h"
#include "scratch.h"

struct vector {
    const char *line;
    uint32_t node;
    const char *host;
    bool lost;
};

TEST(hears_of_lost_nodes_and_of_nothing_else)
{
    static const struct vector vectors[] = {
        {"", 1, "n2", false},
        {"srun: error: ", 1, "n2", false},
        {"srun: error: n2: task", 1, "n2", false},
        {"srun: error: n2: task : Killed", 1, "n2", false},
        {"srun: error: n2: tasks x: Killed", 1, "n2", false},
        {"srun: error: n2: tasks 3-1: Killed", 2, "n3", false},
        {"error: n2: task 1: Killed", 1, "n2", false},
        {"srun: error:n2: task 1: Killed", 1, "n2", false},
        {"srun: n2: task 1: running", 1, "n2", false},
        {"slurmstepd: error: n2: task 1: Killed", 1, "n2", false},
        {"srun: error: n2: task 1: Killed", 1, NULL, true},
        {"srun: error: n2: task 1: Killed", 0, "n1", false},
        {"srun: error: n2: task 1: Killed", 11, "n12", false},
        {"srun: error: n[2-3]: tasks 1-2: Exited with exit code 1", 1, "n2", true},
        {"srun: error: n[2-3]: tasks 1-2: Exited with exit code 1", 2, "n3", true},
        {"srun: error: n[2-3]: tasks 1-2: Exited with exit code 1", 3, "n4", false},
        {"srun: error: n[2,9]: tasks 1,8: Killed", 8, "n9", true},
        {"srun: error: Node failure on n2", 1, "n2", true},
        {"srun: error: Node failure on n2", 1, NULL, false},
        {"srun: error: Node failure on n2", 2, "n", false},
        {"srun: error: Node failure on n21", 1, "n2", false},
        {"srun: error: Node failure on gpu-n2", 1, "n2", false},
        {"srun: error: Node failure on n1,n2", 1, "n2", true},
        {"srun: error: Node failure on n1,n2", 0, "n1", true},
        {"srun: error: Unable to create step for job 7: busy", 0, "n1", false}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct vector *v = &vectors[i];
        if (jr_srun_transport.has_lost(v->line, v->node, v->host) == v->lost)
            continue;
        printf("\n    '%s' node %u\n", v->line, v->node);
        CU_FAIL("srun was misheard");
    }
}

TEST(starts_agents_on_some_nodes_alone)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    char *const hosts[] = {(char[]){"n1"}, (char[]){"n3"}};
    const struct jr_controller_options options = {
        .program = "jobrun", .nodes = 2, .hosts = hosts, .only_hosts = true};
    char **words = jr_srun_words(&arena, &options);
    JR_ASSERT_TEXT(words[1], "--nodes=2");
    JR_ASSERT_TEXT(words[3], "--nodelist=n1,n3");
    JR_ASSERT_TEXT(words[4], "--ntasks-per-node=1");
}

/* What a job's own options, or a shell, leave behind for srun to read. */
TEST(keeps_from_srun_what_would_change_it)
{
    char *const envp[] = {
        (char[]){"PATH=/bin"},
        (char[]){"SLURM_JOB_ID=7"},
        (char[]){"SLURM_LABELIO=1"},
        (char[]){"SLURM_NTASKS_PER_NODE=8"},
        (char[]){"SLURM_NTASKS=16"},
        (char[]){"SRUN_CPUS_PER_TASK=4"},
        (char[]){"SLURM_CPU_BIND=cores"},
        (char[]){"CUDA_VISIBLE_DEVICES=0"},
        (char[]){"SLURM_STEP_ID=3"},
        NULL,
    };
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    char **env = jr_srun_environment(&arena, envp);
    JR_ASSERT_TEXT(env[0], "PATH=/bin");
    JR_ASSERT_TEXT(env[1], "SLURM_JOB_ID=7");
    JR_ASSERT_TEXT(env[2], "CUDA_VISIBLE_DEVICES=0");
    CU_ASSERT_PTR_NULL(env[3]);
}

/* The first srun in PATH is a script of ours. */
struct path {
    struct scratch scratch;
    char *before;
};

static void path_start(struct path *path, const char *script, mode_t mode)
{
    scratch_start(&path->scratch);
    path->before = strdup(getenv("PATH"));
    if (script != NULL) {
        scratch_write(&path->scratch, "srun", script);
        CU_ASSERT_EQUAL(fchmodat(path->scratch.fd, "srun", mode, 0), 0);
    }
    (void)setenv("PATH", path->scratch.dir, 1);
}

static void path_end(struct path *path)
{
    (void)setenv("PATH", path->before, 1);
    free(path->before);
    scratch_end(&path->scratch);
}

/* All that comes before the end; ours do not block, srun's do. */
static void read_end(int fd, char text[static 1024])
{
    size_t len = 0;
    ssize_t got;
    CU_ASSERT_EQUAL(fcntl(fd, F_GETFD), FD_CLOEXEC);
    CU_ASSERT_TRUE((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    (void)fcntl(fd, F_SETFL, 0);
    while ((got = read(fd, text + len, 1023 - len)) > 0)
        len += (size_t)got;
    CU_ASSERT_EQUAL(got, 0); /* nobody else has the other end */
    text[len] = '\0';
}

static const char script[] = "#!/bin/sh\n"
                             "read -r line && echo \"$line\"\n"
                             "read -r line || echo no more\n"
                             "read -r pid rest < /proc/self/stat\n"
                             "while read -r key value rest; do case $key in\n"
                             "  SigBlk:|SigIgn:) echo $key $value;;\n"
                             "esac; done < /proc/$$/status\n"
                             "read -r pid name state parent group session rest < /proc/$$/stat\n"
                             "echo $((session == $$))\n"
                             "echo \"$SLURM_JOB_ID $SLURM_LABELIO\"\n"
                             "echo \"$1 $2\" >&2\n";

TEST(starts_srun_apart_from_jobrun)
{
    char *const envp[] = {(char[]){"SLURM_JOB_ID=7"}, (char[]){"SLURM_LABELIO=1"}, NULL};
    struct path path;
    struct jr_carrier srun = {.pid = -1};
    struct jr_error err = {0};
    const struct jr_controller_options options = {.program = "/jobrun", .nodes = 3, .envp = envp};
    char out[1024], told[1024];
    int status = -1;
    sigset_t set, mask;
    path_start(&path, script, 0755);
    unsigned before = count_descriptors();
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &set, &mask);
    (void)signal(SIGUSR1, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(jr_srun_transport.start(&srun, &options, 0, &err), 0);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    (void)signal(SIGUSR1, SIG_DFL);
    CU_ASSERT_EQUAL(fcntl(srun.in_fd, F_GETFD), FD_CLOEXEC);
    CU_ASSERT_TRUE((fcntl(srun.in_fd, F_GETFL) & O_NONBLOCK) != 0);
    CU_ASSERT_EQUAL(fcntl(srun.in_fd, F_GETPIPE_SZ), 1 << 20);
    CU_ASSERT_EQUAL(fcntl(srun.out_fd, F_GETPIPE_SZ), 1 << 20);
    CU_ASSERT_EQUAL(write(srun.in_fd, "word\n", 5), 5);
    (void)close(srun.in_fd);
    read_end(srun.out_fd, out);
    read_end(srun.err_fd, told);
    unsigned long long ignored = ~0ULL;
    char *at = strstr(out, "SigIgn: ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    CU_ASSERT_EQUAL(sscanf(at, "SigIgn: %llx", &ignored), 1);
    CU_ASSERT_EQUAL(ignored & 0x7fffffff, 0); /* but for those of libc */
    CU_ASSERT_EQUAL(strncmp(out, "word\nno more\nSigBlk: 0000000000000000\n", 38), 0);
    JR_ASSERT_TEXT(strchr(at, '\n'), "\n1\n7 \n");
    JR_ASSERT_TEXT(told, "--nodes=3 --ntasks=3\n");
    CU_ASSERT_EQUAL(waitpid(srun.pid, &status, 0), srun.pid);
    (void)close(srun.out_fd);
    (void)close(srun.err_fd);
    CU_ASSERT_EQUAL(count_descriptors(), before);
    path_end(&path);
}

/* The limit under which so many descriptors can be opened. */
static rlim_t number_of_free(unsigned room)
{
    int fd = 0;
    for (unsigned count = 0; count < room; fd++)
        count += fcntl(fd, F_GETFD) < 0;
    return (rlim_t)fd;
}

TEST(says_why_srun_cannot_be_started)
{
    static const struct {
        const char *script, *expected;
        unsigned room; /* for descriptors; 0: enough */
    } vectors[] = {
        {NULL,
         "srun is not in PATH; jobrun needs it to start on the nodes of the allocation. If the "
         "SLURM_* variables are left over from another shell, type `unset SLURM_JOB_ID` first, or "
         "start all ranks here with --local",
         0},
        {"x", "could not start srun: Permission denied", 0},
        {"x", "could not start srun: Too many open files", 1},
        {"x", "could not start srun: Too many open files", 5}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char *const envp[] = {NULL};
        struct path path;
        struct jr_carrier srun = {.pid = -1};
        struct jr_error err = {0};
        struct rlimit limit, less;
        const struct jr_controller_options options = {
            .program = "/jobrun", .nodes = 3, .envp = envp};
        path_start(&path, vectors[i].script, 0600);
        unsigned before = count_descriptors();
        CU_ASSERT_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
        less = limit;
        less.rlim_cur = number_of_free(vectors[i].room);
        if (vectors[i].room > 0)
            CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &less), 0);
        CU_ASSERT_EQUAL(jr_srun_transport.start(&srun, &options, 0, &err), -1);
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
        JR_ASSERT_TEXT(err.text, vectors[i].expected);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
        CU_ASSERT_EQUAL(count_descriptors(), before);
        path_end(&path);
    }
}
