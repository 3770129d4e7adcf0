#include "tee.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "io.h"

#include "banned.h"

#define READ_SIZE (256U << 10)

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
    if (!stream->feed->held)
        jr_loop_remove(tee->loop, &stream->watch);
    (void)close(stream->watch.fd);
    stream->watch.fd = -1;
    jr_feed_end(stream->feed);
    if (stream->file_fd >= 0)
        (void)close(stream->file_fd);
    stream->file_fd = -1;
    tee->open--;
}

static void pause_stream(struct jr_stream *stream)
{
    struct jr_tee *tee = stream->tee;
    jr_loop_remove(tee->loop, &stream->watch);
    stream->feed->held = true;
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
    jr_feed_add(stream->feed, tee->bytes, (size_t)len);
}

static void on_relief(void *owner)
{
    struct jr_tee *tee = owner;
    while (tee->paused != NULL) {
        struct jr_stream *stream = tee->paused;
        tee->paused = stream->next_paused;
        stream->feed->held = false;
        (void)jr_loop_add(tee->loop, &stream->watch, EPOLLIN);
    }
}

int jr_tee_open(struct jr_tee *tee, struct jr_loop *loop,
                struct jr_screen *screen, struct jr_events *events,
                const struct jr_plan *plan, bool color)
{
    *tee = (struct jr_tee){.loop = loop,
                           .screen = screen,
                           .events = events,
                           .stream_count = 2 * plan->count + 2,
                           .bytes = malloc(READ_SIZE),
                           .streams = calloc(2 * (size_t)plan->count + 2,
                                             sizeof(struct jr_stream))};
    if (tee->bytes == NULL || tee->streams == NULL ||
        jr_lines_open(&tee->lines, loop, screen, plan, color) != 0)
        return -1;
    for (uint32_t i = 0; i < tee->stream_count; i++)
        tee->streams[i].watch.fd = tee->streams[i].file_fd = -1;
    screen->relieved = on_relief;
    screen->owner = tee;
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
                                     .tee = tee,
                                     .feed = jr_lines_feed(&tee->lines, i,
                                                           rank, number)};
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
    jr_lines_close(&tee->lines);
    free(tee->streams);
    free(tee->bytes);
    tee->streams = NULL;
    tee->bytes = NULL;
}
