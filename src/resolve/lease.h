/*
 * Leases: sockets in the abstract Unix namespace (unix(7)), whose names all users of a network
 * namespace share. Only one socket can have a name, the kernel takes it back when the last process
 * with the socket dies, and who connects to it is told by the kernel whose it is.
 *
 * Nothing is said through such a connection. It is an end by which a process sees that the lease
 * was given back: the kernel hangs up then. Holders accept what has come and close what has left
 * (base/backlog.h); who is hung up before the lease is given back, because one of two processes
 * that hold it has ended, looks again.
 *
 * A port is leased by a socket that is named after it. Anybody can take such names. A lease of
 * another user counts as long as that user holds no more of them than jobs need; beyond that the
 * trial bind decides, and a name with our number in it keeps our own jobs apart. Devices are in
 * device_lease.h.
 */
#ifndef JR_LEASE_H
#define JR_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jobrun/error.h>

#include "base/buf.h"

/* The bytes of a name, its end included (sun_path of unix(7) less one). */
#define JR_LEASE_NAME_SIZE 108

/* Who holds a lease or a port. */
struct jr_holder {
    pid_t pid; /* 0: unknown, or of a PID namespace that is not seen here */
    uid_t uid; /* -1: unknown */
};

#define JR_HOLDER_UNKNOWN ((struct jr_holder){.uid = (uid_t)-1})

/* Append "pid 4711", and whose it is unless it is the caller's own: "pid 4711 of user bob (uid
 * 1001)", "another process". */
void jr_holder_print(struct jr_buf *out, const struct jr_holder *holder);

/* Take a name and listen at it: bind(2), listen(2). Returns a descriptor that never blocks and is
 * closed on exec, or -1 with errno; EADDRINUSE where somebody has it. A name that is too long is
 * EINVAL. */
int jr_lease_socket_hold(const char *name);

/* Connect to whoever has a name; the descriptor hangs up when it is given back.
 * -1 with errno: ECONNREFUSED where nobody has it, EAGAIN where so many are
 * connected that no more can be. */
int jr_lease_socket_connect(const char *name);

/* The process that took a name, by SO_PEERCRED of socket(7): what it says of itself is not
 * asked. */
struct jr_holder jr_lease_socket_holder(const char *name);

/* Call `take` with every name that begins with `prefix` and that a socket listens at, until it
 * returns false; /proc/net/unix. Where that cannot be read, there are none. */
void jr_lease_socket_list(const char *prefix, bool (*take)(void *data, const char *name),
                          void *data);

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
