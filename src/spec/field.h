/*
 * The field table as data: what fields.h says, to be walked.
 *
 *   group   the fields of one mapping, ended by a row without a key
 *   field   one row: key, type, need, default, help
 *   type    what a value may be; its kind says how it is read
 */
#ifndef JR_FIELD_H
#define JR_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strv.h"

enum jr_spec_kind {
    JR_KIND_INTEGER,
    JR_KIND_NUMBER,
    JR_KIND_BOOLEAN,
    JR_KIND_TEXT,
    JR_KIND_PATH,
    JR_KIND_WORD,
    JR_KIND_DURATION,
    JR_KIND_RANKS,
    JR_KIND_PATTERN,
    JR_KIND_TRIGGER, /* a cause: see restart_trigger.h */
    JR_KIND_SCALAR,  /* as it stands */
    JR_KIND_LIST,    /* of `item` */
    JR_KIND_MAP,     /* of `fields` */
    JR_KIND_NAMES,   /* a mapping of the user's names to `item` */
    JR_KIND_STREAMS, /* redirects, tee */
    JR_KIND_VALUE,   /* any value that JSON has; except for a function's, where
                        there is one, an `item` */
    JR_KIND_COUNT
};

/* One allowed word; the table ends with a NULL word. */
struct jr_spec_word {
    const char *word, *help;
};

struct jr_spec_field;

struct jr_spec_type {
    enum jr_spec_kind kind;
    const char *wants;                  /* for people; NULL: made from the rest */
    uint32_t min, max;                  /* INTEGER; `min` of a LIST's length */
    const char *pattern;                /* TEXT: must match whole; PCRE2 and ECMA alike;
                                           NAMES: the same of each name */
    const char *names;                  /* NAMES with a pattern: what it wants, for people */
    bool is_template;                   /* may hold %{rank} */
    bool here;                          /* PATH: its default is below the current folder */
    bool is_profile;                    /* PATH: the shorthand of a machine is none */
    bool is_shell;                      /* ${...} belongs to the shell: literal */
    bool custom;                        /* WORD: custom:NAME too */
    bool or_file;                       /* WORD: or a file's path, which is never linted: the
                                           file was taken in before */
    bool lone;                          /* LIST: one item may be written without brackets */
    bool env;                           /* NAMES: of environment variables */
    bool ranks;                         /* NAMES: rank sets, no two of which overlap */
    bool outside;                       /* NAMES: ??? is a value that must be given */
    bool declared;                      /* NAMES: --set changes entries, and adds one only
                                           with a plus */
    bool literal;                       /* read before ${...} is */
    bool early;                         /* read before specs are put together */
    bool named;                         /* LIST: or a mapping of names to items, or nulls */
    bool gone;                          /* no part of the normal form */
    bool stated;                        /* MAP: there only where a spec states it */
    bool is_python;                     /* TEXT: the name of a module, or of a function in it */
    bool is_program;                    /* PATH: a word without a slash is looked up */
    bool is_address;                    /* TEXT: of a machine */
    bool is_size;                       /* TEXT: bytes, or a count without a limit */
    const struct jr_spec_word *words;   /* WORD; TRIGGER: what it begins with;
                                           LIST: instead of the list */
    const struct jr_spec_type *item;    /* LIST, NAMES */
    const struct jr_spec_field *fields; /* MAP */
    const char *shorthand;              /* MAP: the field that a short form sets */
    const char *const *forms;           /* MAP: NULL-terminated; it has one of these */
};

/* What a field is about: X(name, word). */
#define JR_PARTS(X)                                                                                \
    X(EXPERIMENT, "experiment")   /* what the fingerprint is made of */                            \
    X(PLACEMENT, "placement")     /* where ranks run, and how that is found */                     \
    X(LABEL, "label")             /* words for people */                                           \
    X(OUTPUT, "output")           /* what becomes of what the ranks print */                       \
    X(RECORD, "record")           /* where the run's files go, and how */                          \
    X(SUPERVISION, "supervision") /* how long things take, and what then */                        \
    X(SOURCE, "source")           /* how the spec is written and checked */

#define JR_PART_ENUM(name, word) JR_PART_##name,
enum jr_part { JR_PARTS(JR_PART_ENUM) };

enum jr_spec_need { JR_NEED_REQUIRED, JR_NEED_OPTIONAL, JR_NEED_RESOLVED };

struct jr_spec_field {
    const char *key;
    const struct jr_spec_type *type;
    enum jr_spec_need need;
    const char *fallback; /* the default as a spec would state it; items of a
                             list are separated by blanks; NULL: none */
    const char *unit;     /* NULL: none */
    const char *since;    /* the version that brought it */
    enum jr_part part;
    const char *missing; /* what happens without it */
    const char *help;
};

/* The fields of one fixed mapping. `path` is "" for the spec itself, and has a star in place of the
 * user's own names: "results.fields.*". */
struct jr_spec_group {
    const char *path;
    const struct jr_spec_field *fields;
};

/* All groups, outermost first. */
const struct jr_spec_group *jr_field_groups(size_t *ret_count);

/* The type of the whole spec. */
const struct jr_spec_type *jr_field_root(void);

/* The row of a dotted path ("parallelism.model", "results.fields.loss.min"), or NULL. For
 * `explain`. */
const struct jr_spec_field *jr_field_find(const char *path);

/* The row with this key, or NULL. */
const struct jr_spec_field *jr_field_get(const struct jr_spec_field *fields, const char *key);

/* The items of a list's default, in `arena`; none where it has no default. */
struct jr_strv jr_field_defaults(const struct jr_spec_field *field, struct jr_arena *arena);

/* Append what a type wants: "an integer of at least 1", "one of a, b". */
void jr_field_wants(struct jr_buf *out, const struct jr_spec_type *type);

#endif
