#include "output/collapse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

#define BITS 64

struct jr_collapse_line {
    char *text; /* malloc'ed */
    size_t len;
    const char *const *around;
    int number;
    uint32_t joined; /* ranks */
    uint64_t hash;
    uint64_t before; /* place + 1 of the one before it in its bucket; 0 */
    uint64_t since_ns, wall_ns;
};

static struct jr_collapse_line *queued_line(const struct jr_collapse *collapse, uint64_t place)
{
    return &collapse->lines[place % JR_COLLAPSE_LINES_MOST];
}

static uint64_t *rank_bits(const struct jr_collapse *collapse, uint64_t place)
{
    size_t words = collapse->count / BITS + 1;
    return collapse->bits + place % JR_COLLAPSE_LINES_MOST * words;
}

/* FNV-1a, eight bytes at a time: a line's fellows lie in its bucket, and who floods one costs no
 * more than the queue is long. */
static uint64_t hash_line(const struct jr_collapse_input *line)
{
    uint64_t hash = UINT64_C(14695981039346656037) + (uint64_t)line->number;
    size_t at = 0;
    for (; at + sizeof hash <= line->len; at += sizeof hash) {
        uint64_t word;
        memcpy(&word, line->text + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(1099511628211);
        hash ^= hash >> 32;
    }
    for (; at < line->len; at++)
        hash = (hash ^ (unsigned char)line->text[at]) * UINT64_C(1099511628211);
    return hash ^ hash >> 29;
}

static bool is_equal_line(const struct jr_collapse_line *held, uint64_t hash,
                          const struct jr_collapse_input *line)
{
    return held->hash == hash && held->len == line->len && held->number == line->number &&
           strcmp(held->around[0], line->around[0]) == 0 &&
           strcmp(held->around[1], line->around[1]) == 0 &&
           memcmp(held->text, line->text, line->len) == 0;
}

/* The first that it can join; `end` if there is none. */
static uint64_t find_equal_line(const struct jr_collapse *collapse, uint64_t hash,
                                const struct jr_collapse_input *line)
{
    uint64_t from = *line->place > collapse->first ? *line->place : collapse->first;
    uint64_t found = collapse->end;
    uint64_t at = collapse->buckets[hash % JR_COLLAPSE_LINES_MOST];
    for (; at > from; at = queued_line(collapse, at - 1)->before)
        if (is_equal_line(queued_line(collapse, at - 1), hash, line))
            found = at - 1;
    return found;
}

static size_t list_line_ranks(const struct jr_collapse *collapse, uint64_t place)
{
    const uint64_t *bits = rank_bits(collapse, place);
    size_t count = 0;
    for (uint32_t word = 0; word <= collapse->count / BITS; word++)
        for (uint64_t left = bits[word]; left != 0; left &= left - 1)
            collapse->ranks[count++] =
                collapse->base + word * BITS + (uint32_t)__builtin_ctzll(left);
    return count;
}

static void show_first_line(struct jr_collapse *collapse)
{
    struct jr_collapse_line *line = queued_line(collapse, collapse->first);
    const struct jr_collapsed collapsed = {.text = line->text,
                                           .len = line->len,
                                           .around = line->around,
                                           .number = line->number,
                                           .wall_ns = line->wall_ns,
                                           .ranks = collapse->ranks,
                                           .count = list_line_ranks(collapse, collapse->first)};
    collapse->show(collapse->owner, &collapsed);
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

static bool is_collapse_held(const struct jr_collapse *collapse)
{
    return collapse->is_blocked != NULL && !is_queue_empty(collapse) &&
           collapse->is_blocked(collapse->owner, queued_line(collapse, collapse->first)->number);
}

static void on_collapse_time(void *owner)
{
    struct jr_collapse *collapse = owner;
    uint64_t now = jr_clock_ns();
    while (!is_queue_empty(collapse) && !is_collapse_held(collapse) &&
           queued_line(collapse, collapse->first)->since_ns + JR_COLLAPSE_WAIT_NS <= now)
        show_first_line(collapse);
    if (!is_collapse_held(collapse)) /* else jr_collapse_resume is called */
        await_first_line(collapse);
}

void jr_collapse_resume(struct jr_collapse *collapse)
{
    if (is_queue_empty(collapse) || collapse->timer.at != 0)
        return;
    queued_line(collapse, collapse->first)->since_ns = jr_clock_ns();
    await_first_line(collapse);
}

void jr_collapse_flush(struct jr_collapse *collapse)
{
    while (!is_queue_empty(collapse))
        show_first_line(collapse);
    await_first_line(collapse);
}

/* Put it at the end of the queue. Out of memory it is shown alone, in order. */
static uint64_t append_line(struct jr_collapse *collapse, uint64_t hash,
                            const struct jr_collapse_input *line)
{
    char *text = malloc(line->len + 1);
    if (text == NULL) {
        const struct jr_collapsed alone = {.text = line->text,
                                           .len = line->len,
                                           .around = line->around,
                                           .number = line->number,
                                           .wall_ns = line->wall_ns,
                                           .ranks = &line->rank,
                                           .count = 1};
        jr_collapse_flush(collapse);
        collapse->show(collapse->owner, &alone);
        return collapse->end;
    }
    memcpy(text, line->text, line->len);
    uint64_t place = collapse->end++;
    uint64_t *bucket = &collapse->buckets[hash % JR_COLLAPSE_LINES_MOST];
    *queued_line(collapse, place) = (struct jr_collapse_line){.text = text,
                                                              .len = line->len,
                                                              .around = line->around,
                                                              .number = line->number,
                                                              .hash = hash,
                                                              .before = *bucket,
                                                              .since_ns = jr_clock_ns(),
                                                              .wall_ns = line->wall_ns};
    *bucket = place + 1;
    memset(rank_bits(collapse, place), 0, (collapse->count / BITS + 1) * sizeof *collapse->bits);
    collapse->bytes += line->len;
    return place;
}

void jr_collapse_add(struct jr_collapse *collapse, const struct jr_collapse_input *line)
{
    uint64_t hash = hash_line(line);
    uint64_t place = find_equal_line(collapse, hash, line);
    if (place == collapse->end)
        place = append_line(collapse, hash, line);
    if (place == collapse->end)
        return;
    uint32_t bit = line->rank - collapse->base;
    rank_bits(collapse, place)[bit / BITS] |= UINT64_C(1) << bit % BITS;
    queued_line(collapse, place)->joined++;
    *line->place = place + 1;
    while (!is_queue_empty(collapse) &&
           (queued_line(collapse, collapse->first)->joined >= line->most ||
            collapse->end - collapse->first >= JR_COLLAPSE_LINES_MOST ||
            collapse->bytes > JR_COLLAPSE_BYTES_MOST))
        show_first_line(collapse);
    await_first_line(collapse);
}

struct jr_collapse *jr_collapse_new(uint32_t count, struct jr_loop *loop, jr_collapse_show *show,
                                    void *owner)
{
    struct jr_collapse *collapse = calloc(1, sizeof *collapse);
    if (collapse == NULL)
        return NULL;
    collapse->timer = (struct jr_timer){.due = on_collapse_time, .owner = collapse};
    collapse->count = count;
    collapse->show = show;
    collapse->owner = owner;
    collapse->lines = calloc(JR_COLLAPSE_LINES_MOST, sizeof *collapse->lines);
    collapse->bits = calloc(JR_COLLAPSE_LINES_MOST * (count / BITS + 1), sizeof *collapse->bits);
    collapse->ranks = calloc((size_t)count + 1, sizeof *collapse->ranks);
    if (collapse->lines == NULL || collapse->bits == NULL || collapse->ranks == NULL) {
        jr_collapse_free(collapse);
        return NULL;
    }
    if (loop != NULL)
        jr_loop_timer(loop, &collapse->timer);
    return collapse;
}

void jr_collapse_free(struct jr_collapse *collapse)
{
    if (collapse == NULL)
        return;
    jr_collapse_flush(collapse);
    free(collapse->lines);
    free(collapse->bits);
    free(collapse->ranks);
    free(collapse);
}

static int compile_filter(struct jr_regex **ret, const char *pattern)
{
    size_t offset;
    if (pattern == NULL || jr_regex_new(ret, pattern, &offset, NULL) == 0)
        return 0;
    errno = EINVAL;
    return -1;
}

int jr_filter_open(struct jr_filter *ret, const struct jr_console *console)
{
    *ret = (struct jr_filter){0};
    if (compile_filter(&ret->show, console->show) == 0 &&
        compile_filter(&ret->hide, console->hide) == 0)
        return 0;
    jr_filter_close(ret);
    return -1;
}

void jr_filter_close(struct jr_filter *filter)
{
    jr_regex_free(filter->show);
    jr_regex_free(filter->hide);
    filter->show = filter->hide = NULL;
}

bool jr_filter_is_set(const struct jr_filter *filter)
{
    return filter->show != NULL || filter->hide != NULL;
}

static bool filter_matches(struct jr_filter *filter, struct jr_regex *regex, const char *line,
                           size_t len)
{
    struct jr_match match;
    bool limited;
    bool found = jr_regex_find(regex, line, len, 0, &match, &limited);
    filter->limited += limited;
    return found;
}

bool jr_filter_passes(struct jr_filter *filter, const char *line, size_t len)
{
    if (filter->limited >= JR_FILTER_LIMITED_MOST)
        return true;
    if (filter->show != NULL && !filter_matches(filter, filter->show, line, len))
        return false;
    return filter->hide == NULL || !filter_matches(filter, filter->hide, line, len);
}
