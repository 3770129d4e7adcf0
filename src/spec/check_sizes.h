/*
 * The numbers that say how many ranks there are.
 *
 *   world_size = nodes x local_world_size = data x model x pipeline
 *
 * Each side may be stated, in part or whole; what can be known of one is held against the others.
 * What cannot be known yet is the resolver's.
 */
#ifndef JR_CHECK_SIZES_H
#define JR_CHECK_SIZES_H

#include "spec/check.h"

/* The numbers of ranks and nodes agree with each other. */
jr_check_rule jr_check_sizes;

#endif
