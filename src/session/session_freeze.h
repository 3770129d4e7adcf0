/*
 * `code: freeze`: a run whose ranks, `setup` and `on_end` execute a copy of the
 * work tree, which is the run's own. The plan is that of a job whose folders
 * are those of the copy; everything else has the job as it is.
 */
#ifndef JR_SESSION_FREEZE_H
#define JR_SESSION_FREEZE_H

#include "base/json.h"
#include "base/strv.h"
#include "record/record_code.h"
#include "resolve/job.h"
#include "vcs/copy_tree.h"
#include "vcs/git_output.h"
#include "vcs/run_tree.h"
#include <jobrun/error.h>

struct jr_session;

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

/* What is watched while the tree is copied. */
struct jr_freeze_watch {
    uint64_t since_ns; /* of CLOCK_REALTIME: when it began to be recorded */
    int stop_fd;       /* readable: stop; -1: none */
};

/* Copy the recorded tree, of which `code` has the files, and write the list of what the copy has.
 * `ret_changing` says that a file changed since the recording: then the copy may not be what was
 * recorded. 0, or -1 with `err`; then there is no copy. */
int jr_freeze_copy(struct jr_session *session, struct jr_run_tree *code,
                   const struct jr_freeze_watch *watch, bool *ret_changing, struct jr_error *err);

/* Copy as the request says, and write the list of what the copy has, which has to be `wanted`
 * unless that is NULL. 0, or -1 with `err`. */
int jr_freeze_copy_files(struct jr_session *session, const struct jr_copy_tree_request *request,
                         const struct jr_buf *wanted, struct jr_error *err);

/* Append what git ignores in the tree as it is now and `code.link` chooses:
 * paths from the top, each with a NUL. */
int jr_freeze_find_links(struct jr_session *session, struct jr_buf *out, struct jr_error *err);

/* Read the record of the earlier run whose code it is to be, the session's
 * `code_of`. -1 with `err` where it has none. rerun.c */
int jr_frozen_source_open(struct jr_session *session, struct jr_error *err);

/* What its copy is made with. */
struct jr_frozen_from {
    const char *scratch; /* may be made, and is removed */
    struct jr_git_limit limit;
};

/* Make the copy out of that of the earlier run, or out of its commit and its patch; the record is
 * the earlier run's. -1 with `err` where neither gives the tree that was recorded. rerun.c */
int jr_frozen_source_copy(struct jr_session *session, const struct jr_frozen_from *from,
                          struct jr_error *err);

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

#endif
