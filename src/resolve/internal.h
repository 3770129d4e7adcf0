/*
 * Inside the resolver: a cell for each field that can be resolved, the rules that fill the cells,
 * and what is said of them. Private to this folder.
 *
 * A rule fires when the cells that it needs are known and the one that it fills is not. The table,
 * in rules.c, is in order of preference. After every firing it is read from the top again, so a
 * default is never used while a derivation is still possible.
 */
#ifndef JR_RESOLVE_INTERNAL_H
#define JR_RESOLVE_INTERNAL_H

#include <jobrun/spec.h>

#include "base/strv.h"
#include "diag/codes.h"
#include "doc/doc.h"
#include "resolve/resolve.h"
#include "spec/load.h"

/* Identifier, dotted path, how a stated value is read and from which member of jr_spec, and how the
 * value is put into the job and to which member of jr_job: as a NUMBER, a TEXT, or by a RULE of its
 * own. In the field table's order. */
#define JR_FIELD_VALUES(X)                                                                         \
    X(WORLD_SIZE, "world_size", NUMBER, world_size, NUMBER, world_size)                            \
    X(LOCAL, "local_world_size", RULE, local_world_size, RULE, local_world_sizes)                  \
    X(NODES, "nodes", NUMBER, nodes, NUMBER, nodes)                                                \
    X(NODE_RANK, "node_rank", RULE, node_rank, NUMBER, node_rank)                                  \
    X(RANK_START, "rank_start", RULE, rank_start, NUMBER, rank_start)                              \
    X(HOSTS, "hosts", RULE, hosts, RULE, hosts)                                                    \
    X(MASTER_ADDR, "master_addr", TEXT, master_addr, TEXT, master_addr)                            \
    X(MASTER_PORT, "master_port", RULE, master_port, NUMBER, master_port)                          \
    X(INIT_METHOD, "init_method", TEXT, init_method, TEXT, init_method)                            \
    X(DEVICE, "device", RULE, device, TEXT, device_name)                                           \
    X(DEVICES, "devices", RULE, devices, RULE, own.devices)                                        \
    X(BIND, "bind", RULE, bind, TEXT, bind)                                                        \
    X(THREADS, "threads", NUMBER, threads, NUMBER, own.threads)                                    \
    X(MODEL, "parallelism.model", NUMBER, parallelism.model, NUMBER, axis_size[JR_AXIS_MODEL])     \
    X(PIPELINE, "parallelism.pipeline", NUMBER, parallelism.pipeline, NUMBER,                      \
      axis_size[JR_AXIS_PIPELINE])                                                                 \
    X(DATA, "parallelism.data", NUMBER, parallelism.data, NUMBER, axis_size[JR_AXIS_DATA])         \
    X(BACKEND, "backends.default", TEXT, backends.fallback, TEXT, backend)                         \
    X(BACKEND_MODEL, "backends.model", TEXT, backends.model, TEXT, axis_backend[JR_AXIS_MODEL])    \
    X(BACKEND_PIPELINE, "backends.pipeline", TEXT, backends.pipeline, TEXT,                        \
      axis_backend[JR_AXIS_PIPELINE])                                                              \
    X(BACKEND_DATA, "backends.data", TEXT, backends.data, TEXT, axis_backend[JR_AXIS_DATA])        \
    X(RUN, "timeouts.run", RULE, policy.timeouts, RULE, policy)                                    \
    X(STOP_GRACE, "timeouts.stop_grace", RULE, policy.timeouts, RULE, policy)

#define JR_FIELD_VALUE_ENUM(name, path, kind, member, job_kind, job_member) JR_##name,
enum jr_field { JR_FIELD_VALUES(JR_FIELD_VALUE_ENUM) JR_FIELD_COUNT };

enum jr_field_kind { JR_FIELD_RULE, JR_FIELD_NUMBER, JR_FIELD_TEXT };

/* A row of JR_FIELD_VALUES; `at` of the members in jr_spec and jr_job. */
struct jr_field_row {
    const char *path;
    enum jr_field_kind stated;
    size_t stated_at;
    enum jr_field_kind job;
    size_t job_at;
};

extern const struct jr_field_row jr_field_rows[JR_FIELD_COUNT];

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
    struct jr_strv hidden, hidden_names; /* of the job, as they are found */
    bool instances;                      /* the devices are parts of GPUs */
    uint32_t slot_cores;                 /* that a bound rank has, at least; 0: not bound */
    struct jr_timeouts timeouts;         /* the spec's, as far as there is time */
    bool unknown;                        /* a value is not known: see jr_resolve */
    bool invalid, unresolved;            /* what the findings so far mean */
};

#define JR_FIELD_VALUE(r, field) ((r)->cells[JR_##field])

/* Cells: field_value.c. Messages tell values by what the source says: what ${...} put into them may
 * be a secret. */

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

/* Report that the cells `fields` (bits) do not go together: positioned at the stated ones that they
 * come from, all of them named. It is the spec's own fault unless a fact took part. */
