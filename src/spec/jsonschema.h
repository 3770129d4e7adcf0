/* The JSON Schema of a spec, made from the field table. */
#ifndef JR_JSONSCHEMA_H
#define JR_JSONSCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* The usual name of its file, which is its $id too: a URN would be absolute, but validators that
 * are older than 2021 cannot resolve references in it. */
#define JR_SCHEMA_FILE "jobspec-v1.schema.json"

/* What tells an editor with a YAML language server how specs look. */
#define JR_MODELINE                                                                                \
    "# yaml-language-server: $schema=" JR_SCHEMA_FILE "\n"                                         \
    "# (jobrun schema -o " JR_SCHEMA_FILE ", for editors)\n"

/* Append the schema (draft-07 keywords) with a final newline. */
void jr_spec_schema(struct jr_buf *out);

/* Whether a text is the schema of specs, as this build or another prints it. */
bool jr_spec_is_schema(const char *text, size_t len);

#endif
