/*
 * YAML text to a tree of nodes that remember where they stood. The only user of libyaml.
 *
 *   text --jr_doc_load--> jr_doc --jr_doc_get/find--> jr_node
 *                            `--jr_doc_emit--> text
 *
 * Several documents become one tree by extends.h, override.h and interpolate.h, in this order.
 *
 * The composer works on libyaml's events, so aliases are expanded under limits before memory is
 * spent: bytes, depth, nodes, alias expansions, one document. It finds duplicate keys. It knows
 * nothing of jobs.
 *
 * source_reader.c loads documents, node.c knows nodes, and emit.c writes them.
 */
#ifndef JR_DOC_H
#define JR_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/strv.h"
#include "diag/diag.h"

#define JR_DOC_MAX_BYTES   (1u << 20)
#define JR_DOC_MAX_DEPTH   64u
#define JR_DOC_MAX_NODES   100000u
#define JR_DOC_MAX_ALIASES 1000u

enum __attribute__((packed)) jr_node_kind { JR_NODE_SCALAR, JR_NODE_SEQUENCE, JR_NODE_MAPPING };

/* What a scalar is by the YAML 1.2 core schema, strictly: `yes`, `010`, `1_0` and everything quoted
 * are strings. */
enum jr_scalar_type {
    JR_SCALAR_NULL,
    JR_SCALAR_BOOL,
    JR_SCALAR_INT,
    JR_SCALAR_FLOAT,
    JR_SCALAR_STRING
};

struct jr_node;

/* A scalar that had ${...} in it, or an escaped one. */
struct jr_filled {
    const char *written;        /* as it stands in its source: what messages quote */
    const char *kept;           /* as a source can state it without the secrets in it;
                                   NULL: its text holds none */
    const struct jr_node *from; /* the scalar that it repeats, or NULL */
    bool unknown;               /* its value is not known; its text is that of the source */
};

struct jr_pair {
    struct jr_node *key; /* always a scalar */
    struct jr_node *value;
};

/* A file may have 100,000 of them, so they are kept to 64 bytes. */
struct jr_node {
    enum jr_node_kind kind;
    bool plain;          /* a scalar without quotes or block style */
    bool flow;           /* a collection in [] or {}; or inside one */
    bool shared;         /* has an anchor: its text may be shared */
    bool read, meant;    /* a ${...} names it; it has the tag !!str */
    uint32_t len;        /* scalar: bytes of text (a NUL inside is an error) */
    struct jr_span span; /* the node's own text, without anchor and tag; of a
                            block mapping the first key, of another collection
                            that takes several lines one character */
    union {
        const char *text;       /* scalar: without quotes, NUL-terminated */
        struct jr_node **items; /* sequence */
        struct jr_pair *pairs;  /* mapping, in the order of the text */
    };
    size_t count;                   /* of items or pairs */
    const struct jr_filled *filled; /* scalar: what ${...} did to it, or NULL */
    const struct jr_node *under;    /* what it took the place of when documents
                                       were merged, or NULL */
};

/* A file that a document extends, and where it is named. */
struct jr_route {
    const struct jr_source *source;
    struct jr_span at;
};

/* A loaded document. Nodes and sources live in its arena. */
struct jr_doc {
    struct jr_arena arena;
    struct jr_node *root; /* NULL when loading failed */
    struct jr_source *source;
    struct jr_route *routes; /* of the files that it extends */
    size_t routes_count;
    bool dollars;                /* a scalar has "${" in it */
    struct jr_strv hidden;       /* what is secret of the values that were put in */
    struct jr_strv hidden_names; /* the variable of each */
};

#define JR_DOC_INIT                                                                                \
    {                                                                                              \
        0                                                                                          \
    }

/* Compose `text` (any bytes; copied) under the name that positions show. All
 * that is wrong goes to `diags`, which quote the doc's source: release the
 * diags first, and the doc in any case. Returns 0, with or without findings, or
 * -1 when there is no tree to walk. */
int jr_doc_load(struct jr_doc *ret, const char *name, const char *text, size_t len,
                struct jr_diags *diags);

