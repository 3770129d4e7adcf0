/*
 * Without --wait, stated devices are shared with whoever holds them, and a warning says with whom;
 * with it, they are waited for, as for `any`. A profile is another machine, whose devices nobody
 * can hold from here.
 */
#include "resolve/device_choice.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "resolve/device_holders.h"
#include "resolve/device_kind.h"
#include "resolve/device_queue.h"
#include "resolve/node_rank.h"

#include "base/banned.h"

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

static void help_with_busy(struct jr_resolver *r, struct jr_diag *diag)
{
    bool any = jr_devices_are_any(r);
    bool sized = JR_FIELD_VALUE(r, LOCAL).origin != JR_ORIGIN_HARDWARE;
    const char *fewer = any && !sized ? "state world_size, for fewer ranks; " : "";
    const char *longer = r->options->wait == NULL ? "wait for them with --wait"
                                                  : "wait longer: --wait without a time has no end";
    if (any)
        jr_diag_help(r->diags, diag,
                     "%s%s; or share devices by naming them: " JR_SETTING("devices", "[0, 1]"),
                     fewer, longer);
    else
        jr_diag_help(r->diags, diag, "%s; or share them: leave --wait out", longer);
}

/* Keep what is needed, for whoever waits for it. */
static void keep_request(const struct jr_resolver *r, const struct jr_device_request *request)
{
    struct jr_device_wait *wait = r->options->wait;
    if (wait == NULL)
        return;
    jr_arena_release(&wait->arena);
    const char **keys = jr_arena_array(&wait->arena, request->count, sizeof *keys);
    for (uint32_t i = 0; keys != NULL && i < request->count; i++)
        keys[i] = jr_arena_strdup(&wait->arena, request->keys[i]);
    wait->request = (struct jr_device_request){keys, request->count, request->need,
                                               jr_arena_strdup(&wait->arena, request->around)};
    if (wait->arena.failed)
        wait->request = (struct jr_device_request){0};
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
    help_with_busy(r, diag);
    keep_request(r, request);
    jr_device_claims_release(&claims);
}

/* Take over the leases that the caller took for this job. */
static void adopt_leases(struct jr_resolver *r)
{
    r->out->device_leases = r->options->leases;
    r->out->device_leases_count = r->options->leases_count;
}

/* Lease `need` of the devices, or complain. `chosen` gets their places. */
static bool take_devices(struct jr_resolver *r, const struct jr_device_list *list, uint32_t need,
                         uint32_t *chosen)
{
    const struct jr_device_request request = {list->keys, list->count, need, make_viewer(r).around};
    const struct jr_device_wait *wait = r->options->wait;
    struct jr_resolution *out = r->out;
    struct jr_device_lease *leases = NULL;
    if (r->options->keep_port)
        leases = jr_arena_array(r->arena, need, sizeof *leases);
    if (r->arena->failed)
        return false;
    if (jr_devices_take(&request, wait == NULL ? 0 : wait->queue.ticket, chosen, leases) < need) {
        refuse_busy(r, list, &request);
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

bool jr_devices_are_any(const struct jr_resolver *r)
{
    const struct jr_spec *spec = r->spec;
    return spec->devices_count == 1 && strcmp(spec->devices[0], "any") == 0 &&
           r->out->job.device != JR_DEVICE_CPU;
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
    if (leased)
        adopt_leases(r);
    if (here && fits && !take_devices(r, &list, need, chosen))
        return JR_FAILED;
    for (uint32_t i = 0; i < need; i++)
        job->own.devices[i] = jr_arena_strdup(r->arena, list.names[chosen[i]]);
    job->own.devices_count = need;
    job->devices_by_index = true;
    job->devices_any = true;
    jr_devices_finish(r, out);
    return JR_FIRED;
}

/* Those that ranks here get: of more devices than ranks, the first. */
static bool list_used(struct jr_resolver *r, struct jr_device_list *ret)
{
    const struct jr_job *job = &r->out->job;
    uint32_t ranks = count_ranks_here(r), count = job->own.devices_count;
    if (ranks < count)
        count = ranks;
    if (!make_device_list(r, ret, count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        add_device(r, ret, jr_device_find(r->hw, job->device, job->own.devices[i]),
                   job->own.devices[i]);
    return !r->arena->failed;
}

/* A device that cannot be leased, for lack of descriptors for instance, can still be used. */
static void share_devices(struct jr_resolver *r, const struct jr_device_list *list)
{
    struct jr_resolution *out = r->out;
    out->device_leases = jr_arena_array(r->arena, list->count, sizeof *out->device_leases);
    for (uint32_t i = 0; i < list->count && out->device_leases != NULL; i++)
        if (jr_device_lease_share(&out->device_leases[out->device_leases_count], list->keys[i]) ==
            0)
            out->device_leases_count++;
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
        jr_diag_help(r->diags, diag,
                     "this run shares them; `devices: any` takes free ones, and "
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
        adopt_leases(r);
        return true;
    }
    if (!list_used(r, &list))
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
