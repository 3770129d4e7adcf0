#include "store/step_tracker.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/rank_set.h"

#include "base/banned.h"

#define SECOND_NS  UINT64_C(1000000000)
#define SUM_NS     (SECOND_NS / 5) /* between two looks at all ranks */
#define RANKS_TOLD 4096            /* in progress.json; of more, none */

/* Rates, and who is slow. */

#define SPAN_NS   (5 * SECOND_NS) /* a rate is over at least so long, */
#define SPAN      10              /* and so many steps */
#define SAMPLE_NS (SECOND_NS / 2) /* between two samples */

_Static_assert(JR_STEP_SAMPLES > SPAN && JR_STEP_SAMPLES > SPAN_NS / SAMPLE_NS,
               "the samples reach back far enough");

void jr_step_window_add(struct jr_step_window *window, uint64_t ns, int64_t step)
{
    uint32_t last = (window->next + JR_STEP_SAMPLES - 1) % JR_STEP_SAMPLES;
    if (window->count > 0 && step < window->step[last])
        *window = (struct jr_step_window){0};
    else if (window->count > 0 && ns < window->ns[last] + SAMPLE_NS)
        return;
    window->ns[window->next] = ns;
    window->step[window->next] = step;
    window->next = (window->next + 1) % JR_STEP_SAMPLES;
    window->count += window->count < JR_STEP_SAMPLES;
}

double jr_step_window_rate(const struct jr_step_window *window, int64_t step, uint64_t ns,
                           bool *ret_whole)
{
    uint32_t oldest = window->count < JR_STEP_SAMPLES ? 0 : window->next;
    uint32_t from = oldest;
    *ret_whole = false;
    for (uint32_t k = 0; k < window->count; k++) {
        uint32_t i = (oldest + k) % JR_STEP_SAMPLES;
        if (ns < window->ns[i] + SPAN_NS || step < window->step[i] + SPAN)
            break;
        from = i;
        *ret_whole = true;
    }
    if (window->count == 0 || ns <= window->ns[from] || step <= window->step[from])
        return 0;
    return (double)(step - window->step[from]) * (double)SECOND_NS /
           (double)(ns - window->ns[from]);
}

#define STRAGGLERS_MOST 8 /* that are named */

