#include "tee.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "clock.h"
#include "io.h"
#include "safe.h"

#include "banned.h"

#define READ_SIZE  (256U << 10)
#define LINE_MOST  (64U << 10) /* an unfinished line is shown from here on */
#define IOV_COUNT  1023        /* three a line; the kernel takes 1024 */
#define UNFINISHED "\\\n"      /* ends what is shown of an unfinished line */

/* Lines that may need changing are rebuilt; the others go as they lie. */
static bool is_careful(const struct jr_stream *stream, const char *bytes,
                       size_t len)
{
    struct jr_screen *screen = stream->tee->screen;
    return screen->streams[stream->number]->terminal ||
           memchr(bytes, '\r', len) != NULL;
}

static void flush(struct jr_stream *stream)
{
    struct jr_tee *tee = stream->tee;
    if (tee->lines.len > 0)
        tee->iov[tee->iov_count++] =
            (struct iovec){tee->lines.data, tee->lines.len};
    if (tee->iov_count > 0)
        jr_screen_write(tee->screen, stream->number, tee->iov, tee->iov_count);
    tee->iov_count = 0;
    tee->stamp[0] = '\0';
    jr_buf_clear(&tee->lines);
}

/* The time before a line: one for all that are flushed together. */
static const char *stamp(struct jr_tee *tee)
{
    if (tee->timestamps && tee->stamp[0] == '\0') {
        jr_clock_rfc3339(tee->stamp, jr_clock_wall_ns());
        memcpy(tee->stamp + strlen(tee->stamp), " ", 2);
    }
    return tee->stamp;
}

static void push(struct jr_tee *tee, const char *bytes, size_t len)
{
    if (len > 0)
        tee->iov[tee->iov_count++] = (struct iovec){(char *)bytes, len};
}

static void show_as_is(struct jr_stream *stream, const char *line, size_t len,
                       const char *end)
{
    struct jr_tee *tee = stream->tee;
    if (tee->iov_count + 4 > IOV_COUNT)
        flush(stream);
    const char *time = stamp(tee);
    push(tee, time, strlen(time));
    push(tee, stream->rank->prefix, strlen(stream->rank->prefix));
    push(tee, line, end == NULL ? len + 1 : len);
    if (end != NULL)
        push(tee, end, strlen(end));
}

static void show_changed(struct jr_stream *stream, const char *line, size_t len,
                         const char *end)
{
    struct jr_tee *tee = stream->tee;
    line = jr_safe_redrawn(line, &len);
    jr_buf_str(&tee->lines, stamp(tee));
    jr_buf_str(&tee->lines, stream->rank->prefix);
    if (tee->screen->streams[stream->number]->terminal)
        jr_safe_line(&tee->lines, line, len, tee->color);
    else
        jr_buf_add(&tee->lines, line, len);
    jr_buf_str(&tee->lines, end == NULL ? "\n" : end);
}

/* `line` without its newline; `end` is what follows it on the console, NULL
 * where that is the newline that follows it in memory. */
static void show(struct jr_stream *stream, bool careful, const char *line,
                 size_t len, const char *end)
{
    if (careful)
        show_changed(stream, line, len, end);
    else
        show_as_is(stream, line, len, end);
}

/* The unfinished line grows by `len` bytes; out of memory drops them from the
 * console, never from the file. */
static void keep(struct jr_stream *stream, const char *bytes, size_t len)
{
    if (stream->rest_len + len > stream->rest_cap) {
        size_t cap = (stream->rest_len + len) * 2;
        char *grown = realloc(stream->rest, cap);
        if (grown == NULL)
            return;
        stream->rest = grown;
        stream->rest_cap = cap;
    }
    memcpy(stream->rest + stream->rest_len, bytes, len);
    stream->rest_len += len;
}

static void forget(struct jr_stream *stream)
{
    free(stream->rest);
    stream->rest = NULL;
    stream->rest_len = stream->rest_cap = 0;
    stream->rest_since = 0;
}

