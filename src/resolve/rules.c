/* The rules by which fields are filled, those on sizes and places first. Declared in internal.h. */
#include "resolve/internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/banned.h"

#define NUMBER(r, field) ((uint64_t)JR_FIELD_VALUE(r, field).number)

/* A list of more entries than this is not spelled out in a help line. */
#define LIST_SHOWN 16

/* Take `value` unless it is beyond all reason. */
static enum jr_fired take_size(struct jr_resolver *r, struct jr_field_value *out, uint64_t value)
{
    if (value > JR_RANKS_MAX) {
        const char *number = "";
        if (!jr_field_values_filled(r, out->needs))
            number = jr_arena_printf(r->arena, " %" PRIu64 ",", value);
        jr_rules_clash(r, JR_CODE_WORLD_TOO_LARGE, out->needs, "%s comes to%s more than %u ranks",
                       out->rule, number, JR_RANKS_MAX);
        return JR_FAILED;
    }
    out->number = (uint32_t)value;
    return JR_FIRED;
}

/* Offer sizes of the world that divide, unless they tell what was filled in. */
static void offer_world_sizes(struct jr_resolver *r, struct jr_diag *diag, uint32_t fields,
                              uint64_t unit, const char *besides)
{
    uint64_t below = NUMBER(r, WORLD_SIZE) / unit * unit;
    const char *sizes = jr_arena_printf(r->arena, "%" PRIu64, unit);
    if (below > 0)
        sizes = jr_arena_printf(r->arena, "%" PRIu64 ", %" PRIu64, below, below + unit);
    if (!jr_field_values_filled(r, fields))
        jr_diag_help(r->diags, diag, "nearest world sizes that do: %s%s", sizes, besides);
}

/* "; or one size per node: local_world_size: [3, 3, 2]": as even as possible,
 * or `each` per node as long as there are ranks; "" if a node would get none.
 */
static const char *list_form(struct jr_resolver *r, uint32_t nodes, uint32_t each)
{
    uint32_t world = JR_FIELD_VALUE(r, WORLD_SIZE).number;
    if (world < nodes || nodes < 2 || nodes > LIST_SHOWN)
        return "";
    const char *list = "";
    for (uint32_t i = 0; i < nodes && list != NULL; i++) {
        uint32_t size = world / nodes + (i < world % nodes);
        if (each != 0)
            size = i < world / each ? each : world % each;
        list = jr_arena_printf(r->arena, "%s%s%u", list, i == 0 ? "" : ", ", size);
    }
    return jr_arena_printf(r->arena, "; or one size per node: local_world_size: [%s]", list);
}

static enum jr_fired rule_one(struct jr_resolver *r, struct jr_field_value *out)
{
    (void)r;
    out->number = 1;
    return JR_FIRED;
}

static enum jr_fired rule_world_of_mesh(struct jr_resolver *r, struct jr_field_value *out)
{
    uint64_t group = NUMBER(r, MODEL) * NUMBER(r, PIPELINE);
    uint64_t data = NUMBER(r, DATA);
    bool huge = group > JR_RANKS_MAX; /* and the product could overflow */
    return take_size(r, out, huge ? group : group * data);
}

static enum jr_fired rule_data(struct jr_resolver *r, struct jr_field_value *out)
{
    uint64_t world = NUMBER(r, WORLD_SIZE);
    uint64_t group = NUMBER(r, MODEL) * NUMBER(r, PIPELINE);
    out->rule =
        jr_arena_printf(r->arena, "world_size / (model %s x pipeline %s)",
                        jr_field_value_value(r, JR_MODEL), jr_field_value_value(r, JR_PIPELINE));
    if (world % group == 0)
        return take_size(r, out, world / group);
    struct jr_diag *diag = jr_rules_clash(
        r, JR_CODE_WORLD_SIZE_INDIVISIBLE, out->needs,
        "%s does not divide by model %s x pipeline %s", jr_field_value_say(r, JR_WORLD_SIZE),
        jr_field_value_value(r, JR_MODEL), jr_field_value_value(r, JR_PIPELINE));
    offer_world_sizes(r, diag, out->needs, group, "");
    return JR_FAILED;
}

