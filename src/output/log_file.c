#include "output/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"

#include "base/banned.h"

static const char next_suffix[] = ".next";

/* The most bytes of the beginning that a file with this limit keeps. */
static uint64_t head_most(uint64_t limit)
{
    return limit / 2 < JR_LOG_HEAD ? limit / 2 : JR_LOG_HEAD;
}

/* The pool of descriptors. */

static void leave_pool(struct jr_log_file *file)
{
    struct jr_logfiles *all = file->all;
    if (file->newer == NULL && all->newest != file)
        return;
    *(file->newer == NULL ? &all->newest : &file->newer->older) = file->older;
    *(file->older == NULL ? &all->oldest : &file->older->newer) = file->newer;
    file->newer = file->older = NULL;
}

static void close_pooled_fd(struct jr_logfiles *all, int *fd)
{
    if (*fd < 0)
        return;
    (void)close(*fd);
    *fd = -1;
    all->open--;
}

static void close_log_files(struct jr_log_file *file)
{
    leave_pool(file);
    close_pooled_fd(file->all, &file->fd);
    close_pooled_fd(file->all, &file->next_fd);
}

/* Room for `count` more, which `file` is going to open. */
static void make_pool_room(struct jr_log_file *file, unsigned count)
{
    struct jr_logfiles *all = file->all;
    while (all->open + count > all->most && all->oldest != NULL && all->oldest != file)
        close_log_files(all->oldest);
}

static int name_next_file(const char *path, char ret[static PATH_MAX])
{
    int len = snprintf(ret, PATH_MAX, "%s%s", path, next_suffix);
    errno = ENAMETOOLONG;
    return len < PATH_MAX ? 0 : -1;
}

/* A rank could have put anything there, before or since: what would block, or is no plain file, is
 * refused. */
static int open_plain(const struct jr_logfiles *all, const char *path, int flags)
{
    struct stat st;
    JR_CLOSE int fd =
        jr_open_beneath(all->dir_fd, path, flags | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, all->mode);
    if (fd < 0 || fstat(fd, &st) != 0)
        return -1;
    errno = EINVAL;
    return S_ISREG(st.st_mode) ? jr_steal_fd(&fd) : -1;
}

static int open_pooled(struct jr_logfiles *all, const char *path, int flags, int *ret_fd)
{
    if (*ret_fd >= 0)
        return 0;
    *ret_fd = open_plain(all, path, O_WRONLY | O_APPEND | flags);
    all->open += *ret_fd >= 0;
    return *ret_fd < 0 ? -1 : 0;
}

/* Have what is to be written to open. */
static int reopen_log(struct jr_log_file *file)
{
    char next[PATH_MAX];
    struct stat st;
    struct jr_logfiles *all = file->all;
    leave_pool(file);
    file->older = all->newest;
    file->newer = NULL;
    *(all->newest == NULL ? &all->oldest : &all->newest->newer) = file;
    all->newest = file;
    make_pool_room(file, 2);
    if (open_pooled(all, file->path, O_CREAT, &file->fd) != 0)
        return -1;
    /* What stands where it is made may be somebody else's, or elsewhere too. Later it may have
     * another name: whoever saves a copy can make one. */
    if (!file->made && (fstat(file->fd, &st) != 0 || st.st_nlink != 1 || st.st_uid != geteuid())) {
        close_pooled_fd(all, &file->fd);
        errno = EEXIST;
        return -1;
    }
    file->made = true;
    if (file->next_cut == 0)
        return 0;
    if (name_next_file(file->path, next) != 0)
        return -1;
    return open_pooled(all, next, 0, &file->next_fd);
}

/* The limit. */

/* Where in the stream something happens next: FILE.next begins, or takes FILE's place; for the
 * first time only when FILE may not grow any more. */
static uint64_t next_step(const struct jr_log_file *file)
{
    /* The least that is kept of the end; a file has up to twice as much, and the slack of its
     * cuts. */
    uint64_t head = head_most(file->limit), tail = (file->limit - head - 4 * JR_LOG_SLACK) / 2;
    if (file->next_cut == 0)
        return file->cut == 0 ? head + tail : file->replaced;
    return file->cut == 0 ? file->limit : file->next_cut + tail;
}

