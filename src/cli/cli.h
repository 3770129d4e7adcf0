/*
 * The program: the only place that prints, reads its own settings from the environment, and decides
 * the exit status of the process.
 *
 *   main -> jr_cli_parse -> the verb's function -> exit status
 *
 * A verb is one row of JR_VERBS, an option one row of options.c; parsing, help and the checks come
 * from those rows. This is the header of the verbs, of which those that others need more of have
 * one of their own besides:
 *
 *   cmd_run.c       run, rerun, plan, resolve, agent
 *   cmd_validate.c  validate, diff
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

#include <jobrun/jobrun.h>

#include "base/buf.h"
#include "base/strv.h"
#include "diag/diag.h"

struct jr_arena;
struct jr_far_cell;
struct jr_option;
struct jr_session;
struct jr_set;
struct jr_verb;

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

/* The verbs: a row of each, and what help and the man page say of it besides.
 */

/* Texts are plain: `backticks` around what is typed, a blank line between paragraphs. */
struct jr_usage {
    const char *verb;
    const char *text;
    const char *example; /* command lines, without a final newline */
};

/* What is said of the verb; every verb has it. */
const struct jr_usage *jr_usage_find(const char *verb);

enum jr_verb_flags {
    JR_VERB_JOB = 1,  /* what follows `--` are words of the job */
    JR_VERB_REST = 2, /* it reads what follows `--` in a way of its own */
    JR_VERB_RARE = 4, /* nobody types it day by day: help --all lists it */
    JR_VERB_RUNS = 8  /* its words are runs: a folder's path is one, too */
};

/* The verbs: name, words of the synopsis, help, flags; the function of each is jr_cmd_NAME. The
 * first is the default. */
#define JR_VERBS(X)                                                                                \
    X(run, "[SPEC] [-- ARG...]",                                                                   \
      "resolve, launch, supervise, verify; `-n N -- CMD...` needs no spec", JR_VERB_JOB)           \
    X(new, "[KIND]", "write a commented starter spec, or translate a command line", JR_VERB_REST)  \
    X(validate, "PATH...", "check specs; for a folder, every *.jobrun.yaml below it", 0)           \
    X(resolve, "SPEC", "print the spec with every MISSING field filled", JR_VERB_JOB)              \
    X(plan, "SPEC", "print what would be started: ranks, mesh, devices, files", JR_VERB_JOB)       \
    X(explain, "CODE|FIELD", "explain a diagnostic or a field", 0)                                 \
    X(doctor, "", "show the hardware and scheduler that jobrun sees, and problems", 0)             \
    X(runs, "", "list the runs, newest first", 0)                                                  \
    X(show, "[RUN]", "summarise a run (RUN: id, start of an id, or `latest`)", JR_VERB_RUNS)       \
    X(top, "[RUN]", "show the ranks of a running job until it ends", JR_VERB_RUNS)                 \
    X(logs, "[RUN]", "print what the ranks of a run wrote", JR_VERB_RUNS)                          \
    X(report, "[RUN]", "print the report of a finished run, as text or HTML", JR_VERB_RUNS)        \
    X(wait, "[RUN]", "wait for a run, and exit with its exit status", JR_VERB_RUNS)                \
    X(stop, "[RUN]", "stop a run, and print its report", JR_VERB_RUNS)                             \
    X(rerun, "[RUN]", "run the resolved spec of an earlier run again",                             \
      JR_VERB_REST | JR_VERB_RUNS)                                                                 \
    X(diff, "A B", "compare two resolved specs or runs: files, REV:FILE, or runs", JR_VERB_RUNS)   \
    X(prune, "", "remove old runs that have finished", 0)                                          \
    X(render, "SPEC", "print the script or manifest for an engine", JR_VERB_JOB)                   \
    X(submit, "SPEC", "pass a job to an engine", JR_VERB_JOB)                                      \
    X(schema, "", "print the JSON Schema of the spec", 0)                                          \
    X(completion, "SHELL", "print a completion script: bash, zsh or fish", JR_VERB_REST)           \
    X(help, "[VERB]", "describe jobrun, or one of its verbs", 0)                                   \
    X(version, "", "print the version", 0)                                                         \
    X(agent, "[ssh]", "run one node's ranks; jobrun starts this itself", JR_VERB_RARE)

