#include "beat.h"

#include "clock.h"
#include "crew.h"

#include "banned.h"

/* The nodes that are at work, and those of them that are silent. */
struct silence {
    uint32_t running, silent;
    uint32_t first; /* that is silent */
};

void jr_beat_begin(struct jr_head *head)
{
    uint64_t now = jr_clock_ns();
    for (uint32_t i = 0; i < head->options.nodes; i++) {
        head->nodes[i].silent = 0;
        head->nodes[i].begun = false;
        head->nodes[i].heard_ns = now;
    }
    head->beat.at = now + JR_BEAT_NS;
}

void jr_beat_heard(struct jr_head *head, uint32_t node)
{
    head->nodes[node].silent = 0;
    head->nodes[node].heard_ns = jr_clock_ns();
}

static bool is_silent(const struct jr_node_side *side)
{
    unsigned most = side->begun ? JR_BEATS : JR_BEATS * JR_BEAT_PATIENCE;
    return side->state == JR_NODE_RUNS && side->silent >= most;
}

static struct silence count_turn(struct jr_head *head)
{
    struct silence found = {0};
    for (uint32_t i = head->options.nodes; i-- > 0;) {
        struct jr_node_side *side = &head->nodes[i];
        found.running += side->state == JR_NODE_RUNS;
        side->silent++;
        if (is_silent(side)) {
            found.silent++;
            found.first = i;
        }
    }
    return found;
}

static void tell_silence(struct jr_buf *out, const struct jr_head *head,
                         const struct silence *found)
{
    const struct jr_node_side *side = &head->nodes[found->first];
    uint64_t silent_ns = jr_clock_ns() - side->heard_ns;
    bool all = found->silent == found->running && found->running > 1;
    char since[32];
    jr_clock_rfc3339(since, jr_clock_wall_ns() - silent_ns);
    jr_buf_str(out, "nothing was heard of ");
    if (all)
        jr_buf_str(out, "any node");
    else
        jr_head_name(out, head, found->first);
    if (!all && found->silent > 1)
        jr_buf_printf(out, ", nor of %u other%s,", found->silent - 1,
                      found->silent > 2 ? "s" : "");
    jr_buf_printf(out, " since %s, for ", since);
    jr_clock_human(out, silent_ns);
    if (all)
        jr_buf_printf(out, ": this machine is cut off, or srun (pid %d) hangs",
                      (int)head->srun.pid);
    else
        jr_buf_printf(out, ": it is down, cut off or stopped; see `scontrol "
                           "show node %s`", side->host);
}

static void lose_silent(struct jr_head *head, const char *how)
{
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (is_silent(&head->nodes[i])) {
            head->nodes[i].state = JR_NODE_LOST;
            jr_head_run_lost(head->run, i, how);
        }
}

/* Once a node is lost there is nothing to be said any more. */
void jr_beat_due(void *owner)
{
    struct jr_head *head = owner;
    if (head->run == NULL || head->run->lost)
        return;
    const struct silence found = count_turn(head);
    if (found.silent > 0) {
        struct jr_buf how JR_BUF_CLEANUP = JR_BUF_INIT;
        tell_silence(&how, head, &found);
        lose_silent(head, how.failed ? "" : how.data);
        if (!how.failed && !head->run->stopped) /* else the report tells it */
            jr_head_run_noise(head->run, 1, how.data, how.len);
        return;
    }
    jr_head_tell(head, jr_head_word("beat"));
    head->beat.at = jr_clock_ns() + JR_BEAT_NS;
}
