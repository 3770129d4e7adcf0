/* The values that are filled by now, held against each other, and against the time of the
 * allocation. Declared in internal.h. */
#include "resolve/internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "base/rank_set.h"
#include "doc/doc.h"

#include "base/banned.h"

#define BIT(field) JR_BIT(JR_##field)

/* Every cell has one value by now, from the best rule that could fire; here it is held against the
 * rules that did not have to. */

static void check_mesh_product(struct jr_resolver *r)
{
    uint64_t world = JR_FIELD_VALUE(r, WORLD_SIZE).number;
    uint64_t group = (uint64_t)JR_FIELD_VALUE(r, MODEL).number * JR_FIELD_VALUE(r, PIPELINE).number;
    /* both factors of the quotient are bounded, the product need not be */
    if (world % group == 0 && world / group == JR_FIELD_VALUE(r, DATA).number)
        return;
    struct jr_diag *diag = jr_rules_clash(
        r, JR_CODE_VALUES_CONTRADICT, BIT(WORLD_SIZE) | BIT(MODEL) | BIT(PIPELINE) | BIT(DATA),
        "%s contradicts data %s x model %s x pipeline %s", jr_field_value_say(r, JR_WORLD_SIZE),
        jr_field_value_value(r, JR_DATA), jr_field_value_value(r, JR_MODEL),
        jr_field_value_value(r, JR_PIPELINE));
    jr_diag_help(r->diags, diag, "leave world_size or parallelism.data out");
}

static void check_node_sum(struct jr_resolver *r)
{
    uint64_t world = JR_FIELD_VALUE(r, WORLD_SIZE).number;
    uint64_t nodes = JR_FIELD_VALUE(r, NODES).number, sum = 0;
    for (uint32_t i = 0; i < r->sizes_count; i++)
        sum += r->sizes[i];
    if (r->sizes == NULL)
        sum = nodes * JR_FIELD_VALUE(r, LOCAL).number;
    if (sum == world)
        return;
    const char *other = jr_arena_printf(r->arena, "%s x %s", jr_field_value_say(r, JR_NODES),
                                        jr_field_value_say(r, JR_LOCAL));
    if (r->sizes != NULL && jr_field_values_filled(r, BIT(LOCAL)))
        other = "the sum of local_world_size";
    else if (r->sizes != NULL)
        other = jr_arena_printf(r->arena, "local_world_size, whose sum is %" PRIu64, sum);
    struct jr_diag *diag =
        jr_rules_clash(r, JR_CODE_VALUES_CONTRADICT, BIT(WORLD_SIZE) | BIT(LOCAL) | BIT(NODES),
                       "%s contradicts %s", jr_field_value_say(r, JR_WORLD_SIZE), other);
    jr_diag_help(r->diags, diag, "any two of the three give the third");
}

static void check_list(struct jr_resolver *r)
{
    if (r->sizes == NULL || r->sizes_count == JR_FIELD_VALUE(r, NODES).number)
        return;
    struct jr_diag *diag = jr_rules_clash(r, JR_CODE_VALUES_CONTRADICT, BIT(LOCAL) | BIT(NODES),
                                          "%s contradicts local_world_size, which has %u entries",
                                          jr_field_value_say(r, JR_NODES), r->sizes_count);
    jr_diag_help(r->diags, diag, "it has one entry per node");
}

/* "nodes 4", or with spares: "nodes 4 and spare_nodes 1". */
static const char *say_machines(struct jr_resolver *r)
{
    const char *nodes = jr_field_value_say(r, JR_NODES);
    const struct jr_node *spares = jr_doc_get(jr_spec_doc(r->file)->root, "spare_nodes");
    if (jr_place_spares(r) == 0)
        return nodes;
    return spares != NULL && spares->filled != NULL
               ? jr_arena_printf(r->arena, "%s and spare_nodes", nodes)
               : jr_arena_printf(r->arena, "%s and spare_nodes %u", nodes, jr_place_spares(r));
}