static int compare_rates(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void warn_of_straggler(struct jr_step_tracker *tracker, uint32_t i, double rate,
                              double median)
{
    const struct jr_plan *plan = tracker->plan;
    const struct jr_plan_rank *rank = &plan->ranks[plan->first + i];
    const char *host = plan->hosts == NULL ? NULL : plan->hosts[rank->node_rank];
    tracker->progress->ranks[i].straggler = true;
    struct jr_step_warning *warning = NULL;
    uint32_t named = 0;
    for (uint32_t k = 0; k < tracker->progress->warnings_count; k++)
        named += tracker->progress->warnings[k].problem == JR_STEP_PROBLEM_STRAGGLER;
    if (named < STRAGGLERS_MOST)
        warning = jr_step_tracker_add_warning(tracker, JR_STEP_PROBLEM_STRAGGLER, i);
    if (warning == NULL)
        return;
    (void)snprintf(warning->text, sizeof warning->text,
                   "rank %u (%s%s%s) is slow: %.3g steps/s, while the median is %.3g", rank->rank,
                   host == NULL ? "this host" : host, rank->device == NULL ? "" : ", device ",
                   rank->device == NULL ? "" : rank->device, rate, median);
}

/* The rate of a rank that takes part now; less than 0: it does not, or has not made enough steps.
 */
static double compared_rate(const struct jr_step_tracker *tracker, uint32_t i, uint64_t now_ns)
{
    const struct jr_steps *steps = &tracker->progress->ranks[i];
    bool whole;
    double rate = jr_step_window_rate(&tracker->windows[i], steps->best, now_ns, &whole);
    return tracker->watched[i] && steps->any && !steps->ended && whole ? rate : -1;
}

void jr_stragglers_find(struct jr_step_tracker *tracker, uint64_t now_ns)
{
    tracker->checked_ns = now_ns;
    uint32_t count = 0;
    for (uint32_t i = 0; i < tracker->plan->count; i++) {
        tracker->rates[count] = compared_rate(tracker, i, now_ns);
        count += tracker->rates[count] >= 0;
    }
    if (count < 2)
        return;
    qsort(tracker->rates, count, sizeof *tracker->rates, compare_rates);
    double median = count % 2 == 1
                        ? tracker->rates[count / 2]
                        : (tracker->rates[count / 2 - 1] + tracker->rates[count / 2]) / 2;
    for (uint32_t i = 0; i < tracker->plan->count; i++) {
        double rate = compared_rate(tracker, i, now_ns);
        if (rate >= 0 && rate < median / 2 && !tracker->progress->ranks[i].straggler)
            warn_of_straggler(tracker, i, rate, median);
    }
}

/* Opening. */

static int read_watched(struct jr_step_tracker *tracker)
{
    const struct jr_plan *plan = tracker->plan;
    const char *text = plan->policy->progress.ranks, *bad = NULL;
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_set set;
    bool read = jr_set_parse(&set, &arena, text == NULL ? "0" : text, &bad);
    uint32_t all = 0;
    for (uint32_t rank = 0; read && rank < plan->world_size && all < 2; rank++)
        all += jr_set_has(&set, rank);
    for (uint32_t i = 0; read && i < plan->count; i++) {
        tracker->watched[i] = jr_set_has(&set, plan->first + i);
        tracker->watched_count += tracker->watched[i];
    }
    tracker->progress->all = all > 1;
    jr_arena_release(&arena);
    errno = ENOMEM;
    return read ? 0 : -1;
}

int jr_step_tracker_open(struct jr_step_tracker *tracker, const struct jr_plan *plan,
                         struct jr_progress *progress, int dir_fd, mode_t mode)
{
    size_t count = (size_t)plan->count + 1;
    *tracker = (struct jr_step_tracker){.progress = progress,
                                        .plan = plan,
                                        .windows = calloc(count, sizeof *tracker->windows),
                                        .watched = calloc(count, 1),
                                        .rates = calloc(count, sizeof *tracker->rates),
                                        .metrics = {.dir_fd = -1, .fd = -1},
                                        .dir_fd = dir_fd,
                                        .mode = mode};
    if (tracker->windows == NULL || tracker->watched == NULL || tracker->rates == NULL ||
        read_watched(tracker) != 0)
        return -1;
    return 0;
}

bool jr_step_tracker_watches(const struct jr_step_tracker *tracker, uint32_t i)
{
    return tracker->watched[i] != 0;
}

/* Warnings. */

static struct jr_step_warning *find_warning(struct jr_progress *progress,
                                            enum jr_step_problem problem)
{
    for (uint32_t i = 0; i < progress->warnings_count; i++)
        if (progress->warnings[i].problem == problem)
            return &progress->warnings[i];
    return NULL;
}

struct jr_step_warning *jr_step_tracker_add_warning(struct jr_step_tracker *tracker,
                                                    enum jr_step_problem problem, uint32_t i)
{
    struct jr_progress *progress = tracker->progress;
    if (progress->warnings_count == JR_STEP_WARNINGS)
        return NULL;
    struct jr_step_warning *warning = &progress->warnings[progress->warnings_count++];
    *warning =
        (struct jr_step_warning){.problem = problem, .rank = tracker->plan->first + i, .count = 1};
    tracker->changed = true;
    if (tracker->warned != NULL)
        tracker->warned(tracker->owner, warning);
    return warning;
}

bool jr_step_tracker_warn(struct jr_step_tracker *tracker, enum jr_step_problem problem, uint32_t i,
                          const char *format, ...)
{
    struct jr_step_warning *warning = find_warning(tracker->progress, problem);
    if (tracker->relayed)
        return false;
    if (warning != NULL) {
        warning->count += warning->count < UINT32_MAX;
        return false;
    }
    warning = jr_step_tracker_add_warning(tracker, problem, i);
    if (warning == NULL)
        return false;
    va_list args;
    va_start(args, format);
    int len = snprintf(warning->text, sizeof warning->text, "rank %u ", warning->rank);
    (void)vsnprintf(warning->text + len, sizeof warning->text - (size_t)len, format, args);
    va_end(args);
    return true;
}

void jr_step_tracker_relay(struct jr_step_tracker *tracker, const struct jr_step_warning *warning)
{
    struct jr_progress *progress = tracker->progress;
    struct jr_step_warning *known = find_warning(progress, warning->problem);
    if (known != NULL)
        known->count += warning->count;
    else if (progress->warnings_count < JR_STEP_WARNINGS)
        progress->warnings[progress->warnings_count++] = *warning;
    tracker->changed = true;
}

/* The job's. */

/* Of the ranks that go on, or of all where none does; *ret_best is the least of their furthest
 * steps. */
static const struct jr_steps *find_slowest(struct jr_step_tracker *tracker, bool ended,
                                           int64_t *ret_best)
{
    struct jr_progress *progress = tracker->progress;
    const struct jr_steps *slowest = NULL;
    int64_t furthest = 0, best = INT64_MAX;
    for (uint32_t i = 0; i < tracker->plan->count; i++) {
        const struct jr_steps *steps = &progress->ranks[i];
        if (!tracker->watched[i] || !steps->any)
            continue;
        furthest = steps->step > furthest ? steps->step : furthest;
        if (steps->ended && !ended)
            continue;
        if (slowest == NULL || steps->step < slowest->step) {
            slowest = steps;
            progress->slowest = tracker->plan->first + i;
        }
        if (steps->best < best)
            best = steps->best;
    }
    if (slowest != NULL)
        progress->behind = furthest - slowest->step;
    *ret_best = best;
    return slowest;
}

static void take_values(struct jr_step_tracker *tracker)
{
    struct jr_steps *job = &tracker->progress->job;
    for (uint32_t i = 0; i < tracker->plan->count; i++) {
        const struct jr_steps *steps = &tracker->progress->ranks[i];
        if (!tracker->watched[i] || steps->metrics == 0)
            continue;
        job->metrics = steps->metrics;
        memcpy(job->values, steps->values, sizeof job->values);
        return;
    }
}

void jr_step_tracker_sum(struct jr_step_tracker *tracker, uint64_t now_ns)
{
    struct jr_steps *job = &tracker->progress->job;
    int64_t best = 0;
    tracker->summed_ns = now_ns;
    const struct jr_steps *slowest = find_slowest(tracker, false, &best);
    if (slowest == NULL)
        slowest = find_slowest(tracker, true, &best);
    if (slowest == NULL)
        return;
    bool first = !job->any, lacks = jr_step_tracker_lacks_first(tracker);
    bool further = first || best > job->best || lacks || tracker->lacked;
    tracker->lacked = lacks;
    job->first_ns = first ? slowest->first_ns : job->first_ns;
    /* Later than it was, where ranks passed each other since the last look, and never earlier. */
    if (further)
        job->best_ns = tracker->watched_count == 1 ? slowest->best_ns : now_ns;
    job->best = further ? best : job->best;
    job->any = true;
    job->step = slowest->step;
    job->of = slowest->of;
    job->rate = slowest->rate;
    job->ns = slowest->ns;
    job->wall_ns = slowest->wall_ns;
    take_values(tracker);
}

bool jr_step_tracker_lacks_first(const struct jr_step_tracker *tracker)
{
    for (uint32_t i = 0; i < tracker->plan->count; i++)
        if (tracker->watched[i] && !tracker->progress->ranks[i].any &&
            !tracker->progress->ranks[i].ended)
            return true;
    return false;
}

bool jr_step_tracker_goes_on(const struct jr_step_tracker *tracker)
{
    for (uint32_t i = 0; i < tracker->plan->count; i++)
        if (tracker->watched[i] && !tracker->progress->ranks[i].ended)
            return true;
    return false;
}

/* What was told. */

static void note_metrics(struct jr_step_tracker *tracker, const struct jr_step_report *report,
                         struct jr_metrics_point *ret)
{
    struct jr_steps *steps = &tracker->progress->ranks[report->i];
    for (uint32_t k = 0; k < report->count; k++) {
        const struct jr_told_metric *metric = &report->metrics[k];
        uint32_t at = jr_progress_metric(tracker->progress, metric->name, metric->len);
        if (at == JR_METRICS_MOST) {
            (void)jr_step_tracker_warn(
                tracker, JR_STEP_PROBLEM_METRICS, report->i,
                "told a metric that is left out: there are at most %d, whose "
                "names are text of less than %d bytes",
                JR_METRICS_MOST, JR_METRIC_NAME);
            continue;
        }
        steps->metrics |= UINT32_C(1) << at;
        steps->values[at] = metric->value;
        ret->metrics |= UINT32_C(1) << at;
    }
    ret->values = steps->values;
}

static void note_of(struct jr_step_tracker *tracker, const struct jr_step_report *report)
{
    struct jr_steps *steps = &tracker->progress->ranks[report->i];
    int64_t of = report->of;
    if (of == 0 && steps->of == 0)
        of = tracker->plan->policy->progress.of;
    if (of == 0)
        return;
    if (steps->of != 0 && steps->of != of)
        (void)jr_step_tracker_warn(tracker, JR_STEP_PROBLEM_OF, report->i,
                                   "told another last step than before: %" PRId64 ", not %" PRId64,
                                   of, steps->of);
    steps->of = of;
}

static void note_step(struct jr_step_tracker *tracker, const struct jr_step_report *report,
                      uint64_t now_ns, uint64_t wall_ns)
{
    struct jr_steps *steps = &tracker->progress->ranks[report->i];
    struct jr_step_window *window = &tracker->windows[report->i];
    bool whole, first = !steps->any;
    if (!first && report->step < steps->step)
        (void)jr_step_tracker_warn(tracker, JR_STEP_PROBLEM_BACKWARDS, report->i,
                                   "went back from step %" PRId64 " to step %" PRId64, steps->step,
                                   report->step);
    if (first)
        steps->first_ns = now_ns;
    if (first || report->step > steps->best) {
        steps->best = report->step;
        steps->best_ns = now_ns;
    }
    steps->any = true;
    steps->step = report->step;
    steps->ns = now_ns;
    steps->wall_ns = wall_ns;
    steps->rate = jr_step_window_rate(window, report->step, now_ns, &whole);
    jr_step_window_add(window, now_ns, report->step);
}

void jr_step_tracker_tell(struct jr_step_tracker *tracker, const struct jr_step_report *report,
                          uint64_t now_ns, uint64_t wall_ns)
{
    struct jr_steps *steps = &tracker->progress->ranks[report->i];
    struct jr_metrics_point point = {
        .ns = now_ns, .wall_ns = wall_ns, .rank = tracker->plan->first + report->i};
    if (!tracker->watched[report->i] || (!report->has_step && !steps->any))
        return;
    if (tracker->metrics.series == NULL && tracker->dir_fd >= 0 && tracker->metrics.error == 0)
        jr_metrics_open(&tracker->metrics, tracker->dir_fd, tracker->mode, tracker->plan->attempt,
                        tracker->progress);
    note_of(tracker, report);
    if (report->has_step)
        note_step(tracker, report, now_ns, wall_ns);
    note_metrics(tracker, report, &point);
    point.step = steps->step;
    jr_metrics_add(&tracker->metrics, &point);
    tracker->changed = true;
    struct jr_progress *progress = tracker->progress;
    if (tracker->watched_count == 1) {
        /* Where one rank's steps are the job's, there is nothing to compute from the others, of
         * which there may be thousands for each step. */
        progress->slowest = tracker->plan->first + report->i;
        progress->behind = 0;
        progress->job = *steps;
        progress->job.ended = false;
        tracker->summed_ns = now_ns;
    } else if (now_ns >= tracker->summed_ns + SUM_NS)
        jr_step_tracker_sum(tracker, now_ns);
    if (tracker->progress->all && !tracker->relays && now_ns >= tracker->checked_ns + SECOND_NS)
        jr_stragglers_find(tracker, now_ns);
    if (tracker->told != NULL)
        tracker->told(tracker->owner);
}

void jr_step_tracker_end(struct jr_step_tracker *tracker, uint32_t i, uint64_t now_ns)
{
    if (!tracker->watched[i])
        return;
    tracker->progress->ranks[i].ended = true;
    tracker->changed |= tracker->progress->ranks[i].any; /* the job's step is of those that go on */
    if (tracker->progress->ranks[i].any && now_ns >= tracker->summed_ns + SUM_NS)
        jr_step_tracker_sum(tracker, now_ns);
}

/* The files. */

static void note_unwritten(struct jr_step_tracker *tracker, const char *name, int error)
{
    struct jr_step_warning *warning = find_warning(tracker->progress, JR_STEP_PROBLEM_RECORD);
    if (warning != NULL)
        return;
    warning = jr_step_tracker_add_warning(tracker, JR_STEP_PROBLEM_RECORD, 0);
    if (warning != NULL)
        (void)snprintf(warning->text, sizeof warning->text, "%s is incomplete: %s", name,
                       strerror(error));
}

/* For `top`: every rank that is watched. */
static json_t *ranks_json(const struct jr_step_tracker *tracker)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < tracker->plan->count; i++) {
        const struct jr_steps *steps = &tracker->progress->ranks[i];
        if (!tracker->watched[i] || !steps->any)
            continue;
        json_t *rank = json_object();
        jr_json_set_int(rank, "rank", tracker->plan->first + i);
        jr_json_set_int(rank, "step", steps->step);
        jr_json_set_real(rank, "rate", steps->rate);
        jr_json_append(list, rank);
    }
    return list;
}

