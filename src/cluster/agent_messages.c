/* What the head says, word by word. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cluster/agent_parts.h"
#include "spawn/run_options.h"

#include "base/banned.h"

static void on_spec(struct jr_agent *agent, const json_t *spec)
{
    struct jr_buf seats JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    if (agent->hooks->resolve(agent->hooks->data, spec, &seats, &err) != 0) {
        jr_agent_refuse(agent, &err);
        return;
    }
    jr_message_bytes(&agent->outbox, agent->node, JR_FLOW_SEATS, seats.data,
                     seats.len);
    jr_agent_say(agent, jr_message_word(agent->node, "ready"));
}

static void on_go(struct jr_agent *agent, const json_t *go)
{
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    agent->beats = jr_json_get_bool(go, "beats");
    jr_agent_say(agent, jr_message_word(agent->node, "begun"));
    if (agent->pid == 0 && jr_agent_start(agent, go, &err) != 0)
        jr_agent_refuse(agent, &err);
}

static void on_signal_message(struct jr_agent *agent, const json_t *word)
{
    int sig = (int)jr_json_get_int(word, "signal");
    if (agent->pid != 0 && sig > 0 && sig < NSIG)
        (void)kill(agent->pid, sig);
}

static void on_heartbeat(struct jr_agent *agent, const json_t *word)
{
    (void)word;
    jr_agent_say(agent, jr_message_word(agent->node, "beat"));
}

static void on_away(struct jr_agent *agent, const json_t *word)
{
    (void)word;
    agent->away = true;
}

static void on_hold(struct jr_agent *agent, const json_t *word)
{
    agent->held = jr_json_get_bool(word, "on");
    jr_agent_pace(agent);
}

/* What is done; or an order, which is handed on to the process that runs the
 * ranks. */
struct verb {
    const char *word;
    void (*act)(struct jr_agent *agent, const json_t *word);
    char order;
};

static const struct verb verbs[] = {
    {"spec", on_spec, 0},
    {"go", on_go, 0},
    {"signal", on_signal_message, 0},
    {"hold", on_hold, 0},
    {"beat", on_heartbeat, 0},
    {"away", on_away, 0},
    {"stop", NULL, JR_ORDER_STOP},
    {"release", NULL, JR_ORDER_RELEASE},
    {"first", NULL, JR_ORDER_FIRST},
    {"query", NULL, JR_ORDER_QUERY},
    {"hang", NULL, JR_ORDER_HANG},
};

static void handle_verb(struct jr_agent *agent, const struct verb *verb,
                        const json_t *word)
{
    if (verb->act != NULL)
        verb->act(agent, word);
    else if (agent->orders_fd >= 0)
        (void)!write(agent->orders_fd, &verb->order, 1);
}

static void handle_controller_message(struct jr_agent *agent, const char *line,
                                      size_t len)
{
    json_t *word = jr_json_parse(line, len, NULL);
    agent->away = false;
    const char *type = jr_json_get_str(word, "t");
    for (size_t i = 0; type != NULL && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(type, verbs[i].word) == 0)
            handle_verb(agent, &verbs[i], word);
    json_decref(word);
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
        handle_controller_message(agent, line, len);
}
