/* What the files of this folder share: diag.c has the list, its fixes and the places in a source;
 * diag_text.c the forms of a report that are text, diag_json.c those that are JSON. */
#ifndef JR_DIAG_INTERNAL_H
#define JR_DIAG_INTERNAL_H

#include "base/hash.h"
#include "base/json.h"
#include "diag/diag.h"

/* One writer for each format: appends the whole report. */
#define JR_DIAG_WRITER(name, word, help)                                                           \
    void jr_diag_write_##word(struct jr_buf *out, const struct jr_diag_report *report);
JR_DIAG_FORMATS(JR_DIAG_WRITER)

/* The line that was quoted last; {0} at first. Findings that come in order then cost one pass over
 * the text, not one pass each. */
struct jr_diag_cursor {
    const struct jr_source *source;
    uint32_t line;
    size_t offset, size; /* of the line's text, in bytes */
};

/* Move the cursor to the line of a span. False if there is no text or no such line. */
bool jr_diag_find_line(struct jr_diag_cursor *cursor, const struct jr_span *span);

/* "error" or "warning". */
const char *jr_diag_severity_word(enum jr_severity severity);

/* Append the name of a file as it is seen from the report's root; a name that is not below it stays
 * as it is written. */
void jr_diag_file(struct jr_buf *out, const struct jr_diag_report *report, const char *name);

/* Append the finding as people read it: position and message, the source line with a caret span,
 * and its related positions. */
void jr_diag_human(struct jr_buf *out, const struct jr_diag *diag, struct jr_diag_cursor *cursor,
                   bool color);

#endif
