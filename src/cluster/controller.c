#include "cluster/controller.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "cluster/controller_parts.h"
#include "generated/version.h"

#include "base/banned.h"

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
    controller->stop =
        (struct jr_watch){controller->options.stop_fd, on_stop, controller};
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

void jr_controller_turn(struct jr_controller *controller)
{
    (void)jr_loop_turn(&controller->loop, false);
}

bool jr_controller_awaits(const struct jr_controller *controller,
                          enum jr_node_state state)
{
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        if (controller->nodes[i].state < state)
            return true;
    return false;
}

struct jr_controller_node jr_controller_node(
    const struct jr_controller *controller, uint32_t node)
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

/* Waiting for all nodes, and reporting the one that did not come. */

#define START_MS 300000u

void jr_controller_name(struct jr_buf *out,
                        const struct jr_controller *controller, uint32_t node)
{
    const char *host = controller->nodes[node].host;
    jr_buf_printf(out, "node %u", node);
    if (host == NULL)
        return;
    jr_buf_str(out, " (");
    jr_buf_safe(out, host);
    jr_buf_char(out, ')');
}

static uint64_t patience_ms(const struct jr_controller *controller)
{
    uint64_t ms = controller->options.start_ms;
    return ms > 0 ? ms : START_MS;
}

/* The first node that is not in `state` yet, and how many there are. */
static uint32_t find_missing_node(const struct jr_controller *controller,
                                  enum jr_node_state state, uint32_t *ret_count)
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

/* With what the program of the first missing node has said last. */
static void add_start_limit(struct jr_buf *out,
                            const struct jr_controller *controller,
                            enum jr_node_state state)
{
    uint32_t count, node = find_missing_node(controller, state, &count);
    const struct jr_link *link =
        &controller->links[controller->transport->each ? node : 0];
    jr_buf_str(out, " within ");
    jr_num_add_duration(out, patience_ms(controller));
    jr_buf_str(out, " (timeouts.start)");
    if (link->last_line[0] != '\0')
        jr_buf_printf(out, "; the last output of %s: %s",
                      controller->transport->program, link->last_line);
}

static void add_waiting_reason(struct jr_buf *out,
                               const struct jr_controller *controller,
                               enum jr_node_state state)
{
    const struct jr_transport *transport = controller->transport;
    if (controller->agent_exited) {
        jr_buf_printf(out, ": %s", controller->exited_why);
        if (controller->nodes[controller->exited_node].state ==
                JR_NODE_UNKNOWN &&
            transport->has_exited != NULL &&
            transport->has_exited(controller->exited_why))
            jr_buf_printf(out,
                          " (is jobrun there, as %s, and of version " JR_VERSION
                          "?)",
                          controller->options.program);
    } else if (controller->ended) {
        jr_buf_str(out, ": ");
        jr_link_describe_end(out, &controller->links[0], false);
    } else
        add_start_limit(out, controller, state);
}

/* Those that are not in `state` yet: "node 1 (gpu02) and 2 others". */
static void add_missing_nodes(struct jr_buf *out,
                              const struct jr_controller *controller,
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

bool jr_controller_has_agent(const struct jr_controller *controller)
{
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        if (controller->nodes[i].state >= JR_NODE_KNOWN)
            return true;
    return false;
}

/* The message about nodes that did not reach a state in time. */
static int report_missing_nodes(const struct jr_controller *controller,
                                enum jr_node_state state, const char *what,
                                struct jr_error *err)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    add_missing_nodes(&text, controller, state);
    jr_buf_printf(&text, " did not %s", what);
    add_waiting_reason(&text, controller, state);
    if (!controller->agent_exited &&
        controller->transport->nodes_hint != NULL &&
        !jr_controller_has_agent(controller)) /* as where a job has shrunk */
        jr_buf_printf(&text, "; %s", controller->transport->nodes_hint);
    return jr_error_set(err, JR_STATUS_LAUNCH, "%s",
                        text.failed ? "out of memory" : text.data);
}

/* Of one that has not come in time. */
static const char *describe_absence(const struct jr_controller *controller,
                                    uint32_t node)
{
    bool late = controller->timed_out &&
                controller->nodes[node].state < controller->awaited;
    return late ? "it was not ready within timeouts.start" : NULL;
}

/* Without the name of the node, with which it begins. */
static const char *describe_node_refusal(const struct jr_controller *controller,
                                         uint32_t node)
{
    const char *text = controller->refusal.text;
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_controller_name(&name, controller, node);
    jr_buf_str(&name, ": ");
    bool named = !name.failed && strncmp(text, name.data, name.len) == 0;
    return named ? text + name.len : text;
}

