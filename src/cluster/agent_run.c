#include "cluster/agent_run.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/io.h"
#include "cluster/outcome_message.h"

#include "base/banned.h"

/* Pipes by what comes from the run, and last the one of its orders; each with
 * its read end first. */
enum { ORDERS = JR_AGENT_ENDS, PIPES };

static void close_agent_pipes(int pipes[PIPES][2])
{
    for (int i = 0; i < PIPES; i++)
        for (int j = 0; j < 2; j++)
            if (pipes[i][j] >= 0)
                (void)close(pipes[i][j]);
}

static int open_agent_pipes(int pipes[PIPES][2])
{
    for (int i = 0; i < PIPES; i++)
        pipes[i][0] = pipes[i][1] = -1;
    for (int i = 0; i < PIPES; i++)
        if (pipe2(pipes[i], O_CLOEXEC) != 0 ||
            (i != ORDERS && fcntl(pipes[i][0], F_SETFL, O_NONBLOCK) != 0))
            return -1;
    return 0;
}

/* srun's streams are the agent's: nothing of the run may hold them. */
static int take_streams(int pipes[PIPES][2])
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(pipes[JR_AGENT_END_OUT][1], STDOUT_FILENO) < 0 ||
        dup2(pipes[JR_AGENT_END_ERR][1], STDERR_FILENO) < 0)
        return -1;
    (void)close(null);
    for (int i = 0; i < PIPES; i++) {
        (void)close(pipes[i][i == ORDERS ? 1 : 0]);
        if (i <= JR_AGENT_END_ERR)
            (void)close(pipes[i][1]);
    }
    return 0;
}

/* The outcome does not wait for what the console has still to show: another
 * process does. Returns the exit code. */
static int show_in_other_process(const struct jr_agent_hooks *hooks,
                                 int pipes[PIPES][2])
{
    pid_t pid = fork();
    if (pid != 0)
        return pid > 0 ? JR_AGENT_BEHIND : 0;
    (void)close(pipes[JR_AGENT_END_EVENT][1]);
    (void)close(pipes[JR_AGENT_END_REPORT][1]);
    (void)close(pipes[JR_AGENT_END_OUTCOME][1]);
    (void)close(pipes[ORDERS][0]);
    hooks->show(hooks->data);
    _exit(0);
}

static _Noreturn void run_ranks(const struct jr_agent_hooks *hooks,
                                int pipes[PIPES][2])
{
    struct jr_buf text = JR_BUF_INIT;
    struct jr_outcome outcome = {0};
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    const struct jr_agent_ends ends = {pipes[JR_AGENT_END_EVENT][1],
                                       pipes[JR_AGENT_END_REPORT][1],
                                       pipes[ORDERS][0]};
    if (take_streams(pipes) != 0)
        _exit(1);
    if (hooks->run(hooks->data, &ends, &outcome, &err) == 0)
        jr_outcome_message_add(&text, &outcome);
    else
        jr_outcome_message_refuse(&text, &err);
    if (text.failed || jr_io_write_all(pipes[JR_AGENT_END_OUTCOME][1],
                                       text.data, text.len) != 0)
        _exit(1);
    _exit(hooks->is_behind(hooks->data) ? show_in_other_process(hooks, pipes)
                                        : 0);
}

int jr_agent_fork(struct jr_agent_run *ret, const struct jr_agent_hooks *hooks)
{
    int pipes[PIPES][2];
    struct jr_agent_run run = {.pid = -1};
    if (open_agent_pipes(pipes) == 0)
        run.pid = fork();
    if (run.pid == 0)
        run_ranks(hooks, pipes);
    int error = errno;
    for (int i = 0; i < JR_AGENT_ENDS && run.pid > 0; i++) {
        run.fds[i] = pipes[i][0];
        pipes[i][0] = -1;
    }
    if (run.pid > 0) {
        run.orders_fd = pipes[ORDERS][1];
        pipes[ORDERS][1] = -1;
        *ret = run;
    }
    close_agent_pipes(pipes);
    errno = error;
    return run.pid > 0 ? 0 : -1;
}
