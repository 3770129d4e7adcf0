#include "cluster/controller.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/signal_name.h"
#include "cluster/controller_parts.h"
#include "version.h"

#include "base/banned.h"

static void on_controller_timeout(void *owner)
{
    struct jr_controller *head = owner;
    head->late = true;
}

void jr_controller_turn(struct jr_controller *head)
{
    (void)jr_loop_turn(&head->loop, false);
    head->ended = head->out.fd < 0 && head->err.fd < 0 && head->process.fd < 0;
}

bool jr_controller_awaits(const struct jr_controller *head,
                          enum jr_node_state state)
{
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (head->nodes[i].state < state)
            return true;
    return false;
}

struct jr_controller_node jr_controller_node(const struct jr_controller *head,
                                             uint32_t node)
{
    const struct jr_cluster_node *side = &head->nodes[node];
    const struct jr_buf *facts = &side->streams[JR_CHANNEL_FACTS],
                        *seats = &side->streams[JR_CHANNEL_SEATS];
    return (struct jr_controller_node){
        .host = side->host != NULL ? side->host : "unknown",
        .facts = facts->len > 0 ? facts->data : "",
        .facts_len = facts->len,
        .seats = seats->len > 0 ? seats->data : "",
        .seats_len = seats->len,
        .port = side->port,
        .clock_offset_ns = side->clock_offset_ns,
    };
}

/* Waiting for all nodes, and telling of the one that it was in vain for. */

#define START_MS 300000u

void jr_controller_end(struct jr_buf *out, const struct jr_controller *head)
{
    char name[JR_SIGNAL_NAME];
    jr_signal_name(name, WTERMSIG(head->status));
    if (WIFSIGNALED(head->status))
        jr_buf_printf(out, "srun was killed by %s", name);
    else
        jr_buf_printf(out, "srun ended with exit code %d",
                      WEXITSTATUS(head->status));
    if (head->said[0] != '\0')
        jr_buf_printf(out, "; its last output: %s", head->said);
}

void jr_controller_name(struct jr_buf *out, const struct jr_controller *head,
                        uint32_t node)
{
    const char *host = head->nodes[node].host;
    jr_buf_printf(out, "node %u", node);
    if (host == NULL)
        return;
    jr_buf_str(out, " (");
    jr_buf_safe(out, host);
    jr_buf_char(out, ')');
}

static uint64_t patience_ms(const struct jr_controller *head)
{
    uint64_t ms = head->options.start_ms;
    return ms > 0 ? ms : START_MS;
}

static void add_start_limit(struct jr_buf *out,
                            const struct jr_controller *head)
{
    jr_buf_str(out, " within ");
    jr_num_add_duration(out, patience_ms(head));
    jr_buf_str(out, " (timeouts.start)");
    if (head->said[0] != '\0')
        jr_buf_printf(out, "; the last output of srun: %s", head->said);
}

static void add_waiting_reason(struct jr_buf *out,
                               const struct jr_controller *head)
{
    if (head->gone) {
        jr_buf_printf(out, ": %s", head->said);
        if (head->nodes[head->gone_node].state == JR_NODE_SILENT &&
            strstr(head->said, ": task") != NULL) /* the node is there */
            jr_buf_printf(out,
                          " (is jobrun there, as %s, and of version " JR_VERSION
                          "?)",
                          head->options.program);
    } else if (head->ended) {
        jr_buf_str(out, ": ");
        jr_controller_end(out, head);
    } else
        add_start_limit(out, head);
}

/* Those that are not in `state` yet: "node 1 (gpu02) and 2 others". */
static void add_missing_nodes(struct jr_buf *out,
                              const struct jr_controller *head,
                              enum jr_node_state state)
{
    uint32_t nodes = head->options.nodes, node = nodes, count = 0;
    for (uint32_t i = nodes; i-- > 0;)
        if (head->nodes[i].state < state) {
            node = i;
            count++;
        }
    if (head->gone) {
        node = head->gone_node;
        count = 1;
    }
    if (count == nodes) {
        jr_buf_printf(out, "the %u nodes", nodes);
        return;
    }
    jr_controller_name(out, head, node);
    if (count > 1)
        jr_buf_printf(out, " and %u other%s", count - 1, count > 2 ? "s" : "");
}

