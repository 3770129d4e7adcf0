/*
 * An attempt on all nodes: `go`, what comes meanwhile, and one outcome of all ranks
 * (internal.h).
 *
 * Times are by each node's own clock. Its offset from ours is known from the message that the node
 * has begun, which was sent between our sending "go" and our receiving the answer; the error is at
 * most half of that time (`clock_error_ns`). Events of two nodes within their errors cannot be
 * ordered.
 *
 * If the run of a node stops its ranks, for any reason of its own, all nodes stop: the others are
 * told at once. A node that is no longer heard from is lost, and so are its ranks.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/names.h"
#include "cluster/internal.h"
#include "eventloop/signals.h"
#include "plan/node_ranks.h"
#include "spawn/run_options.h"
#include "store/outcome.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define MOST_PIDS (sizeof((struct jr_outcome *)0)->left_pids / sizeof(int32_t))

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
    bool stops = run->plan->policy->on_failure == JR_ON_FAILURE_STOP;
    (void)jr_controller_mpi_settle(run, node);
    bool bad =
        part->timed_out_by != JR_TIMEOUT_NONE || part->stop_signal != 0 || part->runner_signal != 0;
    for (uint32_t i = 0; i < part->count; i++) {
        struct jr_rank_outcome *rank = &part->ranks[i];
        take_rank_times(rank, peer);
        bad = bad || rank->end == JR_END_START ||
              (!jr_outcome_is_well(rank) && !jr_outcome_may_yield(rank, part->preempted) &&
               (stops || jr_controller_mpi_needs(run, rank)));
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
static void lose_node(struct jr_controller_run *run, uint32_t node, enum jr_end end,
                      const char *how)
{
    struct jr_outcome *outcome = run->outcome;
    jr_events_add(&run->events, &(struct jr_event){.name = JR_EVENT_NODE_LOST, .node = node});
    jr_events_flush(&run->events);
    for (uint32_t i = run->first[node]; i < run->first[node + 1]; i++) {
        struct jr_rank_outcome *rank = &outcome->ranks[i];
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
    if (run->plan->policy->on_failure == JR_ON_FAILURE_STOP || run->has_world)
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
    uint32_t first = run->first[node], count = run->first[node + 1] - first;
    struct jr_outcome part = {.ranks = run->outcome->ranks + first};
    struct jr_error why = {0};
    if (peer->signal != 0 && has_unended_rank(run, node)) {
        lose_killed_node(run, node, peer->signal);
    } else if (peer->signal != 0) { /* the guard was killed, and says nothing of its ranks */
        run->outcome->runner_signal = peer->signal;
        jr_controller_run_stop(run);
    } else if (jr_outcome_message_read(&part, count, text->data, text->len, &why) != 0) {
        jr_controller_run_refuse(run, node, why.text);
    } else if (!lose_runner(run, node, &part)) {
        merge_node_outcome(run, node, &part);
    }
    jr_buf_clear(text);
    jr_controller_run_returned(run, node);
    jr_controller_silence_decide(run);
}

/* The events of ranks, as their nodes tell them: for events.jsonl by our clock, and for what is
 * known of ranks when their node is lost later. */

static void note_rank(struct jr_controller_run *run, uint32_t node, const struct jr_event *event)
{
    const struct jr_cluster_node *peer = &run->controller->nodes[node];
    if ((event->says & JR_SAYS(RANK)) == 0 || event->rank < run->first[node] ||
        event->rank >= run->first[node + 1])
        return;
    struct jr_rank_outcome *rank = &run->outcome->ranks[event->rank];
    if (event->name == JR_EVENT_RANK_STARTED) {
        rank->pid = event->pid;
        rank->started_ns = jr_controller_run_ns(peer, event->ns);
    }
    if (event->name != JR_EVENT_RANK_ENDED)
        return;
    bool exited = (event->says & JR_SAYS(EXIT_CODE)) != 0;
    rank->ended_ns = jr_controller_run_ns(peer, event->ns);
    jr_controller_steps_end_rank(run, event->rank);
    rank->end = exited ? JR_END_EXITED : JR_END_SIGNALED;
    rank->exit_code = exited ? event->exit_code : 0;
    rank->signal = event->signal;
    if (exited && rank->exit_code == 0 && !run->ended_well) {
        run->ended_well = true;
        jr_controller_send_type(run->controller, JR_TO_NODES_FIRST);
    }
}

