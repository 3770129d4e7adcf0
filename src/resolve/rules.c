#include "resolve/rules.h"

#include <stddef.h>
#include <string.h>

#include "resolve/agreement.h"
#include "resolve/backend.h"
#include "resolve/cpu_binding.h"
#include "resolve/device_choice.h"
#include "resolve/device_kind.h"
#include "resolve/findings.h"
#include "resolve/node_rank.h"
#include "resolve/rank_ports.h"
#include "resolve/world_size.h"

#include "base/banned.h"

#define WORLD JR_BIT(JR_WORLD_SIZE)
#define LOCAL JR_BIT(JR_LOCAL)
#define NODES JR_BIT(JR_NODES)
#define MESH  (JR_BIT(JR_MODEL) | JR_BIT(JR_PIPELINE))

/* The contract's rules, best first. Explanations name what the better origins lacked; a function
 * that knows more puts its own in their place. */
static const struct jr_rule rules[] = {
    /* stated in forms that are more than one plain value */
    {JR_LOCAL, JR_ORIGIN_SPEC, 0, jr_rule_local_stated, NULL},
    {JR_HOSTS, JR_ORIGIN_SPEC, 0, jr_rule_hosts_stated, NULL},
    {JR_DEVICE, JR_ORIGIN_SPEC, 0, jr_rule_device_stated, NULL},
    /* the mesh */
    {JR_MODEL, JR_ORIGIN_DEFAULT, 0, jr_rule_one, "1 unless stated"},
    {JR_PIPELINE, JR_ORIGIN_DEFAULT, 0, jr_rule_one, "1 unless stated"},
    {JR_WORLD_SIZE, JR_ORIGIN_DERIVED, MESH | JR_BIT(JR_DATA), jr_rule_world_of_mesh,
     "data x model x pipeline"},
    {JR_DATA, JR_ORIGIN_DERIVED, MESH | WORLD, jr_rule_data, "world_size / (model x pipeline)"},
    /* sizes */
    {JR_NODES, JR_ORIGIN_DERIVED, LOCAL, jr_rule_nodes_of_list,
     "one per entry of local_world_size"},
    {JR_WORLD_SIZE, JR_ORIGIN_DERIVED, LOCAL, jr_rule_world_of_list, "sum of local_world_size"},
    {JR_NODES, JR_ORIGIN_DERIVED, JR_BIT(JR_HOSTS), jr_rule_nodes_of_hosts,
     "one per entry of hosts"},
    {JR_WORLD_SIZE, JR_ORIGIN_DERIVED, NODES | LOCAL, jr_rule_world_of_nodes,
     "nodes x local_world_size"},
    {JR_NODES, JR_ORIGIN_DERIVED, WORLD | LOCAL, jr_rule_nodes_of_world,
     "world_size / local_world_size"},
    {JR_NODES, JR_ORIGIN_SCHEDULER, 0, jr_rule_nodes_scheduled, "nodes of the allocation"},
    {JR_NODES, JR_ORIGIN_HARDWARE, 0, jr_rule_nodes_profile, "nodes of the profile; no scheduler"},
    {JR_NODES, JR_ORIGIN_DEFAULT, 0, jr_rule_nodes_alone,
     "this machine alone: no hosts, no scheduler"},
    {JR_LOCAL, JR_ORIGIN_DERIVED, WORLD | NODES, jr_rule_local_of_world, "world_size / nodes"},
    /* which of the nodes this is: others may have more ranks */
    {JR_NODE_RANK, JR_ORIGIN_DERIVED, NODES, jr_rule_node_rank, "the only node"},
    /* devices, and what follows from how many there are */
    {JR_DEVICE, JR_ORIGIN_HARDWARE, 0, jr_rule_device, "what the hardware has"},
    {JR_DEVICES, JR_ORIGIN_HARDWARE, JR_BIT(JR_DEVICE), jr_rule_devices, "all that are visible"},
    {JR_LOCAL, JR_ORIGIN_SCHEDULER, NODES | JR_BIT(JR_DEVICES), jr_rule_local_scheduled,
     "tasks per node, as asked for"},
    {JR_LOCAL, JR_ORIGIN_HARDWARE, JR_BIT(JR_DEVICES), jr_rule_local_of_devices,
     "devices per node"},
    /* of any devices those that are free, once it is known how many */
    {JR_LOCAL, JR_ORIGIN_HARDWARE, NODES | JR_BIT(JR_DEVICE), jr_rule_local_of_any,
     "devices per node"},
    {JR_DEVICES, JR_ORIGIN_LEASED, WORLD | LOCAL | JR_BIT(JR_DEVICE), jr_rule_devices_any,
     "the first that no run holds, as `any` asks"},
    {JR_BIND, JR_ORIGIN_HARDWARE, WORLD | LOCAL | JR_BIT(JR_DEVICES), jr_rule_bind, NULL},
    {JR_THREADS, JR_ORIGIN_ENVIRONMENT, 0, jr_rule_threads_env, "OMP_NUM_THREADS"},
    {JR_THREADS, JR_ORIGIN_HARDWARE, WORLD | LOCAL | JR_BIT(JR_BIND), jr_rule_threads,
     "physical cores / local ranks"},
    {JR_BACKEND, JR_ORIGIN_ENVIRONMENT, JR_BIT(JR_DEVICE), jr_rule_backend_env,
     "TORCH_DISTRIBUTED_BACKEND"},
    {JR_BACKEND, JR_ORIGIN_DERIVED, JR_BIT(JR_DEVICE), jr_rule_backend,
     "backend of the device; TORCH_DISTRIBUTED_BACKEND unset"},
    {JR_BACKEND_MODEL, JR_ORIGIN_DERIVED, JR_BIT(JR_BACKEND), jr_rule_backend_axis,
     "backends.default"},
    {JR_BACKEND_PIPELINE, JR_ORIGIN_DERIVED, JR_BIT(JR_BACKEND), jr_rule_backend_axis,
     "backends.default"},
    {JR_BACKEND_DATA, JR_ORIGIN_DERIVED, JR_BIT(JR_BACKEND), jr_rule_backend_axis,
     "backends.default"},
    /* places; the port last, since to lease it is to act */
    {JR_HOSTS, JR_ORIGIN_SCHEDULER, NODES, jr_rule_hosts, "hosts of the allocation"},
    {JR_RANK_START, JR_ORIGIN_DERIVED, LOCAL | JR_BIT(JR_NODE_RANK), jr_rule_rank_start,
     "ranks on earlier nodes"},
    {JR_MASTER_ADDR, JR_ORIGIN_DERIVED, NODES | JR_BIT(JR_HOSTS), jr_rule_master_addr,
     "first of hosts"},
    {JR_RUN, JR_ORIGIN_SCHEDULER, 0, jr_rule_run, "what is left of the job's time"},
    {JR_STOP_GRACE, JR_ORIGIN_SCHEDULER, 0, jr_rule_stop_grace,
     "KillWait - 10s: Slurm kills what is left then"},
    {JR_INIT_METHOD, JR_ORIGIN_DEFAULT, 0, jr_rule_init_method, "env:// unless stated"},
    {JR_MASTER_PORT, JR_ORIGIN_LEASED, NODES | JR_BIT(JR_NODE_RANK), jr_rule_master_port, NULL},
};