/* "[3,2,1]"; a list of equal sizes reads as the one size. */
static const char *describe_sizes(struct jr_resolver *r)
{
    struct jr_buf JR_BUF_CLEANUP buf = JR_BUF_INIT;
    bool same = true;
    for (uint32_t i = 0; i < r->sizes_count; i++) {
        same = same && r->sizes[i] == r->sizes[0];
        jr_buf_printf(&buf, "%c%u", i == 0 ? '[' : ',', r->sizes[i]);
    }
    jr_buf_char(&buf, ']');
    return same ? NULL : jr_buf_keep(&buf, r->arena);
}

static enum jr_fired rule_local_stated(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_spec *spec = r->spec;
    if (spec->local_world_size == NULL || spec->local_world_size_count == 0)
        return JR_PASSED;
    jr_field_value_state(r, out, "local_world_size");
    if (spec->local_world_size_count > 1) {
        r->sizes = spec->local_world_size;
        r->sizes_count = spec->local_world_size_count;
        out->text = describe_sizes(r);
    }
    for (uint32_t i = 0; i < spec->local_world_size_count; i++)
        if (spec->local_world_size[i] > out->number)
            out->number = spec->local_world_size[i];
    return take_size(r, out, out->number);
}

static enum jr_fired rule_nodes_of_list(struct jr_resolver *r, struct jr_field_value *out)
{
    if (r->sizes == NULL)
        return JR_PASSED;
    out->number = r->sizes_count;
    return JR_FIRED;
}

static enum jr_fired rule_world_of_list(struct jr_resolver *r, struct jr_field_value *out)
{
    if (r->sizes == NULL)
        return JR_PASSED;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->sizes_count; i++)
        sum += r->sizes[i];
    return take_size(r, out, sum);
}

static enum jr_fired rule_world_of_nodes(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_field_value *local = &JR_FIELD_VALUE(r, LOCAL);
    /* what was counted in devices or CPUs says so itself */
    if (local->origin == JR_ORIGIN_HARDWARE || local->origin == JR_ORIGIN_SCHEDULER) {
        out->origin = local->origin;
        out->detail = local->detail;
    }
    return take_size(r, out, NUMBER(r, NODES) * NUMBER(r, LOCAL));
}

/* Divide the world by NODES or LOCAL, whichever is known: that gives the other one. */
static enum jr_fired rule_divide_world(struct jr_resolver *r, struct jr_field_value *out)
{
    enum jr_field by = (out->needs & JR_BIT(JR_LOCAL)) != 0 ? JR_LOCAL : JR_NODES;
    uint32_t world = JR_FIELD_VALUE(r, WORLD_SIZE).number;
    uint32_t unit = r->cells[by].number;
    if (world % unit == 0)
        return take_size(r, out, world / unit);
    struct jr_diag *diag = jr_rules_clash(
        r, JR_CODE_WORLD_INDIVISIBLE_BY_NODES, out->needs, "%s does not divide by %s",
        jr_field_value_say(r, JR_WORLD_SIZE), jr_field_value_say(r, by));
    offer_world_sizes(r, diag, out->needs, unit,
                      by == JR_LOCAL ? list_form(r, world / unit + 1, unit)
                                     : list_form(r, unit, 0));
    return JR_FAILED;
}

/* Let each node have a size of its own, unless all have the same. */
static void take_sizes_of_nodes(struct jr_resolver *r, struct jr_field_value *out,
                                const struct jr_counts *each)
{
    r->sizes = each->items;
    r->sizes_count = each->count;
    out->text = describe_sizes(r);
    if (out->text == NULL) {
        r->sizes = NULL;
        r->sizes_count = 0;
    }
}

