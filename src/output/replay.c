#include "output/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

#include "base/banned.h"

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

/* Parts. */

static struct jr_replay_part *add_replay_part(struct jr_replay *replay)
{
    struct jr_replay_part *part = calloc(1, sizeof *part);
    if (part == NULL)
        return NULL;
    if (replay->last == NULL)
        replay->first = part;
    else
        replay->last->next = part;
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

static void copy_rank(struct jr_plan_rank *to, const struct jr_plan_rank *from,
                      struct jr_arena *arena)
{
    *to = (struct jr_plan_rank){
        .rank = from->rank,
        .prefix = jr_arena_strdup(arena, from->prefix),
        .out_path = jr_arena_strdup(arena, from->out_path),
        .err_path = jr_arena_strdup(arena, from->err_path),
    };
    for (int i = 0; i < 2; i++)
        to->around[i] = jr_arena_strdup(arena, from->around[i]);
}

/* The plan's ranks, without all but what the console shows of them. */
static void copy_plan(struct jr_replay_part *part, const struct jr_plan *plan)
{
    struct jr_arena *arena = &part->arena;
    const struct jr_console *console = &plan->policy->console;
    struct jr_plan_rank *ranks = jr_arena_array(arena, plan->count, sizeof *ranks);
    for (uint32_t i = 0; i < plan->count && ranks != NULL; i++)
        copy_rank(&ranks[i], &plan->ranks[plan->first + i], arena);
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
        stream->times = jr_arena_alloc(arena, sizeof *stream->times);
        if (stream->times != NULL)
            *stream->times = left->times[i];
    }
    if (arena->failed)
        drop_streams(part);
}

static bool has_streams(const struct jr_remainder *left)
{
    for (uint32_t i = 0; i < left->count; i++)
        if (left->streams[i].behind)
            return true;
    return false;
}

void jr_replay_add(struct jr_replay *replay, const struct jr_plan *plan,
                   const struct jr_remainder *left)
{
    bool streams = has_streams(left);
    size_t len = left->pending_len[0];
    if (!streams && len + left->pending_len[1] == 0)
        return;
    struct jr_replay_part *part = add_replay_part(replay);
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

/* Showing. */

static void follow_stream(struct jr_replay_part *part, uint32_t i)
{
    struct jr_follower *stream = &part->streams[i];
    const struct jr_plan_rank *rank =
        i / 2 < part->plan.count ? &part->plan.ranks[i / 2] : &part->setup;
    int number = (int)(i % 2);
    stream->feed = jr_line_writer_feed(&part->lines, i / 2, rank, number);
    stream->feed->begun = stream->shown.begun;
    stream->path = number == 0 ? rank->out_path : rank->err_path;
    struct jr_times *times = stream->times;
    uint32_t count = times == NULL ? 0 : times->count;
    jr_catch_up_add(&part->catch_up, stream);
    if (times != NULL)
        times->count = count;
}

static void begin_part(struct jr_replay *replay, struct jr_replay_part *part)
{
    for (int i = 0; i < 2; i++)
        if (part->text[i].len > 0)
            jr_console_writer_write(&replay->console, i, part->text[i].data, part->text[i].len);
    jr_buf_clear(&part->text[0]);
    jr_buf_clear(&part->text[1]);
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
    for (uint32_t i = 0; i < part->count; i++)
        if (part->streams[i].shown.behind)
            follow_stream(part, i);
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

/* A console that took something gets a new moment. */
static void grant_replay_time(struct jr_replay *replay, size_t before)
{
    uint64_t now = jr_clock_ns(), at = now + STALL_NS;
    if (!replay->hurried || replay->patience.at == 0 || count_backlog(replay) == before)
        return;
    replay->patience.at = at < replay->limit_ns ? at : replay->limit_ns;
}

static bool watch_replay_signals(struct jr_replay *replay, const struct jr_policy *policy,
                                 const sigset_t *ignored)
{
    sigset_t set;
    jr_signals_make(&replay->uses, policy, ignored);
    jr_signals_set(&replay->uses, &set);
    replay->signals =
        (struct jr_watch){signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), on_replay_signal, replay};
    return replay->signals.fd >= 0 && jr_loop_add(&replay->loop, &replay->signals, EPOLLIN) == 0;
}

void jr_replay_finish(struct jr_replay *replay, const struct jr_policy *policy,
                      const sigset_t *ignored)
{
    show_replay_parts(replay);
    if (jr_replay_is_done(replay) || replay->loop.epoll_fd < 0)
        return;
    struct sigaction on_pipe;
    (void)sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &on_pipe);
    bool watched = watch_replay_signals(replay, policy, ignored);
    if (!watched || replay->hurried)
        jr_replay_hurry(replay);
    while (!jr_replay_is_done(replay)) {
        size_t before = count_backlog(replay);
        (void)jr_loop_turn(&replay->loop, false);
        show_replay_parts(replay);
        grant_replay_time(replay, before);
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
