#include "session/sweep/sweep_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/num.h"
#include "base/shell_words.h"
#include "judge/words.h"
#include "record/live_run.h"
#include "record/record_folder.h"
#include "resolve/resolve.h"
#include "session/sweep/internal.h"
#include "session/sweep/cell_session.h"
#include "spawn/reap_descendants.h"
#include "sweep/sweep_file.h"
#include "sweep/swept_spec.h"

#include "base/banned.h"

#define END_WAIT_NS (10 * UINT64_C(1000000000))

/* The folder. */

/* Load every cell, so that a mistake in the last one is found before the first begins. The findings
 * are those of the first that has some, and name it. */
static enum jr_status check_cells(struct jr_session *session)
{
    struct jr_diags *diags = &session->diags;
    const struct jr_cells *cells = &session->swept->cells;
    struct jr_shared_files files;
    enum jr_status status = JR_STATUS_OK;
    jr_shared_files_init(&files);
    session->swept->options.unbound = true;
    for (size_t i = 0; i < cells->count && status == JR_STATUS_OK; i++) {
        struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
        struct jr_spec_file *file = NULL;
        size_t first = diags->count;
        if (jr_swept_spec_load(&file, session->swept, i, diags) == 0 &&
            jr_shared_files_add(&files, file, i, diags) == 0) {
            diags->count = first; /* warnings are told by the first cell that is resolved */
            jr_spec_free(file);
            continue;
        }
        status = jr_spec_status(diags);
        jr_buf_printf(&name, " (cell %zu: ", i);
        jr_cells_text(&name, cells, i);
        jr_buf_char(&name, ')');
        for (size_t k = first; k < diags->count && !name.failed; k++)
            diags->items[k].message =
                jr_arena_printf(&diags->arena, "%s%s", diags->items[k].message, name.data);
        jr_session_keep_cell_file(session, file);
    }
    session->swept->options.unbound = false;
    jr_shared_files_release(&files);
    return status;
}

/* What became of a cell. */

static void tell_line(struct jr_sweep_run *run, const struct jr_buf *line)
{
    jr_sweep_screen_hide(run);
    if (run->options->line != NULL && !line->failed && line->data != NULL)
        run->options->line(run->options->data, line->data);
}

/* "cell 7 failed after 1.2 s   vars.lr=0.1   accuracy 0.95" */
static void tell_cell(struct jr_sweep_run *run, size_t cell)
{
    const struct jr_cell_state *state = &run->states[cell];
    const struct jr_cells *cells = &run->session->swept->cells;
    const char *field = cells->axes->best.field;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line, "%zu/%zu  cell %04u %s after %.1f s   ", run->done, run->to_run,
                  state->number, state->status, state->seconds);
    jr_cells_text(&line, cells, cell);
    if (field != NULL && state->result != NULL) {
        jr_buf_str(&line, "   ");
        jr_buf_safe(&line, field);
        jr_buf_char(&line, ' ');
        jr_cell_result_text(&line, json_object_get(state->result, field));
    }
    if (strcmp(state->status, "succeeded") != 0) {
        JR_CLOSE int fd = jr_sweep_open_cell(run, cell);
        jr_buf_str(&line, "   ");
        jr_sweep_cell_reason(&line, fd);
    }
    tell_line(run, &line);
}

/* A cell left no record: its node was lost with it, or it could not begin. On a full disk all
 * others would end like that, one after the other. */
static void take_no_record(struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    struct jr_cell_state *state = &run->states[process->cell];
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    state->status = process->lost ? "lost" : "launch_failed";
    if (process->lost)
        state->seconds = (double)(jr_clock_ns() - process->began_ns) / 1e9;
    if (process->lost || run->closing || (!process->full && !jr_cell_disk_is_full(run->cells_fd)))
        return;
    run->closing = true;
    jr_buf_printf(&line,
                  "the disk of %s is full: no other cell begins. Once there is "
                  "space, go on with --resume=%s",
                  run->log_dir, run->dir.id);
    jr_session_note_buf(run->session, &line);
}

