#include "spec/schema_part.h"

#include <stdio.h>
#include <string.h>

#include <jobrun/types.h>

#include "base/regex.h"
#include "doc/doc.h"
#include "spec/entry_arguments.h"
#include "spec/manual.h"

#include "base/banned.h"

json_t *jr_schema_either(json_t *a, json_t *b)
{
    json_t *choices = json_object_get(a, "anyOf");
    if (choices == NULL || json_object_size(a) != 1)
        return json_pack("{s:[o,o]}", "anyOf", a, b);
    (void)json_array_append_new(choices, b);
    return a;
}

json_t *jr_schema_defined(const char *name)
{
    return json_pack("{s:s+}", "$ref", "#/definitions/", name);
}

json_t *jr_schema_pattern(const char *pattern)
{
    return json_pack("{s:s,s:s}", "type", "string", "pattern", pattern);
}

static bool pattern_takes(const char *pattern, const char *text)
{
    struct jr_regex *regex = NULL;
    struct jr_match match;
    size_t bad;
    bool limited;
    if (pattern == NULL)
        return true;
    bool found = jr_regex_new(&regex, pattern, &bad, NULL) == 0 &&
                 jr_regex_find(regex, text, strlen(text), 0, &match, &limited);
    jr_regex_free(regex);
    return found;
}

/* Unquoted scalars are text where text is wanted. A validator has only the value of a number, so
 * whether the pattern accepts some of a kind decides for all of them. */
static json_t *text_schema(const struct jr_spec_type *type)
{
    const char *pattern = type->pattern;
    bool path = type->kind == JR_KIND_PATH;
    char whole[16];
    (void)snprintf(whole, sizeof whole, "%u", type->min > 0 ? type->min : 2);
    json_t *types = json_pack("[s]", "string");
    json_t *schema = json_pack("{s:o}", "type", types);
    if (pattern_takes(pattern, "2.5"))
        (void)json_array_append_new(types, json_string("number"));
    else if (pattern_takes(pattern, whole))
        (void)json_array_append_new(types, json_string("integer"));
    if (pattern_takes(pattern, whole) && !pattern_takes(pattern, "-2"))
        jr_json_set_int(schema, "minimum", type->min);
    if (pattern_takes(pattern, "true"))
        (void)json_array_append_new(types, json_string("boolean"));
    if (path) /* what only a shell knows is not a path */
        pattern = "^[^~]";
    if (pattern != NULL)
        jr_json_set_str(schema, "pattern", pattern);
    return schema;
}

static json_t *integer_schema(const struct jr_spec_type *type)
{
    if (type->min == type->max)
        return json_pack("{s:i}", "const", (int)type->min);
    json_t *schema = json_pack("{s:s}", "type", "integer");
    jr_json_set_int(schema, "minimum", type->min);
    jr_json_set_int(schema, "maximum", type->max);
    return schema;
}

static json_t *number_schema(const struct jr_spec_type *type)
{
    bool number = type->kind == JR_KIND_NUMBER;
    return json_pack("{s:s}", "type", number ? "number" : "boolean");
}

static json_t *enum_schema(json_t *words, json_t *helps)
{
    return json_pack("{s:o,s:o}", "enum", words, "enumDescriptions", helps);
}

json_t *jr_schema_words(const struct jr_spec_type *type)
{
    json_t *words = json_array(), *helps = json_array();
    for (const struct jr_spec_word *row = type->words; row->word; row++) {
        if (type->custom && strcmp(row->word, "custom") == 0)
            continue;
        (void)json_array_append_new(words, json_string(row->word));
        (void)json_array_append_new(helps, json_string(row->help));
    }
    json_t *schema = enum_schema(words, helps);
    if (type->or_file)
        return jr_schema_either(schema, jr_schema_pattern("^(?!.*\\$\\{).*(/.*|\\.ya?ml)$"));
    if (!type->custom)
        return schema;
    return jr_schema_either(schema, jr_schema_pattern("^custom:[A-Za-z0-9._-]+$"));
}

static json_t *duration_schema(const struct jr_spec_type *type)
{
#define UNIT(unit) "((0|[1-9][0-9]*)" unit ")?"
    (void)type;
    return jr_schema_either(
        jr_schema_pattern("^(0|(?=[0-9])" UNIT("d") UNIT("h") UNIT("m") UNIT("s") UNIT("ms") ")$"),
        json_pack("{s:i}", "const", 0));
}

static json_t *ranks_schema(const struct jr_spec_type *type)
{
    (void)type;
    json_t *rank = json_pack("{s:s,s:i}", "type", "integer", "minimum", 0);
    return jr_schema_either(jr_schema_pattern(JR_SCHEMA_SET), rank);
}

