/*
 * The composer; internal.h declares it. libyaml scans no further than the next event needs (1,024
 * characters and one line, the reach of a simple key), so a limit that is checked at each event
 * holds before time and memory are spent: what comes after it is never looked at. The one exception
 * is its list of %TAG directives, which is searched for each new one; see jr_compose.
 */
#include <search.h>
#include <string.h>
#include <yaml.h>

#include "doc/doc.h"
#include "doc/internal.h"

#include "base/banned.h"

/* Anchors by name, and what expanding an alias would cost. */

/* The cost of a copy of a node: all nodes in it, the bytes of its scalars, and the collections
 * around its innermost scalar. */
struct weight {
    size_t nodes, bytes, height;
};

struct anchor {
    const char *name;
    const struct jr_node *node;
};

static int compare_names(const void *a, const void *b)
{
    const struct anchor *left = a, *right = b;
    return strcmp(left->name, right->name);
}

/* Define `name` (copied; NULL adds nothing) as an anchor of the node; a name may be defined
 * again. */
static void anchors_add(void **anchors, struct jr_arena *arena, const char *name,
                        const struct jr_node *node)
{
    if (name == NULL)
        return;
    struct anchor *anchor = jr_arena_alloc(arena, sizeof *anchor);
    char *copy = jr_arena_strdup(arena, name);
    if (anchor == NULL || copy == NULL)
        return;
    anchor->name = copy;
    struct anchor **slot = tsearch(anchor, anchors, compare_names);
    if (slot == NULL)
        arena->failed = true;
    else
        (*slot)->node = node;
}

/* The anchors live in the arena, the tree's own nodes do not. */
static void keep_anchor(void *anchor)
{
    (void)anchor;
}

#define CORE "tag:yaml.org,2002:"

struct tag {
    const char *name;
    enum jr_node_kind kind;
    enum jr_scalar_type type; /* of a scalar */
};

static const struct tag tags[] = {
    {"str", JR_NODE_SCALAR, JR_SCALAR_STRING},  {"int", JR_NODE_SCALAR, JR_SCALAR_INT},
    {"float", JR_NODE_SCALAR, JR_SCALAR_FLOAT}, {"bool", JR_NODE_SCALAR, JR_SCALAR_BOOL},
    {"null", JR_NODE_SCALAR, JR_SCALAR_NULL},   {"seq", JR_NODE_SEQUENCE, JR_SCALAR_STRING},
    {"map", JR_NODE_MAPPING, JR_SCALAR_STRING},
};

/* Tags of other readers of YAML, and what is written here instead. A row holds for all tags that
 * begin so. */
struct foreign_tag {
    const char *tag, *help;
};

static const struct foreign_tag foreign_tags[] = {
    {"!include", "write `extends: FILE` at the top of the spec"},
    {"!inc", "write `extends: FILE` at the top of the spec"},
    {"!import", "write `extends: FILE` at the top of the spec"},
    {"!ENV", "write ${env:NAME}"},
    {"!env", "write ${env:NAME}"},
    {"!vault", "write ???, and set the variable where jobrun is started"},
    {"!secret", "write ???, and set the variable where jobrun is started"},
    {"!Ref", "write ${vars.NAME}"},
    {"!ref", "write ${vars.NAME}"},
    {"!reference", "write ${vars.NAME}"},
    {"!Sub", "leave it out: ${vars.NAME} needs no tag"},
    {"!join", "write the parts side by side: ${vars.a}/${vars.b}"},
    {CORE "python/tuple", "write a list: [a, b]"},
    {CORE "python/name", "write the name as text: package.module:function"},
    {CORE "python/", "leave it out: a spec makes no objects of Python"},
    {CORE "timestamp", "leave it out: a date is text here"},
    {CORE "binary", "write text: a spec holds no bytes"},
    {CORE "set", "write a list: [a, b]"},
    {CORE "omap", "leave it out: mappings keep their order"},
};

/* Let `tag` (as libyaml resolves it; NULL for none) say what `node` is: !!str makes any scalar a
 * string, the others of the core schema state a type that the text must have, however it is quoted:
 * `!!int "3"` is 3. An unknown or contradicting tag is a finding at `span`. */
static void apply_tag(struct jr_diags *diags, struct jr_node *node, const char *tag,
                      struct jr_span span)
{
    if (tag == NULL)
        return;
    if (strcmp(tag, "!") == 0) {
        node->plain = false;
        return;
    }
    node->meant = strcmp(tag, CORE "str") == 0;
    size_t i = 0, count = sizeof tags / sizeof *tags, j = 0;
    size_t others = sizeof foreign_tags / sizeof *foreign_tags;
    bool core = strncmp(tag, CORE, strlen(CORE)) == 0;
    while (i < count && (!core || strcmp(tags[i].name, tag + strlen(CORE)) != 0))
        i++;
    if (i == count) {
        while (j < others && strncmp(foreign_tags[j].tag, tag, strlen(foreign_tags[j].tag)) != 0)
            j++;
        jr_diag_help(
            diags,
            jr_diags_error(diags, JR_CODE_UNKNOWN_TAG, span, NULL, "unknown tag '%.60s'", tag),
            "%s", j < others ? foreign_tags[j].help : "leave it out");
        return;
    }
    bool fits = tags[i].kind == node->kind;
    if (fits && node->kind == JR_NODE_SCALAR) {
        enum jr_scalar_type wanted = tags[i].type;
        node->plain = wanted != JR_SCALAR_STRING;
        enum jr_scalar_type type = jr_scalar_type(node);
        fits = type == wanted || (wanted == JR_SCALAR_FLOAT && type == JR_SCALAR_INT);
    }
    if (!fits)
        jr_diags_error(diags, JR_CODE_UNKNOWN_TAG, span, NULL,
                       "this value does not have the type !!%s", tags[i].name);
}

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
    void *anchors;                          /* of tsearch */
};

