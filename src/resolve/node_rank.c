#include "resolve/node_rank.h"

#include <string.h>

#include "base/banned.h"

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

enum jr_fired jr_rule_hosts_stated(struct jr_resolver *r, struct jr_field_value *out)
{
    if (r->spec->hosts_count == 0 || jr_spec_pools_hosts(r->file))
        return JR_PASSED;
    jr_field_value_state(r, out, "hosts");
    out->number = r->spec->hosts_count;
    out->text = jr_field_value_list(r, r->spec->hosts, r->spec->hosts_count);
    r->out->job.hosts = r->spec->hosts;
    return JR_FIRED;
}

enum jr_fired jr_rule_nodes_of_hosts(struct jr_resolver *r, struct jr_field_value *out)
{
    if (!jr_field_value_stated(&JR_FIELD_VALUE(r, HOSTS)))
        return JR_PASSED;
    out->number = JR_FIELD_VALUE(r, HOSTS).number;
    return JR_FIRED;
}

enum jr_fired jr_rule_nodes_scheduled(struct jr_resolver *r, struct jr_field_value *out)
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

enum jr_fired jr_rule_nodes_profile(struct jr_resolver *r, struct jr_field_value *out)
{
    if (r->hw->real || r->hw->nodes == 0)
        return JR_PASSED;
    out->number = r->hw->nodes;
    return JR_FIRED;
}

/* That nothing else is stated depends on the machine, not on the spec. */
enum jr_fired jr_rule_nodes_alone(struct jr_resolver *r, struct jr_field_value *out)
{
    out->number = 1;
    out->fact = true;
    if (jr_spec_pools_hosts(r->file))
        out->rule = "one of hosts: it is a cell of a sweep";
    return JR_FIRED;
}

/* Whether the cell of a sweep has several of that one's hosts. One of one node is on any of
 * them. */
static bool is_on_pooled_hosts(const struct jr_resolver *r)
{
    return jr_spec_pools_hosts(r->file) && r->spec->hosts_count > 0 && !r->options->local &&
           JR_FIELD_VALUE(r, NODES).number > 1;
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
enum jr_fired jr_rule_hosts(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_host_scheduler *scheduler = jr_place_allocation(r);
    uint32_t spares = jr_place_spares(r);
    uint32_t nodes = JR_FIELD_VALUE(r, NODES).number;
    if (is_on_pooled_hosts(r))
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

enum jr_fired jr_rule_node_rank(struct jr_resolver *r, struct jr_field_value *out)
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

enum jr_fired jr_rule_rank_start(struct jr_resolver *r, struct jr_field_value *out)
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

enum jr_fired jr_rule_master_addr(struct jr_resolver *r, struct jr_field_value *out)
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

enum jr_fired jr_rule_init_method(struct jr_resolver *r, struct jr_field_value *out)
{
    (void)r;
    out->text = "env://";
    return JR_FIRED;
}
