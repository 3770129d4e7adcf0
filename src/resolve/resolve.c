#include "resolve/rules.h"

#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "doc/doc.h"
#include "resolve/agreement.h"
#include "resolve/backend.h"
#include "resolve/device_choice.h"
#include "resolve/device_lease.h"
#include "resolve/fingerprint.h"
#include "resolve/node_rank.h"
#include "resolve/rank_ports.h"
#include "resolve/secret_values.h"
#include "spec/help_options.h"

#include "base/banned.h"

/* What the spec says in full goes through as it is. */
static void take_stated_fields(struct jr_job *job, const struct jr_spec *spec)
{
    job->name = spec->name;
    job->entrypoint = spec->entrypoint;
    job->workdir = spec->workdir;
    job->setup = spec->setup;
    job->env = spec->env;
    job->env_count = spec->env_count;
    job->per_rank = spec->per_rank;
    job->per_rank_count = spec->per_rank_count;
    job->env_remove = spec->env_remove;
    job->env_remove_count = spec->env_remove_count;
    job->env_profiles = spec->env_profiles;
    job->env_profiles_count = spec->env_profiles_count;
    job->secrets = spec->secrets;
    job->secrets_count = spec->secrets_count;
    job->device_visibility = spec->device_visibility;
    job->start_method = spec->start_method;
    job->preload = spec->preload;
    job->preload_count = spec->preload_count;
    job->redirects = spec->redirects;
    job->redirects_count = spec->redirects_count;
    job->tee = spec->tee;
    job->tee_count = spec->tee_count;
    job->tee_stated = spec->tee_stated;
    job->log_dir = spec->log_dir;
}

static void take_policy(struct jr_resolver *r, struct jr_job *job)
{
    struct jr_policy *policy = jr_arena_alloc(r->arena, sizeof *policy);
    if (policy == NULL)
        return;
    *policy = r->spec->policy;
    policy->timeouts = r->timeouts;
    job->policy = policy;
}

/* A word as the JSON string that a function takes. */
static char *quote_json_word(struct jr_arena *arena, const char *word)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_json_quote(&text, word);
    return jr_buf_keep(&text, arena);
}

/* Add `args` after the entrypoint's own. */
static void take_args(struct jr_resolver *r, struct jr_entrypoint *entry)
{
    char *const *args = r->options->args;
    size_t extra = 0;
    while (args != NULL && args[extra] != NULL)
        extra++;
    char **argv = jr_arena_array(r->arena, entry->argv_count + extra, sizeof *argv);
    if (extra == 0 || argv == NULL)
        return;
    if (entry->argv_count > 0)
        memcpy(argv, entry->argv, entry->argv_count * sizeof *argv);
    bool json = jr_entrypoint_is_function(entry);
    for (size_t i = 0; i < extra; i++)
        argv[entry->argv_count + i] = json ? quote_json_word(r->arena, args[i]) : args[i];
    entry->argv = argv;
    entry->argv_count += (uint32_t)extra;
    r->out->args = args;
}

static void take_sizes(struct jr_resolver *r, struct jr_job *job)
{
    job->world_size = JR_FIELD_VALUE(r, WORLD_SIZE).number;
    job->nodes = JR_FIELD_VALUE(r, NODES).number;
    job->spare_nodes = jr_place_spares(r);
    job->local_world_sizes = jr_arena_array(r->arena, job->nodes, sizeof *job->local_world_sizes);
    for (uint32_t i = 0; i < job->nodes && job->local_world_sizes; i++) {
        job->local_world_sizes[i] = jr_place_local(r, i);
        job->ragged |= job->local_world_sizes[i] != job->local_world_sizes[0];
    }
    job->node_rank = JR_FIELD_VALUE(r, NODE_RANK).number;
    job->rank_start = JR_FIELD_VALUE(r, RANK_START).number;
    job->own.threads = JR_FIELD_VALUE(r, THREADS).number;
    job->axis_size[JR_AXIS_MODEL] = JR_FIELD_VALUE(r, MODEL).number;
    job->axis_size[JR_AXIS_PIPELINE] = JR_FIELD_VALUE(r, PIPELINE).number;
    job->axis_size[JR_AXIS_DATA] = JR_FIELD_VALUE(r, DATA).number;
}

static void take_names(struct jr_resolver *r, struct jr_job *job)
{
    job->master_addr = JR_FIELD_VALUE(r, MASTER_ADDR).text;
    job->master_port = JR_FIELD_VALUE(r, MASTER_PORT).number;
    job->init_method = JR_FIELD_VALUE(r, INIT_METHOD).text;
    job->device_name = JR_FIELD_VALUE(r, DEVICE).text;
    job->visibility_variable = jr_device_variable(r);
    job->bind = JR_FIELD_VALUE(r, BIND).text;
    if (r->instances)
        job->device_visibility = JR_VISIBLE_ONE;
    job->backend = JR_FIELD_VALUE(r, BACKEND).text;
    job->axis_backend[JR_AXIS_MODEL] = JR_FIELD_VALUE(r, BACKEND_MODEL).text;
    job->axis_backend[JR_AXIS_PIPELINE] = JR_FIELD_VALUE(r, BACKEND_PIPELINE).text;
    job->axis_backend[JR_AXIS_DATA] = JR_FIELD_VALUE(r, BACKEND_DATA).text;
}

