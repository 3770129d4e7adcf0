/* The port that the ranks meet at, and those that each rank has to itself. Declared in internal.h
 * and resolve.h. */
#include "resolve/internal.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "resolve/lease.h"

#include "base/banned.h"

/* The port that launchers have used since torch.distributed.launch. */
#define FIRST_PORT 29500u
#define PORT_END   65536u

enum { LAST_PORT = 65535 };

/* Several jobruns: what one of them moved, the others would not know. */
static bool has_several_jobruns(const struct jr_resolver *r)
{
    return JR_FIELD_VALUE(r, NODES).number > 1 && !r->options->local;
}

static void keep_lease(struct jr_resolver *r, int fd)
{
    JR_CLOSE int lease = fd;
    if (r->options->keep_port)
        r->out->lease_fd = jr_steal_fd(&lease);
}

static enum jr_fired refuse_master_port(struct jr_resolver *r, const struct jr_field_value *out,
                                        const struct jr_error *err)
{
    bool taken = err->sys == EADDRINUSE;
    jr_rules_show(r, JR_MASTER_PORT, out);
    struct jr_diag *diag = jr_rules_refuse(r, JR_CODE_PORT_IN_USE, JR_BIT(JR_MASTER_PORT),
                                           taken ? "master_port %s" : "master_port: %s", err->text);
    jr_diag_help(r->diags, diag,
                 has_several_jobruns(r) ? "state another master_port; on several nodes it "
                                          "is never moved"
                                        : "leave master_port out, and jobrun takes the "
                                          "next free one");
    return JR_FAILED;
}

/* This port or none. */
static enum jr_fired lease_stated_port(struct jr_resolver *r, struct jr_field_value *out)
{
    struct jr_error err = {0};
    /* whether rank 0 of the job listens on this machine, so that ports count */
    if (!r->hw->real || (!r->options->local && JR_FIELD_VALUE(r, NODE_RANK).number != 0))
        return JR_FIRED;
    int *held = r->options->lease;
    bool ours = held != NULL && *held >= 0 && r->options->lease_port == out->number;
    int fd = ours ? jr_steal_fd(held) : jr_lease_take(out->number, &err);
    if (fd < 0)
        return refuse_master_port(r, out, &err);
    keep_lease(r, fd);
    return JR_FIRED;
}

static enum jr_fired any_port(struct jr_resolver *r, struct jr_field_value *out)
{
    struct jr_error err = {0};
    if (has_several_jobruns(r)) {
        jr_field_value_state(r, out, "master_port");
        jr_rules_show(r, JR_MASTER_PORT, out);
        struct jr_diag *diag =
            jr_rules_clash(r, JR_CODE_PORT_NOT_AGREED, JR_BIT(JR_MASTER_PORT) | JR_BIT(JR_NODES),
                           "master_port 0 leaves the choice to one node, but there are %s",
                           jr_field_value_say(r, JR_NODES));
        jr_diag_help(r->diags, diag, "state the port, or leave it out");
        return JR_FAILED;
    }
    int fd = jr_lease_any(&out->number, &err);
    if (fd < 0)
        return refuse_master_port(r, out, &err);
    keep_lease(r, fd);
    r->out->port_choice = JR_PORT_ANY;
    out->rule = "any free one, as master_port 0 asks";
    return JR_FIRED;
}

/* The first free one from 29500 on and before `end`; -1 with why the last, and in *ret_first why
 * the first could not be had. */
static int lease_first_port(uint32_t *ret_port, uint32_t end, struct jr_error *ret_first,
                            struct jr_error *err)
{
    int fd = -1;
    for (uint32_t port = FIRST_PORT; port < end && fd < 0; port++) {
        *ret_port = port;
        fd = jr_lease_choose(port, err);
        if (port == FIRST_PORT)
            *ret_first = *err;
        if (fd < 0 && err->sys != EADDRINUSE)
            break;
    }
    return fd;
}

/* The first free one from 29500 up to the ephemeral range; where that leaves no room, up to the
 * last port. */
static enum jr_fired search_free_port(struct jr_resolver *r, struct jr_field_value *out)
{
    struct jr_error first = {0}, err = {0};
    uint32_t end = r->hw->port_low > FIRST_PORT ? r->hw->port_low : PORT_END;
    int fd = lease_first_port(&out->number, end, &first, &err);
    r->out->port_choice = JR_PORT_FIRST_FREE;
    r->out->port_end = end;
    if (fd < 0)
        return refuse_master_port(r, out, &err);
    keep_lease(r, fd);
    out->rule = "29500 is free";
    if (out->number == FIRST_PORT)
        return JR_FIRED;
    out->detail = jr_arena_strdup(r->arena, first.text);
    out->rule = "first free from 29500";
    return JR_FIRED;
}

/* Whether it is known at which port rank 0 listens: where it is not for this machine to choose. */
static bool has_rank0_port(const struct jr_resolver *r, const struct jr_host_scheduler *scheduler)
{
    if (scheduler == NULL || scheduler->master_port == 0)
        return false;
    return has_several_jobruns(r) || (!r->hw->real && !r->options->local && scheduler->step);
}

enum jr_fired jr_rule_master_port(struct jr_resolver *r, struct jr_field_value *out)
{
    const uint32_t *stated = r->spec->master_port;
    const struct jr_host_scheduler *scheduler = jr_place_allocation(r);
    bool choose = r->hw->real && !has_several_jobruns(r);
    if (stated != NULL && *stated != 0) {
        jr_field_value_state(r, out, "master_port");
        out->number = *stated;
        return lease_stated_port(r, out);
    }
    if (stated == NULL && has_rank0_port(r, scheduler)) {
        out->origin = JR_ORIGIN_SCHEDULER;
        out->number = scheduler->master_port;
        out->detail = jr_place_said(r, "master_port");
        out->rule = "where rank 0 listens";
        return lease_stated_port(r, out);
    }
    if (stated != NULL && (choose || has_several_jobruns(r)))
        return any_port(r, out);
    if (choose)
        return search_free_port(r, out);
    out->origin = JR_ORIGIN_DEFAULT;
    out->number = FIRST_PORT;
    out->rule = has_several_jobruns(r) ? "29500 on several nodes: never moved"
                                       : "29500; ports are not tried under --on";
    return lease_stated_port(r, out);
}

