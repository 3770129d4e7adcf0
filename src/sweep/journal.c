#include "sweep/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"

#include "base/banned.h"

#define SYNC_NS UINT64_C(1000000000)

/* Bytes that are read at once, and of a line at most. */
enum { PIECE_BYTES = 64 << 10, LINE_MOST = 8 << 20 };

/* No sweep writes so much. A sparse file may be longer, and was planted. */
#define MOST_READ ((off_t)1 << 30)

#define WORD(name, word) word,
static const char *const words[] = {JR_JOURNAL_EVENTS(WORD) NULL};
#undef WORD

static struct flock whole_file(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

/* Which other process has it locked; 0: none, or nobody knows. The kernel has no number for whom we
 * cannot see (fcntl(2)), and a file system of other machines may have one of theirs, negated. */
static pid_t find_lock_holder(int fd)
{
    struct flock lock = whole_file();
    if (fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
        return 0;
    return lock.l_pid > 0 ? lock.l_pid : JR_JOURNAL_UNSEEN;
}

pid_t jr_journal_holder(int dir_fd)
{
    JR_CLOSE int fd =
        openat(dir_fd, JR_JOURNAL_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? 0 : find_lock_holder(fd);
}

int jr_journal_open(struct jr_journal *ret, int dir_fd, mode_t mode, pid_t *ret_holder,
                    struct jr_error *err)
{
    struct flock lock = whole_file();
    const int flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    struct stat st;
    char last;
    int fd = openat(dir_fd, JR_JOURNAL_FILE, flags, mode);
    *ret = (struct jr_journal){.fd = -1};
    *ret_holder = 0;
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, JR_JOURNAL_FILE);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        (void)close(fd);
        return jr_error_set(err, JR_STATUS_LAUNCH, JR_JOURNAL_FILE " is not a regular file");
    }
    if (fcntl(fd, F_SETLK, &lock) != 0) {
        int why = errno;
        *ret_holder = find_lock_holder(fd);
        (void)close(fd);
        errno = why;
        return jr_error_sys(err, *ret_holder != 0 ? JR_STATUS_USAGE : JR_STATUS_LAUNCH,
                            JR_JOURNAL_FILE);
    }
    /* One that does not end with a line break was torn: what follows is to be a line of its own. */
    off_t end = lseek(fd, 0, SEEK_END);
    if (end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n')
        (void)jr_io_write_all(fd, "\n", 1);
    ret->fd = fd;
    return 0;
}

void jr_journal_add(struct jr_journal *journal, const struct jr_journal_line *line)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    json_t *object = json_object();
    char time[32];
    if (journal->torn) /* the next line is one of its own */
        jr_buf_char(&text, '\n');
    jr_clock_rfc3339(time, jr_clock_wall_ns());
    jr_json_set_str(object, "time", time);
    jr_json_set_int(object, "ns", (json_int_t)jr_clock_ns());
    jr_json_set_str(object, "event", words[line->event]);
    if (line->cell >= 0)
        jr_json_set_int(object, "cell", line->cell);
    if (line->values != NULL)
        jr_json_set(object, "values", json_deep_copy(line->values));
    if (line->status != NULL)
        jr_json_set_str(object, "status", line->status);
    if (line->interrupted)
        jr_json_set_bool(object, "interrupted", true);
    if (line->host != NULL)
        jr_json_set_str(object, "host", line->host);
    if (line->job != NULL)
        jr_json_set_str(object, "job", line->job);
    if (line->there != NULL)
        jr_json_set_str(object, "there", line->there);
    jr_json_print(&text, object, 0);
    json_decref(object);
    jr_buf_char(&text, '\n');
    journal->torn = text.failed || jr_io_write_all(journal->fd, text.data, text.len) != 0;
    journal->failed |= journal->torn;
    if (journal->dirty_ns == 0)
        journal->dirty_ns = jr_clock_ns();
}

uint64_t jr_journal_sync(struct jr_journal *journal, bool now)
{
    if (journal->dirty_ns == 0)
        return 0;
    if (!now && jr_clock_ns() < journal->dirty_ns + SYNC_NS)
        return journal->dirty_ns + SYNC_NS;
    (void)fdatasync(journal->fd);
    journal->dirty_ns = 0;
    return 0;
}

void jr_journal_close(struct jr_journal *journal)
{
    if (journal->fd < 0)
        return;
    (void)jr_journal_sync(journal, true);
    (void)close(journal->fd);
    journal->fd = -1;
}

/* Reads lines in pieces, since a journal is as long as its sweep. */
struct line_reader {
    void (*take)(void *data, enum jr_journal_event event, const json_t *line);
    void *data;
    struct jr_buf text; /* a line whose end was not read yet */
    bool too_long;      /* it is none of a journal, and not kept */
    bool lost;          /* there was no memory for one */
};

/* Take the lines that end in a piece, and keep the beginning of the last. */
static void read_piece(struct line_reader *reader, const char *at, const char *end)
{
    while (true) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t part = (size_t)((stop == NULL ? end : stop) - at);
        reader->too_long |= reader->text.len + part > LINE_MOST;
        if (!reader->too_long)
            jr_buf_add(&reader->text, at, part);
        reader->lost |= reader->text.failed;
        if (stop == NULL)
            return;
        bool whole = !reader->too_long && !reader->text.failed;
        json_t *line = whole ? jr_json_parse(reader->text.data, reader->text.len, NULL) : NULL;
        const char *word = json_is_object(line) ? jr_json_get_str(line, "event") : NULL;
        for (unsigned i = 0; word != NULL && words[i] != NULL; i++)
            if (strcmp(words[i], word) == 0)
                reader->take(reader->data, (enum jr_journal_event)i, line);
        json_decref(line);
        jr_buf_clear(&reader->text);
        reader->too_long = false;
        at = stop + 1;
    }
}

static bool read_lines(int fd,
                       void (*take)(void *data, enum jr_journal_event event, const json_t *line),
                       void *data)
{
    struct line_reader reader = {.take = take, .data = data, .text = JR_BUF_INIT};
    JR_FREE char *piece = malloc(PIECE_BYTES);
    ssize_t got = -1;
    off_t at = 0;
    while (piece != NULL && at < MOST_READ) {
        got = pread(fd, piece, PIECE_BYTES, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        read_piece(&reader, piece, piece + got);
        at += got;
    }
    jr_buf_release(&reader.text); /* it is torn */
    return got == 0 && !reader.lost;
}

bool jr_journal_read(int dir_fd,
                     void (*take)(void *data, enum jr_journal_event event, const json_t *line),
                     void *data)
{
    struct stat st;
    JR_CLOSE int fd =
        openat(dir_fd, JR_JOURNAL_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && read_lines(fd, take, data);
}

bool jr_journal_read_own(const struct jr_journal *journal,
                         void (*take)(void *data, enum jr_journal_event event, const json_t *line),
                         void *data)
{
    return read_lines(journal->fd, take, data);
}