/* Take over what became of a cell, note it, and tell it. Returns whether it has delivered. */
static bool take_cell(struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    size_t cell = process->cell;
    struct jr_cell_state *state = &run->states[cell];
    if (process->on_node) {
        /* What another machine has written is seen once the folder was opened anew: nfs(5),
         * close-to-open. */
        JR_CLOSE int fd = openat(run->cells_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    /* Whether its process says itself that it has not delivered: one that was killed says nothing,
     * since its runner wrote the record. */
    bool failed = process->on_node
                      ? !process->lost && process->code != 0
                      : WIFEXITED(process->exit_status) && WEXITSTATUS(process->exit_status) != 0;
    if (!jr_sweep_read_cell(run, cell)) {
        if (process->on_node && !process->lost && process->code == JR_STATUS_UNRESOLVED &&
            process->grant.devices_count > 0 && run->session->options.wait_ms > 0) {
            /* It has not begun, because its devices were not to be had on its node within the time
             * of --wait: others would wait as long. */
            state->status = "not_started";
            state->host = NULL;
            run->devices.over = run->closing = true;
            return false;
        }
        take_no_record(run, process);
    } else if (strcmp(state->status, "succeeded") == 0 && failed) {
        /* A record that says otherwise is not its own: where it could not begin, because something
         * stood in the place of its folder. */
        json_decref(state->result);
        *state = (struct jr_cell_state){
            .number = state->number, .status = "launch_failed", .host = state->host};
    }
    bool good = strcmp(state->status, "succeeded") == 0;
    bool interrupted = !good && (run->stop_signal != 0 || process->lost);
    run->done++;
    if (!good && !interrupted) {
        uint32_t most = run->session->swept->axes.stop_after;
        run->failed++;
        run->closing |= most > 0 && run->failed >= most;
    }
    jr_sweep_note_end(run, cell, interrupted);
    jr_sweep_screen_stir(run);
    if (!good || !jr_sweep_screen_is_open(run))
        tell_cell(run, cell);
    return good;
}

/* A cell is over: its room is free, and what became of it is noted. */
static void end_cell(struct jr_sweep_run *run, struct jr_cell_process *process)
{
    jr_sweep_devices_give(process);
    jr_schedule_end(&run->schedule, &process->grant);
    if (!take_cell(run, process))
        jr_sweep_devices_check(run, process);
    jr_arena_release(&process->arena);
    json_decref(process->progress);
    *process = run->running[--run->running_count];
}

/* The loop. It sleeps until a signal comes: SIGCHLD for a process that ended, the others from
 * whoever wants something of the cells; or until agents have said something. */

/* A cell that had a guard here, which was killed. */
static bool is_orphan(const struct jr_cell_process *process)
{
    return process->pid == 0 && !process->on_node;
}

static bool has_runner(const struct jr_sweep_run *run, const struct jr_cell_process *process,
                       pid_t *ret_runner)
{
    return jr_cell_has_runner(run->cells_dir, run->states[process->cell].number, ret_runner);
}

/* Cells without a guard are over once their runners are. What runs is known, with the runners of
 * cells whose guards were killed; all else was left by cells, and is killed. */
static void end_orphans(struct jr_sweep_run *run)
{
    size_t orphans = 0, lost = 0, count = 0;
    for (size_t i = 0; i < run->running_count; i++)
        orphans += is_orphan(&run->running[i]);
    if (orphans == 0)
        return;
    JR_FREE pid_t *known = calloc(2 * run->running_most + run->needs.nodes + 2, sizeof *known);
    for (; known != NULL && count < run->running_count; count++)
        if (is_orphan(&run->running[count]))
            lost += !has_runner(run, &run->running[count], &known[count]);
    if (lost == 0)
        return;
    for (size_t i = 0; i < run->running_count; i++)
        known[count++] = run->running[i].pid;
    count += jr_sweep_nodes_children(run, known + count);
    jr_cell_kill_strays(known, count);
    for (size_t i = 0; i < run->running_count;) {
        struct jr_cell_process *process = &run->running[i];
        struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
        char folder[16];
        pid_t runner;
        if (!is_orphan(process) || has_runner(run, process, &runner)) {
            i++;
            continue;
        }
        jr_cell_folder(folder, run->states[process->cell].number);
        if (jr_lost_sweep(&line, run->cells_dir, folder) > 0 && !line.failed)
            jr_session_note(run->session, line.data);
        end_cell(run, process);
    }
}

/* Reap what has ended. What is not a guard is an agent's, or was left by a guard that was killed.
 */
static void reap_cells(struct jr_sweep_run *run)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        size_t i = 0;
        while (i < run->running_count && run->running[i].pid != pid)
            i++;
        if (i == run->running_count) {
            (void)jr_sweep_nodes_reap(run, pid, status);
            continue;
        }
        run->running[i].exit_status = status;
        if (WIFEXITED(status))
            end_cell(run, &run->running[i]);
        else
            run->running[i].pid = 0;
    }
    end_orphans(run);
}

