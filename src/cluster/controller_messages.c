/*
 * What comes from the nodes: the messages of agents, each by the table of node_state.h, and what
 * the programs of the links print about nodes. controller_parts.h and controller_run.h declare it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/controller_cells.h"
#include "cluster/controller_code.h"
#include "cluster/controller_console.h"
#include "cluster/controller_mpi.h"
#include "cluster/controller_preempt.h"
#include "cluster/controller_run.h"
#include "cluster/controller_silence.h"
#include "cluster/survey_parts.h"
#include "generated/version.h"

#include "base/banned.h"

/* Why a node changes its state: a message, or how it is known to be lost. */
struct node_cause {
    const struct jr_message *message;
    const char *why;
};

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

/* A spare that says itself why it can be none, or whose program has ended. */
static void lose_spare(struct jr_controller *controller, uint32_t node,
                       const struct node_cause *cause)
{
    const struct jr_buf *why = &controller->nodes[node].streams[JR_CHANNEL_WHY];
    const char *own = why->len > 0 ? why->data : "it does not say why";
    if (controller->leaves)
        return;
    miss_spare(controller, node, cause->why != NULL ? cause->why : own);
}

static char *copy_text(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

/* As its agent says when it takes the spec, or is to run cells, which is once.
 */
static void take_node_world(struct jr_cluster_node *peer, const struct jr_message *message)
{
    peer->mpi = copy_text(message->mpi);
    peer->library = copy_text(message->library);
    peer->obstacle = copy_text(message->obstacle);
    peer->apart = message->on;
}

static void refuse_node(struct jr_controller *controller, uint32_t node,
                        const struct jr_message *message)
{
    const struct jr_buf *why = &controller->nodes[node].streams[JR_CHANNEL_WHY];
    int64_t code = message->code;
    bool known = code > JR_STATUS_OK && code <= JR_STATUS_LAUNCH;
    take_host(&controller->nodes[node], message);
    note_refusal(controller, node, known ? (enum jr_status)code : JR_STATUS_LAUNCH,
                 why->len > 0 ? why->data : "it does not say why");
}

static void refuse_second_agent(struct jr_controller *controller, uint32_t node)
{
    note_refusal(controller, node, JR_STATUS_UNRESOLVED, "srun started more than one agent there");
}

static void finish_node(struct jr_controller *controller, uint32_t node,
                        const struct jr_message *message)
{
    struct jr_cluster_node *peer = &controller->nodes[node];
    peer->signal = (int)message->signal;
    peer->port = (uint32_t)message->port;
    peer->behind = message->behind;
    jr_controller_run_over(controller->run, node);
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

/* Others have been told who they are. */
static void assign_placed_node(struct jr_controller *controller, uint32_t node)
{
    const struct jr_transport *transport = controller->transport;
    if (transport->places != NULL && transport->places(&controller->options, node))
        jr_controller_assign(controller, node);
}

/* What a state does, of what belongs to the cells of a sweep. False: it is not among it. */
static bool act_on_cells(const struct jr_controller *controller, uint32_t node,
                         enum jr_node_action action, const struct node_cause *cause)
{
    const struct jr_cell_watcher *watcher = controller->watcher;
    switch ((int)action) {
    case JR_NODE_DO_CELL:
        watcher->ended(watcher->data, node,
                       &(struct jr_cell_end){.cell = cause->message->cell,
                                             .code = (int)cause->message->code,
                                             .gone = cause->message->devices,
                                             .sent = cause->message->on,
                                             .full = cause->message->full});
        return true;
    case JR_NODE_DO_CEASE:
        watcher->ceased(watcher->data, node);
        return true;
    case JR_NODE_DO_LEAVE:
        watcher->lost(watcher->data, node, cause->why);
        return true;
    default:
        return false;
    }
}

/* The same of what needs neither these nor a run. */
static bool act_on_node(struct jr_controller *controller, uint32_t node, enum jr_node_action action,
                        const struct node_cause *cause)
{
    switch ((int)action) {
    case JR_NODE_DO_NOTHING:
        return true;
    case JR_NODE_DO_IDENTIFY:
        identify_node(controller, node, cause->message);
        return true;
    case JR_NODE_DO_WORLD:
        take_node_world(&controller->nodes[node], cause->message);
        return true;
    case JR_NODE_DO_SECOND:
        refuse_second_agent(controller, node);
        return true;
    case JR_NODE_DO_REFUSE:
        refuse_node(controller, node, cause->message);
        return true;
    case JR_NODE_DO_SHOWN:
        controller->nodes[node].behind = false;
        return true;
    case JR_NODE_DO_COPY:
        jr_controller_copy(controller, node);
        return true;
    case JR_NODE_DO_ASSIGN:
        assign_placed_node(controller, node);
        return true;
    case JR_NODE_DO_CODE:
        jr_controller_send_code(controller, node);
        return true;
    case JR_NODE_DO_SURVEY:
        if (controller->survey != NULL)
            jr_survey_take(controller->survey, node, cause->message);
        return true;
    case JR_NODE_DO_FAIL:
        fail_start(controller, node, cause->why);
        return true;
    case JR_NODE_DO_MISS:
        lose_spare(controller, node, cause);
        return true;
    default:
        return false;
    }
}

/* The same of what belongs to the run that goes on. */
static void act_on_run(struct jr_controller_run *run, uint32_t node, enum jr_node_action action,
                       const struct node_cause *cause)
{
    switch ((int)action) {
    case JR_NODE_DO_BEGIN:
        jr_controller_run_begun(run, node, cause->message);
        break;
    case JR_NODE_DO_APART:
        jr_controller_run_apart(run, node);
        break;
    case JR_NODE_DO_FINISH:
        finish_node(run->controller, node, cause->message);
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
        jr_controller_silence_answer(run, node, (uint64_t)cause->message->for_ns);
        break;
    case JR_NODE_DO_INITIALIZED:
        jr_controller_mpi_begin(run);
        break;
    case JR_NODE_DO_SUSPECT:
        jr_controller_preempt_ask(run);
        break;
    case JR_NODE_DO_LOSE:
        jr_controller_run_lost(run, node, cause->why);
        break;
    case JR_NODE_DO_GIVE_UP:
        jr_controller_run_give_up(run, node, cause->why);
        break;
    }
}

static void step_node(struct jr_controller *controller, uint32_t node, enum jr_node_input input,
                      const struct node_cause *cause)
{
    struct jr_cluster_node *peer = &controller->nodes[node];
    struct jr_node_change step = jr_node_step(peer->state, input);
    peer->state = step.next;
    if (step.next == JR_NODE_LOST)
        keep_loss(peer, cause->why);
    if (act_on_node(controller, node, step.action, cause) ||
        (controller->watcher != NULL && act_on_cells(controller, node, step.action, cause)))
        return;
    if (controller->run != NULL)
        act_on_run(controller->run, node, step.action, cause);
}

void jr_controller_step_node(struct jr_controller *controller, uint32_t node,
                             enum jr_node_input input, const char *why)
{
    step_node(controller, node, input, &(struct node_cause){.why = why});
}

/* What a node says in a channel, and that was not taken yet, is less. */
enum { STREAM_MOST = 16 << 20 };

/* Take a piece of a channel. A node that says one thing for ever is refused. */
static void take_piece(struct jr_controller *controller, uint32_t node, enum jr_channel channel,
                       const json_t *line)
{
    struct jr_buf *stream = &controller->nodes[node].streams[channel];
    char text[128];
    (void)jr_channel_take(stream, line);
    jr_controller_read_lines(controller, node, channel);
    if (channel == JR_CHANNEL_NOTE || channel == JR_CHANNEL_PROGRESS)
        jr_controller_read_cell_lines(controller, node, channel);
    if (channel == JR_CHANNEL_LEFT && controller->watcher != NULL)
        jr_controller_read_left(controller, node);
    if (controller->run != NULL && node < controller->options.nodes)
        jr_controller_run_stream(controller->run, node, channel);
    if (stream->len <= STREAM_MOST && !stream->failed)
        return;
    jr_buf_release(stream);
    (void)snprintf(text, sizeof text,
                   "what it says of its %s has no end: is jobrun there what it is here?",
                   jr_channel_word(channel));
    controller->nodes[node].state =
        jr_node_step(controller->nodes[node].state, JR_NODE_ON_REFUSE).next;
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
        step_node(controller, node, (enum jr_node_input)message.type,
                  &(struct node_cause){.message = &message});
    }
}

static uint32_t find_task(const struct jr_controller *controller, uint32_t node)
{
    const uint32_t *tasks = controller->options.tasks;
    return tasks == NULL ? node : tasks[node];
}

/* An agent does not end before its input does, and then it ends well. */
void jr_controller_handle_errors(struct jr_controller *controller, const struct jr_link *link)
{
    const struct jr_transport *transport = controller->transport;
    for (uint32_t i = 0; transport->has_lost != NULL && i < controller->options.nodes; i++)
        if (transport->has_lost(link->last_line, find_task(controller, i),
                                controller->nodes[i].host))
            jr_controller_step_node(controller, i, JR_NODE_ON_EXITED, link->last_line);
}
