#include "session/left_records.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jobrun/engine.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "judge/judge.h"
#include "store/run_folder.h"

#include "base/banned.h"

enum { HEAD_MOST = 64 << 10 }; /* bytes of a record's line */

/* The sender's side. */

int jr_left_send_record(const struct jr_left_sender *sender, const json_t *of, const char *bytes,
                        size_t len)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    json_t *head = json_copy((json_t *)of);
    jr_json_set_int(head, "size", (json_int_t)len);
    jr_json_print(&text, head, 0);
    jr_buf_char(&text, '\n');
    json_decref(head);
    if (text.failed)
        errno = ENOMEM;
    if (text.failed || jr_io_write_all(sender->fd, text.data, text.len) != 0)
        return -1;
    return jr_io_write_all(sender->fd, bytes, len);
}

/* Where the first line begins behind `from`; 0 stays 0. */
static uint64_t find_line(const struct jr_left_sender *sender, int file, uint64_t from)
{
    ssize_t len = from == 0 ? 0 : pread(file, sender->piece, JR_LEFT_PIECE, (off_t)(from - 1));
    const char *end = len <= 0 ? NULL : memchr(sender->piece, '\n', (size_t)len);
    return end == NULL ? from : from + (uint64_t)(end - sender->piece);
}

/* The object of a file's first record. The caller's. */
static json_t *describe_first(const struct jr_left_sender *sender, const json_t *of,
                              const char *path, uint64_t cut)
{
    JR_BUF_CLEANUP struct jr_buf own = JR_BUF_INIT;
    json_t *first = json_copy((json_t *)of);
    jr_buf_printf(&own, "%s/%s", sender->folder, path);
    jr_json_set_bool(first, "first", true);
    jr_json_set_int(first, "cut", (json_int_t)cut);
    jr_json_set_str(first, "path", own.failed ? path : own.data);
    return first;
}

int jr_left_send_file(const struct jr_left_sender *sender, const json_t *of, const char *path,
                      uint64_t most)
{
    struct stat st;
    JR_CLOSE int file = jr_run_file_open(sender->run_fd, path, NULL);
    if (file < 0 || fstat(file, &st) != 0)
        return 0;
    uint64_t end = (uint64_t)st.st_size;
    uint64_t at = end <= most ? 0 : find_line(sender, file, end - most);
    json_t *first = describe_first(sender, of, path, at);
    const json_t *head = first;
    int failed;
    do {
        size_t want = end - at < JR_LEFT_PIECE ? (size_t)(end - at) : JR_LEFT_PIECE;
        ssize_t len = pread(file, sender->piece, want, (off_t)at);
        failed = jr_left_send_record(sender, head, sender->piece, len > 0 ? (size_t)len : 0);
        at = len > 0 ? at + (uint64_t)len : end;
        head = of;
    } while (failed == 0 && at < end);
    json_decref(first);
    return failed;
}

bool jr_left_is_collected(const struct jr_ssh *ssh, const char *word)
{
    if (ssh == NULL || ssh->collect_count == 0)
        return strcmp(word, "results") == 0;
    for (uint32_t i = 0; i < ssh->collect_count; i++)
        if (strcmp(ssh->collect[i], word) == 0)
            return true;
    return false;
}

/* The taker's side. */

static void begin_record(struct jr_left_stream *stream, const struct jr_left_taker *taker)
{
    json_t *head = jr_json_parse(stream->head.data, stream->head.len, NULL);
    json_int_t size = jr_json_get_int(head, "size");
    stream->torn = head == NULL || size < 0 || !taker->begin(taker->data, head);
    stream->missing = stream->torn ? 0 : (uint64_t)size;
    if (!stream->torn && size == 0)
        taker->end(taker->data);
    json_decref(head);
    jr_buf_clear(&stream->head);
}

