/* The progress of a job from what its ranks tell. */
#include "store/step_tracker.h"

#include "base/io.h"
#include "scratch.h"

enum { RANKS = 3 };
#define S UINT64_C(1000000000)

struct bench {
    struct scratch scratch;
    struct jr_policy policy;
    struct jr_plan_rank ranks[RANKS];
    char *hosts[1];
    struct jr_plan plan;
    struct jr_progress *progress;
    struct jr_step_tracker tracker;
};

static void begin(struct bench *bench, const char *ranks)
{
    *bench = (struct bench){.progress = jr_progress_new(RANKS)};
    scratch_start(&bench->scratch);
    bench->hosts[0] = (char *)"gpu7";
    bench->policy.progress.ranks = (char *)ranks;
    for (uint32_t i = 0; i < RANKS; i++)
        bench->ranks[i] = (struct jr_plan_rank){.rank = i, .device = "2"};
    bench->plan = (struct jr_plan){.policy = &bench->policy,
                                   .ranks = bench->ranks,
                                   .hosts = bench->hosts,
                                   .world_size = RANKS,
                                   .count = RANKS};
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

static void tell(struct bench *bench, uint32_t i, int64_t step, uint64_t ns)
{
    const struct jr_step_report report = {.i = i,
                                          .has_step = true,
                                          .step = step,
                                          .metrics = {{"loss", 4, (double)step / 10}},
                                          .count = 1};
    jr_step_tracker_tell(&bench->tracker, &report, ns, UINT64_C(1700000000) * S + ns);
}

static void follows_rank_0(void)
{
    struct bench bench;
    begin(&bench, NULL);
    bench.policy.progress.of = 100;
    const struct jr_steps *job = &bench.progress->job;
    CU_ASSERT_TRUE(jr_step_tracker_lacks_first(&bench.tracker));
    tell(&bench, 1, 50, 1 * S);
    CU_ASSERT_FALSE(job->any);
    for (int64_t step = 0; step <= 20; step++)
        tell(&bench, 0, step, (uint64_t)(10 + step) * S);
    CU_ASSERT_FALSE(jr_step_tracker_lacks_first(&bench.tracker));
    CU_ASSERT_TRUE(job->any && !bench.progress->all);
    CU_ASSERT_EQUAL(job->step, 20);
    CU_ASSERT_EQUAL(job->of, 100);
    CU_ASSERT_TRUE(job->rate > 0.999 && job->rate < 1.001);
    uint64_t left;
    CU_ASSERT_TRUE(jr_steps_left(job, &left));
    CU_ASSERT_TRUE(left > 79 * S && left < 81 * S);
    CU_ASSERT_EQUAL(job->best_ns, 30 * S);
    /* Backwards: it is told, and is no step forward. */
    tell(&bench, 0, 5, 31 * S);
    CU_ASSERT_EQUAL(job->step, 5);
    CU_ASSERT_EQUAL(job->best, 20);
    CU_ASSERT_EQUAL(job->best_ns, 30 * S);
    tell(&bench, 0, 4, 32 * S);
    CU_ASSERT_EQUAL_FATAL(bench.progress->warnings_count, 1);
    JR_ASSERT_TEXT(bench.progress->warnings[0].text, "rank 0 went back from step 20 to step 5");
    CU_ASSERT_EQUAL(bench.progress->warnings[0].count, 2);
    jr_step_tracker_end(&bench.tracker, 0, 33 * S);
    CU_ASSERT_FALSE(jr_step_tracker_goes_on(&bench.tracker));
    end(&bench);
}

static void tells_the_slowest(void)
{
    struct bench bench;
    begin(&bench, "all");
    const struct jr_steps *job = &bench.progress->job;
    tell(&bench, 0, 10, 1 * S);
    tell(&bench, 1, 7, 2 * S);
    CU_ASSERT_TRUE(jr_step_tracker_lacks_first(&bench.tracker));
    tell(&bench, 2, 9, 3 * S);
    CU_ASSERT_FALSE(jr_step_tracker_lacks_first(&bench.tracker));
    CU_ASSERT_TRUE(bench.progress->all);
    CU_ASSERT_EQUAL(job->step, 7);
    CU_ASSERT_EQUAL(bench.progress->slowest, 1);
    CU_ASSERT_EQUAL(bench.progress->behind, 3);
    /* The job is no further while the slowest is not. */
    tell(&bench, 0, 30, 5 * S);
    CU_ASSERT_EQUAL(job->best, 7);
    CU_ASSERT_TRUE(job->best_ns <= 3 * S);
    tell(&bench, 1, 8, 6 * S);
    CU_ASSERT_EQUAL(job->best, 8);
    CU_ASSERT_EQUAL(job->best_ns, 6 * S);
    /* One that has ended holds nobody up. */
    jr_step_tracker_end(&bench.tracker, 1, 7 * S);
    CU_ASSERT_EQUAL(job->step, 9);
    CU_ASSERT_EQUAL(bench.progress->slowest, 2);
    /* Steps between two looks at all ranks are seen at the next. */
    tell(&bench, 2, 40, 7 * S + 1);
    jr_step_tracker_sum(&bench.tracker, 8 * S);
    CU_ASSERT_EQUAL(job->step, 30);
    CU_ASSERT_TRUE(jr_step_tracker_goes_on(&bench.tracker));
    end(&bench);
}

static void names_stragglers(void)
{
    struct bench bench;
    begin(&bench, "all");
    for (uint64_t second = 0; second < 60; second++)
        for (uint32_t i = 0; i < RANKS; i++)
            if (i != 2 || second % 4 == 0)
                tell(&bench, i, (int64_t)(i == 2 ? second / 4 : second), (second + 1) * S);
    CU_ASSERT_EQUAL_FATAL(bench.progress->warnings_count, 1);
    CU_ASSERT_EQUAL(bench.progress->warnings[0].problem, JR_STEP_PROBLEM_STRAGGLER);
    CU_ASSERT_EQUAL(bench.progress->warnings[0].rank, 2);
    static const char words[] = "rank 2 (gpu7, device 2) is slow: 0.2";
    CU_ASSERT_EQUAL(strncmp(bench.progress->warnings[0].text, words, sizeof words - 1), 0);
    end(&bench);
}

/* Equal ranks are none, and neither are those of which little is known. */
static void names_no_other_rank(void)
{
    struct bench bench;
    begin(&bench, "all");
    for (uint64_t second = 0; second < 60; second++)
        for (uint32_t i = 0; i < RANKS; i++)
            tell(&bench, i, (int64_t)second, second * S + i * S / 4 + 1);
    CU_ASSERT_EQUAL(bench.progress->warnings_count, 0);
    end(&bench);
    begin(&bench, "all");
    for (uint32_t i = 0; i < RANKS; i++)
        for (int64_t step = 0; step < 9; step++)
            tell(&bench, i, step, (uint64_t)(step * (i + 1)) * S + i + 1);
    CU_ASSERT_EQUAL(bench.progress->warnings_count, 0);
    end(&bench);
}

static void leaves_out_too_many_metrics(void)
{
    struct bench bench;
    begin(&bench, NULL);
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
    end(&bench);
}

static void writes_and_reads_progress(void)
{
    struct bench bench;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, words = JR_BUF_INIT;
    begin(&bench, "0-1");
    bench.policy.progress.of = 10;
    tell(&bench, 0, 3, 1 * S);
    tell(&bench, 1, 1, 2 * S);
    jr_step_tracker_flush(&bench.tracker, 3 * S);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, bench.scratch.fd, "progress.json", 4096, NULL), 0);
    CU_ASSERT_TRUE_FATAL(text.len > 0 && text.data[text.len - 1] == '\n');
    json_t *object = jr_json_parse(text.data, text.len, NULL);
    struct jr_progress *got = jr_progress_new(0);
    jr_progress_get(got, object);
    CU_ASSERT_TRUE(got->job.any && got->all);
    CU_ASSERT_EQUAL(got->job.step, 1);
    CU_ASSERT_EQUAL(got->job.of, 10);
    CU_ASSERT_EQUAL(got->slowest, 1);
    CU_ASSERT_EQUAL(got->behind, 2);
    jr_progress_words(&words, got, true, true);
    JR_ASSERT_TEXT(words.data, "step 1 of 10, loss 0.3; rank 1 is 2 behind");
    json_t *again = jr_progress_json(got);
    json_object_del(object, "ranks");
    CU_ASSERT_TRUE(json_equal(object, again));
    json_decref(again);
    json_decref(object);
    jr_progress_free(got);
    end(&bench);
}

