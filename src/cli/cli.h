/*
 * The program: the only place that prints, reads its own settings from the
 * environment, and decides the exit status of the process.
 *
 *   main -> jr_cli_parse -> the verb's function -> exit status
 *
 * A verb is one row of verbs.h, an option one row of options.c; parsing, help
 * and the checks come from those rows.
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

/* A verb: `words` is its synopsis. */
struct jr_verb {
    const char *name, *words, *help;
    int (*run)(struct jr_cli *cli);
};

/* The verbs, NULL-named at the end; the first is the default. */
extern const struct jr_verb jr_verbs[];
const struct jr_verb *jr_verb_find(const char *name);

/* Parse argv into *ret. Returns 0, or the exit status after the mistake was
 * told on standard error. */
int jr_cli_parse(struct jr_cli *ret, int argc, char **argv, char *const *envp);

/* Decide on colour for both outputs, by --color and the environment. Returns
 * the exit status. */
int jr_cli_color(struct jr_cli *cli);

/* Help for the program (NULL) or a verb, from the tables. */
void jr_cli_help(struct jr_buf *out, const struct jr_verb *verb);

/* Whether --format, or --json, is one of the NULL-terminated `words`; index, or
 * -1 after saying so. Without either it is the first. */
int jr_cli_format(const struct jr_cli *cli, const char *const *words);

/* Write a piece of data to standard output. False if no more is wanted: the
 * reader has gone, or a write failed, which is then reported and is
 * *ret_status. */
bool jr_cli_write(const struct jr_cli *cli, const char *text, size_t len,
                  int *ret_status);

/* Data to standard output: 0, or the exit status of a failed write. */
int jr_cli_out(const struct jr_cli *cli, struct jr_buf *text);
/* The same, or to the new file of --output. */
int jr_cli_deliver(const struct jr_cli *cli, struct jr_buf *text);
/* Anything else to standard error, or that there was no memory for it; a
 * failure there has no one to be told. */
void jr_cli_err(const struct jr_cli *cli, struct jr_buf *text);
/* "jobrun: " and one line. Returns `status`. */
int jr_cli_say(const struct jr_cli *cli, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Findings, to standard error, with the closing count. */
void jr_cli_diags(const struct jr_cli *cli, struct jr_diags *diags);

/* Where the run folders are, and the one that the words mean (default: the
 * latest). The latter returns the exit status, 0 to continue. */
const char *jr_cli_log_dir(const struct jr_cli *cli);
int jr_cli_find_run(const struct jr_cli *cli, char ret_id[static 256]);

/* If the run is not ours, say on standard error whose it is, before anything is
 * printed from its record. */
void jr_cli_say_whose(const struct jr_cli *cli, const char *id);

/* What --rank says, in `arena`; all ranks without it. Returns the exit status,
 * 0 to continue. */
struct jr_arena;
struct jr_set;
int jr_cli_ranks(const struct jr_cli *cli, struct jr_arena *arena,
                 struct jr_set *ret);

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
