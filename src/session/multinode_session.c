/*
 * A session on the nodes of an allocation, or on hosts that ssh reaches: the controller's side, of
 * which node_session.c is the other. What the nodes are, as their agents have told it, is read of
 * each and taken together; agents that cannot be had, at the start or for the next attempt, are
 * left out, and spares take their places. internal.h declares it.
 */
#include "session/internal.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/strv.h"
#include "cluster/controller.h"
#include "cluster/transport.h"
#include "eventloop/signals.h"
#include "resolve/device_profile.h"
#include "resolve/node_resources.h"
#include "session/foreground.h"
#include "session/left_files.h"
#include "session/submission.h"
#include "session/support.h"
#include "store/run_folder.h"

#include "base/banned.h"

/* "node 1 (gpu02)", as long as the session lives. */
static const char *node_name(struct jr_session *session, uint32_t node)
{
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_controller_name(&name, session->controller, node);
    const char *text = jr_buf_keep(&name, &session->arena);
    return text != NULL ? text : "a node";
}

/* Tell of a clock that is off; -1 where no time that the node writes could be believed. */
static int check_node_clock(const struct jr_session *session, uint32_t node, struct jr_error *err)
{
    const struct jr_controller_node peer = jr_controller_node(session->controller, node);
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
        return jr_error_set(err, JR_STATUS_UNRESOLVED,
                            "%s: jobrun could not tell which of its files are new; set the "
                            "clock (chrony, ntpd), or leave the node out%s",
                            line.failed ? "out of memory" : line.data,
                            jr_ssh_session_has(session) ? "" : " (sbatch --exclude)");
    jr_buf_str(&line, "; the times in its logs are those of its own clock");
    jr_session_note_buf(session, &line);
    return 0;
}

int jr_session_read_node(struct jr_session *session, uint32_t node, struct jr_host *ret,
                         struct jr_arena *arena, struct jr_error *err)
{
    const struct jr_controller_node peer = jr_controller_node(session->controller, node);
    struct jr_diags diags = {0};
    int failed = jr_profile_read(ret, arena, peer.host, peer.facts, peer.facts_len, &diags);
    bool absurd = diags.count > 0 && jr_profile_status(&diags, 0) == JR_STATUS_UNRESOLVED;
    if (failed != 0)
        failed = jr_error_set(err, absurd ? JR_STATUS_UNRESOLVED : JR_STATUS_LAUNCH,
                              "%s: its facts %s: %s", node_name(session, node),
                              absurd ? "contradict each other" : "cannot be read",
                              diags.count > 0 ? diags.items[0].message : "out of memory");
    jr_diags_release(&diags);
    return failed != 0 ? failed : check_node_clock(session, node, err);
}

/* If all counts are the same, the first is enough. */
static void keep_counts(struct jr_counts *to, uint32_t *each, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (each[i] != each[0])
            *to = (struct jr_counts){each, count};
}

/* Take the facts of all nodes together for those of the session: the hardware of the first, how
 * many devices and CPUs each has, and the allocation's word on all else. -1 with `err`. */
