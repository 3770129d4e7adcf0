#include "session/sweep/sweep_nodes.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cluster/heartbeat.h"
#include "eventloop/signals.h"
#include "resolve/resolve.h"
#include "session/stages.h"
#include "session/sweep/own_cells.h"
#include "session/sweep/sweep_run_parts.h"
#include "store/folder_mark.h"

#include "base/banned.h"

/* The crew by which cells begin; NULL: none does, or it is not there yet. */
static struct jr_sweep_crew *find_crew(const struct jr_sweep_run *run)
{
    const struct jr_sweep_nodes *nodes = &run->nodes;
    if (nodes->count == 0 || nodes->renews || nodes->crews[nodes->count - 1]->starting)
        return NULL;
    return nodes->crews[nodes->count - 1];
}

/* Whether agents are needed at all: some cell is for one node. */
static bool has_small_cells(const struct jr_sweep_run *run)
{
    for (size_t i = 0; i < run->needs.count; i++)
        if (run->needs.kinds[i].nodes <= 1)
            return true;
    return false;
}

/* What comes back of cells, as words with commas. */
static const char *list_collected(const struct jr_ssh *ssh)
{
    bool results = jr_left_is_collected(ssh, "results"), logs = jr_left_is_collected(ssh, "logs");
    return results && logs ? "results,logs" : results ? "results" : logs ? "logs" : "";
}

/* Agents of hosts that ssh reaches may not see the folder of the cells. */
static int share_folder(struct jr_sweep_run *run, struct jr_controller *controller,
                        struct jr_error *err)
{
    const struct jr_policy *policy = &jr_spec_get(run->session->cell_files[0])->policy;
    const struct jr_run_folder cells = {.fd = run->cells_fd, .file_mode = run->dir.file_mode};
    if (!run->session->cells_by_ssh)
        return 0;
    if (jr_folder_mark_make(&cells, run->nodes.token, err) != 0)
        return -1;
    const struct jr_cells_place place = {.cells = run->cells_dir,
                                         .token = run->nodes.token,
                                         .collect = list_collected(policy->engine.ssh),
                                         .frozen = policy->code.mode == JR_CODE_MODE_FREEZE,
                                         .mode = (int)policy->log_mode};
    JR_CLOSE int stop_fd = jr_signals_open_stops(policy);
    int before = jr_controller_heed(controller, stop_fd);
    run->session->first_cell = run->code.session;
    int failed = jr_controller_share(controller, &place, err);
    run->session->first_cell = NULL;
    (void)jr_controller_heed(controller, before);
    jr_folder_mark_remove(&cells, run->nodes.token);
    return failed;
}

void jr_sweep_nodes_open(struct jr_sweep_run *run)
{
    struct jr_error err = {0};
    struct jr_session *session = run->session;
    struct jr_controller *controller = session->controller;
    session->controller = NULL;
    if (session->cell_hosts == NULL || !has_small_cells(run)) {
        jr_controller_close(controller);
    } else if (share_folder(run, controller, &err) != 0) {
        jr_controller_close(controller);
        jr_sweep_crews_give_up(run, err.text);
    } else if (jr_sweep_crews_open(run, controller) != 0) {
        if (run->nodes.count == 0)
            jr_controller_close(controller);
        jr_sweep_crews_give_up(run, "the agents of the nodes cannot be led");
    }
}

void jr_sweep_nodes_show_rest(struct jr_sweep_run *run, const struct jr_policy *policy)
{
    sigset_t ignored;
    jr_signals_ignored(&ignored);
    for (size_t i = 0; run->options->console != NULL && i < run->nodes.count; i++)
        if (!jr_controller_show_rest(run->nodes.crews[i]->controller, policy, &ignored,
                                     run->stop_signal != 0))
            jr_session_note(run->session, "not all of the output was shown: "
                                          "`jobrun logs` shows the rest");
}

