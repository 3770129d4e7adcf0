#include "resolve/resolve.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/redact.h"
#include "base/strv.h"
#include "doc/doc.h"
#include "resolve/device_lease.h"
#include "resolve/fingerprint.h"
#include "resolve/internal.h"

#include "base/banned.h"

enum { LEAST_READ = 4, LEAST = 8, NAME_MAX_LEN = 96 };

/* The longest come first: one may be a part of another. */
static void add_secret_value(struct jr_resolver *r, const char *name, const char *value,
                             size_t least)
{
    char **values = r->hidden.items;
    if (value == NULL || name == NULL || !jr_redact_wanted(value, least))
        return;
    for (size_t i = 0; i < r->hidden.count; i++)
        if (strcmp(values[i], value) == 0)
            return;
    jr_strv_push(&r->hidden, r->arena, jr_arena_strdup(r->arena, value));
    jr_strv_push(&r->hidden_names, r->arena, jr_arena_strdup(r->arena, name));
    if (r->arena->failed)
        return;
    values = r->hidden.items;
    char **names = r->hidden_names.items;
    size_t i = r->hidden.count - 1;
    char *last = values[i], *last_name = names[i];
    for (; i > 0 && strlen(values[i - 1]) < strlen(last); i--) {
        values[i] = values[i - 1];
        names[i] = names[i - 1];
    }
    values[i] = last;
    names[i] = last_name;
}

static void add_entries(struct jr_resolver *r, const struct jr_env_entry *env, size_t count)
{
    const struct jr_job *job = &r->out->job;
    for (size_t i = 0; i < count; i++)
        if (env[i].value != NULL &&
            jr_env_matches(job->secrets, job->secrets_count, env[i].name, strlen(env[i].name)))
            add_secret_value(r, env[i].name, env[i].value, LEAST);
}

static void add_arguments(struct jr_resolver *r, char *const *args, size_t count)
{
    const struct jr_job *job = &r->out->job;
    for (size_t i = 0; i < count; i++) {
        const char *name = args[i] + strspn(args[i], "-");
        char copy[NAME_MAX_LEN + 1];
        size_t len = 0;
        for (; len < NAME_MAX_LEN &&
               (isalnum((unsigned char)name[len]) || name[len] == '_' || name[len] == '-');
             len++)
            copy[len] = name[len] == '-' ? '_' : (char)toupper((unsigned char)name[len]);
        copy[len] = '\0';
        if (len > 0 && name[len] == '=' &&
            jr_env_matches(job->secrets, job->secrets_count, name, len))
            add_secret_value(r, copy, name + len + 1, LEAST);
    }
}

/* Values that a shell put after "--" are reported here; for those that the spec reads or states,
 * its checks have done so. */
static void warn_of_argument(struct jr_resolver *r, const char *name, const char *value)
{
    const char *stated = jr_env_get(r->options->environ, name);
    const struct jr_doc *doc = jr_spec_doc(r->file);
    char *const *args = r->out->job.entrypoint.argv;
    uint32_t i = 0, count = r->out->job.entrypoint.argv_count;
    if (stated == NULL || strcmp(stated, value) != 0)
        return;
    for (size_t k = 0; k < doc->hidden.count; k++)
        if (strcmp(doc->hidden.items[k], value) == 0)
            return;
    while (i < count && strstr(args[i], value) == NULL)
        i++;
    if (i == count)
        return;
    /* without the line, which is not to be quoted */
    struct jr_span span = jr_spec_where(r->file, "entrypoint");
    const struct jr_source *from = span.source != NULL ? span.source : doc->source;
    struct jr_source *source = jr_arena_alloc(r->arena, sizeof *source);
    if (source != NULL) {
        source->name = from->name;
        source->option = from->option;
        span.source = source;
    }
    struct jr_diag *diag = jr_diags_warning(r->diags, JR_CODE_SECRET_EXPOSED, span, "entrypoint",
                                            "every user of the machine can read the value of "
                                            "'%s', because it is an argument",
                                            name);
    jr_diag_help(r->diags, diag, "let the program read it from the environment");
}

/*
 * Find the values that are not to be told: those of variables that `secrets` matches, wherever they
 * come from.
 *
 *   ${env:NAME}    that the spec reads
 *   environment    of jobrun: a shell has put them into arguments by then, and
 *                  ranks into results and messages
 *   env, per_rank  that the spec states
 *   NAME=VALUE     and --name=VALUE among the arguments
 *
 * A value that the spec reads is replaced where the spec reads it. Of the others, short values do
 * not count, because they occur in many places where they are not secret.
 */
