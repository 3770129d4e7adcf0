/* The attempts before the one that decided: in results.json, read from there
 * again, and told. */
#include "record/earlier_attempts.h"

#include "base/clock.h"
#include "judge/restart.h"
#include "judge/words.h"

#include "base/banned.h"

#define MS UINT64_C(1000000)

uint64_t jr_judgement_began_ns(const struct jr_judgement *report,
                               const struct jr_outcome *outcome)
{
    return report->earlier_count > 0 ? report->earlier[0].started_ns
                                     : outcome->started_ns;
}

uint64_t jr_judgement_began_wall_ns(const struct jr_judgement *report,
                                    const struct jr_outcome *outcome)
{
    return report->earlier_count > 0 ? report->earlier[0].started_wall_ns
                                     : outcome->started_wall_ns;
}

static void add_attempt(struct jr_buf *out, const struct jr_attempt *attempt)
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
    jr_buf_char(out, '}');
}

void jr_earlier_json(struct jr_buf *out, const struct jr_judgement *report)
{
    jr_buf_char(out, '[');
    for (size_t i = 0; i < report->earlier_count; i++) {
        jr_buf_str(out, i == 0 ? "" : ", ");
        add_attempt(out, &report->earlier[i]);
    }
    jr_buf_char(out, ']');
}

static uint64_t json_seconds_ns(const json_t *object, const char *key)
{
    return jr_clock_ns_of(jr_json_get_real(object, key));
}

void jr_earlier_load(struct jr_judgement *ret, struct jr_arena *arena,
                     const json_t *array)
{
    size_t count = json_array_size(array);
    struct jr_attempt *attempts =
        jr_arena_array(arena, count, sizeof *attempts);
    ret->earlier = attempts;
    ret->earlier_count = attempts == NULL ? 0 : count;
    for (size_t i = 0; i < ret->earlier_count; i++) {
        const json_t *object = json_array_get(array, i);
        const char *status = jr_json_get_str(object, "status");
        const char *cause = jr_json_get_str(object, "cause");
        attempts[i].number = jr_json_get_u32(object, "attempt");
        attempts[i].cause = cause == NULL ? "" : cause;
        attempts[i].started_wall_ns = json_seconds_ns(object, "started");
        attempts[i].ended_ns = json_seconds_ns(object, "seconds");
        if (status != NULL)
            (void)jr_run_status_of(status, &attempts[i].status);
    }
}
