#include "output/line_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rank_set.h"
#include "output/sanitize.h"

#include "base/banned.h"

#define LINE_MOST  (64U << 10) /* an unfinished line is shown from here on */
#define SHOWN_MOST (64U << 10) /* and what goes to the console at once */
#define UNFINISHED "\\"        /* before the newline of an unfinished line */

static bool is_terminal(const struct jr_feed *feed)
{
    return feed->lines->console->streams[feed->number]->terminal;
}

/* Lines that may need changing are rebuilt; the others go as they lie. */
static bool needs_sanitizing(const struct jr_feed *feed, const char *bytes, size_t len)
{
    return is_terminal(feed) || memchr(bytes, '\r', len) != NULL;
}

static void flush_shown(struct jr_line_writer *lines, int number)
{
    if (lines->shown.len > 0)
        jr_console_writer_write(lines->console, number, lines->shown.data, lines->shown.len);
    lines->stamp[0] = '\0';
    lines->full[number] = jr_output_is_full(lines->console->streams[number]);
    jr_buf_clear(&lines->shown);
}

static uint64_t wall_ns(const struct jr_line_writer *lines)
{
    return lines->wall_ns != 0 ? lines->wall_ns : jr_clock_wall_ns();
}

static void write_stamp(char stamp[static 34], uint64_t wall_ns)
{
    jr_clock_rfc3339(stamp, wall_ns);
    memcpy(stamp + strlen(stamp), " ", 2);
}

/* The time before a line: one for all that are flushed together. */
static const char *current_stamp(struct jr_line_writer *lines)
{
    if (lines->timestamps && lines->stamp[0] == '\0')
        write_stamp(lines->stamp, wall_ns(lines));
    return lines->stamp;
}

/* Most of what a line costs beside the kernel's copies is here and in show_unless_hidden. */
static void show_as_is(struct jr_feed *feed, const char *line, size_t len, bool whole)
{
    struct jr_buf *out = &feed->lines->shown;
    if (feed->lines->timestamps)
        jr_buf_str(out, current_stamp(feed->lines));
    jr_buf_reserve(out, feed->prefix_len + len + 2);
    if (out->failed)
        return;
    char *at = out->data + out->len;
    at = mempcpy(at, feed->rank->prefix, feed->prefix_len);
    at = mempcpy(at, line, len);
    if (!whole)
        *at++ = UNFINISHED[0];
    *at++ = '\n';
    *at = '\0';
    out->len = (size_t)(at - out->data);
}

/* What is left of a line on the console, and what ends it. */
static void add_changed(struct jr_buf *out, const struct jr_feed *feed, const char *line,
                        size_t len, bool whole)
{
    line = jr_sanitize_redrawn(line, &len);
    if (is_terminal(feed))
        jr_sanitize_line(out, line, len, feed->lines->color);
    else
        jr_buf_add(out, line, len);
    jr_buf_str(out, whole ? "\n" : UNFINISHED "\n");
}

static void show_changed(struct jr_feed *feed, const char *line, size_t len, bool whole)
{
    struct jr_line_writer *lines = feed->lines;
    jr_buf_str(&lines->shown, current_stamp(lines));
    jr_buf_str(&lines->shown, feed->rank->prefix);
    add_changed(&lines->shown, feed, line, len, whole);
}

static void collapse_line(struct jr_feed *feed, const char *line, size_t len, bool whole)
{
    struct jr_line_writer *lines = feed->lines;
    jr_buf_clear(&lines->line);
    add_changed(&lines->line, feed, line, len, whole);
    if (lines->line.failed)
        return;
    jr_collapse_add(lines->collapse, &(struct jr_collapse_input){.text = lines->line.data,
                                                                 .len = lines->line.len,
                                                                 .around = feed->rank->around,
                                                                 .number = feed->number,
                                                                 .rank = feed->rank->rank,
                                                                 .most = lines->open[feed->number],
                                                                 .wall_ns = wall_ns(lines),
                                                                 .place = &feed->place});
}

static void show_collapsed(void *owner, const struct jr_collapsed *line)
{
    struct jr_line_writer *lines = owner;
    const struct jr_plan *plan = lines->plan;
    struct jr_buf *out = &lines->shown;
    char time[34] = "";
    if (lines->timestamps)
        write_stamp(time, line->wall_ns);
    jr_buf_str(out, time);
    if (line->count == 1) {
        uint32_t i = plan->first + line->ranks[0] - lines->collapse->base;
        jr_buf_str(out, plan->ranks[i].prefix);
    } else {
        jr_buf_str(out, line->around[0]);
        jr_set_print(out, line->ranks, line->count);
        jr_buf_str(out, line->around[1]);
    }
    jr_buf_add(out, line->text, line->len);
    flush_shown(lines, line->number);
}

