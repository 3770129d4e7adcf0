/*
 * A file that is in the folder in which jobrun was called, and not where the ranks look for it: the
 * commonest of all mistakes where the spec lies in a folder of its own.
 */
#ifndef JR_MISPLACED_H
#define JR_MISPLACED_H

#include <stdbool.h>

#include "base/buf.h"

struct jr_session;

/* Append what to do about the path `name`, which ranks look for in `workdir` (an absolute path:
 * which the spec states relative to its folder), where it is not there and is in the current
 * folder. False: that is not so. */
bool jr_misplaced_file(struct jr_buf *out, const struct jr_session *session, const char *workdir,
                       const char *name);

/* The same for a program, which is called by ./NAME. */
bool jr_misplaced_program(struct jr_buf *out, const struct jr_session *session, const char *workdir,
                          const char *name);

/* The same for a module, pkg.train or pkg.train:main. */
bool jr_misplaced_module(struct jr_buf *out, const struct jr_session *session, const char *workdir,
                         const char *name);

/* The same for whatever the entrypoint of the plan names first. *ret_name is what a message says of
 * it, in `name`. */
bool jr_misplaced_find(struct jr_buf *out, struct jr_buf *name, const struct jr_session *session);

#endif
