/* Keys and values of engine.slurm as people know them from elsewhere: with dashes, by their letter,
 * as PBS and LSF call them; `2 hours`, `64 GB`. */
#include "spec/sbatch_options.h"

#include <string.h>
#include <strings.h>

#include "spec/foreign.h"

#include "base/banned.h"

/* The letters of sbatch(1). */
static const char *const letters[] = {
    "A account",      "B extra-node-info",
    "C constraint",   "D chdir",
    "F nodefile",     "G gpus",
    "H hold",         "J job-name",
    "L licenses",     "M clusters",
    "N nodes",        "O overcommit",
    "Q quiet",        "S core-spec",
    "W wait",         "a array",
    "b begin",        "c cpus-per-task",
    "d dependency",   "e error",
    "i input",        "k no-kill",
    "m distribution", "n ntasks",
    "o output",       "p partition",
    "q qos",          "s oversubscribe",
    "t time",         "v verbose",
    "w nodelist",     "x exclude",
};

/* What other schedulers, and habit, call an option. */
static const char *const synonyms[][2] = {
    {"cpus", "cpus-per-task"},
    {"email", "mail-user"},
    {"feature", "constraint"},
    {"features", "constraint"},
    {"gpu", "gpus"},
    {"gpu-type", "gpus"},
    {"log", "output"},
    {"mail", "mail-user"},
    {"max-time", "time"},
    {"memory", "mem"},
    {"memory-per-cpu", "mem-per-cpu"},
    {"name", "job-name"},
    {"ncpus", "cpus-per-task"},
    {"ngpus", "gpus"},
    {"num-gpus", "gpus"},
    {"partitions", "partition"},
    {"project", "account"},
    {"queue", "partition"},
    {"ram", "mem"},
    {"runtime", "time"},
    {"stderr", "error"},
    {"stdout", "output"},
    {"tasks", "ntasks"},
    {"tasks-per-node", "ntasks-per-node"},
    {"time-limit", "time"},
    {"timelimit", "time"},
    {"timeout", "time"},
    {"walltime", "time"},
    {"workdir", "chdir"},
};

/* What the job itself decides, and what is written instead. */
static const char *const decided[][2] = {
    {"array", "write `sweep` at the top of the spec: jobrun submit SPEC --engine slurm "
              "makes a job array of its cells"},
    {"help", "leave it out"},
    {"job-name", "write `name` at the top of the spec"},
    {"nodes", "write `nodes` at the top of the spec"},
    {"ntasks", "write `world_size` at the top of the spec"},
    {"ntasks-per-core", "leave it out: sbatch starts one task a node, and "
                        "jobrun the ranks; `bind` says where they run"},
    {"ntasks-per-gpu", "write `local_world_size` at the top of the spec"},
    {"ntasks-per-node", "write `local_world_size` at the top of the spec"},
    {"ntasks-per-socket", "leave it out: sbatch starts one task a node, and "
                          "jobrun the ranks; `bind` says where they run"},
    {"parsable", "leave it out: jobrun submit prints the job's number"},
    {"test-only", "see the script: jobrun render SPEC --engine slurm"},
    {"usage", "leave it out"},
    {"version", "leave it out"},
    {"wait", "wait for the run: jobrun wait RUN"},
    {"wrap", "write `entrypoint: {shell: ...}` at the top of the spec"},
};

static const char *const names[] = {
#define NAME(name, form) name,
    JR_SBATCH_OPTIONS(NAME) NULL};

const char *const *jr_sbatch_names(void)
{
    return names;
}

bool jr_sbatch_has_option(const char *name)
{
    size_t i = 0;
    while (names[i] != NULL && strcmp(names[i], name) != 0)
        i++;
    return names[i] != NULL;
}

const char *jr_sbatch_decided(const char *name)
{
    for (size_t i = 0; i < sizeof decided / sizeof *decided; i++)
        if (jr_field_is_same_name(decided[i][0], name))
            return decided[i][1];
    return NULL;
}

const char *jr_sbatch_meant(const char *key)
{
    const char *name = key + strspn(key, "-");
    size_t dashes = (size_t)(name - key);
    if (strlen(name) == 1 && dashes < 2) {
        for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
            if (letters[i][0] == *name)
                return letters[i] + 2;
        return NULL;
    }
    for (size_t i = 0; names[i] != NULL; i++)
        if (jr_field_is_same_name(names[i], name))
            return names[i];
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (jr_field_is_same_name(synonyms[i][0], name))
            return synonyms[i][1];
    return NULL;
}
