/*
 * The line by which Slurm starts an agent on each node of an allocation: one task a node, all its
 * CPUs, shared with whatever else runs in the job; no binding, which is the ranks' own affair, and
 * no MPI, which is theirs too.
 */
#ifndef JR_SRUN_H
#define JR_SRUN_H

#include <stdint.h>

#include "base/strv.h"
#include "cluster/transport.h"

/* One srun for the agents of all nodes, in a session of its own, so that no terminal's signal
 * reaches it. */
extern const struct jr_transport jr_srun_transport;

/* Start `program agent` on the nodes that the options say; their `envp` is jobrun's. Returns 0, or
 * -1. */
int jr_srun_start(struct jr_carrier *ret, const struct jr_controller_options *options,
                  struct jr_error *err);

/* The words of that line, NULL-terminated, in `arena`. NULL without memory. */
char **jr_srun_words(struct jr_arena *arena, const struct jr_controller_options *options);

/* The environment of srun: `envp` without what would change how srun starts tasks or hands on what
 * they print. In `arena`. */
char **jr_srun_environment(struct jr_arena *arena, char *const *envp);

/* Whether a line that srun printed says that a node is lost, or the task on it, which is an agent
 * that does not end by itself before its input does. `host` is the node's name; NULL: not known
 * yet. srun.c. */
bool jr_srun_lost(const char *line, uint32_t node, const char *host);

#endif
