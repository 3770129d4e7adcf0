#include "record/load_results.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "judge/exception.h"
#include "judge/hang_report.h"
#include "judge/judge.h"
#include "record/internal.h"
#include "record/multinode.h"
#include "record/record_folder.h"
#include "store/outcome.h"
#include "store/progress.h"

#include "base/banned.h"

static void add_loaded_cause(struct jr_loaded_run *loaded, int64_t rank, int fd)
{
    struct jr_judgement *report = &loaded->report;
    uint32_t i = 0;
    while (i < loaded->plan.count && loaded->plan.ranks[i].rank != rank)
        i++;
    if (i == loaded->plan.count || report->causes_count >= loaded->plan.count)
        return;
    report->causes[report->causes_count++] = i;
    struct jr_exception exception = {0};
    if (!report->ranks[i].error_file ||
        jr_exception_read(&exception, &loaded->arena, fd, loaded->plan.ranks[i].error_path) !=
            JR_EXCEPTION_READ)
        return;
    report->ranks[i].where = exception.where;
    report->ranks[i].behind = exception.behind;
    report->ranks[i].unstarted = jr_exception_is_start(&exception, &loaded->outcome.ranks[i]);
}

/* The ranks that are the cause, and those together with it. */
static void load_ranks(struct jr_loaded_run *loaded, const struct jr_results_cause *cause, int fd)
{
    add_loaded_cause(loaded, cause->rank, fd);
    if (loaded->report.causes_count > 0 && cause->kind == JR_CAUSE_OOM)
        loaded->outcome.ranks[loaded->report.causes[0]].oom = true;
    for (size_t n = 0; n < cause->together_count; n++)
        add_loaded_cause(loaded, cause->together[n], fd);
    if (loaded->report.causes_count > 0 || loaded->report.status != JR_RUN_LAUNCH_FAILED)
        return;
    /* A build before jobrun_killed said no more than the signal. */
    if (!jr_outcome_lost(&loaded->outcome))
        loaded->outcome.runner_signal = cause->signal;
    if (!jr_outcome_lost(&loaded->outcome))
        loaded->report.error = cause->message;
}

/* The root cause; that of an incomplete run is in the ranks' own words. */
static void load_cause(struct jr_loaded_run *loaded, int fd)
{
    struct jr_results_cause cause;
    struct jr_judgement *report = &loaded->report;
    jr_results_cause_read(&cause, &loaded->arena, json_object_get(loaded->json, "root_cause"));
    enum jr_timeout by = loaded->outcome.timed_out_by;
    bool hung = report->status == JR_RUN_HUNG;
    if ((by == JR_TIMEOUT_NONE || by == JR_TIMEOUT_START) &&
        (hung || report->status == JR_RUN_TIMED_OUT)) {
        /* In builds before timed_out_by, only the message says which limit expired, so it is shown
         * unchanged. What the ranks were doing is there if it was recorded, for any limit. */
        bool timed = cause.kind == JR_CAUSE_HANG || cause.kind == JR_CAUSE_TIMEOUT;
        loaded->outcome.timed_out_by = hung ? JR_TIMEOUT_SILENCE : JR_TIMEOUT_AFTER_FIRST_EXIT;
        report->overrun = timed ? cause.message : "longer than its timeouts allow";
    }
    switch (cause.kind) {
    case JR_CAUSE_NONE:
    case JR_CAUSE_HANG:
    case JR_CAUSE_TIMEOUT:
        break;
    case JR_CAUSE_RESULT:
        report->error = cause.rank < 0 ? cause.message : NULL;
        if (report->status == JR_RUN_FAILED)
            load_ranks(loaded, &cause, fd);
        break;
    case JR_CAUSE_SINGLETONS:
        report->singletons = true;
        report->error = cause.message;
        break;
    case JR_CAUSE_MPI:
    case JR_CAUSE_MPI_ABORT:
    case JR_CAUSE_EXIT:
    case JR_CAUSE_SIGNAL:
    case JR_CAUSE_OOM:
    case JR_CAUSE_START:
    case JR_CAUSE_LOST_NODE:
        load_ranks(loaded, &cause, fd);
        break;
    case JR_CAUSE_STALL: /* of the last attempt; others are in its own words */
        if (report->status == JR_RUN_FAILED)
            load_ranks(loaded, &cause, fd);
        break;
    }
}

/* Room for the ranks in all three values. */
static bool make_rank_room(struct jr_loaded_run *loaded, size_t count)
{
    struct jr_arena *arena = &loaded->arena;
    loaded->plan.count = (uint32_t)count;
    loaded->outcome.count = (uint32_t)count;
    loaded->report.count = count;
    loaded->plan.policy = &loaded->policy;
    loaded->plan.ranks = jr_arena_array(arena, count, sizeof *loaded->plan.ranks);
    loaded->outcome.ranks = jr_arena_array(arena, count, sizeof *loaded->outcome.ranks);
    loaded->report.causes = jr_arena_array(arena, count, sizeof *loaded->report.causes);
    loaded->report.ranks = jr_arena_array(arena, count, sizeof *loaded->report.ranks);
    return !arena->failed;
}

