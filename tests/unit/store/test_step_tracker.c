/* The progress of a job from what its ranks tell: their steps, rates and limits, and how they are
 * told to the controller of several nodes. */
#include "store/step_tracker.h"

#include <math.h>

#include "base/clock.h"
#include "base/io.h"
#include "scratch.h"

enum { RANKS = 3, MOST = 24 };
#define S      UINT64_C(1000000000)
#define NOW_NS (1000 * S)

struct bench {
    struct scratch scratch;
    struct jr_policy policy;
    struct jr_plan_rank ranks[MOST];
    char *hosts[2];
    struct jr_plan plan;
    struct jr_progress *progress;
    struct jr_step_tracker tracker;
    struct jr_step_limit limit;
    uint64_t at;
};

/* So many ranks from `first` on, of which those of the list are watched. */
static void begin(struct bench *bench, const char *ranks, uint32_t first, uint32_t count)
{
    *bench = (struct bench){.progress = jr_progress_new(count)};
    scratch_start(&bench->scratch);
    bench->hosts[0] = (char *)"gpu7";
    bench->policy.progress.ranks = (char *)ranks;
    for (uint32_t i = 0; i < first + count; i++)
        bench->ranks[i] = (struct jr_plan_rank){.rank = i, .device = "2"};
    bench->plan = (struct jr_plan){.policy = &bench->policy,
                                   .ranks = bench->ranks,
                                   .hosts = bench->hosts,
                                   .world_size = first + count,
                                   .first = first,
                                   .count = count};
    CU_ASSERT_EQUAL_FATAL(jr_step_tracker_open(&bench->tracker, &bench->plan, bench->progress,
                                               bench->scratch.fd, 0600),
                          0);
}

static void end(struct bench *bench)
{
    jr_step_tracker_close(&bench->tracker, S);
    jr_progress_free(bench->progress);
    scratch_end(&bench->scratch);
}

/* For the rest of the block. */
#define BENCH(name, ranks, first, count)                                                           \
    struct bench name RELEASE(end);                                                                \
    begin(&name, ranks, first, count)

static void tell(struct bench *bench, uint32_t i, int64_t step, uint64_t ns)
{
    const struct jr_step_report report = {.i = i,
                                          .has_step = true,
                                          .step = step,
                                          .metrics = {{"loss", 4, (double)step / 10}},
                                          .count = 1};
    jr_step_tracker_tell(&bench->tracker, &report, ns, UINT64_C(1700000000) * S + ns);
}

TEST(follows_rank_0)
{
    BENCH(bench, NULL, 0, RANKS);
    bench.policy.progress.of = 100;
    const struct jr_steps *job = &bench.progress->job;
    CU_ASSERT_TRUE(jr_step_tracker_lacks_first(&bench.tracker));
    tell(&bench, 1, 50, 1 * S);
    CU_ASSERT_FALSE(job->any);
    for (int64_t step = 0; step <= 20; step++)
        tell(&bench, 0, step, (uint64_t)(10 + step) * S);
    CU_ASSERT_FALSE(jr_step_tracker_lacks_first(&bench.tracker));
    CU_ASSERT_TRUE(job->any && !bench.progress->all && job->step == 20 && job->of == 100);
    CU_ASSERT_TRUE(job->rate > 0.999 && job->rate < 1.001);
    uint64_t left;
    CU_ASSERT_TRUE(jr_steps_left(job, &left));
    CU_ASSERT_TRUE(left > 79 * S && left < 81 * S);
    CU_ASSERT_EQUAL(job->best_ns, 30 * S);
    /* Backwards: it is told, and is no step forward. */
    tell(&bench, 0, 5, 31 * S);
    CU_ASSERT_TRUE(job->step == 5 && job->best == 20 && job->best_ns == 30 * S);
    tell(&bench, 0, 4, 32 * S);
    CU_ASSERT_EQUAL_FATAL(bench.progress->warnings_count, 1);
    JR_ASSERT_TEXT(bench.progress->warnings[0].text, "rank 0 went back from step 20 to step 5");
    CU_ASSERT_EQUAL(bench.progress->warnings[0].count, 2);
    jr_step_tracker_end(&bench.tracker, 0, 33 * S);
    CU_ASSERT_FALSE(jr_step_tracker_goes_on(&bench.tracker));
}

