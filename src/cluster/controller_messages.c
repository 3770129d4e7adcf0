/* What an agent says, word by word, and what srun says of nodes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/controller_parts.h"
#include "version.h"

#include "base/banned.h"

static void note_refusal(struct jr_controller *head, uint32_t node,
                         enum jr_status status, const char *text)
{
    struct jr_node_side *side = &head->nodes[node];
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    if (side->state < JR_NODE_DONE)
        side->state = JR_NODE_REFUSED;
    if (head->refused)
        return;
    head->refused = true;
    jr_controller_name(&name, head, node);
    (void)jr_error_set(&head->refusal, status, "%s: %s",
                       name.failed ? "a node" : name.data, text);
}

/* Who it is, as it says itself. */
static void take_host(struct jr_node_side *side, const json_t *word)
{
    const char *host = jr_json_get_str(word, "host");
    char *own = host != NULL ? strdup(host) : NULL;
    if (own == NULL)
        return;
    free(side->host);
    side->host = own;
}

static void on_hello(struct jr_controller *head, uint32_t node,
                     const json_t *word)
{
    struct jr_node_side *side = &head->nodes[node];
    const char *version = jr_json_get_str(word, "version");
    char text[256];
    if (side->state != JR_NODE_SILENT) {
        note_refusal(head, node, JR_STATUS_UNRESOLVED,
                     "srun started more than one agent there");
        return;
    }
    take_host(side, word);
    side->port = (uint32_t)jr_json_get_int(word, "port");
    side->clock_offset_ns =
        jr_clock_ahead(jr_json_get_int(word, "wall"), jr_clock_wall_ns());
    side->state = JR_NODE_MET;
    if (version != NULL && strcmp(version, JR_VERSION) == 0)
        return;
    (void)snprintf(text, sizeof text,
                   "jobrun is of version %.32s there, and " JR_VERSION
                   " here; all nodes need the same",
                   version != NULL ? version : "unknown");
    note_refusal(head, node, JR_STATUS_LAUNCH, text);
}

static void on_node_ready(struct jr_controller *head, uint32_t node,
                          const json_t *word)
{
    (void)word;
    if (head->nodes[node].state == JR_NODE_MET)
        head->nodes[node].state = JR_NODE_READY;
}

static void on_refuse(struct jr_controller *head, uint32_t node,
                      const json_t *word)
{
    struct jr_buf *why = &head->nodes[node].streams[JR_FLOW_WHY];
    json_int_t status = jr_json_get_int(word, "status");
    take_host(&head->nodes[node], word);
    bool known = status > JR_STATUS_OK && status <= JR_STATUS_LAUNCH;
    note_refusal(head, node, known ? (enum jr_status)status : JR_STATUS_LAUNCH,
                 why->len > 0 ? why->data : "it does not say why");
}

static void on_begun(struct jr_controller *head, uint32_t node,
                     const json_t *word)
{
    if (head->run != NULL)
        jr_controller_run_begun(head->run, node, word);
}

static void on_done(struct jr_controller *head, uint32_t node,
                    const json_t *word)
{
    struct jr_node_side *side = &head->nodes[node];
    if (head->run == NULL || side->state != JR_NODE_RUNS)
        return;
    side->signal = (int)jr_json_get_int(word, "signal");
    side->port = (uint32_t)jr_json_get_int(word, "port");
    side->behind = jr_json_get_bool(word, "behind");
    side->state = JR_NODE_DONE;
    jr_controller_run_over(head->run, node);
}

static void on_shown(struct jr_controller *head, uint32_t node,
                     const json_t *word)
{
    (void)word;
    head->nodes[node].behind = false;
}

struct verb {
    const char *word;
    void (*act)(struct jr_controller *head, uint32_t node, const json_t *word);
};

static const struct verb verbs[] = {
    {"hello", on_hello}, {"ready", on_node_ready}, {"refuse", on_refuse},
    {"begun", on_begun}, {"done", on_done},        {"shown", on_shown},
};

void jr_controller_receive(struct jr_controller *head, const json_t *frame)
{
    uint32_t node = (uint32_t)jr_json_get_int(frame, "n");
    const char *type = jr_json_get_str(frame, "t");
    enum jr_flow stream = jr_flow_find(type);
    if (node >= head->options.nodes)
        return;
    jr_heartbeat_heard(head, node);
    if (stream != JR_FLOW_COUNT) {
        (void)jr_message_take(&head->nodes[node].streams[stream], frame);
        jr_controller_read_lines(head, node, stream);
        if (head->run != NULL)
            jr_controller_run_stream(head->run, node, stream);
        return;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(type, verbs[i].word) == 0)
            verbs[i].act(head, node, frame);
}

/* An agent does not end before its input does, and then it ends well. */
static void note_lost_agent(struct jr_controller *head, uint32_t node)
{
    struct jr_node_side *side = &head->nodes[node];
    bool running = head->run != NULL && side->state == JR_NODE_RUNS;
    if (head->run == NULL && side->state < JR_NODE_DONE && !head->gone) {
        head->gone = true;
        head->gone_node = node;
    }
    if (side->state >= JR_NODE_RUNS)
        side->state = JR_NODE_LOST;
    side->behind = false;
    if (running)
        jr_controller_run_lost(head->run, node, head->said);
}

void jr_controller_handle_message(struct jr_controller *head)
{
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (jr_srun_lost(head->said, i, head->nodes[i].host))
            note_lost_agent(head, i);
}
