/*
 * The ranks of a running job, seen from outside: who they are by the run's plan, and their
 * processes by its events. The same for a program that reads results.json, which such a run does
 * not have yet.
 */
#ifndef JR_LIVE_RANKS_H
#define JR_LIVE_RANKS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/proc.h"
#include <jobrun/error.h>

struct jr_live_rank {
    uint32_t rank, node;
    bool apart;  /* its logs are not here while it runs */
    int32_t pid; /* 0: it was not started, or not here */
    bool ended;
    int exit_code, signal; /* ended; signal 0: it exited with the code */
    const char *out, *err; /* log files in the run folder; NULL: none */
};

struct jr_live_ranks {
    struct jr_arena arena;
    struct jr_live_rank *items; /* by rank */
    size_t count;
    int run_fd, events_fd;
    struct jr_buf rest;  /* of the events: a line without its end so far */
    int32_t guard;       /* the run's jobrun */
    const char *name;    /* of the run; NULL: unknown */
    uint64_t started_ns; /* wall time; 0: unknown */
};

/* Read the plan and the events so far of the run whose jobrun is the process
 * `guard`, which the caller has found to be that (jr_live_open). */
int jr_live_ranks_open(struct jr_live_ranks *ret, const char *log_dir, const char *id,
                       int32_t guard, struct jr_error *err);

/* Close the files, and free. */
void jr_live_ranks_close(struct jr_live_ranks *live);

/* Read what has been added to the events; a run that started again has a new plan. */
void jr_live_ranks_update(struct jr_live_ranks *live);

/* The rank with that number; NULL: none has it. */
struct jr_live_rank *jr_live_ranks_find(const struct jr_live_ranks *live, int64_t number);

/* Whether the rank has a process, in the list that jr_proc_all made, that is what the events said:
 * a number alone might be another process by now. Ranks are children of the runner, and that is one
 * of jobrun. */
bool jr_live_ranks_lives(const struct jr_live_ranks *live, const struct jr_live_rank *rank,
                         const struct jr_proc *all, size_t count);

/* The log of it that was written last; NULL: both are empty. */
const char *jr_live_ranks_latest(const struct jr_live_ranks *live, const struct jr_live_rank *rank);

/* How many seconds ago its logs were last written to, by the wall clock; -1:
 * they are empty. */
double jr_live_ranks_silence(const struct jr_live_ranks *live, const struct jr_live_rank *rank);

/* A run without results, told with the keys of results.json: what its record,
 * its plan and its events say so far, and null for what is not known yet.
 * `standing` is the state of the run: "running", "lost", "elsewhere"; the state
 * of a rank is "not_started", "running" or "ended". If the jobrun of a run is
 * gone, no rank is running. `run` is its run.json, borrowed. NULL with `err`;
 * else the caller's. */
json_t *jr_live_results(const char *log_dir, const char *id, const json_t *run,
                        const char *standing, struct jr_error *err);

#endif
