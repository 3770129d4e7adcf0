/*
 * The folder of the cells on a host that does not see that of the sweep:
 * LOG_DIR/SWEEP_ID/node_N.TOKEN, of which no other agent, of an earlier jobrun
 * or on another host, has one. All that runs of its cells there holds its lock,
 * so that whoever goes on with the sweep waits for what an earlier jobrun is
 * still ending.
 */
#ifndef JR_OWN_CELLS_H
#define JR_OWN_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include <jobrun/error.h>

#include "store/run_folder.h"

/* The name of the folder, for printf(3): the node, and the token; and in it that of the file that
 * is locked. */
#define JR_OWN_CELLS_NAME JR_NODE_DIR ".%.32s"
#define JR_OWN_CELLS_LOCK ".agent"

/* Whether that is the name of such a folder. */
bool jr_own_cells_is(const char *name);

struct jr_message;

struct jr_own_cells {
    char *dir;   /* absolute, malloc'ed; NULL: the sweep's own is seen */
    int lock_fd; /* of the file that is locked; 0: none is */
};

/* Make the folder beside that of the message `share`, for the agent of `node`, and wait for those
 * that came before it, as long as standard input has not ended. -1 with `err`. */
int jr_own_cells_make(struct jr_own_cells *ret, const struct jr_message *share, uint32_t node,
                      struct jr_error *err);

/* Let go of it, once nothing of its cells runs. */
void jr_own_cells_release(struct jr_own_cells *own);

#endif
