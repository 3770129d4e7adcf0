#include "cluster/controller.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "cluster/await_agents.h"

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

void jr_controller_forsake(struct jr_controller *controller)
{
    controller->forsaken = true;
}

/* From open to close. */

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

const char *jr_controller_lacks(const struct jr_controller *controller)
{
    if (controller->ended)
        return controller->transport->has_ended;
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        if (controller->nodes[i].state != JR_NODE_DONE)
            return "a node was lost, or is still at work";
    return NULL;
}

static int open_controller(struct jr_controller *controller, struct jr_error *err)
{
    controller->nodes = calloc(jr_controller_machines(controller), sizeof *controller->nodes);
    controller->bytes = malloc(JR_CONTROLLER_PIECE);
    if (controller->nodes == NULL || controller->bytes == NULL ||
        jr_loop_open(&controller->loop) != 0 || hear_stop(controller) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not set up the controller");
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
        .code = {.archive = {.fd = -1}},
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
    jr_controller_begin_wait(controller, JR_NODE_KNOWN);
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
    if (controller->loop.epoll_fd >= 0)
        (void)close(controller->loop.epoll_fd);
    free(controller->links);
    free(controller->nodes);
    free(controller->bytes);
    free(controller);
}