const char *jr_controller_loss(const struct jr_controller *controller,
                               uint32_t node, bool *ret_refused)
{
    *ret_refused = controller->refused && controller->refused_node == node &&
                   controller->nodes[node].loss == NULL;
    if (*ret_refused)
        return describe_node_refusal(controller, node);
    if (controller->agent_exited && controller->exited_node == node)
        return controller->exited_why;
    return controller->nodes[node].loss != NULL
               ? controller->nodes[node].loss
               : describe_absence(controller, node);
}

void jr_controller_forsake(struct jr_controller *controller)
{
    controller->forsaken = true;
}

static bool is_told_to_stop(const struct jr_controller *controller)
{
    struct pollfd fd = {.fd = controller->options.stop_fd, .events = POLLIN};
    return fd.fd > 0 && poll(&fd, 1, 0) > 0;
}

void jr_controller_wait_on(struct jr_controller *controller)
{
    controller->deadline.at =
        jr_clock_ns() + patience_ms(controller) * UINT64_C(1000000);
}

static void begin_patience(struct jr_controller *controller,
                           enum jr_node_state state)
{
    controller->timed_out = false;
    controller->awaited = state;
    jr_controller_wait_on(controller);
}

/* Whether it is to be waited on for nodes to be in a state. */
static bool is_in_patience(const struct jr_controller *controller,
                           enum jr_node_state state)
{
    return !controller->refused && !controller->agent_exited &&
           !controller->ended && !controller->timed_out &&
           !is_told_to_stop(controller) &&
           jr_controller_awaits(controller, state);
}

/* What came of the wait. */
static int end_patience(struct jr_controller *controller,
                        enum jr_node_state state, const char *what,
                        struct jr_error *err)
{
    controller->deadline.at = 0;
    if (controller->refused && err != NULL)
        *err = controller->refusal;
    if (controller->refused)
        return -1;
    if (is_told_to_stop(controller) && jr_controller_awaits(controller, state))
        return jr_error_set(err, JR_STATUS_LAUNCH, "jobrun was told to stop");
    return jr_controller_awaits(controller, state)
               ? report_missing_nodes(controller, state, what, err)
               : 0;
}

int jr_controller_await(struct jr_controller *controller,
                        enum jr_node_state state, const char *what,
                        struct jr_error *err)
{
    begin_patience(controller, state);
    while (is_in_patience(controller, state))
        jr_controller_turn(controller);
    return end_patience(controller, state, what, err);
}

int jr_controller_started(struct jr_controller *controller,
                          struct jr_error *err)
{
    return is_in_patience(controller, JR_NODE_KNOWN)
               ? 1
               : end_patience(controller, JR_NODE_KNOWN, "answer", err);
}

/* From open to close. */

int jr_controller_send_spec(struct jr_controller *controller,
                            const struct jr_controller_spec *spec,
                            struct jr_error *err)
{
    jr_controller_send(controller,
                       &(struct jr_message){.type = JR_TO_NODES_SPEC,
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
    int failed =
        jr_controller_await(controller, JR_NODE_READY, "take the spec", err);
    controller->joins = false;
    controller->heartbeat.at = 0;
    jr_controller_code_close(controller);
    return failed;
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

static int open_controller(struct jr_controller *controller,
                           struct jr_error *err)
{
    controller->nodes =
        calloc(jr_controller_machines(controller), sizeof *controller->nodes);
    controller->bytes = malloc(JR_CONTROLLER_PIECE);
    if (controller->nodes == NULL || controller->bytes == NULL ||
        jr_loop_open(&controller->loop) != 0 || hear_stop(controller) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH,
                            "could not set up the controller");
    for (uint32_t i = 0; i < jr_controller_machines(controller); i++) {
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
    return jr_controller_connect(controller, err);
}

int jr_controller_start(struct jr_controller **ret,
                        const struct jr_controller_options *options,
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
        .code = {.archive = {.fd = -1}},
        .deadline = {.due = on_controller_timeout, .owner = controller},
        .heartbeat = {.due = jr_heartbeat_due, .owner = controller},
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

int jr_controller_open(struct jr_controller **ret,
                       const struct jr_controller_options *options,
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

void jr_controller_close(struct jr_controller *controller)
{
    if (controller == NULL)
        return;
    controller->watcher = NULL; /* that agents end now is no loss */
    controller->leaves = true;
    jr_controller_disconnect(controller);
    for (uint32_t i = 0;
         controller->nodes != NULL && i < jr_controller_machines(controller);
         i++) {
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
    if (controller->loop.epoll_fd >= 0)
        (void)close(controller->loop.epoll_fd);
    free(controller->links);
    free(controller->nodes);
    free(controller->bytes);
    free(controller);
}
