/*
 * Pieces of the JSON Schema. Private to this folder.
 *
 * jansson takes the NULL of an allocation that failed and refuses it, so without memory a schema
 * lacks something and nothing breaks.
 */
#ifndef JR_SCHEMA_PART_H
#define JR_SCHEMA_PART_H

#include "base/json.h"
#include "spec/field.h"

/* Ranks as patterns, of which nothing overlaps or runs backwards in a set. */
#define JR_SCHEMA_RANK   "(0|[1-9][0-9]*)"
#define JR_SCHEMA_RANGE  JR_SCHEMA_RANK "(-" JR_SCHEMA_RANK "(/[1-9][0-9]*)?)?"
#define JR_SCHEMA_RANGES JR_SCHEMA_RANGE "(," JR_SCHEMA_RANGE ")*"
#define JR_SCHEMA_SET    "^(all|none|" JR_SCHEMA_RANGES ")$"

/* {"anyOf": [a, b]}; takes both. One choice of three is not two of two. */
json_t *jr_schema_either(json_t *a, json_t *b);

/* A reference to the definition `name`. */
json_t *jr_schema_defined(const char *name);

/* {"type": "string", "pattern": pattern} */
json_t *jr_schema_pattern(const char *pattern);

/* The words of a type, with what they mean. */
json_t *jr_schema_words(const struct jr_spec_type *type);

/* What is read from one scalar, and redirects; NULL for the other kinds. */
json_t *jr_schema_scalar(const struct jr_spec_type *type);

/* The value that the example of a field gives it; NULL if there is none, and if memory runs out. */
json_t *jr_field_sample(const struct jr_spec_field *field);

#endif
