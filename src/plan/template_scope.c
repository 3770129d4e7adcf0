#include "plan/template_scope.h"

#include <stdio.h>
#include <string.h>

#include <jobrun/contract.h>

#include "base/buf.h"
#include "plan/planner.h"
#include "resolve/job.h"
#include "resolve/node_resources.h"

#include "base/banned.h"

/* The kernel's MAX_ARG_STRLEN is 128 KiB for NAME=VALUE; keep well below. */
enum { LONGEST_LIST = 100 * 1024 };

/* The words of one axis. */
struct axis_words {
    enum jr_template rank, size, group, members, backend;
};

#define AXIS_WORDS(name, word, help)                                                               \
    [JR_AXIS_##name] = {                                                                           \
        JR_TEMPLATE_##name##_RANK,    JR_TEMPLATE_##name##_SIZE,    JR_TEMPLATE_##name##_GROUP,    \
        JR_TEMPLATE_##name##_MEMBERS, JR_TEMPLATE_##name##_BACKEND,                                \
    },

static const struct axis_words axis_words[JR_AXIS_COUNT] = {JR_AXES(AXIS_WORDS)};

static const struct jr_decimal *make_decimals(struct jr_arena *arena, uint32_t last)
{
    struct jr_decimal *made = jr_arena_array(arena, (size_t)last + 1, sizeof *made);
    for (uint32_t n = 0; made != NULL && n <= last; n++)
        (void)snprintf(made[n].text, sizeof made[n].text, "%u", n);
    return made;
}

static const char *decimal_text(const struct jr_scopes *scopes, uint32_t n)
{
    return scopes->decimals[n].text;
}

static size_t list_len(const struct jr_scopes *scopes, enum jr_axis axis, uint32_t group)
{
    size_t len = 0;
    for (uint32_t i = 0; i < scopes->grid.size[axis]; i++)
        len += strlen(decimal_text(scopes, jr_grid_member(&scopes->grid, axis, group, i))) + 1;
    return len;
}

static char *make_list(const struct jr_scopes *scopes, enum jr_axis axis, uint32_t group)
{
    char *list = jr_arena_alloc(scopes->space.arena, list_len(scopes, axis, group));
    char *end = list;
    for (uint32_t i = 0; list != NULL && i < scopes->grid.size[axis]; i++) {
        uint32_t rank = jr_grid_member(&scopes->grid, axis, group, i);
        if (i > 0)
            *end++ = ',';
        end = stpcpy(end, decimal_text(scopes, rank));
    }
    return list;
}

/* The last group has the largest ranks, so the longest list. */
static char **make_lists(const struct jr_scopes *scopes, enum jr_axis axis)
{
    uint32_t groups = jr_grid_groups(&scopes->grid, axis);
    if (list_len(scopes, axis, groups - 1) > LONGEST_LIST)
        return NULL;
    char **lists = jr_arena_array(scopes->space.arena, groups, sizeof *lists);
    for (uint32_t group = 0; lists != NULL && group < groups; group++)
        lists[group] = make_list(scopes, axis, group);
    return lists;
}

static const char *node_host(const struct jr_scopes *scopes, uint32_t node)
{
    const struct jr_job *job = scopes->job;
    const char *host = scopes->options->local ? NULL : job->hosts[node];
    return host != NULL ? host : job->master_addr;
}

/* A v6 address has colons of its own. */
static char *make_endpoint(const struct jr_scopes *scopes, uint32_t node, uint32_t rank)
{
    const char *host = node_host(scopes, node);
    bool bare = strchr(host, ':') != NULL && host[0] != '[';
    return jr_arena_printf(scopes->space.arena, "%s%s%s:%u", bare ? "[" : "", host, bare ? "]" : "",
                           scopes->job->rank_ports[rank]);
}

static char **make_endpoints(const struct jr_scopes *scopes)
{
    const struct jr_job *job = scopes->job;
    char **made = jr_arena_array(scopes->space.arena, job->world_size, sizeof *made);
    uint32_t rank = 0;
    for (uint32_t node = 0; made != NULL && node < job->nodes; node++)
        for (uint32_t i = 0; i < job->local_world_sizes[node]; i++, rank++)
            made[rank] = make_endpoint(scopes, node, rank);
    return made;
}

/* NULL where there are too many for one variable. */
static const char *join_endpoints(const struct jr_scopes *scopes)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    struct jr_arena *arena = scopes->space.arena;
    for (uint32_t i = 0; i < scopes->job->world_size && !arena->failed; i++)
        jr_buf_printf(&list, "%s%s", i > 0 ? "," : "", scopes->endpoints[i]);
    arena->failed |= list.failed;
    return arena->failed || list.len > LONGEST_LIST ? NULL : jr_arena_strdup(arena, list.data);
}