#define JR_DECLARE_VERB(name, words, help, flags) jr_verb_function jr_cmd_##name;
JR_VERBS(JR_DECLARE_VERB)

/* A verb: `words` is its synopsis. */
struct jr_verb {
    const char *name, *words, *help;
    unsigned flags; /* enum jr_verb_flags */
};

/* The same as rows, NULL-named at the end. */
extern const struct jr_verb jr_verbs[];

/* The verb of that name; NULL: there is none. */
const struct jr_verb *jr_verb_find(const char *name);

/* The command line: words and options in any order, `--` ends the options. With
 * -n, the first word that is no spec begins a command, and what follows belongs
 * to it: no option is read there. */

/* Parse argv into *ret. Returns 0, or the exit status after the mistake was told on standard
 * error. */
int jr_cli_parse(struct jr_cli *ret, int argc, char **argv, char *const *envp);

/* What the program prints: data to standard output, all else to standard error, in colour or
 * not. */

/* Decide on colour for both outputs, by --color and the environment. Returns the exit status. */
int jr_cli_color(struct jr_cli *cli);

/* How wide help is printed: COLUMNS, or else the width of the terminal, or 80 where standard output
 * is none. */
unsigned jr_cli_columns(void);

/* How wide messages to this descriptor are printed: as the terminal that it is, and 0, which breaks
 * no line, where it is none. */
unsigned jr_cli_message_columns(int fd);

/* Append "jobrun: TEXT", made safe to show, in lines as wide as the terminal of standard error is;
 * what begins with "type: " is a line of its own there if it does not fit. */
void jr_cli_add_message(struct jr_buf *out, const char *text);

/* Whether --format, or --json, is one of the NULL-terminated `words`; index, or
 * -1 after saying so. Without either it is the first. */
int jr_cli_format(const struct jr_cli *cli, const char *const *words);

/* Write a piece of data to standard output. False if no more is wanted: the
 * reader has gone, or a write failed, which is then reported and is
 * *ret_status. */
bool jr_cli_write(const struct jr_cli *cli, const char *text, size_t len, int *ret_status);

/* Data to standard output: 0, or the exit status of a failed write. */
int jr_cli_out(const struct jr_cli *cli, struct jr_buf *text);

/* The same, or to the new file of --output. */
int jr_cli_deliver(const struct jr_cli *cli, struct jr_buf *text);

/* Data to a new file: 0, or the exit status after saying why there is none. */
int jr_cli_create(const struct jr_cli *cli, const char *path, struct jr_buf *text);

/* Break the lines of a report that are wider than the terminal of a descriptor, if that is one. */
void jr_cli_fit(struct jr_buf *text, int fd);

/* Anything else to standard error, or that there was no memory for it; a failure there has no one
 * to be told. */
void jr_cli_err(const struct jr_cli *cli, struct jr_buf *text);

/* "jobrun: " and one line. Returns `status`; where memory ran out for it, and that was said
 * instead, JR_STATUS_LAUNCH. */
