/*
 * The documentation of the fields: `explain`, docs/spec.md and the man page are made from it. The
 * texts are those of fields.h and manual.c.
 */
#ifndef JR_MANUAL_H
#define JR_MANUAL_H

#include "base/arena.h"
#include "spec/field.h"

/* Fields of the top that belong together: from the one with key `first` to before that of the next
 * section. */
struct jr_field_section {
    const char *first, *title;
    const char *text; /* paragraphs; "" for none */
};

/* All sections, in the order of the field table. */
const struct jr_field_section *jr_field_sections(size_t *ret_count);

/* Whether a row of the top begins a section: the section, or NULL. */
const struct jr_field_section *jr_field_section_at(const struct jr_spec_field *field);

/* What is said of one field besides its row. */
struct jr_field_note {
    const char *path;
    const char *text;    /* paragraphs; "" for none */
    const char *example; /* a piece of a spec, without a final newline */
};

/* The note on a field, or NULL for a row that is not of the table. */
const struct jr_field_note *jr_field_note(const struct jr_spec_field *field);

/* Append the dotted path of a row, with a star for the user's own names. */
void jr_field_path(struct jr_buf *out, const struct jr_spec_field *field);

/* The paths of all rows in the table's order, NULL-terminated, in the arena; NULL if memory runs
 * out. */
const char **jr_field_paths(struct jr_arena *arena);

/* The rows of the mapping that a field's value is, or whose values are; NULL for other types. */
const struct jr_spec_field *jr_field_below(const struct jr_spec_type *type);

/* The words that a value, or an item of it, may be; NULL for other types. */
const struct jr_spec_word *jr_field_words(const struct jr_spec_type *type);

/* Tell the facts of a field, one call each: accepts, unit, default, without it or MISSING,
 * elsewhere, and since. The strings live until `tell` returns. */
typedef void jr_field_tell(void *context, const char *label, const char *text);

/* Call `tell` for each fact of a field. */
void jr_field_facts(const struct jr_spec_field *field, jr_field_tell *tell, void *context);

/* Append all that is known of a field, in lines as wide as out->width says. */
void jr_field_explain(struct jr_buf *out, const struct jr_spec_field *field);

/* Append every field with its help, in sections. */
void jr_field_list(struct jr_buf *out);

#endif
