/*
 * Processes by pidfds (pidfd_open(2)), and without them. A pidfd never means another process than
 * the one that it was opened on. Where the kernel has none, or a sandbox refuses them, two things
 * are as safe: a child of our own, whose number is not given away before we reap it, and the owner
 * of a descriptor (F_SETOWN, fcntl(2)), by which the kernel remembers the process and not its
 * number.
 */
#ifndef JR_PIDFD_H
#define JR_PIDFD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#define JR_P_PIDFD 3 /* the idtype of waitid(2) */

/* pidfd_open(2), which sets close-on-exec. */
int jr_pidfd_open(pid_t pid);

/* Whether the ends of processes can be watched by pidfds here. */
bool jr_pidfd_works(void);

/* A descriptor that takes the place of a child's pidfd where there is none: it is never readable,
 * and SIGCHLD tells of the end. -1 with errno. */
int jr_pidfd_stand_in(void);

/* Send a signal to the child `pid` of the caller, which was not reaped yet;
 * `pidfd` is its pidfd, a stand-in, or -1. Returns 0, or -1 with errno as
 * kill(2). */
int jr_child_signal(int pidfd, pid_t pid, int sig);

/* Take the end of such a child, without waiting, as waitid(2) does; `usage` may be NULL. Returns 0,
 * with ret->si_pid 0 while it lives, or -1 with errno. */
int jr_child_wait(int pidfd, pid_t pid, siginfo_t *ret, struct rusage *usage);

/* Whether such a child has ended; it is not reaped. */
bool jr_child_has_ended(int pidfd, pid_t pid);

/* Wait at most `limit_ms` for the end of such a child, which is not reaped; returns whether it has
 * ended. */
bool jr_child_await(int pidfd, pid_t pid, int limit_ms);

/* A process that need not be a child. */
struct jr_hold {
    int fd;         /* its pidfd, readable once it has ended; -1: none */
    pid_t pid;      /* 0: nobody is held */
    uint64_t ticks; /* its start, as /proc/PID/stat has it; 0: unknown */
};
#define JR_HOLD_NONE ((struct jr_hold){.fd = -1})

/* How often what is waited for without a pidfd is looked at. */
#define JR_HOLD_LOOK_MS 200

/* Hold the process `pid`; nobody where it is not there. What is then found out about it, is about
 * the process that is held: if it ends and its number is given away, it has ended. */
struct jr_hold jr_hold_open(pid_t pid);

/* Hold nobody; what was held goes on. */
void jr_hold_close(struct jr_hold *hold);

/* Whether it has ended; nobody has. */
bool jr_hold_has_ended(const struct jr_hold *hold);

/* Wait at most `limit_ms` for its end; whether it has ended. */
bool jr_hold_await(const struct jr_hold *hold, int limit_ms);

/* For poll(2): at most `limit_ms` (-1: for ever), or until the next look where there is no pidfd to
 * wait for. */
int jr_hold_poll_ms(const struct jr_hold *hold, int limit_ms);

/* Send it a signal, and never one to another process. Returns 0, or -1 with errno as kill(2);
 * ESRCH: it has ended. */
int jr_hold_signal(const struct jr_hold *hold, int sig);

#endif
