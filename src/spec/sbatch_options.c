/* Keys and values of engine.slurm as people know them from elsewhere: with dashes, by their letter,
 * as PBS and LSF call them; `2 hours`, `64 GB`. */
#include "spec/sbatch_options.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "spec/foreign_names.h"
#include "spec/internal.h"

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

void jr_lint_sbatch_key(struct jr_lint *lint, const struct jr_node *key,
                        const struct jr_node_step *at)
{
    const char *said = jr_lint_quoted(lint, key->text, key->len);
    const char *meant = jr_sbatch_meant(key->text);
    const char *instead = jr_sbatch_decided(meant == NULL ? key->text : meant);
    struct jr_diag *diag;
    if (instead != NULL) {
        diag = jr_lint_error(lint, JR_CODE_WRONG_VALUE, key->span, at,
                             "the job itself decides %s of 'engine.slurm'", said);
        jr_diag_help(lint->diags, diag, "%s", instead);
        return;
    }
    diag =
        jr_lint_error(lint, JR_CODE_WRONG_VALUE, key->span, at,
                      "'engine.slurm' wants long options of sbatch, without dashes, not %s", said);
    if (meant == NULL) {
        jr_diag_help(lint->diags, diag, "their names are in: sbatch --help");
        return;
    }
    jr_diag_help(lint->diags, diag, "did you mean '%s'?", meant);
    jr_lint_fix_text(lint, diag, key, meant);
}

const char *jr_sbatch_near_value(struct jr_arena *arena, enum jr_sbatch_form form, const char *text)
{
    uint64_t ms;
    if (form == JR_SBATCH_TIME && (jr_num_duration(text, &ms) || jr_lint_read_words(text, &ms)) &&
        ms >= 1000) {
        uint64_t seconds = ms / 1000, days = seconds / 86400;
        const char *before = days > 0 ? jr_arena_printf(arena, "%" PRIu64 "-", days) : "";
        return before == NULL
                   ? NULL
                   : jr_arena_printf(arena, "%s%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, before,
                                     seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    }
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits + strspn(text + digits, " ");
    size_t rest = *unit == '\0' ? 0 : 1 + strspn(unit + 1, "iIbB");
    if (form == JR_SBATCH_MEMORY && digits > 0 && *unit != '\0' &&
        strchr("KMGTkmgt", *unit) != NULL &&
        (unit[rest] == '\0' || strncasecmp(unit + 1, "igabyte", 7) == 0 ||
         strncasecmp(unit + 1, "egabyte", 7) == 0))
        return jr_arena_printf(arena, "%.*s%c", (int)digits, text, toupper((unsigned char)*unit));
    return NULL;
}