static void take_event_line(struct jr_controller_run *run, uint32_t node, const char *line,
                            size_t len)
{
    struct jr_event event;
    if (!jr_event_read(&event, line, len) || event.name == JR_EVENT_UNKNOWN) {
        (void)jr_controller_steps_take(run, node, line, len);
        return;
    }
    note_rank(run, node, &event);
    uint64_t ns = jr_controller_run_ns(&run->controller->nodes[node], event.ns);
    event.says |= JR_SAYS(NODE);
    event.node = node;
    jr_events_add_at(&run->events, &event, jr_clock_wall_ns() - (jr_clock_ns() - ns), ns);
    jr_events_flush(&run->events);
    if (event.name == JR_EVENT_STOP || event.name == JR_EVENT_KILL ||
        event.name == JR_EVENT_START_FAILED)
        jr_controller_run_stop(run);
}

/* Those of a node that is lost come too late: its ranks are lost with it. A node that begins to
 * stop its ranks stops the run. */
static void take_node_events(struct jr_controller_run *run, uint32_t node)
{
    struct jr_buf *stream = &run->controller->nodes[node].streams[JR_CHANNEL_EVENT];
    if (run->controller->nodes[node].state == JR_NODE_LOST)
        jr_buf_clear(stream);
    const char *end = stream->len == 0 ? NULL : memrchr(stream->data, '\n', stream->len);
    if (end == NULL)
        return;
    size_t len = (size_t)(end + 1 - stream->data);
    for (const char *line = stream->data; line <= end;) {
        const char *stop = memchr(line, '\n', (size_t)(end + 1 - line));
        take_event_line(run, node, line, (size_t)(stop - line));
        line = stop + 1;
    }
    memmove(stream->data, stream->data + len, stream->len - len);
    stream->len -= len;
}

#define MS       UINT64_C(1000000)
#define SLACK_NS (UINT64_C(25) * 1000000000) /* for SIGKILL, and to say so */

void jr_controller_run_stop(struct jr_controller_run *run)
{
    const struct jr_policy *policy = run->plan->policy;
    uint64_t most_ms = policy->timeouts.stop_grace_ms + policy->on_hang.wait_ms;
    bool silent = run->lost && !run->controller->transport->each;
    if (silent)
        jr_controller_close_input(run->controller);
    if (run->stopped)
        return;
    run->stopped = true;
    jr_controller_steps_stop(run);
    if (!silent)
        jr_controller_send_type(run->controller, JR_TO_NODES_STOP);
    run->controller->timed_out = false;
    run->controller->deadline.at = jr_clock_ns() + most_ms * MS + SLACK_NS;
}

void jr_controller_run_release(struct jr_controller_run *run)
{
    if (!run->released)
        jr_controller_send_type(run->controller, JR_TO_NODES_RELEASE);
    run->released = true;
}

void jr_controller_run_returned(struct jr_controller_run *run, uint32_t node)
{
    bool all = true;
    run->controller->nodes[node].returned = true;
    for (uint32_t i = 0; i < run->plan->nodes; i++)
        all = all && run->controller->nodes[i].returned;
    if (all)
        jr_controller_run_release(run);
}

uint64_t jr_controller_run_ns(const struct jr_cluster_node *peer, uint64_t ns)
{
    return ns == 0 ? 0 : ns - (uint64_t)peer->offset_ns;
}

void jr_controller_run_print(struct jr_controller_run *run, int stream, const char *line,
                             size_t len)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_escaped(&text, line, len);
    jr_buf_char(&text, '\n');
    if (!text.failed)
        jr_controller_show(run->controller, stream, text.data, text.len);
}

/* It may be much, and a node that is told to stop has time for it. */
static void take_node_left(struct jr_controller_run *run, uint32_t node)
{
    struct jr_controller *controller = run->controller;
    const struct jr_controller_options *options = &controller->options;
    struct jr_buf *stream = &controller->nodes[node].streams[JR_CHANNEL_LEFT];
    uint64_t due = jr_clock_ns() + SLACK_NS;
    if (options->take_left != NULL && !stream->failed &&
        controller->nodes[node].state == JR_NODE_RUNNING)
        options->take_left(options->data, node, stream->data, stream->len);
    jr_buf_clear(stream);
    if (run->stopped && controller->deadline.at < due)
        controller->deadline.at = due;
}