static bool is_rule_ready(const struct jr_resolver *r, const struct jr_rule *rule)
{
    const struct jr_field_value *out = &r->cells[rule->out];
    return !out->known && !out->failed && jr_field_values_known(r, rule->needs);
}

static bool is_from_facts(const struct jr_resolver *r, const struct jr_field_value *cell)
{
    bool own = !jr_field_value_stated(cell) && cell->origin != JR_ORIGIN_DERIVED &&
               cell->origin != JR_ORIGIN_DEFAULT;
    return own || jr_field_values_fact(r, cell->needs);
}

void jr_rules_show(struct jr_resolver *r, enum jr_field field, const struct jr_field_value *out)
{
    r->cells[field] = *out;
    r->cells[field].fact = out->fact || is_from_facts(r, out);
}

/* Try one rule; whether it changed anything. */
static bool fire_rule(struct jr_resolver *r, const struct jr_rule *rule)
{
    struct jr_field_value cell = {.origin = rule->origin, .rule = rule->text, .needs = rule->needs};
    enum jr_fired fired = rule->apply(r, &cell);
    if (fired == JR_PASSED)
        return false;
    if (jr_field_value_stated(&cell))
        cell.needs = 0;
    cell.known = fired == JR_FIRED;
    cell.failed = fired == JR_FAILED;
    jr_rules_show(r, rule->out, &cell);
    return true;
}

