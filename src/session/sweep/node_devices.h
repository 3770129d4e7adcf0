/* The devices of a cell that an agent runs: leases, as cells have them where
 * the sweep itself runs (sweep_devices.h). What another run holds is waited for
 * in the process of the cell. */
#ifndef JR_NODE_DEVICES_H
#define JR_NODE_DEVICES_H

#include <jobrun/error.h>

#include "base/buf.h"
#include "resolve/device_holders.h"

struct jr_node_devices {
    const uint32_t *numbers;    /* in the facts of the node */
    struct jr_device_list list; /* of these */
    const char *around;         /* see jr_device_request */
    struct jr_device_lease *leases;
    uint32_t leased; /* none, or all */
};

/* Name devices of a node by their numbers, and what their kind is spelled like,
 * in `arena`. Without memory that has failed. */
void jr_node_devices_name(struct jr_node_devices *ret,
                          const struct jr_host *host, const char *kind,
                          struct jr_arena *arena);

/* Lease them for a run. False: others have some of them. */
bool jr_node_devices_take(struct jr_node_devices *devices, const char *run_id);

/* Wait for them, for so long at most (0: without an end), and lease them. 0; a
 * signal that stops runs and came first, all of which are blocked; or -1 with
 * `err`, JR_STATUS_UNRESOLVED where the time was over. */
int jr_node_devices_await(struct jr_node_devices *devices, const char *run_id,
                          uint64_t limit_ms, struct jr_error *err);

/* Append who holds some of them: "0 is held by run x (pid 7)". */
void jr_node_devices_holders(struct jr_buf *out,
                             const struct jr_node_devices *devices);

/* Give them back. */
void jr_node_devices_give(struct jr_node_devices *devices);

#endif
