/*
 * The fixes that are sure, written back: validate --fix.
 *
 * A text is read, its fixes are made, and it is read again until no more is sure; only then a file
 * is replaced, in one step, by the new text.
 */
#ifndef JR_FIX_FILE_H
#define JR_FIX_FILE_H

#include <jobrun/error.h>

#include "base/buf.h"
#include "diag/diag.h"

struct jr_check_options;

/* Fix what checking a file finds, through a symbolic link the file that it
 * leads to. `told` gets a line for each fix that was written. Returns 0, for a
 * file without any fix or that cannot be read too (checking it will say so), or
 * -1 with why the file was left as it is. */
int jr_fix_file(struct jr_buf *told, const char *path, const struct jr_check_options *options,
                struct jr_error *err);

/* Read a spec from the descriptor `fd` and fix what checking it finds: *ret is the new text, `told`
 * the same as above. -1 where it cannot be read. */
int jr_fix_input(struct jr_buf *ret, struct jr_buf *told, int fd,
                 const struct jr_check_options *options, struct jr_error *err);

#endif
