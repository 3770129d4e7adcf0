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

#endif
