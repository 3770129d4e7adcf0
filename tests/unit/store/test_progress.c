/* How far a job is: as JSON and back, in words, and in a copy. */
#include "store/progress.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit.h"

#define SECOND_NS UINT64_C(1000000000)
#define WALL_NS   (UINT64_C(1800000000) * SECOND_NS)

/* A job of three ranks at step 120 of 1000, with two metrics. */
static struct jr_progress *make(void)
{
    struct jr_progress *progress = jr_progress_new(3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(progress);
    CU_ASSERT_EQUAL(jr_progress_metric(progress, "loss", 4), 0);
    CU_ASSERT_EQUAL(jr_progress_metric(progress, "lr", 2), 1);
    CU_ASSERT_EQUAL(jr_progress_metric(progress, "acc", 3), 2);
    progress->job = (struct jr_steps){.any = true,
                                      .step = 120,
                                      .best = 125,
                                      .of = 1000,
                                      .rate = 3.2,
                                      .wall_ns = WALL_NS,
                                      .metrics = 5,
                                      .values = {0.3125, 9, 0.75}};
    return progress;
}

static void check_words(const struct jr_progress *progress, bool metrics, bool ended,
                        const char *expected)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_progress_words(&out, progress, metrics, ended);
    JR_ASSERT_TEXT(out.len == 0 ? "" : out.data, expected);
    jr_buf_release(&out);
}

static void check_json(json_t *json, const char *expected)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_json_print(&out, json, 0);
    JR_ASSERT_TEXT(out.data, expected);
    jr_buf_release(&out);
    json_decref(json);
}

/* Nothing is told of what is nothing. */
TEST(nothing_is_told)
{
    struct jr_progress *progress = jr_progress_new(2);
    CU_ASSERT_FALSE(jr_progress_is_told(NULL));
    CU_ASSERT_FALSE(jr_progress_is_told(progress));
    check_json(jr_progress_json(NULL), "null");
    check_json(jr_progress_json(progress), "null");
    check_json(jr_progress_rank_json(progress, &progress->ranks[1]), "null");
    check_words(progress, true, false, "");
    CU_ASSERT_PTR_NULL(jr_progress_copy(NULL));
    jr_progress_free(NULL);
    jr_progress_free(progress);
}

/* A warning alone is told; the step is not known then. */
TEST(a_warning_alone_is_told)
{
    struct jr_progress *progress = jr_progress_new(1);
    progress->warnings_count = 2;
    progress->warnings[0] = (struct jr_step_warning){.count = 1, .text = "one"};
    progress->warnings[1] = (struct jr_step_warning){.count = 2, .text = "two"};
    progress->all = true;
    CU_ASSERT_TRUE(jr_progress_is_told(progress));
    check_json(jr_progress_json(progress),
               "{\"step\": null, \"best\": null, \"of\": null, \"rate\": null, \"metrics\": {}, "
               "\"time\": null, \"slowest\": null, \"warnings\": [\"one\", \"two (2 times)\"]}");
    check_words(progress, true, false, "");
    jr_progress_free(progress);
}

/* Each key as it is, and null where it is not known. */
TEST(is_written_as_json)
{
    struct jr_progress *progress = make();
    char time[32], expected[512];
    jr_clock_rfc3339(time, WALL_NS);
    (void)snprintf(expected, sizeof expected,
                   "{\"step\": 120, \"best\": 125, \"of\": 1000, \"rate\": "
                   "3.2, \"metrics\": {\"loss\": 0.3125, \"acc\": 0.75}, "
                   "\"time\": \"%s\", \"slowest\": null, \"warnings\": []}",
                   time);
    check_json(jr_progress_json(progress), expected);
    progress->all = true;
    progress->slowest = 7;
    progress->behind = 12;
    json_t *json = jr_progress_json(progress);
    check_json(json_incref(json_object_get(json, "slowest")), "{\"rank\": 7, \"behind\": 12}");
    json_decref(json);
    jr_progress_free(progress);
}

