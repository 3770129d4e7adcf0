#include "base/user.h"

#include <pwd.h>

#include "base/banned.h"

void jr_user_print(struct jr_buf *out, uid_t user)
{
    struct passwd entry, *found = NULL;
    char text[4096];
    if (getpwuid_r(user, &entry, text, sizeof text, &found) == 0 &&
        found != NULL) {
        jr_buf_safe(out, found->pw_name);
        jr_buf_printf(out, " (uid %u)", (unsigned)user);
    } else {
        jr_buf_printf(out, "%u", (unsigned)user);
    }
}
