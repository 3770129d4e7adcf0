/*
 * The keys of a JSON object as the rows of a table. A key is a member of a struct, or what
 * functions make of several; its row says how it is written, read back and joined over several
 * objects, what it may be, and what that means: one table is the writer, the reader and the schema.
 */
#ifndef JR_JSON_ROW_H
#define JR_JSON_ROW_H

#include <stddef.h>

#include "base/arena.h"
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
#define JR_SHAPE_TEXTS   "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}"
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

/* How a member is stored, and what it is in JSON: its shape, unless the row has another one. */
enum jr_json_kind {
    JR_ROW_VALUE,   /* what `put` and `get` make of it; without them it is not written, or read */
    JR_ROW_VALUES,  /* the same, in a list of `rows` */
    JR_ROW_TEXT,    /* const char *, NULL: null; one that was read is the document's */
    JR_ROW_FLAG,    /* bool */
    JR_ROW_I32,     /* these four: a count, */
    JR_ROW_U32,     /* which is below `limit`, else 0, */
    JR_ROW_U64,     /* or, */
    JR_ROW_I64,     /* of this one, any whole number */
    JR_ROW_REAL,    /* double */
    JR_ROW_WORD,    /* an enum: the words of the shape are its values from `first` on */
    JR_ROW_SIGNAL,  /* int32_t, by its name */
    JR_ROW_SECONDS, /* uint64_t ms, in seconds */
    JR_ROW_SPAN,    /* uint64_t ns, in seconds, to the microsecond */
    JR_ROW_TIME,    /* uint64_t ns since the epoch, in seconds, to the millisecond */
    JR_ROW_OBJECT,  /* a struct with `rows` of its own */
    JR_ROW_LIST     /* a pointer to such structs; their number is the size_t at `count_at` */
};

/* When a member is null, and what null is when it is read. */
enum jr_json_none {
    JR_NONE_NEVER,
    JR_NONE_ZERO, /* 0 or less */
    JR_NONE_LESS, /* below 0; -1 */
    JR_NONE_EMPTY /* never; what is no text is "" */
};

/* How a key is joined for several objects, of which one decides. */
enum jr_json_join {
    JR_JOIN_OWN,     /* whoever joins them makes it; null until then */
    JR_JOIN_ANY,     /* what the one says that decides, else the first */
    JR_JOIN_DECIDER, /* what the one says that decides; null: none does */
    JR_JOIN_FIRST,   /* the first that is not null */
    JR_JOIN_SUM,
    JR_JOIN_MOST, /* the largest number */
    JR_JOIN_LEAST
};

struct jr_json_row {
    const char *key;
    const char *help; /* the description in the schema; NULL: none */
    enum jr_json_kind kind;
    enum jr_json_none none;
    enum jr_json_join join;
    uint32_t in;     /* which of the structs has the member */
    size_t at;       /* its offset there */
    size_t told_at;  /* JR_TOLD_BY; 0: it is none */
    size_t count_at; /* LIST, and the bytes of one: */
    size_t size;
    int32_t first;  /* WORD */
    uint32_t limit; /* U32; 0: there is none */
    const struct jr_json_row *rows;
    size_t rows_count;
    struct jr_json_shape shape;
    /* Append the key with its value, or nothing; instead of what the kind does. */
    void (*put)(struct jr_buf *out, const struct jr_json_row *row, const void *const *from);
    /* Read the value, NULL where the key is absent; likewise. */
    void (*get)(void *const *to, const struct jr_json_row *row, const json_t *value);
};

#define JR_AT(type, kind_, member) .kind = JR_ROW_##kind_, .at = offsetof(type, member)
/* It is null unless this bool of the struct is set, which reading a whole number does. */
#define JR_TOLD_BY(type, flag) .told_at = offsetof(type, flag) + 1
#define JR_ROWS(table)         .rows = (table), .rows_count = sizeof(table) / sizeof *(table)
#define JR_LIST(type, member, count, item, table)                                                  \
    JR_AT(type, LIST, member), .count_at = offsetof(type, count), .size = sizeof(item),            \
                               JR_ROWS(table)
#define JR_WORDS(list) .shape.words = (list), .shape.words_count = sizeof(list) / sizeof *(list)
/* Of an enum whose 0 is nothing, or null: the words after that. */
#define JR_WORDS_AFTER_0(list)                                                                     \
    .first = 1, .shape.words = (list) + 1, .shape.words_count = sizeof(list) / sizeof *(list)-1

/* Append the keys of an object; the caller adds the braces. `from` are the structs. */
void jr_json_rows_put(struct jr_buf *out, const struct jr_json_row *rows, size_t count,
                      const void *const *from);

/* Append one of them. */
void jr_json_row_put(struct jr_buf *out, const struct jr_json_row *row, const void *const *from);

/* Append the value alone of a member, but for a time. */
void jr_json_row_value(struct jr_buf *out, const struct jr_json_row *row, const void *from);

/* The object. The caller's; NULL where memory runs out. */
json_t *jr_json_rows_object(const struct jr_json_row *rows, size_t count, const void *const *from);

/* Read the keys of `object`, in their order; those that are not there as null. Lists are the
 * arena's, texts the object's. */
void jr_json_rows_get(const struct jr_json_row *rows, size_t count, void *const *to,
                      struct jr_arena *arena, const json_t *object);

/* Add the schemas of the rows that have a key. */
void jr_json_rows_schema(const struct jr_json_row *rows, size_t count, json_t *properties,
                         json_t *required);

/* Join `objects_count` objects, of which some may be NULL; `decider`: one of them, or NULL. The
 * caller's. */
json_t *jr_json_rows_join(const struct jr_json_row *rows, size_t count,
                          const json_t *const *objects, size_t objects_count,
                          const json_t *decider);

/* A whole number member: an enum is one, and a flag is 0 or 1. */
int64_t jr_json_row_load(const struct jr_json_row *row, const void *from);

/* Set it; a value that it cannot hold is cut to its type. */
void jr_json_row_store(const struct jr_json_row *row, void *to, int64_t value);

/* A number below `end`; 0 if it is not one. What is counted up to, or used as an index, comes from
 * here: a file may say anything. */
uint32_t jr_json_below(const json_t *value, uint32_t end);

#endif