struct jr_diag *jr_rules_clash(struct jr_resolver *r, enum jr_diag_code code, uint32_t fields,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same where the machine is what refuses. */
struct jr_diag *jr_rules_refuse(struct jr_resolver *r, enum jr_diag_code code, uint32_t fields,
                                const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same as a warning, where the machine is only doubtful. */
struct jr_diag *jr_rules_warn(struct jr_resolver *r, enum jr_diag_code code, uint32_t fields,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Append the position of what is stated, the origin of the rest, and the detail: "hardware: 8
 * usable devices". */
void jr_explain_from(struct jr_buf *out, const struct jr_resolution *resolution,
                     const struct jr_provenance *row);

/* What came of trying a rule. */
enum jr_fired { JR_PASSED, JR_FIRED, JR_FAILED };

/* A rule: fills the blank cell `out`, whose origin and text are those of its row until it says
 * better; JR_PASSED leaves the field to later rows. */
typedef enum jr_fired jr_rule_apply(struct jr_resolver *r, struct jr_field_value *out);

/* Those of other files than rules.c: the devices and their backends, the CPUs, the port, the time
 * that the allocation leaves. */
jr_rule_apply jr_rule_device_stated, jr_rule_device, jr_rule_devices, jr_rule_devices_any;
jr_rule_apply jr_rule_backend_env, jr_rule_backend, jr_rule_backend_axis;
jr_rule_apply jr_rule_bind, jr_rule_threads_env, jr_rule_threads;
jr_rule_apply jr_rule_master_port;
jr_rule_apply jr_rule_run, jr_rule_stop_grace;

/* Fill all cells that can be filled. */
void jr_rules_run(struct jr_resolver *r);
/* Let findings about the cell that a rule is filling point at it. */
void jr_rules_show(struct jr_resolver *r, enum jr_field field, const struct jr_field_value *out);
/* Look for contradictions among the filled cells: agreement.c. */
void jr_checks_run(struct jr_resolver *r);

/* What the scheduler gave this job; NULL: no scheduler, or nothing. */
const struct jr_host_scheduler *jr_place_allocation(const struct jr_resolver *r);
/* The source of a fact of the scheduler, for people: "SLURM_NNODES of Slurm job 77". `fact` is its
 * key in a facts file. */
const char *jr_place_said(struct jr_resolver *r, const char *fact);
/* The number of ranks on a node, once LOCAL is known. */
uint32_t jr_place_local(const struct jr_resolver *r, uint32_t node);
/* How many spares the job has; --local has none. */
uint32_t jr_place_spares(const struct jr_resolver *r);
/* How many ranks may share this machine: its node's, where it is known which that is; of nodes that
 * are taken to be alike the most; all with --local. */
uint32_t jr_place_here(const struct jr_resolver *r);

/* The device of a kind that an entry of `devices` names; NULL: none, as for a NULL name. */
const struct jr_host_device *jr_device_find(const struct jr_host *hw, enum jr_device kind,
                                            const char *name);
/* The variable that narrows which devices of the job's kind are seen; NULL: none. */
const char *jr_device_variable(const struct jr_resolver *r);
/* How many devices of the job's kind are visible here. */
uint32_t jr_devices_usable(const struct jr_resolver *r);
/* Whether the spec names devices one by one, for all nodes alike. */
bool jr_devices_listed(const struct jr_resolver *r);
/* Whether any free devices will do; false on the CPU, which has none. */
bool jr_devices_are_any(const struct jr_resolver *r);
/* Lease the devices of the ranks here, once all cells are known, and tell who else has them. False
 * after a complaint, or if memory runs out. */
bool jr_devices_lease(struct jr_resolver *r);
/* Report backends that cannot drive the job's device. */
void jr_check_backends(struct jr_resolver *r);
/* Whether the spec asks for a profile of variables. */
bool jr_spec_has_profile(const struct jr_spec *spec, const char *name);

/* How many of `usable` CPUs or cores ranks may count on: the CFS quota rounded down where that is
 * less (2.5 gives 2: one rank that is throttled holds up all the others); at least 1. 0 when
 * neither is known. */
uint32_t jr_cpus_within_quota(const struct jr_host *hw, uint32_t usable);

/* Give each rank a port of its own where a profile wants that, once all cells are known. False
 * after a complaint, or if memory runs out. */
bool jr_rank_ports_fill(struct jr_resolver *r);
/* Give the ranks' ports back. */
void jr_rank_ports_release(struct jr_resolution *resolution);

/* The spec's tree in the order of the field table, in `arena`, with every field filled that has a
 * value; `???` in place of secrets. `resolution` NULL: as far as it can be told without a machine.
 * The spec has no mistake. NULL if memory runs out. */
struct jr_node *jr_resolved_tree(struct jr_arena *arena, const struct jr_resolution *resolution,
                                 const struct jr_spec_file *file);

/* Take a key out of a mapping, if it is there. */
void jr_tree_leave_out(struct jr_node *mapping, const char *key);

/* Read a facts file strictly into *ret, which has its defaults: `text`, or where that is NULL the
 * file called `name`. `arena` owns the text and the facts. Returns 0, or -1 with the mistakes in
 * `diags`. */
int jr_facts_read(struct jr_host *ret, struct jr_arena *arena, const char *name, const char *text,
                  size_t len, struct jr_diags *diags);

#endif