static void write_progress(struct jr_step_tracker *tracker)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    json_t *object = jr_progress_json(tracker->progress);
    if (tracker->progress->all && tracker->plan->count <= RANKS_TOLD)
        jr_json_set(object, "ranks", ranks_json(tracker));
    jr_json_print(&text, object, 0);
    jr_buf_char(&text, '\n');
    json_decref(object);
    if (!text.failed && jr_io_replace(tracker->dir_fd, "progress.json", text.data, text.len,
                                      tracker->mode, &err) != 0)
        note_unwritten(tracker, "progress.json", err.sys);
}

void jr_step_tracker_flush(struct jr_step_tracker *tracker, uint64_t now_ns)
{
    tracker->flushed_ns = now_ns;
    if (!tracker->changed)
        return;
    jr_step_tracker_sum(tracker, now_ns);
    jr_metrics_flush(&tracker->metrics);
    if (tracker->metrics.error != 0)
        note_unwritten(tracker, "metrics.jsonl", tracker->metrics.error);
    if (tracker->dir_fd >= 0)
        write_progress(tracker);
    tracker->changed = false;
}

void jr_step_tracker_close(struct jr_step_tracker *tracker, uint64_t now_ns)
{
    jr_step_tracker_flush(tracker, now_ns);
    jr_metrics_close(&tracker->metrics);
    free(tracker->windows);
    free(tracker->watched);
    free(tracker->rates);
    tracker->windows = NULL;
    tracker->watched = NULL;
    tracker->rates = NULL;
}

