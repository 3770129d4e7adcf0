/*
 * Taking a session from a text to a plan. The spec is resolved again where it waited for devices
 * that other runs held (--wait), once it is this run's turn and enough of them are free, and with
 * the facts of then, since hours may have passed. internal.h declares it.
 */
#include "session/internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/num.h"
#include "cluster/controller.h"
#include "cluster/survey.h"
#include "diag/diag.h"
#include "doc/doc.h"
#include "eventloop/signals.h"
#include "judge/artifacts.h"
#include "resolve/device_profile.h"
#include "resolve/fingerprint.h"
#include "session/support.h"
#include "session/sweep/cell_session.h"

#include "base/banned.h"

#define NS_PER_MS UINT64_C(1000000)

int jr_session_sleep_in_queue(struct jr_device_queue *queue,
                              const struct jr_device_request *request,
                              const struct jr_policy *policy, uint64_t until_ns)
{
    struct jr_signals signals;
    sigset_t ignored, taken;
    jr_signals_ignored(&ignored);
    jr_signals_make(&signals, policy, &ignored);
    jr_signals_set(&signals, &taken);
    JR_CLOSE int fd = signalfd(-1, &taken, SFD_CLOEXEC);
    struct pollfd fds[] = {{.fd = queue->epoll_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    while (!jr_device_queue_is_ready(queue, request)) {
        int ready = poll(fds, 2, jr_clock_poll_ms(until_ns));
        int sig = ready > 0 && fds[1].revents != 0 ? jr_signals_await(&signals, jr_clock_ns()) : 0;
        if (sig != 0)
            return sig;
        if (jr_clock_ns() >= until_ns)
            return -1;
    }
    return 0;
}

bool jr_ssh_session_is(const struct jr_session *session)
{
    const struct jr_spec *spec = session->file == NULL ? NULL : jr_spec_get(session->file);
    return spec != NULL && !session->placed && spec->policy.engine.ssh != NULL;
}

bool jr_ssh_session_has(const struct jr_session *session)
{
    return session->cells_by_ssh || jr_ssh_session_is(session);
}

/* The values of --set, and after them that of --hosts. NULL: there are none. Out of memory shows in
 * the session's arena. */
static char *const *add_hosts_to_sets(struct jr_session *session)
{
    struct jr_arena *arena = &session->arena;
    const struct jr_session_options *options = &session->options;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_strv sets = {0}, hosts = {0};
    const char *typed = options->hosts, *bad;
    if (typed == NULL)
        return options->sets;
    for (size_t i = 0; options->sets != NULL && options->sets[i] != NULL; i++)
        jr_strv_push(&sets, arena, jr_arena_strdup(arena, options->sets[i]));
    /* "gpu01,gpu[02-04]" as a list of YAML. What is no list of hosts is left to the checks of the
     * field. */
    if (strchr(typed, '[') == typed || /* an IPv6 address */
        !jr_hostlist_expand(&hosts, arena, typed, &bad)) {
        hosts = (struct jr_strv){0};
        for (size_t len; *typed != '\0'; typed += len + (typed[len] == ',')) {
            len = strcspn(typed, ",");
            jr_strv_push(&hosts, arena, jr_arena_strndup(arena, typed, len));
        }
    }
    jr_buf_str(&text, "hosts=[");
    for (size_t i = 0; i < hosts.count && !arena->failed; i++) {
        jr_buf_str(&text, i == 0 ? "" : ", ");
        jr_quote_double(&text, hosts.items[i], strlen(hosts.items[i]));
    }
    jr_buf_char(&text, ']');
    session->hosts_set = jr_buf_keep(&text, arena);
    jr_strv_push(&sets, arena, jr_arena_strdup(arena, session->hosts_set));
    return sets.items;
}

/* The place in --hosts of the item of `hosts` that a place in the --set is on:
 * all of it where it names more hosts than are typed, as gpu[01-16] does. */
static struct jr_span place_of_host(struct jr_source *typed, const struct jr_span *set)
{
    size_t start = 0, before = 0; /* items of the list in the --set that stand before */
    uint32_t column = 0;
    if (strpbrk(typed->text, "[]") != NULL)
        return jr_point_bytes(typed, 0, typed->len);
    for (const char *at = set->source->text; *at != '\0'; at++) {
        column += ((unsigned char)*at & 0xc0) != 0x80;
        if (column == set->column)
            break;
        before += *at == ',';
    }
    for (; before > 0 && typed->text[start] != '\0'; before--) {
        start += strcspn(typed->text + start, ",");
        start += typed->text[start] == ',';
    }
    return jr_point_bytes(typed, start, start + strcspn(typed->text + start, ","));
}

static bool is_set_of_hosts(const struct jr_span *span, const char *text)
{
    const struct jr_source *source = span->source;
    return source != NULL && source->option && source->text != NULL &&
           strcmp(source->text, text) == 0;
}

/* Let the findings on the value of --hosts stand where it was typed, and not in the --set that it
 * became. */
static void place_findings_on_hosts(struct jr_session *session)
{
    struct jr_arena *arena = &session->arena;
    const char *hosts = session->options.hosts, *set = session->hosts_set;
    struct jr_source *typed = set == NULL ? NULL : jr_arena_alloc(arena, sizeof *typed);
    if (typed == NULL)
        return;
    *typed =
        (struct jr_source){.name = "--hosts", .text = hosts, .len = strlen(hosts), .option = true};
    for (size_t i = 0; i < session->diags.count; i++) {
        struct jr_diag *diag = &session->diags.items[i];
        if (is_set_of_hosts(&diag->span, set)) {
            diag->span = place_of_host(typed, &diag->span);
            if (*hosts == '\0') /* beside which a --set would stand in vain */
                diag->help = "for example: --hosts gpu01,gpu02";
        }
        for (struct jr_related *also = diag->related; also != NULL; also = also->next)
            if (is_set_of_hosts(&also->span, set))
                also->span = place_of_host(typed, &also->span);
    }
}

enum jr_status jr_session_load(struct jr_session *session, const struct jr_spec_source *from,
                               struct jr_error *err)
{
    JR_DECIMAL_POINT;
    struct jr_spec_source source = *from;
    size_t first = session->diags.count;
    char *const *sweeps = session->options.sweeps;
    const struct jr_spec_options options = {
        .sets = add_hosts_to_sets(session),
        .ssh = session->options.ssh || session->options.hosts != NULL,
        .sweeps = true,
        .swept = sweeps != NULL && sweeps[0] != NULL,
        .cell = session->cell != NULL,
        .pools = session->placed,
        .root = session->options.root,
        .environ = session->options.envp,
        .validate = session->options.check,
    };
    if (session->file != NULL)
        return jr_session_misuse(err, "a session loads one spec");
    if (source.path == NULL && source.argv == NULL && source.text == NULL)
        return jr_session_misuse(err, "there is no spec to load");
    if (source.argv == NULL && source.path == NULL) { /* what the caller did not say about a text */
        if (source.name == NULL)
            source.name = "spec";
        JR_FREE char *here = source.folder == NULL ? jr_spec_folder(NULL) : NULL;
        if (source.folder == NULL)
            source.folder = jr_arena_strdup(&session->arena, here);
        session->arena.failed |= source.folder == NULL;
    }
    if (source.argv == NULL)
        session->spec_name =
            jr_arena_strdup(&session->arena, source.path != NULL ? source.path : source.name);
    enum jr_status status = JR_STATUS_OK;
    if (session->arena.failed ||
        jr_spec_load(&session->file, &source, &options, &session->diags) != 0)
        status = jr_spec_status(&session->diags);
    place_findings_on_hosts(session);
    if (status == JR_STATUS_OK && (jr_spec_sweeps(session->file) || session->options.cell != NULL))
        status = jr_session_take_cell(session, &source, &options, err);
    if (status == JR_STATUS_USAGE)
        return status;
    if (status == JR_STATUS_OK)
        session->progress = JR_PROGRESS_LOADED;
    return jr_session_end_stage(session, first, status, err);
}

enum jr_status jr_session_facts(struct jr_session *session, const char *profile,
                                struct jr_error *err)
{
    JR_DECIMAL_POINT;
    size_t first = session->diags.count;
    int failed;
    if (session->facts)
        return jr_session_misuse(err, "the facts of a session are read once");
    if (profile != NULL)
        failed = jr_profile_load(&session->host, &session->arena, profile, &session->diags);
    else
        failed = jr_host_probe(&session->host, &session->arena, "", session->options.envp, err);
    session->facts = failed == 0;
    if (profile == NULL)
        return failed == 0 ? JR_STATUS_OK : JR_STATUS_LAUNCH;
    return jr_session_end_stage(
        session, first, failed == 0 ? JR_STATUS_OK : jr_profile_status(&session->diags, first),
        err);
}

/* The facts beside the spec are about this machine, like its other facts. */
enum jr_status jr_session_read_custom(struct jr_session *session, const char *folder,
                                      const char *device, struct jr_span at)
{
    const struct jr_custom custom = {.folder = folder,
                                     .device = device,
                                     .at = at,
                                     .envp = session->options.envp,
                                     .limit_ms = JR_CUSTOM_LIMIT_MS};
    if (!session->host.real || session->custom || device == NULL)
        return JR_STATUS_OK;
    session->custom = jr_custom_is(device);
    return jr_custom_read(&session->host, &session->arena, &custom, &session->diags);
}

enum jr_status jr_session_read_devices(struct jr_session *session, const struct jr_spec_file *file)
{
    return jr_session_read_custom(session, jr_spec_folder_of(file), jr_spec_get(file)->device,
                                  jr_spec_where(file, "device"));
}

/* What is lacking, as the refusal says it. */
static void note_waiting_for_devices(const struct jr_session *session, size_t first)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    const struct jr_diags *diags = &session->diags;
    size_t i = first;
    while (i < diags->count && !jr_diag_is(&diags->items[i], JR_CODE_DEVICES_HELD))
        i++;
    jr_buf_str(&line, "waiting for devices");
    if (session->options.wait_ms > 0) {
        jr_buf_str(&line, " for at most ");
        jr_num_add_duration(&line, session->options.wait_ms);
    }
    if (i < diags->count) {
        jr_buf_str(&line, ": ");
        jr_buf_str(&line, diags->items[i].message);
    }
    jr_session_note_buf(session, &line);
}

static enum jr_status resolve_once(struct jr_session *session,
                                   const struct jr_resolve_options *options)
{
    enum jr_status status = jr_session_read_devices(session, session->file);
    if (options->wait != NULL)
        options->wait->request = (struct jr_device_request){0};
    if (status == JR_STATUS_OK)
        status = jr_resolve(&session->resolution, session->file, &session->host, options,
                            &session->diags);
    if (status == JR_STATUS_OK && session->fingerprint != NULL)
        (void)snprintf(session->resolution.job.fingerprint,
                       sizeof session->resolution.job.fingerprint, "%s", session->fingerprint);
    return status;
}

/* Again and again, while devices are waited for that the last resolution lacked. Where the time is
 * over it returns what became of that, with its findings; after a signal N that stops a run and is
 * blocked 128+N, without them. */
static enum jr_status resolve_with_devices(struct jr_session *session,
                                           struct jr_resolve_options *options, struct jr_error *err)
{
    uint64_t now = jr_clock_ns(), ms = session->options.wait_ms, until_ns = UINT64_MAX;
    struct jr_device_wait wait = JR_DEVICE_WAIT_INIT;
    struct jr_diags *diags = &session->diags;
    size_t first = diags->count;
    bool told = false;
    if (ms > 0 && ms < (UINT64_MAX - now) / NS_PER_MS)
        until_ns = now + ms * NS_PER_MS;
    if (session->options.wait && !session->options.dry_run)
        options->wait = &wait;
    enum jr_status status = resolve_once(session, options);
    while (status == JR_STATUS_UNRESOLVED && wait.request.need > 0) {
        /* With a place for other devices, if those that come into question are not what they
         * were. */
        if (wait.queue.ticket == 0 || wait.queue.places_count != wait.request.count) {
            jr_device_queue_leave(&wait.queue);
            if (jr_device_queue_join(&wait.queue, &wait.request) != 0) {
                (void)jr_error_sys(err, JR_STATUS_LAUNCH, "cannot wait for devices");
                jr_diags_drop_from(diags, first);
                status = JR_STATUS_LAUNCH;
                break;
            }
        }
        if (!told)
            note_waiting_for_devices(session, first);
        told = true;
        int sig = jr_session_sleep_in_queue(&wait.queue, &wait.request,
                                            &jr_spec_get(session->file)->policy, until_ns);
        if (sig < 0)
            break;
        jr_diags_drop_from(diags, first);
        if (sig > 0) {
            char name[JR_SIGNAL_NAME];
            jr_signal_name(name, sig);
            status = (enum jr_status)(128 + sig);
            (void)jr_error_set(err, status, "stopped by %s while it waited for devices", name);
            break;
        }
        /* A cell has its part of a machine whose facts are the sweep's. */
        bool own = session->cells_dir == NULL;
        if (own) {
            session->host = (struct jr_host){0};
            session->custom = false;
        }
        if (own &&
            jr_host_probe(&session->host, &session->arena, "", session->options.envp, err) != 0)
            status = JR_STATUS_LAUNCH;
        else
            status = resolve_once(session, options);
    }
    jr_device_queue_leave(&wait.queue);
    jr_arena_release(&wait.arena);
    options->wait = NULL;
    return status;
}

int jr_spares_place(struct jr_session *session, struct jr_error *err)
{
    const struct jr_spec *spec = jr_spec_get(session->file);
    if (session->spares == NULL)
        return 0;
    const struct jr_placing *placing = &session->spares->placing;
    uint32_t count = placing->nodes + placing->spares;
    char **hosts = jr_arena_array(&session->arena, count, sizeof *hosts);
    if (hosts == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    /* Under Slurm, the spec may have other addresses for the machines than the allocation. */
    for (uint32_t i = 0; i < count; i++)
        hosts[i] = spec->hosts_count > 0 ? spec->hosts[placing->machines[i]] : placing->hosts[i];
    jr_resolution_place(&session->resolution, hosts, placing->spares, spec->master_addr == NULL);
    return 0;
}

enum jr_status jr_session_resolve(struct jr_session *session, struct jr_error *err)
{
    JR_DECIMAL_POINT;
    enum jr_status status = JR_STATUS_OK;
    if (session->progress == JR_PROGRESS_OPEN)
        return jr_session_misuse(err, "no spec is loaded");
    if (session->progress > JR_PROGRESS_RESOLVED)
        return jr_session_misuse(err, "the plan of a session is made once");
    if (session->progress == JR_PROGRESS_RESOLVED)
        return JR_STATUS_OK;
    if (jr_spec_get(session->file) == NULL)
        return jr_session_misuse(err, "a template is only a base for other specs: "
                                      "there is nothing to resolve");
    if (!session->facts)
        status = jr_session_facts(session, NULL, err);
    if (status != JR_STATUS_OK)
        return status;
    size_t first = session->diags.count;
    struct jr_resolve_options options = {
        .local = session->options.local,
        .node_rank = session->options.node_rank,
        .keep_port = !session->options.dry_run,
        .args = session->options.args,
        .environ = session->options.envp,
        .lease = session->lease,
        .lease_port = session->lease_port,
        .leases = session->leases,
        .leases_count = session->leases_count,
    };
    status = resolve_with_devices(session, &options, err);
    if (status == JR_STATUS_OK && session->options.lock != NULL)
        status = jr_lock_check(&session->resolution, session->file, session->options.lock,
                               &session->arena, &session->diags);
    if (status == JR_STATUS_OK && jr_spares_place(session, err) != 0)
        status = JR_STATUS_LAUNCH;
    if (status == JR_STATUS_OK)
        session->progress = JR_PROGRESS_RESOLVED;
    if (!options.local)
        session->attempt = session->host.scheduler.restarts;
    /* Whoever waited has said already why no longer. */
    if (status > JR_STATUS_YIELDED)
        return status;
    return jr_session_end_stage(session, first, status, err);
}

/* The position of a field, or of the nearest mapping around it that the spec states; else the file
 * as a whole. */
static struct jr_span field_place(const struct jr_spec_file *file, const char *field)
{
    struct jr_span span = {0};
    if (field != NULL)
        span = jr_spec_where_within(file, field);
    if (span.line == 0)
        span.source = jr_spec_doc(file)->source;
    return span;
}

void jr_session_find_part(struct jr_session *session)
{
    char *const *envp = session->options.envp;
    const struct jr_host_scheduler *scheduler = &session->host.scheduler;
    struct jr_arena *arena = &session->arena;
    session->part =
        session->resolution.job.nodes > 1 && !session->options.local && session->controller == NULL;
    if (!session->part || session->options.run_id != NULL)
        return;
    /* What all nodes of a step of Slurm's know alike, and no other run has: the job, the step, and
     * how often the job was started again. */
    const char *job = jr_env_get(envp, "SLURM_JOB_ID"), *step = jr_env_get(envp, "SLURM_STEP_ID");
    if (!session->host.real || !scheduler->step || scheduler->name == NULL ||
        strncmp(scheduler->name, "srun", strlen("srun")) != 0 || job == NULL || step == NULL)
        return;
    const char *id = jr_arena_printf(arena, "%s-%s.%s", session->resolution.job.name, job, step);
    if (id != NULL && scheduler->restarts > 0)
        id = jr_arena_printf(arena, "%s.%u", id, scheduler->restarts);
    session->options.run_id = id;
}

static enum jr_status build_session_plan(struct jr_session *session, struct jr_plan *ret,
                                         struct jr_arena *arena, const char *run_id)
{
    const char *support = session->options.support;
    const uint32_t node = session->resolution.job.node_rank;
    const struct jr_plan_options options = {
        .run_id = session->cells_dir == NULL ? run_id : session->cell_run_id,
        .folder = session->cells_dir == NULL ? NULL : run_id,
        .cell = session->cell,
        .sweep_id = session->sweep_id != NULL ? session->sweep_id : run_id,
        .own = session->part || session->apart ? jr_arena_printf(&session->arena, JR_NODE_DIR, node)
                                               : NULL,
        .environ = jr_freeze_environ(session),
        .local = session->options.local,
        .whole = session->controller != NULL,
        .debug_rank = session->options.debug_rank,
        .stdin_rank = session->options.stdin_rank,
        .attempt = session->attempt,
        .mpi = session->mpi,
        .inject = session->options.inject,
        .keeps = session->options.lazy ? JR_PLAN_KEEPS_NONE : JR_PLAN_KEEPS_NO_ENV,
        .support = support != NULL ? support : jr_support_find(&session->arena),
    };
    return jr_plan_build(ret, arena, jr_freeze_job(session), &options, &session->diags);
}

/* A deadline is so long before an end. Where neither the spec nor an allocation has one, the ranks
 * would wait for a warning that never comes. Slurm warns of preemption besides, and whoever debugs
 * a rank has no limits. */
static void warn_of_endless_run(struct jr_session *session)
{
    const struct jr_policy *policy = session->plan.policy;
    char *const *envp = session->options.envp;
    bool rehearsed = false;
    for (uint32_t i = 0; i < session->plan.injections_count; i++)
        rehearsed |= session->plan.injections[i].what == JR_INJECT_DEADLINE;
    if (policy->deadline.before_ms == 0 || policy->timeouts.run_ms > 0 || rehearsed ||
        !session->host.real || session->options.debug_rank != NULL ||
        jr_env_get(envp, "SLURM_JOB_ID") != NULL)
        return;
    struct jr_diag *diag = jr_diags_warning(
        &session->diags, JR_CODE_DEADLINE_WITHOUT_END, field_place(session->file, "deadline"),
        "deadline", "the end of this run is not known, so no rank will be warned of it");
    jr_diag_help(&session->diags, diag,
                 "state `timeouts.run`, run it in a Slurm allocation, or "
                 "rehearse the warning: --inject deadline@10s");
}

enum jr_status jr_session_plan_as(struct jr_session *session, const char *run_id,
                                  struct jr_error *err)
{
    size_t first = session->diags.count;
    enum jr_status status = jr_session_find_mpi(session);
    if (status == JR_STATUS_OK)
        status = build_session_plan(session, &session->plan, &session->arena, run_id);
    if (status == JR_STATUS_OK)
        warn_of_endless_run(session);
    /* The plan knows fields, not texts. */
    for (size_t i = first; i < session->diags.count; i++) {
        struct jr_diag *diag = &session->diags.items[i];
        if (diag->span.source == NULL)
            diag->span = field_place(session->file, diag->path);
    }
    if (status == JR_STATUS_OK)
        session->progress = JR_PROGRESS_PLANNED;
    return jr_session_end_stage(session, first, status, err);
}

enum jr_status jr_session_plan_again(struct jr_session *session, struct jr_error *err)
{
    /* the last attempt's plan stays in the other one until this one is there */
    struct jr_arena *arena = &session->plans[session->spare];
    struct jr_diags printed = session->diags; /* each warning once */
    struct jr_artifacts *before = NULL;
    struct jr_plan plan;
    session->attempt++;
    session->diags = (struct jr_diags){0};
    enum jr_status status = build_session_plan(session, &plan, arena, session->dir.id);
    jr_diags_release(&session->diags);
    session->diags = printed;
    if (status != JR_STATUS_OK)
        (void)jr_error_set(err, status, "the plan could not be made again");
    else if (jr_artifacts_before(&before, &plan, session->dir.fd, err) != 0)
        status = JR_STATUS_LAUNCH;
    if (status != JR_STATUS_OK) {
        jr_arena_release(arena);
        session->attempt--;
        return status;
    }
    jr_artifacts_free(session->before);
    session->before = before;
    session->spare = !session->spare;
    jr_arena_release(&session->plans[session->spare]);
    session->plan = plan;
    return JR_STATUS_OK;
}

int jr_session_check_meeting(struct jr_session *session, struct jr_error *err)
{
    const struct jr_spec *spec = jr_spec_get(session->file);
    const struct jr_job *job = &session->resolution.job;
    const char *field = spec->master_addr != NULL ? "master_addr" : "the first of hosts";
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error why = {0};
    bool own = true;
    if (!session->host.real || session->options.local || job->nodes < 2 ||
        session->controller != NULL || session->cells_dir != NULL ||
        (spec->master_addr == NULL && spec->hosts_count == 0))
        return 0;
    if (jr_reach_resolve(job->master_addr, &own, &why) != 0) {
        jr_buf_str(&line, "the ranks meet at '");
        jr_buf_safe(&line, job->master_addr);
        jr_buf_printf(&line,
                      "' (%s), and that name is not known on this machine: %s; state master_addr "
                      "by a name or an address that every node knows: -s master_addr=ADDRESS",
                      field, why.text);
        return jr_error_set(err, JR_STATUS_UNRESOLVED, "%s", line.failed ? why.text : line.data);
    }
    if (own || job->node_rank != 0)
        return 0;
    jr_buf_str(&line, "warning: the ranks meet at '");
    jr_buf_safe(&line, job->master_addr);
    jr_buf_printf(&line,
                  "' (%s), which is no address of this machine, and rank 0 is "
                  "here: unless it is forwarded to here, start this part with "
                  "another --node-rank, or state the address of this machine",
                  field);
    jr_session_note_buf(session, &line);
    return 0;
}

enum jr_status jr_session_make_plan(struct jr_session *session, struct jr_error *err)
{
    if (!session->options.dry_run)
        return jr_session_misuse(err,
                                 "jr_session_begin makes the plan of a session that is not dry");
    enum jr_status status = jr_session_resolve(session, err);
    if (status != JR_STATUS_OK)
        return status;
    const char *id = session->options.run_id;
    jr_session_find_part(session);
    if (jr_session_check_meeting(session, err) != 0 || jr_freeze_find(session, err) != 0)
        return err->status;
    status = jr_session_plan_as(session, id != NULL ? id : "RUN_ID", err);
    if (status == JR_STATUS_OK && jr_freeze_preview(session, err) != 0)
        return err->status;
    return status;
}
