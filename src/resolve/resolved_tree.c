#include "resolve/resolved_tree.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "doc/interpolate.h"
#include "resolve/complete_tree.h"
#include "resolve/node_resources.h"
#include "spec/load.h"

#include "base/banned.h"

/* The tree that is being filled. */
struct filling {
    struct jr_arena *arena;
    struct jr_node *root;
};

/* Whether the spec states just that by way of a secret, which must not be written out. */
static bool is_stated_by_secret(const struct jr_node *node, const char *text)
{
    return node != NULL && node->filled != NULL && node->filled->kept != NULL &&
           strcmp(node->text, text) == 0;
}

static void set_scalar(const struct filling *to, const char *path, const char *text, bool plain)
{
    if (text != NULL && !is_stated_by_secret(jr_doc_find(to->root, path), text))
        jr_node_set_path(to->arena, to->root, path, jr_node_scalar(to->arena, text, plain));
}

static void set_text(const struct filling *to, const char *path, const char *text)
{
    set_scalar(to, path, text, false);
}

static void set_tree_number(const struct filling *to, const char *path, uint32_t value)
{
    set_scalar(to, path, jr_arena_printf(to->arena, "%u", value), true);
}

static void set_list(const struct filling *to, const char *path, char *const *items, uint32_t count)
{
    const struct jr_node *stated = jr_doc_find(to->root, path);
    struct jr_node *list = jr_node_sequence(to->arena);
    for (uint32_t i = 0; i < count; i++) {
        struct jr_node *item = NULL;
        if (stated != NULL && stated->kind == JR_NODE_SEQUENCE && i < stated->count &&
            is_stated_by_secret(stated->items[i], items[i]))
            item = stated->items[i];
        else
            item = jr_node_scalar(to->arena, items[i], true);
        jr_node_append(to->arena, list, item);
    }
    jr_node_set_path(to->arena, to->root, path, list);
}

/* Written as a list only if the nodes differ. */
static void set_local_sizes(const struct filling *to, const struct jr_job *job)
{
    struct jr_strv sizes = {0};
    if (!job->ragged) {
        set_tree_number(to, "local_world_size", job->local_world_sizes[0]);
        return;
    }
    for (uint32_t i = 0; i < job->nodes; i++)
        jr_strv_push(&sizes, to->arena,
                     jr_arena_printf(to->arena, "%u", job->local_world_sizes[i]));
    set_list(to, "local_world_size", sizes.items, (uint32_t)sizes.count);
}

static void set_sizes(const struct filling *to, const struct jr_job *job)
{
    set_tree_number(to, "world_size", job->world_size);
    set_tree_number(to, "nodes", job->nodes);
    set_tree_number(to, "spare_nodes", job->spare_nodes);
    set_tree_number(to, "node_rank", job->node_rank);
    set_tree_number(to, "rank_start", job->rank_start);
    set_tree_number(to, "master_port", job->master_port);
    set_tree_number(to, "threads", job->own.threads);
    set_tree_number(to, "parallelism.model", job->axis_size[JR_AXIS_MODEL]);
    set_tree_number(to, "parallelism.pipeline", job->axis_size[JR_AXIS_PIPELINE]);
    set_tree_number(to, "parallelism.data", job->axis_size[JR_AXIS_DATA]);
    set_local_sizes(to, job);
}

/* The first of hosts may be a secret, and then so is this. */
static void set_master(const struct filling *to, const struct jr_job *job)
{
    struct jr_node *first = jr_doc_find(to->root, "hosts[0]");
    if (is_stated_by_secret(first, job->master_addr))
        jr_node_set_path(to->arena, to->root, "master_addr", first);
    else
        set_text(to, "master_addr", job->master_addr);
}

/* Whether there are devices that no rank gets, which a list may not name. */
static bool has_idle_devices(const struct jr_job *job)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < job->nodes; i++)
        if (job->local_world_sizes[i] > most)
            most = job->local_world_sizes[i];
    return job->own.devices_count > most;
}

/* Where they cannot be listed. */
static const char *words_for_devices(const struct jr_job *job)
{
    if (job->device == JR_DEVICE_CPU)
        return "none";
    return job->devices_any ? "any" : "all";
}

