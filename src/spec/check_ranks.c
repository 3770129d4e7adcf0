/*
 * The rules of internal.h on the ranks, nodes, hosts and devices that a spec names, where the spec
 * alone decides that there is none of that number, or that one is there twice; and on spare nodes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jobrun/contract.h>
#include <jobrun/types.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/rank_set.h"
#include "spec/internal.h"

#include "base/banned.h"

/* More ranks than this are taken for a mistake; and at most this many are reported. */
enum { MOST_RANKS = 1 << 20, MOST_TOLD = 8 };

/* Rank sets name ranks of the world. */
static void check_ranks_beyond(const struct jr_check *check, const struct jr_known *world,
                               const struct jr_node *node, const char *path)
{
    struct jr_set set;
    const char *bad;
    uint32_t last;
    if (world->node == NULL || node == NULL ||
        !jr_set_parse(&set, check->lint->arena, node->text, &bad) || !jr_set_max(&set, &last) ||
        last < world->value)
        return;
    const char *last_said = jr_lint_said(check->lint, node);
    if (node->filled == NULL)
        last_said = jr_arena_printf(check->lint->arena, "%u", last);
    struct jr_diag *diag = jr_check_clash(check, JR_CODE_RANK_BEYOND_WORLD, node, world->node,
                                          "'%s' names rank %s, but the job has %s", path, last_said,
                                          jr_check_amount(check, world, "rank"));
    if (world->told)
        jr_diag_help(check->lint->diags, diag, "ranks count from 0: the last is %" PRIu64,
                     world->value - 1);
}

/* Mark the ranks of entry `i` in `seen`, which has a bit for each; complain about the first that
 * has an entry already, or that no job can have. */
static void claim_entry_ranks(const struct jr_check *check, const struct jr_node *entries, size_t i,
                              const struct jr_range *range, unsigned char *seen, unsigned *told)
{
    const struct jr_node *key = entries->pairs[i].key, *owner = NULL;
    struct jr_set set;
    const char *bad;
    uint32_t rank = range->last < MOST_RANKS ? range->first : range->last;
    while (rank <= range->last && rank < MOST_RANKS && (seen[rank / 8] & 1u << rank % 8) == 0) {
        seen[rank / 8] = (unsigned char)(seen[rank / 8] | 1u << rank % 8);
        rank += range->step;
    }
    if (rank > range->last || ++*told > MOST_TOLD)
        return;
    if (rank >= MOST_RANKS) {
        (void)jr_check_clash(check, JR_CODE_RANK_BEYOND_WORLD, key, NULL,
                             "'per_rank' names rank %u, but no job can have that many ranks", rank);
        return;
    }
    for (size_t j = 0; j < i && owner == NULL; j++)
        if (jr_set_parse(&set, check->lint->arena, entries->pairs[j].key->text, &bad) &&
            jr_set_has(&set, rank))
            owner = entries->pairs[j].key;
    (void)jr_check_clash(check, JR_CODE_RANK_ENTRY_TWICE, key, owner,
                         "'per_rank' has two entries for rank %u", rank);
}

void jr_check_ranks(const struct jr_check *check)
{
    static const char *const paths[] = {"results.required", "console.ranks", "progress.ranks"};
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    const struct jr_sizes sizes = jr_check_known(check);
    JR_FREE unsigned char *seen = NULL;
    unsigned told = 0;
    struct jr_set set;
    const char *bad;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        check_ranks_beyond(check, &sizes.world, jr_doc_find(check->tree, paths[i]), paths[i]);
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        check_ranks_beyond(check, &sizes.world, entries->pairs[i].key, "per_rank");
    if (entries == NULL)
        return;
    if ((seen = calloc(MOST_RANKS / 8, 1)) == NULL) {
        check->lint->arena->failed = true;
        return;
    }
    for (size_t i = 0; i < entries->count; i++) {
        const struct jr_node *key = entries->pairs[i].key;
        if (!jr_set_parse(&set, check->lint->arena, key->text, &bad))
            continue;
        for (size_t j = 0; j < set.count; j++)
            claim_entry_ranks(check, entries, i, &set.ranges[j], seen, &told);
        if (set.all && entries->count > 1)
            (void)jr_check_clash(check, JR_CODE_RANK_ENTRY_TWICE, key,
                                 entries->pairs[i == 0 ? 1 : 0].key,
                                 "'per_rank' has an entry for all ranks, and further entries");
    }
}

