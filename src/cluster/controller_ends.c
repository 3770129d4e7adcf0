/*
 * How an attempt ends on each node: with an outcome of its ranks, or by the loss of the node.
 * controller_run.h declares it.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/names.h"
#include "cluster/controller_run.h"
#include "cluster/controller_silence.h"
#include "cluster/controller_steps.h"
#include "cluster/outcome_message.h"
#include "store/outcome.h"

#include "base/banned.h"

#define MOST_PIDS (sizeof((struct jr_outcome *)0)->left_pids / sizeof(int32_t))

/* Whether the failure of a rank ends the run. */
static bool does_failure_stop(const struct jr_controller_run *run,
                              const struct jr_rank_outcome *rank)
{
    return run->plan->policy->on_failure == JR_ON_FAILURE_STOP ||
           jr_controller_mpi_needs(run, rank);
}

/* What the node says of a rank, by our clock. */
static void take_rank_times(struct jr_rank_outcome *rank, const struct jr_cluster_node *peer)
{
    rank->started_ns = jr_controller_run_ns(peer, rank->started_ns);
    rank->ended_ns = jr_controller_run_ns(peer, rank->ended_ns);
    rank->alive_ns = jr_controller_run_ns(peer, rank->alive_ns);
    rank->exiting_ns = jr_controller_run_ns(peer, rank->exiting_ns);
    rank->line_ns = jr_controller_run_ns(peer, rank->line_ns);
    rank->told_ns = jr_controller_run_ns(peer, rank->told_ns);
    rank->leaving_ns = jr_controller_run_ns(peer, rank->leaving_ns);
    rank->heard_ns = jr_controller_run_ns(peer, rank->heard_ns);
    rank->clock_offset_ns = peer->clock_offset_ns;
}

/* The processes there that could not be ended. */
static void take_survivors(struct jr_outcome *all, const struct jr_outcome *part)
{
    for (uint32_t i = 0; i < part->left && all->left + i < MOST_PIDS; i++)
        all->left_pids[all->left + i] = part->left_pids[i];
    all->left += part->left;
}

/* Take over what a node reports about itself and its ranks. */
static void merge_node_outcome(struct jr_controller_run *run, uint32_t node,
                               const struct jr_outcome *part)
{
    struct jr_outcome *all = run->outcome;
    const struct jr_cluster_node *peer = &run->controller->nodes[node];
    (void)jr_controller_mpi_settle(run, node);
    bool bad =
        part->timed_out_by != JR_TIMEOUT_NONE || part->stop_signal != 0 || part->runner_signal != 0;
    for (uint32_t i = 0; i < part->count; i++) {
        struct jr_rank_outcome *rank = &part->ranks[i];
        take_rank_times(rank, peer);
        bad = bad || rank->end == JR_END_START ||
              (!jr_outcome_is_well(rank) && !jr_outcome_may_yield(rank, part->preempted) &&
               does_failure_stop(run, rank));
    }
    if (all->timed_out_by == JR_TIMEOUT_NONE)
        all->timed_out_by = part->timed_out_by;
    all->preempted |= part->preempted;
    all->pattern_limits += part->pattern_limits;
    if (all->stop_signal == 0)
        all->stop_signal = part->stop_signal;
    if (all->runner_signal == 0)
        all->runner_signal = part->runner_signal;
    if (all->start_text[0] == '\0')
        memcpy(all->start_text, part->start_text, sizeof all->start_text);
    take_survivors(all, part);
    if (bad)
        jr_controller_run_stop(run);
}

/* Its ranks are lost, whatever they were about to report. */
static void lose_ranks(struct jr_controller_run *run, uint32_t node, enum jr_end end)
{
    for (uint32_t i = run->first[node]; i < run->first[node + 1]; i++) {
        struct jr_rank_outcome *rank = &run->outcome->ranks[i];
        if (rank->end != JR_END_NONE)
            continue;
        rank->end = end;
        rank->ended_ns = jr_clock_ns();
        jr_controller_steps_end_rank(run, i);
        if (end == JR_END_NONE && rank->pid != 0) {
            rank->killed = true;
            rank->stopped_with = SIGKILL;
        }
    }
}

