/* What a value in one of jobrun's JSON files may be: the part of a table's row from which the
 * file's schema is printed. */
#ifndef JR_JSON_SHAPE_H
#define JR_JSON_SHAPE_H

#include "base/json.h"

/* What a value may be. */
struct jr_json_shape {
    const char *text;         /* JSON Schema, an object; NULL: one of `words` */
    const char *const *words; /* the strings that it may be */
    size_t words_count;
    bool null;     /* it may be null, too */
    bool optional; /* its key may be absent */
    bool path;     /* it is a path in the run folder */
};

/* The shapes that several files have. */
#define JR_SHAPE_COUNT   "{\"type\": \"integer\", \"minimum\": 0}"
#define JR_SHAPE_TEXT    "{\"type\": \"string\"}"
#define JR_SHAPE_FLAG    "{\"type\": \"boolean\"}"
#define JR_SHAPE_SECONDS "{\"type\": \"number\", \"minimum\": 0}"
#define JR_SHAPE_SIGNAL                                                                            \
    "{\"type\": \"string\","                                                                       \
    " \"pattern\": \"^(SIG[A-Z0-9]+(\\\\+[0-9]+)?|signal [0-9]+)$\"}"
#define JR_SHAPE_CODE "{\"type\": \"integer\", \"minimum\": 0, \"maximum\": 255}"

/* The schema of the shape with its description; `help` NULL or empty: none. NULL where the text is
 * not JSON, or if memory runs out. */
json_t *jr_json_shape_schema(const struct jr_json_shape *shape, const char *help);

/* Add `key` with that schema to `properties`, and to `required` unless it is optional. */
void jr_json_shape_add(json_t *properties, json_t *required, const char *key, json_t *schema);

#endif