/* From node to controller. */

void jr_step_message_put(struct jr_buf *out, const struct jr_step_tracker *tracker, uint32_t i)
{
    const struct jr_steps *steps = &tracker->progress->ranks[i];
    json_auto_t *object = jr_progress_rank_json(tracker->progress, steps);
    jr_json_set_int(object, "steps_of", tracker->plan->first + i);
    jr_json_set_int(object, "ns", (json_int_t)steps->ns);
    jr_json_print(out, object, 0);
    jr_buf_char(out, '\n');
}

void jr_step_message_put_warning(struct jr_buf *out, const struct jr_step_warning *warning)
{
    json_auto_t *object = json_object();
    jr_json_set_int(object, "warning_of", warning->rank);
    jr_json_set_int(object, "problem", (json_int_t)warning->problem);
    jr_json_set_int(object, "count", warning->count);
    jr_json_set_str(object, "text", warning->text);
    jr_json_print(out, object, 0);
    jr_buf_char(out, '\n');
}

/* The rank that a line is about; false: it is none of the node's. */
static bool read_rank(const json_t *object, const char *key, const uint32_t ranks[2], uint32_t *ret)
{
    *ret = jr_json_get_u32(object, key);
    return json_is_integer(json_object_get(object, key)) && *ret >= ranks[0] && *ret < ranks[1];
}

