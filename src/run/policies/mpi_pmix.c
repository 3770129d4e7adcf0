#include "run/policies/mpi_pmix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strv.h"
#include "run/runner.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define READY_NS (UINT64_C(30) * 1000000000) /* for the server to be ready */

static void take_pmix_event(struct jr_runner *runner, const struct jr_pmix_event *event)
{
    uint32_t i = event->rank - runner->plan->first;
    if (i >= runner->plan->count)
        return;
    switch (event->kind) {
    case JR_PMIX_CONNECTED:
        jr_mpi_world_initialized(runner, i);
        break;
    case JR_PMIX_FINISHED:
        jr_mpi_world_finalized(runner, i);
        break;
    case JR_PMIX_ABORTED:
        jr_mpi_world_aborted(runner, i, event->code);
        break;
    case JR_PMIX_SPAWNED:
        jr_mpi_world_spawned(runner, i);
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

/* What it says first: it serves, or why it does not. */
static void take_server_start(struct jr_mpi_world *world)
{
    struct jr_error err = {0};
    int result = jr_pmix_take_start(&world->pmix, &err);
    if (result > 0)
        return;
    if (result < 0) {
        fail_server_start(world, err.text);
        return;
    }
    world->ready.at = 0;
    world->runner->starter.more = world->pmix.env.items;
    world->starting = false;
}

static void on_ready_timeout(void *owner)
{
    fail_server_start(owner, "it did not become ready within 30 s");
}

void jr_mpi_pmix_read(struct jr_mpi_world *world)
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
    jr_mpi_world_break(runner, why);
}

static void on_pmix_event(void *owner, uint32_t events)
{
    struct jr_mpi_world *world = owner;
    (void)events;
    if (world->starting)
        take_server_start(world);
    else
        jr_mpi_pmix_read(world);
}

/* What the library sees: jobrun's environment without other launchers' words, and the module that
 * keeps what ranks ask in its own memory, not in files. */
static char **make_library_env(struct jr_arena *arena)
{
    static const char *const foreign[] = {"PMI_*", "PMIX_*", "OMPI_*", "PRTE_*"};
    struct jr_strv env = {0};
    jr_strv_copy(&env, arena, environ);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        jr_env_unset(&env, foreign[i]);
    jr_strv_push(&env, arena, jr_arena_strdup(arena, "PMIX_MCA_gds=hash"));
    return env.items;
}

/* The folder where the library may put files: each node has its own. */
static const char *make_library_folder(const struct jr_plan *plan, uint32_t nodes,
                                       struct jr_arena *arena)
{
    return nodes == 1 ? plan->own_dir
                      : jr_arena_printf(arena, "%s/" JR_NODE_DIR "/attempt_%u", plan->run_dir,
                                        plan->node_rank, plan->attempt);
}

/* What nodes are called: the library tells them apart by it. */
static char **name_nodes(const struct jr_plan *plan, uint32_t nodes, struct jr_arena *arena)
{
    struct jr_strv names = {0};
    struct utsname here;
    bool named = plan->hosts != NULL;
    if (nodes == 1)
        jr_strv_push(&names, arena,
                     jr_arena_strdup(arena, uname(&here) == 0 ? here.nodename : "node0"));
    for (uint32_t node = 0; nodes > 1 && node < nodes; node++)
        jr_strv_push(&names, arena,
                     named && plan->hosts[node] != NULL ? jr_arena_strdup(arena, plan->hosts[node])
                                                        : jr_arena_printf(arena, "node%u", node));
    return names.items;
}

/* Fill all but `first`, which decides over `nodes`. */
static int start_server(struct jr_mpi_world *world, const uint32_t *first, uint32_t nodes,
                        int exchange_fd)
{
    struct jr_runner *runner = world->runner;
    const struct jr_plan *plan = runner->plan;
    struct jr_arena arena = JR_ARENA_INIT;
    char name[JR_MPI_NAME];
    jr_mpi_world_name(name, plan);
    const struct jr_pmix_setup setup = {.library = plan->mpi.server,
                                        .name = name,
                                        .folder = make_library_folder(plan, nodes, &arena),
                                        .env = make_library_env(&arena),
                                        .hosts = name_nodes(plan, nodes, &arena),
                                        .nodes = nodes,
                                        .node = nodes == 1 ? 0 : plan->node_rank,
                                        .first = first,
                                        .exchange_fd = exchange_fd};
    int failed = arena.failed ? -1 : jr_pmix_start(&world->pmix, &setup, &runner->shared->error);
    jr_arena_release(&arena);
    return failed;
}

int jr_mpi_pmix_open(struct jr_mpi_world *world)
{
    struct jr_runner *runner = world->runner;
    JR_CLOSE int exchange_fd = jr_commands_take_exchange(runner);
    uint32_t nodes;
    uint32_t *first = jr_mpi_world_first(runner->plan, &nodes);
    int failed = first == NULL ? -1 : start_server(world, first, nodes, exchange_fd);
    free(first);
    if (failed != 0)
        return -1;
    world->starting = true;
    world->ready = (struct jr_timer){
        .at = jr_clock_ns() + READY_NS, .due = on_ready_timeout, .owner = world, .pauses = true};
    jr_loop_timer(&runner->loop, &world->ready);
    world->events = (struct jr_watch){.fd = world->pmix.fd, .ready = on_pmix_event, .owner = world};
    return jr_loop_add(&runner->loop, &world->events, EPOLLIN);
}

void jr_mpi_pmix_close(struct jr_mpi_world *world)
{
    stop_watching_server(world);
    if (world->pmix.fd >= 0)
        jr_pmix_end(&world->pmix);
}