static void show_rest(struct jr_stream *stream, const char *end)
{
    if (stream->rest_len > 0)
        show(stream, is_careful(stream, stream->rest, stream->rest_len),
             stream->rest, stream->rest_len, end);
    flush(stream);
    forget(stream);
}

/* A line that redraws itself is no line to show now and again: on a terminal
 * its state stands below the others until it is finished. */
static void light_rest(struct jr_stream *stream)
{
    struct jr_tee *tee = stream->tee;
    size_t len = stream->rest_len;
    const char *line = jr_safe_redrawn(stream->rest, &len);
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, stream->rank->prefix);
    jr_safe_line(&text, line, len, false);
    if (!text.failed)
        jr_screen_light(tee->screen, text.data);
    jr_buf_release(&text);
    memmove(stream->rest, line, len);
    stream->rest[len] = '\r';
    stream->rest_len = len + 1;
}

static void keep_rest(struct jr_stream *stream, const char *bytes, size_t len)
{
    struct jr_tee *tee = stream->tee;
    keep(stream, bytes, len);
    if (stream->rest_len >= LINE_MOST) {
        show_rest(stream, UNFINISHED);
        return;
    }
    if (stream->rest_len > 0 &&
        memchr(stream->rest, '\r', stream->rest_len) != NULL) {
        stream->rest_since = 0;
        light_rest(stream);
        return;
    }
    if (stream->rest_since == 0)
        stream->rest_since = jr_clock_ns();
    if (tee->partial.at == 0 && tee->partial_ns > 0)
        tee->partial.at = stream->rest_since + tee->partial_ns;
}

/* Bytes for the console. What an iovec points to must not move before it is
 * flushed: the unfinished line is touched only at both ends of this. */
static void feed(struct jr_stream *stream, const char *bytes, size_t len)
{
    const char *at = bytes, *end = bytes + len;
    const char *line = memchr(at, '\n', len);
    if (line != NULL && stream->rest_len > 0) {
        keep(stream, at, (size_t)(line - at));
        show_rest(stream, "\n");
        at = line + 1;
        line = memchr(at, '\n', (size_t)(end - at));
    }
    bool careful = is_careful(stream, at, (size_t)(end - at));
    while (line != NULL) {
        show(stream, careful, at, (size_t)(line - at), NULL);
        at = line + 1;
        line = memchr(at, '\n', (size_t)(end - at));
    }
    flush(stream);
    if (at < end)
        keep_rest(stream, at, (size_t)(end - at));
}

static void file_failed(struct jr_stream *stream)
{
    stream->outcome->log_errno = errno;
    stream->outcome->log_failed = true;
    jr_events_add(stream->tee->events, "log_failed",
                  "\"rank\":%u,\"stream\":%d,\"errno\":%d", stream->rank->rank,
                  stream->number + 1, errno);
    (void)close(stream->file_fd);
    stream->file_fd = -1;
}

static void close_stream(struct jr_stream *stream)
{
    struct jr_tee *tee = stream->tee;
    if (stream->watch.fd < 0)
        return;
    if (!stream->paused)
        jr_loop_remove(tee->loop, &stream->watch);
    (void)close(stream->watch.fd);
    stream->watch.fd = -1;
    show_rest(stream, "\n");
    if (stream->file_fd >= 0)
        (void)close(stream->file_fd);
    stream->file_fd = -1;
    tee->open--;
}

static void pause_stream(struct jr_stream *stream)
{
    struct jr_tee *tee = stream->tee;
    jr_loop_remove(tee->loop, &stream->watch);
    stream->paused = true;
    stream->next_paused = tee->paused;
    tee->paused = stream;
}

