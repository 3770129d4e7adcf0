#include "cluster/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/num.h"
#include "cluster/internal.h"
#include "generated/version.h"
#include "spawn/run_options.h"

#include "base/banned.h"

/* What goes to the controller: messages at once, and bytes of the run as srun takes them. */

#define OUTBOX_MOST (256U << 10) /* bytes that wait for srun; readers pause */

static void end_source(struct jr_agent_source *source)
{
    if (source->watch.fd >= 0 && !source->paused)
        jr_loop_remove(&source->agent->loop, &source->watch);
    jr_close_fd(&source->watch.fd);
}

static void pause_source(struct jr_agent *agent, int end, bool full)
{
    struct jr_agent_source *source = &agent->sources[end];
    if (source->watch.fd < 0 || source->paused == full)
        return;
    source->paused = full;
    if (full)
        jr_loop_remove(&agent->loop, &source->watch);
    else
        (void)jr_loop_add(&agent->loop, &source->watch, EPOLLIN);
}

/* Pipes that hold any number of bytes rest while nobody takes them. */
static void pace_agent(struct jr_agent *agent)
{
    bool full = agent->outbox.len - agent->sent > OUTBOX_MOST;
    pause_source(agent, JR_AGENT_END_OUT, full || agent->held);
    pause_source(agent, JR_AGENT_END_ERR, full || agent->held);
    pause_source(agent, JR_AGENT_END_LEFT, full);
}

/* The process that shows what is left of the last run ends when its output is no longer read. */
static void agent_end_showing(struct jr_agent *agent)
{
    for (int i = JR_AGENT_END_OUT; i <= JR_AGENT_END_ERR && agent->behind; i++)
        end_source(&agent->sources[i]);
    agent->behind = false;
}

/* Close the commands of the ranks, which stops them, and end all cells. What becomes of them is
 * still sent, because the controller may read it. */
static void agent_leave(struct jr_agent *agent)
{
    jr_close_fd(&agent->commands_fd);
    agent->leaving = true;
    agent_end_showing(agent);
    if (agent->serves)
        agent->hooks->cells->leave(agent->hooks->cells_data);
}

/* The output is not read. What ends already is not told so again. */
static void lose_controller(struct jr_agent *agent)
{
    jr_buf_clear(&agent->outbox);
    agent->sent = 0;
    if (!agent->leaving)
        agent_leave(agent);
}

static void agent_flush(struct jr_agent *agent)
{
    struct jr_buf *box = &agent->outbox;
    if (agent->abandoned)
        agent->sent = box->len;
    while (agent->sent < box->len) {
        ssize_t len = write(agent->out.fd, box->data + agent->sent, box->len - agent->sent);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0 && errno != EAGAIN)
            lose_controller(agent);
        if (len < 0)
            break;
        agent->sent += (size_t)len;
    }
    if (agent->sent == box->len) {
        jr_buf_clear(box);
        agent->sent = 0;
    }
    bool waits = box->len > 0;
    if (agent->out_watched && !waits)
        jr_loop_remove(&agent->loop, &agent->out);
    bool deaf =
        !agent->out_watched && waits && jr_loop_add(&agent->loop, &agent->out, EPOLLOUT) != 0;
    agent->out_watched = waits;
    if (deaf)
        lose_controller(agent);
    pace_agent(agent);
}

static void on_output_room(void *owner, uint32_t events)
{
    (void)events;
    agent_flush(owner);
}

static void agent_put(struct jr_agent *agent, enum jr_channel channel, const char *bytes,
                      size_t len)
{
    jr_channel_put(&agent->outbox, &agent->sender, channel, bytes, len);
}

/* Send a message. Every one says when it was said, by this node's clock. */
static void agent_send(struct jr_agent *agent, const struct jr_message *message)
{
    struct jr_message whole = *message;
    whole.node = agent->sender.node;
    whole.at_ns = (int64_t)jr_clock_ns();
    jr_message_put(&agent->outbox, &whole);
    agent_flush(agent);
}

static void agent_send_type(struct jr_agent *agent, enum jr_message_type type)
{
    agent_send(agent, &(struct jr_message){.type = type});
}

/* This node cannot do what it is to do. */
static void agent_refuse(struct jr_agent *agent, const struct jr_error *why)
{
    agent_put(agent, JR_CHANNEL_WHY, why->text, strlen(why->text));
    agent_send(agent, &(struct jr_message){
                          .type = JR_FROM_NODE_REFUSE, .code = why->status, .host = agent->host});
}

