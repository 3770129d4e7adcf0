/* Ranks that are slower than the others by half: who is named, once, and what is said. */

#include "store/step_rate.h"
#include "unit.h"

enum { MOST = 24 };
#define SECOND_NS UINT64_C(1000000000)
#define NOW_NS    (1000 * SECOND_NS)

struct bench {
    struct jr_policy policy;
    struct jr_plan_rank ranks[MOST];
    char *hosts[2];
    struct jr_plan plan;
    struct jr_progress *progress;
    struct jr_step_tracker tracker;
};

static struct bench bench;

/* So many ranks, of which all are watched. */
static void begin(uint32_t count)
{
    bench = (struct bench){.progress = jr_progress_new(count)};
    bench.hosts[0] = (char *)"gpu7";
    bench.policy.progress.ranks = (char *)"all";
    for (uint32_t i = 0; i < count; i++)
        bench.ranks[i] = (struct jr_plan_rank){.rank = i, .device = "2"};
    bench.plan = (struct jr_plan){.policy = &bench.policy,
                                  .ranks = bench.ranks,
                                  .hosts = bench.hosts,
                                  .world_size = count,
                                  .count = count};
    CU_ASSERT_EQUAL_FATAL(
        jr_step_tracker_open(&bench.tracker, &bench.plan, bench.progress, -1, 0600), 0);
}

static void end(void)
{
    jr_step_tracker_close(&bench.tracker, NOW_NS);
    jr_progress_free(bench.progress);
}

/* A rank has made `steps` in the last 100 seconds. */
static void pace(uint32_t i, int64_t steps)
{
    struct jr_steps *rank = &bench.progress->ranks[i];
    jr_step_window_add(&bench.tracker.windows[i], NOW_NS - 100 * SECOND_NS, 0);
    rank->any = true;
    rank->step = rank->best = steps;
}

/* Who is named, by the ranks: "1 3 ". */
static const char *named(void)
{
    static char text[128];
    text[0] = '\0';
    for (uint32_t i = 0; i < bench.plan.count; i++)
        if (bench.progress->ranks[i].straggler)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%u ", i);
    return text;
}

/* Less than half of the median, which is between both where ranks are even. */
static void compares_with_the_median(void)
{
    static const struct {
        int64_t steps[6]; /* 0: there is no such rank */
        const char *named;
    } vectors[] = {
        {{100}, ""},
        {{100, 100}, ""},
        {{100, 40}, ""}, /* of 70 the half is 35 */
        {{100, 33}, "1 "},
        {{100, 34}, ""},
        {{100, 100, 50}, ""},
        {{100, 100, 49}, "2 "},
        {{49, 100, 100}, "0 "},
        {{100, 49, 400}, "1 "},
        {{20, 30, 100, 100, 100}, "0 1 "},
        {{10, 10, 10, 100, 100}, ""},
        {{100, 100, 20, 20}, "2 3 "}, /* of 60 the half is 30 */
        {{100, 100, 34, 34}, ""},
        {{400, 100, 100, 49}, "3 "},
        {{60, 60, 60, 100, 100, 20}, "5 "},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint32_t count = 0;
        while (count < 6 && vectors[i].steps[count] != 0)
            count++;
        begin(count);
        for (uint32_t k = 0; k < count; k++)
            pace(k, vectors[i].steps[k]);
        jr_stragglers_find(&bench.tracker, NOW_NS);
        JR_ASSERT_TEXT(named(), vectors[i].named);
        CU_ASSERT_EQUAL(bench.tracker.checked_ns, NOW_NS);
        end();
    }
}

/* Who has ended, is not watched, or of whom too little is known, is neither named nor compared
 * with. */
