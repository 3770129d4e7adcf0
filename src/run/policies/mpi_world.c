/*
 * The ranks of an MPI program as one world, without a launcher of MPI's. internal.h declares it.
 *
 * Each rank has a stream to the runner (its descriptor JR_PMI_FD, which PMI_FD names), over which
 * MPI_Init asks for its world and exchanges addresses: see wireup/pmi_server.h for what is said,
 * and for who may say it. What a rank has sent when it ends is still read.
 *
 * With PMIx a process beside the runner is the manager (wireup/pmix_server.h), and tells what ranks
 * do. If it dies, the run ends with it.
 *
 * On several nodes each has a manager, and these exchange what their ranks have told
 * (wireup/exchange.h) through the controller: by PMI-1 at each barrier, which opens once all
 * ranks of all nodes are in it.
 *
 * What is learned by it:
 *
 * - MPI_Abort(comm, 3) is the rank's failure with that code, at the moment it
 *   says so, and the run is stopped, the rank with it: MPICH waits for that. An
 *   error within MPI comes in the same way with a number of MPI's own; it is
 *   the rank's failure too, and no user's MPI_Abort.
 * - A rank that ends with 0 between MPI_Init and MPI_Finalize has failed, and
 *   so has one that ends with 0 without MPI_Init, once another rank has called
 *   it, before or afterwards: the others would wait for it for ever. What
 *   jobrun stops may end as it likes.
 * - A rank that breaks the protocol has failed.
 * - Once a rank has initialized, the failure of one that has not finalized ends
 *   the run under `on_failure: continue` as well, and jobrun says so: the
 * others would wait for it for ever, in MPI_Finalize at the latest. Who fails
 * before any rank has initialized, or after MPI_Finalize, fails alone there.
 * - Where no rank initializes, each may have been a world of its own; the judge
 *   decides about that.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strv.h"
#include "plan/node_ranks.h"
#include "run/internal.h"
#include "spawn/control.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define READY_NS (UINT64_C(30) * 1000000000) /* for the server of PMIx to be ready */
#define BARRIER  "all"                       /* the group of ranks */

enum { WORLD_NAME = 128, READ_AT_ONCE = 64 << 10 }; /* bytes */

/* The ranks would wait for ever. */
#define EXCHANGE_LOST                                                                              \
    "what the process managers of the ranks exchange between nodes could not "                     \
    "be read, or there was no memory for it"

/* What is learned of ranks, whichever manager tells it. */

/* Warn of a rank on the console: `what` follows its number. */
static void warn_of_mpi(struct jr_rank_run *rank, const char *what)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "jobrun: warning: rank %u %s\n", rank->plan->rank, what);
    if (!text.failed)
        jr_console_writer_write(&rank->runner->console, 1, text.data, text.len);
}

/* Whether a rank has initialized, here or on another node. */
static bool has_world_begun(const struct jr_mpi_world *world)
{
    return world->initialized > 0 || world->others;
}

bool jr_mpi_world_needs(const struct jr_rank_run *rank)
{
    return has_world_begun(&rank->runner->mpi_world) && rank->outcome->mpi != JR_MPI_PART_FINALIZED;
}

void jr_mpi_world_tell_end(struct jr_rank_run *rank)
{
    struct jr_mpi_world *world = &rank->runner->mpi_world;
    if (rank->runner->plan->policy->on_failure == JR_ON_FAILURE_STOP ||
        jr_stop_has_begun(rank->runner) || world->told)
        return;
    world->told = true;
    warn_of_mpi(rank, "failed in an MPI world, which cannot go on without it: the other "
                      "ranks are stopped, although `on_failure` is `continue`");
}

/* Ranks that ended before any other had initialized: now they have left the others alone. Of those
 * that failed, the others know unless the spec lets them continue. */
static void fail_absent_ranks(struct jr_runner *runner)
{
    bool stops = runner->plan->policy->on_failure == JR_ON_FAILURE_STOP;
    for (uint32_t i = 0; i < runner->next; i++) {
        struct jr_rank_run *rank = &runner->ranks[i];
        struct jr_rank_outcome *outcome = rank->outcome;
        bool well = outcome->end == JR_END_EXITED && outcome->exit_code == 0;
        if (outcome->mpi != JR_MPI_PART_ABSENT || outcome->end == JR_END_NONE || (stops && !well))
            continue;
        if (well)
            outcome->mpi = JR_MPI_PART_LEFT;
        jr_stop_failed(rank);
    }
}