/* The process that runs the ranks, from its fork to its end. */

/* Its exit code where it has left a process that shows what the console has not taken, and ends
 * then. */
#define EXIT_BEHIND 3

/* Its pipes by what comes from it, and last the one of its commands; each with its read end
 * first. */
enum { COMMANDS = JR_AGENT_ENDS, PIPES };

static _Noreturn void run_ranks(const struct jr_agent_hooks *hooks, int pipes[PIPES][2])
{
    struct jr_buf text = JR_BUF_INIT;
    struct jr_outcome outcome = {0};
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    const struct jr_agent_ends ends = {pipes[JR_AGENT_END_EVENT][1], pipes[JR_AGENT_END_REPORT][1],
                                       pipes[COMMANDS][0], pipes[JR_AGENT_END_EXCHANGE][1],
                                       pipes[JR_AGENT_END_LEFT][1]};
    /* srun's streams are the agent's: nothing of the run may hold them. */
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(pipes[JR_AGENT_END_OUT][1], STDOUT_FILENO) < 0 ||
        dup2(pipes[JR_AGENT_END_ERR][1], STDERR_FILENO) < 0)
        _exit(1);
    (void)close(null);
    for (int i = 0; i < PIPES; i++) {
        (void)close(pipes[i][i == COMMANDS ? 1 : 0]);
        if (i <= JR_AGENT_END_ERR)
            (void)close(pipes[i][1]);
    }
    if (hooks->run(hooks->data, &ends, &outcome, &err) == 0)
        jr_outcome_message_add(&text, &outcome);
    else
        jr_outcome_message_refuse(&text, &err);
    if (text.failed || jr_io_write_all(pipes[JR_AGENT_END_OUTCOME][1], text.data, text.len) != 0)
        _exit(1);
    if (!hooks->is_behind(hooks->data))
        _exit(0);
    /* The outcome does not wait for what the console has still to show: another process does. */
    pid_t pid = fork();
    if (pid != 0)
        _exit(pid > 0 ? EXIT_BEHIND : 0);
    for (int i = JR_AGENT_END_EVENT; i < JR_AGENT_ENDS; i++)
        (void)close(pipes[i][1]);
    (void)close(pipes[COMMANDS][0]);
    hooks->show(hooks->data);
    _exit(0);
}

/* Take what the pipes of the console, and that of what is left, hold by now, be they held or not,
 * and even if other processes still have them open. */
static void agent_drain(struct jr_agent *agent)
{
    static const int ends[] = {JR_AGENT_END_OUT, JR_AGENT_END_ERR, JR_AGENT_END_LEFT};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const struct jr_agent_source *source = &agent->sources[ends[i]];
        ssize_t len;
        while (source->watch.fd >= 0 &&
               (len = read(source->watch.fd, agent->bytes, JR_AGENT_PIECE)) > 0)
            agent_put(agent, source->type, agent->bytes, (size_t)len);
    }
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
    agent_send_type(agent, JR_FROM_NODE_SHOWN);
}

/* MPI's managers have nothing more to exchange. */
static void end_exchange_source(struct jr_agent *agent)
{
    end_source(&agent->sources[JR_AGENT_END_EXCHANGE]);
    jr_buf_clear(&agent->exchange);
    agent->exchange_sent = 0;
    agent->exchange_full = false;
}

/* Both processes of the run have the pipes of events and reports, and the one that writes the
 * outcome its own, as that of what is left. Once they have ended, so have all others. */
static void end_run(struct jr_agent *agent)
{
    struct jr_agent_source *sources = agent->sources;
    int status = 0;
    if (sources[JR_AGENT_END_EVENT].watch.fd >= 0 || sources[JR_AGENT_END_REPORT].watch.fd >= 0 ||
        sources[JR_AGENT_END_OUTCOME].watch.fd >= 0 || sources[JR_AGENT_END_LEFT].watch.fd >= 0)
        return;
    while (waitpid(agent->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    agent->pid = 0;
    jr_close_fd(&agent->commands_fd);
    agent->behind = !agent->leaving && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_BEHIND;
    if (!agent->behind) {
        agent_drain(agent);
        end_source(&sources[JR_AGENT_END_OUT]);
        end_source(&sources[JR_AGENT_END_ERR]);
    }
    end_exchange_source(agent);
    agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_DONE,
                                           .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                                           .behind = agent->behind,
                                           .port = agent->hooks->offer(agent->hooks->data)});
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
        agent_send(agent, &(struct jr_message){.type = types[report.name],
                                               .for_ns = (int64_t)report.for_ns});
    }
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
    else if (source->type == JR_CHANNEL_COUNT)
        send_reports(agent, agent->bytes, (size_t)len);
    else
        agent_put(agent, source->type, agent->bytes, (size_t)len);
    if (agent->pid != 0)
        end_run(agent);
    else
        check_console_shown(agent);
    agent_flush(agent);
}

