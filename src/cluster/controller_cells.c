#include "cluster/controller_cells.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/await_agents.h"
#include "cluster/controller_code.h"
#include "cluster/controller_console.h"
#include "cluster/controller_parts.h"

#include "base/banned.h"

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

void jr_controller_read_cell_lines(struct jr_controller *controller, uint32_t node,
                                   enum jr_channel channel)
{
    struct jr_buf *stream = &controller->nodes[node].streams[channel];
    const struct jr_cell_watcher *watcher = controller->watcher;
    size_t at = 0;
    for (char *end; watcher != NULL && at < stream->len &&
                    (end = memchr(stream->data + at, '\n', stream->len - at)) != NULL;) {
        *end = '\0';
        (channel == JR_CHANNEL_NOTE ? watcher->said : watcher->told)(watcher->data, node,
                                                                     stream->data + at);
        at = (size_t)(end + 1 - stream->data);
    }
    if (at > 0)
        memmove(stream->data, stream->data + at, stream->len - at);
    stream->len -= at;
}

void jr_controller_read_left(struct jr_controller *controller, uint32_t node)
{
    struct jr_buf *stream = &controller->nodes[node].streams[JR_CHANNEL_LEFT];
    const struct jr_cell_watcher *watcher = controller->watcher;
    if (controller->nodes[node].state == JR_NODE_SERVING && !stream->failed)
        watcher->left(watcher->data, node, stream->data, stream->len);
    jr_buf_clear(stream);
}
