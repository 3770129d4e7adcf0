/*
 * A run seen from outside, by another jobrun: whether it continues, waiting for its end, and
 * telling it to stop.
 */
#ifndef JR_LIVE_RUN_H
#define JR_LIVE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/pidfd.h"
#include "record/record_folder.h"

enum jr_standing {
    JR_STANDING_FINISHED, /* it has results */
    JR_STANDING_RUNNING,
    JR_STANDING_LOST,     /* its jobrun is gone and left no results */
    JR_STANDING_ELSEWHERE /* it has none, and its pid is another host's, or
                             another PID namespace's */
};

struct jr_live {
    struct jr_arena arena;
    enum jr_standing standing;
    struct jr_hold held; /* its jobrun: RUNNING, or FINISHED while that still
                            shows what its console did not take; else nobody */
    int32_t pid;
    struct jr_trust trust;            /* whether to act by what the folder says */
    bool ours;                        /* it is trusted, and the run of the user that we act as */
    bool contained;                   /* ELSEWHERE: on this host, in another PID namespace */
    bool placed;                      /* the record says in which PID namespace its pid is */
    const char *status;               /* FINISHED: a word of the contract */
    int exit_code;                    /* FINISHED */
    const char *host, *user, *cgroup; /* NULL: unknown */
    const char *part;                 /* of a run in parts, the one that this is about */
};

/* The state of the run: by host, boot, pid and start time; the process is held before it is
 * examined (base/pidfd.h). */
int jr_live_open(struct jr_live *ret, const char *log_dir, const char *id, struct jr_error *err);

/* Let go of the process, and free. */
void jr_live_close(struct jr_live *live);

/*
 * What runs left whose two processes died at one instant: the record names their control group, and
 * the next jobrun of the same user, on the same host and boot, ends what is in it.
 */

/* Sweep the group of the run `id`, if the run is lost and ours. Returns how many processes there
 * were; then `out` gets a line that says so, without its newline. */
unsigned jr_lost_sweep(struct jr_buf *out, const char *log_dir, const char *id);

/* The same for all runs of LOG_DIR, whose lines go to `note`. It looks at each folder, and reads
 * those 256 of ours without results that were changed last. The effect of other users is limited:
 * beyond 65,536 entries nothing is examined. */
void jr_lost_sweep_all(const char *log_dir, void (*note)(void *data, const char *line), void *data);

/* For a jobrun that has its results to end. */
#define JR_LIVE_LEAVE_MS 1000

/* Sleep until no jobrun of the run LOG_DIR/ID, which is open as `live`, is left here (a run in
 * parts has several), or until the results exist: the jobrun that writes them may still have lines
 * for a console that is not read. `live` is how the run stands then. Returns 0; 1 where the moment
 * `until_ns` was first (CLOCK_MONOTONIC; 0: no limit); -1 with `err` where the run can no longer be
 * read. */
int jr_live_await(struct jr_live *live, const char *log_dir, const char *id, uint64_t until_ns,
                  struct jr_error *err);

/* Whether its jobrun is here after JR_LIVE_LEAVE_MS. */
bool jr_live_stays(const struct jr_live *live);

/* Tell the jobrun of the run LOG_DIR/ID, which people know by `name`, to stop; a stopped one cannot
 * obey and is woken, too. -1 with why it was left alone: the record is not trusted, the run is
 * another user's, or kill(2) failed. */
int jr_live_stop(const struct jr_live *live, const char *log_dir, const char *id, const char *name,
                 struct jr_error *err);

/* Append why a run that has no results can be neither waited for nor stopped from here, as a
 * sentence without a full stop. */
void jr_live_explain(struct jr_buf *out, const struct jr_live *live, const char *id);

#endif