/* Hand on what comes from a pipe, whose end is the agent's from now on, as bytes of a channel: 0,
 * or -1 with errno. */
static int open_agent_source(struct jr_agent *agent, int end, int fd, enum jr_channel type)
{
    struct jr_agent_source *source = &agent->sources[end];
    *source =
        (struct jr_agent_source){.watch = {fd, on_bytes, source}, .agent = agent, .type = type};
    if (jr_loop_add(&agent->loop, &source->watch, EPOLLIN) == 0)
        return 0;
    end_source(source);
    return -1;
}

/* Fork the process that runs the ranks, and hand on what comes from it, to its end. Returns 0;
 * JR_AGENT_WANTS_CODE, and nothing is forked; or -1 with `err`. */
static int start_run(struct jr_agent *agent, const struct jr_message *go, struct jr_error *err)
{
    static const enum jr_channel types[] = {
        [JR_AGENT_END_OUT] = JR_CHANNEL_OUT,         [JR_AGENT_END_ERR] = JR_CHANNEL_ERR,
        [JR_AGENT_END_EVENT] = JR_CHANNEL_EVENT,     [JR_AGENT_END_REPORT] = JR_CHANNEL_COUNT,
        [JR_AGENT_END_OUTCOME] = JR_CHANNEL_OUTCOME, [JR_AGENT_END_EXCHANGE] = JR_CHANNEL_EXCHANGE,
        [JR_AGENT_END_LEFT] = JR_CHANNEL_LEFT,
    };
    const struct jr_agent_hooks *hooks = agent->hooks;
    int pipes[PIPES][2];
    agent_end_showing(agent);
    int prepared = hooks->prepare(hooks->data, go, err);
    if (prepared != 0 && prepared != JR_AGENT_IS_APART)
        return prepared;
    for (int i = 0; i < PIPES; i++)
        pipes[i][0] = pipes[i][1] = -1;
    bool open =
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pipes[JR_AGENT_END_EXCHANGE]) == 0;
    for (int i = 0; open && i < PIPES; i++)
        open = (i == JR_AGENT_END_EXCHANGE || pipe2(pipes[i], O_CLOEXEC) == 0) &&
               (i == COMMANDS || fcntl(pipes[i][0], F_SETFL, O_NONBLOCK) == 0);
    pid_t pid = open ? fork() : -1;
    if (pid == 0)
        run_ranks(hooks, pipes);
    if (pid < 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "could not fork the run");
    for (int i = 0; i < PIPES; i++) {
        jr_close_fd(&pipes[i][i == COMMANDS ? 0 : 1]);
        if (pid < 0)
            jr_close_fd(&pipes[i][i == COMMANDS ? 1 : 0]);
    }
    if (pid < 0)
        return -1;
    agent->pid = pid;
    agent->commands_fd = pipes[COMMANDS][1];
    if (prepared == JR_AGENT_IS_APART)
        agent_send_type(agent, JR_FROM_NODE_APART);
    for (int i = 0; i < JR_AGENT_ENDS; i++)
        (void)open_agent_source(agent, i, pipes[i][0], types[i]);
    return 0;
}

/* The code of a run, on a node that does not see the controller's copy of it: between `go` and the
 * begin of the run, or between the spec of a run that has begun before, and `ready`. */

static void end_code(struct jr_agent *agent)
{
    free((char *)agent->go.run_id);
    free((char *)agent->go.token);
    agent->go = (struct jr_message){0};
    agent->waits = false;
    jr_buf_release(&agent->pending);
}

/* A run cannot begin by `go` before its code is here: ask for it. NULL: the agent is not ready
 * before that. */
static void await_code(struct jr_agent *agent, const struct jr_message *go)
{
    end_code(agent);
    agent->joins = go == NULL;
    if (go != NULL) {
        agent->go = *go;
        agent->go.run_id = go->run_id == NULL ? NULL : strdup(go->run_id);
        agent->go.token = go->token == NULL ? NULL : strdup(go->token);
    }
    agent->waits = true;
    agent_send_type(agent, JR_FROM_NODE_WANT);
}

