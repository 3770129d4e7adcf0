#include "cluster/srun.h"

#include <errno.h>
#include <string.h>

#include "base/rank_set.h"
#include "cluster/controller.h"

#include "base/banned.h"

/* clang-format off */
/* Input variables of srun(1) that come from a job's own options, or from a user's shell. */
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

/* "--nodelist=n1,n3": those nodes and no others. */
static void push_node_list(struct jr_strv *words, struct jr_arena *arena,
                           const struct jr_controller_options *options)
{
    struct jr_buf list JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&list, "--nodelist=");
    for (uint32_t i = 0; i < options->nodes; i++)
        jr_buf_printf(&list, "%s%s", i == 0 ? "" : ",", options->hosts[i]);
    jr_strv_push(words, arena, jr_buf_keep(&list, arena));
}

char **jr_srun_words(struct jr_arena *arena, const struct jr_controller_options *options)
{
    uint32_t nodes = options->nodes;
    struct jr_strv words = {0};
    static const char *const fixed[] = {
        "--ntasks-per-node=1",  "--cpu-bind=none",   "--mpi=none", "--overlap",
        "--kill-on-bad-exit=0", "--no-kill",         "--wait=0",   "--export=ALL",
        "--input=all",          "--job-name=jobrun",
    };
    jr_strv_push(&words, arena, jr_arena_strdup(arena, "srun"));
    jr_strv_push(&words, arena, jr_arena_printf(arena, "--nodes=%u", nodes));
    jr_strv_push(&words, arena, jr_arena_printf(arena, "--ntasks=%u", nodes));
    if (options->only_hosts)
        push_node_list(&words, arena, options);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        jr_strv_push(&words, arena, jr_arena_strdup(arena, fixed[i]));
    jr_strv_push(&words, arena, jr_arena_strdup(arena, options->program));
    jr_strv_push(&words, arena, jr_arena_strdup(arena, "agent"));
    return words.items;
}

/* In a container, a copied environment, or a shell that outlived its job. */
#define LEFT_OVER                                                                                  \
    "If the SLURM_* variables are left over from another shell, type `unset "                      \
    "SLURM_JOB_ID` first, or start all ranks here with --local"

char **jr_srun_environment(struct jr_arena *arena, char *const *envp)
{
    struct jr_strv env = {0};
    jr_strv_copy(&env, arena, envp);
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        jr_env_unset(&env, unwanted[i]);
    return env.items;
}

int jr_srun_start(struct jr_carrier *ret, const struct jr_controller_options *options,
                  struct jr_error *err)
{
    struct jr_arena arena = JR_ARENA_INIT;
    char **words = jr_srun_words(&arena, options);
    char **env = jr_srun_environment(&arena, options->envp);
    int failed = arena.failed ? ENOMEM : jr_carrier_start(ret, words, env, false);
    jr_arena_release(&arena);
    errno = failed;
    if (failed == ENOENT)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "srun is not in PATH; jobrun needs it to start on "
                            "the nodes of the allocation. " LEFT_OVER);
    return failed == 0 ? 0 : jr_error_sys(err, JR_STATUS_LAUNCH, "could not start srun");
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
    bool found = len > 0 && text != NULL && jr_set_parse(&tasks, &arena, text, &bad) &&
                 !tasks.all && jr_set_has(&tasks, node);
    jr_arena_release(&arena);
    return found;
}

bool jr_srun_lost(const char *line, uint32_t node, const char *host)
{
    static const char error[] = "srun: error: ";
    if (strncmp(line, error, sizeof error - 1) != 0)
        return false;
    const char *failure = strstr(line, "ode failure on ");
    return failure != NULL ? line_names_host(failure, host) : line_names_task(line, node);
}

/* Whether it is about a task: the node is there. */
static bool line_has_task(const char *line)
{
    return strstr(line, ": task") != NULL;
}

/* A line of no interest: that CPUs cannot be bound, which is not requested. */
static bool is_srun_line_idle(const char *line, size_t len)
{
    return memmem(line, len, "lacks support for cpu binding", 29) != NULL;
}

static int start_srun(struct jr_carrier *ret, const struct jr_controller_options *options,
                      uint32_t node, struct jr_error *err)
{
    (void)node;
    return jr_srun_start(ret, options, err);
}

const struct jr_transport jr_srun_transport = {
    .program = "srun",
    .start = start_srun,
    .is_idle = is_srun_line_idle,
    .has_lost = jr_srun_lost,
    .has_exited = line_has_task,
    .has_ended = "srun has ended",
    .nodes_hint = "squeue shows which nodes the job has now. " LEFT_OVER,
    .hang_hint = "squeue --steps shows whether its step is gone",
    .silent_hint = "see `scontrol show node ",
};
