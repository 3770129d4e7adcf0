/*
 * Which CPUs each rank of a node gets: contiguous shares of its physical cores, in the order of
 * their NUMA nodes, with all the usable CPUs of each. The memory follows by itself: unless told
 * otherwise, Linux takes it from the node of the CPU that first touches it.
 */
#ifndef JR_CPU_BINDING_H
#define JR_CPU_BINDING_H

#include "resolve/rules.h"

/* BIND fills the job's slots. */
enum jr_fired jr_rule_bind(struct jr_resolver *r, struct jr_field_value *out);

/* THREADS is the number that OMP_NUM_THREADS has. */
enum jr_fired jr_rule_threads_env(struct jr_resolver *r, struct jr_field_value *out);

/* THREADS is physical cores / local ranks. */
enum jr_fired jr_rule_threads(struct jr_resolver *r, struct jr_field_value *out);

/* How many of `usable` CPUs or cores ranks may count on: the CFS quota rounded down where that is
 * less (2.5 gives 2: one rank that is throttled holds up all the others); at least 1. 0 when
 * neither is known. */
uint32_t jr_cpus_within_quota(const struct jr_host *hw, uint32_t usable);

#endif