TEST(what_is_no_number_is_null)
{
    static const struct {
        double rate, value;
        int64_t of;
        const char *text;
    } vectors[] = {
        {0, NAN, 0, "\"of\": null, \"rate\": null, \"metrics\": {\"loss\": null}"},
        {-1, INFINITY, -1, "\"of\": null, \"rate\": null, \"metrics\": {\"loss\": null}"},
        {INFINITY, -INFINITY, 1, "\"of\": 1, \"rate\": null, \"metrics\": {\"loss\": null}"},
        {NAN, 0, 2, "\"of\": 2, \"rate\": null, \"metrics\": {\"loss\": 0.0}"},
        {0.5, -1.5, 2, "\"of\": 2, \"rate\": 0.5, \"metrics\": {\"loss\": -1.5}"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_progress *progress = make();
        struct jr_steps *rank = &progress->ranks[2];
        struct jr_buf out = JR_BUF_INIT;
        *rank = (struct jr_steps){.any = true,
                                  .step = 1,
                                  .of = vectors[i].of,
                                  .rate = vectors[i].rate,
                                  .metrics = 1,
                                  .values = {vectors[i].value}};
        json_t *json = jr_progress_rank_json(progress, rank);
        jr_json_print(&out, json, 0);
        if (strstr(out.data, vectors[i].text) == NULL)
            printf("\n    %s", out.data);
        CU_ASSERT_PTR_NOT_NULL(strstr(out.data, vectors[i].text));
        CU_ASSERT_TRUE(strstr(out.data, "slowest") == NULL && strstr(out.data, "warnings") == NULL);
        json_decref(json);
        jr_buf_release(&out);
        jr_progress_free(progress);
    }
}

/* What was written is read back the same. */
TEST(is_read_back)
{
    struct jr_progress *before = make(), *after = jr_progress_new(0);
    before->all = true;
    before->slowest = 7;
    before->behind = 12;
    before->job.values[2] = NAN;
    before->warnings_count = 2;
    before->warnings[0] = (struct jr_step_warning){.count = 1, .text = "one"};
    before->warnings[1] = (struct jr_step_warning){.count = 3, .text = "two"};
    json_t *json = jr_progress_json(before);
    jr_progress_get(after, json);
    const struct jr_steps *job = &after->job;
    CU_ASSERT_TRUE(job->any && job->step == 120 && job->best == 125 && job->of == 1000);
    CU_ASSERT_DOUBLE_EQUAL(job->rate, 3.2, 1e-12);
    CU_ASSERT_EQUAL(job->wall_ns, WALL_NS);
    CU_ASSERT_EQUAL(after->names_count, 2);
    JR_ASSERT_TEXT(after->names[1], "acc");
    CU_ASSERT_EQUAL(job->metrics, 3);
    CU_ASSERT_DOUBLE_EQUAL(job->values[0], 0.3125, 1e-12);
    CU_ASSERT_TRUE(isnan(job->values[1]));
    CU_ASSERT_TRUE(after->all && after->slowest == 7 && after->behind == 12);
    CU_ASSERT_EQUAL(after->warnings_count, 2);
    JR_ASSERT_TEXT(after->warnings[0].text, "one");
    JR_ASSERT_TEXT(after->warnings[1].text, "two (3 times)");
    CU_ASSERT_EQUAL(after->warnings[1].count, 1);
    json_decref(json);
    jr_progress_free(before);
    jr_progress_free(after);
}

/* Of what is none, or of another build, what there is. */
TEST(reads_what_there_is)
{
    static const struct {
        const char *text;
        bool any, all;
        uint32_t names, warnings;
    } vectors[] = {
        {"null", false, false, 0, 0},
        {"[]", false, false, 0, 0},
        {"{}", false, false, 0, 0},
        {"{\"step\": \"3\"}", false, false, 0, 0},
        {"{\"step\": 3.5}", false, false, 0, 0},
        {"{\"step\": null, \"slowest\": []}", false, false, 0, 0},
        {"{\"metrics\": {\"a\": \"1\", \"b\": [], \"c\": true}}", false, false, 3, 0},
        {"{\"warnings\": [1, null, {}]}", false, false, 0, 0},
        {"{\"warnings\": \"x\"}", false, false, 0, 0},
        {"{\"step\": 0, \"metrics\": {\"\": 1}}", true, false, 0, 0},
        {"{\"step\": 3, \"slowest\": {}, \"metrics\": {\"a\": 1}}", true, true, 1, 0},
        {"{\"warnings\": [1, \"x\", null, \"y\"]}", false, false, 0, 2},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_progress *progress = jr_progress_new(0);
        json_t *json = json_loads(vectors[i].text, JSON_DECODE_ANY, NULL);
        jr_progress_get(progress, json);
        CU_ASSERT_TRUE(progress->job.any == vectors[i].any && progress->all == vectors[i].all);
        CU_ASSERT_EQUAL(progress->names_count, vectors[i].names);
        CU_ASSERT_EQUAL(progress->warnings_count, vectors[i].warnings);
        json_decref(json);
        jr_progress_free(progress);
    }
}

TEST(reads_as_many_warnings_as_are_kept)
{
    struct jr_progress *progress = jr_progress_new(0);
    json_t *object = json_object(), *list = json_array();
    for (int i = 0; i < 2 * JR_STEP_WARNINGS; i++)
        jr_json_append(list, json_sprintf("w%d", i));
    jr_json_set(object, "warnings", list);
    jr_progress_get(progress, object);
    CU_ASSERT_EQUAL(progress->warnings_count, JR_STEP_WARNINGS);
    JR_ASSERT_TEXT(progress->warnings[JR_STEP_WARNINGS - 1].text, "w19");
    json_decref(object);
    jr_progress_free(progress);
}

/* Names are kept once; there is room for some, of some length, of plain text.
 */
TEST(names_are_plain_and_few)
{
    static const char longest[] =
        "0123456789012345678901234567890123456789012345678901234567890123";
    static const struct {
        const char *name;
        size_t len;
        bool fits;
    } vectors[] = {
        {"", 0, false},         {longest, 64, false}, {"a\nb", 3, false},  {"a\177", 2, false},
        {"a\033[1m", 5, false}, {"\xff", 1, false},   {longest, 63, true}, {"a b", 3, true},
        {"\xc3\xa4", 2, true},  {"~", 1, true},       {" ", 1, true},      {"loss_", 4, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_progress *progress = jr_progress_new(0);
        uint32_t at = jr_progress_metric(progress, vectors[i].name, vectors[i].len);
        CU_ASSERT_EQUAL(at, vectors[i].fits ? 0 : JR_METRICS_MOST);
        CU_ASSERT_EQUAL(progress->names_count, vectors[i].fits);
        at = jr_progress_metric(progress, vectors[i].name, vectors[i].len);
        CU_ASSERT_EQUAL(at, vectors[i].fits ? 0 : JR_METRICS_MOST);
        CU_ASSERT_EQUAL(progress->names_count, vectors[i].fits);
        jr_progress_free(progress);
    }
}

/* A beginning of a name is another name. */
TEST(tells_names_apart)
{
    struct jr_progress *progress = jr_progress_new(0);
    char name[16];
    CU_ASSERT_EQUAL(jr_progress_metric(progress, "loss", 4), 0);
    CU_ASSERT_EQUAL(jr_progress_metric(progress, "los", 3), 1);
    CU_ASSERT_EQUAL(jr_progress_metric(progress, "losses", 6), 2);
    CU_ASSERT_EQUAL(jr_progress_metric(progress, "losses", 4), 0);
    for (uint32_t i = 3; i < JR_METRICS_MOST; i++) {
        int len = snprintf(name, sizeof name, "m%u", i);
        CU_ASSERT_EQUAL(jr_progress_metric(progress, name, (size_t)len), i);
    }
    CU_ASSERT_EQUAL(jr_progress_metric(progress, "more", 4), JR_METRICS_MOST);
    CU_ASSERT_EQUAL(jr_progress_metric(progress, "loss", 4), 0);
    CU_ASSERT_EQUAL(progress->names_count, JR_METRICS_MOST);
    jr_progress_free(progress);
}

TEST(knows_how_long_it_takes)
{
    static const struct {
        bool any;
        int64_t step, of;
        double rate;
        bool known;
        uint64_t ns;
    } vectors[] = {
        {false, 1, 10, 1, false, 0},
        {true, 1, 0, 1, false, 0},
        {true, 1, -1, 1, false, 0},
        {true, 1, 10, 0, false, 0},
        {true, 1, 10, -1, false, 0},
        {true, 11, 10, 0, false, 0},
        {true, 1, 10, NAN, false, 0},
        {true, 0, 1000000000, 1, false, 0},
        {true, 1, 10, 1, true, 9 * SECOND_NS},
        {true, 1, 10, 3, true, 3 * SECOND_NS},
        {true, 0, 1, 4, true, SECOND_NS / 4},
        {true, 10, 10, 1, true, 0},
        {true, 11, 10, 1, true, 0},
        {true, 1, 1000000000, 1, true, 999999999 * SECOND_NS},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct jr_steps steps = {.any = vectors[i].any,
                                       .step = vectors[i].step,
                                       .of = vectors[i].of,
                                       .rate = vectors[i].rate};
        uint64_t ns = 77;
        CU_ASSERT_EQUAL(jr_steps_left(&steps, &ns), vectors[i].known);
        CU_ASSERT_EQUAL(ns, vectors[i].known ? vectors[i].ns : 77);
    }
}

TEST(is_told_in_words)
{
    struct jr_progress *progress = make();
    check_words(progress, true, false,
                "step 120 of 1000, 3.2 a second, 4 min 35 s left, loss 0.3125, acc 0.75");
    check_words(progress, false, false, "step 120 of 1000, 3.2 a second, 4 min 35 s left");
    check_words(progress, false, true, "step 120 of 1000, 3.2 a second");
    progress->all = true;
    check_words(progress, false, true, "step 120 of 1000, 3.2 a second");
    progress->slowest = 3;
    progress->behind = 12;
    check_words(progress, false, true, "step 120 of 1000, 3.2 a second; rank 3 is 12 behind");
    progress->all = false;
    progress->job.of = 0;
    check_words(progress, false, false, "step 120, 3.2 a second");
    progress->job.rate = 0;
    check_words(progress, false, false, "step 120");
    progress->job.of = 1;
    check_words(progress, false, false, "step 120 of 1");
    jr_progress_free(progress);
}

/* A name from a spec or a file does nothing to a terminal. */
TEST(words_are_safe)
{
    struct jr_progress *progress = make();
    (void)snprintf(progress->names[0], JR_METRIC_NAME, "a\033[2Jb");
    struct jr_buf out = JR_BUF_INIT;
    jr_progress_words(&out, progress, true, false);
    CU_ASSERT_PTR_NULL(strchr(out.data, '\033'));
    jr_buf_release(&out);
    jr_progress_free(progress);
}

TEST(is_told_shortly)
{
    static const struct {
        bool any;
        int64_t step, of;
        const char *text;
    } vectors[] = {{false, 5, 9, "-"},  {true, 5, 0, "5"},         {true, 5, -3, "5"},
                   {true, 5, 1, "5/1"}, {true, 0, 1000, "0/1000"}, {true, -2, 9, "-2/9"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct jr_steps steps = {
            .any = vectors[i].any, .step = vectors[i].step, .of = vectors[i].of};
        struct jr_buf out = JR_BUF_INIT;
        jr_steps_short(&out, &steps);
        JR_ASSERT_TEXT(out.data, vectors[i].text);
        jr_buf_release(&out);
    }
}

/* What a process writes there, another one sees. */
TEST(is_shared_between_processes)
{
    struct jr_progress *progress = jr_progress_new(2);
    CU_ASSERT_EQUAL(progress->count, 2);
    pid_t pid = fork();
    if (pid == 0) {
        progress->ranks[1].step = 42;
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
    CU_ASSERT_EQUAL(progress->ranks[1].step, 42);
    jr_progress_free(progress);
}

/* A copy is its own, and has the ranks where there are several. */
TEST(copies_are_their_own)
{
    for (int all = 0; all < 2; all++) {
        struct jr_progress *progress = make();
        progress->all = all;
        progress->ranks[2].step = 8;
        struct jr_progress *copy = jr_progress_copy(progress);
        CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
        progress->job.step = 0;
        progress->ranks[2].step = 0;
        CU_ASSERT_TRUE(copy->job.step == 120 && copy->count == 3);
        JR_ASSERT_TEXT(copy->names[2], "acc");
        CU_ASSERT_EQUAL(copy->ranks[2].step, all ? 8 : 0);
        jr_progress_free(progress);
        jr_progress_free(copy);
    }
}
