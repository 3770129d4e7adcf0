#include "resolve/fact_type.h"

#include <jobrun/types.h>
#include <stdarg.h>
#include <string.h>

#include "base/num.h"
#include "base/rank_set.h"
#include "doc/doc.h"
#include "host/host.h"
#include "host/scheduler/hostlist.h"
#include "resolve/facts.h"

#include "base/banned.h"

#define WORD(name, word, help) word,
static const char *const kinds[] = {JR_DEVICES(WORD) NULL};

static bool read_version(const char *text, void *to, struct jr_arena *arena)
{
    (void)to;
    (void)arena;
    return strcmp(text, "1") == 0;
}

static char *write_version(const void *from, struct jr_arena *arena)
{
    (void)from;
    return jr_arena_strdup(arena, "1");
}

static bool read_u32(const char *text, void *to, struct jr_arena *arena)
{
    (void)arena;
    return jr_num_u32(text, to);
}

static char *write_index(const void *from, struct jr_arena *arena)
{
    return jr_arena_printf(arena, "%u", *(const uint32_t *)from);
}

static char *write_count(const void *from, struct jr_arena *arena)
{
    return *(const uint32_t *)from == 0 ? NULL : write_index(from, arena);
}

static bool read_bytes(const char *text, void *to, struct jr_arena *arena)
{
    (void)arena;
    return jr_num_size(text, to);
}

static char *write_bytes(const void *from, struct jr_arena *arena)
{
    unsigned long long bytes = *(const uint64_t *)from;
    return bytes == 0 ? NULL : jr_arena_printf(arena, "%llu", bytes);
}

static bool read_seconds(const char *text, void *to, struct jr_arena *arena)
{
    (void)arena;
    return jr_num_u64(text, to);
}

static bool read_hosts(const char *text, void *to, struct jr_arena *arena)
{
    const char *bad;
    return jr_hostlist_expand(to, arena, text, &bad);
}

static bool is_cpus(const char *text, struct jr_arena *arena)
{
    struct jr_set set;
    const char *bad;
    uint32_t last;
    return jr_set_parse(&set, arena, text, &bad) && jr_set_max(&set, &last) &&
           last < JR_HOST_CPUS_MAX;
}

/* Sets that blanks separate. */
static bool read_groups(const char *text, void *to, struct jr_arena *arena)
{
    struct jr_strv groups = {0};
    char *rest = jr_arena_strdup(arena, text);
    for (char *group; (group = strsep(&rest, " ")) != NULL;) {
        if (!is_cpus(group, arena))
            return false;
        jr_strv_push(&groups, arena, group);
    }
    *(struct jr_strv *)to = groups;
    return groups.count > 0;
}

static char *join_texts(const struct jr_strv *items, char separator,
                        struct jr_arena *arena)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < items->count; i++) {
        if (i > 0)
            jr_buf_char(&text, separator);
        jr_buf_str(&text, items->items[i]);
    }
    return items->count == 0 ? NULL : jr_buf_keep(&text, arena);
}

static char *write_hosts(const void *from, struct jr_arena *arena)
{
    return join_texts(from, ',', arena);
}

static char *write_groups(const void *from, struct jr_arena *arena)
{
    return join_texts(from, ' ', arena);
}

static bool read_fact_counts(const char *text, void *to, struct jr_arena *arena)
{
    return jr_counts_expand(to, arena, text);
}

static char *write_counts(const void *from, struct jr_arena *arena)
{
    return jr_counts_print(from, arena);
}

static bool read_fact_cpus(const char *text, void *to, struct jr_arena *arena)
{
    double value;
    (void)arena;
    if (!jr_num_double(text, &value) || value < 0)
        return false;
    *(double *)to = value;
    return true;
}

static char *write_cpus(const void *from, struct jr_arena *arena)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    double value = *(const double *)from;
    if (value <= 0)
        return NULL;
    jr_num_add_double(&text, value);
    return jr_buf_keep(&text, arena);
}

static bool read_fact_node(const char *text, void *to, struct jr_arena *arena)
{
    uint32_t node;
    (void)arena;
    if (!jr_num_u32(text, &node) || node > INT32_MAX)
        return false;
    *(int *)to = (int)node;
    return true;
}

static char *write_node(const void *from, struct jr_arena *arena)
{
    int node = *(const int *)from;
    return node < 0 ? NULL : jr_arena_printf(arena, "%d", node);
}

static bool read_flag(const char *text, void *to, struct jr_arena *arena)
{
    (void)arena;
    *(bool *)to = *text == 't' || *text == 'T';
    return true;
}

