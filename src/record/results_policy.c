#include "record/results_policy.h"

#include <string.h>

#include "base/clock.h"
#include "base/strv.h"
#include "judge/judge.h"
#include "judge/restart.h"
#include "judge/results.h"
#include "judge/words.h"
#include "store/progress.h"

#include "base/banned.h"

#define MS UINT64_C(1000000)

#define WORD(name, word) word,
const char *const jr_results_timeouts[] = {JR_RUN_TIMEOUTS(WORD)};

uint32_t jr_results_below(const json_t *value, uint32_t end)
{
    json_int_t number = json_integer_value(value);
    return number >= 0 && number < (json_int_t)end ? (uint32_t)number : 0;
}

void jr_results_put_timeout(struct jr_buf *out, const struct jr_results_row *row,
                            const struct jr_results_run *run)
{
    enum jr_timeout by = run->outcome->timed_out_by;
    jr_json_put_str(out, row->key, by == JR_TIMEOUT_NONE ? NULL : jr_results_timeouts[by - 1]);
}

void jr_results_get_timeout(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                            const json_t *value)
{
    (void)row;
    const char *word = json_string_value(value);
    for (int by = 1; word != NULL && by <= JR_RESULTS_TIMEOUTS; by++)
        if (strcmp(jr_results_timeouts[by - 1], word) == 0)
            loaded->outcome.timed_out_by = (enum jr_timeout)by;
}

/* The limit, in milliseconds; NULL: there is none. */
static uint64_t *limit_for_timeout(struct jr_timeouts *limits, enum jr_timeout by)
{
    switch (by) {
    case JR_TIMEOUT_START:
        return &limits->start_ms;
    case JR_TIMEOUT_RUN:
        return &limits->run_ms;
    case JR_TIMEOUT_SILENCE:
        return &limits->silence_ms;
    case JR_TIMEOUT_AFTER_FIRST_EXIT:
        return &limits->after_first_exit_ms;
    case JR_TIMEOUT_PROGRESS:
        return &limits->progress_ms;
    case JR_TIMEOUT_FIRST_STEP:
        return &limits->first_step_ms;
    case JR_TIMEOUT_NONE:
    case JR_TIMEOUT_EXIT:
        break;
    }
    return NULL;
}

void jr_results_put_limit(struct jr_buf *out, const struct jr_results_row *row,
                          const struct jr_results_run *run)
{
    struct jr_timeouts limits = run->plan->policy->timeouts;
    const uint64_t *ms = limit_for_timeout(&limits, run->outcome->timed_out_by);
    if (ms != NULL)
        jr_json_put_decimal(out, row->key, *ms, 3);
    else
        jr_json_put_str(out, row->key, NULL);
}

void jr_results_get_limit(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                          const json_t *value)
{
    (void)row;
    uint64_t *ms = limit_for_timeout(&loaded->policy.timeouts, loaded->outcome.timed_out_by);
    if (ms != NULL)
        *ms = jr_clock_ns_of(json_number_value(value)) / MS;
}

/* What reasons call the place that every rank delivers to; NULL: it has not the same name for
 * all. */
static const char *common_source(const struct jr_judge *judge)
{
    const char *name = NULL;
    for (uint32_t i = 0; i < judge->outcome->count; i++) {
        const char *source = jr_result_source(judge, i);
        if (name != NULL && strcmp(source, name) != 0)
            return NULL;
        name = source;
    }
    return name;
}

static void put_names(struct jr_buf *out, const char *key, char *const *names, uint32_t count)
{
    jr_json_key(out, key);
    jr_buf_char(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        jr_buf_str(out, i == 0 ? "" : ", ");
        jr_json_quote(out, names[i]);
    }
    jr_buf_char(out, ']');
}

/* The fields that were compared over the ranks: those of several nodes that had a jobrun each are
 * compared again by what joins them (node_mismatch.c). */
void jr_results_put_compared(struct jr_buf *out, const struct jr_results_row *row,
                             const struct jr_results_run *run)
{
    const struct jr_judge judge = {
        .plan = run->plan, .outcome = run->outcome, .wants = &run->plan->policy->results};
    const struct jr_results *wants = judge.wants;
    if (wants->equal_count + wants->distinct_count == 0) {
        jr_json_put_str(out, row->key, NULL);
        return;
    }
    jr_json_key(out, row->key);
    jr_buf_char(out, '{');
    jr_json_put_str(out, "source", common_source(&judge));
    put_names(out, "equal", wants->equal, wants->equal_count);
    put_names(out, "distinct", wants->distinct, wants->distinct_count);
    jr_buf_char(out, '}');
}

static char **read_name_list(struct jr_arena *arena, const json_t *list, uint32_t *ret_count)
{
    struct jr_strv names = {0};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name != NULL)
            jr_strv_push(&names, arena, jr_arena_strdup(arena, name));
    }
    *ret_count = (uint32_t)names.count;
    return names.items;
}

