/* Taking a session from a text to a plan. */
#ifndef JR_STAGES_H
#define JR_STAGES_H

#include "session/session.h"

/* The findings of a stage are sorted by position; a failure is described in
 * `err`, by its first finding if it has one. Returns `status`. */
enum jr_status jr_session_end_stage(struct jr_session *session, size_t first, enum jr_status status,
                                    struct jr_error *err);

/* Go through the stages before the plan that have not been gone through. */
enum jr_status jr_session_ensure_resolved(struct jr_session *session, struct jr_error *err);

/* Read the facts about devices that lie beside a spec of this machine, once. */
enum jr_status jr_session_read_devices(struct jr_session *session, const struct jr_spec_file *file);

/* Find out whether this is a `part`, which within a step of Slurm's has its run id from there
 * unless one was given; before the plan. */
void jr_session_find_part(struct jr_session *session);

/* The plan under `run_id`. */
enum jr_status jr_session_plan_as(struct jr_session *session, const char *run_id,
                                  struct jr_error *err);

/* Prepare the next attempt: its plan, and the present state of the artifacts. If that fails,
 * nothing is changed. */
enum jr_status jr_session_plan_again(struct jr_session *session, struct jr_error *err);

/* Tell what stops nothing. */
void jr_session_note(const struct jr_session *session, const char *line);

/* The same of a text that was put together; nothing where it is empty, or there was no memory for
 * it. */
void jr_session_note_buf(const struct jr_session *session, const struct jr_buf *line);

/* Whether the name or address at which the ranks of nodes that are started by hand meet means
 * anything here; a warning is noted where this is node 0, and it is another machine's. Not asked
 * with --local, for a profile, or where a controller leads. -1 with `err`. */
int jr_session_check_meeting(struct jr_session *session, struct jr_error *err);

#endif
