/*
 * The values that may replace the words in capitals of a synopsis or of an
 * option: RUN, FORMAT. Help and completion are made from them.
 */
#ifndef JR_PLACEHOLDERS_H
#define JR_PLACEHOLDERS_H

#include <stdbool.h>

#include "base/buf.h"

/* A set of these. */
enum jr_value_kind {
    JR_VALUE_WORD = 1,
    JR_VALUE_SPEC = 2, /* a *.yaml file */
    JR_VALUE_FILE = 4,
    JR_VALUE_FOLDER = 8,
    JR_VALUE_RUN = 16,
    JR_VALUE_FIELD = 32,
    JR_VALUE_CODE = 64,
    JR_VALUE_SETTING = 128, /* FIELD=VALUE */
    JR_VALUE_VERB = 256
};

struct jr_value_word {
    const char *word, *help; /* help NULL: the word says it */
};

struct jr_value {
    const char *name;
    const char *verb; /* for this one; NULL: for all others */
    unsigned kinds;
    const struct jr_value_word *words; /* of JR_VALUE_WORD; NULL-worded end */
};

/* What `name` means to a verb; NULL: nothing that could be offered. */
const struct jr_value *jr_value_find(const char *name, const char *verb);

/* The word of `name` that is nearest to a misspelt one; NULL: none is near. */
const char *jr_value_near(const char *name, const char *word);

/* Append ": text, json" for a name whose words say enough, ": see below" for
 * one whose words have a help, and nothing for all others. */
void jr_value_words(struct jr_buf *out, const char *name, const char *verb);

/* A walk over the words in capitals of a synopsis: "[SPEC]", "CODE|FIELD",
 * "PATH...". A word in brackets after a dash is not one of them. */
struct jr_synopsis {
    const char *at;    /* begin with the synopsis, and all else 0 */
    unsigned position; /* of the word that was returned, from 0 */
    bool many;         /* it may be repeated */
};

enum { JR_VALUE_NAME = 32 };

/* The next word; false at the end. */
bool jr_synopsis_next(struct jr_synopsis *walk,
                      char ret_name[static JR_VALUE_NAME]);

#endif
