#include "run/policies/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "run/runner.h"

#include "base/banned.h"

/* Another node stops. Where this one hangs, it stops by itself, once it has
 * its evidence. */
static void stop_by_command(struct jr_runner *runner)
{
    if (!jr_hang_has_begun(runner))
        jr_stop_begin(runner);
}

static void handle_command(struct jr_runner *runner, char order)
{
    if (order == JR_ORDER_STOP)
        stop_by_command(runner);
    else if (order == JR_ORDER_RELEASE)
        jr_exit_barrier_release(runner);
    else if (order == JR_ORDER_FIRST)
        jr_first_exit_begin(runner);
    else if (order == JR_ORDER_QUERY)
        jr_output_timeout_tell(runner);
    else if (order == JR_ORDER_HANG)
        jr_hang_begin(runner, JR_HANG_SILENCE);
}

/* Who gave the orders is gone when they end: so is the job. */
static void on_commands(void *owner, uint32_t events)
{
    (void)events;
    struct jr_runner *runner = owner;
    char orders[16];
    ssize_t len = read(runner->commands.fd, orders, sizeof orders);
    if (len < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    for (ssize_t i = 0; i < len; i++)
        handle_command(runner, orders[i]);
    if (len > 0)
        return;
    jr_loop_remove(&runner->loop, &runner->commands);
    (void)close(runner->commands.fd);
    runner->commands.fd = -1;
    jr_stop_begin(runner);
}

int jr_commands_keep(struct jr_runner *runner)
{
    const struct jr_run_link *link = runner->options->link;
    runner->commands =
        (struct jr_watch){.fd = -1, .ready = on_commands, .owner = runner};
    if (link == NULL)
        return 0;
    jr_events_open_fd(&runner->events, link->events_fd, JR_SLOT_END);
    runner->commands.fd = fcntl(link->orders_fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    return runner->events.fd < 0 || runner->commands.fd < 0 ? -1 : 0;
}

static int open_commands(struct jr_runner *runner)
{
    if (runner->commands.fd < 0)
        return 0;
    return jr_loop_add(&runner->loop, &runner->commands, EPOLLIN);
}

const struct jr_runner_policy jr_commands_policy = {
    .name = "commands",
    .open = open_commands,
};
