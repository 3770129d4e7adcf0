#include "spec/member_names.h"

#include <string.h>

#include "spec/foreign_names.h"

#include "base/banned.h"

struct member {
    const char *group;
    const char *here;
    bool sure;
    const char *names; /* separated by blanks */
};

#define FIELD "results.fields.*"

static const struct member members[] = {
    {"backends", "default", true, "all global world"},
    {"console", "collapse", true, "dedup fold"},
    {"console", "hide", true, "exclude"},
    {"console", "prefix", false, "format label tag"},
    {"console", "show", true, "include"},
    {"console", "show", false, "filter grep match only"},
    {"console", "timestamps", true, "timestamp"},
    {"engine", "kubernetes", true, "k8s kube"},
    {"engine.kubernetes", "claim", false, "pvc volume volumes"},
    {"engine.kubernetes", "claim", true, "persistent_volume_claim claim_name"},
    {"engine.kubernetes", "cpu", true, "cpus cores"},
    {"engine.kubernetes", "device_resource", true,
     "gpu_resource resource_name"},
    {"engine.kubernetes", "image", true, "container container_image img"},
    {"engine.kubernetes", "memory", true, "mem ram"},
    {"engine.kubernetes", "mount", true, "mount_path"},
    {"engine.kubernetes", "namespace", true, "name_space ns"},
    {"engine.kubernetes", "priority_class", true,
     "priority priority_class_name"},
    {"engine.kubernetes", "pull_secret", true,
     "image_pull_secret image_pull_secrets pull_secrets"},
    {"engine.kubernetes", "secret", false, "env_from secret_name secrets"},
    {"engine.kubernetes", "service_account", true, "sa service_account_name"},
    {"engine.kubernetes", "shm", true, "shm_size"},
    {"engine", "mpi", false, "mpich mpiexec mpirun openmpi"},
    {"engine", "slurm", true, "sbatch"},
    {"entrypoint", "args", true, "arguments"},
    {"entrypoint", "command", false, "exec executable program run"},
    {"entrypoint", "kwargs", true, "keywords"},
    {"entrypoint", "library", false, "lib so"},
    {"entrypoint", "shell", true, "bash sh"},
    {"entrypoint.library", "path", true, "file lib library so"},
    {"entrypoint.library", "symbol", true, "entry func function name"},
    {"entrypoint.python", "function", true, "callable fn func"},
    {"entrypoint.python", "interpreter", true, "executable python"},
    {"entrypoint.python", "module", true, "mod package"},
    {"entrypoint.python", "script", true, "file filename path program"},
    {"limits", "as", false, "address_space mem memory ram rss vmem"},
    {"limits", "core", false, "core_dump core_dumps core_size"},
    {"limits", "memlock", true, "locked_memory max_locked_memory"},
    {"limits", "nofile", true, "fds files max_files nofiles open_files"},
    {"limits", "nproc", false, "max_processes processes procs threads"},
    {"limits", "stack", true, "stack_size"},
    {"on_hang", "command", false, "cmd exec run"},
    {"on_hang", "signal", true, "sig"},
    {"on_hang", "wait", false, "delay timeout"},
    {"parallelism", "data", false, "ddp fsdp replicas shards"},
    {"parallelism", "model", true, "mp tensor"},
    {"parallelism", "pipeline", true, "pipe stages"},
    {"per_rank.*", "args", true, "arguments"},
    {"per_rank.*", "env", true, "environment"},
    {"progress", "from", true, "source stream"},
    {"progress", "of", true, "last_step max_steps steps total total_steps"},
    {"progress", "pattern", true, "regex regexp"},
    {"restart", "backoff", false, "delay interval pause sleep wait"},
    {"restart", "max", true, "max_restarts max_retries restarts retries"},
    {"restart", "max", false, "attempts count limit times"},
    {"restart", "never", false, "except unless"},
    {"restart", "on", false, "causes if triggers when"},
    {"restart", "window", false, "period within"},
    {"results", "artifacts", false, "checkpoints files"},
    {"results", "distinct", true, "different unique"},
    {"results", "equal", true, "identical same"},
    {"results", "fields", false, "columns metrics schema values"},
    {"results", "file", false, "filename json output path"},
    {"results", "from", true, "source stream"},
    {"results", "limit", true, "max_size size"},
    {"results", "pattern", true, "regex regexp"},
    {"results", "required", false, "ranks"},
    {FIELD, "enum", false, "allowed choices one_of options values"},
    {FIELD, "max", true, "le lte maximum"},
    {FIELD, "max", false, "lt upper"},
    {FIELD, "min", true, "ge gte minimum"},
    {FIELD, "min", false, "gt lower"},
    {FIELD, "pattern", true, "regex regexp"},
    {FIELD, "type", false, "dtype kind"},
    {"timeouts", "progress", false, "step"},
    {"timeouts", "run", false, "job limit max total wall walltime"},
    {"timeouts", "silence", false, "hang idle no_output output stall"},
    {"timeouts", "start", false, "init launch startup"},
    {"timeouts", "stop_grace", false, "grace kill shutdown stop term"},
};

/* Whether one of the names is this one. */
static bool is_listed(const char *names, const char *name)
{
    char word[32];
    for (size_t len; *names != '\0'; names += len + (names[len] == ' ')) {
        len = strcspn(names, " ");
        if (len >= sizeof word)
            continue;
        memcpy(word, names, len);
        word[len] = '\0';
        if (jr_field_is_same_name(word, name))
            return true;
    }
    return false;
}

const char *jr_member_meant(const char *group, const char *name, bool *ret_sure)
{
    *ret_sure = false;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strcmp(members[i].group, group) != 0 ||
            !is_listed(members[i].names, name))
            continue;
        *ret_sure = members[i].sure;
        return members[i].here;
    }
    return NULL;
}