void jr_mpi_world_note_others(struct jr_runner *runner)
{
    bool begins = !has_world_begun(&runner->mpi_world);
    runner->mpi_world.others = true;
    if (begins)
        fail_absent_ranks(runner);
}

static void on_mpi_initialized(void *owner, uint32_t i)
{
    struct jr_runner *runner = owner;
    runner->ranks[i].outcome->mpi = JR_MPI_PART_INITIALIZED;
    if (runner->mpi_world.initialized++ == 0) {
        jr_node_link_report(runner, JR_REPORT_INITIALIZED, 0);
        fail_absent_ranks(runner);
    }
    if (runner->mpi_world.initialized == runner->plan->count)
        JR_TELL(runner, .name = JR_EVENT_MPI_INITIALIZED);
}

static void on_mpi_finalized(void *owner, uint32_t i)
{
    const struct jr_runner *runner = owner;
    runner->ranks[i].outcome->mpi = JR_MPI_PART_FINALIZED;
}

/* A rank fails that may not end by itself: MPICH waits for its process manager to end it. Of one
 * that has been reaped, the end tells what follows. */
static void fail_mpi_rank(struct jr_rank_run *rank, int code)
{
    struct jr_runner *runner = rank->runner;
    jr_first_failure_announced(rank, code);
    if (rank->watch.fd < 0)
        return;
    jr_mpi_world_tell_end(rank);
    jr_stop_begin(runner);
}

static void on_mpi_aborted(void *owner, uint32_t i, int code)
{
    struct jr_runner *runner = owner;
    struct jr_rank_run *rank = &runner->ranks[i];
    struct jr_rank_outcome *outcome = rank->outcome;
    const int exit_code = (int)((unsigned)code & 0xff);
    bool internal = jr_pmi_is_internal(code);
    outcome->mpi = internal ? JR_MPI_PART_FAILED : JR_MPI_PART_ABORTED;
    outcome->mpi_code = code;
    JR_TELL(runner, .name = internal ? JR_EVENT_MPI_FAILED : JR_EVENT_MPI_ABORT,
            .rank = rank->plan->rank, .exit_code = exit_code);
    fail_mpi_rank(rank, exit_code);
}

static void on_mpi_broken(void *owner, uint32_t i, const char *why)
{
    struct jr_runner *runner = owner;
    struct jr_rank_run *rank = &runner->ranks[i];
    char text[128];
    (void)snprintf(text, sizeof text, "broke the protocol of MPI's process manager: %s", why);
    warn_of_mpi(rank, text);
    rank->outcome->mpi = JR_MPI_PART_BROKEN;
    JR_TELL(runner, .name = JR_EVENT_MPI_BROKEN, .rank = rank->plan->rank);
    fail_mpi_rank(rank, 1);
}

/* No rank can go on, for this reason, which the record tells: stop the run. */
static void break_world(struct jr_runner *runner, const char *why)
{
    struct jr_outcome *outcome = runner->outcome;
    if (outcome->start_text[0] == '\0')
        (void)snprintf(outcome->start_text, sizeof outcome->start_text, "%s", why);
    jr_stop_begin(runner);
}

static void on_mpi_spawned(void *owner, uint32_t i)
{
    struct jr_runner *runner = owner;
    struct jr_rank_run *rank = &runner->ranks[i];
    if (!rank->outcome->mpi_spawned)
        warn_of_mpi(rank, "asked MPI for more processes (MPI_Comm_spawn), which "
                          "jobrun does not start: begin with as many ranks as the "
                          "program will need, or start it with mpiexec");
    rank->outcome->mpi_spawned = true;
    JR_TELL(runner, .name = JR_EVENT_MPI_SPAWN_REFUSED, .rank = rank->plan->rank);
}

/* The name of the world to its process managers, unlike that of any other run, and the same on all
 * nodes. */
