/* What happens on the nodes, as their runners tell it: for events.jsonl, by our
 * clock; for what is known of ranks when their node is lost later; and for what
 * one node's means to the others. */
#include "base/clock.h"
#include "cluster/controller_parts.h"

#include "base/banned.h"

static struct jr_rank_outcome *find_rank_outcome(
    const struct jr_controller_run *run, uint32_t node,
    const struct jr_event *event)
{
    bool there = (event->says & JR_SAYS(RANK)) != 0 &&
                 event->rank >= run->first[node] &&
                 event->rank < run->first[node + 1];
    return there ? &run->outcome->ranks[event->rank] : NULL;
}

static void note_end(struct jr_controller_run *run,
                     struct jr_rank_outcome *rank, const struct jr_event *event)
{
    bool exited = (event->says & JR_SAYS(EXIT_CODE)) != 0;
    rank->end = exited ? JR_END_EXITED : JR_END_SIGNALED;
    rank->exit_code = exited ? event->exit_code : 0;
    rank->signal = event->signal;
    if (exited && rank->exit_code == 0 && !run->ended_well) {
        run->ended_well = true;
        jr_controller_send(run->head, jr_controller_word("first"));
    }
}

/* What is known of the ranks of a node that is lost later. */
static void note_rank(struct jr_controller_run *run, uint32_t node,
                      const struct jr_event *event)
{
    struct jr_rank_outcome *rank = find_rank_outcome(run, node, event);
    const struct jr_node_side *side = &run->head->nodes[node];
    if (rank == NULL)
        return;
    if (event->name == JR_EVENT_RANK_STARTED) {
        rank->pid = event->pid;
        rank->started_ns = jr_controller_run_ns(side, event->ns);
    } else if (event->name == JR_EVENT_RANK_ENDED) {
        rank->ended_ns = jr_controller_run_ns(side, event->ns);
        note_end(run, rank, event);
    }
}

/* By our clock, with the node's number. */
static void write_event(struct jr_controller_run *run, uint32_t node,
                        struct jr_event *event)
{
    uint64_t ns = jr_controller_run_ns(&run->head->nodes[node], event->ns);
    event->says |= JR_SAYS(NODE);
    event->node = node;
    jr_events_add_at(&run->events, event,
                     jr_clock_wall_ns() - (jr_clock_ns() - ns), ns);
    jr_events_flush(&run->events);
}

/* A node has been silent for too long: were all others, too? */
static void ask_all_nodes(struct jr_controller_run *run)
{
    if (run->asking || run->stopped)
        return;
    run->asking = true;
    run->spoken = false;
    for (uint32_t i = 0; i < run->plan->nodes; i++)
        run->head->nodes[i].asked = run->head->nodes[i].state == JR_NODE_RUNS;
    jr_controller_send(run->head, jr_controller_word("query"));
}

static void on_node_answer(struct jr_controller_run *run, uint32_t node,
                           const struct jr_event *event)
{
    uint64_t limit_ns =
        run->plan->policy->timeouts.silence_ms * UINT64_C(1000000);
    run->head->nodes[node].asked = false;
    run->spoken = run->spoken || event->ago_ns < limit_ns;
    jr_controller_run_silence(run);
}

void jr_controller_run_silence(struct jr_controller_run *run)
{
    for (uint32_t i = 0; i < run->plan->nodes; i++)
        if (run->head->nodes[i].asked &&
            run->head->nodes[i].state == JR_NODE_RUNS)
            return;
    if (run->asking && !run->spoken && !run->stopped)
        jr_controller_send(run->head, jr_controller_word("hang"));
    run->asking = false;
}

/* What is said between nodes and is no event of the run. */
static void handle_node_event(struct jr_controller_run *run, uint32_t node,
                              const struct jr_event *event)
{
    if (event->name == JR_EVENT_ALL_RETURNED)
        jr_controller_run_returned(run, node);
    else if (event->name == JR_EVENT_RELEASED)
        jr_controller_run_release(run);
    else if (event->name == JR_EVENT_SILENT)
        ask_all_nodes(run);
    else if (event->name == JR_EVENT_QUIET)
        on_node_answer(run, node, event);
}

void jr_controller_run_event(struct jr_controller_run *run, uint32_t node,
                             const char *line, size_t len)
{
    struct jr_event event;
    if (!jr_event_read(&event, line, len) || event.name == JR_EVENT_UNKNOWN)
        return;
    note_rank(run, node, &event);
    if ((jr_event_kind(event.name) & JR_EVENT_IS_BETWEEN) != 0)
        handle_node_event(run, node, &event);
    else
        write_event(run, node, &event);
    if (event.name == JR_EVENT_STOP || event.name == JR_EVENT_KILL ||
        event.name == JR_EVENT_START_FAILED)
        jr_controller_run_stop(run);
}
