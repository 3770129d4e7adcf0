/*
 * The loop of a sweep. It sleeps until a signal comes: SIGCHLD for a process that ended, the others
 * from whoever wants something of the cells. sweep_run_parts.h declares it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "record/live_run.h"
#include "session/stages.h"
#include "session/sweep/cell_session.h"
#include "session/sweep/cell_stops.h"
#include "session/sweep/sweep_run_parts.h"
#include "session/sweep/sweep_screen.h"
#include "spawn/reap_descendants.h"

#include "base/banned.h"

#define END_WAIT_NS (10 * UINT64_C(1000000000))

static struct jr_cell_process *find_process(struct jr_sweep_run *run, pid_t pid)
{
    for (size_t i = 0; i < run->running_count; i++)
        if (run->running[i].pid == pid)
            return &run->running[i];
    return NULL;
}

/* A cell is over: its room is free, and what became of it is noted. */
static void end_cell(struct jr_sweep_run *run, struct jr_cell_process *process)
{
    jr_sweep_devices_give(process);
    jr_schedule_end(&run->schedule, &process->grant);
    if (!jr_sweep_take_cell(run, process))
        jr_sweep_devices_check(run, process);
    jr_arena_release(&process->arena);
    json_decref(process->progress);
    *process = run->running[--run->running_count];
}

/* What runs is known, with the runners of cells whose guards were killed; all else was left by
 * cells. */
static void kill_strays(struct jr_sweep_run *run, pid_t *known, size_t count)
{
    for (size_t i = 0; i < run->running_count; i++)
        known[count++] = run->running[i].pid;
    count += jr_sweep_nodes_children(run, known + count);
    jr_cell_kill_strays(known, count);
}

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

static bool has_orphans(const struct jr_sweep_run *run)
{
    for (size_t i = 0; i < run->running_count; i++)
        if (is_orphan(&run->running[i]))
            return true;
    return false;
}

/* Cells without a guard are over once their runners are. */
static void end_orphans(struct jr_sweep_run *run)
{
    bool lost = false;
    if (!has_orphans(run))
        return;
    JR_FREE pid_t *known = calloc(2 * run->running_most + run->needs.nodes + 2, sizeof *known);
    for (size_t i = 0; known != NULL && i < run->running_count; i++)
        if (is_orphan(&run->running[i]))
            lost |= !has_runner(run, &run->running[i], &known[i]);
    if (!lost)
        return;
    kill_strays(run, known, run->running_count);
    for (size_t i = 0; i < run->running_count;) {
        struct jr_cell_process *process = &run->running[i];
        pid_t runner;
        char folder[16];
        struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
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

/* Reap what has ended. What is not a guard was left by one that was killed. */
static void reap_cells(struct jr_sweep_run *run)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct jr_cell_process *process = find_process(run, pid);
        if (process == NULL) {
            (void)jr_sweep_nodes_reap(run, pid, status);
            continue;
        }
        process->exit_status = status;
        if (WIFEXITED(status))
            end_cell(run, process);
        else
            process->pid = 0;
    }
    end_orphans(run);
}

/* Take what the agents of the nodes have said. */
static void attend_nodes(struct jr_sweep_run *run)
{
    jr_sweep_nodes_attend(run);
    for (size_t i = 0; i < run->running_count;)
        if (run->running[i].over)
            end_cell(run, &run->running[i]);
        else
            i++;
}

static void pass_signal(struct jr_sweep_run *run, int sig)
{
    jr_sweep_nodes_signal(run, sig, run->signals.use[sig] == JR_SIGNAL_STOP);
    for (size_t i = 0; i < run->running_count; i++)
        if (run->running[i].pid > 0)
            (void)kill(run->running[i].pid, sig);
}

/* Every running cell gets the signal, as a run would; what stops runs ends the sweep, too. */
static void take_signal(struct jr_sweep_run *run)
{
    pid_t pid;
    int sig = jr_signal_read(run->signal_fd, &pid);
    enum jr_signal_use use = sig == 0 ? JR_SIGNAL_NONE : run->signals.use[sig];
    if (sig == SIGCHLD)
        jr_cell_stops_take(run);
    if (sig == SIGCHLD || use == JR_SIGNAL_NONE || use == JR_SIGNAL_DROP)
        return;
    bool again = run->stop_signal != 0;
    if (use == JR_SIGNAL_STOP) {
        if (!again)
            run->stop_signal = sig;
        run->closing = true;
    }
    pass_signal(run, sig);
    if (use == JR_SIGNAL_STOP)
        jr_sweep_nodes_hasten(run, again);
    if (use == JR_SIGNAL_SUSPEND) {
        jr_sweep_screen_hide(run);
        (void)kill(getpid(), SIGSTOP);
    }
}

