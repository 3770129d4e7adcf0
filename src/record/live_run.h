/*
 * A run seen from outside, by another jobrun: whether it continues, and the
 * process to wait for or to signal.
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
    struct jr_trust trust; /* whether to act by what the folder says */
    bool ours;      /* it is trusted, and the run of the user that we act as */
    bool contained; /* ELSEWHERE: on this host, in another PID namespace */
    bool placed;    /* the record says in which PID namespace its pid is */
    const char *status;               /* FINISHED: a word of the contract */
    int exit_code;                    /* FINISHED */
    const char *host, *user, *cgroup; /* NULL: unknown */
    const char *part; /* of a run in parts, the one that this is about */
};

/* The state of the run: by host, boot, pid and start time; the process is held
 * before it is examined (base/pidfd.h). */
int jr_live_open(struct jr_live *ret, const char *log_dir, const char *id,
                 struct jr_error *err);

/* Let go of the process, and free. */
void jr_live_close(struct jr_live *live);

/*
 * What runs left whose two processes died at one instant: the record names
 * their control group, and the next jobrun of the same user, on the same host
 * and boot, ends what is in it.
 */

/* Sweep the group of the run `id`, if the run is lost and ours. Returns how
 * many processes there were; then `out` gets a line that says so, without its
 * newline. */
unsigned jr_lost_sweep(struct jr_buf *out, const char *log_dir, const char *id);

/* The same for all runs of LOG_DIR, whose lines go to `note`. It looks at each
 * folder, and reads those of ours without results. The effect of other users is
 * limited: beyond 65,536 entries nothing is examined. */
void jr_lost_sweep_all(const char *log_dir,
                       void (*note)(void *data, const char *line), void *data);

#endif
