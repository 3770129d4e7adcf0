#include "output/line_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rank_set.h"
#include "base/regex.h"
#include "output/sanitize.h"

#include "base/banned.h"

#define LINE_MOST  (64U << 10) /* an unfinished line is shown from here on */
#define SHOWN_MOST (64U << 10) /* and what goes to the console at once */
#define UNFINISHED "\\"        /* before the newline of an unfinished line */
#define BITS       64

static bool is_terminal(const struct jr_feed *feed)
{
    return jr_feed_output(feed)->terminal;
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

/* Lines that wait for the same ones of other ranks. */

/* One that waits. */
struct jr_collapse_line {
    char *text; /* with what ends it; malloc'ed */
    size_t len;
    const struct jr_plan_rank *rank; /* the first that it came from */
    int number;                      /* of the stream */
    uint32_t joined;                 /* ranks */
    uint64_t hash;
    uint64_t before; /* place + 1 of the one before it in its bucket; 0 */
    uint64_t since_ns, wall_ns;
};

static struct jr_collapse_line *queued_line(const struct jr_collapse *collapse, uint64_t place)
{
    return &collapse->lines[place % JR_COLLAPSE_LINES_MOST];
}

static uint64_t *rank_bits(const struct jr_line_writer *lines, uint64_t place)
{
    size_t words = lines->plan->count / BITS + 1;
    return lines->collapse->bits + place % JR_COLLAPSE_LINES_MOST * words;
}

/* FNV-1a, eight bytes at a time: a line's fellows lie in its bucket, and who floods one costs no
 * more than the queue is long. */
static uint64_t hash_line(const char *text, size_t len, int number)
{
    uint64_t hash = UINT64_C(14695981039346656037) + (uint64_t)number;
    size_t at = 0;
    for (; at + sizeof hash <= len; at += sizeof hash) {
        uint64_t word;
        memcpy(&word, text + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(1099511628211);
        hash ^= hash >> 32;
    }
    for (; at < len; at++)
        hash = (hash ^ (unsigned char)text[at]) * UINT64_C(1099511628211);
    return hash ^ hash >> 29;
}

/* The first line that the one in lines->line can join; the queue's end if there is none. */
static uint64_t find_equal_line(const struct jr_feed *feed, uint64_t hash)
{
    const struct jr_collapse *collapse = feed->lines->collapse;
    const struct jr_buf *line = &feed->lines->line;
    const char *const *around = feed->rank->around;
    uint64_t from = feed->place > collapse->first ? feed->place : collapse->first;
    uint64_t found = collapse->end;
    uint64_t at = collapse->buckets[hash % JR_COLLAPSE_LINES_MOST];
    for (; at > from; at = queued_line(collapse, at - 1)->before) {
        const struct jr_collapse_line *held = queued_line(collapse, at - 1);
        if (held->hash == hash && held->len == line->len && held->number == feed->number &&
            strcmp(held->rank->around[0], around[0]) == 0 &&
            strcmp(held->rank->around[1], around[1]) == 0 &&
            memcmp(held->text, line->data, line->len) == 0)
            found = at - 1;
    }
    return found;
}

static void show_first_line(struct jr_line_writer *lines)
{
    struct jr_collapse *collapse = lines->collapse;
    const struct jr_plan *plan = lines->plan;
    struct jr_collapse_line *line = queued_line(collapse, collapse->first);
    const uint64_t *bits = rank_bits(lines, collapse->first);
    struct jr_buf *out = &lines->shown;
    char time[34] = "";
    size_t count = 0;
    for (uint32_t word = 0; word <= plan->count / BITS; word++)
        for (uint64_t left = bits[word]; left != 0; left &= left - 1)
            collapse->ranks[count++] =
                plan->ranks[plan->first].rank + word * BITS + (uint32_t)__builtin_ctzll(left);
    if (lines->timestamps)
        write_stamp(time, line->wall_ns);
    jr_buf_str(out, time);
    if (count == 1) {
        jr_buf_str(out, line->rank->prefix);
    } else {
        jr_buf_str(out, line->rank->around[0]);
        jr_set_print(out, collapse->ranks, count);
        jr_buf_str(out, line->rank->around[1]);
    }
    jr_buf_add(out, line->text, line->len);
    flush_shown(lines, line->number);
    collapse->bytes -= line->len;
    free(line->text);
    line->text = NULL;
    collapse->first++;
}

static bool is_queue_empty(const struct jr_collapse *collapse)
{
    return collapse->first == collapse->end;
}

static void await_first_line(struct jr_collapse *collapse)
{
    collapse->timer.at =
        is_queue_empty(collapse)
            ? 0
            : queued_line(collapse, collapse->first)->since_ns + JR_COLLAPSE_WAIT_NS;
}

/* Whether the console takes nothing now: lines then wait longer, because equal lines of other ranks
 * may be delayed, too. */
static bool is_collapse_held(const struct jr_line_writer *lines)
{
    const struct jr_collapse *collapse = lines->collapse;
    int number = queued_line(collapse, collapse->first)->number;
    return !is_queue_empty(collapse) && jr_output_is_waiting(lines->console->streams[number]);
}

static void on_collapse_time(void *owner)
{
    struct jr_line_writer *lines = owner;
    struct jr_collapse *collapse = lines->collapse;
    uint64_t now = jr_clock_ns();
    while (!is_queue_empty(collapse) && !is_collapse_held(lines) &&
           queued_line(collapse, collapse->first)->since_ns + JR_COLLAPSE_WAIT_NS <= now)
        show_first_line(lines);
    if (!is_collapse_held(lines)) /* else jr_line_writer_resume is called */
        await_first_line(collapse);
}

void jr_line_writer_resume(struct jr_line_writer *lines)
{
    struct jr_collapse *collapse = lines->collapse;
    if (collapse == NULL || is_queue_empty(collapse))
        return;
    queued_line(collapse, collapse->first)->since_ns = jr_clock_ns();
    await_first_line(collapse);
}

void jr_line_writer_flush(struct jr_line_writer *lines)
{
    struct jr_collapse *collapse = lines->collapse;
    while (collapse != NULL && !is_queue_empty(collapse))
        show_first_line(lines);
    if (collapse != NULL)
        await_first_line(collapse);
}

/* Put the line in lines->line at the end of the queue. Out of memory it is shown alone, in
 * order. */
static uint64_t append_line(struct jr_feed *feed, uint64_t hash)
{
    struct jr_line_writer *lines = feed->lines;
    struct jr_collapse *collapse = lines->collapse;
    uint64_t *bucket = &collapse->buckets[hash % JR_COLLAPSE_LINES_MOST];
    char *text = malloc(lines->line.len + 1);
    if (text == NULL) {
        jr_line_writer_flush(lines);
        jr_buf_str(&lines->shown, current_stamp(lines));
        jr_buf_str(&lines->shown, feed->rank->prefix);
        jr_buf_add(&lines->shown, lines->line.data, lines->line.len);
        flush_shown(lines, feed->number);
        return collapse->end;
    }
    memcpy(text, lines->line.data, lines->line.len);
    uint64_t place = collapse->end++;
    *queued_line(collapse, place) = (struct jr_collapse_line){.text = text,
                                                              .len = lines->line.len,
                                                              .rank = feed->rank,
                                                              .number = feed->number,
                                                              .hash = hash,
                                                              .before = *bucket,
                                                              .since_ns = jr_clock_ns(),
                                                              .wall_ns = wall_ns(lines)};
    *bucket = place + 1;
    memset(rank_bits(lines, place), 0, (lines->plan->count / BITS + 1) * sizeof *collapse->bits);
    collapse->bytes += lines->line.len;
    return place;
}

/* Add a line to the queue, or its rank to an equal line there, and show the lines that may not wait
 * for others any more. */
static void collapse_line(struct jr_feed *feed, const char *line, size_t len, bool whole)
{
    struct jr_line_writer *lines = feed->lines;
    struct jr_collapse *collapse = lines->collapse;
    jr_buf_clear(&lines->line);
    add_changed(&lines->line, feed, line, len, whole);
    if (lines->line.failed)
        return;
    uint64_t hash = hash_line(lines->line.data, lines->line.len, feed->number);
    uint64_t place = find_equal_line(feed, hash);
    if (place == collapse->end)
        place = append_line(feed, hash);
    if (place == collapse->end)
        return;
    uint32_t bit = feed->rank->rank - lines->plan->ranks[lines->plan->first].rank;
    rank_bits(lines, place)[bit / BITS] |= UINT64_C(1) << bit % BITS;
    queued_line(collapse, place)->joined++;
    feed->place = place + 1;
    while (!is_queue_empty(collapse) &&
           (queued_line(collapse, collapse->first)->joined >= lines->open[feed->number] ||
            collapse->end - collapse->first >= JR_COLLAPSE_LINES_MOST ||
            collapse->bytes > JR_COLLAPSE_BYTES_MOST))
        show_first_line(lines);
    await_first_line(collapse);
}

static void free_collapse(struct jr_collapse *collapse)
{
    free(collapse->lines);
    free(collapse->bits);
    free(collapse->ranks);
    free(collapse);
}

static int open_collapse(struct jr_line_writer *lines, struct jr_loop *loop)
{
    uint32_t count = lines->plan->count;
    struct jr_collapse *collapse = calloc(1, sizeof *collapse);
    if (collapse == NULL)
        return -1;
    collapse->timer = (struct jr_timer){.due = on_collapse_time, .owner = lines};
    collapse->lines = calloc(JR_COLLAPSE_LINES_MOST, sizeof *collapse->lines);
    collapse->bits = calloc(JR_COLLAPSE_LINES_MOST * (count / BITS + 1), sizeof *collapse->bits);
    collapse->ranks = calloc((size_t)count + 1, sizeof *collapse->ranks);
    if (collapse->lines == NULL || collapse->bits == NULL || collapse->ranks == NULL) {
        free_collapse(collapse);
        return -1;
    }
    if (loop != NULL)
        jr_loop_timer(loop, &collapse->timer);
    lines->collapse = collapse;
    return 0;
}

/* Lines that are hidden. */

static bool is_filtered(const struct jr_line_writer *lines)
{
    return lines->show != NULL || lines->hide != NULL;
}

static bool line_matches(struct jr_line_writer *lines, struct jr_regex *regex, const char *line,
                         size_t len)
{
    struct jr_match match;
    bool limited;
    bool found = jr_regex_find(regex, line, len, 0, &match, &limited);
    lines->limited += limited;
    return found;
}

/* Whether a line, as it is redrawn and without its newline, is shown. */
static bool passes_filter(struct jr_line_writer *lines, const char *line, size_t len)
{
    if (lines->limited >= JR_FILTER_LIMITED_MOST)
        return true;
    if (lines->show != NULL && !line_matches(lines, lines->show, line, len))
        return false;
    return lines->hide == NULL || !line_matches(lines, lines->hide, line, len);
}

static int compile_filter(struct jr_regex **ret, const char *pattern)
{
    size_t offset;
    if (pattern == NULL || jr_regex_new(ret, pattern, &offset, NULL) == 0)
        return 0;
    errno = EINVAL;
    return -1;
}

/* Lines out of pieces. */

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

static void show_feed_line(struct jr_feed *feed, bool careful, const char *line, size_t len,
                           bool whole)
{
    struct jr_line_writer *lines = feed->lines;
    feed->last = ++lines->count;
    if (lines->collapse != NULL && feed->rank->around[0] != NULL) {
        collapse_line(feed, line, len, whole);
    } else if (careful) {
        jr_buf_str(&lines->shown, current_stamp(lines));
        jr_buf_str(&lines->shown, feed->rank->prefix);
        add_changed(&lines->shown, feed, line, len, whole);
    } else {
        show_as_is(feed, line, len, whole);
    }
    if (lines->shown.len >= SHOWN_MOST)
        flush_shown(lines, feed->number);
}

/* `line` has no newline; a whole one had. A piece of one is hidden if its beginning was. */
static void show_unless_hidden(struct jr_feed *feed, bool careful, const char *line, size_t len,
                               bool whole)
{
    if (is_filtered(feed->lines)) {
        size_t left = len;
        const char *redrawn = jr_sanitize_redrawn(line, &left);
        bool hidden = feed->begun == JR_BEGUN_NOTHING ? !passes_filter(feed->lines, redrawn, left)
                                                      : feed->begun == JR_BEGUN_HIDDEN;
        feed->begun = whole ? JR_BEGUN_NOTHING : hidden ? JR_BEGUN_HIDDEN : JR_BEGUN_SHOWN;
        if (hidden)
            return;
    }
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

static void show_rest(struct jr_feed *feed, bool whole)
{
    if (feed->rest_len > 0)
        show_unless_hidden(feed, needs_sanitizing(feed, feed->rest, feed->rest_len), feed->rest,
                           feed->rest_len, whole);
    flush_shown(feed->lines, feed->number);
    free(feed->rest);
    feed->rest = NULL;
    feed->rest_len = feed->rest_cap = 0;
    feed->rest_bytes = feed->rest_since = 0;
}

/* A line that redraws itself is not shown each time: on a terminal, its current state is shown
 * below the others until it is finished. */
static void show_rest_in_place(struct jr_feed *feed)
{
    struct jr_line_writer *lines = feed->lines;
    size_t len = feed->rest_len;
    const char *line = jr_sanitize_redrawn(feed->rest, &len);
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, feed->rank->prefix);
    jr_sanitize_line(&text, line, len, false);
    if (!text.failed && (!is_filtered(lines) || passes_filter(lines, line, len)))
        jr_console_writer_draw(lines->console, text.data);
    if (line > feed->rest)
        feed->rest_bytes = feed->rest_len - (size_t)(line - feed->rest);
    memmove(feed->rest, line, len);
    feed->rest[len] = '\r';
    feed->rest_len = len + 1;
}

static void await_partial(struct jr_feed *feed)
{
    struct jr_line_writer *lines = feed->lines;
    if (lines->partial.at == 0 && lines->partial_ns > 0)
        lines->partial.at = feed->rest_since + lines->partial_ns;
}

static void keep_rest(struct jr_feed *feed, const char *bytes, size_t len)
{
    keep_unfinished(feed, bytes, len);
    bool redrawn = feed->rest_len > 0 && memchr(feed->rest, '\r', feed->rest_len) != NULL;
    if (redrawn)
        show_rest_in_place(feed);
    if (feed->rest_len >= LINE_MOST) {
        show_rest(feed, false);
    } else if (redrawn) {
        feed->rest_since = 0;
    } else if (!is_filtered(feed->lines)) { /* else it takes a whole line to tell */
        if (feed->rest_since == 0)
            feed->rest_since = jr_clock_ns();
        await_partial(feed);
    }
}

size_t jr_feed_add(struct jr_feed *feed, const char *bytes, size_t len)
{
    const char *at = bytes, *end = bytes + len;
    const char *line = memchr(at, '\n', len);
    bool *full = &feed->lines->full[feed->number];
    *full = jr_output_is_full(jr_feed_output(feed));
    if (*full)
        return 0;
    if (line != NULL && feed->rest_len > 0) {
        keep_unfinished(feed, at, (size_t)(line - at));
        show_rest(feed, true);
        at = line + 1;
    }
    line = memchr(at, '\n', (size_t)(end - at));
    bool careful = needs_sanitizing(feed, at, (size_t)(end - at));
    while (line != NULL && !*full) {
        show_unless_hidden(feed, careful, at, (size_t)(line - at), true);
        at = line + 1;
        line = memchr(at, '\n', (size_t)(end - at));
    }
    flush_shown(feed->lines, feed->number);
    if (line != NULL)
        return (size_t)(at - bytes);
    if (at < end)
        keep_rest(feed, at, (size_t)(end - at));
    return len;
}

void jr_feed_hold(struct jr_feed *feed, bool held)
{
    feed->held = held;
    if (held || feed->rest_since == 0)
        return;
    feed->rest_since = jr_clock_ns();
    await_partial(feed);
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
    if (lines->feeds == NULL || compile_filter(&lines->show, policy->show) != 0 ||
        compile_filter(&lines->hide, policy->hide) != 0)
        return -1;
    if (loop != NULL)
        jr_loop_timer(loop, &lines->partial);
    return policy->collapse && plan->count >= 2 ? open_collapse(lines, loop) : 0;
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
    jr_line_writer_flush(lines);
    if (lines->collapse != NULL)
        free_collapse(lines->collapse);
    jr_regex_free(lines->show);
    jr_regex_free(lines->hide);
    jr_buf_release(&lines->shown);
    jr_buf_release(&lines->line);
    for (uint32_t i = 0; lines->feeds != NULL && i < lines->feed_count; i++)
        free(lines->feeds[i].rest);
    free(lines->feeds);
    *lines = (struct jr_line_writer){.limited = lines->limited};
}
