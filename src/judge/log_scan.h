/*
 * Searching a log for the last match of a pattern: one pass with a window that
 * slides over the file, so that memory is bounded. A match may be 64 KiB long;
 * `^` and `$` match at lines.
 *
 * Where a match takes more steps than a pattern is given, the rest of the
 * window is searched line by line: the lines that are to blame are left out and
 * counted, and a match on another line is still found. What spans several lines
 * is not found there.
 */
#ifndef JR_LOG_SCAN_H
#define JR_LOG_SCAN_H

#include <stdint.h>

#include "base/buf.h"
#include "base/regex.h"

/* A group of the last match: `len` bytes of `text`, followed by a NUL. */
struct jr_scan_group {
    bool there;
    size_t start, len;
};

struct jr_scan {
    struct jr_regex *regex; /* borrowed */
    bool found;
    bool given_up;    /* too many lines took too many steps */
    uint32_t limited; /* lines that did */
    uint64_t read;    /* bytes of the file that there were */
    struct jr_scan_group *groups;
    struct jr_buf text;
    struct jr_scan_window *window;
};

/* Search the bytes of `fd` from `from` to before `end`, or to the end of the
 * file. -1 where it cannot be read, or if memory runs out. Release in any case.
 */
int jr_scan_run(struct jr_scan *scan, struct jr_regex *regex, int fd,
                uint64_t from, uint64_t end);

/* Free what a search found. */
void jr_scan_release(struct jr_scan *scan);

#endif
