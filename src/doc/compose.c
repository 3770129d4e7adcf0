/*
 * The composer. libyaml scans no further than the next event needs (1,024 characters and one line,
 * the reach of a simple key), so a limit that is checked at each event holds before time and memory
 * are spent: what comes after it is never looked at. The one exception is its list of %TAG
 * directives, which is searched for each new one; see check_directives.
 */
#include "doc/compose.h"

#include <string.h>
#include <yaml.h>

#include "doc/key.h"
#include "doc/node_path.h"
#include "doc/node_properties.h"
#include "doc/syntax_error.h"

#include "base/banned.h"

enum { MAX_DIRECTIVES = 64, MAX_SHOWN = 60 };

struct composer {
    yaml_parser_t parser;
    struct jr_doc *doc;
    struct jr_diags *diags;
    struct jr_place place; /* never before that of the events */
    bool stopped;          /* an error after which nothing can be read */
    yaml_mark_t end;       /* of the last collection */
    size_t depth, nodes, aliases, copied;
    struct jr_node *open[JR_DOC_MAX_DEPTH]; /* collections around us */
    struct jr_anchors anchors;
};

static struct jr_node *compose_next(struct composer *c);

static void stop_composing(struct composer *c, enum jr_diag_code code, struct jr_span span,
                           const char *message)
{
    c->stopped = true;
    struct jr_diag *diag = jr_diags_error(c->diags, code, span, NULL, "%s", message);
    if (code == JR_CODE_EMPTY_DOCUMENT)
        jr_diag_help(c->diags, diag, "for one to begin with, type: jobrun new");
}

/* The next event, which the caller deletes. */
static bool next_yaml_event(struct composer *c, yaml_event_t *ret)
{
    if (c->stopped || c->doc->arena.failed)
        return false;
    if (yaml_parser_parse(&c->parser, ret))
        return true;
    c->stopped = true;
    jr_syntax_report(c->diags, &c->parser, c->doc->source);
    return false;
}

/* Step over the anchor and tag of a node, and what separates them from it. */
static void skip_properties(struct jr_place *place, const struct jr_source *source, size_t end)
{
    const char *text = source->text;
    for (bool more = true; more && place->index < end;) {
        size_t at = place->byte, size = strspn(text + at, " \t\r\n");
        if (text[at] == '&' || text[at] == '!')
            size = strcspn(text + at, " \t\r\n");
        else if (text[at] == '#')
            size = strcspn(text + at, "\r\n");
        more = size != 0;
        jr_place_to_byte(place, source, at + size);
    }
}

/* From the anchor or tag of a node to its end. */
static struct jr_span whole_span(const struct composer *c, const yaml_event_t *event)
{
    return (struct jr_span){
        .source = c->doc->source,
        .line = (uint32_t)event->start_mark.line + 1,
        .column = (uint32_t)event->start_mark.column + 1,
        .end_line = (uint32_t)event->end_mark.line + 1,
        .end_column = (uint32_t)event->end_mark.column + 1,
    };
}

/* The text of a node itself, without its anchor and tag: found in the text, as is the place of an
 * empty scalar, which libyaml moves to the next line where it is the last thing in the text. */
static struct jr_span find_span(struct composer *c, const yaml_event_t *event)
{
    const struct jr_source *source = c->doc->source;
    jr_place_to_index(&c->place, source, event->start_mark.index);
    struct jr_place start = c->place;
    skip_properties(&start, source, event->end_mark.index);
    struct jr_place end = start;
    jr_place_to_index(&end, source, event->end_mark.index);
    return jr_place_span(source, start, end);
}

/* From the anchor or tag of the node with this span to the end of it. */
static struct jr_span property_span(const yaml_event_t *event, struct jr_span span)
{
    span.line = (uint32_t)event->start_mark.line + 1;
    span.column = (uint32_t)event->start_mark.column + 1;
    return span;
}

/* Count `more` nodes, unless that passes the limit. */
static bool count_nodes(struct composer *c, size_t more, struct jr_span span)
{
    c->nodes += more;
    if (c->nodes > JR_DOC_MAX_NODES)
        stop_composing(c, JR_CODE_DOCUMENT_TOO_LARGE, span, "more than 100,000 nodes");
    return !c->stopped;
}

static bool is_in_flow(const struct composer *c)
{
    return c->depth != 0 && c->open[c->depth - 1]->flow;
}

/* A node that has an anchor, or is inside a node that has one. */
static bool is_node_shared(const struct composer *c, const yaml_char_t *anchor)
{
    return anchor != NULL || (c->depth != 0 && c->open[c->depth - 1]->shared);
}

static struct jr_node *expand_alias(struct composer *c, const struct jr_node *node,
                                    struct jr_span span)
{
    struct jr_weight weight = jr_node_weigh(node);
    c->copied += weight.bytes;
    if (!count_nodes(c, weight.nodes, span))
        return NULL;
    if (c->copied > JR_DOC_MAX_BYTES)
        stop_composing(c, JR_CODE_ALIASES_TOO_LARGE, span, "the aliases expand to more than 1 MiB");
    else if (c->depth + weight.height > JR_DOC_MAX_DEPTH)
        stop_composing(c, JR_CODE_NESTED_TOO_DEEPLY, span,
                       "nested more than 64 deep by this alias");
    return c->stopped ? NULL : jr_node_copy(&c->doc->arena, node);
}

