/*
 * The rules on the fields of a spec against each other: the table of them, and what they ask:
 * stated values, and how many ranks and nodes there are as far as the spec alone decides it.
 */
#include "spec/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <jobrun/contract.h>
#include <jobrun/types.h>

#include "base/num.h"
#include "spec/check_command.h"
#include "spec/check_devices.h"
#include "spec/check_entry.h"
#include "spec/check_failures.h"
#include "spec/check_ranks.h"
#include "spec/check_results.h"
#include "spec/check_secrets.h"
#include "spec/check_patterns.h"
#include "spec/check_shell_syntax.h"
#include "spec/check_sizes.h"
#include "spec/check_spares.h"
#include "spec/internal.h"
#include "spec/sbatch_options.h"

#include "base/banned.h"

struct jr_stated jr_check_number(const struct jr_check *check, const char *path)
{
    struct jr_stated stated = {0};
    const struct jr_node *node = jr_doc_find(check->tree, path);
    if (node != NULL && node->kind == JR_NODE_SCALAR && jr_num_u64(node->text, &stated.value))
        stated.node = node;
    return stated;
}

const char *jr_check_text(const struct jr_check *check, const char *path)
{
    const struct jr_node *node = jr_doc_find(check->tree, path);
    bool scalar = node != NULL && node->kind == JR_NODE_SCALAR;
    return scalar ? node->text : NULL;
}

const struct jr_node *jr_check_raw(const struct jr_check *check, const char *path)
{
    const struct jr_node *node = jr_doc_find(check->root, path);
    bool removed = node != NULL && jr_lint_is_removed(check->lint, node);
    return removed ? NULL : node;
}

/* Findings beyond it are not kept (see diag.c), and so need no path. */
enum { MOST_PLACED = 1000 };

/* A complaint on its way to the node that it is about, so as to know the path of it. */
struct finding {
    struct jr_lint *lint;
    enum jr_diag_code code;
    const struct jr_node *at;
    const char *text;
    struct jr_diag *diag;
};

static bool find_node_path(struct finding *finding, const struct jr_node *node,
                           const struct jr_node_step *up);

static bool find_in_node(struct finding *finding, const struct jr_node *node,
                         const struct jr_node_step *at)
{
    if (node != finding->at)
        return find_node_path(finding, node, at);
    finding->diag =
        jr_lint_error(finding->lint, finding->code, node->span, at, "%s", finding->text);
    return true;
}

static bool find_node_path(struct finding *finding, const struct jr_node *node,
                           const struct jr_node_step *up)
{
    for (size_t i = 0; node->kind != JR_NODE_SCALAR && i < node->count; i++) {
        bool list = node->kind == JR_NODE_SEQUENCE;
        const struct jr_node_step at = {
            .up = up,
            .key = list ? NULL : node->pairs[i].key->text,
            .index = i,
        };
        if (list ? find_in_node(finding, node->items[i], &at)
                 : find_in_node(finding, node->pairs[i].key, &at) ||
                       find_in_node(finding, node->pairs[i].value, &at))
            return true;
    }
    return false;
}

struct jr_diag *jr_check_clash(const struct jr_check *check, enum jr_diag_code code,
                               const struct jr_node *at, const struct jr_node *other,
                               const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct jr_diags *diags = check->lint->diags;
    struct finding finding = {check->lint, code, at, text, &diags->scratch};
    bool kept = diags->errors <= MOST_PLACED;
    if (!kept || (!find_node_path(&finding, check->tree, NULL) &&
                  !find_node_path(&finding, check->root, NULL)))
        finding.diag = jr_lint_error(check->lint, code, at->span, NULL, "%s", text);
    struct jr_diag *diag = finding.diag;
    if (other != NULL && other->span.line != 0)
        jr_diag_relate(diags, diag, other->span, "stated here");
    else
        jr_lint_relate_origin(check->lint, diag, at);
    return diag;
}

struct variable {
    const char *name;
    size_t len;
    const char *field;
};

static void refuse_variables(const struct jr_check *check, const struct jr_pair *pair,
                             const struct variable *table, size_t count)
{
    struct jr_diags *diags = check->lint->diags;
    const struct jr_node *key = pair->key;
    for (size_t i = 0; i < count; i++) {
        if (table[i].len != key->len || memcmp(table[i].name, key->text, key->len) != 0)
            continue;
        struct jr_diag *diag = jr_check_clash(check, JR_CODE_RESERVED_VARIABLE, key, NULL,
                                              "jobrun sets %s for each rank itself", table[i].name);
        if (table[i].field[0] != '\0')
            jr_diag_help(diags, diag, "the field for it is '%s'", table[i].field);
    }
}

/* The variables of a profile. */
struct profile {
    const char *name; /* "" is what all ranks get */
    const struct variable *variables;
    size_t count;
};

#define VARIABLE(name, value, field)  {name, sizeof name - 1, field},
#define ON_DEVICE(name, value, kinds) {name, sizeof name - 1, "device"},
#define PROFILE(name, table)                                                                       \
    {                                                                                              \
        name, table, sizeof table / sizeof *table                                                  \
    }