static char *write_flag(const void *from, struct jr_arena *arena)
{
    return jr_arena_strdup(arena, *(const bool *)from ? "true" : "false");
}

static bool read_fact_kind(const char *text, void *to, struct jr_arena *arena)
{
    (void)arena;
    for (unsigned i = 0; i < JR_DEVICE_COUNT; i++) {
        if (strcmp(text, kinds[i]) != 0)
            continue;
        *(enum jr_device *)to = (enum jr_device)i;
        return true;
    }
    return false;
}

static char *write_kind(const void *from, struct jr_arena *arena)
{
    return jr_arena_strdup(arena, kinds[*(const enum jr_device *)from]);
}

static bool read_fact_text(const char *text, void *to, struct jr_arena *arena)
{
    *(const char **)to = jr_arena_strdup(arena, text);
    return true;
}

static char *write_fact_text(const void *from, struct jr_arena *arena)
{
    return jr_arena_strdup(arena, *(const char *const *)from);
}

static bool read_fact_name(const char *text, void *to, struct jr_arena *arena)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz_0123456789";
    return *text != '\0' && (*text < '0' || *text > '9') &&
           text[strspn(text, letters)] == '\0' &&
           read_fact_text(text, to, arena);
}

static bool read_fact_set(const char *text, void *to, struct jr_arena *arena)
{
    return is_cpus(text, arena) && read_fact_text(text, to, arena);
}

#define TYPE_BIT(name) (1u << JR_SCALAR_##name)
#define ANY_SCALAR     (~TYPE_BIT(NULL))

static const struct jr_fact_type types[] = {
    [JR_FACT_VERSION] = {"1", TYPE_BIT(INT), read_version, write_version},
    [JR_FACT_INDEX] = {"an integer of at least 0", TYPE_BIT(INT), read_u32,
                       write_index},
    [JR_FACT_COUNT] = {"an integer of at least 0", TYPE_BIT(INT), read_u32,
                       write_count},
    [JR_FACT_BYTES] = {"a size such as 64GiB", ANY_SCALAR, read_bytes,
                       write_bytes},
    [JR_FACT_SECONDS] = {"seconds since 1970", TYPE_BIT(INT), read_seconds,
                         write_bytes},
    [JR_FACT_HOSTS] = {"hosts such as n[1-4]", ANY_SCALAR, read_hosts,
                       write_hosts},
    [JR_FACT_GROUPS] = {"sets of CPUs such as 0,4 1,5", ANY_SCALAR, read_groups,
                        write_groups},
    [JR_FACT_COUNTS] = {"counts per node such as 8(x4)", ANY_SCALAR,
                        read_fact_counts, write_counts},
    [JR_FACT_CPUS] = {"a number of CPUs such as 1.5",
                      TYPE_BIT(INT) | TYPE_BIT(FLOAT), read_fact_cpus,
                      write_cpus},
    [JR_FACT_NODE] = {"an integer of at least 0", TYPE_BIT(INT), read_fact_node,
                      write_node},
    [JR_FACT_FLAG] = {"true or false", TYPE_BIT(BOOL), read_flag, write_flag},
    [JR_FACT_KIND] = {"a kind of device: cpu cuda rocm xpu hpu npu mlu custom",
                      ANY_SCALAR, read_fact_kind, write_kind},
    [JR_FACT_SET] = {"CPU numbers such as 0-3,8", ANY_SCALAR, read_fact_set,
                     write_fact_text},
    [JR_FACT_NAME] = {"the name of a variable", ANY_SCALAR, read_fact_name,
                      write_fact_text},
    [JR_FACT_TEXT] = {"a string", ANY_SCALAR, read_fact_text, write_fact_text},
};

const struct jr_fact_type *jr_fact_type(enum jr_fact fact)
{
    return &types[fact];
}

/*
 * Facts that cannot all be true: each is reported at the position of the
 * second one. facts.h declares it.
 */

struct check {
    const struct jr_host *hw;
    const struct jr_node *root;
    struct jr_arena scratch;
    struct jr_diags *diags;
};

/* The value of `key` in the mapping `part` of the root ("": the root itself);
 * else the next one around it. */
static const struct jr_node *find_fact_node(const struct check *c,
                                            const char *part, const char *key)
{
    const struct jr_node *of =
        *part == '\0' ? c->root : jr_doc_get(c->root, part);
    const struct jr_node *node = of == NULL ? NULL : jr_doc_get(of, key);
    return node != NULL ? node : of != NULL ? of : c->root;
}

