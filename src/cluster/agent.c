#include "cluster/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/agent_cells.h"
#include "cluster/agent_parts.h"
#include "generated/version.h"
#include "spawn/run_options.h"

#include "base/banned.h"

/* What goes to the controller: messages at once, and bytes of the run as srun takes them. */

#define OUTBOX_MOST (256U << 10) /* bytes that wait for srun; readers pause */

static void pause_source(struct jr_agent *agent, int end, bool full)
{
    struct jr_agent_source *source = &agent->sources[end];
    if (source->watch.fd < 0 || source->paused == full)
        return;
    source->paused = full;
    if (full)
        jr_loop_remove(&agent->loop, &source->watch);
    else
        (void)jr_loop_add(&agent->loop, &source->watch, EPOLLIN);
}

/* Pipes that hold any number of bytes rest while nobody takes them. */
static void pace_agent(struct jr_agent *agent)
{
    bool full = agent->outbox.len - agent->sent > OUTBOX_MOST;
    pause_source(agent, JR_AGENT_END_OUT, full || agent->held);
    pause_source(agent, JR_AGENT_END_ERR, full || agent->held);
    pause_source(agent, JR_AGENT_END_LEFT, full);
}

/* The output is not read. What ends already is not told so again. */
static void lose_controller(struct jr_agent *agent)
{
    jr_buf_clear(&agent->outbox);
    agent->sent = 0;
    if (!agent->leaving)
        jr_agent_leave(agent);
}

void jr_agent_abandon(struct jr_agent *agent)
{
    agent->abandoned = true;
    agent->held = false;
    jr_agent_leave(agent);
    jr_agent_flush(agent);
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

void jr_agent_flush(struct jr_agent *agent)
{
    struct jr_buf *box = &agent->outbox;
    if (agent->abandoned)
        agent->sent = box->len;
    while (agent->sent < box->len) {
        ssize_t len = write(agent->out.fd, box->data + agent->sent, box->len - agent->sent);
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
    pace_agent(agent);
}

static void on_output_room(void *owner, uint32_t events)
{
    (void)events;
    jr_agent_flush(owner);
}

/* Every message says when it was said, by this node's clock. */
void jr_agent_send(struct jr_agent *agent, const struct jr_message *message)
{
    struct jr_message whole = *message;
    whole.node = agent->sender.node;
    whole.at_ns = (int64_t)jr_clock_ns();
    jr_message_put(&agent->outbox, &whole);
    jr_agent_flush(agent);
}

void jr_agent_refuse(struct jr_agent *agent, const struct jr_error *why)
{
    jr_channel_put(&agent->outbox, &agent->sender, JR_CHANNEL_WHY, why->text, strlen(why->text));
    jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_REFUSE,
                                              .code = why->status,
                                              .host = agent->host});
}

/* What the controller says. */

void jr_agent_ready(struct jr_agent *agent)
{
    const struct jr_agent_answer *answer = &agent->answer;
    jr_channel_put(&agent->outbox, &agent->sender, JR_CHANNEL_RESOURCES, answer->resources.data,
                   answer->resources.len);
    jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_READY,
                                              .mpi = answer->mpi,
                                              .library = answer->library,
                                              .obstacle = answer->obstacle,
                                              .on = answer->apart});
}

static void on_spec(struct jr_agent *agent, const struct jr_message *spec)
{
    const struct jr_agent_hooks *hooks = agent->hooks;
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    jr_buf_release(&agent->answer.resources);
    agent->answer = (struct jr_agent_answer){0};
    int failed = hooks->resolve(hooks->data, spec, &agent->answer, &err);
    if (failed == 0 && spec->run_id != NULL)
        failed = hooks->join(hooks->data, spec, &err);
    if (failed == JR_AGENT_WANTS_CODE)
        jr_agent_await_code(agent, NULL);
    else if (failed != 0)
        jr_agent_refuse(agent, &err);
    else
        jr_agent_ready(agent);
}

static void on_go(struct jr_agent *agent, const struct jr_message *go)
{
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    agent->heartbeats = go->heartbeats;
    jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_BEGUN});
    int failed = agent->pid == 0 ? jr_agent_start(agent, go, &err) : 0;
    if (failed == JR_AGENT_WANTS_CODE)
        jr_agent_await_code(agent, go);
    else if (failed != 0)
        jr_agent_refuse(agent, &err);
}