static const struct variable always[] = {JR_CONTRACT_VARIABLES(VARIABLE)
                                             JR_CONTRACT_CELL(VARIABLE)};
static const struct variable torch[] = {JR_CONTRACT_TORCH(VARIABLE)};
static const struct variable paddle[] = {JR_CONTRACT_PADDLE(VARIABLE)
                                             JR_CONTRACT_PADDLE_DEVICES(ON_DEVICE)};
static const struct variable megengine[] = {JR_CONTRACT_MEGENGINE(VARIABLE)};
static const struct variable mpi[] = {JR_CONTRACT_MPI(VARIABLE)};
static const struct variable pmi1[] = {JR_CONTRACT_PMI1(VARIABLE)};
static const struct variable pmix[] = {JR_CONTRACT_PMIX(VARIABLE)};
static const struct profile profiles[] = {
    PROFILE("", always),       PROFILE("torch", torch),
    PROFILE("paddle", paddle), PROFILE("megengine", megengine),
    PROFILE("mpi", mpi),       PROFILE("pmi1", pmi1),
    PROFILE("pmix", pmix)};

/* Whether a profile counts, or the protocol of `mpi` that is called so:
 * profiles that are not known are none. */
static bool is_profile_chosen(const struct jr_check *check, const char *name)
{
    const struct jr_node *chosen = jr_doc_get(check->tree, "env_profiles");
    const char *protocol = jr_check_text(check, "mpi");
    if (name[0] == '\0' || (protocol != NULL && strcmp(protocol, name) == 0))
        return true;
    for (size_t i = 0; chosen != NULL && i < chosen->count; i++)
        if (strcmp(chosen->items[i]->text, name) == 0)
            return true;
    return chosen == NULL && strcmp(name, "torch") == 0 &&
           jr_check_raw(check, "env_profiles") == NULL;
}

static void check_profile_variables(const struct jr_check *check, const struct jr_node *env)
{
    for (size_t i = 0; env != NULL && i < env->count; i++)
        for (size_t j = 0; j < sizeof profiles / sizeof *profiles; j++)
            if (is_profile_chosen(check, profiles[j].name))
                refuse_variables(check, &env->pairs[i], profiles[j].variables, profiles[j].count);
}

static void check_env(const struct jr_check *check)
{
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    check_profile_variables(check, jr_doc_get(check->tree, "env"));
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        check_profile_variables(check, jr_doc_get(entries->pairs[i].value, "env"));
}

void jr_check_spec(struct jr_lint *lint, const struct jr_node *root, const struct jr_node *tree)
{
    static jr_check_rule *const rules[] = {
        jr_check_forms,    jr_check_calls,        jr_check_start,
        jr_check_sizes,    jr_check_places,       jr_check_devices,
        check_env,         jr_check_ranks,        jr_check_source,
        jr_check_fields,   jr_check_comparisons,  jr_check_capture,
        jr_check_shared,   jr_check_progress,     jr_check_restart,
        jr_check_deadline, jr_check_requeue,      jr_check_silence,
        jr_check_secrets,  jr_check_vars,         jr_check_engine,
        jr_check_command,  jr_check_shell_syntax, jr_check_patterns,
        jr_check_code,     jr_check_spares,
    };
    const struct jr_check check = {.lint = lint, .root = root, .tree = tree};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        rules[i](&check);
}

/*
 * How many ranks and nodes there are, as far as the spec alone decides it. If it states a value in
 * two ways, the first is used here; check_sizes.c reports that the two do not agree.
 */

static bool is_missing_word(const struct jr_node *node)
{
    return node->kind == JR_NODE_SCALAR &&
           (jr_scalar_type(node) == JR_SCALAR_NULL || strcmp(node->text, "auto") == 0 ||
            strcmp(node->text, "???") == 0);
}

bool jr_check_is_open(const struct jr_check *check, const char *path)
{
    const struct jr_node *raw = jr_check_raw(check, path);
    const char *dot = strchr(path, '.');
    if (raw != NULL)
        return !is_missing_word(raw) && jr_doc_find(check->tree, path) == NULL;
    if (dot == NULL)
        return false;
    const char *group = jr_arena_strndup(check->lint->arena, path, (size_t)(dot - path));
    return group == NULL || jr_check_is_open(check, group);
}

static bool is_list_told(const struct jr_node *node)
{
    bool list = node->kind == JR_NODE_SEQUENCE;
    for (size_t i = 0; list && i < node->count; i++)
        if (node->items[i]->filled != NULL)
            return false;
    return list || node->filled == NULL;
}

/* "model 2", or "model ${vars.m}": a number that was put in is not told. */
static const char *describe_number(const struct jr_check *check, const char *name,
                                   const struct jr_node *node)
{
    const char *said =
        jr_arena_printf(check->lint->arena, "%s %s", name, jr_lint_said(check->lint, node));
    return said == NULL ? "" : said;
}

static struct jr_known stated_known(const struct jr_check *check, const char *path)
{
    struct jr_stated number = jr_check_number(check, path);
    struct jr_known known = {.node = number.node, .value = number.value};
    if (known.node == NULL)
        return known;
    known.told = is_list_told(known.node);
    known.said = describe_number(check, path, known.node);
    return known;
}

