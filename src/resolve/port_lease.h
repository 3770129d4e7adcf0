/*
 * The port lease. A port is leased by a socket in the abstract Unix namespace that is named after
 * it: all users of a network namespace see the same names, and the kernel lets go of one when its
 * holder dies.
 *
 * Anybody can take such names. A lease of another user counts as long as that user holds no more of
 * them than jobs need; beyond that the trial bind decides, and a name with our number in it keeps
 * our own jobs apart.
 */
#ifndef JR_PORT_LEASE_H
#define JR_PORT_LEASE_H

#include <stdint.h>
#include <sys/types.h>

#include <jobrun/error.h>

#include "resolve/lease_socket.h"

/* The leases that one user can hold and have honoured by others. */
#define JR_LEASES_MOST 256

/* Lease `port` and bind it for a trial on both IP versions, as a server would that does not mind
 * TIME_WAIT. Returns the lease, a descriptor that is closed on exec, or -1; err->sys is EADDRINUSE
 * when somebody has the port, and the text then says who. */
int jr_lease_take(uint32_t port, struct jr_error *err);

/* The same for a port that nobody has asked for: tried as a program without options binds it, so
 * that one in TIME_WAIT is not free. */
int jr_lease_choose(uint32_t port, struct jr_error *err);

/* Lease any port that the kernel finds free. */
int jr_lease_any(uint32_t *ret_port, struct jr_error *err);

/* The process that listens on a TCP port, by the descriptors of the processes that may be looked
 * into, and its user, by /proc/net/tcp. */
struct jr_holder jr_lease_owner(uint32_t port);

#endif
