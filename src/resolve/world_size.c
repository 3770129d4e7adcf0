#include "resolve/world_size.h"

#include <inttypes.h>

#include "resolve/cpu_binding.h"
#include "resolve/device_choice.h"
#include "resolve/device_kind.h"
#include "resolve/node_rank.h"

#include "base/banned.h"

#define NUMBER(r, field) ((uint64_t)JR_FIELD_VALUE(r, field).number)

/* A list of more entries than this is not spelled out in a help line. */
#define LIST_SHOWN 16

/* Take `value` unless it is beyond all reason. */
static enum jr_fired take_size(struct jr_resolver *r, struct jr_field_value *out, uint64_t value)
{
    if (value > JR_RANKS_MAX) {
        const char *number = "";
        if (!jr_field_values_filled(r, out->needs))
            number = jr_arena_printf(r->arena, " %" PRIu64 ",", value);
        jr_rules_clash(r, JR_CODE_WORLD_TOO_LARGE, out->needs, "%s comes to%s more than %u ranks",
                       out->rule, number, JR_RANKS_MAX);
        return JR_FAILED;
    }
    out->number = (uint32_t)value;
    return JR_FIRED;
}

/* "4, 8": the multiples of `unit` on both sides of `value`. */
static const char *nearest_multiples(struct jr_resolver *r, uint64_t value, uint64_t unit)
{
    uint64_t below = value / unit * unit;
    if (below == 0)
        return jr_arena_printf(r->arena, "%" PRIu64, unit);
    return jr_arena_printf(r->arena, "%" PRIu64 ", %" PRIu64, below, below + unit);
}

/* Offer sizes of the world that divide, unless they tell what was filled in. */
static void offer_world_sizes(struct jr_resolver *r, struct jr_diag *diag, uint32_t fields,
                              uint64_t unit, const char *besides)
{
    if (!jr_field_values_filled(r, fields))
        jr_diag_help(r->diags, diag, "nearest world sizes that do: %s%s",
                     nearest_multiples(r, NUMBER(r, WORLD_SIZE), unit), besides);
}

/* "; or one size per node: local_world_size: [3, 3, 2]": as even as possible,
 * or `each` per node as long as there are ranks; "" if a node would get none.
 */
static const char *list_form(struct jr_resolver *r, uint32_t nodes, uint32_t each)
{
    uint32_t world = JR_FIELD_VALUE(r, WORLD_SIZE).number;
    if (world < nodes || nodes < 2 || nodes > LIST_SHOWN)
        return "";
    const char *list = "";
    for (uint32_t i = 0; i < nodes && list != NULL; i++) {
        uint32_t size = world / nodes + (i < world % nodes);
        if (each != 0)
            size = i < world / each ? each : world % each;
        list = jr_arena_printf(r->arena, "%s%s%u", list, i == 0 ? "" : ", ", size);
    }
    return jr_arena_printf(r->arena, "; or one size per node: local_world_size: [%s]", list);
}

/* A value that was counted in devices or CPUs says so itself. */
static void inherit_origin(const struct jr_field_value *from, struct jr_field_value *out)
{
    if (from->origin != JR_ORIGIN_HARDWARE && from->origin != JR_ORIGIN_SCHEDULER)
        return;
    out->origin = from->origin;
    out->detail = from->detail;
}

enum jr_fired jr_rule_one(struct jr_resolver *r, struct jr_field_value *out)
{
    (void)r;
    out->number = 1;
    return JR_FIRED;
}

enum jr_fired jr_rule_world_of_mesh(struct jr_resolver *r, struct jr_field_value *out)
{
    uint64_t group = NUMBER(r, MODEL) * NUMBER(r, PIPELINE);
    uint64_t data = NUMBER(r, DATA);
    bool huge = group > JR_RANKS_MAX; /* and the product could overflow */
    return take_size(r, out, huge ? group : group * data);
}

