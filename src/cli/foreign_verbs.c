#include "cli/foreign_verbs.h"

#include <stddef.h>
#include <string.h>

#include "base/banned.h"

/* Verbs of docker, kubectl, Slurm, git and build tools. */
static const struct {
    const char *names, *here;
} rows[] = {
    {"up start launch exec execute train begin", "run"},
    {"sbatch queue enqueue", "submit --engine slurm"},
    {"ps ls list history squeue sacct jobs", "runs"},
    {"status info inspect describe result results get", "show"},
    {"kill cancel abort down scancel terminate", "stop"},
    {"log tail", "logs"},
    {"attach follow", "logs --follow"},
    {"watch monitor dashboard htop", "top"},
    {"check lint verify test fmt", "validate"},
    {"dry-run dryrun simulate preview", "plan"},
    {"config print expand", "resolve"},
    {"restart resume retry repeat", "rerun"},
    {"rm remove delete clean cleanup gc purge", "prune"},
    {"init create generate template scaffold", "new"},
    {"compare", "diff"},
    {"export manifest script", "render"},
    {"env hardware devices sysinfo nvidia-smi", "doctor"},
    {"upgrade update", "migrate"},
    {"man docs usage", "help"},
};

static bool has_name(const char *names, const char *word)
{
    size_t len = strlen(word);
    while (*names != '\0') {
        size_t size = strcspn(names, " ");
        if (size == len && memcmp(names, word, len) == 0)
            return true;
        names += size + strspn(names + size, " ");
    }
    return false;
}

const char *jr_foreign_verb(const char *word)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (has_name(rows[i].names, word))
            return rows[i].here;
    return NULL;
}

bool jr_foreign_launcher(const char *word)
{
    return has_name("torchrun accelerate deepspeed horovodrun mpirun mpiexec "
                    "mpiexec.hydra mpirun.openmpi srun",
                    word);
}
