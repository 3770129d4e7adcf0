#include "resolve/device_kind.h"

#include <string.h>

#include "base/num.h"
#include "resolve/backend.h"
#include "resolve/device_choice.h"

#include "base/banned.h"

static bool is_device_usable(const struct jr_host_device *device, enum jr_device kind)
{
    return device->kind == kind && device->visible;
}

static uint32_t count_usable(const struct jr_host *hw, enum jr_device kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < hw->devices_count; i++)
        count += is_device_usable(&hw->devices[i], kind);
    return count;
}

uint32_t jr_devices_usable(const struct jr_resolver *r)
{
    return count_usable(r->hw, r->out->job.device);
}

/* Whether the facts would show a device of this kind if there were one: of Kunlun's, which are xpu
 * to PaddlePaddle alone, nothing is read yet. */
static bool is_kind_countable(const struct jr_resolver *r, enum jr_device kind)
{
    if (count_usable(r->hw, kind) > 0)
        return true;
    if (kind == JR_DEVICE_CUSTOM)
        return r->hw->custom_counted;
    return !r->hw->real || !jr_device_is_kunlun(r, kind);
}

/* Keep jobrun from counting on a driver that is broken. */
static bool is_driver_broken(struct jr_resolver *r, enum jr_device kind)
{
    bool found = false;
    for (uint32_t i = 0; i < r->hw->problems_count; i++) {
        const struct jr_host_problem *problem = &r->hw->problems[i];
        if (problem->kind == JR_DEVICE_CPU || (kind != JR_DEVICE_CPU && problem->kind != kind))
            continue;
        found = true;
        struct jr_diag *diag =
            jr_rules_refuse(r, JR_CODE_DRIVER_BROKEN, JR_BIT(JR_DEVICE), "%s", problem->message);
        jr_diag_help(r->diags, diag, "%s; or use the CPUs: " JR_SETTING("device", "cpu"),
                     problem->help != NULL ? problem->help : "repair the driver");
    }
    return found;
}

enum jr_fired jr_rule_device_stated(struct jr_resolver *r, struct jr_field_value *out)
{
    struct jr_job *job = &r->out->job;
    if (r->spec->device == NULL || !jr_device_parse(r->spec->device, &job->device))
        return JR_PASSED;
    jr_field_value_state(r, out, "device");
    out->text = r->spec->device;
    jr_rules_show(r, JR_DEVICE, out);
    if (job->device != JR_DEVICE_CPU && is_driver_broken(r, job->device))
        return JR_FAILED;
    return JR_FIRED;
}

static bool devices_are(const struct jr_resolver *r, const char *word)
{
    return r->spec->devices_count == 1 && strcmp(r->spec->devices[0], word) == 0;
}

bool jr_devices_listed(const struct jr_resolver *r)
{
    return r->spec->devices_count > 0 && !devices_are(r, "all") && !devices_are(r, "any") &&
           !devices_are(r, "none");
}

/* The model that all usable devices have; NULL when they differ. */
static const char *common_model(const struct jr_host *hw, enum jr_device kind)
{
    const char *model = NULL;
    for (uint32_t i = 0; i < hw->devices_count; i++) {
        const struct jr_host_device *device = &hw->devices[i];
        if (!is_device_usable(device, kind))
            continue;
        if (device->model == NULL || (model != NULL && strcmp(model, device->model) != 0))
            return NULL;
        model = device->model;
    }
    return model;
}

/* "8 NVIDIA H100 on this node"; drivers put the vendor into the model. */
static const char *describe_devices(struct jr_resolver *r, enum jr_device kind)
{
    const char *vendor = jr_device_vendor(r, kind);
    const char *model = common_model(r->hw, kind);
    if (model == NULL)
        model = "devices";
    if (vendor == NULL || strncmp(model, vendor, strlen(vendor)) == 0)
        vendor = "";
    const char *place = r->hw->name != NULL ? r->hw->name : "this node";
    return jr_arena_printf(r->arena, "%u %s%s%s on %s", count_usable(r->hw, kind), vendor,
                           vendor[0] != '\0' ? " " : "", model,
                           r->hw->nodes > 1 ? "each node" : place);
}

