/*
 * Words of elsewhere: what other launchers, and habit, call the fields of a
 * spec and their values.
 */
#ifndef JR_FOREIGN_NAMES_H
#define JR_FOREIGN_NAMES_H

#include <stdbool.h>

#include "base/buf.h"

/* The field that another launcher calls `name`, as a dotted path, or NULL.
 * Case, dashes and underscores do not count. */
const char *jr_field_foreign(const char *name);

/* Why there is no field for what another launcher calls `name`, or NULL. */
const char *jr_field_needless(const char *name);

/* Whether a name for which there is no field asks, by this value, for nothing
 * but what jobrun does anyway. */
bool jr_field_is_idle(const char *name, const char *value);

/* Whether what another launcher calls `name` means the same by the same values,
 * so that its name is all that differs. False if there is no field for it. */
bool jr_field_foreign_is_same(const char *name);

/* Append what other launchers call the field with this path: "nproc, np". */
void jr_field_others(struct jr_buf *out, const char *path);

/* The word of a spec for one that others use for a value ("gpu" is cuda), or
 * NULL; it may belong to another field. */
const char *jr_field_foreign_word(const char *word);

/* Whether nothing else can be meant by such a word: "gpu" may be rocm as well,
 * "nvidia" is cuda. False for a word that jr_field_foreign_word does not know.
 */
bool jr_field_foreign_word_is_sure(const char *word);

#endif
