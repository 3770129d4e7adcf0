#include "doc/interpolate.h"

#include <stdarg.h>
#include <string.h>

#include "doc/interpolate_help.h"
#include "doc/interpolate_path.h"
#include "doc/interpolator.h"
#include "doc/node.h"

#include "base/banned.h"

/* The number of mistakes of one scalar that are reported, so that a scalar full
 * of mistakes does not take quadratic time; and the number that get a position:
 * see diag.c. */
enum { MOST_TOLD = 8, MOST_PLACED = 1000 };

static void fill_tree(struct jr_interpolator *filler, struct jr_node *node,
                      const struct jr_shape *shape, const struct jr_node_step *at);

struct jr_diag *jr_interpolate_error(struct jr_interpolator *filler, struct jr_filling *filling,
                                     enum jr_diag_code code, const struct jr_interpolation *at,
                                     const char *format, ...)
{
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_span span = filling->node->span;
    if (filler->diags->errors <= MOST_PLACED)
        span = jr_point_part(filling->node, at->start, at->end);
    if (filling->up == NULL)
        jr_point_path(&path, filling->at);
    else
        jr_point_text(&path, filling->path, strlen(filling->path));
    va_list args;
    va_start(args, format);
    const char *message = jr_arena_vprintf(filler->arena, format, args);
    va_end(args);
    filling->unknown = true;
    filling->mistakes++;
    return jr_diags_error(filler->diags, code, span, path.data, "%s",
                          message == NULL ? "out of memory" : message);
}

void jr_interpolate_add(struct jr_interpolator *filler, struct jr_filling *filling,
                        const char *text, size_t len)
{
    const struct jr_interpolation all = {JR_INTERPOLATION_TEXT, 0, filling->node->len};
    filler->spent += len;
    if (filler->spent <= JR_FILL_MAX_BYTES) {
        if (filling->keep)
            jr_interpolation_escape(&filling->text, text, len);
        else
            jr_buf_add(&filling->text, text, len);
        return;
    }
    filling->unknown = true;
    if (!filler->stopped)
        (void)jr_interpolate_error(filler, filling, JR_CODE_REFERENCES_TOO_LARGE, &all,
                                   "all ${...} together insert more than 1 MiB");
    filler->stopped = true;
}

void jr_interpolate_part(struct jr_interpolator *filler, struct jr_filling *filling, size_t from,
                         size_t to)
{
    const char *text = filling->node->text;
    struct jr_interpolation part;
    while (!filler->stopped && filling->mistakes < MOST_TOLD &&
           jr_interpolation_next(text, to, &from, &part)) {
        filling->parts++;
        if (part.kind == JR_INTERPOLATION_TEXT) {
            jr_interpolate_add(filler, filling, text + part.start, part.end - part.start);
        } else if (part.kind == JR_INTERPOLATION_REFERENCE) {
            jr_interpolate_reference(filler, filling, part.start, part.end);
        } else {
            const char *open = text + part.start;
            part.end = part.start + 2;
            jr_reference_help_open(filler,
                                   jr_interpolate_error(filler, filling, JR_CODE_WRONG_REFERENCE,
                                                        &part, "'${' is not closed"),
                                   open);
        }
    }
}

/* The scalar's text once more, with its secrets as references. */
static const char *text_with_references(struct jr_interpolator *filler,
                                        const struct jr_filling *filling)
{
    struct jr_filling again = *filling;
    again.keep = true;
    again.text = JR_BUF_INIT;
    jr_interpolate_part(filler, &again, 0, filling->node->len);
    const char *text = jr_buf_keep(&again.text, filler->arena);
    jr_buf_release(&again.text);
    return text;
}

static void finish_filling(struct jr_interpolator *filler, struct jr_filling *filling)
{
    struct jr_node *node = filling->node;
    struct jr_filled *filled = jr_arena_alloc(filler->arena, sizeof *filled);
    struct jr_buf *text = &filling->text;
    if (filled == NULL || text->failed) {
        filler->arena->failed = true;
        return;
    }
    filled->unknown = filling->unknown || filler->stopped;
    filled->written = node->text;
    if (!filled->unknown && filling->secret)
        filled->kept = text_with_references(filler, filling);
    if (!filled->unknown && filling->parts == 1)
        filled->from = filling->from;
    if (filled->from != NULL && filled->from->meant)
        node->meant = true;
    if (!filled->unknown)
        jr_node_rewrite(filler->arena, node, text->data, text->len);
    node->filled = filled;
}

void jr_interpolate_scalar(struct jr_interpolator *filler, struct jr_filling *filling,
                           const struct jr_shape *shape)
{
    const struct jr_node *node = filling->node;
    if (node->filled != NULL || shape->literal || strstr(node->text, "${") == NULL)
        return;
    jr_interpolate_part(filler, filling, 0, node->len);
    finish_filling(filler, filling);
    jr_buf_release(&filling->text);
}

static void walk_items(struct jr_interpolator *filler, struct jr_node *node,
                       const struct jr_shape *shape, const struct jr_node_step *up)
{
    bool list = node->kind == JR_NODE_SEQUENCE;
    const struct jr_shapes *shapes = filler->fill->shapes;
    for (size_t i = 0; i < node->count; i++) {
        const char *key = list ? NULL : node->pairs[i].key->text;
        const struct jr_node_step at = {up, key, i};
        struct jr_shape child = shapes->child(shape, key);
        fill_tree(filler, list ? node->items[i] : node->pairs[i].value, &child, &at);
    }
}

