/*
 * A draft: a file that is written whole beside the one it is to become. NAME is written as .NAME,
 * for which space can be reserved long before, and takes its place when all of it is on the disk.
 * So a full disk is no obstacle, and what a crash of the machine leaves is the old file or the new
 * one.
 */
#ifndef JR_DRAFT_FILE_H
#define JR_DRAFT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/io.h"

#define JR_DRAFT_FILE_NAME 64 /* bytes of a hidden name */

struct jr_draft_file {
    int dir_fd;       /* borrowed */
    int fd;           /* -1: it is not open */
    const char *name; /* that it is to have; borrowed */
    int64_t end;      /* of what was filled in */
    char hidden[JR_DRAFT_FILE_NAME];
};

#define JR_DRAFT_FILE_CLEANUP __attribute__((cleanup(jr_draft_file_close)))
#define JR_DRAFT_FILE_INIT                                                                         \
    {                                                                                              \
        .dir_fd = -1, .fd = -1                                                                     \
    }

/* Make .NAME in the folder `dir_fd` as jr_draft_file_open does, and reserve
 * `bytes` for it; 0 reserves the name alone. If the file system cannot reserve
 * that much, it reserves less. -1 with `err` where there is no such file. */
int jr_draft_file_reserve(int dir_fd, const char *name, uint64_t bytes, mode_t mode,
                          struct jr_error *err);

/* Open .NAME for writing, and create it if it does not exist; anything else in
 * its place that is not a regular file of ours is removed, a folder renamed.
 * `name` must outlive the draft. 0, or -1 with `err`. */
int jr_draft_file_open(struct jr_draft_file *ret, int dir_fd, const char *name, mode_t mode,
                       struct jr_error *err);

/* Write it from its beginning, and let the disk start with it. This may be repeated. 0, or -1 with
 * `err`. */
int jr_draft_file_fill(struct jr_draft_file *draft, const struct jr_io_source *source,
                       struct jr_error *err);

/* Give back what was reserved beyond its end, and wait until it is on the disk, if `sync`. 0, or -1
 * with `err`. */
int jr_draft_file_settle(const struct jr_draft_file *draft, bool sync, struct jr_error *err);

/* Rename it to NAME; a folder that is called so is renamed. 0, or -1 with
 * `err`. */
int jr_draft_file_publish(const struct jr_draft_file *draft, struct jr_error *err);

/* Close it; one that was not published stays as .NAME. */
void jr_draft_file_close(struct jr_draft_file *draft);

#endif
