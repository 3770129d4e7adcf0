#include "diag/diag.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "diag/codes.h"
#include "generated/diag_help.h" /* from docs/diagnostics */

#include "base/banned.h"

/* Findings beyond this many are only counted, because nobody would read them.
 */
enum { MOST_KEPT = 1000 };

void jr_diags_release(struct jr_diags *diags)
{
    jr_arena_release(&diags->arena);
    *diags = (struct jr_diags){.no_spec = diags->no_spec};
}

/* Count a finding and give it a slot; the scratch one when it is not kept. */
static struct jr_diag *add_slot(struct jr_diags *diags, enum jr_severity severity)
{
    struct jr_diag *slot = NULL;
    if (severity == JR_SEVERITY_ERROR)
        diags->errors++;
    else
        diags->warnings++;
    if (diags->count < MOST_KEPT)
        slot = jr_arena_push(&diags->arena, &diags->items, &diags->count, sizeof *slot);
    if (slot != NULL)
        return slot;
    diags->scratch = (struct jr_diag){0};
    return &diags->scratch;
}

/* What jr_diags_error and _warning share. */
struct finding {
    enum jr_severity severity;
    enum jr_diag_code code;
    struct jr_span span;
    const char *path;
};

__attribute__((format(printf, 3, 0))) static struct jr_diag *add_finding(
    struct jr_diags *diags, const struct finding *finding, const char *format, va_list args)
{
    struct jr_arena *arena = &diags->arena;
    struct jr_diag *slot = add_slot(diags, finding->severity);
    slot->severity = finding->severity;
    slot->span = finding->span;
    if (slot == &diags->scratch)
        return slot;
    slot->code = jr_arena_printf(arena, "JR%04u", finding->code);
    slot->path = jr_arena_strdup(arena, finding->path);
    slot->message = jr_arena_vprintf(arena, format, args);
    if (slot->code == NULL || slot->message == NULL) {
        slot->code = "JR0100"; /* JR_CODE_INTERNAL, without memory */
        slot->message = "out of memory";
    }
    return slot;
}

struct jr_diag *jr_diags_error(struct jr_diags *diags, enum jr_diag_code code, struct jr_span span,
                               const char *path, const char *format, ...)
{
    struct finding finding = {JR_SEVERITY_ERROR, code, span, path};
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = add_finding(diags, &finding, format, args);
    va_end(args);
    return diag;
}

struct jr_diag *jr_diags_warning(struct jr_diags *diags, enum jr_diag_code code,
                                 struct jr_span span, const char *path, const char *format, ...)
{
    struct finding finding = {JR_SEVERITY_WARNING, code, span, path};
    va_list args;
    va_start(args, format);
    struct jr_diag *diag = add_finding(diags, &finding, format, args);
    va_end(args);
    return diag;
}

void jr_diags_drop_from(struct jr_diags *diags, size_t first)
{
    while (diags->count > first) {
        const struct jr_diag *last = &diags->items[--diags->count];
        if (last->severity == JR_SEVERITY_ERROR)
            diags->errors--;
        else
            diags->warnings--;
    }
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
    if (diag == &diags->scratch)
        return;
    struct jr_buf words JR_BUF_CLEANUP = JR_BUF_INIT;
    va_list args;
    jr_setting_words(&words, format, option_of(diags, diag));
    if (words.failed)
        return;
    va_start(args, format);
    diag->help = jr_arena_vprintf(&diags->arena, words.data == NULL ? "" : words.data, args);
    va_end(args);
}

void jr_diag_help_text(struct jr_diags *diags, struct jr_diag *diag, const char *text)
{
    if (diag == &diags->scratch || text == NULL) /* no memory for it */
        return;
    struct jr_buf words JR_BUF_CLEANUP = JR_BUF_INIT;
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
    struct jr_diag *slot = add_slot(diags, from->severity);
    slot->severity = from->severity;
    slot->span = from->span;
    if (slot == &diags->scratch)
        return;
    slot->code = jr_arena_strdup(arena, from->code);
    slot->path = jr_arena_strdup(arena, from->path);
    slot->message = jr_arena_printf(arena, "%s%s", from->message, more);
    slot->help = jr_arena_strdup(arena, from->help);
    if (slot->code == NULL || slot->message == NULL) {
        slot->code = "JR0100"; /* JR_CODE_INTERNAL, without memory */
        slot->message = "out of memory";
    }
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

static int compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b);
}

static const char *source_name(const struct jr_diag *diag)
{
    return diag->span.source == NULL ? NULL : diag->span.source->name;
}

static int compare_diags(const struct jr_diag *a, const struct jr_diag *b)
{
    int order = compare_texts(source_name(a), source_name(b));
    if (order == 0)
        order = compare_numbers(a->span.line, b->span.line);
    if (order == 0)
        order = compare_numbers(a->span.column, b->span.column);
    if (order == 0)
        order = compare_texts(a->code, b->code);
    return order;
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

/* By whichever route the file was come to. */
static bool is_related_alike(const struct jr_related *a, const struct jr_related *b)
{
    a = skip_route(a);
    b = skip_route(b);
    while (a != NULL && b != NULL && is_same_place(&a->span, &b->span)) {
        a = skip_route(a->next);
        b = skip_route(b->next);
    }
    return a == NULL && b == NULL;
}

static bool is_same_diag(const struct jr_diag *a, const struct jr_diag *b)
{
    return a->severity == b->severity && is_same_place(&a->span, &b->span) &&
           compare_texts(a->code, b->code) == 0 && compare_texts(a->message, b->message) == 0 &&
           is_related_alike(a->related, b->related);
}

static bool is_diag_repeated(const struct jr_diags *diags, size_t before,
                             const struct jr_diag *diag)
{
    size_t i = 0;
    while (i < before && !is_same_diag(&diags->items[i], diag))
        i++;
    return i < before;
}

size_t jr_diags_fold(struct jr_diags *diags, size_t first)
{
    size_t kept = first, count = diags->count;
    for (size_t i = first; i < count; i++) {
        const struct jr_diag *diag = &diags->items[i];
        if (!is_diag_repeated(diags, first, diag))
            diags->items[kept++] = *diag;
        else if (diag->severity == JR_SEVERITY_ERROR)
            diags->errors--;
        else
            diags->warnings--;
    }
    diags->count = kept;
    return count - kept;
}

void jr_diags_sort(struct jr_diags *diags)
{
    jr_diags_sort_from(diags, 0);
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
