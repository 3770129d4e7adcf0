/*
 * libjobrun: what the program jobrun does, for a program of your own.
 *
 * A session takes one spec from its text to the results of its ranks; a stage that is left out is
 * gone through by the one that needs it:
 *
 *   jr_session_open
 *     jr_session_load        read and check
 *     jr_session_facts       of this machine, or of another
 *     jr_session_resolve     fill what is MISSING
 *     jr_session_make_plan   a dry session: decide what would be done
 *     jr_session_begin       else: decide it, and open the run folder
 *     jr_session_run         launch, supervise, judge
 *   jr_session_close
 *
 * Stages return JR_STATUS_OK or what the program's exit status would be, with the first reason in
 * `err` (NULL: nobody asks). What is wrong with a spec is told by findings, all of them at once,
 * which gather in the session, warnings too: jr_session_diags. A stage in the wrong order is
 * JR_STATUS_USAGE.
 *
 * Nothing is printed, nothing exits, nothing is kept between sessions. A session is for one thread
 * at a time. Pointers are never NULL unless that is said. What is handed over is borrowed until
 * jr_session_close; what a session returns is the session's, until then too.
 */
#ifndef JOBRUN_JOBRUN_H
#define JOBRUN_JOBRUN_H

#include <jobrun/plan.h>
#include <jobrun/run.h>
#include <jobrun/spec.h>
#include <jobrun/verdict.h>