/* This node is ready for the spec, or for cells; or, as `failed` says, it is not, or not yet. */
static void settle_readiness(struct jr_agent *agent, int failed, const struct jr_error *why)
{
    const struct jr_agent_answer *answer = &agent->answer;
    if (failed == JR_AGENT_WANTS_CODE) {
        await_code(agent, NULL);
    } else if (failed != 0) {
        agent_refuse(agent, why);
    } else {
        agent_put(agent, JR_CHANNEL_RESOURCES, answer->resources.data, answer->resources.len);
        agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_READY,
                                               .mpi = answer->mpi,
                                               .library = answer->library,
                                               .obstacle = answer->obstacle,
                                               .on = answer->apart});
    }
}

/* Take bytes of it, and do behind the last what waits for it. */
static void on_code(struct jr_agent *agent, const struct jr_message *code)
{
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    const struct jr_buf *pending = &agent->pending;
    if (!agent->waits)
        return;
    int failed = agent->hooks->take_code(agent->hooks->data, code, &err);
    if (failed == 0 && !code->on)
        return;
    if (failed == 0 && agent->joins) {
        end_code(agent);
        settle_readiness(agent, 0, NULL);
        return;
    }
    if (failed == 0 && (failed = start_run(agent, &agent->go, &err)) == JR_AGENT_WANTS_CODE)
        (void)jr_error_set(&err, JR_STATUS_LAUNCH, "the code of the run did not come whole");
    if (failed != 0)
        agent_refuse(agent, &err);
    else if (pending->len > 0) /* what it was told meanwhile, it is told now */
        (void)!write(agent->commands_fd, pending->data, pending->len);
    end_code(agent);
}

/* Cells of a sweep (controller.h has the other side). Who runs them is behind the hooks. */

static void send_cell_end(struct jr_agent *agent, const struct jr_agent_cell_end *end)
{
    agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_CELL_ENDED,
                                           .cell = end->cell,
                                           .code = end->code,
                                           .devices = end->gone,
                                           .on = end->sent,
                                           .full = end->full});
}

/* What the cells have said, whole lines: those of two are not mixed. */
static void take_notes(struct jr_agent *agent)
{
    char bytes[4096];
    ssize_t len;
    while ((len = read(agent->notes.fd, bytes, sizeof bytes)) > 0)
        agent_put(agent, JR_CHANNEL_NOTE, bytes, (size_t)len);
}

static void on_notes(void *owner, uint32_t events)
{
    (void)events;
    take_notes(owner);
    agent_flush(owner);
}

/* A cell may have ended. What it has said goes first. */
static void on_children(void *owner, uint32_t events)
{
    (void)events;
    struct jr_agent *agent = owner;
    const struct jr_agent_hooks *hooks = agent->hooks;
    struct signalfd_siginfo info;
    struct jr_agent_cell_end end = {0};
    while (read(agent->children.fd, &info, sizeof info) > 0)
        continue;
    while (hooks->cells->next_end(hooks->cells_data, &end)) {
        take_notes(agent);
        agent_drain(agent);
        if (end.note != NULL)
            agent_put(agent, JR_CHANNEL_NOTE, end.note, strlen(end.note));
        send_cell_end(agent, &end);
        free(end.note);
        free(end.gone);
        end = (struct jr_agent_cell_end){0};
    }
}

/* A pipe whose both ends stay open: cells come and go. Returns the one to read from, or -1. */
static int open_agent_pipe(int *ret_in)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0)
        return -1;
    *ret_in = pair[1];
    if (fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0)
        return pair[0];
    (void)close(pair[0]);
    return -1;
}

/* What cells say, what ranks print whose cell has the console, what cells leave, and their ends. */
static int open_cells(struct jr_agent *agent)
{
    struct jr_agent_cell_ends *ends = &agent->ends;
    int *const writes[] = {&ends->out_fd, &ends->err_fd, &ends->left_fd};
    static const int reads[] = {JR_AGENT_END_OUT, JR_AGENT_END_ERR, JR_AGENT_END_LEFT};
    static const enum jr_channel types[] = {JR_CHANNEL_OUT, JR_CHANNEL_ERR, JR_CHANNEL_LEFT};
    sigset_t set;
    agent->notes = (struct jr_watch){open_agent_pipe(&ends->notes_fd), on_notes, agent};
    if (agent->notes.fd < 0 || jr_loop_add(&agent->loop, &agent->notes, EPOLLIN) != 0)
        return -1;
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        int fd = open_agent_pipe(writes[i]);
        if (fd < 0 || open_agent_source(agent, reads[i], fd, types[i]) != 0)
            return -1;
    }
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    agent->children =
        (struct jr_watch){signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), on_children, agent};
    return agent->children.fd < 0 ? -1 : jr_loop_add(&agent->loop, &agent->children, EPOLLIN);
}

