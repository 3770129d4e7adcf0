#include "session/multinode_session.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strv.h"
#include "cluster/controller.h"
#include "cluster/srun.h"
#include "resolve/device_profile.h"
#include "resolve/node_resources.h"
#include "session/left_files.h"
#include "session/session.h"
#include "session/session_mpi.h"
#include "session/spares.h"
#include "session/ssh_session.h"
#include "session/stages.h"

#include "base/banned.h"

#define CUSTOM "custom:"

bool jr_session_is_local_only(const struct jr_session *session)
{
    const struct jr_session_options *options = &session->options;
    return options->local || options->node_rank != NULL || options->check;
}

bool jr_session_leads_allocation(const struct jr_session *session)
{
    const struct jr_host_scheduler *scheduler = &session->host.scheduler;
    return session->host.real && !jr_session_is_local_only(session) &&
           scheduler->name != NULL && strcmp(scheduler->name, "Slurm") == 0 &&
           !scheduler->step && scheduler->problem == NULL &&
           scheduler->nodes > 1;
}

static bool is_controller(const struct jr_session *session)
{
    const struct jr_spec *spec = jr_spec_get(session->file);
    if (spec == NULL || !session->host.real ||
        jr_session_is_local_only(session))
        return false;
    if (jr_ssh_session_is(session)) /* a run of ours says that it is node 0 */
        return spec->node_rank == NULL || *spec->node_rank == 0;
    return spec->node_rank == NULL && jr_session_leads_allocation(session);
}

/* The number of nodes that the job is for; 0: it is for one, or for more than
 * there are; both are reported elsewhere. */
static uint32_t count_wanted_nodes(const struct jr_session *session)
{
    const struct jr_resolve_options options = {.args = session->options.args};
    uint32_t nodes = jr_resolve_nodes(session->file, &session->host, &options);
    uint64_t all = (uint64_t)nodes + jr_spec_get(session->file)->spare_nodes;
    return all > 1 && all <= session->host.scheduler.nodes ? nodes : 0;
}

/* Whether its nodes are hosts that ssh reaches, of one job or of cells. */
static bool is_over_ssh(const struct jr_session *session)
{
    return session->cells_by_ssh || jr_ssh_session_is(session);
}

/* What only a rank on this machine could have. */
static int check_asked_options(const struct jr_session *session,
                               struct jr_error *err)
{
    const struct jr_session_options *options = &session->options;
    bool debug = options->debug_rank != NULL;
    const char *where = jr_ssh_session_is(session)
                            ? "other hosts"
                            : "the nodes of the allocation";
    if (options->wait)
        return jr_error_set(
            err, JR_STATUS_USAGE,
            "--wait waits for the devices of this machine, but the ranks are "
            "on %s: leave it out, or start them all here with --local",
            where);
    if (debug || options->stdin_rank != NULL)
        return jr_error_set(
            err, JR_STATUS_USAGE,
            "%s is for ranks on this machine, but these are on %s: start them "
            "all here with --local, or %s",
            debug ? "--debug" : "--stdin", where,
            debug ? jr_ssh_session_is(session)
                        ? "debug a running one with ssh -t HOST gdb -p PID"
                        : "debug a running one with srun --overlap --jobid=JOB "
                          "-w NODE --pty gdb -p PID"
                  : "let the rank read a file, as by shell: "
                    "'./train < FILE'");
    return 0;
}

static void note_agent_line(void *data, const char *line)
{
    jr_session_note(data, line);
}

const char *jr_session_own_program(struct jr_session *session)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    return len <= 0 ? "jobrun"
                    : jr_arena_strndup(&session->arena, path, (size_t)len);
}

static uint32_t visible_devices(const struct jr_host *host, enum jr_device kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < host->devices_count; i++)
        count += host->devices[i].visible && host->devices[i].kind == kind;
    return count;
}