static struct jr_node *compose_next(struct composer *c);

/* Weigh a node with all that is below it. Linear in the nodes. */
static struct weight weigh_node(const struct jr_node *node)
{
    struct weight sum = {.nodes = 1, .bytes = node->kind == JR_NODE_SCALAR ? node->len : 0};
    bool list = node->kind == JR_NODE_SEQUENCE;
    size_t count = node->kind == JR_NODE_SCALAR ? 0 : list ? node->count : 2 * node->count;
    sum.height = node->kind != JR_NODE_SCALAR;
    for (size_t i = 0; i < count; i++) {
        const struct jr_pair *pair = list ? NULL : &node->pairs[i / 2];
        struct weight part = weigh_node(list         ? node->items[i]
                                        : i % 2 == 0 ? pair->key
                                                     : pair->value);
        sum.nodes += part.nodes;
        sum.bytes += part.bytes;
        if (part.height >= sum.height)
            sum.height = part.height + 1;
    }
    return sum;
}

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
    struct weight weight = weigh_node(node);
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

static struct jr_node *compose_alias(struct composer *c, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    struct jr_span span = whole_span(c, event);
    if (++c->aliases > JR_DOC_MAX_ALIASES) {
        stop_composing(c, JR_CODE_ALIASES_TOO_LARGE, span, "more than 1,000 alias expansions");
        return NULL;
    }
    const struct anchor key = {.name = name};
    struct anchor *const *anchor = tfind(&key, &c->anchors, compare_names);
    const struct jr_node *node = anchor == NULL ? NULL : (*anchor)->node;
    size_t i = 0;
    while (i < c->depth && c->open[i] != node)
        i++;
    if (node != NULL && i == c->depth)
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
    apply_tag(c->diags, node, tag, property_span(event, span));
    anchors_add(&c->anchors, &c->doc->arena, (const char *)anchor, node);
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
    apply_tag(c->diags, node, (const char *)opening->tag,
              property_span(opening->event, node->span));
    anchors_add(&c->anchors, &c->doc->arena, (const char *)opening->anchor, node);
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

static struct jr_node *compose_mapping(struct composer *c, const yaml_event_t *event)
{
    const struct opening opening = {event, event->data.mapping_start.anchor,
                                    event->data.mapping_start.tag,
                                    event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE};
    struct jr_node *node = jr_node_mapping(&c->doc->arena);
    if (!enter_collection(c, node, &opening))
        return NULL;
    for (struct jr_node *key; (key = compose_next(c)) != NULL;) {
        if (node->count == 0 && key->span.line == node->span.line &&
            key->span.column == node->span.column && key->span.end_line == node->span.line)
            node->span.end_column = key->span.end_column; /* it stands for a block mapping */
        struct jr_node *value = compose_next(c);
        if (value != NULL && jr_key_check(c->diags, key))
            jr_node_add(&c->doc->arena, node, key, value);
    }
    jr_keys_check(c->diags, &c->doc->arena, node);
    return leave_collection(c, node, &opening);
}

/* The next node; NULL at the end of a collection and after a failure. */
static struct jr_node *compose_next(struct composer *c)
{
    yaml_event_t event;
    struct jr_node *node = NULL;
    if (!next_yaml_event(c, &event))
        return NULL;
    if (event.type == YAML_ALIAS_EVENT)
        node = compose_alias(c, &event);
    else if (event.type == YAML_SCALAR_EVENT)
        node = compose_scalar(c, &event);
    else if (event.type == YAML_SEQUENCE_START_EVENT)
        node = compose_sequence(c, &event);
    else if (event.type == YAML_MAPPING_START_EVENT)
        node = compose_mapping(c, &event);
    else
        c->end = event.end_mark;
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
    const struct jr_span *own = root == NULL ? &start : &root->span;
    if (root != NULL && root->kind == JR_NODE_SCALAR && root->plain && root->len == 0 &&
        own->line == own->end_line && own->column == own->end_column && !c->stopped)
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

void jr_compose(struct jr_doc *doc, const char *text, size_t len, struct jr_diags *diags)
{
    static const char breaks[] = "\n\r\x85\xa8\xa9"; /* or their last bytes */
    struct composer c = {.doc = doc, .diags = diags};
    if (!yaml_parser_initialize(&c.parser)) {
        doc->arena.failed = true;
        return;
    }
    yaml_parser_set_encoding(&c.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&c.parser, (const unsigned char *)text, len);
    /* Each %TAG is compared with all before it: refuse what would take seconds. */
    const char *whole = doc->source->text;
    size_t count = 0;
    for (const char *at = whole; count <= MAX_DIRECTIVES && (at = strstr(at, "%TAG")) != NULL; at++)
        count += at == whole || strchr(breaks, at[-1]) != NULL;
    if (count > MAX_DIRECTIVES)
        stop_composing(&c, JR_CODE_WRONG_DIRECTIVE, (struct jr_span){doc->source, 1, 1, 1, 2},
                       "more than 64 directives");
    doc->root = compose_stream(&c);
    tdestroy(c.anchors, keep_anchor);
    yaml_parser_delete(&c.parser);
}
