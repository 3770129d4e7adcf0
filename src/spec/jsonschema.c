#include "spec/jsonschema.h"

#include <stdio.h>
#include <string.h>

#include <jobrun/types.h>

#include "base/json.h"
#include "base/regex.h"
#include "doc/doc.h"
#include "spec/entry_arguments.h"
#include "spec/field.h"
#include "spec/manual.h"

#include "base/banned.h"

/*
 * Its pieces. jansson takes the NULL of an allocation that failed and refuses it, so without memory
 * a schema lacks something and nothing breaks.
 */

/* Ranks as patterns, of which nothing overlaps or runs backwards in a set. */
#define SCHEMA_RANK   "(0|[1-9][0-9]*)"
#define SCHEMA_RANGE  SCHEMA_RANK "(-" SCHEMA_RANK "(/[1-9][0-9]*)?)?"
#define SCHEMA_RANGES SCHEMA_RANGE "(," SCHEMA_RANGE ")*"
#define SCHEMA_SET    "^(all|none|" SCHEMA_RANGES ")$"

/* {"anyOf": [a, b]}; takes both. One choice of three is not two of two. */
static json_t *schema_either(json_t *a, json_t *b)
{
    json_t *choices = json_object_get(a, "anyOf");
    if (choices == NULL || json_object_size(a) != 1)
        return json_pack("{s:[o,o]}", "anyOf", a, b);
    (void)json_array_append_new(choices, b);
    return a;
}

/* A reference to the definition `name`. */
static json_t *schema_defined(const char *name)
{
    return json_pack("{s:s+}", "$ref", "#/definitions/", name);
}

/* {"type": "string", "pattern": pattern} */
static json_t *schema_pattern(const char *pattern)
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

static json_t *enum_schema(json_t *words, json_t *helps)
{
    return json_pack("{s:o,s:o}", "enum", words, "enumDescriptions", helps);
}

/* The words of a type, with what they mean. */
static json_t *schema_words(const struct jr_spec_type *type)
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
        return schema_either(schema, schema_pattern("^(?!.*\\$\\{).*(/.*|\\.ya?ml)$"));
    if (!type->custom)
        return schema;
    return schema_either(schema, schema_pattern("^custom:[A-Za-z0-9._-]+$"));
}

/* One value for all, rules as a string, or rules as a mapping. */
static json_t *streams_schema(void)
{
#define STREAM(name, word, help) {word, help},
    static const char *const streams[][2] = {JR_STREAMS(STREAM)};
    JR_BUF_CLEANUP struct jr_buf word = JR_BUF_INIT, text = JR_BUF_INIT;
    json_t *values = json_array(), *helps = json_array();
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
    jr_buf_printf(&text, "^(%s|%s:%s(,%s:%s)*)$", word.data, SCHEMA_RANGE, word.data, SCHEMA_RANGE,
                  word.data);
    json_t *one = schema_either(enum_schema(values, helps), schema_pattern("^[0-3]$"));
    json_t *rules = json_pack("{s:s,s:{s:s},s:o}", "type", "object", "propertyNames", "pattern",
                              "^" SCHEMA_RANGES "$", "additionalProperties", json_deep_copy(one));
    one = schema_either(one, schema_pattern(text.data));
    return schema_either(one, rules);
}

/* What is read from one scalar, and redirects. A trigger is near enough: what is not seen here,
 * `validate` tells. */
