/* By which signal jobrun itself is told that the end is near. */
#include "plan/deadline_notice.h"

#include "unit.h"

TEST(is_one_that_jobrun_would_forward)
{
    static char usr1[] = "USR1", usr2[] = "USR2", term[] = "TERM";
    static struct jr_signal_rule stop1[] = {{usr1, JR_ON_SIGNAL_STOP}};
    static struct jr_signal_rule both[] = {{usr1, JR_ON_SIGNAL_IGNORE}, {usr2, JR_ON_SIGNAL_STOP}};
    static struct jr_signal_rule same[] = {{usr1, JR_ON_SIGNAL_FORWARD}};
    static const struct {
        uint64_t before_ms;
        char *signal;
        struct jr_signal_rule *rules;
        uint32_t count;
        const char *notice;
    } rows[] = {{0, usr1, NULL, 0, NULL},    {1, usr1, NULL, 0, "USR1"},
                {1, usr2, NULL, 0, "USR2"},  {1, term, NULL, 0, "USR1"},
                {1, usr1, stop1, 1, "USR2"}, {1, term, stop1, 1, "USR2"},
                {1, usr1, both, 2, NULL},    {1, usr1, same, 1, "USR1"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct jr_policy policy = {.deadline = {rows[i].before_ms, rows[i].signal},
                                         .signals = rows[i].rules,
                                         .signals_count = rows[i].count};
        const char *notice = jr_deadline_notice(&policy);
        if (rows[i].notice == NULL)
            CU_ASSERT_PTR_NULL(notice)
        else
            JR_ASSERT_TEXT(notice, rows[i].notice);
    }
}
