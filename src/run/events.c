#include "events.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "io.h"
#include "signame.h"

#include "banned.h"

#define FLUSH_AT (64U << 10) /* bytes that do not wait for an idle moment */

void jr_events_open(struct jr_events *events, int dir_fd, mode_t mode)
{
    *events = (struct jr_events){
        .fd = openat(dir_fd, "events.jsonl",
                     O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                     mode)};
}

void jr_events_open_fd(struct jr_events *events, int fd, int least)
{
    *events = (struct jr_events){.fd = fcntl(fd, F_DUPFD_CLOEXEC, least)};
}

void jr_events_add(struct jr_events *events, const char *name,
                   const char *format, ...)
{
    char members[256], time[32];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(members, sizeof members, format, args);
    va_end(args);
    if (events->fd < 0 || len < 0 || (size_t)len >= sizeof members)
        return;
    jr_clock_rfc3339(time, jr_clock_wall_ns());
    jr_buf_printf(&events->lines,
                  "{\"time\":\"%s\",\"ns\":%" PRIu64 ",\"event\":\"%s\"%s%s}\n",
                  time, jr_clock_ns(), name, len > 0 ? "," : "", members);
    if (events->lines.len >= FLUSH_AT)
        jr_events_flush(events);
}

const char *jr_events_signal(char out[static JR_EVENTS_SIGNAL], int sig)
{
    char name[JR_SIGNAL_NAME];
    if (sig == 0)
        return "null";
    jr_signal_name(name, sig);
    (void)snprintf(out, JR_EVENTS_SIGNAL, "\"%s\"", name);
    return out;
}

const char *jr_events_code(char out[static JR_EVENTS_SIGNAL], int code)
{
    if (code < 0)
        return "null";
    (void)snprintf(out, JR_EVENTS_SIGNAL, "%d", code);
    return out;
}

void jr_events_flush(struct jr_events *events)
{
    if (events->lines.len == 0)
        return;
    (void)jr_io_write_all(events->fd, events->lines.data, events->lines.len);
    jr_buf_clear(&events->lines);
}

void jr_events_close(struct jr_events *events)
{
    jr_events_flush(events);
    jr_buf_release(&events->lines);
    if (events->fd >= 0)
        (void)close(events->fd);
    events->fd = -1;
}