static json_t *schema_scalar(const struct jr_spec_type *type)
{
#define UNIT(unit) "((0|[1-9][0-9]*)" unit ")?"
#define SIGNAL     "(SIG)?[A-Z][A-Z0-9+]*"
    switch ((int)type->kind) {
    case JR_KIND_INTEGER:
        if (type->min == type->max)
            return json_pack("{s:i}", "const", (int)type->min);
        return json_pack("{s:s,s:I,s:I}", "type", "integer", "minimum", (json_int_t)type->min,
                         "maximum", (json_int_t)type->max);
    case JR_KIND_NUMBER:
        return json_pack("{s:s}", "type", "number");
    case JR_KIND_BOOLEAN:
        return json_pack("{s:s}", "type", "boolean");
    case JR_KIND_WORD:
        return schema_words(type);
    case JR_KIND_DURATION:
        return schema_either(
            schema_pattern("^(0|(?=[0-9])" UNIT("d") UNIT("h") UNIT("m") UNIT("s") UNIT("ms") ")$"),
            json_pack("{s:i}", "const", 0));
    case JR_KIND_RANKS:
        return schema_either(schema_pattern(SCHEMA_SET),
                             json_pack("{s:s,s:i}", "type", "integer", "minimum", 0));
    case JR_KIND_TRIGGER:
        return schema_pattern("^(exit(:" SCHEMA_RANGES ")?"
                              "|signal(:" SIGNAL "(," SIGNAL
                              ")*)?|oom|hang|timeout|start|result|stderr:/.+/)$");
    case JR_KIND_SCALAR:
        return json_pack("{s:[s,s,s,s]}", "type", "string", "number", "boolean", "null");
    case JR_KIND_STREAMS:
        return streams_schema();
    case JR_KIND_VALUE:
        return json_object();
    default:
        return text_schema(type);
    }
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

/* The value that the example of a field gives it; NULL if there is none, and if memory runs out. */
static json_t *field_sample(const struct jr_spec_field *field)
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

/*
 * The schema as a whole.
 */

static json_t *value_schema(const struct jr_spec_type *type);

/* The same, or a text that is filled in when the spec is read. */
static json_t *or_filled(json_t *schema)
{
    return schema_either(schema, schema_defined("filled"));
}

static json_t *or_null(json_t *schema)
{
    json_t *types = json_object_get(schema, "type");
    if (!json_is_array(types))
        return schema_either(schema, json_pack("{s:s}", "type", "null"));
    (void)json_array_append_new(types, json_string("null"));
    return schema;
}

static json_t *list_schema(const struct jr_spec_type *type)
{
    json_t *item = value_schema(type->item);
    if (type->early) /* nothing is put in yet */
        jr_json_set_str(item, "pattern", "^((?!\\$\\{).)+$");
    else if (type->item->kind == JR_KIND_TEXT)
        item = or_null(item);
    json_t *schema = json_pack("{s:s,s:o}", "type", "array", "items", item);
    if (type->min > 0)
        jr_json_set_int(schema, "minItems", type->min);
    if (type->named) /* by names; null stands for no item */
        schema =
            schema_either(schema, json_pack("{s:s,s:{s:s},s:o}", "type", "object", "propertyNames",
                                            "pattern", "^[A-Za-z0-9_-]+$", "additionalProperties",
                                            or_null(json_deep_copy(item))));
    if (type->lone)
        return schema_either(json_deep_copy(item), schema);
    return type->words == NULL ? schema : schema_either(or_filled(schema_words(type)), schema);
}

/* The default of a field as a value. */
static json_t *default_value(const struct jr_spec_field *field)
{
    const char *text = field->fallback;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_boolean(text[0] == 't');
    if (strcmp(text, "0") == 0)
        return json_integer(0);
    if (field->type->kind != JR_KIND_LIST)
        return json_string(text);
    json_t *list = json_array();
    for (const char *item = text; *item != '\0';) {
        size_t len = strcspn(item, " ");
        (void)json_array_append_new(list, json_stringn(item, len));
        item += len + (item[len] == ' ');
    }
    return list;
}

/* What an editor shows of a field: the note on it, and what comes of leaving it out. */
static void describe_field(json_t *schema, const struct jr_spec_field *field)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const struct jr_field_note *note = jr_field_note(field);
    if (note != NULL && note->text[0] != '\0')
        jr_buf_printf(&text, "%s\n\n", note->text);
    jr_buf_printf(&text, "Without it: %s.", field->missing);
    jr_json_set_str(schema, "title", field->help);
    jr_json_set_str(schema, "description", text.data);
    if (field->fallback != NULL)
        (void)json_object_set_new(schema, "default", default_value(field));
    json_t *sample = field_sample(field);
    if (sample != NULL)
        (void)json_object_set_new(schema, "examples", json_pack("[o]", sample));
}

