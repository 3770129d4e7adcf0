#include <pwd.h>
#include <signal.h>
#include <string.h>

#include "base/names.h"

#include "unit.h"

/* The names are a table of our own, for C libraries without sigabbrev_np(3). */
TEST(signals_have_names)
{
    static const struct {
        int signal;
        const char *name;
    } rows[] = {{SIGKILL, "SIGKILL"}, {999, "signal 999"}, {0, "signal 0"}, {-1, "signal -1"}};
    char name[JR_SIGNAL_NAME];
    JR_EACH(row, rows) {
        jr_signal_name(name, row->signal);
        JR_ASSERT_TEXT(name, row->name);
    }
    jr_signal_name(name, SIGRTMIN);
    JR_ASSERT_TEXT(name, "SIGRTMIN");
    jr_signal_name(name, SIGRTMAX);
    JR_ASSERT_TEXT(name, "SIGRTMIN+30");
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        jr_signal_name(name, signal);
        CU_ASSERT_EQUAL(jr_signal_of(name), signal);
        CU_ASSERT_TRUE(signal >= SIGRTMIN - 2 || strncmp(name, "SIG", 3) == 0);
        if (signal < SIGRTMIN - 2)
            JR_ASSERT_TEXT(name + 3, sigabbrev_np(signal));
    }
}

TEST(other_names_mean_no_signal)
{
    const char *unknown = "|KILL|SIGNOPE|signal 999|SIGRTMIN+99";
    EACH_PART(text, unknown)
        CU_ASSERT_EQUAL(jr_signal_of(text), 0);
}

TEST(users_have_names_or_are_numbers)
{
    enum { NOBODY = 64123 }; /* has no name */
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct passwd *entry = getpwuid(0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
    const char *name = jr_arena_strdup(&arena, entry->pw_name);
    JR_ASSERT_TEXT(jr_user_name(&arena, 0), name);
    jr_user_print(&out, 0);
    JR_ASSERT_TEXT(out.data, jr_arena_printf(&arena, "%s (uid 0)", name));
    if (getpwuid(NOBODY) == NULL) {
        jr_buf_clear(&out);
        JR_ASSERT_TEXT(jr_user_name(&arena, NOBODY), "64123");
        jr_user_print(&out, NOBODY);
        JR_ASSERT_TEXT(out.data, "64123");
    }
}