TEST(tells_the_slowest)
{
    BENCH(bench, "all", 0, RANKS);
    const struct jr_steps *job = &bench.progress->job;
    tell(&bench, 0, 10, 1 * S);
    tell(&bench, 1, 7, 2 * S);
    CU_ASSERT_TRUE(jr_step_tracker_lacks_first(&bench.tracker));
    tell(&bench, 2, 9, 3 * S);
    CU_ASSERT_TRUE(!jr_step_tracker_lacks_first(&bench.tracker) && bench.progress->all);
    CU_ASSERT_EQUAL(job->step, 7);
    CU_ASSERT_TRUE(bench.progress->slowest == 1 && bench.progress->behind == 3);
    /* The job is no further while the slowest is not. */
    tell(&bench, 0, 30, 5 * S);
    CU_ASSERT_TRUE(job->best == 7 && job->best_ns <= 3 * S);
    tell(&bench, 1, 8, 6 * S);
    CU_ASSERT_TRUE(job->best == 8 && job->best_ns == 6 * S);
    /* One that has ended holds nobody up. */
    jr_step_tracker_end(&bench.tracker, 1, 7 * S);
    CU_ASSERT_EQUAL(job->step, 9);
    CU_ASSERT_EQUAL(bench.progress->slowest, 2);
    /* Steps between two looks at all ranks are seen at the next. */
    tell(&bench, 2, 40, 7 * S + 1);
    jr_step_tracker_sum(&bench.tracker, 8 * S);
    CU_ASSERT_EQUAL(job->step, 30);
    CU_ASSERT_TRUE(jr_step_tracker_goes_on(&bench.tracker));
}

/* Whoever ends after the last look changes whose step is the job's, too. */
TEST(the_last_that_ends_changes_the_jobs_step)
{
    BENCH(bench, "all", 0, RANKS);
    tell(&bench, 0, 9, 1 * S);
    tell(&bench, 1, 6, 1 * S);
    tell(&bench, 2, 7, 1 * S);
    jr_step_tracker_end(&bench.tracker, 0, 1 * S + 1);
    jr_step_tracker_end(&bench.tracker, 1, 1 * S + 2);
    jr_step_tracker_flush(&bench.tracker, 2 * S);
    CU_ASSERT_EQUAL(bench.progress->job.step, 7);
    jr_step_tracker_end(&bench.tracker, 2, 2 * S + 1);
    jr_step_tracker_flush(&bench.tracker, 2 * S + 2);
    CU_ASSERT_TRUE(bench.progress->job.step == 6 && bench.progress->slowest == 1);
}

TEST(names_stragglers)
{
    BENCH(bench, "all", 0, RANKS);
    for (uint64_t second = 0; second < 60; second++)
        for (uint32_t i = 0; i < RANKS; i++)
            if (i != 2 || second % 4 == 0)
                tell(&bench, i, (int64_t)(i == 2 ? second / 4 : second), (second + 1) * S);
    CU_ASSERT_EQUAL_FATAL(bench.progress->warnings_count, 1);
    CU_ASSERT_EQUAL(bench.progress->warnings[0].problem, JR_STEP_PROBLEM_STRAGGLER);
    CU_ASSERT_EQUAL(bench.progress->warnings[0].rank, 2);
    static const char words[] = "rank 2 (gpu7, device 2) is slow: 0.2";
    CU_ASSERT_EQUAL(strncmp(bench.progress->warnings[0].text, words, sizeof words - 1), 0);
}

/* Equal ranks are none, and neither are those of which little is known. */
TEST(names_no_other_rank)
{
    BENCH(bench, "all", 0, RANKS);
    for (uint64_t second = 0; second < 60; second++)
        for (uint32_t i = 0; i < RANKS; i++)
            tell(&bench, i, (int64_t)second, second * S + i * S / 4 + 1);
    CU_ASSERT_EQUAL(bench.progress->warnings_count, 0);
    BENCH(young, "all", 0, RANKS);
    for (uint32_t i = 0; i < RANKS; i++)
        for (int64_t step = 0; step < 9; step++)
            tell(&young, i, step, (uint64_t)(step * (i + 1)) * S + i + 1);
    CU_ASSERT_EQUAL(young.progress->warnings_count, 0);
}

TEST(leaves_out_too_many_metrics)
{
    BENCH(bench, NULL, 0, RANKS);
    for (int i = 0; i < 40; i++) {
        char name[16];
        int len = snprintf(name, sizeof name, "m%d", i);
        const struct jr_step_report report = {
            .has_step = true, .step = i, .metrics = {{name, (size_t)len, 1}}, .count = 1};
        jr_step_tracker_tell(&bench.tracker, &report, S + (uint64_t)i, S);
    }
    CU_ASSERT_EQUAL(bench.progress->names_count, JR_METRICS_MOST);
    CU_ASSERT_EQUAL(bench.progress->job.step, 39);
    CU_ASSERT_EQUAL_FATAL(bench.progress->warnings_count, 1);
    CU_ASSERT_EQUAL(bench.progress->warnings[0].count, 8);
    /* A name that a terminal would obey is none. */
    CU_ASSERT_EQUAL(jr_progress_metric(bench.progress, "\x1b[2J", 4), JR_METRICS_MOST);
}

