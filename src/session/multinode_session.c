#include "session/multinode_session.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strv.h"
#include "cluster/controller.h"
#include "cluster/controller_cells.h"
#include "cluster/srun.h"
#include "eventloop/signals.h"
#include "resolve/device_profile.h"
#include "resolve/node_resources.h"
#include "session/left_files.h"
#include "session/node_facts.h"
#include "session/session.h"
#include "session/session_mpi.h"
#include "session/spares.h"
#include "session/ssh_session.h"
#include "session/stages.h"
#include "store/attempt_folder.h"
#include "store/folder_mark.h"

#include "base/banned.h"

bool jr_session_is_local_only(const struct jr_session *session)
{
    const struct jr_session_options *options = &session->options;
    return options->local || options->node_rank != NULL || options->check;
}

bool jr_session_leads_allocation(const struct jr_session *session)
{
    const struct jr_host_scheduler *scheduler = &session->host.scheduler;
    return session->host.real && !jr_session_is_local_only(session) && scheduler->name != NULL &&
           strcmp(scheduler->name, "Slurm") == 0 && !scheduler->step &&
           scheduler->problem == NULL && scheduler->nodes > 1;
}

static bool is_controller(const struct jr_session *session)
{
    const struct jr_spec *spec = jr_spec_get(session->file);
    if (spec == NULL || !session->host.real || jr_session_is_local_only(session))
        return false;
    if (jr_ssh_session_is(session)) /* a run of ours says that it is node 0 */
        return spec->node_rank == NULL || *spec->node_rank == 0;
    return spec->node_rank == NULL && jr_session_leads_allocation(session);
}

/* The number of nodes that the job is for; 0: it is for one, or for more than there are; both are
 * reported elsewhere. */
static uint32_t count_wanted_nodes(const struct jr_session *session)
{
    const struct jr_resolve_options options = {.args = session->options.args};
    uint32_t nodes = jr_resolve_nodes(session->file, &session->host, &options);
    uint64_t all = (uint64_t)nodes + jr_spec_get(session->file)->spare_nodes;
    return all > 1 && all <= session->host.scheduler.nodes ? nodes : 0;
}

/* What only a rank on this machine could have. */
static int check_asked_options(const struct jr_session *session, struct jr_error *err)
{
    const struct jr_session_options *options = &session->options;
    bool debug = options->debug_rank != NULL;
    const char *where = jr_ssh_session_is(session) ? "other hosts" : "the nodes of the allocation";
    if (options->wait)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "--wait waits for the devices of this machine, but the ranks are "
                            "on %s: leave it out, or start them all here with --local",
                            where);
    if (debug || options->stdin_rank != NULL)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "%s is for ranks on this machine, but these are on %s: start them "
                            "all here with --local, or %s",
                            debug ? "--debug" : "--stdin", where,
                            debug ? jr_ssh_session_is(session)
                                        ? "debug a running one with ssh -t HOST gdb -p PID"
                                        : "debug a running one with srun --overlap --jobid=JOB "
                                          "-w NODE --pty gdb -p PID"
                                  : "let the rank read a file, as by shell: './train < FILE'");
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
    return len <= 0 ? "jobrun" : jr_arena_strndup(&session->arena, path, (size_t)len);
}

/* What agents have to look for before they know of a spec: devices of the user's own kind. */
static void tell_own_devices(const struct jr_spec_file *file, struct jr_controller_options *ret)
{
    const char *device = jr_spec_get(file)->device;
    if (!jr_custom_is(device))
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
    jr_strv_push(&env, arena, jr_arena_printf(arena, JR_AGENT_DEVICE "=%s", options->device));
    jr_strv_push(&env, arena, jr_arena_printf(arena, JR_AGENT_FOLDER "=%s", options->folder));
    return env.items;
}

/* How agents are started, and on how many nodes; 0: there are to be none. */
static int choose_transport(struct jr_session *session, struct jr_controller_options *ret,
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
                         (ret->spares > 0 && hosts->count >= (size_t)ret->nodes + ret->spares)
                     ? hosts->items
                     : NULL;
    ret->envp = agent_environment(session, ret);
    return 0;
}

/* A dry run is expected to start nothing. */
static void warn_of_agents(const struct jr_session *session, uint32_t nodes)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line,
                  jr_ssh_session_has(session)
                      ? "asking %u host%s for their facts by ssh (--on FACTS avoids this)"
                      : "asking the %u node%s of the allocation for their facts "
                        "in a job step (--on FACTS avoids this)",
                  nodes, nodes == 1 ? "" : "s");
    jr_session_note_buf(session, &line);
}

