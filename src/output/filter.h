/*
 * console.show and console.hide: which lines the console shows. What takes a
 * pattern too many steps does not match it; a pattern that this happens to
 * again and again is given up, so that it cannot hold the ranks for ever.
 */
#ifndef JR_FILTER_H
#define JR_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include <jobrun/types.h>

#include "base/regex.h"

#define JR_FILTER_LIMITED_MOST 100 /* lines; after them all are shown */

struct jr_filter {
    struct jr_regex *show, *hide; /* NULL: none */
    unsigned limited;             /* lines that hit a limit */
};

/* Returns 0, or -1 with errno for a pattern that cannot be compiled, which the
 * spec's check would have refused. */
int jr_filter_open(struct jr_filter *ret, const struct jr_console *console);

/* Free the patterns. A second time nothing happens. */
void jr_filter_close(struct jr_filter *filter);

/* Whether there is anything to ask it. */
bool jr_filter_is_set(const struct jr_filter *filter);

/* Whether a line, without its newline, is shown. */
bool jr_filter_passes(struct jr_filter *filter, const char *line, size_t len);

#endif
