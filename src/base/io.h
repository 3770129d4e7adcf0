/*
 * Files: EINTR-safe, close-on-exec, beneath a folder descriptor, following no link where jobrun
 * itself chose the name. All return 0 or -1 with `err` set.
 */
#ifndef JR_IO_H
#define JR_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <jobrun/error.h>

#include "base/buf.h"
#include "base/strv.h"

/* Read a regular file (at `dir_fd`, AT_FDCWD allowed) of at most `limit` bytes. A FIFO, a device or
 * a folder is refused without blocking. */
int jr_io_read_file(struct jr_buf *ret, int dir_fd, const char *path, size_t limit,
                    struct jr_error *err);

/* Read a descriptor to its end, at most `limit` bytes. */
int jr_io_read_fd(struct jr_buf *ret, int fd, size_t limit, struct jr_error *err);

/* The error of a file that is larger than `limit` bytes: for who knows its size before anything is
 * read. Returns -1. */
int jr_io_too_large(size_t limit, struct jr_error *err);

/* Write all bytes; errno is kept. Returns 0 or -1. */
int jr_io_write_all(int fd, const void *bytes, size_t len);

/* Replace `name` in the folder `dir_fd` by a temporary file and rename, so that a reader sees the
 * old bytes or the new ones and nothing between. `mode` holds whatever the umask. */
int jr_io_replace(int dir_fd, const char *name, const void *bytes, size_t len, mode_t mode,
                  struct jr_error *err);

/* The bytes of a file, piece by piece: `fill` writes them to `fd` and returns 0, or -1 with
 * errno. */
struct jr_io_source {
    int (*fill)(void *data, int fd);
    void *data;
};

/* A text that is larger than all else in memory: `print` appends it, and lets the drain take what
 * there is so far in between. jr_io_fill_printed is the `fill` of a source whose `data` is this. */
struct jr_io_printed {
    void (*print)(struct jr_buf *out, const void *data, const struct jr_drain *drain);
    const void *data;
};
int jr_io_fill_printed(void *data, int fd);

/* Replace a file as jr_io_replace does, by what the source writes. */
int jr_io_replace_from(int dir_fd, const char *name, const struct jr_io_source *source, mode_t mode,
                       struct jr_error *err);

/* Make a file in a folder that nobody reads yet: written under its own name, which saves the
 * rename, so that a reader would see it grow. If something stands there already, it is replaced as
 * by jr_io_replace. */
int jr_io_make(int dir_fd, const char *name, const void *bytes, size_t len, mode_t mode,
               struct jr_error *err);

/* The same, by what the source writes. */
int jr_io_make_from(int dir_fd, const char *name, const struct jr_io_source *source, mode_t mode,
                    struct jr_error *err);

/* Append the names of all that is in the folder `name` of `dir_fd`, but "." and "..", in no order.
 * No link is followed; nothing is appended where it cannot be read. */
void jr_io_names(struct jr_strv *ret, struct jr_arena *arena, int dir_fd, const char *name);

/* Have the file of this status the mode `mode`: fchmod(2) only where it has another one, since on a
 * disk that is a write. 0, or -1 with errno. */
int jr_io_set_mode(int fd, const struct stat *status, mode_t mode);

/* Make `path` and what is missing above it. 0 where it was there already. */
int jr_io_mkdirs(const char *path, mode_t mode, struct jr_error *err);

/* `path` made absolute against `base` (itself absolute) without touching the
 * file system; "." and ".." are folded. malloc'ed, NULL if memory runs out: a
 * NULL text, for which there was none, yields NULL and ENOMEM. */
char *jr_io_absolute(const char *base, const char *path);

/* The nearest folder, of `folder` (absolute) and those above it, that has an entry `name`:
 * malloc'ed, or NULL if there is none or no memory. */
char *jr_io_find_above(const char *folder, const char *name);

/* The value of a small text file below `root` without its trailing newline; false when it cannot be
 * read. For /proc and /sys under a root prefix. */
bool jr_io_fact(struct jr_buf *ret, const char *root, const char *path);

/*
 * Opening beneath a folder: no component of the path may be a link, and none leads out of the
 * folder (openat2(2), RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS).
 */

/* openat(2) for a relative path, `mode` for O_CREAT. Where the kernel or a container has no
 * openat2, folder by folder. Returns the descriptor, or -1 with errno: ELOOP or ENOTDIR for a link,
 * EXDEV for a path that leads out. Async-signal-safe. */
int jr_open_beneath(int dir_fd, const char *path, int flags, mode_t mode);

/* Open the folder that a relative path lies in, as a place to act on the last component, which is
 * *ret_name (it points into `path`). -1 with errno. */
int jr_open_above(int dir_fd, const char *path, const char **ret_name);

#endif
