#include "cluster/controller_mpi.h"

#include "base/hash.h"
#include "cluster/controller_run.h"
#include "store/outcome.h"

#include "base/banned.h"

/* Bytes of the exchange in one message: an agent reads lines of any length, but looks for the end
 * of each again with all that comes. */
enum { PIECE = 24 << 10 };

static bool send_piece(struct jr_controller *controller, uint32_t node, const char *bytes,
                       size_t len)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_base64_add(&text, bytes, len);
    if (text.failed)
        return false;
    const struct jr_message message = {.type = JR_TO_NODES_EXCHANGE, .bytes = text.data};
    if (node == JR_EXCHANGE_ALL)
        jr_controller_send(controller, &message);
    else
        jr_controller_send_to(controller, node, &message);
    return true;
}

static bool send_exchange(void *owner, uint32_t node, const char *bytes, size_t len)
{
    struct jr_controller_run *run = owner;
    for (size_t at = 0; at < len; at += PIECE)
        if (!send_piece(run->controller, node, bytes + at, len - at < PIECE ? len - at : PIECE))
            return false;
    return true;
}

int jr_controller_mpi_open(struct jr_controller_run *run)
{
    run->mpi.hub = (struct jr_exchange_hub){
        .owner = run, .send = send_exchange, .nodes = run->plan->nodes, .first = run->first};
    for (uint32_t node = 0; node < run->plan->nodes; node++)
        jr_buf_clear(&run->controller->nodes[node].streams[JR_CHANNEL_EXCHANGE]);
    return jr_exchange_hub_open(&run->mpi.hub);
}

/* Ranks that are told to stop may have to meet before they can end, as in MPI_Finalize: the
 * exchange goes on until the attempt is over. */
void jr_controller_mpi_take(struct jr_controller_run *run, uint32_t node)
{
    struct jr_buf *stream = &run->controller->nodes[node].streams[JR_CHANNEL_EXCHANGE];
    bool taken =
        run->result != 0 ||
        (!stream->failed && jr_exchange_hub_take(&run->mpi.hub, node, stream->data, stream->len));
    jr_buf_clear(stream);
    if (!taken && !run->stopped)
        jr_controller_run_refuse(run, node,
                                 "what MPI's process manager there exchanges with others cannot be "
                                 "read, or there is no memory for it here");
}

bool jr_controller_mpi_needs(const struct jr_controller_run *run,
                             const struct jr_rank_outcome *rank)
{
    return run->mpi.begun && rank->mpi != JR_MPI_PART_FINALIZED;
}

static bool is_absent(const struct jr_rank_outcome *rank)
{
    return rank->mpi == JR_MPI_PART_ABSENT && rank->end == JR_END_EXITED && rank->exit_code == 0;
}

bool jr_controller_mpi_settle(struct jr_controller_run *run, uint32_t node)
{
    bool missing = false;
    for (uint32_t i = run->first[node]; run->mpi.begun && i < run->first[node + 1]; i++) {
        struct jr_rank_outcome *rank = &run->outcome->ranks[i];
        if (is_absent(rank))
            rank->mpi = JR_MPI_PART_LEFT;
        missing = missing || (jr_controller_mpi_needs(run, rank) && rank->end != JR_END_NONE &&
                              !jr_outcome_is_well(rank));
    }
    return missing;
}

/* A node that is at work is told, and looks at its ranks itself. */
void jr_controller_mpi_begin(struct jr_controller_run *run)
{
    bool missing = false;
    if (run->mpi.begun)
        return;
    run->mpi.begun = true;
    jr_controller_send_type(run->controller, JR_TO_NODES_WORLD);
    for (uint32_t node = 0; node < run->plan->nodes; node++)
        if (run->controller->nodes[node].state >= JR_NODE_DONE)
            missing = jr_controller_mpi_settle(run, node) || missing;
    if (missing)
        jr_controller_run_stop(run);
}

void jr_controller_mpi_close(struct jr_controller_run *run)
{
    jr_exchange_hub_release(&run->mpi.hub);
}