/* Tasks of 1 per node start jobrun itself, and slots are CPUs, which are not counted where there
 * are devices: neither asks for ranks. */
static enum jr_fired rule_local_scheduled(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_host_scheduler *scheduler = jr_place_allocation(r);
    bool asked = scheduler != NULL && !r->options->local &&
                 scheduler->tasks.count == JR_FIELD_VALUE(r, NODES).number &&
                 (!scheduler->slots || r->out->job.device == JR_DEVICE_CPU);
    for (uint32_t i = 0; asked && i < scheduler->tasks.count; i++)
        if (scheduler->tasks.items[i] > out->number)
            out->number = scheduler->tasks.items[i];
    if (out->number <= 1)
        return JR_PASSED;
    take_sizes_of_nodes(r, out, &scheduler->tasks);
    out->detail = jr_place_said(r, scheduler->slots ? "hosts" : "tasks");
    return take_size(r, out, out->number);
}

static enum jr_fired refuse_uncounted(struct jr_resolver *r, const char *what, const char *help)
{
    struct jr_diag *diag =
        jr_rules_refuse(r, JR_CODE_FIELD_STILL_MISSING, JR_BIT(JR_DEVICE),
                        "local_world_size is MISSING, and jobrun cannot count the %s",
                        what != NULL ? what : "devices");
    jr_diag_help(r->diags, diag, "state local_world_size, %s", help);
    return JR_FAILED;
}

/* If the nodes were asked and differ, each has its own number, at least one; a node without one
 * reports it itself. */
static enum jr_fired take_each_size(struct jr_resolver *r, struct jr_field_value *out,
                                    const struct jr_counts *each)
{
    bool all = each->count > 0 && JR_FIELD_VALUE(r, NODES).known &&
               each->count == JR_FIELD_VALUE(r, NODES).number;
    for (uint32_t i = 0; i < each->count; i++)
        all = all && each->items[i] > 0;
    for (uint32_t i = 0; all && i < each->count; i++)
        if (each->items[i] > out->number)
            out->number = each->items[i];
    if (all)
        take_sizes_of_nodes(r, out, each);
    return take_size(r, out, out->number);
}

static enum jr_fired rule_local_of_any(struct jr_resolver *r, struct jr_field_value *out)
{
    if (!jr_devices_are_any(r))
        return JR_PASSED;
    struct jr_field_value scheduled = *out;
    scheduled.origin = JR_ORIGIN_SCHEDULER;
    scheduled.rule = "tasks per node, as asked for";
    enum jr_fired fired = rule_local_scheduled(r, &scheduled);
    if (fired != JR_PASSED) {
        *out = scheduled;
        return fired;
    }
    out->number = jr_devices_usable(r);
    return out->number == 0 ? JR_PASSED : take_each_size(r, out, &r->hw->devices_each);
}

static enum jr_fired rule_local_of_devices(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_field_value *devices = &JR_FIELD_VALUE(r, DEVICES);
    enum jr_device device = r->out->job.device;
    out->detail = devices->detail;
    if (device == JR_DEVICE_CPU) {
        out->number = jr_cpus_within_quota(r->hw, r->hw->cpus.usable);
        if (out->number == 0)
            return refuse_uncounted(r, "CPUs", "or give their number: 4x0,32c");
        out->detail = jr_arena_printf(r->arena, "%u usable CPUs", out->number);
        out->rule = "CPUs per node: affinity, cpuset and quota";
        return take_each_size(r, out, &r->hw->cpus_each);
    }
    if (devices->number == 0)
        return refuse_uncounted(
            r, jr_arena_printf(r->arena, "%s devices", jr_field_value_value(r, JR_DEVICE)),
            device == JR_DEVICE_CUSTOM
                ? "or list them in devices, or put a program NAME.facts that "
                  "prints them beside the spec"
                : "or list them in devices");
    out->number = devices->number;
    return jr_devices_listed(r) ? JR_FIRED : take_each_size(r, out, &r->hw->devices_each);
}