static void check_hosts(struct jr_resolver *r)
{
    const struct jr_field_value *hosts = &JR_FIELD_VALUE(r, HOSTS);
    uint32_t there = hosts->number, spares = jr_place_spares(r);
    uint64_t wanted = (uint64_t)JR_FIELD_VALUE(r, NODES).number + spares;
    if (!jr_field_value_stated(hosts) || there == wanted ||
        (spares == 0 && r->spec->spare_nodes > 0))
        return;
    if (spares > 0) { /* they are behind the nodes */
        struct jr_diag *diag =
            jr_rules_refuse(r, JR_CODE_NOT_ENOUGH_NODES, BIT(HOSTS), "%s, but hosts has %u entr%s",
                            say_machines(r), there, there == 1 ? "y" : "ies");
        jr_diag_help(r->diags, diag,
                     "hosts has an entry for each node and for each spare, the spares last");
        return;
    }
    struct jr_diag *diag = jr_rules_clash(r, JR_CODE_VALUES_CONTRADICT, BIT(HOSTS) | BIT(NODES),
                                          "%s contradicts hosts, of which there are %u",
                                          jr_field_value_say(r, JR_NODES), there);
    jr_diag_help(r->diags, diag, "hosts has one entry per node");
}

/* The nodes that the scheduler, or the profile, has; 0 when neither says. */
static uint32_t known_node_count(const struct jr_resolver *r)
{
    const struct jr_host_scheduler *scheduler = jr_place_allocation(r);
    return scheduler != NULL ? scheduler->nodes : r->hw->nodes;
}

/* The same, if those are fewer than the job wants; else 0. */
static uint32_t too_few_nodes(const struct jr_resolver *r)
{
    uint32_t here = known_node_count(r);
    uint64_t wanted = (uint64_t)JR_FIELD_VALUE(r, NODES).number + jr_place_spares(r);
    return !r->options->local && wanted > here ? here : 0;
}

static void check_allocation(struct jr_resolver *r)
{
    uint32_t here = too_few_nodes(r);
    if (here == 0)
        return;
    struct jr_diag *diag = jr_rules_refuse(
        r, JR_CODE_NOT_ENOUGH_NODES, BIT(NODES), "%s, but %s has %u", say_machines(r),
        r->hw->scheduler.name != NULL ? "the allocation" : r->hw->origin, here);
    jr_diag_help(r->diags, diag,
                 r->options->target != NULL
                     ? "the target and the spec must have the same number of nodes"
                     : "ask for more nodes, or rehearse here with --local");
}

/* Only who has the agents of all nodes can put one in the place of another. */
static void check_spares_led(struct jr_resolver *r)
{
    const char *scheduler = r->hw->scheduler.name;
    bool allocated =
        scheduler != NULL && strcmp(scheduler, "Slurm") == 0 && r->options->node_rank == NULL;
    if (jr_place_spares(r) == 0 || !r->hw->real || allocated ||
        r->spec->policy.engine.ssh != NULL || r->options->target != NULL)
        return;
    struct jr_diag *diag =
        jr_rules_refuse(r, JR_CODE_SPARES_UNLED, BIT(NODES),
                        "%s, but no jobrun leads all of them here", say_machines(r));
    jr_diag_help(r->diags, diag,
                 "start it in the script or the shell of a Slurm allocation, "
                 "or over ssh with --hosts; or leave spare_nodes out");
}

/* Several jobruns on this node: each would start all its ranks. */
static void check_agents(struct jr_resolver *r)
{
    const struct jr_host_scheduler *scheduler = &r->hw->scheduler;
    if (!scheduler->step || scheduler->tasks_here <= 1)
        return;
    struct jr_diag *diag =
        jr_rules_refuse(r, JR_CODE_SEVERAL_JOBRUNS, 0, "%s started jobrun %u times on this node",
                        scheduler->name, scheduler->tasks_here);
    jr_diag_help(r->diags, diag,
                 "start it once per node, for example with srun --ntasks-per-node=1 or "
                 "mpirun --map-by ppr:1:node; it starts the ranks itself");
}

