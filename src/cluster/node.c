/*
 * What happens to nodes, by a table, and what is done then: with the messages of agents, and with
 * what the programs of the links print about nodes. internal.h declares it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/internal.h"
#include "generated/version.h"

#include "base/banned.h"

enum { INPUTS = JR_NODE_INPUT_COUNT, STATES = JR_NODE_STATE_COUNT };

#define TO(state, act)                                                                             \
    {                                                                                              \
        JR_NODE_##state, JR_NODE_DO_##act                                                          \
    }

/* The states of a row, in order: what happens in all of them is named once. */
#define ROW(unknown, known, ready, serving, running, done, refused, lost, spare)                   \
    {                                                                                              \
        unknown, known, ready, serving, running, done, refused, lost, spare                        \
    }

/* What happens in one state alone: a node that is in another one stays as it is. */
#define IN_KNOWN(next, act)                                                                        \
    ROW(TO(UNKNOWN, NOTHING), TO(next, act), TO(READY, NOTHING), TO(SERVING, NOTHING),             \
        TO(RUNNING, NOTHING), TO(DONE, NOTHING), TO(REFUSED, NOTHING), TO(LOST, NOTHING),          \
        TO(SPARE, NOTHING))
#define IN_RUNNING(next, act)                                                                      \
    ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING), TO(SERVING, NOTHING),        \
        TO(next, act), TO(DONE, NOTHING), TO(REFUSED, NOTHING), TO(LOST, NOTHING),                 \
        TO(SPARE, NOTHING))

/* The columns are those of JR_NODE_STATES. A node that is done or lost does not change its mind; a
 * refusal is noted whenever it comes. Reports of ranks count while they run: the run that they were
 * of is over otherwise. */
static const struct jr_node_change table[INPUTS][STATES] = {
    [JR_NODE_ON_HELLO] = ROW(TO(KNOWN, IDENTIFY), TO(REFUSED, SECOND), TO(REFUSED, SECOND),
                             TO(SERVING, NOTHING), TO(REFUSED, SECOND), TO(DONE, SECOND),
                             TO(REFUSED, SECOND), TO(LOST, SECOND), TO(SPARE, IDENTIFY)),
    [JR_NODE_ON_READY] = IN_KNOWN(READY, WORLD),
    [JR_NODE_ON_REFUSE] = ROW(TO(REFUSED, REFUSE), TO(REFUSED, REFUSE), TO(REFUSED, REFUSE),
                              TO(SERVING, NOTHING), TO(REFUSED, REFUSE), TO(DONE, REFUSE),
                              TO(REFUSED, REFUSE), TO(LOST, REFUSE), TO(LOST, MISS)),
    [JR_NODE_ON_BEGUN] = IN_RUNNING(RUNNING, BEGIN),
    [JR_NODE_ON_APART] = IN_RUNNING(RUNNING, APART),
    [JR_NODE_ON_HEARTBEAT] = IN_KNOWN(KNOWN, SURVEY),
    [JR_NODE_ON_DONE] = IN_RUNNING(DONE, FINISH),
    [JR_NODE_ON_SHOWN] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                             TO(SERVING, NOTHING), TO(RUNNING, NOTHING), TO(DONE, SHOWN),
                             TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_ALL_RETURNED] = IN_RUNNING(RUNNING, RETURNED),
    [JR_NODE_ON_RELEASED] = IN_RUNNING(RUNNING, RELEASE),
    [JR_NODE_ON_SILENT] = IN_RUNNING(RUNNING, ASK),
    [JR_NODE_ON_QUIET] = IN_RUNNING(RUNNING, ANSWER),
    [JR_NODE_ON_TERMINATED] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                                  TO(SERVING, CEASE), TO(RUNNING, SUSPECT), TO(DONE, NOTHING),
                                  TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_CELL_ENDED] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                                  TO(SERVING, CELL), TO(RUNNING, NOTHING), TO(DONE, NOTHING),
                                  TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_INITIALIZED] = IN_RUNNING(RUNNING, INITIALIZED),
    [JR_NODE_ON_LISTENING] = IN_KNOWN(KNOWN, SURVEY),
    [JR_NODE_ON_REACHED] = IN_KNOWN(KNOWN, SURVEY),
    [JR_NODE_ON_WANT] = ROW(TO(UNKNOWN, COPY), TO(KNOWN, CODE), TO(READY, NOTHING),
                            TO(SERVING, NOTHING), TO(RUNNING, CODE), TO(DONE, NOTHING),
                            TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, COPY)),
    [JR_NODE_ON_PLACED] = ROW(TO(UNKNOWN, ASSIGN), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                              TO(SERVING, NOTHING), TO(RUNNING, NOTHING), TO(DONE, NOTHING),
                              TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, ASSIGN)),
    [JR_NODE_ON_GO] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(RUNNING, NOTHING),
                          TO(SERVING, NOTHING), TO(RUNNING, NOTHING), TO(RUNNING, NOTHING),
                          TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_SERVE] = ROW(TO(UNKNOWN, NOTHING), TO(SERVING, NOTHING), TO(SERVING, NOTHING),
                             TO(SERVING, NOTHING), TO(RUNNING, NOTHING), TO(DONE, NOTHING),
                             TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_EXITED] =
        ROW(TO(UNKNOWN, FAIL), TO(KNOWN, FAIL), TO(READY, FAIL), TO(LOST, LEAVE), TO(LOST, LOSE),
            TO(LOST, SHOWN), TO(LOST, NOTHING), TO(LOST, NOTHING), TO(LOST, MISS)),
    [JR_NODE_ON_TIMED_OUT] =
        ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, FAIL), TO(READY, FAIL), TO(LOST, LEAVE), TO(LOST, LOSE),
            TO(DONE, NOTHING), TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
    [JR_NODE_ON_GIVEN_UP] = ROW(TO(UNKNOWN, NOTHING), TO(KNOWN, NOTHING), TO(READY, NOTHING),
                                TO(LOST, LEAVE), TO(LOST, GIVE_UP), TO(DONE, NOTHING),
                                TO(REFUSED, NOTHING), TO(LOST, NOTHING), TO(SPARE, NOTHING)),
};

