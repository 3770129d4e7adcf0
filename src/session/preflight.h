/*
 * What a launch will need of this machine, looked at without starting anything:
 * the working directories, the program, the interpreter and the script, and the
 * folders that something is to be written to.
 */
#ifndef JR_PREFLIGHT_H
#define JR_PREFLIGHT_H

#include <jobrun/jobrun.h>

/* Check the plan of a session against this machine; what is missing becomes findings of the
 * session, errors or, where `setup` may still provide it, warnings. Returns JR_STATUS_OK or
 * JR_STATUS_UNRESOLVED. Ranks that begin on other nodes are not looked at, nor is anything where a
 * controller leads nodes: they have file systems of their own. */
enum jr_status jr_session_preflight(struct jr_session *session);

#endif
