#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* Open the folder `name` of `at` as a place to continue from. */
static int enter_folder(int at, const char *name)
{
    struct stat st;
    JR_CLOSE int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return -1;
    errno = S_ISLNK(st.st_mode) ? ELOOP : EXDEV;
    if (S_ISLNK(st.st_mode) || strcmp(name, "..") == 0)
        return -1;
    return jr_steal_fd(&fd);
}

/* What openat2 does, if there is none: folder by folder, through no link and
 * never up. */
static int walk_beneath(int dir_fd, const char *path, int flags, mode_t mode)
{
    JR_CLOSE int held = -1;
    int at = dir_fd;
    for (size_t len; path[len = strcspn(path, "/")] == '/'; path += len + 1) {
        char name[NAME_MAX + 1];
        if (len >= sizeof name) {
            errno = ENAMETOOLONG;
            return -1;
        }
        (void)stpcpy(mempcpy(name, path, len), "");
        int next = enter_folder(at, name);
        if (held >= 0)
            (void)close(held);
        at = held = next;
        if (next < 0)
            return -1;
    }
    errno = EXDEV;
    if (strcmp(path, "..") == 0)
        return -1;
    return openat(at, path, flags | O_NOFOLLOW, mode);
}

int jr_open_beneath(int dir_fd, const char *path, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)flags,
        .mode = (flags & O_CREAT) != 0 ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        return walk_beneath(dir_fd, path, flags, mode);
    return (int)fd;
}

int jr_open_above(int dir_fd, const char *path, const char **ret_name)
{
    static const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path);
    errno = ENAMETOOLONG;
    if (len >= sizeof folder)
        return -1;
    *ret_name = slash == NULL ? path : slash + 1;
    if (slash == NULL)
        return openat(dir_fd, ".", flags);
    (void)stpcpy(mempcpy(folder, path, len), "");
    return jr_open_beneath(dir_fd, folder, flags, 0);
}