static int join_nodes(struct jr_session *session, uint32_t nodes, struct jr_error *err)
{
    const struct jr_spares *spares = session->spares;
    struct jr_arena *arena = &session->arena;
    uint32_t *devices = jr_arena_array(arena, nodes, sizeof *devices);
    uint32_t *cpus = jr_arena_array(arena, nodes, sizeof *cpus);
    struct jr_host first = {0};
    struct jr_strv hosts = {0};
    enum jr_device kind = JR_DEVICE_CPU; /* what is counted */
    for (uint32_t node = 0; node < nodes; node++) {
        struct jr_arena own = JR_ARENA_INIT;
        struct jr_host host;
        if (jr_session_read_node(session, node, &host, node == 0 ? arena : &own, err) != 0) {
            jr_arena_release(&own);
            return -1;
        }
        if (node == 0) {
            first = host;
            if (jr_custom_is(jr_spec_get(session->file)->device))
                kind = JR_DEVICE_CUSTOM;
            else if (host.devices_count > 0)
                kind = host.devices[0].kind;
        }
        for (uint32_t i = 0; i < host.devices_count && !arena->failed; i++)
            devices[node] += host.devices[i].visible && host.devices[i].kind == kind;
        uint32_t usable = host.cpus.usable;
        double quota = host.cpus.quota;
        if (quota > 0 && (usable == 0 || quota < usable))
            usable = quota < 1 ? 1 : (uint32_t)quota;
        if (!arena->failed)
            cpus[node] = usable;
        jr_strv_push(&hosts, arena,
                     jr_arena_strdup(arena, jr_controller_node(session->controller, node).host));
        jr_arena_release(&own);
    }
    /* Behind them the machines of the job that have no node of it. */
    for (uint32_t i = 0; spares != NULL && i < spares->placing.spares; i++)
        jr_strv_push(&hosts, arena, jr_arena_strdup(arena, spares->placing.hosts[nodes + i]));
    for (size_t i = 0; spares != NULL && i < spares->placing.left_out_count; i++)
        jr_strv_push(&hosts, arena, jr_arena_strdup(arena, spares->placing.left_out[i].host));
    if (arena->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    first.scheduler = session->host.scheduler;
    if (jr_ssh_session_is(session))
        first.scheduler = (struct jr_host_scheduler){.name = "ssh"};
    first.scheduler.step = true;
    first.scheduler.nodes = (uint32_t)hosts.count;
    first.scheduler.node_rank = 0;
    first.scheduler.tasks_here = 1;
    first.scheduler.hosts = hosts;
    first.scheduler.master_port = jr_controller_node(session->controller, 0).port;
    first.variables = session->host.variables;
    first.variables_count = session->host.variables_count;
    first.now = session->host.now;
    first.name = node_name(session, 0);
    first.environment.backend = session->host.environment.backend;
    first.environment.omp_num_threads = session->host.environment.omp_num_threads;
    keep_counts(&first.devices_each, devices, nodes);
    keep_counts(&first.cpus_each, cpus, nodes);
    session->host = first;
    return 0;
}

/* Tasks of srun get no message that says which node they have: it begins each on the next node of
 * the allocation. */
static void tell_places(struct jr_session *session, const uint32_t *tasks,
                        struct jr_controller_options *options)
{
    struct jr_arena *arena = &session->arena;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_strv env = {0};
    jr_strv_copy(&env, arena, options->envp);
    jr_buf_str(&text, JR_AGENT_PLACES "=");
    for (uint32_t task = 0; task < options->nodes; task++)
        for (uint32_t node = 0; node < options->nodes; node++)
            if (tasks[node] == task)
                jr_buf_printf(&text, "%s%u", task == 0 ? "" : ",", node);
    jr_env_unset(&env, JR_AGENT_PLACES);
    jr_strv_push(&env, arena, jr_buf_keep(&text, arena));
    options->envp = env.items;
    options->tasks = tasks;
}

/* The options of a controller of the nodes as they are placed now. */
static struct jr_controller_options place_options(struct jr_session *session)
{
    const struct jr_spares *spares = session->spares;
    const struct jr_placing *placing = &spares->placing;
    struct jr_arena *arena = &session->arena;
    struct jr_controller_options options = spares->options;
    uint32_t *tasks = jr_arena_array(arena, placing->nodes, sizeof *tasks);
    options.spares = placing->spares;
    options.hosts = placing->hosts;
    options.only_hosts = true;
    options.stop_fd = spares->stop_fd;
    options.again = session->begun;
    for (uint32_t i = 0; tasks != NULL && i < placing->nodes; i++)
        tasks[i] = jr_placing_task(placing, i);
    if (!options.transport->each && tasks != NULL)
        tell_places(session, tasks, &options);
    return options;
}

/* Whether an attempt has lost a node without its agent, as in a rehearsal. */
static bool has_lost_ranks(const struct jr_session *session, uint32_t node)
{
    const struct jr_outcome *outcome = &session->outcome;
    bool lost = false;
    for (uint32_t i = 0; i < outcome->count; i++)
        lost = lost ||
               (session->plan.ranks[i].node_rank == node && outcome->ranks[i].end == JR_END_LOST);
    return lost;
}

/* Why a machine is to be left out; NULL: it is not. A node that refuses what it is to do is a
 * mistake of the user's, unless it was a spare. */
static const char *find_loss(const struct jr_session *session, uint32_t index)
{
    const struct jr_placing *placing = &session->spares->placing;
    bool refused;
    if (session->controller == NULL)
        return NULL;
    const char *why = jr_controller_loss(
        session->controller, session->spares->known_as[placing->machines[index]], &refused);
    return refused && placing->machines[index] < placing->nodes ? NULL : why;
}

/* Spares that are lost; they are not needed, and were told of. The last come first, so that no
 * index moves. */
static void leave_out_spares(struct jr_session *session)
{
    struct jr_placing *placing = &session->spares->placing;
    if (!session->spares->options.transport->each)
        return;
    for (uint32_t i = placing->nodes + placing->spares; i-- > placing->nodes;) {
        const char *why = find_loss(session, i);
        if (why != NULL)
            (void)jr_placing_leave_out(placing, i, why);
    }
}

static int replace_nodes(struct jr_session *session, bool ran, struct jr_error *err)
{
    struct jr_placing *placing = &session->spares->placing;
    const struct jr_spec *spec = jr_spec_get(session->file);
    const char **losses = jr_arena_array(&session->arena, placing->nodes, sizeof *losses);
    uint32_t count = 0;
    leave_out_spares(session);
    for (uint32_t i = 0; losses != NULL && i < placing->nodes; i++) {
        losses[i] = find_loss(session, i);
        if (losses[i] == NULL && ran && has_lost_ranks(session, i))
            losses[i] = "it is lost in this rehearsal";
        count += losses[i] != NULL;
    }
    if (count == 0 || count > placing->spares)
        return -1;
    /* Rank 0 is where the ranks meet; where the spec says where that is, no other machine can be
     * it. */
    if (losses[0] != NULL &&
        (spec->master_addr != NULL ||
         (spec->init_method != NULL && strncmp(spec->init_method, "tcp:", strlen("tcp:")) == 0)))
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the spec states that the ranks meet on node 0 (%s), "
                            "and no spare can be that: %s",
                            placing->hosts[0], losses[0]);
    for (uint32_t i = 0; i < placing->nodes; i++) {
        struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
        const char *before = placing->hosts[i];
        if (losses[i] == NULL)
            continue;
        if (jr_placing_leave_out(placing, i, losses[i]) != 0)
            return -1;
        jr_buf_str(&line, "the spare ");
        jr_buf_safe(&line, placing->hosts[i]);
        jr_buf_printf(&line, " takes the place of node %u (", i);
        jr_buf_safe(&line, before);
        jr_buf_str(&line, "): ");
        jr_buf_safe(&line, losses[i]);
        jr_session_note_buf(session, &line);
    }
    return 0;
}