struct jr_node_change jr_node_step(enum jr_node_state state, enum jr_node_input input)
{
    return table[input][state];
}

/* What is done besides the change of state; by a message, or by how a node is known to be lost. */

static void keep_loss(struct jr_cluster_node *peer, const char *why)
{
    if (peer->loss == NULL && why != NULL)
        peer->loss = strdup(why);
}

/* It is not needed yet, and so its loss is no more than told. */
static void miss_spare(struct jr_controller *controller, uint32_t node, const char *why)
{
    struct jr_cluster_node *peer = &controller->nodes[node];
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    peer->state = JR_NODE_LOST;
    keep_loss(peer, why);
    jr_link_close_input(&controller->links[node]);
    jr_buf_str(&line, "the spare ");
    jr_buf_safe(&line, peer->host != NULL ? peer->host : "host");
    jr_buf_printf(&line, " is left out: %s", why);
    if (!line.failed && controller->options.note != NULL)
        controller->options.note(controller->options.data, line.data);
}

static void note_refusal(struct jr_controller *controller, uint32_t node, enum jr_status status,
                         const char *text)
{
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    if (controller->survey != NULL)
        jr_survey_fail(controller->survey, node, text, NULL);
    if (node >= controller->options.nodes) {
        miss_spare(controller, node, text);
        return;
    }
    if (controller->refused)
        return;
    controller->refused = true;
    controller->refused_node = node;
    jr_controller_name(&name, controller, node);
    (void)jr_error_set(&controller->refusal, status, "%s: %s", name.failed ? "a node" : name.data,
                       text);
}

void jr_controller_refuse(struct jr_controller *controller, uint32_t node, const char *text)
{
    note_refusal(controller, node, JR_STATUS_LAUNCH, text);
}

/* Who it is, as it says itself. */
static void take_host(struct jr_cluster_node *peer, const struct jr_message *message)
{
    char *own = message->host != NULL ? strdup(message->host) : NULL;
    if (own == NULL)
        return;
    free(peer->host);
    peer->host = own;
}

static void identify_node(struct jr_controller *controller, uint32_t node,
                          const struct jr_message *message)
{
    struct jr_cluster_node *peer = &controller->nodes[node];
    const char *version = message->version;
    const char *hint = controller->transport->version_hint;
    char text[256];
    if (controller->survey != NULL)
        jr_survey_take(controller->survey, node, message);
    take_host(peer, message);
    peer->port = (uint32_t)message->port;
    peer->clock_offset_ns = jr_clock_ahead(message->wall_ns, jr_clock_wall_ns());
    if (version != NULL && strcmp(version, JR_VERSION) == 0)
        return;
    (void)snprintf(text, sizeof text,
                   "jobrun is of version %.32s there, and " JR_VERSION
                   " here; all nodes need the same%s",
                   version != NULL ? version : "unknown",
                   hint != NULL && controller->survey == NULL ? hint : "");
    peer->state = jr_node_step(peer->state, JR_NODE_ON_REFUSE).next;
    note_refusal(controller, node, JR_STATUS_LAUNCH, text);
}

/* Why a node cannot take part, in its own words. */
static const char *own_reason(const struct jr_controller *controller, uint32_t node)
{
    const struct jr_buf *why = &controller->nodes[node].streams[JR_CHANNEL_WHY];
    return why->len > 0 ? why->data : "it does not say why";
}

