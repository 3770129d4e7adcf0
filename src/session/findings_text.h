/* What a session hands out: texts, results. */
#ifndef JR_FINDINGS_TEXT_H
#define JR_FINDINGS_TEXT_H

#include "session/begin.h"

/* What results.json has. */
jr_session_printer jr_session_print_results;

#endif
