/*
 * The log files of the streams that the runner moves: exactly the rank's bytes, except for
 * `log_limit`.
 *
 * With a limit the file keeps the stream's beginning, 1 MiB or half of the limit, and its end. When
 * there is more, a second file FILE.next is written besides: the beginning, a line that says how
 * much is left out, and what comes from then on. Once that has enough of the end, it takes the
 * first one's place by rename(2). So the file makes sense at any moment, however jobrun may have
 * ended, no byte is written more than twice, and nothing is held in memory. Where there are
 * newlines, the cuts are at them.
 *
 * A file is made with the first byte that is written to it, or when jr_log_file_make says so: most
 * short ranks write nothing to one of their streams, or to both, and on a disk a file costs more
 * than all else about them.
 *
 * Descriptors are borrowed: more than `most` are never open; what was written to least recently is
 * closed, and opened again when it is written to.
 */
#ifndef JR_LOG_FILE_H
#define JR_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The least limit: below it there is no room for the cuts. */
#define JR_LOG_LIMIT_LEAST (64U << 10)

struct jr_buf;
struct jr_log_file;

/* What the files share. */
struct jr_logfiles {
    int dir_fd; /* paths are beneath it */
    mode_t mode;
    unsigned most, open;
    struct jr_log_file *newest, *oldest; /* of those that are open */
};

struct jr_log_file {
    struct jr_logfiles *all; /* NULL: there is no file */
    const char *path;
    uint64_t limit;  /* bytes of it; 0: none */
    bool made;       /* it is there */
    int fd, next_fd; /* -1: closed at the moment */
    struct jr_log_file *newer, *older;
    uint64_t total;               /* bytes that came */
    uint64_t cut;                 /* where in the stream the file goes on after its gap */
    uint64_t replaced;            /* where in the stream FILE was last replaced */
    uint64_t next_cut;            /* the same of FILE.next; 0: there is none */
    uint64_t head;                /* bytes of the beginning that are kept, once cut */
    uint64_t marker, next_marker; /* bytes of the line at the gap */
    char last;                    /* byte that came */
};

#define JR_LOG_FILE_NONE                                                                           \
    {                                                                                              \
        .fd = -1, .next_fd = -1                                                                    \
    }

/* Begin with the file `path` (borrowed). Where a plain file of ours is there by
 * the time it is made, of another stream or of the rank, it is added to.
 * `limit` is 0, or JR_LOG_LIMIT_LEAST at least. */
void jr_log_file_begin(struct jr_log_file *file, struct jr_logfiles *all, const char *path,
                       uint64_t limit);

/* Make the file now, for those who look for it, although nothing is written to it yet. What keeps
 * it from being made is told by the first write. */
void jr_log_file_make(struct jr_log_file *file);

/* Append. Returns 0, or -1 with errno. */
int jr_log_file_write(struct jr_log_file *file, const char *bytes, size_t len);

/* How many bytes the file lacks for the limit's sake. */
uint64_t jr_log_file_dropped(const struct jr_log_file *file);

/* Which part of its stream a file has: `total` bytes arrived; if `cut` is not 0, those from `head`
 * to `cut` are left out, and a line of `marker` bytes takes their place. */
struct jr_log_file_span {
    uint64_t total, head, cut, marker;
};

/* That of a file as it stands now. */
struct jr_log_file_span jr_log_file_span(const struct jr_log_file *file);

/* How many bytes of the stream are left out from `at` on; 0: none. */
uint64_t jr_log_file_gap(const struct jr_log_file_span *span, uint64_t at);

/* Read up to `len` bytes of the stream from `at` on, if there is no gap, from the file `path`.
 * Returns how many, 0 where they are not there, or -1 with errno. */
ssize_t jr_log_file_read(const struct jr_logfiles *all, const char *path,
                         const struct jr_log_file_span *span, uint64_t at, void *bytes, size_t len);

/* Remove the FILE.next of `path` that a runner left which was killed: all that it holds is in
 * FILE. */
void jr_log_file_tidy(int dir_fd, const char *path);

/* Close. A file that was never begun, or has ended, is none: nothing happens.
 */
void jr_log_file_end(struct jr_log_file *file);

/*
 * The gap in a log file with a limit: how much of a stream's beginning is kept before it, and the
 * line that takes the place of what is left out, as it is written and as readers find it.
 */
#define JR_LOG_HEAD  (1U << 20) /* bytes of the beginning, at most */
#define JR_LOG_SLACK 4096       /* how far a cut may be moved to be at a newline */

/* The line; between the two stands how many bytes are left out. */
#define JR_LOG_GAP_BEGIN "[jobrun: log_limit: "
#define JR_LOG_GAP_END   " bytes left out here]\n"

/* Append the line that takes the place of `dropped` bytes. */
void jr_log_gap_print(struct jr_buf *out, uint64_t dropped);

/* The line of a file that says what is left out there: its `len` bytes at `at` take the place of
 * `dropped` bytes of the stream. */
struct jr_log_gap {
    uint64_t at, len, dropped;
};

/* Find it in the file `fd`. False if there is none: *ret is all zeros. */
bool jr_log_gap_find(int fd, struct jr_log_gap *ret);

/* Where in the file `fd`, whose limit is `limit` (0: none), the first `bytes` of the stream end; in
 * the gap it is the gap's beginning. */
uint64_t jr_log_gap_place(int fd, uint64_t limit, uint64_t bytes);

#endif