static void compares_who_takes_part(void)
{
    for (int how = 0; how < 5; how++) {
        begin(4);
        for (uint32_t i = 0; i < 4; i++)
            pace(i, i == 3 ? 10 : 100);
        struct jr_steps *slow = &bench.progress->ranks[3];
        slow->ended = how == 1;
        slow->any = how != 2;
        bench.tracker.watched[3] = how != 3;
        if (how == 4)
            slow->best = slow->step = 9; /* not ten steps yet */
        jr_stragglers_find(&bench.tracker, NOW_NS);
        JR_ASSERT_TEXT(named(), how == 0 ? "3 " : "");
        CU_ASSERT_EQUAL(bench.progress->warnings_count, how == 0);
        end();
    }
}

/* Where all but one have ended there is nobody to compare with. */
static void one_rank_is_no_straggler(void)
{
    begin(3);
    for (uint32_t i = 0; i < 3; i++) {
        pace(i, i == 2 ? 10 : 100);
        bench.progress->ranks[i].ended = i != 2;
    }
    jr_stragglers_find(&bench.tracker, NOW_NS);
    JR_ASSERT_TEXT(named(), "");
    end();
}

/* The warning names the rank, where it runs, and both rates. */
static void says_where_it_is_slow(void)
{
    static const struct {
        const char *host, *device;
        bool hosts;
        const char *text;
    } vectors[] = {
        {"gpu7", "2", true, "rank 2 (gpu7, device 2) is slow: 0.1 steps/s, while the median is 1"},
        {"gpu7", NULL, true, "rank 2 (gpu7) is slow: 0.1 steps/s, while the median is 1"},
        {NULL, "2", true,
         "rank 2 (this host, device 2) is slow: 0.1 steps/s, while the median is 1"},
        {"gpu7", NULL, false, "rank 2 (this host) is slow: 0.1 steps/s, while the median is 1"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        begin(3);
        bench.hosts[1] = (char *)vectors[i].host;
        bench.hosts[0] = (char *)"other";
        bench.ranks[2].node_rank = 1;
        bench.ranks[2].device = vectors[i].device;
        bench.plan.hosts = vectors[i].hosts ? bench.hosts : NULL;
        for (uint32_t k = 0; k < 3; k++)
            pace(k, k == 2 ? 10 : 100);
        jr_stragglers_find(&bench.tracker, NOW_NS);
        CU_ASSERT_EQUAL_FATAL(bench.progress->warnings_count, 1);
        const struct jr_step_warning *warning = &bench.progress->warnings[0];
        JR_ASSERT_TEXT(warning->text, vectors[i].text);
        CU_ASSERT_EQUAL(warning->problem, JR_STEP_PROBLEM_STRAGGLER);
        CU_ASSERT_EQUAL(warning->rank, 2);
        CU_ASSERT_EQUAL(warning->count, 1);
        CU_ASSERT_TRUE(bench.tracker.changed);
        end();
    }
}

/* Of a node's ranks the numbers are the job's. */
static void knows_its_ranks_numbers(void)
{
    begin(6);
    bench.plan.first = 3;
    bench.plan.count = 3;
    for (uint32_t i = 0; i < 3; i++)
        pace(i, i == 1 ? 10 : 100);
    jr_stragglers_find(&bench.tracker, NOW_NS);
    CU_ASSERT_EQUAL(bench.progress->warnings_count, 1);
    CU_ASSERT_EQUAL(bench.progress->warnings[0].rank, 4);
    CU_ASSERT_EQUAL(strncmp(bench.progress->warnings[0].text, "rank 4 ", 7), 0);
    bench.plan.first = 0;
    end();
}

/* Each is named once, and eight of them at most. */
static void names_each_once(void)
{
    begin(MOST);
    for (uint32_t i = 0; i < MOST; i++)
        pace(i, i < 10 ? 10 : 100);
    jr_stragglers_find(&bench.tracker, NOW_NS);
    CU_ASSERT_EQUAL(bench.progress->warnings_count, 8);
    CU_ASSERT_EQUAL(bench.progress->warnings[7].rank, 7);
    JR_ASSERT_TEXT(named(), "0 1 2 3 4 5 6 7 8 9 ");
    jr_stragglers_find(&bench.tracker, NOW_NS);
    CU_ASSERT_EQUAL(bench.progress->warnings_count, 8);
    end();
}

/* Other warnings take none of their places, but there is a bound for all. */
static void leaves_room_for_other_warnings(void)
{
    begin(3);
    for (uint32_t i = 0; i < JR_STEP_WARNINGS - 1; i++)
        bench.progress->warnings[i].problem = JR_STEP_PROBLEM_LINE;
    bench.progress->warnings_count = JR_STEP_WARNINGS - 1;
    pace(0, 10);
    for (uint32_t i = 1; i < 3; i++)
        pace(i, 100);
    jr_stragglers_find(&bench.tracker, NOW_NS);
    CU_ASSERT_EQUAL(bench.progress->warnings_count, JR_STEP_WARNINGS);
    bench.progress->ranks[0].straggler = false;
    jr_stragglers_find(&bench.tracker, NOW_NS);
    CU_ASSERT_EQUAL(bench.progress->warnings_count, JR_STEP_WARNINGS);
    end();
}

/* The rate of a rank's latest steps: over which of them it is computed. */

/* A step at each of `count` moments, `ns` apart. */
static void add_steps(struct jr_step_window *window, uint64_t from_ns, uint64_t ns, int64_t from,
                      uint32_t count)
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
        {5, SECOND_NS, 0}, {6, SECOND_NS, 0},     {5, 2 * SECOND_NS, 0}, {4, 2 * SECOND_NS, 0},
        {6, 1, 0},         {6, 2 * SECOND_NS, 1}, {7, 2 * SECOND_NS, 2}, {6, 3 * SECOND_NS, 0.5},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_step_window window = {0};
        bool whole = true;
        jr_step_window_add(&window, SECOND_NS, 5);
        CU_ASSERT_DOUBLE_EQUAL(jr_step_window_rate(&window, vectors[i].step, vectors[i].ns, &whole),
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
        {9, 60 * SECOND_NS, false}, {1000, 5 * SECOND_NS - 1, false}, {9, 5 * SECOND_NS, false},
        {10, 5 * SECOND_NS, true},  {1000, 5 * SECOND_NS, true},      {10, 60 * SECOND_NS, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_step_window window = {0};
        bool whole = !vectors[i].whole;
        jr_step_window_add(&window, SECOND_NS, 100);
        double rate =
            jr_step_window_rate(&window, 100 + vectors[i].steps, SECOND_NS + vectors[i].ns, &whole);
        CU_ASSERT_EQUAL(whole, vectors[i].whole);
        CU_ASSERT_DOUBLE_EQUAL(rate, (double)vectors[i].steps * 1e9 / (double)vectors[i].ns, 1e-6);
    }
}

/* The latest sample counts that is far enough behind: an earlier pace, and a pause before it, do
 * not. */
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
        CU_ASSERT_EQUAL(window.count, count < JR_STEP_SAMPLES ? count : JR_STEP_SAMPLES);
        double rate = jr_step_window_rate(&window, count - 1, count * SECOND_NS, &whole);
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
    } vectors[] = {{0, 1}, {SECOND_NS / 2 - 1, 1}, {SECOND_NS / 2, 2}, {SECOND_NS, 2}};
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

JR_UNIT_MAIN("step_rate", CASE(compares_with_the_median), CASE(compares_who_takes_part),
             CASE(one_rank_is_no_straggler), CASE(says_where_it_is_slow),
             CASE(knows_its_ranks_numbers), CASE(names_each_once),
             CASE(leaves_room_for_other_warnings), CASE(nothing_has_no_rate),
             CASE(one_moment_has_no_rate), CASE(is_whole_over_long_enough),
             CASE(counts_what_was_of_late), CASE(keeps_the_latest),
             CASE(takes_two_samples_a_second), CASE(begins_anew_with_a_step_back))