static void close_cells(struct jr_agent *agent)
{
    struct jr_agent_cell_ends *ends = &agent->ends;
    if (!agent->serves)
        return;
    jr_loop_close(&agent->notes);
    jr_loop_close(&agent->children);
    jr_loop_close(&agent->sources[JR_AGENT_END_OUT].watch);
    jr_loop_close(&agent->sources[JR_AGENT_END_ERR].watch);
    jr_loop_close(&agent->sources[JR_AGENT_END_LEFT].watch);
    jr_close_fd(&ends->notes_fd);
    jr_close_fd(&ends->out_fd);
    jr_close_fd(&ends->err_fd);
    jr_close_fd(&ends->left_fd);
}

static bool has_agent_cells(const struct jr_agent *agent)
{
    return agent->serves && agent->hooks->cells->count(agent->hooks->cells_data) > 0;
}

/* A cell begins, if it is for this node. If it cannot, the user is told why. */
static void on_cell(struct jr_agent *agent, const struct jr_message *word)
{
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    const struct jr_agent_hooks *hooks = agent->hooks;
    uint32_t number;
    if (!agent->serves || word->as != agent->sender.node || word->cell == NULL ||
        !jr_num_u32(word->cell, &number) ||
        hooks->cells->begin(hooks->cells_data, word, &agent->ends, &err) == 0)
        return;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_agent_cell_end end = {.code = (int)err.status};
    (void)snprintf(end.cell, sizeof end.cell, "%s", word->cell);
    jr_buf_printf(&line, "cell %s: %s\n", word->cell, err.text);
    if (!line.failed)
        agent_put(agent, JR_CHANNEL_NOTE, line.data, line.len);
    send_cell_end(agent, &end);
}

/* A survey: it listens where rank 0 would, and connects as the other ranks would. */

static void on_connection(void *owner, uint32_t events)
{
    (void)events;
    const struct jr_agent *agent = owner;
    jr_reach_greet(agent->listener.fd, agent->token);
}

static void stop_listening(struct jr_agent *agent)
{
    if (agent->listener.fd >= 0) {
        jr_loop_remove(&agent->loop, &agent->listener);
        (void)close(agent->listener.fd);
    }
    agent->listener = (struct jr_watch){-1, on_connection, agent};
    free(agent->token);
    agent->token = NULL;
}

static void on_listen(struct jr_agent *agent, const struct jr_message *word)
{
    struct jr_error err = {0};
    uint32_t port = (uint32_t)word->port;
    stop_listening(agent);
    agent->token = strdup(word->token != NULL ? word->token : "");
    agent->listener.fd = jr_reach_listen(&port, word->on, &err);
    if (agent->listener.fd >= 0 &&
        (agent->token == NULL || jr_loop_add(&agent->loop, &agent->listener, EPOLLIN) != 0)) {
        (void)jr_error_sys(&err, JR_STATUS_LAUNCH, "could not listen");
        stop_listening(agent);
    }
    bool listens = agent->listener.fd >= 0;
    if (!listens)
        agent_put(agent, JR_CHANNEL_WHY, err.text, strlen(err.text));
    agent_send(agent,
               &(struct jr_message){.type = JR_FROM_NODE_LISTENING, .port = listens ? port : 0});
}

static void on_reach(struct jr_agent *agent, const struct jr_message *word)
{
    struct jr_buf why JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *token = agent->listener.fd >= 0 ? agent->token : word->token;
    enum jr_reach reach =
        jr_reach_connect(word->host != NULL ? word->host : "", (uint32_t)word->port,
                         token != NULL ? token : "", agent->listener.fd, &why);
    const char *text = why.failed ? "out of memory" : why.data;
    if (reach != JR_REACH_OK)
        agent_put(agent, JR_CHANNEL_WHY, text, strlen(text));
    agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_REACHED, .code = reach});
}

