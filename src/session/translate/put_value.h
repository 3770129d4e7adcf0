/* Putting values into the spec, each checked by its field's row. */
#ifndef JR_PUT_VALUE_H
#define JR_PUT_VALUE_H

#include "session/translate/flag.h"

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

/* `text` with each %{ written so that it means itself. */
char *jr_put_literal(struct jr_translator *t, const char *text);

/* Whether `text` begins with a variable's name and `end`. */
bool jr_put_is_name(const char *text, char end);

/* A variable of the ranks: the field that decides it, or `env`. */
int jr_put_variable(struct jr_translator *t, const struct jr_given *given, const char *name,
                    const char *value);

/* A count that is in the spec; 0: none, or a list. */
uint32_t jr_put_count(const struct jr_translator *t, const char *path);

/* Counts that do not fit together, as the launchers deal them out. */
int jr_put_sizes(struct jr_translator *t);

#endif
