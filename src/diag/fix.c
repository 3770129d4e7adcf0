#include "diag/fix.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "diag/diag_text.h"

#include "base/banned.h"

/* The byte at a line and column: false where the text has none. The cursor moves on, so that
 * positions in order cost one pass. */
static bool find_byte(struct jr_diag_cursor *cursor, struct jr_span at, size_t *ret)
{
    uint32_t point, column = 1;
    if (!jr_diag_find_line(cursor, &at))
        return false;
    const char *line = at.source->text + cursor->offset;
    size_t byte = 0;
    for (; column < at.column && byte < cursor->size; column++)
        byte += jr_utf8_next(line + byte, cursor->size - byte, &point);
    *ret = cursor->offset + byte;
    return column == at.column;
}

/* Whether the text is already as the fix would make it; such a fix would be repeated for ever. */
static bool is_edit_empty(const struct jr_edit *edit)
{
    const struct jr_fix *fix = edit->diag->fix;
    size_t len = strlen(fix->text);
    return edit->to - edit->from == len &&
           memcmp(fix->span.source->text + edit->from, fix->text, len) == 0;
}

static bool find_bytes(struct jr_diag_cursor *cursor, struct jr_span span, size_t *ret_from,
                       size_t *ret_to)
{
    if (!find_byte(cursor, span, ret_from))
        return false;
    span.line = span.end_line;
    span.column = span.end_column;
    struct jr_diag_cursor end = *cursor;
    return find_byte(&end, span, ret_to) && *ret_to >= *ret_from;
}

static bool find_edit(struct jr_edit *edit, struct jr_diag_cursor *cursor)
{
    return find_bytes(cursor, edit->diag->fix->span, &edit->from, &edit->to) &&
           !is_edit_empty(edit);
}

bool jr_fix_find(const struct jr_span *span, size_t *ret_from, size_t *ret_to)
{
    struct jr_diag_cursor cursor = {0};
    return find_bytes(&cursor, *span, ret_from, ret_to);
}

/* By position, then by the findings' own order. */
static int compare_edits(const void *left, const void *right)
{
    const struct jr_diag *a = ((const struct jr_edit *)left)->diag;
    const struct jr_diag *b = ((const struct jr_edit *)right)->diag;
    const struct jr_span *at = &a->fix->span, *bt = &b->fix->span;
    if (at->line != bt->line)
        return at->line < bt->line ? -1 : 1;
    if (at->column != bt->column)
        return at->column < bt->column ? -1 : 1;
    return a < b ? -1 : 1;
}

/* Whether an edit may follow the previous one: the order of two edits at one place would be
 * undefined. */
static bool may_edit_follow(const struct jr_edit *before, const struct jr_edit *edit)
{
    return edit->from >= before->to && edit->from != before->from;
}

/* The fixes that lie in the source, in the order of the text. */
static size_t collect_edits(struct jr_edit *edits, const struct jr_source *source,
                            const struct jr_diags *diags)
{
    size_t count = 0;
    for (size_t i = 0; i < diags->count; i++) {
        const struct jr_fix *fix = diags->items[i].fix;
        if (fix != NULL && fix->text != NULL && fix->span.source == source)
            edits[count++].diag = &diags->items[i];
    }
    qsort(edits, count, sizeof *edits, compare_edits);
    return count;
}

struct jr_edit *jr_fix_choose(struct jr_arena *arena, const struct jr_source *source,
                              const struct jr_diags *diags, size_t *ret_count)
{
    struct jr_edit *edits = jr_arena_array(arena, diags->count, sizeof *edits);
    struct jr_diag_cursor cursor = {0};
    size_t count = edits == NULL ? 0 : collect_edits(edits, source, diags);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct jr_edit edit = edits[i];
        if (find_edit(&edit, &cursor) && (kept == 0 || may_edit_follow(&edits[kept - 1], &edit)))
            edits[kept++] = edit;
    }
    *ret_count = kept;
    return kept == 0 ? NULL : edits;
}

void jr_fix_apply(struct jr_buf *out, const struct jr_source *source, const struct jr_edit *edits,
                  size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        jr_buf_add(out, source->text + at, edits[i].from - at);
        jr_buf_str(out, edits[i].diag->fix->text);
        at = edits[i].to;
    }
    jr_buf_add(out, source->text + at, source->len - at);
}

/* "'lr' -> 'rate'"; where either has such a quote itself, "`'4'` -> `4`". */
void jr_fix_tell(struct jr_buf *out, const struct jr_edit *edit)
{
    const struct jr_fix *fix = edit->diag->fix;
    const char *old = fix->span.source->text + edit->from;
    size_t len = edit->to - edit->from;
    bool quoted = memchr(old, '\'', len) != NULL || strchr(fix->text, '\'') != NULL;
    char mark = quoted ? '`' : '\'';
    jr_diag_place(out, &fix->span);
    jr_buf_printf(out, "fixed: %c", mark);
    jr_buf_escaped(out, old, len);
    jr_buf_printf(out, "%c -> %c", mark, mark);
    jr_buf_safe(out, fix->text);
    jr_buf_printf(out, "%c [%s]\n", mark, edit->diag->code);
}
