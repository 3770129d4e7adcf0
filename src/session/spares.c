#include "session/spares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strv.h"
#include "cluster/controller.h"
#include "cluster/placing.h"
#include "cluster/transport.h"
#include "eventloop/signals.h"
#include "session/multinode_session.h"
#include "session/node_facts.h"
#include "session/session.h"
#include "session/stages.h"

#include "base/banned.h"

struct jr_spares {
    struct jr_placing placing;
    struct jr_controller_options options; /* of the first controller */
    uint32_t *known_as;                   /* of each machine: what the controller calls it */
    int stop_fd;                          /* readable once the run is to stop; 0, -1: not yet */
};

/* Tasks of srun get no message that says which node they have: it begins each on the next node of
 * the allocation. */
static void tell_places(struct jr_session *session, const uint32_t *tasks,
                        struct jr_controller_options *options)
{
    struct jr_arena *arena = &session->arena;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_strv env = {0};
    jr_strv_copy(&env, arena, options->envp);
    jr_buf_str(&text, JR_AGENT_PLACES "=");
    for (uint32_t task = 0; task < options->nodes; task++)
        for (uint32_t node = 0; node < options->nodes; node++)
            if (tasks[node] == task)
                jr_buf_printf(&text, "%s%u", task == 0 ? "" : ",", node);
    jr_env_unset(&env, JR_AGENT_PLACES);
    jr_strv_push(&env, arena, jr_buf_keep(&text, arena));
    options->envp = env.items;
    options->tasks = tasks;
}

/* The options of a controller of the nodes as they are placed now. */
static struct jr_controller_options place_options(struct jr_session *session)
{
    const struct jr_spares *spares = session->spares;
    const struct jr_placing *placing = &spares->placing;
    struct jr_arena *arena = &session->arena;
    struct jr_controller_options options = spares->options;
    uint32_t *tasks = jr_arena_array(arena, placing->nodes, sizeof *tasks);
    options.spares = placing->spares;
    options.hosts = placing->hosts;
    options.only_hosts = true;
    options.stop_fd = spares->stop_fd;
    options.again = session->begun;
    for (uint32_t i = 0; tasks != NULL && i < placing->nodes; i++)
        tasks[i] = jr_placing_task(placing, i);
    if (!options.transport->each && tasks != NULL)
        tell_places(session, tasks, &options);
    return options;
}

/* Rank 0 is where the ranks meet; where the spec says where that is, no other machine can be it. */
static bool is_pinned(const struct jr_session *session, uint32_t node)
{
    const struct jr_spec *spec = jr_spec_get(session->file);
    return node == 0 &&
           (spec->master_addr != NULL ||
            (spec->init_method != NULL && strncmp(spec->init_method, "tcp:", strlen("tcp:")) == 0));
}

/* Whether an attempt has lost a node without its agent, as in a rehearsal. */
static bool has_lost_ranks(const struct jr_session *session, uint32_t node)
{
    const struct jr_outcome *outcome = &session->outcome;
    bool lost = false;
    for (uint32_t i = 0; i < outcome->count; i++)
        lost = lost ||
               (session->plan.ranks[i].node_rank == node && outcome->ranks[i].end == JR_END_LOST);
    return lost;
}

/* Why a machine is to be left out; NULL: it is not. A node that refuses what it is to do is a
 * mistake of the user's, unless it was a spare. */
static const char *find_loss(const struct jr_session *session, uint32_t index)
{
    const struct jr_placing *placing = &session->spares->placing;
    bool refused;
    if (session->controller == NULL)
        return NULL;
    const char *why = jr_controller_loss(
        session->controller, session->spares->known_as[placing->machines[index]], &refused);
    return refused && placing->machines[index] < placing->nodes ? NULL : why;
}

/* Spares that are lost; they are not needed, and were told of. The last come first, so that no
 * index moves. */
static void leave_out_spares(struct jr_session *session)
{
    struct jr_placing *placing = &session->spares->placing;
    if (!session->spares->options.transport->each)
        return;
    for (uint32_t i = placing->nodes + placing->spares; i-- > placing->nodes;) {
        const char *why = find_loss(session, i);
        if (why != NULL)
            (void)jr_placing_leave_out(placing, i, why);
    }
}

