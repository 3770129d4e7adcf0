/* The steps of a node's ranks, told to the controller. */
#include "store/step_message.h"

#include <math.h>

#include "base/clock.h"
#include "unit.h"

enum { RANKS = 4 };

struct end {
    struct jr_policy policy;
    struct jr_plan_rank ranks[RANKS];
    struct jr_plan plan;
    struct jr_progress *progress;
    struct jr_step_tracker tracker;
};

static void begin(struct end *end, uint32_t first, uint32_t count)
{
    *end = (struct end){.progress = jr_progress_new(count)};
    end->policy.progress.ranks = (char *)"all";
    for (uint32_t i = 0; i < RANKS; i++)
        end->ranks[i].rank = i;
    end->plan = (struct jr_plan){.policy = &end->policy,
                                 .ranks = end->ranks,
                                 .world_size = RANKS,
                                 .first = first,
                                 .count = count};
    CU_ASSERT_EQUAL_FATAL(jr_step_tracker_open(&end->tracker, &end->plan, end->progress, -1, 0600),
                          0);
}

static void finish(struct end *end)
{
    jr_step_tracker_close(&end->tracker, 1);
    jr_progress_free(end->progress);
}

static const uint32_t node[2] = {2, 4};

static void brings_steps_across(void)
{
    struct end from, to;
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    begin(&from, 2, 2);
    begin(&to, 0, RANKS);
    to.tracker.relayed = true;
    const struct jr_step_report report = {.i = 1,
                                          .has_step = true,
                                          .step = 120,
                                          .of = 1000,
                                          .metrics = {{"loss", 4, 0.25}, {"acc", 3, (double)NAN}},
                                          .count = 2};
    uint64_t now = jr_clock_ns();
    jr_step_tracker_tell(&from.tracker, &report, now + 5000, 1);
    jr_step_message_put(&line, &from.tracker, 1);
    CU_ASSERT_TRUE(jr_step_message_take(&to.tracker, line.data, line.len, node, 5000));
    const struct jr_steps *steps = &to.progress->ranks[3];
    CU_ASSERT_TRUE(steps->any && steps->step == 120 && steps->of == 1000);
    CU_ASSERT_EQUAL(steps->ns, now);
    uint32_t loss = jr_progress_metric(to.progress, "loss", 4);
    uint32_t acc = jr_progress_metric(to.progress, "acc", 3);
    CU_ASSERT_TRUE(steps->values[loss] > 0.24 && steps->values[loss] < 0.26);
    CU_ASSERT_TRUE(isnan(steps->values[acc]));
    /* A clock that is ahead makes no future. */
    CU_ASSERT_TRUE(jr_step_message_take(&to.tracker, line.data, line.len, node, -1000000000000));
    CU_ASSERT_TRUE(steps->ns <= jr_clock_ns());
    finish(&from);
    finish(&to);
}

/* A rank that went back since the last message had come further meanwhile: that counts, from when
 * it is told, and a later step before it changes nothing. */
static void brings_the_furthest_step_across(void)
{
    static const struct {
        int step, best, expected;
        bool later; /* it is a step forward of its own time */
    } vectors[] = {{30, 30, 30, true},
                   {5, 40, 40, true},
                   {7, 40, 40, false},
                   {8, 20, 40, false},
                   {41, 0, 41, true}};
    struct end to;
    begin(&to, 0, RANKS);
    to.tracker.relayed = true;
    uint64_t begun = jr_clock_ns(), best_ns = 0;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char line[160];
        uint64_t ns = begun - 1000 + i;
        int len = snprintf(line, sizeof line,
                           "{\"steps_of\": 3, \"step\": %d, \"best\": %d, \"ns\": %llu}",
                           vectors[i].step, vectors[i].best, (unsigned long long)ns);
        CU_ASSERT_TRUE(jr_step_message_take(&to.tracker, line, (size_t)len, node, 0));
        best_ns = vectors[i].later ? ns : best_ns;
        const struct jr_steps *steps = &to.progress->ranks[3];
        CU_ASSERT_EQUAL(steps->step, vectors[i].step);
        CU_ASSERT_EQUAL(steps->best, vectors[i].expected);
        CU_ASSERT_EQUAL(steps->best_ns, best_ns);
        CU_ASSERT_EQUAL(steps->ns, ns);
    }
    finish(&to);
}

static void brings_warnings_across(void)
{
    struct end to;
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    begin(&to, 0, RANKS);
    to.tracker.relayed = true;
    jr_step_message_put_warning(&line,
                                &(struct jr_step_warning){JR_STEP_PROBLEM_FILE, 3, 2, "x \"y\""});
    for (int i = 0; i < 2; i++)
        CU_ASSERT_TRUE(jr_step_message_take(&to.tracker, line.data, line.len, node, 0));
    CU_ASSERT_EQUAL_FATAL(to.progress->warnings_count, 1);
    CU_ASSERT_EQUAL(to.progress->warnings[0].count, 4);
    JR_ASSERT_TEXT(to.progress->warnings[0].text, "x \"y\"");
    finish(&to);
}

static void takes_nothing_else(void)
{
    static const char *const lines[] = {"",
                                        "{}",
                                        "[]",
                                        "x",
                                        "{\"event\": \"stop\"}",
                                        "{\"steps_of\": 1, \"step\": 5}",
                                        "{\"steps_of\": 4, \"step\": 5}",
                                        "{\"steps_of\": -1, \"step\": 5}",
                                        "{\"steps_of\": \"3\", \"step\": 5}",
                                        "{\"warning_of\": 9, \"problem\": 1, \"text\": \"\"}"};
    struct end to;
    begin(&to, 0, RANKS);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        CU_ASSERT_FALSE(jr_step_message_take(&to.tracker, lines[i], strlen(lines[i]), node, 0));
    static const char odd[] = "{\"warning_of\": 3, \"problem\": 99, \"text\": \"\"}";
    (void)jr_step_message_take(&to.tracker, odd, sizeof odd - 1, node, 0);
    CU_ASSERT_FALSE(jr_progress_is_told(to.progress));
    finish(&to);
}

JR_UNIT_MAIN("step_message", CASE(brings_steps_across), CASE(brings_the_furthest_step_across),
             CASE(brings_warnings_across), CASE(takes_nothing_else))