void jr_controller_run_stream(struct jr_controller_run *run, uint32_t node, enum jr_channel type)
{
    if (type == JR_CHANNEL_EVENT)
        take_node_events(run, node);
    else if (type == JR_CHANNEL_LEFT)
        take_node_left(run, node);
    else if (type == JR_CHANNEL_EXCHANGE)
        jr_controller_mpi_take(run, node);
}

/* Nodes. */

void jr_controller_run_begun(struct jr_controller_run *run, uint32_t node,
                             const struct jr_message *message)
{
    struct jr_cluster_node *peer = &run->controller->nodes[node];
    uint64_t now = jr_clock_ns();
    uint64_t middle = run->go_ns + (now - run->go_ns) / 2;
    peer->has_begun = true;
    jr_buf_clear(&peer->streams[JR_CHANNEL_OUT]); /* lines of earlier attempts */
    jr_buf_clear(&peer->streams[JR_CHANNEL_ERR]);
    peer->offset_ns = jr_clock_ahead(message->at_ns, middle);
    peer->clock_error_ns = (now - run->go_ns) / 2;
    if (peer->clock_error_ns > run->outcome->clock_error_ns)
        run->outcome->clock_error_ns = peer->clock_error_ns;
}

void jr_controller_run_apart(struct jr_controller_run *run, uint32_t node)
{
    jr_events_add(&run->events, &(struct jr_event){.name = JR_EVENT_NODE_APART, .node = node});
    jr_events_flush(&run->events);
}

/* Signals. */

static void on_controller_signal(void *owner, uint32_t events)
{
    (void)events;
    struct jr_controller_run *run = owner;
    pid_t pid;
    int sig = jr_signal_read(run->signals.fd, &pid);
    enum jr_signal_use use = run->uses.use[sig];
    if (use == JR_SIGNAL_NONE || use == JR_SIGNAL_DROP ||
        (use == JR_SIGNAL_STOP && jr_controller_preempt_takes(run, sig)))
        return;
    jr_controller_send(run->controller,
                       &(struct jr_message){.type = JR_TO_NODES_SIGNAL, .signal = sig});
    if (use == JR_SIGNAL_SUSPEND) {
        uint64_t before = jr_clock_ns();
        jr_controller_send_type(run->controller, JR_TO_NODES_AWAY);
        jr_controller_steps_hide(run);
        (void)kill(getpid(), SIGSTOP);
        jr_controller_steps_pause(run, jr_clock_ns() - before);
    }
    if (use != JR_SIGNAL_STOP)
        return;
    bool again = run->outcome->stop_signal != 0;
    if (!again)
        run->outcome->stop_signal = sig;
    jr_controller_run_stop(run);
    jr_heartbeat_demand(run->controller, again);
}

/* From begin to end. */

/* What the attempt before has left to show on its nodes is left there. */
static void leave_earlier_attempt(struct jr_controller_run *run, uint32_t attempt)
{
    struct jr_controller *controller = run->controller;
    char line[160];
    bool behind = false;
    for (uint32_t i = 0; i < run->plan->nodes; i++) {
        behind = behind || controller->nodes[i].behind;
        controller->nodes[i].behind = false;
    }
    (void)snprintf(line, sizeof line,
                   "jobrun: the console had not shown all of attempt %u when "
                   "the next began: jobrun logs --attempt %u prints it",
                   attempt - 1, attempt - 1);
    if (behind)
        jr_controller_run_print(run, 1, line, strlen(line));
}

/* -1 where the run folder takes no mark, which is in the run's `err` then. */
static int begin_nodes(struct jr_controller_run *run, uint32_t attempt)
{
    struct jr_controller *controller = run->controller;
    if (jr_folder_mark_make(run->options->dir, run->mark, run->err) != 0)
        return -1;
    leave_earlier_attempt(run, attempt);
    for (uint32_t i = 0; i < run->plan->nodes; i++) {
        jr_controller_step_node(controller, i, JR_NODE_ON_GO, "");
        controller->nodes[i].returned = false;
        controller->nodes[i].signal = 0;
    }
    run->go_ns = jr_clock_ns();
    jr_controller_send(
        controller,
        &(struct jr_message){.type = JR_TO_NODES_GO,
                             .number = attempt,
                             .port = run->plan->master_port,
                             .run_id = run->plan->run_id,
                             .token = run->mark,
                             .on = controller->options.again,
                             .heartbeats = run->plan->policy->on_failure == JR_ON_FAILURE_STOP});
    jr_heartbeat_begin(controller);
    /* An agent that ended while others were waited for, and was ready itself, is awaited no more.
     */
    for (uint32_t i = 0; i < run->plan->nodes; i++) {
        struct jr_cluster_node *peer = &controller->nodes[i];
        if (peer->loss == NULL)
            continue;
        peer->state = JR_NODE_LOST;
        jr_controller_run_lost(run, i, peer->loss);
    }
    return 0;
}

