#include "cluster/agent_parts.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "version.h"

#include "base/banned.h"

static void send_node_facts(struct jr_agent *agent)
{
    const struct jr_agent_hooks *hooks = agent->hooks;
    struct jr_buf facts JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    jr_buf_char(&agent->outbox, '\n'); /* after the output of a prolog */
    if (hooks->tell(hooks->data, &facts, &err) != 0) {
        jr_agent_refuse(agent, &err);
        return;
    }
    jr_channel_put(&agent->outbox, agent->node, JR_CHANNEL_FACTS, facts.data,
                   facts.len);
    jr_agent_say(agent,
                 &(struct jr_message){.type = JR_FROM_NODE_HELLO,
                                      .version = JR_VERSION,
                                      .host = agent->host,
                                      .wall_ns = (int64_t)jr_clock_wall_ns(),
                                      .port = hooks->offer(hooks->data)});
}

/* From the cluster, to all of a step: the run's business, where there is one.
 */
static void on_agent_signal(void *owner, uint32_t events)
{
    (void)events;
    struct jr_agent *agent = owner;
    struct signalfd_siginfo info;
    if (read(agent->signals.fd, &info, sizeof info) != sizeof info)
        return;
    if (agent->pid != 0)
        (void)kill(agent->pid, (int)info.ssi_signo);
    else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
        jr_agent_leave(agent);
}

static int watch_agent_signals(struct jr_agent *agent)
{
    static const int taken[] = {SIGTERM, SIGINT,  SIGHUP, SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGCONT};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        (void)sigaddset(&set, taken[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    agent->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return agent->signals.fd < 0
               ? -1
               : jr_loop_add(&agent->loop, &agent->signals, EPOLLIN);
}

/* Standard output is ours alone: the ranks get pipes. */
static int open_agent(struct jr_agent *agent)
{
    agent->bytes = malloc(JR_AGENT_PIECE);
    if (agent->bytes == NULL || jr_loop_open(&agent->loop) != 0)
        return -1;
    jr_loop_timer(&agent->loop, &agent->turn);
    int flags = fcntl(agent->out.fd, F_GETFL);
    (void)fcntl(agent->in.fd, F_SETFD, FD_CLOEXEC);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (fcntl(agent->out.fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        watch_agent_signals(agent) != 0)
        return -1;
    return jr_loop_add(&agent->loop, &agent->in, EPOLLIN);
}

static bool has_agent_work(const struct jr_agent *agent)
{
    return !agent->leaving || agent->pid != 0 || agent->outbox.len > 0;
}

int jr_agent_serve(const struct jr_agent_hooks *hooks, uint32_t node,
                   const char *host, struct jr_error *err)
{
    struct jr_agent agent = {
        .hooks = hooks,
        .node = node,
        .host = host,
        .loop = {.epoll_fd = -1},
        .in = {STDIN_FILENO, jr_agent_on_input, &agent},
        .out = {STDOUT_FILENO, jr_agent_on_room, &agent},
        .signals = {-1, on_agent_signal, &agent},
        .turn = {.due = jr_heartbeat_unheard, .owner = &agent},
        .orders_fd = -1,
    };
    for (int i = 0; i < JR_AGENT_ENDS; i++)
        agent.sources[i].watch.fd = -1;
    int result = open_agent(&agent);
    if (result != 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "could not set up the agent");
    else
        send_node_facts(&agent);
    while (result == 0 && has_agent_work(&agent))
        (void)jr_loop_turn(&agent.loop, false);
    if (agent.forsaken)
        result = jr_error_set(
            err, JR_STATUS_LAUNCH,
            "node %u (%s): the head of this job has not been heard from for "
            "ten minutes: its ranks here were stopped",
            node, host);
    jr_inlet_release(&agent.inlet);
    jr_buf_release(&agent.outbox);
    if (agent.signals.fd >= 0)
        (void)close(agent.signals.fd);
    if (agent.loop.epoll_fd >= 0)
        (void)close(agent.loop.epoll_fd);
    free(agent.bytes);
    return result;
}
