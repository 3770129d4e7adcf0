/* Checks of rules.h: the values that are filled by now, held against each other, and against the
 * time of the allocation. */
#ifndef JR_AGREEMENT_H
#define JR_AGREEMENT_H

#include "resolve/rules.h"

/* Look for contradictions among the filled cells. */
void jr_checks_run(struct jr_resolver *r);

/* RUN is what is left of the job's time, where that is what decides. */
enum jr_fired jr_rule_run(struct jr_resolver *r, struct jr_field_value *out);

/* STOP_GRACE ends before Slurm kills what is left, where that is what decides.
 */
enum jr_fired jr_rule_stop_grace(struct jr_resolver *r, struct jr_field_value *out);

#endif
