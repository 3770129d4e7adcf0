#include "base/signal_name.h"
#include "unit.h"

#include <signal.h>
#include <string.h>

static void signals_have_names(void)
{
    static const struct {
        int signal;
        const char *name;
    } cases[] = {{9, "SIGKILL"}, {11, "SIGSEGV"}, {6, "SIGABRT"}};
    char name[JR_SIGNAL_NAME];
    for (size_t c = 0; c < 3; c++) {
        jr_signal_name(name, cases[c].signal);
        JR_ASSERT_TEXT(name, cases[c].name);
    }
    jr_signal_name(name, SIGRTMIN);
    JR_ASSERT_TEXT(name, "SIGRTMIN");
    jr_signal_name(name, SIGRTMAX);
    JR_ASSERT_TEXT(name, "SIGRTMIN+30");
    jr_signal_name(name, 999);
    JR_ASSERT_TEXT(name, "signal 999");
}

/* The names are a table of our own, for C libraries without sigabbrev_np(3). */
static void names_are_those_of_the_c_library(void)
{
    for (int signal = 1; signal < SIGRTMIN - 2; signal++) {
        char name[JR_SIGNAL_NAME];
        jr_signal_name(name, signal);
        CU_ASSERT_TRUE(strncmp(name, "SIG", 3) == 0);
        JR_ASSERT_TEXT(name + 3, sigabbrev_np(signal));
    }
    char name[JR_SIGNAL_NAME];
    jr_signal_name(name, 0);
    JR_ASSERT_TEXT(name, "signal 0");
    jr_signal_name(name, -1);
    JR_ASSERT_TEXT(name, "signal -1");
}

static void names_mean_signals(void)
{
    static const char *const unknown[] = {"", "KILL", "SIGNOPE", "signal 999",
                                          "SIGRTMIN+99"};
    for (size_t i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(jr_signal_of(unknown[i]), 0);
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        char name[JR_SIGNAL_NAME];
        jr_signal_name(name, signal);
        CU_ASSERT_EQUAL(jr_signal_of(name), signal);
    }
}

JR_UNIT_MAIN("signame", CASE(names_mean_signals),
             CASE(names_are_those_of_the_c_library), CASE(signals_have_names))
