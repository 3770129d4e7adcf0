/* The first line of a script, which says what executes it: execve(2). */
#ifndef JR_SHEBANG_H
#define JR_SHEBANG_H

#include "base/arena.h"
#include "base/buf.h"

/* What it names, as it stands there; in the caller's arena. A carriage return at its end belongs to
 * the name: the kernel and env(1) take it so. */
struct jr_shebang {
    const char *interpreter; /* a path, or ""; NULL: it is no script, or
                                unreadable */
    const char *program;     /* what env is to look up in PATH; NULL: none */
};

/* Read the first line of the file `path`, relative to the folder `dir_fd` (AT_FDCWD allowed). */
struct jr_shebang jr_shebang_read(struct jr_arena *arena, int dir_fd, const char *path);

/* Append what to type where that line of the script `path` ends in a carriage return, as editors on
 * Windows leave it. Returns whether it does. */
bool jr_shebang_help_windows(struct jr_buf *out, const struct jr_shebang *shebang,
                             const char *path);

#endif
