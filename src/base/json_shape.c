#include "base/json_shape.h"

#include <string.h>

#include "base/banned.h"

/* One of the words. A list of words that ends with null has that for null. */
static json_t *words_schema(const struct jr_json_shape *shape)
{
    json_t *schema = json_object(), *words = json_array();
    for (size_t i = 0; i < shape->words_count; i++)
        jr_json_append(words, jr_json_str(shape->words[i]));
    if (shape->null)
        jr_json_append(words, json_null());
    jr_json_set(schema, "enum", words);
    return schema;
}

/* Let it be null as well: by its type, where it has one. */
static void allow_null(json_t *schema)
{
    const char *type = jr_json_get_str(schema, "type");
    json_t *types = json_array();
    jr_json_append(types, jr_json_str(type));
    jr_json_append(types, jr_json_str("null"));
    jr_json_set(schema, "type", types);
}

json_t *jr_json_shape_schema(const struct jr_json_shape *shape, const char *help)
{
    json_t *schema = shape->text == NULL ? words_schema(shape)
                                         : jr_json_parse(shape->text, strlen(shape->text), NULL);
    if (shape->text != NULL && shape->null)
        allow_null(schema);
    if (help != NULL && help[0] != '\0')
        jr_json_set_str(schema, "description", help);
    return schema;
}

void jr_json_shape_add(json_t *properties, json_t *required, const char *key, json_t *schema)
{
    jr_json_set(properties, key, schema);
    if (required != NULL)
        jr_json_append(required, jr_json_str(key));
}
