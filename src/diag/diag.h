/*
 * A list of findings: add while walking, then sort and render.
 *
 * The list owns copies of everything but the sources, which must outlive it.
 */
#ifndef JR_DIAG_H
#define JR_DIAG_H

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/setting_words.h"
#include "diag/codes.h"

struct jr_diags {
    struct jr_arena arena;
    struct jr_diag *items;
    size_t count;
    size_t errors, warnings; /* those that were not kept included */
    struct jr_diag scratch;  /* see jr_diags_error */
    bool no_spec;            /* of a command on a line: see jr_diag_help */
};

#define JR_DIAGS_INIT ((struct jr_diags){0})

/* Free all findings and leave an empty list, of the same reader. */
void jr_diags_release(struct jr_diags *diags);

/* Add a finding with a formatted message and return it, for help and related.
 * `code` is one of codes.h; strings are copied. What comes
 * after 1,000 findings is counted but not kept. Never NULL: a finding that is
 * not kept is the scratch one inside `diags`, and so it is without memory, when
 * the arena is marked failed too. Valid until the next addition. What had
 * memory for the slot only says that there was none. */
struct jr_diag *jr_diags_error(struct jr_diags *diags, enum jr_diag_code code, struct jr_span span,
                               const char *path, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* The same for a warning. */
struct jr_diag *jr_diags_warning(struct jr_diags *diags, enum jr_diag_code code,
                                 struct jr_span span, const char *path, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Give a finding, which one of the two calls above returned, a line of help. What stands in
 * `format` as JR_SETTING is written as whoever reads it can type it, as an option where the finding
 * is about one: see base/setting_words.h. */
void jr_diag_help(struct jr_diags *diags, struct jr_diag *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with a text that is no format. */
void jr_diag_help_text(struct jr_diags *diags, struct jr_diag *diag, const char *text);

/* Add another position that has to do with the finding, and what it is. */
void jr_diag_relate(struct jr_diags *diags, struct jr_diag *diag, struct jr_span span,
                    const char *message);

/* The same for a position that says only why the finding's file is read: two findings that differ
 * in nothing else are one to jr_diags_fold. */
void jr_diag_relate_route(struct jr_diags *diags, struct jr_diag *diag, struct jr_span span,
                          const char *message);

/* Give the finding a fix: `text` in the place of the span. */
void jr_diag_fix(struct jr_diags *diags, struct jr_diag *diag, struct jr_span span,
                 const char *text);

/* Add a copy of a finding of another list, whose sources must outlive this one, with `more` behind
 * its message. */
void jr_diags_copy(struct jr_diags *diags, const struct jr_diag *from, const char *more);

/* Forget the findings from number `first` on. */
void jr_diags_drop_from(struct jr_diags *diags, size_t first);

/* Whether the finding has this code. */
bool jr_diag_is(const struct jr_diag *diag, enum jr_diag_code code);

/* Sort by source, then position, then code; findings that are equal in all of them keep their
 * order. */
void jr_diags_sort(struct jr_diags *diags);

/* The same for the findings from number `first` on, so that the findings of one file stay
 * together. */
void jr_diags_sort_from(struct jr_diags *diags, size_t first);

/* Remove those from `first` on that an earlier file has, too: the same message at the same place.
 * Returns how many. */
size_t jr_diags_fold(struct jr_diags *diags, size_t first);

/* Append "3 errors and 1 warning". */
void jr_diags_count(struct jr_buf *out, const struct jr_diags *diags);

/* Append "file:line:col: ", or what is known of it. */
void jr_diag_place(struct jr_buf *out, const struct jr_span *span);

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

/* A file that was checked. Its own findings may point into other files. */
struct jr_checked {
    const char *name;
    size_t first, count;     /* into the list */
    size_t errors, warnings; /* those that were not kept included */
    size_t folded;           /* of them, told with an earlier file */
};

/* What is reported, and how. */
struct jr_diag_report {
    const struct jr_diags *diags;
    const struct jr_checked *files; /* NULL: no summary, no test cases */
    size_t files_count;
    /* Absolute folders. The forms for CI services name files as they are seen from `root`, usually
     * the top of a checkout; other relative names are relative to `cwd`. NULL: names stay as they
     * are written. */
    const char *root, *cwd;
    bool strict; /* a warning makes a file invalid too */
    bool color;  /* SGR sequences, in HUMAN only */
};

/* Whether nothing was found that makes a file invalid. */
bool jr_diag_report_valid(const struct jr_diag_report *report);

/* Append the report. HUMAN quotes the source line with a caret span (tabs and wide characters
 * aligned; control bytes escaped; long lines cut around the caret), tells the related positions,
 * and ends with a summary; where `out` has a width, no line is longer than that if its words are
 * not. JSON is the object of the contract. The time is linear in the findings and their texts,
 * provided that the findings of a file are sorted. */
void jr_diags_report(struct jr_buf *out, const struct jr_diag_report *report,
                     enum jr_diag_format format);

/* The same for a list alone. */
void jr_diags_render(struct jr_buf *out, const struct jr_diags *diags, enum jr_diag_format format,
                     bool color);

/* What `jobrun explain` prints about a code. */
struct jr_code {
    unsigned number;
    const char *title; /* a few words */
    const char *text;  /* a paragraph, a blank line and an example */
};

/* Find a code as people write it, "JR0203" or "0203"; NULL when there is no such code. */
const struct jr_code *jr_code_find(const char *code);

/* All codes in the order of their numbers. */
const struct jr_code *jr_code_table(size_t *ret_count);

#endif
