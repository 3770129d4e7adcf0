/* Reading a tree against the field table, and the findings. internal.h has the whole. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/regex.h"
#include "base/shell_words.h"
#include "diag/diag.h"
#include "doc/doc.h"
#include "spec/internal.h"
#include "spec/entry_arguments.h"
#include "spec/manual.h"
#include "spec/sbatch_options.h"

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

const char *jr_lint_replaced(struct jr_lint *lint, const struct jr_node *node, size_t from,
                             size_t to, const char *text)
{
    struct jr_buf typed = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf value = JR_BUF_INIT, whole = JR_BUF_INIT;
    const struct jr_node *origin = jr_lint_origin(node);
    const struct jr_span *span = &origin->span;
    const char *written = jr_lint_source(origin);
    size_t at, end, len = strlen(written);
    bool bare = to <= len && span->source != NULL && jr_fix_find(span, &at, &end) &&
                end - at == len && strncmp(span->source->text + at, written, len) == 0;
    bool braces = origin->flow && strpbrk(text, "{}") != NULL;
    bool quoted = bare && (braces || (from == 0 && *text == '%'));
    if (quoted)
        jr_buf_printf(&value, "%.*s%s%s", (int)from, written, text, written + to);
    if (quoted && !value.failed)
        jr_quote_double(&whole, value.data, value.len);
    else
        jr_buf_str(&whole, text);
    whole.failed |= value.failed;
    if (span->source == NULL || !span->source->option || whole.failed)
        return keep_text(lint, &whole);
    jr_shell_quote(&typed, whole.data);
    return keep_text(lint, &typed);
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

struct jr_diag *jr_lint_wrong(struct jr_lint *lint, const struct jr_spec_type *type,
                              const struct jr_node *node, const struct jr_node_step *at)
{
    /* An empty scalar although the source has text there: the document's reader put it in place of
     * a node that it has reported. */
    if (node->kind == JR_NODE_SCALAR && node->plain && node->len == 0 && node->filled == NULL &&
        node->span.end_column > node->span.column)
        return &lint->diags->scratch;
    struct jr_buf wants = JR_BUF_INIT;
    jr_field_wants(&wants, type);
    const char *quote = at == NULL ? "" : "'";
    struct jr_diag *diag = jr_lint_error(lint, JR_CODE_WRONG_VALUE, node->span, at,
                                         "%s%s%s wants %s, not %s", quote, jr_lint_path(lint, at),
                                         quote, keep_text(lint, &wants), jr_lint_shown(lint, node));
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
    node->flow = from->flow;
    return node;
}

static bool is_null_node(const struct jr_node *node)
{
    return node->kind == JR_NODE_SCALAR && jr_scalar_type(node) == JR_SCALAR_NULL;
}

static bool is_scalar_text(const struct jr_node *node, const char *text)
{
    return node->kind == JR_NODE_SCALAR && strcmp(node->text, text) == 0;
}

static struct jr_node *refuse_kind(struct jr_lint *lint, const struct jr_spec_type *type,
                                   const struct jr_node *node, const struct jr_node_step *at)
{
    jr_lint_suggest_kind(lint, jr_lint_wrong(lint, type, node, at), type, node, at);
    return NULL;
}

/* ???: the value has to come from outside. */
static struct jr_node *await_outside_value(struct jr_lint *lint, const struct jr_node *node,
                                           const struct jr_node_step *at)
{
    if (lint->validate && !lint->strict)
        return NULL;
    const char *path = jr_lint_path(lint, at);
    jr_diag_help(lint->diags,
                 jr_lint_error(lint, JR_CODE_VALUE_NOT_SUPPLIED, node->span, at,
                               "'%s' must be supplied from outside", path),
                 "--set %s=VALUE", path);
    return NULL;
}

bool jr_lint_is_removed(const struct jr_lint *lint, const struct jr_node *node)
{
    return lint->composed && is_null_node(node) && node->filled == NULL;
}

/* The value of a field; NULL when it is MISSING or wrong. */
static struct jr_node *read_field(struct jr_lint *lint, const struct jr_spec_field *field,
                                  const struct jr_node *node, const struct jr_node_step *at)
{
    bool missing =
        is_null_node(node) || is_scalar_text(node, "auto") || is_scalar_text(node, "???");
    if ((field->need == JR_NEED_RESOLVED && missing) || jr_lint_is_removed(lint, node))
        return NULL;
    if (is_scalar_text(node, "???"))
        return await_outside_value(lint, node, at);
    if (is_null_node(node) && node->filled == NULL)
        return refuse_kind(lint, field->type, node, at);
    return jr_lint_value(lint, field->type, node, at);
}

