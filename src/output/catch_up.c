#include "output/catch_up.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

#include "base/banned.h"

#define PIECE          (256U << 10)
#define COLLAPSE_PIECE (8U << 10) /* lines of all ranks are to meet in the queue */

void jr_catch_up_add(struct jr_catch_up *all, struct jr_follower *stream)
{
    struct jr_output *output = jr_feed_output(stream->feed);
    struct jr_catch_up_queue *queue = &all->queues[output != &all->console->outputs[0]];
    stream->shown.behind = true;
    jr_feed_hold(stream->feed, true);
    stream->next = NULL;
    *(queue->last == NULL ? &queue->first : &queue->last->next) = stream;
    queue->last = stream;
    (void)jr_output_want(output, true);
}

/* Where in the stream ends what is to be shown. */
static uint64_t stream_end(const struct jr_follower *stream)
{
    return stream->shown.file.total + stream->tail.len;
}

void jr_catch_up_note_bytes(struct jr_follower *stream, size_t lost)
{
    struct jr_times *times = stream->times;
    stream->shown.lost += lost;
    if (times == NULL)
        return;
    if (times->count == JR_TIMES_MOST) { /* the bytes of one are taken to have come with the next */
        times->count /= 2;
        for (uint32_t i = 0; i < times->count; i++)
            times->items[i] = times->items[2 * i + 1];
    }
    times->items[times->count++] = (struct jr_time){stream_end(stream), jr_clock_wall_ns()};
}

void jr_catch_up_keep(struct jr_follower *stream, const char *bytes, size_t len)
{
    jr_buf_add(&stream->tail, bytes, len);
    bool lost = stream->tail.failed; /* there is no memory */
    stream->tail.failed = false;
    jr_catch_up_note_bytes(stream, lost ? len : 0);
}

/* What is shown in place of what is not there. */

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

/* Show a piece of the file, or of what is kept in memory behind that: with timestamps no more than
 * came at one time, where that is known. */
static void show_piece(struct jr_catch_up *all, struct jr_follower *stream)
{
    struct jr_shown *shown = &stream->shown;
    const struct jr_times *times = stream->times;
    uint64_t most = all->lines->collapse != NULL ? COLLAPSE_PIECE : PIECE;
    uint32_t i = 0, known = times == NULL ? 0 : times->count;
    while (i < known && times->items[i].end <= shown->at)
        i++;
    if (i < known && times->items[i].end - shown->at < most)
        most = times->items[i].end - shown->at;
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
    all->lines->wall_ns = i < known ? times->items[i].wall_ns : 0;
    shown->at += jr_feed_add(stream->feed, bytes, (size_t)len);
    all->lines->wall_ns = 0;
}

static void show_next_piece(struct jr_catch_up *all, struct jr_follower *stream)
{
    struct jr_shown *shown = &stream->shown;
    uint64_t gap = jr_log_file_gap(&shown->file, shown->at);
    if (gap > 0) {
        struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_log_gap_print(&line, gap);
        if (!line.failed)
            jr_feed_note(stream->feed, line.data, line.len - 1);
        shown->at += gap;
    }
    if (shown->at == shown->file.total)
        note_unkept_bytes(stream);
    if (shown->at < stream_end(stream))
        show_piece(all, stream);
    if (shown->at == stream_end(stream))
        note_unkept_bytes(stream);
}

/* The first of a queue: on to its next piece, and behind the others or out of the queue. */
static void advance_queue(struct jr_catch_up *all, unsigned i)
{
    struct jr_catch_up_queue *queue = &all->queues[i];
    struct jr_follower *stream = queue->first;
    struct jr_shown *shown = &stream->shown;
    if (jr_output_is_closed(&all->console->outputs[i]))
        shown->at = stream_end(stream);
    else
        show_next_piece(all, stream);
    queue->first = stream->next;
    if (queue->first == NULL)
        queue->last = NULL;
    if (shown->at < stream_end(stream)) {
        jr_catch_up_add(all, stream);
        return;
    }
    jr_buf_release(&stream->tail);
    shown->at = shown->file.total;
    shown->behind = false;
    if (stream->times != NULL)
        stream->times->count = 0;
    jr_feed_hold(stream->feed, false);
    if (stream->ended)
        jr_feed_end(stream->feed);
}

