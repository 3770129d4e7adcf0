/* What each signal means to a run: the usual, the spec's, what was ignored. */
#include "eventloop/signals.h"
#include "unit.h"

#include <stdlib.h>

TEST(names_are_numbers)
{
    const char *bad = "|KILLER|SIGTERM|term|RTMIN+|RTMIN+31|RTMIN-1|RTMIN+x|RTMIN+4294967296";
    EACH_PART(name, bad)
        CU_ASSERT_EQUAL(jr_signals_number(name), 0);
    CU_ASSERT_EQUAL(jr_signals_number("TERM"), SIGTERM);
    CU_ASSERT_EQUAL(jr_signals_number("WINCH"), SIGWINCH);
    CU_ASSERT_EQUAL(jr_signals_number("RTMIN"), SIGRTMIN);
    CU_ASSERT_EQUAL(jr_signals_number("RTMIN+3"), SIGRTMIN + 3);
    CU_ASSERT_EQUAL(jr_signals_number("RTMIN+30"), SIGRTMAX);
}

TEST(the_spec_comes_after_the_usual)
{
    struct jr_signal_rule rules[] = {
        {(char *)"HUP", JR_ON_SIGNAL_IGNORE},
        {(char *)"USR1", JR_ON_SIGNAL_STOP},
        {(char *)"TSTP", JR_ON_SIGNAL_FORWARD},
        {(char *)"RTMIN+2", JR_ON_SIGNAL_FORWARD},
    };
    struct jr_policy policy = {.signals = rules, .signals_count = 4};
    struct jr_signals signals;
    sigset_t ignored, set;
    (void)sigemptyset(&ignored);
    jr_signals_make(&signals, &policy, &ignored);
    CU_ASSERT_EQUAL(signals.use[SIGHUP], JR_SIGNAL_DROP);
    CU_ASSERT_EQUAL(signals.use[SIGUSR1], JR_SIGNAL_STOP);
    CU_ASSERT_EQUAL(signals.use[SIGUSR2], JR_SIGNAL_FORWARD);
    CU_ASSERT_EQUAL(signals.use[SIGTSTP], JR_SIGNAL_FORWARD);
    CU_ASSERT_EQUAL(signals.use[SIGCONT], JR_SIGNAL_RESUME);
    CU_ASSERT_EQUAL(signals.use[SIGRTMIN + 2], JR_SIGNAL_FORWARD);
    CU_ASSERT_EQUAL(signals.use[SIGCHLD], JR_SIGNAL_NONE);
    jr_signals_set(&signals, &set);
    CU_ASSERT_EQUAL(sigismember(&set, SIGHUP), 1);
    CU_ASSERT_EQUAL(sigismember(&set, SIGRTMIN + 2), 1);
    CU_ASSERT_EQUAL(sigismember(&set, SIGRTMIN + 1), 0);
    CU_ASSERT_EQUAL(sigismember(&set, SIGALRM), 0);
}

TEST(what_was_ignored_stays_so)
{
    struct jr_signal_rule rule = {(char *)"QUIT", JR_ON_SIGNAL_STOP};
    struct jr_policy policy = {.signals = &rule, .signals_count = 1};
    struct jr_signals signals;
    sigset_t ignored;
    (void)signal(SIGQUIT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    jr_signals_ignored(&ignored);
    (void)signal(SIGQUIT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    CU_ASSERT_EQUAL(sigismember(&ignored, SIGQUIT), 1);
    CU_ASSERT_EQUAL(sigismember(&ignored, SIGPIPE), 0);
    CU_ASSERT_EQUAL(sigismember(&ignored, SIGUSR1), 0);
    jr_signals_make(&signals, &policy, &ignored);
    CU_ASSERT_EQUAL(signals.use[SIGQUIT], JR_SIGNAL_NONE);
    CU_ASSERT_EQUAL(signals.use[SIGTERM], JR_SIGNAL_STOP);
    CU_ASSERT_EQUAL(signals.use[SIGINT], JR_SIGNAL_STOP);
}