/* What the controller says. */

static void on_spec(struct jr_agent *agent, const struct jr_message *spec)
{
    const struct jr_agent_hooks *hooks = agent->hooks;
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    jr_buf_release(&agent->answer.resources);
    agent->answer = (struct jr_agent_answer){0};
    int failed = hooks->resolve(hooks->data, spec, &agent->answer, &err);
    if (failed == 0 && spec->run_id != NULL)
        failed = hooks->join(hooks->data, spec, &err);
    settle_readiness(agent, failed, &err);
}

static void on_go(struct jr_agent *agent, const struct jr_message *go)
{
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    agent->heartbeats = go->heartbeats;
    agent_send_type(agent, JR_FROM_NODE_BEGUN);
    int failed = agent->pid == 0 ? start_run(agent, go, &err) : 0;
    if (failed == JR_AGENT_WANTS_CODE)
        await_code(agent, go);
    else if (failed != 0)
        agent_refuse(agent, &err);
}

/* The controller asks whether the folder of the cells is there. */
static void on_share(struct jr_agent *agent, const struct jr_message *word)
{
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    settle_readiness(
        agent,
        agent->hooks->cells->share(agent->hooks->cells_data, word, &agent->answer.apart, &err),
        &err);
}

static void on_serve(struct jr_agent *agent, const struct jr_message *word)
{
    if (agent->serves)
        return;
    agent->heartbeats = word->heartbeats;
    agent->serves = true;
    if (open_cells(agent) != 0)
        agent_leave(agent); /* the controller sees that it is gone */
}

static void on_exchange(struct jr_agent *agent, const struct jr_message *word)
{
    if (word->bytes == NULL || agent->sources[JR_AGENT_END_EXCHANGE].watch.fd < 0)
        return;
    if (!jr_base64_take(&agent->exchange, word->bytes, strlen(word->bytes)) ||
        agent->exchange.failed)
        end_exchange_source(agent); /* which ends the run */
    flush_exchange_bytes(agent);
}

static void on_signal_message(struct jr_agent *agent, const struct jr_message *word)
{
    int sig = (int)word->signal;
    if (sig <= 0 || sig >= NSIG)
        return;
    if (agent->pid != 0)
        (void)kill(agent->pid, sig);
    if (agent->serves)
        agent->hooks->cells->signal(agent->hooks->cells_data, word->cell, sig);
}

static void on_heartbeat(struct jr_agent *agent)
{
    struct jr_buf lines JR_BUF_CLEANUP = JR_BUF_INIT;
    if (agent->serves)
        agent->hooks->cells->progress(agent->hooks->cells_data, &lines);
    if (lines.len > 0 && !lines.failed)
        agent_put(agent, JR_CHANNEL_PROGRESS, lines.data, lines.len);
    agent_send_type(agent, JR_FROM_NODE_HEARTBEAT);
}

/* A command is handed on to the process that runs the ranks, or will be. */
static void hand_on_command(struct jr_agent *agent, enum jr_message_type type)
{
    static const char commands[JR_MESSAGE_COUNT] = {
        [JR_TO_NODES_WORLD] = JR_COMMAND_INITIALIZED,
        [JR_TO_NODES_STOP] = JR_COMMAND_STOP,
        [JR_TO_NODES_RELEASE] = JR_COMMAND_RELEASE,
        [JR_TO_NODES_FIRST] = JR_COMMAND_FIRST,
        [JR_TO_NODES_QUERY] = JR_COMMAND_QUERY,
        [JR_TO_NODES_HANG] = JR_COMMAND_HANG,
        [JR_TO_NODES_PREEMPTED] = JR_COMMAND_PREEMPTED,
        [JR_TO_NODES_NOT_PREEMPTED] = JR_COMMAND_NOT_PREEMPTED,
        [JR_TO_NODES_NO_STEP] = JR_COMMAND_NO_STEP,
        [JR_TO_NODES_NO_FIRST_STEP] = JR_COMMAND_NO_FIRST_STEP,
    };
    if (commands[type] == 0)
        return;
    if (agent->commands_fd >= 0)
        (void)!write(agent->commands_fd, &commands[type], 1);
    else if (agent->waits)
        jr_buf_char(&agent->pending, commands[type]);
}

