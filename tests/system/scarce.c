/*
 * To be preloaded: memory that runs out. From allocation number SCARCE on, of those that malloc(3)
 * and its kin are asked for, there is none; without the variable there is enough.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static long left = -2; /* -2: not asked yet; -1: no end */

static bool within_glibc;

static bool is_out(void)
{
    if (within_glibc)
        return false;
    if (left == -2) {
        const char *number = getenv("SCARCE");
        left = number == NULL ? -1 : strtol(number, NULL, 10);
    }
    if (left > 0) {
        left--;
        return false;
    }
    if (left == 0)
        errno = ENOMEM;
    return left == 0;
}

void *malloc(size_t size)
{
    return is_out() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return is_out() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return is_out() ? NULL : __libc_realloc(old, size);
}

/* As one allocation: its first call in a process crashes without memory in glibc 2.36
 * (nss_database_check_reload_and_get has no state to look at). */
int getpwuid_r(uid_t user, struct passwd *entry, char *text, size_t size, struct passwd **found)
{
    int (*real)(uid_t, struct passwd *, char *, size_t, struct passwd **);
    if (is_out())
        return ENOMEM;
    within_glibc = true;
    *(void **)&real = dlsym(RTLD_NEXT, "getpwuid_r");
    int err = real(user, entry, text, size, found);
    within_glibc = false;
    return err;
}
