/*
 * Any bytes as what srun hands on to the controller of a job of three nodes:
 * frames of agents, and lines that are none, among them srun's own. `run` in
 * the first line: an attempt goes on, else the nodes are being met. The
 * controller comes through; a frame and what it holds survive being written
 * again; and how the bytes are cut on the way is no matter.
 */
#include "fuzz.h"

#include <stdio.h>

#include "cluster/internal.h"
#include "cluster/transport.h"
#include "cluster/protocol.h"

enum { NODES = 3, RANKS = 2 * NODES, PIECE = 97 };

/* A controller without an srun. */
struct side {
    struct jr_policy policy;
    struct jr_plan plan;
    struct jr_outcome outcome;
    struct jr_rank_outcome ranks[RANKS];
    uint32_t first[NODES + 1];
    struct jr_cluster_node nodes[NODES];
    struct jr_controller_run run;
    struct jr_controller controller;
    struct jr_link link;
    struct jr_error err;
};

static void begin(struct side *side, bool runs)
{
    *side = (struct side){.first = {0, 2, 4, RANKS}};
    side->policy.timeouts.silence_ms = 1000;
    side->plan = (struct jr_plan){.policy = &side->policy, .nodes = NODES, .world_size = RANKS};
    side->outcome = (struct jr_outcome){.count = RANKS, .ranks = side->ranks};
    side->run = (struct jr_controller_run){.controller = &side->controller,
                                           .plan = &side->plan,
                                           .outcome = &side->outcome,
                                           .events = {.fd = -1},
                                           .first = side->first,
                                           .err = &side->err};
    side->controller = (struct jr_controller){.options.nodes = NODES,
                                              .transport = &jr_srun_transport,
                                              .links = &side->link,
                                              .links_count = 1,
                                              .nodes = side->nodes,
                                              .code.fd = -1,
                                              .run = runs ? &side->run : NULL};
    jr_link_init(&side->link, &side->controller, 0);
    jr_controller_open_console(&side->controller, -1, -1);
    for (uint32_t i = 0; i < NODES; i++) {
        side->nodes[i].state = runs ? JR_NODE_RUNNING : JR_NODE_UNKNOWN;
        side->nodes[i].host = runs ? strdup("n2") : NULL;
    }
    require(jr_controller_mpi_open(&side->run) == 0);
    jr_heartbeat_begin(&side->controller);
}

static void end(struct side *side)
{
    jr_exchange_hub_release(&side->run.hub);
    jr_controller_code_close(&side->controller);
    jr_console_writer_close(&side->controller.console);
    jr_buf_release(&side->link.outbox);
    jr_buf_release(&side->run.events.lines);
    for (uint32_t i = 0; i < NODES; i++) {
        free(side->nodes[i].host);
        free(side->nodes[i].mpi);
        free(side->nodes[i].library);
        free(side->nodes[i].obstacle);
        free(side->nodes[i].loss);
        for (unsigned flow = 0; flow < JR_CHANNEL_COUNT; flow++)
            jr_buf_release(&side->nodes[i].streams[flow]);
    }
}

/* All that is an index elsewhere is one. */
static void check_side(const struct side *side)
{
    for (uint32_t i = 0; i < RANKS; i++)
        require((unsigned)side->ranks[i].end <= JR_END_LOST &&
                (unsigned)side->ranks[i].stage <= JR_STAGE_LATE &&
                (unsigned)side->ranks[i].injection <= JR_INJECT_OOM);
    for (uint32_t i = 0; i < NODES; i++)
        require(side->nodes[i].state <= JR_NODE_LOST);
    require(side->controller.refused == (side->controller.refusal.text[0] != '\0'));
}

/* What is understood of a message is understood of it written anew. */
static void check_message(const json_t *frame)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT, again = JR_BUF_INIT;
    struct jr_message message;
    if (!jr_message_of_node(&message, frame))
        return;
    require(message.type < JR_MESSAGE_FROM_COUNT);
    jr_message_put(&line, &message);
    require(memchr(line.data, '\n', line.len) == line.data + line.len - 1);
    json_t *same = jr_message_read(line.data, line.len - 1);
    require(same != NULL && jr_message_of_node(&message, same));
    jr_message_put(&again, &message);
    require(again.len == line.len && memcmp(again.data, line.data, line.len) == 0);
    json_decref(same);
}

