/* Rules of rules.h on ports: the one that the ranks meet at, and those that each rank has to
 * itself. */
#ifndef JR_RANK_PORTS_H
#define JR_RANK_PORTS_H

#include "resolve/rules.h"

/* MASTER_PORT is stated, leased here, or agreed upon by the nodes. */
enum jr_fired jr_rule_master_port(struct jr_resolver *r, struct jr_field_value *out);

/* Give each rank a port of its own where a profile wants that, once all cells are known. False
 * after a complaint, or if memory runs out. */
bool jr_rank_ports_fill(struct jr_resolver *r);

/* Give the ranks' ports back. */
void jr_rank_ports_release(struct jr_resolution *resolution);

/* Lease others in their place, where there are as many. */
void jr_rank_ports_renew(struct jr_resolution *resolution);

#endif
