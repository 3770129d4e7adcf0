#include "cluster/agent_run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "cluster/agent_cells.h"
#include "cluster/agent_parts.h"
#include "cluster/outcome_message.h"
#include "spawn/run_options.h"

#include "base/banned.h"

/* The process itself, and the pipes between. */

/* Pipes by what comes from the run, and last the one of its commands; each with its read end
 * first. */
enum { COMMANDS = JR_AGENT_ENDS, PIPES };

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
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pipes[JR_AGENT_END_EXCHANGE]) != 0)
        return -1;
    for (int i = 0; i < PIPES; i++)
        if ((i != JR_AGENT_END_EXCHANGE && pipe2(pipes[i], O_CLOEXEC) != 0) ||
            (i != COMMANDS && fcntl(pipes[i][0], F_SETFL, O_NONBLOCK) != 0))
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
        (void)close(pipes[i][i == COMMANDS ? 1 : 0]);
        if (i <= JR_AGENT_END_ERR)
            (void)close(pipes[i][1]);
    }
    return 0;
}

/* The outcome does not wait for what the console has still to show: another process does. Returns
 * the exit code. */
static int show_in_other_process(const struct jr_agent_hooks *hooks, int pipes[PIPES][2])
{
    pid_t pid = fork();
    if (pid != 0)
        return pid > 0 ? JR_AGENT_BEHIND : 0;
    (void)close(pipes[JR_AGENT_END_EVENT][1]);
    (void)close(pipes[JR_AGENT_END_REPORT][1]);
    (void)close(pipes[JR_AGENT_END_OUTCOME][1]);
    (void)close(pipes[JR_AGENT_END_EXCHANGE][1]);
    (void)close(pipes[JR_AGENT_END_LEFT][1]);
    (void)close(pipes[COMMANDS][0]);
    hooks->show(hooks->data);
    _exit(0);
}

static _Noreturn void run_ranks(const struct jr_agent_hooks *hooks, int pipes[PIPES][2])
{
    struct jr_buf text = JR_BUF_INIT;
    struct jr_outcome outcome = {0};
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    const struct jr_agent_ends ends = {pipes[JR_AGENT_END_EVENT][1], pipes[JR_AGENT_END_REPORT][1],
                                       pipes[COMMANDS][0], pipes[JR_AGENT_END_EXCHANGE][1],
                                       pipes[JR_AGENT_END_LEFT][1]};
    if (take_streams(pipes) != 0)
        _exit(1);
    if (hooks->run(hooks->data, &ends, &outcome, &err) == 0)
        jr_outcome_message_add(&text, &outcome);
    else
        jr_outcome_message_refuse(&text, &err);
    if (text.failed || jr_io_write_all(pipes[JR_AGENT_END_OUTCOME][1], text.data, text.len) != 0)
        _exit(1);
    _exit(hooks->is_behind(hooks->data) ? show_in_other_process(hooks, pipes) : 0);
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
        run.commands_fd = pipes[COMMANDS][1];
        pipes[COMMANDS][1] = -1;
        *ret = run;
    }
    close_agent_pipes(pipes);
    errno = error;
    return run.pid > 0 ? 0 : -1;
}

/* What comes from it goes to the controller, from its fork to its end. */

static void close_agent_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void jr_agent_leave(struct jr_agent *agent)
{
    close_agent_fd(&agent->commands_fd);
    agent->leaving = true;
    jr_agent_end_showing(agent);
    jr_agent_end_cells(agent);
}

static void end_source(struct jr_agent_source *source)
{
    struct jr_agent *agent = source->agent;
    if (!source->paused)
        jr_loop_remove(&agent->loop, &source->watch);
    close_agent_fd(&source->watch.fd);
}

static void drain_source(struct jr_agent *agent, int end)
{
    const struct jr_agent_source *source = &agent->sources[end];
    ssize_t len;
    while (source->watch.fd >= 0 &&
           (len = read(source->watch.fd, agent->bytes, JR_AGENT_PIECE)) > 0)
        jr_channel_put(&agent->outbox, &agent->sender, source->type, agent->bytes, (size_t)len);
}

