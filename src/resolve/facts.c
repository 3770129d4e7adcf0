/* The facts of a machine as a YAML file: what `doctor --format yaml` writes and `--on FILE` reads;
 * and those about devices of the user's own. Declared in device_profile.h and internal.h. */
#include "resolve/device_profile.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jobrun/types.h>

#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/num.h"
#include "base/rank_set.h"
#include "base/shell_words.h"
#include "base/subprocess.h"
#include "base/syscalls.h"
#include "doc/doc.h"
#include "host/host.h"
#include "host/scheduler/hostlist.h"
#include "resolve/internal.h"

#include "base/banned.h"

/* The kinds of scalars that a facts file holds. */
enum fact {
    FACT_VERSION, /* of the format: 1; no member */
    FACT_INDEX,   /* uint32_t */
    FACT_COUNT,   /* uint32_t; 0: unknown */
    FACT_BYTES,   /* uint64_t; 0: unknown */
    FACT_SECONDS, /* uint64_t; 0: unknown */
    FACT_CPUS,    /* double; 0: unknown */
    FACT_NODE,    /* int; -1: unknown */
    FACT_FLAG,    /* bool */
    FACT_KIND,    /* enum jr_device */
    FACT_SET,     /* const char *, "0-3,8"; NULL: unknown */
    FACT_HOSTS,   /* struct jr_strv; none: unknown */
    FACT_GROUPS,  /* struct jr_strv of CPU sets; none: unknown */
    FACT_COUNTS,  /* struct jr_counts; none: unknown */
    FACT_NAME,    /* const char *, of a variable; NULL: none */
    FACT_TEXT     /* const char *; NULL: unknown */
};

#define TYPE_BIT(name) (1u << JR_SCALAR_##name)
#define ANY_SCALAR     (~TYPE_BIT(NULL))

/* What a value must be, for messages, and as which types of scalars it may be written, as bits. */
struct fact_type {
    const char *wants;
    unsigned scalars;
};

static const struct fact_type fact_types[] = {
    [FACT_VERSION] = {"1", TYPE_BIT(INT)},
    [FACT_INDEX] = {"an integer of at least 0", TYPE_BIT(INT)},
    [FACT_COUNT] = {"an integer of at least 0", TYPE_BIT(INT)},
    [FACT_BYTES] = {"a size such as 64GiB", ANY_SCALAR},
    [FACT_SECONDS] = {"seconds since 1970", TYPE_BIT(INT)},
    [FACT_CPUS] = {"a number of CPUs such as 1.5", TYPE_BIT(INT) | TYPE_BIT(FLOAT)},
    [FACT_NODE] = {"an integer of at least 0", TYPE_BIT(INT)},
    [FACT_FLAG] = {"true or false", TYPE_BIT(BOOL)},
    [FACT_KIND] = {"a kind of device: cpu cuda rocm xpu hpu npu mlu custom", ANY_SCALAR},
    [FACT_SET] = {"CPU numbers such as 0-3,8", ANY_SCALAR},
    [FACT_HOSTS] = {"hosts such as n[1-4]", ANY_SCALAR},
    [FACT_GROUPS] = {"sets of CPUs such as 0,4 1,5", ANY_SCALAR},
    [FACT_COUNTS] = {"counts per node such as 8(x4)", ANY_SCALAR},
    [FACT_NAME] = {"the name of a variable", ANY_SCALAR},
    [FACT_TEXT] = {"a string", ANY_SCALAR},
};

#define WORD(name, word, help) word,
static const char *const kinds[] = {JR_DEVICES(WORD) NULL};

static bool is_cpus(const char *text, struct jr_arena *arena)
{
    struct jr_set set;
    const char *bad;
    uint32_t last;
    return jr_set_parse(&set, arena, text, &bad) && jr_set_max(&set, &last) &&
           last < JR_HOST_CPUS_MAX;
}