static void take_steps(struct jr_step_tracker *tracker, uint32_t rank, const json_t *object,
                       int64_t offset_ns)
{
    struct jr_step_report report = {
        .i = rank - tracker->plan->first,
        .has_step = true,
        .step = jr_json_get_int(object, "step"),
        .of = jr_json_get_int(object, "of"),
    };
    json_t *metrics = json_object_get(object, "metrics"), *value;
    const char *name;
    json_object_foreach(metrics, name, value) {
        if (report.count == JR_METRICS_MOST)
            break;
        report.metrics[report.count++] = (struct jr_told_metric){
            name, strlen(name), json_is_null(value) ? (double)NAN : json_number_value(value)};
    }
    uint64_t now = jr_clock_ns(), wall = jr_clock_wall_ns();
    uint64_t ns = (uint64_t)jr_json_get_int(object, "ns") - (uint64_t)offset_ns;
    /* What the clocks of nodes cannot be told apart by is no future. */
    ns = ns > now ? now : ns;
    jr_step_tracker_tell(tracker, &report, ns, wall - (now - ns));
    struct jr_steps *steps = &tracker->progress->ranks[report.i];
    int64_t best = jr_json_get_int(object, "best");
    if (best > steps->best) {
        steps->best = best;
        steps->best_ns = ns;
    }
}

