#include "cluster/srun.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/rank_set.h"
#include "base/subprocess.h"

#include "base/banned.h"

/* clang-format off */
/* Input variables of srun(1) that come from a job's own options, or from a
 * user's shell. */
static const char *const unwanted[] = {
    "SLURM_NTASKS*",      "SLURM_NPROCS",       "SLURM_TASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK", "SLURM_CPU_BIND*",   "SLURM_DISTRIBUTION",
    "SLURM_EXACT",        "SLURM_OVERCOMMIT",   "SLURM_THREADS_PER_CORE",
    "SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND",    "SLURM_TRES_PER_TASK",
    "SLURM_TRES_BIND",    "SLURM_NTASKS_PER_GPU", "SLURM_MEM_BIND*",
    "SLURM_LABELIO",      "SLURM_STDINMODE",    "SLURM_STDOUTMODE",
    "SLURM_STDERRMODE",   "SLURM_UNBUFFEREDIO", "SLURM_KILL_BAD_EXIT",
    "SLURM_WAIT",         "SLURM_MULTI_PROG",   "SLURM_MPI_TYPE",
    "SLURM_RELATIVE",     "SLURM_WORKING_DIR",  "SLURM_STEP_*",
    "SLURM_CORE_SPEC",    "SLURM_HINT",         "SLURM_ARBITRARY*",
    "SLURM_EXPORT_ENV",   "SLURM_PTY_*",        "SLURM_SPREAD_JOB",
    "SLURM_USE_MIN_NODES", "SRUN_*",
};
/* clang-format on */

char **jr_srun_words(struct jr_arena *arena, const char *program,
                     uint32_t nodes)
{
    struct jr_strv words = {0};
    static const char *const options[] = {
        "--ntasks-per-node=1",
        "--cpu-bind=none",
        "--mpi=none",
        "--overlap",
        "--kill-on-bad-exit=0",
        "--no-kill",
        "--wait=0",
        "--export=ALL",
        "--input=all",
        "--job-name=jobrun",
    };
    jr_strv_push(&words, arena, jr_arena_strdup(arena, "srun"));
    jr_strv_push(&words, arena, jr_arena_printf(arena, "--nodes=%u", nodes));
    jr_strv_push(&words, arena, jr_arena_printf(arena, "--ntasks=%u", nodes));
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        jr_strv_push(&words, arena, jr_arena_strdup(arena, options[i]));
    jr_strv_push(&words, arena, jr_arena_strdup(arena, program));
    jr_strv_push(&words, arena, jr_arena_strdup(arena, "agent"));
    return words.items;
}

char **jr_srun_environment(struct jr_arena *arena, char *const *envp)
{
    struct jr_strv env = {0};
    jr_strv_copy(&env, arena, envp);
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        jr_env_unset(&env, unwanted[i]);
    return env.items;
}

static void close_ends(int ends[3][2])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            if (ends[i][j] >= 0)
                (void)close(ends[i][j]);
}

/* The child's end of each pipe becomes its descriptor of the same number. */
static int spawn_srun(pid_t *ret, int ends[3][2], char *const *words,
                      char *const *envp)
{
    const int fds[3] = {ends[0][0], ends[1][1], ends[2][1]};
    const struct jr_subprocess srun = {
        .argv = words, .envp = envp, .fds = fds, .session = true};
    *ret = jr_subprocess_start(&srun);
    return *ret < 0 ? errno : 0;
}

static int open_ends(int ends[3][2])
{
    for (int i = 0; i < 3; i++) {
        if (pipe2(ends[i], O_CLOEXEC) != 0 ||
            fcntl(ends[i][i == 0 ? 1 : 0], F_SETFL, O_NONBLOCK) != 0)
            return -1;
        (void)fcntl(ends[i][1], F_SETPIPE_SZ, 1 << 20);
    }
    return 0;
}

int jr_srun_start(struct jr_srun *ret, const char *program, uint32_t nodes,
                  char *const *envp, struct jr_error *err)
{
    int ends[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    struct jr_arena arena = JR_ARENA_INIT;
    char **words = jr_srun_words(&arena, program, nodes);
    char **env = jr_srun_environment(&arena, envp);
    errno = ENOMEM;
    int failed = arena.failed || open_ends(ends) != 0 ? errno : 0;
    if (failed == 0)
        failed = spawn_srun(&ret->pid, ends, words, env);
    jr_arena_release(&arena);
    if (failed == 0) {
        ret->in_fd = ends[0][1];
        ret->out_fd = ends[1][0];
        ret->err_fd = ends[2][0];
        ends[0][1] = ends[1][0] = ends[2][0] = -1;
    }
    close_ends(ends);
    errno = failed;
    if (failed == ENOENT)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "srun is not in PATH; jobrun needs it to start on "
                            "the nodes of the allocation");
    return failed == 0
               ? 0
               : jr_error_sys(err, JR_STATUS_LAUNCH, "could not start srun");
}

/* What srun says on its standard error, where it is about nodes:
 *
 *   srun: error: n2: task 1: Killed
 *   srun: error: n[2-3]: tasks 1-2: Exited with exit code 1
 *   srun: error: Node failure on n2
 */
static const char digits[] = "0123456789";

/* Whether a line names `host`: as a word, not as a part of another. */
static bool line_names_host(const char *line, const char *host)
{
    size_t len = host == NULL ? 0 : strlen(host);
    const char *at = len == 0 ? NULL : strstr(line, host);
    for (; at != NULL; at = strstr(at + 1, host)) {
        bool begins = at > line && (at[-1] == ' ' || at[-1] == ',');
        if (begins && (at[len] == '\0' || strchr(" ,:", at[len]) != NULL))
            return true;
    }
    return false;
}

/* A task is a node: there is one on each. */
static bool line_names_task(const char *line, uint32_t node)
{
    const char *at = strstr(line, ": task ");
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_set tasks;
    const char *bad;
    if (at == NULL)
        at = strstr(line, ": tasks ");
    if (at == NULL)
        return false;
    at += strcspn(at, digits);
    size_t len = strspn(at, "0123456789-,");
    const char *text = jr_arena_strndup(&arena, at, len);
    bool found = len > 0 && text != NULL &&
                 jr_set_parse(&tasks, &arena, text, &bad) && !tasks.all &&
                 jr_set_has(&tasks, node);
    jr_arena_release(&arena);
    return found;
}

bool jr_srun_lost(const char *line, uint32_t node, const char *host)
{
    static const char error[] = "srun: error: ";
    if (strncmp(line, error, sizeof error - 1) != 0)
        return false;
    const char *failure = strstr(line, "ode failure on ");
    return failure != NULL ? line_names_host(failure, host)
                           : line_names_task(line, node);
}
