/* Which CPUs each rank of a node gets: contiguous shares of its physical cores, in the order of
 * their NUMA nodes, with all the usable CPUs of each. The memory follows by itself: unless told
 * otherwise, Linux takes it from the node of the CPU that first touches it. Declared in internal.h.
 */
#include "resolve/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/rank_set.h"

#include "base/banned.h"

#define NOWHERE UINT32_MAX

/* A usable core, and its NUMA node by position. */
struct core {
    uint32_t node;
    struct jr_set cpus;
};

struct pool {
    struct core *cores; /* by node */
    uint32_t count;
    uint32_t nodes; /* at least 1 */
};

static bool parse_cpu_list(struct jr_resolver *r, struct jr_set *ret, const char *text)
{
    const char *bad;
    return text != NULL && jr_set_parse(ret, r->arena, text, &bad) && ret->count > 0;
}

/* With its NUMA node, the first that has it. */
static void add_core(struct jr_resolver *r, struct pool *pool, const struct jr_set *cpus)
{
    const struct jr_host_cpus *facts = &r->hw->cpus;
    uint32_t node = 0;
    struct jr_set set;
    while (node < facts->numa_count && !(parse_cpu_list(r, &set, facts->numa[node].cpus) &&
                                         jr_set_has(&set, cpus->ranges[0].first)))
        node++;
    pool->cores[pool->count++] = (struct core){node < facts->numa_count ? node : 0, *cpus};
}

static int compare_core_nodes(const void *a, const void *b)
{
    const struct core *left = a, *right = b;
    uint32_t x = left->cpus.ranges[0].first, y = right->cpus.ranges[0].first;
    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    return (x > y) - (x < y);
}

/* False when the CPUs are not known. */
static bool fill_pool(struct jr_resolver *r, struct pool *pool)
{
    const struct jr_host_cpus *cpus = &r->hw->cpus;
    struct jr_set all;
    uint32_t last = 0;
    *pool = (struct pool){.nodes = cpus->numa_count ? cpus->numa_count : 1};
    if (!parse_cpu_list(r, &all, cpus->set) || !jr_set_max(&all, &last))
        return false;
    pool->cores = jr_arena_array(r->arena, last + 1, sizeof *pool->cores);
    if (pool->cores == NULL)
        return false;
    for (size_t i = 0; i < cpus->cores.count && pool->count <= last; i++) {
        struct jr_set core;
        if (parse_cpu_list(r, &core, cpus->cores.items[i]))
            add_core(r, pool, &core);
    }
    for (uint32_t cpu = 0; cpus->cores.count == 0 && cpu <= last; cpu++) {
        struct jr_range *range = jr_arena_alloc(r->arena, sizeof *range);
        if (range == NULL || !jr_set_has(&all, cpu))
            continue;
        *range = (struct jr_range){cpu, cpu, 1};
        add_core(r, pool, &(struct jr_set){.ranges = range, .count = 1});
    }
    qsort(pool->cores, pool->count, sizeof *pool->cores, compare_core_nodes);
    return pool->count > 0;
}

static int compare_cpus(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The CPUs of cores `from` to before `to`, as text. */
static char *print_cores(struct jr_resolver *r, const struct pool *pool, uint32_t from, uint32_t to)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    uint32_t *numbers = NULL;
    size_t count = 0;
    for (uint32_t i = from; i < to; i++)
        for (size_t j = 0; j < pool->cores[i].cpus.count; j++) {
            const struct jr_range *range = &pool->cores[i].cpus.ranges[j];
            for (uint32_t cpu = range->first; cpu <= range->last; cpu += range->step) {
                uint32_t *slot = jr_arena_push(r->arena, &numbers, &count, sizeof *slot);
                if (slot != NULL)
                    *slot = cpu;
            }
        }
    if (count > 0)
        qsort(numbers, count, sizeof *numbers, compare_cpus);
    jr_set_print(&text, numbers, count);
    return jr_buf_keep(&text, r->arena);
}