/* Whether node_rank or rank_start is below the number of `what`, from 0 on. */
static bool check_index_below(const struct jr_check *check, const char *path,
                              const struct jr_known *most, const char *what)
{
    struct jr_known index = jr_check_number(check, path);
    if (index.node == NULL || most->node == NULL || index.value < most->value)
        return true;
    struct jr_diag *diag = jr_check_clash(
        check, JR_CODE_INDEX_BEYOND_LAST, index.node, most->node, "%s %s is beyond the last of %s",
        path, jr_lint_said(check->lint, index.node), jr_check_amount(check, most, what));
    if (most->told)
        jr_diag_help(check->lint->diags, diag, "%ss count from 0: the last is %" PRIu64, what,
                     most->value - 1);
    else
        jr_diag_help(check->lint->diags, diag, "%ss count from 0", what);
    return false;
}

/* The ranks on the first `nodes` nodes. */
static uint64_t ranks_before(const struct jr_sizes *sizes, uint64_t nodes)
{
    uint64_t sum = 0, value = 0;
    if (sizes->list == NULL)
        return nodes * sizes->local.value;
    for (uint64_t i = 0; i < nodes && i < sizes->list->count; i++)
        if (jr_num_u64(sizes->list->items[i]->text, &value))
            sum += value;
    return sum;
}

/* rank_start where nothing else says which node this is: one begins there. */
static void check_begin(const struct jr_check *check, const struct jr_sizes *sizes,
                        const struct jr_known *start)
{
    uint64_t at = 0, value = 0;
    if (sizes->local.node == NULL)
        return;
    if (sizes->list == NULL)
        at = start->value - start->value % sizes->local.value;
    for (size_t i = 0; sizes->list != NULL && i < sizes->list->count && at < start->value; i++)
        if (jr_num_u64(sizes->list->items[i]->text, &value))
            at += value;
    if (at == start->value)
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_RANK_START_MISPLACED, start->node, sizes->local.node,
                       "no node begins at rank_start %s", jr_lint_said(check->lint, start->node));
    if (sizes->list == NULL && sizes->local.told)
        jr_diag_help(check->lint->diags, diag,
                     "each node has %" PRIu64 " ranks, so rank_start must be a multiple of that; "
                     "or leave it out and state node_rank",
                     sizes->local.value);
    else
        jr_diag_help(check->lint->diags, diag,
                     "rank_start is the number of ranks on earlier nodes; or leave it out and "
                     "state node_rank");
}

static void check_rank_start(const struct jr_check *check, const struct jr_sizes *sizes)
{
    struct jr_known start = jr_check_number(check, "rank_start");
    struct jr_known node = jr_check_number(check, "node_rank");
    bool stated = node.node != NULL;
    if (start.node == NULL)
        return;
    if (!stated && sizes->nodes.node != NULL && sizes->nodes.value == 1)
        node.node = sizes->nodes.node;
    if (node.node == NULL) {
        check_begin(check, sizes, &start);
        return;
    }
    uint64_t before = node.value == 0 ? 0 : ranks_before(sizes, node.value);
    if ((node.value > 0 && sizes->local.node == NULL) || start.value == before)
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_RANK_START_MISPLACED, start.node, node.node,
                       "rank_start %s contradicts %s %s", jr_lint_said(check->lint, start.node),
                       stated ? "node_rank" : "a job of one node, whose node_rank is",
                       stated ? jr_lint_said(check->lint, node.node) : "0");
    if (node.value > 0)
        jr_diag_relate(check->lint->diags, diag, sizes->local.node->span,
                       "the ranks of each node are stated here");
    if (start.told && node.node->filled == NULL && (node.value == 0 || sizes->local.told))
        jr_diag_help(check->lint->diags, diag,
                     "leave rank_start out, or state the number of ranks before this node: "
                     "%" PRIu64,
                     before);
    else
        jr_diag_help(check->lint->diags, diag, "leave rank_start out");
}