void jr_catch_up_step(struct jr_catch_up *all, struct jr_output *output)
{
    unsigned i = output != &all->console->outputs[0];
    bool watched = jr_output_want(output, all->queues[i].first != NULL);
    bool collapse = all->lines->collapse != NULL;
    uint32_t most = JR_CATCH_UP_STEP / (collapse ? COLLAPSE_PIECE : PIECE);
    for (; all->queues[i].first != NULL && (most > 0 || !watched) && !jr_output_is_waiting(output);
         most -= most > 0)
        advance_queue(all, i);
    (void)jr_output_want(output, all->queues[i].first != NULL);
    jr_line_writer_resume(all->lines);
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

static void *map_shared(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                0);
}

struct jr_remainder *jr_remainder_new(uint32_t ranks)
{
    uint32_t count = 2 * ranks + 2;
    size_t times = sizeof(struct jr_remainder) + (size_t)count * sizeof(struct jr_shown);
    size_t fixed = times + (size_t)count * sizeof(struct jr_times);
    size_t room = PENDING_MOST + count * TAIL_MOST;
    char *memory;
    while ((memory = map_shared(fixed + room)) == MAP_FAILED && room > PENDING_MOST)
        room = room / 2 > PENDING_MOST ? room / 2 : PENDING_MOST;
    if (memory == MAP_FAILED)
        return NULL;
    struct jr_remainder *remainder = (void *)memory;
    *remainder = (struct jr_remainder){.size = fixed + room,
                                       .room = room,
                                       .count = count,
                                       .times = (void *)(memory + times),
                                       .pending = memory + fixed};
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
    size_t used = remainder->pending_len[0] + remainder->pending_len[1] + remainder->tails;
    size_t room = remainder->room - used, len = stream->tail.len;
    *shown = stream->shown;
    if (len > room) {
        shown->lost += len - room;
        len = room;
    }
    if (len > 0)
        memcpy(remainder->pending + used, stream->tail.data + stream->tail.len - len, len);
    shown->tail = len;
    remainder->tails += len;
}

/* After the run. */

#define STALL_NS UINT64_C(1000000000)
#define HURRY_NS (10 * STALL_NS)

/* The text first, then the streams. */
struct jr_replay_part {
    struct jr_replay_part *next;
    struct jr_buf text[2]; /* by stream */
    struct jr_arena arena;
    struct jr_policy policy; /* of which the console is used */
    struct jr_plan plan;     /* of its ranks, what the console shows */
    struct jr_plan_rank setup;
    struct jr_follower *streams; /* as in the remainder */
    uint32_t count;
    bool begun;
    struct jr_line_writer lines;
    struct jr_catch_up catch_up;
};

static struct jr_replay_part *add_replay_part(struct jr_replay *replay)
{
    struct jr_replay_part *part = calloc(1, sizeof *part);
    if (part == NULL)
        return NULL;
    *(replay->last == NULL ? &replay->first : &replay->last->next) = part;
    replay->last = part;
    return part;
}

static void drop_streams(struct jr_replay_part *part)
{
    if (part->begun)
        jr_line_writer_close(&part->lines);
    for (uint32_t i = 0; i < part->count; i++)
        jr_buf_release(&part->streams[i].tail);
    part->begun = false;
    part->count = 0;
    jr_arena_release(&part->arena);
}

static void drop_first_part(struct jr_replay *replay)
{
    struct jr_replay_part *part = replay->first;
    replay->first = part->next;
    if (replay->first == NULL)
        replay->last = NULL;
    drop_streams(part);
    jr_buf_release(&part->text[0]);
    jr_buf_release(&part->text[1]);
    free(part);
}

/* The plan's ranks, without all but what the console shows of them. */
static void copy_plan(struct jr_replay_part *part, const struct jr_plan *plan)
{
    struct jr_arena *arena = &part->arena;
    const struct jr_console *console = &plan->policy->console;
    struct jr_plan_rank *ranks = jr_arena_array(arena, plan->count, sizeof *ranks);
    for (uint32_t i = 0; i < plan->count && ranks != NULL; i++) {
        const struct jr_plan_rank *from = &plan->ranks[plan->first + i];
        ranks[i] = (struct jr_plan_rank){.rank = from->rank,
                                         .prefix = jr_arena_strdup(arena, from->prefix),
                                         .around = {jr_arena_strdup(arena, from->around[0]),
                                                    jr_arena_strdup(arena, from->around[1])},
                                         .out_path = jr_arena_strdup(arena, from->out_path),
                                         .err_path = jr_arena_strdup(arena, from->err_path)};
    }
    part->policy = (struct jr_policy){.console = *console};
    part->policy.console.show = jr_arena_strdup(arena, console->show);
    part->policy.console.hide = jr_arena_strdup(arena, console->hide);
    part->plan = (struct jr_plan){.policy = &part->policy, .ranks = ranks, .count = plan->count};
}

