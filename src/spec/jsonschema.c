/* The schema as a whole; its pieces are those of schema_part.h. */
#include "spec/jsonschema.h"

#include <string.h>

#include "base/json.h"
#include "spec/field.h"
#include "spec/manual.h"
#include "spec/schema_part.h"

#include "base/banned.h"

static json_t *value_schema(const struct jr_spec_type *type);

/* The same, or a text that is filled in when the spec is read. */
static json_t *or_filled(json_t *schema)
{
    return jr_schema_either(schema, jr_schema_defined("filled"));
}

static json_t *or_null(json_t *schema)
{
    json_t *types = json_object_get(schema, "type");
    if (!json_is_array(types))
        return jr_schema_either(schema, json_pack("{s:s}", "type", "null"));
    (void)json_array_append_new(types, json_string("null"));
    return schema;
}

/* The items of a list by names; null stands for no item. */
static json_t *named_items(const json_t *item)
{
    return json_pack("{s:s,s:{s:s},s:o}", "type", "object", "propertyNames", "pattern",
                     "^[A-Za-z0-9_-]+$", "additionalProperties", or_null(json_deep_copy(item)));
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
    if (type->named)
        schema = jr_schema_either(schema, named_items(item));
    if (type->lone)
        return jr_schema_either(json_deep_copy(item), schema);
    return type->words == NULL ? schema
                               : jr_schema_either(or_filled(jr_schema_words(type)), schema);
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

static json_t *field_value(const struct jr_spec_field *field)
{
    bool resolved = field->need == JR_NEED_RESOLVED;
    json_t *value = value_schema(field->type);
    if (field->type->early)
        return value;
    return jr_schema_either(value, jr_schema_defined(resolved ? "missing" : "unstated"));
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
    json_t *sample = jr_field_sample(field);
    if (sample != NULL)
        (void)json_object_set_new(schema, "examples", json_pack("[o]", sample));
}

static json_t *field_schema(const struct jr_spec_field *field)
{
    json_t *schema = field_value(field);
    describe_field(schema, field);
    return schema;
}

/* No two of the forms that a mapping has one of. */
static json_t *forms_schema(const struct jr_spec_type *type)
{
    json_t *pairs = json_array();
    for (const char *const *a = type->forms; *a != NULL; a++)
        for (const char *const *b = a + 1; *b != NULL; b++)
            (void)json_array_append_new(pairs, json_pack("{s:{s:[s,s],s:{s:o,s:o}}}", "not",
                                                         "required", *a, *b, "properties", *a,
                                                         jr_schema_defined("stated"), *b,
                                                         jr_schema_defined("stated")));
    return pairs;
}

static json_t *map_schema(const struct jr_spec_type *type)
{
    json_t *properties = json_object();
    const struct jr_spec_field *row = type->fields;
    for (; row->key != NULL; row++)
        (void)json_object_set_new(properties, row->key, field_schema(row));
    json_t *schema =
        json_pack("{s:s,s:o,s:{s:{}},s:b}", "type", "object", "properties", properties,
                  "patternProperties", "^(x-.*|\\$schema)$", "additionalProperties", 0);
    if (type->forms != NULL)
        (void)json_object_set_new(schema, "allOf", forms_schema(type));
    if (type->shorthand == NULL)
        return schema;
    row = jr_field_get(type->fields, type->shorthand);
    return jr_schema_either(value_schema(row->type), schema);
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
            json_pack("{s:s}", "pattern", type->ranks ? JR_SCHEMA_SET : "^[^=]+$"));
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
        schema = jr_schema_scalar(type);
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
    json_t *one = jr_schema_defined("stated");
    return schema == NULL ? one : json_pack("{s:[o,o]}", "allOf", one, schema);
}

static json_t *field_duty(const struct jr_spec_field *field, enum duty duty)
{
    json_t *schema = duty_schema(field->type, duty);
    if (duty == REQUIRED || field->need == JR_NEED_RESOLVED)
        return schema;
    return stated_schema(schema);
}

static json_t *one_form(const struct jr_spec_type *type)
{
    json_t *choices = json_array();
    const char *const *form = type->forms;
    for (; form != NULL && *form != NULL; form++)
        (void)json_array_append_new(choices, json_pack("{s:[s]}", "required", *form));
    return choices;
}

/* Set a key to what says something; takes the value. */
static void set_unless_empty(json_t *schema, const char *key, json_t *value)
{
    if (json_object_size(value) + json_array_size(value) > 0)
        (void)json_object_set(schema, key, value);
    json_decref(value);
}

static json_t *field_duties(const struct jr_spec_field *row, enum duty duty)
{
    json_t *properties = json_object();
    for (; row != NULL && row->key != NULL; row++) {
        json_t *field = field_duty(row, duty);
        if (field != NULL)
            (void)json_object_set_new(properties, row->key, field);
    }
    return properties;
}

static json_t *required_fields(const struct jr_spec_field *row)
{
    json_t *required = json_array();
    for (; row != NULL && row->key != NULL; row++)
        if (row->need == JR_NEED_REQUIRED)
            (void)json_array_append_new(required, json_string(row->key));
    return required;
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
    set_unless_empty(schema, "properties", field_duties(type->fields, duty));
    if (duty == REQUIRED) {
        set_unless_empty(schema, "required", required_fields(type->fields));
        set_unless_empty(schema, "anyOf", one_form(type));
    }
    if (json_object_size(schema) > 0)
        return schema;
    json_decref(schema);
    return NULL;
}

/* An object in which the key is there, and is no null. */
static json_t *has_key_schema(const char *key)
{
    return json_pack("{s:[s],s:{s:o}}", "required", key, "properties", key,
                     jr_schema_defined("stated"));
}

/* A mapping in which every value has `key`'s property; takes the schema. */
static json_t *within_key_schema(const char *key, json_t *schema)
{
    return json_pack("{s:{s:o}}", "properties", key, schema);
}

/* Whether what is run is no function: one of the other forms. */
static json_t *no_function_schema(void)
{
    json_t *script =
        json_pack("{s:[o,o]}", "anyOf", has_key_schema("script"), has_key_schema("module"));
    json_t *python = json_pack("{s:[o,o]}", "allOf", has_key_schema("python"),
                               within_key_schema("python", script));
    return json_pack("{s:[o,o,o,o]}", "anyOf", has_key_schema("command"), has_key_schema("shell"),
                     has_key_schema("library"), python);
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
    json_t *entry = json_pack("{s:[s],s:{s:o}}", "required", "entrypoint", "properties",
                              "entrypoint", no_function_schema());
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
    json_t *whole = json_pack("{s:o,s:o}", "if", jr_schema_either(extends, base), "else",
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
    json_t *schema = jr_json_parse(text, len, NULL);
    const char *title = jr_json_get_str(schema, "title");
    bool same = title != NULL && strcmp(title, schema_title) == 0;
    json_decref(schema);
    return same;
}

void jr_spec_schema(struct jr_buf *out)
{
    json_t *head =
        json_pack("{s:s,s:s,s:s,s:s}", "$schema", "http://json-schema.org/draft-07/schema#", "$id",
                  JR_SCHEMA_FILE, "title", schema_title, "description",
                  "What a distributed job runs, on what, and what it must deliver. A "
                  "field that may be filled by jobrun takes null, auto or ??? too.");
    json_t *body = value_schema(jr_field_root());
    (void)json_object_update(head, body);
    add_duties(head);
    (void)json_object_set_new(head, "definitions", shared_definitions());
    jr_json_print(out, head, 2);
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        jr_buf_char(out, '\n');
    json_decref(body);
    json_decref(head);
}
