/*
 * A PID namespace of the run's own (pid_namespaces(7)), with the runner as its init: when that
 * ends, in whatever way, the kernel ends every process in it.
 *
 * It comes with a mount namespace in which /proc is the run's own: a rank that looks at /proc/ and
 * its own pid would see some other process in the machine's. Mounts of the machine still appear in
 * it, and none of its own outside. Who is not root needs a user namespace for all that; it maps the
 * user and the group to themselves.
 */
#ifndef JR_ISOLATION_H
#define JR_ISOLATION_H

#include <sys/types.h>

#include <jobrun/error.h>

struct jr_group;

/* fork(2) into namespaces and the group (NULL: none). The child returns 0 as pid 1, in a process
 * that has to go through jr_isolate_settle; the caller, a child subreaper, is its parent and gets
 * its pid here, or -1 with `err`, which says what is to be done. */
pid_t jr_isolate_fork(const struct jr_group *group, struct jr_error *err);

/* In the child: give it its own /proc. Keeps a descriptor of the machine's in
 * *ret_proc, at least `at_least`. 0, or -1 with errno. */
int jr_isolate_settle(int *ret_proc, int at_least);

/* The number that a process has on the machine, which is what people see, by
 * its pidfd and the machine's /proc in `proc_fd`; `pid`, its number here, where
 * `proc_fd` is -1 or the other is not to be had. */
pid_t jr_isolate_host_pid(int proc_fd, int pidfd, pid_t pid);

#endif
