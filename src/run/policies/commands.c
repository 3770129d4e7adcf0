/* Commands from the other nodes of a job, by the link of jr_run_options. internal.h declares it. */
#include <errno.h>
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

static int open_commands(struct jr_runner *runner)
{
    runner->commands.watch =
        (struct jr_watch){.fd = runner->link.commands_fd, .ready = on_commands, .owner = runner};
    if (runner->link.commands_fd < 0)
        return 0;
    return jr_loop_add(&runner->loop, &runner->commands.watch, EPOLLIN);
}

const struct jr_runner_policy jr_commands_policy = {
    .name = "commands",
    .open = open_commands,
};
