#include "base/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pidfd.h"

#include "base/banned.h"

const struct jr_syscall *jr_syscalls(size_t *ret_count)
{
    enum { NONE = -1, NO_FD = 1 << 30, ALL = ~0 };
    static const struct jr_syscall rows[] = {
        {"memfd_create",
         "3.17",
         "files in /dev/shm or /tmp without a name",
         SYS_memfd_create,
         {0, ALL}},
        {"pidfd_send_signal",
         "5.1",
         "kill, of children not reaped yet",
         SYS_pidfd_send_signal,
         {NONE}},
        {"pidfd_open",
         "5.3",
         "SIGCHLD, and a pipe between jobrun's two processes",
         SYS_pidfd_open,
         {NONE}},
        {"clone3", "5.7", "fork, and then a move into the control group", SYS_clone3, {0}},
        {"waitid of a pidfd",
         "5.4",
         "waitid of a pid, of children only",
         SYS_waitid,
         {JR_P_PIDFD, NO_FD, 0, WEXITED | WNOHANG}},
        {"openat2", "5.6", "openat, folder by folder", SYS_openat2, {NONE}},
        {"faccessat2",
         "5.8",
         "access for the same user, else the mode's bits",
         SYS_faccessat2,
         {NONE, 0, 0, ALL}},
        {"close_range",
         "5.9",
         "a walk over /proc/self/fd, and marks",
         SYS_close_range,
         {ALL, ALL, JR_CLOSE_RANGE_UNSHARE}},
    };
    *ret_count = sizeof rows / sizeof *rows;
    return rows;
}

bool jr_syscall_works(const struct jr_syscall *call)
{
    const long *args = call->args;
    if (syscall(call->number, args[0], args[1], args[2], args[3], 0L) >= 0)
        return true;
    /* Of waitid, EINVAL says that the kernel does not know what is to be waited for. */
    return !jr_call_is_missing(errno) && (call->number != SYS_waitid || errno != EINVAL);
}

bool jr_close_range_works(void)
{
    return syscall(SYS_close_range, ~0U, ~0U, JR_CLOSE_RANGE_UNSHARE) == 0;
}

/* As getdents64(2) writes it; C libraries before 2.30 have no name for that. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

/* The names are numbers in their order, so that what is closed meanwhile is not missed
 * (fs/proc/fd.c). */
static int walk_descriptors(int list, unsigned first, unsigned last, unsigned flags)
{
    _Alignas(struct entry) char bytes[4096];
    long len;
    while ((len = syscall(SYS_getdents64, list, bytes, sizeof bytes)) > 0)
        for (long at = 0; at < len;) {
            const struct entry *entry = (const void *)(bytes + at);
            const char *digit = entry->name;
            unsigned fd = 0;
            for (; *digit >= '0' && *digit <= '9'; digit++)
                fd = fd * 10 + (unsigned)(*digit - '0');
            at += entry->size;
            if (*digit != '\0' || (int)fd == list || fd < first || fd > last)
                continue;
            if ((flags & JR_CLOSE_RANGE_CLOEXEC) == 0)
                (void)close((int)fd);
            else if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) != 0)
                return -1;
        }
    return len < 0 ? -1 : 0;
}

int jr_close_range(unsigned first, unsigned last, unsigned flags)
{
    if (syscall(SYS_close_range, first, last, flags) == 0)
        return 0;
    /* Linux 5.9 and 5.10 know no CLOEXEC. */
    bool unknown = errno == EINVAL && (flags & JR_CLOSE_RANGE_CLOEXEC) != 0;
    if (!jr_call_is_missing(errno) && !unknown)
        return -1;
    errno = EINVAL;
    if (first > last)
        return -1;
    if ((flags & JR_CLOSE_RANGE_UNSHARE) != 0 && unshare(CLONE_FILES) != 0)
        return -1;
    int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (list < 0)
        return -1;
    int failed = walk_descriptors(list, first, last, flags);
    int error = errno;
    (void)close(list);
    errno = error;
    return failed;
}

/* Whether the user that we act as has the rights of `mode`, for the older call asks for the one
 * that we are. By the mode's bits alone, as glibc does it. */
static int check_mode(int dir_fd, const char *path, int mode)
{
    struct stat st;
    if (fstatat(dir_fd, path, &st, 0) != 0)
        return -1;
    mode_t any = S_IXUSR | S_IXGRP | S_IXOTH;
    bool of_group = st.st_gid == getegid() || group_member(st.st_gid) != 0;
    int shift = st.st_uid == geteuid() ? 6 : of_group ? 3 : 0;
    bool runs = (mode & X_OK) == 0 || S_ISDIR(st.st_mode) || (st.st_mode & any) != 0;
    bool given = geteuid() == 0 ? runs : ((int)(st.st_mode >> shift) & mode) == mode;
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
    if ((flags & AT_EACCESS) != 0 && (getuid() != geteuid() || getgid() != getegid()))
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
