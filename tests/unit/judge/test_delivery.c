#include "judge/internal.h"

#include "fake_run.h"
#include "quoted.h"

/* A run of two ranks, the second of which has its files on another node. */
static void start_apart(struct fake *fake, json_t *delivery)
{
    static json_t *deliveries[2];
    fake_start(fake, 2);
    fake->policy.results.stated = true;
    deliveries[1] = delivery;
    fake->deliveries = deliveries;
    fake_write_rank(fake, 0, "result.json", jq("{'loss': 0.5}"));
}

#define APART(name, found)                                                                         \
    JSON *delivery = json_of(found);                                                               \
    struct fake name RELEASE(fake_end);                                                            \
    start_apart(&name, delivery)

/* Its own node has found it; here there is no file of it. */
TEST(takes_what_another_node_has_found)
{
    APART(fake, "{'result': {'loss': 0.25}, 'late_match': true, 'unwritten': true, "
                "'pattern_limits': 3}");
    fake_judge(&fake);
    const struct jr_rank_judgement *rank = &fake.report.ranks[1];
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_SUCCEEDED);
    CU_ASSERT_EQUAL(rank->state, JR_RANK_SUCCEEDED);
    CU_ASSERT_EQUAL(jr_json_get_real(rank->result, "loss"), 0.25);
    CU_ASSERT_TRUE(rank->late_match && rank->unwritten);
    CU_ASSERT_EQUAL(rank->pattern_limits, 3);
}

/* A file of that name here is not the rank's. */
TEST(looks_at_no_file_here)
{
    APART(fake, "{'error': 'stale', 'reason': 'result.json is old'}");
    fake_write_rank(&fake, 1, "result.json", jq("{'loss': 0.5}"));
    fake_judge(&fake);
    const struct jr_rank_judgement *rank = &fake.report.ranks[1];
    CU_ASSERT_EQUAL(fake.report.exit_code, JR_STATUS_INCOMPLETE);
    CU_ASSERT_EQUAL(rank->state, JR_RANK_INCOMPLETE);
    CU_ASSERT_EQUAL(rank->result_error, JR_RESULT_STALE);
    JR_ASSERT_TEXT(rank->reason, "result.json is old");
    CU_ASSERT_PTR_NULL(rank->result);
}

/* Nothing of what it says makes a rank succeed that did not. */
TEST(refuses_words_that_are_none)
{
    APART(fake, "{'error': 'fine'}");
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[1].result_error, JR_RESULT_MISSING);
    JR_ASSERT_TEXT(fake.report.ranks[1].reason, "its node does not say why");
    fake_exit(&fake, 1, 3);
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[1].state, JR_RANK_FAILED);
    CU_ASSERT_PTR_NULL(fake.report.ranks[1].result);
}

/* Ranks are compared where all of them are known. */
TEST(compares_it_with_what_is_here)
{
    char *equal[] = {(char *)"loss"};
    APART(fake, "{'result': {'loss': 0.75}}");
    fake.policy.results.equal = equal;
    fake.policy.results.equal_count = 1;
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_INCOMPLETE);
    CU_ASSERT_TRUE(fake.report.ranks[0].differs || fake.report.ranks[1].differs);
}

/* What a node sends is what it has found, in all that counts. */
TEST(sends_what_was_found)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    FAKE(fake, 3);
    fake.policy.results.stated = true;
    fake_write_rank(&fake, 0, "result.json", jq("{'loss': 0.5}"));
    fake_write_rank(&fake, 1, "result.json", "");
    fake_exit(&fake, 2, 1);
    fake_judge(&fake);
    for (size_t i = 0; i < 2; i++) {
        JSON *delivery = jr_delivery_pack(&fake.report, i);
        jr_json_print(&text, delivery, 0);
        jr_buf_char(&text, '\n');
    }
    JR_ASSERT_TEXT(text.data, jq("{'result': {'loss': 0.5}}\n"
                                 "{'error': 'empty', 'reason': 'result.json is empty'}\n"));
    CU_ASSERT_PTR_NULL(jr_delivery_pack(&fake.report, 2));
    fake.report.ranks[1].late_match = fake.report.ranks[1].unwritten = true;
    fake.report.ranks[1].pattern_limits = 3;
    JSON *more = jr_delivery_pack(&fake.report, 1);
    check_values(more, "late_match true | unwritten true | pattern_limits 3");
}

