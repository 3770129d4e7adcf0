/* The judgement on the disk. */
#ifndef JR_WRITE_JUDGEMENT_H
#define JR_WRITE_JUDGEMENT_H

#include "session/session.h"

/* Reserve space on the disk for the judgement. */
void jr_session_reserve(const struct jr_session *session);

/* Complete the run folder. What cannot be written is reported, and is part of
 * the verdict. */
void jr_session_write_judgement(struct jr_session *session);

#endif