/* Two vendors in one machine: never pick one. */
static enum jr_fired refuse_two_kinds(struct jr_resolver *r, enum jr_device a, enum jr_device b)
{
    struct jr_diag *diag = jr_rules_refuse(
        r, JR_CODE_TWO_DEVICE_KINDS, 0, "there are two kinds of devices: %s (%s) and %s (%s)",
        jr_device_name(a), describe_devices(r, a), jr_device_name(b), describe_devices(r, b));
    jr_diag_help(r->diags, diag, "choose one: device: %s or device: %s", jr_device_name(a),
                 jr_device_name(b));
    return JR_FAILED;
}

/* What hides the devices of a kind. */
static const char *hiding_variable(const struct jr_host *hw, enum jr_device kind)
{
    const char *name =
        kind == JR_DEVICE_CUSTOM ? hw->custom_variable : jr_device_kind(kind)->visibility;
    return hw->environment.visible[kind] != NULL ? name : "the environment";
}

static enum jr_fired choose_cpu(struct jr_resolver *r, struct jr_field_value *out)
{
    bool none = devices_are(r, "none");
    out->origin = JR_ORIGIN_DEFAULT;
    out->text = "cpu";
    out->rule = none ? "devices is none" : "no accelerator";
    if (!none && r->hw->devices_count > 0)
        out->rule =
            jr_arena_printf(r->arena, "%s hides all of the %u devices",
                            hiding_variable(r->hw, r->hw->devices[0].kind), r->hw->devices_count);
    out->fact = !none;
    r->out->job.device = JR_DEVICE_CPU;
    return JR_FIRED;
}

enum jr_fired jr_rule_device(struct jr_resolver *r, struct jr_field_value *out)
{
    enum jr_device found = JR_DEVICE_CPU;
    if (devices_are(r, "none"))
        return choose_cpu(r, out);
    if (is_driver_broken(r, JR_DEVICE_CPU))
        return JR_FAILED;
    for (unsigned i = JR_DEVICE_CPU + 1; i < JR_DEVICE_COUNT; i++) {
        if (count_usable(r->hw, (enum jr_device)i) == 0)
            continue;
        if (found != JR_DEVICE_CPU)
            return refuse_two_kinds(r, found, (enum jr_device)i);
        found = (enum jr_device)i;
    }
    if (found == JR_DEVICE_CPU)
        return choose_cpu(r, out);
    r->out->job.device = found;
    out->text = jr_device_name(found);
    out->detail = describe_devices(r, found);
    return JR_FIRED;
}

const struct jr_host_device *jr_device_find(const struct jr_host *hw, enum jr_device kind,
                                            const char *name)
{
    uint32_t index;
    if (name == NULL)
        return NULL;
    bool by_index = jr_num_u32(name, &index);
    for (uint32_t i = 0; i < hw->devices_count; i++) {
        const struct jr_host_device *device = &hw->devices[i];
        if (device->kind != kind)
            continue;
        if (by_index ? device->index == index
                     : device->uuid != NULL && strcmp(device->uuid, name) == 0)
            return device;
    }
    return NULL;
}

/* Complain about an entry of `devices` that this machine cannot give. */
static bool can_grant_device(struct jr_resolver *r, uint32_t entry)
{
    enum jr_device kind = r->out->job.device;
    const char *name = r->spec->devices[entry];
    const struct jr_host_device *device = jr_device_find(r->hw, kind, name);
    if (!is_kind_countable(r, kind) || (device != NULL && device->visible))
        return true;
    const char *written =
        jr_spec_written(r->file, r->arena, jr_arena_printf(r->arena, "devices[%u]", entry));
    struct jr_diag *diag =
        jr_rules_refuse(r, JR_CODE_DEVICE_NOT_AVAILABLE, JR_BIT(JR_DEVICES), "%s device %s %s",
                        jr_field_value_value(r, JR_DEVICE), written != NULL ? written : name,
                        device != NULL ? "is not visible to this process" : "does not exist here");
    const char *value = r->hw->environment.visible[kind];
    if (device != NULL && value != NULL)
        jr_diag_help(r->diags, diag, "%s=%s hides it", hiding_variable(r->hw, kind), value);
    else
        jr_diag_help(r->diags, diag, "%s",
                     kind == JR_DEVICE_CUSTOM ? "the facts beside the spec list the devices"
                                              : "jobrun doctor lists the devices");
    return false;
}

/* Ranks that see all devices pick by LOCAL_RANK from a list that Ascend's runtime cuts where it
 * does not ascend. */
