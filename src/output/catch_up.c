#include "output/catch_up.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "output/log_file.h"
#include "output/log_gap.h"

#include "base/banned.h"

#define WHILES   256
#define WHILE_NS UINT64_C(100000000)
#define PIECE    (256U << 10)
#define COLLAPSE_PIECE                                                                             \
    (8U << 10) /* lines of all ranks are to meet in the queue                                      \
                */

static unsigned output_index(const struct jr_catch_up *all, const struct jr_output *output)
{
    return output == &all->console->outputs[0] ? 0 : 1;
}

static void enqueue_stream(struct jr_catch_up *all, struct jr_follower *stream)
{
    unsigned i = output_index(all, jr_feed_output(stream->feed));
    stream->next = NULL;
    if (all->queues[i].last == NULL)
        all->queues[i].first = stream;
    else
        all->queues[i].last->next = stream;
    all->queues[i].last = stream;
    all->queues[i].count++;
}

static void dequeue_stream(struct jr_catch_up *all, unsigned i)
{
    struct jr_follower *stream = all->queues[i].first;
    all->queues[i].first = stream->next;
    if (stream->next == NULL)
        all->queues[i].last = NULL;
    all->queues[i].count--;
}

/* The times. */

/* Forget the one that is closest to the next in time: its bytes are taken to have come with the
 * next. A pause between two stays known, however much comes after it. */
static void forget_time(struct jr_times *times)
{
    uint32_t closest = 0, last = times->count - 1;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < last; i++) {
        uint64_t apart = times->items[i + 1].wall_ns - times->items[i].wall_ns;
        if (apart >= least)
            continue;
        least = apart;
        closest = i;
    }
    (void)memmove(&times->items[closest], &times->items[closest + 1],
                  (last - closest) * sizeof times->items[0]);
    times->count--;
}

static void add_time(struct jr_times *times, uint64_t end, uint64_t wall_ns)
{
    if (times->count == JR_TIMES_MOST)
        forget_time(times);
    times->items[times->count++] = (struct jr_time){end, wall_ns};
}

/* The first that is not over at `at`; NULL: not known. */
static const struct jr_time *find_time_at(const struct jr_times *times, uint64_t at)
{
    for (uint32_t i = 0; times != NULL && i < times->count; i++)
        if (times->items[i].end > at)
            return &times->items[i];
    return NULL;
}

static const struct jr_time *next_time(const struct jr_follower *stream)
{
    return find_time_at(stream->times, stream->shown.at);
}

/* All streams have been shown up to `until_ns`: move it on by a step. There are at most WHILES
 * steps, so that looking for the next one costs little. */
static void extend_until(struct jr_catch_up_queue *queue)
{
    uint64_t oldest = UINT64_MAX, newest = 0;
    for (const struct jr_follower *stream = queue->first; stream != NULL; stream = stream->next) {
        const struct jr_time *time = next_time(stream);
        if (time == NULL)
            continue;
        const struct jr_times *times = stream->times;
        uint64_t last = times->items[times->count - 1].wall_ns;
        oldest = time->wall_ns < oldest ? time->wall_ns : oldest;
        newest = last > newest ? last : newest;
    }
    uint64_t step = newest > oldest ? (newest - oldest) / WHILES : 0;
    queue->until_ns = oldest + (step > WHILE_NS ? step : WHILE_NS);
}

/* Whether the first of a queue has to wait for the others. */
static bool is_queue_early(struct jr_catch_up_queue *queue)
{
    const struct jr_time *time = next_time(queue->first);
    if (time == NULL || time->wall_ns <= queue->until_ns) {
        queue->skipped = 0;
        return false;
    }
    if (++queue->skipped < queue->count)
        return true;
    extend_until(queue);
    queue->skipped = 0;
    return time->wall_ns > queue->until_ns;
}

/* Where in the stream ends what is to be shown. */
static uint64_t stream_end(const struct jr_follower *stream)
{
    return stream->shown.file.total + stream->tail.len;
}

void jr_catch_up_note_bytes(struct jr_follower *stream, size_t lost)
{
    stream->shown.lost += lost;
    if (stream->times != NULL)
        add_time(stream->times, stream_end(stream), jr_clock_wall_ns());
}

void jr_catch_up_keep(struct jr_follower *stream, const char *bytes, size_t len)
{
    jr_buf_add(&stream->tail, bytes, len);
    bool lost = stream->tail.failed; /* there is no memory */
    stream->tail.failed = false;
    jr_catch_up_note_bytes(stream, lost ? len : 0);
}

