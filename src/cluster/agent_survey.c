/* What an agent answers to a survey (survey.h): it listens where rank 0 would, and connects as the
 * other ranks would. agent_parts.h declares it. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cluster/agent_parts.h"
#include "cluster/reach.h"

#include "base/banned.h"

static struct jr_greeting own_greeting(const struct jr_agent *agent)
{
    return (struct jr_greeting){agent->token != NULL ? agent->token : "", agent->listener.fd};
}

static void on_connection(void *owner, uint32_t events)
{
    (void)events;
    const struct jr_greeting greeting = own_greeting(owner);
    jr_reach_greet(&greeting);
}

void jr_agent_stop_listening(struct jr_agent *agent)
{
    if (agent->listener.fd >= 0) {
        jr_loop_remove(&agent->loop, &agent->listener);
        (void)close(agent->listener.fd);
    }
    agent->listener = (struct jr_watch){-1, on_connection, agent};
    free(agent->token);
    agent->token = NULL;
}

static void say_why(struct jr_agent *agent, const char *text)
{
    jr_channel_put(&agent->outbox, &agent->sender, JR_CHANNEL_WHY, text, strlen(text));
}

void jr_agent_on_listen(struct jr_agent *agent, const struct jr_message *word)
{
    struct jr_error err = {0};
    uint32_t port = (uint32_t)word->port;
    jr_agent_stop_listening(agent);
    agent->token = strdup(word->token != NULL ? word->token : "");
    agent->listener.fd = jr_reach_listen(&port, word->on, &err);
    if (agent->listener.fd >= 0 &&
        (agent->token == NULL || jr_loop_add(&agent->loop, &agent->listener, EPOLLIN) != 0)) {
        (void)jr_error_sys(&err, JR_STATUS_LAUNCH, "could not listen");
        jr_agent_stop_listening(agent);
    }
    bool listens = agent->listener.fd >= 0;
    if (!listens)
        say_why(agent, err.text);
    jr_agent_send(agent,
                  &(struct jr_message){.type = JR_FROM_NODE_LISTENING, .port = listens ? port : 0});
}

void jr_agent_on_reach(struct jr_agent *agent, const struct jr_message *word)
{
    struct jr_buf why JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_greeting greeting = own_greeting(agent);
    if (agent->listener.fd < 0)
        greeting.token = word->token != NULL ? word->token : "";
    enum jr_reach reach = jr_reach_connect(word->host != NULL ? word->host : "",
                                           (uint32_t)word->port, &greeting, &why);
    if (reach != JR_REACH_OK)
        say_why(agent, why.failed ? "out of memory" : why.data);
    jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_REACHED, .code = reach});
}
