#include <signal.h>

#include "fake_run.h"
#include "quoted.h"
#include "judge/judge.h"
#include "judge/result_checks.h"

static char *names[] = {(char *)"f"};

/* Judge four ranks whose results are `values` of the field f; NULL: a result without it. */
static void start(struct fake *fake, bool equal, const char *const values[4])
{
    fake_start(fake, 4);
    fake->policy.results.stated = true;
    if (equal) {
        fake->policy.results.equal = names;
        fake->policy.results.equal_count = 1;
    } else {
        fake->policy.results.distinct = names;
        fake->policy.results.distinct_count = 1;
    }
    for (uint32_t i = 0; i < 4; i++) {
        const char *text =
            values[i] == NULL ? "{}" : jr_arena_printf(&fake->arena, "{\"f\": %s}", values[i]);
        fake_write_rank(fake, i, "result.json", text);
    }
    fake_judge(fake);
}

struct vector {
    const char *values[4];
    const char *reasons[4]; /* NULL: nothing wrong */
};

static void check(bool equal, const struct vector *vectors, size_t count,
                  enum jr_result_error error)
{
    for (size_t v = 0; v < count; v++) {
        struct fake fake RELEASE(fake_end) = {0};
        start(&fake, equal, vectors[v].values);
        for (size_t i = 0; i < 4; i++) {
            const struct jr_rank_judgement *rank = &fake.report.ranks[i];
            const char *reason = vectors[v].reasons[i];
            if (reason == NULL) {
                CU_ASSERT_PTR_NULL(rank->reason);
                continue;
            }
            JR_ASSERT_TEXT(rank->reason, reason);
            CU_ASSERT_EQUAL(rank->result_error,
                            vectors[v].values[i] == NULL ? JR_RESULT_FIELD : error);
        }
    }
}

TEST(the_odd_ones_are_named)
{
    static const struct vector vectors[] = {
        {{"\"a\"", "\"a\"", "\"b\"", "\"a\""},
         {NULL, NULL, "result.json: 'f' is \"b\", but \"a\" on ranks 0-1,3", NULL}},
        {{"1", "2", "3", "1"},
         {NULL, "result.json: 'f' is 2, but 1 on ranks 0,3",
          "result.json: 'f' is 3, but 1 on ranks 0,3", NULL}},
        {{"1", "1", "2", "2"},
         {"result.json: 'f' is 1, but 2 on ranks 2-3", "result.json: 'f' is 1, but 2 on ranks 2-3",
          "result.json: 'f' is 2, but 1 on ranks 0-1",
          "result.json: 'f' is 2, but 1 on ranks 0-1"}},
        {{"1", "2", "3", "4"},
         {"result.json: 'f' is 1, but 2 on rank 1", "result.json: 'f' is 2, but 1 on rank 0",
          "result.json: 'f' is 3, but 1 on rank 0", "result.json: 'f' is 4, but 1 on rank 0"}},
        {{"1", NULL, "1", "1"}, {NULL, "result.json has no 'f' to compare", NULL, NULL}},
        {{"[1, {\"a\": 2}]", "[1.0, {\"a\": 2.0}]", "[1, {\"a\": 3}]", "[1, {\"a\": 2}]"},
         {NULL, NULL, "result.json: 'f' is [1,{\"a\":3}], but [1,{\"a\":2}] on ranks 0-1,3", NULL}},
        {{"\"1\"", "1", "1", "1"},
         {"result.json: 'f' is \"1\", but 1 on ranks 1-3", NULL, NULL, NULL}}};
    check(true, vectors, COUNT_OF(vectors), JR_RESULT_UNEQUAL);
}

TEST(equal_is_by_value)
{
    static const struct vector vectors[] = {{{"1", "1.0", "1e0", "1"}, {NULL}},
                                            {{"{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"a\": 1}",
                                              "{\"a\":1,\"b\":2.0}", "{\"a\": 1, \"b\": 2}"},
                                             {NULL}},
                                            {{"0.1", "0.1", "0.10", "1e-1"}, {NULL}},
                                            {{"null", "null", "null", "null"}, {NULL}}};
    check(true, vectors, COUNT_OF(vectors), JR_RESULT_UNEQUAL);
}

TEST(the_same_twice_is_not_distinct)
{
    static const struct vector vectors[] = {
        {{"1", "2", "1.0", "4"},
         {"result.json: 'f' is 1 on ranks 0,2, not distinct", NULL,
          "result.json: 'f' is 1 on ranks 0,2, not distinct", NULL}},
        {{"1", "2", "3", NULL}, {NULL, NULL, NULL, "result.json has no 'f' to compare"}},
        {{"1", "2", "3", "4"}, {NULL}}};
    check(false, vectors, COUNT_OF(vectors), JR_RESULT_FIELD);
}

TEST(those_that_failed_are_not_compared)
{
    static const char *const values[] = {"1", "1", "2", "1"};
    struct fake fake RELEASE(fake_end) = {0};
    start(&fake, true, values);
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_INCOMPLETE);
    fake_exit(&fake, 2, 1);
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_FAILED);
    CU_ASSERT_EQUAL(fake.report.ranks[0].state, JR_RANK_SUCCEEDED);
    CU_ASSERT_EQUAL(fake.report.ranks[2].result_error, JR_RESULT_NONE);
}

/* As nodes that know nothing of each other are compared: what differs is told, and what is wrong by
 * itself stays as it was. */
TEST(comparing_again_leaves_the_others_alone)
{
    static const char *const values[4] = {"1", "1", "1", "1"};
    struct fake fake RELEASE(fake_end) = {0};
    start(&fake, true, values);
    fake_write_rank(&fake, 2, "result.json", "");
    fake_write_rank(&fake, 3, "result.json", "");
    fake.ends[3].warned_with = SIGUSR1;
    fake_judge(&fake);
    struct jr_judge judge = {.report = &fake.report,
                             .plan = &fake.plan,
                             .outcome = &fake.outcome,
                             .wants = &fake.policy.results};
    static const struct {
        int other;
        enum jr_rank_state states[4];
    } steps[] = {{1, {JR_RANK_SUCCEEDED, JR_RANK_SUCCEEDED, JR_RANK_INCOMPLETE, JR_RANK_YIELDED}},
                 {2, {JR_RANK_INCOMPLETE, JR_RANK_INCOMPLETE, JR_RANK_INCOMPLETE, JR_RANK_YIELDED}},
                 {1, {JR_RANK_SUCCEEDED, JR_RANK_SUCCEEDED, JR_RANK_INCOMPLETE, JR_RANK_YIELDED}}};
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        (void)json_object_set_new(fake.report.ranks[1].result, "f", json_integer(steps[s].other));
        jr_compare_again(&judge);
        for (size_t i = 0; i < 4; i++)
            CU_ASSERT_EQUAL(fake.report.ranks[i].state, steps[s].states[i]);
    }
}
