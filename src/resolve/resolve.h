/*
 * The resolver: fills every MISSING field by the rules of the contract, run to a fixed point over a
 * table (rules.c).
 *
 *   facts:  jr_host_probe, or jr_profile_load for --on (device_profile.h)
 *   values: jr_resolve -> jr_job + provenance + the leased port
 *   text:   jr_resolution_emit (a spec again), jr_resolution_explain
 */
#ifndef JR_RESOLVE_H
#define JR_RESOLVE_H

#include "base/buf.h"
#include "diag/diag.h"
#include "host/host.h"
#include "resolve/job.h"

struct jr_device_lease;
struct jr_device_wait;
struct jr_spec;
struct jr_spec_file;

/* What the command line adds. */
struct jr_resolve_options {
    bool local;                     /* --local: every node's ranks on this machine */
    const uint32_t *node_rank;      /* --node-rank; NULL: not given */
    bool keep_port;                 /* hold leases, of ports and devices; else choose and let
                                       go */
    bool skip_leases;               /* devices are neither leased nor is it told who has
                                       leased them: the caller only counts them */
    struct jr_device_wait *wait;    /* somebody who waits where devices are held by
                                       others, and is told which; NULL: nobody, so
                                       that stated ones are shared */
    struct jr_device_lease *leases; /* of the devices that the facts show, which
                                       the caller took for this job: the
                                       resolution gives them back, and marks
                                       them so in this array */
    uint32_t leases_count;
    int *lease; /* one of `lease_port` that the caller holds: it is taken over,
                   and made -1, where that is the job's port; NULL: none */
    uint32_t lease_port;
    char *const *args; /* NULL-terminated: they follow the entrypoint's own, and
                          are part of what is resolved; NULL: none */
    /* One of several machines that the spec is checked against: findings from
     * its facts begin with "on TARGET: ...", and are at `target_at` (line 0:
     * the spec does not state it) if the spec states no such value. NULL: the
     * only one. */
    const char *target;
    struct jr_span target_at;
    char *const *environ; /* of this jobrun, whose secrets are not to be told;
                             NULL: none is known */
};

/* Who chose the port; this decides where another one can be found. */
enum jr_port_choice {
    JR_PORT_GIVEN, /* not jobrun: it stays */
    JR_PORT_ANY,
    JR_PORT_FIRST_FREE
};

/* A job with its provenance and its leases. */
struct jr_resolution {
    struct jr_arena arena;
    struct jr_job job;
    struct jr_provenance *provenance; /* in the order of the field table */
    size_t provenance_count;
    const char *facts; /* what the hardware's origin is called */
    char *const *args; /* jr_resolve_options.args */
    int lease_fd;      /* held until release; -1: none */
    int *rank_leases;  /* those of job.rank_ports, held as long; NULL: none */
    uint32_t rank_leases_count;
    struct jr_device_lease *device_leases; /* held until release, too */
    uint32_t device_leases_count;
    enum jr_port_choice port_choice;
    uint32_t port_end; /* FIRST_FREE: the search ends before it */
};

#define JR_RESOLUTION_INIT ((struct jr_resolution){.lease_fd = -1})

/* Fill *ret. All contradictions and unfillable fields go to `diags`; returns the exit status that
 * they mean: JR_STATUS_OK, _INVALID where the spec alone decides it, or _UNRESOLVED where facts do
 * (_LAUNCH if memory runs out). Unless it is OK, *ret is released. Borrows `file` and `hw`. With a
 * target, a field whose value validating does not know decides nothing, and *ret is left blank. */
enum jr_status jr_resolve(struct jr_resolution *ret, const struct jr_spec_file *file,
                          const struct jr_host *hw, const struct jr_resolve_options *options,
                          struct jr_diags *diags);

/* How many nodes the job is for, as far as spec and facts tell without looking at any machine; 0:
 * they contradict themselves. */
uint32_t jr_resolve_nodes(const struct jr_spec_file *file, const struct jr_host *hw,
                          const struct jr_resolve_options *options);

/* Put `port` in the place of the one that the job has: another node, where rank 0 listens, holds
 * it. */
void jr_resolution_set_port(struct jr_resolution *resolution, uint32_t port);

/* Have the nodes on these hosts, with so many spares behind them; where it
 * `follows`, the ranks meet on the first. They are borrowed. */
void jr_resolution_place(struct jr_resolution *resolution, char **hosts, uint32_t spares,
                         bool follows);

/* Put another port in the place of the one that was leased, where jobrun chose it; the old lease is
 * held until the new one is there. -1 if there is none, and all stays as it is. */
int jr_resolution_renew_port(struct jr_resolution *resolution, struct jr_error *err);

/* Say which run the devices are leased for. */
void jr_device_leases_note(struct jr_resolution *resolution, const char *run_id);

/* Give the devices back: no rank uses them any more. */
void jr_device_leases_release(struct jr_resolution *resolution);

/* The sockets of all its leases, as they are now. Returns how many; 0 if memory of the arena runs
 * out. They stay the resolution's. */
uint32_t jr_resolution_leases(const struct jr_resolution *resolution, struct jr_arena *arena,
                              int **ret);

/* Free the resolution and give its leased ports and devices back. NULL is allowed. */
void jr_resolution_release(struct jr_resolution *resolution);

/* Append the resolved spec: valid, complete, absolute, resolves to itself. The value of an `env`
 * entry that `secrets` matches is written as ???, so the environment must set it. The resolved spec
 * has no targets, because it is for one machine. */
void jr_resolution_emit(struct jr_buf *out, const struct jr_resolution *,
                        const struct jr_spec_file *file);

/* The same for another node of the job, which puts in its own rank, devices and CPUs, and hosts as
 * its scheduler lists them. It is whole, secrets too: for a pipe, and not for a file. */
void jr_resolution_emit_for_nodes(struct jr_buf *out, const struct jr_resolution *,
                                  const struct jr_spec_file *file);

/* Append the spec as it was loaded, with `args` (NULL: none) behind the entrypoint's own: for
 * another machine, which resolves it. It is complete, absolute and whole, secrets too: for a pipe,
 * and not for a file. */
void jr_spec_emit_whole(struct jr_buf *out, const struct jr_spec_file *file, char *const *args);

/* Append the table of field, value, origin and rule; JSON when `json`. */
void jr_resolution_explain(struct jr_buf *out, const struct jr_resolution *, bool json);

/* The devices of a machine among which a job has some: all that are visible and of its kind, or
 * those that its spec names. Fills `ret_may`, with a place for each of the host's devices, for a
 * job that was resolved there. Returns how many there are. */
uint32_t jr_device_pool_find(bool *ret_may, const struct jr_host *host, const struct jr_job *job,
                             const struct jr_spec *spec);

#endif