/* The bytes of the beginning up to its last newline, of which there should be one near the end. */
static int measure_head(struct jr_log_file *file, int from)
{
    char bytes[JR_LOG_SLACK];
    uint64_t most = head_most(file->limit);
    ssize_t len = pread(from, bytes, JR_LOG_SLACK, (off_t)(most - JR_LOG_SLACK));
    if (len != JR_LOG_SLACK) {
        errno = len < 0 ? errno : EIO;
        return -1;
    }
    const char *newline = memrchr(bytes, '\n', JR_LOG_SLACK);
    file->head = most;
    if (newline != NULL)
        file->head -= (uint64_t)(bytes + JR_LOG_SLACK - 1 - newline);
    return 0;
}

/* Begin FILE.next at the place in the stream that has come: the beginning, and the line at the
 * gap. */
static int begin_next_file(struct jr_log_file *file)
{
    char next[PATH_MAX], bytes[64U << 10], last = '\n';
    if (name_next_file(file->path, next) != 0)
        return -1;
    make_pool_room(file, 2);
    JR_CLOSE int from = open_plain(file->all, file->path, O_RDONLY);
    if (from < 0 || (file->head == 0 && measure_head(file, from) != 0) ||
        open_pooled(file->all, next, O_CREAT | O_EXCL, &file->next_fd) != 0)
        return -1;
    file->next_cut = file->total;
    for (uint64_t at = 0; at < file->head;) {
        uint64_t left = file->head - at;
        ssize_t len = pread(from, bytes, left < sizeof bytes ? left : sizeof bytes, (off_t)at);
        if (len <= 0)
            errno = len < 0 ? errno : EIO;
        if (len <= 0 || jr_io_write_all(file->next_fd, bytes, (size_t)len) != 0)
            return -1;
        at += (uint64_t)len;
    }
    (void)pread(from, &last, 1, (off_t)file->head - 1);
    int len = snprintf(bytes, sizeof bytes, "%s%s%" PRIu64 "%s", last == '\n' ? "" : "\n",
                       JR_LOG_GAP_BEGIN, file->total - file->head, JR_LOG_GAP_END);
    file->next_marker = (uint64_t)len;
    return jr_io_write_all(file->next_fd, bytes, (size_t)len);
}

static int replace_log(struct jr_log_file *file)
{
    char next[PATH_MAX];
    const char *name, *next_name;
    if (name_next_file(file->path, next) != 0)
        return -1;
    JR_CLOSE int above = jr_open_above(file->all->dir_fd, file->path, &name);
    next_name = next + (name - file->path);
    if (above < 0 || renameat(above, next_name, above, name) != 0)
        return -1;
    close_pooled_fd(file->all, &file->fd);
    file->fd = jr_steal_fd(&file->next_fd);
    file->cut = file->next_cut;
    file->marker = file->next_marker;
    file->next_cut = 0;
    file->replaced = file->total;
    return 0;
}

/* How much of what came is written before the next step is looked at. Beyond one it is the rest of
 * a line. */
static size_t piece_size(const struct jr_log_file *file, const char *bytes, size_t len)
{
    if (file->limit == 0)
        return len;
    uint64_t step = next_step(file);
    if (file->total < step)
        return step - file->total < len ? step - file->total : len;
    uint64_t left = step + JR_LOG_SLACK - file->total;
    const char *newline = memchr(bytes, '\n', left < len ? left : len);
    if (newline != NULL)
        return (size_t)(newline - bytes) + 1;
    return left < len ? left : len;
}

/* Before a piece. */
static int advance_log(struct jr_log_file *file)
{
    if (file->limit == 0 || file->total < next_step(file))
        return 0;
    if (file->next_cut != 0 && replace_log(file) != 0)
        return -1;
    uint64_t step = next_step(file);
    if (file->total >= step + JR_LOG_SLACK || (file->total >= step && file->last == '\n'))
        return begin_next_file(file);
    return 0;
}

void jr_log_file_begin(struct jr_log_file *file, struct jr_logfiles *all, const char *path,
                       uint64_t limit)
{
    *file = (struct jr_log_file){.all = all, .path = path, .limit = limit, .fd = -1, .next_fd = -1};
}

void jr_log_file_make(struct jr_log_file *file)
{
    if (file->all != NULL && !file->made)
        (void)reopen_log(file);
}

