#include "base/user.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "unit.h"

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

JR_UNIT_MAIN("user", CASE(has_its_name), CASE(is_a_number_without_a_name))