int jr_loaded_run_read(struct jr_loaded_run *ret, json_t *results, struct jr_error *err)
{
    const json_t *ranks = json_object_get(results, "ranks");
    size_t count = json_array_size(ranks);
    *ret = (struct jr_loaded_run){.json = results};
    if (!json_is_array(ranks) || !make_rank_room(ret, count)) {
        jr_loaded_run_release(ret);
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "results.json is not in the form that jobrun writes");
    }
    jr_results_read(ret, results);
    for (size_t i = 0; i < count; i++) {
        struct jr_plan_rank *rank = &ret->plan.ranks[i];
        jr_results_read_rank(ret, i, json_array_get(ranks, i));
        if (rank->dir == NULL)
            rank->dir =
                jr_arena_printf(&ret->arena, "attempt_%u/%u", ret->plan.attempt, rank->rank);
    }
    if (ret->hosts_count >= ret->plan.nodes)
        ret->plan.hosts = ret->hosts;
    return 0;
}

int jr_loaded_run_load(struct jr_loaded_run *ret, int fd, const char *name, const char *log_dir,
                       const char *id, struct jr_error *err)
{
    json_t *json = jr_record_folder_json(fd, name, err);
    if (json == NULL || jr_loaded_run_read(ret, json, err) != 0)
        return -1;
    ret->id = id;
    ret->plan.own_dir = jr_arena_printf(&ret->arena, "%s/%s", log_dir, id);
    ret->plan.run_dir = jr_arena_printf(&ret->arena, "%s/%.*s", log_dir, (int)strcspn(id, "/"), id);
    load_cause(ret, fd);
    /* What the ranks of a run that met a timeout were doing. */
    jr_hang_find(&(struct jr_judge){
        .report = &ret->report, .plan = &ret->plan, .outcome = &ret->outcome, .run_fd = fd});
    return 0;
}

void jr_loaded_run_release(struct jr_loaded_run *loaded)
{
    jr_judgement_release(&loaded->report);
    jr_progress_free(loaded->outcome.progress);
    json_decref(loaded->json);
    jr_arena_release(&loaded->arena);
    *loaded = (struct jr_loaded_run){0};
}

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
    const char **slot =
        jr_arena_push(&metrics->arena, &metrics->names, &metrics->names_count, sizeof *slot);
    if (slot == NULL)
        return MOST_NAMES;
    *slot = jr_arena_strdup(&metrics->arena, name);
    return *slot == NULL ? MOST_NAMES : i;
}

static void add_value(struct jr_metrics *metrics, const struct jr_metric_point *line,
                      const char *name, const json_t *value)
{
    uint32_t metric = name_index(metrics, name);
    bool number = json_is_number(value);
    if (metric == MOST_NAMES || metrics->points_count == MOST_POINTS ||
        (!number && !json_is_null(value))) {
        metrics->partial = true;
        return;
    }
    struct jr_metric_point *point =
        jr_arena_push(&metrics->arena, &metrics->points, &metrics->points_count, sizeof *point);
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
    json_auto_t *json = jr_json_parse(text, len, NULL);
    const json_t *step = json_object_get(json, "step");
    const json_t *values = json_object_get(json, "metrics");
    const struct jr_metric_point line = {.step = json_number_value(step),
                                         .rank = jr_json_get_u32(json, "rank"),
                                         .attempt = jr_json_get_u32(json, "attempt")};
    const char *name = NULL;
    json_t *value = NULL;
    if (!json_is_number(step) || fabs(line.step) > MOST_STEP || !json_is_object(values))
        metrics->partial = true;
    else
        json_object_foreach((json_t *)values, name, value)
            add_value(metrics, &line, name, value);
}

/* Read by pieces, at most *left bytes. A line that does not fit is passed over up to its end. */
static void read_lines(struct jr_metrics *metrics, int fd, size_t *left)
{
    char text[MOST_LINE];
    size_t len = 0;
    bool skip = false;
    while (*left > 0 && metrics->points_count < MOST_POINTS) {
        ssize_t got = read(fd, text + len, sizeof text - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            metrics->partial |= got < 0 || len > 0 || skip;
            return;
        }
        *left -= (size_t)got < *left ? (size_t)got : *left;
        len += (size_t)got;
        size_t at = 0;
        for (const char *end; (end = memchr(text + at, '\n', len - at)) != NULL; skip = false) {
            size_t size = (size_t)(end - text) - at;
            if (!skip)
                add_line(metrics, text + at, size);
            at += size + 1;
        }
        memmove(text, text + at, len - at);
        len -= at;
        if (skip || len == sizeof text) {
            metrics->partial = skip = true;
            len = 0;
        }
    }
    metrics->partial = true;
}

static void read_metrics_file(struct jr_metrics *metrics, int run_fd, const char *path,
                              size_t *left)
{
    struct jr_error err = {0};
    JR_CLOSE int fd = jr_run_file_open(run_fd, path, &err);
    if (fd >= 0)
        read_lines(metrics, fd, left);
    else if (err.sys != ENOENT)
        metrics->partial = true;
}

#define COMPARE(a, b, member)                                                                      \
    do {                                                                                           \
        if ((a)->member != (b)->member)                                                            \
            return (a)->member < (b)->member ? -1 : 1;                                             \
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
    size_t left = MOST_BYTES;
    struct jr_multinode found;
    *ret = (struct jr_metrics){0};
    read_metrics_file(ret, fd, JR_METRICS_FILE, &left);
    jr_multinode_find(&found, fd);
    for (size_t i = 0; i < found.count; i++) {
        char path[JR_PART_PATH];
        jr_part_path(path, found.nodes[i], JR_METRICS_FILE);
        read_metrics_file(ret, fd, path, &left);
    }
    jr_multinode_release(&found);
    ret->partial |= ret->arena.failed;
    if (ret->points_count > 1)
        qsort(ret->points, ret->points_count, sizeof *ret->points, compare_points);
}

void jr_metrics_release(struct jr_metrics *metrics)
{
    jr_arena_release(&metrics->arena);
    *metrics = (struct jr_metrics){0};
}
