/* Waiting for a run that another jobrun executes, and telling it to stop. */
#ifndef JR_AWAIT_RUN_H
#define JR_AWAIT_RUN_H

#include "record/live_run.h"

/* For a jobrun that has its results to end. */
#define JR_LIVE_LEAVE_MS 1000

/* Sleep until no jobrun of the run LOG_DIR/ID, which is open as `live`, is left
 * here (a run in parts has several), or until the results exist: the jobrun
 * that writes them may still have lines for a console that is not read. `live`
 * is how the run stands then. Returns 0; 1 where the moment `until_ns` was
 * first (CLOCK_MONOTONIC; 0: no limit); -1 with `err` where the run can no
 * longer be read. */
int jr_live_await(struct jr_live *live, const char *log_dir, const char *id,
                  uint64_t until_ns, struct jr_error *err);

/* Whether its jobrun is here after JR_LIVE_LEAVE_MS. */
bool jr_live_stays(const struct jr_live *live);

/* Tell the jobrun of the run `id` to stop; a stopped one cannot obey and is
 * woken, too. -1 with why it was left alone: the record is not trusted, the
 * run is another user's, or kill(2) failed. */
int jr_live_stop(const struct jr_live *live, const char *id,
                 struct jr_error *err);

/* Append why a run that has no results can be neither waited for nor stopped
 * from here, as a sentence without a full stop. */
void jr_live_explain(struct jr_buf *out, const struct jr_live *live,
                     const char *id);

#endif
