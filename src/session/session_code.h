/* The code that a run executes, recorded before its first rank starts. */
#ifndef JR_SESSION_CODE_H
#define JR_SESSION_CODE_H

#include <jobrun/error.h>

#include "vcs/run_tree.h"

struct jr_session;

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

#endif
