/*
 * The table of rules that fill the resolver's cells (resolver.h). The header of
 * all files that each section below names. Private to this folder.
 *
 * A rule fires when the cells that it needs are known and the one that it fills
 * is not. The table is in order of preference. After every firing it is read
 * from the top again, so a default is never used while a derivation is still
 * possible.
 */
#ifndef JR_RULES_H
#define JR_RULES_H

#include "resolve/device_kind.h"
#include "resolve/findings.h"
#include "resolve/resolver.h"

/* What came of trying a rule. */
enum jr_fired { JR_PASSED, JR_FIRED, JR_FAILED };

/* One rule, a row of the table in rules.c. */
struct jr_rule {
    enum jr_field out;
    enum jr_origin origin;
    uint32_t needs;
    /* Fill the blank cell `out`, whose origin and text are the row's until it
     * says better; JR_PASSED leaves the field to later rows. */
    enum jr_fired (*apply)(struct jr_resolver *r, struct jr_field_value *out);
    const char *text;
};

/* Fill all cells that can be filled. */
void jr_rules_run(struct jr_resolver *r);

/* Let findings about the cell that a rule is filling point at it. */
void jr_rules_show(struct jr_resolver *r, enum jr_field field,
                   const struct jr_field_value *out);

/* Look for contradictions among the filled cells: agreement.c. */
void jr_checks_run(struct jr_resolver *r);

/* Rules on sizes: world_size.c. */

/* MODEL and PIPELINE are 1 unless they are stated. */
enum jr_fired jr_rule_one(struct jr_resolver *r, struct jr_field_value *out);
/* WORLD_SIZE is data x model x pipeline. */
enum jr_fired jr_rule_world_of_mesh(struct jr_resolver *r,
                                    struct jr_field_value *);
/* DATA is world_size / (model x pipeline). */
enum jr_fired jr_rule_data(struct jr_resolver *r, struct jr_field_value *out);
/* LOCAL is what the spec states: a number, or a list with one for each node. */
enum jr_fired jr_rule_local_stated(struct jr_resolver *r,
                                   struct jr_field_value *);
/* NODES is the number of entries of local_world_size. */
enum jr_fired jr_rule_nodes_of_list(struct jr_resolver *r,
                                    struct jr_field_value *);
/* WORLD_SIZE is the sum of the entries of local_world_size. */
enum jr_fired jr_rule_world_of_list(struct jr_resolver *r,
                                    struct jr_field_value *);
/* WORLD_SIZE is nodes x local_world_size. */
enum jr_fired jr_rule_world_of_nodes(struct jr_resolver *r,
                                     struct jr_field_value *);
/* NODES is world_size / local_world_size. */
enum jr_fired jr_rule_nodes_of_world(struct jr_resolver *r,
                                     struct jr_field_value *);
/* LOCAL is world_size / nodes. */
enum jr_fired jr_rule_local_of_world(struct jr_resolver *r,
                                     struct jr_field_value *);
/* LOCAL is the tasks per node that the scheduler was asked for. */
enum jr_fired jr_rule_local_scheduled(struct jr_resolver *,
                                      struct jr_field_value *);
/* Where any free devices will do, LOCAL is the tasks per node that the
 * scheduler was asked for, or else the number of visible devices. */
enum jr_fired jr_rule_local_of_any(struct jr_resolver *,
                                   struct jr_field_value *);
/* LOCAL is the number of devices of a node. */
enum jr_fired jr_rule_local_of_devices(struct jr_resolver *,
                                       struct jr_field_value *);

/* Rules on nodes and addresses: node_rank.c. */

/* HOSTS is what the spec states. */
enum jr_fired jr_rule_hosts_stated(struct jr_resolver *r,
                                   struct jr_field_value *);
/* NODES is the number of entries of hosts. */
enum jr_fired jr_rule_nodes_of_hosts(struct jr_resolver *r,
                                     struct jr_field_value *);
/* NODES is that of the allocation. */
enum jr_fired jr_rule_nodes_scheduled(struct jr_resolver *,
                                      struct jr_field_value *);
/* NODES is that of the profile, without a scheduler. */
enum jr_fired jr_rule_nodes_profile(struct jr_resolver *r,
                                    struct jr_field_value *);
/* NODES is 1, where nothing speaks of other machines. */
enum jr_fired jr_rule_nodes_alone(struct jr_resolver *r,
                                  struct jr_field_value *);
/* HOSTS is that of the allocation. */
enum jr_fired jr_rule_hosts(struct jr_resolver *r, struct jr_field_value *out);
/* NODE_RANK is 0 on the only node, or what the spec or the scheduler says. */
enum jr_fired jr_rule_node_rank(struct jr_resolver *r,
                                struct jr_field_value *out);
