/*
 * Whose word a run folder is. In a log_dir that others may write to, anybody
 * can plant a folder that looks like a run. Such a folder is shown to people,
 * but no process is signalled, nothing is removed and nothing is run by what it
 * says.
 */
#ifndef JR_RECORD_TRUST_H
#define JR_RECORD_TRUST_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"

struct jr_trust {
    enum {
        JR_TRUST_OURS,
        JR_TRUST_THEIRS, /* another user owns it */
        JR_TRUST_OPEN    /* everybody may write to it */
    } verdict;
    enum {
        JR_TRUST_FOLDER,
        JR_TRUST_LOG_DIR,
        JR_TRUST_RECORD, /* run.json */
        JR_TRUST_SPEC    /* resolved.yaml */
    } what;              /* of the run the verdict is about */
    uid_t owner;
};

bool jr_trust_is_ours(const struct jr_trust *trust);

/* Judge one open folder: it is ours if the user that we act as owns it, and
 * nobody beyond that user and the group may write to it. One that cannot be
 * looked at is not ours. */
struct jr_trust jr_trust_folder(int fd);

/* Judge the run folder `run_fd` in the folder `dir_fd`: whoever may move
 * folders there decides which of them bears the run's name, and the files that
 * are acted by must be of the same user. */
struct jr_trust jr_trust_run(int dir_fd, int run_fd);

/* Append why the run is not ours, as the end of a sentence about it: "belongs
 * to user bob (uid 1001), not to you". */
void jr_trust_explain(struct jr_buf *out, const struct jr_trust *trust);

#endif
