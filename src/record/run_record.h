/*
 * The record of a run: run.json, written at the start and again at the end,
 * and the run folders of a LOG_DIR as they stand on disk, read again later. A
 * folder is a run's if it holds a run.json; whose word it is says
 * record_trust.h.
 */
#ifndef JR_RUN_RECORD_H
#define JR_RUN_RECORD_H

#include "base/diff_table.h"
#include "judge/judgement.h"
#include "record/record_trust.h"

/* What run.json says. Strings are borrowed; NULL is null. */
struct jr_record_facts {
    const char *run_id, *version, *host, *user, *boot_id, *cwd;
    const char *os, *kernel, *arch; /* "Debian GNU/Linux 12", "6.1.0" */
    int32_t pid;
    uint64_t pid_namespace; /* 0: unknown (proc.h) */
    uint64_t start_ticks;   /* when that process began, since the boot */
    char **argv;            /* NULL-terminated, secrets redacted */
    const char *commit;     /* of git; NULL: unknown */
    const bool *dirty;      /* NULL: unknown */
    const char *fingerprint;
    const char *spec;                 /* as the user named it */
    const char *rerun_of;             /* the id of the run that it repeats */
    uint32_t world_size, nodes;       /* of all of it */
    uint32_t first_rank, ranks;       /* that this jobrun starts */
    uint32_t attempt;                 /* the one that runs, or decided */
    bool local;                       /* every node's ranks on this machine */
    uint64_t started_ns, finished_ns; /* wall time; finished 0: not yet */
    const char *status, *cgroup;      /* status NULL: not yet */
    int exit_code;                    /* once finished */
};

/* The name of the user that we act as, or its number. */
char *jr_record_user(struct jr_arena *arena);

/* Fill in what this process can tell of itself and of the plan: everything but
 * git, spec, cgroup and the end. Copies live in `arena`. */
int jr_record_facts_fill(struct jr_record_facts *ret, struct jr_arena *arena,
                         const struct jr_plan *plan, struct jr_error *err);

/* Add the end. */
void jr_record_facts_finish(struct jr_record_facts *facts,
                            const struct jr_judgement *report,
                            const struct jr_outcome *outcome);

/* Append run.json. */
void jr_record_run_json(struct jr_buf *out,
                        const struct jr_record_facts *facts);

/* One line of `jobrun runs`. */
struct jr_record {
    const char *id;
    const char *name;   /* NULL: unknown */
    const char *status; /* a word of the contract; "running"; "lost": it ended
                           without a result; "elsewhere": unfinished, on another
                           host or in a container; "unknown": not jobrun's */
    bool finished;
    int exit_code;         /* once finished */
    double started;        /* seconds since the epoch */
    double seconds;        /* it took, or has taken so far */
    uint32_t world_size;   /* 0: unknown */
    struct jr_trust trust; /* whose word all this is */
};

struct jr_records {
    struct jr_arena arena;
    struct jr_record *items;
    size_t count;
};

#define JR_RECORDS_INIT                                                        \
    {                                                                          \
        0                                                                      \
    }

/* All runs of LOG_DIR, the newest first, but those that cannot be read. A
 * folder that is not there holds none. */
int jr_records_list(struct jr_records *ret, const char *log_dir,
                    struct jr_error *err);
void jr_records_release(struct jr_records *records);

/* The id that RUN means: an id, a prefix that only one run has, or `latest`, by
 * a link of ours or of LOG_DIR's owner; with a part of it behind,
 * "exp1/node_0", where the run has parts. Fails with the candidates when it
 * means several. */
int jr_record_find(char ret_id[static 256], const char *log_dir,
                   const char *run, struct jr_error *err);

/* Append what the run told at its end, or how it stands, by its files alone. */
struct jr_record_view {
    const uint32_t *attempt; /* NULL: the one that decided */
    bool color;
};
int jr_record_show(struct jr_buf *out, const char *log_dir, const char *id,
                   const struct jr_record_view *view, struct jr_error *err);

/* Append the results of an attempt (NULL: of the one that decided); of a run
 * that has none what is known of it (live_results.h). */
int jr_record_results(struct jr_buf *out, const char *log_dir, const char *id,
                      const uint32_t *attempt, struct jr_error *err);

/* How a report is to be. */
struct jr_record_look {
    bool html;
    bool color;       /* of text */
    const char *base; /* of HTML: the run folder, from where the file will be */
};

/* Append the report of a run that has results: the lines that it ended with, or
 * one HTML file with all that its folder says, which loads and runs nothing. */
int jr_record_report(struct jr_buf *out, const char *log_dir, const char *id,
                     const struct jr_record_look *look, struct jr_error *err);

/* What became of two runs, side by side: status, cause, times, where and by
 * whom they ran where that is not the same, and each field that their ranks
 * delivered (results.NAME). The parts of the rows are "outcome", "result",
 * "time" and "circumstance"; the last two say nothing of the experiment. */
int jr_record_contrast(struct jr_diff_table *ret, const char *log_dir,
                       const char *const ids[static 2], struct jr_error *err);

/* What run.json says that a rerun needs. Strings live in the arena. */
struct jr_record_origin {
    const char *run_dir;     /* absolute; of a run in parts that of one */
    const char *log_dir;     /* absolute */
    const char *fingerprint; /* NULL: unknown */
    bool local;              /* --local */
    struct jr_trust trust;   /* whether it may be run by its word */
    const char *spec; /* the text of resolved.yaml; NULL: there is none */
};
int jr_record_origin(struct jr_record_origin *ret, struct jr_arena *arena,
                     const char *log_dir, const char *id, struct jr_error *err);

/* The logs of one rank: paths relative to the run folder; NULL: none. */
struct jr_record_log {
    uint32_t rank;
    const char *out, *err;
};

struct jr_record_logs {
    struct jr_arena arena;
    struct jr_record_log *items; /* by rank */
    size_t count;
    bool finished; /* nothing will be added to them */
    char **ends;   /* the files, NULL-terminated, that are all there once it is
                      so, unless a jobrun is lost */
};

#define JR_RECORD_LOGS_INIT                                                    \
    {                                                                          \
        0                                                                      \
    }

/* Where a run's logs are: by its results, or while it has none by its plan; of
 * an attempt, or of the last one there is (NULL). */
int jr_record_logs_load(struct jr_record_logs *ret, const char *log_dir,
                        const char *id, const uint32_t *attempt,
                        struct jr_error *err);
void jr_record_logs_release(struct jr_record_logs *logs);

#endif
