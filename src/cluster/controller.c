#include "cluster/controller.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/pidfd.h"
#include "cluster/internal.h"
#include "generated/version.h"

#include "base/banned.h"

void jr_controller_turn(struct jr_controller *controller)
{
    (void)jr_loop_turn(&controller->loop, false);
}

bool jr_controller_awaits(const struct jr_controller *controller, enum jr_node_state state)
{
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        if (controller->nodes[i].state < state)
            return true;
    return false;
}

void jr_controller_name(struct jr_buf *out, const struct jr_controller *controller, uint32_t node)
{
    const char *host = controller->nodes[node].host;
    jr_buf_printf(out, "node %u", node);
    if (host == NULL)
        return;
    jr_buf_str(out, " (");
    jr_buf_safe(out, host);
    jr_buf_char(out, ')');
}

/* What is sent. */

static void send_bytes(struct jr_controller *controller, struct jr_link *link,
                       const struct jr_buf *text)
{
    controller->sent_bytes += text->len;
    if (!text->failed && jr_link_send(link, text->data, text->len))
        return;
    /* A message is lost, and what follows would mean something else without it: whoever reads there
     * sees the end, stops its ranks, and the run ends. */
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

void jr_controller_send(struct jr_controller *controller, const struct jr_message *message)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_message_put(&text, message);
    for (uint32_t i = 0; i < controller->links_count; i++)
        if (i < controller->options.nodes) /* spares stand by */
            send_bytes(controller, &controller->links[i], &text);
}

