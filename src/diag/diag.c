#include "diag/diag.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "base/utf8.h"
#include "diag/internal.h"
#include "generated/diag_help.h" /* from docs/diagnostics */

#include "base/banned.h"

/* Findings beyond this many are only counted, because nobody would read them. */
enum { MOST_KEPT = 1000 };

void jr_diags_release(struct jr_diags *diags)
{
    jr_arena_release(&diags->arena);
    *diags = (struct jr_diags){.no_spec = diags->no_spec};
}

static size_t *count_of(struct jr_diags *diags, enum jr_severity severity)
{
    return severity == JR_SEVERITY_ERROR ? &diags->errors : &diags->warnings;
}

/* Count a finding and give it a slot; the scratch one when it is not kept. */
static struct jr_diag *add_slot(struct jr_diags *diags, enum jr_severity severity,
                                struct jr_span span)
{
    struct jr_diag *slot = NULL;
    ++*count_of(diags, severity);
    if (diags->count < MOST_KEPT)
        slot = jr_arena_push(&diags->arena, &diags->items, &diags->count, sizeof *slot);
    if (slot == NULL)
        slot = &diags->scratch;
    *slot = (struct jr_diag){.severity = severity, .span = span};
    return slot;
}

/* Without memory for what it says, a finding says that. */
static void check_slot(struct jr_diag *slot)
{
    if (slot->code != NULL && slot->message != NULL)
        return;
    slot->code = "JR0100"; /* JR_CODE_INTERNAL */
    slot->message = "out of memory";
}

__attribute__((format(printf, 6, 0))) static struct jr_diag *add_finding(
    struct jr_diags *diags, enum jr_severity severity, enum jr_diag_code code, struct jr_span span,
    const char *path, const char *format, va_list args)
{
    struct jr_diag *slot = add_slot(diags, severity, span);
    if (slot == &diags->scratch)
        return slot;
    slot->code = jr_arena_printf(&diags->arena, "JR%04u", code);
    slot->path = jr_arena_strdup(&diags->arena, path);
    slot->message = jr_arena_vprintf(&diags->arena, format, args);
    check_slot(slot);
    return slot;
}

struct jr_diag *jr_diags_error(struct jr_diags *diags, enum jr_diag_code code, struct jr_span span,
                               const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = add_finding(diags, JR_SEVERITY_ERROR, code, span, path, format, args);
    va_end(args);
    return diag;
}

struct jr_diag *jr_diags_warning(struct jr_diags *diags, enum jr_diag_code code,
                                 struct jr_span span, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = add_finding(diags, JR_SEVERITY_WARNING, code, span, path, format, args);
    va_end(args);
    return diag;
}

void jr_diags_drop_from(struct jr_diags *diags, size_t first)
{
    for (; diags->count > first; diags->count--)
        --*count_of(diags, diags->items[diags->count - 1].severity);
}

bool jr_diag_is(const struct jr_diag *diag, enum jr_diag_code code)
{
    const struct jr_code *row = diag->code == NULL ? NULL : jr_code_find(diag->code);
    return row != NULL && row->number == code;
}

/* The option by which a finding's reader states a field; NULL: it is written into the spec. */
static const char *option_of(const struct jr_diags *diags, const struct jr_diag *diag)
{
    const struct jr_source *source = diag->span.source;
    if (source != NULL && source->option)
        return strcmp(source->name, "--set") == 0 ? "--set" : "-s";
    return diags->no_spec ? "-s" : NULL;
}

void jr_diag_help(struct jr_diags *diags, struct jr_diag *diag, const char *format, ...)
{
    struct jr_buf words JR_BUF_CLEANUP = JR_BUF_INIT;
    va_list args;
    if (diag == &diags->scratch)
        return;
    jr_setting_words(&words, format, option_of(diags, diag));
    if (words.failed)
        return;
    va_start(args, format);
    diag->help = jr_arena_vprintf(&diags->arena, words.data == NULL ? "" : words.data, args);
    va_end(args);
}

void jr_diag_help_text(struct jr_diags *diags, struct jr_diag *diag, const char *text)
{
    struct jr_buf words JR_BUF_CLEANUP = JR_BUF_INIT;
    if (diag == &diags->scratch || text == NULL) /* no memory for it */
        return;
    jr_setting_words(&words, text, option_of(diags, diag));
    if (!words.failed)
        diag->help = jr_arena_strdup(&diags->arena, words.data == NULL ? "" : words.data);
}

