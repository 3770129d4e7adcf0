/* What the head says, word by word. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "cluster/agent_parts.h"
#include "spawn/run_options.h"

#include "base/banned.h"

static void on_spec(struct jr_agent *agent, const struct jr_message *spec)
{
    struct jr_buf seats JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    if (agent->hooks->resolve(agent->hooks->data, spec, &seats, &err) != 0) {
        jr_agent_refuse(agent, &err);
        return;
    }
    jr_channel_put(&agent->outbox, agent->node, JR_CHANNEL_SEATS, seats.data,
                   seats.len);
    jr_agent_say(agent, &(struct jr_message){.type = JR_FROM_NODE_READY});
}

static void on_go(struct jr_agent *agent, const struct jr_message *go)
{
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    agent->beats = go->beats;
    jr_agent_say(agent, &(struct jr_message){.type = JR_FROM_NODE_BEGUN});
    if (agent->pid == 0 && jr_agent_start(agent, go, &err) != 0)
        jr_agent_refuse(agent, &err);
}

static void on_signal_message(struct jr_agent *agent,
                              const struct jr_message *word)
{
    int sig = (int)word->signal;
    if (agent->pid != 0 && sig > 0 && sig < NSIG)
        (void)kill(agent->pid, sig);
}

static void on_heartbeat(struct jr_agent *agent, const struct jr_message *word)
{
    (void)word;
    jr_agent_say(agent, &(struct jr_message){.type = JR_FROM_NODE_BEAT});
}

static void on_away(struct jr_agent *agent, const struct jr_message *word)
{
    (void)word;
    agent->away = true;
}

static void on_hold(struct jr_agent *agent, const struct jr_message *word)
{
    agent->held = word->on;
    jr_agent_pace(agent);
}

/* What is done about each message of the controller; or an order, which is
 * handed on to the process that runs the ranks. */
struct response {
    void (*act)(struct jr_agent *agent, const struct jr_message *word);
    char order;
};

static const struct response responses[JR_MESSAGE_COUNT] = {
    [JR_TO_NODES_SPEC] = {on_spec, 0},
    [JR_TO_NODES_GO] = {on_go, 0},
    [JR_TO_NODES_SIGNAL] = {on_signal_message, 0},
    [JR_TO_NODES_HOLD] = {on_hold, 0},
    [JR_TO_NODES_BEAT] = {on_heartbeat, 0},
    [JR_TO_NODES_AWAY] = {on_away, 0},
    [JR_TO_NODES_STOP] = {NULL, JR_ORDER_STOP},
    [JR_TO_NODES_RELEASE] = {NULL, JR_ORDER_RELEASE},
    [JR_TO_NODES_FIRST] = {NULL, JR_ORDER_FIRST},
    [JR_TO_NODES_QUERY] = {NULL, JR_ORDER_QUERY},
    [JR_TO_NODES_HANG] = {NULL, JR_ORDER_HANG},
};

static void handle_message(struct jr_agent *agent,
                           const struct jr_message *message)
{
    const struct response *response = &responses[message->type];
    if (response->act != NULL)
        response->act(agent, message);
    else if (agent->orders_fd >= 0)
        (void)!write(agent->orders_fd, &response->order, 1);
}

static void handle_controller_line(struct jr_agent *agent, const char *line,
                                   size_t len)
{
    json_t *object = jr_json_parse(line, len, NULL);
    struct jr_message message;
    agent->away = false;
    if (jr_message_of_controller(&message, object))
        handle_message(agent, &message);
    json_decref(object);
    jr_heartbeat_listen(agent);
}

void jr_agent_on_input(void *owner, uint32_t events)
{
    (void)events;
    struct jr_agent *agent = owner;
    ssize_t got = read(agent->in.fd, agent->bytes, JR_AGENT_PIECE);
    const char *line;
    size_t len;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) { /* it stays open: srun ends a step of which one is not */
        jr_loop_remove(&agent->loop, &agent->in);
        jr_agent_leave(agent);
        return;
    }
    jr_inlet_add(&agent->inlet, agent->bytes, (size_t)got);
    while ((line = jr_inlet_line(&agent->inlet, &len)) != NULL)
        handle_controller_line(agent, line, len);
}
