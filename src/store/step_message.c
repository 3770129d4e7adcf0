#include "store/step_message.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#include "base/banned.h"

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