static bool read_fact_text(enum fact type, const char *text, void *to, struct jr_arena *arena)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    struct jr_strv groups = {0};
    const char *bad;
    if (type == FACT_HOSTS)
        return jr_hostlist_expand(to, arena, text, &bad);
    if (type == FACT_COUNTS)
        return jr_counts_expand(to, arena, text);
    if (type == FACT_GROUPS) { /* sets that blanks separate */
        char *rest = jr_arena_strdup(arena, text);
        for (char *group; (group = strsep(&rest, " ")) != NULL;) {
            if (!is_cpus(group, arena))
                return false;
            jr_strv_push(&groups, arena, group);
        }
        *(struct jr_strv *)to = groups;
        return groups.count > 0;
    }
    if ((type == FACT_SET && !is_cpus(text, arena)) ||
        (type == FACT_NAME &&
         (*text == '\0' || (*text >= '0' && *text <= '9') || text[strspn(text, letters)] != '\0')))
        return false;
    *(const char **)to = jr_arena_strdup(arena, text);
    return true;
}

static bool read_kind(const char *text, enum jr_device *ret)
{
    for (unsigned i = 0; i < JR_DEVICE_COUNT; i++)
        if (strcmp(text, kinds[i]) == 0) {
            *ret = (enum jr_device)i;
            return true;
        }
    return false;
}

/* Set the member at `to` from the text of a scalar of such a type; false, and the member untouched,
 * when that is no such fact. */
static bool read_fact(enum fact type, const char *text, void *to, struct jr_arena *arena)
{
    double cpus;
    uint32_t node;
    switch ((unsigned)type) {
    case FACT_VERSION:
        return strcmp(text, "1") == 0;
    case FACT_INDEX:
    case FACT_COUNT:
        return jr_num_u32(text, to);
    case FACT_BYTES:
        return jr_num_size(text, to);
    case FACT_SECONDS:
        return jr_num_u64(text, to);
    case FACT_CPUS:
        if (!jr_num_double(text, &cpus) || cpus < 0)
            return false;
        *(double *)to = cpus;
        return true;
    case FACT_NODE:
        if (!jr_num_u32(text, &node) || node > INT32_MAX)
            return false;
        *(int *)to = (int)node;
        return true;
    case FACT_FLAG:
        *(bool *)to = *text == 't' || *text == 'T';
        return true;
    case FACT_KIND:
        return read_kind(text, to);
    default:
        return read_fact_text(type, text, to, arena);
    }
}

static char *join_texts(const struct jr_strv *items, char separator, struct jr_arena *arena)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < items->count; i++) {
        if (i > 0)
            jr_buf_char(&text, separator);
        jr_buf_str(&text, items->items[i]);
    }
    return items->count == 0 ? NULL : jr_buf_keep(&text, arena);
}

static bool is_unknown(enum fact type, const void *from)
{
    return (type == FACT_COUNT && *(const uint32_t *)from == 0) ||
           ((type == FACT_BYTES || type == FACT_SECONDS) && *(const uint64_t *)from == 0) ||
           (type == FACT_CPUS && *(const double *)from <= 0) ||
           (type == FACT_NODE && *(const int *)from < 0);
}

/* The text of the member at `from`; NULL when it is unknown. */
static char *write_fact(enum fact type, const void *from, struct jr_arena *arena)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (is_unknown(type, from))
        return NULL;
    switch ((unsigned)type) {
    case FACT_VERSION:
        return jr_arena_strdup(arena, "1");
    case FACT_INDEX:
    case FACT_COUNT:
        return jr_arena_printf(arena, "%u", *(const uint32_t *)from);
    case FACT_BYTES:
    case FACT_SECONDS:
        return jr_arena_printf(arena, "%llu", (unsigned long long)*(const uint64_t *)from);
    case FACT_CPUS:
        jr_num_add_double(&text, *(const double *)from);
        return jr_buf_keep(&text, arena);
    case FACT_NODE:
        return jr_arena_printf(arena, "%d", *(const int *)from);
    case FACT_FLAG:
        return jr_arena_strdup(arena, *(const bool *)from ? "true" : "false");
    case FACT_KIND:
        return jr_arena_strdup(arena, kinds[*(const enum jr_device *)from]);
    case FACT_HOSTS:
        return join_texts(from, ',', arena);
    case FACT_GROUPS:
        return join_texts(from, ' ', arena);
    case FACT_COUNTS:
        return jr_counts_print(from, arena);
    default:
        return jr_arena_strdup(arena, *(const char *const *)from);
    }
}

/* Facts that cannot all be true: each is reported at the position of the second one. */

struct check {
    const struct jr_host *hw;
    const struct jr_node *root;
    struct jr_arena scratch;
    struct jr_diags *diags;
};

/* The value of `key` in the mapping `part` of the root ("": the root itself); else the next one
 * around it. */