TEST(writes_and_reads_progress)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, words = JR_BUF_INIT;
    BENCH(bench, "0-1", 0, RANKS);
    bench.policy.progress.of = 10;
    tell(&bench, 0, 3, 1 * S);
    tell(&bench, 1, 1, 2 * S);
    jr_step_tracker_flush(&bench.tracker, 3 * S);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, bench.scratch.fd, "progress.json", 4096, NULL), 0);
    CU_ASSERT_TRUE_FATAL(text.len > 0 && text.data[text.len - 1] == '\n');
    json_t *object = jr_json_parse(text.data, text.len, NULL);
    struct jr_progress *got = jr_progress_new(0);
    jr_progress_get(got, object);
    CU_ASSERT_TRUE(got->job.any && got->all && got->job.step == 1 && got->job.of == 10);
    CU_ASSERT_TRUE(got->slowest == 1 && got->behind == 2);
    jr_progress_words(&words, got, true, true);
    JR_ASSERT_TEXT(words.data, "step 1 of 10, loss 0.3; rank 1 is 2 behind");
    json_t *again = jr_progress_json(got);
    json_object_del(object, "ranks");
    CU_ASSERT_TRUE(json_equal(object, again));
    json_decref(again);
    json_decref(object);
    jr_progress_free(got);
}

/* A full disk, or what is in the way, costs a warning. */
TEST(warns_of_files_that_cannot_be_written)
{
    BENCH(bench, NULL, 0, RANKS);
    scratch_write(&bench.scratch, "metrics.jsonl", "theirs");
    tell(&bench, 0, 1, S);
    jr_step_tracker_flush(&bench.tracker, S);
    tell(&bench, 0, 2, 3 * S);
    jr_step_tracker_flush(&bench.tracker, 3 * S);
    CU_ASSERT_EQUAL(bench.progress->job.step, 2);
    CU_ASSERT_EQUAL_FATAL(bench.progress->warnings_count, 1);
    JR_ASSERT_TEXT(bench.progress->warnings[0].text, "metrics.jsonl is incomplete: File exists");
}

/* With several ranks the job is as far as the slowest that has not ended; what it has come to at
 * best is what all have. */
TEST(the_job_is_the_slowest_rank)
{
    BENCH(bench, "all", 0, RANKS);
    const struct jr_steps *job = &bench.progress->job;
    tell(&bench, 1, 7, 10 * S);
    jr_step_tracker_sum(&bench.tracker, 11 * S);
    CU_ASSERT_TRUE(job->step == 7 && job->best_ns == 11 * S && job->first_ns == 10 * S);
    CU_ASSERT_TRUE(jr_step_tracker_lacks_first(&bench.tracker));
    tell(&bench, 0, 5, 12 * S);
    tell(&bench, 2, 9, 13 * S);
    jr_step_tracker_sum(&bench.tracker, 14 * S);
    CU_ASSERT_FALSE(jr_step_tracker_lacks_first(&bench.tracker));
    CU_ASSERT_EQUAL(job->step, 5);
    CU_ASSERT_EQUAL(job->first_ns, 10 * S); /* the first of all */
    CU_ASSERT_EQUAL(job->best_ns, 13 * S);  /* when none lacked one any more */
    CU_ASSERT_TRUE(bench.progress->slowest == 0 && bench.progress->behind == 4);
    CU_ASSERT_TRUE(job->ns == 12 * S && job->wall_ns == UINT64_C(1700000012) * S);
    jr_step_tracker_sum(&bench.tracker, 20 * S);
    jr_step_tracker_sum(&bench.tracker, 21 * S);
    CU_ASSERT_EQUAL(job->best_ns, 13 * S);
    jr_step_tracker_end(&bench.tracker, 0, 30 * S);
    CU_ASSERT_EQUAL(job->step, 7);
    CU_ASSERT_TRUE(bench.progress->slowest == 1 && bench.progress->behind == 2);
    CU_ASSERT_TRUE(job->best == 7 && job->best_ns == 30 * S);
    CU_ASSERT_TRUE(jr_step_tracker_goes_on(&bench.tracker));
    jr_step_tracker_end(&bench.tracker, 1, 31 * S);
    jr_step_tracker_end(&bench.tracker, 2, 32 * S);
    CU_ASSERT_FALSE(jr_step_tracker_goes_on(&bench.tracker));
    CU_ASSERT_EQUAL(job->step, 5); /* where none goes on, of all */
}