static void lose_node(struct jr_controller_run *run, uint32_t node, enum jr_end end,
                      const char *how)
{
    struct jr_outcome *outcome = run->outcome;
    jr_events_add(&run->events, &(struct jr_event){.name = JR_EVENT_NODE_LOST, .node = node});
    jr_events_flush(&run->events);
    lose_ranks(run, node, end);
    if (outcome->lost_text[0] == '\0')
        (void)snprintf(outcome->lost_text, sizeof outcome->lost_text, "%s", how);
}

void jr_controller_run_lost(struct jr_controller_run *run, uint32_t node, const char *how)
{
    run->lost = true;
    if (run->controller->transport->each) /* it may only be cut off */
        jr_link_close_input(&run->controller->links[node]);
    lose_node(run, node, JR_END_LOST, how);
    jr_controller_run_returned(run, node);
    jr_controller_silence_decide(run);
    if (run->plan->policy->on_failure == JR_ON_FAILURE_STOP || run->mpi.begun)
        jr_controller_run_stop(run);
}

static bool has_unended_rank(const struct jr_controller_run *run, uint32_t node)
{
    bool any = false;
    for (uint32_t i = run->first[node]; i < run->first[node + 1]; i++)
        any |= run->outcome->ranks[i].end == JR_END_NONE;
    return any;
}

/* A process of jobrun was killed there, and the other one has ended the ranks. Such a node is lost
 * as if its agent had been killed: a spare can take its place. */
static void lose_killed_node(struct jr_controller_run *run, uint32_t node, int sig)
{
    char name[JR_SIGNAL_NAME], how[sizeof name + 32];
    jr_signal_name(name, sig);
    (void)snprintf(how, sizeof how, "its jobrun was killed by %s", name);
    jr_controller_step_node(run->controller, node, JR_NODE_ON_EXITED, how);
    jr_controller_run_lost(run, node, how);
}

/* The guard of the run was killed, and says nothing of what its ranks did. */
static void lose_guard(struct jr_controller_run *run, uint32_t node, int sig)
{
    if (has_unended_rank(run, node)) {
        lose_killed_node(run, node, sig);
        return;
    }
    run->outcome->runner_signal = sig;
    jr_controller_run_stop(run);
}

/* The runner was killed, and the guard tells of its ranks. False: it was not, or it had been told
 * to stop, by somebody who may have killed it then. */
static bool lose_runner(struct jr_controller_run *run, uint32_t node, const struct jr_outcome *part)
{
    if (part->runner_signal == 0 || part->stop_signal != 0 || !has_unended_rank(run, node))
        return false;
    for (uint32_t i = 0; i < part->count; i++) {
        struct jr_rank_outcome *rank = &part->ranks[i];
        take_rank_times(rank, &run->controller->nodes[node]);
        if (rank->end != JR_END_NONE)
            continue;
        rank->killed = false;
        rank->stopped_with = 0;
    }
    take_survivors(run->outcome, part);
    lose_killed_node(run, node, part->runner_signal);
    return true;
}

/* What the run of a node reports. */
static void take_node_outcome(struct jr_controller_run *run, uint32_t node,
                              const struct jr_buf *text)
{
    uint32_t count = run->first[node + 1] - run->first[node];
    struct jr_outcome part = {.ranks = run->outcome->ranks + run->first[node]};
    struct jr_error why = {0};
    if (jr_outcome_message_read(&part, count, text->data, text->len, &why) != 0)
        jr_controller_run_refuse(run, node, why.text);
    else if (!lose_runner(run, node, &part))
        merge_node_outcome(run, node, &part);
}

void jr_controller_run_give_up(struct jr_controller_run *run, uint32_t node, const char *how)
{
    lose_node(run, node, run->lost ? JR_END_NONE : JR_END_LOST, how);
}

void jr_controller_run_refuse(struct jr_controller_run *run, uint32_t node, const char *text)
{
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_controller_name(&name, run->controller, node);
    if (run->result == 0)
        (void)jr_error_set(run->err, JR_STATUS_LAUNCH, "%s: %s", name.failed ? "a node" : name.data,
                           text);
    run->result = -1;
    jr_controller_run_stop(run);
}

void jr_controller_run_over(struct jr_controller_run *run, uint32_t node)
{
    struct jr_cluster_node *peer = &run->controller->nodes[node];
    struct jr_buf *text = &peer->streams[JR_CHANNEL_OUTCOME];
    if (peer->signal != 0)
        lose_guard(run, node, peer->signal);
    else
        take_node_outcome(run, node, text);
    jr_buf_clear(text);
    jr_controller_run_returned(run, node);
    jr_controller_silence_decide(run);
}