void jr_sweep_nodes_close(struct jr_sweep_run *run)
{
    struct jr_sweep_nodes *nodes = &run->nodes;
    for (uint32_t i = 0; nodes->count > 0 && i < run->needs.nodes; i++)
        jr_cell_files_drop(&nodes->files[i]);
    while (nodes->count > 0) {
        struct jr_controller *controller = nodes->crews[--nodes->count]->controller;
        if (run->stop_signal != 0) /* all that is left of cells is lost */
            jr_controller_forsake(controller);
        jr_controller_close(controller);
    }
    if (nodes->epoll_fd >= 0)
        (void)close(nodes->epoll_fd);
    nodes->epoll_fd = -1;
}

bool jr_sweep_nodes_has(const struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    return run->nodes.count > 0 && !process->grant.alone;
}

struct jr_cell_process *jr_sweep_nodes_find(struct jr_sweep_run *run, uint32_t node,
                                            uint32_t number)
{
    for (size_t i = 0; i < run->running_count; i++) {
        struct jr_cell_process *process = &run->running[i];
        if (process->on_node && process->grant.node == node &&
            run->states[process->cell].number == number)
            return process;
    }
    return NULL;
}

static const char *list_numbers(struct jr_arena *arena, const uint32_t *numbers, uint32_t count)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (uint32_t i = 0; i < count; i++)
        jr_buf_printf(&text, "%s%u", i == 0 ? "" : ",", numbers[i]);
    return count == 0 ? NULL : jr_buf_keep(&text, arena);
}

/* The spec of a cell as text; NULL with `err`. */
static char *write_spec(struct jr_sweep_run *run, size_t cell, struct jr_arena *arena,
                        struct jr_error *err)
{
    const struct jr_session *session = run->session;
    struct jr_diags silent = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_swept_spec_load(&file, session->swept, cell, &silent) == 0)
        jr_spec_emit_whole(&text, file, session->options.args);
    else
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "cell %u could not be read again",
                           run->states[cell].number);
    jr_spec_free(file);
    jr_diags_release(&silent);
    char *kept = text.data == NULL ? NULL : jr_buf_keep(&text, arena);
    if (kept == NULL && err->text[0] == '\0')
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return kept;
}

/* The number that a node of the sweep has in a crew. */
static uint32_t find_number(const struct jr_sweep_crew *crew, uint32_t node)
{
    uint32_t number = 0;
    while (number + 1 < crew->count && crew->nodes[number] != node)
        number++;
    return number;
}

/* A host that does not see the folder of the sweep may not have the work tree either, by whose top
 * the paths of an experiment are compared. */
static const char *find_fingerprint(struct jr_sweep_run *run, const struct jr_sweep_crew *crew,
                                    struct jr_cell_process *process)
{
    uint32_t node = find_number(crew, process->grant.node);
    return jr_controller_node(crew->controller, node).apart
               ? jr_sweep_fingerprint(run, process->cell, &process->arena)
               : NULL;
}

