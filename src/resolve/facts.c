#include "resolve/facts.h"

#include <stddef.h>
#include <string.h>

#include "base/did_you_mean.h"
#include "doc/doc.h"
#include "resolve/device_profile.h"
#include "resolve/fact_type.h"
#include "resolve/facts_check.h"

#include "base/banned.h"

/* A key of the file. It is a scalar of a type, a mapping of `rows`, or, where
 * `size` says how large an item is, a list of such mappings. */
struct row {
    const char *key;
    size_t at;              /* of the member within its struct */
    const struct row *rows; /* NULL for a scalar */
    size_t size;
    size_t count_at;   /* of the list's count */
    const void *blank; /* what an item is before it is read */
    bool optional;     /* left out where the text at `at`, of a mapping the
                          first one in it, is not there */
    enum jr_fact type;
    bool required;
};

#define FACT(owner, word, kind, member)                                                            \
    .key = (word), .type = JR_FACT_##kind, .at = offsetof(struct owner, member)
#define HW(key, kind, member)      FACT(jr_host, key, kind, member)
#define DEVICE(key, kind, member)  FACT(jr_host_device, key, kind, member)
#define NUMA(key, kind, member)    FACT(jr_host_numa, key, kind, member)
#define CACHE(key, kind, member)   FACT(jr_host_cache, key, kind, member)
#define PROBLEM(key, kind, member) FACT(jr_host_problem, key, kind, member)

static const struct jr_host_numa blank_numa = {.index = 0};

static const struct row numa_rows[] = {
    {NUMA("index", INDEX, index), .required = true},
    {NUMA("cpus", SET, cpus), .required = true},
    {.key = NULL},
};

static const struct jr_host_cache blank_cache = {.level = 0};

static const struct row cache_rows[] = {
    {CACHE("level", INDEX, level), .required = true},
    {CACHE("size", BYTES, size)},
    {CACHE("cpus", GROUPS, cpus), .required = true},
    {.key = NULL},
};

static const struct row cpus_rows[] = {
    {HW("online", COUNT, cpus.online)},
    {HW("usable", COUNT, cpus.usable)},
    {HW("cores", COUNT, cpus.usable_cores)},
    {HW("quota", CPUS, cpus.quota)},
    {HW("quota_from", TEXT, cpus.quota_from)},
    {HW("set", SET, cpus.set)},
    {HW("core_cpus", GROUPS, cpus.cores), .optional = true},
    {.key = "numa",
     .at = offsetof(struct jr_host, cpus.numa),
     .rows = numa_rows,
     .size = sizeof(struct jr_host_numa),
     .count_at = offsetof(struct jr_host, cpus.numa_count),
     .blank = &blank_numa,
     .optional = true},
    {.key = "caches",
     .at = offsetof(struct jr_host, cpus.caches),
     .rows = cache_rows,
     .size = sizeof(struct jr_host_cache),
     .count_at = offsetof(struct jr_host, cpus.caches_count),
     .blank = &blank_cache,
     .optional = true},
    {.key = NULL},
};

/* The facts about a device of any kind. */
#define DEVICE_ROWS                                                                                \
    {DEVICE("index", INDEX, index), .required = true}, {DEVICE("model", TEXT, model)},             \
        {DEVICE("uuid", TEXT, uuid)}, {DEVICE("bus", TEXT, bus)},                                  \
        {DEVICE("memory", BYTES, memory)},                                                         \
    {                                                                                              \
        DEVICE("numa_node", NODE, numa_node)                                                       \
    }

static const struct row device_rows[] = {
    {DEVICE("kind", KIND, kind), .required = true},
    DEVICE_ROWS,
    {DEVICE("visible", FLAG, visible)},
    {.key = NULL},
};

