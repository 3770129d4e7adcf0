/* The summary for people: what its parts look at, and what puts them together. */
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
    const char *run;         /* what the commands that are offered call the run */
    const json_t *nodes;     /* of a run in parts (multinode.h); NULL: it is whole */
};

/* Append all of it. */
void jr_print_page(const struct jr_page *page);

/* Append the lines below the verdict. */
void jr_print_account(const struct jr_page *page);

/* The last line: where to look, and the command that looks there. */
void jr_print_place(const struct jr_page *page);

/* The few lines that a person reads at the end. `run_fd` is for the last lines of stderr. */
void jr_judgement_print(struct jr_buf *out, const struct jr_judgement *report,
                        const struct jr_plan *plan, const struct jr_outcome *outcome, int run_fd,
                        bool color);

#endif
