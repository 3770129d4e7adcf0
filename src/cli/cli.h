/*
 * The program: the only place that prints, reads its own settings from the
 * environment, and decides the exit status of the process.
 *
 *   main -> jr_cli_parse -> the verb's function -> exit status
 *
 * A verb is one row of verbs.c, an option one row of options.c; parsing, help
 * and the checks come from those rows. This is the header of the verbs, each in
 * its cmd_VERB.c (cmd_stop.c has `wait` too), of which those that others need
 * more of have one of their own besides.
 */
#ifndef JR_CLI_H
#define JR_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strv.h"
#include "diag/diag.h"

struct jr_session;

/* What the command line said. Strings point into argv, those of lists into the
 * arena. */
struct jr_cli {
    struct jr_arena arena;
    const struct jr_verb *verb;
    bool verb_stated; /* else it is the default one */
    char *const *environ;
    char **words; /* without the verb */
    int words_count;
    char **rest; /* what followed "--", NULL-terminated; NULL: no "--" */
    bool out_closed, err_closed; /* fd 1 or 2 was closed at the start */
    bool color_out, color_err;
    bool moves_cursor; /* standard output is a terminal that can */

    bool help, version;
    bool explain, env, follow, local, json, stacks, once;
    bool strict, quiet, fix; /* validate */
    bool exact, trust;       /* rerun */
    bool exit_code;          /* diff */
    bool detach, dry_run;
    bool wait;                  /* submit */
    struct jr_session *session; /* that runs, with whose console we share
                                   standard error; NULL: none does */
    struct jr_strv sets, allow_env;
    const char *root; /* of parents */
    const char *color, *format, *on, *run_id;
    const char *ranks; /* --rank of logs and of show --stacks */
    const char *inject;
    const char *from, *output; /* new */
    const char *rev;           /* diff */
    const char *engine;        /* render, submit */
    const char *log_dir, *older;
    const char *timeout;               /* wait */
    uint32_t *count;                   /* -n */
    uint32_t *node_rank;               /* --node-rank */
    uint32_t *tail;                    /* logs --tail */
    uint32_t *debug_rank, *stdin_rank; /* --debug, --stdin */
    uint32_t *keep;                    /* prune --keep */
    uint32_t *attempt;                 /* show, logs */
    uint32_t tail_value, debug_rank_value, stdin_rank_value;
    uint32_t count_value, node_rank_value, keep_value, attempt_value;
};

/* The verbs' functions. Each returns the exit status. */
int jr_cmd_run(struct jr_cli *cli);
int jr_cmd_validate(struct jr_cli *cli);
int jr_cmd_resolve(struct jr_cli *cli);
int jr_cmd_plan(struct jr_cli *cli);
int jr_cmd_runs(struct jr_cli *cli);
int jr_cmd_show(struct jr_cli *cli);
int jr_cmd_report(struct jr_cli *cli);
int jr_cmd_top(struct jr_cli *cli);
int jr_cmd_logs(struct jr_cli *cli);
int jr_cmd_wait(struct jr_cli *cli);
int jr_cmd_stop(struct jr_cli *cli);
int jr_cmd_prune(struct jr_cli *cli);
int jr_cmd_doctor(struct jr_cli *cli);
int jr_cmd_schema(struct jr_cli *cli);
int jr_cmd_explain(struct jr_cli *cli);
int jr_cmd_completion(struct jr_cli *cli);
int jr_cmd_new(struct jr_cli *cli);
int jr_cmd_render(struct jr_cli *cli);
int jr_cmd_submit(struct jr_cli *cli);
int jr_cmd_rerun(struct jr_cli *cli);
int jr_cmd_diff(struct jr_cli *cli);
int jr_cmd_migrate(struct jr_cli *cli);
int jr_cmd_agent(struct jr_cli *cli);

#endif