static void name_world(char ret[WORLD_NAME], const struct jr_plan *plan)
{
    if (plan->count == plan->world_size)
        (void)snprintf(ret, WORLD_NAME, "jobrun-%d-%u", (int)getpid(), plan->attempt);
    else
        (void)snprintf(ret, WORLD_NAME, "jobrun-%u-%u-%.64s", plan->master_port, plan->attempt,
                       plan->run_id);
}

/* The first rank of each of *ret_nodes nodes, and one more. Where one jobrun has all ranks they are
 * as of one node. To be freed; NULL without memory. */
static uint32_t *find_first_ranks(const struct jr_plan *plan, uint32_t *ret_nodes)
{
    *ret_nodes = plan->count < plan->world_size ? plan->nodes : 1;
    if (*ret_nodes > 1)
        return jr_node_ranks_first(plan);
    uint32_t *first = calloc(2, sizeof *first);
    if (first != NULL)
        first[1] = plan->world_size;
    return first;
}

/* PMI-1: the stream to the managers of other nodes carries frames of wireup/exchange.h. Neither end
 * blocks, and what there is no room for waits. */

static void end_exchange(struct jr_mpi_world *world)
{
    if (world->exchange.watch.fd >= 0)
        jr_loop_remove(&world->runner->loop, &world->exchange.watch);
    jr_loop_close(&world->exchange.watch);
}

/* Nothing more will come: the other end is closed, what came is no frame, or there was no
 * memory. */
static void break_exchange(struct jr_mpi_world *world)
{
    end_exchange(world);
    break_world(world->runner, EXCHANGE_LOST);
}

static void flush_exchange(struct jr_mpi_world *world)
{
    struct jr_mpi_exchange *exchange = &world->exchange;
    struct jr_buf *out = &exchange->out;
    while (exchange->watch.fd >= 0 && exchange->sent < out->len) {
        ssize_t len = send(exchange->watch.fd, out->data + exchange->sent,
                           out->len - exchange->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (len < 0 && errno == EAGAIN)
            break;
        if (len < 0 && errno != EINTR)
            break_exchange(world);
        else if (len > 0)
            exchange->sent += (size_t)len;
    }
    if (exchange->sent == out->len) {
        jr_buf_clear(out);
        exchange->sent = 0;
    }
    bool full = out->len > 0;
    if (exchange->watch.fd < 0 || exchange->full == full)
        return;
    exchange->full = full;
    if (jr_loop_change(&world->runner->loop, &exchange->watch,
                       full ? EPOLLIN | EPOLLOUT : EPOLLIN) != 0)
        break_exchange(world);
}

/* All ranks here are in the barrier. */
static void on_mpi_barrier(void *owner)
{
    struct jr_runner *runner = owner;
    struct jr_mpi_world *world = &runner->mpi_world;
    JR_BUF_CLEANUP struct jr_buf fresh = JR_BUF_INIT;
    if (!world->exchange.far) { /* and so all that there are */
        jr_pmi_open_barrier(&world->pmi);
        world->opened = true;
        return;
    }
    jr_pmi_take_fresh(&world->pmi, &fresh);
    if (fresh.failed) {
        break_world(runner, EXCHANGE_LOST);
        return;
    }
    if (world->exchange.watch.fd < 0)
        return;
    jr_exchange_put(&world->exchange.out, &(struct jr_exchange_frame){.kind = JR_EXCHANGE_FENCE,
                                                                      .group = BARRIER,
                                                                      .data = fresh.data,
                                                                      .len = fresh.len});
    if (world->exchange.out.failed)
        break_exchange(world);
    else
        flush_exchange(world);
}

/* A rank's stream: what is to be sent goes first, and a rank that does not read is not read
 * from. */
static void send_mpi_replies(struct jr_mpi_world *world, uint32_t i)
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
    bool full = left > 0;
    if (stream->full == full)
        return;
    stream->full = full;
    if (jr_loop_change(&world->runner->loop, &stream->watch, full ? EPOLLOUT : EPOLLIN) != 0)
        jr_loop_close(&stream->watch);
}

/* All ranks of all nodes are in the barrier; there is no other fence in PMI-1, and what is of
 * another kind is for others. */
