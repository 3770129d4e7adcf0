/* timeouts.first_step and timeouts.progress. */

#include "unit.h"
#include "store/step_tracker.h"

#define S UINT64_C(1000000000)

struct bench {
    struct jr_policy policy;
    struct jr_plan_rank ranks[2];
    struct jr_plan plan;
    struct jr_progress *progress;
    struct jr_step_tracker tracker;
    struct jr_step_limit limit;
    uint64_t at;
};

static void begin(struct bench *bench, uint64_t first_s, uint64_t next_s)
{
    *bench = (struct bench){.progress = jr_progress_new(2)};
    bench->policy.progress.ranks = (char *)"all";
    bench->policy.timeouts.first_step_ms = first_s * 1000;
    bench->policy.timeouts.progress_ms = next_s * 1000;
    bench->ranks[1].rank = 1;
    bench->plan = (struct jr_plan){
        .policy = &bench->policy, .ranks = bench->ranks, .world_size = 2, .count = 2};
    CU_ASSERT_EQUAL_FATAL(
        jr_step_tracker_open(&bench->tracker, &bench->plan, bench->progress, -1, 0600), 0);
}

static void end(struct bench *bench)
{
    jr_step_tracker_close(&bench->tracker, 1);
    jr_progress_free(bench->progress);
}

static void tell(struct bench *bench, uint32_t i, int64_t step, uint64_t ns)
{
    jr_step_tracker_tell(&bench->tracker,
                         &(struct jr_step_report){.i = i, .has_step = true, .step = step}, ns, 1);
    bench->at = jr_step_limit_told(&bench->limit, &bench->tracker, bench->at, ns);
}

static enum jr_step_overrun look(struct bench *bench, uint64_t ns)
{
    return jr_step_limit_look(&bench->limit, &bench->tracker, 10 * S, ns, &bench->at);
}

static void waits_for_the_first_step_of_each(void)
{
    struct bench bench;
    begin(&bench, 5, 0);
    CU_ASSERT_EQUAL(look(&bench, 11 * S), JR_STEP_OVERRUN_NONE);
    CU_ASSERT_EQUAL(bench.at, 15 * S);
    tell(&bench, 0, 0, 12 * S);
    CU_ASSERT_EQUAL(look(&bench, 15 * S - 1), JR_STEP_OVERRUN_NONE);
    CU_ASSERT_EQUAL(look(&bench, 15 * S), JR_STEP_OVERRUN_FIRST);
    tell(&bench, 1, 0, 15 * S);
    CU_ASSERT_EQUAL(look(&bench, 90 * S), JR_STEP_OVERRUN_NONE);
    CU_ASSERT_EQUAL(bench.at, 0);
    end(&bench);
}

static void counts_from_the_furthest_step(void)
{
    struct bench bench;
    begin(&bench, 0, 5);
    CU_ASSERT_EQUAL(look(&bench, 11 * S), JR_STEP_OVERRUN_NONE);
    CU_ASSERT_EQUAL(bench.at, 0);
    tell(&bench, 0, 1, 20 * S);
    CU_ASSERT_EQUAL(bench.at, 25 * S);
    tell(&bench, 1, 1, 21 * S);
    /* Only one of them goes on, and one goes back. */
    tell(&bench, 0, 9, 24 * S);
    tell(&bench, 1, 0, 25 * S);
    CU_ASSERT_EQUAL(look(&bench, 26 * S - 1), JR_STEP_OVERRUN_NONE);
    CU_ASSERT_EQUAL(bench.at, 26 * S);
    CU_ASSERT_EQUAL(look(&bench, 26 * S), JR_STEP_OVERRUN_NEXT);
    tell(&bench, 1, 2, 26 * S);
    CU_ASSERT_EQUAL(look(&bench, 26 * S), JR_STEP_OVERRUN_NONE);
    CU_ASSERT_EQUAL(bench.at, 31 * S);
    /* Who has ended is not waited for. */
    jr_step_tracker_end(&bench.tracker, 1, 27 * S);
    CU_ASSERT_EQUAL(look(&bench, 31 * S), JR_STEP_OVERRUN_NONE);
    jr_step_tracker_end(&bench.tracker, 0, 32 * S);
    CU_ASSERT_EQUAL(look(&bench, 90 * S), JR_STEP_OVERRUN_NONE);
    CU_ASSERT_EQUAL(bench.at, 0);
    end(&bench);
}

static void stands_still_with_the_ranks(void)
{
    struct bench bench;
    begin(&bench, 0, 5);
    tell(&bench, 0, 1, 20 * S);
    tell(&bench, 1, 1, 21 * S);
    jr_step_limit_pause(&bench.limit, &bench.tracker, 10 * S, 100 * S);
    CU_ASSERT_EQUAL(look(&bench, 125 * S), JR_STEP_OVERRUN_NONE);
    CU_ASSERT_EQUAL(look(&bench, 126 * S), JR_STEP_OVERRUN_NEXT);
    end(&bench);
}

JR_UNIT_MAIN("step_limit", CASE(waits_for_the_first_step_of_each),
             CASE(counts_from_the_furthest_step), CASE(stands_still_with_the_ranks))
