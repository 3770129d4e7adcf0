#include "cluster/controller.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/controller_parts.h"

#include "base/banned.h"

static void on_controller_timeout(void *owner)
{
    struct jr_controller *head = owner;
    head->late = true;
}

void jr_controller_turn(struct jr_controller *head)
{
    (void)jr_loop_turn(&head->loop, false);
    head->ended = head->out.fd < 0 && head->err.fd < 0 && head->process.fd < 0;
}

bool jr_controller_awaits(const struct jr_controller *head,
                          enum jr_node_state state)
{
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (head->nodes[i].state < state)
            return true;
    return false;
}

struct jr_controller_node jr_controller_node(const struct jr_controller *head,
                                             uint32_t node)
{
    const struct jr_node_side *side = &head->nodes[node];
    const struct jr_buf *facts = &side->streams[JR_CHANNEL_FACTS],
                        *seats = &side->streams[JR_CHANNEL_SEATS];
    return (struct jr_controller_node){
        .host = side->host != NULL ? side->host : "unknown",
        .facts = facts->len > 0 ? facts->data : "",
        .facts_len = facts->len,
        .seats = seats->len > 0 ? seats->data : "",
        .seats_len = seats->len,
        .port = side->port,
        .clock_offset_ns = side->clock_offset_ns,
    };
}

int jr_controller_send_spec(struct jr_controller *head, const char *spec,
                            const char *inject, struct jr_error *err)
{
    jr_controller_send(head, &(struct jr_message){.type = JR_TO_NODES_SPEC,
                                                  .spec = spec,
                                                  .inject = inject});
    jr_heartbeat_begin(head);
    int failed = jr_controller_await(head, JR_NODE_READY, "take the spec", err);
    head->beat.at = 0;
    return failed;
}

const char *jr_controller_lacks(const struct jr_controller *head)
{
    if (head->ended)
        return "srun has ended";
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (head->nodes[i].state != JR_NODE_DONE)
            return "a node was lost, or is still at work";
    return NULL;
}

static int open_controller(struct jr_controller *head, struct jr_error *err)
{
    head->nodes = calloc(head->options.nodes, sizeof *head->nodes);
    head->bytes = malloc(JR_CONTROLLER_PIECE);
    if (head->nodes == NULL || head->bytes == NULL ||
        jr_loop_open(&head->loop) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not set up the head");
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (head->options.hosts != NULL)
            head->nodes[i].host = strdup(head->options.hosts[i]);
    jr_loop_timer(&head->loop, &head->patience);
    jr_loop_timer(&head->loop, &head->beat);
    return jr_controller_connect(head, err);
}

int jr_controller_open(struct jr_controller **ret,
                       const struct jr_controller_options *options,
                       struct jr_error *err)
{
    struct jr_controller *head = calloc(1, sizeof *head);
    if (head == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    *head = (struct jr_controller){
        .options = *options,
        .loop = {.epoll_fd = -1},
        .in = {.fd = -1},
        .out = {.fd = -1},
        .err = {.fd = -1},
        .process = {.fd = -1},
        .patience = {.due = on_controller_timeout, .owner = head},
        .beat = {.due = jr_heartbeat_due, .owner = head},
    };
    if (open_controller(head, err) != 0 ||
        jr_controller_await(head, JR_NODE_MET, "answer", err) != 0) {
        jr_controller_close(head);
        return -1;
    }
    *ret = head;
    return 0;
}

void jr_controller_close(struct jr_controller *head)
{
    if (head == NULL)
        return;
    jr_controller_disconnect(head);
    for (uint32_t i = 0; head->nodes != NULL && i < head->options.nodes; i++) {
        free(head->nodes[i].host);
        for (int j = 0; j < JR_CHANNEL_COUNT; j++)
            jr_buf_release(&head->nodes[i].streams[j]);
    }
    if (head->screened)
        jr_console_writer_close(&head->screen);
    if (head->loop.epoll_fd >= 0)
        (void)close(head->loop.epoll_fd);
    free(head->nodes);
    free(head->bytes);
    free(head);
}
