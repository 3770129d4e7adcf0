#include "session/render_session.h"

#include <ctype.h>
#include <string.h>

#include "base/subprocess.h"
#include "doc/doc.h"
#include "render/render.h"
#include "resolve/fingerprint.h"
#include "session/internal.h"
#include "spec/sbatch_options.h"

#include "base/banned.h"

enum jr_status jr_machine_assume(struct jr_host *ret, struct jr_arena *arena,
                                 const struct jr_spec *spec, struct jr_error *err)
{
    static const char *const words[] = {
#define WORD(name, word, help) word,
        JR_DEVICES(WORD)
#undef WORD
    };
    uint32_t nodes = 1, ranks = spec == NULL ? 1 : 0, stated = 0;
    size_t kind = 0;
    if (spec != NULL) {
        stated = spec->local_world_size_count;
        if (spec->nodes != NULL)
            nodes = *spec->nodes;
        else if (spec->hosts_count > 0)
            nodes = spec->hosts_count;
        else if (stated > 1)
            nodes = stated;
        else if (spec->world_size != NULL && stated == 1)
            nodes = *spec->world_size / spec->local_world_size[0];
        for (uint32_t i = 0; i < stated; i++) /* the most of a node */
            if (spec->local_world_size[i] > ranks)
                ranks = spec->local_world_size[i];
        if (ranks == 0 && spec->world_size != NULL && nodes > 0)
            ranks = *spec->world_size / nodes;
    }
    bool device = spec == NULL || spec->device != NULL;
    if (ranks == 0 || !device) {
        (void)jr_error_set(err, JR_STATUS_UNRESOLVED,
                           "%s is MISSING, and the job will run on another machine: state it, "
                           "or describe that machine with --on, for example --on 2x8:H100",
                           device ? "local_world_size" : "device");
        return JR_STATUS_UNRESOLVED;
    }
    *ret = (struct jr_host){
        .origin = "the spec",
        .nodes = nodes + (spec == NULL ? 0 : spec->spare_nodes),
        .scheduler = {.node_rank = -1},
        .port_low = JR_HOST_PORT_LOW,
        .port_high = JR_HOST_PORT_HIGH,
    };
    for (; spec != NULL && kind < JR_DEVICE_CUSTOM && strcmp(words[kind], spec->device) != 0;
         kind++)
        continue;
    if (spec == NULL || kind == JR_DEVICE_CPU || kind == JR_DEVICE_CUSTOM)
        return arena->failed ? JR_STATUS_LAUNCH : JR_STATUS_OK;
    ret->devices = jr_arena_array(arena, ranks, sizeof *ret->devices);
    ret->devices_count = ret->devices == NULL ? 0 : ranks;
    for (uint32_t i = 0; i < ret->devices_count; i++)
        ret->devices[i] = (struct jr_host_device){
            .kind = (enum jr_device)kind, .index = i, .numa_node = -1, .visible = true};
    return arena->failed ? JR_STATUS_LAUNCH : JR_STATUS_OK;
}

enum jr_status jr_session_assume_machine(struct jr_session *session, struct jr_error *err)
{
    enum jr_status status =
        jr_machine_assume(&session->host, &session->arena, jr_session_spec(session), err);
    session->facts = status == JR_STATUS_OK;
    return status;
}

/* What stays of the resolved spec where it is resolved again, in a pod: all but what is found
 * there, and the folder of the runs unless somebody chose it. */
static bool is_field_kept(const struct jr_session *session, const char *key, bool pinned)
{
    static const char *const numbers[] = {"nodes", "local_world_size", "master_port"};
    bool stated = jr_spec_where(session->file, key).line != 0;
    if (strcmp(key, "engine") == 0)
        return false;
    if ((pinned && strcmp(key, "log_dir") == 0) || strcmp(key, "master_addr") == 0)
        return stated;
    for (size_t i = 0; pinned && i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i], key) == 0)
            return true;
    return !jr_part_moves(key) || stated;
}

struct jr_node *jr_session_portable_spec(const struct jr_session *session, struct jr_doc *doc,
                                         bool pinned)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    jr_resolution_emit(&text, &session->resolution, session->file);
    int failed = -1;
    if (!text.failed)
        failed = jr_doc_load(doc, "resolved", text.data, text.len, &diags);
    jr_diags_release(&diags);
    if (failed != 0 || doc->root->kind != JR_NODE_MAPPING)
        return NULL;
    struct jr_node *kept = jr_node_mapping(&doc->arena);
    for (size_t i = 0; i < doc->root->count; i++)
        if (is_field_kept(session, doc->root->pairs[i].key->text, pinned))
            jr_node_set(&doc->arena, kept, doc->root->pairs[i].key->text,
                        doc->root->pairs[i].value);
    return doc->arena.failed ? NULL : kept;
}

