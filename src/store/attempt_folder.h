/*
 * The folder of an attempt, beneath that of the run (run_folder.h). No link is followed, and one
 * that exists is nobody's: a rank of an earlier attempt may have made it.
 */
#ifndef JR_ATTEMPT_FOLDER_H
#define JR_ATTEMPT_FOLDER_H

#include <stdint.h>

#include "store/run_folder.h"

/* Make the folder of an attempt, which all its ranks share: an existing one is refused. 0, or -1
 * with `err`. */
int jr_attempt_folder_make(const struct jr_run_folder *dir, uint32_t attempt, struct jr_error *err);

/* Make the folder of a node's part of an attempt, in the node's own (JR_NODE_DIR), which is made as
 * needed: an existing one is refused. 0, or -1 with `err`. */
int jr_attempt_folder_make_part(const struct jr_run_folder *dir, uint32_t node, uint32_t attempt,
                                struct jr_error *err);

/* Make the folder of an attempt ahead of its time: mkdir(2) decides who continues the run.
 * jr_attempt_folder_make takes it then. 0; 1 where somebody else has made it; or -1 with `err`. */
int jr_attempt_folder_claim(struct jr_run_folder *dir, uint32_t attempt, struct jr_error *err);

#endif
