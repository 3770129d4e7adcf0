/*
 * The contract of a job's results: where each rank's comes from, and what it has to satisfy.
 *
 * All strings are UTF-8, NUL-terminated and borrowed: they belong to the stage that made them,
 * which must outlive the reader.
 */
#ifndef JOBRUN_RESULT_SPEC_H
#define JOBRUN_RESULT_SPEC_H

#include <stdbool.h>
#include <stdint.h>

/* Where a rank's result comes from. */
#define JR_RESULT_FROMS(X)                                                                         \
    X(FILE, "file", "JSON that the rank writes to $JOBRUN_RESULT_FILE")                            \
    X(STDOUT, "stdout", "the last match of `pattern` on standard output")                          \
    X(STDERR, "stderr", "the last match of `pattern` on standard error")                           \
    X(RETURN, "return", "what the function returned")

/* The type of a result field. */
#define JR_JSON_TYPES(X)                                                                           \
    X(INTEGER, "integer", "a whole number")                                                        \
    X(NUMBER, "number", "any finite number")                                                       \
    X(STRING, "string", "a string")                                                                \
    X(BOOLEAN, "boolean", "true or false")                                                         \
    X(ARRAY, "array", "a JSON array")                                                              \
    X(OBJECT, "object", "a JSON object")

#define JR_ENUM_RESULT_FROM(name, word, help) JR_FROM_##name,
#define JR_ENUM_JSON_TYPE(name, word, help)   JR_JSON_##name,

enum jr_result_from { JR_RESULT_FROMS(JR_ENUM_RESULT_FROM) };
enum jr_json_type { JR_JSON_TYPES(JR_ENUM_JSON_TYPE) };

/* What one field of a result must be. NULL bounds are none. */
struct jr_result_field {
    char *name;
    enum jr_json_type type;
    char *min; /* numbers as they are written, which a double may not hold */
    char *max;
    char **enums; /* allowed values, as their JSON text */
    uint32_t enums_count;
    char *pattern;
    bool required;
};

/* The contract that each rank's result has to satisfy. */
struct jr_results {
    bool stated;    /* the spec has a `results` section */
    char *required; /* rank set: who must deliver */
    enum jr_result_from from;
    char *file;    /* per-rank template; NULL: $JOBRUN_RESULT_FILE */
    char *limit;   /* of a result's size, as "256MiB" */
    char *pattern; /* PCRE2; named groups are fields */
    struct jr_result_field *fields;
    uint32_t fields_count;
    char **equal;
    uint32_t equal_count;
    char **distinct;
    uint32_t distinct_count;
    char **artifacts; /* per-rank path templates */
    uint32_t artifacts_count;
};

#endif