static void take_warning(struct jr_step_tracker *tracker, uint32_t rank, const json_t *object)
{
    const char *text = jr_json_get_str(object, "text");
    uint32_t problem = jr_json_get_u32(object, "problem");
    struct jr_step_warning warning = {.rank = rank, .count = jr_json_get_u32(object, "count")};
    if (text == NULL || problem > JR_STEP_PROBLEM_STRAGGLER)
        return;
    warning.problem = (enum jr_step_problem)problem;
    (void)snprintf(warning.text, sizeof warning.text, "%s", text);
    jr_step_tracker_relay(tracker, &warning);
}

bool jr_step_message_take(struct jr_step_tracker *tracker, const char *line, size_t len,
                          const uint32_t ranks[2], int64_t offset_ns)
{
    json_auto_t *object = jr_json_parse(line, len, NULL);
    uint32_t rank;
    bool steps = read_rank(object, "steps_of", ranks, &rank);
    bool warning = !steps && read_rank(object, "warning_of", ranks, &rank);
    if (steps)
        take_steps(tracker, rank, object, offset_ns);
    if (warning)
        take_warning(tracker, rank, object);
    return steps || warning;
}

/* The limits of time. */

#define MS UINT64_C(1000000)

/* When a limit is met that is counted from `from_ns`. */
static uint64_t limit_due(const struct jr_step_limit *limit, uint64_t from_ns, uint64_t limit_ms)
{
    uint64_t from = from_ns > limit->since_ns ? from_ns : limit->since_ns;
    return limit_ms == 0 ? UINT64_MAX : from + limit_ms * MS;
}

uint64_t jr_step_limit_told(struct jr_step_limit *limit, const struct jr_step_tracker *tracker,
                            uint64_t at_ns, uint64_t now_ns)
{
    uint64_t ms = tracker->plan->policy->timeouts.progress_ms;
    if (limit->counting || ms == 0)
        return at_ns;
    limit->counting = true;
    uint64_t due = now_ns + ms * MS;
    return at_ns == 0 || due < at_ns ? due : at_ns;
}

enum jr_step_overrun jr_step_limit_look(const struct jr_step_limit *limit,
                                        struct jr_step_tracker *tracker, uint64_t started_ns,
                                        uint64_t now_ns, uint64_t *ret_at)
{
    const struct jr_timeouts *limits = &tracker->plan->policy->timeouts;
    const struct jr_steps *job = &tracker->progress->job;
    uint64_t first = UINT64_MAX, next = UINT64_MAX;
    *ret_at = 0;
    jr_step_tracker_sum(tracker, now_ns);
    if (jr_step_tracker_lacks_first(tracker))
        first = limit_due(limit, started_ns == 0 ? now_ns : started_ns, limits->first_step_ms);
    if (job->any && jr_step_tracker_goes_on(tracker))
        next = limit_due(limit, job->best_ns, limits->progress_ms);
    if (first <= now_ns)
        return JR_STEP_OVERRUN_FIRST;
    if (next <= now_ns)
        return JR_STEP_OVERRUN_NEXT;
    if (first != UINT64_MAX || next != UINT64_MAX)
        *ret_at = first < next ? first : next;
    return JR_STEP_OVERRUN_NONE;
}

void jr_step_limit_pause(struct jr_step_limit *limit, const struct jr_step_tracker *tracker,
                         uint64_t started_ns, uint64_t paused_ns)
{
    const struct jr_steps *job = &tracker->progress->job;
    uint64_t from = job->any ? job->best_ns : started_ns;
    if (from < limit->since_ns)
        from = limit->since_ns;
    limit->since_ns = from + paused_ns;
}
