/* The resolved spec as a tree: what emit prints and what the fingerprint is taken of. Declared in
 * internal.h and resolve.h. */
#include "resolve/internal.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "doc/doc.h"
#include "doc/interpolate.h"
#include "resolve/node_resources.h"
#include "spec/field.h"
#include "spec/load.h"

#include "base/banned.h"

static struct jr_node *complete_node(struct jr_arena *arena, const struct jr_node *node,
                                     const struct jr_spec_type *type);

/* A field that no one states. That `results` is left out says something by itself, so it stays
 * out. */
static struct jr_node *default_node(struct jr_arena *arena, const struct jr_spec_field *field)
{
    if (field->since == NULL || strcmp(field->key, "results") == 0)
        return NULL;
    if (field->type->kind == JR_KIND_MAP) {
        if (field->type->stated)
            return NULL;
        struct jr_node *map = complete_node(arena, jr_node_mapping(arena), field->type);
        return map == NULL || map->count == 0 ? NULL : map;
    }
    if (field->fallback == NULL)
        return NULL;
    enum jr_spec_kind kind = field->type->kind;
    bool plain = kind == JR_KIND_BOOLEAN || kind == JR_KIND_INTEGER;
    if (kind != JR_KIND_LIST)
        return jr_node_scalar(arena, field->fallback, plain);
    const struct jr_strv items = jr_field_defaults(field, arena);
    struct jr_node *list = jr_node_sequence(arena);
    for (size_t i = 0; i < items.count; i++)
        jr_node_append(arena, list, jr_node_scalar(arena, items.items[i], false));
    return list;
}

static void complete_fields(struct jr_arena *arena, struct jr_node *ret, const struct jr_node *node,
                            const struct jr_spec_field *fields)
{
    for (; fields->key != NULL; fields++) {
        const struct jr_node *value = jr_doc_get(node, fields->key);
        struct jr_node *filled =
            value != NULL ? complete_node(arena, value, fields->type) : default_node(arena, fields);
        enum jr_spec_kind kind = fields->type->kind;
        /* a list without items, or no names at all, says as much as no field */
        bool empty = (kind == JR_KIND_LIST || kind == JR_KIND_NAMES) && fields->fallback == NULL &&
                     filled != NULL && filled->kind != JR_NODE_SCALAR && filled->count == 0;
        if (filled != NULL && !empty)
            jr_node_add(arena, ret, jr_node_scalar(arena, fields->key, false), filled);
    }
}

/* A copy of `node` in the order of the table, with its defaults; what the table does not know (x-
 * keys) comes last. */
static struct jr_node *complete_node(struct jr_arena *arena, const struct jr_node *node,
                                     const struct jr_spec_type *type)
{
    bool fixed = type->kind == JR_KIND_MAP;
    bool named = type->kind == JR_KIND_NAMES && type->item != NULL;
    if (node == NULL || node->kind != JR_NODE_MAPPING || !(fixed || named))
        return jr_node_copy(arena, node);
    struct jr_node *ret = jr_node_mapping(arena);
    if (ret == NULL)
        return NULL;
    if (fixed)
        complete_fields(arena, ret, node, type->fields);
    for (size_t i = 0; i < node->count; i++) {
        const char *key = node->pairs[i].key->text;
        const struct jr_node *value = node->pairs[i].value;
        if (named || jr_field_get(type->fields, key) == NULL)
            jr_node_add(arena, ret, jr_node_scalar(arena, key, false),
                        named ? complete_node(arena, value, type->item)
                              : jr_node_copy(arena, value));
    }
    return ret;
}

/* Whether the spec states just that by way of a secret, which must not be written out. */
static bool is_stated_by_secret(const struct jr_node *node, const char *text)
{
    return node != NULL && node->filled != NULL && node->filled->kept != NULL &&
           strcmp(node->text, text) == 0;
}

static void set_scalar(struct jr_arena *arena, struct jr_node *root, const char *path,
                       const char *text, bool plain)
{
    if (text != NULL && !is_stated_by_secret(jr_doc_find(root, path), text))
        jr_node_set_path(arena, root, path, jr_node_scalar(arena, text, plain));
}

static void set_text(struct jr_arena *arena, struct jr_node *root, const char *path,
                     const char *text)
{
    set_scalar(arena, root, path, text, false);
}

static void set_number(struct jr_arena *arena, struct jr_node *root, const char *path,
                       uint32_t value)
{
    set_scalar(arena, root, path, jr_arena_printf(arena, "%u", value), true);
}

