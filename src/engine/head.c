#include "head.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "crew.h"
#include "pidfd.h"
#include "version.h"

#include "banned.h"

#define PIECE     (64U << 10)  /* bytes that are read at once */
#define LINE_MOST (256U << 10) /* bytes of what is no frame */
#define LEAVE_NS  (UINT64_C(20) * 1000000000)

static void close_watch(struct jr_head *head, struct jr_watch *watch)
{
    if (watch->fd < 0)
        return;
    jr_loop_remove(&head->loop, watch);
    (void)close(watch->fd);
    watch->fd = -1;
}

/* What goes to the agents. */

static void watch_in(struct jr_head *head, bool wanted)
{
    if (wanted == head->in_watched || head->in.fd < 0)
        return;
    head->in_watched = wanted;
    if (wanted)
        (void)jr_loop_add(&head->loop, &head->in, EPOLLOUT);
    else
        jr_loop_remove(&head->loop, &head->in);
}

static void send_in(struct jr_head *head)
{
    struct jr_buf *box = &head->outbox;
    while (head->in.fd >= 0 && head->sent < box->len) {
        ssize_t len =
            write(head->in.fd, box->data + head->sent, box->len - head->sent);
        if (len < 0 && errno == EAGAIN)
            break;
        if (len < 0 && errno != EINTR)
            head->sent = box->len; /* its end is told by its process */
        else if (len > 0)
            head->sent += (size_t)len;
    }
    if (head->sent == box->len) {
        jr_buf_clear(box);
        head->sent = 0;
    }
    watch_in(head, box->len > 0);
}

static void on_room(void *owner, uint32_t events)
{
    (void)events;
    send_in(owner);
}

json_t *jr_head_word(const char *type)
{
    json_t *word = json_object();
    jr_json_set_str(word, "t", type);
    return word;
}

void jr_head_tell(struct jr_head *head, json_t *word)
{
    size_t before = head->outbox.len;
    jr_frame_add(&head->outbox, word);
    head->told_bytes += head->outbox.len - before;
    send_in(head);
}

void jr_head_hush(struct jr_head *head)
{
    watch_in(head, false);
    if (head->in.fd >= 0)
        (void)close(head->in.fd);
    head->in.fd = -1;
}

/* What comes from them. */

static void refuse(struct jr_head *head, uint32_t node, enum jr_status status,
                   const char *text)
{
    struct jr_node_side *side = &head->nodes[node];
    if (side->state < JR_NODE_DONE)
        side->state = JR_NODE_REFUSED;
    if (head->refused)
        return;
    head->refused = true;
    (void)jr_error_set(&head->refusal, status, "node %u (%s): %s", node,
                       side->host != NULL ? side->host : "unknown", text);
}

static void on_hello(struct jr_head *head, uint32_t node, const json_t *word)
{
    struct jr_node_side *side = &head->nodes[node];
    const char *version = jr_json_get_str(word, "version");
    const char *host = jr_json_get_str(word, "host");
    char text[256];
    if (side->state != JR_NODE_SILENT) {
        refuse(head, node, JR_STATUS_UNRESOLVED,
               "srun started more than one agent there");
        return;
    }
    free(side->host);
    side->host = strdup(host != NULL ? host : "unknown");
    side->port =
        (uint32_t)json_integer_value(json_object_get(word, "port"));
    side->skew_ns = json_integer_value(json_object_get(word, "wall")) -
                    (int64_t)jr_clock_wall_ns();
    side->state = JR_NODE_MET;
    if (version != NULL && strcmp(version, JR_VERSION) == 0)
        return;
    (void)snprintf(text, sizeof text,
                   "jobrun is of version %.32s there, and " JR_VERSION
                   " here; all nodes need the same",
                   version != NULL ? version : "unknown");
    refuse(head, node, JR_STATUS_LAUNCH, text);
}

static void on_ready(struct jr_head *head, uint32_t node, const json_t *word)
{
    (void)word;
    if (head->nodes[node].state == JR_NODE_MET)
        head->nodes[node].state = JR_NODE_READY;
}

static void on_refuse(struct jr_head *head, uint32_t node, const json_t *word)
{
    struct jr_buf *why = &head->nodes[node].streams[JR_FLOW_WHY];
    json_int_t status = json_integer_value(json_object_get(word, "status"));
    bool known = status > JR_STATUS_OK && status <= JR_STATUS_LAUNCH;
    refuse(head, node, known ? (enum jr_status)status : JR_STATUS_LAUNCH,
           why->len > 0 ? why->data : "it does not say why");
}

static void on_begun(struct jr_head *head, uint32_t node, const json_t *word)
{
    if (head->run != NULL)
        jr_head_run_begun(head->run, node, word);
}

