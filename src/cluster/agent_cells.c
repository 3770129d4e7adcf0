#include "cluster/agent_cells.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/num.h"

#include "base/banned.h"

static void send_cell_end(struct jr_agent *agent, const struct jr_agent_cell_end *end)
{
    jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_CELL_ENDED,
                                              .cell = end->cell,
                                              .code = end->code,
                                              .devices = end->gone,
                                              .on = end->sent,
                                              .full = end->full});
}

/* What the cells have said, whole lines: those of two are not mixed. */
static void send_notes(struct jr_agent *agent)
{
    char bytes[4096];
    ssize_t len;
    while ((len = read(agent->notes.fd, bytes, sizeof bytes)) > 0)
        jr_channel_put(&agent->outbox, &agent->sender, JR_CHANNEL_NOTE, bytes, (size_t)len);
}

static void on_notes(void *owner, uint32_t events)
{
    (void)events;
    struct jr_agent *agent = owner;
    send_notes(agent);
    jr_agent_flush(agent);
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
    while (hooks->cells->next_end(hooks->data, &end)) {
        send_notes(agent);
        jr_agent_drain(agent);
        if (end.note != NULL)
            jr_channel_put(&agent->outbox, &agent->sender, JR_CHANNEL_NOTE, end.note,
                           strlen(end.note));
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

static int open_notes(struct jr_agent *agent)
{
    agent->notes = (struct jr_watch){open_agent_pipe(&agent->ends.notes_fd), on_notes, agent};
    return agent->notes.fd < 0 ? -1 : jr_loop_add(&agent->loop, &agent->notes, EPOLLIN);
}

/* What ranks print whose cell has the console, and what cells leave. */
static int open_sources(struct jr_agent *agent)
{
    struct jr_agent_cell_ends *ends = &agent->ends;
    const struct {
        int end, *in;
        enum jr_channel type;
    } sources[] = {{JR_AGENT_END_OUT, &ends->out_fd, JR_CHANNEL_OUT},
                   {JR_AGENT_END_ERR, &ends->err_fd, JR_CHANNEL_ERR},
                   {JR_AGENT_END_LEFT, &ends->left_fd, JR_CHANNEL_LEFT}};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        int fd = open_agent_pipe(sources[i].in);
        if (fd < 0 || jr_agent_open_source(agent, sources[i].end, fd, sources[i].type) != 0)
            return -1;
    }
    return 0;
}

static int open_children(struct jr_agent *agent)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    agent->children =
        (struct jr_watch){signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), on_children, agent};
    return agent->children.fd < 0 ? -1 : jr_loop_add(&agent->loop, &agent->children, EPOLLIN);
}

void jr_agent_share_cells(struct jr_agent *agent, const struct jr_message *word)
{
    const struct jr_agent_hooks *hooks = agent->hooks;
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    int failed = hooks->cells->share(hooks->data, word, &agent->answer.apart, &err);
    if (failed == JR_AGENT_WANTS_CODE)
        jr_agent_await_code(agent, NULL);
    else if (failed != 0)
        jr_agent_refuse(agent, &err);
    else
        jr_agent_ready(agent);
}

void jr_agent_serve_cells(struct jr_agent *agent, const struct jr_message *word)
{
    if (agent->serves)
        return;
    agent->heartbeats = word->heartbeats;
    agent->serves = true;
    if (open_notes(agent) != 0 || open_sources(agent) != 0 || open_children(agent) != 0)
        jr_agent_leave(agent); /* the controller sees that it is gone */
}

/* The user is told why. */
static void refuse_cell(struct jr_agent *agent, const char *cell, const struct jr_error *why)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_agent_cell_end end = {.code = (int)why->status};
    (void)snprintf(end.cell, sizeof end.cell, "%s", cell);
    jr_buf_printf(&line, "cell %s: %s\n", cell, why->text);
    if (!line.failed)
        jr_channel_put(&agent->outbox, &agent->sender, JR_CHANNEL_NOTE, line.data, line.len);
    send_cell_end(agent, &end);
}

void jr_agent_begin_cell(struct jr_agent *agent, const struct jr_message *word)
{
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    const struct jr_agent_hooks *hooks = agent->hooks;
    uint32_t number;
    if (!agent->serves || word->as != agent->sender.node || word->cell == NULL ||
        !jr_num_u32(word->cell, &number))
        return;
    if (hooks->cells->begin(hooks->data, word, &agent->ends, &err) != 0)
        refuse_cell(agent, word->cell, &err);
}

void jr_agent_signal_cells(struct jr_agent *agent, int sig)
{
    if (!agent->serves)
        return;
    agent->hooks->cells->signal(agent->hooks->data, NULL, sig);
    if (sig == SIGTERM || sig == SIGINT)
        jr_agent_send(agent, &(struct jr_message){.type = JR_FROM_NODE_TERMINATED});
}

void jr_agent_end_cells(struct jr_agent *agent)
{
    if (agent->serves)
        agent->hooks->cells->leave(agent->hooks->data);
}

void jr_agent_tell_progress(struct jr_agent *agent)
{
    struct jr_buf lines JR_BUF_CLEANUP = JR_BUF_INIT;
    if (!agent->serves)
        return;
    agent->hooks->cells->progress(agent->hooks->data, &lines);
    if (lines.len > 0 && !lines.failed)
        jr_channel_put(&agent->outbox, &agent->sender, JR_CHANNEL_PROGRESS, lines.data, lines.len);
}

bool jr_agent_has_cells(const struct jr_agent *agent)
{
    return agent->serves && agent->hooks->cells->count(agent->hooks->data) > 0;
}

void jr_agent_close_cells(struct jr_agent *agent)
{
    if (!agent->serves)
        return;
    jr_loop_close(&agent->notes);
    jr_loop_close(&agent->children);
    jr_loop_close(&agent->sources[JR_AGENT_END_OUT].watch);
    jr_loop_close(&agent->sources[JR_AGENT_END_ERR].watch);
    jr_loop_close(&agent->sources[JR_AGENT_END_LEFT].watch);
    const int ends[] = {agent->ends.notes_fd, agent->ends.out_fd, agent->ends.err_fd,
                        agent->ends.left_fd};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends[i] >= 0)
            (void)close(ends[i]);
}
