#include "store/events.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"

#include "base/banned.h"

#define FLUSH_AT (64U << 10) /* bytes that do not wait for an idle moment */

void jr_events_open(struct jr_events *events, int dir_fd, mode_t mode)
{
    struct stat st;
    JR_CLOSE int fd = openat(
        dir_fd, "events.jsonl",
        O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
    bool plain = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    *events = (struct jr_events){.fd = plain ? jr_steal_fd(&fd) : -1};
}

void jr_events_open_fd(struct jr_events *events, int fd, int least)
{
    *events = (struct jr_events){.fd = fcntl(fd, F_DUPFD_CLOEXEC, least)};
}

void jr_events_add_at(struct jr_events *events, const struct jr_event *event, uint64_t wall_ns,
                      uint64_t ns)
{
    struct jr_event timed = *event;
    if (events->fd < 0)
        return;
    timed.wall_ns = wall_ns;
    timed.ns = ns;
    jr_event_put(&events->lines, &timed);
    if (events->lines.len >= FLUSH_AT)
        jr_events_flush(events);
}

void jr_events_add(struct jr_events *events, const struct jr_event *event)
{
    jr_events_add_at(events, event, jr_clock_wall_ns(), jr_clock_ns());
}

void jr_events_add_line(struct jr_events *events, const struct jr_buf *line)
{
    if (events->fd >= 0 && !line->failed)
        jr_buf_add(&events->lines, line->data, line->len);
}

void jr_events_flush(struct jr_events *events)
{
    (void)jr_io_write_all(events->fd, events->lines.data, events->lines.len);
    jr_buf_clear(&events->lines);
}

void jr_events_close(struct jr_events *events)
{
    jr_events_flush(events);
    jr_buf_release(&events->lines);
    jr_close_fd(&events->fd);
}