bool jr_controller_has_met(const struct jr_controller *head)
{
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (head->nodes[i].state >= JR_NODE_MET)
            return true;
    return false;
}

/* The message about nodes that did not reach a state in time. */
static int report_missing_nodes(const struct jr_controller *head,
                                enum jr_node_state state, const char *what,
                                struct jr_error *err)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    add_missing_nodes(&text, head, state);
    jr_buf_printf(&text, " did not %s", what);
    add_waiting_reason(&text, head);
    if (!head->gone &&
        !jr_controller_has_met(head)) /* as where a job has shrunk */
        jr_buf_str(&text, "; squeue shows which nodes the job has now");
    return jr_error_set(err, JR_STATUS_LAUNCH, "%s",
                        text.failed ? "out of memory" : text.data);
}

int jr_controller_await(struct jr_controller *head, enum jr_node_state state,
                        const char *what, struct jr_error *err)
{
    head->late = false;
    head->patience.at = jr_clock_ns() + patience_ms(head) * UINT64_C(1000000);
    while (!head->refused && !head->gone && !head->ended && !head->late &&
           jr_controller_awaits(head, state))
        jr_controller_turn(head);
    head->patience.at = 0;
    if (head->refused && err != NULL)
        *err = head->refusal;
    if (head->refused)
        return -1;
    return jr_controller_awaits(head, state)
               ? report_missing_nodes(head, state, what, err)
               : 0;
}

/* From open to close. */

int jr_controller_send_spec(struct jr_controller *head, const char *spec,
                            const char *inject, struct jr_error *err)
{
    jr_controller_send(head, &(struct jr_message){.type = JR_TO_NODES_SPEC,
                                                  .spec = spec,
                                                  .inject = inject});
    jr_heartbeat_begin(head);
    int failed = jr_controller_await(head, JR_NODE_READY, "take the spec", err);
    head->beat.at = 0;
    return failed;
}

const char *jr_controller_lacks(const struct jr_controller *head)
{
    if (head->ended)
        return "srun has ended";
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (head->nodes[i].state != JR_NODE_DONE)
            return "a node was lost, or is still at work";
    return NULL;
}

static int open_controller(struct jr_controller *head, struct jr_error *err)
{
    head->nodes = calloc(head->options.nodes, sizeof *head->nodes);
    head->bytes = malloc(JR_CONTROLLER_PIECE);
    if (head->nodes == NULL || head->bytes == NULL ||
        jr_loop_open(&head->loop) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not set up the head");
    for (uint32_t i = 0; i < head->options.nodes; i++)
        if (head->options.hosts != NULL)
            head->nodes[i].host = strdup(head->options.hosts[i]);
    jr_loop_timer(&head->loop, &head->patience);
    jr_loop_timer(&head->loop, &head->beat);
    return jr_controller_connect(head, err);
}

int jr_controller_open(struct jr_controller **ret,
                       const struct jr_controller_options *options,
                       struct jr_error *err)
{
    struct jr_controller *head = calloc(1, sizeof *head);
    if (head == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    *head = (struct jr_controller){
        .options = *options,
        .loop = {.epoll_fd = -1},
        .in = {.fd = -1},
        .out = {.fd = -1},
        .err = {.fd = -1},
        .process = {.fd = -1},
        .patience = {.due = on_controller_timeout, .owner = head},
        .beat = {.due = jr_heartbeat_due, .owner = head},
    };
    if (open_controller(head, err) != 0 ||
        jr_controller_await(head, JR_NODE_MET, "answer", err) != 0) {
        jr_controller_close(head);
        return -1;
    }
    *ret = head;
    return 0;
}

void jr_controller_close(struct jr_controller *head)
{
    if (head == NULL)
        return;
    jr_controller_disconnect(head);
    for (uint32_t i = 0; head->nodes != NULL && i < head->options.nodes; i++) {
        free(head->nodes[i].host);
        for (int j = 0; j < JR_CHANNEL_COUNT; j++)
            jr_buf_release(&head->nodes[i].streams[j]);
    }
    if (head->screened)
        jr_console_writer_close(&head->screen);
    if (head->loop.epoll_fd >= 0)
        (void)close(head->loop.epoll_fd);
    free(head->nodes);
    free(head->bytes);
    free(head);
}
