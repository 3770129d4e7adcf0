/* One row per option, and one per word in capitals that stands for a value:
 * parsing, help, completion and checks are made from them. */
#ifndef JR_OPTIONS_H
#define JR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct jr_cli;

enum jr_option_kind {
    JR_OPTION_FLAG,  /* bool */
    JR_OPTION_TEXT,  /* const char * */
    JR_OPTION_MAYBE, /* the same, by --name=VALUE only; "" without a value */
    JR_OPTION_LIST,  /* struct jr_strv; each time one more */
    JR_OPTION_NUMBER /* uint32_t, and its pointer becomes non-NULL */
};

struct jr_option {
    char letter; /* 0: none */
    char alias;  /* another letter that is taken, and not listed; 0: none */
    const char *name;
    const char *arg; /* NULL for a flag */
    enum jr_option_kind kind;
    size_t offset;     /* into struct jr_cli */
    size_t pointer;    /* NUMBER: that of what points there once it is given */
    const char *verbs; /* those that have it; NULL: all */
    const char *help;
};

/* NULL-named at the end. */
extern const struct jr_option jr_options[];

/* Whether a verb has the option. */
bool jr_option_allowed(const struct jr_option *option, const char *verb);

/* Append what the option is for: all of it, or with `verb` what is for that. A clause of the
 * table's text that begins with names of verbs ("show: print...") is about these, and so are those
 * behind it, up to the next of the kind. */
void jr_option_describe(struct jr_buf *out, const struct jr_option *option, const char *verb);

/* The option of a letter; NULL: there is none. */
const struct jr_option *jr_option_by_letter(char letter);

/* The option whose name is the first `len` bytes, or the only one whose name begins so; NULL: none,
 * or several. */
const struct jr_option *jr_option_by_name(const char *name, size_t len);

/*
 * The values that may replace the words in capitals of a synopsis or of an option: RUN, FORMAT.
 * Help and completion are made from them.
 */

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

/* Append ": text, json" for a name whose words say enough, ": see below" for one whose words have a
 * help, and nothing for all others. */
void jr_value_words(struct jr_buf *out, const char *name, const char *verb);

/* A walk over the words in capitals of a synopsis: "[SPEC]", "CODE|FIELD", "PATH...". A word in
 * brackets after a dash is not one of them. */
struct jr_synopsis {
    const char *at;    /* begin with the synopsis, and all else 0 */
    unsigned position; /* of the word that was returned, from 0 */
    bool many;         /* it may be repeated */
};

enum { JR_VALUE_NAME = 32 };

/* The next word; false at the end. */
bool jr_synopsis_next(struct jr_synopsis *walk, char ret_name[static JR_VALUE_NAME]);

#endif
