#include "judge/judgement.h"

#include "fake_run.h"
#include "judge/restart.h"

/* Without earlier attempts there is one only, and the outcome is its own. */
static void the_run_began_with_its_first_attempt(void)
{
    static const struct jr_attempt attempts[] = {
        {.started_ns = 7, .started_wall_ns = 77},
        {.started_ns = 8, .started_wall_ns = 88}};
    struct jr_outcome outcome = {.started_ns = 9, .started_wall_ns = 99};
    struct jr_judgement report = {0};
    CU_ASSERT_EQUAL(jr_judgement_began_ns(&report, &outcome), 9);
    CU_ASSERT_EQUAL(jr_judgement_began_wall_ns(&report, &outcome), 99);
    report.earlier = attempts;
    report.earlier_count = 2;
    CU_ASSERT_EQUAL(jr_judgement_began_ns(&report, &outcome), 7);
    CU_ASSERT_EQUAL(jr_judgement_began_wall_ns(&report, &outcome), 77);
}

/* Who represents a state is the first in it. */
static void the_first_rank_in_a_state_is_found(void)
{
    struct jr_rank_judgement ranks[] = {{.state = JR_RANK_SUCCEEDED},
                                        {.state = JR_RANK_STOPPED},
                                        {.state = JR_RANK_FAILED},
                                        {.state = JR_RANK_STOPPED}};
    struct jr_judgement report = {.ranks = ranks, .count = 4};
    CU_ASSERT_EQUAL(jr_judgement_first(&report, JR_RANK_SUCCEEDED), 0);
    CU_ASSERT_EQUAL(jr_judgement_first(&report, JR_RANK_STOPPED), 1);
    CU_ASSERT_EQUAL(jr_judgement_first(&report, JR_RANK_FAILED), 2);
    CU_ASSERT_EQUAL(jr_judgement_first(&report, JR_RANK_NOT_STARTED), 4);
}

JR_UNIT_MAIN("judgement", CASE(the_run_began_with_its_first_attempt),
             CASE(the_first_rank_in_a_state_is_found))
