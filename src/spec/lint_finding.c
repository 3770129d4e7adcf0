#include "spec/lint_finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "spec/lint_suggest.h"
#include "spec/lint_text.h"

#include "base/banned.h"

enum { MOST_PLACED = 1000 }; /* findings beyond it are not kept: see diag.c */

/* A buffer's text in the arena; the buffer is released. */
static const char *keep_text(struct jr_lint *lint, struct jr_buf *buf)
{
    const char *text = jr_arena_strndup(lint->arena, buf->len > 0 ? buf->data : "", buf->len);
    jr_buf_release(buf);
    return text == NULL ? "" : text;
}

const char *jr_lint_path(struct jr_lint *lint, const struct jr_node_step *at)
{
    struct jr_buf buf = JR_BUF_INIT;
    if (at == NULL)
        return "the spec";
    jr_point_path(&buf, at);
    return keep_text(lint, &buf);
}

const char *jr_lint_quoted(struct jr_lint *lint, const char *text, size_t len)
{
    struct jr_buf buf = JR_BUF_INIT;
    jr_buf_char(&buf, '\'');
    jr_point_text(&buf, text, len);
    jr_buf_char(&buf, '\'');
    return keep_text(lint, &buf);
}

const char *jr_lint_source(const struct jr_node *node)
{
    return node->filled == NULL ? node->text : node->filled->written;
}

const char *jr_lint_said(struct jr_lint *lint, const struct jr_node *node)
{
    struct jr_buf buf = JR_BUF_INIT;
    const char *text = jr_lint_source(node);
    jr_point_text(&buf, text, strlen(text));
    return keep_text(lint, &buf);
}

const struct jr_node *jr_lint_origin(const struct jr_node *node)
{
    while (node->filled != NULL && node->filled->from != NULL)
        node = node->filled->from;
    return node;
}

void jr_lint_relate_origin(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node)
{
    const struct jr_node *from = jr_lint_origin(node);
    if (from != node)
        jr_diag_relate(lint->diags, diag, from->span, "the value is from here");
}

const char *jr_lint_shown(struct jr_lint *lint, const struct jr_node *node)
{
    if (node->kind == JR_NODE_SEQUENCE)
        return node->count == 0 ? "an empty list" : "a list";
    if (node->kind == JR_NODE_MAPPING)
        return "a mapping";
    const char *text = jr_lint_source(node);
    if (node->plain)
        return *text == '\0' ? "nothing" : jr_lint_quoted(lint, text, strlen(text));
    struct jr_buf buf = JR_BUF_INIT;
    jr_buf_str(&buf, "the string \"");
    jr_point_text(&buf, text, strlen(text));
    jr_buf_char(&buf, '"');
    return keep_text(lint, &buf);
}

struct jr_diag *jr_lint_error(struct jr_lint *lint, enum jr_diag_code code, struct jr_span span,
                              const struct jr_node_step *at, const char *format, ...)
{
    struct jr_buf buf = JR_BUF_INIT;
    char text[1024];
    va_list args;
    /* What memory was lacking for may look like a mistake. */
    if (lint->arena->failed)
        return &lint->diags->scratch;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    jr_point_path(&buf, at);
    struct jr_diag *diag = jr_diags_error(lint->diags, code, span, buf.data, "%s", text);
    jr_buf_release(&buf);
    return diag;
}

/* An empty scalar although the source has text there: the document's reader put it in place of a
 * node that it has reported. */
static bool is_left_empty(const struct jr_node *node)
{
    return node->kind == JR_NODE_SCALAR && node->plain && node->len == 0 && node->filled == NULL &&
           node->span.end_column > node->span.column;
}

/* "VALUE // comment" as it was meant; NULL for any other scalar. */
static const char *without_slashes(struct jr_lint *lint, const struct jr_node *node)
{
    const char *at = node->kind == JR_NODE_SCALAR && node->plain && node->filled == NULL
                         ? strstr(node->text, " // ")
                         : NULL;
    return at == NULL ? NULL
                      : jr_arena_printf(lint->arena, "%.*s  # %s", (int)(at - node->text),
                                        node->text, at + 4);
}

static bool is_printed(const char *text)
{
    while (*text != '\0' && (unsigned char)*text >= ' ')
        text++;
    return *text == '\0';
}

/* Whether a value has something in it that nobody sees. */
static bool help_with_unseen(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node)
{
    uint32_t point = 0;
    const char *seen = node->kind == JR_NODE_SCALAR && node->filled == NULL
                           ? jr_lint_seen(lint, node->text, &point)
                           : NULL;
    if (seen == NULL || !is_printed(seen))
        return false;
    jr_diag_help(lint->diags, diag, "an invisible character (U+%04X) is in it: write %s", point,
                 seen);
    if (node->plain)
        jr_lint_fix(lint, diag, node, seen);
    return true;
}

struct jr_diag *jr_lint_wrong(struct jr_lint *lint, const struct jr_spec_type *type,
                              const struct jr_node *node, const struct jr_node_step *at)
{
    if (is_left_empty(node))
        return &lint->diags->scratch;
    struct jr_buf wants = JR_BUF_INIT;
    jr_field_wants(&wants, type);
    const char *quote = at == NULL ? "" : "'";
    struct jr_diag *diag = jr_lint_error(lint, JR_CODE_WRONG_VALUE, node->span, at,
                                         "%s%s%s wants %s, not %s", quote, jr_lint_path(lint, at),
                                         quote, keep_text(lint, &wants), jr_lint_shown(lint, node));
    const char *meant = without_slashes(lint, node);
    if (meant != NULL) {
        jr_diag_help(lint->diags, diag, "a comment begins with '#': %s", meant);
        if (!node->flow)
            jr_lint_fix(lint, diag, node, meant);
        return &lint->diags->scratch;
    }
    if (help_with_unseen(lint, diag, node))
        return &lint->diags->scratch;
    const char *typed = jr_lint_typed(lint, node);
    if (typed != NULL) {
        jr_diag_help(lint->diags, diag, "these quotes are typographic: write %s", typed);
        jr_lint_fix(lint, diag, node, typed);
    }
    return diag;
}

struct jr_span jr_lint_part(const struct jr_lint *lint, const struct jr_node *node, size_t from,
                            size_t to)
{
    return lint->diags->errors > MOST_PLACED ? node->span : jr_point_part(node, from, to);
}

struct jr_node *jr_lint_scalar(struct jr_lint *lint, const struct jr_node *from, const char *text,
                               bool plain)
{
    if (text == from->text && plain == from->plain && from->filled == NULL)
        return (struct jr_node *)from;
    struct jr_node *node = jr_node_scalar(lint->arena, text, plain);
    if (node == NULL)
        return NULL;
    node->span = from->span;
    node->shared = from->shared || from->filled != NULL;
    node->filled = from->filled;
    node->under = from->under;
    node->meant = from->meant;
    return node;
}