static bool is_node_open(const struct composer *c, const struct jr_node *node)
{
    for (size_t i = 0; i < c->depth; i++)
        if (c->open[i] == node)
            return true;
    return false;
}

static struct jr_node *compose_alias(struct composer *c, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct jr_span span = whole_span(c, event);
    if (++c->aliases > JR_DOC_MAX_ALIASES) {
        stop_composing(c, JR_CODE_ALIASES_TOO_LARGE, span, "more than 1,000 alias expansions");
        return NULL;
    }
    const struct jr_node *node = jr_anchors_find(&c->anchors, name);
    if (node != NULL && !is_node_open(c, node))
        return expand_alias(c, node, span);
    if (node == NULL)
        jr_diag_help(c->diags,
                     jr_diags_error(c->diags, JR_CODE_UNKNOWN_ALIAS, span, NULL,
                                    "unknown alias '*%.*s'", MAX_SHOWN, name),
                     "name a value above it: &%.*s VALUE; a text that begins "
                     "with '*' is quoted: \"*%.*s\"",
                     MAX_SHOWN, name, MAX_SHOWN, name);
    else
        jr_diags_error(c->diags, JR_CODE_RECURSIVE_ALIAS, span, NULL,
                       "alias '*%.*s' is inside its own anchor", MAX_SHOWN, name);
    /* A null in its place, so that the rest is read too. */
    struct jr_node *null = jr_node_scalar(&c->doc->arena, "", true);
    if (null != NULL)
        null->span = span;
    return null;
}

static struct jr_node *compose_scalar(struct composer *c, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;
    size_t len = event->data.scalar.length;
    const yaml_char_t *anchor = event->data.scalar.anchor;
    bool bare = anchor == NULL && tag == NULL && event->start_mark.index != event->end_mark.index;
    struct jr_span span = bare ? whole_span(c, event) : find_span(c, event);
    if (!count_nodes(c, 1, span))
        return NULL;
    if (memchr(text, '\0', len) != NULL) {
        jr_diags_error(c->diags, JR_CODE_CONTROL_CHARACTER, span, NULL,
                       "the control character U+0000 is not allowed");
        len = strlen(text);
    }
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct jr_node *node = jr_node_scalar_n(&c->doc->arena, text, len, plain);
    if (node == NULL)
        return NULL;
    const char *dollar = memchr(node->text, '$', len);
    c->doc->dollars |= dollar != NULL && strstr(dollar, "${") != NULL;
    node->span = span;
    node->flow = is_in_flow(c);
    node->shared = is_node_shared(c, anchor);
    jr_tag_apply(c->diags, node, tag, property_span(event, span));
    jr_anchors_add(&c->anchors, &c->doc->arena, (const char *)anchor, node);
    return node;
}

/* What the start events of the two kinds have in common. */
struct opening {
    const yaml_event_t *event;
    const yaml_char_t *anchor, *tag;
    bool flow;
};

/* Begin a collection. Its span is one character until it is closed. */
static bool enter_collection(struct composer *c, struct jr_node *node,
                             const struct opening *opening)
{
    bool has_properties = opening->anchor != NULL || opening->tag != NULL;
    if (node == NULL)
        return false;
    node->span = has_properties ? find_span(c, opening->event) : whole_span(c, opening->event);
    node->span.end_line = node->span.line;
    node->span.end_column = node->span.column + 1;
    node->flow = opening->flow || is_in_flow(c);
    node->shared = is_node_shared(c, opening->anchor);
    if (c->depth == JR_DOC_MAX_DEPTH)
        stop_composing(c, JR_CODE_NESTED_TOO_DEEPLY, node->span, "nested more than 64 deep");
    if (c->stopped || !count_nodes(c, 1, node->span))
        return false;
    jr_tag_apply(c->diags, node, (const char *)opening->tag,
                 property_span(opening->event, node->span));
    jr_anchors_add(&c->anchors, &c->doc->arena, (const char *)opening->anchor, node);
    c->open[c->depth++] = node;
    return true;
}

/* End a collection. In flow style its span is its whole text if that is on one line; a block's end
 * mark is the next token, and useless. */
static struct jr_node *leave_collection(struct composer *c, struct jr_node *node,
                                        const struct opening *opening)
{
    c->depth--;
    if (c->stopped)
        return NULL;
    if (opening->flow && c->end.line + 1 == node->span.line)
        node->span.end_column = (uint32_t)c->end.column + 1;
    return node;
}

static struct jr_node *compose_sequence(struct composer *c, const yaml_event_t *event)
{
    struct jr_arena *arena = &c->doc->arena;
    const struct opening opening = {event, event->data.sequence_start.anchor,
                                    event->data.sequence_start.tag,
                                    event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE};
    struct jr_node *node = jr_node_sequence(arena);
    if (!enter_collection(c, node, &opening))
        return NULL;
    for (struct jr_node *item; (item = compose_next(c)) != NULL;)
        jr_node_append(arena, node, item);
    return leave_collection(c, node, &opening);
}

