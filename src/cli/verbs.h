/* The verbs: a row of each, and what help and the man page say of it besides.
 */
#ifndef JR_VERBS_H
#define JR_VERBS_H

#include "cli/cli.h"

/* Texts are plain: `backticks` around what is typed, a blank line between paragraphs. */
struct jr_usage {
    const char *verb;
    const char *text;
    const char *example; /* command lines, without a final newline */
};

/* What is said of the verb; every verb has it. */
const struct jr_usage *jr_usage_find(const char *verb);

enum jr_verb_flags {
    JR_VERB_JOB = 1,  /* what follows `--` are words of the job */
    JR_VERB_REST = 2, /* it reads what follows `--` in a way of its own */
    JR_VERB_RARE = 4, /* nobody types it day by day: help --all lists it */
    JR_VERB_RUNS = 8  /* its words are runs: a folder's path is one, too */
};

/* A verb: `words` is its synopsis. */
struct jr_verb {
    const char *name, *words, *help;
    jr_verb_function *run;
    unsigned flags; /* enum jr_verb_flags */
};

/* The verbs, NULL-named at the end; the first is the default. */
extern const struct jr_verb jr_verbs[];

/* The verb of that name; NULL: there is none. */
const struct jr_verb *jr_verb_find(const char *name);

#endif
