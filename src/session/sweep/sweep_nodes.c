/* The nodes of a sweep, and the crews of agents there. internal.h has its manual. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "base/strv.h"
#include "eventloop/signals.h"
#include "resolve/resolve.h"
#include "session/sweep/internal.h"
#include "store/run_folder.h"

#include "base/banned.h"

/* "node 1 (gpu02)" */
static void add_node_name(struct jr_buf *out, const struct jr_sweep_run *run, uint32_t node)
{
    jr_buf_printf(out, "node %u (", node);
    jr_buf_safe(out, run->nodes.hosts[node]);
    jr_buf_char(out, ')');
}

/* No other cell begins, for a reason. */
static void give_up_crews(struct jr_sweep_run *run, const char *why)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    run->nodes.renews = false;
    jr_buf_printf(&line, "%s: no other cell begins: go on with --resume=%s", why, run->dir.id);
    if (!run->closing)
        jr_session_note_buf(run->session, &line);
    run->closing = true;
}

/* Where each agent has a link of its own, the others do not notice. */
static void leave_host(struct jr_sweep_run *run, uint32_t node, const char *all)
{
    run->nodes.lost[node] = true;
    jr_schedule_lose(&run->schedule, node);
    for (uint32_t i = 0; i < run->needs.nodes; i++)
        if (!run->nodes.lost[i])
            return;
    give_up_crews(run, all);
}

/* What crews are told by their agents. */

static void take_cell_end(void *data, uint32_t node, const struct jr_cell_end *end)
{
    const struct jr_sweep_crew *crew = data;
    struct jr_sweep_run *run = crew->run;
    uint32_t number;
    if (end->cell == NULL || !jr_num_u32(end->cell, &number))
        return;
    struct jr_cell_process *process = jr_sweep_nodes_find(run, crew->nodes[node], number);
    if (process == NULL || process->crew != crew)
        return;
    if (end->sent)
        jr_cell_files_end(&run->nodes.files[crew->nodes[node]], process);
    process->over = true;
    process->code = end->code;
    if (end->full && !run->nodes.lost[crew->nodes[node]]) {
        /* A host whose disk is full would end one cell after the other. */
        struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
        add_node_name(&line, run, crew->nodes[node]);
        jr_buf_printf(&line, ": the disk of %s there is full: no other cell begins there",
                      run->log_dir);
        jr_session_note_buf(run->session, &line);
        leave_host(run, crew->nodes[node], "no host has room for another cell");
    }
    process->gone = end->gone == NULL ? NULL : jr_arena_strdup(&process->arena, end->gone);
}

static void take_cell_left(void *data, uint32_t node, const char *bytes, size_t len)
{
    const struct jr_sweep_crew *crew = data;
    jr_cell_files_take(&crew->run->nodes.files[crew->nodes[node]], bytes, len);
}

static void take_note(void *data, uint32_t node, const char *line)
{
    const struct jr_sweep_crew *crew = data;
    (void)node;
    jr_session_note(crew->run->session, line);
}

static void take_progress(void *data, uint32_t node, const char *text)
{
    const struct jr_sweep_crew *crew = data;
    json_auto_t *line = jr_json_parse(text, strlen(text), NULL);
    json_t *progress = json_object_get(line, "progress");
    struct jr_cell_process *process =
        jr_sweep_nodes_find(crew->run, crew->nodes[node], jr_json_get_u32(line, "cell"));
    if (process != NULL && json_is_object(progress)) {
        json_decref(process->progress);
        process->progress = json_incref(progress);
    }
}

/* No cell that begins now would come to its end. */
static void take_ceasing(void *data, uint32_t node)
{
    const struct jr_sweep_crew *crew = data;
    struct jr_sweep_run *run = crew->run;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    run->closing = true;
    if (run->stop_signal == 0)
        run->stop_signal = SIGTERM;
    if (run->nodes.told)
        return;
    run->nodes.told = true;
    add_node_name(&line, run, crew->nodes[node]);
    jr_buf_str(&line, ": the cluster ends what runs there: no other cell begins");
    jr_session_note_buf(run->session, &line);
}

/* No cell begins by the last crew any more; another one may do it. Where that is on its way, it is
 * to be without this node, too. */
static void leave_node(struct jr_sweep_crew *crew, uint32_t node)
{
    struct jr_sweep_run *run = crew->run;
    struct jr_sweep_crew *last = run->nodes.crews[run->nodes.count - 1];
    if (jr_controller_has_links(crew->controller)) {
        leave_host(run, crew->nodes[node], "all hosts are lost");
        return;
    }
    if (crew != last && !last->starting)
        return; /* what begins cells there says so itself */
    run->nodes.lost[crew->nodes[node]] = true;
    run->nodes.renews = true;
    for (uint32_t i = 0; i < crew->count; i++)
        jr_schedule_lose(&run->schedule, crew->nodes[i]);
}

