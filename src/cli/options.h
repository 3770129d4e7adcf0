/* One row per option: parsing, help, completion and checks are made from it. */
#ifndef JR_OPTIONS_H
#define JR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

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

/* The option of a letter; NULL: there is none. */
const struct jr_option *jr_option_by_letter(char letter);

/* The option whose name is the first `len` bytes, or the only one whose name
 * begins so; NULL: none, or several. */
const struct jr_option *jr_option_by_name(const char *name, size_t len);

#endif
