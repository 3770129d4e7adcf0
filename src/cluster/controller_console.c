#include "cluster/controller_console.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/controller_cells.h"

#include "base/banned.h"

#define STALL_NS UINT64_C(1000000000)
#define HURRY_NS (10 * STALL_NS)

static void hold_agents(struct jr_controller *controller, bool on)
{
    if (controller->held == on)
        return;
    controller->held = on;
    if (controller->watcher != NULL && jr_controller_is_mute(controller)) {
        controller->cut |= on; /* nobody can be held: the files have it all */
        return;
    }
    jr_controller_send(controller, &(struct jr_message){.type = JR_TO_NODES_HOLD, .on = on});
}

static void on_console_room(void *owner, struct jr_output *output)
{
    struct jr_controller *controller = owner;
    (void)output;
    if (!jr_console_writer_is_waiting(&controller->console) && !controller->cut)
        hold_agents(controller, false);
}

void jr_controller_open_console(struct jr_controller *controller, int out_fd, int err_fd)
{
    if (controller->console_open)
        return;
    controller->console_open = true;
    jr_console_writer_open(&controller->console, &controller->loop, out_fd, err_fd);
    controller->console.relieved = on_console_room;
    controller->console.owner = controller;
}

void jr_controller_show(struct jr_controller *controller, int stream, const char *bytes, size_t len)
{
    if (controller->cut || !controller->console_open)
        return;
    jr_console_writer_write(&controller->console, stream, bytes, len);
    if (jr_output_is_full(&controller->console.outputs[0]) ||
        jr_output_is_full(&controller->console.outputs[1]))
        hold_agents(controller, true);
}

void jr_controller_read_lines(struct jr_controller *controller, uint32_t node, enum jr_channel type)
{
    if ((type != JR_CHANNEL_OUT && type != JR_CHANNEL_ERR) || !controller->console_open)
        return;
    struct jr_buf *stream = &controller->nodes[node].streams[type];
    const char *end = stream->len == 0 ? NULL : memrchr(stream->data, '\n', stream->len);
    if (end == NULL)
        return;
    size_t len = (size_t)(end + 1 - stream->data);
    jr_controller_show(controller, type == JR_CHANNEL_ERR, stream->data, len);
    memmove(stream->data, stream->data + len, stream->len - len);
    stream->len -= len;
}

/* After the runs. */

struct ending {
    struct jr_controller *controller;
    struct jr_watch signals;
    struct jr_signals uses;
    uint64_t limit_ns; /* of one that does not wait; 0: it does */
};

static void hurry_console(struct ending *ending)
{
    uint64_t now = jr_clock_ns();
    if (ending->limit_ns == 0)
        ending->limit_ns = now + HURRY_NS;
    ending->controller->timed_out = false;
    ending->controller->deadline.at = now + STALL_NS;
}

static void on_ending_signal(void *owner, uint32_t events)
{
    (void)events;
    struct ending *ending = owner;
    pid_t pid;
    int sig = jr_signal_read(ending->signals.fd, &pid);
    if (ending->uses.use[sig] == JR_SIGNAL_SUSPEND)
        (void)kill(getpid(), SIGSTOP);
    if (ending->uses.use[sig] != JR_SIGNAL_STOP)
        return;
    ending->controller->cut = true;
    hold_agents(ending->controller, true);
    hurry_console(ending);
}

static bool is_console_behind(const struct jr_controller *controller)
{
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        if (controller->nodes[i].behind)
            return !controller->ended && !controller->cut;
    return false;
}

/* A console that took all that there was gets a new moment. */
static void grant_console_time(struct ending *ending)
{
    struct jr_controller *controller = ending->controller;
    uint64_t at = jr_clock_ns() + STALL_NS;
    if (ending->limit_ns == 0 || jr_console_writer_is_waiting(&controller->console))
        return;
    controller->deadline.at = at < ending->limit_ns ? at : ending->limit_ns;
}

static void show_all_nodes(struct ending *ending)
{
    struct jr_controller *controller = ending->controller;
    while (!controller->timed_out &&
           (is_console_behind(controller) || jr_console_writer_is_waiting(&controller->console))) {
        jr_controller_turn(controller);
        grant_console_time(ending);
    }
    controller->deadline.at = 0;
}

bool jr_controller_show_rest(struct jr_controller *controller, const struct jr_policy *policy,
                             const sigset_t *ignored, bool stopped)
{
    struct ending ending = {.controller = controller};
    sigset_t set;
    if (!controller->console_open ||
        (!is_console_behind(controller) && !jr_console_writer_is_waiting(&controller->console)))
        return true;
    jr_signals_make(&ending.uses, policy, ignored);
    jr_signals_set(&ending.uses, &set);
    ending.signals = (struct jr_watch){signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
                                       on_ending_signal, &ending};
    controller->timed_out = false;
    if (stopped || ending.signals.fd < 0 ||
        jr_loop_add(&controller->loop, &ending.signals, EPOLLIN) != 0)
        hurry_console(&ending);
    show_all_nodes(&ending);
    jr_loop_close(&ending.signals);
    bool whole = !controller->cut && !controller->timed_out;
    controller->cut = true;
    jr_console_writer_abandon(&controller->console);
    return whole;
}