static void take_loss(void *data, uint32_t node, const char *why)
{
    struct jr_sweep_crew *crew = data;
    struct jr_sweep_run *run = crew->run;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT, ended JR_BUF_CLEANUP = JR_BUF_INIT;
    uint32_t count = 0;
    for (size_t i = 0; i < run->running_count; i++) {
        struct jr_cell_process *process = &run->running[i];
        if (process->crew != crew || process->grant.node != crew->nodes[node])
            continue;
        process->over = process->lost = true;
        jr_buf_printf(&ended, "%s %u", count++ == 0 ? "" : ",", run->states[process->cell].number);
    }
    add_node_name(&line, run, crew->nodes[node]);
    jr_buf_str(&line, " is lost: ");
    jr_buf_safe(&line, why);
    if (count > 0 && !ended.failed)
        jr_buf_printf(&line, "; cell%s%s ended with it", count == 1 ? "" : "s", ended.data);
    if (!run->nodes.lost[crew->nodes[node]])
        jr_session_note_buf(run->session, &line);
    leave_node(crew, node);
    jr_cell_files_drop(&run->nodes.files[crew->nodes[node]]);
}

/* Crews come and go. */

/* A crew of so many nodes, which are not known yet; NULL without memory. */
static struct jr_sweep_crew *push_crew(struct jr_sweep_run *run, uint32_t count)
{
    struct jr_sweep_nodes *nodes = &run->nodes;
    struct jr_arena *arena = &run->session->arena;
    struct jr_sweep_crew *crew = jr_arena_array(arena, 1, sizeof *crew);
    uint32_t *numbers = jr_arena_array(arena, count + 1, sizeof *numbers);
    if (crew == NULL || numbers == NULL)
        return NULL;
    *crew = (struct jr_sweep_crew){.run = run,
                                   .nodes = numbers,
                                   .count = count,
                                   .watcher = {.data = crew,
                                               .ended = take_cell_end,
                                               .said = take_note,
                                               .left = take_cell_left,
                                               .ceased = take_ceasing,
                                               .lost = take_loss,
                                               .told = take_progress}};
    nodes->crews[nodes->count++] = crew;
    return crew;
}

static void watch_crew(struct jr_sweep_run *run, const struct jr_sweep_crew *crew)
{
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(run->nodes.epoll_fd, EPOLL_CTL_ADD, jr_controller_fd(crew->controller), &event) ==
        0)
        return;
    jr_session_note(run->session, "cannot hear the agents of the nodes");
    run->closing = true;
}

/* Its agents are there. */
static void serve_crew(struct jr_sweep_crew *crew)
{
    const struct jr_session_console *console = crew->run->options->console;
    jr_controller_serve(crew->controller, &crew->watcher);
    if (console != NULL)
        jr_controller_show_cells(crew->controller, console->out_fd, console->err_fd);
}

/* Start another crew, on the nodes that are left, if it has something to begin. */
static void renew_crew(struct jr_sweep_run *run)
{
    struct jr_sweep_nodes *nodes = &run->nodes;
    struct jr_arena *arena = &run->session->arena;
    struct jr_error err = {0};
    if (nodes->crews[nodes->count - 1]->starting)
        jr_controller_close(nodes->crews[--nodes->count]->controller);
    if (run->closing)
        return;
    if (!jr_schedule_has_more(&run->schedule, false)) {
        if (jr_schedule_has_more(&run->schedule, true)) /* what would wait for ever */
            give_up_crews(run, "cells of several nodes want all nodes");
        return;
    }
    struct jr_strv *left = jr_arena_array(arena, 1, sizeof *left);
    for (uint32_t i = 0; left != NULL && i < run->needs.nodes; i++)
        if (!nodes->lost[i])
            jr_strv_push(left, arena, nodes->hosts[i]);
    if (left == NULL || left->count == 0) {
        give_up_crews(run, "all nodes are lost");
        return;
    }
    struct jr_sweep_crew *crew = push_crew(run, (uint32_t)left->count);
    nodes->renews = false;
    if (crew == NULL ||
        jr_session_renew_cell_agents(&crew->controller, run->session, left, &err) != 0) {
        nodes->count -= crew != NULL;
        give_up_crews(run, crew == NULL ? "out of memory" : err.text);
        return;
    }
    crew->starting = true;
    watch_crew(run, crew);
}

/* Which nodes its agents are on. False: on others. */
static bool find_nodes(struct jr_sweep_crew *crew)
{
    const struct jr_sweep_nodes *nodes = &crew->run->nodes;
    for (uint32_t i = 0; i < crew->count; i++) {
        const char *host = jr_controller_node(crew->controller, i).host;
        uint32_t node = 0;
        while (node < crew->run->needs.nodes &&
               (nodes->lost[node] || strcmp(nodes->hosts[node], host) != 0))
            node++;
        if (node == crew->run->needs.nodes)
            return false;
        crew->nodes[i] = node;
    }
    return true;
}

