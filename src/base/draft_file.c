#include "base/draft_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { PIECE = 4096, FEW = 64 * 1024 };

static const int FLAGS = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/* Nothing stands there then. A folder, which may hold more than we know of, goes on under another
 * name. */
static void clear_name(int dir_fd, const char *name)
{
    char aside[JR_DRAFT_FILE_NAME + sizeof ".aside"];
    if (unlinkat(dir_fd, name, 0) == 0 || errno != EISDIR)
        return;
    (void)snprintf(aside, sizeof aside, "%s.aside", name);
    (void)renameat(dir_fd, name, dir_fd, aside);
}

/* The draft, made where there is none of ours; -1 with errno. `ret` has what it was, with no mode
 * where it is new. */
static int open_draft(char hidden[static JR_DRAFT_FILE_NAME], int dir_fd, const char *name,
                      mode_t mode, struct stat *ret)
{
    (void)snprintf(hidden, JR_DRAFT_FILE_NAME, ".%s", name);
    int fd = openat(dir_fd, hidden, FLAGS);
    /* What is written to a draft must not reach another file. */
    if (fd >= 0 && fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && ret->st_nlink == 1 &&
        ret->st_uid == geteuid())
        return fd;
    if (fd >= 0)
        (void)close(fd);
    clear_name(dir_fd, hidden);
    *ret = (struct stat){0};
    return openat(dir_fd, hidden, FLAGS | O_CREAT | O_EXCL, mode);
}

int jr_draft_file_reserve(int dir_fd, const char *name, uint64_t bytes, mode_t mode,
                          struct jr_error *err)
{
    static const char zeros[PIECE];
    struct iovec pieces[FEW / PIECE];
    char hidden[JR_DRAFT_FILE_NAME];
    struct stat st;
    JR_CLOSE int fd = open_draft(hidden, dir_fd, name, mode, &st);
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot create %s", name);
    /* Zeros reserve as well as fallocate(2) does, and for few of them they cost a tenth of it: they
     * never reach the disk. */
    int count = bytes <= FEW ? (int)((bytes + PIECE - 1) / PIECE) : 0;
    for (int i = 0; i < count; i++)
        pieces[i] = (struct iovec){(void *)zeros, PIECE};
    if (bytes <= FEW)
        (void)!writev(fd, pieces, count);
    else
        (void)fallocate(fd, 0, 0, (off_t)bytes);
    return 0;
}

int jr_draft_file_open(struct jr_draft_file *ret, int dir_fd, const char *name, mode_t mode,
                       struct jr_error *err)
{
    struct jr_draft_file draft = {.dir_fd = dir_fd, .name = name};
    struct stat st;
    draft.fd = open_draft(draft.hidden, dir_fd, name, mode, &st);
    if (draft.fd < 0 || jr_io_set_mode(draft.fd, &st, mode) != 0) {
        jr_error_sys(err, JR_STATUS_LAUNCH, "cannot create %s", name);
        jr_draft_file_close(&draft);
        return -1;
    }
    *ret = draft;
    return 0;
}

int jr_draft_file_fill(struct jr_draft_file *draft, const struct jr_io_source *source,
                       struct jr_error *err)
{
    draft->end = -1;
    if (lseek(draft->fd, 0, SEEK_SET) == 0 && source->fill(source->data, draft->fd) == 0)
        draft->end = lseek(draft->fd, 0, SEEK_CUR);
    if (draft->end < 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot write %s", draft->name);
    /* If the file system does not support this, fdatasync(2) starts it. */
    (void)sync_file_range(draft->fd, 0, draft->end, SYNC_FILE_RANGE_WRITE);
    return 0;
}

int jr_draft_file_settle(const struct jr_draft_file *draft, bool sync, struct jr_error *err)
{
    int failed = ftruncate(draft->fd, draft->end);
    if (failed == 0 && sync)
        failed = fdatasync(draft->fd);
    /* Some file systems have nothing to sync. */
    if (failed == 0 || errno == EINVAL)
        return 0;
    return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot write %s", draft->name);
}

int jr_draft_file_publish(const struct jr_draft_file *draft, struct jr_error *err)
{
    int failed = renameat(draft->dir_fd, draft->hidden, draft->dir_fd, draft->name);
    if (failed != 0 && errno == EISDIR) {
        clear_name(draft->dir_fd, draft->name);
        failed = renameat(draft->dir_fd, draft->hidden, draft->dir_fd, draft->name);
    }
    return failed == 0 ? 0 : jr_error_sys(err, JR_STATUS_LAUNCH, "cannot write %s", draft->name);
}

void jr_draft_file_close(struct jr_draft_file *draft)
{
    jr_close_fd(&draft->fd);
}