/* A rule of `redirects` or `tee` is for local ranks that a node has; and no node has more ranks
 * than the job. */
static void check_local_ranks(const struct jr_check *check, const char *path,
                              const struct jr_node *ranks, const struct jr_sizes *sizes)
{
    const struct jr_known *most = jr_check_most(sizes);
    struct jr_arena *arena = check->lint->arena;
    const struct jr_node *raw = jr_check_raw(check, path);
    struct jr_set set;
    const char *bad, *named = "more";
    uint32_t last;
    if (!jr_set_parse(&set, arena, ranks->text, &bad) || !jr_set_max(&set, &last) ||
        last < most->value)
        return;
    if (raw == NULL || raw->filled == NULL)
        named = jr_arena_printf(arena, "local rank %u", last);
    else /* the path of a rule would tell what was put in */
        ranks = jr_doc_get(check->tree, path);
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_STREAM_RULE_BEYOND_NODES, ranks, most->node,
                       "%s names %s, but %s", path, named, jr_check_say_most(check, sizes));
    if (most->told)
        jr_diag_help(check->lint->diags, diag, "local ranks count from 0: the last is %" PRIu64,
                     most->value - 1);
}

/* Entries of a list by their texts, and among equal ones by their places; `same` is strcmp or
 * strcasecmp. */
static int compare_entries(const void *a, const void *b, void *same)
{
    const struct jr_node *const *const *left = a, *const *const *right = b;
    int (*const *compare)(const char *, const char *) = same;
    int order = (*compare)((**left)->text, (**right)->text);
    return order != 0 ? order : (*left > *right) - (*left < *right);
}

/* Refuse each entry of `hosts`, or else of `devices`, that is there before. NULL: there is no list.
 */