static json_t *any_schema(const struct jr_spec_type *type)
{
    (void)type;
    return json_pack("{s:[s,s,s,s]}", "type", "string", "number", "boolean", "null");
}

static json_t *anything_schema(const struct jr_spec_type *type)
{
    (void)type;
    return json_object();
}

/* Near enough: what is not seen here, `validate` tells. */
static json_t *trigger_schema(const struct jr_spec_type *type)
{
#define SIGNAL "(SIG)?[A-Z][A-Z0-9+]*"
    (void)type;
    return jr_schema_pattern("^(exit(:" JR_SCHEMA_RANGES ")?"
                             "|signal(:" SIGNAL "(," SIGNAL
                             ")*)?|oom|hang|timeout|start|result|stderr:/.+/)$");
}

/* One value for all, rules as a string, or rules as a mapping. */
static json_t *streams_schema(const struct jr_spec_type *type)
{
#define STREAM(name, word, help) {word, help},
    static const char *const streams[][2] = {JR_STREAMS(STREAM)};
    JR_BUF_CLEANUP struct jr_buf word = JR_BUF_INIT, text = JR_BUF_INIT;
    json_t *values = json_array(), *helps = json_array();
    (void)type;
    for (int i = 0; i < (int)(sizeof streams / sizeof *streams); i++) {
        (void)json_array_append_new(values, json_string(streams[i][0]));
        (void)json_array_append_new(values, json_integer(i));
        (void)json_array_append_new(helps, json_string(streams[i][1]));
        (void)json_array_append_new(helps, json_string(streams[i][1]));
        jr_buf_printf(&word, "%s%d|%s", i == 0 ? "(" : "|", i, streams[i][0]);
    }
    jr_buf_char(&word, ')');
    if (word.failed)
        return NULL;
    jr_buf_printf(&text, "^(%s|%s:%s(,%s:%s)*)$", word.data, JR_SCHEMA_RANGE, word.data,
                  JR_SCHEMA_RANGE, word.data);
    json_t *one = jr_schema_either(enum_schema(values, helps), jr_schema_pattern("^[0-3]$"));
    json_t *rules =
        json_pack("{s:s,s:{s:s},s:o}", "type", "object", "propertyNames", "pattern",
                  "^" JR_SCHEMA_RANGES "$", "additionalProperties", json_deep_copy(one));
    one = jr_schema_either(one, jr_schema_pattern(text.data));
    return jr_schema_either(one, rules);
}

json_t *jr_schema_scalar(const struct jr_spec_type *type)
{
    static json_t *(*const makers[JR_KIND_COUNT])(const struct jr_spec_type *) = {
        [JR_KIND_INTEGER] = integer_schema,   [JR_KIND_NUMBER] = number_schema,
        [JR_KIND_BOOLEAN] = number_schema,    [JR_KIND_TEXT] = text_schema,
        [JR_KIND_PATH] = text_schema,         [JR_KIND_WORD] = jr_schema_words,
        [JR_KIND_DURATION] = duration_schema, [JR_KIND_RANKS] = ranks_schema,
        [JR_KIND_PATTERN] = text_schema,      [JR_KIND_TRIGGER] = trigger_schema,
        [JR_KIND_SCALAR] = any_schema,        [JR_KIND_STREAMS] = streams_schema,
        [JR_KIND_VALUE] = anything_schema,
    };
    return makers[type->kind] == NULL ? NULL : makers[type->kind](type);
}

/* The node at a path of rows, in which a star means the first name. */
static const struct jr_node *find_sample_node(const struct jr_node *node, const char *path)
{
    while (node != NULL && *path != '\0') {
        char key[64] = "";
        size_t len = strcspn(path, ".");
        if (node->kind != JR_NODE_MAPPING || node->count == 0 || len >= sizeof key)
            return NULL;
        memcpy(key, path, len);
        node = strcmp(key, "*") == 0 ? node->pairs[0].value : jr_doc_get(node, key);
        path += len + (path[len] == '.');
    }
    return node;
}

json_t *jr_field_sample(const struct jr_spec_field *field)
{
    const struct jr_field_note *note = jr_field_note(field);
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_doc doc = JR_DOC_INIT;
    json_t *value = NULL;
    if (note == NULL)
        return NULL;
    if (jr_doc_load(&doc, "example", note->example, strlen(note->example), &diags) == 0) {
        const struct jr_node *node = find_sample_node(doc.root, note->path);
        value = node == NULL ? NULL : jr_call_json(node);
    }
    jr_diags_release(&diags);
    jr_doc_release(&doc);
    return value;
}