static bool fire_first_rule(struct jr_resolver *r)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (is_rule_ready(r, &rules[i]) && fire_rule(r, &rules[i]))
            return true;
    return false;
}

void jr_rules_run(struct jr_resolver *r)
{
    while (fire_first_rule(r))
        continue;
}

enum seed { SEED_NUMBER, SEED_TEXT, SEED_RULE };

#define CELL_ROW(name, path, kind, member) {path, SEED_##kind, offsetof(struct jr_spec, member)},

struct row {
    const char *path;
    enum seed seed;
    size_t offset; /* of the member in jr_spec */
};

static const struct row rows[] = {JR_FIELD_VALUES(CELL_ROW)};

bool jr_field_value_stated(const struct jr_field_value *cell)
{
    return cell->origin == JR_ORIGIN_SPEC || cell->origin == JR_ORIGIN_SET;
}

bool jr_field_values_known(const struct jr_resolver *r, uint32_t fields)
{
    for (unsigned i = 0; i < JR_FIELD_COUNT; i++)
        if ((fields & JR_BIT(i)) != 0 && !r->cells[i].known)
            return false;
    return true;
}

bool jr_field_values_fact(const struct jr_resolver *r, uint32_t fields)
{
    for (unsigned i = 0; i < JR_FIELD_COUNT; i++)
        if ((fields & JR_BIT(i)) != 0 && r->cells[i].fact)
            return true;
    return false;
}

void jr_field_value_state(struct jr_resolver *r, struct jr_field_value *out, const char *path)
{
    out->span = jr_spec_where(r->file, path);
    bool set = out->span.source != NULL && out->span.source->name != NULL &&
               strcmp(out->span.source->name, "--set") == 0;
    out->origin = set ? JR_ORIGIN_SET : JR_ORIGIN_SPEC;
    out->rule = NULL;
}

static bool seed_number(struct jr_resolver *r, size_t i, struct jr_field_value *cell)
{
    const char *base = (const char *)r->spec;
    const uint32_t *number;
    memcpy(&number, base + rows[i].offset, sizeof number);
    if (number == NULL)
        return false;
    cell->number = *number;
    return true;
}

static bool seed_text(struct jr_resolver *r, size_t i, struct jr_field_value *cell)
{
    const char *base = (const char *)r->spec;
    memcpy(&cell->text, base + rows[i].offset, sizeof cell->text);
    return cell->text != NULL;
}

void jr_field_values_seed(struct jr_resolver *r)
{
    for (size_t i = 0; i < JR_FIELD_COUNT; i++) {
        struct jr_field_value *cell = &r->cells[i];
        cell->failed = r->options->target != NULL && jr_spec_is_unknown(r->file, rows[i].path);
        r->unknown = r->unknown || cell->failed;
        if (rows[i].seed == SEED_RULE || cell->failed)
            continue;
        if (rows[i].seed == SEED_NUMBER ? !seed_number(r, i, cell) : !seed_text(r, i, cell))
            continue;
        jr_field_value_state(r, cell, rows[i].path);
        cell->known = true;
    }
}

static const char *cell_value(struct jr_resolver *r, const struct jr_field_value *cell)
{
    if (cell->text != NULL)
        return cell->text;
    return jr_arena_printf(r->arena, "%u", cell->number);
}

const char *jr_field_value_path(enum jr_field field)
{
    return rows[field].path;
}