/* Lease others in the place of the ranks' ports, where there are as many. */
static void renew_rank_ports(struct jr_resolution *resolution)
{
    struct jr_job *job = &resolution->job;
    struct jr_error err = {.sys = EADDRINUSE};
    uint32_t port = job->master_port, i = 0;
    while (i < resolution->rank_leases_count && port < LAST_PORT && err.sys == EADDRINUSE) {
        int fd = jr_lease_choose(++port, &err);
        if (fd < 0)
            continue;
        (void)close(resolution->rank_leases[i]);
        resolution->rank_leases[i] = fd;
        job->rank_ports[i++] = port;
        err.sys = EADDRINUSE;
    }
}

int jr_resolution_renew_port(struct jr_resolution *resolution, struct jr_error *err)
{
    struct jr_error first, last = {0};
    uint32_t port = resolution->job.master_port;
    int fd = -1;
    if (resolution->port_choice == JR_PORT_GIVEN || resolution->lease_fd < 0)
        return 0;
    if (resolution->port_choice == JR_PORT_ANY)
        fd = jr_lease_any(&port, &last);
    else
        fd = lease_first_port(&port, resolution->port_end, &first, &last);
    if (fd < 0) {
        if (err != NULL)
            *err = last;
        return -1;
    }
    (void)close(resolution->lease_fd);
    resolution->lease_fd = fd;
    resolution->job.master_port = port;
    renew_rank_ports(resolution);
    return 0;
}

/* Ports of ranks are counted from the job's, where other nodes have some. */
void jr_resolution_set_port(struct jr_resolution *resolution, uint32_t port)
{
    struct jr_job *job = &resolution->job;
    uint32_t before = job->master_port;
    job->master_port = port;
    for (uint32_t i = 0; job->rank_ports != NULL && i < job->world_size; i++)
        job->rank_ports[i] += port - before;
}

/* On several nodes, the free ports of other nodes are not known, and all jobruns must choose the
 * same ones. */
static bool fill_fixed(struct jr_resolver *r)
{
    struct jr_job *job = &r->out->job;
    uint32_t rank = 0;
    for (uint32_t node = 0; node < job->nodes; node++)
        for (uint32_t i = 0; i < job->local_world_sizes[node]; i++, rank++) {
            job->rank_ports[rank] = job->master_port + 1 + (r->options->local ? rank : i);
            if (job->rank_ports[rank] <= LAST_PORT)
                continue;
            struct jr_diag *diag =
                jr_rules_clash(r, JR_CODE_NOT_ENOUGH_PORTS, JR_BIT(JR_MASTER_PORT),
                               "the paddle profile gives each rank its own port, from master_port "
                               "+ 1 on, and the port of rank %u would be above 65535",
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
            struct jr_diag *diag =
                jr_rules_refuse(r, JR_CODE_NOT_ENOUGH_PORTS, JR_BIT(JR_NODES),
                                "the paddle profile gives every rank the addresses of all "
                                "ranks, but that of node %u is not known",
                                node);
            jr_diag_help(r->diags, diag, "state hosts, one address per node; or --local");
            return false;
        }
    return true;
}

/* The next free port for each rank. */
static bool fill_leased(struct jr_resolver *r)
{
    struct jr_error err = {0};
    struct jr_job *job = &r->out->job;
    uint32_t world = job->world_size, port = job->master_port, taken = 0;
    int *fds = jr_arena_array(r->arena, world, sizeof *fds);
    if (fds == NULL)
        return false;
    while (taken < world && port < LAST_PORT) {
        int fd = jr_lease_choose(++port, &err);
        if (fd < 0 && err.sys != EADDRINUSE)
            break;
        if (fd < 0)
            continue;
        job->rank_ports[taken] = port;
        fds[taken++] = fd;
    }
    r->out->rank_leases = fds;
    r->out->rank_leases_count = taken;
    if (!r->options->keep_port)
        jr_rank_ports_release(r->out);
    if (taken == world)
        return true;
    struct jr_diag *diag =
        jr_rules_refuse(r, JR_CODE_NOT_ENOUGH_PORTS, JR_BIT(JR_WORLD_SIZE),
                        "the paddle profile gives each rank its own port, but only %u of %u "
                        "were available%s%s",
                        taken, world, err.text[0] != '\0' ? ": " : "", err.text);
    jr_diag_help(r->diags, diag,
                 "raise the limit on open files (ulimit -n), or state a lower master_port");
    return false;
}

void jr_rank_ports_release(struct jr_resolution *resolution)
{
    for (uint32_t i = 0; i < resolution->rank_leases_count; i++)
        (void)close(resolution->rank_leases[i]);
    resolution->rank_leases_count = 0;
}

bool jr_rank_ports_fill(struct jr_resolver *r)
{
    struct jr_job *job = &r->out->job;
    if (!jr_spec_has_profile(r->spec, "paddle"))
        return true;
    job->rank_ports = jr_arena_array(r->arena, job->world_size, sizeof *job->rank_ports);
    if (job->rank_ports == NULL || !check_hosts_known(r))
        return false;
    bool choose = r->hw->real && (job->nodes == 1 || r->options->local);
    return choose ? fill_leased(r) : fill_fixed(r);
}
