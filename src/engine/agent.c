#include "agent_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "frame.h"
#include "loop.h"
#include "run.h"
#include "version.h"

#include "banned.h"

#define PIECE       (64U << 10) /* bytes that are read at once */
#define OUTBOX_MOST (256U << 10) /* bytes that wait for srun; readers pause */

struct agent;

/* A pipe from the process that runs the ranks. */
struct source {
    struct jr_watch watch;
    struct agent *agent;
    enum jr_flow type;
    bool paused;
};

struct agent {
    const struct jr_agent_hooks *hooks;
    uint32_t node;
    struct jr_loop loop;
    struct jr_watch in, out, signals;
    struct jr_inlet inlet;
    struct jr_buf outbox;
    size_t sent;       /* bytes of it */
    bool out_watched;  /* srun does not take it */
    struct source sources[JR_AGENT_ENDS];
    pid_t pid;         /* of the process that runs the ranks; 0: none */
    int orders_fd;     /* what it hears orders from; -1 */
    bool held;         /* the head's console is full */
    bool leaving;      /* the input has ended */
    char *bytes;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* What goes to the head. */

/* Console pipes rest while nobody takes what they hold. */
static void pace(struct agent *agent)
{
    bool full = agent->held || agent->outbox.len - agent->sent > OUTBOX_MOST;
    for (int i = JR_AGENT_END_OUT; i <= JR_AGENT_END_ERR; i++) {
        struct source *source = &agent->sources[i];
        if (source->watch.fd < 0 || source->paused == full)
            continue;
        source->paused = full;
        if (full)
            jr_loop_remove(&agent->loop, &source->watch);
        else
            (void)jr_loop_add(&agent->loop, &source->watch, EPOLLIN);
    }
}

/* The ranks hear that their orders have ended; what becomes of them is still
 * said, for the head may hear it. */
static void leave(struct agent *agent)
{
    close_fd(&agent->orders_fd);
    agent->leaving = true;
}

/* Nobody takes what is said. */
static void lose_head(struct agent *agent)
{
    jr_buf_clear(&agent->outbox);
    agent->sent = 0;
    leave(agent);
}

static void watch_out(struct agent *agent, bool wanted)
{
    if (wanted == agent->out_watched)
        return;
    agent->out_watched = wanted;
    if (!wanted)
        jr_loop_remove(&agent->loop, &agent->out);
    else if (jr_loop_add(&agent->loop, &agent->out, EPOLLOUT) != 0)
        lose_head(agent);
}

static void send_out(struct agent *agent)
{
    struct jr_buf *box = &agent->outbox;
    while (agent->sent < box->len) {
        ssize_t len = write(agent->out.fd, box->data + agent->sent,
                            box->len - agent->sent);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0 && errno != EAGAIN)
            lose_head(agent);
        if (len < 0)
            break;
        agent->sent += (size_t)len;
    }
    if (agent->sent == box->len) {
        jr_buf_clear(box);
        agent->sent = 0;
    }
    watch_out(agent, box->len > 0);
    pace(agent);
}

static void on_room(void *owner, uint32_t events)
{
    (void)events;
    send_out(owner);
}

/* Every word says when it was said, by this node's clock. */
static void say(struct agent *agent, json_t *word)
{
    jr_json_set_int(word, "at", (json_int_t)jr_clock_ns());
    jr_frame_add(&agent->outbox, word);
    send_out(agent);
}

static void refuse(struct agent *agent, const struct jr_error *why)
{
    json_t *word = jr_frame_word(agent->node, "refuse");
    jr_frame_bytes(&agent->outbox, agent->node, JR_FLOW_WHY, why->text,
                   strlen(why->text));
    jr_json_set_int(word, "status", why->status);
    say(agent, word);
}

static void greet(struct agent *agent, const char *host)
{
    const struct jr_agent_hooks *hooks = agent->hooks;
    struct jr_buf facts JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    jr_buf_char(&agent->outbox, '\n'); /* behind what a prolog left */
    if (hooks->tell(hooks->data, &facts, &err) != 0) {
        refuse(agent, &err);
        return;
    }
    jr_frame_bytes(&agent->outbox, agent->node, JR_FLOW_FACTS, facts.data,
                   facts.len);
    json_t *word = jr_frame_word(agent->node, "hello");
    jr_json_set_str(word, "version", JR_VERSION);
    jr_json_set_str(word, "host", host);
    jr_json_set_int(word, "wall", (json_int_t)jr_clock_wall_ns());
    jr_json_set_int(word, "port", hooks->offer(hooks->data));
    say(agent, word);
}