static void check_entry_twice(const struct jr_check *check, const struct jr_node *list, bool hosts)
{
    int (*same)(const char *, const char *) = hosts ? strcasecmp : strcmp;
    size_t count = list == NULL ? 0 : list->count;
    JR_FREE struct jr_node ***entries = calloc(count + 1, sizeof *entries);
    if (entries == NULL) {
        check->lint->arena->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        entries[i] = &list->items[i];
    qsort_r(entries, count, sizeof *entries, compare_entries, &same);
    for (size_t i = 1; i < count; i++) {
        if (same((*entries[i - 1])->text, (*entries[i])->text) != 0)
            continue;
        const char *said = jr_lint_said(check->lint, *entries[i]);
        struct jr_diag *diag = jr_check_clash(
            check, hosts ? JR_CODE_HOST_TWICE : JR_CODE_DEVICE_TWICE, *entries[i], *entries[i - 1],
            hosts ? "'hosts' lists '%s' twice" : "devices has %s twice", said);
        jr_diag_help_text(check->lint->diags, diag,
                          hosts ? "each node is a machine of its own; --local starts all nodes on "
                                  "this one"
                                : "leave one out, or let ranks share devices "
                                  "(" JR_SETTING("oversubscribe", "true") ")");
    }
}

void jr_check_places(const struct jr_check *check)
{
    static const char *const paths[] = {"redirects", "tee"};
    const struct jr_sizes sizes = jr_check_known(check);
    /* two nodes are two machines */
    check_entry_twice(check, jr_doc_get(check->tree, "hosts"), true);
    bool node = check_index_below(check, "node_rank", &sizes.nodes, "node");
    if (check_index_below(check, "rank_start", &sizes.world, "rank") && node)
        check_rank_start(check, &sizes);
    for (size_t i = 0; i < 2 && jr_check_most(&sizes)->node != NULL; i++) {
        const struct jr_node *rules = jr_doc_get(check->tree, paths[i]);
        bool each = rules != NULL && rules->kind == JR_NODE_MAPPING;
        for (size_t j = 0; each && j < rules->count; j++)
            check_local_ranks(check, paths[i], rules->pairs[j].key, &sizes);
    }
}

/* Devices: their kind, their backends, and the list of them. */

static bool is_device_word(const struct jr_node *node, const char *word)
{
    return node != NULL && node->kind == JR_NODE_SCALAR && strcmp(node->text, word) == 0;
}

/* Each backend drives the kind of device; where no device is to be used, that is the CPU. */
static void check_backends(const struct jr_check *check)
{
#define WORD(name, word, help) word,
#define DRIVES(name, kinds)    [JR_BACKEND_##name] = (kinds),
    static const char *const kinds[] = {JR_DEVICES(WORD)};
    static const char *const words[] = {JR_BACKENDS(WORD)};
    static const uint32_t drives[] = {JR_BACKEND_DRIVES(DRIVES)};
    const struct jr_node *device = jr_doc_get(check->tree, "device");
    const struct jr_node *devices = jr_doc_get(check->tree, "devices");
    const struct jr_node *backends = jr_doc_get(check->tree, "backends");
    uint32_t kind = JR_DEVICE_CPU;
    if (device == NULL && is_device_word(devices, "none") && !jr_check_is_open(check, "device"))
        device = devices;
    if (device == NULL || backends == NULL)
        return;
    while (device != devices && kind < JR_DEVICE_CUSTOM && strcmp(kinds[kind], device->text) != 0)
        kind++;
    for (size_t i = 0; kind < JR_DEVICE_CUSTOM && i < backends->count; i++) {
        const struct jr_node *backend = backends->pairs[i].value;
        size_t word = 0;
        while (word < JR_BACKEND_CUSTOM && strcmp(words[word], backend->text) != 0)
            word++;
        if (word == JR_BACKEND_CUSTOM || (drives[word] & 1u << kind) != 0)
            continue;
        const char *said = jr_lint_said(check->lint, backend);
        if (device == devices)
            (void)jr_check_clash(check, JR_CODE_BACKEND_CONTRADICTS_DEVICE, backend, device,
                                 "backend %s cannot drive the CPU, and devices: none leaves "
                                 "nothing else",
                                 said);
        else
            (void)jr_check_clash(check, JR_CODE_BACKEND_CONTRADICTS_DEVICE, backend, device,
                                 "backend %s cannot drive device %s", said,
                                 jr_lint_said(check->lint, device));
    }
}

/* There must be as many devices as a node has ranks, or fewer if ranks share them. */
static void check_device_count(const struct jr_check *check, const struct jr_node *devices,
                               bool shared)
{
    const struct jr_sizes sizes = jr_check_known(check);
    const struct jr_known *local = &sizes.local, *most = jr_check_most(&sizes);
    uint64_t count = devices->count;
    bool more = most->node != NULL && count > most->value;
    bool fewer = local->node != NULL && count < local->value && !shared;
    if (!more && !fewer)
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_DEVICES_CONTRADICT_RANKS, devices, most->node,
                       "devices lists %" PRIu64 " device%s, but %s", count, count == 1 ? "" : "s",
                       jr_check_say_most(check, &sizes));
    jr_diag_help(check->lint->diags, diag,
                 more ? "local rank i gets entry i: leave out the entries that no rank uses"
                      : "list one for each local rank, or let ranks share them "
                        "(" JR_SETTING("oversubscribe", "true") ")");
}

