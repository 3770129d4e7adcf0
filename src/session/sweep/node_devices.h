/* The devices of a cell that an agent runs: leases, as cells have them where the sweep itself runs
 * (sweep_devices.h). What another run holds is waited for in the process of the cell. */
#ifndef JR_NODE_DEVICES_H
#define JR_NODE_DEVICES_H

#include <jobrun/error.h>

#include "base/buf.h"
#include "resolve/device_holders.h"

struct jr_host;
struct jr_spec_file;

struct jr_node_devices {
    const uint32_t *numbers;    /* in the facts of the node */
    struct jr_device_list list; /* of these */
    const char *around;         /* see jr_device_request */
    struct jr_device_lease *leases;
    uint32_t leased;  /* none, or all */
    const char *kind; /* what they are spelled like; borrowed */
    bool *gone;       /* of each, shared with the process of the cell, which finds out
                         when that has failed; NULL: there are none, or no memory */
};

/* Whether the facts have a device of that kind with that key. */
bool jr_device_is_there(const struct jr_host *host, const char *kind, const char *key);

/* Name devices of a node by their numbers, and what their kind is spelled like, in `arena`. Without
 * memory that has failed. */
void jr_node_devices_name(struct jr_node_devices *ret, const struct jr_host *host, const char *kind,
                          struct jr_arena *arena);

/* Lease them for a run. False: others have some of them. */
bool jr_node_devices_take(struct jr_node_devices *devices, const char *run_id);

/* Wait for them, for so long at most (0: without an end), and lease them. 0; a
 * signal that stops runs and came first, all of which are blocked; or -1 with
 * `err`, JR_STATUS_UNRESOLVED where the time was over. */
int jr_node_devices_await(struct jr_node_devices *devices, const char *run_id, uint64_t limit_ms,
                          struct jr_error *err);

/* Append who holds some of them: "0 is held by run x (pid 7)". */
void jr_node_devices_holders(struct jr_buf *out, const struct jr_node_devices *devices);

/* In the process of a cell that has failed: see which of them are not there any more, by the facts
 * as they are now. `envp` is that of its session, and `file` its spec. */
void jr_node_devices_check(struct jr_node_devices *devices, char *const *envp,
                           const struct jr_spec_file *file);

/* In the agent: the numbers of those, "0,2", malloc'ed; NULL: of none. */
char *jr_node_devices_list_gone(const struct jr_node_devices *devices);

/* Give them back, and what is shared with the cell. */
void jr_node_devices_give(struct jr_node_devices *devices);

#endif
