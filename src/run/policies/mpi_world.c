/*
 * The ranks of an MPI program as one world, without a launcher of MPI's.
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
#include "run/policies/mpi_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "plan/node_ranks.h"
#include "run/policies/mpi_pmi1.h"
#include "run/policies/mpi_pmix.h"
#include "run/runner.h"

#include "base/banned.h"

static struct jr_rank_run *find_world_rank(void *owner, uint32_t i)
{
    struct jr_runner *runner = owner;
    return &runner->ranks[i];
}

void jr_mpi_world_warn(struct jr_rank_run *rank, const char *what)
{
    struct jr_runner *runner = rank->runner;
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "jobrun: warning: rank %u %s\n", rank->plan->rank, what);
    if (!text.failed)
        jr_console_writer_write(&runner->console, 1, text.data, text.len);
    jr_buf_release(&text);
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
    jr_mpi_world_warn(rank, "failed in an MPI world, which cannot go on without it: the other "
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

void jr_mpi_world_initialized(void *owner, uint32_t i)
{
    struct jr_runner *runner = owner;
    find_world_rank(runner, i)->outcome->mpi = JR_MPI_PART_INITIALIZED;
    if (runner->mpi_world.initialized++ == 0) {
        jr_commands_report(runner, &(struct jr_report){.name = JR_REPORT_INITIALIZED});
        fail_absent_ranks(runner);
    }
    if (runner->mpi_world.initialized == runner->plan->count)
        jr_events_add(&runner->events, &(struct jr_event){.name = JR_EVENT_MPI_INITIALIZED});
}

void jr_mpi_world_finalized(void *owner, uint32_t i)
{
    find_world_rank(owner, i)->outcome->mpi = JR_MPI_PART_FINALIZED;
}

/* A rank fails that may not end by itself: MPICH waits for its process manager to end it. Of one
 * that has been reaped, the end tells what follows. */
static void fail_rank(struct jr_rank_run *rank, int code)
{
    struct jr_runner *runner = rank->runner;
    jr_first_failure_announced(rank, code);
    if (rank->watch.fd < 0)
        return;
    jr_mpi_world_tell_end(rank);
    jr_stop_begin(runner);
}

void jr_mpi_world_aborted(void *owner, uint32_t i, int code)
{
    struct jr_rank_run *rank = find_world_rank(owner, i);
    struct jr_rank_outcome *outcome = rank->outcome;
    const int exit_code = (int)((unsigned)code & 0xff);
    bool internal = jr_pmi_is_internal(code);
    outcome->mpi = internal ? JR_MPI_PART_FAILED : JR_MPI_PART_ABORTED;
    outcome->mpi_code = code;
    jr_events_add(&rank->runner->events,
                  &(struct jr_event){.name = internal ? JR_EVENT_MPI_FAILED : JR_EVENT_MPI_ABORT,
                                     .rank = rank->plan->rank,
                                     .exit_code = exit_code});
    fail_rank(rank, exit_code);
}

void jr_mpi_world_broken(void *owner, uint32_t i, const char *why)
{
    struct jr_rank_run *rank = find_world_rank(owner, i);
    char text[128];
    (void)snprintf(text, sizeof text, "broke the protocol of MPI's process manager: %s", why);
    jr_mpi_world_warn(rank, text);
    rank->outcome->mpi = JR_MPI_PART_BROKEN;
    jr_events_add(&rank->runner->events,
                  &(struct jr_event){.name = JR_EVENT_MPI_BROKEN, .rank = rank->plan->rank});
    fail_rank(rank, 1);
}

void jr_mpi_world_break(struct jr_runner *runner, const char *why)
{
    struct jr_outcome *outcome = runner->outcome;
    if (outcome->start_text[0] == '\0')
        (void)snprintf(outcome->start_text, sizeof outcome->start_text, "%s", why);
    jr_stop_begin(runner);
}

void jr_mpi_world_synchronized(void *owner)
{
    struct jr_runner *runner = owner;
    jr_mpi_pmi1_barrier(&runner->mpi_world);
}