void jr_catch_up_add(struct jr_catch_up *all, struct jr_follower *stream)
{
    stream->shown.behind = true;
    jr_feed_hold(stream->feed, true);
    if (stream->times != NULL)
        stream->times->count = 0;
    enqueue_stream(all, stream);
    (void)jr_output_want(jr_feed_output(stream->feed), true);
}

/* What is shown in place of what is not there. */

static void note_stream_gap(struct jr_follower *stream, uint64_t dropped)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_log_gap_print(&line, dropped);
    if (!line.failed)
        jr_feed_note(stream->feed, line.data, line.len - 1);
    stream->shown.at += dropped;
}

static void note_lost_bytes(struct jr_follower *stream, const char *why, uint64_t bytes)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line, "[jobrun: %" PRIu64 " bytes are left out here: %s]", bytes, why);
    if (!line.failed)
        jr_feed_note(stream->feed, line.data, line.len);
}

static void note_unkept_bytes(struct jr_follower *stream)
{
    if (stream->shown.lost > 0)
        note_lost_bytes(stream, "the console was not read in time", stream->shown.lost);
    stream->shown.lost = 0;
}

/* Show a piece of the file, or of what is kept in memory behind that. */
static void show_piece(struct jr_catch_up *all, struct jr_follower *stream)
{
    struct jr_shown *shown = &stream->shown;
    const struct jr_time *time = find_time_at(stream->times, shown->at);
    uint64_t most = all->lines->collapse != NULL ? COLLAPSE_PIECE : PIECE;
    if (time != NULL && time->end - shown->at < most)
        most = time->end - shown->at;
    const char *bytes = all->bytes;
    ssize_t len;
    if (shown->at < shown->file.total) {
        len = jr_log_file_read(all->files, stream->path, &shown->file, shown->at, all->bytes, most);
    } else {
        uint64_t left = stream_end(stream) - shown->at;
        bytes = stream->tail.data + (shown->at - shown->file.total);
        len = (ssize_t)(left < most ? left : most);
    }
    if (len <= 0) {
        note_lost_bytes(stream, "the log no longer has them", shown->file.total - shown->at);
        shown->at = shown->file.total;
        return;
    }
    all->lines->wall_ns = time == NULL ? 0 : time->wall_ns;
    shown->at += jr_feed_add(stream->feed, bytes, (size_t)len);
    all->lines->wall_ns = 0;
}

static void show_next_piece(struct jr_catch_up *all, struct jr_follower *stream)
{
    struct jr_shown *shown = &stream->shown;
    uint64_t gap = jr_log_file_gap(&shown->file, shown->at);
    if (gap > 0)
        note_stream_gap(stream, gap);
    if (shown->at == shown->file.total)
        note_unkept_bytes(stream);
    if (shown->at < stream_end(stream))
        show_piece(all, stream);
    if (shown->at == stream_end(stream))
        note_unkept_bytes(stream);
}

/* The first of a queue: on to its next piece, or out of the queue. Returns whether there was
 * one. */
static bool advance_queue(struct jr_catch_up *all, unsigned i)
{
    struct jr_follower *stream = all->queues[i].first;
    struct jr_shown *shown = &stream->shown;
    bool closed = jr_output_is_closed(&all->console->outputs[i]);
    bool early = !closed && is_queue_early(&all->queues[i]);
    if (closed)
        shown->at = stream_end(stream);
    else if (!early)
        show_next_piece(all, stream);
    dequeue_stream(all, i);
    if (shown->at < stream_end(stream)) {
        enqueue_stream(all, stream);
        return !early;
    }
    jr_buf_release(&stream->tail);
    shown->at = shown->file.total;
    shown->behind = false;
    jr_feed_hold(stream->feed, false);
    if (stream->ended)
        jr_feed_end(stream->feed);
    return true;
}

void jr_catch_up_step(struct jr_catch_up *all, struct jr_output *output)
{
    unsigned i = output_index(all, output);
    bool watched = jr_output_want(output, all->queues[i].first != NULL);
    uint32_t most = JR_CATCH_UP_STEP / PIECE;
    if (all->lines->collapse != NULL)
        most = JR_CATCH_UP_STEP / COLLAPSE_PIECE;
    while (all->queues[i].first != NULL && (most > 0 || !watched) &&
           !jr_output_is_waiting(output)) {
        if (advance_queue(all, i) && most > 0)
            most--;
    }
    (void)jr_output_want(output, all->queues[i].first != NULL);
    if (all->lines->collapse != NULL)
        jr_collapse_resume(all->lines->collapse);
}

