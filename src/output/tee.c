#include "output/tee.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define READ_SIZE (1U << 20)

/* How long a stream may be silent before it has a file: many ranks end before that, and whoever
 * looks at one that runs finds its logs. */
#define SILENT_NS (200 * UINT64_C(1000000))

/* What memory has of a stream whose rank is asked to end, before that waits for the console
 * again. */
#define ENDING_MOST (1U << 20)

static void note_stream_event(const struct jr_stream *stream, enum jr_event_name name, int error)
{
    jr_events_add(stream->tee->events, &(struct jr_event){.name = name,
                                                          .rank = stream->rank->rank,
                                                          .stream = (uint32_t)stream->number + 1,
                                                          .error = error});
}

static void close_stream(struct jr_stream *stream)
{
    struct jr_tee *tee = stream->tee;
    if (stream->watch.fd < 0)
        return;
    jr_loop_close(&stream->watch);
    if (stream->has_steps)
        jr_step_lines_end(tee->steps, &stream->steps);
    stream->follower.ended = true;
    if (stream->follower.feed != NULL && !stream->follower.shown.behind)
        jr_feed_end(stream->follower.feed);
    jr_log_file_end(&stream->file);
    tee->open--;
}

static void close_streams(struct jr_tee *tee)
{
    for (uint32_t i = 0; i < tee->stream_count && tee->open > 0; i++)
        close_stream(&tee->streams[i]);
}

/* What was read just now. Returns how many bytes of its beginning can be read again from the
 * file. */
static size_t write_stream_file(struct jr_stream *stream, size_t len)
{
    struct jr_log_file *file = &stream->file;
    if (file->all == NULL)
        return 0;
    uint64_t before = file->total;
    bool failed = jr_log_file_write(file, stream->tee->bytes, len) != 0;
    size_t kept = stream->alone ? (size_t)(file->total - before) : 0;
    stream->outcome->dropped[stream->number] = jr_log_file_dropped(file);
    if (stream->alone)
        stream->follower.shown.file = jr_log_file_span(file);
    if (failed) {
        stream->outcome->log_errno = errno;
        note_stream_event(stream, JR_EVENT_LOG_FAILED, errno);
        jr_log_file_end(file);
    }
    return kept;
}

/* What was read just now goes to the console, or waits for it: the first `kept` bytes in the file,
 * and what no file has in memory. What is in a file that is another stream's as well is lost to the
 * console. */
static void follow_stream_end(struct jr_stream *stream, size_t len, size_t kept)
{
    struct jr_follower *follower = &stream->follower;
    struct jr_shown *shown = &follower->shown;
    const char *bytes = stream->tee->bytes;
    size_t taken = shown->behind ? 0 : jr_feed_add(follower->feed, bytes, len);
    shown->at += taken < kept ? taken : kept;
    if (taken == len)
        return;
    if (!shown->behind)
        jr_catch_up_add(&stream->tee->catch_up, follower);
    size_t from = taken < kept ? kept : taken;
    if (stream->file.all == NULL && from < len)
        jr_catch_up_keep(follower, bytes + from, len - from);
    else
        jr_catch_up_note_bytes(follower, len - from);
}

static bool is_stream_followed(const struct jr_stream *stream)
{
    const struct jr_feed *feed = stream->follower.feed;
    return feed != NULL && !jr_output_is_closed(jr_feed_output(feed));
}

/* Whether the rank has to wait for the console, which has the only copy. */
static bool must_rank_wait(const struct jr_stream *stream)
{
    const struct jr_tee *tee = stream->tee;
    const struct jr_follower *follower = &stream->follower;
    return stream->file.all == NULL && follower->shown.behind && is_stream_followed(stream) &&
           !tee->draining && !(tee->ending && follower->tail.len < ENDING_MOST);
}