/* Every running cell gets the signal, as a run would; what stops runs ends the sweep, too. */
static void take_signal(struct jr_sweep_run *run)
{
    pid_t pid;
    int sig = jr_signal_read(run->signal_fd, &pid);
    enum jr_signal_use use = sig == 0 ? JR_SIGNAL_NONE : run->signals.use[sig];
    bool stops = use == JR_SIGNAL_STOP, again = run->stop_signal != 0;
    if (sig == SIGCHLD)
        jr_cell_stops_take(run);
    if (sig == SIGCHLD || use == JR_SIGNAL_NONE || use == JR_SIGNAL_DROP)
        return;
    if (stops && !again)
        run->stop_signal = sig;
    run->closing |= stops;
    jr_sweep_nodes_signal(run, sig, stops);
    for (size_t i = 0; i < run->running_count; i++)
        if (run->running[i].pid > 0)
            (void)kill(run->running[i].pid, sig);
    if (stops)
        jr_sweep_nodes_hasten(run, again);
    if (use == JR_SIGNAL_SUSPEND) {
        jr_sweep_screen_hide(run);
        (void)kill(getpid(), SIGSTOP);
    }
}

/* The process of a cell. */

/* Whose line it is. */
struct cell_note {
    const struct jr_sweep_run *run;
    uint32_t number;
};

/* "cell 7: ..." */
static void note_cell_line(void *data, const char *line)
{
    const struct cell_note *own = data;
    const struct jr_session_options *options = &own->run->session->options;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, "cell %u: %s", own->number, line);
    if (options->note != NULL && !text.failed)
        options->note(options->data, text.data);
}