static char *copy_text(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

static void refuse_node(struct jr_controller *controller, uint32_t node,
                        const struct jr_message *message)
{
    int64_t code = message->code;
    bool known = code > JR_STATUS_OK && code <= JR_STATUS_LAUNCH;
    take_host(&controller->nodes[node], message);
    note_refusal(controller, node, known ? (enum jr_status)code : JR_STATUS_LAUNCH,
                 own_reason(controller, node));
}

/* Before there is a run, a node that is lost is the end; where nothing was awaited of it, its run
 * begins with the loss (begin_nodes). */
static void fail_start(struct jr_controller *controller, uint32_t node, const char *why)
{
    keep_loss(&controller->nodes[node], why);
    if (controller->agent_exited)
        return;
    controller->agent_exited = true;
    controller->exited_node = node;
    (void)snprintf(controller->exited_why, sizeof controller->exited_why, "%s", why);
}

/* Send the program to a node, and say so. */
static void copy_program(struct jr_controller *controller, uint32_t node)
{
    const struct jr_copy *copy = controller->options.copy;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (copy == NULL || !controller->transport->each)
        return;
    jr_controller_name(&line, controller, node);
    jr_buf_printf(&line,
                  ": jobrun " JR_VERSION " is copied there (%.1f MiB), into "
                  "~/.cache/jobrun/" JR_VERSION "-%s",
                  (double)copy->bytes.len / (1 << 20), copy->hash);
    if (controller->options.note != NULL && !line.failed)
        controller->options.note(controller->options.data, line.data);
    jr_link_send_bulk(&controller->links[node], copy->bytes.data, copy->bytes.len);
}

/* Others have been told who they are. */
static void assign_placed_node(struct jr_controller *controller, uint32_t node)
{
    const struct jr_transport *transport = controller->transport;
    if (transport->places != NULL && transport->places(&controller->options, node))
        jr_controller_assign(controller, node);
}

/* What needs neither cells nor a run. */
static void act_on_node(struct jr_controller *controller, uint32_t node, enum jr_node_action action,
                        const struct jr_message *message, const char *why)
{
    struct jr_cluster_node *peer = &controller->nodes[node];
    switch ((int)action) {
    case JR_NODE_DO_IDENTIFY:
        identify_node(controller, node, message);
        break;
    case JR_NODE_DO_WORLD: /* when it takes the spec, or is to run cells, which is once */
        peer->mpi = copy_text(message->mpi);
        peer->library = copy_text(message->library);
        peer->obstacle = copy_text(message->obstacle);
        peer->apart = message->on;
        break;
    case JR_NODE_DO_SECOND:
        note_refusal(controller, node, JR_STATUS_UNRESOLVED,
                     "srun started more than one agent there");
        break;
    case JR_NODE_DO_REFUSE:
        refuse_node(controller, node, message);
        break;
    case JR_NODE_DO_SHOWN:
        peer->behind = false;
        break;
    case JR_NODE_DO_COPY:
        copy_program(controller, node);
        break;
    case JR_NODE_DO_ASSIGN:
        assign_placed_node(controller, node);
        break;
    case JR_NODE_DO_CODE:
        jr_controller_send_code(controller, node);
        break;
    case JR_NODE_DO_SURVEY:
        if (controller->survey != NULL)
            jr_survey_take(controller->survey, node, message);
        break;
    case JR_NODE_DO_FAIL:
        fail_start(controller, node, why);
        break;
    case JR_NODE_DO_MISS: /* it says itself why, or its program has ended */
        if (!controller->leaves)
            miss_spare(controller, node, why != NULL ? why : own_reason(controller, node));
        break;
    }
}

/* What belongs to the cells of a sweep. */
static void act_on_cells(const struct jr_cell_watcher *watcher, uint32_t node,
                         enum jr_node_action action, const struct jr_message *message,
                         const char *why)
{
    if (action == JR_NODE_DO_CEASE)
        watcher->ceased(watcher->data, node);
    else if (action == JR_NODE_DO_LEAVE)
        watcher->lost(watcher->data, node, why);
    else if (action == JR_NODE_DO_CELL)
        watcher->ended(watcher->data, node,
                       &(struct jr_cell_end){.cell = message->cell,
                                             .code = (int)message->code,
                                             .gone = message->devices,
                                             .sent = message->on,
                                             .full = message->full});
}

/* What belongs to the run that goes on. */
static void act_on_run(struct jr_controller_run *run, uint32_t node, enum jr_node_action action,
                       const struct jr_message *message, const char *why)
{
    struct jr_cluster_node *peer = &run->controller->nodes[node];
    switch ((int)action) {
    case JR_NODE_DO_BEGIN:
        jr_controller_run_begun(run, node, message);
        break;
    case JR_NODE_DO_APART:
        jr_controller_run_apart(run, node);
        break;
    case JR_NODE_DO_FINISH:
        peer->signal = (int)message->signal;
        peer->port = (uint32_t)message->port;
        peer->behind = message->behind;
        jr_controller_run_over(run, node);
        break;
    case JR_NODE_DO_RETURNED:
        jr_controller_run_returned(run, node);
        break;
    case JR_NODE_DO_RELEASE:
        jr_controller_run_release(run);
        break;
    case JR_NODE_DO_ASK:
        jr_controller_silence_ask(run);
        break;
    case JR_NODE_DO_ANSWER:
        jr_controller_silence_answer(run, node, (uint64_t)message->for_ns);
        break;
    case JR_NODE_DO_INITIALIZED:
        jr_controller_mpi_begin(run);
        break;
    case JR_NODE_DO_SUSPECT:
        jr_controller_preempt_ask(run);
        break;
    case JR_NODE_DO_LOSE:
        jr_controller_run_lost(run, node, why);
        break;
    case JR_NODE_DO_GIVE_UP:
        jr_controller_run_give_up(run, node, why);
        break;
    }
}

static void step_node(struct jr_controller *controller, uint32_t node, enum jr_node_input input,
                      const struct jr_message *message, const char *why)
{
    struct jr_cluster_node *peer = &controller->nodes[node];
    struct jr_node_change step = jr_node_step(peer->state, input);
    peer->state = step.next;
    if (step.next == JR_NODE_LOST)
        keep_loss(peer, why);
    act_on_node(controller, node, step.action, message, why);
    if (controller->watcher != NULL)
        act_on_cells(controller->watcher, node, step.action, message, why);
    if (controller->run != NULL)
        act_on_run(controller->run, node, step.action, message, why);
}

void jr_controller_step_node(struct jr_controller *controller, uint32_t node,
                             enum jr_node_input input, const char *why)
{
    step_node(controller, node, input, NULL, why);
}

/* What a node says in a channel, and that was not taken yet, is less. */
enum { STREAM_MOST = 16 << 20 };

/* A channel whose lines are about cells has got bytes: `note` or `progress`. */
static void read_cell_lines(struct jr_controller *controller, uint32_t node,
                            enum jr_channel channel)
{
    struct jr_buf *stream = &controller->nodes[node].streams[channel];
    const struct jr_cell_watcher *watcher = controller->watcher;
    size_t at = 0;
    for (char *end; watcher != NULL && at < stream->len &&
                    (end = memchr(stream->data + at, '\n', stream->len - at)) != NULL;) {
        *end = '\0';
        (channel == JR_CHANNEL_NOTE ? watcher->said : watcher->told)(watcher->data, node,
                                                                     stream->data + at);
        at = (size_t)(end + 1 - stream->data);
    }
    if (at > 0)
        memmove(stream->data, stream->data + at, stream->len - at);
    stream->len -= at;
}

/* Take a piece of a channel. A node that says one thing for ever is refused. */
static void take_piece(struct jr_controller *controller, uint32_t node, enum jr_channel channel,
                       const json_t *line)
{
    struct jr_cluster_node *peer = &controller->nodes[node];
    const struct jr_cell_watcher *watcher = controller->watcher;
    struct jr_buf *stream = &peer->streams[channel];
    char text[128];
    (void)jr_channel_take(stream, line);
    jr_controller_read_lines(controller, node, channel);
    if (channel == JR_CHANNEL_NOTE || channel == JR_CHANNEL_PROGRESS)
        read_cell_lines(controller, node, channel);
    if (channel == JR_CHANNEL_LEFT && watcher != NULL) {
        if (peer->state == JR_NODE_SERVING && !stream->failed)
            watcher->left(watcher->data, node, stream->data, stream->len);
        jr_buf_clear(stream);
    }
    if (controller->run != NULL && node < controller->options.nodes)
        jr_controller_run_stream(controller->run, node, channel);
    if (stream->len <= STREAM_MOST && !stream->failed)
        return;
    jr_buf_release(stream);
    (void)snprintf(text, sizeof text,
                   "what it says of its %s has no end: is jobrun there what it is here?",
                   jr_channel_word(channel));
    peer->state = jr_node_step(peer->state, JR_NODE_ON_REFUSE).next;
    note_refusal(controller, node, JR_STATUS_LAUNCH, text);
}

void jr_controller_receive(struct jr_controller *controller, const json_t *line)
{
    uint32_t node = jr_json_get_u32(line, "n");
    enum jr_channel channel = jr_channel_find(jr_json_get_str(line, "t"));
    struct jr_message message;
    if (node >= jr_controller_machines(controller))
        return;
    jr_heartbeat_received(controller, node);
    if (channel != JR_CHANNEL_COUNT) {
        take_piece(controller, node, channel, line);
    } else if (jr_message_of_node(&message, line)) {
        step_node(controller, node, (enum jr_node_input)message.type, &message, NULL);
    }
}