void jr_check_devices(const struct jr_check *check)
{
    const struct jr_node *bind = jr_doc_get(check->tree, "bind");
    const struct jr_node *device = jr_doc_get(check->tree, "device");
    const struct jr_node *devices = jr_doc_get(check->tree, "devices");
    const char *flag = jr_check_text(check, "oversubscribe");
    bool cpu = is_device_word(device, "cpu"), none = is_device_word(devices, "none");
    bool list = devices != NULL && devices->kind == JR_NODE_SEQUENCE;
    bool shared =
        jr_check_is_open(check, "oversubscribe") || (flag != NULL && strcasecmp(flag, "true") == 0);
    struct jr_diag *diag;
    check_backends(check);
    /* ranks are bound to the CPUs of their devices, which they have to have */
    if (is_device_word(bind, "device") && (cpu || none)) {
        diag = jr_check_clash(check, JR_CODE_BIND_CONTRADICTS_DEVICES, bind, cpu ? device : devices,
                              "bind device contradicts %s", cpu ? "device cpu" : "devices none");
        jr_diag_help(
            check->lint->diags, diag,
            JR_SETTING("bind", "core") " and " JR_SETTING("bind", "numa") " bind ranks to CPUs");
    }
    /* device and devices may each say that there is none */
    if (device != NULL && devices != NULL && (cpu ? list : none)) {
        diag = jr_check_clash(
            check, JR_CODE_BIND_CONTRADICTS_DEVICES, devices, device, "%s contradicts device %s",
            list ? "a list of devices" : "devices none", jr_lint_said(check->lint, device));
        jr_diag_help(check->lint->diags, diag, "leave one of the two out");
    } else if (list) {
        if (!shared)
            check_entry_twice(check, devices, false);
        check_device_count(check, devices, shared);
    }
}

/* Spares go with `nodes`, `engine` and `restart`. */
void jr_check_spares(const struct jr_check *check)
{
    const struct jr_known spares = jr_check_number(check, "spare_nodes");
    const struct jr_known max = jr_check_number(check, "restart.max");
    const struct jr_node *hosts = jr_doc_get(check->tree, "hosts");
    const struct jr_node *image = jr_doc_find(check->tree, "engine.kubernetes.image");
    struct jr_diags *diags = check->lint->diags;
    struct jr_diag *diag;
    if (spares.node == NULL || spares.value == 0)
        return;
    /* how many of the hosts are no spares is for the spec to say */
    if (jr_check_number(check, "nodes").node == NULL && !jr_check_is_open(check, "nodes")) {
        diag = jr_check_clash(check, JR_CODE_SPARES_CONFLICT, spares.node, NULL,
                              "'spare_nodes' is stated without 'nodes'");
        if (hosts != NULL && hosts->count > spares.value && spares.told)
            jr_diag_help(diags, diag, "state how many the job is for: nodes: %" PRIu64,
                         hosts->count - spares.value);
        else
            jr_diag_help(diags, diag, "state how many the job is for, without the spares");
    }
    /* Kubernetes places a pod anew itself; an engine of which nothing is stated but defaults, as in
     * a resolved spec, is none */
    if (image != NULL && jr_doc_find(check->tree, "engine.slurm") == NULL &&
        jr_doc_find(check->tree, "engine.ssh") == NULL) {
        diag = jr_check_clash(check, JR_CODE_SPARES_CONFLICT, spares.node, image,
                              "'spare_nodes' is for Slurm and ssh, and 'engine' is kubernetes");
        jr_diag_help(diags, diag, "leave it out, or state engine.slurm or engine.ssh");
    }
    /* a spare comes with the next attempt */
    if (max.value > 0 || jr_check_is_open(check, "restart.max") ||
        jr_check_is_open(check, "restart"))
        return;
    diag = jr_diags_warning(diags, JR_CODE_SPARES_IDLE, spares.node->span, "spare_nodes",
                            "no spare takes the place of a node that is lost in the run, because "
                            "'restart' allows no other attempt");
    jr_diag_help(diags, diag, "add " JR_SETTING("restart.max", "3"));
}
