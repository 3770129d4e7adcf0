#include "record/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "judge/judge.h"

#include "base/banned.h"

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
    struct jr_stretch *span =
        jr_arena_push(&to->arena, &to->spans, &to->span_count, sizeof *to->spans);
    if (span == NULL)
        return;
    *span =
        (struct jr_stretch){.rank = rank, .started = at, .ended = -1, .heard = -1, .last = true};
    reading->open[rank] = to->span_count;
}

static double wall_seconds(const struct jr_event *event)
{
    return (double)event->wall_ns / 1e9;
}

/* An event of another build is shown by its own name. */
static void add_moment(struct jr_timeline *to, const json_t *line, const struct jr_event *event,
                       double at)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (to->moment_count >= MOST_MOMENTS) {
        to->partial = true;
        return;
    }
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)line, key, value) { /* but those that all events have */
        if (strcmp(key, "time") == 0 || strcmp(key, "ns") == 0 || strcmp(key, "event") == 0)
            continue;
        jr_buf_printf(&text, "%s%s ", text.len > 0 ? ", " : "", key);
        if (json_is_string(value))
            jr_buf_str(&text, json_string_value(value));
        else
            jr_json_print(&text, value, 0);
    }
    const char *words = event->name == JR_EVENT_UNKNOWN
                            ? jr_arena_strdup(&to->arena, jr_json_get_str(line, "event"))
                            : jr_event_words(event->name);
    struct jr_moment *moment =
        jr_arena_push(&to->arena, &to->moments, &to->moment_count, sizeof *to->moments);
    if (moment != NULL)
        *moment = (struct jr_moment){
            .at = at,
            .wall = wall_seconds(event),
            .name = event->name,
            .words = words,
            .text = jr_buf_keep(&text, &to->arena),
        };
}

/* An event of one rank's life. */
static void add_rank_life(struct reading *reading, const struct jr_event *event, double at)
{
    bool started = event->name == JR_EVENT_RANK_STARTED;
    if ((event->says & JR_SAYS(RANK)) == 0 || event->rank >= MOST_RANKS) {
        reading->to->partial = true;
        return;
    }
    if (started)
        start_span(reading, event->rank, at);
    struct jr_stretch *span = open_span(reading, event->rank);
    if (span == NULL)
        return;
    if (event->name == JR_EVENT_FIRST_OUTPUT && span->heard < 0)
        span->heard = at;
    if (event->name == JR_EVENT_RANK_ENDED) {
        span->ended = at;
        span->wall = wall_seconds(event);
    }
}

static void add_event_line(struct reading *reading, const char *text, size_t len)
{
    struct jr_event event;
    json_auto_t *line = jr_json_parse(text, len, NULL);
    if (!jr_event_of(&event, line) || event.ns == 0) {
        reading->to->partial = true;
        return;
    }
    double ns = (double)event.ns;
    if (reading->zero < 0)
        reading->zero = ns;
    double at = ns > reading->zero ? (ns - reading->zero) / 1e9 : 0;
    at += reading->after;
    if (at > reading->to->end)
        reading->to->end = at;
    if ((jr_event_kind(event.name) & JR_EVENT_IS_LIFE) != 0)
        add_rank_life(reading, &event, at);
    else
        add_moment(reading->to, line, &event, at);
}

void jr_timeline_add(struct jr_timeline *timeline, int fd, const char *path, double after)
{
    struct reading reading = {.to = timeline, .zero = -1, .after = after};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (jr_run_file_read(&text, fd, path, MOST_EVENTS, NULL) != 0)
        timeline->partial = true;
    const char *at = text.data;
    while (at != NULL && at < text.data + text.len) {
        const char *end = memchr(at, '\n', text.len - (size_t)(at - text.data));
        if (end == NULL)
            end = text.data + text.len;
        add_event_line(&reading, at, (size_t)(end - at));
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