static void add_related(struct jr_diags *diags, struct jr_diag *diag, const struct jr_related *what)
{
    if (diag == &diags->scratch)
        return;
    struct jr_related *related = jr_arena_alloc(&diags->arena, sizeof *related);
    const char *copy = jr_arena_strdup(&diags->arena, what->message);
    if (related == NULL || copy == NULL)
        return;
    *related = *what;
    related->message = copy;
    struct jr_related **end = &diag->related;
    while (*end != NULL)
        end = &(*end)->next;
    *end = related;
}

void jr_diag_relate(struct jr_diags *diags, struct jr_diag *diag, struct jr_span span,
                    const char *message)
{
    add_related(diags, diag, &(struct jr_related){.span = span, .message = message});
}

void jr_diag_relate_route(struct jr_diags *diags, struct jr_diag *diag, struct jr_span span,
                          const char *message)
{
    add_related(diags, diag, &(struct jr_related){.span = span, .message = message, .route = true});
}

void jr_diags_copy(struct jr_diags *diags, const struct jr_diag *from, const char *more)
{
    struct jr_arena *arena = &diags->arena;
    struct jr_diag *slot = add_slot(diags, from->severity, from->span);
    if (slot == &diags->scratch)
        return;
    slot->code = jr_arena_strdup(arena, from->code);
    slot->path = jr_arena_strdup(arena, from->path);
    slot->message = jr_arena_printf(arena, "%s%s", from->message, more);
    slot->help = jr_arena_strdup(arena, from->help);
    check_slot(slot);
    for (const struct jr_related *r = from->related; r != NULL; r = r->next)
        add_related(diags, slot, r);
    if (from->fix != NULL)
        jr_diag_fix(diags, slot, from->fix->span, from->fix->text);
}

void jr_diag_fix(struct jr_diags *diags, struct jr_diag *diag, struct jr_span span,
                 const char *text)
{
    if (diag == &diags->scratch)
        return;
    struct jr_fix *own = jr_arena_alloc(&diags->arena, sizeof *own);
    const char *copy = jr_arena_strdup(&diags->arena, text);
    if (own == NULL || copy == NULL)
        return;
    *own = (struct jr_fix){.span = span, .text = copy};
    diag->fix = own;
}

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b);
}

static int compare_diags(const struct jr_diag *a, const struct jr_diag *b)
{
    const struct jr_span *x = &a->span, *y = &b->span;
    int order = compare_texts(x->source == NULL ? NULL : x->source->name,
                              y->source == NULL ? NULL : y->source->name);
    if (order == 0)
        order = (x->line > y->line) - (x->line < y->line);
    if (order == 0)
        order = (x->column > y->column) - (x->column < y->column);
    return order == 0 ? compare_texts(a->code, b->code) : order;
}

/* By insertion: qsort is not stable, and there are at most MOST_KEPT. */
void jr_diags_sort_from(struct jr_diags *diags, size_t first)
{
    for (size_t i = first + 1; i < diags->count; i++) {
        struct jr_diag diag = diags->items[i];
        size_t at = i;
        for (; at > first && compare_diags(&diags->items[at - 1], &diag) > 0; at--)
            diags->items[at] = diags->items[at - 1];
        diags->items[at] = diag;
    }
}

static bool is_same_place(const struct jr_span *a, const struct jr_span *b)
{
    bool named = a->source != NULL && b->source != NULL;
    return named && a->line == b->line && a->column == b->column &&
           compare_texts(a->source->name, b->source->name) == 0;
}

static const struct jr_related *skip_route(const struct jr_related *related)
{
    while (related != NULL && related->route)
        related = related->next;
    return related;
}

/* Related positions by whichever route the file was come to. */
static bool is_same_diag(const struct jr_diag *a, const struct jr_diag *b)
{
    if (a->severity != b->severity || !is_same_place(&a->span, &b->span) ||
        compare_texts(a->code, b->code) != 0 || compare_texts(a->message, b->message) != 0)
        return false;
    const struct jr_related *x = skip_route(a->related), *y = skip_route(b->related);
    while (x != NULL && y != NULL && is_same_place(&x->span, &y->span)) {
        x = skip_route(x->next);
        y = skip_route(y->next);
    }
    return x == NULL && y == NULL;
}

size_t jr_diags_fold(struct jr_diags *diags, size_t first)
{
    size_t kept = first, count = diags->count;
    for (size_t i = first; i < count; i++) {
        const struct jr_diag *diag = &diags->items[i];
        size_t before = 0;
        while (before < first && !is_same_diag(&diags->items[before], diag))
            before++;
        if (before == first)
            diags->items[kept++] = *diag;
        else
            --*count_of(diags, diag->severity);
    }
    diags->count = kept;
    return count - kept;
}

void jr_diags_sort(struct jr_diags *diags)
{
    jr_diags_sort_from(diags, 0);
}

