/*
 * The reader of redirects and tee: which streams of which local ranks.
 *
 *   value    := 0 | none | 1 | out | 2 | err | 3 | all
 *   string   := value | item { "," item }      item := range ":" value
 *   mapping  := { set: value ... }
 *   range    := N | A-B | A-B/STEP             set  := range { "," range }
 *
 * Normal form: a word for all ranks, or a mapping of canonical sets to words. internal.h has the
 * prototype.
 */
#include <stdlib.h>
#include <string.h>

#include <jobrun/types.h>

#include "spec/internal.h"

#include "base/banned.h"

/* No node has more ranks than this. */
#define MOST_RANKS (1u << 20)

/* At most this many mistakes of one value are reported. */
enum { MOST_TOLD = 8 };

struct reading {
    struct jr_lint *lint;
    const struct jr_node_step *at;
    struct jr_node *out;
    unsigned char *seen; /* a bit per local rank that has a rule... */
    size_t seen_size;    /* ...in so many bytes: those beyond have none */
    int bad;
};

/* One rule as it is written: "0-3" and "all", with the position of each. */
struct rule {
    const char *ranks, *value;
    const char *source; /* of the value, for messages */
    struct jr_span ranks_span, value_span;
    const struct jr_node *node; /* the scalar that has the value in it */
};

#define STREAM(name, word, help) word,
static const char *const words[] = {JR_STREAMS(STREAM) NULL};

static const char *stream_word(const char *text)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        const char digit[] = {(char)('0' + i), '\0'};
        if (strcmp(text, words[i]) == 0 || strcmp(text, digit) == 0)
            return words[i];
    }
    return NULL;
}

static struct jr_diag *report_redirect(struct reading *reading, struct jr_span span,
                                       const char *wants, const char *found)
{
    struct jr_lint *lint = reading->lint;
    reading->bad++;
    return jr_lint_error(lint, JR_CODE_WRONG_STREAM_RULE, span, reading->at,
                         "'%s' wants %s, not %s", jr_lint_path(lint, reading->at), wants, found);
}

static const char *quoted_text(const struct reading *reading, const char *text)
{
    return jr_lint_quoted(reading->lint, text, strlen(text));
}

/* Room for the bits of ranks 0 .. last: no more than a spec states, which is little as a rule. */
static bool make_seen_room(struct reading *reading, uint32_t last)
{
    size_t old = reading->seen_size, size = last / 8 + 1;
    if (size <= old)
        return true;
    if (size < 2 * old)
        size = 2 * old;
    unsigned char *seen = realloc(reading->seen, size);
    if (seen == NULL) {
        reading->lint->arena->failed = true;
        return false;
    }
    memset(seen + old, 0, size - old);
    reading->seen = seen;
    reading->seen_size = size;
    return true;
}

/* Mark the ranks of a rule; complain about one that has a rule already. */
static bool claim_rule_ranks(struct reading *reading, const struct rule *rule,
                             const struct jr_range *range)
{
    struct jr_lint *lint = reading->lint;
    if (range->last >= MOST_RANKS) {
        reading->bad++;
        (void)jr_lint_error(lint, JR_CODE_WRONG_STREAM_RULE, rule->ranks_span, reading->at,
                            "no node has a local rank %u", range->last);
        return false;
    }
    if (!make_seen_room(reading, range->last))
        return false;
    for (uint64_t at = range->first; at <= range->last; at += range->step) {
        uint32_t rank = (uint32_t)at;
        unsigned char bit = (unsigned char)(1u << rank % 8);
        if ((reading->seen[rank / 8] & bit) != 0) {
            reading->bad++;
            (void)jr_lint_error(lint, JR_CODE_STREAM_RULE_TWICE, rule->ranks_span, reading->at,
                                "'%s' states local rank %u twice", jr_lint_path(lint, reading->at),
                                rank);
            return false;
        }
        reading->seen[rank / 8] |= bit;
    }
    return true;
}

/* Say which streams may have been meant. In a scalar with several rules only the value is
 * replaced. */
static void suggest_streams(const struct reading *reading, struct jr_diag *diag,
                            const struct rule *rule)
{
    struct jr_lint *lint = reading->lint;
    const struct jr_node *node = rule->node;
    const struct jr_span *span = &rule->value_span;
    bool sure, own = node->filled == NULL && !node->shared;
    if (rule->value == node->text) {
        jr_lint_suggest(lint, diag, node, words);
        return;
    }
    const char *near = jr_lint_near_word(rule->value, words, &sure);
    if (near == NULL || !own)
        return;
    jr_diag_help(lint->diags, diag, "did you mean '%s'?", near);
    if (sure && span->line == span->end_line &&
        span->end_column - span->column == strlen(rule->value))
        jr_diag_fix(lint->diags, diag, *span, near);
}

static void add_rule(struct reading *reading, const struct rule *rule)
{
    struct jr_lint *lint = reading->lint;
    const char *word = stream_word(rule->value), *bad;
    struct jr_set set;
    bool ranks = jr_set_parse(&set, lint->arena, rule->ranks, &bad) && set.count > 0;
    if (!ranks)
        (void)report_redirect(reading, rule->ranks_span, "local ranks such as 0, 1-3 or 4-10/2",
                              quoted_text(reading, rule->ranks));
    if (word == NULL)
        suggest_streams(reading,
                        report_redirect(reading, rule->value_span,
                                        "0 or none, 1 or out, 2 or err, 3 or all",
                                        quoted_text(reading, rule->source)),
                        rule);
    if (!ranks || word == NULL)
        return;
    for (size_t i = 0; i < set.count; i++)
        if (!claim_rule_ranks(reading, rule, &set.ranges[i]))
            return;
    struct jr_node *key = jr_node_scalar(lint->arena, jr_ranks_text(lint, &set), false);
    struct jr_node *value = jr_node_scalar(lint->arena, word, false);
    if (key == NULL || value == NULL)
        return;
    key->span = rule->ranks_span;
    value->span = rule->value_span;
    jr_node_add(lint->arena, reading->out, key, value);
}

