#include "run/policies/mpi_pmi1.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "run/policies/mpi_world.h"
#include "run/runner.h"
#include "spawn/control.h"

#include "base/banned.h"

#define BARRIER "all" /* the group of ranks */

/* The ranks would wait for ever. */
#define EXCHANGE_LOST                                                                              \
    "what the process managers of the ranks exchange between nodes could not "                     \
    "be read, or there was no memory for it"

void jr_mpi_pmi1_barrier(struct jr_mpi_world *world)
{
    struct jr_buf fresh JR_BUF_CLEANUP = JR_BUF_INIT;
    if (world->exchange.take == NULL) { /* and so all that there are */
        jr_pmi_open_barrier(&world->pmi);
        world->opened = true;
        return;
    }
    jr_pmi_take_fresh(&world->pmi, &fresh);
    if (fresh.failed)
        jr_mpi_world_break(world->runner, EXCHANGE_LOST);
    else
        jr_mpi_exchange_send(
            &world->exchange,
            &(struct jr_exchange_frame){
                .kind = JR_EXCHANGE_FENCE, .group = BARRIER, .data = fresh.data, .len = fresh.len});
}

/* Streams: what is to be sent goes first, and a rank that does not read is not read from. */

static void watch_stream_for(struct jr_mpi_stream *stream, bool full)
{
    if (stream->full == full)
        return;
    stream->full = full;
    if (jr_loop_change(&stream->world->runner->loop, &stream->watch, full ? EPOLLOUT : EPOLLIN) !=
        0)
        jr_loop_close(&stream->watch);
}

static void send_replies(struct jr_mpi_world *world, uint32_t i)
{
    struct jr_mpi_stream *stream = &world->streams[i];
    struct jr_buf *out = &world->pmi.clients[i].out;
    if (stream->watch.fd < 0 || out->failed) {
        jr_loop_close(&stream->watch);
        jr_buf_release(out);
        return;
    }
    if (out->len == 0)
        return;
    ssize_t sent = send(stream->watch.fd, out->data, out->len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        jr_loop_close(&stream->watch);
        jr_buf_clear(out);
        return;
    }
    size_t left = out->len - (size_t)(sent < 0 ? 0 : sent);
    if (left > 0)
        memmove(out->data, out->data + (out->len - left), left);
    out->len = left;
    watch_stream_for(stream, left > 0);
}

/* All ranks of all nodes are in the barrier; there is no other fence in PMI-1, and what is of
 * another kind is for others. */
static void on_exchanged(void *owner, const struct jr_exchange_frame *frame)
{
    struct jr_mpi_world *world = owner;
    if (frame != NULL && (frame->kind != JR_EXCHANGE_FENCE || strcmp(frame->group, BARRIER) != 0))
        return;
    if (frame == NULL || !jr_pmi_take_all(&world->pmi, frame->data, frame->len)) {
        jr_mpi_world_break(world->runner, EXCHANGE_LOST);
        return;
    }
    jr_pmi_open_barrier(&world->pmi);
    for (uint32_t i = 0; i < world->runner->next; i++)
        send_replies(world, i);
}

/* Of the rank that spoke, and of all if that opened the barrier. */
static void send_all_replies(struct jr_mpi_world *world, uint32_t i)
{
    bool all = world->opened;
    world->opened = false;
    send_replies(world, i);
    for (uint32_t other = 0; all && other < world->runner->next; other++)
        if (other != i)
            send_replies(world, other);
}

/* Take what one process wrote; returns how many bytes there were. */
static size_t read_requests(struct jr_mpi_stream *stream)
{
    struct jr_mpi_world *world = stream->world;
    uint32_t i = (uint32_t)(stream - world->streams);
    struct jr_pmi *pmi = &world->pmi;
    struct jr_control_status status;
    if (!jr_control_read(&status, stream->watch.fd))
        return 0;
    if (status.len == 0) {
        jr_loop_close(&stream->watch);
        return 0;
    }
    jr_pmi_take(pmi, i, status.from, status.text, status.len);
    send_all_replies(world, i);
    if (pmi->clients[i].state == JR_PMI_BROKEN)
        jr_loop_close(&stream->watch);
    return status.len;
}