static struct jr_known counted_known(const struct jr_node *list, const char *said)
{
    return (struct jr_known){list, list->count, said, true};
}

/* The sum of local_world_size as a list, or the largest of it. */
static struct jr_known sum_or_largest_known(const struct jr_node *list, bool sum)
{
    struct jr_known known = {.node = list,
                             .said = sum ? "the sum of local_world_size" : "local_world_size",
                             .told = is_list_told(list)};
    for (size_t i = 0; i < list->count; i++) {
        uint64_t value = 0;
        (void)jr_num_u64(list->items[i]->text, &value);
        if (sum)
            known.value += value;
        else if (value > known.value)
            known.value = value;
    }
    return known;
}

/* A value that follows from two others, and is reported at `at`. */
static struct jr_known derived_known(const struct jr_check *check, const struct jr_known *at,
                                     const struct jr_known *other, uint64_t value, const char *sign)
{
    const char *said = jr_arena_printf(check->lint->arena, "%s %s %s", at->said, sign, other->said);
    return (struct jr_known){.node = at->node,
                             .value = value,
                             .said = said == NULL ? "" : said,
                             .told = at->told && other->told};
}

/* The mesh as a world, where all three of its axes are known. */
static struct jr_known world_of_mesh(const struct jr_check *check)
{
    struct jr_known world = stated_known(check, "parallelism.data");
    static const char *const paths[] = {"parallelism.model", "parallelism.pipeline"};
    for (size_t i = 0; i < 2 && world.node != NULL; i++) {
        struct jr_known axis = stated_known(check, paths[i]);
        if (jr_check_is_open(check, paths[i]))
            return (struct jr_known){0};
        if (axis.node != NULL && world.value <= UINT32_MAX)
            world = derived_known(check, &world, &axis, world.value * axis.value, "x");
    }
    return world.value > UINT32_MAX ? (struct jr_known){0} : world;
}

static void derive_sizes(const struct jr_check *check, struct jr_sizes *sizes)
{
    const struct jr_known *world = &sizes->world;
    const struct jr_known *nodes = &sizes->nodes, *local = &sizes->local;
    if (nodes->node == NULL && world->node != NULL && local->node != NULL &&
        world->value % local->value == 0)
        sizes->nodes = derived_known(check, world, local, world->value / local->value, "/");
    else if (local->node == NULL && world->node != NULL && nodes->node != NULL &&
             world->value % nodes->value == 0)
        sizes->local = derived_known(check, world, nodes, world->value / nodes->value, "/");
    else if (world->node == NULL && nodes->node != NULL && local->node != NULL &&
             nodes->value <= UINT32_MAX / local->value)
        sizes->world = derived_known(check, local, nodes, nodes->value * local->value, "x");
}

const struct jr_node *jr_check_node_hosts(const struct jr_check *check)
{
    bool pooled = check->lint->pools && jr_doc_find(check->tree, "engine.ssh") != NULL;
    return pooled ? NULL : jr_doc_get(check->tree, "hosts");
}

struct jr_sizes jr_check_known(const struct jr_check *check)
{
    const struct jr_node *local = jr_doc_get(check->tree, "local_world_size");
    const struct jr_node *hosts = jr_check_node_hosts(check);
    struct jr_sizes sizes = {.world = stated_known(check, "world_size"),
                             .nodes = stated_known(check, "nodes")};
    if (local != NULL && local->kind == JR_NODE_SEQUENCE) {
        sizes.list = local;
        sizes.local = sum_or_largest_known(local, false);
    } else {
        sizes.local = stated_known(check, "local_world_size");
    }
    if (sizes.nodes.node == NULL && local != NULL && local == sizes.list)
        sizes.nodes = counted_known(local, "the entries of local_world_size");
    else if (sizes.nodes.node == NULL && hosts != NULL)
        sizes.nodes = counted_known(hosts, "the entries of hosts");
    if (sizes.world.node == NULL && sizes.list != NULL)
        sizes.world = sum_or_largest_known(sizes.list, true);
    else if (sizes.world.node == NULL)
        sizes.world = world_of_mesh(check);
    derive_sizes(check, &sizes);
    return sizes;
}

const char *jr_check_amount(const struct jr_check *check, const struct jr_known *known,
                            const char *what)
{
    const char *said = known->said;
    if (known->told)
        said = jr_arena_printf(check->lint->arena, "%" PRIu64 " %s%s", known->value, what,
                               known->value == 1 ? "" : "s");
    return said == NULL ? "" : said;
}

const struct jr_known *jr_check_most(const struct jr_sizes *sizes)
{
    return sizes->local.node != NULL ? &sizes->local : &sizes->world;
}

const char *jr_check_say_most(const struct jr_check *check, const struct jr_sizes *sizes)
{
    bool local = sizes->local.node != NULL;
    const char *said = jr_arena_printf(
        check->lint->arena, "%s %s", local ? "a node has" : "the whole job has",
        jr_check_amount(check, jr_check_most(sizes), local ? "local rank" : "rank"));
    return said == NULL ? "" : said;
}