static enum jr_status run_resolver(struct jr_resolver *r)
{
    jr_field_values_seed(r);
    jr_rules_run(r);
    jr_checks_run(r);
    if (r->invalid)
        return JR_STATUS_INVALID;
    return r->unresolved ? JR_STATUS_UNRESOLVED : JR_STATUS_OK;
}

enum jr_status jr_resolve(struct jr_resolution *ret, const struct jr_spec_file *file,
                          const struct jr_host *hw, const struct jr_resolve_options *options,
                          struct jr_diags *diags)
{
    *ret = JR_RESOLUTION_INIT;
    ret->facts = hw->origin;
    struct jr_resolver r = {
        .out = ret,
        .arena = &ret->arena,
        .file = file,
        .spec = jr_spec_get(file),
        .hw = hw,
        .options = options,
        .diags = diags,
    };
    size_t first = diags->count;
    r.timeouts = r.spec->policy.timeouts;
    enum jr_status status = run_resolver(&r);
    if (status == JR_STATUS_OK && !r.unknown) {
        take_stated_fields(&ret->job, r.spec);
        take_args(&r, &ret->job.entrypoint);
        jr_secrets_find(&r);
        take_policy(&r, &ret->job);
        take_sizes(&r, &ret->job);
        take_names(&r, &ret->job);
        if (!jr_rank_ports_fill(&r) || !jr_devices_lease(&r))
            status = r.invalid ? JR_STATUS_INVALID : JR_STATUS_UNRESOLVED;
        jr_provenance_fill(&r);
        if (!ret->arena.failed)
            jr_fingerprint(ret, file);
    }
    if (ret->arena.failed)
        status = JR_STATUS_LAUNCH;
    if (status != JR_STATUS_OK || r.unknown)
        jr_resolution_release(ret);
    jr_help_options(diags, first);
    return status;
}

uint32_t jr_resolve_nodes(const struct jr_spec_file *file, const struct jr_host *hw,
                          const struct jr_resolve_options *options)
{
    struct jr_resolution scratch = JR_RESOLUTION_INIT;
    struct jr_resolve_options dry = *options;
    struct jr_diags diags = {0};
    struct jr_resolver r = {
        .out = &scratch,
        .arena = &scratch.arena,
        .file = file,
        .spec = jr_spec_get(file),
        .hw = hw,
        .options = &dry,
        .diags = &diags,
    };
    dry.keep_port = false;
    dry.wait = NULL;
    r.timeouts = r.spec->policy.timeouts;
    jr_field_values_seed(&r);
    jr_rules_run(&r);
    uint32_t nodes = JR_FIELD_VALUE(&r, NODES).known ? JR_FIELD_VALUE(&r, NODES).number : 0;
    jr_diags_release(&diags);
    jr_resolution_release(&scratch);
    return nodes;
}

void jr_resolution_place(struct jr_resolution *resolution, char **hosts, uint32_t spares,
                         bool follows)
{
    struct jr_job *job = &resolution->job;
    job->hosts = hosts;
    job->spare_nodes = spares;
    if (follows)
        job->master_addr = hosts[0];
}

uint32_t jr_resolution_leases(const struct jr_resolution *resolution, struct jr_arena *arena,
                              int **ret)
{
    uint32_t count = 0;
    size_t most =
        1 + (size_t)resolution->rank_leases_count + 2 * (size_t)resolution->device_leases_count;
    int *leases = jr_arena_array(arena, most, sizeof *leases);
    if (leases == NULL)
        return 0;
    if (resolution->lease_fd >= 0)
        leases[count++] = resolution->lease_fd;
    for (uint32_t i = 0; i < resolution->rank_leases_count; i++)
        leases[count++] = resolution->rank_leases[i];
    for (uint32_t i = 0; i < resolution->device_leases_count; i++) {
        const struct jr_device_lease *lease = &resolution->device_leases[i];
        leases[count++] = lease->fd;
        if (lease->note_fd >= 0)
            leases[count++] = lease->note_fd;
    }
    *ret = leases;
    return count;
}

void jr_resolution_release(struct jr_resolution *resolution)
{
    if (resolution == NULL)
        return;
    if (resolution->lease_fd >= 0)
        (void)close(resolution->lease_fd);
    jr_rank_ports_release(resolution);
    jr_device_leases_release(resolution);
    jr_arena_release(&resolution->arena);
    *resolution = JR_RESOLUTION_INIT;
}