static uint32_t usable_cpus(const struct jr_host *host)
{
    uint32_t usable = host->cpus.usable;
    double quota = host->cpus.quota;
    if (quota > 0 && (usable == 0 || quota < usable))
        usable = quota < 1 ? 1 : (uint32_t)quota;
    return usable;
}

/* "node 1 (gpu02)", as long as the session lives. */
static const char *session_node_name(struct jr_session *session, uint32_t node)
{
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_controller_name(&name, session->controller, node);
    const char *text = jr_buf_keep(&name, &session->arena);
    return text != NULL ? text : "a node";
}

/* Tell of a clock that is off; -1 where no time that the node writes could be
 * believed. */
static int check_node_clock(const struct jr_session *session, uint32_t node,
                            struct jr_error *err)
{
    const struct jr_controller_node peer =
        jr_controller_node(session->controller, node);
    bool behind = peer.clock_offset_ns < 0;
    uint64_t clock_offset_ns = (uint64_t)peer.clock_offset_ns;
    uint64_t off_ns = behind ? 0 - clock_offset_ns : clock_offset_ns;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (off_ns < JR_CLOCK_TOLD_NS)
        return 0;
    jr_controller_name(&line, session->controller, node);
    jr_buf_str(&line, ": its clock is ");
    jr_clock_human(&line, off_ns);
    jr_buf_printf(&line, " %s of the one here", behind ? "behind" : "ahead");
    if (off_ns >= JR_CLOCK_MOST_NS)
        return jr_error_set(
            err, JR_STATUS_UNRESOLVED,
            "%s: jobrun could not tell which of its files are new; set the "
            "clock (chrony, ntpd), or leave the node out%s",
            line.failed ? "out of memory" : line.data,
            is_over_ssh(session) ? "" : " (sbatch --exclude)");
    jr_buf_str(&line, "; the times in its logs are those of its own clock");
    jr_session_note_buf(session, &line);
    return 0;
}

int jr_session_read_node(struct jr_session *session, uint32_t node,
                         struct jr_host *ret, struct jr_arena *arena,
                         struct jr_error *err)
{
    const struct jr_controller_node peer =
        jr_controller_node(session->controller, node);
    struct jr_diags diags = {0};
    int failed = jr_profile_read(ret, arena, peer.host, peer.facts,
                                 peer.facts_len, &diags);
    bool absurd =
        diags.count > 0 && jr_profile_status(&diags, 0) == JR_STATUS_UNRESOLVED;
    if (failed != 0)
        failed = jr_error_set(
            err, absurd ? JR_STATUS_UNRESOLVED : JR_STATUS_LAUNCH,
            "%s: its facts %s: %s", session_node_name(session, node),
            absurd ? "contradict each other" : "cannot be read",
            diags.count > 0 ? diags.items[0].message : "out of memory");
    jr_diags_release(&diags);
    return failed != 0 ? failed : check_node_clock(session, node, err);
}

/* If all counts are the same, the first is enough. */
static void keep_counts(struct jr_counts *to, const struct jr_counts *from)
{
    for (uint32_t i = 1; i < from->count; i++)
        if (from->items[i] != from->items[0])
            *to = *from;
}

/* What is counted on each node: devices of the user's own kind, where the spec
 * is for them. */
static enum jr_device counted_kind(const struct jr_session *session,
                                   const struct jr_host *host)
{
    const char *device = jr_spec_get(session->file)->device;
    if (device != NULL && strncmp(device, CUSTOM, sizeof CUSTOM - 1) == 0)
        return JR_DEVICE_CUSTOM;
    return host->devices_count > 0 ? host->devices[0].kind : JR_DEVICE_CPU;
}

/* The facts of an allocation's nodes, as they come in. */
struct joint {
    struct jr_host first; /* of the first of them */
    enum jr_device kind;  /* that is counted */
    struct jr_counts devices, cpus;
    struct jr_strv hosts;
};

