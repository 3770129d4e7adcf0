#include "store/outcome.h"
#include "unit.h"

#include <signal.h>

#define MS UINT64_C(1000000)

/* How one rank ended 100 ms before jobrun was sent SIGTERM, and what it is
 * stopped with then. */
static const struct {
    struct jr_rank_outcome rank;
    int hit, stopped_with;
} vectors[] = {
    {{.end = JR_END_NONE}, 0, 0},
    {{.end = JR_END_START, .exit_code = 143}, 0, 0},
    {{.end = JR_END_EXITED, .exit_code = 0}, 0, 0},
    {{.end = JR_END_EXITED, .exit_code = 1}, 0, 0},
    {{.end = JR_END_EXITED, .exit_code = 128}, 0, 0},
    {{.end = JR_END_EXITED, .exit_code = 137}, SIGKILL, 0},
    {{.end = JR_END_EXITED, .exit_code = 143}, SIGTERM, SIGTERM},
    {{.end = JR_END_SIGNALED, .signal = SIGSEGV}, SIGSEGV, 0},
    {{.end = JR_END_SIGNALED, .signal = SIGTERM}, SIGTERM, SIGTERM},
    {{.end = JR_END_SIGNALED, .signal = SIGTERM, .stopped_with = SIGINT},
     0,
     SIGINT},
    {{.end = JR_END_SIGNALED, .signal = SIGTERM, .killed = true}, 0, 0},
};

static void what_both_were_sent_stops_both(void)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_rank_outcome rank = vectors[i].rank;
        struct jr_outcome run = {.count = 1, .ranks = &rank};
        rank.ended_ns = 5000 * MS;
        CU_ASSERT_EQUAL(jr_outcome_hit(&run), vectors[i].hit);
        jr_outcome_share(run.ranks, run.count, SIGTERM, 5100 * MS);
        CU_ASSERT_EQUAL(rank.stopped_with, vectors[i].stopped_with);
    }
}

static void what_was_long_before_does_not(void)
{
    struct jr_rank_outcome rank = {
        .end = JR_END_SIGNALED, .signal = SIGTERM, .ended_ns = 5000 * MS};
    struct jr_outcome run = {.count = 1, .ranks = &rank};
    jr_outcome_share(run.ranks, run.count, SIGTERM, rank.ended_ns + JR_SHARE_NS);
    CU_ASSERT_EQUAL(rank.stopped_with, 0);
    jr_outcome_share(run.ranks, run.count, SIGTERM, rank.ended_ns + JR_SHARE_NS - 1);
    CU_ASSERT_EQUAL(rank.stopped_with, SIGTERM);
}

static void the_first_rank_that_was_hit_counts(void)
{
    struct jr_rank_outcome ranks[] = {
        {.end = JR_END_EXITED},
        {.end = JR_END_SIGNALED, .signal = SIGINT},
        {.end = JR_END_SIGNALED, .signal = SIGTERM}};
    struct jr_outcome run = {.count = 3, .ranks = ranks};
    CU_ASSERT_EQUAL(jr_outcome_hit(&run), SIGINT);
    run.count = 0;
    CU_ASSERT_EQUAL(jr_outcome_hit(&run), 0);
}

JR_UNIT_MAIN("outcome", CASE(what_both_were_sent_stops_both),
             CASE(what_was_long_before_does_not),
             CASE(the_first_rank_that_was_hit_counts))
