/*
 * The plan: everything that a run does, decided before it starts. `jobrun plan` prints this very
 * value; run executes it and sees nothing before it.
 *
 * Everything lives in the plan's own memory, except what it borrows from the job (policy, names),
 * which must outlive it.
 */
#ifndef JOBRUN_PLAN_H
#define JOBRUN_PLAN_H

#include <jobrun/error.h>
#include <jobrun/policy.h>

/* Where one output stream of a rank goes; a bit set. Neither: the stream is inherited from jobrun
 * as it is. */
enum jr_sink { JR_SINK_INHERIT = 0, JR_SINK_FILE = 1, JR_SINK_CONSOLE = 2 };

/* What a rank has as its standard input. */
enum jr_input {
    JR_INPUT_NONE,    /* /dev/null */
    JR_INPUT_STDIN,   /* jobrun's own */
    JR_INPUT_TERMINAL /* a terminal, and so are its outputs: --debug */
};

/* The folder in an attempt's where each rank has its progress file. */
#define JR_PLAN_STEPS "progress"

/* One rank. Paths are relative to the run folder unless absolute. */
struct jr_plan_rank {
    uint32_t rank, local_rank, node_rank;
    uint32_t at[JR_AXIS_COUNT];    /* coordinates */
    uint32_t group[JR_AXIS_COUNT]; /* index of its group on each axis */
    char **argv;                   /* NULL-terminated */
    char **env;                    /* NULL-terminated NAME=VALUE; NULL in plan->ranks where there
                                      is a plan->build, of which it is made for each start */
    uint32_t env_own;              /* the first so many are set by jobrun, by
                                      the same names in the same order for all
                                      ranks but those of `per_rank`; the rest
                                      is inherited */
    char **drop;                   /* names that its `per_rank` entry unsets,
                                      NULL-terminated; NULL: none */
    const char *workdir;           /* absolute */
    const char *prefix;            /* console prefix, expanded */
    const char *around[2];         /* console.collapse: the text before and after the ranks of
                                      a line that several of them wrote, never NULL */
    bool on_console;               /* its lines are shown */
    enum jr_sink out, err;
    enum jr_input input;
    const char *dir;      /* attempt_0/3 */
    const char *out_path; /* attempt_0/3/stdout.log; NULL: no file */
    const char *err_path;
    bool limited;            /* these files have a limit, see log_limit */
    bool watched;            /* its steps are read from one of its streams,
                                which go through jobrun for it */
    const char *result_path; /* attempt_0/3/result.json, or results.file */
    const char *error_path;
    char **artifacts; /* absolute or relative to workdir */
    uint32_t artifacts_count;
    const char *device;       /* index or UUID; NULL: none */
    const char *device_model; /* for people; NULL: unknown */
    const char *cpus;         /* NULL: not bound */
    uint32_t threads;
};

/* What is run once on a node before its ranks, by /bin/sh -c. What it exports takes the place of
 * what ranks inherit: their env is then the first env_own entries of it, and what was exported,
 * less those names, less `drop`, less the rank's own `drop`. */
struct jr_plan_setup {
    const char *text;    /* NULL: there is none, and nothing else is set */
    char **env;          /* what it is run with */
    char **drop;         /* names and globs of what no rank gets; NULL-terminated */
    const char *package; /* what PYTHONPATH then ends with; NULL: nothing */
};

/* The process that the ranks are forked from. */
struct jr_plan_helper {
    char **argv;      /* NULL: ranks are spawned, and nothing else is set */
    char **env;       /* what all ranks that start here have in common */
    uint32_t env_own; /* as that of a rank */
};

/* A failure that is rehearsed in this attempt. */
struct jr_injection {
    enum jr_inject what;
    uint32_t first, last, step; /* ranks; last inclusive */
    int32_t code;               /* of EXIT */
    uint64_t after_ms;          /* the rank's start */
};

/* How the ranks find each other in MPI_Init. */
struct jr_plan_mpi {
    enum jr_mpi_protocol protocol; /* that jobrun serves; NONE: none */
    bool stated;                   /* by the spec; else the program decided it */
    const char *server;            /* of PMIX: the file of the library that serves it */
    const char *library;           /* that the program needs: "libmpich.so.12"; NULL: not
                                      looked at, or none */
};

struct jr_plan {
    const char *name, *run_id;
    const char *run_dir; /* absolute: LOG_DIR/RUN_ID */
    const char *own_dir; /* that, or RUN_DIR/node_N where each node has a
                            jobrun of its own: paths of ranks begin there */
    const char *fingerprint;
    uint32_t world_size, nodes, node_rank;
    uint32_t spare_nodes; /* that take the places of lost ones */
    uint32_t axis_size[JR_AXIS_COUNT];
    const char *axis_backend[JR_AXIS_COUNT];
    const char *backend, *master_addr;
    uint32_t master_port;
    const char *device_name;
    const char *unbound; /* why the CPUs of ranks that will be bound are not
                            known here; NULL */
    enum jr_form form;
    enum jr_start_method start_method;
    const char *target; /* what a function, script, module or library is
                           called; NULL for a command and a shell */
    bool returns;       /* a function or library: it has to return */
    struct jr_plan_mpi mpi;
    struct jr_plan_setup setup;
    struct jr_plan_helper helper;
    char *const *hosts;              /* one per node, and then one per spare; entries may be
                                        NULL */
    struct jr_plan_rank *ranks;      /* all of the world, by rank; NULL in a lazy plan,
                                        which is told by jr_session_tell only */
    struct jr_build *build;          /* what ranks are made from, one by one, where not all of
                                        them is kept; else NULL */
    bool same_argv;                  /* all ranks have the arguments of rank 0 */
    uint32_t first, count;           /* those that this jobrun starts */
    uint32_t attempt;                /* the number of it: folders are named so */
    const char *inject;              /* what --inject says; NULL: it is no rehearsal */
    struct jr_injection *injections; /* of it what is for this attempt */
    uint32_t injections_count;
    const struct jr_policy *policy;
    /* Of one whose end is told: what of the entrypoint is in the caller's
     * folder and not where ranks look for it, and what to do. NULL: nothing is.
     */
    const char *misplaced, *misplaced_step;
    bool no_spec; /* the job is a command on a line: see base/setting_words.h */
    /* Of `code: freeze`, in a plan that is only printed: */
    const char *frozen; /* the work tree that is copied; NULL: none */
    char *const *links; /* what the copy has as links to the original, from
                           the top; folders have a slash at the end */
    size_t links_count;
    char *const *secrets; /* name globs */
    uint32_t secrets_count;
    char *const *hidden; /* values of secrets that stand in the plan, which
                            are not to be told; NULL-terminated, or NULL */
};

#endif