static void on_readable(void *owner, uint32_t events)
{
    struct jr_stream *stream = owner;
    struct jr_tee *tee = stream->tee;
    (void)events; /* where all ends are closed, and it is empty, 0 is read */
    if (must_rank_wait(stream)) {
        jr_loop_remove(tee->loop, &stream->watch);
        stream->next_paused = tee->paused;
        tee->paused = stream;
        return;
    }
    ssize_t len = read(stream->watch.fd, tee->bytes, READ_SIZE);
    if (len < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (len <= 0) {
        close_stream(stream);
        return;
    }
    stream->total += (uint64_t)len;
    if (!stream->has_output)
        note_stream_event(stream, JR_EVENT_FIRST_OUTPUT, 0);
    stream->has_output = true;
    stream->outcome->heard_ns = jr_clock_ns();
    size_t kept = write_stream_file(stream, (size_t)len);
    if (stream->has_steps)
        jr_step_lines_add(tee->steps, &stream->steps, tee->bytes, (size_t)len);
    if (is_stream_followed(stream))
        follow_stream_end(stream, (size_t)len, kept);
}

static void resume_paused_streams(struct jr_tee *tee)
{
    while (tee->paused != NULL) {
        struct jr_stream *stream = tee->paused;
        tee->paused = stream->next_paused;
        (void)jr_loop_add(tee->loop, &stream->watch, EPOLLIN);
    }
}

/* The bytes of the catching up are those of the tee, which reads nothing meanwhile. */
static void on_tee_console_room(void *owner, struct jr_output *output)
{
    struct jr_tee *tee = owner;
    resume_paused_streams(tee);
    if (tee->draining)
        (void)jr_output_want(output, false);
    else
        jr_catch_up_step(&tee->catch_up, output);
}

/* Those that began only just now have their turn the next time: there is one look in each
 * SILENT_NS, however many begin. */
static void make_logs_of_silent_streams(void *owner)
{
    struct jr_tee *tee = owner;
    uint64_t now = jr_clock_ns();
    for (uint32_t i = 0; i < tee->stream_count; i++) {
        struct jr_stream *stream = &tee->streams[i];
        if (stream->watch.fd < 0 || stream->file.all == NULL || stream->file.made)
            continue;
        if (now - stream->began_ns >= SILENT_NS)
            jr_log_file_make(&stream->file);
        else
            tee->logs.at = now + SILENT_NS;
    }
}

int jr_tee_open(struct jr_tee *tee, const struct jr_tee_setup *setup)
{
    const struct jr_plan *plan = setup->plan;
    const char *limit = plan->policy->log_limit;
    *tee =
        (struct jr_tee){.loop = setup->loop,
                        .console = setup->console,
                        .events = setup->events,
                        .options = setup->options,
                        .remainder = setup->remainder,
                        .files = {.dir_fd = JR_SLOT_DIR,
                                  .mode = setup->options->dir->file_mode,
                                  .most = setup->files},
                        .stream_count = 2 * plan->count + 2,
                        .bytes = malloc(READ_SIZE),
                        .streams = calloc(2 * (size_t)plan->count + 2, sizeof(struct jr_stream))};
    if (limit != NULL)
        (void)jr_num_size(limit, &tee->limit);
    if (tee->bytes == NULL || tee->streams == NULL ||
        jr_line_writer_open(&tee->lines, setup->loop, setup->console, plan,
                            setup->options->color) != 0)
        return -1;
    for (uint32_t i = 0; i < tee->stream_count; i++)
        tee->streams[i].watch.fd = -1;
    tee->catch_up = (struct jr_catch_up){
        .console = setup->console, .lines = &tee->lines, .files = &tee->files, .bytes = tee->bytes};
    tee->logs = (struct jr_timer){.due = make_logs_of_silent_streams, .owner = tee};
    jr_loop_timer(setup->loop, &tee->logs);
    setup->console->relieved = on_tee_console_room;
    setup->console->owner = tee;
    return 0;
}

static int add_stream(struct jr_stream *stream, struct jr_tee *tee, uint32_t i,
                      const struct jr_started *started)
{
    int number = stream->number;
    const struct jr_plan_rank *rank = stream->rank;
    const char *path = number == 0 ? rank->out_path : rank->err_path;
    stream->tee = tee;
    stream->watch =
        (struct jr_watch){.fd = started->pipes[number], .ready = on_readable, .owner = stream};
    if (started->kept[number]) {
        jr_log_file_begin(&stream->file, &tee->files, path, rank->limited ? tee->limit : 0);
        stream->began_ns = jr_clock_ns();
        if (tee->logs.at == 0)
            tee->logs.at = stream->began_ns + SILENT_NS;
    }
    if (jr_start_is_shown(rank, number, tee->options)) {
        struct jr_times *times = &tee->remainder->times[2 * i + (uint32_t)number];
        stream->follower =
            (struct jr_follower){.feed = jr_line_writer_feed(&tee->lines, i, rank, number),
                                 .path = path,
                                 .times = tee->lines.timestamps ? times : NULL};
        stream->alone = stream->file.all != NULL && !jr_start_shares_file(rank);
    }
    tee->open++;
    /* What the loop tells of may have been pulled in the same turn. */
    (void)fcntl(stream->watch.fd, F_SETFL, O_NONBLOCK);
    return jr_loop_add(tee->loop, &stream->watch, EPOLLIN);
}

int jr_tee_add(struct jr_tee *tee, uint32_t i, const struct jr_started *started,
               const struct jr_plan_rank *rank, struct jr_rank_outcome *outcome)
{
    int failed = 0;
    for (int number = 0; number < 2; number++) {
        struct jr_stream *stream = &tee->streams[2 * i + (uint32_t)number];
        if (started->pipes[number] < 0)
            continue;
        *stream = (struct jr_stream){.file = JR_LOG_FILE_NONE,
                                     .number = number,
                                     .rank = rank,
                                     .outcome = outcome,
                                     .has_steps = tee->steps != NULL && rank->watched &&
                                                  number == tee->steps_number,
                                     .steps = {.i = i}};
        failed |= add_stream(stream, tee, i, started);
    }
    return failed;
}

void jr_tee_pull(struct jr_tee *tee, uint32_t i, int number)
{
    struct jr_stream *stream = &tee->streams[2 * i + (uint32_t)number];
    int left = 0, now = 0;
    if (stream->watch.fd < 0 || ioctl(stream->watch.fd, FIONREAD, &left) != 0)
        return;
    /* What others write meanwhile is not waited for. */
    while (left > 0 && stream->watch.fd >= 0 && !must_rank_wait(stream) &&
           ioctl(stream->watch.fd, FIONREAD, &now) == 0 && now > 0) {
        left -= now;
        on_readable(stream, EPOLLIN);
    }
}

uint64_t jr_tee_bytes(const struct jr_tee *tee, uint32_t i, int number)
{
    const struct jr_stream *stream = &tee->streams[2 * i + (uint32_t)number];
    int waiting = 0;
    if (stream->watch.fd >= 0)
        (void)ioctl(stream->watch.fd, FIONREAD, &waiting);
    return stream->total + (uint64_t)waiting;
}

/* Lines of a report, of which the end is to be seen with what is above it. */
#define REPORT_LINES 12

/* Whose last lines of standard error stand on the terminal, with room for a report below them: as
 * they came, and not far up. */
static void note_what_is_on_screen(const struct jr_tee *tee)
{
    const struct jr_line_writer *lines = &tee->lines;
    for (uint32_t i = 1; i < tee->stream_count - 2; i += 2) {
        const struct jr_stream *stream = &tee->streams[i];
        const struct jr_feed *feed = stream->follower.feed;
        if (feed == NULL || feed->last == 0 || stream->follower.shown.behind ||
            lines->collapse != NULL || lines->show != NULL || lines->hide != NULL ||
            jr_output_is_closed(jr_feed_output(feed)))
            continue;
        stream->outcome->on_screen =
            lines->count - feed->last + REPORT_LINES <= jr_output_rows(jr_feed_output(feed));
    }
}

void jr_tee_hurry(struct jr_tee *tee)
{
    tee->ending = true;
    resume_paused_streams(tee);
}

void jr_tee_drain(struct jr_tee *tee)
{
    tee->draining = true;
    resume_paused_streams(tee);
    while (tee->open > 0 && jr_loop_turn(tee->loop, true) > 0)
        continue;
    close_streams(tee);
    note_what_is_on_screen(tee);
    /* What the console has not shown stays in its files. */
    jr_catch_up_leave(&tee->catch_up);
    jr_line_writer_flush(&tee->lines);
    jr_remainder_keep(tee->remainder, tee->console);
    for (uint32_t i = 0; i < tee->stream_count; i++)
        if (tee->streams[i].follower.shown.behind)
            jr_remainder_keep_stream(tee->remainder, i, &tee->streams[i].follower);
    jr_tee_close(tee);
}

void jr_tee_close(struct jr_tee *tee)
{
    close_streams(tee);
    tee->logs.at = 0;
    jr_line_writer_close(&tee->lines);
    for (uint32_t i = 0; tee->streams != NULL && i < tee->stream_count; i++)
        jr_buf_release(&tee->streams[i].follower.tail);
    free(tee->streams);
    free(tee->bytes);
    tee->streams = NULL;
    tee->bytes = NULL;
}
