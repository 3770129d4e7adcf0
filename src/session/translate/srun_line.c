/*
 * srun. Most of its options ask for an allocation, which a spec does not. Sources: slurm's
 * common/slurm_opt.c and srun(1). internal.h declares its table.
 */
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "session/translate/internal.h"

#include "base/banned.h"

/* N or MIN-MAX; a spec has a fixed number. */
static int set_nodes(struct jr_translator *t, const struct jr_given *given)
{
    const char *dash = strchr(given->value, '-');
    if (dash != NULL)
        jr_note_add(t, JR_VERDICT_CHANGED, given->what,
                    "a job has a fixed number of nodes: the greatest");
    return jr_put(t, given, "nodes", dash == NULL ? given->value : dash + 1);
}

/* A part of a time: two digits, or any number. */
static bool read_part(const char *text, uint32_t *ret)
{
    return jr_num_u32(text + (text[0] == '0' && text[1] != '\0'), ret);
}

/* M, M:S or H:M:S; with days before it H, H:M or H:M:S. */
static bool read_time_clock(char *const *parts, bool days, uint64_t *ret_seconds)
{
    enum { MOST = 3 };
    uint32_t numbers[MOST] = {0};
    size_t count = 0;
    for (; parts[count] != NULL; count++)
        if (count == MOST || !read_part(parts[count], &numbers[count]))
            return false;
    uint64_t unit = days || count == MOST ? 3600 : 60;
    *ret_seconds = numbers[0] * unit + numbers[1] * unit / 60 + numbers[2];
    return true;
}

/* [D-] and a clock. False where it is no time. */
static bool read_time_limit(struct jr_translator *t, const char *text, uint64_t *ret_seconds)
{
    uint32_t days = 0;
    const char *dash = strchr(text, '-');
    if (dash != NULL) {
        const char *digits = jr_arena_strndup(t->arena, text, (size_t)(dash - text));
        if (digits == NULL || !read_part(digits, &days))
            return false;
        text = dash + 1;
    }
    char **parts = jr_put_split(t, text, ':');
    if (parts == NULL || !read_time_clock(parts, dash != NULL, ret_seconds))
        return false;
    *ret_seconds += days * UINT64_C(86400);
    return true;
}

static int set_time(struct jr_translator *t, const struct jr_given *given)
{
    uint64_t seconds;
    if (strcmp(given->value, "0") == 0 || strcasecmp(given->value, "UNLIMITED") == 0)
        return jr_put(t, given, "timeouts.run", "0");
    if (!read_time_limit(t, given->value, &seconds))
        return jr_given_wrong(t, given, "minutes, or [D-]H:M:S");
    uint64_t unit = seconds % 3600 == 0 ? 3600 : seconds % 60 == 0 ? 60 : 1;
    const char *text = jr_arena_printf(t->arena, "%zu%s", (size_t)(seconds / unit),
                                       unit == 3600 ? "h"
                                       : unit == 60 ? "m"
                                                    : "s");
    return text == NULL ? -1 : jr_put(t, given, "timeouts.run", text);
}

static int set_kill(struct jr_translator *t, const struct jr_given *given)
{
    bool keep = given->value != NULL && strcmp(given->value, "0") == 0;
    return jr_put(t, given, "on_failure", keep ? "continue" : "stop");
}

/* ALL, NONE, NIL, NAME and NAME=VALUE, separated by commas. */
static int set_export(struct jr_translator *t, const struct jr_given *given)
{
    char **items = jr_put_split(t, given->value, ',');
    bool all = false;
    if (items == NULL)
        return -1;
    for (size_t i = 0; items[i] != NULL; i++) {
        struct jr_given one = *given;
        one.what = one.value = items[i];
        all |= strcmp(items[i], "ALL") == 0;
        if (strchr(items[i], '=') != NULL && jr_set_pair(t, &one) != 0)
            return -1;
    }
    if (!all)
        jr_note_add(t, JR_VERDICT_CHANGED, "--export",
                    "ranks inherit the whole environment: see `env_remove`");
    return 0;
}

/* Which protocol it is decides the library of the program. */
static int set_mpi(struct jr_translator *t, const struct jr_given *given)
{
    if (strcmp(given->value, "none") == 0)
        return jr_put(t, given, "mpi", "none");
    t->mpi = true;
    return 0;
}

/* [R][B]:SIGNAL[@SECONDS], by name or by number. */
static int set_signal(struct jr_translator *t, const struct jr_given *given)
{
    const char *colon = strrchr(given->value, ':');
    const char *name = colon == NULL ? given->value : colon + 1;
    const char *at = strchr(name, '@');
    uint32_t seconds = 60, number;
    if (at != NULL && (!jr_num_u32(at + 1, &seconds) || seconds == 0))
        return jr_given_wrong(t, given, "SIGNAL@SECONDS");
    name = jr_arena_strndup(t->arena, name, strcspn(name, "@"));
    if (name != NULL && jr_num_u32(name, &number)) {
        char text[JR_SIGNAL_NAME];
        jr_signal_name(text, number > 64 ? 0 : (int)number);
        name = jr_arena_strdup(t->arena, text);
    }
    if (name == NULL)
        return -1;
    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    const char *before = jr_arena_printf(t->arena, "%us", seconds);
    if (before == NULL || jr_put(t, given, "deadline.before", before) != 0)
        return -1;
    return jr_put(t, given, "deadline.signal", name);
}

static int set_distribution(struct jr_translator *t, const struct jr_given *given)
{
    bool block = strncmp(given->value, "block", 5) == 0;
    jr_note_add(t, block ? JR_VERDICT_NEEDLESS : JR_VERDICT_LOST, given->what,
                "ranks fill one node after the other");
    return 0;
}

