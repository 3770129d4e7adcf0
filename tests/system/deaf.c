/*
 * To be preloaded: inotify(7) as it is on a file system that another machine writes to. All is
 * well, and nothing is ever told.
 */
#include <stdint.h>
#include <sys/inotify.h>

int inotify_add_watch(int fd, const char *path, uint32_t mask)
{
    (void)fd;
    (void)path;
    (void)mask;
    return 1;
}