/* What was compared, and what reasons call the place where it was found: a path whose last
 * component that is. */
void jr_results_get_compared(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                             const json_t *value)
{
    (void)row;
    const char *source = jr_json_get_str(value, "source");
    struct jr_results *wants = &loaded->policy.results;
    wants->stated = value != NULL && !json_is_null(value);
    wants->equal =
        read_name_list(&loaded->arena, json_object_get(value, "equal"), &wants->equal_count);
    wants->distinct =
        read_name_list(&loaded->arena, json_object_get(value, "distinct"), &wants->distinct_count);
    for (uint32_t i = 0; i < loaded->plan.count; i++)
        loaded->plan.ranks[i].result_path = source;
}

static void put_attempt(struct jr_buf *out, const struct jr_attempt *attempt)
{
    uint64_t lasted_ns = attempt->ended_ns - attempt->started_ns;
    jr_buf_char(out, '{');
    jr_json_put_int(out, "attempt", attempt->number);
    jr_json_put_str(out, "status", jr_run_status_word(attempt->status));
    jr_json_put_int(out, "exit_code", attempt->exit_code);
    jr_json_put_decimal(out, "started", attempt->started_wall_ns / MS, 3);
    jr_json_put_decimal(out, "seconds", lasted_ns / MS, 3);
    jr_json_put_str(out, "cause", attempt->cause);
    jr_json_put_decimal(out, "wait", attempt->wait_ms, 3);
    if (attempt->stepped)
        jr_json_put_int(out, "step", attempt->best);
    else
        jr_json_put_str(out, "step", NULL);
    jr_json_put_str(out, "requeued",
                    !attempt->requeued                      ? NULL
                    : attempt->continues == JR_REQUEUE_NONE ? "other"
                                                            : jr_requeue_word(attempt->continues));
    jr_buf_char(out, '}');
}

void jr_results_put_attempts(struct jr_buf *out, const struct jr_results_row *row,
                             const struct jr_results_run *run)
{
    jr_json_key(out, row->key);
    jr_buf_char(out, '[');
    for (size_t i = 0; i < run->report->earlier_count; i++) {
        jr_buf_str(out, i == 0 ? "" : ", ");
        put_attempt(out, &run->report->earlier[i]);
    }
    jr_buf_char(out, ']');
}

void jr_results_put_left_out(struct jr_buf *out, const struct jr_results_row *row,
                             const struct jr_results_run *run)
{
    jr_json_key(out, row->key);
    jr_buf_char(out, '[');
    for (size_t i = 0; i < run->report->left_out_count; i++) {
        const struct jr_lost_machine *machine = &run->report->left_out[i];
        jr_buf_str(out, i == 0 ? "{" : ", {");
        jr_json_put_str(out, "host", machine->host);
        jr_json_put_str(out, "reason", machine->reason);
        jr_buf_char(out, '}');
    }
    jr_buf_char(out, ']');
}

void jr_results_get_left_out(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                             const json_t *value)
{
    (void)row;
    size_t count = json_array_size(value);
    struct jr_lost_machine *machines = jr_arena_array(&loaded->arena, count, sizeof *machines);
    loaded->report.left_out = machines;
    loaded->report.left_out_count = machines == NULL ? 0 : count;
    for (size_t i = 0; i < loaded->report.left_out_count; i++) {
        const json_t *entry = json_array_get(value, i);
        const char *host = jr_json_get_str(entry, "host");
        const char *reason = jr_json_get_str(entry, "reason");
        machines[i] =
            (struct jr_lost_machine){host == NULL ? "" : host, reason == NULL ? "" : reason};
    }
}

static void get_attempt(struct jr_attempt *ret, const json_t *object)
{
    const char *status = jr_json_get_str(object, "status");
    const char *cause = jr_json_get_str(object, "cause");
    ret->number = jr_json_get_u32(object, "attempt");
    ret->cause = cause == NULL ? "" : cause;
    ret->started_wall_ns = jr_clock_ns_of(jr_json_get_real(object, "started"));
    ret->ended_ns = jr_clock_ns_of(jr_json_get_real(object, "seconds"));
    if (status != NULL)
        (void)jr_run_status_of(status, &ret->status);
    const json_t *step = json_object_get(object, "step");
    ret->exit_code = (int)jr_results_below(json_object_get(object, "exit_code"), UINT8_MAX + 1);
    ret->wait_ms = jr_clock_ns_of(jr_json_get_real(object, "wait")) / MS;
    ret->stepped = json_is_integer(step);
    ret->best = json_integer_value(step);
    ret->continues = jr_requeue_of(jr_json_get_str(object, "requeued"));
    ret->requeued = jr_json_get_str(object, "requeued") != NULL;
}