/* The values are those of the first rank that has any. */
TEST(the_jobs_values_are_the_first_ranks)
{
    BENCH(bench, "1,2", 0, RANKS);
    const struct jr_steps *job = &bench.progress->job;
    tell(&bench, 0, 90, 10 * S); /* is not watched */
    tell(&bench, 2, 20, 11 * S);
    jr_step_tracker_sum(&bench.tracker, 12 * S);
    CU_ASSERT_DOUBLE_EQUAL(job->values[0], 2, 1e-9);
    tell(&bench, 1, 30, 13 * S);
    jr_step_tracker_sum(&bench.tracker, 14 * S);
    CU_ASSERT_DOUBLE_EQUAL(job->values[0], 3, 1e-9);
    CU_ASSERT_TRUE(job->metrics == 1 && job->step == 20);
}

/* The files have each rank that is watched and has made a step, and the step of each point, also of
 * metrics that are told without one. */
TEST(files_have_every_rank_and_step)
{
    static const struct jr_step_report later = {.i = 1, .metrics = {{"acc", 3, 0.5}}, .count = 1};
    JR_BUF_CLEANUP struct jr_buf progress = JR_BUF_INIT, metrics = JR_BUF_INIT;
    BENCH(bench, "0,1", 0, RANKS);
    jr_step_tracker_tell(&bench.tracker, &later, S, S); /* of no step */
    tell(&bench, 1, 7, 10 * S);
    tell(&bench, 2, 9, 11 * S);
    jr_step_tracker_tell(&bench.tracker, &later, 12 * S, 12 * S);
    jr_step_tracker_flush(&bench.tracker, 13 * S);
    CU_ASSERT_EQUAL(jr_io_read_file(&progress, bench.scratch.fd, "progress.json", 65536, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(progress.data, "\"ranks\": [{\"rank\": 1, \"step\": 7, \"rate\": "
                                                 "0.0}]"));
    CU_ASSERT_EQUAL(jr_io_read_file(&metrics, bench.scratch.fd, "metrics.jsonl", 65536, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(metrics.data, "\"rank\": 1, \"step\": 7, "
                                                "\"metrics\": {\"loss\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(metrics.data, "\"rank\": 1, \"step\": 7, \"metrics\": {\"acc\""));
    CU_ASSERT_PTR_NULL(strstr(metrics.data, "\"rank\": 2"));
    CU_ASSERT_PTR_NULL(strstr(metrics.data, "\"step\": 0"));
    CU_ASSERT_TRUE(!bench.tracker.changed && bench.tracker.flushed_ns == 13 * S);
}

/* What is not new is not written once more. */
TEST(writes_what_is_new)
{
    BENCH(bench, NULL, 0, RANKS);
    tell(&bench, 0, 7, 10 * S);
    jr_step_tracker_flush(&bench.tracker, 11 * S);
    CU_ASSERT_EQUAL(unlinkat(bench.scratch.fd, "progress.json", 0), 0);
    jr_step_tracker_flush(&bench.tracker, 12 * S);
    CU_ASSERT_NOT_EQUAL(faccessat(bench.scratch.fd, "progress.json", F_OK, 0), 0);
    CU_ASSERT_EQUAL(bench.tracker.flushed_ns, 12 * S);
    (void)jr_step_tracker_warn(&bench.tracker, JR_STEP_PROBLEM_LINE, 0, "x");
    jr_step_tracker_flush(&bench.tracker, 13 * S);
    CU_ASSERT_EQUAL(faccessat(bench.scratch.fd, "progress.json", F_OK, 0), 0);
}

/* The last step is what the rank says, or else the spec; another one is warned of. */
TEST(the_last_step_may_be_stated)
{
    static const struct {
        uint32_t stated;
        int64_t told[2], of;
        bool warns;
    } vectors[] = {
        {0, {0, 0}, 0, false},       {100, {0, 0}, 100, false}, {100, {50, 0}, 50, false},
        {0, {50, 50}, 50, false},    {0, {50, 60}, 60, true},   {100, {0, 60}, 60, true},
        {100, {100, 0}, 100, false},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BENCH(bench, NULL, 0, RANKS);
        bench.policy.progress.of = vectors[i].stated;
        for (int k = 0; k < 2; k++) {
            const struct jr_step_report report = {
                .has_step = true, .step = k, .of = vectors[i].told[k]};
            jr_step_tracker_tell(&bench.tracker, &report, S, S);
        }
        CU_ASSERT_EQUAL(bench.progress->job.of, vectors[i].of);
        CU_ASSERT_EQUAL(bench.progress->warnings_count, vectors[i].warns);
        if (vectors[i].warns)
            CU_ASSERT_EQUAL(bench.progress->warnings[0].problem, JR_STEP_PROBLEM_OF);
    }
}

/* Of several nodes a tracker has the ranks of its own, from plan->first on. */
TEST(knows_ranks_by_their_place)
{
    BENCH(bench, NULL, 0, RANKS);
    jr_step_tracker_close(&bench.tracker, S);
    bench.policy.progress.ranks = (char *)"0,5";
    bench.plan.world_size = 8;
    bench.plan.first = 4;
    CU_ASSERT_EQUAL_FATAL(
        jr_step_tracker_open(&bench.tracker, &bench.plan, bench.progress, bench.scratch.fd, 0600),
        0);
    for (uint32_t i = 0; i < RANKS; i++)
        CU_ASSERT_EQUAL(jr_step_tracker_watches(&bench.tracker, i), i == 1);
    tell(&bench, 0, 9, 1 * S);
    CU_ASSERT_FALSE(bench.progress->job.any);
    tell(&bench, 1, 7, 2 * S);
    CU_ASSERT_TRUE(bench.progress->job.step == 7 && bench.progress->all);
    CU_ASSERT_TRUE(bench.progress->slowest == 5 && bench.progress->behind == 0);
}

/* Ranks that are slower than the others by half: who is named, once, and what is said. */

/* A rank has made `steps` in the last 100 seconds. */
static void pace(struct bench *bench, uint32_t i, int64_t steps)
{
    struct jr_steps *rank = &bench->progress->ranks[i];
    jr_step_window_add(&bench->tracker.windows[i], NOW_NS - 100 * S, 0);
    rank->any = true;
    rank->step = rank->best = steps;
}

/* Who is named, by the ranks: "1 3 ". */
static const char *named(const struct bench *bench)
{
    static char text[128];
    text[0] = '\0';
    for (uint32_t i = 0; i < bench->plan.count; i++)
        if (bench->progress->ranks[i].straggler)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%u ", i);
    return text;
}

/* Less than half of the median, which is between both where ranks are even. */
TEST(compares_with_the_median)
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
        BENCH(bench, "all", 0, count);
        for (uint32_t k = 0; k < count; k++)
            pace(&bench, k, vectors[i].steps[k]);
        jr_stragglers_find(&bench.tracker, NOW_NS);
        JR_ASSERT_TEXT(named(&bench), vectors[i].named);
        CU_ASSERT_EQUAL(bench.tracker.checked_ns, NOW_NS);
    }
}