static json_t *map_schema(const struct jr_spec_type *type)
{
    json_t *properties = json_object();
    const struct jr_spec_field *row = type->fields;
    for (; row->key != NULL; row++) {
        json_t *value = value_schema(row->type);
        if (!row->type->early)
            value = schema_either(
                value, schema_defined(row->need == JR_NEED_RESOLVED ? "missing" : "unstated"));
        describe_field(value, row);
        (void)json_object_set_new(properties, row->key, value);
    }
    json_t *schema =
        json_pack("{s:s,s:o,s:{s:{}},s:b}", "type", "object", "properties", properties,
                  "patternProperties", "^(x-.*|\\$schema)$", "additionalProperties", 0);
    json_t *pairs = json_array(); /* no two of the forms that it has one of */
    for (const char *const *a = type->forms; a != NULL && *a != NULL; a++)
        for (const char *const *b = a + 1; *b != NULL; b++)
            (void)json_array_append_new(pairs, json_pack("{s:{s:[s,s],s:{s:o,s:o}}}", "not",
                                                         "required", *a, *b, "properties", *a,
                                                         schema_defined("stated"), *b,
                                                         schema_defined("stated")));
    if (type->forms != NULL)
        (void)json_object_set(schema, "allOf", pairs);
    json_decref(pairs);
    if (type->shorthand == NULL)
        return schema;
    row = jr_field_get(type->fields, type->shorthand);
    return schema_either(value_schema(row->type), schema);
}

static json_t *names_schema(const struct jr_spec_type *type)
{
    json_t *value = value_schema(type->item);
    if (type->env || type->item->kind == JR_KIND_MAP)
        value = or_null(value);
    json_t *schema = json_pack("{s:s,s:o}", "type", "object", "additionalProperties", value);
    if (type->pattern != NULL)
        (void)json_object_set_new(schema, "propertyNames",
                                  json_pack("{s:s}", "pattern", type->pattern));
    if (type->ranks || type->env)
        (void)json_object_set_new(
            schema, "propertyNames",
            json_pack("{s:s}", "pattern", type->ranks ? SCHEMA_SET : "^[^=]+$"));
    return schema;
}

static json_t *value_schema(const struct jr_spec_type *type)
{
    static const bool narrow[JR_KIND_COUNT] = {
        [JR_KIND_INTEGER] = true, [JR_KIND_NUMBER] = true,   [JR_KIND_BOOLEAN] = true,
        [JR_KIND_WORD] = true,    [JR_KIND_DURATION] = true, [JR_KIND_RANKS] = true,
        [JR_KIND_STREAMS] = true, [JR_KIND_TRIGGER] = true,
    };
    json_t *schema = NULL;
    if (type->kind == JR_KIND_LIST)
        schema = list_schema(type);
    else if (type->kind == JR_KIND_MAP)
        schema = map_schema(type);
    else if (type->kind == JR_KIND_NAMES)
        schema = names_schema(type);
    else
        schema = schema_scalar(type);
    bool filled = narrow[type->kind] || type->pattern != NULL;
    return filled && !type->literal ? or_filled(schema) : schema;
}

/* What only a spec that stands alone is held to: */
enum duty {
    REQUIRED, /* it states what is required */
    NO_NULL   /* null says nothing, as there is nothing to remove */
};

static json_t *duty_schema(const struct jr_spec_type *type, enum duty duty);

/* Not null, and what a schema says, which may be NULL. */
static json_t *stated_schema(json_t *schema)
{
    json_t *one = schema_defined("stated");
    return schema == NULL ? one : json_pack("{s:[o,o]}", "allOf", one, schema);
}

/* Set a key to what says something; takes the value. */
static void set_unless_empty(json_t *schema, const char *key, json_t *value)
{
    if (json_object_size(value) + json_array_size(value) > 0)
        (void)json_object_set(schema, key, value);
    json_decref(value);
}

/* The duties within a type; NULL if there are none. */
static json_t *duty_schema(const struct jr_spec_type *type, enum duty duty)
{
    json_t *schema = json_object(), *item = NULL;
    if (type->kind == JR_KIND_NAMES)
        item = duty_schema(type->item, duty);
    if (item != NULL)
        (void)json_object_set_new(schema, "additionalProperties",
                                  duty == NO_NULL ? stated_schema(item) : item);
    json_t *properties = json_object(), *required = json_array(), *forms = json_array();
    for (const struct jr_spec_field *row = type->fields; row != NULL && row->key != NULL; row++) {
        json_t *field = duty_schema(row->type, duty);
        if (duty == NO_NULL && row->need != JR_NEED_RESOLVED)
            field = stated_schema(field);
        if (field != NULL)
            (void)json_object_set_new(properties, row->key, field);
        if (row->need == JR_NEED_REQUIRED && duty == REQUIRED)
            (void)json_array_append_new(required, json_string(row->key));
    }
    for (const char *const *form = type->forms; form != NULL && *form != NULL; form++)
        if (duty == REQUIRED)
            (void)json_array_append_new(forms, json_pack("{s:[s]}", "required", *form));
    set_unless_empty(schema, "properties", properties);
    set_unless_empty(schema, "required", required);
    set_unless_empty(schema, "anyOf", forms);
    if (json_object_size(schema) > 0)
        return schema;
    json_decref(schema);
    return NULL;
}

