/*
 * The controller's console: lines of all nodes, while they run and afterwards
 * (controller_parts.h).
 *
 * A full console blocks no rank and no message of an agent: agents are told to
 * keep their lines, and on each node the runner continues to write its files
 * and catches up from them (catch_up.h). What a node has not shown when its
 * ranks have ended follows its `done`, and then comes `shown`.
 */
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/controller_parts.h"

#include "base/banned.h"

#define STALL_NS UINT64_C(1000000000)
#define HURRY_NS (10 * STALL_NS)

static void hold_agents(struct jr_controller *head, bool on)
{
    if (head->held == on)
        return;
    head->held = on;
    jr_controller_send(
        head, &(struct jr_message){.type = JR_TO_NODES_HOLD, .on = on});
}

static void on_console_room(void *owner, struct jr_output *output)
{
    struct jr_controller *head = owner;
    (void)output;
    if (!jr_console_writer_is_waiting(&head->screen) && !head->cut)
        hold_agents(head, false);
}

void jr_controller_screen(struct jr_controller *head, int out_fd, int err_fd)
{
    if (head->screened)
        return;
    head->screened = true;
    jr_console_writer_open(&head->screen, &head->loop, out_fd, err_fd);
    head->screen.relieved = on_console_room;
    head->screen.owner = head;
}

void jr_controller_show(struct jr_controller *head, int stream,
                        const char *bytes, size_t len)
{
    if (head->cut || !head->screened)
        return;
    jr_console_writer_write(&head->screen, stream, bytes, len);
    if (jr_output_is_full(&head->screen.outputs[0]) ||
        jr_output_is_full(&head->screen.outputs[1]))
        hold_agents(head, true);
}

void jr_controller_read_lines(struct jr_controller *head, uint32_t node,
                              enum jr_channel type)
{
    if ((type != JR_CHANNEL_OUT && type != JR_CHANNEL_ERR) || !head->screened)
        return;
    struct jr_buf *stream = &head->nodes[node].streams[type];
    const char *end =
        stream->len == 0 ? NULL : memrchr(stream->data, '\n', stream->len);
    if (end == NULL)
        return;
    size_t len = (size_t)(end + 1 - stream->data);
    jr_controller_show(head, type == JR_CHANNEL_ERR, stream->data, len);
    memmove(stream->data, stream->data + len, stream->len - len);
    stream->len -= len;
}

/* After the runs. */

struct ending {
    struct jr_controller *head;
    struct jr_watch signals;
    struct jr_signals uses;
    uint64_t limit_ns; /* of one that does not wait; 0: it does */
};

static void hurry_console(struct ending *ending)
{
    uint64_t now = jr_clock_ns();
    if (ending->limit_ns == 0)
        ending->limit_ns = now + HURRY_NS;
    ending->head->late = false;
    ending->head->patience.at = now + STALL_NS;
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
    ending->head->cut = true;
    hold_agents(ending->head, true);
    hurry_console(ending);
}

static bool is_console_behind(const struct jr_controller *head)
{
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (head->nodes[i].behind)
            return !head->ended && !head->cut;
    return false;
}

/* A console that took all that there was gets a new moment. */
static void grant_console_time(struct ending *ending)
{
    struct jr_controller *head = ending->head;
    uint64_t at = jr_clock_ns() + STALL_NS;
    if (ending->limit_ns == 0 || jr_console_writer_is_waiting(&head->screen))
        return;
    head->patience.at = at < ending->limit_ns ? at : ending->limit_ns;
}

static void show_all_nodes(struct ending *ending)
{
    struct jr_controller *head = ending->head;
    while (!head->late && (is_console_behind(head) ||
                           jr_console_writer_is_waiting(&head->screen))) {
        jr_controller_turn(head);
        grant_console_time(ending);
    }
    head->patience.at = 0;
}

bool jr_controller_show_rest(struct jr_controller *head,
                             const struct jr_policy *policy,
                             const sigset_t *ignored, bool stopped)
{
    struct ending ending = {.head = head};
    sigset_t set;
    if (!head->screened || (!is_console_behind(head) &&
                            !jr_console_writer_is_waiting(&head->screen)))
        return true;
    jr_signals_make(&ending.uses, policy, ignored);
    jr_signals_set(&ending.uses, &set);
    ending.signals =
        (struct jr_watch){signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
                          on_ending_signal, &ending};
    head->late = false;
    if (stopped || ending.signals.fd < 0 ||
        jr_loop_add(&head->loop, &ending.signals, EPOLLIN) != 0)
        hurry_console(&ending);
    show_all_nodes(&ending);
    jr_loop_close(&ending.signals);
    bool whole = !head->cut && !head->late;
    head->cut = true;
    jr_console_writer_abandon(&head->screen);
    return whole;
}