void jr_controller_send_type(struct jr_controller *controller, enum jr_message_type type)
{
    jr_controller_send(controller, &(struct jr_message){.type = type});
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

/* Waiting for all agents, before there is a run, and reporting the one that did not come. */

#define START_MS 300000u

static uint64_t patience_ms(const struct jr_controller *controller)
{
    uint64_t ms = controller->options.start_ms;
    return ms > 0 ? ms : START_MS;
}

/* Whether any agent has said hello. */
static bool has_controller_agent(const struct jr_controller *controller)
{
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        if (controller->nodes[i].state >= JR_NODE_KNOWN)
            return true;
    return false;
}

/* The first node that is not in `state` yet, and how many there are. */
static uint32_t find_missing_node(const struct jr_controller *controller, enum jr_node_state state,
                                  uint32_t *ret_count)
{
    uint32_t node = 0;
    *ret_count = 0;
    for (uint32_t i = controller->options.nodes; i-- > 0;)
        if (controller->nodes[i].state < state) {
            node = i;
            ++*ret_count;
        }
    return node;
}

/* Those that are not in `state` yet: "node 1 (gpu02) and 2 others". */
static void add_missing_nodes(struct jr_buf *out, const struct jr_controller *controller,
                              enum jr_node_state state)
{
    uint32_t nodes = controller->options.nodes, count;
    uint32_t node = find_missing_node(controller, state, &count);
    if (controller->agent_exited) {
        node = controller->exited_node;
        count = 1;
    }
    if (count == nodes && nodes > 1) {
        jr_buf_printf(out, "the %u nodes", nodes);
        return;
    }
    jr_controller_name(out, controller, node);
    if (count > 1)
        jr_buf_printf(out, " and %u other%s", count - 1, count > 2 ? "s" : "");
}

static void add_waiting_reason(struct jr_buf *out, const struct jr_controller *controller,
                               enum jr_node_state state)
{
    const struct jr_transport *transport = controller->transport;
    uint32_t count;
    if (controller->agent_exited) {
        jr_buf_printf(out, ": %s", controller->exited_why);
        if (controller->nodes[controller->exited_node].state == JR_NODE_UNKNOWN &&
            transport->has_exited != NULL && transport->has_exited(controller->exited_why))
            jr_buf_printf(out, " (is jobrun there, as %s, and of version " JR_VERSION "?)",
                          controller->options.program);
        return;
    }
    if (controller->ended) {
        jr_buf_str(out, ": ");
        jr_link_describe_end(out, &controller->links[0], false);
    } else { /* with what the program of the first missing node has said last */
        uint32_t node = find_missing_node(controller, state, &count);
        const struct jr_link *link = &controller->links[transport->each ? node : 0];
        jr_buf_str(out, " within ");
        jr_num_add_duration(out, patience_ms(controller));
        jr_buf_str(out, " (timeouts.start)");
        if (link->last_line[0] != '\0')
            jr_buf_printf(out, "; the last output of %s: %s", transport->program, link->last_line);
    }
    /* As where a job has shrunk. */
    if (transport->nodes_hint != NULL && !has_controller_agent(controller))
        jr_buf_printf(out, "; %s", transport->nodes_hint);
}

const char *jr_controller_loss(const struct jr_controller *controller, uint32_t node,
                               bool *ret_refused)
{
    const struct jr_cluster_node *peer = &controller->nodes[node];
    *ret_refused = controller->refused && controller->refused_node == node && peer->loss == NULL;
    if (*ret_refused) { /* without the name of the node, with which it begins */
        const char *text = controller->refusal.text;
        struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_controller_name(&name, controller, node);
        jr_buf_str(&name, ": ");
        bool named = !name.failed && strncmp(text, name.data, name.len) == 0;
        return named ? text + name.len : text;
    }
    if (controller->agent_exited && controller->exited_node == node)
        return controller->exited_why;
    if (peer->loss != NULL)
        return peer->loss;
    return controller->timed_out && peer->state < controller->awaited
               ? "it was not ready within timeouts.start"
               : NULL;
}

/* Whether nobody is to wait any longer (jr_controller_heed). */
static bool is_told_to_stop(const struct jr_controller *controller)
{
    struct pollfd fd = {.fd = controller->options.stop_fd, .events = POLLIN};
    return fd.fd > 0 && poll(&fd, 1, 0) > 0;
}

/* Something is on its way to a node: timeouts.start begins anew. */
static void renew_patience(struct jr_controller *controller)
{
    controller->deadline.at = jr_clock_ns() + patience_ms(controller) * UINT64_C(1000000);
}

static void begin_patience(struct jr_controller *controller, enum jr_node_state state)
{
    controller->timed_out = false;
    controller->awaited = state;
    renew_patience(controller);
}

/* Whether it is to be waited on for nodes to be in a state. */
static bool is_in_patience(const struct jr_controller *controller, enum jr_node_state state)
{
    return !controller->refused && !controller->agent_exited && !controller->ended &&
           !controller->timed_out && !is_told_to_stop(controller) &&
           jr_controller_awaits(controller, state);
}

/* What came of the wait. */
static int end_patience(struct jr_controller *controller, enum jr_node_state state,
                        const char *what, struct jr_error *err)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    controller->deadline.at = 0;
    if (controller->refused && err != NULL)
        *err = controller->refusal;
    if (controller->refused)
        return -1;
    bool awaits = jr_controller_awaits(controller, state);
    if (!awaits && !controller->agent_exited)
        return 0;
    if (awaits && is_told_to_stop(controller))
        return jr_error_set(err, JR_STATUS_LAUNCH, "jobrun was told to stop");
    add_missing_nodes(&text, controller, state);
    jr_buf_printf(&text, " did not %s", what);
    add_waiting_reason(&text, controller, state);
    return jr_error_set(err, JR_STATUS_LAUNCH, "%s", text.failed ? "out of memory" : text.data);
}

int jr_controller_await(struct jr_controller *controller, enum jr_node_state state,
                        const char *what, struct jr_error *err)
{
    begin_patience(controller, state);
    while (is_in_patience(controller, state))
        jr_controller_turn(controller);
    return end_patience(controller, state, what, err);
}

int jr_controller_started(struct jr_controller *controller, struct jr_error *err)
{
    return is_in_patience(controller, JR_NODE_KNOWN)
               ? 1
               : end_patience(controller, JR_NODE_KNOWN, "answer", err);
}

/* The links to the agents, all together. */