/* "n5 takes the place of node 1 (n2): ssh ended with ..." */
static void tell_replacement(const struct jr_session *session, uint32_t node, const char *before,
                             const char *why)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&line, "the spare ");
    jr_buf_safe(&line, session->spares->placing.hosts[node]);
    jr_buf_printf(&line, " takes the place of node %u (", node);
    jr_buf_safe(&line, before);
    jr_buf_str(&line, "): ");
    jr_buf_safe(&line, why);
    jr_session_note_buf(session, &line);
}

static int refuse_pinned(const struct jr_session *session, const char *why, struct jr_error *err)
{
    const char *host = session->spares->placing.hosts[0];
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "the spec states that the ranks meet on node 0 (%s), "
                        "and no spare can be that: %s",
                        host, why);
}

/* The losses of an attempt, or of a start; each NULL: none. */
static uint32_t find_losses(const struct jr_session *session, const char **losses, bool ran)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->spares->placing.nodes; i++) {
        losses[i] = find_loss(session, i);
        if (losses[i] == NULL && ran && has_lost_ranks(session, i))
            losses[i] = "it is lost in this rehearsal";
        count += losses[i] != NULL;
    }
    return count;
}

/* Put spares in the places of nodes that are lost. -1 where there are too few, or where no node is
 * lost; `err` then stays what it was, unless it says why another place will not do. */
static int replace_nodes(struct jr_session *session, bool ran, struct jr_error *err)
{
    struct jr_placing *placing = &session->spares->placing;
    const char **losses = jr_arena_array(&session->arena, placing->nodes, sizeof *losses);
    leave_out_spares(session);
    uint32_t count = losses == NULL ? 0 : find_losses(session, losses, ran);
    if (count == 0 || count > placing->spares)
        return -1;
    if (losses[0] != NULL && is_pinned(session, 0))
        return refuse_pinned(session, losses[0], err);
    for (uint32_t i = 0; i < placing->nodes; i++) {
        const char *before = placing->hosts[i];
        if (losses[i] == NULL)
            continue;
        if (jr_placing_leave_out(placing, i, losses[i]) != 0)
            return -1;
        tell_replacement(session, i, before, losses[i]);
    }
    return 0;
}

static void close_agents(struct jr_session *session)
{
    if (session->controller != NULL)
        jr_controller_forsake(session->controller);
    jr_controller_close(session->controller);
    session->controller = NULL;
}

/* Agents on all nodes; the controller stays where that is not possible. */
static int open_agents(struct jr_session *session, struct jr_error *err)
{
    const struct jr_placing *placing = &session->spares->placing;
    for (;;) {
        const struct jr_controller_options options = place_options(session);
        for (uint32_t i = 0; i < placing->nodes + placing->spares; i++)
            session->spares->known_as[placing->machines[i]] = i;
        if (session->arena.failed)
            return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
        if (jr_controller_start(&session->controller, &options, err) != 0)
            return -1;
        if (jr_controller_meet(session->controller, err) == 0)
            return 0;
        if (replace_nodes(session, false, err) != 0)
            return -1;
        close_agents(session);
    }
}

