#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "left.h"

#include "banned.h"

/* What is drawn must fit into a page: a longer file is cut. */
static const size_t MOST_EVENTS = (size_t)256 << 20;
enum { MOST_RANKS = 1 << 20, MOST_MOMENTS = 500 };

/* While the lines are read. */
struct reading {
    struct jr_timeline *to;
    struct jr_arena arena;
    size_t *open; /* by rank: 1 + its span; 0: none */
    size_t open_count;
    double zero; /* ns of the first event; < 0: none yet */
    double after;
};

static struct jr_stretch *open_span(struct reading *reading, uint32_t rank)
{
    if (rank >= reading->open_count || reading->open[rank] == 0)
        return NULL;
    return &reading->to->spans[reading->open[rank] - 1];
}

static void start_span(struct reading *reading, uint32_t rank, double at)
{
    struct jr_timeline *to = reading->to;
    struct jr_stretch *before = open_span(reading, rank);
    if (before != NULL)
        before->last = false;
    while (rank >= reading->open_count)
        if (jr_arena_push(&reading->arena, &reading->open, &reading->open_count,
                          sizeof *reading->open) == NULL)
            return;
    struct jr_stretch *span = jr_arena_push(&to->arena, &to->spans,
                                            &to->span_count, sizeof *to->spans);
    if (span == NULL)
        return;
    *span = (struct jr_stretch){
        .rank = rank, .started = at, .ended = -1, .heard = -1, .last = true};
    reading->open[rank] = to->span_count;
}

static double wall_of(const json_t *line)
{
    const char *time = jr_json_get_str(line, "time");
    return time == NULL ? 0 : jr_clock_of_rfc3339(time);
}

static void add_member(struct jr_buf *text, const char *key, json_t *value)
{
    jr_buf_printf(text, "%s%s ", text->len > 0 ? ", " : "", key);
    if (json_is_string(value))
        jr_buf_str(text, json_string_value(value));
    else
        jr_json_print(text, value, 0);
}

static void add_moment(struct jr_timeline *to, const json_t *line,
                       const char *event, double at)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const char *key = NULL;
    json_t *value = NULL;
    if (to->moment_count >= MOST_MOMENTS) {
        to->partial = true;
        return;
    }
    json_object_foreach((json_t *)line, key, value) {
        if (strcmp(key, "time") != 0 && strcmp(key, "ns") != 0 &&
            strcmp(key, "event") != 0)
            add_member(&text, key, value);
    }
    struct jr_moment *moment = jr_arena_push(
        &to->arena, &to->moments, &to->moment_count, sizeof *to->moments);
    if (moment != NULL)
        *moment = (struct jr_moment){
            .at = at,
            .wall = wall_of(line),
            .event = jr_arena_strdup(&to->arena, event),
            .text = jr_buf_keep(&text, &to->arena),
        };
}

/* An event of one rank's life; false when it is another. */
static bool add_life(struct reading *reading, const json_t *line,
                     const char *event, double at)
{
    json_int_t rank = jr_json_get_int(line, "rank");
    bool started = strcmp(event, "rank_started") == 0;
    bool heard = strcmp(event, "first_output") == 0;
    if (!started && !heard && strcmp(event, "rank_ended") != 0)
        return strcmp(event, "rank_done") == 0;
    if (rank < 0 || rank >= MOST_RANKS) {
        reading->to->partial = true;
        return true;
    }
    if (started)
        start_span(reading, (uint32_t)rank, at);
    struct jr_stretch *span = open_span(reading, (uint32_t)rank);
    if (span != NULL && heard && span->heard < 0)
        span->heard = at;
    if (span != NULL && !heard && !started) {
        span->ended = at;
        span->wall = wall_of(line);
    }
    return true;
}

static void add_line(struct reading *reading, const char *text, size_t len)
{
    json_t *line = jr_json_parse(text, len, NULL);
    const char *event = jr_json_get_str(line, "event");
    double ns = jr_json_get_real(line, "ns");
    if (event == NULL || ns <= 0) {
        reading->to->partial = true;
        json_decref(line);
        return;
    }
    if (reading->zero < 0)
        reading->zero = ns;
    double at = ns > reading->zero ? (ns - reading->zero) / 1e9 : 0;
    at += reading->after;
    if (at > reading->to->end)
        reading->to->end = at;
    if (!add_life(reading, line, event, at))
        add_moment(reading->to, line, event, at);
    json_decref(line);
}

void jr_timeline_add(struct jr_timeline *timeline, int fd, const char *path,
                     double after)
{
    struct reading reading = {.to = timeline, .zero = -1, .after = after};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (jr_left_read(&text, fd, path, MOST_EVENTS, NULL) != 0)
        timeline->partial = true;
    const char *at = text.data;
    while (at != NULL && at < text.data + text.len) {
        const char *end = memchr(at, '\n', text.len - (size_t)(at - text.data));
        if (end == NULL)
            end = text.data + text.len;
        add_line(&reading, at, (size_t)(end - at));
        at = end + 1;
    }
    jr_arena_release(&reading.arena);
}

void jr_timeline_read(struct jr_timeline *ret, int fd)
{
    *ret = (struct jr_timeline){0};
    jr_timeline_add(ret, fd, "events.jsonl", 0);
}

void jr_timeline_release(struct jr_timeline *timeline)
{
    jr_arena_release(&timeline->arena);
    *timeline = (struct jr_timeline){0};
}
