#include "base/clock.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/banned.h"

static uint64_t read_system_clock(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now); /* both clocks always exist */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t jr_clock_ns(void)
{
    return read_system_clock(CLOCK_MONOTONIC);
}

uint64_t jr_clock_wall_ns(void)
{
    return read_system_clock(CLOCK_REALTIME);
}

int jr_clock_poll_ms(uint64_t until_ns)
{
    uint64_t now = jr_clock_ns();
    if (until_ns == 0)
        return -1;
    if (until_ns <= now)
        return 0;
    uint64_t ms = (until_ns - now - 1) / 1000000 + 1;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

void jr_clock_rfc3339(char out[static 32], uint64_t wall_ns)
{
    time_t seconds = (time_t)(wall_ns / 1000000000u);
    unsigned ms = (unsigned)(wall_ns / 1000000u % 1000u);
    struct tm utc = {0};
    (void)gmtime_r(&seconds, &utc); /* fails only beyond year 2^31 */
    size_t len = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(out + len, 32 - len, ".%03uZ", ms);
}

double jr_clock_of_rfc3339(const char *text)
{
    struct tm utc = {0};
    unsigned ms = 0;
    int end = 0;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
    if (rest == NULL || sscanf(rest, ".%3uZ%n", &ms, &end) != 1 || end != 5 || rest[end] != '\0')
        return 0;
    return (double)timegm(&utc) + ms / 1e3;
}

uint64_t jr_clock_ns_of(double seconds)
{
    bool sane = seconds >= 0 && seconds <= 1e10;
    return sane ? (uint64_t)(seconds * 1e6 + 0.5) * 1000 : 0;
}

void jr_clock_human(struct jr_buf *out, uint64_t ns)
{
    unsigned long long ms = ns / 1000000u, minutes = ms / 60000u;
    if (ms < 1000)
        jr_buf_printf(out, "%llu ms", ms);
    else if (minutes == 0)
        jr_buf_printf(out, "%llu.%llu s", ms / 1000, ms / 100 % 10);
    else if (minutes < 60)
        jr_buf_printf(out, "%llu min %02llu s", minutes, ms / 1000 % 60);
    else
        jr_buf_printf(out, "%llu h %02llu min", minutes / 60, minutes % 60);
}