static void check_required(struct jr_lint *lint, const struct jr_spec_type *type,
                           const struct jr_node *node, const struct jr_node_step *up)
{
    const struct jr_spec_field *row = type->fields;
    for (; row->key != NULL && !lint->base; row++) {
        if (row->need != JR_NEED_REQUIRED)
            continue;
        const struct jr_node *value = jr_doc_get(node, row->key);
        if (value != NULL && !jr_lint_is_removed(lint, value))
            continue;
        const struct jr_node_step at = {.up = up, .key = row->key};
        struct jr_diag *diag = jr_lint_error(lint, JR_CODE_FIELD_REQUIRED, node->span, &at,
                                             "'%s' is required", jr_lint_path(lint, &at));
        /* how it looks: an example, or what it wants */
        JR_BUF_CLEANUP struct jr_buf wants = JR_BUF_INIT;
        const struct jr_field_note *note = jr_field_note(row);
        jr_field_wants(&wants, row->type);
        if (row->type->kind == JR_KIND_MAP && note != NULL && strchr(note->example, '\n') == NULL)
            jr_diag_help(lint->diags, diag, "for example: %s", note->example);
        else if (!wants.failed)
            jr_diag_help(lint->diags, diag, "%s: %s", row->key, wants.data);
    }
}

/* A bare value in the place of a mapping: that of its shorthand field. */
static struct jr_node *read_shorthand_field(struct jr_lint *lint, const struct jr_spec_type *type,
                                            const struct jr_node *node,
                                            const struct jr_node_step *at)
{
    const struct jr_spec_field *field = NULL;
    if (type->shorthand != NULL)
        field = jr_field_get(type->fields, type->shorthand);
    bool list = field != NULL && field->type->kind == JR_KIND_LIST;
    if (field == NULL || list != (node->kind == JR_NODE_SEQUENCE))
        return refuse_kind(lint, type, node, at);
    size_t sign = list ? 0 : strspn(node->text, "+-");
    if (field->type->kind == JR_KIND_INTEGER && (node->text[sign] < '0' || node->text[sign] > '9'))
        return refuse_kind(lint, type, node, at);
    struct jr_node *value = jr_lint_value(lint, field->type, node, at);
    if (value == NULL)
        return NULL;
    struct jr_node *out = jr_node_mapping(lint->arena);
    jr_node_add(lint->arena, out, jr_lint_scalar(lint, node, type->shorthand, false), value);
    return out;
}

static struct jr_node *read_map(struct jr_lint *lint, const struct jr_spec_type *type,
                                const struct jr_node *node, const struct jr_node_step *up)
{
    if (node->kind != JR_NODE_MAPPING)
        return read_shorthand_field(lint, type, node, up);
    struct jr_node *out = jr_node_mapping(lint->arena);
    if (out == NULL)
        return NULL;
    out->span = node->span;
    for (size_t i = 0; i < node->count; i++) {
        const struct jr_pair *pair = &node->pairs[i];
        const struct jr_node_step at = {.up = up, .key = pair->key->text};
        const struct jr_spec_field *field = jr_field_get(type->fields, at.key);
        if (jr_shapes_is_own(at.key))
            continue;
        if (field == NULL) {
            jr_lint_unknown(lint, type->fields, node, pair, &at);
            continue;
        }
        struct jr_node *value = read_field(lint, field, pair->value, &at);
        if (value != NULL && !field->type->gone)
            jr_node_add(lint->arena, out, pair->key, value);
    }
    check_required(lint, type, node, up);
    return out;
}

/* A scalar in the place of a list. */
static struct jr_node *read_lone(struct jr_lint *lint, const struct jr_spec_type *type,
                                 const struct jr_node *node, const struct jr_node_step *at)
{
    const struct jr_spec_word *row = type->words;
    for (; row != NULL && row->word != NULL; row++)
        if (strcmp(row->word, node->text) == 0)
            return jr_lint_scalar(lint, node, row->word, false);
    if (type->lone && strchr(node->text, ',') == NULL)
        return jr_lint_value(lint, type->item, node, at);
    return refuse_kind(lint, type, node, at);
}

static struct jr_node *read_list_items(struct jr_lint *lint, const struct jr_spec_type *type,
                                       const struct jr_node *node, const struct jr_node_step *up)
{
    if (node->kind == JR_NODE_SCALAR)
        return read_lone(lint, type, node, up);
    if (node->kind == JR_NODE_MAPPING || node->count < type->min)
        return refuse_kind(lint, type, node, up);
    struct jr_node *out = jr_node_sequence(lint->arena);
    if (out == NULL)
        return NULL;
    out->span = node->span;
    out->under = node->under;
    for (size_t i = 0; i < node->count; i++) {
        const struct jr_node_step at = {.up = up, .index = i};
        jr_node_append(lint->arena, out, jr_lint_value(lint, type->item, node->items[i], &at));
    }
    return out->count == node->count ? out : NULL;
}