/* Who has ended, is not watched, or of whom too little is known, is neither named nor compared
 * with. */
TEST(compares_who_takes_part)
{
    for (int how = 0; how < 5; how++) {
        BENCH(bench, "all", 0, 4);
        for (uint32_t i = 0; i < 4; i++)
            pace(&bench, i, i == 3 ? 10 : 100);
        struct jr_steps *slow = &bench.progress->ranks[3];
        slow->ended = how == 1;
        slow->any = how != 2;
        bench.tracker.watched[3] = how != 3;
        if (how == 4)
            slow->best = slow->step = 9; /* not ten steps yet */
        jr_stragglers_find(&bench.tracker, NOW_NS);
        JR_ASSERT_TEXT(named(&bench), how == 0 ? "3 " : "");
        CU_ASSERT_EQUAL(bench.progress->warnings_count, how == 0);
    }
}

/* Where all but one have ended there is nobody to compare with. */
TEST(one_rank_is_no_straggler)
{
    BENCH(bench, "all", 0, 3);
    for (uint32_t i = 0; i < 3; i++) {
        pace(&bench, i, i == 2 ? 10 : 100);
        bench.progress->ranks[i].ended = i != 2;
    }
    jr_stragglers_find(&bench.tracker, NOW_NS);
    JR_ASSERT_TEXT(named(&bench), "");
}

/* The warning names the rank, where it runs, and both rates. */
TEST(says_where_it_is_slow)
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
        BENCH(bench, "all", 0, 3);
        bench.hosts[1] = (char *)vectors[i].host;
        bench.hosts[0] = (char *)"other";
        bench.ranks[2].node_rank = 1;
        bench.ranks[2].device = vectors[i].device;
        bench.plan.hosts = vectors[i].hosts ? bench.hosts : NULL;
        for (uint32_t k = 0; k < 3; k++)
            pace(&bench, k, k == 2 ? 10 : 100);
        jr_stragglers_find(&bench.tracker, NOW_NS);
        CU_ASSERT_EQUAL_FATAL(bench.progress->warnings_count, 1);
        const struct jr_step_warning *warning = &bench.progress->warnings[0];
        JR_ASSERT_TEXT(warning->text, vectors[i].text);
        CU_ASSERT_TRUE(warning->problem == JR_STEP_PROBLEM_STRAGGLER && warning->rank == 2);
        CU_ASSERT_EQUAL(warning->count, 1);
        CU_ASSERT_TRUE(bench.tracker.changed);
    }
}

