#include "session/sweep/sweep_nodes.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "resolve/resolve.h"
#include "session/stages.h"
#include "session/sweep/sweep_run_parts.h"

#include "base/banned.h"

static void note_line(struct jr_sweep_run *run, struct jr_buf *line)
{
    if (!line->failed && line->data != NULL)
        jr_session_note(run->session, line->data);
}

static struct jr_cell_process *find_process(struct jr_sweep_run *run,
                                            uint32_t node, uint32_t number)
{
    for (size_t i = 0; i < run->running_count; i++) {
        struct jr_cell_process *process = &run->running[i];
        if (process->on_node && process->grant.node == node &&
            run->states[process->cell].number == number)
            return process;
    }
    return NULL;
}

static void take_cell_end(void *data, uint32_t node, const char *cell, int code)
{
    struct jr_sweep_run *run = data;
    uint32_t number;
    if (cell == NULL || !jr_num_u32(cell, &number))
        return;
    struct jr_cell_process *process = find_process(run, node, number);
    if (process == NULL)
        return;
    process->over = true;
    process->code = code;
}

static void take_note(void *data, uint32_t node, const char *line)
{
    struct jr_sweep_run *run = data;
    (void)node;
    jr_session_note(run->session, line);
}

/* No cell that begins now would come to its end. */
static void take_ceasing(void *data, uint32_t node)
{
    struct jr_sweep_run *run = data;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    run->closing = true;
    if (run->stop_signal == 0)
        run->stop_signal = SIGTERM;
    if (run->nodes.told)
        return;
    run->nodes.told = true;
    jr_controller_name(&line, run->nodes.controller, node);
    jr_buf_str(&line, ": the cluster ends what runs there: no other cell "
                      "begins");
    note_line(run, &line);
}

/* "cells 3, 7 ended with it" */
static void add_lost_cells(struct jr_buf *out, struct jr_sweep_run *run,
                           uint32_t node)
{
    uint32_t count = 0;
    for (size_t i = 0; i < run->running_count; i++)
        count += run->running[i].on_node && run->running[i].grant.node == node;
    if (count == 0)
        return;
    jr_buf_str(out, count == 1 ? "; cell" : "; cells");
    bool first = true;
    for (size_t i = 0; i < run->running_count; i++) {
        const struct jr_cell_process *process = &run->running[i];
        if (!process->on_node || process->grant.node != node)
            continue;
        jr_buf_printf(out, "%s %u", first ? "" : ",",
                      run->states[process->cell].number);
        first = false;
    }
    jr_buf_str(out, " ended with it");
}

static void take_loss(void *data, uint32_t node, const char *why)
{
    struct jr_sweep_run *run = data;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_controller_name(&line, run->nodes.controller, node);
    jr_buf_str(&line, " is lost: ");
    jr_buf_safe(&line, why);
    add_lost_cells(&line, run, node);
    if (!run->closing)
        jr_buf_printf(&line, "; no other cell begins: go on with --resume=%s",
                      run->dir.id);
    note_line(run, &line);
    run->closing = true;
    jr_schedule_lose(&run->schedule, node);
    for (size_t i = 0; i < run->running_count; i++) {
        struct jr_cell_process *process = &run->running[i];
        if (process->on_node && process->grant.node == node)
            process->over = process->lost = true;
    }
}

/* Whether agents are needed at all: some cell is for one node. */
static bool has_small_cells(const struct jr_sweep_run *run)
{
    for (size_t i = 0; i < run->needs.count; i++)
        if (run->needs.kinds[i].nodes <= 1)
            return true;
    return run->sampler.on;
}

void jr_sweep_nodes_open(struct jr_sweep_run *run)
{
    struct jr_session *session = run->session;
    run->nodes.watcher = (struct jr_cell_watcher){.data = run,
                                                  .ended = take_cell_end,
                                                  .said = take_note,
                                                  .ceased = take_ceasing,
                                                  .lost = take_loss};
    if (session->cell_hosts == NULL)
        return;
    run->nodes.controller = session->controller;
    session->controller = NULL;
    if (has_small_cells(run))
        jr_controller_serve(run->nodes.controller, &run->nodes.watcher);
    else
        jr_sweep_nodes_close(run);
}