/* An object in which the key is there, and is no null. */
static json_t *has_key_schema(const char *key)
{
    return json_pack("{s:[s],s:{s:o}}", "required", key, "properties", key,
                     schema_defined("stated"));
}

/* A mapping in which every value has `key`'s property; takes the schema. */
static json_t *within_key_schema(const char *key, json_t *schema)
{
    return json_pack("{s:{s:o}}", "properties", key, schema);
}

/* What no function is called with is text. */
static json_t *plain_arguments(void)
{
    const struct jr_spec_type *type = jr_field_find("entrypoint.args")->type;
    json_t *item = or_null(value_schema(type->item->item));
    json_t *args = within_key_schema("args", json_pack("{s:o}", "items", item));
    json_t *entries = json_pack("{s:O}", "additionalProperties", args);
    json_t *both =
        json_pack("{s:{s:o,s:o}}", "properties", "entrypoint", args, "per_rank", entries);
    /* what is run is no function: one of the other forms */
    json_t *script =
        json_pack("{s:[o,o]}", "anyOf", has_key_schema("script"), has_key_schema("module"));
    json_t *python = json_pack("{s:[o,o]}", "allOf", has_key_schema("python"),
                               within_key_schema("python", script));
    json_t *form = json_pack("{s:[o,o,o,o]}", "anyOf", has_key_schema("command"),
                             has_key_schema("shell"), has_key_schema("library"), python);
    json_t *entry =
        json_pack("{s:[s],s:{s:o}}", "required", "entrypoint", "properties", "entrypoint", form);
    return json_pack("{s:o,s:o}", "if", entry, "then", both);
}

/* A spec that extends others may remove what they say, and need not repeat what is required; the
 * latter is true of a template, too. */
static void add_duties(json_t *schema)
{
    const struct jr_spec_type *root = jr_field_root();
    json_t *extends = json_pack("{s:[s]}", "required", "extends");
    json_t *base = json_pack("{s:[s],s:{s:{s:b}}}", "required", "template", "properties",
                             "template", "const", 1);
    json_t *alone = json_pack("{s:O,s:o}", "if", extends, "else", duty_schema(root, NO_NULL));
    json_t *whole = json_pack("{s:o,s:o}", "if", schema_either(extends, base), "else",
                              duty_schema(root, REQUIRED));
    (void)json_object_set_new(schema, "allOf",
                              json_pack("[o,o,o]", alone, whole, plain_arguments()));
}

/* What is said of many values. */
static json_t *shared_definitions(void)
{
    json_t *filled = json_pack("{s:s,s:s,s:s}", "title", "a value with ${...} in it", "type",
                               "string", "pattern", "\\$\\{");
    json_t *missing =
        json_pack("{s:s,s:[n,s,s]}", "title", "MISSING: jobrun fills it", "enum", "auto", "???");
    json_t *unstated =
        json_pack("{s:s,s:[n,s]}", "title",
                  "null removes what a parent says; ??? is supplied from outside", "enum", "???");
    json_t *stated = json_pack("{s:{s:s}}", "not", "type", "null");
    return json_pack("{s:o,s:o,s:o,s:o}", "filled", filled, "missing", missing, "unstated",
                     unstated, "stated", stated);
}

static const char schema_title[] = "jobrun job spec, version 1";

bool jr_spec_is_schema(const char *text, size_t len)
{
    json_auto_t *schema = jr_json_parse(text, len, NULL);
    const char *title = jr_json_get_str(schema, "title");
    return title != NULL && strcmp(title, schema_title) == 0;
}

void jr_spec_schema(struct jr_buf *out)
{
    json_t *head =
        json_pack("{s:s,s:s,s:s,s:s}", "$schema", "http://json-schema.org/draft-07/schema#", "$id",
                  JR_SCHEMA_FILE, "title", schema_title, "description",
                  "What a distributed job runs, on what, and what it must deliver. A "
                  "field that may be filled by jobrun takes null, auto or ??? too.");
    json_auto_t *body = value_schema(jr_field_root());
    (void)json_object_update(head, body);
    add_duties(head);
    (void)json_object_set_new(head, "definitions", shared_definitions());
    jr_json_print(out, head, 2);
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        jr_buf_char(out, '\n');
    json_decref(head);
}
