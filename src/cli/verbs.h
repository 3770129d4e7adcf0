/* The verbs: a row of each, and what help and the man page say of it besides.
 */
#ifndef JR_VERBS_H
#define JR_VERBS_H

struct jr_cli;

/* Texts are plain: `backticks` around what is typed, a blank line between
 * paragraphs. */
struct jr_usage {
    const char *verb;
    const char *text;
    const char *example; /* command lines, without a final newline */
};

/* What is said of the verb; every verb has it. */
const struct jr_usage *jr_usage_find(const char *verb);

/* A verb: `words` is its synopsis. */
struct jr_verb {
    const char *name, *words, *help;
    int (*run)(struct jr_cli *cli);
};

/* The verbs, NULL-named at the end; the first is the default. */
extern const struct jr_verb jr_verbs[];

/* The verb of that name; NULL: there is none. */
const struct jr_verb *jr_verb_find(const char *name);

#endif