/* Of a node's ranks the numbers are the job's. */
TEST(knows_its_ranks_numbers)
{
    BENCH(bench, "all", 0, 6);
    bench.plan.first = 3;
    bench.plan.count = 3;
    for (uint32_t i = 0; i < 3; i++)
        pace(&bench, i, i == 1 ? 10 : 100);
    jr_stragglers_find(&bench.tracker, NOW_NS);
    CU_ASSERT_TRUE(bench.progress->warnings_count == 1 && bench.progress->warnings[0].rank == 4);
    CU_ASSERT_EQUAL(strncmp(bench.progress->warnings[0].text, "rank 4 ", 7), 0);
    bench.plan.first = 0;
}

/* Each is named once, and eight of them at most. */
TEST(names_each_once)
{
    BENCH(bench, "all", 0, MOST);
    for (uint32_t i = 0; i < MOST; i++)
        pace(&bench, i, i < 10 ? 10 : 100);
    jr_stragglers_find(&bench.tracker, NOW_NS);
    CU_ASSERT_TRUE(bench.progress->warnings_count == 8 && bench.progress->warnings[7].rank == 7);
    JR_ASSERT_TEXT(named(&bench), "0 1 2 3 4 5 6 7 8 9 ");
    jr_stragglers_find(&bench.tracker, NOW_NS);
    CU_ASSERT_EQUAL(bench.progress->warnings_count, 8);
}

/* Other warnings take none of their places, but there is a bound for all. */
TEST(leaves_room_for_other_warnings)
{
    BENCH(bench, "all", 0, 3);
    for (uint32_t i = 0; i < JR_STEP_WARNINGS - 1; i++)
        bench.progress->warnings[i].problem = JR_STEP_PROBLEM_LINE;
    bench.progress->warnings_count = JR_STEP_WARNINGS - 1;
    pace(&bench, 0, 10);
    for (uint32_t i = 1; i < 3; i++)
        pace(&bench, i, 100);
    jr_stragglers_find(&bench.tracker, NOW_NS);
    CU_ASSERT_EQUAL(bench.progress->warnings_count, JR_STEP_WARNINGS);
    bench.progress->ranks[0].straggler = false;
    jr_stragglers_find(&bench.tracker, NOW_NS);
    CU_ASSERT_EQUAL(bench.progress->warnings_count, JR_STEP_WARNINGS);
}

/* The rate of a rank's latest steps: over which of them it is computed. */

/* A step at each of `count` moments, `ns` apart. */
static void add_steps(struct jr_step_window *window, uint64_t from_ns, uint64_t ns, int64_t from,
                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        jr_step_window_add(window, from_ns + i * ns, from + i);
}

TEST(nothing_has_no_rate)
{
    struct jr_step_window window = {0};
    bool whole = true;
    CU_ASSERT_EQUAL(jr_step_window_rate(&window, 7, S, &whole), 0);
    CU_ASSERT_FALSE(whole);
}

/* Neither time nor steps: there is no rate. */
TEST(one_moment_has_no_rate)
{
    static const struct {
        int64_t step;
        uint64_t ns;
        double rate;
    } vectors[] = {
        {5, S, 0}, {6, S, 0},     {5, 2 * S, 0}, {4, 2 * S, 0},
        {6, 1, 0}, {6, 2 * S, 1}, {7, 2 * S, 2}, {6, 3 * S, 0.5},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_step_window window = {0};
        bool whole = true;
        jr_step_window_add(&window, S, 5);
        CU_ASSERT_DOUBLE_EQUAL(jr_step_window_rate(&window, vectors[i].step, vectors[i].ns, &whole),
                               vectors[i].rate, 1e-9);
        CU_ASSERT_FALSE(whole);
    }
}

