/*
 * The code that a run executes: recorded before its first rank starts, frozen where the spec says
 * so, and brought to hosts that do not see the run folder.
 */
#ifndef JR_SESSION_CODE_H
#define JR_SESSION_CODE_H

#include <sys/types.h>

#include <jobrun/error.h>

#include "base/json.h"
#include "base/strv.h"
#include "base/subprocess.h"
#include "record/record_code.h"
#include "resolve/job.h"
#include "vcs/copy_tree.h"
#include "vcs/git.h"
#include "vcs/run_tree.h"

struct jr_message;
struct jr_session;

/*
 * `code: freeze`: a run whose ranks, `setup` and `on_end` execute a copy of the
 * work tree, which is the run's own. The plan is that of a job whose folders
 * are those of the copy; everything else has the job as it is.
 */

/* The frozen code of a session. */
struct jr_frozen {
    const char *top;    /* of the work tree, without links; NULL: nothing is
                           frozen */
    const char *name;   /* the same, as the job has it */
    const char *folder; /* the run's, absolute; NULL: not known yet */
    const char *copy;   /* absolute; NULL: not known yet */
    /* With the paths of the copy, once that is known: */
    struct jr_job job;
    const char *workdir;
    struct jr_entrypoint entrypoint;
    struct jr_python python;
    struct jr_library library;
    char **envp;          /* of the plan */
    struct jr_strv links; /* what the copy has as links, or will have */
    /* Where the code is that of an earlier run: */
    json_t *run; /* its record, which `source` borrows from; NULL: it is not */
    struct jr_record_code source;
};

/* Where the job wants its code frozen, find the work tree. -1 with `err`, and status UNRESOLVED,
 * where there is none. */
int jr_freeze_find(struct jr_session *session, struct jr_error *err);

/* Have plans made for the copy in the run folder, whose name is known. */
void jr_freeze_plan_copy(struct jr_session *session);

/* The same for the copy in any folder; NULL: memory has run out. */
void jr_freeze_place(struct jr_session *session, const char *folder);

/* The job that plans are made of; the session's. */
const struct jr_job *jr_freeze_job(struct jr_session *session);

/* The environment that goes with it, which ends with NULL; the session's. */
char *const *jr_freeze_environ(const struct jr_session *session);

/* The folder of the spec, or of its copy. */
const char *jr_freeze_spec_folder(struct jr_session *session);

/* Free what the session's own memory has not. */
void jr_freeze_release(struct jr_session *session);

/* Remove the copy. */
void jr_freeze_discard(struct jr_session *session);

/* In a plan that is only printed: find what the links will be. -1 with `err` where the tree cannot
 * be frozen. */
int jr_freeze_preview(struct jr_session *session, struct jr_error *err);

/* On another node of the run: take over where the copy is. -1 with `err` where it cannot be seen
 * there. */
int jr_freeze_join(struct jr_session *session, struct jr_error *err);

/*
 * The code that a run executes, recorded before its first rank starts. */

/* The work tree of many sessions, the cells of a sweep, as it was recorded for all of them. */
struct jr_known_code {
    struct jr_run_tree tree;
    const char *folder;  /* that was asked about */
    char *const *files;  /* of the spec, NULL-terminated */
    char *const *hidden; /* values that its patch does not have */
    bool stamped;        /* `stamp` is one: jr_tree_stamp_make */
    uint64_t stamp;
    uint64_t asked_ns, took_ns; /* CLOCK_MONOTONIC */
};

/* Record the work tree around the workdir of the session's job, which is resolved, for sessions
 * like it. `scratch` is a path that may be made, and is removed. Nothing is told: each of these
 * sessions that cannot use it records the tree itself. The session is to live as long. */
void jr_session_know_code(struct jr_known_code *ret, struct jr_session *session,
                          const char *scratch);

/* Free it. */
void jr_known_code_release(struct jr_known_code *code);

/* Record the work tree around the job's workdir as it stands, or take over what session->known_code
 * has if no file was changed since: the session's record gets what run.json says of it, the run
 * folder code.patch and, where the job wants its code frozen, the copy. Where there is a work tree
 * that cannot be recorded, the run goes on: the record has the reason, and the user is told. Where
 * it cannot be frozen, -1 with `err`: the run cannot go on. The run folder has to be there. */
int jr_session_record_code(struct jr_session *session, struct jr_error *err);

/*
 * `code: freeze` on hosts that do not see the run folder (left_files.h): the
 * controller makes a tar archive of its copy of the code, and each such host
 * unpacks it in its own run folder. For cells of a sweep it has the folder that
 * submission.h describes, less their specs, and their sessions take the code
 * out of that (`code_of`).
 */

/* Of an agent: what unpacks it. */
struct jr_far_code {
    bool begun;         /* bytes have come */
    struct jr_task tar; /* tar(1); pid 0: it does not run, or has had enough */
};

/* Of the controller: make the archive of a folder, a file without a name in the run folder, with
 * times as exact as they are: by them a file is known to be the one that was frozen. -1 with
 * `err`. */
int jr_far_code_pack(int *ret_fd, struct jr_session *session, const char *folder,
                     struct jr_error *err);

/* Of an agent: whether the job's code is not here. */
bool jr_far_code_lacks(const struct jr_session *session);

/* Take bytes of the archive (protocol.h: code). Behind the last, the session has its code. -1 with
 * `err`. */
int jr_far_code_take(struct jr_session *session, struct jr_far_code *code,
                     const struct jr_message *message, struct jr_error *err);

/* The same of the code of cells, into the folder, which is made. */
int jr_far_code_take_cells(struct jr_session *session, struct jr_far_code *code, const char *folder,
                           const struct jr_message *message, struct jr_error *err);

/* End what unpacks it. */
void jr_far_code_close(struct jr_far_code *code);

#endif
