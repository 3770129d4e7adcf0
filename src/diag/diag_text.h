/*
 * The writers of reports, and what they share: diag_text.c has the latter, and the form for people
 * by diag_human.h; diag_ci.c, diag_json.c and diag_sarif.c have one form or more each.
 */
#ifndef JR_DIAG_TEXT_H
#define JR_DIAG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Append "file:line:col: ", or what is known of it. */
void jr_diag_place(struct jr_buf *out, const struct jr_span *span);

/* How many findings were counted but not kept. */
size_t jr_diag_left_out(const struct jr_diags *diags);

/* The closing line: how many files are valid, or how many findings there are in how many files.
 * Nothing when the report names no files. */
void jr_diag_summary(struct jr_buf *out, const struct jr_diag_report *report);

/* Append the name of a file as it is seen from the report's root; a name that is not below it stays
 * as it is written. */
void jr_diag_file(struct jr_buf *out, const struct jr_diag_report *report, const char *name);

/* A digest of file, code and key path, which stays when lines move, and of how
 * many with the same three came before it, so that it is unique in the report.
 * `seen` is an object that belongs to the report, empty at first. "" without
 * memory. */
void jr_diag_fingerprint(char ret[static JR_HASH_SIZE], json_t *seen,
                         const struct jr_diag_report *report, const struct jr_diag *diag);

#endif