static void on_done(struct jr_head *head, uint32_t node, const json_t *word)
{
    struct jr_node_side *side = &head->nodes[node];
    if (head->run == NULL || side->state != JR_NODE_RUNS)
        return;
    side->signal = (int)json_integer_value(json_object_get(word, "signal"));
    side->port =
        (uint32_t)json_integer_value(json_object_get(word, "port"));
    side->state = JR_NODE_DONE;
    jr_head_run_over(head->run, node);
}

struct verb {
    const char *word;
    void (*act)(struct jr_head *head, uint32_t node, const json_t *word);
};

static const struct verb verbs[] = {
    {"hello", on_hello}, {"ready", on_ready}, {"refuse", on_refuse},
    {"begun", on_begun}, {"done", on_done},
};

static void hear(struct jr_head *head, const json_t *frame)
{
    uint32_t node = (uint32_t)json_integer_value(json_object_get(frame, "n"));
    const char *type = jr_json_get_str(frame, "t");
    enum jr_flow stream = jr_flow_find(type);
    if (node >= head->options.nodes)
        return;
    if (stream != JR_FLOW_COUNT) {
        (void)jr_frame_take(&head->nodes[node].streams[stream], frame);
        if (head->run != NULL)
            jr_head_run_stream(head->run, node, stream);
        return;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(type, verbs[i].word) == 0)
            verbs[i].act(head, node, frame);
}

/* What is no frame: what a prolog prints, or srun itself. */
static void pass_on(struct jr_head *head, int stream, const char *line,
                    size_t len)
{
    if (len == 0 || memmem(line, len, "lacks support for cpu binding", 29))
        return; /* nor is any wanted */
    if (head->run != NULL)
        jr_head_run_noise(head->run, stream, line, len);
    else if (head->options.note != NULL) {
        char text[512];
        (void)snprintf(text, sizeof text, "%.*s", (int)len, line);
        head->options.note(head->options.data, text);
    }
}

static void take_out(struct jr_head *head)
{
    const char *line;
    size_t len;
    while ((line = jr_inlet_line(&head->out_lines, &len)) != NULL) {
        json_t *frame = jr_frame_read(line, len);
        if (frame != NULL)
            hear(head, frame);
        else
            pass_on(head, 0, line, len);
        json_decref(frame);
    }
}

/* An agent does not end before its input does, and then it ends well. */
static void lose(struct jr_head *head, uint32_t node)
{
    struct jr_node_side *side = &head->nodes[node];
    bool running = head->run != NULL && side->state == JR_NODE_RUNS;
    if (head->run == NULL && side->state < JR_NODE_DONE && !head->gone) {
        head->gone = true;
        head->gone_node = node;
    }
    if (side->state >= JR_NODE_RUNS)
        side->state = JR_NODE_LOST;
    if (running)
        jr_head_run_lost(head->run, node);
}

/* What srun says of tasks and nodes; all else is for people. */
static void heed(struct jr_head *head)
{
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (jr_srun_lost(head->said, i, head->nodes[i].host))
            lose(head, i);
}

static void take_err(struct jr_head *head)
{
    const char *line;
    size_t len;
    while ((line = jr_inlet_line(&head->err_lines, &len)) != NULL) {
        pass_on(head, 1, line, len);
        if (len == 0)
            continue;
        (void)snprintf(head->said, sizeof head->said, "%.*s", (int)len, line);
        heed(head);
    }
}

/* Read what there is; at the end close. */
static void on_output(struct jr_head *head, struct jr_watch *watch,
                      struct jr_inlet *inlet)
{
    ssize_t len = read(watch->fd, head->bytes, PIECE);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0) {
        close_watch(head, watch);
        jr_inlet_add(inlet, "\n", 1); /* a last line without its end */
        return;
    }
    size_t waiting;
    head->heard_bytes += (uint64_t)len;
    jr_inlet_add(inlet, head->bytes, (size_t)len);
    (void)jr_inlet_rest(inlet, &waiting);
    if (waiting > LINE_MOST)
        jr_inlet_add(inlet, "\n", 1);
}

static void on_out(void *owner, uint32_t events)
{
    (void)events;
    struct jr_head *head = owner;
    on_output(head, &head->out, &head->out_lines);
    take_out(head);
}

static void on_err(void *owner, uint32_t events)
{
    (void)events;
    struct jr_head *head = owner;
    on_output(head, &head->err, &head->err_lines);
    take_err(head);
}

static void on_process(void *owner, uint32_t events)
{
    (void)events;
    struct jr_head *head = owner;
    if (waitpid(head->srun.pid, &head->status, WNOHANG) != head->srun.pid)
        return;
    close_watch(head, &head->process);
    head->srun.pid = 0;
}