static const struct jr_node *find_fact_node(const struct check *c, const char *part,
                                            const char *key)
{
    const struct jr_node *of = *part == '\0' ? c->root : jr_doc_get(c->root, part);
    const struct jr_node *node = of == NULL ? NULL : jr_doc_get(of, key);
    return node != NULL ? node : of != NULL ? of : c->root;
}

__attribute__((format(printf, 3, 4))) static void report_fact_clash(struct check *c,
                                                                    const struct jr_node *at,
                                                                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = jr_arena_vprintf(&c->scratch, format, args);
    va_end(args);
    struct jr_diag *diag =
        jr_diags_error(c->diags, JR_CODE_FACTS_CONTRADICT, at->span, NULL, "%s",
                       text == NULL ? "out of memory while comparing facts" : text);
    jr_diag_help(c->diags, diag,
                 "correct the wrong one; jobrun doctor --format yaml writes "
                 "the facts of a machine");
}

static void check_device_facts(struct check *c)
{
    const struct jr_node *list = jr_doc_get(c->root, "devices");
    const struct jr_host_device *devices = c->hw->devices;
    for (uint32_t i = 1; i < c->hw->devices_count; i++)
        for (uint32_t j = 0; j < i; j++) {
            const char *a = devices[i].uuid, *b = devices[j].uuid;
            if (devices[i].kind == devices[j].kind && devices[i].index == devices[j].index)
                report_fact_clash(c, list->items[i],
                                  "devices %u and %u are of one kind, and both have index %u", j, i,
                                  devices[i].index);
            else if (a != NULL && b != NULL && strcmp(a, b) == 0)
                report_fact_clash(c, list->items[i], "devices %u and %u have one UUID, %s", j, i,
                                  a);
            else
                continue;
            break;
        }
}

/* CPUs told twice are among the usable ones. */
static void check_members(struct check *c, const struct jr_set *usable, const char *key,
                          const char *text)
{
    struct jr_set set;
    const char *bad;
    uint32_t last;
    if (!jr_set_parse(&set, &c->scratch, text, &bad) || !jr_set_max(&set, &last))
        return;
    for (uint32_t cpu = 0; cpu <= last; cpu++)
        if (jr_set_has(&set, cpu) && !jr_set_has(usable, cpu)) {
            report_fact_clash(c, find_fact_node(c, "cpus", key),
                              "%s has CPU %u, which is not in set", key, cpu);
            return;
        }
}

static void check_cpu_facts(struct check *c)
{
    const struct jr_host_cpus *cpus = &c->hw->cpus;
    const struct {
        const char *small, *large;
        uint32_t low, high;
    } orders[] = {{"usable", "online", cpus->usable, cpus->online},
                  {"cores", "usable", cpus->usable_cores, cpus->usable}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (orders[i].low > 0 && orders[i].high > 0 && orders[i].low > orders[i].high)
            report_fact_clash(c, find_fact_node(c, "cpus", orders[i].small),
                              "%s is %u, but %s is only %u", orders[i].small, orders[i].low,
                              orders[i].large, orders[i].high);
    struct jr_set set;
    const char *bad;
    uint32_t last, count = 0;
    if (cpus->set == NULL || !jr_set_parse(&set, &c->scratch, cpus->set, &bad) ||
        !jr_set_max(&set, &last))
        return;
    for (uint32_t cpu = 0; cpu <= last; cpu++)
        count += jr_set_has(&set, cpu);
    if (cpus->usable > 0 && count != cpus->usable)
        report_fact_clash(c, find_fact_node(c, "cpus", "set"),
                          "set has %u CPUs, but usable says %u", count, cpus->usable);
    for (uint32_t i = 0; i < cpus->numa_count; i++)
        check_members(c, &set, "numa", cpus->numa[i].cpus);
    for (size_t i = 0; i < cpus->cores.count; i++)
        check_members(c, &set, "core_cpus", cpus->cores.items[i]);
}

/* Whether facts that were read from `root` can all be true: 0, or -1 after complaints. */
static int check_facts(const struct jr_host *hw, const struct jr_node *root, struct jr_diags *diags)
{
    struct check c = {.hw = hw, .root = root, .diags = diags};
    const struct jr_host_scheduler *from = &hw->scheduler;
    size_t before = diags->errors;
    check_device_facts(&c);
    check_cpu_facts(&c);
    if (from->nodes > 0 && from->node_rank >= 0 && (uint32_t)from->node_rank >= from->nodes)
        report_fact_clash(&c, find_fact_node(&c, "scheduler", "node_rank"),
                          "node_rank is %d, but there are %u nodes, counted from 0",
                          from->node_rank, from->nodes);
    if (from->nodes > 0 && from->hosts.count > 0 && from->hosts.count != from->nodes)
        report_fact_clash(&c, find_fact_node(&c, "scheduler", "hosts"), "%zu hosts, but %u nodes",
                          from->hosts.count, from->nodes);
    if (hw->port_low > hw->port_high)
        report_fact_clash(&c, find_fact_node(&c, "ephemeral_ports", "low"),
                          "%u to %u is not a range of ports", hw->port_low, hw->port_high);
    jr_arena_release(&c.scratch);
    return diags->errors == before ? 0 : -1;
}

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
    enum fact type;
    bool required;
};