static const struct row environment_rows[] = {
    {HW("TORCH_DISTRIBUTED_BACKEND", TEXT, environment.backend)},
    {HW("OMP_NUM_THREADS", TEXT, environment.omp_num_threads)},
    {HW(JR_CUDA_VISIBLE, TEXT, environment.visible[JR_DEVICE_CUDA])},
    {HW("ROCR_VISIBLE_DEVICES", TEXT, environment.visible[JR_DEVICE_ROCM]), .optional = true},
    {HW("ZE_AFFINITY_MASK", TEXT, environment.visible[JR_DEVICE_XPU]), .optional = true},
    {HW("HABANA_VISIBLE_DEVICES", TEXT, environment.visible[JR_DEVICE_HPU]), .optional = true},
    {HW("ASCEND_RT_VISIBLE_DEVICES", TEXT, environment.visible[JR_DEVICE_NPU]), .optional = true},
    {HW("MLU_VISIBLE_DEVICES", TEXT, environment.visible[JR_DEVICE_MLU]), .optional = true},
    {.key = NULL},
};

static const struct row scheduler_rows[] = {
    {HW("name", TEXT, scheduler.name)},
    {HW("job", TEXT, scheduler.job_id)},
    {HW("step", FLAG, scheduler.step)},
    {HW("nodes", COUNT, scheduler.nodes)},
    {HW("node_rank", NODE, scheduler.node_rank)},
    {HW("hosts", HOSTS, scheduler.hosts)},
    {HW("tasks_here", COUNT, scheduler.tasks_here)},
    {HW("tasks", COUNTS, scheduler.tasks)},
    {HW("slots", FLAG, scheduler.slots)},
    {HW("master_addr", TEXT, scheduler.master_addr)},
    {HW("master_port", COUNT, scheduler.master_port)},
    {HW("end", SECONDS, scheduler.end)},
    {HW("kill_wait", COUNT, scheduler.kill_wait)},
    {HW("problem", TEXT, scheduler.problem)},
    {HW("help", TEXT, scheduler.help)},
    {.key = NULL},
};

static const struct row port_rows[] = {
    {HW("low", COUNT, port_low)},
    {HW("high", COUNT, port_high)},
    {.key = NULL},
};

static const struct row problem_rows[] = {
    {PROBLEM("kind", KIND, kind), .required = true},
    {PROBLEM("message", TEXT, message), .required = true},
    {PROBLEM("help", TEXT, help)},
    {.key = NULL},
};

static const struct jr_host_device blank_device = {.numa_node = -1, .visible = true};
static const struct jr_host_problem blank_problem = {.kind = JR_DEVICE_CPU};

static const struct row rows[] = {
    {.key = "format_version", .type = JR_FACT_VERSION, .required = true},
    {HW("hostname", TEXT, hostname)},
    {HW("nodes", COUNT, nodes)},
    {.key = "cpus", .rows = cpus_rows},
    {HW("memory", BYTES, memory)},
    {.key = "devices",
     .at = offsetof(struct jr_host, devices),
     .rows = device_rows,
     .size = sizeof(struct jr_host_device),
     .count_at = offsetof(struct jr_host, devices_count),
     .blank = &blank_device},
    {HW("custom_variable", NAME, custom_variable), .optional = true},
    {.key = "scheduler",
     .rows = scheduler_rows,
     .at = offsetof(struct jr_host, scheduler.name),
     .optional = true},
    {.key = "environment", .rows = environment_rows},
    {.key = "ephemeral_ports", .rows = port_rows},
    {.key = "problems",
     .at = offsetof(struct jr_host, problems),
     .rows = problem_rows,
     .size = sizeof(struct jr_host_problem),
     .count_at = offsetof(struct jr_host, problems_count),
     .blank = &blank_problem},
    {.key = NULL},
};

/* From a file beside the spec: the devices of its own kind. */
static const struct row own_device_rows[] = {
    DEVICE_ROWS,
    {.key = NULL},
};

static const struct row own_rows[] = {
    {.key = "format_version", .type = JR_FACT_VERSION, .required = true},
    {HW("variable", NAME, custom_variable)},
    {.key = "devices",
     .at = offsetof(struct jr_host, devices),
     .rows = own_device_rows,
     .size = sizeof(struct jr_host_device),
     .count_at = offsetof(struct jr_host, devices_count),
     .blank = &blank_device,
     .required = true},
    {.key = NULL},
};