static void fill_endpoints(struct jr_scopes *scopes)
{
    if (scopes->job->rank_ports == NULL)
        return;
    scopes->endpoints = make_endpoints(scopes);
    if (scopes->endpoints != NULL)
        scopes->common.text[JR_TEMPLATE_ENDPOINTS] = join_endpoints(scopes);
}

/* The nodes of the job, with commas. NULL where one is not known, or they are too many for one
 * variable. */
static const char *join_hosts(const struct jr_scopes *scopes)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    const struct jr_job *job = scopes->job;
    for (uint32_t node = 0; node < job->nodes; node++) {
        if (scopes->options->local || job->hosts[node] == NULL || list.len > LONGEST_LIST)
            return NULL;
        jr_buf_printf(&list, "%s%s", node > 0 ? "," : "", job->hosts[node]);
    }
    return jr_buf_keep(&list, scopes->space.arena);
}

/* The ranks of each node, as Slurm writes it: "2(x3),1". */
static const char *join_counts(const struct jr_scopes *scopes)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    const struct jr_job *job = scopes->job;
    for (uint32_t node = 0, same; node < job->nodes; node += same) {
        for (same = 1; node + same < job->nodes &&
                       job->local_world_sizes[node + same] == job->local_world_sizes[node];)
            same++;
        jr_buf_printf(&list, "%s%u", node > 0 ? "," : "", job->local_world_sizes[node]);
        if (same > 1)
            jr_buf_printf(&list, "(x%u)", same);
    }
    return jr_buf_keep(&list, scopes->space.arena);
}

static const char *join_devices(const struct jr_node_resources *resources, struct jr_arena *arena)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    for (uint32_t i = 0; i < resources->devices_count; i++)
        jr_buf_printf(&list, "%s%s", i > 0 ? "," : "", resources->devices[i]);
    return jr_buf_keep(&list, arena);
}

static void fill_nodes(struct jr_scopes *scopes)
{
    struct jr_arena *arena = scopes->space.arena;
    uint32_t count = scopes->job->resources != NULL ? scopes->job->nodes : 1;
    scopes->nodes = jr_arena_array(arena, count, sizeof *scopes->nodes);
    for (uint32_t i = 0; scopes->nodes != NULL && i < count; i++) {
        const struct jr_node_resources *resources = jr_node_resources_of(scopes->job, i);
        scopes->nodes[i].visible = join_devices(resources, arena);
        scopes->nodes[i].threads = jr_arena_printf(arena, "%u", resources->threads);
    }
}

static const char *profile_backend_name(const char *backend)
{
#define CALLED(name, word) {name, word},
    static const char *const names[][2] = {JR_BACKEND_CALLED(CALLED)};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(backend, names[i][0]) == 0)
            return names[i][1];
    const char *colon = strchr(backend, ':');
    return colon == NULL ? backend : colon + 1;
}

static void fill_common(struct jr_scopes *scopes)
{
    const struct jr_job *job = scopes->job;
    const struct jr_plan_options *options = scopes->options;
    struct jr_arena *arena = scopes->space.arena;
    const char **text = scopes->common.text;

    text[JR_TEMPLATE_WORLD_SIZE] = decimal_text(scopes, job->world_size);
    text[JR_TEMPLATE_NODES] = jr_arena_printf(arena, "%u", job->nodes);
    text[JR_TEMPLATE_HOSTS] = join_hosts(scopes);
    text[JR_TEMPLATE_TASKS_PER_NODE] = join_counts(scopes);
    text[JR_TEMPLATE_MASTER_ADDR] = job->master_addr;
    text[JR_TEMPLATE_MASTER_PORT] = jr_arena_printf(arena, "%u", job->master_port);
    text[JR_TEMPLATE_INIT_METHOD] = job->init_method;
    text[JR_TEMPLATE_FRAMEWORK_BACKEND] = profile_backend_name(job->backend);
    text[JR_TEMPLATE_RUN_ID] = options->run_id;
    text[JR_TEMPLATE_RUN_DIR] =
        jr_arena_printf(arena, "%s/%s", job->log_dir, jr_plan_folder(options));
    text[JR_TEMPLATE_CELL] = options->cell;
    text[JR_TEMPLATE_SWEEP_ID] = options->sweep_id;
    text[JR_TEMPLATE_ATTEMPT] = jr_arena_printf(arena, "%u", options->attempt);
    text[JR_TEMPLATE_MAX_RESTARTS] = jr_arena_printf(arena, "%u", job->policy->restart.max);
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        text[axis_words[axis].size] = decimal_text(scopes, job->axis_size[axis]);
        text[axis_words[axis].backend] = job->axis_backend[axis];
    }
}

