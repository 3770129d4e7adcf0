#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"

#include "unit.h"

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
    static const char *const unknown[] = {"", "KILL", "SIGNOPE", "signal 999", "SIGRTMIN+99"};
    for (size_t i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(jr_signal_of(unknown[i]), 0);
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        char name[JR_SIGNAL_NAME];
        jr_signal_name(name, signal);
        CU_ASSERT_EQUAL(jr_signal_of(name), signal);
    }
}

enum { NOBODY = 64123 }; /* has no name */

static void has_its_name(void)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf out = JR_BUF_INIT;
    char want[256];
    const struct passwd *entry = getpwuid(0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    JR_ASSERT_TEXT(jr_user_name(&arena, 0), entry->pw_name);
    (void)snprintf(want, sizeof want, "%s (uid 0)", entry->pw_name);
    jr_user_print(&out, 0);
    JR_ASSERT_TEXT(out.data, want);
    jr_buf_release(&out);
    jr_arena_release(&arena);
}

static void is_a_number_without_a_name(void)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf out = JR_BUF_INIT;
    if (getpwuid(NOBODY) == NULL) {
        JR_ASSERT_TEXT(jr_user_name(&arena, NOBODY), "64123");
        jr_user_print(&out, NOBODY);
        JR_ASSERT_TEXT(out.data, "64123");
    }
    jr_buf_release(&out);
    jr_arena_release(&arena);
}

JR_UNIT_MAIN("base.names", CASE(names_mean_signals), CASE(names_are_those_of_the_c_library),
             CASE(signals_have_names), CASE(has_its_name), CASE(is_a_number_without_a_name))