static void on_late(void *owner)
{
    struct jr_head *head = owner;
    head->late = true;
}

void jr_head_turn(struct jr_head *head)
{
    (void)jr_loop_turn(&head->loop, false);
    head->ended =
        head->out.fd < 0 && head->err.fd < 0 && head->process.fd < 0;
}

bool jr_head_awaits(const struct jr_head *head, enum jr_node_state state)
{
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (head->nodes[i].state < state)
            return true;
    return false;
}

struct jr_head_node jr_head_node(const struct jr_head *head, uint32_t node)
{
    const struct jr_node_side *side = &head->nodes[node];
    const struct jr_buf *facts = &side->streams[JR_FLOW_FACTS];
    return (struct jr_head_node){
        .host = side->host,
        .facts = facts->len > 0 ? facts->data : "",
        .facts_len = facts->len,
        .port = side->port,
        .skew_ns = side->skew_ns,
    };
}

int jr_head_brief(struct jr_head *head, json_t *spec, struct jr_error *err)
{
    jr_head_tell(head, spec);
    return jr_head_await(head, JR_NODE_READY, "did not take the spec", err);
}

const char *jr_head_lacks(const struct jr_head *head)
{
    if (head->ended)
        return "srun has ended";
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (head->nodes[i].state != JR_NODE_DONE)
            return "a node was lost, or is still at work";
    return NULL;
}

static int open_head(struct jr_head *head, struct jr_error *err)
{
    const struct jr_head_options *options = &head->options;
    head->nodes = calloc(options->nodes, sizeof *head->nodes);
    head->bytes = malloc(PIECE);
    if (head->nodes == NULL || head->bytes == NULL ||
        jr_loop_open(&head->loop) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not set up the head");
    jr_loop_timer(&head->loop, &head->patience);
    if (jr_srun_start(&head->srun, options->program, options->nodes,
                      options->envp, err) != 0)
        return -1;
    head->in.fd = head->srun.in_fd;
    head->out.fd = head->srun.out_fd;
    head->err.fd = head->srun.err_fd;
    head->process.fd = jr_pidfd_open(head->srun.pid);
    if (head->process.fd < 0 ||
        fcntl(head->out.fd, F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(head->err.fd, F_SETFL, O_NONBLOCK) != 0 ||
        jr_loop_add(&head->loop, &head->out, EPOLLIN) != 0 ||
        jr_loop_add(&head->loop, &head->err, EPOLLIN) != 0 ||
        jr_loop_add(&head->loop, &head->process, EPOLLIN) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not hear srun");
    return 0;
}

int jr_head_open(struct jr_head **ret, const struct jr_head_options *options,
                 struct jr_error *err)
{
    struct jr_head *head = calloc(1, sizeof *head);
    if (head == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    *head = (struct jr_head){
        .options = *options,
        .loop = {.epoll_fd = -1},
        .in = {-1, on_room, head},
        .out = {-1, on_out, head},
        .err = {-1, on_err, head},
        .process = {-1, on_process, head},
        .patience = {.due = on_late, .owner = head},
    };
    if (open_head(head, err) != 0 ||
        jr_head_await(head, JR_NODE_MET, "did not answer", err) != 0) {
        jr_head_close(head);
        return -1;
    }
    *ret = head;
    return 0;
}

/* The agents hear that their input has ended, and stop what they have. */
static void let_go(struct jr_head *head)
{
    jr_head_hush(head);
    head->late = false;
    head->patience.at = jr_clock_ns() + LEAVE_NS;
    while (head->process.fd >= 0 && !head->late)
        jr_head_turn(head);
    if (head->srun.pid > 0 && head->process.fd >= 0) {
        (void)kill(head->srun.pid, SIGKILL);
        (void)waitpid(head->srun.pid, &head->status, 0);
    }
}

void jr_head_close(struct jr_head *head)
{
    if (head == NULL)
        return;
    if (head->srun.pid > 0)
        let_go(head);
    close_watch(head, &head->process);
    close_watch(head, &head->out);
    close_watch(head, &head->err);
    for (uint32_t i = 0; head->nodes != NULL && i < head->options.nodes; i++) {
        free(head->nodes[i].host);
        for (int j = 0; j < JR_FLOW_COUNT; j++)
            jr_buf_release(&head->nodes[i].streams[j]);
    }
    jr_inlet_release(&head->out_lines);
    jr_inlet_release(&head->err_lines);
    jr_buf_release(&head->outbox);
    if (head->loop.epoll_fd >= 0)
        (void)close(head->loop.epoll_fd);
    free(head->nodes);
    free(head->bytes);
    free(head);
}