static int join_node(struct joint *to, struct jr_session *session,
                     uint32_t node, struct jr_error *err)
{
    struct jr_arena *arena = &session->arena, own = JR_ARENA_INIT;
    const struct jr_controller_node peer =
        jr_controller_node(session->controller, node);
    struct jr_host host;
    int failed = jr_session_read_node(session, node, &host,
                                      node == 0 ? arena : &own, err);
    if (failed == 0 && node == 0) {
        to->first = host;
        to->kind = counted_kind(session, &host);
    }
    if (failed == 0 && !arena->failed) {
        to->devices.items[node] = visible_devices(&host, to->kind);
        to->cpus.items[node] = usable_cpus(&host);
        jr_strv_push(&to->hosts, arena, jr_arena_strdup(arena, peer.host));
    }
    jr_arena_release(&own);
    return failed;
}

/* The hardware of the first node, how many devices and CPUs each has, and the
 * allocation's word on all else. */
static void finalize_facts(struct jr_session *session,
                           const struct joint *joint)
{
    struct jr_host host = joint->first;
    host.scheduler = session->host.scheduler;
    if (jr_ssh_session_is(session))
        host.scheduler = (struct jr_host_scheduler){.name = "ssh"};
    host.scheduler.step = true;
    host.scheduler.nodes = (uint32_t)joint->hosts.count;
    host.scheduler.node_rank = 0;
    host.scheduler.tasks_here = 1;
    host.scheduler.hosts = joint->hosts;
    host.scheduler.master_port =
        jr_controller_node(session->controller, 0).port;
    host.variables = session->host.variables;
    host.variables_count = session->host.variables_count;
    host.now = session->host.now;
    host.name = session_node_name(session, 0);
    host.environment.backend = session->host.environment.backend;
    host.environment.omp_num_threads =
        session->host.environment.omp_num_threads;
    keep_counts(&host.devices_each, &joint->devices);
    keep_counts(&host.cpus_each, &joint->cpus);
    session->host = host;
}

int jr_session_join_nodes(struct jr_session *session, uint32_t nodes,
                          struct jr_error *err)
{
    struct jr_arena *arena = &session->arena;
    struct joint joint = {
        .devices = {jr_arena_array(arena, nodes, sizeof(uint32_t)), nodes},
        .cpus = {jr_arena_array(arena, nodes, sizeof(uint32_t)), nodes},
    };
    for (uint32_t node = 0; node < nodes; node++)
        if (join_node(&joint, session, node, err) != 0)
            return -1;
    jr_spares_list(session, &joint.hosts, arena);
    if (arena->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    finalize_facts(session, &joint);
    return 0;
}

/* What agents have to look for before they know of a spec: devices of the
 * user's own kind. */
static void tell_own_devices(const struct jr_spec_file *file,
                             struct jr_controller_options *ret)
{
    const char *device = jr_spec_get(file)->device;
    if (device == NULL || strncmp(device, CUSTOM, sizeof CUSTOM - 1) != 0)
        return;
    ret->device = device;
    ret->folder = jr_spec_folder_of(file);
}

/* The same for tasks of srun, which get no message of their own. */
static char **agent_environment(struct jr_session *session,
                                const struct jr_controller_options *options)
{
    struct jr_arena *arena = &session->arena;
    struct jr_strv env = {0};
    jr_strv_copy(&env, arena, session->options.envp);
    jr_env_unset(&env, JR_AGENT_DEVICE);
    jr_env_unset(&env, JR_AGENT_FOLDER);
    if (options->device == NULL)
        return env.items;
    jr_strv_push(
        &env, arena,
        jr_arena_printf(arena, JR_AGENT_DEVICE "=%s", options->device));
    jr_strv_push(
        &env, arena,
        jr_arena_printf(arena, JR_AGENT_FOLDER "=%s", options->folder));
    return env.items;
}

/* How agents are started, and on how many nodes; 0: there are to be none. */
static int choose_transport(struct jr_session *session,
                            struct jr_controller_options *ret,
                            struct jr_error *err)
{
    tell_own_devices(session->file, ret);
    if (jr_ssh_session_is(session)) {
        ret->envp = session->options.envp;
        return jr_ssh_session_prepare(session, session->file, ret, err);
    }
    const struct jr_strv *hosts = &session->host.scheduler.hosts;
    ret->transport = &jr_srun_transport;
    ret->nodes = count_wanted_nodes(session);
    ret->spares = jr_spec_get(session->file)->spare_nodes;
    ret->hosts = hosts->count == ret->nodes ||
                         (ret->spares > 0 &&
                          hosts->count >= (size_t)ret->nodes + ret->spares)
                     ? hosts->items
                     : NULL;
    ret->envp = agent_environment(session, ret);
    return 0;
}

/* A dry run is expected to start nothing. */
static void warn_of_agents(const struct jr_session *session, uint32_t nodes)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(
        &line,
        is_over_ssh(session)
            ? "asking %u host%s for their facts by ssh (--on FACTS "
              "avoids this)"
            : "asking the %u node%s of the allocation for their facts "
              "in a job step (--on FACTS avoids this)",
        nodes, nodes == 1 ? "" : "s");
    jr_session_note_buf(session, &line);
}

