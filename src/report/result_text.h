/* What the ranks delivered, for people. */
#ifndef JR_RESULT_TEXT_H
#define JR_RESULT_TEXT_H

#include "report/summary.h"

/* The line of what the ranks delivered, with its newline:
 * "accuracy 0.953 .. 0.961   weights_sha equal". Nothing when there are no
 * fields. */
void jr_print_fields(const struct jr_page *page);

/* Append what the ranks delivered as one field, in full: "0.953125 .. 0.961",
 * a value that all have, or "differs". Nothing where none delivered it. */
void jr_print_field(struct jr_buf *out, const struct jr_judgement *report,
                    const char *name);

/* The result of the lowest rank that delivered an object; borrowed, or NULL. */
json_t *jr_print_first_result(const struct jr_judgement *report);

#endif
