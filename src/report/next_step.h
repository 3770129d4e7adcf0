/* What a person may do about a failure that is known by what the rank wrote. */
#ifndef JR_NEXT_STEP_H
#define JR_NEXT_STEP_H

#include "report/summary.h"

/* Append a line with what to try about the end of rank `i` of the outcome, by its exception, its
 * last lines and how it ended; nothing where that is not known. */
void jr_print_next_step(const struct jr_page *page, size_t i);

/* The same about the ranks that wrote no result. */
void jr_print_result_step(const struct jr_page *page);

#endif