/* Who is to blame there for having left is judged again where all are known. */
TEST(sends_what_one_that_left_lacks)
{
    FAKE(fake, 2);
    fake.policy.results.stated = true;
    fake_exit(&fake, 1, 1);
    fake.ends[1].lost_peer = true;
    fake_judge(&fake);
    CU_ASSERT_TRUE(jr_judgement_left(&fake.report.ranks[0]));
    JSON *delivery = jr_delivery_pack(&fake.report, 0);
    check_values(delivery, "error 'missing' | reason 'result.json was not written'");
    CU_ASSERT_PTR_NULL(jr_delivery_pack(&fake.report, 1));
}

/* A rank that differs from others of its node may be one of many elsewhere. */
TEST(leaves_comparisons_to_others)
{
    struct jr_rank_judgement rank = {.state = JR_RANK_INCOMPLETE,
                                     .result_error = JR_RESULT_UNEQUAL,
                                     .differs = true,
                                     .reason = "it differs"};
    const struct jr_judgement report = {.ranks = &rank, .count = 1};
    JSON *delivery = jr_delivery_pack(&report, 0);
    CU_ASSERT_EQUAL(json_object_size(delivery), 0);
}

/* A run of two ranks with an artifact that any of them may make. */
static void start_job(struct fake *fake)
{
    static char *names[] = {(char *)"/nowhere/model.pt"};
    fake_start(fake, 2);
    fake->policy.results.stated = true;
    fake->policy.results.artifacts = names;
    fake->policy.results.artifacts_count = 1;
    for (int i = 0; i < 2; i++) {
        fake->ranks[i].artifacts = names;
        fake->ranks[i].artifacts_count = 1;
    }
}

static const char made[] = "{'job': [null]}";
static const char none[] = "{'job': [{'error': 'missing', 'reason': 'was not written'}]}";
static const char old[] =
    "{'job': [{'error': 'stale', 'reason': 'is the one from before the start'}]}";

/* What becomes of the state of the first of two ranks on other nodes where these have said so. */
static void expect_job(const char *first, const char *second, enum jr_result_error error,
                       const char *reason)
{
    JSON *one = json_of(first), *other = json_of(second);
    json_t *deliveries[] = {one, other};
    struct fake fake RELEASE(fake_end);
    start_job(&fake);
    fake.deliveries = deliveries;
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[0].result_error, error);
    if (reason != NULL)
        JR_ASSERT_TEXT(fake.report.ranks[0].reason, reason);
}

TEST(has_an_artifact_of_the_job_where_any_node_has_it)
{
    expect_job(made, made, JR_RESULT_NONE, NULL);
    expect_job(none, made, JR_RESULT_NONE, NULL);
    expect_job(made, old, JR_RESULT_NONE, NULL);
    expect_job(none, none, JR_RESULT_MISSING,
               "artifact /nowhere/model.pt of the job, which any rank may make, was not written");
    expect_job(none, old, JR_RESULT_STALE,
               "artifact /nowhere/model.pt of the job, which any rank may make, is the one from "
               "before the start");
    expect_job("{'job': [3]}", none, JR_RESULT_MISSING, NULL);
}

/* A node says how it stands there, and finds no fault with its ranks for it. */
TEST(sends_how_an_artifact_of_the_job_stands)
{
    struct fake fake RELEASE(fake_end);
    start_job(&fake);
    fake.policy.results.required = (char *)"none";
    fake.apart = true;
    fake_judge(&fake);
    CU_ASSERT_EQUAL(fake.report.ranks[1].result_error, JR_RESULT_NONE);
    JSON *delivery = jr_delivery_pack(&fake.report, 1);
    check_values(delivery, "job [{'error': 'missing', 'reason': 'was not written'}]");
}
