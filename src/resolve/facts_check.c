#include "resolve/facts_check.h"

#include <stdarg.h>
#include <string.h>

#include "base/rank_set.h"

#include "base/banned.h"

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

static void check_order(struct check *c, const char *small, uint32_t low, const char *large,
                        uint32_t high)
{
    if (low > 0 && high > 0 && low > high)
        report_fact_clash(c, find_fact_node(c, "cpus", small), "%s is %u, but %s is only %u", small,
                          low, large, high);
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

static void check_set(struct check *c)
{
    const struct jr_host_cpus *cpus = &c->hw->cpus;
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
        report_fact_clash(c, find_fact_node(c, "scheduler", "node_rank"),
                          "node_rank is %d, but there are %u nodes, counted from 0",
                          from->node_rank, nodes);
    if (from->hosts.count > 0 && from->hosts.count != nodes)
        report_fact_clash(c, find_fact_node(c, "scheduler", "hosts"), "%zu hosts, but %u nodes",
                          from->hosts.count, nodes);
}

static void check_port_facts(struct check *c)
{
    if (c->hw->port_low > c->hw->port_high)
        report_fact_clash(c, find_fact_node(c, "ephemeral_ports", "low"),
                          "%u to %u is not a range of ports", c->hw->port_low, c->hw->port_high);
}

int jr_facts_check(const struct jr_host *hw, const struct jr_node *root, struct jr_diags *diags)
{
    static void (*const checks[])(struct check *) = {check_device_facts, check_cpu_facts,
                                                     check_scheduler, check_port_facts};
    struct check check = {.hw = hw, .root = root, .diags = diags};
    size_t before = diags->errors;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        checks[i](&check);
    jr_arena_release(&check.scratch);
    return diags->errors == before ? 0 : -1;
}
