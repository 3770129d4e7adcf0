/* When a job on several nodes hangs, by what its nodes say of their ranks. */
#include "cluster/internal.h"

#include "fake_controller.h"

#define HOUR_NS (3600000 * FAKE_MS)

static struct fake_controller fake;

/* All nodes are asked, once, for how long they have been silent; the run hangs if it was long
 * enough for each. */
TEST(asks_all_about_silence)
{
    static const struct {
        unsigned answers[FAKE_NODES]; /* milliseconds */
        bool hangs;
    } vectors[] = {
        {{4999, 9000, 9000}, false}, {{9000, 9000, 0}, false},    {{0, 0, 0}, false},
        {{5000, 5000, 5000}, true},  {{9000, 5000, 70000}, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        fake_controller_start(&fake);
        fake.policy.timeouts.silence_ms = 5000;
        fake_controller_receive(&fake, "{\"n\": 1, \"t\": \"silent\", \"at\": 5}");
        fake_controller_check_sent(&fake, "query");
        fake_controller_receive(&fake, "{\"n\": 2, \"t\": \"silent\", \"at\": 5}");
        fake_controller_check_sent(&fake, "");
        for (uint32_t k = 0; k < FAKE_NODES; k++) {
            char line[128];
            fake_controller_check_sent(&fake, "");
            (void)snprintf(line, sizeof line,
                           "{\"n\": %u, \"t\": \"quiet\", \"for_ns\": %llu, \"at\": 5}", k,
                           vectors[i].answers[k] * 1000000ULL);
            fake_controller_receive(&fake, line);
        }
        fake_controller_check_sent(&fake, vectors[i].hangs ? "hang" : "");
        CU_ASSERT_FALSE(fake.run.is_querying);
        fake_controller_receive(&fake, "{\"n\": 1, \"t\": \"silent\", \"at\": 5}");
        fake_controller_check_sent(&fake, "query"); /* anew */
        fake_controller_end(&fake);
    }
}

/* A run that is being stopped neither asks nor hangs. */
TEST(a_stopped_run_does_not_hang)
{
    fake_controller_start(&fake);
    fake.policy.timeouts.silence_ms = 5000;
    fake.run.stopped = true;
    fake_controller_receive(&fake, "{\"n\": 1, \"t\": \"silent\", \"at\": 5}");
    fake_controller_check_sent(&fake, "");
    fake.run.stopped = false;
    jr_controller_silence_ask(&fake.run);
    fake_controller_check_sent(&fake, "query");
    fake.run.stopped = true;
    for (uint32_t k = 0; k < FAKE_NODES; k++)
        jr_controller_silence_answer(&fake.run, k, HOUR_NS);
    fake_controller_check_sent(&fake, "");
    fake_controller_end(&fake);
}

/* A node that has ended is not asked; what its ranks wrote not long ago is no silence. */
TEST(an_ended_node_is_not_asked)
{
    for (int late = 0; late < 2; late++) {
        fake_controller_start(&fake);
        fake.policy.timeouts.silence_ms = 5000;
        fake.nodes[2].state = JR_NODE_DONE;
        fake.outcomes[5].heard_ns = late ? jr_clock_ns() + HOUR_NS : 1;
        jr_controller_silence_ask(&fake.run);
        CU_ASSERT_FALSE(fake.nodes[2].queried);
        jr_controller_silence_answer(&fake.run, 0, HOUR_NS);
        fake_controller_check_sent(&fake, "query");
        jr_controller_silence_answer(&fake.run, 1, HOUR_NS);
        fake_controller_check_sent(&fake, late ? "" : "hang");
        fake_controller_end(&fake);
    }
}

/* One that ends meanwhile is waited for no longer. */
TEST(an_answer_may_never_come)
{
    fake_controller_start(&fake);
    fake.policy.timeouts.silence_ms = 5000;
    jr_controller_silence_ask(&fake.run);
    jr_controller_silence_answer(&fake.run, 0, HOUR_NS);
    jr_controller_silence_answer(&fake.run, 1, HOUR_NS);
    fake_controller_check_sent(&fake, "query");
    fake.nodes[2].state = JR_NODE_LOST;
    jr_controller_silence_decide(&fake.run);
    fake_controller_check_sent(&fake, "hang");
    fake_controller_end(&fake);
}
