/* Rules of check.h on what every rank runs, how it starts, and whether it runs in a copy of its
 * code. */
#ifndef JR_CHECK_ENTRY_H
#define JR_CHECK_ENTRY_H

#include "spec/check.h"

/* The entrypoint has one form, and only what that form takes. */
jr_check_rule jr_check_forms, jr_check_calls;

/* The start method suits the entrypoint. */
jr_check_rule jr_check_start;

/* Links are those of frozen code. */
jr_check_rule jr_check_code;

#endif
