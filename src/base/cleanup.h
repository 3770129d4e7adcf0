/* Cleanup attributes for leaf code, next to an explicit steal. */
#ifndef JR_CLEANUP_H
#define JR_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void jr_cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

static inline void jr_cleanup_close(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

#define JR_FREE  __attribute__((cleanup(jr_cleanup_free)))
#define JR_CLOSE __attribute__((cleanup(jr_cleanup_close)))

/* Hand the descriptor over: the variable no longer owns it. */
static inline int jr_steal_fd(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}

#endif