static void handle_message(struct jr_agent *agent, const struct jr_message *word)
{
    static void (*const acts[JR_MESSAGE_COUNT])(struct jr_agent *, const struct jr_message *) = {
        [JR_TO_NODES_SPEC] = on_spec,         [JR_TO_NODES_GO] = on_go,
        [JR_TO_NODES_CODE] = on_code,         [JR_TO_NODES_SHARE] = on_share,
        [JR_TO_NODES_SERVE] = on_serve,       [JR_TO_NODES_CELL] = on_cell,
        [JR_TO_NODES_EXCHANGE] = on_exchange, [JR_TO_NODES_SIGNAL] = on_signal_message,
        [JR_TO_NODES_LISTEN] = on_listen,     [JR_TO_NODES_REACH] = on_reach,
    };
    if (acts[word->type] != NULL) {
        acts[word->type](agent, word);
    } else if (word->type == JR_TO_NODES_HEARTBEAT) {
        on_heartbeat(agent);
    } else if (word->type == JR_TO_NODES_AWAY) {
        agent->away = true;
    } else if (word->type == JR_TO_NODES_HOLD) {
        agent->held = word->on;
        pace_agent(agent);
    } else {
        hand_on_command(agent, word->type);
    }
}

void jr_agent_on_input(void *owner, uint32_t events)
{
    (void)events;
    struct jr_agent *agent = owner;
    ssize_t got = read(agent->in.fd, agent->bytes, JR_AGENT_PIECE);
    const char *line;
    size_t len;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) { /* it stays open: srun ends a step of which one is not */
        jr_loop_remove(&agent->loop, &agent->in);
        agent_leave(agent);
        return;
    }
    jr_inlet_add(&agent->inlet, agent->bytes, (size_t)got);
    while ((line = jr_inlet_line(&agent->inlet, &len)) != NULL) {
        json_t *object = jr_json_parse(line, len, NULL);
        struct jr_message message;
        agent->away = false;
        if (jr_message_of_controller(&message, object))
            handle_message(agent, &message);
        json_decref(object);
        jr_heartbeat_listen(agent);
    }
}

/* Signs of life. */

/* Where nothing can be sent any more, the end of the input tells an agent to stop its ranks: while
 * they end, its signs go on. */
static bool has_heartbeats(const struct jr_agent *agent)
{
    if (agent->leaving)
        return !agent->heartbeats && (agent->pid != 0 || has_agent_cells(agent));
    return agent->pid != 0 || agent->serves;
}

static void schedule_heartbeat(struct jr_agent *agent)
{
    uint64_t turn_ns =
        agent->heartbeats ? JR_HEARTBEAT_NS * JR_HEARTBEAT_PATIENCE : JR_HEARTBEAT_NS;
    agent->turn.at = has_heartbeats(agent) ? jr_clock_ns() + turn_ns : 0;
}

void jr_heartbeat_listen(struct jr_agent *agent)
{
    agent->silent = 0;
    if (agent->heartbeats || agent->turn.at == 0)
        schedule_heartbeat(agent);
}

void jr_heartbeat_agent_due(void *owner)
{
    struct jr_agent *agent = owner;
    if (has_heartbeats(agent) && !agent->heartbeats) {
        agent_send_type(agent, JR_FROM_NODE_HEARTBEAT);
    } else if (has_heartbeats(agent) && !agent->away && ++agent->silent >= JR_HEARTBEAT_MISSES) {
        agent->abandoned = true; /* nobody reads what is said */
        agent->held = false;
        agent_leave(agent);
        agent_flush(agent);
    }
    schedule_heartbeat(agent);
}

/* From the begin to the end. */

/* With all the variables that a process can have: a quarter of its stack, and 6 MiB (execve(2)). */
#define ASSIGNMENT_MOST (16U << 20)

int jr_agent_await_assignment(struct jr_message *ret, json_t **ret_object, struct jr_error *err)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    char byte = 0;
    ssize_t len;
    do { /* byte by byte: what follows the line belongs to whoever reads on */
        len = read(STDIN_FILENO, &byte, 1);
        if (len == 1)
            jr_buf_char(&line, byte);
    } while ((len == 1 && byte != '\n' && line.len < ASSIGNMENT_MOST) ||
             (len < 0 && errno == EINTR));
    bool whole = len == 1 && byte == '\n' && !line.failed;
    json_t *object = whole ? jr_json_parse(line.data, line.len, NULL) : NULL;
    if (jr_message_of_controller(ret, object) && ret->type == JR_TO_NODES_ASSIGN &&
        ret->host != NULL) {
        *ret_object = object;
        return 0;
    }
    json_decref(object);
    return jr_error_set(err, JR_STATUS_USAGE,
                        "an agent is started by jobrun itself, which tells it "
                        "who it is; started by hand it does nothing");
}

