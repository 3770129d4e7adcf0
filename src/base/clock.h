/* Time: durations by CLOCK_MONOTONIC only; wall time for people. */
#ifndef JR_CLOCK_H
#define JR_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t jr_clock_ns(void);

/* Nanoseconds of CLOCK_REALTIME since the epoch. */
uint64_t jr_clock_wall_ns(void);

/* The time until a moment of CLOCK_MONOTONIC in milliseconds, rounded up, as poll(2) takes it: 0
 * where it is over, -1, without an end, where it is 0. */
int jr_clock_poll_ms(uint64_t until_ns);

/* How far another process's clock is ahead of one of ours. Its value comes from outside, so a
 * difference that does not fit in an int64_t wraps. */
static inline int64_t jr_clock_ahead(int64_t other, uint64_t ours)
{
    return (int64_t)((uint64_t)other - ours);
}

/* Write nanoseconds since the epoch as RFC 3339 has them, in UTC and with milliseconds:
 * 2026-11-21T06:30:12.345Z */
void jr_clock_rfc3339(char out[static 32], uint64_t wall_ns);

/* Seconds since the epoch from such a text; 0 if it is not one. */
double jr_clock_of_rfc3339(const char *text);

/* The nanoseconds of so many seconds, as JSON states them: whole microseconds. 0 of what is
 * negative, no number, or more than three centuries. */
uint64_t jr_clock_ns_of(double seconds);

/* Append nanoseconds for people: "84 ms", "2.4 s", "3 min 05 s", "2 h 10 min".
 */
void jr_clock_human(struct jr_buf *out, uint64_t ns);

#endif