#define FACT(owner, word, kind, member)                                                            \
    .key = (word), .type = FACT_##kind, .at = offsetof(struct owner, member)
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
    {.key = "format_version", .type = FACT_VERSION, .required = true},
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
    {.key = "format_version", .type = FACT_VERSION, .required = true},
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

/* Writing. */

static struct jr_node *build_mapping(struct jr_arena *arena, const struct row *table,
                                     const char *base)
{
    struct jr_node *mapping = jr_node_mapping(arena);
    for (const struct row *row = table; row->key != NULL; row++) {
        if (row->optional && *(const char *const *)(const void *)(base + row->at) == NULL)
            continue;
        struct jr_node *value = NULL;
        if (row->size > 0) {
            value = jr_node_sequence(arena);
            const char *items = *(const char *const *)(const void *)(base + row->at);
            uint32_t count = *(const uint32_t *)(const void *)(base + row->count_at);
            for (uint32_t i = 0; i < count; i++)
                jr_node_append(arena, value,
                               build_mapping(arena, row->rows, items + i * row->size));
        } else if (row->rows != NULL) {
            value = build_mapping(arena, row->rows, base);
        } else {
            const char *text = write_fact(row->type, base + row->at, arena);
            bool plain = text == NULL || (row->type != FACT_TEXT && row->type != FACT_SET);
            value = jr_node_scalar(arena, text == NULL ? "null" : text, plain);
        }
        jr_node_set(arena, mapping, row->key, value);
    }
    return mapping;
}

void jr_profile_emit(struct jr_buf *out, const struct jr_host *hw)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node *root = build_mapping(&arena, rows, (const char *)hw);
    if (!arena.failed)
        jr_doc_emit(out, root);
    out->failed |= arena.failed;
}

/* Reading. */

static void read_mapping(struct jr_arena *arena, struct jr_diags *diags, const struct jr_node *node,
                         const struct row *table, char *base);

static void refuse_fact(struct jr_diags *diags, const struct jr_node *node, const char *key,
                        const char *wants)
{
    bool scalar = node->kind == JR_NODE_SCALAR;
    jr_diags_error(diags, JR_CODE_WRONG_FACT, node->span, key, "'%s' wants %s%s%s%s", key, wants,
                   scalar ? ", not '" : "", scalar ? node->text : "", scalar ? "'" : "");
}

static void read_fact_list(struct jr_arena *arena, struct jr_diags *diags,
                           const struct jr_node *node, const struct row *row, char *base)
{
    if (node->kind != JR_NODE_SEQUENCE) {
        refuse_fact(diags, node, row->key, "a list");
        return;
    }
    char *items = jr_arena_array(arena, node->count, row->size);
    if (items == NULL)
        return;
    for (size_t i = 0; i < node->count; i++) {
        memcpy(items + i * row->size, row->blank, row->size);
        if (node->items[i]->kind == JR_NODE_MAPPING)
            read_mapping(arena, diags, node->items[i], row->rows, items + i * row->size);
        else
            refuse_fact(diags, node->items[i], row->key, "a mapping for each item");
    }
    *(char **)(void *)(base + row->at) = items;
    *(uint32_t *)(void *)(base + row->count_at) = (uint32_t)node->count;
}

