#include "session/node_facts.h"

#include "base/clock.h"
#include "base/strv.h"
#include "cluster/controller.h"
#include "resolve/device_profile.h"
#include "session/session.h"
#include "session/spares.h"
#include "session/ssh_session.h"
#include "session/stages.h"

#include "base/banned.h"

static uint32_t visible_devices(const struct jr_host *host, enum jr_device kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < host->devices_count; i++)
        count += host->devices[i].visible && host->devices[i].kind == kind;
    return count;
}

static uint32_t usable_cpus(const struct jr_host *host)
{
    uint32_t usable = host->cpus.usable;
    double quota = host->cpus.quota;
    if (quota > 0 && (usable == 0 || quota < usable))
        usable = quota < 1 ? 1 : (uint32_t)quota;
    return usable;
}

const char *jr_session_node_name(struct jr_session *session, uint32_t node)
{
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_controller_name(&name, session->controller, node);
    const char *text = jr_buf_keep(&name, &session->arena);
    return text != NULL ? text : "a node";
}

/* Tell of a clock that is off; -1 where no time that the node writes could be believed. */
static int check_node_clock(const struct jr_session *session, uint32_t node, struct jr_error *err)
{
    const struct jr_controller_node peer = jr_controller_node(session->controller, node);
    bool behind = peer.clock_offset_ns < 0;
    uint64_t clock_offset_ns = (uint64_t)peer.clock_offset_ns;
    uint64_t off_ns = behind ? 0 - clock_offset_ns : clock_offset_ns;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (off_ns < JR_CLOCK_TOLD_NS)
        return 0;
    jr_controller_name(&line, session->controller, node);
    jr_buf_str(&line, ": its clock is ");
    jr_clock_human(&line, off_ns);
    jr_buf_printf(&line, " %s of the one here", behind ? "behind" : "ahead");
    if (off_ns >= JR_CLOCK_MOST_NS)
        return jr_error_set(err, JR_STATUS_UNRESOLVED,
                            "%s: jobrun could not tell which of its files are new; set the "
                            "clock (chrony, ntpd), or leave the node out%s",
                            line.failed ? "out of memory" : line.data,
                            jr_ssh_session_has(session) ? "" : " (sbatch --exclude)");
    jr_buf_str(&line, "; the times in its logs are those of its own clock");
    jr_session_note_buf(session, &line);
    return 0;
}

int jr_session_read_node(struct jr_session *session, uint32_t node, struct jr_host *ret,
                         struct jr_arena *arena, struct jr_error *err)
{
    const struct jr_controller_node peer = jr_controller_node(session->controller, node);
    struct jr_diags diags = {0};
    int failed = jr_profile_read(ret, arena, peer.host, peer.facts, peer.facts_len, &diags);
    bool absurd = diags.count > 0 && jr_profile_status(&diags, 0) == JR_STATUS_UNRESOLVED;
    if (failed != 0)
        failed = jr_error_set(err, absurd ? JR_STATUS_UNRESOLVED : JR_STATUS_LAUNCH,
                              "%s: its facts %s: %s", jr_session_node_name(session, node),
                              absurd ? "contradict each other" : "cannot be read",
                              diags.count > 0 ? diags.items[0].message : "out of memory");
    jr_diags_release(&diags);
    return failed != 0 ? failed : check_node_clock(session, node, err);
}

/* If all counts are the same, the first is enough. */
static void keep_counts(struct jr_counts *to, const struct jr_counts *from)
{
    for (uint32_t i = 1; i < from->count; i++)
        if (from->items[i] != from->items[0])
            *to = *from;
}

/* What is counted on each node: devices of the user's own kind, where the spec is for them. */
static enum jr_device counted_kind(const struct jr_session *session, const struct jr_host *host)
{
    if (jr_custom_is(jr_spec_get(session->file)->device))
        return JR_DEVICE_CUSTOM;
    return host->devices_count > 0 ? host->devices[0].kind : JR_DEVICE_CPU;
}

/* The facts of an allocation's nodes, as they come in. */
struct joint {
    struct jr_host first; /* of the first of them */
    enum jr_device kind;  /* that is counted */
    struct jr_counts devices, cpus;
    struct jr_strv hosts;
};

static int join_node(struct joint *to, struct jr_session *session, uint32_t node,
                     struct jr_error *err)
{
    struct jr_arena *arena = &session->arena, own = JR_ARENA_INIT;
    const struct jr_controller_node peer = jr_controller_node(session->controller, node);
    struct jr_host host;
    int failed = jr_session_read_node(session, node, &host, node == 0 ? arena : &own, err);
    if (failed == 0 && node == 0) {
        to->first = host;
        to->kind = counted_kind(session, &host);
    }
    if (failed == 0 && !arena->failed) {
        to->devices.items[node] = visible_devices(&host, to->kind);
        to->cpus.items[node] = usable_cpus(&host);
        jr_strv_push(&to->hosts, arena, jr_arena_strdup(arena, peer.host));
    }
    jr_arena_release(&own);
    return failed;
}

/* The hardware of the first node, how many devices and CPUs each has, and the allocation's word on
 * all else. */
static void finalize_facts(struct jr_session *session, const struct joint *joint)
{
    struct jr_host host = joint->first;
    host.scheduler = session->host.scheduler;
    if (jr_ssh_session_is(session))
        host.scheduler = (struct jr_host_scheduler){.name = "ssh"};
    host.scheduler.step = true;
    host.scheduler.nodes = (uint32_t)joint->hosts.count;
    host.scheduler.node_rank = 0;
    host.scheduler.tasks_here = 1;
    host.scheduler.hosts = joint->hosts;
    host.scheduler.master_port = jr_controller_node(session->controller, 0).port;
    host.variables = session->host.variables;
    host.variables_count = session->host.variables_count;
    host.now = session->host.now;
    host.name = jr_session_node_name(session, 0);
    host.environment.backend = session->host.environment.backend;
    host.environment.omp_num_threads = session->host.environment.omp_num_threads;
    keep_counts(&host.devices_each, &joint->devices);
    keep_counts(&host.cpus_each, &joint->cpus);
    session->host = host;
}

int jr_session_join_nodes(struct jr_session *session, uint32_t nodes, struct jr_error *err)
{
    struct jr_arena *arena = &session->arena;
    struct joint joint = {
        .devices = {jr_arena_array(arena, nodes, sizeof(uint32_t)), nodes},
        .cpus = {jr_arena_array(arena, nodes, sizeof(uint32_t)), nodes},
    };
    for (uint32_t node = 0; node < nodes; node++)
        if (join_node(&joint, session, node, err) != 0)
            return -1;
    jr_spares_list(session, &joint.hosts, arena);
    if (arena->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    finalize_facts(session, &joint);
    return 0;
}