/* The times are those of a run that began at 0. */
void jr_results_get_attempts(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                             const json_t *value)
{
    (void)row;
    size_t count = json_array_size(value);
    struct jr_attempt *attempts = jr_arena_array(&loaded->arena, count, sizeof *attempts);
    loaded->report.earlier = attempts;
    loaded->report.earlier_count = attempts == NULL ? 0 : count;
    for (size_t i = 0; i < loaded->report.earlier_count; i++)
        get_attempt(&attempts[i], json_array_get(value, i));
}

void jr_results_put_idle(struct jr_buf *out, const struct jr_results_row *row,
                         const struct jr_results_run *run)
{
    jr_json_put_int(out, row->key, (json_int_t)run->report->idle);
}

void jr_results_get_idle(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                         const json_t *value)
{
    (void)row;
    loaded->report.idle = jr_results_below(value, UINT32_MAX);
}

void jr_results_put_stall(struct jr_buf *out, const struct jr_results_row *row,
                          const struct jr_results_run *run)
{
    const struct jr_stall *stall = &run->report->stall;
    if (stall->attempts == 0) {
        jr_json_put_str(out, row->key, NULL);
        return;
    }
    jr_json_key(out, row->key);
    jr_buf_char(out, '{');
    jr_json_put_int(out, "attempts", stall->attempts);
    if (stall->stepped)
        jr_json_put_int(out, "step", stall->step);
    else
        jr_json_put_str(out, "step", NULL);
    jr_buf_char(out, '}');
}

void jr_results_get_stall(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                          const json_t *value)
{
    (void)row;
    const json_t *step = json_object_get(value, "step");
    loaded->report.stall = (struct jr_stall){
        .attempts = jr_json_get_u32(value, "attempts"),
        .stepped = json_is_integer(step),
        .step = json_integer_value(step),
    };
}

void jr_results_put_requeue(struct jr_buf *out, const struct jr_results_row *row,
                            const struct jr_results_run *run)
{
    const struct jr_requeue_state *state = &run->report->requeue;
    if (state->cause == JR_REQUEUE_NONE && state->done == 0) {
        jr_json_put_str(out, row->key, NULL);
        return;
    }
    jr_json_key(out, row->key);
    jr_buf_char(out, '{');
    jr_json_put_str(out, "cause", jr_requeue_word(state->cause));
    jr_json_put_int(out, "requeues", state->done);
    jr_json_put_int(out, "max", state->max);
    jr_json_put_bool(out, "queued", state->queued);
    jr_buf_char(out, '}');
}

void jr_results_get_requeue(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                            const json_t *value)
{
    (void)row;
    loaded->report.requeue = (struct jr_requeue_state){
        .cause = jr_requeue_of(jr_json_get_str(value, "cause")),
        .done = jr_json_get_u32(value, "requeues"),
        .max = jr_json_get_u32(value, "max"),
        .queued = json_is_true(json_object_get(value, "queued")),
    };
}

void jr_results_put_not_again(struct jr_buf *out, const struct jr_results_row *row,
                              const struct jr_results_run *run)
{
    jr_json_put_str(out, row->key, run->report->not_again);
}

void jr_results_get_not_again(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                              const json_t *value)
{
    (void)row;
    loaded->report.not_again = json_string_value(value);
}

/* The progress of a run and of its ranks. */

void jr_results_put_progress(struct jr_buf *out, const struct jr_results_row *row,
                             const struct jr_results_run *run)
{
    json_t *object = jr_progress_json(run->outcome->progress);
    jr_json_key(out, row->key);
    jr_json_print(out, object, 0);
    json_decref(object);
}

void jr_results_get_progress(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                             const json_t *value)
{
    (void)row;
    if (!json_is_object(value))
        return;
    loaded->outcome.progress = jr_progress_new(loaded->plan.count);
    if (loaded->outcome.progress != NULL)
        jr_progress_get(loaded->outcome.progress, value);
}

void jr_results_put_rank_progress(struct jr_buf *out, const struct jr_results_rank *rank)
{
    const struct jr_progress *progress = rank->progress;
    if (progress == NULL || !progress->all || rank->i >= progress->count ||
        !progress->ranks[rank->i].any)
        return;
    json_t *object = jr_progress_rank_json(progress, &progress->ranks[rank->i]);
    jr_json_key(out, "progress");
    jr_json_print(out, object, 0);
    json_decref(object);
}

void jr_results_get_rank_progress(struct jr_loaded_run *loaded, size_t i, const json_t *value)
{
    struct jr_progress *progress = loaded->outcome.progress;
    if (progress != NULL && i < progress->count && json_is_object(value))
        jr_progress_get_rank(&progress->ranks[i], progress, value);
}
