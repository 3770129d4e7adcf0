#include "resolve/rules.h"

#include "base/banned.h"

#define WORLD JR_BIT(JR_WORLD_SIZE)
#define LOCAL JR_BIT(JR_LOCAL)
#define NODES JR_BIT(JR_NODES)
#define MESH  (JR_BIT(JR_MODEL) | JR_BIT(JR_PIPELINE))

/* The contract's rules, best first. Explanations name what the better origins
 * lacked; a function that knows more puts its own in their place. */
static const struct jr_rule rules[] = {
    /* stated in forms that are more than one plain value */
    {JR_LOCAL, JR_ORIGIN_SPEC, 0, jr_rule_local_stated, NULL},
    {JR_HOSTS, JR_ORIGIN_SPEC, 0, jr_rule_hosts_stated, NULL},
    {JR_DEVICE, JR_ORIGIN_SPEC, 0, jr_rule_device_stated, NULL},
    /* the mesh */
    {JR_MODEL, JR_ORIGIN_DEFAULT, 0, jr_rule_one, "1 unless stated"},
    {JR_PIPELINE, JR_ORIGIN_DEFAULT, 0, jr_rule_one, "1 unless stated"},
    {JR_WORLD_SIZE, JR_ORIGIN_DERIVED, MESH | JR_BIT(JR_DATA),
     jr_rule_world_of_mesh, "data x model x pipeline"},
    {JR_DATA, JR_ORIGIN_DERIVED, MESH | WORLD, jr_rule_data,
     "world_size / (model x pipeline)"},
    /* sizes */
    {JR_NODES, JR_ORIGIN_DERIVED, LOCAL, jr_rule_nodes_of_list,
     "one per entry of local_world_size"},
    {JR_WORLD_SIZE, JR_ORIGIN_DERIVED, LOCAL, jr_rule_world_of_list,
     "sum of local_world_size"},
    {JR_NODES, JR_ORIGIN_DERIVED, JR_BIT(JR_HOSTS), jr_rule_nodes_of_hosts,
     "one per entry of hosts"},
    {JR_WORLD_SIZE, JR_ORIGIN_DERIVED, NODES | LOCAL, jr_rule_world_of_nodes,
     "nodes x local_world_size"},
    {JR_NODES, JR_ORIGIN_DERIVED, WORLD | LOCAL, jr_rule_nodes_of_world,
     "world_size / local_world_size"},
    {JR_NODES, JR_ORIGIN_SCHEDULER, 0, jr_rule_nodes_scheduled,
     "nodes of the allocation"},
    {JR_NODES, JR_ORIGIN_HARDWARE, 0, jr_rule_nodes_profile,
     "nodes of the profile; no scheduler"},
    {JR_NODES, JR_ORIGIN_DEFAULT, 0, jr_rule_nodes_alone,
     "this machine alone: no hosts, no scheduler"},
    {JR_LOCAL, JR_ORIGIN_DERIVED, WORLD | NODES, jr_rule_local_of_world,
     "world_size / nodes"},
    /* which of the nodes this is: others may have more ranks */
    {JR_NODE_RANK, JR_ORIGIN_DERIVED, NODES, jr_rule_node_rank,
     "the only node"},
    /* devices, and what follows from how many there are */
    {JR_DEVICE, JR_ORIGIN_HARDWARE, 0, jr_rule_device, "what the hardware has"},
    {JR_DEVICES, JR_ORIGIN_HARDWARE, JR_BIT(JR_DEVICE), jr_rule_devices,
     "all that are visible"},
    {JR_LOCAL, JR_ORIGIN_SCHEDULER, NODES | JR_BIT(JR_DEVICES),
     jr_rule_local_scheduled, "tasks per node, as asked for"},
    {JR_LOCAL, JR_ORIGIN_HARDWARE, JR_BIT(JR_DEVICES), jr_rule_local_of_devices,
     "devices per node"},
    {JR_BIND, JR_ORIGIN_HARDWARE, WORLD | LOCAL | JR_BIT(JR_DEVICES),
     jr_rule_bind, NULL},
    {JR_THREADS, JR_ORIGIN_ENVIRONMENT, 0, jr_rule_threads_env,
     "OMP_NUM_THREADS"},
    {JR_THREADS, JR_ORIGIN_HARDWARE, WORLD | LOCAL | JR_BIT(JR_BIND),
     jr_rule_threads, "physical cores / local ranks"},
    {JR_BACKEND, JR_ORIGIN_ENVIRONMENT, JR_BIT(JR_DEVICE), jr_rule_backend_env,
     "TORCH_DISTRIBUTED_BACKEND"},
    {JR_BACKEND, JR_ORIGIN_DERIVED, JR_BIT(JR_DEVICE), jr_rule_backend,
     "backend of the device; TORCH_DISTRIBUTED_BACKEND unset"},
    {JR_BACKEND_MODEL, JR_ORIGIN_DERIVED, JR_BIT(JR_BACKEND),
     jr_rule_backend_axis, "backends.default"},
    {JR_BACKEND_PIPELINE, JR_ORIGIN_DERIVED, JR_BIT(JR_BACKEND),
     jr_rule_backend_axis, "backends.default"},
    {JR_BACKEND_DATA, JR_ORIGIN_DERIVED, JR_BIT(JR_BACKEND),
     jr_rule_backend_axis, "backends.default"},
    /* places; the port last, since to lease it is to act */
    {JR_HOSTS, JR_ORIGIN_SCHEDULER, NODES, jr_rule_hosts,
     "hosts of the allocation"},
    {JR_RANK_START, JR_ORIGIN_DERIVED, LOCAL | JR_BIT(JR_NODE_RANK),
     jr_rule_rank_start, "ranks on earlier nodes"},
    {JR_MASTER_ADDR, JR_ORIGIN_DERIVED, NODES | JR_BIT(JR_HOSTS),
     jr_rule_master_addr, "first of hosts"},
    {JR_RUN, JR_ORIGIN_SCHEDULER, 0, jr_rule_run,
     "what is left of the job's time"},
    {JR_STOP_GRACE, JR_ORIGIN_SCHEDULER, 0, jr_rule_stop_grace,
     "KillWait - 10s: Slurm kills what is left then"},
    {JR_INIT_METHOD, JR_ORIGIN_DEFAULT, 0, jr_rule_init_method,
     "env:// unless stated"},
    {JR_MASTER_PORT, JR_ORIGIN_LEASED, NODES | JR_BIT(JR_NODE_RANK),
     jr_rule_master_port, NULL},
};

static bool is_rule_ready(const struct jr_resolver *r,
                          const struct jr_rule *rule)
{
    const struct jr_field_value *out = &r->cells[rule->out];
    return !out->known && !out->failed && jr_field_values_known(r, rule->needs);
}

static bool is_from_facts(const struct jr_resolver *r,
                          const struct jr_field_value *cell)
{
    bool own = !jr_field_value_stated(cell) &&
               cell->origin != JR_ORIGIN_DERIVED &&
               cell->origin != JR_ORIGIN_DEFAULT;
    return own || jr_field_values_fact(r, cell->needs);
}

void jr_rules_show(struct jr_resolver *r, enum jr_field field,
                   const struct jr_field_value *out)
{
    r->cells[field] = *out;
    r->cells[field].fact = out->fact || is_from_facts(r, out);
}

/* Try one rule; whether it changed anything. */
static bool fire_rule(struct jr_resolver *r, const struct jr_rule *rule)
{
    struct jr_field_value cell = {
        .origin = rule->origin, .rule = rule->text, .needs = rule->needs};
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
