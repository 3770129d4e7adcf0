/* The JSON Schema of a spec, made from the field table. */
#ifndef JR_JSONSCHEMA_H
#define JR_JSONSCHEMA_H

#include "base/buf.h"

/* Append the schema (draft-07 keywords) with a final newline. */
void jr_spec_schema(struct jr_buf *out);

#endif