#ifdef __cplusplus
extern "C" {
#endif

struct jr_session; /* opaque */

/* What the command line would say. All zero: nothing. */
struct jr_session_options {
    char *const *envp;          /* the environment that the ranks inherit and ${env:NAME}
                                   reads, NULL-terminated; NULL: this process's own */
    char *const *sets;          /* PATH=VALUE of --set, NULL-terminated; NULL: none */
    const char *hosts;          /* those that are reached by ssh, with commas between: in
                                   place of the spec's; NULL: the spec's */
    bool ssh;                   /* reach them by ssh, whether the spec says so or not */
    char *const *sweeps;        /* PATH=A,B of --sweep, NULL-terminated; NULL: none */
    const char *cell;           /* which cell of the sweep to take: its number, or values
                                   that only one has, "vars.lr=0.1,vars.seed=2"; NULL:
                                   none, so that a spec that is several is refused */
    const char *root;           /* the folder below which parents lie; NULL: the top of
                                   the checkout around the spec, else its folder */
    char *const *args;          /* words behind the entrypoint's own, NULL-terminated;
                                   NULL: none */
    const uint32_t *node_rank;  /* NULL: not given */
    const uint32_t *debug_rank; /* gets a terminal of its own, for which console.in_fd must
                                   be one; the others write to files only, timeouts are
                                   off; NULL: none */
    const uint32_t *stdin_rank; /* reads console.in_fd; NULL: none does */
    bool local;                 /* every node's ranks on this machine */
    bool check;                 /* validate only: what has to come from outside is unknown,
                                   and that is no mistake; templates are good */
    bool dry_run;               /* nothing will be run, so no port is held */
    bool lazy;                  /* and the plan is only told: its ranks are not kept */
    bool end_children;          /* a run may end children of this process, too */
    const char *run_id;         /* NULL: a fresh one; nodes with a session each need
                                   the same */
    const char *inject;         /* failures to rehearse, as --inject says them; NULL */
    const char *support;        /* absolute: the folder of the files with which Python
                                   and libraries are run; NULL: PREFIX/libexec/jobrun,
                                   from where the program or the library lies */
    const char *rerun_of;       /* the id of the run that is repeated; NULL: none */
    const char *code_of;        /* absolute: a run folder, whose code is executed
                                   instead of the present one, where the spec says
                                   `code: freeze`; NULL: none */
    const char *lock;           /* a file of JR_TEXT_LOCK, to which the spec has to
                                   resolve; "": NAME.lock.yaml beside it; NULL: none */
    bool wait;                  /* where other runs hold the devices, wait until they are free,
                                   in the order in which runs came; else stated ones are shared,
                                   and too few for `any` are JR_STATUS_UNRESOLVED */
    uint64_t wait_ms;           /* for no longer than this; 0: for ever */
    void (*note)(void *data, const char *line); /* told what went wrong and stops
                                                   nothing; NULL: nobody is */
    void *data;
};

/* The version of the library that is there, "0.1.0". Static. */
JR_API const char *jr_version(void);

/* A session of its own; `options` NULL: none. NULL if memory runs out. */
JR_API struct jr_session *jr_session_open(const struct jr_session_options *options);

/* Release all that the session holds, the port too. A run that was begun but not run is then lost.
 * NULL is allowed. */
JR_API void jr_session_close(struct jr_session *session);

/* Read and check the spec, with its parents and `sets`: once in a session. Of a sweep it is the
 * cell that the options name; JR_STATUS_USAGE without one. JR_STATUS_INVALID; JR_STATUS_UNRESOLVED
 * where all that is wrong is that something has to come from outside. */
JR_API enum jr_status jr_session_load(struct jr_session *session,
                                      const struct jr_spec_source *source, struct jr_error *err);

/* Read the facts of this machine, now (NULL), or of a profile: the shorthand "2x8:H100,96c" or the
 * path of a facts file. A profile that cannot be read is JR_STATUS_USAGE. Once in a session, before
 * it is resolved. */
JR_API enum jr_status jr_session_facts(struct jr_session *session, const char *profile,
                                       struct jr_error *err);

/* Fill every MISSING field, and take a port: until the session is closed, unless it is dry.
 * JR_STATUS_UNRESOLVED where the facts do not allow it. */
JR_API enum jr_status jr_session_resolve(struct jr_session *session, struct jr_error *err);

/* Make the plan of a dry session, under its run_id ("RUN_ID" without one). Writes nothing. */
JR_API enum jr_status jr_session_make_plan(struct jr_session *session, struct jr_error *err);

/* Everything up to the first rank: the plan, the run folder, and in it the spec, the plan, and a
 * record that says that the run is on its way. */
JR_API enum jr_status jr_session_begin(struct jr_session *session, struct jr_error *err);

/* Where the ranks' lines go; they are in the run's files in any case. */
struct jr_session_console {
    int out_fd, err_fd; /* -1: nowhere */
    int in_fd;          /* for debug_rank or stdin_rank; else not looked at */
    bool live;          /* err_fd is a terminal that wants a status line */
    bool color;
    bool utf8; /* err_fd shows more than ASCII */
};

/* Launch the ranks, supervise them to their end, judge, and complete the run folder. `console`
 * NULL: nothing is shown. JR_STATUS_OK says that there is a report; how the run went is in
 * jr_session_exit_code and jr_session_ranks. A console that is not read holds no rank, and not the
 * run folder; what it has not taken by then is shown before the call returns, or until a signal
 * comes. The command of `on_end` has ended by then, too.
 *
 * The call forks, waits, and ends every descendant that there is then; so the
 * caller has one thread, and children of its own are JR_STATUS_USAGE, unless
 * `end_children` gives them up. The signals that stop a run
 * (TERM, INT, QUIT, HUP) stop it, and do not reach the caller's handlers until
 * it returns, when dispositions and mask are as they were. */
JR_API enum jr_status jr_session_run(struct jr_session *session,
                                     const struct jr_session_console *console,
                                     struct jr_error *err);

/* The findings so far, *ret_count of them, by stage and then by position; at most 1,000 are kept.
 * They are valid until the next stage. */
JR_API const struct jr_diag *jr_session_diags(const struct jr_session *session, size_t *ret_count);

/* The findings as text, in any form that `jobrun validate --format` has;
 * `color` is for JR_DIAG_HUMAN. Malloc'ed; NULL if memory runs out. */
JR_API char *jr_session_diags_text(const struct jr_session *session, enum jr_diag_format format,
                                   bool color);

/* Forget the findings: they have been told. */
JR_API void jr_session_forget(struct jr_session *session);

/* The spec as bound; NULL before it is loaded, and for a template. */
JR_API const struct jr_spec *jr_session_spec(const struct jr_session *session);

/* The resolved value of a field, "world_size", as `resolve --explain` writes it; NULL when there is
 * no such field, or nothing is resolved yet. */
JR_API const char *jr_session_value(const struct jr_session *session, const char *field);

/* The plan; NULL before it is made. */
JR_API const struct jr_plan *jr_session_plan(const struct jr_session *session);

/* What became of one rank. */
struct jr_rank_result {
    const struct jr_plan_rank *plan;
    const struct jr_rank_outcome *outcome;
    enum jr_rank_state state;
    bool cause;         /* it is the root cause, or failed together with it */
    const char *result; /* what it delivered, as JSON; NULL: nothing */
    enum jr_result_error result_error;
    const char *reason; /* why its result does not count; NULL: it does */
    const char *error;  /* its exception, or why it could not start; NULL */
    const char *where;  /* of the exception: "train.py:88 in step"; NULL */
};

/* The ranks that this jobrun started, *ret_count of them, by rank; NULL and 0 before they ran. */
JR_API const struct jr_rank_result *jr_session_ranks(const struct jr_session *session,
                                                     size_t *ret_count);

/* How the run went as a whole; launch_failed before there is a report. */
JR_API enum jr_run_status jr_session_status(const struct jr_session *session);
/* The exit status that the program would end with: 0 when every rank ended well and delivered; 7
 * before there is a report. */
JR_API int jr_session_exit_code(const struct jr_session *session);

/* When the run began and ended, and what the ranks as a whole left behind; NULL before it ran. */
JR_API const struct jr_outcome *jr_session_outcome(const struct jr_session *session);

/* What a session tells as text, and the stage that must be done. */
#define JR_TEXTS(X)                                                                                \
    X(FACTS, FACTS, "the facts, as the YAML that a profile is")                                    \
    X(RESOLVED, RESOLVED, "the resolved spec, a spec again")                                       \
    X(LOCK, RESOLVED, "the experiment alone, to be held against the spec")                         \
    X(EXPLAIN, RESOLVED, "every value, where it is from, and why: a table")                        \
    X(EXPLAIN_JSON, RESOLVED, "the same as JSON")                                                  \
    X(PLAN, PLANNED, "the plan for people")                                                        \
    X(PLAN_ENV, PLANNED, "the same with the variables that are set")                               \
    X(PLAN_JSON, PLANNED, "plan.json")                                                             \
    X(HEADLINE, PLANNED, "\"digits: 4 ranks on 1 node (data 4), gloo, ...\"")                      \
    X(REPORT, RUN, "the few lines that a person reads at the end")                                 \
    X(REPORT_COLOR, RUN, "the same for a terminal")                                                \
    X(REPORT_JSON, RUN, "results.json")

#define JR_TEXT_ENUM(name, stage, help) JR_TEXT_##name,
enum jr_text { JR_TEXTS(JR_TEXT_ENUM) };

/* One of them, malloc'ed; NULL before its stage is done, or if memory runs out.
 */
JR_API char *jr_session_text(const struct jr_session *session, enum jr_text what);

/* The same in pieces: `take` gets each as soon as it is made, so that the plan of a million ranks
 * needs no room for its text, and ends the telling by another value than 0. -1 before its stage is
 * done, or if memory runs out. */
JR_API int jr_session_tell(const struct jr_session *session, enum jr_text what,
                           int (*take)(void *data, const char *text, size_t len), void *data);

#ifdef __cplusplus
}
#endif

#endif
