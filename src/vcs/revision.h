/*
 * The files of a git revision, without a checkout: one process lists them, one hands over their
 * contents, however many they are.
 */
#ifndef JR_REVISION_H
#define JR_REVISION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include <jobrun/error.h>

struct jr_revision;

/* Open the commit `name` (any way that git has to name one) of the repository around the absolute
 * path `folder`. `envp` is what git runs with, less GIT_*. Returns 0, or -1 with the status USAGE
 * when there is no such commit. */
int jr_revision_open(struct jr_revision **ret, const char *folder, const char *name,
                     char *const *envp, struct jr_error *err);

/* End the git process that it holds, and free it. NULL is allowed. */
void jr_revision_close(struct jr_revision *revision);

/* The name that it was opened by, borrowed. */
const char *jr_revision_name(const struct jr_revision *revision);

/* The absolute path of its work tree. */
const char *jr_revision_top(const struct jr_revision *revision);

/* How many regular files it has; they are numbered in the byte order of their paths. */
size_t jr_revision_count(const struct jr_revision *revision);

/* The path of file `i`, from the top; borrowed. */
const char *jr_revision_path(const struct jr_revision *revision, size_t i);

/* Whether there is a regular file at `path`, from the top and folded. */
bool jr_revision_has(const struct jr_revision *revision, const char *path);

/* Append the contents of such a file, of at most `limit` bytes. -1 with `err`, whose `sys` is
 * ENOENT if there is none. */
int jr_revision_read(struct jr_revision *revision, const char *path, size_t limit,
                     struct jr_buf *out, struct jr_error *err);

#endif
