/* Result files that are more than one rank's. */
#ifndef JR_SHARE_H
#define JR_SHARE_H

#include <jobrun/plan.h>

#include "arena.h"
#include "diag.h"

/* Refuse (JR_STATUS_INVALID, with a finding) a plan in which two ranks of one
 * node must deliver to the same file: what one of them wrote would stand for
 * both. */
enum jr_status jr_share_check(const struct jr_plan *plan,
                              struct jr_arena *scratch, struct jr_diags *diags);

#endif
