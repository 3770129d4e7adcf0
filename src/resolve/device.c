/* The rules on devices: which kind the job uses, which of them its ranks get, and the backends that
 * drive them. Declared in internal.h and resolve.h. */
#include "resolve/internal.h"

#include <string.h>
#include <unistd.h>

#include <jobrun/contract.h>
#include <jobrun/spec.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/strv.h"
#include "host/host.h"
#include "resolve/device_lease.h"

#include "base/banned.h"

/* What there is to know about a kind of device. */
struct device_kind {
    const char *vendor;     /* "NVIDIA" */
    const char *visibility; /* "CUDA_VISIBLE_DEVICES"; NULL: none */
    const char *backend;    /* the default one; NULL: none is */
};

#define TRAITS(name, vendor, visibility, backend)                                                  \
    [JR_DEVICE_##name] = {vendor, visibility, backend},
static const struct device_kind kinds[] = {JR_DEVICE_TRAITS(TRAITS)};

#define WORD(name, word, help) [JR_DEVICE_##name] = word,
static const char *const words[] = {JR_DEVICES(WORD)};

#define NAME(name, word, help) [JR_BACKEND_##name] = word,
static const char *const names[JR_BACKEND_COUNT] = {JR_BACKENDS(NAME)};

/* The kinds that each backend drives, as bits. */
#define DRIVES(name, kinds) [JR_BACKEND_##name] = (kinds),
static const uint32_t drives[JR_BACKEND_COUNT] = {JR_BACKEND_DRIVES(DRIVES)};

static bool spells_backend(const char *text, const char *name)
{
    if (strcmp(name, "custom") == 0)
        return strncmp(text, "custom:", 7) == 0 && text[7] != '\0';
    return strcmp(text, name) == 0;
}

static int find_backend(const char *name)
{
    for (int i = 0; i < JR_BACKEND_COUNT; i++)
        if (spells_backend(name, names[i]))
            return i;
    return -1;
}

bool jr_spec_has_profile(const struct jr_spec *spec, const char *name)
{
    for (uint32_t i = 0; i < spec->env_profiles_count; i++)
        if (strcmp(spec->env_profiles[i], name) == 0)
            return true;
    return false;
}

/* PaddlePaddle calls Kunlun's devices xpu, everybody else Intel's. */
static bool is_kunlun(const struct jr_resolver *r, enum jr_device kind)
{
    return kind == JR_DEVICE_XPU && jr_spec_has_profile(r->spec, "paddle");
}

const char *jr_device_variable(const struct jr_resolver *r)
{
    enum jr_device kind = r->out->job.device;
    if (kind == JR_DEVICE_CUSTOM)
        return r->hw->custom_variable;
    return is_kunlun(r, kind) ? "XPU_VISIBLE_DEVICES" : kinds[kind].visibility;
}

/* Paddle drives every device of a plugin's by XCCL. NULL: there is none. */
static const char *default_backend(const struct jr_resolver *r)
{
    enum jr_device kind = r->out->job.device;
    if (kind == JR_DEVICE_CUSTOM && jr_spec_has_profile(r->spec, "paddle"))
        return "xccl";
    return is_kunlun(r, kind) ? "bkcl" : kinds[kind].backend;
}

enum jr_fired jr_rule_backend_env(struct jr_resolver *r, struct jr_field_value *out)
{
    const char *name = r->hw->environment.backend;
    if (name == NULL || name[0] == '\0')
        return JR_PASSED;
    out->text = name;
    if (find_backend(name) >= 0)
        return JR_FIRED;
    struct jr_diag *diag = jr_rules_refuse(
        r, JR_CODE_UNKNOWN_BACKEND, 0, "TORCH_DISTRIBUTED_BACKEND names no backend: '%s'", name);
    jr_diag_help(r->diags, diag, "unset it, or state backends");
    return JR_FAILED;
}

enum jr_fired jr_rule_backend(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_field_value *device = &JR_FIELD_VALUE(r, DEVICE);
    out->text = default_backend(r);
    if (out->text == NULL) {
        struct jr_diag *diag = jr_rules_clash(r, JR_CODE_FIELD_STILL_MISSING, JR_BIT(JR_DEVICE),
                                              "backends is MISSING, and %s has no default",
                                              jr_field_value_value(r, JR_DEVICE));
        jr_diag_help(r->diags, diag, "state it: " JR_SETTING("backends", "custom:NAME"));
        return JR_FAILED;
    }
    if (device->origin == JR_ORIGIN_HARDWARE)
        out->origin = JR_ORIGIN_HARDWARE;
    out->detail = jr_arena_printf(r->arena, "device %s", device->text);
    return JR_FIRED;
}

enum jr_fired jr_rule_backend_axis(struct jr_resolver *r, struct jr_field_value *out)
{
    out->text = JR_FIELD_VALUE(r, BACKEND).text;
    return JR_FIRED;
}

static void check_backend(struct jr_resolver *r, enum jr_field field)
{
    const struct jr_field_value *backend = &r->cells[field];
    const struct jr_field_value *device = &JR_FIELD_VALUE(r, DEVICE);
    enum jr_device kind = r->out->job.device;
    bool copied = field != JR_BACKEND && !jr_field_value_stated(backend);
    if (!backend->known || !device->known || copied)
        return;
    int found = find_backend(backend->text);
    if (found >= 0 && (kind == JR_DEVICE_CUSTOM || (drives[found] & (1u << kind)) != 0))
        return;
    struct jr_diag *diag =
        jr_rules_clash(r, JR_CODE_BACKEND_CANNOT_DRIVE, JR_BIT(field) | JR_BIT(JR_DEVICE),
                       "backend %s cannot drive %s", jr_field_value_value(r, field),
                       jr_field_value_say(r, JR_DEVICE));
    bool inherited = backend->origin == JR_ORIGIN_ENVIRONMENT;
    const char *usual = default_backend(r);
    jr_diag_help(r->diags, diag, "%s%s is the default of %s",
                 inherited ? "unset TORCH_DISTRIBUTED_BACKEND: " : "",
                 usual == NULL ? "none" : usual, jr_field_value_value(r, JR_DEVICE));
}

void jr_check_backends(struct jr_resolver *r)
{
    check_backend(r, JR_BACKEND);
    check_backend(r, JR_BACKEND_MODEL);
    check_backend(r, JR_BACKEND_PIPELINE);
    check_backend(r, JR_BACKEND_DATA);
}

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
    return !r->hw->real || !is_kunlun(r, kind);
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
    unsigned kind = 0;
    while (kind < JR_DEVICE_COUNT && r->spec->device != NULL &&
           !spells_backend(r->spec->device, words[kind]))
        kind++;
    if (r->spec->device == NULL || kind == JR_DEVICE_COUNT)
        return JR_PASSED;
    r->out->job.device = (enum jr_device)kind;
    jr_field_value_state(r, out, "device");
    out->text = r->spec->device;
    jr_rules_show(r, JR_DEVICE, out);
    if (kind != JR_DEVICE_CPU && is_driver_broken(r, (enum jr_device)kind))
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

bool jr_devices_are_any(const struct jr_resolver *r)
{
    return devices_are(r, "any") && r->out->job.device != JR_DEVICE_CPU;
}

/* The model that all usable devices have, or all of the job's `own`; NULL when they differ. */
static const char *common_model(const struct jr_resolver *r, enum jr_device kind, bool own)
{
    const struct jr_node_resources *has = &r->out->job.own;
    const char *model = NULL;
    for (uint32_t i = 0; i < (own ? has->devices_count : r->hw->devices_count); i++) {
        const struct jr_host_device *device =
            own ? jr_device_find(r->hw, kind, has->devices[i]) : &r->hw->devices[i];
        if (!own && !is_device_usable(device, kind))
            continue;
        if (device == NULL || device->model == NULL ||
            (model != NULL && strcmp(model, device->model) != 0))
            return NULL;
        model = device->model;
    }
    return model;
}

/* "8 NVIDIA H100 on this node"; drivers put the vendor into the model. */
static const char *describe_devices(struct jr_resolver *r, enum jr_device kind)
{
    const char *vendor = is_kunlun(r, kind) ? "Kunlun" : kinds[kind].vendor;
    const char *model = common_model(r, kind, false);
    if (model == NULL)
        model = "devices";
    if (vendor == NULL || strncmp(model, vendor, strlen(vendor)) == 0)
        vendor = "";
    const char *place = r->hw->name != NULL ? r->hw->name : "this node";
    return jr_arena_printf(r->arena, "%u %s%s%s on %s", count_usable(r->hw, kind), vendor,
                           vendor[0] != '\0' ? " " : "", model,
                           r->hw->nodes > 1 ? "each node" : place);
}

/* What hides the devices of a kind. */
static const char *hiding_variable(const struct jr_host *hw, enum jr_device kind)
{
    const char *name = kind == JR_DEVICE_CUSTOM ? hw->custom_variable : kinds[kind].visibility;
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
        if (found != JR_DEVICE_CPU) { /* two vendors in one machine: never pick one */
            struct jr_diag *diag = jr_rules_refuse(
                r, JR_CODE_TWO_DEVICE_KINDS, 0,
                "there are two kinds of devices: %s (%s) and %s (%s)", words[found],
                describe_devices(r, found), words[i], describe_devices(r, (enum jr_device)i));
            jr_diag_help(
                r->diags, diag,
                "choose one: " JR_SETTING("device", "%s") " or " JR_SETTING("device", "%s"),
                words[found], words[i]);
            return JR_FAILED;
        }
        found = (enum jr_device)i;
    }
    if (found == JR_DEVICE_CPU)
        return choose_cpu(r, out);
    r->out->job.device = found;
    out->text = words[found];
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
static void name_instances(struct jr_resolver *r)
{
    struct jr_job *job = &r->out->job;
    for (uint32_t i = 0; i < job->own.devices_count; i++) {
        const struct jr_host_device *device =
            jr_device_find(r->hw, job->device, job->own.devices[i]);
        if (device == NULL || device->uuid == NULL || strncmp(device->uuid, "MIG-", 4) != 0)
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

/* What follows from the list of devices that a rule has made. */
static void finish_devices(struct jr_resolver *r, struct jr_field_value *out)
{
    struct jr_job *job = &r->out->job;
    name_instances(r);
    job->own.device_model = common_model(r, job->device, true);
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
        finish_devices(r, out);
    return fired;
}

static bool make_device_list(struct jr_resolver *r, struct jr_device_list *ret, uint32_t most)
{
    ret->names = jr_arena_array(r->arena, most, sizeof *ret->names);
    ret->keys = jr_arena_array(r->arena, most, sizeof *ret->keys);
    ret->count = 0;
    return ret->names != NULL && ret->keys != NULL;
}

/* One that is there twice is one device. */
static void add_device(struct jr_resolver *r, struct jr_device_list *list,
                       const struct jr_host_device *device, const char *name)
{
    char key[JR_DEVICE_KEY_SIZE];
    jr_device_key(key, device, JR_FIELD_VALUE(r, DEVICE).text, name);
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->keys[i], key) == 0)
            return;
    list->names[list->count] = name;
    list->keys[list->count] = jr_arena_strdup(r->arena, key);
    list->count += list->keys[list->count] != NULL;
}

/* The ranks that may get a device of this machine each. */
static uint32_t count_ranks_here(const struct jr_resolver *r)
{
    return r->options->local ? JR_FIELD_VALUE(r, LOCAL).number : jr_place_here(r);
}

/* Who looks at leases for this resolution. */
static struct jr_device_viewer make_viewer(const struct jr_resolver *r)
{
    char *const *envp = r->options->environ;
    return (struct jr_device_viewer){.own = r->out->device_leases,
                                     .own_count = r->out->device_leases_count,
                                     .around =
                                         envp == NULL ? NULL : jr_env_get(envp, "JOBRUN_RUN_ID")};
}

static const char *keep_device_text(struct jr_resolver *r, const struct jr_buf *text)
{
    const char *kept = jr_buf_keep(text, r->arena);
    return kept == NULL ? "" : kept;
}

static void refuse_busy(struct jr_resolver *r, const struct jr_device_list *list,
                        const struct jr_device_request *request)
{
    const struct jr_device_wait *wait = r->options->wait;
    uint64_t ticket = wait == NULL ? 0 : wait->queue.ticket;
    const struct jr_device_viewer viewer = make_viewer(r);
    struct jr_device_claims claims;
    struct jr_buf who JR_BUF_CLEANUP = JR_BUF_INIT, queue JR_BUF_CLEANUP = JR_BUF_INIT;
    uint32_t free_count = 0;
    jr_device_claims_read(&claims);
    for (uint32_t i = 0; i < list->count; i++)
        free_count += !jr_device_is_held_by_others(&claims, request, list->keys[i]);
    bool held = jr_device_holders_print(&who, &claims, list, &viewer) > 0;
    bool queued = jr_device_waiters_print(&queue, &claims, request, ticket);
    struct jr_diag *diag = jr_rules_refuse(
        r, JR_CODE_DEVICES_HELD, JR_BIT(JR_DEVICES),
        "the ranks here need %u %s device%s, and %u of %u %s free: %s%s%s", request->need,
        jr_field_value_value(r, JR_DEVICE), request->need == 1 ? "" : "s", free_count, list->count,
        free_count == 1 ? "is" : "are", keep_device_text(r, &who), held && queued ? "; " : "",
        keep_device_text(r, &queue));
    bool sized = JR_FIELD_VALUE(r, LOCAL).origin != JR_ORIGIN_HARDWARE;
    const char *longer = wait == NULL ? "wait for them with --wait"
                                      : "wait longer: --wait without a time has no end";
    if (jr_devices_are_any(r))
        jr_diag_help(r->diags, diag,
                     "%s%s; or share devices by naming them: " JR_SETTING("devices", "[0, 1]"),
                     sized ? "" : "state world_size, for fewer ranks; ", longer);
    else
        jr_diag_help(r->diags, diag, "%s; or share them: leave --wait out", longer);
    jr_device_claims_release(&claims);
}

/* Keep what is needed, for whoever waits for it. */
static void keep_request(struct jr_device_wait *wait, const struct jr_device_request *request)
{
    jr_arena_release(&wait->arena);
    const char **keys = jr_arena_array(&wait->arena, request->count, sizeof *keys);
    for (uint32_t i = 0; keys != NULL && i < request->count; i++)
        keys[i] = jr_arena_strdup(&wait->arena, request->keys[i]);
    wait->request = (struct jr_device_request){keys, request->count, request->need,
                                               jr_arena_strdup(&wait->arena, request->around)};
    if (wait->arena.failed)
        wait->request = (struct jr_device_request){0};
}

/* Lease `need` of the devices, or complain. `chosen` gets their places. */
static bool take_devices(struct jr_resolver *r, const struct jr_device_list *list, uint32_t need,
                         uint32_t *chosen)
{
    const struct jr_device_request request = {list->keys, list->count, need, make_viewer(r).around};
    struct jr_device_wait *wait = r->options->wait;
    struct jr_resolution *out = r->out;
    struct jr_device_lease *leases = NULL;
    if (r->options->keep_port)
        leases = jr_arena_array(r->arena, need, sizeof *leases);
    if (r->arena->failed)
        return false;
    if (jr_devices_take(&request, wait == NULL ? 0 : wait->queue.ticket, chosen, leases) < need) {
        refuse_busy(r, list, &request);
        if (wait != NULL)
            keep_request(wait, &request);
        return false;
    }
    out->device_leases = leases;
    out->device_leases_count = leases == NULL ? 0 : need;
    return true;
}

/* The devices of the job's kind that its processes see. */
static bool list_visible(struct jr_resolver *r, struct jr_device_list *ret)
{
    const struct jr_host *hw = r->hw;
    if (!make_device_list(r, ret, hw->devices_count))
        return false;
    for (uint32_t i = 0; i < hw->devices_count; i++) {
        const struct jr_host_device *device = &hw->devices[i];
        if (device->kind == r->out->job.device && device->visible)
            add_device(r, ret, device, jr_arena_printf(r->arena, "%u", device->index));
    }
    return !r->arena->failed;
}

enum jr_fired jr_rule_devices_any(struct jr_resolver *r, struct jr_field_value *out)
{
    struct jr_job *job = &r->out->job;
    struct jr_device_list list;
    if (!jr_devices_are_any(r))
        return JR_PASSED;
    struct jr_field_value stated = *out;
    jr_field_value_state(r, &stated, "devices");
    stated.text = "any";
    jr_rules_show(r, JR_DEVICES, &stated);
    if (!list_visible(r, &list))
        return JR_FAILED;
    uint32_t ranks = count_ranks_here(r);
    uint32_t need = ranks < list.count ? ranks : list.count;
    uint32_t *chosen = jr_arena_array(r->arena, need, sizeof *chosen);
    job->own.devices = jr_arena_array(r->arena, need, sizeof(char *));
    if (chosen == NULL || job->own.devices == NULL)
        return JR_FAILED;
    for (uint32_t i = 0; i < need; i++)
        chosen[i] = i;
    /* More ranks than devices are a mistake of its own. */
    bool fits = ranks <= list.count || r->spec->oversubscribe;
    bool leased = r->options->leases_count > 0;
    bool here = r->hw->real && !r->options->skip_leases && !leased;
    if (leased) {
        r->out->device_leases = r->options->leases;
        r->out->device_leases_count = r->options->leases_count;
    }
    if (here && fits && !take_devices(r, &list, need, chosen))
        return JR_FAILED;
    for (uint32_t i = 0; i < need; i++)
        job->own.devices[i] = jr_arena_strdup(r->arena, list.names[chosen[i]]);
    job->own.devices_count = need;
    job->devices_by_index = true;
    job->devices_any = true;
    finish_devices(r, out);
    return JR_FIRED;
}

/* A device that cannot be leased, for lack of descriptors for instance, can still be used. */
static void share_devices(struct jr_resolver *r, const struct jr_device_list *list)
{
    struct jr_resolution *out = r->out;
    out->device_leases = jr_arena_array(r->arena, list->count, sizeof *out->device_leases);
    for (uint32_t i = 0; i < list->count && out->device_leases != NULL; i++) {
        struct jr_device_lease *lease = &out->device_leases[out->device_leases_count];
        out->device_leases_count += jr_device_lease_share(lease, list->keys[i]) == 0;
    }
}

static void warn_of_holders(struct jr_resolver *r, const struct jr_device_list *list)
{
    struct jr_job *job = &r->out->job;
    const struct jr_device_viewer viewer = make_viewer(r);
    struct jr_device_claims claims;
    struct jr_buf who JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_device_claims_read(&claims);
    if (jr_device_holders_print(&who, &claims, list, &viewer) > 0) {
        job->own.held =
            jr_arena_printf(r->arena, "of the %s devices %s", jr_field_value_value(r, JR_DEVICE),
                            keep_device_text(r, &who));
        struct jr_diag *diag = jr_rules_warn(r, JR_CODE_DEVICES_SHARED, JR_BIT(JR_DEVICES), "%s",
                                             job->own.held == NULL ? "" : job->own.held);
        jr_diag_help(
            r->diags, diag,
            "this run shares them; `" JR_SETTING("devices", "any") "` takes free ones, and "
                                                                   "--wait waits for these");
    }
    jr_device_claims_release(&claims);
}

bool jr_devices_lease(struct jr_resolver *r)
{
    const struct jr_job *job = &r->out->job;
    struct jr_device_list list;
    if (!r->hw->real || r->options->skip_leases || job->device == JR_DEVICE_CPU ||
        job->devices_any || job->own.devices_count == 0)
        return true;
    if (r->options->leases_count > 0) {
        r->out->device_leases = r->options->leases;
        r->out->device_leases_count = r->options->leases_count;
        return true;
    }
    /* those that ranks here get: of more devices than ranks, the first */
    uint32_t ranks = count_ranks_here(r), count = job->own.devices_count;
    count = ranks < count ? ranks : count;
    if (!make_device_list(r, &list, count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        add_device(r, &list, jr_device_find(r->hw, job->device, job->own.devices[i]),
                   job->own.devices[i]);
    if (r->arena->failed)
        return false;
    if (r->options->wait != NULL) {
        uint32_t *chosen = jr_arena_array(r->arena, list.count, sizeof *chosen);
        return chosen != NULL && take_devices(r, &list, list.count, chosen);
    }
    if (r->options->keep_port)
        share_devices(r, &list);
    warn_of_holders(r, &list);
    return true;
}

void jr_device_leases_note(struct jr_resolution *resolution, const char *run_id)
{
    for (uint32_t i = 0; i < resolution->device_leases_count; i++)
        jr_device_lease_note(&resolution->device_leases[i], run_id);
}

void jr_device_leases_release(struct jr_resolution *resolution)
{
    for (uint32_t i = 0; i < resolution->device_leases_count; i++)
        jr_device_lease_release(&resolution->device_leases[i]);
    resolution->device_leases_count = 0;
}

uint32_t jr_device_pool_find(bool *ret_may, const struct jr_host *host, const struct jr_job *job,
                             const struct jr_spec *spec)
{
    uint32_t count = 0;
    bool named = spec->devices_count > 0 && strcmp(spec->devices[0], "any") != 0 &&
                 strcmp(spec->devices[0], "all") != 0;
    for (uint32_t i = 0; i < host->devices_count; i++) {
        const struct jr_host_device *device = &host->devices[i];
        bool mine = !named;
        for (uint32_t k = 0; !mine && k < job->own.devices_count; k++)
            mine = jr_device_find(host, job->device, job->own.devices[k]) == device;
        ret_may[i] = mine && device->visible && device->kind == job->device;
        count += ret_may[i];
    }
    return count;
}