/* Bytes of the line that begins a record. Returns how many were taken. */
static size_t take_record_line(struct jr_left_stream *stream, const struct jr_left_taker *taker,
                               const char *bytes, size_t len)
{
    const char *end = memchr(bytes, '\n', len);
    size_t some = end == NULL ? len : (size_t)(end - bytes);
    jr_buf_add(&stream->head, bytes, some);
    if (stream->head.failed || stream->head.len > HEAD_MOST)
        stream->torn = true;
    else if (end != NULL)
        begin_record(stream, taker);
    return end == NULL ? len : some + 1;
}

/* Bytes of the record itself. */
static size_t take_record_bytes(struct jr_left_stream *stream, const struct jr_left_taker *taker,
                                const char *bytes, size_t len)
{
    size_t some = len < stream->missing ? len : (size_t)stream->missing;
    taker->take(taker->data, bytes, some);
    stream->missing -= some;
    if (stream->missing == 0)
        taker->end(taker->data);
    return some;
}

void jr_left_stream_take(struct jr_left_stream *stream, const struct jr_left_taker *taker,
                         const char *bytes, size_t len)
{
    while (len > 0 && !stream->torn) {
        size_t some = stream->missing > 0 ? take_record_bytes(stream, taker, bytes, len)
                                          : take_record_line(stream, taker, bytes, len);
        bytes += some;
        len -= some;
    }
}

/* The files. */

/* The folders on the way to a file. No link is followed: a rank on this machine may have made
 * one. */
static void make_left_folders(const struct jr_run_folder *dir, const char *path)
{
    JR_FREE char *folder = strdup(path);
    const char *name;
    for (char *slash = folder == NULL ? NULL : strchr(folder, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        JR_CLOSE int fd = jr_open_above(dir->fd, folder, &name);
        if (fd >= 0)
            (void)mkdirat(fd, name, dir->dir_mode);
        *slash = '/';
    }
}

static int make_left_file(const struct jr_run_folder *dir, const char *path)
{
    return jr_open_beneath(dir->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, dir->file_mode);
}

static void write_left_rest(const struct jr_left_file *file, const char *path, json_int_t cut)
{
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT, text = JR_BUF_INIT;
    json_t *rest = json_object(), *options = json_array();
    for (uint32_t i = 0; file->ssh != NULL && i < file->ssh->options_count; i++)
        jr_json_append(options, jr_json_str(file->ssh->options[i]));
    jr_json_set_str(rest, "host", file->host);
    jr_json_set_str(rest, "path", path);
    jr_json_set_int(rest, "cut", cut);
    jr_json_set(rest, "options", options);
    jr_json_print(&text, rest, 0);
    json_decref(rest);
    jr_buf_printf(&name, "%s" JR_LEFT_REST, file->path);
    if (name.failed || text.failed)
        return;
    JR_CLOSE int fd = make_left_file(file->dir, name.data);
    if (fd >= 0)
        (void)jr_io_write_all(fd, text.data, text.len);
}

/* The first line of a log whose beginning stays where it is. */
static void write_left_note(const struct jr_left_file *file, int fd, const json_t *head)
{
    JR_BUF_CLEANUP struct jr_buf note = JR_BUF_INIT;
    const char *path = jr_json_get_str(head, "path");
    json_int_t cut = jr_json_get_int(head, "cut");
    if (cut <= 0 || path == NULL || file->host == NULL)
        return;
    jr_buf_printf(&note,
                  "[jobrun: the first %lld bytes of this log are on %s alone; "
                  "`jobrun logs` fetches them]\n",
                  (long long)cut, file->host);
    if (!note.failed)
        (void)jr_io_write_all(fd, note.data, note.len);
    write_left_rest(file, path, cut);
}

int jr_left_file_open(const struct jr_left_file *file, const json_t *head)
{
    make_left_folders(file->dir, file->path);
    int fd = make_left_file(file->dir, file->path);
    if (fd >= 0)
        write_left_note(file, fd, head);
    return fd;
}
