#include "base/user.h"

#include <pwd.h>
#include <stdlib.h>

#include "base/banned.h"

/* The entry of a user, or NULL. Its strings lie in `text`. The first call in a
 * process reads nsswitch.conf(5) and loads what it names; glibc 2.36 crashes
 * where there is no memory for that, so it is not begun without some. */
static const struct passwd *read_entry(struct passwd *entry, char *text,
                                       size_t size, uid_t user)
{
    enum { NAME_SERVICE = 64 << 10 };
    void *volatile spare = malloc(NAME_SERVICE);
    struct passwd *found = NULL;
    free(spare);
    if (spare == NULL)
        return NULL;
    return getpwuid_r(user, entry, text, size, &found) == 0 ? found : NULL;
}

char *jr_user_name(struct jr_arena *arena, uid_t user)
{
    char text[4096];
    struct passwd entry;
    const struct passwd *found = read_entry(&entry, text, sizeof text, user);
    return found == NULL ? jr_arena_printf(arena, "%u", (unsigned)user)
                         : jr_arena_strdup(arena, found->pw_name);
}

void jr_user_print(struct jr_buf *out, uid_t user)
{
    char text[4096];
    struct passwd entry;
    const struct passwd *found = read_entry(&entry, text, sizeof text, user);
    if (found == NULL) {
        jr_buf_printf(out, "%u", (unsigned)user);
        return;
    }
    jr_buf_safe(out, found->pw_name);
    jr_buf_printf(out, " (uid %u)", (unsigned)user);
}