__attribute__((format(printf, 3, 4))) static void report_fact_clash(
    struct check *c, const struct jr_node *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = jr_arena_vprintf(&c->scratch, format, args);
    va_end(args);
    struct jr_diag *diag = jr_diags_error(
        c->diags, JR_CODE_FACTS_CONTRADICT, at->span, NULL, "%s",
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
            if (devices[i].kind == devices[j].kind &&
                devices[i].index == devices[j].index)
                report_fact_clash(
                    c, list->items[i],
                    "devices %u and %u are of one kind, and both have index "
                    "%u",
                    j, i, devices[i].index);
            else if (a != NULL && b != NULL && strcmp(a, b) == 0)
                report_fact_clash(c, list->items[i],
                                  "devices %u and %u have one UUID, %s", j, i,
                                  a);
            else
                continue;
            break;
        }
}

static void check_order(struct check *c, const char *small, uint32_t low,
                        const char *large, uint32_t high)
{
    if (low > 0 && high > 0 && low > high)
        report_fact_clash(c, find_fact_node(c, "cpus", small),
                          "%s is %u, but %s is only %u", small, low, large,
                          high);
}

/* CPUs told twice are among the usable ones. */
static void check_members(struct check *c, const struct jr_set *usable,
                          const char *key, const char *text)
{
    struct jr_set set;
    const char *bad;
    uint32_t last;
    if (!jr_set_parse(&set, &c->scratch, text, &bad) ||
        !jr_set_max(&set, &last))
        return;
    for (uint32_t cpu = 0; cpu <= last; cpu++)
        if (jr_set_has(&set, cpu) && !jr_set_has(usable, cpu)) {
            report_fact_clash(c, find_fact_node(c, "cpus", key),
                              "%s has CPU %u, which is not in set", key, cpu);
            return;
        }
}

static void check_set(struct check *c)
{
    const struct jr_host_cpus *cpus = &c->hw->cpus;
    struct jr_set set;
    const char *bad;
    uint32_t last, count = 0;
    if (cpus->set == NULL ||
        !jr_set_parse(&set, &c->scratch, cpus->set, &bad) ||
        !jr_set_max(&set, &last))
        return;
    for (uint32_t cpu = 0; cpu <= last; cpu++)
        count += jr_set_has(&set, cpu);
    if (cpus->usable > 0 && count != cpus->usable)
        report_fact_clash(c, find_fact_node(c, "cpus", "set"),
                          "set has %u CPUs, but usable says %u", count,
                          cpus->usable);
    for (uint32_t i = 0; i < cpus->numa_count; i++)
        check_members(c, &set, "numa", cpus->numa[i].cpus);
    for (size_t i = 0; i < cpus->cores.count; i++)
        check_members(c, &set, "core_cpus", cpus->cores.items[i]);
}

static void check_cpu_facts(struct check *c)
{
    const struct jr_host_cpus *cpus = &c->hw->cpus;
    check_order(c, "usable", cpus->usable, "online", cpus->online);
    check_order(c, "cores", cpus->usable_cores, "usable", cpus->usable);
    check_set(c);
}

static void check_scheduler(struct check *c)
{
    const struct jr_host_scheduler *from = &c->hw->scheduler;
    uint32_t nodes = from->nodes;
    if (nodes == 0)
        return;
    if (from->node_rank >= 0 && (uint32_t)from->node_rank >= nodes)
        report_fact_clash(
            c, find_fact_node(c, "scheduler", "node_rank"),
            "node_rank is %d, but there are %u nodes, counted from 0",
            from->node_rank, nodes);
    if (from->hosts.count > 0 && from->hosts.count != nodes)
        report_fact_clash(c, find_fact_node(c, "scheduler", "hosts"),
                          "%zu hosts, but %u nodes", from->hosts.count, nodes);
}

static void check_port_facts(struct check *c)
{
    if (c->hw->port_low > c->hw->port_high)
        report_fact_clash(c, find_fact_node(c, "ephemeral_ports", "low"),
                          "%u to %u is not a range of ports", c->hw->port_low,
                          c->hw->port_high);
}

int jr_facts_check(const struct jr_host *hw, const struct jr_node *root,
                   struct jr_diags *diags)
{
    static void (*const checks[])(struct check *) = {
        check_device_facts, check_cpu_facts, check_scheduler, check_port_facts};
    struct check check = {.hw = hw, .root = root, .diags = diags};
    size_t before = diags->errors;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        checks[i](&check);
    jr_arena_release(&check.scratch);
    return diags->errors == before ? 0 : -1;
}