bool jr_catch_up_is_behind(const struct jr_catch_up *all)
{
    return all->queues[0].first != NULL || all->queues[1].first != NULL;
}

/* An unfinished line is read again from the file, or else goes before what memory has. */
static void leave_stream(struct jr_follower *stream)
{
    struct jr_shown *shown = &stream->shown;
    const struct jr_feed *feed = stream->feed;
    if (shown->at < shown->file.total) {
        shown->at -= feed->rest_bytes;
    } else {
        struct jr_buf left = JR_BUF_INIT;
        size_t done = (size_t)(shown->at - shown->file.total);
        size_t len = stream->tail.len - done;
        note_unkept_bytes(stream);
        jr_buf_add(&left, feed->rest, feed->rest_len);
        if (len > 0)
            jr_buf_add(&left, stream->tail.data + done, len);
        if (left.failed)
            shown->lost += len;
        jr_buf_release(&stream->tail);
        stream->tail = left;
        shown->at = shown->file.total;
    }
    shown->begun = feed->begun;
}

void jr_catch_up_leave(struct jr_catch_up *all)
{
    for (unsigned i = 0; i < 2; i++) {
        for (struct jr_follower *stream = all->queues[i].first; stream != NULL;
             stream = stream->next)
            leave_stream(stream);
        all->queues[i] = (struct jr_catch_up_queue){0};
        (void)jr_output_want(&all->console->outputs[i], false);
    }
}

/* What is left when the run has ended. */

/* The backlog of both outputs, and the lines that waited to be collapsed. */
#define PENDING_MOST (16U << 20)
/* What a stream that has no file may have in memory, and in its pipe. Memory that is not written to
 * costs nothing, so that there can be enough; where the kernel counts it nevertheless, less has to
 * do. */
#define TAIL_MOST ((size_t)4 << 20)

static size_t streams_size(uint32_t count)
{
    return sizeof(struct jr_remainder) + (size_t)count * sizeof(struct jr_shown);
}

static void *map_shared(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                0);
}

struct jr_remainder *jr_remainder_new(uint32_t ranks)
{
    uint32_t count = 2 * ranks + 2;
    size_t times = (size_t)count * sizeof(struct jr_times);
    size_t fixed = streams_size(count) + times;
    size_t room = PENDING_MOST + count * TAIL_MOST;
    char *memory;
    while ((memory = map_shared(fixed + room)) == MAP_FAILED && room > PENDING_MOST)
        room = room / 2 > PENDING_MOST ? room / 2 : PENDING_MOST;
    if (memory == MAP_FAILED)
        return NULL;
    struct jr_remainder *remainder = (void *)memory;
    remainder->size = fixed + room;
    remainder->room = room;
    remainder->count = count;
    remainder->times = (void *)(memory + streams_size(count));
    remainder->pending = memory + streams_size(count) + times;
    return remainder;
}

void jr_remainder_free(struct jr_remainder *remainder)
{
    if (remainder != NULL)
        (void)munmap(remainder, remainder->size);
}

void jr_remainder_keep(struct jr_remainder *remainder, const struct jr_console_writer *console)
{
    size_t used = 0;
    for (int i = 0; i < 2; i++) {
        const struct jr_output *output = &console->outputs[i];
        size_t len = output->backlog.len - output->taken;
        if (len == 0)
            continue;
        const char *bytes = output->backlog.data + output->taken;
        if (len > PENDING_MOST - used) {
            const char *end = memrchr(bytes, '\n', PENDING_MOST - used);
            len = end == NULL ? 0 : (size_t)(end + 1 - bytes);
        }
        memcpy(remainder->pending + used, bytes, len);
        remainder->pending_len[i] = len;
        used += len;
    }
}

void jr_remainder_keep_stream(struct jr_remainder *remainder, uint32_t i,
                              const struct jr_follower *stream)
{
    struct jr_shown *shown = &remainder->streams[i];
    size_t used = remainder->pending_len[0] + remainder->pending_len[1];
    for (uint32_t k = 0; k < i; k++)
        used += remainder->streams[k].tail;
    size_t room = remainder->room - used, len = stream->tail.len;
    *shown = stream->shown;
    if (len > room) {
        shown->lost += len - room;
        len = room;
    }
    if (len > 0)
        memcpy(remainder->pending + used, stream->tail.data + stream->tail.len - len, len);
    shown->tail = len;
}