const struct jr_host_scheduler *jr_place_allocation(const struct jr_resolver *r)
{
    const struct jr_host_scheduler *scheduler = &r->hw->scheduler;
    return scheduler->name != NULL && scheduler->nodes > 0 ? scheduler : NULL;
}

/* Whether a profile describes several nodes. It then acts as the scheduler and says which of them
 * this is: the first. */
static bool is_cluster_imagined(const struct jr_resolver *r)
{
    return !r->hw->real && r->hw->nodes > 1;
}

const char *jr_place_said(struct jr_resolver *r, const char *fact)
{
    const struct jr_host_scheduler *scheduler = &r->hw->scheduler;
    const char *job = scheduler->job_id, *variable = NULL;
    for (uint32_t i = 0; i < r->hw->variables_count && variable == NULL; i++)
        if (r->hw->variables[i].fact != NULL && strcmp(r->hw->variables[i].fact, fact) == 0)
            variable = r->hw->variables[i].name;
    return jr_arena_printf(r->arena, "%s%s%s%s%s", variable != NULL ? variable : "",
                           variable != NULL ? " of " : "", scheduler->name,
                           job != NULL ? " job " : "", job != NULL ? job : "");
}

/* A scheduler that cannot be believed is never asked in silence. */
static bool refuse_doubted_scheduler(struct jr_resolver *r, uint32_t fields)
{
    const struct jr_host_scheduler *scheduler = &r->hw->scheduler;
    if (scheduler->problem == NULL)
        return false;
    struct jr_diag *diag =
        jr_rules_refuse(r, JR_CODE_SCHEDULER_UNUSABLE, fields, "%s", scheduler->problem);
    if (scheduler->help != NULL)
        jr_diag_help(r->diags, diag, "%s", scheduler->help);
    return true;
}

static enum jr_fired rule_hosts_stated(struct jr_resolver *r, struct jr_field_value *out)
{
    if (r->spec->hosts_count == 0 || jr_spec_pools_hosts(r->file))
        return JR_PASSED;
    jr_field_value_state(r, out, "hosts");
    out->number = r->spec->hosts_count;
    out->text = jr_field_value_list(r, r->spec->hosts, r->spec->hosts_count);
    r->out->job.hosts = r->spec->hosts;
    return JR_FIRED;
}

static enum jr_fired rule_nodes_of_hosts(struct jr_resolver *r, struct jr_field_value *out)
{
    if (!jr_field_value_stated(&JR_FIELD_VALUE(r, HOSTS)))
        return JR_PASSED;
    out->number = JR_FIELD_VALUE(r, HOSTS).number;
    return JR_FIRED;
}

static enum jr_fired rule_nodes_scheduled(struct jr_resolver *r, struct jr_field_value *out)
{
    if (r->options->local)
        return JR_PASSED;
    if (refuse_doubted_scheduler(r, 0))
        return JR_FAILED;
    if (jr_place_allocation(r) == NULL)
        return JR_PASSED;
    out->number = jr_place_allocation(r)->nodes;
    out->detail = jr_place_said(r, "nodes");
    return JR_FIRED;
}

static enum jr_fired rule_nodes_profile(struct jr_resolver *r, struct jr_field_value *out)
{
    if (r->hw->real || r->hw->nodes == 0)
        return JR_PASSED;
    out->number = r->hw->nodes;
    return JR_FIRED;
}

/* That nothing else is stated depends on the machine, not on the spec. */
static enum jr_fired rule_nodes_alone(struct jr_resolver *r, struct jr_field_value *out)
{
    out->number = 1;
    out->fact = true;
    if (jr_spec_pools_hosts(r->file))
        out->rule = "one of hosts: it is a cell of a sweep";
    return JR_FIRED;
}

