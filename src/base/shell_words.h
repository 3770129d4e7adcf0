/*
 * A command line as a shell would split it (POSIX 2.2 and 2.3), without expanding or executing
 * anything.
 */
#ifndef JR_SHELL_WORDS_H
#define JR_SHELL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include <jobrun/error.h>

struct jr_shell_word {
    const char *text;  /* without its quotes; expansions are kept as written */
    size_t start, end; /* where it is in the line, quotes included */
    bool expands;      /* holds $, ` or ~: the shell would change it */
    bool globs;        /* holds *, ? or [: the names of files, if any match */
};

struct jr_shell_words {
    const char *line; /* borrowed */
    struct jr_shell_word *items;
    size_t count;
    const char *tail; /* from the operator that ends the command (a pipe, a
                         redirection, ...), in `line`; NULL: there is none */
};

/* Split the first command of `line`, which must outlive the result. Returns 0, or -1 for an open
 * quote or if memory runs out. */
int jr_shell_split(struct jr_shell_words *ret, struct jr_arena *arena, const char *line,
                   struct jr_error *err);

/* Append a word as it is typed into a shell: in quotes if it needs them. */
void jr_shell_quote(struct jr_buf *out, const char *word);

/* The first line of a script says what executes it (execve(2)): what it names, as it stands there;
 * in the caller's arena. A carriage return at its end belongs to the name: the kernel and env(1)
 * take it so. */
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