enum jr_status jr_session_connect_agents(struct jr_session *session, struct jr_error *err)
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
    if (check_asked_options(session, &why) == 0 && choose_transport(session, &options, &why) == 0) {
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
static int make_cell_options(struct jr_controller_options *ret, struct jr_session *session,
                             const struct jr_spec_file *like, struct jr_error *err)
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

int jr_session_renew_cell_agents(struct jr_controller **ret, struct jr_session *session,
                                 const struct jr_strv *hosts, struct jr_error *err)
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
                                              const struct jr_spec_file *like, struct jr_error *err)
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
static void note_node_holders(struct jr_session *session, uint32_t node, const char *held)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    if (held == NULL)
        return;
    jr_buf_printf(&line, "%s: ", jr_session_node_name(session, node));
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
        const struct jr_controller_node peer = jr_controller_node(session->controller, node);
        if (jr_node_resources_read(&each[node], arena, peer.resources, peer.resources_len) != 0)
            return jr_error_set(err, JR_STATUS_LAUNCH,
                                "%s: it did not say what its ranks have of it",
                                jr_session_node_name(session, node));
        note_node_holders(session, node, each[node].held);
    }
    if (arena->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    jr_node_resources_take(&session->resolution, each);
    return 0;
}

/* To new agents of a run that has begun before, with where it is. */
static int send_spec_of_begun(struct jr_session *session, struct jr_controller_spec *spec,
                              struct jr_error *err)
{
    char mark[JR_TOKEN_SIZE];
    if (jr_folder_mark_make(&session->dir, mark, err) != 0)
        return -1;
    spec->run_id = session->plan.run_id;
    spec->token = mark;
    spec->attempt = session->attempt + 1;
    int failed = jr_controller_send_spec(session->controller, spec, err);
    jr_folder_mark_remove(&session->dir, mark);
    return failed;
}

static int send_spec_text(struct jr_session *session, struct jr_error *err)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_resolution_emit_for_nodes(&text, &session->resolution, session->file);
    struct jr_controller_spec spec = {.text = text.data,
                                      .inject = session->options.inject,
                                      .cell = session->cell,
                                      .sweep = session->sweep_id,
                                      .cells = session->cells_dir};
    if (text.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return session->begun ? send_spec_of_begun(session, &spec, err)
                          : jr_controller_send_spec(session->controller, &spec, err);
}

enum jr_status jr_session_send_spec(struct jr_session *session, struct jr_error *err)
{
    struct jr_error why = {.status = JR_STATUS_LAUNCH};
    if (session->controller == NULL)
        return JR_STATUS_OK;
    JR_CLOSE int stop_fd = jr_signals_open_stops(session->resolution.job.policy);
    int before = jr_controller_heed(session->controller, stop_fd);
    int failed = send_spec_text(session, &why);
    (void)jr_controller_heed(session->controller, before);
    if (failed == 0)
        failed = take_allocations(session, &why);
    if (failed == 0)
        failed = jr_session_take_node_worlds(session, &why);
    if (failed == 0)
        return JR_STATUS_OK;
    (void)jr_error_set(err, why.status, "%s", why.text);
    return why.status;
}

int jr_session_run_nodes(struct jr_session *session, const struct jr_run_options *options,
                         struct jr_error *err)
{
    if (jr_attempt_folder_make(&session->dir, session->attempt, err) != 0 ||
        jr_left_files_begin(session, err) != 0)
        return -1;
    int failed = jr_controller_run(session->controller, &session->outcome, &session->plan, options,
                                   session->attempt, err);
    jr_left_files_finish(session);
    return failed;
}

int jr_session_renew_nodes(struct jr_session *session, struct jr_error *err)
{
    const struct jr_spec *spec = jr_spec_get(session->file);
    const char *lacks = jr_controller_lacks(session->controller);
    jr_controller_attend(session->controller); /* to what came meanwhile */
    if (lacks == NULL)
        lacks = jr_controller_lacks(session->controller);
    uint32_t port = jr_controller_node(session->controller, 0).port;
    if (jr_spares_are_wanted(session))
        return jr_spares_replace(session, err);
    if (lacks != NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s", lacks);
    if (spec->master_port == NULL && port != 0)
        jr_resolution_set_port(&session->resolution, port);
    return 0;
}
