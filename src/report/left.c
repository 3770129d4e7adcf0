#include "left.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "io.h"

#include "banned.h"

/* O_NONBLOCK: a FIFO in the place of a result must not hold the run. */
static const int FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/* What openat2 does, where there is none: folder by folder, through no link and
 * never up. */
static int walk_beneath(int run_fd, const char *path)
{
    JR_CLOSE int held = -1;
    int at = run_fd;
    for (size_t len; path[len = strcspn(path, "/")] == '/'; path += len + 1) {
        char name[NAME_MAX + 1];
        struct stat st;
        if (len >= sizeof name) {
            errno = ENAMETOOLONG;
            return -1;
        }
        (void)stpcpy(mempcpy(name, path, len), "");
        int next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (held >= 0)
            (void)close(held);
        at = held = next;
        if (next < 0 || fstat(next, &st) != 0)
            return -1;
        errno = S_ISLNK(st.st_mode) ? ELOOP : EXDEV;
        if (S_ISLNK(st.st_mode) || strcmp(name, "..") == 0)
            return -1;
    }
    return openat(at, path, FLAGS | O_NOFOLLOW);
}

static int open_beneath(int run_fd, const char *path)
{
    struct open_how how = {
        .flags = (unsigned)FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    long fd = syscall(SYS_openat2, run_fd, path, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        return walk_beneath(run_fd, path);
    return (int)fd;
}

int jr_left_open(int run_fd, const char *path, struct jr_error *err)
{
    JR_CLOSE int fd =
        path[0] == '/' ? open(path, FLAGS) : open_beneath(run_fd, path);
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_INCOMPLETE, "could not be opened");
    struct stat st;
    if (fstat(fd, &st) != 0)
        return jr_error_sys(err, JR_STATUS_INCOMPLETE, "could not be read");
    if (!S_ISREG(st.st_mode))
        return jr_error_set(err, JR_STATUS_INCOMPLETE, "not a regular file");
    return jr_steal_fd(&fd);
}

int jr_left_read(struct jr_buf *ret, int run_fd, const char *path, size_t limit,
                 struct jr_error *err)
{
    JR_CLOSE int fd = jr_left_open(run_fd, path, err);
    return fd < 0 ? -1 : jr_io_read_fd(ret, fd, limit, err);
}

/* Where the last `lines` lines of the text begin. */
static size_t tail_start(const char *text, size_t len, unsigned lines)
{
    size_t at = len;
    for (; at > 0; at--)
        if (text[at - 1] == '\n' && lines-- <= 1)
            break;
    return at;
}

void jr_left_tail(struct jr_buf *ret, int run_fd, const char *path,
                  unsigned lines)
{
    enum { WINDOW = 16 * 1024 };
    JR_CLOSE int fd = jr_left_open(run_fd, path, NULL);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    if (size <= 0)
        return;
    char window[WINDOW];
    off_t from = size > WINDOW ? size - WINDOW : 0;
    ssize_t got = pread(fd, window, sizeof window, from);
    if (got <= 0)
        return;
    size_t len = (size_t)got;
    if (window[len - 1] == '\n')
        len--;
    size_t start = tail_start(window, len, lines);
    jr_buf_add(ret, window + start, len - start);
}