enum jr_fired jr_rule_data(struct jr_resolver *r, struct jr_field_value *out)
{
    uint64_t world = NUMBER(r, WORLD_SIZE);
    uint64_t group = NUMBER(r, MODEL) * NUMBER(r, PIPELINE);
    out->rule =
        jr_arena_printf(r->arena, "world_size / (model %s x pipeline %s)",
                        jr_field_value_value(r, JR_MODEL), jr_field_value_value(r, JR_PIPELINE));
    if (world % group == 0)
        return take_size(r, out, world / group);
    struct jr_diag *diag = jr_rules_clash(
        r, JR_CODE_WORLD_SIZE_INDIVISIBLE, out->needs,
        "%s does not divide by model %s x pipeline %s", jr_field_value_say(r, JR_WORLD_SIZE),
        jr_field_value_value(r, JR_MODEL), jr_field_value_value(r, JR_PIPELINE));
    offer_world_sizes(r, diag, out->needs, group, "");
    return JR_FAILED;
}

/* "[3,2,1]"; a list of equal sizes reads as the one size. */
static const char *describe_sizes(struct jr_resolver *r)
{
    struct jr_buf JR_BUF_CLEANUP buf = JR_BUF_INIT;
    bool same = true;
    for (uint32_t i = 0; i < r->sizes_count; i++) {
        same = same && r->sizes[i] == r->sizes[0];
        jr_buf_printf(&buf, "%c%u", i == 0 ? '[' : ',', r->sizes[i]);
    }
    jr_buf_char(&buf, ']');
    return same ? NULL : jr_buf_keep(&buf, r->arena);
}

enum jr_fired jr_rule_local_stated(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_spec *spec = r->spec;
    if (spec->local_world_size == NULL || spec->local_world_size_count == 0)
        return JR_PASSED;
    jr_field_value_state(r, out, "local_world_size");
    if (spec->local_world_size_count > 1) {
        r->sizes = spec->local_world_size;
        r->sizes_count = spec->local_world_size_count;
        out->text = describe_sizes(r);
    }
    for (uint32_t i = 0; i < spec->local_world_size_count; i++)
        if (spec->local_world_size[i] > out->number)
            out->number = spec->local_world_size[i];
    return take_size(r, out, out->number);
}

enum jr_fired jr_rule_nodes_of_list(struct jr_resolver *r, struct jr_field_value *out)
{
    if (r->sizes == NULL)
        return JR_PASSED;
    out->number = r->sizes_count;
    return JR_FIRED;
}

enum jr_fired jr_rule_world_of_list(struct jr_resolver *r, struct jr_field_value *out)
{
    if (r->sizes == NULL)
        return JR_PASSED;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->sizes_count; i++)
        sum += r->sizes[i];
    return take_size(r, out, sum);
}

enum jr_fired jr_rule_world_of_nodes(struct jr_resolver *r, struct jr_field_value *out)
{
    inherit_origin(&JR_FIELD_VALUE(r, LOCAL), out);
    return take_size(r, out, NUMBER(r, NODES) * NUMBER(r, LOCAL));
}

/* Divide the world by NODES or LOCAL, which gives the other one. */
static enum jr_fired divide_world(struct jr_resolver *r, struct jr_field_value *out,
                                  enum jr_field by)
{
    uint32_t world = JR_FIELD_VALUE(r, WORLD_SIZE).number;
    uint32_t unit = r->cells[by].number;
    if (world % unit == 0)
        return take_size(r, out, world / unit);
    struct jr_diag *diag = jr_rules_clash(
        r, JR_CODE_WORLD_INDIVISIBLE_BY_NODES, out->needs, "%s does not divide by %s",
        jr_field_value_say(r, JR_WORLD_SIZE), jr_field_value_say(r, by));
    offer_world_sizes(r, diag, out->needs, unit,
                      by == JR_LOCAL ? list_form(r, world / unit + 1, unit)
                                     : list_form(r, unit, 0));
    return JR_FAILED;
}

enum jr_fired jr_rule_nodes_of_world(struct jr_resolver *r, struct jr_field_value *out)
{
    return divide_world(r, out, JR_LOCAL);
}

enum jr_fired jr_rule_local_of_world(struct jr_resolver *r, struct jr_field_value *out)
{
    return divide_world(r, out, JR_NODES);
}

/* Let each node have a size of its own, unless all have the same. */
static void take_sizes_of_nodes(struct jr_resolver *r, struct jr_field_value *out,
                                const struct jr_counts *each)
{
    r->sizes = each->items;
    r->sizes_count = each->count;
    out->text = describe_sizes(r);
    if (out->text == NULL) {
        r->sizes = NULL;
        r->sizes_count = 0;
    }
}

