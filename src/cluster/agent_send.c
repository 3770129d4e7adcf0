/* What goes to the head: words at once, and bytes of the run as srun takes
 * them. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/agent_parts.h"

#include "base/banned.h"

#define OUTBOX_MOST (256U << 10) /* bytes that wait for srun; readers pause */

void jr_agent_pace(struct jr_agent *agent)
{
    bool full = agent->held || agent->outbox.len - agent->sent > OUTBOX_MOST;
    for (int i = JR_AGENT_END_OUT; i <= JR_AGENT_END_ERR; i++) {
        struct jr_agent_source *source = &agent->sources[i];
        if (source->watch.fd < 0 || source->paused == full)
            continue;
        source->paused = full;
        if (full)
            jr_loop_remove(&agent->loop, &source->watch);
        else
            (void)jr_loop_add(&agent->loop, &source->watch, EPOLLIN);
    }
}

/* The output is not read. */
static void lose_controller(struct jr_agent *agent)
{
    jr_buf_clear(&agent->outbox);
    agent->sent = 0;
    jr_agent_leave(agent);
}

void jr_agent_forsake(struct jr_agent *agent)
{
    agent->forsaken = true;
    agent->held = false;
    jr_agent_leave(agent);
    jr_agent_send(agent);
}

static void watch_agent_output(struct jr_agent *agent, bool wanted)
{
    if (wanted == agent->out_watched)
        return;
    agent->out_watched = wanted;
    if (!wanted)
        jr_loop_remove(&agent->loop, &agent->out);
    else if (jr_loop_add(&agent->loop, &agent->out, EPOLLOUT) != 0)
        lose_controller(agent);
}

void jr_agent_send(struct jr_agent *agent)
{
    struct jr_buf *box = &agent->outbox;
    if (agent->forsaken)
        agent->sent = box->len;
    while (agent->sent < box->len) {
        ssize_t len = write(agent->out.fd, box->data + agent->sent,
                            box->len - agent->sent);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0 && errno != EAGAIN)
            lose_controller(agent);
        if (len < 0)
            break;
        agent->sent += (size_t)len;
    }
    if (agent->sent == box->len) {
        jr_buf_clear(box);
        agent->sent = 0;
    }
    watch_agent_output(agent, box->len > 0);
    jr_agent_pace(agent);
}

void jr_agent_on_room(void *owner, uint32_t events)
{
    (void)events;
    jr_agent_send(owner);
}

/* Every message says when it was said, by this node's clock. */
void jr_agent_say(struct jr_agent *agent, const struct jr_message *message)
{
    struct jr_message whole = *message;
    whole.node = agent->node;
    whole.at_ns = (int64_t)jr_clock_ns();
    jr_message_put(&agent->outbox, &whole);
    jr_agent_send(agent);
}

void jr_agent_refuse(struct jr_agent *agent, const struct jr_error *why)
{
    jr_channel_put(&agent->outbox, agent->node, JR_CHANNEL_WHY, why->text,
                   strlen(why->text));
    jr_agent_say(agent, &(struct jr_message){.type = JR_FROM_NODE_REFUSE,
                                             .code = why->status,
                                             .host = agent->host});
}
