/* How the lines that match a pattern are found among many. */
#ifndef JR_STEP_PATTERN_H
#define JR_STEP_PATTERN_H

#include <stdbool.h>

struct jr_regex;

/* Whether a line that matches `pattern` can be found by looking through many lines at once: nothing
 * in it looks at what is around the match. */
bool jr_step_pattern_is_plain(const char *pattern);

/* The character by which lines are found that may match, where the whole is not searched for its
 * beginning: nothing is known of that, as in '(?<step>\d+)/(?<of>\d+)', or the pattern is not
 * plain. A letter does if no group can make it stand for both cases. -1: there is none. */
int jr_step_pattern_landmark(const struct jr_regex *line, bool plain);

#endif