void jr_sweep_nodes_close(struct jr_sweep_run *run)
{
    jr_controller_close(run->nodes.controller);
    run->nodes.controller = NULL;
}

bool jr_sweep_nodes_has(const struct jr_sweep_run *run,
                        const struct jr_cell_process *process)
{
    return run->nodes.controller != NULL && !process->grant.alone;
}

static const char *list_numbers(struct jr_arena *arena, const uint32_t *numbers,
                                uint32_t count)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (uint32_t i = 0; i < count; i++)
        jr_buf_printf(&text, "%s%u", i == 0 ? "" : ",", numbers[i]);
    return count == 0 ? NULL : jr_buf_keep(&text, arena);
}

/* The spec of a cell as text; NULL with `err`. */
static char *write_spec(struct jr_sweep_run *run, size_t cell,
                        struct jr_arena *arena, struct jr_error *err)
{
    const struct jr_session *session = run->session;
    struct jr_diags silent = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_swept_spec_load(&file, session->swept, cell, &silent) == 0)
        jr_spec_emit_whole(&text, file, session->options.args);
    else
        (void)jr_error_set(err, JR_STATUS_LAUNCH,
                           "cell %u could not be read again",
                           run->states[cell].number);
    jr_spec_free(file);
    jr_diags_release(&silent);
    char *kept = text.data == NULL ? NULL : jr_buf_keep(&text, arena);
    if (kept == NULL && err->text[0] == '\0')
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return kept;
}

int jr_sweep_nodes_begin(struct jr_sweep_run *run,
                         struct jr_cell_process *process, struct jr_error *err)
{
    struct jr_session *session = run->session;
    struct jr_arena *arena = &process->arena;
    const struct jr_grant *grant = &process->grant;
    const struct jr_cell_need *need =
        &run->needs.kinds[run->needs.kind_of[process->cell]];
    /* As where the sweep runs: only cores that can be told apart are bound. */
    const struct jr_host *host = &session->cell_hosts[grant->node];
    bool binds =
        jr_host_core_count(host) >= run->schedule.nodes[grant->node].room.cores;
    const struct jr_controller_cell cell = {
        .node = grant->node,
        .spec = write_spec(run, process->cell, arena, err),
        .folder = jr_spec_folder_of(session->swept->file),
        .name = session->spec_name,
        .inject = session->options.inject,
        .cell = jr_arena_printf(arena, "%u", run->states[process->cell].number),
        .sweep = run->dir.id,
        .cells = run->cells_dir,
        .device = need->device_name,
        .devices = list_numbers(arena, grant->devices, grant->devices_count),
        .cores = binds ? list_numbers(arena, grant->cores, grant->cores_count)
                       : NULL,
        .limit_ms = session->options.wait_ms};
    if (cell.spec == NULL)
        return -1;
    if (arena->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    jr_controller_begin_cell(run->nodes.controller, &cell);
    process->on_node = true;
    process->began_ns = jr_clock_ns();
    return 0;
}

void jr_sweep_nodes_signal(struct jr_sweep_run *run, int sig, bool stop)
{
    if (run->nodes.controller != NULL)
        jr_controller_signal_cells(run->nodes.controller, sig, stop);
}

int jr_sweep_nodes_fd(const struct jr_sweep_run *run)
{
    return run->nodes.controller == NULL
               ? -1
               : jr_controller_fd(run->nodes.controller);
}

uint64_t jr_sweep_nodes_due(const struct jr_sweep_run *run)
{
    return run->nodes.controller == NULL
               ? 0
               : jr_controller_due(run->nodes.controller);
}

void jr_sweep_nodes_attend(struct jr_sweep_run *run)
{
    if (run->nodes.controller != NULL)
        jr_controller_attend(run->nodes.controller);
}

bool jr_sweep_nodes_reap(struct jr_sweep_run *run, pid_t pid, int status)
{
    return run->nodes.controller != NULL &&
           jr_controller_reap(run->nodes.controller, pid, status);
}

pid_t jr_sweep_nodes_child(const struct jr_sweep_run *run)
{
    return run->nodes.controller == NULL
               ? 0
               : jr_controller_child(run->nodes.controller);
}

void jr_sweep_nodes_leave(struct jr_sweep_run *run)
{
    if (run->nodes.controller != NULL)
        jr_controller_forget(run->nodes.controller);
}
