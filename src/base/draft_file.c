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

static const int FLAGS =
    O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

static void name_hidden(char out[static JR_DRAFT_FILE_NAME], const char *name)
{
    (void)snprintf(out, JR_DRAFT_FILE_NAME, ".%s", name);
}

/* Zeros reserve as well as fallocate(2) does, and for few of them they cost a
 * tenth of it: they never reach the disk. */
static void write_zeros(int fd, uint64_t bytes)
{
    static const char zeros[PIECE];
    struct iovec pieces[FEW / PIECE];
    int count = (int)((bytes + PIECE - 1) / PIECE);
    for (int i = 0; i < count; i++)
        pieces[i] = (struct iovec){(void *)zeros, PIECE};
    (void)!writev(fd, pieces, count);
}

void jr_draft_file_reserve(int dir_fd, const char *name, uint64_t bytes,
                           mode_t mode)
{
    char hidden[JR_DRAFT_FILE_NAME];
    name_hidden(hidden, name);
    JR_CLOSE int fd = openat(dir_fd, hidden, FLAGS | O_CREAT | O_EXCL, mode);
    if (fd < 0)
        return;
    if (bytes <= FEW)
        write_zeros(fd, bytes);
    else
        (void)fallocate(fd, 0, 0, (off_t)bytes);
}

/* Whether the name still means the draft: what is written to a draft must not
 * reach another file. */
static bool is_own_file(int fd, struct stat *ret)
{
    return fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && ret->st_nlink == 1 &&
           ret->st_uid == geteuid();
}

int jr_draft_file_open(struct jr_draft_file *ret, int dir_fd, const char *name,
                       mode_t mode, struct jr_error *err)
{
    struct jr_draft_file draft = {.dir_fd = dir_fd, .name = name};
    struct stat st = {0};
    name_hidden(draft.hidden, name);
    draft.fd = openat(dir_fd, draft.hidden, FLAGS);
    if (draft.fd >= 0 && !is_own_file(draft.fd, &st)) {
        (void)close(draft.fd);
        draft.fd = -1;
    }
    if (draft.fd < 0) {
        (void)unlinkat(dir_fd, draft.hidden, 0);
        draft.fd = openat(dir_fd, draft.hidden, FLAGS | O_CREAT | O_EXCL, mode);
        st.st_mode = 0; /* by the umask */
    }
    if (draft.fd < 0 || jr_io_set_mode(draft.fd, &st, mode) != 0) {
        jr_error_sys(err, JR_STATUS_LAUNCH, "cannot create %s", name);
        jr_draft_file_close(&draft);
        return -1;
    }
    *ret = draft;
    return 0;
}

int jr_draft_file_fill(struct jr_draft_file *draft,
                       const struct jr_io_source *source, struct jr_error *err)
{
    draft->end = -1;
    if (lseek(draft->fd, 0, SEEK_SET) == 0 &&
        source->fill(source->data, draft->fd) == 0)
        draft->end = lseek(draft->fd, 0, SEEK_CUR);
    if (draft->end < 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot write %s",
                            draft->name);
    /* If the file system does not support this, fdatasync(2) starts it. */
    (void)sync_file_range(draft->fd, 0, draft->end, SYNC_FILE_RANGE_WRITE);
    return 0;
}

int jr_draft_file_settle(const struct jr_draft_file *draft, bool sync,
                         struct jr_error *err)
{
    int failed = ftruncate(draft->fd, draft->end);
    if (failed == 0 && sync)
        failed = fdatasync(draft->fd);
    /* Some file systems have nothing to sync. */
    if (failed == 0 || errno == EINVAL)
        return 0;
    return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot write %s", draft->name);
}

int jr_draft_file_publish(const struct jr_draft_file *draft,
                          struct jr_error *err)
{
    if (renameat(draft->dir_fd, draft->hidden, draft->dir_fd, draft->name) == 0)
        return 0;
    return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot write %s", draft->name);
}

void jr_draft_file_close(struct jr_draft_file *draft)
{
    if (draft->fd >= 0)
        (void)close(draft->fd);
    draft->fd = -1;
}