static void take_exchanged(struct jr_mpi_world *world, const struct jr_exchange_frame *frame)
{
    if (frame->kind != JR_EXCHANGE_FENCE || strcmp(frame->group, BARRIER) != 0)
        return;
    if (!jr_pmi_take_all(&world->pmi, frame->data, frame->len)) {
        break_world(world->runner, EXCHANGE_LOST);
        return;
    }
    jr_pmi_open_barrier(&world->pmi);
    for (uint32_t i = 0; i < world->runner->next; i++)
        send_mpi_replies(world, i);
}

static void on_exchange_ready(void *owner, uint32_t events)
{
    struct jr_mpi_world *world = owner;
    struct jr_mpi_exchange *exchange = &world->exchange;
    struct jr_exchange_frame frame;
    enum jr_exchange_result result;
    char bytes[READ_AT_ONCE];
    if ((events & EPOLLOUT) != 0)
        flush_exchange(world);
    if (exchange->watch.fd < 0 || (events & ~(uint32_t)EPOLLOUT) == 0)
        return;
    ssize_t len = recv(exchange->watch.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0) { /* the agent's end is open as long as it takes part */
        break_exchange(world);
        return;
    }
    jr_inlet_add(&exchange->inlet, bytes, (size_t)len);
    while ((result = jr_exchange_next(&exchange->inlet, &frame)) == JR_EXCHANGE_TAKEN)
        take_exchanged(world, &frame);
    if (result == JR_EXCHANGE_BROKEN)
        break_exchange(world);
}

/* Take what one process wrote, and answer it, or all if that opened the barrier. Returns how many
 * bytes there were. */
static size_t read_mpi_requests(struct jr_mpi_stream *stream)
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
    bool all = world->opened;
    world->opened = false;
    send_mpi_replies(world, i);
    for (uint32_t other = 0; all && other < world->runner->next; other++)
        if (other != i)
            send_mpi_replies(world, other);
    if (pmi->clients[i].state == JR_PMI_BROKEN)
        jr_loop_close(&stream->watch);
    return status.len;
}

static void on_mpi_stream(void *owner, uint32_t events)
{
    struct jr_mpi_stream *stream = owner;
    struct jr_mpi_world *world = stream->world;
    if (stream->full)
        send_mpi_replies(world, (uint32_t)(stream - world->streams));
    else if ((events & EPOLLIN) != 0)
        (void)read_mpi_requests(stream);
    else
        jr_loop_close(&stream->watch);
}

int jr_mpi_world_add(struct jr_rank_run *rank, int fd)
{
    struct jr_runner *runner = rank->runner;
    if (fd < 0)
        return 0;
    struct jr_mpi_stream *stream = &runner->mpi_world.streams[rank - runner->ranks];
    stream->watch = (struct jr_watch){.fd = fd, .ready = on_mpi_stream, .owner = stream};
    return jr_loop_add(&runner->loop, &stream->watch, EPOLLIN);
}

/* Begin to serve the ranks: 0, or -1 with errno. */
static int open_pmi1(struct jr_mpi_world *world)
{
    struct jr_runner *runner = world->runner;
    const struct jr_plan *plan = runner->plan;
    const struct jr_pmi_hooks hooks = {
        .owner = runner,
        .initialized = on_mpi_initialized,
        .finalized = on_mpi_finalized,
        .aborted = on_mpi_aborted,
        .broken = on_mpi_broken,
        .spawned = on_mpi_spawned,
        .barrier = on_mpi_barrier,
    };
    char name[WORLD_NAME];
    uint32_t nodes;
    JR_FREE uint32_t *first = find_first_ranks(plan, &nodes);
    name_world(name, plan);
    world->streams = calloc((size_t)plan->count + 1, sizeof *world->streams);
    if (world->streams == NULL ||
        jr_pmi_open(&world->pmi, &hooks, plan->count, plan->world_size, name) != 0 ||
        first == NULL || jr_pmi_map(&world->pmi, nodes, first) != 0)
        return -1;
    for (uint32_t i = 0; i < plan->count; i++)
        world->streams[i] = (struct jr_mpi_stream){.watch = {.fd = -1}, .world = world};
    int fd = jr_node_link_take_exchange(runner);
    world->exchange.far = fd >= 0;
    if (fd < 0)
        return 0;
    world->exchange.watch = (struct jr_watch){.fd = fd, .ready = on_exchange_ready, .owner = world};
    return jr_loop_add(&runner->loop, &world->exchange.watch, EPOLLIN);
}