static void close_agents(struct jr_session *session)
{
    if (session->controller != NULL)
        jr_controller_forsake(session->controller);
    jr_controller_close(session->controller);
    session->controller = NULL;
}

/* Agents on all nodes; the controller stays where that is not possible. */
static int open_agents(struct jr_session *session, struct jr_error *err)
{
    const struct jr_placing *placing = &session->spares->placing;
    for (;;) {
        const struct jr_controller_options options = place_options(session);
        for (uint32_t i = 0; i < placing->nodes + placing->spares; i++)
            session->spares->known_as[placing->machines[i]] = i;
        if (session->arena.failed)
            return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
        if (jr_controller_start(&session->controller, &options, err) != 0)
            return -1;
        if (jr_controller_meet(session->controller, err) == 0)
            return 0;
        if (replace_nodes(session, false, err) != 0)
            return -1;
        close_agents(session);
    }
}

static int connect_spares(struct jr_session *session, const struct jr_controller_options *options,
                          struct jr_error *err)
{
    if (options->spares == 0 || options->hosts == NULL)
        return jr_controller_open(&session->controller, options, err);
    struct jr_spares *spares = calloc(1, sizeof *spares);
    session->spares = spares;
    if (spares == NULL || jr_placing_make(&spares->placing, &session->arena, options->hosts,
                                          options->nodes, options->spares) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    spares->known_as =
        jr_arena_array(&session->arena, options->nodes + options->spares, sizeof *spares->known_as);
    if (spares->known_as == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    spares->options = *options;
    return open_agents(session, err);
}

/* The port that the first node offers, where the spec states none. */
static void renew_port(struct jr_session *session)
{
    uint32_t port = jr_controller_node(session->controller, 0).port;
    if (jr_spec_get(session->file)->master_port == NULL && port != 0)
        jr_resolution_set_port(&session->resolution, port);
}

/* New agents, until all have taken the spec of the job as it was resolved, on the nodes as they are
 * placed now. */
static int start_again(struct jr_session *session, struct jr_error *err)
{
    for (;;) {
        close_agents(session);
        if (open_agents(session, err) != 0)
            return -1;
        if (join_nodes(session, session->spares->placing.nodes, err) == 0 &&
            jr_spares_place(session, err) == 0) {
            renew_port(session);
            if (jr_session_send_spec(session, err) == JR_STATUS_OK)
                return 0;
        }
        if (replace_nodes(session, false, err) != 0)
            return -1;
    }
}

int jr_spares_settle(struct jr_session *session, struct jr_error *err)
{
    if (session->spares == NULL || replace_nodes(session, false, err) != 0)
        return -1;
    return start_again(session, err);
}

/* Put spares in the places of nodes that the attempt has lost, with new agents on all; signals that
 * stop a run end the wait. -1 with `err`. */
static int replace_by_spares(struct jr_session *session, struct jr_error *err)
{
    struct jr_spares *spares = session->spares;
    const struct jr_placing *placing = &spares->placing;
    char text[sizeof err->text];
    bool lost = false;
    if (spares->stop_fd <= 0) /* between attempts they are blocked */
        spares->stop_fd = jr_signals_open_stops(session->plan.policy);
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "a node was lost, and no spare is left for it");
    if (replace_nodes(session, true, err) != 0)
        return -1;
    if (start_again(session, err) == 0)
        return 0;
    jr_spares_report(session); /* the last attempt decides, with these */
    for (uint32_t i = 0; i < placing->nodes && placing->spares == 0; i++)
        lost = lost || find_loss(session, i) != NULL;
    if (!lost)
        return -1;
    /* a spare that has failed, after which there is none */
    (void)snprintf(text, sizeof text, "%s", err->text);
    return jr_error_set(err, err->status, "%s, and no spare is left for it", text);
}

void jr_spares_report(struct jr_session *session)
{
    if (session->spares == NULL)
        return;
    leave_out_spares(session);
    session->report.left_out = session->spares->placing.left_out;
    session->report.left_out_count = session->spares->placing.left_out_count;
}

void jr_spares_release(struct jr_session *session)
{
    if (session->spares != NULL && session->spares->stop_fd > 0)
        (void)close(session->spares->stop_fd);
    free(session->spares);
    session->spares = NULL;
}

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

/* The variables from here that ranks there get: NAME=VALUE, each with a NUL, as base64, because a
 * value may be any bytes. */
static const char *collect_environment(struct jr_session *session, const struct jr_ssh *ssh)
{
    struct jr_buf all JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (char *const *entry = session->options.envp; *entry != NULL; entry++) {
        const char *name = jr_arena_strndup(&session->arena, *entry, strcspn(*entry, "="));
        uint32_t i = 0;
        while (name != NULL && i < ssh->env_count && fnmatch(ssh->env[i], name, 0) != 0)
            i++;
        if (name != NULL && i < ssh->env_count)
            jr_buf_add(&all, *entry, strlen(*entry) + 1);
    }
    text.failed |= all.failed;
    jr_base64_add(&text, all.data, all.len);
    return jr_buf_keep(&text, &session->arena);
}

void jr_ssh_session_release(struct jr_session *session)
{
    jr_left_files_release(session);
    if (session->copy != NULL)
        jr_copy_release(session->copy);
    free(session->copy);
    session->copy = NULL;
}

/* The hosts that the ranks of a spec are for: of those of a sweep a cell has the first ones, and
 * who leads the sweep all. */
static uint32_t count_hosts(const struct jr_session *session, const struct jr_spec_file *file)
{
    const struct jr_resolve_options options = {.args = session->options.args};
    uint32_t all = jr_spec_get(file)->hosts_count;
    struct jr_host alone = session->host;
    if (!jr_spec_pools_hosts(file) || session->cell == NULL)
        return all;
    alone.nodes = 0;
    alone.scheduler = (struct jr_host_scheduler){.node_rank = -1};
    uint32_t nodes = jr_resolve_nodes(file, &alone, &options);
    return nodes > 0 && nodes < all ? nodes : all;
}

/* Make the archive of the code for hosts that do not see it. `data` is the session, of a run or of
 * a sweep. */
static int open_code_archive(void *data, struct jr_code_archive *ret, struct jr_error *err)
{
    struct jr_session *session = data, *first = session->first_cell;
    const struct jr_frozen *frozen = first != NULL ? &first->frozen : &session->frozen;
    const char *folder;
    int fd, failed;
    if (first != NULL) {
        /* Of all cells of a sweep: with the record of the code, and as it is now. */
        if (jr_submission_make_cells(first, &folder, err) != JR_STATUS_OK)
            return -1;
        failed = jr_far_code_pack(&fd, first, folder, err);
        jr_submission_discard(first);
    } else if (frozen->copy == NULL) {
        return jr_error_set(err, JR_STATUS_LAUNCH, "there is no copy of the code here");
    } else
        failed = jr_far_code_pack(&fd, session, frozen->copy, err);
    if (failed == 0)
        *ret = (struct jr_code_archive){fd, frozen->top, frozen->name};
    return failed;
}

int jr_ssh_session_prepare(struct jr_session *session, const struct jr_spec_file *file,
                           struct jr_controller_options *ret, struct jr_error *err)
{
    const struct jr_spec *spec = jr_spec_get(file);
    const struct jr_ssh *ssh = spec->policy.engine.ssh;
    bool pools = jr_spec_pools_hosts(file);
    if (spec->hosts_count == 0)
        return jr_error_set(err, JR_STATUS_UNRESOLVED,
                            "`engine.ssh` starts the ranks on `hosts`, and "
                            "none are stated: type --hosts gpu01,gpu02");
    if (spec->hosts_count > 1 && spec->master_addr == NULL &&
        strcmp(spec->hosts[0], "localhost") == 0)
        return jr_error_set(err, JR_STATUS_UNRESOLVED,
                            "the ranks meet at the first of `hosts`, and 'localhost' is another "
                            "machine on each of them: state master_addr, by a name or an address "
                            "that this machine has for the others");
    ret->transport = &jr_ssh_transport;
    ret->nodes = count_hosts(session, file);
    if (spec->spare_nodes > 0 && (!pools || session->cell != NULL)) {
        /* The last hosts are spares, those of a sweep aside. What does not fit is reported when the
         * spec is resolved. */
        uint64_t wanted = (uint64_t)*spec->nodes + spec->spare_nodes;
        bool fits = pools ? wanted <= spec->hosts_count : wanted == spec->hosts_count;
        ret->nodes = fits ? *spec->nodes : 0;
        ret->spares = fits ? spec->spare_nodes : 0;
    }
    ret->hosts = spec->hosts;
    ret->ssh = ssh;
    ret->agent_env = collect_environment(session, ssh);
    if (ssh->copy) { /* what hosts get that have no jobrun */
        const char *support = session->options.support;
        session->copy = calloc(1, sizeof *session->copy);
        if (session->copy == NULL)
            return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
        if (support == NULL)
            support = jr_support_find(&session->arena);
        if (jr_copy_read(session->copy, ret->program, support, err) != 0)
            return -1;
    }
    ret->copy = session->copy;
    ret->take_left = jr_left_files_take;
    ret->open_code = open_code_archive;
    return session->arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

const char *jr_session_own_program(struct jr_session *session)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    return len <= 0 ? "jobrun" : jr_arena_strndup(&session->arena, path, (size_t)len);
}

/* For agents on all nodes of the allocation, or on the hosts of a spec. */
static int make_agent_options(struct jr_controller_options *ret, struct jr_session *session,
                              const struct jr_spec_file *file, struct jr_error *err)
{
    const struct jr_host_scheduler *scheduler = &session->host.scheduler;
    const struct jr_spec *spec = jr_spec_get(file);
    const struct jr_strv *hosts = &scheduler->hosts;
    struct jr_arena *arena = &session->arena;
    struct jr_strv env = {0};
    *ret = (struct jr_controller_options){
        .transport = &jr_srun_transport,
        .program = jr_session_own_program(session),
        .nodes = scheduler->nodes,
        .hosts = hosts->count == scheduler->nodes ? hosts->items : NULL,
        .start_ms = spec->policy.timeouts.start_ms,
        .note = jr_session_note_line,
        .data = session,
        .envp = session->options.envp,
    };
    if (jr_custom_is(spec->device)) {
        /* What agents have to look for before they know of a spec: devices of the user's own
         * kind. */
        ret->device = spec->device;
        ret->folder = jr_spec_folder_of(file);
    }
    if (jr_ssh_session_has(session))
        return jr_ssh_session_prepare(session, file, ret, err);
    /* Tasks of srun get no message of their own. */
    jr_strv_copy(&env, arena, session->options.envp);
    jr_env_unset(&env, JR_AGENT_DEVICE);
    jr_env_unset(&env, JR_AGENT_FOLDER);
    if (ret->device != NULL) {
        jr_strv_push(&env, arena, jr_arena_printf(arena, JR_AGENT_DEVICE "=%s", ret->device));
        jr_strv_push(&env, arena, jr_arena_printf(arena, JR_AGENT_FOLDER "=%s", ret->folder));
    }
    ret->envp = env.items;
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
    const struct jr_spec *spec = jr_spec_get(session->file);
    if (session->controller != NULL || spec == NULL || !session->host.real ||
        jr_session_is_local_only(session))
        return JR_STATUS_OK;
    /* By ssh, a run of ours says that it is node 0. */
    if (jr_ssh_session_is(session)
            ? spec->node_rank != NULL && *spec->node_rank != 0
            : spec->node_rank != NULL || !jr_session_leads_allocation(session))
        return JR_STATUS_OK;
    struct jr_controller_options options;
    if (check_asked_options(session, &why) != 0 ||
        make_agent_options(&options, session, session->file, &why) != 0)
        return jr_session_fail(err, &why);
    if (!jr_ssh_session_is(session)) {
        /* Of the allocation as many as the job wants. One node, or more than there are: both are
         * reported elsewhere. */
        const struct jr_resolve_options wanted = {.args = session->options.args};
        const struct jr_strv *hosts = &session->host.scheduler.hosts;
        uint32_t nodes = jr_resolve_nodes(session->file, &session->host, &wanted);
        uint64_t all = (uint64_t)nodes + spec->spare_nodes;
        options.spares = spec->spare_nodes;
        options.nodes = all > 1 && all <= session->host.scheduler.nodes ? nodes : 0;
        bool fits = hosts->count == options.nodes ||
                    (options.spares > 0 && hosts->count >= (size_t)options.nodes + options.spares);
        options.hosts = fits ? hosts->items : NULL;
    }
    if (options.nodes == 0)
        return JR_STATUS_OK;
    if (session->options.dry_run)
        warn_of_agents(session, options.nodes);
    return connect_spares(session, &options, &why) == 0 &&
                   join_nodes(session, options.nodes, &why) == 0
               ? JR_STATUS_OK
               : jr_session_fail(err, &why);
}

int jr_session_renew_cell_agents(struct jr_controller **ret, struct jr_session *session,
                                 const struct jr_strv *hosts, struct jr_error *err)
{
    struct jr_controller_options options;
    if (make_agent_options(&options, session, session->cell_files[0], err) != 0)
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
    if (make_agent_options(&options, session, like, &why) == 0) {
        session->cell_hosts_count = options.nodes;
        if (session->options.dry_run)
            warn_of_agents(session, options.nodes);
        if (jr_controller_open(&session->controller, &options, &why) == 0)
            return JR_STATUS_OK;
    }
    return jr_session_fail(err, &why);
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
                                node_name(session, node));
        if (each[node].held == NULL)
            continue;
        /* Other runs there, which share devices with this one. */
        JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
        jr_buf_printf(&line, "%s: ", node_name(session, node));
        jr_buf_safe(&line, each[node].held);
        jr_buf_str(&line, "; this run shares them");
        jr_session_note_buf(session, &line);
    }
    if (arena->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    jr_node_resources_take(&session->resolution, each);
    return 0;
}