static void read_value(struct jr_arena *arena, struct jr_diags *diags, const struct jr_node *node,
                       const struct row *row, char *base)
{
    if (row->size > 0) {
        read_fact_list(arena, diags, node, row, base);
    } else if (row->rows != NULL) {
        if (node->kind == JR_NODE_MAPPING)
            read_mapping(arena, diags, node, row->rows, base);
        else
            refuse_fact(diags, node, row->key, "a mapping");
    } else {
        bool scalar = node->kind == JR_NODE_SCALAR;
        enum jr_scalar_type type = scalar ? jr_scalar_type(node) : JR_SCALAR_NULL;
        if (scalar && type == JR_SCALAR_NULL && !row->required)
            return;
        if ((fact_types[row->type].scalars & (1u << type)) == 0 ||
            !read_fact(row->type, node->text, base + row->at, arena))
            refuse_fact(diags, node, row->key, fact_types[row->type].wants);
    }
}

static void read_mapping(struct jr_arena *arena, struct jr_diags *diags, const struct jr_node *node,
                         const struct row *table, char *base)
{
    const char *names[24] = {NULL};
    for (size_t i = 0; table[i].key != NULL; i++)
        names[i] = table[i].key;
    for (size_t i = 0; i < node->count; i++) {
        const struct jr_node *key = node->pairs[i].key;
        const struct row *row = table;
        while (row->key != NULL && strcmp(row->key, key->text) != 0)
            row++;
        if (row->key != NULL) {
            read_value(arena, diags, node->pairs[i].value, row, base);
            continue;
        }
        const char *nearest = jr_did_you_mean(key->text, names);
        struct jr_diag *diag = jr_diags_error(diags, JR_CODE_UNKNOWN_FACT, key->span, key->text,
                                              "unknown fact '%s'", key->text);
        if (nearest != NULL)
            jr_diag_help(diags, diag, "did you mean '%s'?", nearest);
    }
    for (const struct row *row = table; row->key != NULL; row++)
        if (row->required && jr_doc_get(node, row->key) == NULL)
            jr_diags_error(diags, JR_CODE_FACT_MISSING, node->span, row->key, "'%s' is missing",
                           row->key);
}

/* Take over a document that was loaded, or not, as facts by these rows. `before` is how many errors
 * there were until then: one with a key twice is loaded, and is an error. */
static int take_doc(struct jr_host *ret, struct jr_arena *arena, int got, struct jr_doc *doc,
                    const struct row *table, size_t before, struct jr_diags *diags)
{
    struct jr_host hw = *ret;
    const struct jr_node *root = doc->root;
    jr_arena_adopt(arena, &doc->arena);
    if (got != 0)
        return -1;
    if (root->kind == JR_NODE_MAPPING)
        read_mapping(arena, diags, root, table, (char *)&hw);
    else
        jr_diags_error(diags, JR_CODE_WRONG_FACT, root->span, NULL, "%s must be a mapping",
                       table == rows ? "a facts file" : "the facts about devices");
    if (diags->errors != before || arena->failed || check_facts(&hw, root, diags) != 0)
        return -1;
    *ret = hw;
    return 0;
}

int jr_facts_read(struct jr_host *ret, struct jr_arena *arena, const char *name, const char *text,
                  size_t len, struct jr_diags *diags)
{
    struct jr_doc doc;
    size_t before = diags->errors;
    int got = text == NULL ? jr_doc_load_file(&doc, name, diags)
                           : jr_doc_load(&doc, name, text, len, diags);
    return take_doc(ret, arena, got, &doc, rows, before, diags);
}

enum { WORDS_MOST = 4096 };

/* What is read, and where its mistakes are reported. */
struct reading {
    const struct jr_custom *custom;
    const char *name, *path; /* "acme.facts", and where it lies */
    struct jr_arena *arena;
    struct jr_diags *diags;
};

static struct jr_diag *refuse_custom_device(const struct reading *r, const char *why)
{
    return jr_diags_error(r->diags, JR_CODE_DEVICE_FACTS_UNREADABLE, r->custom->at, "device",
                          "%s %s", r->name, why);
}