static void set_names(const struct filling *to, const struct jr_job *job)
{
    set_text(to, "name", job->name);
    set_text(to, "workdir", job->workdir);
    set_text(to, "log_dir", job->log_dir);
    set_text(to, "init_method", job->init_method);
    set_text(to, "device", job->device_name);
    set_text(to, "bind", job->bind);
    set_text(to, "backends.default", job->backend);
    set_text(to, "backends.model", job->axis_backend[JR_AXIS_MODEL]);
    set_text(to, "backends.pipeline", job->axis_backend[JR_AXIS_PIPELINE]);
    set_text(to, "backends.data", job->axis_backend[JR_AXIS_DATA]);
    if (job->hosts[0] != NULL)
        set_list(to, "hosts", job->hosts, job->nodes + job->spare_nodes);
    set_master(to, job);
    if (job->own.devices_count > 0 && !jr_node_resources_differ(job) && !has_idle_devices(job))
        set_list(to, "devices", job->own.devices, job->own.devices_count);
    else
        set_text(to, "devices", words_for_devices(job));
}

/* The arguments that the command line adds after the entrypoint's own. */
static void add_command_args(const struct filling *to, char *const *args)
{
    struct jr_node *list = jr_doc_find(to->root, "entrypoint.args");
    if (args == NULL || args[0] == NULL)
        return;
    if (list == NULL) {
        list = jr_node_sequence(to->arena);
        jr_node_set_path(to->arena, to->root, "entrypoint.args", list);
    }
    for (; *args != NULL; args++)
        jr_node_append(to->arena, list, jr_node_scalar(to->arena, *args, false));
}

/* A secret is not written down: it has to come from the environment. One that is unset (null) tells
 * nothing. */
static void redact_variables(struct jr_arena *arena, struct jr_node *env,
                             const struct jr_spec *spec)
{
    for (size_t i = 0; env != NULL && i < env->count; i++) {
        struct jr_pair *pair = &env->pairs[i];
        struct jr_node *asked = NULL;
        if (jr_env_matches(spec->secrets, spec->secrets_count, pair->key->text, pair->key->len) &&
            jr_scalar_type(pair->value) != JR_SCALAR_NULL)
            asked = jr_node_scalar(arena, "???", true);
        if (asked != NULL)
            pair->value = asked;
    }
}

static void redact_secrets(struct jr_arena *arena, struct jr_node *root, const struct jr_spec *spec)
{
    const struct jr_node *entries = jr_doc_get(root, "per_rank");
    redact_variables(arena, jr_doc_get(root, "env"), spec);
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        redact_variables(arena, jr_doc_get(entries->pairs[i].value, "env"), spec);
}

/* A scalar whose text a shell reads has it by the shell's own means. */
static void refer_scalar(struct jr_arena *arena, struct jr_node *node, const struct jr_job *job,
                         bool shell)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const char *at = node->text;
    for (size_t i = 0; job->hidden[i] != NULL; i++) {
        const char *value = job->hidden[i], *found;
        jr_buf_clear(&text);
        for (at = node->text; (found = strstr(at, value)) != NULL; at = found + strlen(value)) {
            const char *name =
                jr_arena_printf(arena, shell ? "${%s}" : "${env:%s}", job->hidden_names[i]);
            jr_buf_add(&text, at, (size_t)(found - at));
            if (shell)
                jr_buf_str(&text, name);
            else if (name != NULL)
                jr_interpolation_refer(&text, name, strlen(name));
        }
        if (at == node->text)
            continue;
        jr_buf_str(&text, at);
        const char *copy = jr_buf_keep(&text, arena);
        if (copy == NULL)
            return;
        node->text = copy;
        node->len = (uint32_t)text.len;
    }
}

/* Remove the values of secrets, wherever they are by now; a run of this tree reads them again. */
static void refer_to_secrets(struct jr_arena *arena, struct jr_node *node, const struct jr_job *job,
                             bool shell)
{
    bool list = node->kind == JR_NODE_SEQUENCE;
    if (node->kind == JR_NODE_SCALAR)
        refer_scalar(arena, node, job, shell);
    for (size_t i = 0; node->kind != JR_NODE_SCALAR && i < node->count; i++) {
        const char *key = list ? "" : node->pairs[i].key->text;
        refer_to_secrets(arena, list ? node->items[i] : node->pairs[i].value, job,
                         strcmp(key, "shell") == 0 || strcmp(key, "setup") == 0);
    }
}

static void leave_out_key(struct jr_node *mapping, const char *key)
{
    size_t kept = 0;
    for (size_t i = 0; i < mapping->count; i++)
        if (strcmp(mapping->pairs[i].key->text, key) != 0)
            mapping->pairs[kept++] = mapping->pairs[i];
    mapping->count = kept;
}

/* The cell of one node is where it is: what hosts its sweep has is no part of it, nor how they are
 * reached. */
static void leave_out_pool(struct jr_node *root)
{
    struct jr_node *engine = jr_doc_get(root, "engine");
    leave_out_key(root, "hosts");
    if (engine != NULL && engine->kind == JR_NODE_MAPPING)
        leave_out_key(engine, "ssh");
}