enum jr_status jr_session_connect_agents(struct jr_session *session,
                                         struct jr_error *err)
{
    struct jr_error why = {.status = JR_STATUS_LAUNCH};
    if (session->controller != NULL || !is_controller(session))
        return JR_STATUS_OK;
    struct jr_controller_options options = {
        .program = jr_session_own_program(session),
        .start_ms = jr_spec_get(session->file)->policy.timeouts.start_ms,
        .note = note_agent_line,
        .data = session,
    };
    if (check_asked_options(session, &why) == 0 &&
        choose_transport(session, &options, &why) == 0) {
        if (options.nodes == 0)
            return JR_STATUS_OK;
        if (session->options.dry_run)
            warn_of_agents(session, options.nodes);
        if (jr_spares_connect(session, &options, &why) == 0 &&
            jr_session_join_nodes(session, options.nodes, &why) == 0)
            return JR_STATUS_OK;
    }
    (void)jr_error_set(err, why.status, "%s", why.text);
    return why.status;
}

/* For agents on all nodes of the allocation, or on all hosts. */
static int make_cell_options(struct jr_controller_options *ret,
                             struct jr_session *session,
                             const struct jr_spec_file *like,
                             struct jr_error *err)
{
    const struct jr_host_scheduler *scheduler = &session->host.scheduler;
    const struct jr_strv *hosts = &scheduler->hosts;
    *ret = (struct jr_controller_options){
        .transport = &jr_srun_transport,
        .program = jr_session_own_program(session),
        .nodes = scheduler->nodes,
        .hosts = hosts->count == scheduler->nodes ? hosts->items : NULL,
        .start_ms = jr_spec_get(like)->policy.timeouts.start_ms,
        .note = note_agent_line,
        .data = session,
    };
    tell_own_devices(like, ret);
    if (session->cells_by_ssh) {
        ret->envp = session->options.envp;
        return jr_ssh_session_prepare(session, like, ret, err);
    }
    ret->envp = agent_environment(session, ret);
    return 0;
}

int jr_session_renew_cell_agents(struct jr_controller **ret,
                                 struct jr_session *session,
                                 const struct jr_strv *hosts,
                                 struct jr_error *err)
{
    struct jr_controller_options options;
    if (make_cell_options(&options, session, session->cell_files[0], err) != 0)
        return -1;
    options.nodes = (uint32_t)hosts->count;
    options.hosts = hosts->items;
    options.only_hosts = true;
    return jr_controller_start(ret, &options, err);
}