static const struct row *find_row(const struct row *table, const char *key)
{
    for (; table->key != NULL; table++)
        if (strcmp(table->key, key) == 0)
            return table;
    return NULL;
}

/* Writing. */

static struct jr_node *build_mapping(struct jr_arena *arena, const struct row *table,
                                     const char *base);

static struct jr_node *build_list(struct jr_arena *arena, const struct row *row, const char *base)
{
    struct jr_node *list = jr_node_sequence(arena);
    const char *items = *(const char *const *)(const void *)(base + row->at);
    uint32_t count = *(const uint32_t *)(const void *)(base + row->count_at);
    for (uint32_t i = 0; i < count; i++)
        jr_node_append(arena, list, build_mapping(arena, row->rows, items + i * row->size));
    return list;
}

static struct jr_node *build_scalar(struct jr_arena *arena, const struct row *row, const char *base)
{
    const char *text = jr_fact_type(row->type)->write(base + row->at, arena);
    bool quotable = row->type == JR_FACT_TEXT || row->type == JR_FACT_SET;
    if (text == NULL)
        return jr_node_scalar(arena, "null", true);
    return jr_node_scalar(arena, text, !quotable);
}

static struct jr_node *build_mapping(struct jr_arena *arena, const struct row *table,
                                     const char *base)
{
    struct jr_node *mapping = jr_node_mapping(arena);
    for (const struct row *row = table; row->key != NULL; row++) {
        if (row->optional && *(const char *const *)(const void *)(base + row->at) == NULL)
            continue;
        struct jr_node *value = row->size > 0       ? build_list(arena, row, base)
                                : row->rows != NULL ? build_mapping(arena, row->rows, base)
                                                    : build_scalar(arena, row, base);
        jr_node_set(arena, mapping, row->key, value);
    }
    return mapping;
}

void jr_profile_emit(struct jr_buf *out, const struct jr_host *hw)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node *root = build_mapping(&arena, rows, (const char *)hw);
    if (!arena.failed)
        jr_doc_emit(out, root);
    out->failed |= arena.failed;
    jr_arena_release(&arena);
}

/* Reading. */

struct reader {
    struct jr_arena *arena;
    struct jr_diags *diags;
};

static void read_mapping(struct reader *r, const struct jr_node *node, const struct row *table,
                         char *base);

static void refuse_fact(struct reader *r, const struct jr_node *node, const char *key,
                        const char *wants)
{
    bool scalar = node->kind == JR_NODE_SCALAR;
    jr_diags_error(r->diags, JR_CODE_WRONG_FACT, node->span, key, "'%s' wants %s%s%s%s", key, wants,
                   scalar ? ", not '" : "", scalar ? node->text : "", scalar ? "'" : "");
}

static void read_fact_scalar(struct reader *r, const struct jr_node *node, const struct row *row,
                             char *base)
{
    const struct jr_fact_type *fact = jr_fact_type(row->type);
    enum jr_scalar_type type = node->kind == JR_NODE_SCALAR ? jr_scalar_type(node) : JR_SCALAR_NULL;
    if (node->kind == JR_NODE_SCALAR && type == JR_SCALAR_NULL && !row->required)
        return;
    if ((fact->scalars & (1u << type)) == 0 || !fact->read(node->text, base + row->at, r->arena))
        refuse_fact(r, node, row->key, fact->wants);
}

static void read_fact_list(struct reader *r, const struct jr_node *node, const struct row *row,
                           char *base)
{
    if (node->kind != JR_NODE_SEQUENCE) {
        refuse_fact(r, node, row->key, "a list");
        return;
    }
    char *items = jr_arena_array(r->arena, node->count, row->size);
    if (items == NULL)
        return;
    for (size_t i = 0; i < node->count; i++) {
        memcpy(items + i * row->size, row->blank, row->size);
        if (node->items[i]->kind == JR_NODE_MAPPING)
            read_mapping(r, node->items[i], row->rows, items + i * row->size);
        else
            refuse_fact(r, node->items[i], row->key, "a mapping for each item");
    }
    *(char **)(void *)(base + row->at) = items;
    *(uint32_t *)(void *)(base + row->count_at) = (uint32_t)node->count;
}

