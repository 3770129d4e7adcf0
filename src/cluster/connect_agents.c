/* The controller's links to its agents, all together, from start to end (controller_parts.h). */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pidfd.h"
#include "cluster/await_agents.h"
#include "cluster/copy.h"
#include "cluster/survey_parts.h"
#include "eventloop/signals.h"
#include "generated/version.h"

#include "base/banned.h"

#define LEAVE_S    20
#define FORSAKEN_S 3 /* the same where the next attempt waits for it */

void jr_controller_send_type(struct jr_controller *controller, enum jr_message_type type)
{
    jr_controller_send(controller, &(struct jr_message){.type = type});
}

/* A message is lost, and what follows would mean something else without it:
 * whoever reads there sees the end, stops its ranks, and the run ends. */
static void give_up_link(struct jr_controller *controller, struct jr_link *link)
{
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_link_close_input(link);
    if (controller->refused)
        return;
    controller->refused = true;
    if (controller->transport->each)
        jr_controller_name(&name, controller, link->node);
    else
        jr_buf_str(&name, controller->transport->program);
    (void)jr_error_set(&controller->refusal, JR_STATUS_LAUNCH,
                       "%s: there was no memory here for what it was to be told",
                       name.failed ? "a node" : name.data);
}

static void send_bytes(struct jr_controller *controller, struct jr_link *link,
                       const struct jr_buf *text)
{
    controller->sent_bytes += text->len;
    if (text->failed || !jr_link_send(link, text->data, text->len))
        give_up_link(controller, link);
}

void jr_controller_send(struct jr_controller *controller, const struct jr_message *message)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_message_put(&text, message);
    for (uint32_t i = 0; i < controller->links_count; i++)
        if (i < controller->options.nodes) /* spares stand by */
            send_bytes(controller, &controller->links[i], &text);
}

void jr_controller_send_to(struct jr_controller *controller, uint32_t node,
                           const struct jr_message *message)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_message_put(&text, message);
    send_bytes(controller, &controller->links[controller->transport->each ? node : 0], &text);
}

void jr_controller_close_input(struct jr_controller *controller)
{
    for (uint32_t i = 0; i < controller->links_count; i++)
        jr_link_close_input(&controller->links[i]);
}

/* Where there are no pidfds. */
static void on_child_end(void *owner, uint32_t events)
{
    (void)events;
    struct jr_controller *controller = owner;
    pid_t pid;
    (void)jr_signal_read(controller->children.fd, &pid);
    for (uint32_t i = 0; i < controller->links_count; i++)
        jr_link_reap(&controller->links[i]);
}

/* What tells of an end there; from now on it is kept for that. */
static int hear_children(struct jr_controller *controller)
{
    sigset_t child;
    controller->children = (struct jr_watch){-1, on_child_end, controller};
    if (jr_pidfd_works())
        return 0;
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    controller->children.fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    return controller->children.fd < 0
               ? -1
               : jr_loop_add(&controller->loop, &controller->children, EPOLLIN);
}

void jr_controller_assign(struct jr_controller *controller, uint32_t node)
{
    const struct jr_controller_options *options = &controller->options;
    jr_controller_send_to(controller, node,
                          &(struct jr_message){.type = JR_TO_NODES_ASSIGN,
                                               .as = node,
                                               .host = options->hosts[node],
                                               .piece = (int64_t)controller->transport->piece,
                                               .env = options->agent_env,
                                               .device = options->device,
                                               .folder = options->folder});
}

void jr_controller_copy(struct jr_controller *controller, uint32_t node)
{
    const struct jr_copy *copy = controller->options.copy;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (copy == NULL || !controller->transport->each)
        return;
    jr_controller_name(&line, controller, node);
    jr_buf_printf(&line,
                  ": jobrun " JR_VERSION " is copied there (%.1f MiB), into "
                  "~/.cache/jobrun/" JR_VERSION "-%s",
                  (double)copy->bytes.len / (1 << 20), copy->hash);
    if (controller->options.note != NULL && !line.failed)
        controller->options.note(controller->options.data, line.data);
    jr_link_send_bulk(&controller->links[node], copy->bytes.data, copy->bytes.len);
}

/* Those whose agents are there at once. */
static void assign_nodes(struct jr_controller *controller)
{
    const struct jr_transport *transport = controller->transport;
    for (uint32_t i = 0; i < controller->links_count && transport->each; i++)
        if (transport->places == NULL || !transport->places(&controller->options, i))
            jr_controller_assign(controller, i);
}

