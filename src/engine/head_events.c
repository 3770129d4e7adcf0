/* What happens on the nodes, as their runners tell it: for events.jsonl, by our
 * clock; for what is known of ranks when their node is lost later; and for what
 * one node's means to the others. */
#include <string.h>

#include "clock.h"
#include "crew.h"
#include "run.h"

#include "banned.h"

static struct jr_rank_outcome *rank_of(const struct jr_head_run *run,
                                       uint32_t node, const json_t *event)
{
    const json_t *rank = json_object_get(event, "rank");
    json_int_t number = json_integer_value(rank);
    bool there = json_is_integer(rank) && number >= run->first[node] &&
                 number < run->first[node + 1];
    return there ? &run->outcome->ranks[number] : NULL;
}

/* What is known of the ranks of a node that is lost later. */
static void note_rank(struct jr_head_run *run, uint32_t node, const char *name,
                      const json_t *event)
{
    struct jr_rank_outcome *rank = rank_of(run, node, event);
    const struct jr_node_side *side = &run->head->nodes[node];
    uint64_t ns = (uint64_t)jr_json_get_int(event, "ns");
    if (rank == NULL)
        return;
    if (strcmp(name, "rank_started") == 0) {
        rank->pid = (int32_t)jr_json_get_int(event, "pid");
        rank->started_ns = jr_head_run_ns(side, ns);
    }
    if (strcmp(name, "rank_ended") != 0)
        return;
    const json_t *code = json_object_get(event, "exit_code");
    rank->end = json_is_integer(code) ? JR_END_EXITED : JR_END_SIGNALED;
    rank->exit_code = (int32_t)json_integer_value(code);
    const char *sig = jr_json_get_str(event, "signal");
    if (sig != NULL && strncmp(sig, "SIG", 3) == 0)
        rank->signal = jr_signals_number(sig + 3);
    rank->ended_ns = jr_head_run_ns(side, ns);
    if (rank->end == JR_END_EXITED && rank->exit_code == 0 &&
        !run->ended_well) {
        run->ended_well = true;
        jr_head_tell(run->head, jr_head_word("first"));
    }
}

/* By our clock, with the node's number. */
static void write_event(struct jr_head_run *run, uint32_t node, json_t *event)
{
    const struct jr_node_side *side = &run->head->nodes[node];
    char time[32];
    uint64_t ns = jr_head_run_ns(side, (uint64_t)jr_json_get_int(event, "ns"));
    jr_clock_rfc3339(time, jr_clock_wall_ns() - (jr_clock_ns() - ns));
    jr_json_set_str(event, "time", time);
    jr_json_set_int(event, "ns", (json_int_t)ns);
    jr_json_set_int(event, "node", node);
    jr_json_print(&run->events.lines, event, 0);
    jr_buf_char(&run->events.lines, '\n');
    jr_events_flush(&run->events);
}

/* A node has been silent for too long: were all others, too? */
static void ask_all(struct jr_head_run *run)
{
    if (run->asking || run->stopped)
        return;
    run->asking = true;
    run->spoken = false;
    for (uint32_t i = 0; i < run->plan->nodes; i++)
        run->head->nodes[i].asked = run->head->nodes[i].state == JR_NODE_RUNS;
    jr_head_tell(run->head, jr_head_word("query"));
}

static void on_answer(struct jr_head_run *run, uint32_t node,
                      const json_t *event)
{
    uint64_t limit_ns =
        run->plan->policy->timeouts.silence_ms * UINT64_C(1000000);
    uint64_t ago = (uint64_t)jr_json_get_int(event, "ago");
    run->head->nodes[node].asked = false;
    run->spoken = run->spoken || ago < limit_ns;
    jr_head_run_silence(run);
}

void jr_head_run_silence(struct jr_head_run *run)
{
    for (uint32_t i = 0; i < run->plan->nodes; i++)
        if (run->head->nodes[i].asked &&
            run->head->nodes[i].state == JR_NODE_RUNS)
            return;
    if (run->asking && !run->spoken && !run->stopped)
        jr_head_tell(run->head, jr_head_word("hang"));
    run->asking = false;
}

void jr_head_run_event(struct jr_head_run *run, uint32_t node, const char *line,
                       size_t len)
{
    json_t *event = jr_json_parse(line, len, NULL);
    const char *name = jr_json_get_str(event, "event");
    if (name == NULL) {
        json_decref(event);
        return;
    }
    note_rank(run, node, name, event);
    if (strcmp(name, "all_returned") == 0)
        jr_head_run_returned(run, node);
    else if (strcmp(name, "released") == 0)
        jr_head_run_release(run);
    else if (strcmp(name, "silent") == 0)
        ask_all(run);
    else if (strcmp(name, "quiet") == 0)
        on_answer(run, node, event);
    else
        write_event(run, node, event);
    if (strcmp(name, "stop") == 0 || strcmp(name, "kill") == 0 ||
        strcmp(name, "start_failed") == 0)
        jr_head_run_stop(run);
    json_decref(event);
}
