/* Where a host does not see the run folder (left_files.h): the agent's side. */
#ifndef JR_SEND_LEFT_H
#define JR_SEND_LEFT_H

#include <jobrun/run.h>

struct jr_session;

/* Make a run folder of this node's own for the run `id`; the session is apart
 * from then on. -1 with `err`: among others where an earlier run has it.
 * `again`: one that is there already is that of an agent before. */
int jr_own_folder_make(struct jr_session *session, const char *id, bool again,
                       struct jr_error *err);

/* Make ready for an attempt, whose plan is made: its folder, and what stands
 * where its ranks are to leave something. -1 with `err`. */
int jr_own_folder_prepare(struct jr_session *session, struct jr_error *err);

/* Once the ranks have ended: judge what they have delivered, and write it, and
 * the files that are asked for, to `fd`. -1 with `err`: not all is written. */
int jr_left_send(struct jr_session *session, const struct jr_outcome *outcome,
                 int fd, struct jr_error *err);

#endif