/* A full disk, or what is in the way, costs a warning. */
static void warns_of_files_that_cannot_be_written(void)
{
    struct bench bench;
    begin(&bench, NULL);
    scratch_write(&bench.scratch, "metrics.jsonl", "theirs");
    tell(&bench, 0, 1, S);
    jr_step_tracker_flush(&bench.tracker, S);
    tell(&bench, 0, 2, 3 * S);
    jr_step_tracker_flush(&bench.tracker, 3 * S);
    CU_ASSERT_EQUAL(bench.progress->job.step, 2);
    CU_ASSERT_EQUAL_FATAL(bench.progress->warnings_count, 1);
    JR_ASSERT_TEXT(bench.progress->warnings[0].text, "metrics.jsonl is incomplete: File exists");
    end(&bench);
}

/* With several ranks the job is as far as the slowest that has not ended; what it has come to at
 * best is what all have. */
static void the_job_is_the_slowest_rank(void)
{
    struct bench bench;
    begin(&bench, "all");
    const struct jr_steps *job = &bench.progress->job;
    tell(&bench, 1, 7, 10 * S);
    jr_step_tracker_sum(&bench.tracker, 11 * S);
    CU_ASSERT_EQUAL(job->step, 7);
    CU_ASSERT_EQUAL(job->best_ns, 11 * S);
    CU_ASSERT_EQUAL(job->first_ns, 10 * S);
    CU_ASSERT_TRUE(jr_step_tracker_lacks_first(&bench.tracker));
    tell(&bench, 0, 5, 12 * S);
    tell(&bench, 2, 9, 13 * S);
    jr_step_tracker_sum(&bench.tracker, 14 * S);
    CU_ASSERT_FALSE(jr_step_tracker_lacks_first(&bench.tracker));
    CU_ASSERT_EQUAL(job->step, 5);
    CU_ASSERT_EQUAL(job->first_ns, 10 * S); /* the first of all */
    CU_ASSERT_EQUAL(job->best_ns, 13 * S);  /* when none lacked one any more */
    CU_ASSERT_EQUAL(bench.progress->slowest, 0);
    CU_ASSERT_EQUAL(bench.progress->behind, 4);
    CU_ASSERT_EQUAL(job->ns, 12 * S);
    CU_ASSERT_EQUAL(job->wall_ns, UINT64_C(1700000012) * S);
    jr_step_tracker_sum(&bench.tracker, 20 * S);
    jr_step_tracker_sum(&bench.tracker, 21 * S);
    CU_ASSERT_EQUAL(job->best_ns, 13 * S);
    jr_step_tracker_end(&bench.tracker, 0, 30 * S);
    CU_ASSERT_EQUAL(job->step, 7);
    CU_ASSERT_EQUAL(bench.progress->slowest, 1);
    CU_ASSERT_EQUAL(bench.progress->behind, 2);
    CU_ASSERT_EQUAL(job->best, 7);
    CU_ASSERT_EQUAL(job->best_ns, 30 * S);
    CU_ASSERT_TRUE(jr_step_tracker_goes_on(&bench.tracker));
    jr_step_tracker_end(&bench.tracker, 1, 31 * S);
    jr_step_tracker_end(&bench.tracker, 2, 32 * S);
    CU_ASSERT_FALSE(jr_step_tracker_goes_on(&bench.tracker));
    CU_ASSERT_EQUAL(job->step, 5); /* where none goes on, of all */
    end(&bench);
}

