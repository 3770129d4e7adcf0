/*
 * The program for hosts that have none (engine.ssh.copy): its bytes and those of the files that
 * Python and libraries are run with, and the shell script that puts them into
 * ~/.cache/jobrun/VERSION-HASH on a host and starts the agent from there. They go through the
 * connection that the agent then has.
 *
 * The script says `want` where they are not there as they should be, reads them from its standard
 * input, and says `placed` when the agent is about to begin.
 */
#ifndef JR_COPY_H
#define JR_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"

#define JR_COPY_NAME 17 /* of a copy's hash: 16 digits and a NUL */

/* A file of it. */
struct jr_copy_file {
    const char *path; /* below the folder there */
    size_t at, len;   /* in the bytes */
    bool executable;
    char hash[JR_HASH_SIZE];
};

struct jr_copy {
    struct jr_arena arena;
    struct jr_buf bytes; /* of all files, one after the other */
    struct jr_copy_file *files;
    size_t count;
    char machine[65];        /* of uname(2): what the program is for */
    char hash[JR_COPY_NAME]; /* of all paths and hashes */
};

/* Read the program, and all regular files below the folder `support` (NULL:
 * there is none). -1 with `err`; *ret is to be released in any case. */
int jr_copy_read(struct jr_copy *ret, const char *program, const char *support,
                 struct jr_error *err);

/* Append the script for a host. It begins with the shell variable `p`, which is the program that is
 * looked for first; unless it is `stated`, PATH is searched, too. Whatever is there of this version
 * is used. */
void jr_copy_add_script(struct jr_buf *out, const struct jr_copy *copy, uint32_t node, bool stated);

/* Free what it has. */
void jr_copy_release(struct jr_copy *copy);

#endif
