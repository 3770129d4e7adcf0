/*
 * Options and verbs that people type here because another launcher, another tool or another verb
 * has them, and what is typed instead. One row each.
 */
#ifndef JR_FOREIGN_OPTIONS_H
#define JR_FOREIGN_OPTIONS_H

#include <stdbool.h>

#include "base/buf.h"

enum jr_foreign_kind {
    JR_FOREIGN_RANKS,  /* the number of ranks: -n, or -s world_size= */
    JR_FOREIGN_LOCAL,  /* that on each node */
    JR_FOREIGN_NODES,  /* the number of nodes */
    JR_FOREIGN_FIELD,  /* -s HERE=VALUE */
    JR_FOREIGN_LIST,   /* -s HERE=[VALUE] */
    JR_FOREIGN_ENTRY,  /* of NAME=X: -s HERE.NAME=X; of NAME alone: nothing */
    JR_FOREIGN_WORDS,  /* HERE, and the value behind it */
    JR_FOREIGN_FILLED, /* HERE, with the quoted value for its %s */
    JR_FOREIGN_PATH,   /* of --PATH=VALUE: -s PATH=VALUE */
    JR_FOREIGN_BARE,   /* the value as a word of its own */
    JR_FOREIGN_VERB,   /* the line has the verb HERE */
    JR_FOREIGN_NONE,   /* nothing: HERE says why */
    JR_FOREIGN_ASK     /* no line is certain: HERE says what to do */
};

struct jr_foreign_option {
    const char *names; /* separated by blanks; a '_' is as good as a '-' */
    const char *verbs; /* those for which the row holds */
    enum jr_foreign_kind kind;
    const char *value; /* NULL: it takes none. "#": a number of at least 1;
                          "@": a duration; ",": names of hosts; "/": a file;
                          "": any plain text; else the words that it may be */
    const char *here;
};

/* The row for a word of the command line of `verb`, such as "--nproc_per_node=2", "-np" or
 * "--vars.lr=0.1"; NULL: there is none. */
const struct jr_foreign_option *jr_foreign_option_find(const char *word, const char *verb);

/* Whether `value` can be told here as the row says. */
bool jr_foreign_option_takes(const struct jr_foreign_option *row, const char *value);

/* Append what to do where no whole line can be given: "type -s nodes=N". */
void jr_foreign_option_describe(struct jr_buf *out, const struct jr_foreign_option *row);

/* What is typed after `jobrun` instead of a verb such as "ps"; NULL: it is not known. */
const char *jr_foreign_verb(const char *word);

/* Whether a word is a launcher whose lines `jobrun new --from` translates. */
bool jr_foreign_launcher(const char *word);

/* Whether a word is a program that starts containers, installed or not. */
bool jr_foreign_container(const char *word);

#endif