static void read_value(struct reader *r, const struct jr_node *node, const struct row *row,
                       char *base)
{
    if (row->size > 0)
        read_fact_list(r, node, row, base);
    else if (row->rows == NULL)
        read_fact_scalar(r, node, row, base);
    else if (node->kind == JR_NODE_MAPPING)
        read_mapping(r, node, row->rows, base);
    else
        refuse_fact(r, node, row->key, "a mapping");
}

static void report_unknown_fact(struct reader *r, const struct jr_node *key,
                                const struct row *table)
{
    const char *names[24] = {NULL};
    for (size_t i = 0; table[i].key != NULL; i++)
        names[i] = table[i].key;
    const char *nearest = jr_did_you_mean(key->text, names);
    struct jr_diag *diag = jr_diags_error(r->diags, JR_CODE_UNKNOWN_FACT, key->span, key->text,
                                          "unknown fact '%s'", key->text);
    if (nearest != NULL)
        jr_diag_help(r->diags, diag, "did you mean '%s'?", nearest);
}

static void read_mapping(struct reader *r, const struct jr_node *node, const struct row *table,
                         char *base)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct jr_pair *pair = &node->pairs[i];
        const struct row *row = find_row(table, pair->key->text);
        if (row == NULL)
            report_unknown_fact(r, pair->key, table);
        else
            read_value(r, pair->value, row, base);
    }
    for (const struct row *row = table; row->key != NULL; row++)
        if (row->required && jr_doc_get(node, row->key) == NULL)
            jr_diags_error(r->diags, JR_CODE_FACT_MISSING, node->span, row->key, "'%s' is missing",
                           row->key);
}

/* Take over a document that was loaded, or not. `before` is how many errors there were until then:
 * one with a key twice is loaded, and is an error. */
static int read_facts_doc(struct jr_host *ret, struct jr_arena *arena, int got, struct jr_doc *doc,
                          size_t before, struct jr_diags *diags)
{
    struct jr_host hw = *ret;
    struct reader reader = {arena, diags};
    const struct jr_node *root = doc->root;
    jr_arena_adopt(arena, &doc->arena);
    if (got != 0)
        return -1;
    if (root->kind == JR_NODE_MAPPING)
        read_mapping(&reader, root, rows, (char *)&hw);
    else
        jr_diags_error(diags, JR_CODE_WRONG_FACT, root->span, NULL,
                       "a facts file must be a mapping");
    if (diags->errors != before || arena->failed || jr_facts_check(&hw, root, diags) != 0)
        return -1;
    *ret = hw;
    return 0;
}

int jr_facts_custom(struct jr_host *ret, struct jr_arena *arena, const struct jr_node *root,
                    struct jr_diags *diags)
{
    struct jr_host hw = *ret;
    struct reader reader = {arena, diags};
    size_t before = diags->errors;
    if (root->kind == JR_NODE_MAPPING)
        read_mapping(&reader, root, own_rows, (char *)&hw);
    else
        jr_diags_error(diags, JR_CODE_WRONG_FACT, root->span, NULL,
                       "the facts about devices must be a mapping");
    if (diags->errors != before || arena->failed || jr_facts_check(&hw, root, diags) != 0)
        return -1;
    *ret = hw;
    return 0;
}

int jr_facts_load(struct jr_host *ret, struct jr_arena *arena, const char *path,
                  struct jr_diags *diags)
{
    struct jr_doc doc;
    size_t before = diags->errors;
    int got = jr_doc_load_file(&doc, path, diags);
    return read_facts_doc(ret, arena, got, &doc, before, diags);
}

int jr_facts_read(struct jr_host *ret, struct jr_arena *arena, const char *name, const char *text,
                  size_t len, struct jr_diags *diags)
{
    struct jr_doc doc;
    size_t before = diags->errors;
    int got = jr_doc_load(&doc, name, text, len, diags);
    return read_facts_doc(ret, arena, got, &doc, before, diags);
}
