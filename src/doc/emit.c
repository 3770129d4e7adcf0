/*
 * The emitter. A scalar that is a value of the core schema (null, boolean,
 * number) is written unchanged, so that its text survives; an empty null is
 * written as `null`. A string is quoted whenever a reader of YAML 1.2 or 1.1
 * could take it for anything else. (1e3 is a float to YAML 1.2 and to us,
 * and a string to PyYAML: there is no spelling that keeps its text for
 * both.) The header of this file is doc.h.
 */
#include "doc/doc.h"

#include <string.h>

#include "doc/scalar.h"

#include "base/banned.h"

enum {
    STEP = 2,
    WIDTH = 78,    /* columns of a sequence on one line */
    MAX_KEY = 1000 /* bytes; libyaml reads `key:` up to 1,024 characters */
};

static void emit_entries(struct jr_buf *out, const struct jr_node *node,
                         unsigned indent, bool started);

static void emit_scalar(struct jr_buf *out, const struct jr_node *node,
                        bool flow)
{
    enum jr_scalar_type type = jr_scalar_type(node);
    if (type == JR_SCALAR_NULL && node->len == 0)
        jr_buf_str(out, "null");
    else if (type != JR_SCALAR_STRING ||
             jr_quote_needless(node->text, node->len, flow))
        jr_buf_add(out, node->text, node->len);
    else
        jr_quote_double(out, node->text, node->len);
}

/* A key is text, whatever its type: an empty one is not null. */
static void emit_key(struct jr_buf *out, const struct jr_node *key,
                     unsigned indent)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (key->len == 0)
        jr_buf_str(&text, "\"\"");
    else
        emit_scalar(&text, key, false);
    if (text.failed) {
        out->failed = true;
        return;
    }
    bool explicit = text.len > MAX_KEY;
    if (explicit)
        jr_buf_str(out, "? ");
    jr_buf_add(out, text.data, text.len);
    if (explicit) {
        jr_buf_char(out, '\n');
        jr_buf_fill(out, ' ', indent);
    }
    jr_buf_char(out, ':');
}

/* The column, in code points, after the last output. */
static size_t output_column(const struct jr_buf *out)
{
    size_t points = 0;
    for (size_t at = out->len; at > 0 && out->data[at - 1] != '\n'; at--)
        points += (out->data[at - 1] & 0xc0) != 0x80;
    return points;
}

/* Write a sequence of scalars on the line, if it fits there. */
static bool emit_flow(struct jr_buf *out, const struct jr_node *node)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&text, " [");
    for (size_t i = 0; i < node->count; i++) {
        const struct jr_node *item = node->items[i];
        if (item->kind != JR_NODE_SCALAR || item->len > WIDTH ||
            memchr(item->text, '\n', item->len) != NULL ||
            text.len > (size_t)4 * WIDTH)
            return false;
        jr_buf_str(&text, i == 0 ? "" : ", ");
        emit_scalar(&text, item, true);
    }
    jr_buf_char(&text, ']');
    out->failed |= text.failed;
    if (text.failed || output_column(out) + output_column(&text) > WIDTH)
        return false;
    jr_buf_add(out, text.data, text.len);
    return true;
}

/* The text in literal style. The mark after | tells how it ends: with no line
 * break, with one, or with more. */
static void emit_literal(struct jr_buf *out, const struct jr_node *node,
                         unsigned indent)
{
    const char *text = node->text, *end = text + node->len;
    bool ended = end[-1] == '\n';
    jr_buf_str(out, !ended ? " |-" : end[-2] == '\n' ? " |+" : " |");
    while (text < end) {
        size_t size = strcspn(text, "\n");
        jr_buf_char(out, '\n');
        jr_buf_fill(out, ' ', size == 0 ? 0 : indent);
        jr_buf_add(out, text, size);
        text += size + 1;
    }
}

/* Write the value after `key:` or `-`, and the end of the line. A value of
 * several lines is indented by `indent`; after a `-`, its first entry stays on
 * the line. */
static void emit_value(struct jr_buf *out, const struct jr_node *node,
                       unsigned indent, bool behind_dash)
{
    if (node->kind == JR_NODE_SCALAR) {
        if (jr_quote_literal(node->text, node->len)) {
            emit_literal(out, node, indent);
        } else {
            jr_buf_char(out, ' ');
            emit_scalar(out, node, false);
        }
    } else if (node->kind == JR_NODE_MAPPING && node->count == 0) {
        jr_buf_str(out, " {}");
    } else if (node->kind == JR_NODE_MAPPING || !emit_flow(out, node)) {
        jr_buf_char(out, behind_dash ? ' ' : '\n');
        emit_entries(out, node, indent, behind_dash);
        return;
    }
    jr_buf_char(out, '\n');
}

/* The entries of a collection, one below the other. `started`: the first one
 * begins on the current line. */
static void emit_entries(struct jr_buf *out, const struct jr_node *node,
                         unsigned indent, bool started)
{
    for (size_t i = 0; i < node->count; i++) {
        if (i != 0 || !started)
            jr_buf_fill(out, ' ', indent);
        if (node->kind == JR_NODE_SEQUENCE) {
            jr_buf_char(out, '-');
            emit_value(out, node->items[i], indent + STEP, true);
        } else {
            emit_key(out, node->pairs[i].key, indent);
            emit_value(out, node->pairs[i].value, indent + STEP, false);
        }
    }
}

void jr_doc_emit(struct jr_buf *out, const struct jr_node *node)
{
    if (node->kind != JR_NODE_SCALAR && node->count != 0) {
        emit_entries(out, node, 0, false);
        return;
    }
    const char *empty = node->kind == JR_NODE_MAPPING ? "{}" : "[]";
    if (node->kind == JR_NODE_SCALAR)
        emit_scalar(out, node, false);
    else
        jr_buf_str(out, empty);
    jr_buf_char(out, '\n');
}

static void emit_inline(struct jr_buf *out, const struct jr_node *node,
                        bool flow)
{
    if (node->kind == JR_NODE_SCALAR) {
        emit_scalar(out, node, flow);
        return;
    }
    bool mapping = node->kind == JR_NODE_MAPPING;
    jr_buf_char(out, mapping ? '{' : '[');
    for (size_t i = 0; i < node->count; i++) {
        jr_buf_str(out, i == 0 ? "" : ", ");
        if (mapping) {
            emit_scalar(out, node->pairs[i].key, true);
            jr_buf_str(out, ": ");
        }
        emit_inline(out, mapping ? node->pairs[i].value : node->items[i], true);
    }
    jr_buf_char(out, mapping ? '}' : ']');
}

void jr_doc_emit_line(struct jr_buf *out, const struct jr_node *node)
{
    emit_inline(out, node, false);
}