/* The first ones. */
static enum jr_fired take_pooled_hosts(struct jr_resolver *r, struct jr_field_value *out)
{
    uint32_t nodes = JR_FIELD_VALUE(r, NODES).number;
    if (nodes > r->spec->hosts_count) {
        struct jr_diag *diag =
            jr_rules_refuse(r, JR_CODE_NOT_ENOUGH_NODES, JR_BIT(JR_NODES),
                            "%s, and the sweep has %u host%s", jr_field_value_say(r, JR_NODES),
                            r->spec->hosts_count, r->spec->hosts_count == 1 ? "" : "s");
        jr_diag_help(r->diags, diag, "name more of them: --hosts");
        return JR_FAILED;
    }
    jr_field_value_state(r, out, "hosts");
    out->number = nodes;
    out->rule = "the first of those of the sweep";
    out->text = jr_field_value_list(r, r->spec->hosts, nodes);
    r->out->job.hosts = r->spec->hosts;
    return JR_FIRED;
}

/* The scheduler's hosts in its order; else as many unknown ones. */
static enum jr_fired rule_hosts(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_host_scheduler *scheduler = jr_place_allocation(r);
    uint32_t spares = jr_place_spares(r);
    uint32_t nodes = JR_FIELD_VALUE(r, NODES).number;
    /* the cell of a sweep, on several of that one's hosts; one of one node is on any of them */
    if (jr_spec_pools_hosts(r->file) && r->spec->hosts_count > 0 && !r->options->local && nodes > 1)
        return take_pooled_hosts(r, out);
    if (nodes > 1 && !r->options->local && r->spec->master_addr == NULL &&
        refuse_doubted_scheduler(r, JR_BIT(JR_NODES)))
        return JR_FAILED;
    if (scheduler != NULL && nodes + spares <= scheduler->hosts.count && !r->options->local) {
        r->out->job.hosts = scheduler->hosts.items;
        out->number = nodes;
        out->detail = jr_place_said(r, "hosts");
        out->text = jr_field_value_list(r, scheduler->hosts.items, nodes + spares);
        return JR_FIRED;
    }
    r->out->job.hosts = jr_arena_array(r->arena, (size_t)nodes + spares, sizeof(char *));
    out->origin = JR_ORIGIN_DEFAULT;
    out->rule = scheduler != NULL ? "the scheduler's are not these nodes" : "no scheduler";
    out->text = "none";
    return JR_FIRED;
}

/* The node that begins at the rank where the spec says that this one does. */
static bool find_node_of_start(const struct jr_resolver *r, uint32_t *ret)
{
    uint64_t before = 0;
    uint32_t node = 0, nodes = JR_FIELD_VALUE(r, NODES).number;
    if (r->spec->rank_start == NULL || !JR_FIELD_VALUE(r, LOCAL).known)
        return false;
    while (node < nodes && before < *r->spec->rank_start)
        before += jr_place_local(r, node++);
    if (node == nodes || before != *r->spec->rank_start)
        return false;
    *ret = node;
    return true;
}

/* The node whose name or address this machine has. */
static bool find_host(const struct jr_resolver *r, uint32_t *ret)
{
    const struct jr_spec *spec = r->spec;
    int found = -1;
    if (r->hw->real && r->options->target == NULL)
        found = jr_host_find_self(r->hw, spec->hosts, spec->hosts_count);
    if (found >= 0)
        *ret = (uint32_t)found;
    return found >= 0;
}

