/* The rate of a rank's latest steps: over which of them it is computed. */

#include "unit.h"
#include "store/step_rate.h"

#define SECOND_NS UINT64_C(1000000000)

/* A step at each of `count` moments, `ns` apart. */
static void add_steps(struct jr_step_window *window, uint64_t from_ns,
                      uint64_t ns, int64_t from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        jr_step_window_add(window, from_ns + i * ns, from + i);
}

static void nothing_has_no_rate(void)
{
    struct jr_step_window window = {0};
    bool whole = true;
    CU_ASSERT_EQUAL(jr_step_window_rate(&window, 7, SECOND_NS, &whole), 0);
    CU_ASSERT_FALSE(whole);
}

/* Neither time nor steps: there is no rate. */
static void one_moment_has_no_rate(void)
{
    static const struct {
        int64_t step;
        uint64_t ns;
        double rate;
    } vectors[] = {
        {5, SECOND_NS, 0},
        {6, SECOND_NS, 0},
        {5, 2 * SECOND_NS, 0},
        {4, 2 * SECOND_NS, 0},
        {6, 1, 0},
        {6, 2 * SECOND_NS, 1},
        {7, 2 * SECOND_NS, 2},
        {6, 3 * SECOND_NS, 0.5},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_step_window window = {0};
        bool whole = true;
        jr_step_window_add(&window, SECOND_NS, 5);
        CU_ASSERT_DOUBLE_EQUAL(jr_step_window_rate(&window, vectors[i].step,
                                                   vectors[i].ns, &whole),
                               vectors[i].rate, 1e-9);
        CU_ASSERT_FALSE(whole);
    }
}

/* It is whole over 5 seconds and 10 steps, both of them, and not before. */
static void is_whole_over_long_enough(void)
{
    static const struct {
        int64_t steps;
        uint64_t ns;
        bool whole;
    } vectors[] = {
        {9, 60 * SECOND_NS, false},  {1000, 5 * SECOND_NS - 1, false},
        {9, 5 * SECOND_NS, false},   {10, 5 * SECOND_NS, true},
        {1000, 5 * SECOND_NS, true}, {10, 60 * SECOND_NS, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_step_window window = {0};
        bool whole = !vectors[i].whole;
        jr_step_window_add(&window, SECOND_NS, 100);
        double rate = jr_step_window_rate(&window, 100 + vectors[i].steps,
                                          SECOND_NS + vectors[i].ns, &whole);
        CU_ASSERT_EQUAL(whole, vectors[i].whole);
        CU_ASSERT_DOUBLE_EQUAL(
            rate, (double)vectors[i].steps * 1e9 / (double)vectors[i].ns, 1e-6);
    }
}

/* The latest sample counts that is far enough behind: an earlier pace, and a
 * pause before it, do not. */
static void counts_what_was_of_late(void)
{
    struct jr_step_window window = {0};
    bool whole;
    add_steps(&window, SECOND_NS, 100 * SECOND_NS, 0, 5); /* slow */
    add_steps(&window, 1000 * SECOND_NS, SECOND_NS, 5, 11);
    double rate = jr_step_window_rate(&window, 15, 1010 * SECOND_NS, &whole);
    CU_ASSERT_TRUE(whole);
    CU_ASSERT_DOUBLE_EQUAL(rate, 1, 1e-9);
    rate = jr_step_window_rate(&window, 14, 1010 * SECOND_NS, &whole);
    CU_ASSERT_TRUE(whole); /* from the step before, far away */
    CU_ASSERT_DOUBLE_EQUAL(rate, 10.0 / 609, 1e-3);
}

/* Of more samples than it keeps, the oldest go, one by one. */
static void keeps_the_latest(void)
{
    for (uint32_t count = 1; count <= 3 * JR_STEP_SAMPLES; count++) {
        struct jr_step_window window = {0};
        bool whole;
        add_steps(&window, SECOND_NS, SECOND_NS, 0, count);
        CU_ASSERT_EQUAL(window.count,
                        count < JR_STEP_SAMPLES ? count : JR_STEP_SAMPLES);
        double rate =
            jr_step_window_rate(&window, count - 1, count * SECOND_NS, &whole);
        CU_ASSERT_EQUAL(whole, count > 10);
        CU_ASSERT_DOUBLE_EQUAL(rate, count > 1 ? 1 : 0, 1e-9);
    }
}

/* What comes within half a second of the last sample is none. */
static void takes_two_samples_a_second(void)
{
    static const struct {
        uint64_t ns;
        uint32_t count;
    } vectors[] = {
        {0, 1}, {SECOND_NS / 2 - 1, 1}, {SECOND_NS / 2, 2}, {SECOND_NS, 2}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_step_window window = {0};
        jr_step_window_add(&window, SECOND_NS, 1);
        jr_step_window_add(&window, SECOND_NS + vectors[i].ns, 2);
        CU_ASSERT_EQUAL(window.count, vectors[i].count);
        CU_ASSERT_EQUAL(window.next, vectors[i].count);
    }
}

/* A step before the last begins anew, however soon; the same one does not. */
static void begins_anew_with_a_step_back(void)
{
    struct jr_step_window window = {0};
    bool whole;
    add_steps(&window, SECOND_NS, SECOND_NS, 100, 40);
    jr_step_window_add(&window, 41 * SECOND_NS, 139);
    CU_ASSERT_EQUAL(window.count, JR_STEP_SAMPLES);
    jr_step_window_add(&window, 41 * SECOND_NS + 1, 138);
    CU_ASSERT_EQUAL(window.count, 1);
    CU_ASSERT_EQUAL(window.next, 1);
    double rate = jr_step_window_rate(&window, 140, 43 * SECOND_NS + 1, &whole);
    CU_ASSERT_FALSE(whole);
    CU_ASSERT_DOUBLE_EQUAL(rate, 1, 1e-9);
}

JR_UNIT_MAIN("step_window", CASE(nothing_has_no_rate),
             CASE(one_moment_has_no_rate), CASE(is_whole_over_long_enough),
             CASE(counts_what_was_of_late), CASE(keeps_the_latest),
             CASE(takes_two_samples_a_second),
             CASE(begins_anew_with_a_step_back))
