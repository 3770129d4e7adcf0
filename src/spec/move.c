#include "spec/move.h"

#include <string.h>

#include "diag/fix.h"
#include "spec/layout.h"
#include "spec/lint_suggest.h"

#include "base/banned.h"

enum { MOST_PIECES = 3 };

/* Bytes [from, to) of the source become `text`. */
struct piece {
    size_t from, to;
    const char *text;
};

struct move {
    struct jr_lint *lint;
    struct jr_layout layout;
    const char *field, *member;       /* where to */
    struct piece pieces[MOST_PIECES]; /* in the order of the text */
    size_t count;
};

/* A text in the arena; "" if memory runs out, which the arena then remembers.
 */
static const char *keep_text(struct move *move, struct jr_buf *buf)
{
    const char *text = NULL;
    if (buf->failed)
        move->lint->arena->failed = true;
    else
        text = jr_arena_strndup(move->lint->arena, buf->data, buf->len);
    jr_buf_release(buf);
    return text == NULL ? "" : text;
}

/* Put a piece in its place; of two at one place the first one stays first. */
static void add_piece(struct move *move, size_t from, size_t to, const char *text)
{
    size_t at = move->count++;
    for (; at > 0 && move->pieces[at - 1].from > from; at--)
        move->pieces[at] = move->pieces[at - 1];
    move->pieces[at] = (struct piece){from, to, text};
}

/* The quote that a key has, or "". */
static const char *key_quote(const struct move *move, size_t key)
{
    char byte = move->layout.source->text[key];
    return byte == '"' ? "\"" : byte == '\'' ? "'" : "";
}

static void add_source_text(struct move *move, struct jr_buf *out, size_t from, size_t to)
{
    jr_buf_add(out, move->layout.source->text + from, to - from);
}

/* Whether a scalar reads the same in braces. */
static bool is_value_for_braces(const struct jr_node *value)
{
    return !value->plain || (value->filled == NULL && (jr_lint_is_bare(value->text) ||
                                                       jr_scalar_type(value) == JR_SCALAR_INT));
}

/* Remove the pair from braces, up to the next pair, with its comma. */
static bool remove_pair_to_next(struct move *move, const struct jr_pair *behind)
{
    size_t end = move->layout.own.value_end, key, key_end;
    if (!jr_fix_find(&behind->key->span, &key, &key_end) ||
        end + strspn(move->layout.source->text + end, ", \t\r\n") < key)
        return false;
    add_piece(move, move->layout.own.key, key, "");
    return true;
}

/* Take it out with the comma that ends at `end`, if that is one of the braces and not of a
 * comment. */
static bool remove_pair_from_comma(struct move *move, size_t end)
{
    const char *text = move->layout.source->text;
    if (end == 0 || text[end - 1] != ',')
        return false;
    for (size_t at = end; at > 0 && strchr("\r\n", text[at - 1]) == NULL; at--)
        if (text[at - 1] == '#')
            return false;
    add_piece(move, end - 1, move->layout.own.value_end, "");
    return true;
}

/* Take the pair out of braces; the others keep their lines. */
static bool remove_flow_pair(struct move *move)
{
    const struct jr_pair *behind = jr_layout_beside(&move->layout, true);
    const char *text = move->layout.source->text;
    size_t from = move->layout.own.key;
    bool begins = false; /* a line */
    for (; from > 0 && strchr(" \t\r\n", text[from - 1]) != NULL; from--)
        begins |= strchr("\r\n", text[from - 1]) != NULL;
    bool ends = behind == NULL || behind->key->span.line > move->layout.key->span.line;
    if (ends && (behind == NULL || !begins) && remove_pair_from_comma(move, from))
        return true;
    return behind != NULL && remove_pair_to_next(move, behind);
}

/* Take the pair's line out; a comment on it stays. */
static void remove_pair_line(struct move *move)
{
    const struct jr_spot *own = &move->layout.own;
    const char *text = move->layout.source->text;
    size_t to = own->value_end;
    while (to < own->end && strchr(" \t", text[to]) != NULL)
        to++;
    if (to < own->end)
        add_piece(move, own->key, to, "");
    else
        add_piece(move, own->start, own->next, "");
}

