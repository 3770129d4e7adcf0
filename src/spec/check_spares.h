/* Spare nodes: where a job can have them, and whether they are of use. */
#ifndef JR_CHECK_SPARES_H
#define JR_CHECK_SPARES_H

#include "spec/check.h"

/* `spare_nodes` goes with `nodes`, `engine` and `restart`. */
jr_check_rule jr_check_spares;

#endif
