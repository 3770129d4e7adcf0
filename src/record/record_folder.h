/* Run folders on disk, for the files that read records. */
#ifndef JR_RECORD_FOLDER_H
#define JR_RECORD_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

/*
 * Whether a run folder can be trusted. In a log_dir that others may write to, anybody can plant a
 * folder that looks like a run. Such a folder is shown, but jobrun signals no process, removes
 * nothing and runs nothing because of it.
 */

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

/* Whether to act by what the folder says. */
bool jr_trust_is_ours(const struct jr_trust *trust);

/* Check one open folder: it is ours if our effective user owns it, and only that user and the group
 * may write to it. A folder that cannot be examined is not ours. */
struct jr_trust jr_trust_folder(int fd);

/* Judge the run folder `run_fd` in the folder `dir_fd`: whoever may move folders there decides
 * which of them bears the run's name, and the files that are acted by must be of the same user. */
struct jr_trust jr_trust_run(int dir_fd, int run_fd);

/* Append why the run is not ours, as the end of a sentence about it: "belongs to user bob (uid
 * 1001), not to you". */
void jr_trust_explain(struct jr_buf *out, const struct jr_trust *trust);

/* Append what corrects a run that everybody may write to: "chmod o-w runs/ID". */
void jr_trust_correct(struct jr_buf *out, const struct jr_trust *trust, const char *log_dir,
                      const char *id);

/* Where a run is: LOG_DIR/ID. */
struct jr_run_place {
    const char *log_dir, *id;
};

/* Open LOG_DIR/ID, where ID may be that of one node's part, "exp1/node_0"; -1 with `err` when there
 * is no such run. */
int jr_record_folder_open(const char *log_dir, const char *id, struct jr_error *err);

/* The same, and whether to act by what the folder says. */
int jr_record_folder_enter(struct jr_trust *ret_trust, const char *log_dir, const char *id,
                           struct jr_error *err);

/* Append a sentence that says whose the run LOG_DIR/ID is, to stand before what is told by its
 * word, without a full stop. False, and nothing, where it is ours or is not there. */
bool jr_record_folder_doubt(struct jr_buf *out, const char *log_dir, const char *id);

/* The bytes that a JSON file of the folder may have: 1 MiB for run.json. */
size_t jr_record_folder_most(int fd, const char *name);

/* Append the bytes of a JSON file of the folder. One that is larger than such a file can be, or has
 * a hole, which is all zeros, is refused before it is read. 0, or -1 with `err`. */
int jr_record_folder_read(struct jr_buf *ret, int fd, const char *name, struct jr_error *err);

/* Parse one JSON file of the folder; NULL with `err`. A file that jr_record_folder_read refuses is
 * refused. Of a run in parts it is what they come to together (multinode.h). */
json_t *jr_record_folder_json(int fd, const char *name, struct jr_error *err);

/* The same without the contents of `ranks`, which come last and can be many:
 * only the beginning of a file that jobrun wrote is read, and of another one at
 * most 64 MiB. */
json_t *jr_record_folder_head(int fd, const char *name);

/* Append the name of the results of an attempt; NULL: the one that decided. Fails when the run `id`
 * has no such attempt. */
int jr_record_folder_results(struct jr_buf *ret, int fd, const char *id, const uint32_t *attempt,
                             struct jr_error *err);

/* The exit status that results.json states; one that states none, or what no process can have, is a
 * failure (7). */
int jr_record_folder_exit_code(const json_t *results);

/* When process `pid` began, in clock ticks since the boot; 0 if there is none, or only its zombie.
 * With the boot's id it is what makes a pid unique. */
uint64_t jr_record_folder_ticks(int64_t pid);

/* The process of the run that completes its record where the jobrun that began it is gone; as
 * jr_companion_of has it. */
pid_t jr_record_folder_companion(int fd, const json_t *run);

/* Whether the run's jobrun has its pid in another PID namespace than ours, as
 * in a container. A record that does not say so counts as one of our namespace.
 */
bool jr_record_folder_is_contained(const json_t *run);

/* The state of a run without results: "running", "lost" or "elsewhere" (another host, or another
 * PID namespace of this one), by the host, boot, PID namespace, pid and its start time in its
 * run.json. */
const char *jr_record_folder_standing(const json_t *run);

/* Append a run, or a sweep, as it is typed behind a verb: its id, and --log-dir where it lies in
 * another folder than `runs`. */
void jr_record_words(struct jr_buf *out, const char *log_dir, const char *id);

/* How far a run without results is, by the progress.json of its folder `fd`: an object as
 * `progress` of results.json. NULL: it does not say. The caller's. */
json_t *jr_record_folder_progress(int fd);

#endif