static void add_blanks(struct jr_buf *out, size_t count)
{
    while (count-- > 0)
        jr_buf_char(out, ' ');
}

/* The pair's line with `indent` and its new name, below its comments. */
static void write_pair_line(struct move *move, struct jr_buf *out, size_t indent)
{
    const struct jr_spot *own = &move->layout.own;
    const char *text = move->layout.source->text;
    size_t at = jr_layout_comments(&move->layout);
    while (at < own->start) {
        size_t from = at + strspn(text + at, " ");
        while (strchr("\r\n", text[at]) == NULL)
            at++;
        at += strspn(text + at, "\r\n");
        add_blanks(out, indent);
        add_source_text(move, out, from, at);
    }
    add_blanks(out, indent);
    jr_buf_str(out, move->member);
    add_source_text(move, out, own->key_end, own->end);
}

/* Move the pair's line after that of another one. */
static void move_pair_line(struct move *move, const struct jr_spot *last, size_t indent)
{
    struct jr_buf out = JR_BUF_INIT;
    bool closed = last->next > last->end;
    if (!closed)
        jr_buf_str(&out, jr_layout_break(&move->layout));
    write_pair_line(move, &out, indent);
    if (closed)
        jr_buf_str(&out, jr_layout_break(&move->layout));
    add_piece(move, last->next, last->next, keep_text(move, &out));
    add_piece(move, jr_layout_comments(&move->layout), move->layout.own.next, "");
}

/* Into a mapping that is there. */
static bool join_mapping(struct move *move, const struct jr_node *mapping)
{
    const struct jr_pair *last = jr_layout_last(&move->layout, mapping), *pair;
    struct jr_spot at;
    if (last == NULL || !jr_layout_pair(&move->layout, last, mapping->flow, &at))
        return false;
    if (!mapping->flow) {
        move_pair_line(move, &at, at.key - at.start);
        return true;
    }
    pair = jr_doc_pair(move->layout.root, move->layout.key->text);
    if (!is_value_for_braces(pair->value))
        return false;
    struct jr_buf out = JR_BUF_INIT;
    const char *quote = key_quote(move, at.key);
    jr_buf_printf(&out, ", %s%s%s: ", quote, move->member, quote);
    add_source_text(move, &out, move->layout.own.value, move->layout.own.value_end);
    add_piece(move, at.value_end, at.value_end, keep_text(move, &out));
    if (move->layout.root->flow)
        return remove_flow_pair(move);
    remove_pair_line(move);
    return true;
}

/* "FIELD:", a new line and the indented member, in the place of a key. */
static const char *write_mapping_head(struct move *move, const struct jr_spot *at,
                                      const char *member)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_buf_printf(&out, "%s:%s", move->field, jr_layout_break(&move->layout));
    add_blanks(&out, at->key - at->start + jr_layout_step(&move->layout));
    jr_buf_str(&out, member);
    return keep_text(move, &out);
}

/* Put it beside the one word of a short form, which becomes a mapping. */
static bool join_word(struct move *move, const struct jr_pair *pair, const char *shorthand)
{
    bool flow = move->layout.root->flow;
    struct jr_spot at;
    if (!jr_layout_pair(&move->layout, pair, flow, &at))
        return false;
    if (!flow) {
        add_piece(move, at.key, at.key_end, write_mapping_head(move, &at, shorthand));
        move_pair_line(move, &at, at.key - at.start + jr_layout_step(&move->layout));
        return true;
    }
    struct jr_buf out = JR_BUF_INIT;
    const char *quote = key_quote(move, move->layout.own.key);
    jr_buf_printf(&out, "{%s%s%s: ", quote, shorthand, quote);
    add_source_text(move, &out, at.value, at.value_end);
    jr_buf_printf(&out, ", %s%s%s: ", quote, move->member, quote);
    add_source_text(move, &out, move->layout.own.value, move->layout.own.value_end);
    jr_buf_char(&out, '}');
    add_piece(move, at.value, at.value_end, keep_text(move, &out));
    return remove_flow_pair(move);
}