/* The values are those of the first rank that has any. */
static void the_jobs_values_are_the_first_ranks(void)
{
    struct bench bench;
    begin(&bench, "1,2");
    const struct jr_steps *job = &bench.progress->job;
    tell(&bench, 0, 90, 10 * S); /* is not watched */
    tell(&bench, 2, 20, 11 * S);
    jr_step_tracker_sum(&bench.tracker, 12 * S);
    CU_ASSERT_DOUBLE_EQUAL(job->values[0], 2, 1e-9);
    tell(&bench, 1, 30, 13 * S);
    jr_step_tracker_sum(&bench.tracker, 14 * S);
    CU_ASSERT_DOUBLE_EQUAL(job->values[0], 3, 1e-9);
    CU_ASSERT_EQUAL(job->metrics, 1);
    CU_ASSERT_EQUAL(job->step, 20);
    end(&bench);
}

/* The files have each rank that is watched and has made a step, and the step of each point, also of
 * metrics that are told without one. */
static void files_have_every_rank_and_step(void)
{
    static const struct jr_step_report later = {.i = 1, .metrics = {{"acc", 3, 0.5}}, .count = 1};
    struct bench bench;
    JR_BUF_CLEANUP struct jr_buf progress = JR_BUF_INIT, metrics = JR_BUF_INIT;
    begin(&bench, "0,1");
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
    CU_ASSERT_FALSE(bench.tracker.changed);
    CU_ASSERT_EQUAL(bench.tracker.flushed_ns, 13 * S);
    end(&bench);
}

