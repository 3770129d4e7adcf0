/* The crews of sweep_nodes.h: what their agents tell, and how one takes the place of another.
 * sweep_nodes.h declares it. */
#include "session/sweep/sweep_nodes.h"

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "base/strv.h"
#include "session/multinode_session.h"
#include "session/stages.h"
#include "session/sweep/sweep_run_parts.h"

#include "base/banned.h"

/* "node 1 (gpu02)" */
static void add_node_name(struct jr_buf *out, const struct jr_sweep_run *run, uint32_t node)
{
    jr_buf_printf(out, "node %u (", node);
    jr_buf_safe(out, run->nodes.hosts[node]);
    jr_buf_char(out, ')');
}

/* Where each agent has a link of its own, the others do not notice. */
static void leave_host(struct jr_sweep_run *run, uint32_t node, const char *all)
{
    run->nodes.lost[node] = true;
    jr_schedule_lose(&run->schedule, node);
    for (uint32_t i = 0; i < run->needs.nodes; i++)
        if (!run->nodes.lost[i])
            return;
    jr_sweep_crews_give_up(run, all);
}

/* A host whose disk is full would end one cell after the other. */
static void leave_full_host(struct jr_sweep_run *run, uint32_t node)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (run->nodes.lost[node])
        return;
    add_node_name(&line, run, node);
    jr_buf_printf(&line, ": the disk of %s there is full: no other cell begins there",
                  run->log_dir);
    jr_session_note_buf(run->session, &line);
    leave_host(run, node, "no host has room for another cell");
}

/* What crews are told by their agents. */

static bool runs_on(const struct jr_cell_process *process, const struct jr_sweep_crew *crew,
                    uint32_t node)
{
    return process->crew == crew && process->grant.node == crew->nodes[node];
}

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
    if (end->full)
        leave_full_host(run, crew->nodes[node]);
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
    json_t *line = jr_json_parse(text, strlen(text), NULL);
    json_t *progress = json_object_get(line, "progress");
    struct jr_cell_process *process =
        jr_sweep_nodes_find(crew->run, crew->nodes[node], jr_json_get_u32(line, "cell"));
    if (process != NULL && json_is_object(progress)) {
        json_decref(process->progress);
        process->progress = json_incref(progress);
    }
    json_decref(line);
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

/* "; cells 3, 7 ended with it" */
static void add_lost_cells(struct jr_buf *out, const struct jr_sweep_crew *crew, uint32_t node)
{
    const struct jr_sweep_run *run = crew->run;
    struct jr_buf list JR_BUF_CLEANUP = JR_BUF_INIT;
    uint32_t count = 0;
    for (size_t i = 0; i < run->running_count; i++)
        if (runs_on(&run->running[i], crew, node))
            jr_buf_printf(&list, "%s %u", count++ == 0 ? "" : ",",
                          run->states[run->running[i].cell].number);
    if (count > 0 && !list.failed)
        jr_buf_printf(out, "; cell%s%s ended with it", count == 1 ? "" : "s", list.data);
}

void jr_sweep_crews_give_up(struct jr_sweep_run *run, const char *why)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    run->nodes.renews = false;
    jr_buf_printf(&line, "%s: no other cell begins: go on with --resume=%s", why, run->dir.id);
    if (!run->closing)
        jr_session_note_buf(run->session, &line);
    run->closing = true;
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
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    add_node_name(&line, run, crew->nodes[node]);
    jr_buf_str(&line, " is lost: ");
    jr_buf_safe(&line, why);
    add_lost_cells(&line, crew, node);
    if (!run->nodes.lost[crew->nodes[node]])
        jr_session_note_buf(run->session, &line);
    leave_node(crew, node);
    jr_cell_files_drop(&run->nodes.files[crew->nodes[node]]);
    for (size_t i = 0; i < run->running_count; i++)
        if (runs_on(&run->running[i], crew, node))
            run->running[i].over = run->running[i].lost = true;
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

/* Whether another crew has something to begin. What is left besides wants all nodes, and would wait
 * for ever. */
static bool awaits_small_cells(struct jr_sweep_run *run)
{
    if (run->closing)
        return false;
    if (jr_schedule_has_more(&run->schedule, false))
        return true;
    if (jr_schedule_has_more(&run->schedule, true))
        jr_sweep_crews_give_up(run, "cells of several nodes want all nodes");
    return false;
}

void jr_sweep_crews_renew(struct jr_sweep_run *run)
{
    struct jr_sweep_nodes *nodes = &run->nodes;
    struct jr_arena *arena = &run->session->arena;
    struct jr_error err = {0};
    if (nodes->crews[nodes->count - 1]->starting)
        jr_controller_close(nodes->crews[--nodes->count]->controller);
    if (!awaits_small_cells(run))
        return;
    struct jr_strv *left = jr_arena_array(arena, 1, sizeof *left);
    for (uint32_t i = 0; left != NULL && i < run->needs.nodes; i++)
        if (!nodes->lost[i])
            jr_strv_push(left, arena, nodes->hosts[i]);
    if (left == NULL || left->count == 0) {
        jr_sweep_crews_give_up(run, "all nodes are lost");
        return;
    }
    struct jr_sweep_crew *crew = push_crew(run, (uint32_t)left->count);
    nodes->renews = false;
    if (crew == NULL ||
        jr_session_renew_cell_agents(&crew->controller, run->session, left, &err) != 0) {
        nodes->count -= crew != NULL;
        jr_sweep_crews_give_up(run, crew == NULL ? "out of memory" : err.text);
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

void jr_sweep_crews_await(struct jr_sweep_run *run, struct jr_sweep_crew *crew)
{
    struct jr_error err = {0};
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    int waits = jr_controller_started(crew->controller, &err);
    if (waits > 0)
        return;
    crew->starting = false;
    if (waits < 0 || !find_nodes(crew)) {
        crew->count = 0;
        jr_sweep_crews_give_up(run, waits < 0 ? err.text
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

int jr_sweep_crews_open(struct jr_sweep_run *run, struct jr_controller *controller)
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