/* --local and --node-rank are of the command line, and so before the spec. */
static enum jr_fired choose_node_rank(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_host_scheduler *scheduler = &r->hw->scheduler;
    if (r->options->local || r->options->node_rank != NULL) {
        out->origin = JR_ORIGIN_OPTION;
        out->rule = r->options->local ? "--local" : "--node-rank";
        out->number = r->options->local ? 0 : *r->options->node_rank;
    } else if (r->spec->node_rank != NULL) {
        jr_field_value_state(r, out, "node_rank");
        out->number = *r->spec->node_rank;
    } else if (JR_FIELD_VALUE(r, NODES).number == 1) {
        out->number = 0;
    } else if (find_node_of_start(r, &out->number)) {
        out->rule = "the node that begins at rank_start";
        out->fact = JR_FIELD_VALUE(r, LOCAL).fact;
    } else if (scheduler->name != NULL && scheduler->node_rank >= 0) {
        out->origin = JR_ORIGIN_SCHEDULER;
        out->detail = jr_place_said(r, "node_rank");
        out->rule = "this node's index";
        out->number = (uint32_t)scheduler->node_rank;
    } else if (is_cluster_imagined(r)) {
        out->origin = JR_ORIGIN_HARDWARE;
        out->rule = "first node of the profile";
    } else if (find_host(r, &out->number)) {
        out->origin = JR_ORIGIN_HARDWARE;
        out->rule = "the entry of hosts that is this machine";
    } else {
        return JR_PASSED;
    }
    return JR_FIRED;
}

static enum jr_fired rule_node_rank(struct jr_resolver *r, struct jr_field_value *out)
{
    uint32_t nodes = JR_FIELD_VALUE(r, NODES).number;
    if (choose_node_rank(r, out) == JR_PASSED)
        return JR_PASSED;
    if (out->number < nodes)
        return JR_FIRED;
    jr_rules_show(r, JR_NODE_RANK, out);
    struct jr_diag *diag =
        jr_rules_clash(r, JR_CODE_NODE_RANK_BEYOND_NODES, JR_BIT(JR_NODE_RANK) | JR_BIT(JR_NODES),
                       "node_rank %s is beyond %s", jr_field_value_value(r, JR_NODE_RANK),
                       jr_field_value_say(r, JR_NODES));
    if (!jr_field_values_filled(r, JR_BIT(JR_NODES)))
        jr_diag_help(r->diags, diag, "node ranks go from 0 to %u", nodes - 1);
    return JR_FAILED;
}

uint32_t jr_place_local(const struct jr_resolver *r, uint32_t node)
{
    return r->sizes != NULL && node < r->sizes_count ? r->sizes[node]
                                                     : JR_FIELD_VALUE(r, LOCAL).number;
}

uint32_t jr_place_spares(const struct jr_resolver *r)
{
    return r->options->local ? 0 : r->spec->spare_nodes;
}

uint32_t jr_place_here(const struct jr_resolver *r)
{
    const struct jr_field_value *here = &JR_FIELD_VALUE(r, NODE_RANK);
    if (r->options->local)
        return JR_FIELD_VALUE(r, WORLD_SIZE).number;
    return here->known && !is_cluster_imagined(r) ? jr_place_local(r, here->number)
                                                  : JR_FIELD_VALUE(r, LOCAL).number;
}

static enum jr_fired rule_rank_start(struct jr_resolver *r, struct jr_field_value *out)
{
    uint32_t before = 0;
    for (uint32_t node = 0; node < JR_FIELD_VALUE(r, NODE_RANK).number; node++)
        before += jr_place_local(r, node);
    out->number = before;
    if (r->spec->rank_start == NULL || r->options->local)
        return JR_FIRED;
    uint32_t stated = *r->spec->rank_start;
    out->number = stated;
    jr_field_value_state(r, out, "rank_start");
    if (stated == before)
        return JR_FIRED;
    jr_rules_show(r, JR_RANK_START, out);
    bool filled = jr_field_values_filled(r, JR_BIT(JR_NODE_RANK) | JR_BIT(JR_LOCAL));
    struct jr_diag *diag = jr_rules_clash(
        r, JR_CODE_RANK_START_CONTRADICTS,
        JR_BIT(JR_RANK_START) | JR_BIT(JR_NODE_RANK) | JR_BIT(JR_LOCAL),
        "rank_start %s contradicts node_rank %s, which has %s ranks before it",
        jr_field_value_value(r, JR_RANK_START), jr_field_value_value(r, JR_NODE_RANK),
        filled ? "other" : jr_arena_printf(r->arena, "%u", before));
    if (filled)
        jr_diag_help(r->diags, diag, "leave rank_start out");
    else
        jr_diag_help(r->diags, diag, "leave rank_start out, or state %u", before);
    return JR_FAILED;
}