/* In block style the first key stands for the mapping. */
static void span_first_key(struct jr_node *mapping, const struct jr_node *key)
{
    if (key->span.line == mapping->span.line && key->span.column == mapping->span.column &&
        key->span.end_line == mapping->span.line)
        mapping->span.end_column = key->span.end_column;
}

static struct jr_node *compose_mapping(struct composer *c, const yaml_event_t *event)
{
    const struct opening opening = {event, event->data.mapping_start.anchor,
                                    event->data.mapping_start.tag,
                                    event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE};
    struct jr_node *node = jr_node_mapping(&c->doc->arena);
    if (!enter_collection(c, node, &opening))
        return NULL;
    for (struct jr_node *key; (key = compose_next(c)) != NULL;) {
        if (node->count == 0)
            span_first_key(node, key);
        struct jr_node *value = compose_next(c);
        if (value != NULL && jr_key_check(c->diags, key))
            jr_node_add(&c->doc->arena, node, key, value);
    }
    jr_keys_check(c->diags, &c->doc->arena, node);
    return leave_collection(c, node, &opening);
}

/* The node that an event begins; NULL at the end of a collection and after a failure. */
static struct jr_node *compose_event(struct composer *c, const yaml_event_t *event)
{
    if (event->type == YAML_ALIAS_EVENT)
        return compose_alias(c, event);
    if (event->type == YAML_SCALAR_EVENT)
        return compose_scalar(c, event);
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return compose_sequence(c, event);
    if (event->type == YAML_MAPPING_START_EVENT)
        return compose_mapping(c, event);
    c->end = event->end_mark;
    return NULL;
}

static struct jr_node *compose_next(struct composer *c)
{
    yaml_event_t event;
    if (!next_yaml_event(c, &event))
        return NULL;
    struct jr_node *node = compose_event(c, &event);
    yaml_event_delete(&event);
    return node;
}

/* Take one event; YAML_NO_EVENT after a failure. */
static yaml_event_type_t take_yaml_event(struct composer *c, struct jr_span *ret_span)
{
    yaml_event_t event;
    if (!next_yaml_event(c, &event))
        return YAML_NO_EVENT;
    yaml_event_type_t type = event.type;
    *ret_span = whole_span(c, &event);
    yaml_event_delete(&event);
    return type;
}

static bool is_root_empty(const struct jr_node *root)
{
    const struct jr_span *span = &root->span;
    return root->kind == JR_NODE_SCALAR && root->plain && root->len == 0 &&
           span->line == span->end_line && span->column == span->end_column;
}

/* A tree that was cut short by a later syntax error is discarded, because its missing rest would be
 * reported as missing fields. A second document cuts nothing. */
static struct jr_node *compose_stream(struct composer *c)
{
    struct jr_span span, start = {c->doc->source, 1, 1, 1, 1};
    (void)take_yaml_event(c, &span);
    yaml_event_type_t type = take_yaml_event(c, &span);
    if (type == YAML_STREAM_END_EVENT)
        stop_composing(c, JR_CODE_EMPTY_DOCUMENT, start, "the document is empty");
    struct jr_node *root = compose_next(c);
    (void)take_yaml_event(c, &span);
    type = take_yaml_event(c, &span);
    if (root != NULL && is_root_empty(root) && !c->stopped)
        stop_composing(c, JR_CODE_EMPTY_DOCUMENT, start, "the document is empty");
    if (c->stopped)
        return NULL;
    if (type == YAML_DOCUMENT_START_EVENT)
        jr_diag_help(c->diags,
                     jr_diags_error(c->diags, JR_CODE_SEVERAL_DOCUMENTS, span, NULL,
                                    "a second document begins here"),
                     "put what follows into a file of its own, and delete it here");
    return root;
}

/* Each %TAG is compared with all before it: refuse what would take seconds. */
static void check_directives(struct composer *c)
{
    static const char breaks[] = "\n\r\x85\xa8\xa9"; /* or their last bytes */
    const char *text = c->doc->source->text, *at = text;
    size_t count = 0;
    for (; count <= MAX_DIRECTIVES && (at = strstr(at, "%TAG")) != NULL; at++)
        count += at == text || strchr(breaks, at[-1]) != NULL;
    if (count > MAX_DIRECTIVES)
        stop_composing(c, JR_CODE_WRONG_DIRECTIVE, (struct jr_span){c->doc->source, 1, 1, 1, 2},
                       "more than 64 directives");
}

void jr_compose(struct jr_doc *doc, const char *text, size_t len, struct jr_diags *diags)
{
    struct composer c = {.doc = doc, .diags = diags};
    if (!yaml_parser_initialize(&c.parser)) {
        doc->arena.failed = true;
        return;
    }
    yaml_parser_set_encoding(&c.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&c.parser, (const unsigned char *)text, len);
    check_directives(&c);
    doc->root = compose_stream(&c);
    jr_anchors_release(&c.anchors);
    yaml_parser_delete(&c.parser);
}