/* Refuse a key of engine.slurm that is no long name, with the one that it means. */
static void refuse_sbatch_key(struct jr_lint *lint, const struct jr_node *key,
                              const struct jr_node_step *at)
{
    const char *said = jr_lint_quoted(lint, key->text, key->len);
    const char *meant = jr_sbatch_meant(key->text);
    const char *instead = jr_sbatch_decided(meant == NULL ? key->text : meant);
    struct jr_diag *diag;
    if (instead != NULL) {
        diag = jr_lint_error(lint, JR_CODE_WRONG_VALUE, key->span, at,
                             "the job itself decides %s of 'engine.slurm'", said);
        jr_diag_help(lint->diags, diag, "%s", instead);
        return;
    }
    diag =
        jr_lint_error(lint, JR_CODE_WRONG_VALUE, key->span, at,
                      "'engine.slurm' wants long options of sbatch, without dashes, not %s", said);
    if (meant == NULL) {
        jr_diag_help(lint->diags, diag, "their names are in: sbatch --help");
        return;
    }
    jr_diag_help(lint->diags, diag, "did you mean '%s'?", meant);
    jr_lint_fix_text(lint, diag, key, meant);
}

/* Refuse a key that does not match the pattern, with the signal's own name where it is a signal. */
static void refuse_key(struct jr_lint *lint, const struct jr_spec_type *type,
                       const struct jr_node *key, const struct jr_node_step *at)
{
    if (type == jr_field_find("engine.slurm")->type) {
        refuse_sbatch_key(lint, key, at);
        return;
    }
    struct jr_diag *diag = jr_lint_error(lint, JR_CODE_WRONG_VALUE, key->span, at,
                                         "'%s' wants %s, not %s", jr_lint_path(lint, at->up),
                                         type->names, jr_lint_quoted(lint, key->text, key->len));
    if (type != jr_field_find("signals")->type)
        return;
    const char *name = jr_lint_signal_name(lint, key->text);
    if (name == NULL)
        return;
    if (jr_lint_fits(lint, type, name, strlen(name)))
        jr_diag_help(lint->diags, diag, "did you mean %s?", name);
    else if (strcmp(name, "KILL") == 0 || strcmp(name, "STOP") == 0)
        jr_diag_help(lint->diags, diag, "no program can handle %s: leave it out", name);
}

/* The key of a pair in normal form; NULL after a complaint. */
static struct jr_node *read_key_name(struct jr_lint *lint, const struct jr_spec_type *type,
                                     struct jr_node *key, const struct jr_node_step *at)
{
    static const struct jr_spec_type ranks = {.kind = JR_KIND_RANKS,
                                              .wants = "ranks such as 0-3,8, all or none"};
    if (type->ranks)
        return jr_read_ranks(lint, &ranks, key, at);
    if (type->pattern != NULL && !jr_lint_fits(lint, type, key->text, key->len)) {
        refuse_key(lint, type, key, at);
        return NULL;
    }
    if (!type->env || (key->len > 0 && strchr(key->text, '=') == NULL))
        return key;
    struct jr_diag *diag = jr_lint_error(lint, JR_CODE_WRONG_VARIABLE_NAME, key->span, at,
                                         "%s is not the name of a variable",
                                         jr_lint_quoted(lint, key->text, key->len));
    size_t name = strcspn(key->text, "=");
    if (name > 0)
        jr_diag_help(lint->diags, diag, "the name ends before the '=': %.*s", (int)name, key->text);
    return NULL;
}

/* A variable of `env`: null unsets it, ??? wants it set outside. */
static struct jr_node *read_env_variable(struct jr_lint *lint, const struct jr_spec_type *type,
                                         const struct jr_node *node, const struct jr_node_step *at)
{
    if (node->filled == NULL && is_null_node(node))
        return jr_lint_scalar(lint, node, "null", true);
    if (node->filled != NULL || !is_scalar_text(node, "???"))
        return jr_lint_value(lint, type->item, node, at);
    if (lint->validate)
        (void)await_outside_value(lint, node, at);
    return jr_lint_scalar(lint, node, "???", false);
}

