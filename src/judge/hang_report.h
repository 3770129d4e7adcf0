/* The report of a run whose timeout expired, and what its ranks were doing, out of the evidence in
 * their hang.json; see hang_report.c. */
#ifndef JR_HANG_REPORT_H
#define JR_HANG_REPORT_H

#include "base/buf.h"
#include "base/json.h"
#include "judge/judge.h"

/* Ranks that were doing the same. */
struct jr_hang_group {
    const char *activity;
    uint32_t *ranks; /* indices into the report's */
    size_t count;
    double silence; /* the longest of them, in seconds; -1: they wrote nothing */
    struct jr_hang_group *next;
};

/* Fill `overrun`, if it is not there, `hang` and `odd` of the report: which limit was met, what the
 * ranks were doing, and who differs. Nothing where no limit was met. Of the judge it takes report,
 * plan, outcome and run_fd. */
void jr_hang_find(struct jr_judge *judge);

/* In one sentence, for results.json: the limit, and after "; " who differs. */
void jr_hang_message(struct jr_buf *out, const struct jr_judgement *report,
                     const struct jr_plan *plan);

/* "ranks 0-2 in recv, silent for 14 s". */
void jr_hang_group_text(struct jr_buf *out, const struct jr_plan *plan,
                        const struct jr_hang_group *group);

/* What a rank was doing as a whole, in words that follow "was": "using the CPU", "waiting in futex
 * (futex_do_wait)". Of several processes it is the one that the others wait for. `evidence` is what
 * run/policies/hang.c writes. */
void jr_thread_state_words(struct jr_buf *out, const json_t *evidence);

/* All threads, one per line, under a heading: rank, pid, what it does, silence. Those that are
 * alike and without a stack are listed once. */
void jr_thread_state_stacks(struct jr_buf *out, const json_t *evidence);

/* How long the rank had been silent, in seconds; -1: it wrote nothing. */
double jr_thread_state_silence(const json_t *evidence);

#endif