static bool are_devices_ascending(struct jr_resolver *r)
{
    const struct jr_spec *spec = r->spec;
    uint32_t last = 0, index = 0;
    if (r->out->job.device != JR_DEVICE_NPU || spec->device_visibility != JR_VISIBLE_ALL)
        return true;
    for (uint32_t i = 0; i < spec->devices_count; i++, last = index) {
        if (!jr_num_u32(spec->devices[i], &index) || i == 0 || index > last)
            continue;
        struct jr_diag *diag =
            jr_rules_clash(r, JR_CODE_DEVICES_OUT_OF_ORDER, JR_BIT(JR_DEVICES),
                           "devices are not in ascending order, and Ascend's runtime ignores "
                           "every entry of ASCEND_RT_VISIBLE_DEVICES after a larger index");
        jr_diag_help(
            r->diags, diag,
            "list them in ascending order, or state " JR_SETTING("device_visibility", "one"));
        return false;
    }
    return true;
}

/* Complain about an entry that is a device which another entry named. */
static bool is_first_device(struct jr_resolver *r, uint32_t entry)
{
    const struct jr_spec *spec = r->spec;
    enum jr_device kind = r->out->job.device;
    const struct jr_host_device *device = jr_device_find(r->hw, kind, spec->devices[entry]);
    uint32_t other = 0;
    while (device != NULL && !spec->oversubscribe && other < entry &&
           jr_device_find(r->hw, kind, spec->devices[other]) != device)
        other++;
    if (device == NULL || other == entry || spec->oversubscribe)
        return true;
    struct jr_diag *diag =
        jr_rules_refuse(r, JR_CODE_DEVICES_DO_NOT_FIT, JR_BIT(JR_DEVICES),
                        "devices[%u] and devices[%u] are the same", other, entry);
    jr_diag_help(
        r->diags, diag,
        "leave one out, or let ranks share devices (" JR_SETTING("oversubscribe", "true") ")");
    return false;
}

/* Indices throughout, unless all entries are UUIDs: CUDA takes no mixture. */
static enum jr_fired list_stated_devices(struct jr_resolver *r, struct jr_field_value *out)
{
    struct jr_job *job = &r->out->job;
    const struct jr_spec *spec = r->spec;
    bool granted = true;
    uint32_t index;
    jr_field_value_state(r, out, "devices");
    jr_rules_show(r, JR_DEVICES, out);
    job->own.devices = jr_arena_array(r->arena, spec->devices_count, sizeof(char *));
    if (job->own.devices == NULL)
        return JR_FAILED;
    for (uint32_t i = 0; i < spec->devices_count; i++) {
        granted = can_grant_device(r, i) && is_first_device(r, i) && granted;
        job->devices_by_index |= jr_num_u32(spec->devices[i], &index);
    }
    for (uint32_t i = 0; i < spec->devices_count; i++) {
        const struct jr_host_device *device = jr_device_find(r->hw, job->device, spec->devices[i]);
        job->own.devices[i] = spec->devices[i];
        if (job->devices_by_index && device != NULL)
            job->own.devices[i] = jr_arena_printf(r->arena, "%u", device->index);
    }
    job->own.devices_count = spec->devices_count;
    granted = are_devices_ascending(r) && granted;
    return granted ? JR_FIRED : JR_FAILED;
}

/* MIG instances have no index that CUDA would take, and a process can use one only: each rank sees
 * its own. */
static bool is_mig(const struct jr_host_device *device)
{
    return device != NULL && device->uuid != NULL && strncmp(device->uuid, "MIG-", 4) == 0;
}

static void name_instances(struct jr_resolver *r)
{
    struct jr_job *job = &r->out->job;
    for (uint32_t i = 0; i < job->own.devices_count; i++) {
        const struct jr_host_device *device =
            jr_device_find(r->hw, job->device, job->own.devices[i]);
        if (!is_mig(device))
            continue;
        job->own.devices[i] = jr_arena_strdup(r->arena, device->uuid);
        job->devices_by_index = false;
        r->instances = true;
    }
}

