/* Rules of check.h on the ranks, nodes and local ranks that a spec names by number. */
#ifndef JR_CHECK_RANKS_H
#define JR_CHECK_RANKS_H

#include "spec/check.h"

/* The ranks, and then the nodes and local ranks, that are named are there. */
jr_check_rule jr_check_ranks, jr_check_places;

#endif
