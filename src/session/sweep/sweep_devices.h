/*
 * The devices of a sweep, which its cells share with other runs of the machine.
 *
 * Each cell has leases (resolve/device_lease.h) of the devices that it was
 * granted. The sweep takes them, before the process of the cell is made, and
 * both hold them: so they are held as long as anything of the cell lives, and
 * until the sweep has cleaned up behind it. What others hold, or wait for and
 * came earlier, is away for the schedule. A cell that lacks only such devices
 * waits for them in the queue (resolve/device_queue.h), as `--wait` does; once
 * it has them, the sweep's next one is behind all who wait by then. A cell
 * takes all of its devices at once, and a sweep that waits holds none for that:
 * two sweeps cannot wait for each other.
 */
#ifndef JR_SWEEP_DEVICES_H
#define JR_SWEEP_DEVICES_H

#include "resolve/device_holders.h"
#include "resolve/device_queue.h"

struct jr_cell_needs;
struct jr_cell_process;
struct jr_session;
struct jr_sweep_run;

/* The devices of the machine, in the order of its facts, and the wait for those that others
 * hold. */
struct jr_sweep_devices {
    struct jr_device_list list; /* a key is NULL: no cell may have the device */
    const char *around;         /* see jr_device_request */
    bool *gone;                 /* of each: it is not there any more */
    struct jr_arena arena;      /* of the request */
    struct jr_device_request request;
    struct jr_device_queue queue;
    uint32_t kind;     /* of the cell that waits */
    uint64_t since_ns; /* when it began to wait while nothing runs; 0: it does
                          not */
    bool told;         /* that it waits */
    bool again;        /* look again after a short time */
    bool over;         /* the time of --wait ran out, or what is left of the
                          devices is too little for some cells */
};

/* Name the devices of the session's machine that the cells may have, in its arena. */
void jr_sweep_devices_name(struct jr_device_list *ret, struct jr_session *session,
                           const struct jr_cell_needs *needs);

/* Append who holds some of the devices: "0, 1 are held by run x (pid 7)".
 * `without` (NULL: none) says which of them are not asked about. False: nobody
 * does, and nothing was appended. */
bool jr_sweep_devices_holders(struct jr_buf *out, const struct jr_device_list *list,
                              const bool *without, const char *around);

/* Begin: nobody waits. */
void jr_sweep_devices_open(struct jr_sweep_run *run);

/* Give back the place in the queue, and free it all. */
void jr_sweep_devices_close(struct jr_sweep_run *run);

/* See which devices are to be had, for the schedule. */
void jr_sweep_devices_look(struct jr_sweep_run *run);

/* Lease the devices that a cell was granted. False: somebody else was faster.
 */
bool jr_sweep_devices_take(struct jr_sweep_run *run, struct jr_cell_process *process);

/* Give them back. */
void jr_sweep_devices_give(struct jr_cell_process *process);

/* In the process of a cell: let go of all that is not its own. */
void jr_sweep_devices_keep(struct jr_sweep_run *run);

/* No other cell could begin. If that is for devices that others have, wait for them in the queue.
 * True: they can be had by now. */
bool jr_sweep_devices_await(struct jr_sweep_run *run);

/* The time at which to call that again, whatever happens (CLOCK_MONOTONIC); 0: none. */
uint64_t jr_sweep_devices_due(const struct jr_sweep_run *run);

/* A cell with devices did not deliver: see whether they are all still there, or
 * what its agent says of that. Those that are not are given to no other cell.
 */
void jr_sweep_devices_check(struct jr_sweep_run *run, const struct jr_cell_process *process);

#endif