/* Put it into a mapping that begins at the pair. */
static void make_mapping(struct move *move)
{
    const struct jr_spot *own = &move->layout.own;
    if (!move->layout.root->flow) {
        add_piece(move, own->key, own->key_end, write_mapping_head(move, own, move->member));
        return;
    }
    struct jr_buf out = JR_BUF_INIT;
    const char *quote = key_quote(move, own->key);
    jr_buf_printf(&out, "%s%s%s: {%s%s%s: ", quote, move->field, quote, quote, move->member, quote);
    add_source_text(move, &out, own->value, own->value_end);
    jr_buf_char(&out, '}');
    add_piece(move, own->key, own->value_end, keep_text(move, &out));
}

/* How often the source itself has FIELD, and where. */
static size_t count_field(const struct move *move, const struct jr_pair **ret)
{
    size_t count = 0;
    for (size_t i = 0; i < move->layout.root->count; i++) {
        const struct jr_pair *pair = &move->layout.root->pairs[i];
        if (pair->key->span.source != move->layout.source ||
            strcmp(pair->key->text, move->field) != 0)
            continue;
        *ret = pair;
        count++;
    }
    return count;
}

static bool make_pieces(struct move *move)
{
    const struct jr_pair *pair = NULL;
    const char *shorthand = jr_field_find(move->field)->type->shorthand;
    size_t count = count_field(move, &pair);
    if (count == 0) {
        make_mapping(move);
        return true;
    }
    const struct jr_node *value = pair->value;
    if (count > 1 || value->shared || value->span.source != move->layout.source)
        return false;
    if (value->kind == JR_NODE_MAPPING)
        return join_mapping(move, value);
    return value->kind == JR_NODE_SCALAR && shorthand != NULL &&
           strcmp(shorthand, move->member) != 0 && join_word(move, pair, shorthand);
}

/* Make one fix of the pieces and the text between them, so that a reader of it makes all of it or
 * nothing. */
static void give_move_fix(struct move *move, struct jr_diag *diag, const char *field)
{
    struct jr_buf out = JR_BUF_INIT;
    size_t from = move->pieces[0].from, at = from;
    for (size_t i = 0; i < move->count; i++) {
        const struct piece *piece = &move->pieces[i];
        if (piece->from < at) {
            jr_buf_release(&out);
            return;
        }
        add_source_text(move, &out, at, piece->from);
        jr_buf_str(&out, piece->text);
        at = piece->to;
    }
    struct jr_fix fix = {.span = jr_fix_span(move->layout.source, from, at),
                         .text = keep_text(move, &out),
                         .field = field};
    if (!move->lint->arena->failed)
        jr_diag_fix_field(move->lint->diags, diag, &fix);
}

/* Whether the pair is one that can be moved: at the top of the spec. */
static bool start_move(struct move *move, struct jr_lint *lint, const struct jr_unknown *unknown)
{
    move->lint = lint;
    return unknown->at->up == NULL && jr_layout_find(&move->layout, unknown->mapping, unknown->key);
}

void jr_move_pair(struct jr_lint *lint, struct jr_diag *diag, const struct jr_unknown *unknown,
                  const char *path)
{
    struct move move = {0};
    const char *dot = strchr(path, '.');
    if (!start_move(&move, lint, unknown))
        return;
    move.field = jr_arena_strndup(lint->arena, path, (size_t)(dot - path));
    move.member = dot + 1;
    if (move.field != NULL && make_pieces(&move))
        give_move_fix(&move, diag, path);
}

void jr_move_out(struct jr_lint *lint, struct jr_diag *diag, const struct jr_unknown *unknown)
{
    struct move move = {0};
    bool made = true;
    if (!start_move(&move, lint, unknown) || (jr_layout_beside(&move.layout, true) == NULL &&
                                              jr_layout_beside(&move.layout, false) == NULL))
        return;
    if (move.layout.root->flow)
        made = remove_flow_pair(&move);
    else
        remove_pair_line(&move);
    if (made)
        give_move_fix(&move, diag, "");
}
