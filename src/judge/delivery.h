/*
 * What a rank has delivered, as it is found on a node that has the rank's files for itself: such a
 * node judges that itself, and sends this to where the run is judged. It is a JSON object in which
 * what is nothing is left out:
 *
 *   {"result": {"loss": 0.1}, "error": "field", "reason": "...",
 *    "unwritten": true, "late_match": true, "pattern_limits": 1,
 *    "job": [null, {"error": "missing", "reason": "was not written"}]}
 *
 * `job` is how each of `artifacts` stands on the node, where that is the job's,
 * and null where it is well, or a rank's own.
 */
#ifndef JR_DELIVERY_H
#define JR_DELIVERY_H

#include "judge/judge.h"

/* The object of rank `i`, which was judged; NULL where it has none: it did not end well. What it
 * was found to be only beside other ranks is left out: that is found again among all of them. The
 * caller's. */
json_t *jr_delivery_pack(const struct jr_judgement *report, size_t i);

/* Let it be what rank `i` has delivered. */
void jr_delivery_take(struct jr_judge *judge, size_t i, const json_t *delivery);

/* What its node has found of the job's artifacts: one of `ret` for each of the spec's, with texts
 * that are borrowed. False: it does not say. */
bool jr_delivery_take_job(struct jr_fault *ret, const struct jr_judge *judge,
                          const json_t *delivery);

#endif