int jr_sweep_nodes_begin(struct jr_sweep_run *run, struct jr_cell_process *process,
                         struct jr_error *err)
{
    struct jr_session *session = run->session;
    struct jr_arena *arena = &process->arena;
    const struct jr_grant *grant = &process->grant;
    struct jr_sweep_crew *crew = find_crew(run);
    const struct jr_cell_need *need = &run->needs.kinds[run->needs.kind_of[process->cell]];
    /* As where the sweep runs: only cores that can be told apart are bound. */
    const struct jr_host *host = &session->cell_hosts[grant->node];
    bool binds = jr_host_core_count(host) >= run->schedule.nodes[grant->node].room.cores;
    const struct jr_controller_cell cell = {
        .node = crew == NULL ? 0 : find_number(crew, grant->node),
        .spec = write_spec(run, process->cell, arena, err),
        .folder = jr_spec_folder_of(session->swept->file),
        .name = session->spec_name,
        .inject = session->options.inject,
        .cell = jr_arena_printf(arena, "%u", run->states[process->cell].number),
        .sweep = run->dir.id,
        .cells = run->cells_dir,
        .device = need->device_name,
        .devices = list_numbers(arena, grant->devices, grant->devices_count),
        .cores = binds ? list_numbers(arena, grant->cores, grant->cores_count) : NULL,
        .limit_ms = session->options.wait_ms,
        .console = run->options->console == NULL  ? NULL
                   : run->options->console->color ? "color"
                                                  : "plain",
        .fingerprint = crew == NULL ? NULL : find_fingerprint(run, crew, process)};
    if (cell.spec == NULL)
        return -1;
    if (arena->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (crew == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "no agent is there");
    jr_controller_begin_cell(crew->controller, &cell);
    process->crew = crew;
    process->on_node = true;
    process->began_ns = jr_clock_ns();
    return 0;
}

void jr_sweep_nodes_signal(struct jr_sweep_run *run, int sig, bool stop)
{
    for (size_t i = 0; i < run->nodes.count; i++)
        if (!run->nodes.crews[i]->starting)
            jr_controller_signal_cells(run->nodes.crews[i]->controller, sig, stop);
}

void jr_sweep_nodes_hasten(struct jr_sweep_run *run, bool again)
{
    for (size_t i = 0; i < run->nodes.count; i++)
        if (!run->nodes.crews[i]->starting)
            jr_heartbeat_demand(run->nodes.crews[i]->controller, again);
}

void jr_sweep_nodes_stop(struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    char number[16];
    const struct jr_sweep_crew *crew = process->crew;
    (void)snprintf(number, sizeof number, "%u", run->states[process->cell].number);
    if (!jr_controller_stop_cell(crew->controller, find_number(crew, process->grant.node), number))
        jr_session_note(run->session, "a cell was to be stopped, and its node cannot be told "
                                      "since another one was lost");
}

const char *jr_sweep_nodes_there(const struct jr_sweep_run *run, struct jr_cell_process *process)
{
    const struct jr_sweep_crew *crew = process->crew;
    uint32_t node = process->grant.node;
    if (!process->on_node || !jr_controller_node(crew->controller, find_number(crew, node)).apart)
        return NULL;
    return jr_arena_printf(&process->arena, "%s/%s/" JR_OWN_CELLS_NAME, run->log_dir, run->dir.id,
                           node, run->nodes.token);
}

int jr_sweep_nodes_fd(const struct jr_sweep_run *run)
{
    return run->nodes.epoll_fd;
}

uint64_t jr_sweep_nodes_due(const struct jr_sweep_run *run)
{
    uint64_t first = 0;
    for (size_t i = 0; i < run->nodes.count; i++) {
        uint64_t due = jr_controller_due(run->nodes.crews[i]->controller);
        if (due != 0 && (first == 0 || due < first))
            first = due;
    }
    return first;
}

void jr_sweep_nodes_attend(struct jr_sweep_run *run)
{
    for (size_t i = 0; i < run->nodes.count; i++) {
        struct jr_sweep_crew *crew = run->nodes.crews[i];
        jr_controller_attend(crew->controller);
        if (crew->starting)
            jr_sweep_crews_await(run, crew);
    }
    if (run->nodes.renews)
        jr_sweep_crews_renew(run);
}

bool jr_sweep_nodes_reap(struct jr_sweep_run *run, pid_t pid, int status)
{
    for (size_t i = 0; i < run->nodes.count; i++)
        if (jr_controller_reap(run->nodes.crews[i]->controller, pid, status))
            return true;
    return false;
}

size_t jr_sweep_nodes_children(const struct jr_sweep_run *run, pid_t *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < run->nodes.count; i++)
        count += jr_controller_children(run->nodes.crews[i]->controller, ret + count);
    return count;
}

bool jr_sweep_nodes_are_awaited(const struct jr_sweep_run *run)
{
    const struct jr_sweep_nodes *nodes = &run->nodes;
    return !run->closing && nodes->count > 0 && nodes->crews[nodes->count - 1]->starting;
}

void jr_sweep_nodes_leave(struct jr_sweep_run *run)
{
    for (size_t i = 0; i < run->nodes.count; i++)
        jr_controller_forget(run->nodes.crews[i]->controller);
}