/* See whether one that was started is there. */
static void await_crew(struct jr_sweep_run *run, struct jr_sweep_crew *crew)
{
    struct jr_error err = {0};
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    int waits = jr_controller_started(crew->controller, &err);
    if (waits > 0)
        return;
    crew->starting = false;
    if (waits < 0 || !find_nodes(crew)) {
        crew->count = 0;
        give_up_crews(run, waits < 0 ? err.text
                                     : "srun has taken other nodes than those that "
                                       "are left");
        return;
    }
    serve_crew(crew);
    for (uint32_t i = 0; i < crew->count; i++)
        jr_schedule_regain(&run->schedule, crew->nodes[i]);
    jr_buf_printf(&line, "cells go on on the %u node%s that %s left, through a step of their own",
                  crew->count, crew->count == 1 ? "" : "s", crew->count == 1 ? "is" : "are");
    if (jr_schedule_has_more(&run->schedule, true))
        jr_buf_str(&line, "; those of several nodes do not begin");
    jr_session_note_buf(run->session, &line);
}

/* The first crew, on all nodes, which are named after its agents. -1: it cannot be led; the
 * controller is the caller's where there is no crew then. */
static int open_crews(struct jr_sweep_run *run, struct jr_controller *controller)
{
    struct jr_sweep_nodes *nodes = &run->nodes;
    struct jr_arena *arena = &run->session->arena;
    uint32_t count = run->needs.nodes;
    nodes->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    nodes->crews = jr_arena_array(arena, count + 1, sizeof(void *));
    nodes->hosts = jr_arena_array(arena, count, sizeof(char *));
    nodes->lost = jr_arena_array(arena, count, sizeof *nodes->lost);
    nodes->files = jr_arena_array(arena, count, sizeof *nodes->files);
    if (nodes->epoll_fd < 0 || arena->failed)
        return -1;
    struct jr_sweep_crew *crew = push_crew(run, count);
    for (uint32_t i = 0; crew != NULL && i < count; i++) {
        crew->nodes[i] = i;
        jr_cell_files_init(&nodes->files[i], run, i);
        nodes->hosts[i] = jr_arena_strdup(arena, jr_controller_node(controller, i).host);
    }
    if (crew == NULL)
        return -1;
    crew->controller = controller;
    watch_crew(run, crew);
    serve_crew(crew);
    return arena->failed ? -1 : 0;
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
    bool results = jr_left_is_collected(policy->engine.ssh, "results");
    bool logs = jr_left_is_collected(policy->engine.ssh, "logs");
    const struct jr_cells_place place = {.cells = run->cells_dir,
                                         .token = run->nodes.token,
                                         .collect = results && logs ? "results,logs"
                                                    : results       ? "results"
                                                    : logs          ? "logs"
                                                                    : "",
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
    bool small = false; /* agents are needed: some cell is for one node */
    for (size_t i = 0; i < run->needs.count; i++)
        small |= run->needs.kinds[i].nodes <= 1;
    if (session->cell_hosts == NULL || !small) {
        jr_controller_close(controller);
    } else if (share_folder(run, controller, &err) != 0) {
        jr_controller_close(controller);
        give_up_crews(run, err.text);
    } else if (open_crews(run, controller) != 0) {
        if (run->nodes.count == 0)
            jr_controller_close(controller);
        give_up_crews(run, "the agents of the nodes cannot be led");
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
    jr_close_fd(&nodes->epoll_fd);
}

bool jr_sweep_nodes_has(const struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    return run->nodes.count > 0 && !process->grant.alone;
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

int jr_sweep_nodes_begin(struct jr_sweep_run *run, struct jr_cell_process *process,
                         struct jr_error *err)
{
    struct jr_session *session = run->session;
    struct jr_arena *arena = &process->arena;
    const struct jr_grant *grant = &process->grant;
    const struct jr_sweep_nodes *nodes = &run->nodes;
    struct jr_sweep_crew *crew = /* by which cells begin; NULL: it is not there yet */
        nodes->count == 0 || nodes->renews || nodes->crews[nodes->count - 1]->starting
            ? NULL
            : nodes->crews[nodes->count - 1];
    const struct jr_cell_need *need = &run->needs.kinds[run->needs.kind_of[process->cell]];
    /* As where the sweep runs: only cores that can be told apart are bound. */
    const struct jr_host *host = &session->cell_hosts[grant->node];
    bool binds = jr_host_core_count(host) >= run->schedule.nodes[grant->node].room.cores;
    uint32_t number = crew == NULL ? 0 : find_number(crew, grant->node);
    /* A host that does not see the folder of the sweep may not have the work tree either, by whose
     * top the paths of an experiment are compared. */
    bool apart = crew != NULL && jr_controller_node(crew->controller, number).apart;
    const struct jr_controller_cell cell = {
        .node = number,
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
        .fingerprint = apart ? jr_sweep_fingerprint(run, process->cell, arena) : NULL};
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
            await_crew(run, crew);
    }
    if (run->nodes.renews)
        renew_crew(run);
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
