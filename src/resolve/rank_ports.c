#include "resolve/rules.h"

#include <errno.h>
#include <unistd.h>

#include "resolve/port_lease.h"

#include "base/banned.h"

enum { LAST_PORT = 65535 };

/* On several nodes, the free ports of other nodes are not known, and all
 * jobruns must choose the same ones. */
static uint32_t fixed_port(const struct jr_resolver *r, uint32_t rank,
                           uint32_t local)
{
    return r->out->job.master_port + 1 + (r->options->local ? rank : local);
}

static bool fill_fixed(struct jr_resolver *r)
{
    struct jr_job *job = &r->out->job;
    uint32_t rank = 0;
    for (uint32_t node = 0; node < job->nodes; node++)
        for (uint32_t i = 0; i < job->local_world_sizes[node]; i++, rank++) {
            job->rank_ports[rank] = fixed_port(r, rank, i);
            if (job->rank_ports[rank] <= LAST_PORT)
                continue;
            struct jr_diag *diag = jr_rules_clash(
                r, JR_CODE_NOT_ENOUGH_PORTS, JR_BIT(JR_MASTER_PORT),
                "the paddle profile gives each rank its own "
                "port, from master_port + 1 on, and the port of "
                "rank %u would be above 65535",
                rank);
            jr_diag_help(r->diags, diag, "state a lower master_port");
            return false;
        }
    return true;
}

static bool check_hosts_known(struct jr_resolver *r)
{
    const struct jr_job *job = &r->out->job;
    if (r->options->local || job->nodes == 1)
        return true;
    for (uint32_t node = 0; node < job->nodes; node++)
        if (job->hosts[node] == NULL) {
            struct jr_diag *diag = jr_rules_refuse(
                r, JR_CODE_NOT_ENOUGH_PORTS, JR_BIT(JR_NODES),
                "the paddle profile gives every rank the addresses of all "
                "ranks, but that of node %u is not known",
                node);
            jr_diag_help(r->diags, diag,
                         "state hosts, one address per node; or --local");
            return false;
        }
    return true;
}

/* Take the next free port for each rank; how many were taken. */
static uint32_t lease_rank_ports(struct jr_resolver *r, int *fds,
                                 struct jr_error *err)
{
    struct jr_job *job = &r->out->job;
    uint32_t port = job->master_port, taken = 0;
    while (taken < job->world_size && port < LAST_PORT) {
        int fd = jr_lease_take(++port, err);
        if (fd < 0 && err->sys != EADDRINUSE)
            break;
        if (fd < 0)
            continue;
        job->rank_ports[taken] = port;
        fds[taken++] = fd;
    }
    return taken;
}

static bool fill_leased(struct jr_resolver *r)
{
    struct jr_error err = {0};
    uint32_t world = r->out->job.world_size;
    int *fds = jr_arena_array(r->arena, world, sizeof *fds);
    if (fds == NULL)
        return false;
    uint32_t taken = lease_rank_ports(r, fds, &err);
    r->out->rank_leases = fds;
    r->out->rank_leases_count = taken;
    if (!r->options->keep_port)
        jr_rank_ports_release(r->out);
    if (taken == world)
        return true;
    struct jr_diag *diag = jr_rules_refuse(
        r, JR_CODE_NOT_ENOUGH_PORTS, JR_BIT(JR_WORLD_SIZE),
        "the paddle profile gives each rank its own port, but only %u of %u "
        "were available%s%s",
        taken, world, err.text[0] != '\0' ? ": " : "", err.text);
    jr_diag_help(r->diags, diag,
                 "raise the limit on open files (ulimit -n), or state a lower "
                 "master_port");
    return false;
}

void jr_rank_ports_release(struct jr_resolution *resolution)
{
    for (uint32_t i = 0; i < resolution->rank_leases_count; i++)
        (void)close(resolution->rank_leases[i]);
    resolution->rank_leases_count = 0;
}

void jr_rank_ports_renew(struct jr_resolution *resolution)
{
    struct jr_job *job = &resolution->job;
    struct jr_error err = {.sys = EADDRINUSE};
    uint32_t port = job->master_port, i = 0;
    while (i < resolution->rank_leases_count && port < LAST_PORT &&
           err.sys == EADDRINUSE) {
        int fd = jr_lease_take(++port, &err);
        if (fd < 0)
            continue;
        (void)close(resolution->rank_leases[i]);
        resolution->rank_leases[i] = fd;
        job->rank_ports[i++] = port;
        err.sys = EADDRINUSE;
    }
}

bool jr_rank_ports_fill(struct jr_resolver *r)
{
    struct jr_job *job = &r->out->job;
    if (!jr_spec_has_profile(r->spec, "paddle"))
        return true;
    job->rank_ports =
        jr_arena_array(r->arena, job->world_size, sizeof *job->rank_ports);
    if (job->rank_ports == NULL || !check_hosts_known(r))
        return false;
    bool choose = r->hw->real && (job->nodes == 1 || r->options->local);
    return choose ? fill_leased(r) : fill_fixed(r);
}
