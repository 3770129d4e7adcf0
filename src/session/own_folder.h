/*
 * The run folder of a host that does not see the controller's (engine.ssh):
 * LOG_DIR/RUN_ID/node_N there. It is recorded as the part of a node is where
 * each has a jobrun of its own (record/multinode.h): so `runs`, `show`, `logs`
 * and `prune` are good for it on that host.
 */
#ifndef JR_OWN_FOLDER_H
#define JR_OWN_FOLDER_H

#include <stdbool.h>

#include <jobrun/error.h>

struct jr_judgement;
struct jr_outcome;
struct jr_session;

/* Make it for the run `id`; the session is apart from then on. -1 with `err`:
 * among others where an earlier run has it, or its disk is full. `again`: one
 * that is there already is that of an agent before. */
int jr_own_folder_make(struct jr_session *session, const char *id, bool again,
                       struct jr_error *err);

/* The node refuses the run: remove what was made, unless there was an attempt in it. Nothing where
 * the session is not apart. */
void jr_own_folder_discard(struct jr_session *session);

/* Make ready for an attempt, whose plan is made: its folder, the record, and what stands where its
 * ranks are to leave something. -1 with `err`. */
int jr_own_folder_prepare(struct jr_session *session, struct jr_error *err);

/* The attempt is over: keep how the ranks of this node were judged. What cannot be kept is known to
 * the controller all the same. */
void jr_own_folder_keep(struct jr_session *session, const struct jr_judgement *report,
                        const struct jr_outcome *outcome);

/* The agent leaves: its last attempt is the last of all, as far as it knows; a folder without one
 * is removed. Nothing where the session is not apart. */
void jr_own_folder_finish(struct jr_session *session);

#endif
