/*
 * Writing the fixes of findings into the text that they are about.
 *
 *   jr_fix_choose   which of them can be made together, in order
 *   jr_fix_apply    the text with these made; all else stays byte by byte
 *   jr_fix_tell     a line for people about one of them
 *   jr_fix_find     the bytes of a span
 *
 * A fix that must wait for another one is found again when the new text is read.
 */
#ifndef JR_FIX_H
#define JR_FIX_H

#include "diag/diag.h"

/* Bytes [from, to) of a source become the text of a finding's fix. */
struct jr_edit {
    const struct jr_diag *diag;
    size_t from, to;
};

/* The edits for those fixes of `diags` that lie in `source`, in the order of the text. An edit is
 * left out if it overlaps the previous one, changes nothing, or is not within the text. The column
 * after the last one of a line is its end, before the line break. The array lives in `arena`; NULL
 * if there is none or no memory. */
struct jr_edit *jr_fix_choose(struct jr_arena *arena, const struct jr_source *source,
                              const struct jr_diags *diags, size_t *ret_count);

/* Append the text of `source` with the edits made. */
void jr_fix_apply(struct jr_buf *out, const struct jr_source *source, const struct jr_edit *edits,
                  size_t count);

/* Append "file:line:col: fixed: 'paralelism' -> 'parallelism' [JR0203]" and a newline; the position
 * is that in the text before any of its edits. */
void jr_fix_tell(struct jr_buf *out, const struct jr_edit *edit);

/* The bytes [from, to) of a span in its source. False where it does not lie within the text. */
bool jr_fix_find(const struct jr_span *span, size_t *ret_from, size_t *ret_to);

#endif