static void copy_streams(struct jr_replay_part *part, const struct jr_remainder *left)
{
    struct jr_arena *arena = &part->arena;
    const char *tail = left->pending + left->pending_len[0] + left->pending_len[1];
    part->streams = jr_arena_array(arena, left->count, sizeof *part->streams);
    part->count = part->streams == NULL ? 0 : left->count;
    for (uint32_t i = 0; i < part->count; i++) {
        struct jr_follower *stream = &part->streams[i];
        *stream = (struct jr_follower){.shown = left->streams[i], .ended = true};
        if (!stream->shown.behind)
            continue;
        jr_buf_add(&stream->tail, tail, stream->shown.tail);
        tail += stream->shown.tail;
        if (left->times[i].count > 0)
            stream->times = jr_arena_alloc(arena, sizeof *stream->times);
        if (stream->times != NULL)
            *stream->times = left->times[i];
    }
    if (arena->failed)
        drop_streams(part);
}

void jr_replay_add(struct jr_replay *replay, const struct jr_plan *plan,
                   const struct jr_remainder *left)
{
    uint32_t i = 0;
    size_t len = left->pending_len[0];
    while (i < left->count && !left->streams[i].behind)
        i++;
    bool streams = i < left->count;
    struct jr_replay_part *part =
        streams || len + left->pending_len[1] > 0 ? add_replay_part(replay) : NULL;
    if (part == NULL)
        return;
    jr_buf_add(&part->text[0], left->pending, len);
    jr_buf_add(&part->text[1], left->pending + len, left->pending_len[1]);
    if (!streams)
        return;
    copy_plan(part, plan);
    copy_streams(part, left);
}

bool jr_replay_print(struct jr_replay *replay, const char *text, size_t len)
{
    struct jr_replay_part *part = add_replay_part(replay);
    if (part != NULL)
        jr_buf_add(&part->text[1], text, len);
    return part != NULL && !part->text[1].failed;
}

static void begin_part(struct jr_replay *replay, struct jr_replay_part *part)
{
    for (int i = 0; i < 2; i++) {
        if (part->text[i].len > 0)
            jr_console_writer_write(&replay->console, i, part->text[i].data, part->text[i].len);
        jr_buf_clear(&part->text[i]);
    }
    if (part->begun || part->count == 0)
        return;
    part->begun = true;
    if (jr_line_writer_open(&part->lines, NULL, &replay->console, &part->plan, replay->color) !=
        0) {
        drop_streams(part);
        return;
    }
    part->catch_up = (struct jr_catch_up){.console = &replay->console,
                                          .lines = &part->lines,
                                          .files = &replay->files,
                                          .bytes = replay->bytes};
    part->setup = (struct jr_plan_rank){.prefix = "[setup] "};
    for (uint32_t i = 0; i < part->count; i++) {
        struct jr_follower *stream = &part->streams[i];
        const struct jr_plan_rank *rank =
            i / 2 < part->plan.count ? &part->plan.ranks[i / 2] : &part->setup;
        if (!stream->shown.behind)
            continue;
        stream->feed = jr_line_writer_feed(&part->lines, i / 2, rank, (int)(i % 2));
        stream->feed->begun = stream->shown.begun;
        stream->path = i % 2 == 0 ? rank->out_path : rank->err_path;
        jr_catch_up_add(&part->catch_up, stream);
    }
    for (int i = 0; i < 2; i++)
        if (!jr_output_is_waiting(&replay->console.outputs[i]))
            jr_catch_up_step(&part->catch_up, &replay->console.outputs[i]);
}

static bool is_part_busy(const struct jr_replay_part *part)
{
    return part->begun && jr_catch_up_is_behind(&part->catch_up);
}

/* Go from part to part as far as nothing has to wait. */
static void show_replay_parts(struct jr_replay *replay)
{
    while (replay->first != NULL && !jr_console_writer_is_waiting(&replay->console)) {
        begin_part(replay, replay->first);
        if (is_part_busy(replay->first))
            return;
        drop_first_part(replay);
    }
}

static void on_replay_console_room(void *owner, struct jr_output *output)
{
    struct jr_replay *replay = owner;
    struct jr_replay_part *part = replay->first;
    if (part != NULL && is_part_busy(part))
        jr_catch_up_step(&part->catch_up, output);
    else
        (void)jr_output_want(output, false);
}