/* What is not new is not written once more. */
static void writes_what_is_new(void)
{
    struct bench bench;
    begin(&bench, NULL);
    tell(&bench, 0, 7, 10 * S);
    jr_step_tracker_flush(&bench.tracker, 11 * S);
    CU_ASSERT_EQUAL(unlinkat(bench.scratch.fd, "progress.json", 0), 0);
    jr_step_tracker_flush(&bench.tracker, 12 * S);
    CU_ASSERT_NOT_EQUAL(faccessat(bench.scratch.fd, "progress.json", F_OK, 0), 0);
    CU_ASSERT_EQUAL(bench.tracker.flushed_ns, 12 * S);
    (void)jr_step_tracker_warn(&bench.tracker, JR_STEP_PROBLEM_LINE, 0, "x");
    jr_step_tracker_flush(&bench.tracker, 13 * S);
    CU_ASSERT_EQUAL(faccessat(bench.scratch.fd, "progress.json", F_OK, 0), 0);
    end(&bench);
}

/* The last step is what the rank says, or else the spec; another one is warned of. */
static void the_last_step_may_be_stated(void)
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
        struct bench bench;
        begin(&bench, NULL);
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
        end(&bench);
    }
}

/* Of several nodes a tracker has the ranks of its own, from plan->first on. */
static void knows_ranks_by_their_place(void)
{
    struct bench bench;
    begin(&bench, NULL);
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
    CU_ASSERT_EQUAL(bench.progress->job.step, 7);
    CU_ASSERT_TRUE(bench.progress->all);
    CU_ASSERT_EQUAL(bench.progress->slowest, 5);
    CU_ASSERT_EQUAL(bench.progress->behind, 0);
    end(&bench);
}

JR_UNIT_MAIN("step_tracker", CASE(follows_rank_0), CASE(tells_the_slowest), CASE(names_stragglers),
             CASE(names_no_other_rank), CASE(leaves_out_too_many_metrics),
             CASE(writes_and_reads_progress), CASE(warns_of_files_that_cannot_be_written),
             CASE(the_job_is_the_slowest_rank), CASE(the_jobs_values_are_the_first_ranks),
             CASE(files_have_every_rank_and_step), CASE(writes_what_is_new),
             CASE(the_last_step_may_be_stated), CASE(knows_ranks_by_their_place))
