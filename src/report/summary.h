/* The summary for people, in parts; summary.c puts them together. */
#ifndef JR_SUMMARY_H
#define JR_SUMMARY_H

#include "judge/judgement.h"

/* What all parts look at, and where they write. */
struct jr_page {
    struct jr_buf *out;
    const struct jr_judgement *report;
    const struct jr_plan *plan;
    const struct jr_outcome *outcome;
    int run_fd;
    bool color;
    const uint32_t *attempt; /* that was asked for; NULL: none */
    const char *run; /* what the commands that are offered call the run */
    const json_t
        *nodes; /* of a run in parts (multinode.h); NULL: it is whole */
};

/* summary.c: all of it, and the lines below the verdict. */
void jr_print_page(const struct jr_page *page);
void jr_print_account(const struct jr_page *page);

/* verdict_text.c: "FAILED after 14.2 s: rank 3 exited with code 1", and the
 * first line, which is that with the exit status at the right. */
void jr_print_headline(const struct jr_page *page);
void jr_print_verdict(const struct jr_page *page);

/* Parts of both: how the first cause ended, as "rank 3 exited with code 1"; the
 * processes that are left; how many ranks are in the state. */
void jr_print_end(const struct jr_page *page);
void jr_print_left(const struct jr_page *page);
size_t jr_print_count(const struct jr_page *page, enum jr_rank_state state);

/* place_text.c: the last line: where to look, and the command that looks there.
 */
void jr_print_place(const struct jr_page *page);

/* result_text.c: the line of what the ranks delivered, with its newline:
 * "accuracy 0.953 .. 0.961   weights_sha equal". Nothing when there are no
 * fields. */
void jr_print_fields(const struct jr_page *page);

/* Append what the ranks delivered as one field, in full: "0.953125 .. 0.961",
 * a value that all have, or "differs". Nothing where none delivered it. */
void jr_print_field(struct jr_buf *out, const struct jr_judgement *report,
                    const char *name);

/* The result of the lowest rank that delivered an object; borrowed, or NULL. */
json_t *jr_print_first_result(const struct jr_judgement *report);

/* failure_text.c: rank `i` of the outcome: who it was, its exception, its last
 * lines.
 */
void jr_print_rank(const struct jr_page *page, size_t i);

/* The same of the first cause, and who failed together with it. */
void jr_print_cause(const struct jr_page *page);

/* What became of the ranks that are no cause, a line for each kind
 * of end; `label` stands before the first of them, NULL: no column for it. */
void jr_print_others(const struct jr_page *page, const char *label);

/* Append "rank 3" or "ranks 0-2,5": the ranks in `state`, but for the first
 * cause; a long list is cut and its number told. Returns how many they are. */
size_t jr_print_ranks(struct jr_buf *out, const struct jr_page *page,
                      enum jr_rank_state state);

/* The log of a rank that holds something: stderr, else stdout. NULL: nothing
 * was written, or captured. */
const char *jr_print_log(const struct jr_page *page,
                         const struct jr_plan_rank *rank);

/* Text from outside, escaped. NULL is nothing. */
void jr_print_text(const struct jr_page *page, const char *text);

#endif