void jr_agent_drain(struct jr_agent *agent)
{
    drain_source(agent, JR_AGENT_END_OUT);
    drain_source(agent, JR_AGENT_END_ERR);
    drain_source(agent, JR_AGENT_END_LEFT);
}

/* The console's pipes hold all that is left, even if other processes still have them open. */
static void end_console(struct jr_agent *agent)
{
    jr_agent_drain(agent);
    for (int i = JR_AGENT_END_OUT; i <= JR_AGENT_END_ERR; i++)
        if (agent->sources[i].watch.fd >= 0)
            end_source(&agent->sources[i]);
}

/* The process that shows the console ends when its output is no longer read. */
void jr_agent_end_showing(struct jr_agent *agent)
{
    for (int i = JR_AGENT_END_OUT; i <= JR_AGENT_END_ERR && agent->behind; i++)
        if (agent->sources[i].watch.fd >= 0)
            end_source(&agent->sources[i]);
    agent->behind = false;
}

/* All is shown, once the process that does it has closed its pipes. */
static void check_console_shown(struct jr_agent *agent)
{
    struct jr_agent_source *sources = agent->sources;
    if (!agent->behind || sources[JR_AGENT_END_OUT].watch.fd >= 0 ||
        sources[JR_AGENT_END_ERR].watch.fd >= 0)
        return;
    agent->behind = false;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_SHOWN});
}

/* MPI's managers have nothing more to exchange. */
static void end_exchange_source(struct jr_agent *agent)
{
    struct jr_agent_source *source = &agent->sources[JR_AGENT_END_EXCHANGE];
    if (source->watch.fd >= 0)
        end_source(source);
    jr_buf_clear(&agent->exchange);
    agent->exchange_sent = 0;
    agent->exchange_full = false;
}

static void finish_node_run(struct jr_agent *agent)
{
    const struct jr_agent_hooks *hooks = agent->hooks;
    int status = 0;
    while (waitpid(agent->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    agent->pid = 0;
    close_agent_fd(&agent->commands_fd);
    agent->behind = !agent->leaving && WIFEXITED(status) && WEXITSTATUS(status) == JR_AGENT_BEHIND;
    if (!agent->behind)
        end_console(agent);
    end_exchange_source(agent);
    jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_DONE,
                                              .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                                              .behind = agent->behind,
                                              .port = hooks->offer(hooks->data)});
}

/* Both processes of the run have the pipes of events and reports, and the one that writes the
 * outcome its own, as that of what is left. Once they have ended, so have all others. */
static void end_run(struct jr_agent *agent)
{
    struct jr_agent_source *sources = agent->sources;
    if (agent->pid == 0 || sources[JR_AGENT_END_EVENT].watch.fd >= 0 ||
        sources[JR_AGENT_END_REPORT].watch.fd >= 0 || sources[JR_AGENT_END_OUTCOME].watch.fd >= 0 ||
        sources[JR_AGENT_END_LEFT].watch.fd >= 0)
        return;
    finish_node_run(agent);
    check_console_shown(agent);
}

/* What the other nodes have to know of the ranks here. */
static void send_reports(struct jr_agent *agent, const char *bytes, size_t len)
{
    static const enum jr_message_type types[] = {
        [JR_REPORT_ALL_RETURNED] = JR_FROM_NODE_ALL_RETURNED,
        [JR_REPORT_RELEASED] = JR_FROM_NODE_RELEASED,
        [JR_REPORT_SILENT] = JR_FROM_NODE_SILENT,
        [JR_REPORT_QUIET] = JR_FROM_NODE_QUIET,
        [JR_REPORT_TERMINATED] = JR_FROM_NODE_TERMINATED,
        [JR_REPORT_INITIALIZED] = JR_FROM_NODE_INITIALIZED,
    };
    struct jr_report report;
    for (; len >= sizeof report; bytes += sizeof report, len -= sizeof report) {
        memcpy(&report, bytes, sizeof report);
        jr_agent_send(agent, &(struct jr_message){.type = types[report.name],
                                                  .for_ns = (int64_t)report.for_ns});
    }
}