void jr_replay_turn(struct jr_replay *replay)
{
    show_replay_parts(replay);
    (void)jr_loop_turn(&replay->loop, true);
    show_replay_parts(replay);
}

bool jr_replay_is_done(const struct jr_replay *replay)
{
    return replay->first == NULL && !jr_console_writer_is_waiting(&replay->console);
}

/* The end. */

static void end_files(struct jr_replay *replay)
{
    replay->ended = true;
    for (struct jr_replay_part *part = replay->first; part != NULL; part = part->next) {
        replay->cut = replay->cut || part->count > 0;
        drop_streams(part);
    }
}

static void on_impatience(void *owner)
{
    struct jr_replay *replay = owner;
    end_files(replay);
    while (replay->first != NULL)
        drop_first_part(replay);
    jr_console_writer_abandon(&replay->console);
}

void jr_replay_hurry(struct jr_replay *replay)
{
    uint64_t now = jr_clock_ns();
    if (!replay->hurried)
        replay->limit_ns = now + HURRY_NS;
    replay->hurried = true;
    replay->patience.at = now + STALL_NS;
}

static void on_replay_signal(void *owner, uint32_t events)
{
    (void)events;
    struct jr_replay *replay = owner;
    pid_t pid;
    int sig = jr_signal_read(replay->signals.fd, &pid);
    if (replay->uses.use[sig] == JR_SIGNAL_SUSPEND)
        (void)kill(getpid(), SIGSTOP);
    if (replay->uses.use[sig] != JR_SIGNAL_STOP)
        return;
    end_files(replay);
    jr_replay_hurry(replay);
}

static size_t count_backlog(const struct jr_replay *replay)
{
    size_t len = 0;
    for (int i = 0; i < 2; i++)
        len += replay->console.outputs[i].backlog.len - replay->console.outputs[i].taken;
    return len;
}

void jr_replay_finish(struct jr_replay *replay, const struct jr_policy *policy,
                      const sigset_t *ignored)
{
    show_replay_parts(replay);
    if (jr_replay_is_done(replay) || replay->loop.epoll_fd < 0)
        return;
    struct sigaction on_pipe;
    sigset_t set;
    (void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &on_pipe);
    jr_signals_make(&replay->uses, policy, ignored);
    jr_signals_set(&replay->uses, &set);
    replay->signals =
        (struct jr_watch){signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), on_replay_signal, replay};
    bool watched =
        replay->signals.fd >= 0 && jr_loop_add(&replay->loop, &replay->signals, EPOLLIN) == 0;
    if (!watched || replay->hurried)
        jr_replay_hurry(replay);
    while (!jr_replay_is_done(replay)) {
        size_t before = count_backlog(replay);
        (void)jr_loop_turn(&replay->loop, false);
        show_replay_parts(replay);
        /* A console that took something gets a new moment. */
        uint64_t at = jr_clock_ns() + STALL_NS;
        if (replay->hurried && replay->patience.at != 0 && count_backlog(replay) != before)
            replay->patience.at = at < replay->limit_ns ? at : replay->limit_ns;
    }
    replay->patience.at = 0;
    jr_loop_close(&replay->signals);
    (void)sigaction(SIGPIPE, &on_pipe, NULL);
}

int jr_replay_open(struct jr_replay *replay, int out_fd, int err_fd, int dir_fd, bool color)
{
    *replay = (struct jr_replay){.loop = {.epoll_fd = -1},
                                 .files = {.dir_fd = dir_fd},
                                 .color = color,
                                 .signals = {.fd = -1},
                                 .patience = {.due = on_impatience, .owner = replay},
                                 .bytes = malloc(JR_CATCH_UP_STEP)};
    if (replay->bytes == NULL || jr_loop_open(&replay->loop) != 0)
        return -1;
    jr_loop_timer(&replay->loop, &replay->patience);
    jr_console_writer_open(&replay->console, &replay->loop, out_fd, err_fd);
    replay->console.relieved = on_replay_console_room;
    replay->console.owner = replay;
    return 0;
}

void jr_replay_close(struct jr_replay *replay)
{
    while (replay->first != NULL)
        drop_first_part(replay);
    jr_console_writer_close(&replay->console);
    if (replay->loop.epoll_fd >= 0)
        (void)close(replay->loop.epoll_fd);
    replay->loop.epoll_fd = -1;
    free(replay->bytes);
    replay->bytes = NULL;
}