static void find_secrets(struct jr_resolver *r)
{
    struct jr_job *job = &r->out->job;
    const struct jr_doc *doc = jr_spec_doc(r->file);
    if (job->secrets_count == 0)
        return;
    for (size_t i = 0; i < doc->hidden.count; i++)
        add_secret_value(r, doc->hidden_names.items[i], doc->hidden.items[i], LEAST_READ);
    for (char *const *at = r->options->environ; at != NULL && *at != NULL; at++) {
        size_t len = strcspn(*at, "=");
        if ((*at)[len] == '=' && jr_env_matches(job->secrets, job->secrets_count, *at, len))
            add_secret_value(r, jr_arena_strndup(r->arena, *at, len), *at + len + 1, LEAST);
    }
    add_entries(r, job->env, job->env_count);
    for (uint32_t i = 0; i < job->per_rank_count; i++) {
        const struct jr_rank_entry *entry = &job->per_rank[i];
        add_entries(r, entry->env, entry->env_count);
        add_arguments(r, entry->args, entry->args_count);
    }
    add_arguments(r, job->entrypoint.argv, job->entrypoint.argv_count);
    job->hidden = r->hidden.items;
    job->hidden_names = r->hidden_names.items;
    for (size_t i = 0; i < r->hidden.count; i++)
        warn_of_argument(r, r->hidden_names.items[i], r->hidden.items[i]);
}

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
    for (size_t i = 0; i < extra; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        argv[entry->argv_count + i] = args[i];
        if (!jr_entrypoint_is_function(entry))
            continue;
        jr_json_quote(&text, args[i]); /* what a function takes is JSON */
        argv[entry->argv_count + i] = jr_buf_keep(&text, r->arena);
    }
    entry->argv = argv;
    entry->argv_count += (uint32_t)extra;
    r->out->args = args;
}

/* What the rules have found goes into the job: cell by cell, and what is more than one value. */
static void take_cells(struct jr_resolver *r, struct jr_job *job)
{
    for (size_t i = 0; i < JR_FIELD_COUNT; i++) {
        char *member = (char *)job + jr_field_rows[i].job_at;
        if (jr_field_rows[i].job == JR_FIELD_NUMBER)
            memcpy(member, &r->cells[i].number, sizeof r->cells[i].number);
        else if (jr_field_rows[i].job == JR_FIELD_TEXT)
            memcpy(member, &r->cells[i].text, sizeof r->cells[i].text);
    }
    job->spare_nodes = jr_place_spares(r);
    job->local_world_sizes = jr_arena_array(r->arena, job->nodes, sizeof *job->local_world_sizes);
    for (uint32_t i = 0; i < job->nodes && job->local_world_sizes; i++) {
        job->local_world_sizes[i] = jr_place_local(r, i);
        job->ragged |= job->local_world_sizes[i] != job->local_world_sizes[0];
    }
    job->visibility_variable = jr_device_variable(r);
    if (r->instances)
        job->device_visibility = JR_VISIBLE_ONE;
    struct jr_policy *policy = jr_arena_alloc(r->arena, sizeof *policy);
    if (policy == NULL)
        return;
    *policy = r->spec->policy;
    policy->timeouts = r->timeouts;
    job->policy = policy;
}

static struct jr_resolver begin_resolver(struct jr_resolution *out, const struct jr_spec_file *file,
                                         const struct jr_host *hw,
                                         const struct jr_resolve_options *options,
                                         struct jr_diags *diags)
{
    const struct jr_spec *spec = jr_spec_get(file);
    return (struct jr_resolver){.out = out,
                                .arena = &out->arena,
                                .file = file,
                                .spec = spec,
                                .hw = hw,
                                .options = options,
                                .diags = diags,
                                .timeouts = spec->policy.timeouts};
}

enum jr_status jr_resolve(struct jr_resolution *ret, const struct jr_spec_file *file,
                          const struct jr_host *hw, const struct jr_resolve_options *options,
                          struct jr_diags *diags)
{
    *ret = JR_RESOLUTION_INIT;
    ret->facts = hw->origin;
    struct jr_resolver r = begin_resolver(ret, file, hw, options, diags);
    jr_field_values_seed(&r);
    jr_rules_run(&r);
    jr_checks_run(&r);
    enum jr_status status = r.invalid      ? JR_STATUS_INVALID
                            : r.unresolved ? JR_STATUS_UNRESOLVED
                                           : JR_STATUS_OK;
    if (status == JR_STATUS_OK && !r.unknown) {
        take_stated_fields(&ret->job, r.spec);
        take_args(&r, &ret->job.entrypoint);
        find_secrets(&r);
        take_cells(&r, &ret->job);
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
    return status;
}

uint32_t jr_resolve_nodes(const struct jr_spec_file *file, const struct jr_host *hw,
                          const struct jr_resolve_options *options)
{
    struct jr_resolution scratch = JR_RESOLUTION_INIT;
    struct jr_resolve_options dry = *options;
    struct jr_diags diags = {0};
    struct jr_resolver r = begin_resolver(&scratch, file, hw, &dry, &diags);
    dry.keep_port = false;
    dry.wait = NULL;
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
    jr_close_fd(&resolution->lease_fd);
    jr_rank_ports_release(resolution);
    jr_device_leases_release(resolution);
    jr_arena_release(&resolution->arena);
    *resolution = JR_RESOLUTION_INIT;
}