static void fill_sizes(struct jr_scopes *scopes)
{
    const struct jr_job *job = scopes->job;
    uint32_t *size = scopes->space.size;
    size[JR_DOMAIN_JOB] = 1;
    size[JR_DOMAIN_NODE] = job->nodes;
    for (uint32_t node = 0; node < job->nodes; node++)
        if (job->local_world_sizes[node] > size[JR_DOMAIN_LOCAL])
            size[JR_DOMAIN_LOCAL] = job->local_world_sizes[node];
    if (job->resources != NULL) /* see jr_scopes_pick */
        size[JR_DOMAIN_LOCAL] = job->world_size;
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        size[JR_DOMAIN_AT + axis] = job->axis_size[axis];
        size[JR_DOMAIN_GROUP + axis] = jr_grid_groups(&scopes->grid, axis);
    }
    size[JR_DOMAIN_RANK] = job->world_size;
}

void jr_scopes_init(struct jr_scopes *ret, struct jr_arena *scratch, const struct jr_job *job,
                    const struct jr_plan_options *options)
{
    *ret = (struct jr_scopes){.job = job, .options = options};
    ret->space.arena = scratch;
    memcpy(ret->grid.size, job->axis_size, sizeof ret->grid.size);
    ret->decimals = make_decimals(scratch, job->world_size);
    if (ret->decimals == NULL)
        return;
    fill_sizes(ret);
    fill_common(ret);
    fill_nodes(ret);
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++)
        ret->members[axis] = make_lists(ret, axis);
    fill_endpoints(ret);
}

/* The index of a rank's device among those that it sees; if the devices are not known, it is the
 * local rank. */
static const char *device_index(const struct jr_scopes *scopes, const struct jr_plan_rank *rank)
{
    const struct jr_job *job = scopes->job;
    uint32_t count = jr_node_resources_of(job, rank->node_rank)->devices_count;
    if (count == 0)
        return decimal_text(scopes, rank->local_rank);
    if (job->device_visibility == JR_VISIBLE_ONE)
        return decimal_text(scopes, 0);
    return decimal_text(scopes, rank->local_rank % count);
}

/* What is said of a rank's node. What depends on the local rank is another on each node, where they
 * have resources of their own. */
static void pick_node(const struct jr_scopes *scopes, const struct jr_plan_rank *rank,
                      struct jr_scope *ret)
{
    bool own = scopes->job->resources != NULL;
    const struct jr_node_words *words = &scopes->nodes[own ? rank->node_rank : 0];
    ret->index[JR_DOMAIN_NODE] = rank->node_rank;
    ret->index[JR_DOMAIN_LOCAL] = own ? rank->rank : rank->local_rank;
    ret->text[JR_TEMPLATE_NODE_RANK] = decimal_text(scopes, rank->node_rank);
    ret->text[JR_TEMPLATE_LOCAL_WORLD_SIZE] =
        decimal_text(scopes, scopes->job->local_world_sizes[rank->node_rank]);
    ret->text[JR_TEMPLATE_VISIBLE] = words->visible;
    ret->text[JR_TEMPLATE_THREADS] = words->threads;
}

void jr_scopes_pick(const struct jr_scopes *scopes, const struct jr_plan_rank *rank,
                    struct jr_scope *ret)
{
    *ret = scopes->common;
    pick_node(scopes, rank, ret);
    ret->index[JR_DOMAIN_RANK] = rank->rank;
    ret->text[JR_TEMPLATE_RANK] = decimal_text(scopes, rank->rank);
    ret->text[JR_TEMPLATE_LOCAL_RANK] = decimal_text(scopes, rank->local_rank);
    ret->text[JR_TEMPLATE_DEVICE] = rank->device;
    ret->text[JR_TEMPLATE_DEVICE_INDEX] = device_index(scopes, rank);
    if (scopes->endpoints != NULL)
        ret->text[JR_TEMPLATE_ENDPOINT] = scopes->endpoints[rank->rank];
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        const struct axis_words *words = &axis_words[axis];
        uint32_t group = rank->group[axis];
        ret->index[JR_DOMAIN_AT + axis] = rank->at[axis];
        ret->index[JR_DOMAIN_GROUP + axis] = group;
        ret->text[words->rank] = decimal_text(scopes, rank->at[axis]);
        ret->text[words->group] = decimal_text(scopes, group);
        if (scopes->members[axis] != NULL)
            ret->text[words->members] = scopes->members[axis][group];
    }
}