static void follow_nodes(struct jr_controller_run *run)
{
    struct jr_controller *controller = run->controller;
    struct jr_buf how JR_BUF_CLEANUP = JR_BUF_INIT;
    while (!controller->ended && !controller->timed_out &&
           jr_controller_awaits(controller, JR_NODE_DONE)) {
        jr_controller_turn(controller);
        if (controller->refused && run->result == 0) {
            run->result = -1;
            if (run->err != NULL)
                *run->err = controller->refusal;
            jr_controller_run_stop(run);
        }
    }
    /* The links have ended, or the wait is over: unless a node was lost before, all nodes that were
     * at work are lost. */
    if (controller->ended)
        jr_link_describe_end(&how, &controller->links[0], true);
    else
        jr_buf_str(&how, "it was told to stop its ranks, but has not confirmed it");
    for (uint32_t i = 0; i < run->plan->nodes; i++)
        jr_controller_step_node(controller, i, JR_NODE_ON_GIVEN_UP, how.failed ? "" : how.data);
    controller->deadline.at = controller->heartbeat.at = 0;
    controller->demand.at = 0;
}

int jr_controller_run(struct jr_controller *controller, struct jr_outcome *ret,
                      const struct jr_plan *plan, const struct jr_run_options *options,
                      uint32_t attempt, struct jr_error *err)
{
    struct jr_outcome outcome = {0};
    struct jr_controller_run run = {
        .controller = controller,
        .plan = plan,
        .options = options,
        .outcome = &outcome,
        .answer = {.fd = -1},
        .events = {.fd = -1},
        .err = err,
    };
    sigset_t mask, set;
    if (jr_outcome_none(&outcome, plan) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    jr_controller_open_console(controller, options->out_fd, options->err_fd);
    controller->run = &run;
    run.first = jr_node_ranks_first(plan);
    jr_signals_make(&run.uses, plan->policy, &options->ignored);
    jr_signals_set(&run.uses, &set);
    (void)sigprocmask(SIG_BLOCK, &set, &mask);
    run.signals = (struct jr_watch){signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
                                    on_controller_signal, &run};
    if (run.signals.fd < 0 || jr_loop_add(&controller->loop, &run.signals, EPOLLIN) != 0 ||
        run.first == NULL || jr_controller_mpi_open(&run) != 0 ||
        jr_controller_steps_open(&run) != 0) {
        run.result = jr_error_sys(err, JR_STATUS_LAUNCH, "could not begin");
    } else {
        jr_events_open(&run.events, options->dir->fd, options->dir->file_mode);
        run.result = begin_nodes(&run, attempt);
        if (run.result == 0)
            follow_nodes(&run);
        outcome.ended_ns = jr_clock_ns();
        outcome.ended_wall_ns = jr_clock_wall_ns();
        outcome.console_failed = controller->console.failed;
        outcome.console_errno = controller->console.error;
        jr_events_add(&run.events, &(struct jr_event){.name = JR_EVENT_AGENTS,
                                                      .nodes = plan->nodes,
                                                      .heard = controller->received_bytes,
                                                      .told = controller->sent_bytes});
    }
    jr_controller_steps_close(&run);
    jr_controller_preempt_close(&run);
    jr_exchange_hub_release(&run.hub);
    jr_controller_code_close(controller);
    controller->run = NULL;
    jr_events_close(&run.events);
    jr_folder_mark_remove(options->dir, run.mark);
    if (run.signals.fd >= 0) {
        jr_loop_remove(&controller->loop, &run.signals);
        (void)close(run.signals.fd);
    }
    free(run.first);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    if (run.result == 0)
        *ret = outcome;
    else
        jr_outcome_release(&outcome);
    return run.result;
}