static void fill_tree(struct jr_interpolator *filler, struct jr_node *node,
                      const struct jr_shape *shape, const struct jr_node_step *at)
{
    struct jr_shape own = jr_shape_of(filler->fill->shapes, shape, node);
    struct jr_filling filling = {.node = node, .at = at};
    if (own.own || filler->arena->failed)
        return;
    if (node->kind == JR_NODE_SCALAR)
        jr_interpolate_scalar(filler, &filling, &own);
    else
        walk_items(filler, node, &own, at);
}

void jr_interpolate_in(struct jr_doc *doc, const struct jr_interpolate *fill,
                       struct jr_diags *diags)
{
    struct jr_interpolator filler = {
        .fill = fill,
        .locator = {&doc->arena, fill->shapes, doc->root, NULL},
        .arena = &doc->arena,
        .diags = diags,
        .hidden = &doc->hidden,
        .hidden_names = &doc->hidden_names,
    };
    if (!doc->dollars)
        return;
    fill_tree(&filler, doc->root, &fill->shapes->root, NULL);
    jr_locator_release(&filler.locator);
}

static void undo_scalar(struct jr_arena *arena, struct jr_node *node)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *kept = node->filled == NULL ? NULL : node->filled->kept;
    bool unknown = node->filled != NULL && node->filled->unknown;
    if (unknown || (kept == NULL && strstr(node->text, "${") == NULL))
        return;
    if (kept != NULL)
        jr_buf_str(&text, kept);
    else
        jr_interpolation_escape(&text, node->text, node->len);
    jr_node_rewrite(arena, node, text.data, text.len);
    arena->failed |= text.failed;
}

static void undo_tree(struct jr_arena *arena, const struct jr_shapes *shapes, struct jr_node *node,
                      const struct jr_shape *shape)
{
    struct jr_shape own = jr_shape_of(shapes, shape, node);
    bool list = node->kind == JR_NODE_SEQUENCE;
    if (node->kind == JR_NODE_SCALAR && !own.literal && !own.own)
        undo_scalar(arena, node);
    for (size_t i = 0; node->kind != JR_NODE_SCALAR && i < node->count; i++) {
        const char *key = list ? NULL : node->pairs[i].key->text;
        struct jr_shape child = shapes->child(&own, key);
        undo_tree(arena, shapes, list ? node->items[i] : node->pairs[i].value, &child);
    }
}

void jr_interpolate_undo(struct jr_arena *arena, const struct jr_shapes *shapes,
                         struct jr_node *root)
{
    undo_tree(arena, shapes, root, &shapes->root);
}

/* Behind the brace that closes the reference at `at`; 0 where none does. */
static size_t find_close(const char *text, size_t len, size_t at)
{
    size_t open = 0;
    for (; at < len; at++) {
        if (text[at] == '$' && at + 1 < len && text[at + 1] == '{')
            open++;
        else if (text[at] == '}' && --open == 0)
            return at + 1;
    }
    return 0;
}

bool jr_interpolation_next(const char *text, size_t len, size_t *at, struct jr_interpolation *ret)
{
    size_t start = *at;
    if (start >= len)
        return false;
    const char *mark = memmem(text + start, len - start, "${", 2);
    size_t brace = mark == NULL ? len : (size_t)(mark - text) + 1, run = brace;
    while (run > start && text[run - 1] == '$')
        run--;
    size_t dollars = mark == NULL ? 0 : brace - run;
    size_t literal = mark == NULL ? len : run + dollars / 2;
    *ret = (struct jr_interpolation){JR_INTERPOLATION_TEXT, start, literal};
    *at = dollars % 2 == 0 ? brace : brace - 1;
    if (literal > start || dollars != 1)
        return true;
    size_t close = find_close(text, len, start);
    ret->kind = close == 0 ? JR_INTERPOLATION_OPEN : JR_INTERPOLATION_REFERENCE;
    ret->end = *at = close == 0 ? len : close;
    return true;
}

/* Double the dollars that the buffer ends with: those of a run before a brace or a reference. */
static void double_dollars(struct jr_buf *out)
{
    size_t run = 0;
    while (run < out->len && out->data[out->len - run - 1] == '$')
        run++;
    jr_buf_fill(out, '$', run);
}

void jr_interpolation_escape(struct jr_buf *out, const char *text, size_t len)
{
    const char *end = text + len;
    for (const char *brace; text < end; text = brace) {
        if (*text == '{')
            double_dollars(out);
        brace = memchr(text + 1, '{', (size_t)(end - text) - 1);
        brace = brace == NULL ? end : brace;
        jr_buf_add(out, text, (size_t)(brace - text));
    }
}

void jr_interpolation_refer(struct jr_buf *out, const char *text, size_t len)
{
    double_dollars(out);
    jr_buf_add(out, text, len);
}

void jr_interpolation_append(struct jr_buf *out, const char *text, size_t len)
{
    struct jr_interpolation part;
    for (size_t at = 0; jr_interpolation_next(text, len, &at, &part);) {
        size_t size = part.end - part.start;
        if (part.kind == JR_INTERPOLATION_TEXT)
            jr_interpolation_escape(out, text + part.start, size);
        else
            jr_interpolation_refer(out, text + part.start, size);
    }
}