/* Refuse {A:1} among variables, which is a name without a value. */
static bool refuse_glued(struct jr_lint *lint, const struct jr_spec_type *type,
                         const struct jr_pair *pair, const struct jr_node_step *at)
{
    const char *key = pair->key->text, *colon = strchr(key, ':');
    if (!type->env || colon == NULL || colon == key || colon[1] == '\0' ||
        pair->value->kind != JR_NODE_SCALAR || !pair->value->plain || pair->value->len != 0)
        return false;
    struct jr_diag *diag = jr_lint_error(lint, JR_CODE_WRONG_VARIABLE_NAME, pair->key->span, at,
                                         "%s is not the name of a variable",
                                         jr_lint_quoted(lint, key, pair->key->len));
    jr_diag_help(lint->diags, diag, "a space is missing after the ':': %.*s: %s",
                 (int)(colon - key), key, colon + 1);
    return true;
}

/* A user's own name with its value. */
static void read_named(struct jr_lint *lint, const struct jr_spec_type *type,
                       const struct jr_pair *pair, struct jr_node *out,
                       const struct jr_node_step *up)
{
    const struct jr_node_step at = {.up = up, .key = pair->key->text};
    const struct jr_node *node = pair->value;
    struct jr_node *value = NULL;
    struct jr_node *key = NULL;
    if (!refuse_glued(lint, type, pair, &at))
        key = read_key_name(lint, type, pair->key, &at);
    if (key == NULL)
        return;
    if (type->env)
        value = read_env_variable(lint, type, node, &at);
    else if (type->outside && is_scalar_text(node, "???"))
        value = await_outside_value(lint, node, &at);
    else if (type->item->kind == JR_KIND_SCALAR || type->item->kind == JR_KIND_VALUE ||
             !jr_lint_is_removed(lint, node))
        value = jr_lint_value(lint, type->item, node, &at);
    jr_node_add(lint->arena, out, key, value);
}

static struct jr_node *read_names(struct jr_lint *lint, const struct jr_spec_type *type,
                                  const struct jr_node *node, const struct jr_node_step *at)
{
    if (node->kind != JR_NODE_MAPPING)
        return refuse_kind(lint, type, node, at);
    struct jr_node *out = jr_node_mapping(lint->arena);
    if (out == NULL)
        return NULL;
    out->span = node->span;
    for (size_t i = 0; i < node->count; i++)
        read_named(lint, type, &node->pairs[i], out, at);
    return out;
}

jr_reader *jr_lint_reader(enum jr_spec_kind kind)
{
    static jr_reader *const readers[JR_KIND_COUNT] = {
        [JR_KIND_INTEGER] = jr_read_integer,
        [JR_KIND_NUMBER] = jr_read_number,
        [JR_KIND_BOOLEAN] = jr_read_boolean,
        [JR_KIND_TEXT] = jr_read_text,
        [JR_KIND_PATH] = jr_read_path,
        [JR_KIND_WORD] = jr_read_word,
        [JR_KIND_DURATION] = jr_read_duration,
        [JR_KIND_RANKS] = jr_read_ranks,
        [JR_KIND_PATTERN] = jr_read_pattern,
        [JR_KIND_TRIGGER] = jr_read_trigger,
        [JR_KIND_SCALAR] = jr_read_scalar,
        [JR_KIND_LIST] = read_list_items,
        [JR_KIND_MAP] = read_map,
        [JR_KIND_NAMES] = read_names,
        [JR_KIND_STREAMS] = jr_read_streams,
        [JR_KIND_VALUE] = jr_read_value,
    };
    return readers[kind];
}

struct jr_node *jr_lint_value(struct jr_lint *lint, const struct jr_spec_type *type,
                              const struct jr_node *node, const struct jr_node_step *at)
{
    bool scalar = node->kind == JR_NODE_SCALAR;
    jr_reader *reader = jr_lint_reader(type->kind);
    if (!scalar && type->kind < JR_KIND_LIST)
        return refuse_kind(lint, type, node, at);
    if (node->filled != NULL)
        return jr_lint_filled(lint, type, node, at);
    struct jr_node *out = reader(lint, type, node, at);
    if (scalar && out != NULL && (type->kind < JR_KIND_LIST || type->kind == JR_KIND_VALUE))
        jr_lint_typography(lint, node, at);
    return out;
}

struct jr_node *jr_lint_spec(struct jr_lint *lint, const struct jr_node *root)
{
    lint->call = jr_call_is_one(root);
    return jr_lint_value(lint, jr_field_root(), root, NULL);
}

void jr_lint_release(struct jr_lint *lint)
{
    for (size_t i = 0; i < lint->compiled_count; i++)
        jr_regex_free(lint->compiled[i].regex);
}
