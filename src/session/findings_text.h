/* What a session hands out: findings, texts, results. */
#ifndef JR_FINDINGS_TEXT_H
#define JR_FINDINGS_TEXT_H

#include "session/begin.h"

/* What results.json has. */
jr_session_teller jr_session_tell_results;

/* For the program, which sees more than jobrun.h has: the facts, zeroed before
 * they are read. */
const struct jr_host *jr_session_hw(const struct jr_session *session);

/* The same: the list of findings. */
struct jr_diags *jr_session_findings(struct jr_session *session);

#endif