static void on_exchange_message(struct jr_agent *agent, const struct jr_message *word)
{
    if (word->bytes != NULL)
        jr_agent_take_exchange(agent, word->bytes);
}

static void on_signal_message(struct jr_agent *agent, const struct jr_message *word)
{
    int sig = (int)word->signal;
    if (agent->pid != 0 && sig > 0 && sig < NSIG)
        (void)kill(agent->pid, sig);
    if (agent->serves && sig > 0 && sig < NSIG)
        agent->hooks->cells->signal(agent->hooks->data, word->cell, sig);
}

static void on_heartbeat(struct jr_agent *agent, const struct jr_message *word)
{
    (void)word;
    jr_agent_tell_progress(agent);
    jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_HEARTBEAT});
}

static void on_away(struct jr_agent *agent, const struct jr_message *word)
{
    (void)word;
    agent->away = true;
}

static void on_hold(struct jr_agent *agent, const struct jr_message *word)
{
    agent->held = word->on;
    pace_agent(agent);
}

/* What is done about each message of the controller; or a command, which is handed on to the
 * process that runs the ranks. */
struct response {
    void (*act)(struct jr_agent *agent, const struct jr_message *word);
    char command;
};

static const struct response responses[JR_MESSAGE_COUNT] = {
    [JR_TO_NODES_SPEC] = {on_spec, 0},
    [JR_TO_NODES_GO] = {on_go, 0},
    [JR_TO_NODES_CODE] = {jr_agent_on_code, 0},
    [JR_TO_NODES_SHARE] = {jr_agent_share_cells, 0},
    [JR_TO_NODES_SERVE] = {jr_agent_serve_cells, 0},
    [JR_TO_NODES_CELL] = {jr_agent_begin_cell, 0},
    [JR_TO_NODES_SIGNAL] = {on_signal_message, 0},
    [JR_TO_NODES_HOLD] = {on_hold, 0},
    [JR_TO_NODES_HEARTBEAT] = {on_heartbeat, 0},
    [JR_TO_NODES_AWAY] = {on_away, 0},
    [JR_TO_NODES_EXCHANGE] = {on_exchange_message, 0},
    [JR_TO_NODES_WORLD] = {NULL, JR_COMMAND_INITIALIZED},
    [JR_TO_NODES_LISTEN] = {jr_agent_on_listen, 0},
    [JR_TO_NODES_REACH] = {jr_agent_on_reach, 0},
    [JR_TO_NODES_STOP] = {NULL, JR_COMMAND_STOP},
    [JR_TO_NODES_RELEASE] = {NULL, JR_COMMAND_RELEASE},
    [JR_TO_NODES_FIRST] = {NULL, JR_COMMAND_FIRST},
    [JR_TO_NODES_QUERY] = {NULL, JR_COMMAND_QUERY},
    [JR_TO_NODES_HANG] = {NULL, JR_COMMAND_HANG},
    [JR_TO_NODES_PREEMPTED] = {NULL, JR_COMMAND_PREEMPTED},
    [JR_TO_NODES_NOT_PREEMPTED] = {NULL, JR_COMMAND_NOT_PREEMPTED},
    [JR_TO_NODES_NO_STEP] = {NULL, JR_COMMAND_NO_STEP},
    [JR_TO_NODES_NO_FIRST_STEP] = {NULL, JR_COMMAND_NO_FIRST_STEP},
};

static void handle_message(struct jr_agent *agent, const struct jr_message *message)
{
    const struct response *response = &responses[message->type];
    if (response->act != NULL)
        response->act(agent, message);
    else if (response->command != 0 && agent->commands_fd >= 0)
        (void)!write(agent->commands_fd, &response->command, 1);
    else if (response->command != 0 && agent->waits)
        jr_buf_char(&agent->pending, response->command);
}

static void handle_controller_line(struct jr_agent *agent, const char *line, size_t len)
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

/* From the begin to the end. */

