/*
 * The options of sbatch, and what people write for them. By their long names, as Slurm 20.11 to
 * 24.11 have them, but for those that the job itself decides.
 *
 * X(name, form)
 *   FLAG    no value: true or false
 *   TEXT    any text
 *   EITHER  with or without one
 *   COUNT   an integer of at least 1
 *   TIME    minutes, or [DAYS-]HOURS:MINUTES:SECONDS
 *   MEMORY  a number, in MB or with K, M, G or T
 *   GPUS    [TYPE:]NUMBER, or several with commas
 *   GRES    NAME[:TYPE][:NUMBER], or several with commas
 *   SIGNAL  [B:]SIGNAL[@SECONDS]
 */
#ifndef JR_SBATCH_OPTIONS_H
#define JR_SBATCH_OPTIONS_H

#include <stdbool.h>

/* clang-format off */
#define JR_SBATCH_OPTIONS(X)                                                   \
    X("account", TEXT) X("acctg-freq", TEXT) X("batch", TEXT) X("bb", TEXT)    \
    X("bbf", TEXT) X("begin", TEXT) X("chdir", TEXT)                           \
    X("cluster-constraint", TEXT) X("clusters", TEXT) X("comment", TEXT)       \
    X("consolidate-segments", FLAG) X("constraint", TEXT)                      \
    X("container", TEXT) X("container-id", TEXT) X("contiguous", FLAG)         \
    X("core-spec", COUNT) X("cores-per-socket", COUNT) X("cpu-freq", TEXT)     \
    X("cpus-per-gpu", COUNT) X("cpus-per-task", COUNT) X("deadline", TEXT)     \
    X("delay-boot", TEXT) X("dependency", TEXT) X("distribution", TEXT)        \
    X("error", TEXT) X("exclude", TEXT) X("exclusive", EITHER)                 \
    X("export", TEXT) X("export-file", TEXT) X("extra", TEXT)                  \
    X("extra-node-info", TEXT) X("get-user-env", EITHER) X("gid", TEXT)        \
    X("gpu-bind", TEXT) X("gpu-freq", TEXT) X("gpus", GPUS)                    \
    X("gpus-per-node", GPUS) X("gpus-per-socket", GPUS)                        \
    X("gpus-per-task", GPUS) X("gres", GRES) X("gres-flags", TEXT)             \
    X("hint", TEXT) X("hold", FLAG) X("ignore-pbs", FLAG) X("input", TEXT)     \
    X("kill-on-invalid-dep", TEXT) X("licenses", TEXT) X("mail-type", TEXT)    \
    X("mail-user", TEXT) X("mcs-label", TEXT) X("mem", MEMORY)                 \
    X("mem-bind", TEXT) X("mem-per-cpu", MEMORY) X("mem-per-gpu", MEMORY)      \
    X("mincpus", COUNT) X("network", TEXT) X("nice", EITHER)                   \
    X("no-kill", EITHER) X("no-requeue", FLAG) X("nodefile", TEXT)             \
    X("nodelist", TEXT) X("oom-kill-step", EITHER) X("open-mode", TEXT)        \
    X("output", TEXT) X("overcommit", FLAG) X("oversubscribe", FLAG)           \
    X("partition", TEXT) X("power", TEXT) X("prefer", TEXT)                    \
    X("priority", TEXT) X("profile", TEXT) X("propagate", EITHER)              \
    X("qos", TEXT) X("quiet", FLAG) X("reboot", FLAG) X("requeue", FLAG)       \
    X("reservation", TEXT) X("segment", COUNT) X("signal", SIGNAL)             \
    X("sockets-per-node", COUNT) X("spread-job", FLAG) X("stepmgr", FLAG)      \
    X("switches", TEXT) X("thread-spec", COUNT) X("threads-per-core", COUNT)   \
    X("time", TIME) X("time-min", TIME) X("tmp", MEMORY)                       \
    X("tres-bind", TEXT) X("tres-per-node", TEXT) X("tres-per-task", TEXT)     \
    X("uid", TEXT) X("use-min-nodes", FLAG) X("verbose", FLAG)                 \
    X("wait-all-nodes", TEXT) X("wckey", TEXT) X("x11", EITHER)
/* clang-format on */

/* X(form, what it wants, pattern of a whole value) */
#define JR_SBATCH_FORMS(X)                                                                         \
    X(FLAG, "true or false: it has no value", "true|false")                                        \
    X(TEXT, "a value", "(?!(true|false)$).+")                                                      \
    X(EITHER, "a value, or true or false", ".+")                                                   \
    X(COUNT, "an integer of at least 1", "[1-9][0-9]*")                                            \
    X(TIME, "minutes, HOURS:MINUTES:SECONDS or DAYS-HOURS:MINUTES:SECONDS",                        \
      "([0-9]+-)?[0-9]+(:[0-9]+){0,2}|(?i:infinite|unlimited)|-1")                                 \
    X(MEMORY, "a number in MB, or with K, M, G or T", "[0-9]+([KkMmGgTt][Bb]?)?")                  \
    X(GPUS, "a number, or TYPE:NUMBER", "([A-Za-z0-9_.-]+:)?[0-9]+(,([A-Za-z0-9_.-]+:)?[0-9]+)*")  \
    X(GRES, "NAME, NAME:NUMBER or NAME:TYPE:NUMBER", "(?!(true|false)$)[^=]+")                     \
    X(SIGNAL, "a signal such as USR1@60 or B:TERM@120", "([RB]{1,2}:)?[A-Za-z0-9+]+(@[0-9]+)?")

enum jr_sbatch_form {
#define JR_SBATCH_FORM(name, wants, pattern) JR_SBATCH_##name,
    JR_SBATCH_FORMS(JR_SBATCH_FORM)
#undef JR_SBATCH_FORM
};

/* The names of the options, NULL-terminated. */
const char *const *jr_sbatch_names(void);

/* Whether one of them has this name. */
bool jr_sbatch_has_option(const char *name);

/* The option that is meant by a key that is none, or NULL: `--partition`, `-p` and `queue` are
 * partition. It may be one that the job decides. */
const char *jr_sbatch_meant(const char *key);

/* What to do instead of stating an option that the job itself decides; NULL for any other. */
const char *jr_sbatch_decided(const char *name);

#endif