/* What to do about nodes that do not know which they are. */
static const char *place_help(const struct jr_resolver *r)
{
    const struct jr_host_scheduler *scheduler = &r->hw->scheduler;
    if (!r->hw->real && scheduler->name == NULL)
        return "state how many such machines there are: `nodes` in the facts file";
    if (scheduler->name == NULL || scheduler->step)
        return "give each node its own --node-rank and the same --run-id, and state hosts or "
               "master_addr; or start the ranks of all nodes here with --local";
    if (strcmp(scheduler->name, "Slurm") == 0)
        return "run, plan and resolve ask the nodes themselves; here choose "
               "one with --node-rank, or take all ranks together with --local";
    return "start one jobrun on each node with the scheduler's launcher, "
           "for example mpirun --map-by ppr:1:node jobrun SPEC --run-id ID; "
           "or start the ranks of all nodes here with --local";
}

static void check_rendezvous(struct jr_resolver *r)
{
    const struct jr_host_scheduler *scheduler = &r->hw->scheduler;
    bool known = JR_FIELD_VALUE(r, NODE_RANK).known, addr = JR_FIELD_VALUE(r, MASTER_ADDR).known;
    bool crowded = scheduler->step && scheduler->tasks_here > 1;
    if (JR_FIELD_VALUE(r, NODES).number == 1 || JR_FIELD_VALUE(r, NODE_RANK).failed ||
        too_few_nodes(r) > 0 || crowded || (known && addr))
        return;
    struct jr_diag *diag = jr_rules_refuse(r, JR_CODE_NODE_RANK_MISSING, BIT(NODES),
                                           "%s, and %s MISSING", jr_field_value_say(r, JR_NODES),
                                           addr    ? "node_rank is"
                                           : known ? "master_addr is"
                                                   : "node_rank and master_addr are");
    jr_diag_help(r->diags, diag, "%s", place_help(r));
}

/* "8 ranks", unless that would tell what was filled in. */
static const char *describe_ranks(struct jr_resolver *r, uint32_t ranks)
{
    if (jr_field_values_filled(r, BIT(LOCAL) | BIT(WORLD_SIZE)))
        return jr_field_value_say(r, JR_LOCAL);
    return jr_arena_printf(r->arena, "%u ranks", ranks);
}

/* Ranks beyond the devices are an error, beyond the CPUs a warning. Each of several nodes holds its
 * own against it. */
static void check_device_count(struct jr_resolver *r)
{
    uint32_t count = JR_FIELD_VALUE(r, DEVICES).number;
    uint32_t ranks = r->options->local ? JR_FIELD_VALUE(r, LOCAL).number : jr_place_here(r);
    if (r->spec->oversubscribe || r->out->job.device == JR_DEVICE_CPU || count == 0 ||
        ranks <= count)
        return;
    struct jr_diag *diag =
        jr_rules_refuse(r, JR_CODE_MORE_RANKS_THAN_DEVICES, BIT(LOCAL) | BIT(DEVICES),
                        "%s on a node with %u usable %s device%s", describe_ranks(r, ranks), count,
                        jr_field_value_value(r, JR_DEVICE), count == 1 ? "" : "s");
    uint32_t world = JR_FIELD_VALUE(r, WORLD_SIZE).number, nodes = (world - 1) / count + 1;
    while (nodes < world && world % nodes != 0)
        nodes++;
    if (nodes <= known_node_count(r) && !jr_field_values_filled(r, BIT(LOCAL) | BIT(WORLD_SIZE)))
        jr_diag_help(
            r->diags, diag,
            "spread them (" JR_SETTING("nodes", "%u") "), or let ranks share devices "
                                                      "(" JR_SETTING("oversubscribe", "true") ")",
            nodes);
    else
        jr_diag_help(r->diags, diag,
                     "start at most %u on a node, or let ranks share devices "
                     "(" JR_SETTING("oversubscribe", "true") ")",
                     count);
}

/* Local rank i gets entry i of a list, so a further entry would have no rank.
 */
static void check_listed(struct jr_resolver *r)
{
    uint32_t count = JR_FIELD_VALUE(r, DEVICES).number;
    if (!jr_devices_listed(r) || count <= JR_FIELD_VALUE(r, LOCAL).number)
        return;
    struct jr_diag *diag = jr_rules_clash(r, JR_CODE_DEVICES_DO_NOT_FIT, BIT(LOCAL) | BIT(DEVICES),
                                          "devices lists %u devices, but a node has %s", count,
                                          jr_field_value_say(r, JR_LOCAL));
    jr_diag_help(r->diags, diag,
                 "local rank i gets entry i: leave out the entries that no rank uses");
}