/* The same for a file: regular files only, at most JR_DOC_MAX_BYTES, "-" is standard input (named
 * `stdin`). A file that cannot be read is a diagnostic at line 0. */
int jr_doc_load_file(struct jr_doc *ret, const char *path, struct jr_diags *diags);

/* The same for one value on the command line, which begins at byte `from` of
 * `text` and has its positions there. A value of blanks is null. */
int jr_doc_load_value(struct jr_doc *ret, const char *name, const char *text, size_t from,
                      struct jr_diags *diags);

/* Free the tree and all that it points at. A zeroed or failed doc is allowed. */
void jr_doc_release(struct jr_doc *doc);

/* The type of a scalar, whose text decides when it is plain. */
enum jr_scalar_type jr_scalar_type(const struct jr_node *node);

/* The value of a key of a mapping. NULL if it has no such key, or the node is NULL or no
 * mapping. */
struct jr_node *jr_doc_get(const struct jr_node *mapping, const char *key);

/* The same for the pair, key and value. */
struct jr_pair *jr_doc_pair(const struct jr_node *mapping, const char *key);

/* Follow a dotted path with [i] for sequences ("results.fields.x.min", "hosts[2]") from `node`;
 * NULL where it ends early. */
struct jr_node *jr_doc_find(const struct jr_node *node, const char *path);

/* Building and changing trees. */

/* A new scalar in `arena` with a copy of the text, without a position. NULL if memory runs out, or
 * for a NULL text, for which there was none. */
struct jr_node *jr_node_scalar(struct jr_arena *arena, const char *text, bool plain);

/* The same for the first `len` bytes of a text, which is not NULL. */
struct jr_node *jr_node_scalar_n(struct jr_arena *arena, const char *text, size_t len, bool plain);

/* A new mapping without pairs or position. NULL if memory runs out. */
struct jr_node *jr_node_mapping(struct jr_arena *arena);

/* A new sequence without items or position. NULL if memory runs out. */
struct jr_node *jr_node_sequence(struct jr_arena *arena);

/* A deep copy of a tree, in `arena`; of NULL it is NULL. It keeps positions and what ${...} did to
 * scalars, but points at none of the nodes that others were merged over or filled in from. */
struct jr_node *jr_node_copy(struct jr_arena *arena, const struct jr_node *);

/* Append an item to a sequence. A NULL item, for which there was no memory, adds nothing. */
void jr_node_append(struct jr_arena *arena, struct jr_node *sequence, struct jr_node *item);

/* Append a pair, whether or not the key is there already: for many keys that are known to differ. A
 * NULL key or value, for which there was no memory, adds nothing. */
void jr_node_add(struct jr_arena *arena, struct jr_node *mapping, struct jr_node *key,
                 struct jr_node *value);

/* Set or replace a key, which is written as a string; looked for from the first on. */
void jr_node_set(struct jr_arena *arena, struct jr_node *mapping, const char *key,
                 struct jr_node *value);

/* Put `value` at a dotted path, making what is missing or null on the way:
 * mappings, and sequences where [i] is the next free index. False, and nothing
 * changed, where the path is malformed or leads through something else. */
bool jr_node_set_path(struct jr_arena *arena, struct jr_node *mapping, const char *path,
                      struct jr_node *value);

/* Append the tree as block YAML that reads back to the same values under YAML 1.2 core and 1.1
 * readers alike: a string that any of them could take for something else is quoted; short scalar
 * sequences go on one line. */
void jr_doc_emit(struct jr_buf *out, const struct jr_node *node);

/* Append the value on one line, in flow style, without a line break. */
void jr_doc_emit_line(struct jr_buf *out, const struct jr_node *node);

/* The steps of paths through nodes. */

/* Give a scalar another text, copied; NULL is none. If memory runs out, it keeps the one that it
 * has. */
void jr_node_rewrite(struct jr_arena *arena, struct jr_node *node, const char *text, size_t len);

/* One step of a dotted path: a key of a mapping, or an index of a sequence. */
struct jr_path_step {
    const char *key; /* not terminated; NULL: an index */
    size_t len;
    size_t index;
};

/* Take the first step off `path`, of which `whole` is the beginning, with the dot before it; false
 * when it is malformed. */