/* Tasks of 1 per node start jobrun itself, and slots are CPUs, which are not counted where there
 * are devices: neither asks for ranks. */
enum jr_fired jr_rule_local_scheduled(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_host_scheduler *scheduler = jr_place_allocation(r);
    bool asked = scheduler != NULL && !r->options->local &&
                 scheduler->tasks.count == JR_FIELD_VALUE(r, NODES).number &&
                 (!scheduler->slots || r->out->job.device == JR_DEVICE_CPU);
    for (uint32_t i = 0; asked && i < scheduler->tasks.count; i++)
        if (scheduler->tasks.items[i] > out->number)
            out->number = scheduler->tasks.items[i];
    if (out->number <= 1)
        return JR_PASSED;
    take_sizes_of_nodes(r, out, &scheduler->tasks);
    out->detail = jr_place_said(r, scheduler->slots ? "hosts" : "tasks");
    return take_size(r, out, out->number);
}

static enum jr_fired refuse_uncounted(struct jr_resolver *r, const char *what, const char *help)
{
    struct jr_diag *diag =
        jr_rules_refuse(r, JR_CODE_FIELD_STILL_MISSING, JR_BIT(JR_DEVICE),
                        "local_world_size is MISSING, and jobrun cannot count the %s",
                        what != NULL ? what : "devices");
    jr_diag_help(r->diags, diag, "state local_world_size, %s", help);
    return JR_FAILED;
}

/* If the nodes were asked and differ, each has its own number, at least one; a node without one
 * reports it itself. */
static enum jr_fired take_each_size(struct jr_resolver *r, struct jr_field_value *out,
                                    const struct jr_counts *each)
{
    bool all = each->count > 0 && JR_FIELD_VALUE(r, NODES).known &&
               each->count == JR_FIELD_VALUE(r, NODES).number;
    for (uint32_t i = 0; i < each->count; i++)
        all = all && each->items[i] > 0;
    for (uint32_t i = 0; all && i < each->count; i++)
        if (each->items[i] > out->number)
            out->number = each->items[i];
    if (all)
        take_sizes_of_nodes(r, out, each);
    return take_size(r, out, out->number);
}

enum jr_fired jr_rule_local_of_any(struct jr_resolver *r, struct jr_field_value *out)
{
    if (!jr_devices_are_any(r))
        return JR_PASSED;
    struct jr_field_value scheduled = *out;
    scheduled.origin = JR_ORIGIN_SCHEDULER;
    scheduled.rule = "tasks per node, as asked for";
    enum jr_fired fired = jr_rule_local_scheduled(r, &scheduled);
    if (fired != JR_PASSED) {
        *out = scheduled;
        return fired;
    }
    out->number = jr_devices_usable(r);
    return out->number == 0 ? JR_PASSED : take_each_size(r, out, &r->hw->devices_each);
}

enum jr_fired jr_rule_local_of_devices(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_field_value *devices = &JR_FIELD_VALUE(r, DEVICES);
    enum jr_device device = r->out->job.device;
    out->detail = devices->detail;
    if (device == JR_DEVICE_CPU) {
        out->number = jr_cpus_within_quota(r->hw, r->hw->cpus.usable);
        if (out->number == 0)
            return refuse_uncounted(r, "CPUs", "or give their number: 4x0,32c");
        out->detail = jr_arena_printf(r->arena, "%u usable CPUs", out->number);
        out->rule = "CPUs per node: affinity, cpuset and quota";
        return take_each_size(r, out, &r->hw->cpus_each);
    }
    if (devices->number == 0)
        return refuse_uncounted(
            r, jr_arena_printf(r->arena, "%s devices", jr_field_value_value(r, JR_DEVICE)),
            device == JR_DEVICE_CUSTOM
                ? "or list them in devices, or put a program NAME.facts that "
                  "prints them beside the spec"
                : "or list them in devices");
    out->number = devices->number;
    return jr_devices_listed(r) ? JR_FIRED : take_each_size(r, out, &r->hw->devices_each);
}
