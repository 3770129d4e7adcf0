/* Commands from the other nodes of a job, and reports to them, by the link of jr_run_options.
 * internal.h declares it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "run/internal.h"

#include "base/banned.h"

static void handle_command(struct jr_runner *runner, char command)
{
    /* Another node stops. Where this one hangs, it stops by itself, once it has its evidence. */
    if (command == JR_COMMAND_STOP && !jr_hang_has_begun(runner))
        jr_stop_begin(runner);
    else if (command == JR_COMMAND_RELEASE)
        jr_exit_barrier_release(runner);
    else if (command == JR_COMMAND_FIRST)
        jr_first_exit_begin(runner);
    else if (command == JR_COMMAND_QUERY)
        jr_output_timeout_report(runner);
    else if (command == JR_COMMAND_HANG)
        jr_hang_begin(runner, JR_HANG_SILENCE);
    else if (command == JR_COMMAND_INITIALIZED)
        jr_mpi_world_note_others(runner);
    else if (command == JR_COMMAND_PREEMPTED)
        jr_preemption_settle(runner, true);
    else if (command == JR_COMMAND_NOT_PREEMPTED)
        jr_preemption_settle(runner, false);
    else if (command == JR_COMMAND_NO_STEP)
        jr_hang_begin(runner, JR_HANG_PROGRESS);
    else if (command == JR_COMMAND_NO_FIRST_STEP)
        jr_hang_begin(runner, JR_HANG_FIRST_STEP);
}

/* Who gave the commands is gone when they end: so is the job. */
static void on_commands(void *owner, uint32_t events)
{
    (void)events;
    struct jr_runner *runner = owner;
    struct jr_watch *watch = &runner->commands.watch;
    char commands[16];
    ssize_t len = read(watch->fd, commands, sizeof commands);
    if (len < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    for (ssize_t i = 0; i < len; i++)
        handle_command(runner, commands[i]);
    if (len > 0)
        return;
    jr_loop_close(watch);
    jr_stop_begin(runner);
}

int jr_commands_keep(struct jr_runner *runner)
{
    const struct jr_run_link *link = runner->options->link;
    struct jr_commands *commands = &runner->commands;
    *commands = (struct jr_commands){.watch = {.fd = -1, .ready = on_commands, .owner = runner},
                                     .reports_fd = -1,
                                     .exchange_fd = -1};
    if (link == NULL)
        return 0;
    jr_events_open_fd(&runner->events, link->events_fd, JR_SLOT_END);
    commands->watch.fd = fcntl(link->commands_fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    commands->reports_fd = fcntl(link->reports_fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    commands->exchange_fd = fcntl(link->exchange_fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    return runner->events.fd < 0 || commands->watch.fd < 0 || commands->reports_fd < 0 ||
                   commands->exchange_fd < 0
               ? -1
               : 0;
}

int jr_commands_take_exchange(struct jr_runner *runner)
{
    int fd = runner->options->link == NULL ? -1 : runner->commands.exchange_fd;
    runner->commands.exchange_fd = -1;
    return fd;
}

void jr_commands_report(struct jr_runner *runner, enum jr_report_name name, uint64_t for_ns)
{
    const struct jr_report report = {name, for_ns};
    int fd = runner->commands.reports_fd;
    while (fd >= 0 && write(fd, &report, sizeof report) < 0 && errno == EINTR)
        continue;
}

static int open_commands(struct jr_runner *runner)
{
    if (runner->commands.watch.fd < 0)
        return 0;
    return jr_loop_add(&runner->loop, &runner->commands.watch, EPOLLIN);
}

const struct jr_runner_policy jr_commands_policy = {
    .name = "commands",
    .open = open_commands,
};