/* It is whole over 5 seconds and 10 steps, both of them, and not before. */
TEST(is_whole_over_long_enough)
{
    static const struct {
        int64_t steps;
        uint64_t ns;
        bool whole;
    } vectors[] = {
        {9, 60 * S, false}, {1000, 5 * S - 1, false}, {9, 5 * S, false},
        {10, 5 * S, true},  {1000, 5 * S, true},      {10, 60 * S, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_step_window window = {0};
        bool whole = !vectors[i].whole;
        jr_step_window_add(&window, S, 100);
        double rate =
            jr_step_window_rate(&window, 100 + vectors[i].steps, S + vectors[i].ns, &whole);
        CU_ASSERT_EQUAL(whole, vectors[i].whole);
        CU_ASSERT_DOUBLE_EQUAL(rate, (double)vectors[i].steps * 1e9 / (double)vectors[i].ns, 1e-6);
    }
}

/* The latest sample counts that is far enough behind: an earlier pace, and a pause before it, do
 * not. */
TEST(counts_what_was_of_late)
{
    struct jr_step_window window = {0};
    bool whole;
    add_steps(&window, S, 100 * S, 0, 5); /* slow */
    add_steps(&window, 1000 * S, S, 5, 11);
    double rate = jr_step_window_rate(&window, 15, 1010 * S, &whole);
    CU_ASSERT_TRUE(whole);
    CU_ASSERT_DOUBLE_EQUAL(rate, 1, 1e-9);
    rate = jr_step_window_rate(&window, 14, 1010 * S, &whole);
    CU_ASSERT_TRUE(whole); /* from the step before, far away */
    CU_ASSERT_DOUBLE_EQUAL(rate, 10.0 / 609, 1e-3);
}

/* Of more samples than it keeps, the oldest go, one by one. */
TEST(keeps_the_latest)
{
    for (uint32_t count = 1; count <= 3 * JR_STEP_SAMPLES; count++) {
        struct jr_step_window window = {0};
        bool whole;
        add_steps(&window, S, S, 0, count);
        CU_ASSERT_EQUAL(window.count, count < JR_STEP_SAMPLES ? count : JR_STEP_SAMPLES);
        double rate = jr_step_window_rate(&window, count - 1, count * S, &whole);
        CU_ASSERT_EQUAL(whole, count > 10);
        CU_ASSERT_DOUBLE_EQUAL(rate, count > 1 ? 1 : 0, 1e-9);
    }
}

/* What comes within half a second of the last sample is none. */
TEST(takes_two_samples_a_second)
{
    static const struct {
        uint64_t ns;
        uint32_t count;
    } vectors[] = {{0, 1}, {S / 2 - 1, 1}, {S / 2, 2}, {S, 2}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_step_window window = {0};
        jr_step_window_add(&window, S, 1);
        jr_step_window_add(&window, S + vectors[i].ns, 2);
        CU_ASSERT_TRUE(window.count == vectors[i].count && window.next == vectors[i].count);
    }
}

/* A step before the last begins anew, however soon; the same one does not. */
TEST(begins_anew_with_a_step_back)
{
    struct jr_step_window window = {0};
    bool whole;
    add_steps(&window, S, S, 100, 40);
    jr_step_window_add(&window, 41 * S, 139);
    CU_ASSERT_EQUAL(window.count, JR_STEP_SAMPLES);
    jr_step_window_add(&window, 41 * S + 1, 138);
    CU_ASSERT_TRUE(window.count == 1 && window.next == 1);
    double rate = jr_step_window_rate(&window, 140, 43 * S + 1, &whole);
    CU_ASSERT_FALSE(whole);
    CU_ASSERT_DOUBLE_EQUAL(rate, 1, 1e-9);
}

/* timeouts.first_step and timeouts.progress. */

static void tell_in_time(struct bench *bench, uint32_t i, int64_t step, uint64_t ns)
{
    jr_step_tracker_tell(&bench->tracker,
                         &(struct jr_step_report){.i = i, .has_step = true, .step = step}, ns, 1);
    bench->at = jr_step_limit_told(&bench->limit, &bench->tracker, bench->at, ns);
}

static enum jr_step_overrun look(struct bench *bench, uint64_t ns)
{
    return jr_step_limit_look(&bench->limit, &bench->tracker, 10 * S, ns, &bench->at);
}

TEST(waits_for_the_first_step_of_each)
{
    BENCH(bench, "all", 0, 2);
    bench.policy.timeouts.first_step_ms = 5000;
    bench.policy.timeouts.progress_ms = 0;
    CU_ASSERT_TRUE(look(&bench, 11 * S) == JR_STEP_OVERRUN_NONE && bench.at == 15 * S);
    tell_in_time(&bench, 0, 0, 12 * S);
    CU_ASSERT_EQUAL(look(&bench, 15 * S - 1), JR_STEP_OVERRUN_NONE);
    CU_ASSERT_EQUAL(look(&bench, 15 * S), JR_STEP_OVERRUN_FIRST);
    tell_in_time(&bench, 1, 0, 15 * S);
    CU_ASSERT_TRUE(look(&bench, 90 * S) == JR_STEP_OVERRUN_NONE && bench.at == 0);
}

TEST(counts_from_the_furthest_step)
{
    BENCH(bench, "all", 0, 2);
    bench.policy.timeouts.first_step_ms = 0;
    bench.policy.timeouts.progress_ms = 5000;
    CU_ASSERT_TRUE(look(&bench, 11 * S) == JR_STEP_OVERRUN_NONE && bench.at == 0);
    tell_in_time(&bench, 0, 1, 20 * S);
    CU_ASSERT_EQUAL(bench.at, 25 * S);
    tell_in_time(&bench, 1, 1, 21 * S);
    /* Only one of them goes on, and one goes back. */
    tell_in_time(&bench, 0, 9, 24 * S);
    tell_in_time(&bench, 1, 0, 25 * S);
    CU_ASSERT_TRUE(look(&bench, 26 * S - 1) == JR_STEP_OVERRUN_NONE && bench.at == 26 * S);
    CU_ASSERT_EQUAL(look(&bench, 26 * S), JR_STEP_OVERRUN_NEXT);
    tell_in_time(&bench, 1, 2, 26 * S);
    CU_ASSERT_TRUE(look(&bench, 26 * S) == JR_STEP_OVERRUN_NONE && bench.at == 31 * S);
    /* Who has ended is not waited for. */
    jr_step_tracker_end(&bench.tracker, 1, 27 * S);
    CU_ASSERT_EQUAL(look(&bench, 31 * S), JR_STEP_OVERRUN_NONE);
    jr_step_tracker_end(&bench.tracker, 0, 32 * S);
    CU_ASSERT_TRUE(look(&bench, 90 * S) == JR_STEP_OVERRUN_NONE && bench.at == 0);
}

TEST(stands_still_with_the_ranks)
{
    BENCH(bench, "all", 0, 2);
    bench.policy.timeouts.first_step_ms = 0;
    bench.policy.timeouts.progress_ms = 5000;
    tell_in_time(&bench, 0, 1, 20 * S);
    tell_in_time(&bench, 1, 1, 21 * S);
    jr_step_limit_pause(&bench.limit, &bench.tracker, 10 * S, 100 * S);
    CU_ASSERT_EQUAL(look(&bench, 125 * S), JR_STEP_OVERRUN_NONE);
    CU_ASSERT_EQUAL(look(&bench, 126 * S), JR_STEP_OVERRUN_NEXT);
}

/* The steps of the ranks of a node, told to the controller. */

static const uint32_t node[2] = {2, 4};

TEST(brings_steps_across)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    BENCH(from, "all", 2, 2);
    BENCH(to, "all", 0, 4);
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
    CU_ASSERT_TRUE(steps->any && steps->step == 120 && steps->of == 1000 && steps->ns == now);
    uint32_t loss = jr_progress_metric(to.progress, "loss", 4);
    uint32_t acc = jr_progress_metric(to.progress, "acc", 3);
    CU_ASSERT_TRUE(steps->values[loss] > 0.24 && steps->values[loss] < 0.26);
    CU_ASSERT_TRUE(isnan(steps->values[acc]));
    /* A clock that is ahead makes no future. */
    CU_ASSERT_TRUE(jr_step_message_take(&to.tracker, line.data, line.len, node, -1000000000000));
    CU_ASSERT_TRUE(steps->ns <= jr_clock_ns());
}

