/* A failure for people: the ranks that are the cause, and the others. */
#ifndef JR_FAILURE_TEXT_H
#define JR_FAILURE_TEXT_H

#include "report/summary.h"

/* Rank `i` of the outcome: who it was, its exception, its last lines. */
void jr_print_rank(const struct jr_page *page, size_t i);

/* The same of the first cause, and who failed together with it. */
void jr_print_cause(const struct jr_page *page);

/* The ranks that had ended with 0 by the first failure, if there are any. */
void jr_print_early(const struct jr_page *page);

/* What became of the other ranks that are not the cause, a line for each kind of end; `label` is
 * before the first of them, NULL: no column for it. */
void jr_print_others(const struct jr_page *page, const char *label);

/* Append "rank 3" or "ranks 0-2,5": the ranks in `state`, but for the first cause; a long list is
 * cut and counted. Returns how many they are. */
size_t jr_print_ranks(struct jr_buf *out, const struct jr_page *page, enum jr_rank_state state);

/* The log of a rank that holds something: stderr, else stdout. NULL: nothing was written, or
 * captured. */
const char *jr_print_log(const struct jr_page *page, const struct jr_plan_rank *rank);

/* Text from outside, escaped. NULL is nothing. */
void jr_print_text(const struct jr_page *page, const char *text);

#endif
