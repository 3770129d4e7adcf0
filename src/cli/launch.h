/*
 * A run from a spec that is loaded: what `run` and `rerun` have in common.
 */
#ifndef JR_LAUNCH_H
#define JR_LAUNCH_H

#include "stage.h"

/* What the record says of where the spec is from; NULL: nothing. */
struct jr_launch {
    const char *spec;     /* as the command line names it */
    const char *rerun_of; /* the id of the run that is repeated */
};

/* Resolve, plan, launch, supervise, verify, tell. Returns the exit status; the
 * caller releases the stages. */
int jr_launch_run(const struct jr_launch *launch, struct jr_stages *stages,
                  struct jr_cli *cli);

#endif
