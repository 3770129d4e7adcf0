/* The verdict for people: what became of the run, its nodes and ranks, and what these delivered. */
#ifndef JR_VERDICT_TEXT_H
#define JR_VERDICT_TEXT_H

#include "report/summary.h"

/* "FAILED after 14.2 s: rank 3 exited with code 1". */
void jr_print_headline(const struct jr_page *page);

/* The first line: the headline, with the exit status at the right. */
void jr_print_verdict(const struct jr_page *page);

/* How the first cause ended, as "rank 3 exited with code 1". */
void jr_print_end(const struct jr_page *page);

/* The processes that are left. */
void jr_print_left(const struct jr_page *page);

/* How many ranks are in the state. */
size_t jr_print_count(const struct jr_page *page, enum jr_rank_state state);

/* Append how the nodes ended (jr_multinode_nodes) as lines: those that did not succeed, a few of
 * them, each behind `before`. */
void jr_multinode_print(struct jr_buf *out, const json_t *nodes, const char *before);

/* The line of what the ranks delivered, with its newline:
 * "accuracy 0.953 .. 0.961   weights_sha equal". Nothing when there are no
 * fields. */
void jr_print_fields(const struct jr_page *page);

/* Append what the ranks delivered as one field, in full: "0.953125 .. 0.961", a value that all
 * have, or "differs". Nothing where none delivered it. */
void jr_print_field(struct jr_buf *out, const struct jr_judgement *report, const char *name);

/* The result of the lowest rank that delivered an object; borrowed, or NULL. */
json_t *jr_print_first_result(const struct jr_judgement *report);

#endif