/* A rank that went back since the last message had come further meanwhile: that counts, from when
 * it is told, and a later step before it changes nothing. */
TEST(brings_the_furthest_step_across)
{
    static const struct {
        int step, best, expected;
        bool later; /* it is a step forward of its own time */
    } vectors[] = {{30, 30, 30, true},
                   {5, 40, 40, true},
                   {7, 40, 40, false},
                   {8, 20, 40, false},
                   {41, 0, 41, true}};
    BENCH(to, "all", 0, 4);
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
        CU_ASSERT_TRUE(steps->step == vectors[i].step && steps->best == vectors[i].expected);
        CU_ASSERT_TRUE(steps->best_ns == best_ns && steps->ns == ns);
    }
}

TEST(brings_warnings_across)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    BENCH(to, "all", 0, 4);
    to.tracker.relayed = true;
    jr_step_message_put_warning(&line,
                                &(struct jr_step_warning){JR_STEP_PROBLEM_FILE, 3, 2, "x \"y\""});
    for (int i = 0; i < 2; i++)
        CU_ASSERT_TRUE(jr_step_message_take(&to.tracker, line.data, line.len, node, 0));
    CU_ASSERT_EQUAL_FATAL(to.progress->warnings_count, 1);
    CU_ASSERT_EQUAL(to.progress->warnings[0].count, 4);
    JR_ASSERT_TEXT(to.progress->warnings[0].text, "x \"y\"");
}

TEST(takes_nothing_else)
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
    BENCH(to, "all", 0, 4);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        CU_ASSERT_FALSE(jr_step_message_take(&to.tracker, lines[i], strlen(lines[i]), node, 0));
    static const char odd[] = "{\"warning_of\": 3, \"problem\": 99, \"text\": \"\"}";
    (void)jr_step_message_take(&to.tracker, odd, sizeof odd - 1, node, 0);
    CU_ASSERT_FALSE(jr_progress_is_told(to.progress));
}
