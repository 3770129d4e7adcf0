/* What the ranks delivered: found and parsed. */
#ifndef JR_RESULTS_H
#define JR_RESULTS_H

#include "judge/judge.h"

/* Find and parse what rank `i` delivered. */
void jr_result_find(struct jr_judge *judge, size_t i);

/* Whether it is a link that was made to what some earlier run, or attempt, has left. */
bool jr_result_is_old_link(const struct jr_judge *judge, const struct stat *st);

/* Once all files are noted (jr_judge_see): no file is the result, or the artifact, of two ranks. */
void jr_result_part(struct jr_judge *judge);

/* What reasons call a file: its last component when it lies in the run folder, the whole path
 * elsewhere. */
const char *jr_result_name(const char *path);

/* What reasons call the place that rank `i` delivers to: "result.json". */
const char *jr_result_source(const struct jr_judge *judge, size_t i);

#endif
