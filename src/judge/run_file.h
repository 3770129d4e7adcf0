/*
 * Reading the files that ranks have written, with the caution that this needs.
 * A path that is not absolute lies beneath the run folder and no component of
 * it may be a link; nothing but a regular file is opened, and opening never
 * blocks.
 */
#ifndef JR_RUN_FILE_H
#define JR_RUN_FILE_H

#include <stdint.h>

#include "base/buf.h"
#include <jobrun/error.h>

/* Open it for reading. Returns a descriptor, or -1 with `err` (its `sys` is
 * ENOENT when there is no such file). */
int jr_run_file_open(int run_fd, const char *path, struct jr_error *err);

/* Append the whole file, at most `limit` bytes: a larger one is refused by its
 * size, before anything is read. 0, or -1 with `err`. */
int jr_run_file_read(struct jr_buf *ret, int run_fd, const char *path,
                     size_t limit, struct jr_error *err);

/* Append the last lines, at most `lines` of them out of the last 16 KiB, as in
 * the file but without the final newline. Nothing on any error, or for a file
 * outside the run folder. */
void jr_run_file_tail(struct jr_buf *ret, int run_fd, const char *path,
                      unsigned lines);

#endif