static void check_cpu_count(struct jr_resolver *r)
{
    uint32_t cpus = jr_cpus_within_quota(r->hw, r->hw->cpus.usable);
    uint32_t ranks = jr_place_here(r);
    if (r->spec->oversubscribe || r->out->job.device != JR_DEVICE_CPU || cpus == 0 || ranks <= cpus)
        return;
    struct jr_diag *diag = jr_rules_warn(r, JR_CODE_MORE_RANKS_THAN_CPUS, BIT(LOCAL),
                                         "%s on a node with %u usable CPU%s",
                                         describe_ranks(r, ranks), cpus, cpus == 1 ? "" : "s");
    jr_diag_help(r->diags, diag, JR_SETTING("oversubscribe", "true") " allows this");
}

/* Whether a set names a rank from `count` on, and the last that it names. */
static bool is_beyond(struct jr_resolver *r, const char *ranks, uint32_t count, uint32_t *ret_last)
{
    struct jr_set set;
    const char *bad;
    return ranks != NULL && jr_set_parse(&set, r->arena, ranks, &bad) &&
           jr_set_max(&set, ret_last) && *ret_last >= count;
}

static void check_stream_rules(struct jr_resolver *r)
{
    const struct jr_spec *spec = r->spec;
    const struct jr_field_value *local = &JR_FIELD_VALUE(r, LOCAL);
    for (uint32_t k = 0; k < spec->redirects_count + spec->tee_count; k++) {
        bool tee = k >= spec->redirects_count;
        uint32_t i = tee ? k - spec->redirects_count : k, last;
        const char *field = tee ? "tee" : "redirects", *named = "more";
        if (!is_beyond(r, tee ? spec->tee[i].ranks : spec->redirects[i].ranks, local->number,
                       &last))
            continue;
        if (jr_spec_written(r->file, r->arena, field) == NULL)
            named = jr_arena_printf(r->arena, "local rank %u", last);
        struct jr_diag *diag = jr_rules_clash(r, JR_CODE_STREAM_RULE_BEYOND_RANKS, BIT(LOCAL),
                                              "%s names %s, but there is %s", field, named,
                                              jr_field_value_say(r, JR_LOCAL));
        struct jr_span span =
            jr_spec_where(r->file, jr_arena_printf(r->arena, "%s[%u].ranks", field, i));
        if (span.line == 0)
            span = jr_spec_where(r->file, field);
        if (span.line != 0)
            diag->span = span;
        if (!jr_field_values_filled(r, BIT(LOCAL)))
            jr_diag_help(r->diags, diag, "local ranks go from 0 to %u", local->number - 1);
    }
}

/* Ranks of the job that a field names; `where` is the place in it. */
static void check_ranks(struct jr_resolver *r, const char *field, const char *where,
                        const char *ranks)
{
    uint32_t world = JR_FIELD_VALUE(r, WORLD_SIZE).number, last;
    if (!is_beyond(r, ranks, world, &last))
        return;
    struct jr_diag *diag = jr_rules_clash(r, JR_CODE_RANK_ENTRY_BEYOND_WORLD, BIT(WORLD_SIZE),
                                          "%s names rank %u, but there is %s", field, last,
                                          jr_field_value_say(r, JR_WORLD_SIZE));
    struct jr_span span = jr_spec_where(r->file, where);
    if (span.line != 0)
        diag->span = span;
    if (!jr_field_values_filled(r, BIT(WORLD_SIZE)))
        jr_diag_help(r->diags, diag, "ranks go from 0 to %u", world - 1);
}

static void check_rank_sets(struct jr_resolver *r)
{
    const struct jr_spec *spec = r->spec;
    const struct jr_policy *policy = &spec->policy;
    for (uint32_t i = 0; i < spec->per_rank_count; i++) {
        const char *ranks = spec->per_rank[i].ranks;
        check_ranks(r, "per_rank", jr_arena_printf(r->arena, "per_rank.%s", ranks), ranks);
    }
    check_ranks(r, "results.required", "results.required", policy->results.required);
    check_ranks(r, "console.ranks", "console.ranks", policy->console.ranks);
    check_ranks(r, "progress.ranks", "progress.ranks", policy->progress.ranks);
}