/* RANK_START is the number of ranks on earlier nodes. */
enum jr_fired jr_rule_rank_start(struct jr_resolver *r,
                                 struct jr_field_value *out);
/* MASTER_ADDR is the first of hosts. */
enum jr_fired jr_rule_master_addr(struct jr_resolver *r,
                                  struct jr_field_value *out);
/* MASTER_PORT is stated, leased here, or agreed upon by the nodes:
 * rank_ports.c. */
enum jr_fired jr_rule_master_port(struct jr_resolver *r,
                                  struct jr_field_value *out);
/* INIT_METHOD is env:// unless it is stated. */
enum jr_fired jr_rule_init_method(struct jr_resolver *r,
                                  struct jr_field_value *out);
/* What the scheduler gave this job; NULL: no scheduler, or nothing. */
const struct jr_host_scheduler *jr_place_allocation(
    const struct jr_resolver *r);
/* The source of a fact of the scheduler, for people: "SLURM_NNODES of Slurm job
 * 77". `fact` is its key in a facts file. */
const char *jr_place_said(struct jr_resolver *r, const char *fact);
/* The number of ranks on a node, once LOCAL is known. */
uint32_t jr_place_local(const struct jr_resolver *r, uint32_t node);
/* How many ranks may share this machine: its node's, where it is known which
 * that is; of nodes that are taken to be alike the most; all with --local. */
uint32_t jr_place_here(const struct jr_resolver *r);

/* Rules on the allocation's time: agreement.c. They fire only where it is what
 * decides. */

/* RUN is what is left of the job's time. */
enum jr_fired jr_rule_run(struct jr_resolver *r, struct jr_field_value *out);
/* STOP_GRACE ends before Slurm kills what is left. */
enum jr_fired jr_rule_stop_grace(struct jr_resolver *r,
                                 struct jr_field_value *out);

/* Rules on devices: device_kind.c. */

/* DEVICE is what the spec states. */
enum jr_fired jr_rule_device_stated(struct jr_resolver *r,
                                    struct jr_field_value *);
/* DEVICE is the kind that the hardware has. */
enum jr_fired jr_rule_device(struct jr_resolver *r, struct jr_field_value *out);
/* DEVICES are all that are visible. */
enum jr_fired jr_rule_devices(struct jr_resolver *r,
                              struct jr_field_value *out);
/* Whether the spec names devices one by one, for all nodes alike. */
bool jr_devices_listed(const struct jr_resolver *r);

/* Binding: cpu_binding.c. Fills the job's slots. */
enum jr_fired jr_rule_bind(struct jr_resolver *r, struct jr_field_value *out);

/* CPUs, and the rules on threads: cpu_binding.c. */

/* THREADS is the number that OMP_NUM_THREADS has. */
enum jr_fired jr_rule_threads_env(struct jr_resolver *r,
                                  struct jr_field_value *out);
/* THREADS is physical cores / local ranks. */
enum jr_fired jr_rule_threads(struct jr_resolver *r,
                              struct jr_field_value *out);
/* How many of `usable` CPUs or cores ranks may count on: the CFS quota rounded
 * down where that is less (2.5 gives 2: one rank that is throttled holds up all
 * the others); at least 1. 0 when neither is known. */
uint32_t jr_cpus_within_quota(const struct jr_host *hw, uint32_t usable);

/* Kinds of devices, backends, and rules on them: backend.c. */

/* BACKEND is the word that TORCH_DISTRIBUTED_BACKEND has. */
enum jr_fired jr_rule_backend_env(struct jr_resolver *r,
                                  struct jr_field_value *out);
/* BACKEND is that of the device. */
enum jr_fired jr_rule_backend(struct jr_resolver *r,
                              struct jr_field_value *out);
/* The backend of an axis is the default one. */
enum jr_fired jr_rule_backend_axis(struct jr_resolver *r,
                                   struct jr_field_value *);
/* Report backends that cannot drive the job's device. */
void jr_check_backends(struct jr_resolver *r);

/* Find the values that are not to be told: secret_values.c. */
void jr_secrets_find(struct jr_resolver *r);

/* Give each rank a port of its own where a profile wants that, once all cells
 * are known: rank_ports.c. False after a complaint, or if memory runs out. */
bool jr_rank_ports_fill(struct jr_resolver *r);
/* Give the ranks' ports back. */
void jr_rank_ports_release(struct jr_resolution *resolution);
/* Lease others in their place, where there are as many. */
void jr_rank_ports_renew(struct jr_resolution *resolution);

#endif
