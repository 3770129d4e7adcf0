#include "session/sweep/cell_hosts.h"

#include "resolve/resolve.h"
#include "session/multinode_session.h"
#include "session/node_facts.h"
#include "session/session.h"
#include "session/stages.h"
#include "session/sweep/session_cells.h"
#include "sweep/swept_spec.h"

#include "base/banned.h"

void jr_cell_host_alone(struct jr_host *host)
{
    const struct jr_host_scheduler all = host->scheduler;
    host->nodes = 0;
    host->devices_each = host->cpus_each = (struct jr_counts){0};
    host->scheduler = (struct jr_host_scheduler){.name = all.name,
                                                 .job_id = all.job_id,
                                                 .node_rank = -1,
                                                 .restarts = all.restarts,
                                                 .end = all.end,
                                                 .kill_wait = all.kill_wait};
}

/* What agents do not tell, since it is the same for all of a job. */
static void complete_host(struct jr_host *host, const struct jr_session *session)
{
    const struct jr_host *own = &session->host;
    if (session->cells_by_ssh)
        host->scheduler = (struct jr_host_scheduler){.node_rank = -1};
    else
        host->scheduler = own->scheduler;
    host->now = own->now;
    host->environment.backend = own->environment.backend;
    host->environment.omp_num_threads = own->environment.omp_num_threads;
    jr_cell_host_alone(host);
}

static int read_hosts(struct jr_session *session, struct jr_error *err)
{
    uint32_t nodes = session->cell_hosts_count;
    struct jr_host *hosts = jr_arena_array(&session->arena, nodes, sizeof *hosts);
    for (uint32_t i = 0; hosts != NULL && i < nodes; i++) {
        if (jr_session_read_node(session, i, &hosts[i], &session->arena, err) != 0)
            return -1;
        complete_host(&hosts[i], session);
    }
    if (session->arena.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    session->cell_hosts = hosts;
    return 0;
}

/* The spec of the first cell, which says what agents look for. */
static enum jr_status load_first_cell(struct jr_session *session, struct jr_spec_file **ret,
                                      struct jr_error *err)
{
    size_t first = session->diags.count;
    enum jr_status status = JR_STATUS_OK;
    if (jr_swept_spec_load(ret, session->swept, 0, &session->diags) != 0)
        status = jr_spec_status(&session->diags);
    else if (jr_spec_get(*ret) == NULL)
        status = JR_STATUS_INVALID;
    if (*ret != NULL)
        jr_session_keep_cell_file(session, *ret);
    if (status == JR_STATUS_OK) /* warnings are told with the other cells */
        jr_diags_drop_from(&session->diags, first);
    return jr_session_end_stage(session, first, status, err);
}

/* Whether the cells are for `hosts`, which ssh reaches. */
static bool is_for_hosts(const struct jr_session *session)
{
    return session->host.real && !jr_session_is_local_only(session) &&
           jr_spec_states_ssh(session->swept->file);
}

bool jr_cell_hosts_are_led(const struct jr_session *session)
{
    return session->cells_by_ssh || jr_session_leads_allocation(session);
}

enum jr_status jr_cell_hosts_connect(struct jr_session *session, struct jr_error *err)
{
    struct jr_spec_file *file = NULL;
    struct jr_error why = {.status = JR_STATUS_LAUNCH};
    if (session->cell_hosts != NULL || session->swept == NULL || session->swept->cells.count == 0)
        return JR_STATUS_OK;
    session->cells_by_ssh = is_for_hosts(session);
    if (!jr_cell_hosts_are_led(session))
        return JR_STATUS_OK;
    enum jr_status status = load_first_cell(session, &file, err);
    if (status == JR_STATUS_OK)
        status = jr_session_connect_cell_agents(session, file, err);
    if (status != JR_STATUS_OK || read_hosts(session, &why) == 0)
        return status;
    (void)jr_error_set(err, why.status, "%s", why.text);
    return why.status;
}

uint32_t jr_cell_hosts_count(const struct jr_session *session)
{
    const struct jr_host *host = &session->host;
    if (session->cell_hosts != NULL)
        return session->cell_hosts_count;
    return !host->real && host->nodes > 1 ? host->nodes : 1;
}

struct jr_host jr_cell_host(const struct jr_session *session, uint32_t node)
{
    if (session->cell_hosts != NULL)
        return session->cell_hosts[node];
    struct jr_host host = session->host;
    if (!host.real && host.nodes > 1)
        jr_cell_host_alone(&host);
    return host;
}

/* The first of so many nodes, as a run sees it that has them. */
static struct jr_host join_hosts(const struct jr_session *session, uint32_t nodes)
{
    struct jr_host host = session->cell_hosts[0];
    host.scheduler = session->host.scheduler;
    if (session->cells_by_ssh)
        host.scheduler = (struct jr_host_scheduler){.name = "ssh"};
    host.scheduler.step = true;
    host.scheduler.nodes = nodes;
    host.scheduler.node_rank = 0;
    host.scheduler.tasks_here = 1;
    if (host.scheduler.hosts.count > nodes)
        host.scheduler.hosts.count = nodes;
    return host;
}

struct jr_host jr_cell_host_for(const struct jr_session *session, const struct jr_spec_file *file)
{
    const struct jr_host alone = jr_cell_host(session, 0);
    const struct jr_resolve_options options = {.local = session->options.local,
                                               .args = session->options.args};
    uint32_t nodes = jr_resolve_nodes(file, &alone, &options);
    if (nodes <= 1)
        return alone;
    return session->cell_hosts != NULL && nodes <= session->cell_hosts_count
               ? join_hosts(session, nodes)
               : session->host;
}