static void on_readable(void *owner, uint32_t events)
{
    (void)events;
    struct jr_stream *stream = owner;
    struct jr_tee *tee = stream->tee;
    if (jr_screen_is_full(tee->screen)) {
        pause_stream(stream);
        return;
    }
    ssize_t len = read(stream->watch.fd, tee->bytes, READ_SIZE);
    if (len < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (len <= 0) {
        close_stream(stream);
        return;
    }
    if (stream->file_fd >= 0 &&
        jr_io_write_all(stream->file_fd, tee->bytes, (size_t)len) != 0)
        file_failed(stream);
    feed(stream, tee->bytes, (size_t)len);
}

static void on_relief(void *owner)
{
    struct jr_tee *tee = owner;
    while (tee->paused != NULL) {
        struct jr_stream *stream = tee->paused;
        tee->paused = stream->next_paused;
        stream->paused = false;
        (void)jr_loop_add(tee->loop, &stream->watch, EPOLLIN);
    }
}

/* Show the lines that have been unfinished for long enough, and look again when
 * the next one will be. */
static void on_partial(void *owner)
{
    struct jr_tee *tee = owner;
    uint64_t now = jr_clock_ns(), next = 0;
    for (uint32_t i = 0; i < tee->stream_count; i++) {
        struct jr_stream *stream = &tee->streams[i];
        if (stream->rest_since == 0)
            continue;
        /* Of a stream that waits for the console, the end may be there. */
        if (stream->paused)
            stream->rest_since = now;
        uint64_t due = stream->rest_since + tee->partial_ns;
        if (due <= now)
            show_rest(stream, UNFINISHED);
        else if (next == 0 || due < next)
            next = due;
    }
    tee->partial.at = next;
}

int jr_tee_open(struct jr_tee *tee, struct jr_loop *loop,
                struct jr_screen *screen, struct jr_events *events,
                const struct jr_plan *plan, bool color)
{
    const struct jr_console *console = &plan->policy->console;
    *tee = (struct jr_tee){.loop = loop,
                           .screen = screen,
                           .events = events,
                           .partial = {.due = on_partial, .owner = tee},
                           .partial_ns = console->partial_ms * 1000000,
                           .timestamps = console->timestamps,
                           .color = color,
                           .stream_count = 2 * plan->count,
                           .bytes = malloc(READ_SIZE),
                           .iov = calloc(IOV_COUNT + 1, sizeof(struct iovec)),
                           .streams = calloc(2 * (size_t)plan->count + 1,
                                             sizeof(struct jr_stream))};
    if (tee->bytes == NULL || tee->iov == NULL || tee->streams == NULL)
        return -1;
    for (uint32_t i = 0; i < tee->stream_count; i++)
        tee->streams[i].watch.fd = tee->streams[i].file_fd = -1;
    screen->relieved = on_relief;
    screen->owner = tee;
    jr_loop_timer(loop, &tee->partial);
    return 0;
}

int jr_tee_add(struct jr_tee *tee, uint32_t i, const struct jr_started *started,
               const struct jr_plan_rank *rank, struct jr_rank_outcome *outcome)
{
    int failed = 0;
    for (int number = 0; number < 2; number++) {
        struct jr_stream *stream = &tee->streams[2 * i + (uint32_t)number];
        if (started->pipes[number] < 0)
            continue;
        *stream = (struct jr_stream){.watch = {.fd = started->pipes[number],
                                               .ready = on_readable,
                                               .owner = stream},
                                     .file_fd = started->files[number],
                                     .number = number,
                                     .rank = rank,
                                     .outcome = outcome,
                                     .tee = tee};
        tee->open++;
        failed |= jr_loop_add(tee->loop, &stream->watch, EPOLLIN);
    }
    return failed;
}

void jr_tee_drain(struct jr_tee *tee)
{
    while (tee->open > 0) {
        bool held = tee->paused != NULL;
        if (jr_loop_turn(tee->loop, !held) == 0 && !held)
            break;
    }
    jr_tee_close(tee);
}

void jr_tee_close(struct jr_tee *tee)
{
    for (uint32_t i = 0; i < tee->stream_count && tee->open > 0; i++)
        if (tee->streams[i].watch.fd >= 0)
            close_stream(&tee->streams[i]);
    jr_buf_release(&tee->lines);
    free(tee->streams);
    free(tee->iov);
    free(tee->bytes);
    *tee = (struct jr_tee){0};
}
