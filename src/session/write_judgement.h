/* The judgement on the disk. */
#ifndef JR_WRITE_JUDGEMENT_H
#define JR_WRITE_JUDGEMENT_H

#include "session/session.h"

/* Make the files that the judgement is to be written into: where the disk takes no more files
 * later, they are there. -1 with `err`. */
int jr_session_reserve_names(const struct jr_session *session, struct jr_error *err);

/* Reserve space on the disk for them. */
void jr_session_reserve(const struct jr_session *session);

/* Complete the run folder. What cannot be written is reported, and is part of the verdict. */
void jr_session_write_judgement(struct jr_session *session);

#endif
