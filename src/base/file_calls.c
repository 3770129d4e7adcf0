#include "base/file_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/syscalls.h"

#include "base/banned.h"

/* Whether the user that we act as has the rights of `mode`, for the older call
 * asks for the one that we are. By the mode's bits alone, as glibc does it. */
static int check_mode(int dir_fd, const char *path, int mode)
{
    struct stat st;
    if (fstatat(dir_fd, path, &st, 0) != 0)
        return -1;
    mode_t any = S_IXUSR | S_IXGRP | S_IXOTH;
    bool of_group = st.st_gid == getegid() || group_member(st.st_gid) != 0;
    int shift = st.st_uid == geteuid() ? 6 : of_group ? 3 : 0;
    bool runs =
        (mode & X_OK) == 0 || S_ISDIR(st.st_mode) || (st.st_mode & any) != 0;
    bool given =
        geteuid() == 0 ? runs : ((int)(st.st_mode >> shift) & mode) == mode;
    errno = EACCES;
    return given ? 0 : -1;
}

int jr_access(int dir_fd, const char *path, int mode, int flags)
{
    struct stat st;
    long got = syscall(SYS_faccessat2, dir_fd, path, mode, flags);
    if (got == 0 || !jr_call_is_missing(errno))
        return (int)got;
    if ((flags & AT_SYMLINK_NOFOLLOW) != 0 && mode == F_OK)
        return fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW);
    if ((flags & AT_EACCESS) != 0 &&
        (getuid() != geteuid() || getgid() != getegid()))
        return check_mode(dir_fd, path, mode);
    return (int)syscall(SYS_faccessat, dir_fd, path, mode);
}

int jr_memory_file(const char *name)
{
    static const char *const folders[] = {"/dev/shm", "/tmp"};
    int fd = (int)syscall(SYS_memfd_create, name, 1 /* MFD_CLOEXEC */);
    for (size_t i = 0; fd < 0 && jr_call_is_missing(errno) && i < 2; i++) {
        fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0)
            errno = ENOSYS;
    }
    return fd;
}