/* A check, and the cells without which it has nothing to look at. */
struct check {
    uint32_t needs;
    void (*run)(struct jr_resolver *r);
};

static const struct check checks[] = {
    {BIT(WORLD_SIZE) | BIT(MODEL) | BIT(PIPELINE) | BIT(DATA), check_mesh_product},
    {BIT(WORLD_SIZE) | BIT(LOCAL) | BIT(NODES), check_node_sum},
    {BIT(LOCAL) | BIT(NODES), check_list},
    {BIT(HOSTS) | BIT(NODES), check_hosts},
    {0, check_agents},
    {BIT(NODES), check_spares_led},
    {BIT(NODES), check_allocation},
    {BIT(NODES), check_rendezvous},
    {BIT(WORLD_SIZE) | BIT(LOCAL) | BIT(DEVICES), check_device_count},
    {BIT(LOCAL) | BIT(DEVICES), check_listed},
    {BIT(WORLD_SIZE) | BIT(LOCAL) | BIT(DEVICES), check_cpu_count},
    {BIT(DEVICE), jr_check_backends},
    {BIT(LOCAL), check_stream_rules},
    {BIT(WORLD_SIZE), check_rank_sets},
};

void jr_checks_run(struct jr_resolver *r)
{
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (jr_field_values_known(r, checks[i].needs))
            checks[i].run(r);
}

/* What the job may still use of its allocation's time. These limits belong to the allocation and
 * not to the experiment, so they are reported and obeyed, but are part neither of the resolved spec
 * nor of its fingerprint. */

enum { SECOND = 1000, RESERVE = 10 };

/* Take `bound` for the duration `*to` unless that is less; one that the spec states does not go
 * without a word. */
static enum jr_fired bound_duration_by(struct jr_resolver *r, struct jr_field_value *out,
                                       const char *path, uint64_t *to, uint64_t bound)
{
    struct jr_buf JR_BUF_CLEANUP was = JR_BUF_INIT, is = JR_BUF_INIT;
    if (*to != 0 && *to <= bound)
        return JR_PASSED;
    jr_num_add_duration(&was, *to);
    jr_num_add_duration(&is, bound);
    r->arena->failed = r->arena->failed || was.failed || is.failed;
    struct jr_span stated = jr_spec_where(r->file, path);
    const char *written = jr_spec_written(r->file, r->arena, path);
    if (stated.line != 0) {
        struct jr_diag *diag = jr_rules_warn(r, JR_CODE_TIME_LIMIT_TOO_LONG, 0,
                                             "%s %s is more than the allocation allows: %s", path,
                                             written != NULL ? written : was.data, is.data);
        if (diag != NULL)
            diag->span = stated;
        jr_diag_help(r->diags, diag, "%s is used (%s)", is.data, out->rule);
    }
    *to = bound;
    out->text = jr_arena_strdup(r->arena, is.data);
    return JR_FIRED;
}

enum jr_fired jr_rule_run(struct jr_resolver *r, struct jr_field_value *out)
{
    uint64_t end = r->hw->scheduler.end, now = r->hw->now;
    if (end == 0 || now == 0 || end <= now)
        return JR_PASSED;
    out->detail = jr_place_said(r, "end");
    return bound_duration_by(r, out, "timeouts.run", &r->timeouts.run_ms, (end - now) * SECOND);
}

enum jr_fired jr_rule_stop_grace(struct jr_resolver *r, struct jr_field_value *out)
{
    uint64_t wait = r->hw->scheduler.kill_wait;
    if (wait == 0)
        return JR_PASSED;
    out->detail = jr_arena_printf(r->arena, "KillWait %" PRIu64 "s of Slurm", wait);
    return bound_duration_by(r, out, "timeouts.stop_grace", &r->timeouts.stop_grace_ms,
                             wait > RESERVE ? (wait - RESERVE) * SECOND : SECOND);
}
