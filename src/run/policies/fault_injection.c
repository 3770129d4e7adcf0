/*
 * Rehearsed failures: what a plan's injections do to the ranks.
 *
 * - kill, oom, exit: SIGKILL to the rank and its group, recorded as the end
 * that it stands for;
 * - stop: SIGSTOP to the rank, which continues with jobrun's own SIGCONT;
 * - hang: SIGSTOP to its whole group, which does not continue;
 * - slow: its group is stopped for four fifths of each half second.
 *
 * None of them happens to a rank that has ended, or is being stopped. A plan without injections
 * costs nothing, one with them a timer. internal.h declares it.
 */
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/pidfd.h"
#include "run/internal.h"

#include "base/banned.h"

#define MS    UINT64_C(1000000)
#define STILL (400 * MS) /* of a slow rank's half second */
#define MOVES (100 * MS)

static void send_injected_signal(const struct jr_rank_run *rank, int sig, bool group)
{
    (void)jr_child_signal(rank->watch.fd, rank->pid, sig);
    if (group)
        (void)kill(-rank->pid, sig);
}

static bool injection_kills(enum jr_inject what)
{
    return what == JR_INJECT_KILL || what == JR_INJECT_OOM || what == JR_INJECT_EXIT ||
           what == JR_INJECT_LOST_NODE;
}

/* A rank that was killed is on its way to its end, which a later item of the same moment
 * (exit:1=75, slow:0-2) must not rename. */
static void apply_injection(struct jr_runner *runner, struct jr_rank_run *rank,
                            const struct jr_injection *injection, struct jr_inject_cell *cell)
{
    struct jr_rank_outcome *outcome = rank->outcome;
    bool again = injection->what == JR_INJECT_SLOW;
    int sig = injection_kills(injection->what) ? SIGKILL : SIGSTOP;
    if (outcome->injected && injection_kills(outcome->injection)) {
        cell->at = 0;
        return;
    }
    if (again && cell->still)
        sig = SIGCONT;
    if (again)
        cell->still = !cell->still;
    cell->at = again ? jr_clock_ns() + (cell->still ? STILL : MOVES) : 0;
    if (!outcome->injected)
        JR_TELL(runner, .name = JR_EVENT_INJECTED, .rank = rank->plan->rank,
                .injection = injection->what);
    outcome->injected = true;
    outcome->injection = injection->what;
    outcome->injected_code = injection->code;
    send_injected_signal(rank, sig, injection->what != JR_INJECT_STOP);
}

/* A node is lost at one moment: with the first of its ranks whose time has come, the others are
 * due, however long after it they were started. */
static void lose_whole_node(const struct jr_runner *runner, struct jr_inject_cell *cells,
                            uint64_t now)
{
    bool due = false;
    for (uint32_t i = 0; i < runner->plan->count; i++)
        due = due ||
              (cells[i].at != 0 && cells[i].at <= now && runner->ranks[i].state == JR_LIFE_RUNNING);
    for (uint32_t i = 0; due && i < runner->plan->count; i++)
        if (cells[i].at > now)
            cells[i].at = now;
}

/* What is due now, and when to look again. */
static void on_injection_due(void *owner)
{
    struct jr_runner *runner = owner;
    const struct jr_plan *plan = runner->plan;
    struct jr_inject_cell *cell = runner->fault_injection.cells;
    uint64_t now = jr_clock_ns(), next = 0;
    for (uint32_t k = 0; k < plan->injections_count; k++) {
        if (plan->injections[k].what == JR_INJECT_LOST_NODE)
            lose_whole_node(runner, cell, now);
        for (uint32_t i = 0; i < plan->count; i++, cell++) {
            struct jr_rank_run *rank = &runner->ranks[i];
            if (cell->at != 0 && cell->at <= now && rank->state == JR_LIFE_RUNNING)
                apply_injection(runner, rank, &plan->injections[k], cell);
            if (rank->state == JR_LIFE_SUSPENDED && cell->at <= now && cell->at != 0)
                cell->at = now + MOVES;
            if (rank->state != JR_LIFE_RUNNING && rank->state != JR_LIFE_SUSPENDED)
                continue;
            if (cell->at != 0 && (next == 0 || cell->at < next))
                next = cell->at;
        }
    }
    runner->fault_injection.timer.at = next;
}

static int open_injections(struct jr_runner *runner)
{
    const struct jr_plan *plan = runner->plan;
    struct jr_fault_injection *injector = &runner->fault_injection;
    injector->timer = (struct jr_timer){.due = on_injection_due, .owner = runner};
    if (plan->injections_count == 0)
        return 0;
    jr_loop_timer(&runner->loop, &injector->timer);
    injector->cells =
        calloc((size_t)plan->injections_count * plan->count + 1, sizeof *injector->cells);
    return injector->cells == NULL ? -1 : 0;
}

static void schedule_injections(struct jr_rank_run *rank)
{
    struct jr_runner *runner = rank->runner;
    const struct jr_plan *plan = runner->plan;
    size_t i = (size_t)(rank - runner->ranks);
    uint32_t number = rank->plan->rank;
    for (uint32_t k = 0; k < plan->injections_count; k++) {
        const struct jr_injection *injection = &plan->injections[k];
        if (injection->what == JR_INJECT_NORESULT || injection->what == JR_INJECT_DEADLINE ||
            injection->what == JR_INJECT_PREEMPT || number < injection->first ||
            number > injection->last || (number - injection->first) % injection->step != 0)
            continue;
        uint64_t at = rank->outcome->started_ns + injection->after_ms * MS;
        runner->fault_injection.cells[k * (size_t)plan->count + i].at = at;
        if (runner->fault_injection.timer.at == 0 || at < runner->fault_injection.timer.at)
            runner->fault_injection.timer.at = at;
    }
}

/* The end of a rank becomes the one that was played. */
static void settle_injected_end(struct jr_rank_run *rank)
{
    struct jr_rank_outcome *outcome = rank->outcome;
    bool lost = outcome->injection == JR_INJECT_LOST_NODE && !outcome->killed;
    if (!outcome->injected || (outcome->stopped_with != 0 && !lost) ||
        outcome->end != JR_END_SIGNALED || outcome->signal != SIGKILL)
        return;
    outcome->oom = outcome->injection == JR_INJECT_OOM;
    if (lost) { /* a stop that its neighbour's end began came too late for it */
        outcome->end = JR_END_LOST;
        outcome->signal = outcome->stopped_with = 0;
    }
    if (outcome->injection != JR_INJECT_EXIT)
        return;
    outcome->end = JR_END_EXITED;
    outcome->exit_code = outcome->injected_code;
    outcome->signal = 0;
}

/* The ranks were told to continue; one that plays a hang does not. */
static void stop_hung_ranks(struct jr_runner *runner, uint64_t paused_ns)
{
    (void)paused_ns;
    for (uint32_t i = 0; i < runner->next; i++) {
        const struct jr_rank_run *rank = &runner->ranks[i];
        if (rank->outcome->injected && rank->state == JR_LIFE_RUNNING &&
            rank->outcome->injection == JR_INJECT_HANG)
            send_injected_signal(rank, SIGSTOP, true);
    }
}

const struct jr_runner_policy jr_fault_injection_policy = {
    .name = "fault_injection",
    .open = open_injections,
    .rank_started = schedule_injections,
    .rank_ended = settle_injected_end,
    .resumed = stop_hung_ranks,
};
