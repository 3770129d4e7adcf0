/* The text about a verb in --help and in the man page, beyond its row in
 * verbs.c. */
#ifndef JR_VERB_HELP_H
#define JR_VERB_HELP_H

/* Texts are plain: `backticks` around what is typed, a blank line between
 * paragraphs. */
struct jr_usage {
    const char *verb;
    const char *text;
    const char *example; /* command lines, without a final newline */
};

/* Every verb has it. */
const struct jr_usage *jr_usage_find(const char *verb);

#endif