/* What the program prints, into `hw`; complaints go to r->diags. */
static void read_program(struct reading *r, struct jr_host *hw, const struct stat *st)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    const char *why = NULL, *help = "", *mode = NULL;
    JR_BUF_CLEANUP struct jr_buf typed = JR_BUF_INIT;
    jr_shell_quote(&typed, r->path);
    size_t before = r->diags->errors;
    struct jr_doc doc;
    /* others could have it run what they like */
    if (!S_ISREG(st->st_mode))
        why = "is not a regular file", help = "put a program there";
    else if (access(r->path, X_OK) != 0)
        why = "is not executable", mode = "+x",
        help = ", or name it .facts.yaml if it is facts itself";
    else if ((st->st_mode & S_IWOTH) != 0)
        why = "is a program that everybody may write to", mode = "o-w";
    else if (st->st_uid != 0 && st->st_uid != geteuid())
        why = "is a program that belongs to another user", help = "copy it, or let root own it";
    if (why != NULL && mode != NULL && !typed.failed)
        help = jr_arena_printf(r->arena, "chmod %s %s%s", mode, typed.data, help);
    if (why != NULL) {
        jr_diag_help(r->diags, refuse_custom_device(r, why), "%s", help == NULL ? "" : help);
        return;
    }
    JR_CLOSE int words = jr_memory_file("facts");
    /* it reads nothing and prints facts; its other output is kept for the message */
    char *const argv[] = {(char *)r->path, NULL};
    const int fds[3] = {-1, JR_FD_TASK, words};
    const struct jr_subprocess program = {.path = r->path,
                                          .argv = argv,
                                          .envp = r->custom->envp,
                                          .fds = fds,
                                          .workdir = r->custom->folder};
    why = jr_subprocess_ask(&out, r->arena, &program, r->custom->limit_ms, JR_DOC_MAX_BYTES);
    if (why != NULL) {
        /* the last line of its other output */
        char text[WORDS_MOST + 1] = "";
        off_t end = lseek(words, 0, SEEK_END);
        ssize_t len = pread(words, text, WORDS_MOST, end > WORDS_MOST ? end - WORDS_MOST : 0);
        while (len > 0 && strchr("\n\r ", text[len - 1]) != NULL)
            text[--len] = '\0';
        const char *line = strrchr(text, '\n');
        struct jr_diag *diag = refuse_custom_device(r, why);
        if (len > 0)
            jr_diag_help(r->diags, diag, "its last output: %s", line == NULL ? text : line + 1);
        else
            jr_diag_help(r->diags, diag, "run it by hand: it must print facts and exit with 0");
        return;
    }
    const char *name = jr_arena_printf(r->arena, "output of %s", r->name);
    int got = jr_doc_load(&doc, name, out.len == 0 ? "" : out.data, out.len, r->diags);
    (void)take_doc(hw, r->arena, got, &doc, own_rows, before, r->diags);
}

static bool find_facts_source(struct reading *r, const char *suffix, struct stat *ret)
{
    const char *kind = strchr(r->custom->device, ':') + 1;
    r->name = jr_arena_printf(r->arena, "%s%s", kind, suffix);
    r->path = jr_arena_printf(r->arena, "%s/%s", r->custom->folder, r->name);
    return r->path != NULL && strchr(kind, '/') == NULL && stat(r->path, ret) == 0;
}

bool jr_custom_is(const char *device)
{
    static const char prefix[] = "custom:";
    return device != NULL && strncmp(device, prefix, sizeof prefix - 1) == 0;
}

enum jr_status jr_custom_read(struct jr_host *hw, struct jr_arena *arena,
                              const struct jr_custom *custom, struct jr_diags *diags)
{
    struct reading r = {.custom = custom, .arena = arena, .diags = diags};
    struct jr_host own = {0};
    struct stat file, program;
    struct jr_doc doc;
    size_t before = diags->errors;
    bool told = true;
    if (!jr_custom_is(custom->device))
        return JR_STATUS_OK;
    bool has_file = find_facts_source(&r, ".facts.yaml", &file);
    struct reading other = r;
    if (find_facts_source(&other, ".facts", &program)) {
        r = other;
        if (has_file)
            jr_diag_help(diags, refuse_custom_device(&r, "exists, and so does .facts.yaml"),
                         "remove one of the two");
        else
            read_program(&r, &own, &program);
    } else if (has_file) {
        int got = jr_doc_load_file(&doc, r.path, diags);
        (void)take_doc(&own, arena, got, &doc, own_rows, before, diags);
    } else {
        told = false;
    }
    if (diags->errors != before)
        return JR_STATUS_UNRESOLVED;
    if (told && !arena->failed)
        jr_host_add_custom(hw, arena, &own, custom->envp);
    return arena->failed ? JR_STATUS_LAUNCH : JR_STATUS_OK;
}