int jr_log_file_write(struct jr_log_file *file, const char *bytes, size_t len)
{
    if (reopen_log(file) != 0)
        return -1;
    while (len > 0) {
        if (advance_log(file) != 0)
            return -1;
        size_t size = piece_size(file, bytes, len);
        if (jr_io_write_all(file->fd, bytes, size) != 0)
            return -1;
        if (file->next_cut != 0 && jr_io_write_all(file->next_fd, bytes, size) != 0)
            return -1;
        file->total += size;
        file->last = bytes[size - 1];
        bytes += size;
        len -= size;
    }
    return 0;
}

uint64_t jr_log_file_dropped(const struct jr_log_file *file)
{
    return file->cut == 0 ? 0 : file->cut - file->head;
}

struct jr_log_file_span jr_log_file_span(const struct jr_log_file *file)
{
    return (struct jr_log_file_span){file->total, file->head, file->cut, file->marker};
}

uint64_t jr_log_file_gap(const struct jr_log_file_span *span, uint64_t at)
{
    return at >= span->head && at < span->cut ? span->cut - at : 0;
}

ssize_t jr_log_file_read(const struct jr_logfiles *all, const char *path,
                         const struct jr_log_file_span *span, uint64_t at, void *bytes, size_t len)
{
    bool before = span->cut != 0 && at < span->head;
    uint64_t left = (before ? span->head : span->total) - at;
    if (span->cut != 0 && !before)
        at = span->head + span->marker + (at - span->cut);
    JR_CLOSE int fd = open_plain(all, path, O_RDONLY);
    return fd < 0 ? -1 : pread(fd, bytes, left < len ? (size_t)left : len, (off_t)at);
}

void jr_log_file_tidy(int dir_fd, const char *path)
{
    char next[PATH_MAX];
    const char *name;
    if (name_next_file(path, next) != 0)
        return;
    JR_CLOSE int above = jr_open_above(dir_fd, next, &name);
    if (above >= 0)
        (void)unlinkat(above, name, 0);
}

void jr_log_file_end(struct jr_log_file *file)
{
    if (file->all == NULL)
        return;
    if (file->next_cut != 0)
        jr_log_file_tidy(file->all->dir_fd, file->path);
    close_log_files(file);
    *file = (struct jr_log_file)JR_LOG_FILE_NONE;
}

/* The gap. */

void jr_log_gap_print(struct jr_buf *out, uint64_t dropped)
{
    jr_buf_printf(out, "%s%" PRIu64 "%s", JR_LOG_GAP_BEGIN, dropped, JR_LOG_GAP_END);
}

bool jr_log_gap_find(int fd, struct jr_log_gap *ret)
{
    const size_t most = JR_LOG_HEAD + JR_LOG_SLACK;
    const size_t begin = sizeof JR_LOG_GAP_BEGIN - 1, end = sizeof JR_LOG_GAP_END - 1;
    JR_FREE char *text = malloc(most + 1);
    *ret = (struct jr_log_gap){0};
    ssize_t len = text == NULL ? -1 : pread(fd, text, most, 0);
    if (len <= 0)
        return false;
    text[len] = '\0';
    for (char *line = text; line != NULL;) {
        char *after = line;
        bool begins = strncmp(line, JR_LOG_GAP_BEGIN, begin) == 0;
        uint64_t dropped = begins ? strtoull(line + begin, &after, 10) : 0;
        if (after > line + begin && strncmp(after, JR_LOG_GAP_END, end) == 0) {
            *ret = (struct jr_log_gap){(uint64_t)(line - text), (uint64_t)(after + end - line),
                                       dropped};
            return true;
        }
        line = memchr(line, '\n', (size_t)(text + len - line));
        line = line == NULL ? NULL : line + 1;
    }
    return false;
}

uint64_t jr_log_gap_place(int fd, uint64_t limit, uint64_t bytes)
{
    struct jr_log_gap gap;
    if (limit == 0 || !jr_log_gap_find(fd, &gap))
        return bytes;
    /* A beginning without a newline was given one before the gap's line. */
    uint64_t head = gap.at > head_most(limit) ? gap.at - 1 : gap.at;
    if (bytes <= head)
        return bytes;
    if (bytes <= head + gap.dropped)
        return gap.at;
    return gap.at + gap.len + (bytes - head - gap.dropped);
}
