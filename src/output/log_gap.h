/*
 * The gap in a log file with a limit (log_file.h): how much of a stream's beginning is kept before
 * it, and the line that takes the place of what is left out, as it is written and as readers find
 * it.
 */
#ifndef JR_LOG_GAP_H
#define JR_LOG_GAP_H

#include <stdbool.h>
#include <stdint.h>

struct jr_buf;

#define JR_LOG_HEAD  (1U << 20) /* bytes of the beginning, at most */
#define JR_LOG_SLACK 4096       /* how far a cut may be moved to be at a newline */

/* The line; between the two stands how many bytes are left out. */
#define JR_LOG_GAP_BEGIN "[jobrun: log_limit: "
#define JR_LOG_GAP_END   " bytes left out here]\n"

/* The most bytes of the beginning that a file with this limit keeps. */
uint64_t jr_log_gap_head(uint64_t limit);

/* Append the line that takes the place of `dropped` bytes. */
void jr_log_gap_print(struct jr_buf *out, uint64_t dropped);

/* The line of a file that says what is left out there: its `len` bytes at `at` take the place of
 * `dropped` bytes of the stream. */
struct jr_log_gap {
    uint64_t at, len, dropped;
};

/* Find it in the file `fd`. False if there is none: *ret is all zeros. */
bool jr_log_gap_find(int fd, struct jr_log_gap *ret);

/* Where in the file `fd`, whose limit is `limit` (0: none), the first `bytes` of the stream end; in
 * the gap it is the gap's beginning. */
uint64_t jr_log_gap_place(int fd, uint64_t limit, uint64_t bytes);

#endif
