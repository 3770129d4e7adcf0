#include "cluster/controller_events.h"

#include <string.h>

#include "base/clock.h"
#include "cluster/controller_steps.h"

#include "base/banned.h"

static struct jr_rank_outcome *find_rank_outcome(const struct jr_controller_run *run, uint32_t node,
                                                 const struct jr_event *event)
{
    bool there = (event->says & JR_SAYS(RANK)) != 0 && event->rank >= run->first[node] &&
                 event->rank < run->first[node + 1];
    return there ? &run->outcome->ranks[event->rank] : NULL;
}

static void note_end(struct jr_controller_run *run, struct jr_rank_outcome *rank,
                     const struct jr_event *event)
{
    bool exited = (event->says & JR_SAYS(EXIT_CODE)) != 0;
    rank->end = exited ? JR_END_EXITED : JR_END_SIGNALED;
    rank->exit_code = exited ? event->exit_code : 0;
    rank->signal = event->signal;
    if (exited && rank->exit_code == 0 && !run->ended_well) {
        run->ended_well = true;
        jr_controller_send_type(run->controller, JR_TO_NODES_FIRST);
    }
}

/* What is known of the ranks of a node that is lost later. */
static void note_rank(struct jr_controller_run *run, uint32_t node, const struct jr_event *event)
{
    struct jr_rank_outcome *rank = find_rank_outcome(run, node, event);
    const struct jr_cluster_node *peer = &run->controller->nodes[node];
    if (rank == NULL)
        return;
    if (event->name == JR_EVENT_RANK_STARTED) {
        rank->pid = event->pid;
        rank->started_ns = jr_controller_run_ns(peer, event->ns);
    } else if (event->name == JR_EVENT_RANK_ENDED) {
        rank->ended_ns = jr_controller_run_ns(peer, event->ns);
        jr_controller_steps_end_rank(run, event->rank);
        note_end(run, rank, event);
    }
}

/* By our clock, with the node's number. */
static void write_event(struct jr_controller_run *run, uint32_t node, struct jr_event *event)
{
    uint64_t ns = jr_controller_run_ns(&run->controller->nodes[node], event->ns);
    event->says |= JR_SAYS(NODE);
    event->node = node;
    jr_events_add_at(&run->events, event, jr_clock_wall_ns() - (jr_clock_ns() - ns), ns);
    jr_events_flush(&run->events);
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
    write_event(run, node, &event);
    if (event.name == JR_EVENT_STOP || event.name == JR_EVENT_KILL ||
        event.name == JR_EVENT_START_FAILED)
        jr_controller_run_stop(run);
}

void jr_controller_events_take(struct jr_controller_run *run, uint32_t node)
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