int jr_controller_connect(struct jr_controller *controller, struct jr_error *err)
{
    uint32_t count = controller->transport->each ? jr_controller_machines(controller) : 1;
    if (hear_children(controller) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not hear %s",
                            controller->transport->program);
    controller->links = calloc(count, sizeof *controller->links);
    if (controller->links == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        jr_link_init(&controller->links[i], controller, i);
    controller->links_count = count;
    for (uint32_t i = 0; i < count; i++)
        if (jr_link_open(&controller->links[i], err) != 0)
            return -1;
    assign_nodes(controller);
    return 0;
}

/* A spare keeps its state when it answers, and its facts come first. */
static bool has_answered(const struct jr_cluster_node *peer)
{
    return peer->state == JR_NODE_SPARE ? peer->streams[JR_CHANNEL_FACTS].len > 0
                                        : peer->state != JR_NODE_UNKNOWN;
}

/* An agent does not end before its input does. */
static void lose_linked_node(struct jr_controller *controller, const struct jr_link *link)
{
    struct jr_buf why JR_BUF_CLEANUP = JR_BUF_INIT;
    if (controller->survey != NULL)
        jr_survey_lose(controller->survey, link);
    bool answered = has_answered(&controller->nodes[link->node]);
    jr_link_describe_end(&why, link, answered);
    jr_controller_step_node(controller, link->node, JR_NODE_ON_EXITED, why.failed ? "" : why.data);
}

/* One program carried the messages of all, and no cell is told of any more. */
static void lose_serving_nodes(struct jr_controller *controller, const struct jr_link *link)
{
    struct jr_buf why JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_link_describe_end(&why, link, true);
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        jr_controller_step_node(controller, i, JR_NODE_ON_GIVEN_UP, why.failed ? "" : why.data);
}

void jr_controller_handle_end(struct jr_controller *controller, const struct jr_link *link)
{
    if (++controller->ended_count == controller->links_count)
        controller->ended = true;
    if (controller->transport->each)
        lose_linked_node(controller, link);
    else if (controller->watcher != NULL)
        lose_serving_nodes(controller, link);
}

static void report_killed_program(const struct jr_controller *controller, int pid)
{
    char line[200];
    (void)snprintf(line, sizeof line,
                   "%s (pid %d) did not end within %ds of its input, and was "
                   "killed: a node or its agent hangs; %s",
                   controller->transport->program, pid, LEAVE_S, controller->transport->hang_hint);
    if (controller->options.note != NULL && !controller->forsaken)
        controller->options.note(controller->options.data, line);
}

static bool is_program_left(const struct jr_controller *controller)
{
    for (uint32_t i = 0; i < controller->links_count; i++)
        if (controller->links[i].pid > 0)
            return true;
    return false;
}

static void kill_programs(struct jr_controller *controller)
{
    for (uint32_t i = 0; i < controller->links_count; i++) {
        int pid = controller->links[i].pid;
        jr_link_kill(&controller->links[i]);
        if (pid > 0)
            report_killed_program(controller, pid);
    }
}

/* Whether somebody reads the input of a link, and sees that it ends. */
static bool has_reader(const struct jr_controller *controller, uint32_t link)
{
    return controller->transport->each ? has_answered(&controller->nodes[link])
                                       : jr_controller_has_agent(controller);
}

/* What carries the messages of a lost node may wait for it for long. */
static void kill_forsaken(struct jr_controller *controller)
{
    for (uint32_t i = 0; i < controller->links_count; i++)
        if (controller->transport->each && controller->nodes[i].state == JR_NODE_LOST)
            jr_link_kill(&controller->links[i]);
}

/* The input of the agents ends, and they stop their ranks. */
static void end_programs(struct jr_controller *controller)
{
    uint64_t most_s = controller->forsaken ? FORSAKEN_S : LEAVE_S;
    jr_controller_close_input(controller);
    if (controller->forsaken)
        kill_forsaken(controller);
    controller->timed_out = false;
    controller->deadline.at = jr_clock_ns() + most_s * UINT64_C(1000000000);
    for (uint32_t i = 0; i < controller->links_count; i++)
        if (controller->links[i].pid > 0 && !has_reader(controller, i))
            (void)kill(controller->links[i].pid, SIGTERM);
    while (is_program_left(controller) && !controller->timed_out &&
           !jr_controller_is_told(controller))
        jr_controller_turn(controller);
    if (!controller->timed_out) /* they need not be told of */
        controller->forsaken = true;
    kill_programs(controller);
}

void jr_controller_disconnect(struct jr_controller *controller)
{
    if (is_program_left(controller))
        end_programs(controller);
    for (uint32_t i = 0; i < controller->links_count; i++)
        jr_link_close(&controller->links[i]);
    if (controller->children.fd >= 0) {
        jr_loop_remove(&controller->loop, &controller->children);
        (void)close(controller->children.fd);
    }
    controller->children.fd = -1;
}