bool jr_path_next(const char **path, const char *whole, struct jr_path_step *ret);

/* The slot that a step leads to, or NULL. */
struct jr_node **jr_path_follow(const struct jr_node *node, const struct jr_path_step *step);

/* The collection that a step leads on from: `node`, or a new one where that is NULL or null. NULL
 * where it is of the wrong kind, or the index is beyond the next free one. */
struct jr_node *jr_path_enter(struct jr_arena *arena, struct jr_node *node,
                              const struct jr_path_step *step);

/* Put `child` where the step leads. */
void jr_path_attach(struct jr_arena *arena, struct jr_node *node, const struct jr_path_step *step,
                    struct jr_node *child);

/* The keys of a mapping: finding one among many. */

/* A key of a large mapping, with what makes it fast to compare. */
struct jr_key {
    uint64_t hash; /* of its text */
    const struct jr_pair *pair;
};

/* Whether a node can be a key: a scalar, and not the merge key. If not, that is a finding. */
bool jr_key_check(struct jr_diags *diags, const struct jr_node *key);

/* Report each key that a mapping has already. `arena` is for scratch memory. */
void jr_keys_check(struct jr_diags *diags, struct jr_arena *arena, const struct jr_node *mapping);

/* The keys of a mapping in an order in which they are found fast, in `arena`; NULL where there are
 * so few that this is not worth it. */
const struct jr_key *jr_keys_sort(struct jr_arena *arena, const struct jr_node *mapping);

/* The pair of a key, by `sorted` of jr_keys_sort; NULL for none. */
const struct jr_pair *jr_keys_find(const struct jr_node *mapping, const struct jr_key *sorted,
                                   const char *key);

/* Describing where something is and what is there: paths, text that is safe to show, and positions
 * within a scalar. */

/* One step of the way from the root to a node; steps live on the stack. A NULL key is a position in
 * a list. */
struct jr_node_step {
    const struct jr_node_step *up;
    const char *key;
    size_t index;
};

/* Append the dotted path of a step: "results.fields.loss", "hosts[2]". Safe to show. NULL is the
 * root, which has none. */
void jr_point_path(struct jr_buf *out, const struct jr_node_step *at);

/* Append text of the user's, made safe and short enough to show. */
void jr_point_text(struct jr_buf *out, const char *text, size_t len);

/* The position of bytes [from, to) of a scalar's text; the whole node where the text in the file is
 * not the text itself (folded lines, escapes, values that were put in). */
struct jr_span jr_point_part(const struct jr_node *node, size_t from, size_t to);

/* The position of bytes [from, to) of a source, both within it. */
struct jr_span jr_point_bytes(const struct jr_source *source, size_t from, size_t to);

/* Positions in a text, for the composer. libyaml's marks are code points from 0, its reader's
 * errors are bytes, and neither leads to the text; a place is all of it. Sources are
 * NUL-terminated. */
struct jr_place {
    size_t index, byte;    /* from 0: code points, bytes */
    uint32_t line, column; /* from 0 */
};

/* Walk forward to a code point or a byte; never backward, never past the end. Linear in the
 * distance. */
void jr_place_to_index(struct jr_place *place, const struct jr_source *source, size_t index);

/* The same for a byte. */
void jr_place_to_byte(struct jr_place *place, const struct jr_source *source, size_t byte);

/* The code point at the place; -1 at the end of the text. */
int jr_place_peek(const struct jr_place *place, const struct jr_source *source);

/* The span from `start` to before `end`. */
struct jr_span jr_place_span(const struct jr_source *source, struct jr_place start,
                             struct jr_place end);

/* How a scalar must be written. */

/* Whether `text` reads back as the same string without quotes, to YAML 1.2 and 1.1 readers alike;
 * `flow`: inside [ ]. */
bool jr_quote_needless(const char *text, size_t len, bool flow);

/* Whether the literal style (|) holds exactly this text. */
bool jr_quote_literal(const char *text, size_t len);

/* Append `text` in double quotes, on one line. Bytes that are not UTF-8, which YAML cannot hold,
 * become U+FFFD. */
void jr_quote_double(struct jr_buf *out, const char *text, size_t len);

#endif