enum jr_status jr_session_connect_cell_agents(struct jr_session *session,
                                              const struct jr_spec_file *like,
                                              struct jr_error *err)
{
    struct jr_controller_options options;
    struct jr_error why = {.status = JR_STATUS_LAUNCH};
    if (make_cell_options(&options, session, like, &why) == 0) {
        session->cell_hosts_count = options.nodes;
        if (session->options.dry_run)
            warn_of_agents(session, options.nodes);
        if (jr_controller_open(&session->controller, &options, &why) == 0)
            return JR_STATUS_OK;
    }
    (void)jr_error_set(err, why.status, "%s", why.text);
    return why.status;
}

/* Other runs on a node, which share devices with this one. */
static void note_node_holders(struct jr_session *session, uint32_t node,
                              const char *held)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    if (held == NULL)
        return;
    jr_buf_printf(&line, "%s: ", session_node_name(session, node));
    jr_buf_safe(&line, held);
    jr_buf_str(&line, "; this run shares them");
    jr_session_note_buf(session, &line);
}

/* What each node has for its ranks, as only it knows. */
static int take_allocations(struct jr_session *session, struct jr_error *err)
{
    struct jr_arena *arena = &session->resolution.arena;
    uint32_t nodes = session->resolution.job.nodes;
    struct jr_node_resources *each = jr_arena_array(arena, nodes, sizeof *each);
    for (uint32_t node = 0; node < nodes && each != NULL; node++) {
        const struct jr_controller_node peer =
            jr_controller_node(session->controller, node);
        if (jr_node_resources_read(&each[node], arena, peer.resources,
                                   peer.resources_len) != 0)
            return jr_error_set(err, JR_STATUS_LAUNCH,
                                "%s: it did not say what its ranks have of it",
                                session_node_name(session, node));
        note_node_holders(session, node, each[node].held);
    }
    if (arena->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    jr_node_resources_take(&session->resolution, each);
    return 0;
}

enum jr_status jr_session_send_spec(struct jr_session *session,
                                    struct jr_error *err)
{
    struct jr_error why = {.status = JR_STATUS_LAUNCH};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (session->controller == NULL)
        return JR_STATUS_OK;
    jr_resolution_emit_for_nodes(&text, &session->resolution, session->file);
    int failed =
        text.failed ? jr_error_set(&why, JR_STATUS_LAUNCH, "out of memory") : 0;
    const struct jr_controller_spec spec = {.text = text.data,
                                            .inject = session->options.inject,
                                            .cell = session->cell,
                                            .sweep = session->sweep_id,
                                            .cells = session->cells_dir};
    if (failed == 0)
        failed = jr_controller_send_spec(session->controller, &spec, &why);
    if (failed == 0)
        failed = take_allocations(session, &why);
    if (failed == 0)
        failed = jr_session_take_node_worlds(session, &why);
    if (failed == 0)
        return JR_STATUS_OK;
    (void)jr_error_set(err, why.status, "%s", why.text);
    return why.status;
}

int jr_session_run_nodes(struct jr_session *session,
                         const struct jr_run_options *options,
                         struct jr_error *err)
{
    if (jr_run_folder_attempt(&session->dir, session->attempt, err) != 0 ||
        jr_left_files_begin(session, err) != 0)
        return -1;
    int failed =
        jr_controller_run(session->controller, &session->outcome,
                          &session->plan, options, session->attempt, err);
    jr_left_files_finish(session);
    return failed;
}

int jr_session_renew_nodes(struct jr_session *session, struct jr_error *err)
{
    const struct jr_spec *spec = jr_spec_get(session->file);
    const char *lacks = jr_controller_lacks(session->controller);
    uint32_t port = jr_controller_node(session->controller, 0).port;
    if (jr_spares_are_wanted(session))
        return jr_spares_replace(session, err);
    if (lacks != NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s", lacks);
    if (spec->master_port == NULL && port != 0)
        jr_resolution_set_port(&session->resolution, port);
    return 0;
}