static void on_stream_ready(void *owner, uint32_t events)
{
    struct jr_mpi_stream *stream = owner;
    struct jr_mpi_world *world = stream->world;
    if (stream->full)
        send_replies(world, (uint32_t)(stream - world->streams));
    else if ((events & EPOLLIN) != 0)
        (void)read_requests(stream);
    else
        jr_loop_close(&stream->watch);
}

int jr_mpi_pmi1_add(struct jr_mpi_world *world, uint32_t i, int fd)
{
    struct jr_mpi_stream *stream = &world->streams[i];
    stream->watch = (struct jr_watch){.fd = fd, .ready = on_stream_ready, .owner = stream};
    return jr_loop_add(&world->runner->loop, &stream->watch, EPOLLIN);
}

static int map_ranks(struct jr_mpi_world *world)
{
    uint32_t nodes;
    uint32_t *first = jr_mpi_world_first(world->runner->plan, &nodes);
    int failed = first == NULL ? -1 : jr_pmi_map(&world->pmi, nodes, first);
    free(first);
    return failed;
}

/* With the managers of other nodes; where there are none, nothing is done. */
static int open_exchange(struct jr_mpi_world *world)
{
    struct jr_mpi_exchange *exchange = &world->exchange;
    int fd = jr_commands_take_exchange(world->runner);
    if (fd < 0)
        return 0;
    exchange->owner = world;
    exchange->take = on_exchanged;
    return jr_mpi_exchange_open(exchange, &world->runner->loop, fd);
}

int jr_mpi_pmi1_open(struct jr_mpi_world *world)
{
    static const struct jr_pmi_hooks hooks = {
        .initialized = jr_mpi_world_initialized,
        .finalized = jr_mpi_world_finalized,
        .aborted = jr_mpi_world_aborted,
        .broken = jr_mpi_world_broken,
        .spawned = jr_mpi_world_spawned,
        .barrier = jr_mpi_world_synchronized,
    };
    struct jr_runner *runner = world->runner;
    const struct jr_plan *plan = runner->plan;
    struct jr_pmi_hooks own = hooks;
    char name[JR_MPI_NAME];
    own.owner = runner;
    jr_mpi_world_name(name, plan);
    world->streams = calloc((size_t)plan->count + 1, sizeof *world->streams);
    if (world->streams == NULL ||
        jr_pmi_open(&world->pmi, &own, plan->count, plan->world_size, name) != 0 ||
        map_ranks(world) != 0)
        return -1;
    for (uint32_t i = 0; i < plan->count; i++)
        world->streams[i] = (struct jr_mpi_stream){.watch = {.fd = -1}, .world = world};
    return open_exchange(world);
}

/* Its last words may not have been read yet; what processes that it left behind add from now on is
 * not waited for. */
static void end_stream(struct jr_mpi_stream *stream)
{
    size_t left = stream->watch.fd < 0 ? 0 : jr_control_waiting(stream->watch.fd);
    while (stream->watch.fd >= 0 && left > 0) {
        size_t len = read_requests(stream);
        left = len == 0 || len > left ? 0 : left - len;
    }
    jr_loop_close(&stream->watch);
}

/* MPICH shuts its stream down as it finalizes, for all that have it: another MPI program of the
 * same rank dies when it writes to it. */
static void explain_second_program(struct jr_mpi_world *world, struct jr_rank_run *rank)
{
    const struct jr_rank_outcome *outcome = rank->outcome;
    bool pipe = outcome->end == JR_END_SIGNALED
                    ? outcome->signal == SIGPIPE
                    : outcome->end == JR_END_EXITED && outcome->exit_code == 128 + SIGPIPE;
    if (!pipe || outcome->mpi != JR_MPI_PART_FINALIZED || world->explained)
        return;
    world->explained = true;
    jr_mpi_world_warn(rank, "was ended by SIGPIPE after MPI_Finalize: a second program of "
                            "MPICH in the same rank finds no world, for the first has "
                            "closed the way to it; run each by a jobrun of its own");
}

void jr_mpi_pmi1_end(struct jr_mpi_world *world, uint32_t i)
{
    end_stream(&world->streams[i]);
    explain_second_program(world, &world->runner->ranks[i]);
}

void jr_mpi_pmi1_close(struct jr_mpi_world *world)
{
    if (world->streams != NULL)
        jr_pmi_release(&world->pmi);
    jr_mpi_exchange_close(&world->exchange);
    free(world->streams);
    world->streams = NULL;
}
