/*
 * The program: the only place that prints, reads its own settings from the environment, and decides
 * the exit status of the process.
 *
 *   main -> jr_cli_parse -> the verb's function -> exit status
 *
 * A verb is one row of verbs.c, an option one row of options.c; parsing, help and the checks come
 * from those rows. This is the header of the verbs, of which those that others need more of have
 * one of their own besides:
 *
 *   cmd_run.c       run, rerun, plan, resolve, agent
 *   cmd_validate.c  validate, migrate, diff
 *   cmd_new.c       new, explain, schema
 *   cmd_doctor.c    doctor
 *   cmd_render.c    render, submit
 *   cmd_runs.c      runs, prune
 *   cmd_show.c      show, report, logs, top
 *   cmd_stop.c      stop, wait
 *   help.c          help, version
 *   complete.c      completion
 */
#ifndef JR_CLI_H
#define JR_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strv.h"
#include "diag/diag.h"

struct jr_session;

/* What the command line said. Strings point into argv, those of lists into the arena. */
struct jr_cli {
    struct jr_arena arena;
    const struct jr_verb *verb;
    bool verb_stated; /* else it is the default one */
    char *const *environ;
    char *const *argv; /* as it was typed */
    char **words;      /* without the verb; NULL-terminated */
    int words_count;
    char **rest;                 /* what followed "--", NULL-terminated; NULL: no "--", or a
                                    verb to which its words are as those before */
    bool out_closed, err_closed; /* fd 1 or 2 was closed at the start */
    bool color_out, color_err;
    bool moves_cursor; /* standard output is a terminal that can */
    bool err_terminal; /* standard error is one */

    bool help, version, all;
    bool lock; /* resolve */
    bool explain, env, follow, local, json, stacks, once;
    bool strict, quiet, fix; /* validate */
    bool exact, trust;       /* rerun */
    bool exit_code;          /* diff */
    bool code;               /* diff */
    bool detach, dry_run;
    struct jr_session *session; /* that runs, with whose console we share
                                   standard error; NULL: none does */
    struct jr_strv sets, sweeps, allow_env;
    struct jr_strv where;       /* runs */
    bool cells;                 /* runs */
    bool skip_failed;           /* --resume */
    bool rerun_changed;         /* --resume */
    const char *resume;         /* "": the latest */
    const char *sort, *columns; /* runs; show, of a sweep */
    const char *sweep_dir;      /* of SWEEP/CELL: where the sweep lies; log_dir is
                                   then that of its cells; NULL: it is no cell */
    const char *sweep_id;
    const char *cell_name; /* the same: "SWEEP/7", for messages */
    const char *cell;      /* of a sweep */
    const char *root;      /* of parents */
    const char *frozen;    /* a folder that submit made */
    const char *locked;    /* "": the lock beside the spec */
    const char *color, *format, *on, *run_id;
    const char *ranks; /* --rank of logs and of show --stacks */
    const char *inject;
    const char *from, *output; /* new */
    const char *rev;           /* diff */
    const char *engine;        /* render, submit; of run: ssh */
    const char *hosts;
    const char *log_dir, *older;
    const char *timeout;               /* wait */
    const char *wait;                  /* run, submit; "": without a time */
    uint32_t *count;                   /* -n */
    uint32_t *node_rank;               /* --node-rank */
    uint32_t *parallel;                /* --parallel */
    uint32_t *top;                     /* runs, show --top */
    uint32_t *tail;                    /* logs --tail */
    uint32_t *debug_rank, *stdin_rank; /* --debug, --stdin */
    uint32_t *keep;                    /* prune --keep */
    uint32_t *attempt;                 /* show, logs */
    uint32_t tail_value, debug_rank_value, stdin_rank_value;
    uint32_t top_value, parallel_value, count_value, node_rank_value, keep_value, attempt_value;
};

/* What a verb does. Returns the exit status; messages have been printed. */
typedef int jr_verb_function(struct jr_cli *cli);

/* The functions of the verbs: what each does is in the table of verbs.c. */
jr_verb_function jr_cmd_run, jr_cmd_validate, jr_cmd_resolve, jr_cmd_plan, jr_cmd_runs, jr_cmd_show,
    jr_cmd_report, jr_cmd_top, jr_cmd_logs, jr_cmd_wait, jr_cmd_stop, jr_cmd_prune, jr_cmd_doctor,
    jr_cmd_schema, jr_cmd_explain, jr_cmd_completion, jr_cmd_new, jr_cmd_render, jr_cmd_submit,
    jr_cmd_rerun, jr_cmd_diff, jr_cmd_migrate, jr_cmd_agent, jr_cmd_help, jr_cmd_version;

#endif