void jr_mpi_world_spawned(void *owner, uint32_t i)
{
    struct jr_rank_run *rank = find_world_rank(owner, i);
    if (!rank->outcome->mpi_spawned)
        jr_mpi_world_warn(rank, "asked MPI for more processes (MPI_Comm_spawn), which "
                                "jobrun does not start: begin with as many ranks as the "
                                "program will need, or start it with mpiexec");
    rank->outcome->mpi_spawned = true;
    jr_events_add(&rank->runner->events,
                  &(struct jr_event){.name = JR_EVENT_MPI_SPAWN_REFUSED, .rank = rank->plan->rank});
}

int jr_mpi_world_add(struct jr_rank_run *rank, int fd)
{
    struct jr_runner *runner = rank->runner;
    uint32_t i = (uint32_t)(rank - runner->ranks);
    return fd < 0 ? 0 : jr_mpi_pmi1_add(&runner->mpi_world, i, fd);
}

bool jr_mpi_world_is_ready(const struct jr_runner *runner)
{
    return !runner->mpi_world.starting;
}

static void mark_absent(struct jr_runner *runner)
{
    for (uint32_t i = 0; i < runner->plan->count; i++)
        runner->ranks[i].outcome->mpi = JR_MPI_PART_ABSENT;
}

/* Unlike that of any other run, and the same on all nodes. */
void jr_mpi_world_name(char ret[JR_MPI_NAME], const struct jr_plan *plan)
{
    if (plan->count == plan->world_size)
        (void)snprintf(ret, JR_MPI_NAME, "jobrun-%d-%u", (int)getpid(), plan->attempt);
    else
        (void)snprintf(ret, JR_MPI_NAME, "jobrun-%u-%u-%.64s", plan->master_port, plan->attempt,
                       plan->run_id);
}

uint32_t *jr_mpi_world_first(const struct jr_plan *plan, uint32_t *ret_nodes)
{
    *ret_nodes = plan->count < plan->world_size ? plan->nodes : 1;
    if (*ret_nodes > 1)
        return jr_node_ranks_first(plan);
    uint32_t *first = calloc(2, sizeof *first);
    if (first != NULL)
        first[1] = plan->world_size;
    return first;
}

static int open_mpi_world(struct jr_runner *runner)
{
    struct jr_mpi_world *world = &runner->mpi_world;
    world->runner = runner;
    world->pmix.fd = world->events.fd = world->exchange.watch.fd = -1;
    switch (runner->plan->mpi.protocol) {
    case JR_MPI_PROTOCOL_PMI1:
        mark_absent(runner);
        return jr_mpi_pmi1_open(world);
    case JR_MPI_PROTOCOL_PMIX:
        mark_absent(runner);
        return jr_mpi_pmix_open(world);
    case JR_MPI_PROTOCOL_AUTO:
    case JR_MPI_PROTOCOL_NONE:
        break;
    }
    return 0;
}

static void settle_mpi_end(struct jr_rank_run *rank)
{
    struct jr_mpi_world *world = &rank->runner->mpi_world;
    struct jr_rank_outcome *outcome = rank->outcome;
    if (world->streams != NULL)
        jr_mpi_pmi1_end(world, (uint32_t)(rank - rank->runner->ranks));
    else
        jr_mpi_pmix_read(world);
    if (outcome->mpi == JR_MPI_PART_ABSENT && outcome->end == JR_END_EXITED &&
        outcome->exit_code == 0 && has_world_begun(world))
        outcome->mpi = JR_MPI_PART_LEFT;
}

static void close_mpi_world(struct jr_runner *runner)
{
    jr_mpi_pmi1_close(&runner->mpi_world);
    jr_mpi_pmix_close(&runner->mpi_world);
}

const struct jr_runner_policy jr_mpi_world_policy = {
    .name = "mpi_world",
    .open = open_mpi_world,
    .rank_ended = settle_mpi_end,
    .close = close_mpi_world,
};
