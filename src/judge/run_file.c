#include "judge/run_file.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#include "base/banned.h"

/* O_NONBLOCK: a FIFO in the place of a result must not hold the run. */
static const int FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/* Open it for reading, and look at what it is. */
static int open_run_file(int run_fd, const char *path, struct stat *ret,
                         struct jr_error *err)
{
    JR_CLOSE int fd = path[0] == '/' ? open(path, FLAGS | O_NOFOLLOW)
                                     : jr_open_beneath(run_fd, path, FLAGS, 0);
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_INCOMPLETE, "could not be opened");
    if (fstat(fd, ret) != 0)
        return jr_error_sys(err, JR_STATUS_INCOMPLETE, "could not be read");
    if (!S_ISREG(ret->st_mode))
        return jr_error_set(err, JR_STATUS_INCOMPLETE, "not a regular file");
    return jr_steal_fd(&fd);
}

int jr_run_file_open(int run_fd, const char *path, struct jr_error *err)
{
    struct stat st;
    return open_run_file(run_fd, path, &st, err);
}

int jr_run_file_read(struct jr_buf *ret, int run_fd, const char *path,
                     size_t limit, struct jr_error *err)
{
    struct stat st;
    JR_CLOSE int fd = open_run_file(run_fd, path, &st, err);
    if (fd < 0)
        return -1;
    if ((uint64_t)st.st_size > limit)
        return jr_io_too_large(limit, err);
    return jr_io_read_fd(ret, fd, limit, err);
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

void jr_run_file_tail(struct jr_buf *ret, int run_fd, const char *path,
                      unsigned lines)
{
    enum { WINDOW = 16 * 1024 };
    JR_CLOSE int fd =
        path[0] == '/' ? -1 : jr_run_file_open(run_fd, path, NULL);
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
