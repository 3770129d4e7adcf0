#include "record/load_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "judge/judge.h"
#include "record/multinode.h"

#include "base/banned.h"

/* More than jobrun writes: it keeps 10,000 points of each of 32 metrics. */
enum {
    MOST_BYTES = 64 << 20, /* of all files together */
    MOST_LINE = 16 << 10,
    MOST_POINTS = 500000,
    MOST_NAMES = 64,
    MOST_NAME = 256 /* bytes */
};

/* Whole numbers up to here are exact as a double. */
#define MOST_STEP 9007199254740992.0

/* While the lines are read. */
struct metrics_reading {
    struct jr_metrics *to;
    size_t left; /* bytes that may still be read */
};

/* The index of a name; MOST_NAMES: there is no room for another one. */
static uint32_t name_index(struct jr_metrics *metrics, const char *name)
{
    uint32_t i = 0;
    while (i < metrics->names_count && strcmp(metrics->names[i], name) != 0)
        i++;
    if (i < metrics->names_count)
        return i;
    if (i == MOST_NAMES || strlen(name) > MOST_NAME)
        return MOST_NAMES;
    const char **slot = jr_arena_push(&metrics->arena, &metrics->names,
                                      &metrics->names_count, sizeof *slot);
    if (slot == NULL)
        return MOST_NAMES;
    *slot = jr_arena_strdup(&metrics->arena, name);
    return *slot == NULL ? MOST_NAMES : i;
}

static void add_value(struct jr_metrics *metrics,
                      const struct jr_metric_point *line, const char *name,
                      const json_t *value)
{
    uint32_t metric = name_index(metrics, name);
    bool number = json_is_number(value);
    if (metric == MOST_NAMES || metrics->points_count == MOST_POINTS ||
        (!number && !json_is_null(value))) {
        metrics->partial = true;
        return;
    }
    struct jr_metric_point *point =
        jr_arena_push(&metrics->arena, &metrics->points, &metrics->points_count,
                      sizeof *point);
    if (point == NULL)
        return;
    *point = *line;
    point->metric = metric;
    point->order = (uint32_t)metrics->points_count;
    point->value = number ? json_number_value(value) : NAN;
}

/* A line is about one step of one rank. */
static void add_line(struct jr_metrics *metrics, const char *text, size_t len)
{
    json_t *json = jr_json_parse(text, len, NULL);
    const json_t *step = json_object_get(json, "step");
    const json_t *values = json_object_get(json, "metrics");
    const struct jr_metric_point line = {.step = json_number_value(step),
                                         .rank = jr_json_get_u32(json, "rank"),
                                         .attempt =
                                             jr_json_get_u32(json, "attempt")};
    const char *name = NULL;
    json_t *value = NULL;
    if (!json_is_number(step) || fabs(line.step) > MOST_STEP ||
        !json_is_object(values))
        metrics->partial = true;
    else
        json_object_foreach((json_t *)values, name, value)
            add_value(metrics, &line, name, value);
    json_decref(json);
}

/* All whole lines of the text; the rest is moved to its front, unless it is
 * too long to be a line. Returns how much that is. */
static size_t take_lines(struct jr_metrics *metrics, char *text, size_t len)
{
    size_t at = 0;
    const char *end;
    while ((end = memchr(text + at, '\n', len - at)) != NULL) {
        size_t size = (size_t)(end - text) - at;
        add_line(metrics, text + at, size);
        at += size + 1;
    }
    memmove(text, text + at, len - at);
    return len - at;
}

/* Read by pieces. A line that does not fit is passed over up to its end. */
static void read_lines(struct metrics_reading *reading, int fd)
{
    struct jr_metrics *metrics = reading->to;
    char text[MOST_LINE];
    size_t len = 0;
    bool skip = false;
    while (reading->left > 0 && metrics->points_count < MOST_POINTS) {
        ssize_t got = read(fd, text + len, sizeof text - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            metrics->partial |= got < 0 || len > 0 || skip;
            return;
        }
        reading->left -=
            (size_t)got < reading->left ? (size_t)got : reading->left;
        len += (size_t)got;
        const char *end = skip ? memchr(text, '\n', len) : NULL;
        if (skip && end == NULL) {
            len = 0;
            continue;
        }
        if (skip) {
            size_t passed = (size_t)(end - text) + 1;
            memmove(text, text + passed, len - passed);
            len -= passed;
            skip = false;
        }
        len = take_lines(metrics, text, len);
        if (len == sizeof text) {
            metrics->partial = skip = true;
            len = 0;
        }
    }
    metrics->partial = true;
}

static void read_metrics_file(struct metrics_reading *reading, int run_fd,
                              const char *path)
{
    struct jr_error err = {0};
    JR_CLOSE int fd = jr_run_file_open(run_fd, path, &err);
    if (fd >= 0)
        read_lines(reading, fd);
    else if (err.sys != ENOENT)
        reading->to->partial = true;
}

#define COMPARE(a, b, member)                                                  \
    do {                                                                       \
        if ((a)->member != (b)->member)                                        \
            return (a)->member < (b)->member ? -1 : 1;                         \
    } while (0)

static int compare_points(const void *left, const void *right)
{
    const struct jr_metric_point *a = left, *b = right;
    COMPARE(a, b, metric);
    COMPARE(a, b, rank);
    COMPARE(a, b, attempt);
    COMPARE(a, b, order);
    return 0;
}

void jr_metrics_read(struct jr_metrics *ret, int fd)
{
    struct metrics_reading reading = {ret, MOST_BYTES};
    struct jr_multinode found;
    *ret = (struct jr_metrics){0};
    read_metrics_file(&reading, fd, JR_METRICS_FILE);
    jr_multinode_find(&found, fd);
    for (size_t i = 0; i < found.count; i++) {
        char path[JR_PART_PATH];
        jr_part_path(path, found.nodes[i], JR_METRICS_FILE);
        read_metrics_file(&reading, fd, path);
    }
    jr_multinode_release(&found);
    ret->partial |= ret->arena.failed;
    if (ret->points_count > 1)
        qsort(ret->points, ret->points_count, sizeof *ret->points,
              compare_points);
}

void jr_metrics_release(struct jr_metrics *metrics)
{
    jr_arena_release(&metrics->arena);
    *metrics = (struct jr_metrics){0};
}