/* The first core at or beyond a node. */
static uint32_t first_cpu_of(const struct pool *pool, uint32_t node)
{
    uint32_t i = 0;
    while (i < pool->count && pool->cores[i].node < node)
        i++;
    return i;
}

/* The NUMA node of a rank's device, by position; NOWHERE when it is not known, or this process has
 * no CPU of it. */
static uint32_t device_node(const struct jr_resolver *r, uint32_t rank)
{
    const struct jr_job *job = &r->out->job;
    const struct jr_host *hw = r->hw;
    if (job->own.devices_count == 0)
        return NOWHERE;
    const struct jr_host_device *device =
        jr_device_find(hw, job->device, job->own.devices[rank % job->own.devices_count]);
    for (uint32_t i = 0; device != NULL && i < hw->cpus.numa_count; i++)
        if (device->numa_node == (int)hw->cpus.numa[i].index)
            return i;
    return NOWHERE;
}

/* Fill the job's slots: a slice of the cores for each rank, or of the nodes, or of the cores of the
 * node that its device is on; at least one, and shared where there are more that want it. Ranks
 * that share a slot share its text. */
static void make_slots(struct jr_resolver *r, const struct pool *pool, enum jr_bind bind)
{
    struct jr_node_resources *own = &r->out->job.own;
    uint32_t ranks = jr_place_here(r), last_from = 0, last_to = 0;
    /* by node: the ranks whose devices are on it, and those of them that have their cores */
    uint32_t *users = jr_arena_array(r->arena, pool->nodes, sizeof *users);
    uint32_t *served = jr_arena_array(r->arena, pool->nodes, sizeof *served);
    own->slots = jr_arena_array(r->arena, ranks, sizeof *own->slots);
    if (r->arena->failed)
        return;
    for (uint32_t i = 0; bind == JR_BIND_DEVICE && i < ranks; i++)
        users[device_node(r, i)]++;
    for (uint32_t i = 0; i < ranks; i++) {
        uint32_t first = 0;
        uint64_t nth = i, of = ranks, size = bind == JR_BIND_NUMA ? pool->nodes : pool->count;
        if (bind == JR_BIND_DEVICE) {
            uint32_t node = device_node(r, i);
            first = first_cpu_of(pool, node);
            nth = served[node]++;
            of = users[node];
            size = first_cpu_of(pool, node + 1) - first;
        }
        uint32_t from = (uint32_t)(nth * size / of), to = (uint32_t)((nth + 1) * size / of);
        to = to == from ? from + 1 : to;
        if (bind == JR_BIND_NUMA) {
            from = first_cpu_of(pool, from);
            to = first_cpu_of(pool, to);
        }
        from += first;
        to += first;
        bool same = i > 0 && from == last_from && to == last_to;
        own->slots[i] = same ? own->slots[i - 1] : print_cores(r, pool, from, to);
        own->slots_count++;
        last_from = from;
        last_to = to;
        if (bind != JR_BIND_NUMA && (r->slot_cores == 0 || to - from < r->slot_cores))
            r->slot_cores = to - from;
    }
}

static bool has_locality(const struct jr_resolver *r)
{
    uint32_t ranks = jr_place_here(r);
    for (uint32_t i = 0; i < ranks; i++)
        if (device_node(r, i) == NOWHERE)
            return false;
    return ranks > 0;
}

/* What a profile leaves out is no fault of the spec; this machine's is. */
static enum jr_fired refuse_binding(struct jr_resolver *r, struct jr_field_value *out,
                                    const char *lacks)
{
    if (!r->hw->real) {
        out->detail = jr_arena_printf(r->arena, "%s here", lacks);
        r->out->job.unbound = jr_arena_printf(
            r->arena, "%s; the CPUs are not known in advance: %s there", out->text, lacks);
        return JR_FIRED;
    }
    jr_rules_show(r, JR_BIND, out);
    struct jr_diag *diag = jr_rules_refuse(r, JR_CODE_BIND_IMPOSSIBLE, JR_BIT(JR_BIND),
                                           "bind %s, but %s here", out->text, lacks);
    jr_diag_help(r->diags, diag, JR_SETTING("bind", "none") " leaves the CPUs to the kernel");
    return JR_FAILED;
}