static enum jr_fired list_all_devices(struct jr_resolver *r, struct jr_field_value *out)
{
    struct jr_job *job = &r->out->job;
    uint32_t count = count_usable(r->hw, job->device);
    if (count == 0 && is_kind_countable(r, job->device)) {
        struct jr_diag *diag =
            jr_rules_refuse(r, JR_CODE_DEVICE_NOT_FOUND, JR_BIT(JR_DEVICE),
                            "no %s device is visible here", jr_field_value_value(r, JR_DEVICE));
        jr_diag_help(r->diags, diag, "%s; or state " JR_SETTING("device", "cpu"),
                     job->device == JR_DEVICE_CUSTOM
                         ? "the facts beside the spec list no usable device"
                         : "jobrun doctor lists the devices");
        return JR_FAILED;
    }
    job->own.devices = jr_arena_array(r->arena, count, sizeof(char *));
    for (uint32_t i = 0; i < r->hw->devices_count && job->own.devices; i++)
        if (is_device_usable(&r->hw->devices[i], job->device))
            job->own.devices[job->own.devices_count++] =
                jr_arena_printf(r->arena, "%u", r->hw->devices[i].index);
    job->devices_by_index = count > 0;
    if (devices_are(r, "all"))
        jr_field_value_state(r, out, "devices");
    return JR_FIRED;
}

static enum jr_fired list_no_devices(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_spec *spec = r->spec;
    bool cpu = r->out->job.device == JR_DEVICE_CPU;
    out->text = jr_field_value_list(r, spec->devices, spec->devices_count);
    if (spec->devices_count > 0)
        jr_field_value_state(r, out, "devices");
    jr_rules_show(r, JR_DEVICES, out);
    if (!cpu || jr_devices_listed(r)) {
        struct jr_diag *diag =
            jr_rules_clash(r, JR_CODE_DEVICE_CONTRADICTS_DEVICES,
                           JR_BIT(JR_DEVICE) | JR_BIT(JR_DEVICES), "devices %s contradicts %s",
                           jr_field_value_value(r, JR_DEVICES), jr_field_value_say(r, JR_DEVICE));
        jr_diag_help(r->diags, diag, "leave one of the two out");
        return JR_FAILED;
    }
    out->origin = spec->devices_count > 0 ? out->origin : JR_ORIGIN_DEFAULT;
    out->rule = "device cpu has none";
    out->text = "none";
    return JR_FIRED;
}

/* The model that all of the job's devices here are of. */
static const char *own_device_model(const struct jr_resolver *r)
{
    const struct jr_job *job = &r->out->job;
    const char *model = NULL;
    for (uint32_t i = 0; i < job->own.devices_count; i++) {
        const struct jr_host_device *device =
            jr_device_find(r->hw, job->device, job->own.devices[i]);
        if (device == NULL || device->model == NULL ||
            (model != NULL && strcmp(model, device->model) != 0))
            return NULL;
        model = device->model;
    }
    return model;
}

void jr_devices_finish(struct jr_resolver *r, struct jr_field_value *out)
{
    struct jr_job *job = &r->out->job;
    name_instances(r);
    job->own.device_model = own_device_model(r);
    out->number = job->own.devices_count;
    out->fact = true;
    out->text = job->own.devices_count > 0
                    ? jr_field_value_list(r, job->own.devices, job->own.devices_count)
                    : "all";
    out->detail = describe_devices(r, job->device);
}

/* Free ones cannot be chosen among devices that nobody knows. */
static enum jr_fired refuse_unknown_devices(struct jr_resolver *r, struct jr_field_value *out)
{
    jr_field_value_state(r, out, "devices");
    out->text = "any";
    jr_rules_show(r, JR_DEVICES, out);
    struct jr_diag *diag =
        jr_rules_refuse(r, JR_CODE_DEVICE_NOT_FOUND, JR_BIT(JR_DEVICES) | JR_BIT(JR_DEVICE),
                        "jobrun does not know the %s devices of this machine, and so not which "
                        "of them are free",
                        jr_field_value_value(r, JR_DEVICE));
    jr_diag_help(r->diags, diag, "name them: " JR_SETTING("devices", "[0, 1]") "%s",
                 r->out->job.device == JR_DEVICE_CUSTOM
                     ? "; or put a program NAME.facts that prints them beside the spec"
                     : "");
    return JR_FAILED;
}

enum jr_fired jr_rule_devices(struct jr_resolver *r, struct jr_field_value *out)
{
    struct jr_job *job = &r->out->job;
    if (job->device == JR_DEVICE_CPU || devices_are(r, "none"))
        return list_no_devices(r, out);
    bool any = jr_devices_are_any(r);
    if (any && jr_devices_usable(r) > 0)
        return JR_PASSED;
    if (any && !is_kind_countable(r, job->device))
        return refuse_unknown_devices(r, out);
    enum jr_fired fired =
        jr_devices_listed(r) ? list_stated_devices(r, out) : list_all_devices(r, out);
    if (fired == JR_FIRED)
        jr_devices_finish(r, out);
    return fired;
}
