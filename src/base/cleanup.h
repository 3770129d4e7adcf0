/* Cleanup attributes for leaf code, next to an explicit steal. */
#ifndef JR_CLEANUP_H
#define JR_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What JR_FREE calls, with the address of the variable. */
static inline void jr_cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

/* What JR_CLOSE calls, with its address as well; -1 is no descriptor. */
static inline void jr_cleanup_close(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

/* Close a descriptor that is kept somewhere; -1, which it is afterwards, is none. */
static inline void jr_close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* What JR_CLOSEDIR calls; NULL is no folder. */
static inline void jr_cleanup_dir(DIR *const *dir)
{
    if (*dir != NULL)
        (void)closedir(*dir);
}

/* Variables that are freed, or closed, where their scope ends. A lock does its work by being open,
 * so a descriptor need not be read (clang warns of it). */
#define JR_FREE     __attribute__((cleanup(jr_cleanup_free)))
#define JR_CLOSE    __attribute__((unused, cleanup(jr_cleanup_close)))
#define JR_CLOSEDIR __attribute__((cleanup(jr_cleanup_dir)))

/* Hand the descriptor over: the variable no longer owns it. */
static inline int jr_steal_fd(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}

#endif
