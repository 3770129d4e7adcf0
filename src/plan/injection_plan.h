/*
 * Failures to order, for rehearsals: --inject.
 *
 *   ITEM[, ITEM]...     ITEM is KIND:RANKS[=CODE][@TIME][#ATTEMPT]
 *
 *   RANKS    3, 0-3, 0-7/2, or * for all
 *   =CODE    of `exit`, which wants one: 0 to 255
 *   @TIME    after the rank's start; without it at once. Not of `noresult`
 *   #ATTEMPT without it the first, 0, so that a restart can help; #* for all
 */
#ifndef JR_INJECTION_PLAN_H
#define JR_INJECTION_PLAN_H

#include <jobrun/plan.h>

#include "base/arena.h"
#include "diag/diag.h"

/* Put what `text` orders for this attempt into the plan, whose ranks are there,
 * `sizes` of them on each node; what is wrong goes to `diags`, at
 * --inject:COLUMN, and is JR_STATUS_USAGE. */
enum jr_status jr_inject_parse(struct jr_plan *plan, struct jr_arena *arena, const char *text,
                               const uint32_t *sizes, struct jr_diags *diags);

#endif