static const char *cell_as_written(struct jr_resolver *r, enum jr_field field)
{
    return jr_field_value_stated(&r->cells[field])
               ? jr_spec_written(r->file, r->arena, rows[field].path)
               : NULL;
}

bool jr_field_values_filled(struct jr_resolver *r, uint32_t fields)
{
    for (unsigned i = 0; i < JR_FIELD_COUNT; i++)
        if ((fields & JR_BIT(i)) != 0 && (cell_as_written(r, (enum jr_field)i) != NULL ||
                                          jr_field_values_filled(r, r->cells[i].needs)))
            return true;
    return false;
}

const char *jr_field_value_value(struct jr_resolver *r, enum jr_field field)
{
    const char *source = cell_as_written(r, field);
    return source != NULL ? source : cell_value(r, &r->cells[field]);
}

/* Where a value comes from that the spec does not state. */
static const char *describe_origin(struct jr_resolver *r, const struct jr_field_value *cell)
{
    const char *why = cell->detail != NULL ? cell->detail : cell->rule;
    if (cell->origin == JR_ORIGIN_DERIVED || cell->origin == JR_ORIGIN_DEFAULT)
        return cell->rule;
    return jr_arena_printf(r->arena, "%s: %s", jr_explain_origin(r->out, cell->origin), why);
}

const char *jr_field_value_say(struct jr_resolver *r, enum jr_field field)
{
    const struct jr_field_value *cell = &r->cells[field];
    const char *path = rows[field].path;
    if (jr_field_value_stated(cell))
        return jr_arena_printf(r->arena, "%s %s", path, jr_field_value_value(r, field));
    if (jr_field_values_filled(r, cell->needs))
        return jr_arena_printf(r->arena, "%s (%s)", path, describe_origin(r, cell));
    return jr_arena_printf(r->arena, "%s %s (%s)", path, cell_value(r, cell),
                           describe_origin(r, cell));
}

const char *jr_field_value_list(struct jr_resolver *r, char *const *items, size_t count)
{
    struct jr_buf JR_BUF_CLEANUP buf = JR_BUF_INIT;
    for (size_t i = 0; i < count; i++)
        jr_buf_printf(&buf, "%s%s", i == 0 ? "" : ",", items[i] != NULL ? items[i] : "?");
    const char *text = count == 0 ? NULL : jr_buf_keep(&buf, r->arena);
    return text == NULL ? "none" : text;
}

/* A value as it may be written down: a secret is a reference. */
static const char *cell_without_secret(struct jr_resolver *r, const struct jr_field_value *cell,
                                       const char *path)
{
    const char *text = NULL;
    if (jr_field_value_stated(cell))
        text = jr_spec_kept(r->file, r->arena, path);
    return text != NULL ? text : cell_value(r, cell);
}

/* Where a stated value took the place of others. */
static void fill_overridden(struct jr_resolver *r, struct jr_provenance *row)
{
    struct jr_span span;
    for (size_t i = 0;; i++) {
        span = jr_spec_overridden(r->file, row->field, i);
        struct jr_span *slot = NULL;
        if (span.line != 0)
            slot = jr_arena_push(r->arena, &row->overridden, &row->overridden_count, sizeof *slot);
        if (slot == NULL)
            return;
        *slot = span;
    }
}

void jr_provenance_fill(struct jr_resolver *r)
{
    struct jr_resolution *out = r->out;
    out->provenance = jr_arena_array(r->arena, JR_FIELD_COUNT, sizeof *out->provenance);
    for (size_t i = 0; i < JR_FIELD_COUNT && out->provenance != NULL; i++) {
        const struct jr_field_value *cell = &r->cells[i];
        if (!cell->known)
            continue;
        out->provenance[out->provenance_count++] = (struct jr_provenance){
            .field = rows[i].path,
            .value = cell_without_secret(r, cell, rows[i].path),
            .origin = cell->origin,
            .span = cell->span,
            .detail = cell->detail,
            .rule = cell->rule,
        };
        if (jr_field_value_stated(cell))
            fill_overridden(r, &out->provenance[out->provenance_count - 1]);
    }
}