/* With all the variables that a process can have: a quarter of its stack, and 6 MiB (execve(2)). */
#define ASSIGNMENT_MOST (16U << 20)

/* Byte by byte: what follows the line belongs to whoever reads on. */
static bool read_assignment_line(struct jr_buf *line)
{
    char byte;
    ssize_t len;
    do {
        len = read(STDIN_FILENO, &byte, 1);
        if (len == 1)
            jr_buf_char(line, byte);
    } while ((len == 1 && byte != '\n' && line->len < ASSIGNMENT_MOST) ||
             (len < 0 && errno == EINTR));
    return len == 1 && byte == '\n' && !line->failed;
}

int jr_agent_await_assignment(struct jr_message *ret, json_t **ret_object, struct jr_error *err)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    bool whole = read_assignment_line(&line);
    json_t *object = whole ? jr_json_parse(line.data, line.len, NULL) : NULL;
    if (jr_message_of_controller(ret, object) && ret->type == JR_TO_NODES_ASSIGN &&
        ret->host != NULL) {
        *ret_object = object;
        return 0;
    }
    json_decref(object);
    return jr_error_set(err, JR_STATUS_USAGE,
                        "an agent is started by jobrun itself, which tells it "
                        "who it is; started by hand it does nothing");
}

static void send_node_facts(struct jr_agent *agent)
{
    const struct jr_agent_hooks *hooks = agent->hooks;
    struct jr_buf facts JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    jr_buf_char(&agent->outbox, '\n'); /* after the output of a prolog */
    if (hooks->describe(hooks->data, &facts, &err) != 0) {
        jr_agent_refuse(agent, &err);
        return;
    }
    jr_channel_put(&agent->outbox, &agent->sender, JR_CHANNEL_FACTS, facts.data, facts.len);
    jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_HELLO,
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
    else if (agent->serves)
        jr_agent_signal_cells(agent, (int)info.ssi_signo);
    else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
        jr_agent_leave(agent);
}

static int watch_agent_signals(struct jr_agent *agent)
{
    static const int taken[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        (void)sigaddset(&set, taken[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    agent->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return agent->signals.fd < 0 ? -1 : jr_loop_add(&agent->loop, &agent->signals, EPOLLIN);
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
    if (fcntl(agent->out.fd, F_SETFL, flags | O_NONBLOCK) != 0 || watch_agent_signals(agent) != 0)
        return -1;
    return jr_loop_add(&agent->loop, &agent->in, EPOLLIN);
}

static bool has_agent_work(const struct jr_agent *agent)
{
    return !agent->leaving || agent->pid != 0 || agent->outbox.len > 0 || jr_agent_has_cells(agent);
}

int jr_agent_serve(const struct jr_agent_hooks *hooks, const struct jr_sender *self,
                   const char *host, struct jr_error *err)
{
    struct jr_agent agent = {
        .hooks = hooks,
        .sender = *self,
        .host = host,
        .loop = {.epoll_fd = -1},
        .in = {STDIN_FILENO, jr_agent_on_input, &agent},
        .out = {STDOUT_FILENO, on_output_room, &agent},
        .signals = {-1, on_agent_signal, &agent},
        .turn = {.due = jr_heartbeat_agent_due, .owner = &agent},
        .commands_fd = -1,
        .notes = {.fd = -1},
        .ends = {-1, -1, -1, -1},
        .children = {.fd = -1},
        .listener = {.fd = -1},
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
    if (agent.abandoned)
        result = jr_error_set(err, JR_STATUS_LAUNCH,
                              "node %u (%s): the controller of this job has not been heard from "
                              "for ten minutes: its ranks here were stopped",
                              self->node, host);
    jr_agent_close_cells(&agent);
    jr_agent_stop_listening(&agent);
    jr_agent_end_code(&agent);
    jr_inlet_release(&agent.inlet);
    jr_buf_release(&agent.outbox);
    jr_buf_release(&agent.answer.resources);
    jr_buf_release(&agent.exchange);
    if (agent.signals.fd >= 0)
        (void)close(agent.signals.fd);
    if (agent.loop.epoll_fd >= 0)
        (void)close(agent.loop.epoll_fd);
    free(agent.bytes);
    return result;
}
