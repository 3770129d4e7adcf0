#include "resolve/node_resources.h"

#include <string.h>

#include "base/json.h"
#include "resolve/resolve.h"

#include "base/banned.h"

const struct jr_node_resources *jr_node_resources_of(const struct jr_job *job, uint32_t node)
{
    return job->resources != NULL ? &job->resources[node] : &job->own;
}

static void set_texts(json_t *object, const char *key, char *const *items, uint32_t count)
{
    json_t *list = count > 0 ? json_array() : NULL;
    for (uint32_t i = 0; i < count; i++)
        jr_json_append(list, jr_json_str(items[i]));
    if (list != NULL)
        jr_json_set(object, key, list);
}

void jr_node_resources_tell(struct jr_buf *out, const struct jr_node_resources *resources)
{
    json_auto_t *object = json_object();
    jr_json_set_int(object, "threads", resources->threads);
    set_texts(object, "devices", resources->devices, resources->devices_count);
    set_texts(object, "cpus", resources->slots, resources->slots_count);
    if (resources->held != NULL)
        jr_json_set_str(object, "held", resources->held);
    if (resources->device_model != NULL)
        jr_json_set_str(object, "model", resources->device_model);
    jr_json_print(out, object, 0);
}

/* Ranks that share CPUs share the text. False: it is no list of texts. */
static bool get_texts(const json_t *list, struct jr_arena *arena, char ***ret, uint32_t *ret_count)
{
    size_t count = json_array_size(list);
    char **items = jr_arena_array(arena, count, sizeof *items);
    for (size_t i = 0; items != NULL && i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text == NULL)
            return false;
        bool same = i > 0 && items[i - 1] != NULL && strcmp(items[i - 1], text) == 0;
        items[i] = same ? items[i - 1] : jr_arena_strdup(arena, text);
    }
    *ret = items;
    *ret_count = (uint32_t)count;
    return list == NULL || json_is_array(list);
}

int jr_node_resources_read(struct jr_node_resources *ret, struct jr_arena *arena, const char *text,
                           size_t len)
{
    json_t *object = jr_json_parse(text, len, NULL);
    struct jr_node_resources resources = {
        .threads = jr_json_get_u32(object, "threads"),
        .device_model = jr_arena_strdup(arena, jr_json_get_str(object, "model")),
        .held = jr_arena_strdup(arena, jr_json_get_str(object, "held")),
    };
    bool good =
        resources.threads > 0 &&
        get_texts(json_object_get(object, "devices"), arena, &resources.devices,
                  &resources.devices_count) &&
        get_texts(json_object_get(object, "cpus"), arena, &resources.slots, &resources.slots_count);
    json_decref(object);
    if (good)
        *ret = resources;
    return good ? 0 : -1;
}

bool jr_node_resources_differ(const struct jr_job *job)
{
    const struct jr_node_resources *first = job->resources;
    for (uint32_t node = 1; first != NULL && node < job->nodes; node++) {
        const struct jr_node_resources *other = &job->resources[node];
        if (other->devices_count != first->devices_count)
            return true;
        for (uint32_t i = 0; i < first->devices_count; i++)
            if (strcmp(first->devices[i], other->devices[i]) != 0)
                return true;
    }
    return false;
}

void jr_node_resources_take(struct jr_resolution *resolution, struct jr_node_resources *each)
{
    resolution->job.resources = each;
    if (!jr_node_resources_differ(&resolution->job))
        return;
    for (size_t i = 0; i < resolution->provenance_count; i++) {
        struct jr_provenance *row = &resolution->provenance[i];
        if (strcmp(row->field, "devices") != 0)
            continue;
        bool any = resolution->job.devices_any;
        row->value = any ? "any" : "all";
        row->rule = any ? "free ones; nodes have others than the first"
                        : "all that are visible; nodes have others than the first";
    }
}
