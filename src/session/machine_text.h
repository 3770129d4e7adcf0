/* The facts of a session as people read them, and who has leased which devices.
 */
#ifndef JR_MACHINE_TEXT_H
#define JR_MACHINE_TEXT_H

#include <jobrun/jobrun.h>

#include "base/buf.h"

/* Read the facts that only people want: those of this machine, once it was read. */
void jr_session_more_facts(struct jr_session *session);

/* Append the machine of a session that has its facts, line by line: its processors, devices and
 * scheduler, what of the environment counts, where the Python package is, and what is wrong with
 * it. */
void jr_session_describe_machine(struct jr_buf *out, const struct jr_session *session);

#endif