/* Bytes [from, to) of `whole`, the position of a text that is ASCII and stands in the file as it
 * is; else all of it. */
static struct jr_span span_of_part(const struct jr_node *node, struct jr_span whole, size_t from,
                                   size_t to)
{
    if (whole.line == whole.end_line && whole.end_column - whole.column == node->len) {
        whole.end_column = whole.column + (uint32_t)to;
        whole.column += (uint32_t)from;
    }
    return whole;
}

/* The item of `len` bytes at `from`. */
static void read_redirect_item(struct reading *reading, const struct jr_node *node,
                               struct jr_span whole, size_t from, size_t len)
{
    struct jr_arena *arena = reading->lint->arena;
    const char *item = jr_arena_strndup(arena, node->text + from, len);
    const char *colon = item == NULL ? NULL : strchr(item, ':');
    if (item == NULL)
        return;
    if (colon == NULL) {
        (void)report_redirect(reading, span_of_part(node, whole, from, from + len),
                              "RANKS:STREAMS, as in 0:3 or 1-3:err", quoted_text(reading, item));
        return;
    }
    size_t middle = (size_t)(colon - item);
    struct rule rule = {
        .ranks = jr_arena_strndup(arena, item, middle),
        .value = colon + 1,
        .source = colon + 1,
        .ranks_span = span_of_part(node, whole, from, from + middle),
        .value_span = span_of_part(node, whole, from + middle + 1, from + len),
        .node = node,
    };
    if (rule.ranks != NULL)
        add_rule(reading, &rule);
}

/* "0:3,1-3:err" */
static void read_items(struct reading *reading, const struct jr_node *node)
{
    struct jr_span whole = jr_lint_part(reading->lint, node, 0, node->len);
    for (size_t from = 0; reading->bad < MOST_TOLD; from++) {
        size_t len = strcspn(node->text + from, ",");
        read_redirect_item(reading, node, whole, from, len);
        from += len;
        if (node->text[from] == '\0')
            break;
    }
}

/* Whether RANKS:STREAMS is right on both sides of its colon. */
static bool is_rule(struct jr_lint *lint, const char *text, const char *colon)
{
    struct jr_set set;
    const char *bad;
    const char *ranks = jr_arena_strndup(lint->arena, text, (size_t)(colon - text));
    return ranks != NULL && stream_word(colon + 1) != NULL &&
           jr_set_parse(&set, lint->arena, ranks, &bad) && set.count > 0;
}

static void read_redirect_pair(struct reading *reading, const struct jr_pair *pair)
{
    const struct jr_node *key = pair->key, *value = pair->value;
    struct jr_lint *lint = reading->lint;
    const char *colon = strchr(key->text, ':');
    if (value->kind != JR_NODE_SCALAR) {
        (void)report_redirect(reading, value->span, "none, out, err or all",
                              jr_lint_shown(lint, value));
        return;
    }
    if (colon != NULL && value->plain && value->len == 0) {
        struct jr_diag *diag = report_redirect(reading, key->span, "a space after the colon",
                                               quoted_text(reading, key->text));
        const char *fix = jr_arena_printf(lint->arena, "%.*s: %s", (int)(colon - key->text),
                                          key->text, colon + 1);
        if (fix == NULL)
            return;
        jr_diag_help(lint->diags, diag, "did you mean {%s}?", fix);
        if (is_rule(lint, key->text, colon) && key->flow)
            jr_lint_fix(lint, diag, key, fix);
        return;
    }
    if (value->filled != NULL && value->filled->unknown)
        return;
    const struct rule rule = {key->text, value->text, jr_lint_source(value),
                              key->span, value->span, value};
    add_rule(reading, &rule);
}

struct jr_node *jr_read_streams(struct jr_lint *lint, const struct jr_spec_type *type,
                                const struct jr_node *node, const struct jr_node_step *at)
{
    bool scalar = node->kind == JR_NODE_SCALAR;
    const char *word = scalar ? stream_word(node->text) : NULL;
    if (word != NULL)
        return jr_lint_scalar(lint, node, word, false);
    if (node->kind == JR_NODE_SEQUENCE || (scalar && strchr(node->text, ':') == NULL)) {
        struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
        if (scalar)
            jr_lint_suggest(lint, diag, node, words);
        else
            jr_diag_help(lint->diags, diag,
                         "one word for all ranks, or RANKS: STREAMS as in {0: all, 1-3: err}");
        return NULL;
    }
    struct reading reading = {.lint = lint, .at = at, .out = jr_node_mapping(lint->arena)};
    if (reading.out == NULL)
        return NULL;
    reading.out->span = node->span;
    if (scalar)
        read_items(&reading, node);
    for (size_t i = 0; !scalar && i < node->count; i++)
        read_redirect_pair(&reading, &node->pairs[i]);
    free(reading.seen);
    return reading.bad == 0 ? reading.out : NULL;
}
