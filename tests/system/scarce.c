/*
 * To be preloaded: memory that runs out. From allocation number SCARCE on, of
 * those that malloc(3) and its kin are asked for, there is none; without the
 * variable there is enough.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static long left = -2; /* -2: not asked yet; -1: no end */

static bool is_out(void)
{
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