#define ALLOCATION "it belongs to the allocation: give it to sbatch or salloc"
#define SOCKETS    "a spec does not describe sockets, cores and hardware threads"
#define ABOUT_SRUN "it is about srun itself"
#define FILES      "each rank's streams have files of their own: see `log_dir`"

static const struct jr_flag flags[] = {
    JR_SETS("-N --nodes", ONE, set_nodes, "nodes"),
    JR_SETS("-n --ntasks", ONE, jr_set_field, "world_size"),
    JR_SETS("--ntasks-per-node --tasks-per-node", ONE, jr_set_field, "local_world_size"),
    JR_CHANGES("-c --cpus-per-task", ONE, jr_set_field, "threads",
               "it becomes OMP_NUM_THREADS; no CPU is set aside"),
    JR_SETS("-w --nodelist", ONE, jr_set_nodelist, "hosts"),
    JR_SETS("-J --job-name", ONE, jr_set_field, "name"),
    JR_SETS("-D --chdir", ONE, jr_set_path, "workdir"),
    JR_SETS("-t --time", ONE, set_time, "timeouts.run"),
    JR_SETS("-W --wait", ONE, jr_set_seconds, "timeouts.after_first_exit"),
    JR_SETS("-K --kill-on-bad-exit", MAYBE, set_kill, "on_failure"),
    JR_SETS("-O --overcommit", NONE, jr_set_field, "oversubscribe=true"),
    JR_SETS("--export", ONE, set_export, "env"),
    JR_SETS("--cpu-bind", ONE, jr_set_binding, "bind"),
    JR_SETS("--gpus-per-task --ntasks-per-gpu", ONE, jr_set_gpus_each, "device_visibility"),
    JR_SETS("-m --distribution", ONE, set_distribution, "world_size"),
    JR_SETS("--mpi", ONE, set_mpi, "mpi"),

    JR_NEEDLESS("-o --output -e --error --open-mode", ONE, FILES),
    JR_NEEDLESS("-l --label", NONE, "lines on the console have a prefix: see `console`"),
    JR_NEEDLESS("-u --unbuffered", NONE, "lines are shown as they come"),
    JR_NEEDLESS("--propagate", MAYBE, "ranks inherit jobrun's limits"),
    JR_NEEDLESS("-v --verbose -Q --quiet -X --disable-status --quit-on-interrupt --exact --async",
                NONE, ABOUT_SRUN),
    JR_NEEDLESS("-T --threads --msg-timeout --slurmd-debug --treewidth --comment --wckey", ONE,
                ABOUT_SRUN),
    JR_NEEDLESS("--overlap --exclusive --bcast --compress --send-libs --resv-ports", MAYBE,
                ABOUT_SRUN),

    JR_LOST("-A --account -p --partition -q --qos -C --constraint --reservation -L --licenses -x "
            "--exclude -d --dependency -M --clusters -b --begin --deadline --priority --mail-type "
            "--mail-user --time-min --switches --tmp",
            ONE, ALLOCATION),
    JR_LOST("--mem --mem-per-cpu --mem-per-gpu --gres --gres-flags -G --gpus --gpus-per-node "
            "--gpus-per-socket --cpus-per-gpu --mincpus --tres-per-task --gpu-freq --cpu-freq -S "
            "--core-spec --thread-spec --network --profile --acctg-freq --jobid -r --relative -F "
            "--nodefile --bb --bbf --het-group --pack-group",
            ONE, ALLOCATION),
    JR_LOST("-s --oversubscribe --contiguous --reboot --spread-job "
            "--use-min-nodes -Z --no-allocate -H --hold -E --preserve-env",
            NONE, ALLOCATION),
    JR_LOST("-I --immediate -k --no-kill --requeue --nice --oom-kill-step", MAYBE, ALLOCATION),
    JR_LOST("-B --extra-node-info --sockets-per-node --cores-per-socket "
            "--threads-per-core --ntasks-per-core --ntasks-per-socket --hint",
            ONE, SOCKETS),
    JR_LOST("--gpu-bind --tres-bind --accel-bind --mem-bind", ONE,
            "a rank sees all devices of its node, or one: see `device_visibility`"),
    JR_LOST("--multi-prog", NONE, "all ranks run the same program"),
    JR_LOST("-i --input", ONE,
            "ranks read /dev/null, or one of them jobrun's own standard input: "
            "jobrun SPEC --stdin RANK"),
    JR_LOST("--pty --x11", MAYBE, "jobrun SPEC --debug RANK gives a rank this terminal"),
    JR_SETS("--signal", ONE, set_signal, "deadline"),
    JR_LOST("--export-file", ONE, "jobrun does not read it: see `env`"),
    JR_LOST("--prolog --epilog --task-prolog --task-epilog", ONE,
            "`setup` runs on each node before the ranks, and `on_end` after the end of all"),
    JR_LOST("--container --container-id --environment", ONE,
            "ranks run in no container of their own"),
    JR_LOST("--test-only", NONE, "see jobrun plan"),
    {0},
};

/* With a number of nodes and nothing else, srun starts one task on each. */
static int finish_srun(struct jr_translator *t)
{
    const struct jr_given unasked = {.what = "srun's default"};
    struct jr_node *spec = t->to->spec;
    if (jr_doc_get(spec, "nodes") == NULL || jr_doc_get(spec, "world_size") != NULL ||
        jr_doc_get(spec, "local_world_size") != NULL)
        return 0;
    return jr_put(t, &unasked, "local_world_size", "1");
}

const struct jr_launcher jr_launcher_srun = {
    .names = "srun",
    .tables = {flags},
    .abbrev = true,
    .several = true,
    .finish = finish_srun,
};