static struct jr_engine_job make_engine_job(const struct jr_session *session,
                                            const struct jr_render_request *request)
{
    const struct jr_job *job = &session->resolution.job;
    struct jr_engine_job made = {
        .name = job->name,
        .nodes = job->nodes,
        .spares = job->spare_nodes,
        .device = job->device,
        .bind = job->bind,
        .workdir = job->workdir,
        /* Where nodes are only imagined, so is the first of them. */
        .meets = job->nodes == 1 || jr_spec_where(session->file, "master_addr").line != 0,
        .policy = job->policy,
        .command = request->command,
        .array = request->array,
        .plan = &session->plan,
    };
    for (uint32_t i = 0; i < job->nodes; i++)
        if (job->local_world_sizes[i] > made.ranks)
            made.ranks = job->local_world_sizes[i];
    made.cpus = session->host.cpus.usable;
    if (made.cpus == 0 &&
        (job->device == JR_DEVICE_CPU || jr_spec_where(session->file, "threads").line != 0))
        made.cpus = made.ranks * job->own.threads; /* else only the machine could tell */
    return made;
}

bool jr_session_has_engine(const char *name)
{
    return jr_engine_find(name) != JR_ENGINE_COUNT;
}

enum jr_status jr_session_render(struct jr_session *session,
                                 const struct jr_render_request *request, struct jr_buf *out,
                                 struct jr_error *err)
{
    enum jr_engine_kind kind = jr_engine_find(request->engine);
    struct jr_doc doc = JR_DOC_INIT;
    struct jr_error refusal = {0};
    enum jr_status status = jr_session_resolve(session, err);
    if (status == JR_STATUS_OK && kind == JR_ENGINE_SLURM && !request->checked)
        status = jr_installed_sbatch_check(session);
    if (status == JR_STATUS_OK && kind == JR_ENGINE_MPI &&
        session->resolution.job.policy->code.mode == JR_CODE_MODE_FREEZE) {
        status = JR_STATUS_UNRESOLVED;
        (void)jr_error_set(
            err, status,
            "code: freeze: mpiexec starts the ranks without jobrun, which would make "
            "the copy: leave `code` out (--set code=record)");
    }
    if (status == JR_STATUS_OK && kind == JR_ENGINE_MPI)
        status = jr_session_plan_as(session, session->resolution.job.name, err);
    if (status != JR_STATUS_OK)
        return status;
    struct jr_engine_job job = make_engine_job(session, request);
    if (kind == JR_ENGINE_KUBERNETES) {
        job.spec = jr_session_portable_spec(session, &doc, true);
        job.arena = &doc.arena;
        out->failed |= job.spec == NULL;
    }
    if (!out->failed && jr_engine_render(out, kind, &job, &refusal) != 0)
        status = refusal.status;
    if (out->failed) {
        status = JR_STATUS_LAUNCH;
        (void)jr_error_set(&refusal, status, "out of memory");
    }
    if (status != JR_STATUS_OK && err != NULL)
        *err = refusal;
    jr_doc_release(&doc);
    return status;
}

/* How long sbatch may take, which may look for its configuration first; and the bytes of its help
 * at most. */
enum { LIMIT_MS = 10000, MOST_BYTES = 1 << 18 };

/* Whether the help has --NAME as a whole word. */
static bool is_listed_option(const char *help, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = help; (at = strstr(at, "--")) != NULL; at += 2)
        if (strncmp(at + 2, name, len) == 0 && at[2 + len] != '-' &&
            !isalnum((unsigned char)at[2 + len]))
            return true;
    return false;
}

enum jr_status jr_installed_sbatch_check(struct jr_session *session)
{
    const struct jr_engine *engine = &session->resolution.job.policy->engine;
    struct jr_buf help JR_BUF_CLEANUP = JR_BUF_INIT;
    char *const words[] = {(char[]){"sbatch"}, (char[]){"--help"}, NULL};
    const struct jr_subprocess sbatch = {.argv = words, .envp = session->options.envp};
    size_t errors = session->diags.errors;
    bool asked = false;
    for (uint32_t i = 0; i < engine->slurm_count; i++) {
        const char *name = engine->slurm[i].name;
        if (jr_sbatch_has_option(name))
            continue;
        if (!asked &&
            jr_subprocess_ask(&help, &session->arena, &sbatch, LIMIT_MS, MOST_BYTES) != NULL)
            return JR_STATUS_OK; /* there is none that could be asked */
        asked = true;
        if (help.data == NULL || is_listed_option(help.data, name))
            continue;
        const char *path = jr_arena_printf(&session->arena, "engine.slurm.%s", name);
        if (path != NULL)
            (void)jr_diags_error(&session->diags, JR_CODE_SBATCH_LACKS_OPTION,
                                 jr_spec_where(session->file, path), path,
                                 "the sbatch of this machine has no option '%s'", name);
    }
    return session->diags.errors > errors ? JR_STATUS_UNRESOLVED : JR_STATUS_OK;
}