static enum jr_fired rule_master_addr(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_host_scheduler *scheduler = jr_place_allocation(r);
    char *const *hosts = r->out->job.hosts;
    bool given = scheduler != NULL && scheduler->master_addr != NULL &&
                 JR_FIELD_VALUE(r, NODES).number == scheduler->nodes;
    if (r->options->local) {
        out->origin = JR_ORIGIN_OPTION;
        out->text = "127.0.0.1";
        out->rule = "--local";
    } else if (given && !jr_field_value_stated(&JR_FIELD_VALUE(r, HOSTS))) {
        out->origin = JR_ORIGIN_SCHEDULER;
        out->text = scheduler->master_addr;
        out->detail = jr_place_said(r, "master_addr");
        out->rule = "where rank 0 listens";
    } else if (hosts != NULL && hosts[0] != NULL) {
        out->text = hosts[0];
    } else if (JR_FIELD_VALUE(r, NODES).number == 1) {
        out->origin = JR_ORIGIN_DEFAULT;
        out->text = "127.0.0.1";
        out->rule = "one node; no hosts";
    } else if (is_cluster_imagined(r)) {
        out->origin = JR_ORIGIN_HARDWARE;
        out->text = r->hw->hostname != NULL ? r->hw->hostname : "node0";
        out->rule = "first node of the profile";
    } else {
        return JR_PASSED;
    }
    return JR_FIRED;
}

static enum jr_fired rule_init_method(struct jr_resolver *r, struct jr_field_value *out)
{
    (void)r;
    out->text = "env://";
    return JR_FIRED;
}

#define WORLD JR_BIT(JR_WORLD_SIZE)
#define LOCAL JR_BIT(JR_LOCAL)
#define NODES JR_BIT(JR_NODES)
#define MESH  (JR_BIT(JR_MODEL) | JR_BIT(JR_PIPELINE))

/* A row of the table. */
struct jr_rule {
    enum jr_field out;
    enum jr_origin origin;
    uint32_t needs;
    jr_rule_apply *apply;
    const char *text;
};

/* The contract's rules, best first. Explanations name what the better origins lacked; a function
 * that knows more puts its own in their place. */