static int send_spec_text(struct jr_session *session, struct jr_error *err)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    char mark[JR_TOKEN_SIZE];
    jr_resolution_emit_for_nodes(&text, &session->resolution, session->file);
    struct jr_controller_spec spec = {.text = text.data,
                                      .inject = session->options.inject,
                                      .cell = session->cell,
                                      .sweep = session->sweep_id,
                                      .cells = session->cells_dir};
    if (text.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (!session->begun)
        return jr_controller_send_spec(session->controller, &spec, err);
    /* To new agents of a run that has begun before, with where it is. */
    if (jr_folder_mark_make(&session->dir, mark, err) != 0)
        return -1;
    spec.run_id = session->plan.run_id;
    spec.token = mark;
    spec.attempt = session->attempt + 1;
    int failed = jr_controller_send_spec(session->controller, &spec, err);
    jr_folder_mark_remove(&session->dir, mark);
    return failed;
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
    if (failed == 0 && take_allocations(session, &why) == 0 &&
        jr_session_take_node_worlds(session, &why) == 0)
        return JR_STATUS_OK;
    return jr_session_fail(err, &why);
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
    const char *lacks = jr_controller_lacks(session->controller);
    bool lost = false;
    jr_controller_attend(session->controller); /* to what came meanwhile */
    if (lacks == NULL)
        lacks = jr_controller_lacks(session->controller);
    for (uint32_t i = 0; session->spares != NULL && i < session->spares->placing.nodes; i++)
        lost = lost || find_loss(session, i) != NULL || has_lost_ranks(session, i);
    if (lost)
        return replace_by_spares(session, err);
    if (lacks != NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s", lacks);
    renew_port(session);
    return 0;
}