/* Its last words may not have been read yet; what processes that it left behind add from now on is
 * not waited for. */
static void end_mpi_stream(struct jr_mpi_stream *stream)
{
    size_t left = stream->watch.fd < 0 ? 0 : jr_control_waiting(stream->watch.fd);
    while (stream->watch.fd >= 0 && left > 0) {
        size_t len = read_mpi_requests(stream);
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
    warn_of_mpi(rank, "was ended by SIGPIPE after MPI_Finalize: a second program of "
                      "MPICH in the same rank finds no world, for the first has "
                      "closed the way to it; run each by a jobrun of its own");
}

/* PMIx: its server is a process beside the runner, which tells what ranks do. */

static void take_pmix_event(struct jr_runner *runner, const struct jr_pmix_event *event)
{
    uint32_t i = event->rank - runner->plan->first;
    if (i >= runner->plan->count)
        return;
    switch (event->kind) {
    case JR_PMIX_CONNECTED:
        on_mpi_initialized(runner, i);
        break;
    case JR_PMIX_FINISHED:
        on_mpi_finalized(runner, i);
        break;
    case JR_PMIX_ABORTED:
        on_mpi_aborted(runner, i, event->code);
        break;
    case JR_PMIX_SPAWNED:
        on_mpi_spawned(runner, i);
        break;
    case JR_PMIX_READY:
    case JR_PMIX_REFUSED:
        break;
    }
}

static void stop_watching_server(struct jr_mpi_world *world)
{
    if (world->events.fd >= 0)
        jr_loop_remove(&world->runner->loop, &world->events);
    world->events.fd = -1;
    world->ready.at = 0;
}

/* No rank can start without it. */
static void fail_server_start(struct jr_mpi_world *world, const char *why)
{
    stop_watching_server(world);
    jr_launch_fail(world->runner, JR_STAGE_PMIX, 0, why);
}

static void on_ready_timeout(void *owner)
{
    fail_server_start(owner, "it did not become ready within 30 s");
}

/* Take all that it has told so far. */
static void read_pmix(struct jr_mpi_world *world)
{
    struct jr_runner *runner = world->runner;
    struct jr_pmix_event event;
    bool ended = false;
    char why[160];
    if (world->events.fd < 0 || world->pmix.pid <= 0 || world->starting)
        return;
    while (jr_pmix_next(&world->pmix, &event, &ended))
        take_pmix_event(runner, &event);
    if (!ended)
        return;
    stop_watching_server(world);
    (void)snprintf(why, sizeof why,
                   "the PMIx server of the ranks (the process jobrun-pmix, pid "
                   "%d) has died, and no rank can go on without it",
                   (int)world->pmix.pid);
    break_world(runner, why);
}

static void on_pmix_event(void *owner, uint32_t events)
{
    struct jr_mpi_world *world = owner;
    struct jr_error err = {0};
    (void)events;
    if (!world->starting) {
        read_pmix(world);
        return;
    }
    /* What it says first: it serves, or why it does not. */
    int result = jr_pmix_take_start(&world->pmix, &err);
    if (result < 0)
        fail_server_start(world, err.text);
    if (result != 0)
        return;
    world->ready.at = 0;
    world->runner->starter.more = world->pmix.env.items;
    world->starting = false;
}

/* Begin to start the server, for which the ranks wait: it may have to load its library from a slow
 * disk. If it comes to nothing, the first rank is told to have failed to start. Returns 0, or -1
 * with why in the run's error. */
static int open_pmix(struct jr_mpi_world *world)
{
    struct jr_runner *runner = world->runner;
    const struct jr_plan *plan = runner->plan;
    struct jr_arena arena = JR_ARENA_INIT;
    JR_CLOSE int exchange_fd = jr_node_link_take_exchange(runner);
    static const char *const foreign[] = {"PMI_*", "PMIX_*", "OMPI_*", "PRTE_*"};
    struct jr_strv env = {0}, hosts = {0};
    struct utsname here;
    char name[WORLD_NAME];
    uint32_t nodes;
    JR_FREE uint32_t *first = find_first_ranks(plan, &nodes);
    name_world(name, plan);
    if (first == NULL)
        return -1;
    /* What the library sees: jobrun's environment without other launchers' words, and the module
     * that keeps what ranks ask in its own memory, not in files. */
    jr_strv_copy(&env, &arena, environ);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        jr_env_unset(&env, foreign[i]);
    jr_strv_push(&env, &arena, jr_arena_strdup(&arena, "PMIX_MCA_gds=hash"));
    /* What nodes are called: it tells them apart by that. */
    if (nodes == 1)
        jr_strv_push(&hosts, &arena,
                     jr_arena_strdup(&arena, uname(&here) == 0 ? here.nodename : "node0"));
    for (uint32_t node = 0; nodes > 1 && node < nodes; node++)
        jr_strv_push(&hosts, &arena,
                     plan->hosts != NULL && plan->hosts[node] != NULL
                         ? jr_arena_strdup(&arena, plan->hosts[node])
                         : jr_arena_printf(&arena, "node%u", node));
    const struct jr_pmix_setup setup = {
        .library = plan->mpi.server,
        .name = name,
        /* where the library may put files: each node has its own */
        .folder = nodes == 1 ? plan->own_dir
                             : jr_arena_printf(&arena, "%s/" JR_NODE_DIR "/attempt_%u",
                                               plan->run_dir, plan->node_rank, plan->attempt),
        .env = env.items,
        .hosts = hosts.items,
        .nodes = nodes,
        .node = nodes == 1 ? 0 : plan->node_rank,
        .first = first,
        .exchange_fd = exchange_fd};
    bool failed = arena.failed || jr_pmix_start(&world->pmix, &setup, &runner->shared->error) != 0;
    jr_arena_release(&arena);
    if (failed)
        return -1;
    world->starting = true;
    world->ready = (struct jr_timer){
        .at = jr_clock_ns() + READY_NS, .due = on_ready_timeout, .owner = world, .pauses = true};
    jr_loop_timer(&runner->loop, &world->ready);
    world->events = (struct jr_watch){.fd = world->pmix.fd, .ready = on_pmix_event, .owner = world};
    return jr_loop_add(&runner->loop, &world->events, EPOLLIN);
}

/* The policy. */

bool jr_mpi_world_is_ready(const struct jr_runner *runner)
{
    return !runner->mpi_world.starting;
}

static int open_mpi_world(struct jr_runner *runner)
{
    struct jr_mpi_world *world = &runner->mpi_world;
    enum jr_mpi_protocol protocol = runner->plan->mpi.protocol;
    bool pmi1 = protocol == JR_MPI_PROTOCOL_PMI1;
    world->runner = runner;
    world->pmix.fd = world->events.fd = world->exchange.watch.fd = -1;
    if (!pmi1 && protocol != JR_MPI_PROTOCOL_PMIX)
        return 0;
    for (uint32_t i = 0; i < runner->plan->count; i++)
        runner->ranks[i].outcome->mpi = JR_MPI_PART_ABSENT;
    return pmi1 ? open_pmi1(world) : open_pmix(world);
}

static void settle_mpi_end(struct jr_rank_run *rank)
{
    struct jr_mpi_world *world = &rank->runner->mpi_world;
    struct jr_rank_outcome *outcome = rank->outcome;
    if (world->streams != NULL) {
        end_mpi_stream(&world->streams[rank - rank->runner->ranks]);
        explain_second_program(world, rank);
    } else {
        read_pmix(world);
    }
    if (outcome->mpi == JR_MPI_PART_ABSENT && outcome->end == JR_END_EXITED &&
        outcome->exit_code == 0 && has_world_begun(world))
        outcome->mpi = JR_MPI_PART_LEFT;
}

static void close_mpi_world(struct jr_runner *runner)
{
    struct jr_mpi_world *world = &runner->mpi_world;
    if (world->streams != NULL)
        jr_pmi_release(&world->pmi);
    end_exchange(world);
    jr_inlet_release(&world->exchange.inlet);
    jr_buf_release(&world->exchange.out);
    free(world->streams);
    world->streams = NULL;
    stop_watching_server(world);
    if (world->pmix.fd >= 0)
        jr_pmix_end(&world->pmix);
}

const struct jr_runner_policy jr_mpi_world_policy = {
    .name = "mpi_world",
    .open = open_mpi_world,
    .rank_ended = settle_mpi_end,
    .close = close_mpi_world,
};