/* What came before the loop, as while agents were asked. */
static void take_pending_signals(struct jr_sweep_run *run)
{
    struct pollfd fd = {.fd = run->signal_fd, .events = POLLIN};
    while (poll(&fd, 1, 0) > 0 && fd.revents == POLLIN)
        take_signal(run);
}

/* Note that a cell has begun. */
static void enter_cell(struct jr_sweep_run *run, struct jr_cell_process *process)
{
    size_t cell = process->cell;
    json_t *values = jr_cells_json(&run->session->swept->cells, cell);
    run->running_count++;
    jr_sweep_screen_stir(run);
    run->states[cell].status = "running";
    run->states[cell].host =
        process->on_node ? run->nodes.hosts[process->grant.node] : run->machine.host;
    jr_journal_add(&run->journal,
                   &(struct jr_journal_line){.event = JR_JOURNAL_CELL_STARTED,
                                             .cell = run->states[cell].number,
                                             .values = values,
                                             .host = run->states[cell].host,
                                             .there = jr_sweep_nodes_there(run, process)});
    json_decref(values);
}

/* Here, or on the node that it was given a part of. */
static int start_cell(struct jr_sweep_run *run, struct jr_cell_process *process,
                      struct jr_error *err)
{
    return jr_sweep_nodes_has(run, process) ? jr_sweep_nodes_begin(run, process, err)
                                            : jr_cell_process_start(run, process, err);
}

enum begun { BEGUN, NOT_NOW, OTHERS_WERE_FASTER };

/* Begin the next cell. */
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
    bool taken = jr_sweep_nodes_has(run, process) || jr_sweep_devices_take(run, process);
    if (taken && start_cell(run, process, &err) == 0) {
        enter_cell(run, process);
        return BEGUN;
    }
    if (taken) {
        jr_session_note(run->session, err.text);
        run->closing = true;
    }
    jr_sweep_devices_give(process);
    jr_schedule_undo(&run->schedule, process->cell, &process->grant);
    jr_arena_release(&process->arena);
    return taken ? NOT_NOW : OTHERS_WERE_FASTER;
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

/* The nearer of two moments, of which 0 is none. */
static uint64_t nearer_of(uint64_t one_ns, uint64_t other_ns)
{
    return one_ns == 0 || (other_ns != 0 && other_ns < one_ns) ? other_ns : one_ns;
}

static void await_event(struct jr_sweep_run *run)
{
    struct pollfd fds[3 + JR_SWEEP_SCREEN_FDS] = {
        {.fd = run->signal_fd, .events = POLLIN},
        {.fd = run->devices.queue.epoll_fd, .events = POLLIN},
        {.fd = jr_sweep_nodes_fd(run), .events = POLLIN}};
    jr_sweep_screen_turn(run);
    uint64_t due =
        nearer_of(jr_sweep_screen_await(run, fds + 3), jr_journal_sync(&run->journal, false));
    due = nearer_of(due, jr_sweep_devices_due(run));
    int wait_ms = jr_clock_poll_ms(nearer_of(due, jr_sweep_nodes_due(run)));
    if (poll(fds, sizeof fds / sizeof *fds, wait_ms) > 0 && fds[0].revents != 0)
        take_signal(run);
}

/* What signals mean, by the spec of the first cell. */
static const struct jr_policy *policy_of(const struct jr_sweep_run *run)
{
    static const struct jr_policy none;
    const struct jr_session *session = run->session;
    const struct jr_spec *spec =
        session->cell_files_count > 0 ? jr_spec_get(session->cell_files[0]) : NULL;
    return spec != NULL ? &spec->policy : &none;
}

static int open_loop(struct jr_sweep_run *run)
{
    sigset_t set, ignored;
    jr_signals_ignored(&ignored);
    jr_signals_make(&run->signals, policy_of(run), &ignored);
    jr_signals_set(&run->signals, &set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, &run->mask);
    (void)sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return run->signal_fd < 0 ? -1 : prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void jr_sweep_loop(struct jr_sweep_run *run)
{
    struct jr_reap reap;
    if (open_loop(run) != 0) {
        jr_session_note(run->session, "could not set up the sweep");
        run->closing = true;
    }
    jr_cell_stops_clear(run);
    jr_sweep_screen_open(run);
    take_pending_signals(run);
    for (;;) {
        reap_cells(run);
        attend_nodes(run);
        begin_cells(run);
        if (run->running_count == 0 && run->devices.queue.ticket == 0 && !run->devices.again &&
            !jr_sweep_nodes_are_awaited(run))
            break;
        await_event(run);
    }
    jr_sweep_nodes_show_rest(run, policy_of(run));
    jr_sweep_nodes_close(run);
    jr_reap(&reap, END_WAIT_NS, NULL);
    jr_cell_stops_clear(run);
    jr_sweep_screen_close(run);
}
