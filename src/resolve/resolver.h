/*
 * Inside the resolver: a cell per resolvable field, and what can be asked of it. The rules that
 * fill the cells are in rules.h. Private to this folder.
 */
#ifndef JR_RESOLVER_H
#define JR_RESOLVER_H

#include <jobrun/spec.h>

#include "resolve/resolve.h"
#include "spec/load.h"

/* Identifier, dotted path, how a stated value is read (NUMBER and TEXT from the member named last;
 * RULE by a rule of its own); in the field table's order. */
#define JR_FIELD_VALUES(X)                                                                         \
    X(WORLD_SIZE, "world_size", NUMBER, world_size)                                                \
    X(LOCAL, "local_world_size", RULE, local_world_size)                                           \
    X(NODES, "nodes", NUMBER, nodes)                                                               \
    X(NODE_RANK, "node_rank", RULE, node_rank)                                                     \
    X(RANK_START, "rank_start", RULE, rank_start)                                                  \
    X(HOSTS, "hosts", RULE, hosts)                                                                 \
    X(MASTER_ADDR, "master_addr", TEXT, master_addr)                                               \
    X(MASTER_PORT, "master_port", RULE, master_port)                                               \
    X(INIT_METHOD, "init_method", TEXT, init_method)                                               \
    X(DEVICE, "device", RULE, device)                                                              \
    X(DEVICES, "devices", RULE, devices)                                                           \
    X(BIND, "bind", RULE, bind)                                                                    \
    X(THREADS, "threads", NUMBER, threads)                                                         \
    X(MODEL, "parallelism.model", NUMBER, parallelism.model)                                       \
    X(PIPELINE, "parallelism.pipeline", NUMBER, parallelism.pipeline)                              \
    X(DATA, "parallelism.data", NUMBER, parallelism.data)                                          \
    X(BACKEND, "backends.default", TEXT, backends.fallback)                                        \
    X(BACKEND_MODEL, "backends.model", TEXT, backends.model)                                       \
    X(BACKEND_PIPELINE, "backends.pipeline", TEXT, backends.pipeline)                              \
    X(BACKEND_DATA, "backends.data", TEXT, backends.data)                                          \
    X(RUN, "timeouts.run", RULE, policy.timeouts)                                                  \
    X(STOP_GRACE, "timeouts.stop_grace", RULE, policy.timeouts)

#define JR_FIELD_VALUE_ENUM(name, path, kind, member) JR_##name,
enum jr_field { JR_FIELD_VALUES(JR_FIELD_VALUE_ENUM) JR_FIELD_COUNT };

#define JR_BIT(field) (1u << (field))

/* What is known of one field. A cell that failed has been complained about, and so nothing that
 * needs it is complained about again. */
struct jr_field_value {
    bool known, failed;
    bool fact; /* not decided by the spec alone */
    enum jr_origin origin;
    struct jr_span span;
    uint32_t number;  /* of LOCAL: the largest; of DEVICES: how many */
    const char *text; /* NULL: the number is the value */
    const char *detail, *rule;
    uint32_t needs; /* the cells that it was derived from, as bits */
};

struct jr_resolver {
    struct jr_resolution *out;
    struct jr_arena *arena; /* that of `out` */
    const struct jr_spec_file *file;
    const struct jr_spec *spec;
    const struct jr_host *hw;
    const struct jr_resolve_options *options;
    struct jr_diags *diags;
    struct jr_field_value cells[JR_FIELD_COUNT];
    const uint32_t *sizes; /* local_world_size as a list; NULL: one for all */
    uint32_t sizes_count;
    bool instances;              /* the devices are parts of GPUs */
    uint32_t slot_cores;         /* that a bound rank has, at least; 0: not bound */
    struct jr_timeouts timeouts; /* the spec's, as far as there is time */
    bool unknown;                /* a value is not known: see jr_resolve */
    bool invalid, unresolved;    /* what the findings so far mean */
};

#define JR_FIELD_VALUE(r, field) ((r)->cells[JR_##field])

/* Cells: rules.c. Messages tell values by what the source says: what ${...} put into them may be a
 * secret. */

/* Whether all of `fields` (bits) are known. */
bool jr_field_values_known(const struct jr_resolver *r, uint32_t fields);
/* Whether any of `fields` (bits) comes from a fact. */
bool jr_field_values_fact(const struct jr_resolver *r, uint32_t fields);
/* Whether the spec states it, --set included. */
bool jr_field_value_stated(const struct jr_field_value *cell);
/* Make `out` a value that the spec states at `path`. */
void jr_field_value_state(struct jr_resolver *r, struct jr_field_value *out, const char *path);
/* Fill the cells of kind NUMBER and TEXT that the spec states. */
void jr_field_values_seed(struct jr_resolver *r);
/* The dotted path of a field. */
const char *jr_field_value_path(enum jr_field field);
/* Whether the value of any of `fields` (bits) came from ${...}: then no number derived from it is
 * shown. */
bool jr_field_values_filled(struct jr_resolver *r, uint32_t fields);
/* The value for messages: "8", or "${env:N}" where the spec says so. */
const char *jr_field_value_value(struct jr_resolver *r, enum jr_field field);
/* "world_size 8", and where it comes from unless it is stated; the latter alone of what comes from
 * filled ones. */
const char *jr_field_value_say(struct jr_resolver *r, enum jr_field field);
/* A comma list in the resolver's arena; "none" when empty. */
const char *jr_field_value_list(struct jr_resolver *r, char *const *items, size_t count);
/* Write resolution->provenance. */
void jr_provenance_fill(struct jr_resolver *r);

#endif
