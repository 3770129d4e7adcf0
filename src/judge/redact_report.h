/* A report without the values of secrets, as it is written down and printed. What is judged, and
 * what callers get, is the report itself. */
#ifndef JR_REDACT_REPORT_H
#define JR_REDACT_REPORT_H

#include "judge/judgement.h"

/* A copy that has none of the values of `hidden` (NULL-terminated; NULL: there are none) in
 * anything that ranks said or delivered. It borrows the rest, and is released as the report is. -1
 * without memory. */
int jr_judgement_redact(struct jr_judgement *ret, const struct jr_judgement *report,
                        char *const *hidden);

/* Hide the plan's secrets in the error files of ranks, and find out whether the lines that are
 * quoted of their logs, which are the ranks' own, hold any. */
void jr_judgement_hide_files(struct jr_judgement *report, const struct jr_plan *plan, int run_fd);

#endif