enum jr_fired jr_rule_bind(struct jr_resolver *r, struct jr_field_value *out)
{
#define BIND_WORD(name, word, help) word,
    static const char *const words[] = {JR_BINDS(BIND_WORD)};
    struct pool pool;
    unsigned bind = 0;
    out->text = r->spec->bind;
    if (out->text != NULL) {
        jr_field_value_state(r, out, "bind");
    } else if (r->hw->cpus.numa_count > 1 && has_locality(r)) {
        out->text = "device";
        out->rule = "devices have NUMA nodes";
    } else {
        out->text = "none";
        out->origin = JR_ORIGIN_DEFAULT;
        out->rule = "no device with a NUMA node to choose";
    }
    while (bind < JR_BIND_COUNT - 1u && strcmp(words[bind], out->text) != 0)
        bind++;
    if (bind == JR_BIND_NONE)
        return JR_FIRED;
    if (!fill_pool(r, &pool))
        return refuse_binding(r, out, "the CPUs are not known");
    if (bind == JR_BIND_DEVICE && !has_locality(r))
        return refuse_binding(r, out, "not every device has a NUMA node with CPUs");
    make_slots(r, &pool, (enum jr_bind)bind);
    return r->arena->failed ? JR_FAILED : JR_FIRED;
}

uint32_t jr_cpus_within_quota(const struct jr_host *hw, uint32_t usable)
{
    double quota = hw->cpus.quota;
    if (quota <= 0 || (usable > 0 && quota >= (double)usable))
        return usable;
    return quota < 1 ? 1 : (uint32_t)quota;
}

/* OpenMP's list form, one number per nesting level, counts by its first. */
enum jr_fired jr_rule_threads_env(struct jr_resolver *r, struct jr_field_value *out)
{
    const char *text = r->hw->environment.omp_num_threads;
    char first[16];
    size_t len = text == NULL ? sizeof first : strcspn(text, ",");
    if (len >= sizeof first)
        return JR_PASSED;
    memcpy(first, text, len);
    first[len] = '\0';
    return jr_num_u32(first, &out->number) && out->number > 0 ? JR_FIRED : JR_PASSED;
}

enum jr_fired jr_rule_threads(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_host_cpus *cpus = &r->hw->cpus;
    const char *omp = r->hw->environment.omp_num_threads; /* it says nothing */
    bool unset = omp == NULL || omp[0] == '\0';
    if (!unset) {
        struct jr_diag *diag =
            jr_rules_warn(r, JR_CODE_OMP_NUM_THREADS_IGNORED, 0,
                          "OMP_NUM_THREADS is not a positive integer and is ignored: '%s'", omp);
        jr_diag_help(r->diags, diag, "unset it, or state threads");
    }
    uint32_t ranks = jr_place_here(r);
    uint32_t cores = cpus->usable_cores ? cpus->usable_cores : cpus->usable;
    uint32_t usable = jr_cpus_within_quota(r->hw, cores);
    out->number = usable > ranks ? usable / ranks : 1;
    if (r->slot_cores > 0 && out->number > r->slot_cores)
        out->number = r->slot_cores;
    if (usable == 0) {
        out->origin = JR_ORIGIN_DEFAULT;
        out->rule = "the number of CPUs is not known";
        return JR_FIRED;
    }
    const char *said = jr_arena_printf(r->arena, "%u rank%s", ranks, ranks == 1 ? "" : "s");
    out->detail = said;
    if (cores != 0)
        out->detail = jr_arena_printf(r->arena, "%u physical core%s / %s", cores,
                                      cores == 1 ? "" : "s", said);
    const char *quota =
        cpus->quota > 0 ? jr_arena_printf(r->arena, "%g CPUs", cpus->quota) : "none";
    out->rule = jr_arena_printf(r->arena, "quota %s, OMP_NUM_THREADS %s", quota,
                                unset ? "unset" : "unusable");
    return JR_FIRED;
}