int jr_spares_connect(struct jr_session *session, const struct jr_controller_options *options,
                      struct jr_error *err)
{
    if (options->spares == 0 || options->hosts == NULL)
        return jr_controller_open(&session->controller, options, err);
    struct jr_spares *spares = calloc(1, sizeof *spares);
    session->spares = spares;
    if (spares == NULL || jr_placing_make(&spares->placing, &session->arena, options->hosts,
                                          options->nodes, options->spares) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    spares->known_as =
        jr_arena_array(&session->arena, options->nodes + options->spares, sizeof *spares->known_as);
    if (spares->known_as == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    spares->options = *options;
    return open_agents(session, err);
}

/* The hosts of the job: under Slurm, the spec may have other addresses for the machines than the
 * allocation. NULL without memory. */
static char **place_hosts(struct jr_session *session)
{
    const struct jr_placing *placing = &session->spares->placing;
    const struct jr_spec *spec = jr_spec_get(session->file);
    uint32_t count = placing->nodes + placing->spares;
    char **hosts = jr_arena_array(&session->arena, count, sizeof *hosts);
    for (uint32_t i = 0; hosts != NULL && i < count; i++)
        hosts[i] = spec->hosts_count > 0 ? spec->hosts[placing->machines[i]] : placing->hosts[i];
    return hosts;
}

int jr_spares_place(struct jr_session *session, struct jr_error *err)
{
    const struct jr_spec *spec = jr_spec_get(session->file);
    if (session->spares == NULL)
        return 0;
    char **hosts = place_hosts(session);
    if (hosts == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    jr_resolution_place(&session->resolution, hosts, session->spares->placing.spares,
                        spec->master_addr == NULL);
    return 0;
}

/* The job as it was resolved, on the nodes as they are placed now. */
static int place_job(struct jr_session *session, struct jr_error *err)
{
    const struct jr_spec *spec = jr_spec_get(session->file);
    if (jr_session_join_nodes(session, session->spares->placing.nodes, err) != 0 ||
        jr_spares_place(session, err) != 0)
        return -1;
    uint32_t port = jr_controller_node(session->controller, 0).port;
    if (spec->master_port == NULL && port != 0)
        jr_resolution_set_port(&session->resolution, port);
    return jr_session_send_spec(session, err) == JR_STATUS_OK ? 0 : -1;
}

/* New agents, until all have taken the spec. */
static int start_again(struct jr_session *session, struct jr_error *err)
{
    for (;;) {
        close_agents(session);
        if (open_agents(session, err) != 0)
            return -1;
        if (place_job(session, err) == 0)
            return 0;
        if (replace_nodes(session, false, err) != 0)
            return -1;
    }
}

int jr_spares_settle(struct jr_session *session, struct jr_error *err)
{
    if (session->spares == NULL || replace_nodes(session, false, err) != 0)
        return -1;
    return start_again(session, err);
}

bool jr_spares_are_wanted(const struct jr_session *session)
{
    bool lost = false;
    for (uint32_t i = 0; session->spares != NULL && i < session->spares->placing.nodes; i++)
        lost = lost || find_loss(session, i) != NULL || has_lost_ranks(session, i);
    return lost;
}

/* A spare that has failed, after which there is none. */
static int refuse_last_spare(const struct jr_session *session, struct jr_error *err)
{
    const struct jr_placing *placing = &session->spares->placing;
    char text[sizeof err->text];
    bool lost = false;
    for (uint32_t i = 0; i < placing->nodes && placing->spares == 0; i++)
        lost = lost || find_loss(session, i) != NULL;
    if (!lost)
        return -1;
    (void)snprintf(text, sizeof text, "%s", err->text);
    return jr_error_set(err, err->status, "%s, and no spare is left for it", text);
}

int jr_spares_replace(struct jr_session *session, struct jr_error *err)
{
    struct jr_spares *spares = session->spares;
    if (spares->stop_fd <= 0) /* between attempts they are blocked */
        spares->stop_fd = jr_signals_open_stops(session->plan.policy);
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "a node was lost, and no spare is left for it");
    if (replace_nodes(session, true, err) != 0)
        return -1;
    if (start_again(session, err) == 0)
        return 0;
    jr_spares_report(session); /* the last attempt decides, with these */
    return refuse_last_spare(session, err);
}

void jr_spares_list(const struct jr_session *session, struct jr_strv *out, struct jr_arena *arena)
{
    const struct jr_spares *spares = session->spares;
    if (spares == NULL)
        return;
    const struct jr_placing *placing = &spares->placing;
    for (uint32_t i = 0; i < placing->spares; i++)
        jr_strv_push(out, arena, jr_arena_strdup(arena, placing->hosts[placing->nodes + i]));
    for (size_t i = 0; i < placing->left_out_count; i++)
        jr_strv_push(out, arena, jr_arena_strdup(arena, placing->left_out[i].host));
}

void jr_spares_report(struct jr_session *session)
{
    if (session->spares == NULL)
        return;
    leave_out_spares(session);
    session->report.left_out = session->spares->placing.left_out;
    session->report.left_out_count = session->spares->placing.left_out_count;
}

void jr_spares_release(struct jr_session *session)
{
    if (session->spares != NULL && session->spares->stop_fd > 0)
        (void)close(session->spares->stop_fd);
    free(session->spares);
    session->spares = NULL;
}