/* The bytes of a frame are the same in frames that srun moves in one piece. */
static void check_frame(const json_t *frame)
{
    JR_BUF_CLEANUP struct jr_buf bytes = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf again = JR_BUF_INIT, frames = JR_BUF_INIT;
    check_message(frame);
    if (!jr_channel_take(&bytes, frame)) {
        require(bytes.len == 0);
        return;
    }
    jr_channel_put(&frames, &(struct jr_sender){.node = 7}, JR_CHANNEL_OUT, bytes.data, bytes.len);
    for (size_t at = 0, len; at < frames.len; at += len + 1) {
        const char *text = frames.data + at;
        len = (size_t)((char *)memchr(text, '\n', frames.len - at) - text);
        require(len < JR_MESSAGE_MOST);
        json_t *piece = jr_message_read(text, len);
        require(piece != NULL && jr_channel_take(&again, piece));
        json_decref(piece);
    }
    require(again.len == bytes.len &&
            (bytes.len == 0 || memcmp(again.data, bytes.data, bytes.len) == 0));
}

static void hear_line(struct side *side, const char *line, size_t len)
{
    json_t *frame = jr_message_read(line, len);
    if (frame != NULL) {
        check_frame(frame);
        jr_controller_receive(&side->controller, frame);
        json_decref(frame);
        return;
    }
    (void)snprintf(side->link.last_line, sizeof side->link.last_line, "%.*s", (int)len, line);
    jr_controller_handle_errors(&side->controller, &side->link);
}

/* The lines of the bytes, as they come in pieces. */
static void hear(struct side *side, const char *bytes, size_t size)
{
    struct jr_inlet inlet = {0};
    const char *line = bytes, *heard;
    size_t len, done = 0;
    for (size_t at = 0; at < size; at += PIECE) {
        jr_inlet_add(&inlet, bytes + at, size - at < PIECE ? size - at : PIECE);
        while ((heard = jr_inlet_line(&inlet, &len)) != NULL) {
            require(done + len < size && line[len] == '\n' && memcmp(line, heard, len) == 0 &&
                    memchr(line, '\n', len) == NULL);
            hear_line(side, heard, len);
            done += len + 1;
            line += len + 1;
        }
    }
    (void)jr_inlet_rest(&inlet, &len);
    require(done + len == size);
    jr_inlet_release(&inlet);
}

/* The outcome of up to three ranks: what is taken is written as it is read. */
static void check_tally(const char *text, size_t size)
{
    for (uint32_t count = 0; count <= NODES; count++) {
        struct jr_rank_outcome ranks[NODES] = {{0}}, more[NODES] = {{0}};
        struct jr_outcome outcome = {.ranks = ranks}, same = {.ranks = more};
        struct jr_error err = {0};
        JR_BUF_CLEANUP struct jr_buf one = JR_BUF_INIT, other = JR_BUF_INIT;
        if (jr_outcome_message_read(&outcome, count, text, size, &err) != 0) {
            require(err.status == JR_STATUS_LAUNCH);
            continue;
        }
        require(outcome.count == count);
        jr_outcome_message_add(&one, &outcome);
        require(jr_outcome_message_read(&same, count, one.data, one.len, &err) == 0);
        jr_outcome_message_add(&other, &same);
        require(one.len == other.len && memcmp(one.data, other.data, one.len) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct side side;
    const char *bytes = (const char *)data;
    const char *stop = size == 0 ? NULL : memchr(bytes, '\n', size);
    size_t skip = stop == NULL ? 0 : (size_t)(stop + 1 - bytes);
    begin(&side, skip == 4 && memcmp(bytes, "run", 3) == 0);
    hear(&side, bytes + skip, size - skip);
    check_side(&side);
    end(&side);
    check_tally(bytes, size);
    return 0;
}
