#include "base/close_range.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/syscalls.h"

#include "base/banned.h"

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

/* A descriptor by its name; -1: it is none, such as "..". */
static int read_number(const char *name)
{
    int number = 0;
    for (; *name >= '0' && *name <= '9'; name++)
        number = number * 10 + (*name - '0');
    return *name == '\0' ? number : -1;
}

static int drop_one(int fd, unsigned flags)
{
    if ((flags & JR_CLOSE_RANGE_CLOEXEC) != 0)
        return fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)close(fd);
    return 0;
}

/* The names are numbers in their order, so that what is closed meanwhile is not
 * missed (fs/proc/fd.c). */
static int walk_descriptors(int list, unsigned first, unsigned last,
                            unsigned flags)
{
    _Alignas(struct entry) char bytes[4096];
    long len;
    while ((len = syscall(SYS_getdents64, list, bytes, sizeof bytes)) > 0)
        for (long at = 0; at < len;) {
            const struct entry *entry = (const void *)(bytes + at);
            int fd = read_number(entry->name);
            at += entry->size;
            if (fd >= 0 && fd != list && (unsigned)fd >= first &&
                (unsigned)fd <= last && drop_one(fd, flags) != 0)
                return -1;
        }
    return len < 0 ? -1 : 0;
}

static int walk_range(unsigned first, unsigned last, unsigned flags)
{
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
    return walk_range(first, last, flags);
}