/* What comes from the process that runs the ranks. */

static void finish(struct agent *agent)
{
    const struct jr_agent_hooks *hooks = agent->hooks;
    int status = 0;
    while (waitpid(agent->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    agent->pid = 0;
    close_fd(&agent->orders_fd);
    json_t *word = jr_frame_word(agent->node, "done");
    jr_json_set_int(word, "signal",
                    WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    jr_json_set_int(word, "port", hooks->offer(hooks->data));
    say(agent, word);
}

static void end_source(struct source *source)
{
    struct agent *agent = source->agent;
    if (!source->paused)
        jr_loop_remove(&agent->loop, &source->watch);
    close_fd(&source->watch.fd);
}

/* Both processes of the run have the events' pipe, and the one that tells the
 * outcome its own. Once they have ended, so have all others. */
static void end_run(struct agent *agent)
{
    struct source *sources = agent->sources;
    if (agent->pid == 0 || sources[JR_AGENT_END_EVENT].watch.fd >= 0 ||
        sources[JR_AGENT_END_OUTCOME].watch.fd >= 0)
        return;
    for (int i = JR_AGENT_END_OUT; i <= JR_AGENT_END_ERR; i++) {
        ssize_t len;
        while (sources[i].watch.fd >= 0 &&
               (len = read(sources[i].watch.fd, agent->bytes, PIECE)) > 0)
            jr_frame_bytes(&agent->outbox, agent->node, sources[i].type,
                           agent->bytes, (size_t)len);
        if (sources[i].watch.fd >= 0)
            end_source(&sources[i]);
    }
    finish(agent);
}

static void on_bytes(void *owner, uint32_t events)
{
    (void)events;
    struct source *source = owner;
    struct agent *agent = source->agent;
    ssize_t len = read(source->watch.fd, agent->bytes, PIECE);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0)
        end_source(source);
    else
        jr_frame_bytes(&agent->outbox, agent->node, source->type, agent->bytes,
                       (size_t)len);
    end_run(agent);
    send_out(agent);
}

/* An attempt. */

static int start(struct agent *agent, const json_t *go, struct jr_error *err)
{
    static const enum jr_flow types[] = {
        [JR_AGENT_END_OUT] = JR_FLOW_OUT,
        [JR_AGENT_END_ERR] = JR_FLOW_ERR,
        [JR_AGENT_END_EVENT] = JR_FLOW_EVENT,
        [JR_AGENT_END_OUTCOME] = JR_FLOW_OUTCOME,
    };
    const struct jr_agent_hooks *hooks = agent->hooks;
    struct jr_agent_run run;
    if (hooks->prepare(hooks->data, go, err) != 0)
        return -1;
    if (jr_agent_fork(&run, hooks) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not fork the run");
    agent->pid = run.pid;
    agent->orders_fd = run.orders_fd;
    for (int i = 0; i < JR_AGENT_ENDS; i++) {
        struct source *source = &agent->sources[i];
        *source = (struct source){.watch = {run.fds[i], on_bytes, source},
                                  .agent = agent,
                                  .type = types[i]};
        if (jr_loop_add(&agent->loop, &source->watch, EPOLLIN) != 0)
            end_source(source);
    }
    return 0;
}

/* What the head says. */

static void on_spec(struct agent *agent, const json_t *spec)
{
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    if (agent->hooks->resolve(agent->hooks->data, spec, &err) == 0)
        say(agent, jr_frame_word(agent->node, "ready"));
    else
        refuse(agent, &err);
}

static void on_go(struct agent *agent, const json_t *go)
{
    struct jr_error err = {.status = JR_STATUS_LAUNCH};
    say(agent, jr_frame_word(agent->node, "begun"));
    if (agent->pid == 0 && start(agent, go, &err) != 0)
        refuse(agent, &err);
}

static void order(struct agent *agent, char byte)
{
    if (agent->orders_fd >= 0)
        (void)!write(agent->orders_fd, &byte, 1);
}

static void on_stop(struct agent *agent, const json_t *word)
{
    (void)word;
    order(agent, JR_ORDER_STOP);
}

static void on_release(struct agent *agent, const json_t *word)
{
    (void)word;
    order(agent, JR_ORDER_RELEASE);
}

static void on_first(struct agent *agent, const json_t *word)
{
    (void)word;
    order(agent, JR_ORDER_FIRST);
}

static void on_query(struct agent *agent, const json_t *word)
{
    (void)word;
    order(agent, JR_ORDER_QUERY);
}

static void on_hang(struct agent *agent, const json_t *word)
{
    (void)word;
    order(agent, JR_ORDER_HANG);
}

static void on_signal_word(struct agent *agent, const json_t *word)
{
    int sig = (int)json_integer_value(json_object_get(word, "signal"));
    if (agent->pid != 0 && sig > 0 && sig < NSIG)
        (void)kill(agent->pid, sig);
}

static void on_hold(struct agent *agent, const json_t *word)
{
    agent->held = json_is_true(json_object_get(word, "on"));
    pace(agent);
}

struct verb {
    const char *word;
    void (*act)(struct agent *agent, const json_t *word);
};

static const struct verb verbs[] = {
    {"spec", on_spec},       {"go", on_go},
    {"stop", on_stop},       {"release", on_release},
    {"first", on_first},     {"signal", on_signal_word},
    {"hold", on_hold},       {"query", on_query},
    {"hang", on_hang},
};

static void obey(struct agent *agent, const char *line, size_t len)
{
    json_t *word = jr_json_parse(line, len, NULL);
    const char *type = jr_json_get_str(word, "t");
    for (size_t i = 0; type != NULL && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(type, verbs[i].word) == 0)
            verbs[i].act(agent, word);
    json_decref(word);
}

static void on_input(void *owner, uint32_t events)
{
    (void)events;
    struct agent *agent = owner;
    ssize_t got = read(agent->in.fd, agent->bytes, PIECE);
    const char *line;
    size_t len;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) { /* it stays open: srun ends a step of which one is not */
        jr_loop_remove(&agent->loop, &agent->in);
        leave(agent);
        return;
    }
    jr_inlet_add(&agent->inlet, agent->bytes, (size_t)got);
    while ((line = jr_inlet_line(&agent->inlet, &len)) != NULL)
        obey(agent, line, len);
}

/* From the cluster, to all of a step: the run's business, where there is one. */
static void on_signal(void *owner, uint32_t events)
{
    (void)events;
    struct agent *agent = owner;
    struct signalfd_siginfo info;
    if (read(agent->signals.fd, &info, sizeof info) != sizeof info)
        return;
    if (agent->pid != 0)
        (void)kill(agent->pid, (int)info.ssi_signo);
    else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
        leave(agent);
}

static int watch_signals(struct agent *agent)
{
    static const int taken[] = {SIGTERM, SIGINT,  SIGHUP, SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGCONT};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        (void)sigaddset(&set, taken[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    agent->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return agent->signals.fd < 0
               ? -1
               : jr_loop_add(&agent->loop, &agent->signals, EPOLLIN);
}

/* Standard output is ours alone: the ranks get pipes. */
static int open_agent(struct agent *agent)
{
    agent->bytes = malloc(PIECE);
    if (agent->bytes == NULL || jr_loop_open(&agent->loop) != 0)
        return -1;
    int flags = fcntl(agent->out.fd, F_GETFL);
    (void)fcntl(agent->in.fd, F_SETFD, FD_CLOEXEC);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (fcntl(agent->out.fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        watch_signals(agent) != 0)
        return -1;
    return jr_loop_add(&agent->loop, &agent->in, EPOLLIN);
}

static bool goes_on(const struct agent *agent)
{
    return !agent->leaving || agent->pid != 0 || agent->outbox.len > 0;
}

int jr_agent_serve(const struct jr_agent_hooks *hooks, uint32_t node,
                   const char *host, struct jr_error *err)
{
    struct agent agent = {
        .hooks = hooks,
        .node = node,
        .loop = {.epoll_fd = -1},
        .in = {STDIN_FILENO, on_input, &agent},
        .out = {STDOUT_FILENO, on_room, &agent},
        .signals = {-1, on_signal, &agent},
        .orders_fd = -1,
    };
    for (int i = 0; i < JR_AGENT_ENDS; i++)
        agent.sources[i].watch.fd = -1;
    int result = open_agent(&agent);
    if (result != 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "could not set up the agent");
    else
        greet(&agent, host);
    while (result == 0 && goes_on(&agent))
        (void)jr_loop_turn(&agent.loop, false);
    jr_inlet_release(&agent.inlet);
    jr_buf_release(&agent.outbox);
    close_fd(&agent.signals.fd);
    close_fd(&agent.loop.epoll_fd);
    free(agent.bytes);
    return result;
}