/* The size of a line break as YAML 1.1 knows them (CRLF, CR, LF, NEL, LS, PS), for so libyaml
 * counts; 0 if there is none. */
static size_t break_size(const char *text, size_t len)
{
    if (*text == '\r')
        return len > 1 && text[1] == '\n' ? 2 : 1;
    if (*text == '\n')
        return 1;
    if (len > 1 && memcmp(text, "\xc2\x85", 2) == 0)
        return 2;
    bool separator =
        len > 2 && memcmp(text, "\xe2\x80", 2) == 0 && ((unsigned char)text[2] & 0xfe) == 0xa8;
    return separator ? 3 : 0;
}

static size_t line_size(const char *text, size_t len)
{
    size_t size = 0;
    while (size < len && break_size(text + size, len - size) == 0)
        size++;
    return size;
}

bool jr_diag_find_line(struct jr_diag_cursor *cursor, const struct jr_span *span)
{
    const struct jr_source *source = span->source;
    if (source == NULL || source->text == NULL || span->line == 0)
        return false;
    struct jr_diag_cursor at = *cursor;
    if (at.source != source || at.line > span->line) {
        /* Columns do not count a byte order mark. */
        bool marked = source->len >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0;
        at = (struct jr_diag_cursor){.source = source, .line = 1, .offset = marked ? 3 : 0};
        at.size = line_size(source->text + at.offset, source->len - at.offset);
    }
    while (at.line < span->line && at.offset + at.size < source->len) {
        at.offset += at.size;
        at.offset += break_size(source->text + at.offset, source->len - at.offset);
        at.size = line_size(source->text + at.offset, source->len - at.offset);
        at.line++;
    }
    *cursor = at;
    return at.line == span->line;
}

const char *jr_diag_severity_word(enum jr_severity severity)
{
    return severity == JR_SEVERITY_ERROR ? "error" : "warning";
}

void jr_diag_place(struct jr_buf *out, const struct jr_span *span)
{
    if (span->source == NULL)
        return;
    jr_buf_safe(out, span->source->name);
    if (span->line != 0 && !span->source->option)
        jr_buf_printf(out, ":%u", span->line);
    if (span->line != 0)
        jr_buf_printf(out, ":%u", span->column);
    jr_buf_str(out, ": ");
}

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

struct jr_edit *jr_fix_choose(struct jr_arena *arena, const struct jr_source *source,
                              const struct jr_diags *diags, size_t *ret_count)
{
    struct jr_edit *edits = jr_arena_array(arena, diags->count, sizeof *edits);
    struct jr_diag_cursor cursor = {0};
    size_t count = 0, kept = 0;
    for (size_t i = 0; edits != NULL && i < diags->count; i++) {
        const struct jr_fix *fix = diags->items[i].fix;
        if (fix != NULL && fix->text != NULL && fix->span.source == source)
            edits[count++].diag = &diags->items[i];
    }
    if (count > 0)
        qsort(edits, count, sizeof *edits, compare_edits);
    for (size_t i = 0; i < count; i++) {
        struct jr_edit edit = edits[i];
        const struct jr_fix *fix = edit.diag->fix;
        size_t len = strlen(fix->text);
        if (!find_bytes(&cursor, fix->span, &edit.from, &edit.to))
            continue;
        /* A fix of what is as it would make it would be repeated for ever, and the order of two at
         * one place would be undefined. */
        bool empty =
            edit.to - edit.from == len && memcmp(source->text + edit.from, fix->text, len) == 0;
        if (!empty &&
            (kept == 0 || (edit.from >= edits[kept - 1].to && edit.from != edits[kept - 1].from)))
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

/* A row without a file has no such macro. */
#define ROW(name, number, title) {number, title, JR_HELP_##number},

/* A file without a row names no constant. */
#define ROW_NUMBER(name, number, title) ROW_##number = (number),
#define FILE_HAS_ROW(number)                                                                       \
    _Static_assert(ROW_##number > 0, "docs/diagnostics has a row for each");
enum { JR_CODES(ROW_NUMBER) };
JR_HELP_FILES(FILE_HAS_ROW)

const struct jr_code *jr_code_table(size_t *ret_count)
{
    static const struct jr_code codes[] = {JR_CODES(ROW)};
    *ret_count = sizeof codes / sizeof *codes;
    return codes;
}

const struct jr_code *jr_code_find(const char *code)
{
    size_t count;
    const struct jr_code *codes = jr_code_table(&count);
    uint32_t number;
    if (strncasecmp(code, "JR", 2) == 0)
        code += 2;
    if (strlen(code) != 4)
        return NULL;
    while (*code == '0')
        code++;
    if (!jr_num_u32(code, &number))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (codes[i].number == number)
            return &codes[i];
    return NULL;
}