/* All but what is hidden, and its finish. */
static struct jr_node *fill_tree_values(struct jr_arena *arena,
                                        const struct jr_resolution *resolution,
                                        const struct jr_spec_file *file)
{
    struct jr_node *root = jr_node_copy(arena, jr_spec_tree(file));
    const struct filling to = {arena, root};
    if (root == NULL)
        return NULL;
    if (resolution != NULL) {
        leave_out_key(root, "targets"); /* it is for this machine from now on */
        set_sizes(&to, &resolution->job);
        set_names(&to, &resolution->job);
        add_command_args(&to, resolution->args);
        if (jr_spec_pools_hosts(file) && resolution->job.hosts[0] == NULL)
            leave_out_pool(root);
    }
    return root;
}

struct jr_node *jr_resolved_tree(struct jr_arena *arena, const struct jr_resolution *resolution,
                                 const struct jr_spec_file *file)
{
    struct jr_node *root = fill_tree_values(arena, resolution, file);
    if (root == NULL)
        return NULL;
    redact_secrets(arena, root, jr_spec_get(file));
    jr_spec_escape(arena, root);
    if (resolution != NULL && resolution->job.hidden != NULL)
        refer_to_secrets(arena, root, &resolution->job, false);
    root = jr_complete_tree(arena, root);
    return arena->failed ? NULL : root;
}

/* Where nodes change, only the controller knows who is which. */
static bool is_own_field(const struct jr_spec_file *file, const char *key)
{
    return jr_spec_where(file, key).line == 0 &&
           (strcmp(key, "hosts") != 0 || jr_spec_get(file)->spare_nodes == 0);
}

/* What a node has of its own, unless the spec says it for all. */
static void leave_out_own_fields(struct jr_arena *arena, struct jr_node *root,
                                 const struct jr_spec_file *file)
{
    static const char *const own[] = {"devices", "bind", "threads", "hosts"};
    const struct jr_spec *spec = jr_spec_get(file);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (is_own_field(file, own[i]))
            leave_out_key(root, own[i]);
    if (spec->devices_count == 1 && strcmp(spec->devices[0], "all") == 0)
        leave_out_key(root, "devices");
    if (spec->devices_count == 1 && strcmp(spec->devices[0], "any") == 0)
        jr_node_set_path(arena, root, "devices", jr_node_scalar(arena, "any", false));
}

/* Who takes the place of a node is for the controller to know. */
static void leave_out_spares(struct jr_node *root, const struct jr_job *job)
{
    struct jr_node *hosts = jr_doc_find(root, "hosts");
    if (hosts != NULL && hosts->count > job->nodes)
        hosts->count = job->nodes;
    leave_out_key(root, "spare_nodes");
}

void jr_resolution_emit_for_nodes(struct jr_buf *out, const struct jr_resolution *resolution,
                                  const struct jr_spec_file *file)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node *root = fill_tree_values(&arena, resolution, file);
    if (root != NULL) {
        leave_out_key(root, "node_rank");
        leave_out_key(root, "rank_start");
        leave_out_own_fields(&arena, root, file);
        leave_out_spares(root, &resolution->job);
        jr_spec_escape(&arena, root);
        root = jr_complete_tree(&arena, root);
    }
    if (root != NULL && !arena.failed)
        jr_doc_emit(out, root);
    out->failed |= root == NULL || arena.failed;
    jr_arena_release(&arena);
}

void jr_spec_emit_whole(struct jr_buf *out, const struct jr_spec_file *file, char *const *args)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_spec *spec = jr_spec_get(file);
    struct jr_node *root = fill_tree_values(&arena, NULL, file);
    if (root != NULL) {
        const struct filling to = {&arena, root};
        leave_out_key(root, "targets");
        set_text(&to, "name", spec->name);
        set_text(&to, "workdir", spec->workdir);
        set_text(&to, "log_dir", spec->log_dir);
        add_command_args(&to, args);
        jr_spec_escape(&arena, root);
        root = jr_complete_tree(&arena, root);
    }
    if (root != NULL && !arena.failed)
        jr_doc_emit(out, root);
    out->failed |= root == NULL || arena.failed;
    jr_arena_release(&arena);
}

void jr_resolution_emit(struct jr_buf *out, const struct jr_resolution *resolution,
                        const struct jr_spec_file *file)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_node *root = jr_resolved_tree(&arena, resolution, file);
    if (root != NULL)
        jr_doc_emit(out, root);
    else
        out->failed = true;
    jr_arena_release(&arena);
}