/* The whole of a cell, in its own process. Returns the exit status. */
static int run_cell(struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    const struct jr_session *sweep = run->session;
    const struct jr_grant *grant = &process->grant;
    struct cell_note note = {run, run->states[process->cell].number};
    struct jr_session_options options = sweep->options;
    struct jr_host_part part = {.devices = grant->devices, .devices_count = grant->devices_count};
    struct jr_error err = {0};
    char folder[16];
    jr_cell_folder(folder, note.number);
    options.run_id = folder;
    options.cell = NULL;
    options.end_children = true;
    options.wait = false; /* the sweep has waited for what the cell has */
    options.note = note_cell_line;
    options.data = &note;
    struct jr_session *session = jr_session_open(&options);
    if (session == NULL)
        return JR_STATUS_LAUNCH;
    if (jr_host_core_count(&sweep->host) >= run->needs.rooms[0].cores) {
        part.cores = grant->cores;
        part.cores_count = grant->cores_count;
    }
    jr_cell_take_part(session, &sweep->host, &part);
    session->leases = process->leases;
    session->leases_count = process->leases_count;
    session->machine = &run->machine;
    session->group_home = run->group_home;
    session->known_code = &run->code.known;
    session->custom = sweep->custom;
    session->cell = jr_arena_printf(&session->arena, "%u", note.number);
    session->sweep_id = run->dir.id;
    session->cells_dir = run->cells_dir;
    session->cell_run_id = jr_arena_printf(&session->arena, "%s.%s", run->dir.id, folder);
    session->spec_name = sweep->spec_name;
    enum jr_status status = JR_STATUS_OK;
    if (jr_swept_spec_load(&session->file, sweep->swept, process->cell, &session->diags) != 0)
        status = jr_spec_status(&session->diags);
    else if (session->arena.failed)
        status = JR_STATUS_LAUNCH;
    else
        session->progress = JR_PROGRESS_LOADED;
    status = jr_session_end_stage(session, 0, status, &err);
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

/* Begin a cell; -1 with `err` where no process can be made. */
static int start_cell(struct jr_sweep_run *run, struct jr_cell_process *process,
                      struct jr_error *err)
{
    pid_t sweep = getpid();
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
    _exit(run_cell(run, process));
}

enum begun { BEGUN, NOT_NOW, OTHERS_WERE_FASTER };

/* Begin the next cell, here or on the node that it was given a part of, and note that. */
static enum begun begin_cell(struct jr_sweep_run *run)
{
    struct jr_error err = {0};
    struct jr_cell_process *process = &run->running[run->running_count];
    *process = (struct jr_cell_process){0};
    if (run->closing || run->running_count == run->running_most)
        return NOT_NOW;
    jr_sweep_devices_look(run);
    if (!jr_schedule_next(&run->schedule, &process->arena, &process->cell, &process->grant))
        return NOT_NOW;
    jr_sweep_code_renew(run);
    bool there = jr_sweep_nodes_has(run, process);
    bool taken = there || jr_sweep_devices_take(run, process);
    int failed = !taken  ? -1
                 : there ? jr_sweep_nodes_begin(run, process, &err)
                         : start_cell(run, process, &err);
    if (failed != 0) {
        if (taken)
            jr_session_note(run->session, err.text);
        run->closing |= taken;
        jr_sweep_devices_give(process);
        jr_schedule_undo(&run->schedule, process->cell, &process->grant);
        jr_arena_release(&process->arena);
        return taken ? NOT_NOW : OTHERS_WERE_FASTER;
    }
    struct jr_cell_state *state = &run->states[process->cell];
    json_t *values = jr_cells_json(&run->session->swept->cells, process->cell);
    state->status = "running";
    state->host = there ? run->nodes.hosts[process->grant.node] : run->machine.host;
    const struct jr_journal_line line = {.event = JR_JOURNAL_CELL_STARTED,
                                         .cell = state->number,
                                         .values = values,
                                         .host = state->host,
                                         .there = jr_sweep_nodes_there(run, process)};
    jr_journal_add(&run->journal, &line);
    json_decref(values);
    run->running_count++;
    jr_sweep_screen_stir(run);
    return BEGUN;
}

/* Begin what there is room for, and wait for devices that others have. */
static void begin_cells(struct jr_sweep_run *run)
{
    enum { TURNS_MOST = 8 }; /* others may be faster again and again */
    int turn = 0;
    run->devices.again = false;
    while (!run->devices.again) {
        enum begun begun = begin_cell(run);
        if (begun == NOT_NOW && !jr_sweep_devices_await(run))
            return;
        turn = begun == BEGUN ? 0 : turn + 1;
        run->devices.again = turn == TURNS_MOST;
    }
}

static void await_event(struct jr_sweep_run *run)
{
    struct pollfd fds[3 + JR_SWEEP_SCREEN_FDS] = {
        {.fd = run->signal_fd, .events = POLLIN},
        {.fd = run->devices.queue.epoll_fd, .events = POLLIN},
        {.fd = run->nodes.epoll_fd, .events = POLLIN}};
    jr_sweep_screen_turn(run);
    const uint64_t dues[] = {jr_sweep_screen_await(run, fds + 3),
                             jr_journal_sync(&run->journal, false), jr_sweep_devices_due(run),
                             jr_sweep_nodes_due(run)};
    uint64_t due = 0; /* the nearest of those that are not 0, which is none */
    for (size_t i = 0; i < sizeof dues / sizeof *dues; i++)
        if (dues[i] != 0 && (due == 0 || dues[i] < due))
            due = dues[i];
    if (poll(fds, sizeof fds / sizeof *fds, jr_clock_poll_ms(due)) > 0 && fds[0].revents != 0)
        take_signal(run);
}

/* Run all cells to their end, or to that of the sweep. What signals mean is as the spec of the
 * first cell says it. */
static void loop_sweep(struct jr_sweep_run *run)
{
    static const struct jr_policy none;
    const struct jr_session *session = run->session;
    const struct jr_spec *spec =
        session->cell_files_count > 0 ? jr_spec_get(session->cell_files[0]) : NULL;
    const struct jr_policy *policy = spec != NULL ? &spec->policy : &none;
    struct jr_reap reap;
    sigset_t set, ignored;
    jr_signals_ignored(&ignored);
    jr_signals_make(&run->signals, policy, &ignored);
    jr_signals_set(&run->signals, &set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (run->signal_fd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        jr_session_note(run->session, "could not set up the sweep");
        run->closing = true;
    }
    jr_cell_stops_clear(run);
    jr_sweep_screen_open(run);
    struct pollfd early = {.fd = run->signal_fd, .events = POLLIN}; /* while agents were asked */
    while (poll(&early, 1, 0) > 0 && early.revents == POLLIN)
        take_signal(run);
    for (;;) {
        reap_cells(run);
        jr_sweep_nodes_attend(run); /* to what the agents of the nodes have said */
        for (size_t i = 0; i < run->running_count;)
            if (run->running[i].over)
                end_cell(run, &run->running[i]); /* the last takes its place */
            else
                i++;
        begin_cells(run);
        if (run->running_count == 0 && run->devices.queue.ticket == 0 && !run->devices.again &&
            !jr_sweep_nodes_are_awaited(run))
            break;
        await_event(run);
    }
    jr_sweep_nodes_show_rest(run, policy);
    jr_sweep_nodes_close(run);
    jr_reap(&reap, END_WAIT_NS, NULL);
    jr_cell_stops_clear(run);
    jr_sweep_screen_close(run);
}

/* The end. */

/* How many cells have each of the ends, and the exit status of all. */
static int count_ends(const struct jr_sweep_run *run, size_t *ret_good, size_t *ret_bad)
{
    const struct jr_cells *cells = &run->session->swept->cells;
    int lowest = 0;
    *ret_good = *ret_bad = 0;
    for (size_t i = 0; i < cells->count; i++) {
        int code = jr_cell_status_class(run->states[i].status);
        bool good = strcmp(run->states[i].status, "succeeded") == 0;
        *ret_good += good;
        *ret_bad += code != 0;
        if (run->devices.over && strcmp(run->states[i].status, "not_started") == 0)
            code = JR_STATUS_UNRESOLVED;
        if (code != 0 && (lowest == 0 || code < lowest))
            lowest = code;
    }
    if (lowest == 0 && *ret_good < cells->count)
        lowest = JR_STATUS_LAUNCH;
    return run->stop_signal != 0 ? 128 + run->stop_signal : lowest;
}

/* "23 of 24 cells delivered, 1 did not; best cell 0002: accuracy 0.96" */
static void add_counts(struct jr_buf *out, const struct jr_sweep_record *record, size_t good,
                       size_t bad)
{
    size_t count = record->cells->count, left = count - good - bad;
    long best = jr_sweep_record_best(record);
    jr_buf_printf(out, "%zu of %zu cells delivered", good, count);
    if (bad > 0)
        jr_buf_printf(out, ", %zu did not", bad);
    if (left > 0)
        jr_buf_printf(out, ", %zu did not begin", left);
    if (best < 0)
        return;
    const char *field = record->cells->axes->best.field;
    jr_buf_printf(out, "; best cell %04u: ", record->states[best].number);
    jr_buf_safe(out, field);
    jr_buf_char(out, ' ');
    jr_cell_result_text(out, json_object_get(record->states[best].result, field));
}

/* The best of the cells that delivered, as `show` has them; nothing where none is better than
 * another. */
static void add_best_rows(struct jr_buf *out, const struct jr_sweep_run *run, size_t good)
{
    enum { MOST = 3 };
    struct jr_buf rows JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_sweep_table table;
    struct jr_error err;
    const struct jr_sweep_view view = {.top = good < MOST ? (uint32_t)good : MOST};
    if (jr_sweep_table_open(&table, run->log_dir, run->dir.id, JR_ROWS_TEXT, &err) == 0 &&
        table.best >= 0 && good > 1 && jr_sweep_table_arrange(&table, &view, &err) == 0)
        jr_sweep_table_print(&rows, &table, &view);
    for (size_t at = 0, len; at < rows.len && !rows.failed; at += len + 1) {
        len = strcspn(rows.data + at, "\n");
        jr_buf_str(out, "\n        ");
        jr_buf_add(out, rows.data + at, len);
    }
    jr_sweep_table_close(&table);
}

/* How to go on with a sweep that has not delivered all. */
static void add_way_on(struct jr_buf *out, const struct jr_sweep_run *run)
{
    const struct jr_session_options *options = &run->session->options;
    const char *spec = run->session->spec_name;
    bool plain = spec != NULL && strcmp(spec, "stdin") != 0 &&
                 (options->sets == NULL || options->sets[0] == NULL) &&
                 (options->sweeps == NULL || options->sweeps[0] == NULL);
    jr_buf_str(out, "\n        to go on: ");
    if (plain) {
        jr_buf_str(out, "jobrun ");
        jr_shell_quote(out, spec);
        jr_buf_str(out, " --resume");
    } else {
        jr_buf_printf(out, "the same command, with --resume=%s behind jobrun", run->dir.id);
    }
}

/* What became of all, the best cells, where the rest is, and how to go on. */
static void tell_end(struct jr_sweep_run *run, size_t good, size_t bad)
{
    const struct jr_sweep_record record = {.cells = &run->session->swept->cells,
                                           .states = run->states};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT, path JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, "%s: ", run->name);
    add_counts(&text, &record, good, bad);
    add_best_rows(&text, run, good);
    JR_FREE char *here = getcwd(NULL, 0);
    size_t above = here == NULL ? 0 : strlen(here);
    bool below = above > 1 && strncmp(run->log_dir, here, above) == 0 && run->log_dir[above] == '/';
    jr_buf_printf(&path, "%s/%s", run->log_dir + (below ? above + 1 : 0), run->dir.id);
    jr_buf_str(&text, "\n        ");
    jr_buf_safe(&text, path.failed ? run->dir.id : path.data);
    jr_buf_str(&text, "   (jobrun show latest");
    if (!path.failed)
        jr_words_log_dir(&text, path.data);
    jr_buf_char(&text, ')');
    if (good < record.cells->count)
        add_way_on(&text, run);
    tell_line(run, &text);
}

/* Write the record of the sweep, tell the end, and return the exit status. The last line of the
 * journal says that sweep.json is whole, and its lock, which the caller gives back, that all was
 * told to whoever reads. */
static int end_sweep(struct jr_sweep_run *run)
{
    size_t good, bad;
    struct jr_error err = {0};
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    int code = count_ends(run, &good, &bad);
    (void)jr_journal_sync(&run->journal, true);
    if (run->journal.failed)
        jr_session_note(run->session, "the journal of the sweep is not whole");
    if (run->journal.failed && code == 0)
        code = JR_STATUS_LAUNCH;
    run->exit_code = code;
    run->ended = true;
    if (jr_sweep_write(run, &err) == 0) {
        jr_journal_add(&run->journal, &(struct jr_journal_line){.event = JR_JOURNAL_SWEEP_ENDED,
                                                                .cell = JR_JOURNAL_NO_CELL});
    } else {
        /* As on a full disk: the journal and the cells' own records still tell what became of
         * each. */
        jr_buf_printf(&line,
                      "%s/%s/%s; every cell that ended has its own record: once "
                      "that is mended, --resume=%s writes it",
                      run->log_dir, run->dir.id, err.text, run->dir.id);
        jr_session_note_buf(run->session, &line);
        code = code == 0 ? JR_STATUS_LAUNCH : code;
    }
    (void)jr_journal_sync(&run->journal, true);
    tell_end(run, good, bad);
    return code;
}

/* The beginning. */

/* The schedule, by the needs of the cells. */
static void begin_schedule(struct jr_sweep_run *run)
{
    const struct jr_cell_needs *needs = &run->needs;
    struct jr_arena *arena = &run->session->arena;
    size_t count = run->session->swept->cells.count;
    uint32_t parallel = run->options->parallel > 0 ? run->options->parallel : needs->parallel;
    run->slots = jr_arena_array(arena, needs->count, sizeof *run->slots);
    for (size_t i = 0; run->slots != NULL && i < needs->count; i++)
        run->slots[i] = jr_cell_needs_slots(&needs->kinds[i]);
    struct jr_node_room *rooms = jr_arena_array(arena, needs->nodes, sizeof *rooms);
    for (uint32_t i = 0; rooms != NULL && i < needs->nodes; i++)
        rooms[i] = (struct jr_node_room){.cores = needs->rooms[i].cores,
                                         .devices = needs->rooms[i].places};
    const struct jr_room all = jr_cell_needs_room(needs);
    const struct jr_schedule with = {
        .kinds = run->slots,
        .kinds_count = needs->count,
        .kind_of = needs->kind_of,
        .skips = run->skips,
        .count = count,
        .rooms = rooms,
        .nodes_count = rooms == NULL ? 0 : needs->nodes,
        .parallel = parallel,
    };
    jr_schedule_init(&run->schedule, &with);
    run->running_most = all.cores + all.places;
    if (parallel > run->running_most)
        run->running_most = parallel;
    if (run->running_most > count)
        run->running_most = count;
    run->running = jr_arena_array(arena, run->running_most + 1, sizeof *run->running);
}

/* Check all cells, find the needs, and make the folder. */
static enum jr_status begin_sweep(struct jr_sweep_run *run, struct jr_error *err)
{
    struct jr_session *session = run->session;
    size_t first = session->diags.count;
    enum jr_status status = check_cells(session);
    if (status != JR_STATUS_OK)
        return jr_session_end_stage(session, first, status, err);
    status = jr_cell_needs_find(&run->needs, session, err);
    if (status != JR_STATUS_OK)
        return status;
    jr_sweep_begin_states(run);
    jr_sweep_devices_open(run);
    status = jr_sweep_open_folder(run, jr_spec_get(session->cell_files[0]), err);
    if (status != JR_STATUS_OK)
        return status;
    begin_schedule(run);
    if (!session->arena.failed && !run->schedule.arena.failed)
        return JR_STATUS_OK;
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return JR_STATUS_LAUNCH;
}

void jr_sweep_close(struct jr_sweep_run *run)
{
    jr_journal_close(&run->journal);
    jr_close_fd(&run->cells_fd);
    jr_close_fd(&run->signal_fd);
    for (size_t i = 0; run->states != NULL && i < run->session->swept->cells.count; i++)
        json_decref(run->states[i].result);
    json_decref(run->former);
    jr_sweep_nodes_close(run);
    jr_sweep_code_close(run);
    jr_sweep_devices_close(run);
    jr_schedule_release(&run->schedule);
    jr_cell_needs_release(&run->needs);
    jr_run_folder_close(&run->dir);
}

/* "lr-scan: 24 cells, each 1 of 4 cuda; at most 4 at once" */
static void tell_begin(const struct jr_sweep_run *run)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT, held JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_cell_needs *needs = &run->needs;
    const struct jr_cell_need *need = &needs->kinds[0];
    size_t count = run->session->swept->cells.count;
    uint32_t pools = 0; /* the devices that will do, on all nodes */
    for (uint32_t i = 0; need->devices > 0 && i < needs->nodes; i++)
        for (uint32_t k = 0; k < needs->rooms[i].places; k++)
            pools += need->may[i][k];
    jr_buf_printf(&line, "%s: %zu cell%s", run->name, count, count == 1 ? "" : "s");
    if (run->kept > 0)
        jr_buf_printf(&line, ", of which %zu have delivered", run->kept);
    if (needs->count == 1 && need->nodes > 1) {
        jr_buf_printf(&line, ", each %u nodes, one after the other", need->nodes);
    } else if (needs->count == 1 && need->devices > 0) {
        jr_buf_printf(&line, ", each %u of %u %s", need->devices, pools, need->device_name);
    } else if (needs->count == 1) {
        jr_buf_printf(&line, ", each %u of %u CPU cores", need->cores,
                      jr_cell_needs_room(needs).cores);
    }
    if (needs->nodes > 1 && need->nodes <= 1)
        jr_buf_printf(&line, ", on %u nodes", needs->nodes);
    if (run->schedule.parallel > 0)
        jr_buf_printf(&line, ", at most %u at once", run->schedule.parallel);
    if (jr_sweep_devices_holders(&held, &run->devices.list, NULL, run->devices.around))
        jr_buf_printf(&line, "; %s", held.data);
    jr_buf_printf(&line, "; %s/%s", run->log_dir, run->dir.id);
    if (!line.failed && run->options->line != NULL)
        run->options->line(run->options->data, line.data);
}

enum jr_status jr_session_run_sweep(struct jr_session *session,
                                    const struct jr_sweep_options *options, int *ret_code,
                                    struct jr_error *err)
{
    JR_DECIMAL_POINT;
    *ret_code = 0;
    struct jr_sweep_run run = {.session = session, .options = options, JR_SWEEP_RUN_CLOSED};
    enum jr_status status = begin_sweep(&run, err);
    const struct jr_sweep_place place = {run.dir.id, run.dir.fd, run.dir.file_mode};
    if (status == JR_STATUS_OK && options->begun != NULL)
        *ret_code = options->begun(options->data, &place);
    if (status == JR_STATUS_OK && *ret_code == 0) {
        /* What each cell would find out alike. */
        jr_record_machine_read(&run.machine, &session->arena);
        jr_group_find_home(run.group_home);
        tell_begin(&run);
        jr_sweep_nodes_open(&run);
        loop_sweep(&run);
        *ret_code = end_sweep(&run);
        jr_journal_close(&run.journal);
        jr_sweep_screen_finish(&run);
    }
    jr_sweep_close(&run);
    return status;
}