/* Whether a line is hidden. A piece of one is hidden if its beginning was. */
static bool is_hidden(struct jr_feed *feed, const char *line, size_t len, bool whole)
{
    struct jr_line_writer *lines = feed->lines;
    if (!jr_filter_is_set(&lines->filter))
        return false;
    line = jr_sanitize_redrawn(line, &len);
    bool hidden = feed->begun == JR_BEGUN_NOTHING ? !jr_filter_passes(&lines->filter, line, len)
                                                  : feed->begun == JR_BEGUN_HIDDEN;
    feed->begun = JR_BEGUN_NOTHING;
    if (!whole)
        feed->begun = hidden ? JR_BEGUN_HIDDEN : JR_BEGUN_SHOWN;
    return hidden;
}

static void show_feed_line(struct jr_feed *feed, bool careful, const char *line, size_t len,
                           bool whole)
{
    feed->last = ++feed->lines->count;
    if (feed->lines->collapse != NULL && feed->rank->around[0] != NULL)
        collapse_line(feed, line, len, whole);
    else if (careful)
        show_changed(feed, line, len, whole);
    else
        show_as_is(feed, line, len, whole);
    if (feed->lines->shown.len >= SHOWN_MOST)
        flush_shown(feed->lines, feed->number);
}

/* `line` has no newline; a whole one had. */
static void show_unless_hidden(struct jr_feed *feed, bool careful, const char *line, size_t len,
                               bool whole)
{
    if (!is_hidden(feed, line, len, whole))
        show_feed_line(feed, careful, line, len, whole);
}

/* The unfinished line grows by `len` bytes; out of memory drops them from the console, never from
 * the file. */
static void keep_unfinished(struct jr_feed *feed, const char *bytes, size_t len)
{
    feed->rest_bytes += len;
    if (feed->rest_len + len > feed->rest_cap) {
        size_t cap = (feed->rest_len + len) * 2;
        char *grown = realloc(feed->rest, cap);
        if (grown == NULL)
            return;
        feed->rest = grown;
        feed->rest_cap = cap;
    }
    memcpy(feed->rest + feed->rest_len, bytes, len);
    feed->rest_len += len;
}

static void forget_unfinished(struct jr_feed *feed)
{
    free(feed->rest);
    feed->rest = NULL;
    feed->rest_len = feed->rest_cap = 0;
    feed->rest_bytes = feed->rest_since = 0;
}

static void show_rest(struct jr_feed *feed, bool whole)
{
    if (feed->rest_len > 0)
        show_unless_hidden(feed, needs_sanitizing(feed, feed->rest, feed->rest_len), feed->rest,
                           feed->rest_len, whole);
    flush_shown(feed->lines, feed->number);
    forget_unfinished(feed);
}

/* A line that redraws itself is not shown each time: on a terminal, its current state is shown
 * below the others until it is finished. */
static void show_rest_in_place(struct jr_feed *feed)
{
    struct jr_line_writer *lines = feed->lines;
    size_t len = feed->rest_len;
    const char *line = jr_sanitize_redrawn(feed->rest, &len);
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, feed->rank->prefix);
    jr_sanitize_line(&text, line, len, false);
    if (!text.failed &&
        (!jr_filter_is_set(&lines->filter) || jr_filter_passes(&lines->filter, line, len)))
        jr_console_writer_draw(lines->console, text.data);
    jr_buf_release(&text);
    if (line > feed->rest)
        feed->rest_bytes = feed->rest_len - (size_t)(line - feed->rest);
    memmove(feed->rest, line, len);
    feed->rest[len] = '\r';
    feed->rest_len = len + 1;
}

static void keep_rest(struct jr_feed *feed, const char *bytes, size_t len)
{
    struct jr_line_writer *lines = feed->lines;
    keep_unfinished(feed, bytes, len);
    bool redrawn = feed->rest_len > 0 && memchr(feed->rest, '\r', feed->rest_len) != NULL;
    if (redrawn)
        show_rest_in_place(feed);
    if (feed->rest_len >= LINE_MOST) {
        show_rest(feed, false);
        return;
    }
    if (redrawn) {
        feed->rest_since = 0;
        return;
    }
    /* Whether a line is shown can be told of a whole one only. */
    if (jr_filter_is_set(&lines->filter))
        return;
    if (feed->rest_since == 0)
        feed->rest_since = jr_clock_ns();
    if (lines->partial.at == 0 && lines->partial_ns > 0)
        lines->partial.at = feed->rest_since + lines->partial_ns;
}

static bool is_feed_full(const struct jr_feed *feed)
{
    return feed->lines->full[feed->number];
}

/* Show the whole lines; returns where those end that were taken. */
static const char *show_whole_lines(struct jr_feed *feed, const char *at, const char *end)
{
    const char *line = memchr(at, '\n', (size_t)(end - at));
    bool careful = needs_sanitizing(feed, at, (size_t)(end - at));
    while (line != NULL && !is_feed_full(feed)) {
        show_unless_hidden(feed, careful, at, (size_t)(line - at), true);
        at = line + 1;
        line = memchr(at, '\n', (size_t)(end - at));
    }
    flush_shown(feed->lines, feed->number);
    return at;
}