static void set_list(struct jr_arena *arena, struct jr_node *root, const char *path,
                     char *const *items, uint32_t count)
{
    const struct jr_node *stated = jr_doc_find(root, path);
    struct jr_node *list = jr_node_sequence(arena);
    for (uint32_t i = 0; i < count; i++) {
        struct jr_node *item = NULL;
        if (stated != NULL && stated->kind == JR_NODE_SEQUENCE && i < stated->count &&
            is_stated_by_secret(stated->items[i], items[i]))
            item = stated->items[i];
        else
            item = jr_node_scalar(arena, items[i], true);
        jr_node_append(arena, list, item);
    }
    jr_node_set_path(arena, root, path, list);
}

/* What the job has of its own. */
static void set_job(struct jr_arena *arena, struct jr_node *root, const struct jr_job *job)
{
    for (size_t i = 0; i < JR_FIELD_COUNT; i++) {
        const struct jr_field_row *row = &jr_field_rows[i];
        const char *member = (const char *)job + row->job_at;
        const char *text = NULL;
        uint32_t number = 0;
        if (row->job == JR_FIELD_TEXT)
            memcpy(&text, member, sizeof text);
        if (row->job == JR_FIELD_NUMBER) {
            memcpy(&number, member, sizeof number);
            text = jr_arena_printf(arena, "%u", number);
        }
        set_scalar(arena, root, row->path, text, row->job == JR_FIELD_NUMBER);
    }
    set_text(arena, root, "name", job->name);
    set_text(arena, root, "workdir", job->workdir);
    set_text(arena, root, "log_dir", job->log_dir);
    set_number(arena, root, "spare_nodes", job->spare_nodes);
    uint32_t most = 0;
    struct jr_strv sizes = {0};
    for (uint32_t i = 0; i < job->nodes; i++) {
        uint32_t size = job->local_world_sizes[i];
        most = size > most ? size : most;
        if (job->ragged)
            jr_strv_push(&sizes, arena, jr_arena_printf(arena, "%u", size));
    }
    if (job->ragged)
        set_list(arena, root, "local_world_size", sizes.items, (uint32_t)sizes.count);
    else
        set_number(arena, root, "local_world_size", job->local_world_sizes[0]);
    if (job->hosts[0] != NULL)
        set_list(arena, root, "hosts", job->hosts, job->nodes + job->spare_nodes);
    /* the first of hosts may be a secret, and then so is this */
    struct jr_node *first = jr_doc_find(root, "hosts[0]");
    if (is_stated_by_secret(first, job->master_addr))
        jr_node_set_path(arena, root, "master_addr", first);
    /* a list may not name devices that no rank gets */
    if (job->own.devices_count > 0 && job->own.devices_count <= most &&
        !jr_node_resources_differ(job))
        set_list(arena, root, "devices", job->own.devices, job->own.devices_count);
    else
        set_text(arena, root, "devices",
                 job->device == JR_DEVICE_CPU ? "none"
                 : job->devices_any           ? "any"
                                              : "all");
}

