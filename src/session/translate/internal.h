/* What the files of the translation share: put_value.c puts values into the spec, turn.c makes them
 * of what the line gives. */
#ifndef JR_TRANSLATE_INTERNAL_H
#define JR_TRANSLATE_INTERNAL_H

#include "base/shell_words.h"
#include "doc/doc.h"
#include "session/translate/translate.h"

/* One flag as the line gives it. */
struct jr_given {
    const struct jr_flag *flag;
    const char *what;  /* "--nnodes 2", for people; secrets are left out */
    const char *name;  /* as written, without dashes */
    const char *value; /* NULL: none */
    const char *second;
    bool expands; /* a value is the shell's to say */
};

/* The work on one line. */
struct jr_translator {
    struct jr_translation *to;
    struct jr_arena *arena;
    const struct jr_launcher *launcher; /* whose options are read */
    struct jr_shell_words words;
    size_t at;                      /* the next word */
    size_t python_from, python_end; /* the interpreter, if it is stated */
    bool module, no_python, local_rank_argument;
    char **include, **exclude; /* of the hosts; NULL: not stated */
    const char *include_what, *exclude_what;
    bool no_ssh;   /* a launcher on each host starts its ranks */
    bool hostfile; /* one is named, whether it could be read or not */
    bool mpi;      /* the ranks are one world of MPI */
    struct jr_error *err;
};

/* Putting values into the spec, each checked by its field's row. */

/* Remember a note; the strings must live as long as the arena. */
void jr_note_add(struct jr_translator *t, enum jr_verdict verdict, const char *what,
                 const char *why);

/* A usage error: "--nnodes wants a number, not 'x'". Returns -1. */
int jr_given_wrong(struct jr_translator *t, const struct jr_given *given, const char *wants);

/* Put `value` at `path`, checked by the field's row. */
int jr_put(struct jr_translator *t, const struct jr_given *given, const char *path,
           const char *value);

/* The same for a list. */
int jr_put_list(struct jr_translator *t, const struct jr_given *given, const char *path,
                char **items);

/* Take a field out again. What of the line it came from, or NULL where it was not there. */
const char *jr_put_drop(struct jr_translator *t, const char *key);

/* A node for a string that stands for itself. */
struct jr_node *jr_put_scalar(struct jr_translator *t, const char *text);

/* `text` split at each `separator`, NULL-terminated; NULL if memory runs out.
 */
char **jr_put_split(struct jr_translator *t, const char *text, char separator);

/* Whether `text` begins with a variable's name and `end`. */
bool jr_put_is_name(const char *text, char end);

/* A variable of the ranks: the field that decides it, or `env`. */
int jr_put_variable(struct jr_translator *t, const struct jr_given *given, const char *name,
                    const char *value);

/* A count that is in the spec; 0: none, or a list. */
uint32_t jr_put_count(const struct jr_translator *t, const char *path);

/* Counts that do not fit together, as the launchers deal them out. */
int jr_put_sizes(struct jr_translator *t);

/* The path of a row, with an option's name in capitals for the star that it may end in; NULL too
 * where the row has none. */
const char *jr_turn_path(struct jr_translator *t, const char *path, const char *name);

/* Turn the value of a flag, which has a turn, into that of its field. Returns 0, or -1 with a usage
 * error. */
int jr_turn(struct jr_translator *t, const struct jr_given *given);

/* Do what the launcher does unasked. */
int jr_turn_finish(struct jr_translator *t);

/* Keep the first `count`. */
void jr_hosts_cut(struct jr_translator *t, uint32_t count);

/* How many hosts the spec names; 0: none. */
uint32_t jr_hosts_count(const struct jr_translator *t);

#endif