int jr_cli_say(const struct jr_cli *cli, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Findings, to standard error, with the closing count. */
void jr_cli_diags(const struct jr_cli *cli, struct jr_diags *diags);

/* Which runs a command line means: the folder they are in, one of them, and its ranks. */

/* Where the run folders are. */
const char *jr_cli_log_dir(const struct jr_cli *cli);

/* Find the run that the words mean (default: the latest). Of a sweep it is the cell of SWEEP/CELL,
 * and the folder of its cells is then jr_cli_log_dir. Returns the exit status, 0 to go on. */
int jr_cli_find_run(struct jr_cli *cli, char ret_id[static 256]);

/* What the run that was found is called: its id, or SWEEP/7. */
const char *jr_cli_run_name(const struct jr_cli *cli, const char *id);

/* The same, or another name of a run, as it is typed behind a verb: with --log-dir where it needs
 * that. `out`, which is empty, keeps it. */
const char *jr_cli_run_words(struct jr_buf *out, const struct jr_cli *cli, const char *name);

/* Whether the words mean a whole sweep: then its id. */
bool jr_cli_find_sweep(const struct jr_cli *cli, char ret_id[static 256]);

/* Whether RUN is a cell that an agent of its sweep runs on another machine. Then *ret is that cell,
 * as long as the command line is there. */
bool jr_cli_find_far_cell(struct jr_cli *cli, struct jr_far_cell *ret);

/* On standard error, where the run is not ours, whose it is: before anything is told by its
 * word. */
void jr_cli_say_whose(const struct jr_cli *cli, const char *id);

/* --format of a table of runs or cells, as an enum jr_row_format; -1 after
 * saying that it is none. */
int jr_cli_table_format(const struct jr_cli *cli);

/* What --rank says, in `arena`; all ranks without it. Returns the exit status, 0 to go on. */
int jr_cli_ranks(const struct jr_cli *cli, struct jr_arena *arena, struct jr_set *ret);

/*
 * A session of the library for the command line: its findings go to standard error, and failures
 * are reported. All return the exit status, 0 to continue.
 */

/* What the options say. Borrows from `cli`. */
struct jr_session_options jr_stage_options(struct jr_cli *cli);

/* Open a session; the caller closes *ret, in any case. */
int jr_stage_open(struct jr_session **ret, struct jr_cli *cli,
                  const struct jr_session_options *options);

/* Tell what a stage found, and forget it; what `status` is for in `err`, where that is not a
 * finding. Returns `status`. */
int jr_stage_told(struct jr_session *session, const struct jr_cli *cli, enum jr_status status,
                  const struct jr_error *err);

/* Load the spec that the words name (or the command after "--" with -n). One
 * that is several is refused unless the command line names a cell; with
 * `ret_sweep`, which is then true, it is not. */
int jr_stage_load(struct jr_session *session, const struct jr_cli *cli, bool *ret_sweep);

/* Facts, by --on or of this machine. */
int jr_stage_facts(struct jr_session *session, const struct jr_cli *cli);

/* A dry session of what the words name, up to the resolved spec, or of a sweep up to the facts, as
 * jr_stage_load has it; within an allocation of several nodes with the facts of all of them. */
int jr_stage_resolve(struct jr_session **ret, struct jr_cli *cli, bool *ret_sweep);

/* Take --wait into the options of a session that is to run. */
int jr_stage_wait(const struct jr_cli *cli, struct jr_session_options *options);

/* Begin, launch, supervise, verify, tell: of what is loaded; with --detach in a process of its
 * own. */
int jr_stage_run(struct jr_session *session, struct jr_cli *cli);

/* The plan of a sweep's cells to standard output. */
int jr_stage_print_cells(struct jr_session *session, const struct jr_cli *cli, bool json);

/* Run the cells of the sweep that is loaded. */
int jr_stage_run_sweep(struct jr_session *session, struct jr_cli *cli);

/* Refuse options of a sweep that do not go together. */
int jr_stage_check_sweep(const struct jr_cli *cli);

/* Refuse options that are about sweeps, where there is one job; `also` is one that the verb has for
 * sweeps alone and that was given, or NULL. */
int jr_stage_check_one_job(const struct jr_cli *cli, const char *also);

/* A text of the session to standard output. */
int jr_stage_print(const struct jr_session *session, const struct jr_cli *cli, enum jr_text what);

#endif
