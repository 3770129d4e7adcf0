/* Rules of rules.h on sizes: the world, its nodes, and the mesh over it. */
#ifndef JR_WORLD_SIZE_H
#define JR_WORLD_SIZE_H

#include "resolve/rules.h"

/* MODEL and PIPELINE are 1 unless they are stated. */
enum jr_fired jr_rule_one(struct jr_resolver *r, struct jr_field_value *out);

/* WORLD_SIZE is data x model x pipeline. */
enum jr_fired jr_rule_world_of_mesh(struct jr_resolver *r, struct jr_field_value *);

/* DATA is world_size / (model x pipeline). */
enum jr_fired jr_rule_data(struct jr_resolver *r, struct jr_field_value *out);

/* LOCAL is what the spec states: a number, or a list with one for each node. */
enum jr_fired jr_rule_local_stated(struct jr_resolver *r, struct jr_field_value *);

/* NODES is the number of entries of local_world_size. */
enum jr_fired jr_rule_nodes_of_list(struct jr_resolver *r, struct jr_field_value *);

/* WORLD_SIZE is the sum of the entries of local_world_size. */
enum jr_fired jr_rule_world_of_list(struct jr_resolver *r, struct jr_field_value *);

/* WORLD_SIZE is nodes x local_world_size. */
enum jr_fired jr_rule_world_of_nodes(struct jr_resolver *r, struct jr_field_value *);

/* NODES is world_size / local_world_size. */
enum jr_fired jr_rule_nodes_of_world(struct jr_resolver *r, struct jr_field_value *);

/* LOCAL is world_size / nodes. */
enum jr_fired jr_rule_local_of_world(struct jr_resolver *r, struct jr_field_value *);

/* LOCAL is the tasks per node that the scheduler was asked for. */
enum jr_fired jr_rule_local_scheduled(struct jr_resolver *, struct jr_field_value *);

/* Where any free devices will do, LOCAL is the tasks per node that the scheduler was asked for, or
 * else the number of visible devices. */
enum jr_fired jr_rule_local_of_any(struct jr_resolver *, struct jr_field_value *);

/* LOCAL is the number of devices of a node. */
enum jr_fired jr_rule_local_of_devices(struct jr_resolver *, struct jr_field_value *);

#endif