static void send_node_facts(struct jr_agent *agent)
{
    const struct jr_agent_hooks *hooks = agent->hooks;
    struct jr_buf facts JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    jr_buf_char(&agent->outbox, '\n'); /* after the output of a prolog */
    if (hooks->describe(hooks->data, &facts, &err) != 0) {
        agent_refuse(agent, &err);
        return;
    }
    agent_put(agent, JR_CHANNEL_FACTS, facts.data, facts.len);
    agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_HELLO,
                                           .version = JR_VERSION,
                                           .host = agent->host,
                                           .wall_ns = (int64_t)jr_clock_wall_ns(),
                                           .port = hooks->offer(hooks->data)});
}

/* From the cluster, to all of a step: the run's business, where there is one. Cells get it too, and
 * one that stops them is told to the controller, since no other may begin. */
static void on_agent_signal(void *owner, uint32_t events)
{
    (void)events;
    struct jr_agent *agent = owner;
    struct signalfd_siginfo info;
    if (read(agent->signals.fd, &info, sizeof info) != sizeof info)
        return;
    bool stops = info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;
    if (agent->pid != 0) {
        (void)kill(agent->pid, (int)info.ssi_signo);
    } else if (agent->serves) {
        agent->hooks->cells->signal(agent->hooks->cells_data, NULL, (int)info.ssi_signo);
        if (stops)
            agent_send_type(agent, JR_FROM_NODE_TERMINATED);
    } else if (stops) {
        agent_leave(agent);
    }
}

/* Standard output is ours alone: the ranks get pipes. */
static int open_agent(struct jr_agent *agent)
{
    static const int taken[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};
    sigset_t set;
    agent->bytes = malloc(JR_AGENT_PIECE);
    if (agent->bytes == NULL || jr_loop_open(&agent->loop) != 0)
        return -1;
    jr_loop_timer(&agent->loop, &agent->turn);
    int flags = fcntl(agent->out.fd, F_GETFL);
    (void)fcntl(agent->in.fd, F_SETFD, FD_CLOEXEC);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (fcntl(agent->out.fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return -1;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        (void)sigaddset(&set, taken[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    agent->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return agent->signals.fd >= 0 && jr_loop_add(&agent->loop, &agent->signals, EPOLLIN) == 0
               ? jr_loop_add(&agent->loop, &agent->in, EPOLLIN)
               : -1;
}

int jr_agent_serve(const struct jr_agent_hooks *hooks, const struct jr_sender *self,
                   const char *host, struct jr_error *err)
{
    struct jr_agent agent = {
        .hooks = hooks,
        .sender = *self,
        .host = host,
        .loop = {.epoll_fd = -1},
        .in = {STDIN_FILENO, jr_agent_on_input, &agent},
        .out = {STDOUT_FILENO, on_output_room, &agent},
        .signals = {-1, on_agent_signal, &agent},
        .turn = {.due = jr_heartbeat_agent_due, .owner = &agent},
        .commands_fd = -1,
        .notes = {.fd = -1},
        .ends = {-1, -1, -1, -1},
        .children = {.fd = -1},
        .listener = {.fd = -1},
    };
    for (int i = 0; i < JR_AGENT_ENDS; i++)
        agent.sources[i].watch.fd = -1;
    int result = open_agent(&agent);
    if (result != 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "could not set up the agent");
    else
        send_node_facts(&agent);
    while (result == 0 &&
           (!agent.leaving || agent.pid != 0 || agent.outbox.len > 0 || has_agent_cells(&agent)))
        (void)jr_loop_turn(&agent.loop, false);
    if (agent.abandoned)
        result = jr_error_set(err, JR_STATUS_LAUNCH,
                              "node %u (%s): the controller of this job has not been heard from "
                              "for ten minutes: its ranks here were stopped",
                              self->node, host);
    close_cells(&agent);
    stop_listening(&agent);
    end_code(&agent);
    jr_inlet_release(&agent.inlet);
    jr_buf_release(&agent.outbox);
    jr_buf_release(&agent.answer.resources);
    jr_buf_release(&agent.exchange);
    jr_close_fd(&agent.signals.fd);
    jr_close_fd(&agent.loop.epoll_fd);
    free(agent.bytes);
    return result;
}