size_t jr_feed_add(struct jr_feed *feed, const char *bytes, size_t len)
{
    const char *at = bytes, *end = bytes + len;
    const char *line = memchr(at, '\n', len);
    feed->lines->full[feed->number] = jr_output_is_full(jr_feed_output(feed));
    if (is_feed_full(feed))
        return 0;
    if (line != NULL && feed->rest_len > 0) {
        keep_unfinished(feed, at, (size_t)(line - at));
        show_rest(feed, true);
        at = line + 1;
    }
    at = show_whole_lines(feed, at, end);
    if (at < end && memchr(at, '\n', (size_t)(end - at)) != NULL)
        return (size_t)(at - bytes);
    if (at < end)
        keep_rest(feed, at, (size_t)(end - at));
    return len;
}

void jr_feed_hold(struct jr_feed *feed, bool held)
{
    struct jr_line_writer *lines = feed->lines;
    feed->held = held;
    if (held || feed->rest_since == 0)
        return;
    feed->rest_since = jr_clock_ns();
    if (lines->partial.at == 0 && lines->partial_ns > 0)
        lines->partial.at = feed->rest_since + lines->partial_ns;
}

void jr_feed_note(struct jr_feed *feed, const char *text, size_t len)
{
    show_rest(feed, true);
    feed->begun = JR_BEGUN_NOTHING;
    show_feed_line(feed, needs_sanitizing(feed, text, len), text, len, true);
    flush_shown(feed->lines, feed->number);
}

void jr_feed_end(struct jr_feed *feed)
{
    show_rest(feed, true);
    if (!feed->lines->late)
        feed->lines->open[feed->number]--;
}

/* Show the lines that have been unfinished for long enough, and look again when the next one will
 * be. */
static void on_partial(void *owner)
{
    struct jr_line_writer *lines = owner;
    uint64_t now = jr_clock_ns(), next = 0;
    for (uint32_t i = 0; i < lines->feed_count; i++) {
        struct jr_feed *feed = &lines->feeds[i];
        /* A stream that waits for the console may have ended. */
        if (feed->rest_since == 0 || feed->held)
            continue;
        uint64_t due = feed->rest_since + lines->partial_ns;
        if (due <= now)
            show_rest(feed, false);
        else if (next == 0 || due < next)
            next = due;
    }
    lines->partial.at = next;
}

static bool is_stream_waiting(void *owner, int number)
{
    const struct jr_line_writer *lines = owner;
    return jr_output_is_waiting(lines->console->streams[number]);
}

int jr_line_writer_open(struct jr_line_writer *lines, struct jr_loop *loop,
                        struct jr_console_writer *console, const struct jr_plan *plan, bool color)
{
    const struct jr_console *policy = &plan->policy->console;
    *lines = (struct jr_line_writer){
        .console = console,
        .plan = plan,
        .partial = {.due = on_partial, .owner = lines},
        .partial_ns = policy->partial_ms * 1000000,
        .timestamps = policy->timestamps,
        .color = color,
        .late = loop == NULL,
        .feed_count = 2 * plan->count + 2,
        .feeds = calloc(2 * (size_t)plan->count + 2, sizeof(struct jr_feed))};
    if (lines->feeds == NULL || jr_filter_open(&lines->filter, policy) != 0)
        return -1;
    if (loop != NULL)
        jr_loop_timer(loop, &lines->partial);
    if (!policy->collapse || plan->count < 2)
        return 0;
    lines->collapse = jr_collapse_new(plan->count, loop, show_collapsed, lines);
    if (lines->collapse == NULL)
        return -1;
    lines->collapse->base = plan->ranks[plan->first].rank;
    lines->collapse->is_blocked = is_stream_waiting;
    return 0;
}

struct jr_feed *jr_line_writer_feed(struct jr_line_writer *lines, uint32_t i,
                                    const struct jr_plan_rank *rank, int number)
{
    struct jr_feed *feed = &lines->feeds[2 * i + (uint32_t)number];
    *feed = (struct jr_feed){
        .lines = lines, .rank = rank, .prefix_len = strlen(rank->prefix), .number = number};
    lines->open[number]++;
    return feed;
}

void jr_line_writer_close(struct jr_line_writer *lines)
{
    jr_collapse_free(lines->collapse);
    jr_filter_close(&lines->filter);
    jr_buf_release(&lines->shown);
    jr_buf_release(&lines->line);
    for (uint32_t i = 0; lines->feeds != NULL && i < lines->feed_count; i++)
        free(lines->feeds[i].rest);
    free(lines->feeds);
    *lines = (struct jr_line_writer){.filter = {.limited = lines->filter.limited}};
}