static const struct jr_rule rules[] = {
    /* stated in forms that are more than one plain value */
    {JR_LOCAL, JR_ORIGIN_SPEC, 0, rule_local_stated, NULL},
    {JR_HOSTS, JR_ORIGIN_SPEC, 0, rule_hosts_stated, NULL},
    {JR_DEVICE, JR_ORIGIN_SPEC, 0, jr_rule_device_stated, NULL},
    /* the mesh */
    {JR_MODEL, JR_ORIGIN_DEFAULT, 0, rule_one, "1 unless stated"},
    {JR_PIPELINE, JR_ORIGIN_DEFAULT, 0, rule_one, "1 unless stated"},
    {JR_WORLD_SIZE, JR_ORIGIN_DERIVED, MESH | JR_BIT(JR_DATA), rule_world_of_mesh,
     "data x model x pipeline"},
    {JR_DATA, JR_ORIGIN_DERIVED, MESH | WORLD, rule_data, "world_size / (model x pipeline)"},
    /* sizes */
    {JR_NODES, JR_ORIGIN_DERIVED, LOCAL, rule_nodes_of_list, "one per entry of local_world_size"},
    {JR_WORLD_SIZE, JR_ORIGIN_DERIVED, LOCAL, rule_world_of_list, "sum of local_world_size"},
    {JR_NODES, JR_ORIGIN_DERIVED, JR_BIT(JR_HOSTS), rule_nodes_of_hosts, "one per entry of hosts"},
    {JR_WORLD_SIZE, JR_ORIGIN_DERIVED, NODES | LOCAL, rule_world_of_nodes,
     "nodes x local_world_size"},
    {JR_NODES, JR_ORIGIN_DERIVED, WORLD | LOCAL, rule_divide_world,
     "world_size / local_world_size"},
    {JR_NODES, JR_ORIGIN_SCHEDULER, 0, rule_nodes_scheduled, "nodes of the allocation"},
    {JR_NODES, JR_ORIGIN_HARDWARE, 0, rule_nodes_profile, "nodes of the profile; no scheduler"},
    {JR_NODES, JR_ORIGIN_DEFAULT, 0, rule_nodes_alone,
     "this machine alone: no hosts, no scheduler"},
    {JR_LOCAL, JR_ORIGIN_DERIVED, WORLD | NODES, rule_divide_world, "world_size / nodes"},
    /* which of the nodes this is: others may have more ranks */
    {JR_NODE_RANK, JR_ORIGIN_DERIVED, NODES, rule_node_rank, "the only node"},
    /* devices, and what follows from how many there are */
    {JR_DEVICE, JR_ORIGIN_HARDWARE, 0, jr_rule_device, "what the hardware has"},
    {JR_DEVICES, JR_ORIGIN_HARDWARE, JR_BIT(JR_DEVICE), jr_rule_devices, "all that are visible"},
    {JR_LOCAL, JR_ORIGIN_SCHEDULER, NODES | JR_BIT(JR_DEVICES), rule_local_scheduled,
     "tasks per node, as asked for"},
    {JR_LOCAL, JR_ORIGIN_HARDWARE, JR_BIT(JR_DEVICES), rule_local_of_devices, "devices per node"},
    /* of any devices those that are free, once it is known how many */
    {JR_LOCAL, JR_ORIGIN_HARDWARE, NODES | JR_BIT(JR_DEVICE), rule_local_of_any,
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
    {JR_HOSTS, JR_ORIGIN_SCHEDULER, NODES, rule_hosts, "hosts of the allocation"},
    {JR_RANK_START, JR_ORIGIN_DERIVED, LOCAL | JR_BIT(JR_NODE_RANK), rule_rank_start,
     "ranks on earlier nodes"},
    {JR_MASTER_ADDR, JR_ORIGIN_DERIVED, NODES | JR_BIT(JR_HOSTS), rule_master_addr,
     "first of hosts"},
    {JR_RUN, JR_ORIGIN_SCHEDULER, 0, jr_rule_run, "what is left of the job's time"},
    {JR_STOP_GRACE, JR_ORIGIN_SCHEDULER, 0, jr_rule_stop_grace,
     "KillWait - 10s: Slurm kills what is left then"},
    {JR_INIT_METHOD, JR_ORIGIN_DEFAULT, 0, rule_init_method, "env:// unless stated"},
    {JR_MASTER_PORT, JR_ORIGIN_LEASED, NODES | JR_BIT(JR_NODE_RANK), jr_rule_master_port, NULL},
};

void jr_rules_show(struct jr_resolver *r, enum jr_field field, const struct jr_field_value *out)
{
    bool own = !jr_field_value_stated(out) && out->origin != JR_ORIGIN_DERIVED &&
               out->origin != JR_ORIGIN_DEFAULT;
    r->cells[field] = *out;
    r->cells[field].fact = out->fact || own || jr_field_values_fact(r, out->needs);
}

/* Try a rule, if it is its turn; whether it changed anything. */
static bool fire_rule(struct jr_resolver *r, const struct jr_rule *rule)
{
    struct jr_field_value cell = {.origin = rule->origin, .rule = rule->text, .needs = rule->needs};
    const struct jr_field_value *out = &r->cells[rule->out];
    if (out->known || out->failed || !jr_field_values_known(r, rule->needs))
        return false;
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

void jr_rules_run(struct jr_resolver *r)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0];)
        i = fire_rule(r, &rules[i]) ? 0 : i + 1;
}
