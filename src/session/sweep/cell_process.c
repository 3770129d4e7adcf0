/* The process of a cell, a fork of the sweep's. sweep_run.h says what it is to the other
 * processes. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/host.h"
#include "session/stages.h"
#include "session/sweep/cell_session.h"
#include "session/sweep/sweep_run_parts.h"
#include "session/sweep/sweep_screen.h"

#include "base/banned.h"

/* The session of a cell, in its own process. */
struct cell_session {
    struct jr_sweep_run *run;
    size_t cell;
    char folder[16];
};

/* "cell 7: ..." */
static void note_cell_line(void *data, const char *line)
{
    const struct cell_session *own = data;
    const struct jr_session_options *options = &own->run->session->options;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, "cell %u: %s", own->run->states[own->cell].number, line);
    if (options->note != NULL && !text.failed)
        options->note(options->data, text.data);
}

/* The facts of the machine, as far as they are this cell's. */
static void take_part(struct jr_session *session, struct jr_sweep_run *run,
                      const struct jr_cell_process *process)
{
    const struct jr_session *sweep = run->session;
    const struct jr_grant *grant = &process->grant;
    struct jr_host_part part = {.devices = grant->devices, .devices_count = grant->devices_count};
    if (jr_host_core_count(&sweep->host) >= run->needs.rooms[0].cores) {
        part.cores = grant->cores;
        part.cores_count = grant->cores_count;
    }
    session->leases = process->leases;
    session->leases_count = process->leases_count;
    session->machine = &run->machine;
    session->group_home = run->group_home;
    session->known_code = &run->code.known;
    session->custom = sweep->custom;
    jr_cell_take_part(session, &sweep->host, &part);
}

static enum jr_status load_cell(struct jr_session *session, const struct cell_session *own,
                                struct jr_error *err)
{
    struct jr_sweep_run *run = own->run;
    enum jr_status status = JR_STATUS_OK;
    const struct jr_cell_state *state = &run->states[own->cell];
    struct jr_arena *arena = &session->arena;
    session->cell = jr_arena_printf(arena, "%u", state->number);
    session->sweep_id = run->dir.id;
    session->cells_dir = run->cells_dir;
    session->cell_run_id = jr_arena_printf(arena, "%s.%s", run->dir.id, own->folder);
    session->spec_name = run->session->spec_name;
    if (jr_swept_spec_load(&session->file, run->session->swept, own->cell, &session->diags) != 0)
        status = jr_spec_status(&session->diags);
    if (status == JR_STATUS_OK && arena->failed)
        status = JR_STATUS_LAUNCH;
    if (status == JR_STATUS_OK)
        session->progress = JR_PROGRESS_LOADED;
    return jr_session_end_stage(session, 0, status, err);
}

/* The whole of the cell. Returns the exit status. */
static int run_cell(const struct cell_session *own, const struct jr_cell_process *process)
{
    struct jr_sweep_run *run = own->run;
    struct jr_session_options options = run->session->options;
    struct jr_error err = {0};
    struct cell_session data = *own;
    options.run_id = own->folder;
    options.cell = NULL;
    options.end_children = true;
    options.wait = false; /* the sweep has waited for what the cell has */
    options.note = note_cell_line;
    options.data = &data;
    struct jr_session *session = jr_session_open(&options);
    if (session == NULL)
        return JR_STATUS_LAUNCH;
    take_part(session, run, process);
    enum jr_status status = load_cell(session, own, &err);
    if (status == JR_STATUS_OK)
        status = jr_session_begin(session, &err);
    bool begun = status == JR_STATUS_OK;
    if (begun)
        status = jr_session_run(session, run->options->console, &err);
    if (status != JR_STATUS_OK)
        run->options->refused(run->options->data, session, status, &err);
    int code = begun && status == JR_STATUS_OK ? jr_session_exit_code(session) : (int)status;
    jr_session_close(session); /* with it go the port and the control group */
    return code;
}

int jr_cell_process_start(struct jr_sweep_run *run, struct jr_cell_process *process,
                          struct jr_error *err)
{
    struct cell_session own = {.run = run, .cell = process->cell};
    pid_t sweep = getpid();
    jr_cell_folder(own.folder, run->states[process->cell].number);
    process->began_ns = jr_clock_ns();
    process->pid = fork();
    if (process->pid < 0) {
        process->pid = 0;
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not begin cell %u",
                            run->states[process->cell].number);
    }
    if (process->pid > 0)
        return 0;
    jr_cell_leave_parent(sweep);
    jr_sweep_nodes_leave(run);
    jr_sweep_screen_leave(run);
    jr_sweep_devices_keep(run);
    _exit(run_cell(&own, process));
}