/* The arguments that the command line adds after the entrypoint's own. */
static void add_command_args(struct jr_arena *arena, struct jr_node *root, char *const *args)
{
    struct jr_node *list = jr_doc_find(root, "entrypoint.args");
    if (args == NULL || args[0] == NULL)
        return;
    if (list == NULL) {
        list = jr_node_sequence(arena);
        jr_node_set_path(arena, root, "entrypoint.args", list);
    }
    for (; *args != NULL; args++)
        jr_node_append(arena, list, jr_node_scalar(arena, *args, false));
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

void jr_tree_leave_out(struct jr_node *mapping, const char *key)
{
    size_t kept = 0;
    for (size_t i = 0; i < mapping->count; i++)
        if (strcmp(mapping->pairs[i].key->text, key) != 0)
            mapping->pairs[kept++] = mapping->pairs[i];
    mapping->count = kept;
}

/* All but what is hidden, and its finish. */
static struct jr_node *fill_tree_values(struct jr_arena *arena,
                                        const struct jr_resolution *resolution,
                                        const struct jr_spec_file *file)
{
    struct jr_node *root = jr_node_copy(arena, jr_spec_tree(file));
    if (root == NULL)
        return NULL;
    if (resolution != NULL) {
        jr_tree_leave_out(root, "targets"); /* it is for this machine from now on */
        set_job(arena, root, &resolution->job);
        add_command_args(arena, root, resolution->args);
        /* the cell of one node is where it is: what hosts its sweep has is no part of it, nor how
         * they are reached */
        struct jr_node *engine = jr_doc_get(root, "engine");
        bool pool = jr_spec_pools_hosts(file) && resolution->job.hosts[0] == NULL;
        if (pool)
            jr_tree_leave_out(root, "hosts");
        if (pool && engine != NULL && engine->kind == JR_NODE_MAPPING)
            jr_tree_leave_out(engine, "ssh");
    }
    return root;
}

struct jr_node *jr_resolved_tree(struct jr_arena *arena, const struct jr_resolution *resolution,
                                 const struct jr_spec_file *file)
{
    struct jr_node *root = fill_tree_values(arena, resolution, file);
    if (root == NULL)
        return NULL;
    const struct jr_node *entries = jr_doc_get(root, "per_rank");
    redact_variables(arena, jr_doc_get(root, "env"), jr_spec_get(file));
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        redact_variables(arena, jr_doc_get(entries->pairs[i].value, "env"), jr_spec_get(file));
    jr_spec_escape(arena, root);
    if (resolution != NULL && resolution->job.hidden != NULL)
        refer_to_secrets(arena, root, &resolution->job, false);
    root = complete_node(arena, root, jr_field_root());
    return arena->failed ? NULL : root;
}

/* What a node has of its own, unless the spec says it for all. */
static void leave_out_own_fields(struct jr_arena *arena, struct jr_node *root,
                                 const struct jr_spec_file *file)
{
    static const char *const own[] = {"devices", "bind", "threads", "hosts"};
    const struct jr_spec *spec = jr_spec_get(file);
    /* where nodes change, only the controller knows who is which */
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (jr_spec_where(file, own[i]).line == 0 &&
            (strcmp(own[i], "hosts") != 0 || spec->spare_nodes == 0))
            jr_tree_leave_out(root, own[i]);
    if (spec->devices_count == 1 && strcmp(spec->devices[0], "all") == 0)
        jr_tree_leave_out(root, "devices");
    if (spec->devices_count == 1 && strcmp(spec->devices[0], "any") == 0)
        jr_node_set_path(arena, root, "devices", jr_node_scalar(arena, "any", false));
}

/* Append a tree that is filled, as it is read again. NULL: there was no memory. */
static void emit_tree(struct jr_buf *out, struct jr_arena *arena, struct jr_node *root)
{
    if (root != NULL) {
        jr_spec_escape(arena, root);
        root = complete_node(arena, root, jr_field_root());
    }
    if (root != NULL && !arena->failed)
        jr_doc_emit(out, root);
    out->failed |= root == NULL || arena->failed;
    jr_arena_release(arena);
}

void jr_resolution_emit_for_nodes(struct jr_buf *out, const struct jr_resolution *resolution,
                                  const struct jr_spec_file *file)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node *root = fill_tree_values(&arena, resolution, file);
    if (root != NULL) {
        jr_tree_leave_out(root, "node_rank");
        jr_tree_leave_out(root, "rank_start");
        leave_out_own_fields(&arena, root, file);
        /* who takes the place of a node is for the controller to know */
        struct jr_node *hosts = jr_doc_find(root, "hosts");
        if (hosts != NULL && hosts->count > resolution->job.nodes)
            hosts->count = resolution->job.nodes;
        jr_tree_leave_out(root, "spare_nodes");
    }
    emit_tree(out, &arena, root);
}

void jr_spec_emit_whole(struct jr_buf *out, const struct jr_spec_file *file, char *const *args)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_spec *spec = jr_spec_get(file);
    struct jr_node *root = fill_tree_values(&arena, NULL, file);
    if (root != NULL) {
        jr_tree_leave_out(root, "targets");
        set_text(&arena, root, "name", spec->name);
        set_text(&arena, root, "workdir", spec->workdir);
        set_text(&arena, root, "log_dir", spec->log_dir);
        add_command_args(&arena, root, args);
    }
    emit_tree(out, &arena, root);
}

void jr_resolution_emit(struct jr_buf *out, const struct jr_resolution *resolution,
                        const struct jr_spec_file *file)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_node *root = jr_resolved_tree(&arena, resolution, file);
    if (root != NULL)
        jr_doc_emit(out, root);
    else
        out->failed = true;
}