static void take_source(struct jr_agent_source *source, size_t len)
{
    struct jr_agent *agent = source->agent;
    if (source->type == JR_CHANNEL_COUNT)
        send_reports(agent, agent->bytes, len);
    else
        jr_channel_put(&agent->outbox, &agent->sender, source->type, agent->bytes, len);
}

/* The exchange's socket takes bytes, too. */
static void flush_exchange_bytes(struct jr_agent *agent)
{
    struct jr_watch *watch = &agent->sources[JR_AGENT_END_EXCHANGE].watch;
    struct jr_buf *box = &agent->exchange;
    while (watch->fd >= 0 && agent->exchange_sent < box->len) {
        ssize_t len = send(watch->fd, box->data + agent->exchange_sent,
                           box->len - agent->exchange_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (len < 0 && errno == EAGAIN)
            break;
        if (len < 0 && errno != EINTR) /* who reads it is gone */
            agent->exchange_sent = box->len;
        else if (len > 0)
            agent->exchange_sent += (size_t)len;
    }
    if (watch->fd < 0 || agent->exchange_sent == box->len) {
        jr_buf_clear(box);
        agent->exchange_sent = 0;
    }
    bool full = box->len > 0;
    if (full != agent->exchange_full && watch->fd >= 0)
        (void)jr_loop_change(&agent->loop, watch, full ? EPOLLIN | EPOLLOUT : EPOLLIN);
    agent->exchange_full = full;
}

void jr_agent_take_exchange(struct jr_agent *agent, const char *text)
{
    if (agent->sources[JR_AGENT_END_EXCHANGE].watch.fd < 0)
        return;
    if (!jr_base64_take(&agent->exchange, text, strlen(text)) || agent->exchange.failed)
        end_exchange_source(agent); /* which ends the run */
    flush_exchange_bytes(agent);
}

static void on_bytes(void *owner, uint32_t events)
{
    struct jr_agent_source *source = owner;
    struct jr_agent *agent = source->agent;
    if ((events & EPOLLOUT) != 0)
        flush_exchange_bytes(agent);
    ssize_t len = read(source->watch.fd, agent->bytes, JR_AGENT_PIECE);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0)
        end_source(source);
    else
        take_source(source, (size_t)len);
    if (agent->pid != 0)
        end_run(agent);
    else
        check_console_shown(agent);
    jr_agent_flush(agent);
}

int jr_agent_open_source(struct jr_agent *agent, int end, int fd, enum jr_channel type)
{
    struct jr_agent_source *source = &agent->sources[end];
    *source =
        (struct jr_agent_source){.watch = {fd, on_bytes, source}, .agent = agent, .type = type};
    if (jr_loop_add(&agent->loop, &source->watch, EPOLLIN) == 0)
        return 0;
    end_source(source);
    return -1;
}

int jr_agent_start(struct jr_agent *agent, const struct jr_message *go, struct jr_error *err)
{
    static const enum jr_channel types[] = {
        [JR_AGENT_END_OUT] = JR_CHANNEL_OUT,         [JR_AGENT_END_ERR] = JR_CHANNEL_ERR,
        [JR_AGENT_END_EVENT] = JR_CHANNEL_EVENT,     [JR_AGENT_END_REPORT] = JR_CHANNEL_COUNT,
        [JR_AGENT_END_OUTCOME] = JR_CHANNEL_OUTCOME, [JR_AGENT_END_EXCHANGE] = JR_CHANNEL_EXCHANGE,
        [JR_AGENT_END_LEFT] = JR_CHANNEL_LEFT,
    };
    const struct jr_agent_hooks *hooks = agent->hooks;
    struct jr_agent_run run;
    jr_agent_end_showing(agent);
    int prepared = hooks->prepare(hooks->data, go, err);
    if (prepared != 0 && prepared != JR_AGENT_IS_APART)
        return prepared;
    if (jr_agent_fork(&run, hooks) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not fork the run");
    agent->pid = run.pid;
    agent->commands_fd = run.commands_fd;
    if (prepared == JR_AGENT_IS_APART)
        jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_APART});
    for (int i = 0; i < JR_AGENT_ENDS; i++)
        (void)jr_agent_open_source(agent, i, run.fds[i], types[i]);
    return 0;
}