#define LEAVE_S    20
#define FORSAKEN_S 3 /* the same where the next attempt waits for it */

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

int jr_controller_connect(struct jr_controller *controller, struct jr_error *err)
{
    const struct jr_transport *transport = controller->transport;
    uint32_t count = transport->each ? jr_controller_machines(controller) : 1;
    if (hear_children(controller) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not hear %s", transport->program);
    controller->links = calloc(count, sizeof *controller->links);
    if (controller->links == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        jr_link_init(&controller->links[i], controller, i);
    controller->links_count = count;
    for (uint32_t i = 0; i < count; i++)
        if (jr_link_open(&controller->links[i], err) != 0)
            return -1;
    for (uint32_t i = 0; i < count && transport->each; i++)
        if (transport->places == NULL || !transport->places(&controller->options, i))
            jr_controller_assign(controller, i); /* whose agents are there at once */
    return 0;
}

/* A spare keeps its state when it answers, and its facts come first. */
static bool has_node_answered(const struct jr_cluster_node *peer)
{
    return peer->state == JR_NODE_SPARE ? peer->streams[JR_CHANNEL_FACTS].len > 0
                                        : peer->state != JR_NODE_UNKNOWN;
}

void jr_controller_handle_end(struct jr_controller *controller, const struct jr_link *link)
{
    struct jr_buf why JR_BUF_CLEANUP = JR_BUF_INIT;
    bool each = controller->transport->each;
    if (++controller->ended_count == controller->links_count)
        controller->ended = true;
    if (!each && controller->watcher == NULL)
        return;
    if (each && controller->survey != NULL)
        jr_survey_lose(controller->survey, link);
    jr_link_describe_end(&why, link, !each || has_node_answered(&controller->nodes[link->node]));
    const char *how = why.failed ? "" : why.data;
    if (each) { /* an agent does not end before its input does */
        jr_controller_step_node(controller, link->node, JR_NODE_ON_EXITED, how);
        return;
    }
    /* One program carried the messages of all, and no cell is told of any more. */
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        jr_controller_step_node(controller, i, JR_NODE_ON_GIVEN_UP, how);
}

/* An agent does not end before its input does, and then it ends well. */
void jr_controller_handle_errors(struct jr_controller *controller, const struct jr_link *link)
{
    const struct jr_transport *transport = controller->transport;
    const uint32_t *tasks = controller->options.tasks;
    for (uint32_t i = 0; transport->has_lost != NULL && i < controller->options.nodes; i++)
        if (transport->has_lost(link->last_line, tasks == NULL ? i : tasks[i],
                                controller->nodes[i].host))
            jr_controller_step_node(controller, i, JR_NODE_ON_EXITED, link->last_line);
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
        char line[200];
        jr_link_kill(&controller->links[i]);
        if (pid <= 0 || controller->options.note == NULL || controller->forsaken)
            continue;
        (void)snprintf(line, sizeof line,
                       "%s (pid %d) did not end within %ds of its input, and was killed: a node or "
                       "its agent hangs; %s",
                       controller->transport->program, pid, LEAVE_S,
                       controller->transport->hang_hint);
        controller->options.note(controller->options.data, line);
    }
}

/* The input of the agents ends, and they stop their ranks. */
static void end_programs(struct jr_controller *controller)
{
    bool each = controller->transport->each;
    uint64_t most_s = controller->forsaken ? FORSAKEN_S : LEAVE_S;
    jr_controller_close_input(controller);
    /* What carries the messages of a lost node may wait for it for long. */
    for (uint32_t i = 0; controller->forsaken && each && i < controller->links_count; i++)
        if (controller->nodes[i].state == JR_NODE_LOST)
            jr_link_kill(&controller->links[i]);
    controller->timed_out = false;
    controller->deadline.at = jr_clock_ns() + most_s * UINT64_C(1000000000);
    for (uint32_t i = 0; i < controller->links_count; i++) {
        /* Whether somebody reads the input, and sees that it ends. */
        bool read =
            each ? has_node_answered(&controller->nodes[i]) : has_controller_agent(controller);
        if (controller->links[i].pid > 0 && !read)
            (void)kill(controller->links[i].pid, SIGTERM);
    }
    while (is_program_left(controller) && !controller->timed_out && !is_told_to_stop(controller))
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

/* The code of a run. */

#define CODE_PIECE (48U << 10) /* bytes of it in a message */

static void refuse_code(struct jr_controller *controller, uint32_t node, const char *text)
{
    if (controller->run != NULL)
        jr_controller_run_refuse(controller->run, node, text);
    else
        jr_controller_refuse(controller, node, text);
}

/* The next bytes for the node of a link. */
static void feed_code(struct jr_link *link)
{
    struct jr_controller *controller = link->controller;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    char bytes[CODE_PIECE];
    ssize_t len =
        pread(controller->code.fd, bytes, sizeof bytes, controller->code_sent[link->node]);
    if (len > 0) {
        controller->code_sent[link->node] += len;
        jr_base64_add(&text, bytes, (size_t)len);
    } else {
        jr_link_feed(link, NULL);
    }
    if (controller->run == NULL)
        renew_patience(controller);
    if (len < 0 || text.failed)
        refuse_code(controller, link->node, "the code of the run could not be read here");
    else
        jr_controller_send_to(controller, link->node,
                              &(struct jr_message){.type = JR_TO_NODES_CODE,
                                                   .folder = controller->code.top,
                                                   .name = controller->code.name,
                                                   .bytes = len > 0 ? text.data : NULL,
                                                   .on = len == 0});
}

void jr_controller_send_code(struct jr_controller *controller, uint32_t node)
{
    const struct jr_controller_options *options = &controller->options;
    struct jr_error err = {0};
    if (controller->leaves) /* nobody waits for the node any more */
        return;
    (void)jr_error_set(&err, JR_STATUS_LAUNCH, "it wants a copy of the code, and there is none");
    if (controller->code_sent == NULL)
        controller->code_sent = calloc(options->nodes, sizeof *controller->code_sent);
    if (controller->code.fd < 0 && options->open_code != NULL && controller->code_sent != NULL)
        (void)options->open_code(options->data, &controller->code, &err);
    if (controller->code.fd < 0 || controller->code_sent == NULL || !controller->transport->each) {
        refuse_code(controller, node, err.text);
        return;
    }
    controller->code_sent[node] = 0;
    jr_link_feed(&controller->links[node], feed_code);
}

void jr_controller_code_close(struct jr_controller *controller)
{
    for (uint32_t i = 0; i < controller->links_count; i++)
        jr_link_feed(&controller->links[i], NULL);
    free(controller->code_sent);
    controller->code_sent = NULL;
    jr_close_fd(&controller->code.fd);
}

/* From open to close. */

static void on_controller_timeout(void *owner)
{
    struct jr_controller *controller = owner;
    controller->timed_out = true;
}

/* Whoever waits looks at it. */
static void on_stop(void *owner, uint32_t events)
{
    (void)events;
    struct jr_controller *controller = owner;
    jr_loop_remove(&controller->loop, &controller->stop);
}

static int hear_stop(struct jr_controller *controller)
{
    controller->stop = (struct jr_watch){controller->options.stop_fd, on_stop, controller};
    return controller->options.stop_fd > 0
               ? jr_loop_add(&controller->loop, &controller->stop, EPOLLIN)
               : 0;
}

int jr_controller_heed(struct jr_controller *controller, int stop_fd)
{
    int before = controller->options.stop_fd;
    if (before > 0) /* unless it has stopped us */
        jr_loop_remove(&controller->loop, &controller->stop);
    controller->options.stop_fd = stop_fd;
    (void)hear_stop(controller); /* or it is looked at less often */
    return before;
}

static int open_controller(struct jr_controller *controller, struct jr_error *err)
{
    uint32_t machines = jr_controller_machines(controller);
    controller->nodes = calloc(machines, sizeof *controller->nodes);
    controller->bytes = malloc(JR_CONTROLLER_PIECE);
    if (controller->nodes == NULL || controller->bytes == NULL ||
        jr_loop_open(&controller->loop) != 0 || hear_stop(controller) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not set up the controller");
    for (uint32_t i = 0; i < machines; i++) {
        if (controller->options.hosts != NULL)
            controller->nodes[i].host = strdup(controller->options.hosts[i]);
        if (i >= controller->options.nodes)
            controller->nodes[i].state = JR_NODE_SPARE;
    }
    jr_loop_timer(&controller->loop, &controller->deadline);
    jr_loop_timer(&controller->loop, &controller->heartbeat);
    jr_loop_timer(&controller->loop, &controller->steps_flush);
    jr_loop_timer(&controller->loop, &controller->steps_limit);
    jr_loop_timer(&controller->loop, &controller->preempted);
    jr_loop_timer(&controller->loop, &controller->demand);
    return jr_controller_connect(controller, err);
}

int jr_controller_start(struct jr_controller **ret, const struct jr_controller_options *options,
                        struct jr_error *err)
{
    struct jr_controller *controller = calloc(1, sizeof *controller);
    if (controller == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    *controller = (struct jr_controller){
        .options = *options,
        .transport = options->transport,
        .loop = {.epoll_fd = -1},
        .children = {.fd = -1},
        .code = {.fd = -1},
        .deadline = {.due = on_controller_timeout, .owner = controller},
        .heartbeat = {.due = jr_heartbeat_due, .owner = controller},
        .demand = {.due = jr_heartbeat_demand_due, .owner = controller},
    };
    if (!options->transport->each) /* a program for all starts no more */
        controller->options.spares = 0;
    if (open_controller(controller, err) != 0) {
        jr_controller_close(controller);
        return -1;
    }
    begin_patience(controller, JR_NODE_KNOWN);
    *ret = controller;
    return 0;
}

int jr_controller_meet(struct jr_controller *controller, struct jr_error *err)
{
    return jr_controller_await(controller, JR_NODE_KNOWN, "answer", err);
}

int jr_controller_open(struct jr_controller **ret, const struct jr_controller_options *options,
                       struct jr_error *err)
{
    struct jr_controller *controller;
    if (jr_controller_start(&controller, options, err) != 0)
        return -1;
    if (jr_controller_meet(controller, err) != 0) {
        jr_controller_close(controller);
        return -1;
    }
    *ret = controller;
    return 0;
}

struct jr_controller_node jr_controller_node(const struct jr_controller *controller, uint32_t node)
{
    const struct jr_cluster_node *peer = &controller->nodes[node];
    const struct jr_buf *facts = &peer->streams[JR_CHANNEL_FACTS],
                        *resources = &peer->streams[JR_CHANNEL_RESOURCES];
    return (struct jr_controller_node){
        .host = peer->host != NULL ? peer->host : "unknown",
        .facts = facts->len > 0 ? facts->data : "",
        .facts_len = facts->len,
        .resources = resources->len > 0 ? resources->data : "",
        .resources_len = resources->len,
        .mpi = peer->mpi,
        .library = peer->library,
        .obstacle = peer->obstacle,
        .apart = peer->apart,
        .port = peer->port,
        .clock_offset_ns = peer->clock_offset_ns,
    };
}

int jr_controller_send_spec(struct jr_controller *controller, const struct jr_controller_spec *spec,
                            struct jr_error *err)
{
    jr_controller_send(controller, &(struct jr_message){.type = JR_TO_NODES_SPEC,
                                                        .spec = spec->text,
                                                        .inject = spec->inject,
                                                        .cell = spec->cell,
                                                        .sweep = spec->sweep,
                                                        .cells = spec->cells,
                                                        .run_id = spec->run_id,
                                                        .token = spec->token,
                                                        .number = spec->attempt,
                                                        .on = controller->options.again});
    jr_heartbeat_begin(controller);
    controller->joins = spec->run_id != NULL;
    int failed = jr_controller_await(controller, JR_NODE_READY, "take the spec", err);
    controller->joins = false;
    controller->heartbeat.at = 0;
    jr_controller_code_close(controller);
    return failed;
}

void jr_controller_forsake(struct jr_controller *controller)
{
    controller->forsaken = true;
}

const char *jr_controller_lacks(const struct jr_controller *controller)
{
    if (controller->ended)
        return controller->transport->has_ended;
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        if (controller->nodes[i].state != JR_NODE_DONE)
            return "a node was lost, or is still at work";
    return NULL;
}

void jr_controller_close(struct jr_controller *controller)
{
    if (controller == NULL)
        return;
    controller->watcher = NULL; /* that agents end now is no loss */
    controller->leaves = true;
    jr_controller_disconnect(controller);
    for (uint32_t i = 0; controller->nodes != NULL && i < jr_controller_machines(controller); i++) {
        free(controller->nodes[i].host);
        free(controller->nodes[i].loss);
        free(controller->nodes[i].mpi);
        free(controller->nodes[i].library);
        free(controller->nodes[i].obstacle);
        for (int j = 0; j < JR_CHANNEL_COUNT; j++)
            jr_buf_release(&controller->nodes[i].streams[j]);
    }
    if (controller->console_open)
        jr_console_writer_close(&controller->console);
    jr_close_fd(&controller->loop.epoll_fd);
    free(controller->links);
    free(controller->nodes);
    free(controller->bytes);
    free(controller);
}

/* Cells of a sweep. */

int jr_controller_share(struct jr_controller *controller, const struct jr_cells_place *place,
                        struct jr_error *err)
{
    jr_controller_send(controller, &(struct jr_message){.type = JR_TO_NODES_SHARE,
                                                        .cells = place->cells,
                                                        .token = place->token,
                                                        .collect = place->collect,
                                                        .on = place->frozen,
                                                        .mode = place->mode});
    int failed =
        jr_controller_await(controller, JR_NODE_READY, "look for the folder of the sweep", err);
    jr_controller_code_close(controller);
    return failed;
}

void jr_controller_serve(struct jr_controller *controller, const struct jr_cell_watcher *watcher)
{
    controller->watcher = watcher;
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        jr_controller_step_node(controller, i, JR_NODE_ON_SERVE, "");
    jr_controller_send(controller, &(struct jr_message){.type = JR_TO_NODES_SERVE,
                                                        .heartbeats = controller->transport->each});
    jr_heartbeat_begin(controller);
}

void jr_controller_begin_cell(struct jr_controller *controller,
                              const struct jr_controller_cell *cell)
{
    jr_controller_send_to(controller, cell->node,
                          &(struct jr_message){.type = JR_TO_NODES_CELL,
                                               .as = cell->node,
                                               .spec = cell->spec,
                                               .folder = cell->folder,
                                               .name = cell->name,
                                               .inject = cell->inject,
                                               .cell = cell->cell,
                                               .sweep = cell->sweep,
                                               .cells = cell->cells,
                                               .device = cell->device,
                                               .devices = cell->devices,
                                               .cores = cell->cores,
                                               .limit_ms = (int64_t)cell->limit_ms,
                                               .console = cell->console,
                                               .fingerprint = cell->fingerprint});
}

void jr_controller_show_cells(struct jr_controller *controller, int out_fd, int err_fd)
{
    jr_controller_open_console(controller, out_fd, err_fd);
}

bool jr_controller_is_mute(const struct jr_controller *controller)
{
    bool lost = controller->ended;
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        lost |= controller->nodes[i].state == JR_NODE_LOST;
    return lost && !controller->transport->each;
}

void jr_controller_signal_cells(struct jr_controller *controller, int sig, bool stop)
{
    if (!jr_controller_is_mute(controller))
        jr_controller_send(controller,
                           &(struct jr_message){.type = JR_TO_NODES_SIGNAL, .signal = sig});
    else if (stop) /* the end of their input says it, too */
        jr_controller_close_input(controller);
}

bool jr_controller_stop_cell(struct jr_controller *controller, uint32_t node, const char *cell)
{
    bool told =
        !jr_controller_is_mute(controller) && controller->nodes[node].state == JR_NODE_SERVING;
    if (told)
        jr_controller_send_to(
            controller, node,
            &(struct jr_message){.type = JR_TO_NODES_SIGNAL, .signal = SIGTERM, .cell = cell});
    return told;
}

int jr_controller_fd(const struct jr_controller *controller)
{
    return controller->loop.epoll_fd;
}

uint64_t jr_controller_due(const struct jr_controller *controller)
{
    const uint64_t moments[] = {controller->heartbeat.at, controller->deadline.at,
                                controller->demand.at};
    uint64_t first = 0;
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        if (first == 0 || (moments[i] != 0 && moments[i] < first))
            first = moments[i];
    return first;
}

void jr_controller_attend(struct jr_controller *controller)
{
    enum { TURNS_MOST = 16 }; /* what cells have left may be much */
    for (int i = 0; i < TURNS_MOST && jr_loop_turn(&controller->loop, true) > 0; i++)
        continue;
}

size_t jr_controller_children(const struct jr_controller *controller, pid_t *ret)
{
    size_t count = 0;
    for (uint32_t i = 0; i < controller->links_count; i++)
        if (controller->links[i].pid > 0)
            ret[count++] = controller->links[i].pid;
    return count;
}

bool jr_controller_has_links(const struct jr_controller *controller)
{
    return controller->transport->each;
}

bool jr_controller_reap(struct jr_controller *controller, pid_t pid, int status)
{
    for (uint32_t i = 0; i < controller->links_count; i++)
        if (pid > 0 && controller->links[i].pid == pid) {
            jr_link_take_end(&controller->links[i], status);
            return true;
        }
    return false;
}

void jr_controller_forget(struct jr_controller *controller)
{
    for (uint32_t i = 0; i < controller->links_count; i++) {
        struct jr_link *link = &controller->links[i];
        const int fds[] = {link->in.fd, link->out.fd, link->err.fd};
        for (size_t j = 0; j < sizeof fds / sizeof *fds; j++)
            if (fds[j] >= 0)
                (void)close(fds[j]);
    }
}

/* Nodes and spares. */

int jr_placing_make(struct jr_placing *ret, struct jr_arena *arena, char *const *hosts,
                    uint32_t nodes, uint32_t spares)
{
    size_t count = (size_t)nodes + spares;
    *ret = (struct jr_placing){
        .arena = arena,
        .nodes = nodes,
        .spares = spares,
        .hosts = jr_arena_array(arena, count, sizeof *ret->hosts),
        .machines = jr_arena_array(arena, count, sizeof *ret->machines),
        .left_out = jr_arena_array(arena, count, sizeof *ret->left_out),
    };
    if (arena->failed)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        ret->hosts[i] = jr_arena_strdup(arena, hosts[i]);
        ret->machines[i] = i;
    }
    return arena->failed ? -1 : 0;
}

int jr_placing_leave_out(struct jr_placing *placing, uint32_t index, const char *why)
{
    uint32_t spare = placing->nodes;
    const char *reason = jr_arena_strdup(placing->arena, why);
    if (placing->spares == 0 || reason == NULL)
        return -1;
    placing->left_out[placing->left_out_count++] =
        (struct jr_lost_machine){placing->hosts[index], reason};
    if (index < spare) {
        placing->hosts[index] = placing->hosts[spare];
        placing->machines[index] = placing->machines[spare];
        index = spare;
    }
    /* Close the gap that the spare leaves. */
    uint32_t last = spare + --placing->spares;
    for (uint32_t i = index; i < last; i++) {
        placing->hosts[i] = placing->hosts[i + 1];
        placing->machines[i] = placing->machines[i + 1];
    }
    return 0;
}

uint32_t jr_placing_task(const struct jr_placing *placing, uint32_t node)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < placing->nodes; i++)
        before += placing->machines[i] < placing->machines[node];
    return before;
}
