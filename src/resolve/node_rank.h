/* Rules of rules.h on nodes: how many there are, which one this is, and where they are reached. */
#ifndef JR_NODE_RANK_H
#define JR_NODE_RANK_H

#include "resolve/rules.h"

/* HOSTS is what the spec states. */
enum jr_fired jr_rule_hosts_stated(struct jr_resolver *r, struct jr_field_value *);

/* NODES is the number of entries of hosts. */
enum jr_fired jr_rule_nodes_of_hosts(struct jr_resolver *r, struct jr_field_value *);

/* NODES is that of the allocation. */
enum jr_fired jr_rule_nodes_scheduled(struct jr_resolver *, struct jr_field_value *);

/* NODES is that of the profile, without a scheduler. */
enum jr_fired jr_rule_nodes_profile(struct jr_resolver *r, struct jr_field_value *);

/* NODES is 1, where nothing speaks of other machines. */
enum jr_fired jr_rule_nodes_alone(struct jr_resolver *r, struct jr_field_value *);

/* HOSTS is that of the allocation. */
enum jr_fired jr_rule_hosts(struct jr_resolver *r, struct jr_field_value *out);

/* NODE_RANK is 0 on the only node, or what the spec or the scheduler says. */
enum jr_fired jr_rule_node_rank(struct jr_resolver *r, struct jr_field_value *out);

/* RANK_START is the number of ranks on earlier nodes. */
enum jr_fired jr_rule_rank_start(struct jr_resolver *r, struct jr_field_value *out);

/* MASTER_ADDR is the first of hosts. */
enum jr_fired jr_rule_master_addr(struct jr_resolver *r, struct jr_field_value *out);

/* INIT_METHOD is env:// unless it is stated. */
enum jr_fired jr_rule_init_method(struct jr_resolver *r, struct jr_field_value *out);

/* What the scheduler gave this job; NULL: no scheduler, or nothing. */
const struct jr_host_scheduler *jr_place_allocation(const struct jr_resolver *r);

/* The source of a fact of the scheduler, for people: "SLURM_NNODES of Slurm job 77". `fact` is its
 * key in a facts file. */
const char *jr_place_said(struct jr_resolver *r, const char *fact);

/* The number of ranks on a node, once LOCAL is known. */
uint32_t jr_place_local(const struct jr_resolver *r, uint32_t node);

/* How many spares the job has; --local has none. */
uint32_t jr_place_spares(const struct jr_resolver *r);

/* How many ranks may share this machine: its node's, where it is known which that is; of nodes that
 * are taken to be alike the most; all with --local. */
uint32_t jr_place_here(const struct jr_resolver *r);

#endif
