/* The signals that jobrun takes, and what each means to a run: one table for guard and runner. */
#ifndef JR_SIGNALS_H
#define JR_SIGNALS_H

#include <signal.h>
#include <sys/types.h>

#include <jobrun/policy.h>

enum jr_signal_use {
    JR_SIGNAL_NONE, /* not taken */
    JR_SIGNAL_DROP, /* taken, and nothing else */
    JR_SIGNAL_STOP,
    JR_SIGNAL_FORWARD,
    JR_SIGNAL_SUSPEND,
    JR_SIGNAL_RESUME
};

struct jr_signals {
    enum jr_signal_use use[NSIG]; /* by number */
};

/* The signals that the caller was started to ignore, for example by nohup; the ranks ignore them,
 * too. It does not include SIGPIPE and SIGXFSZ, which jobrun itself ignores, or SIGCHLD, which is
 * needed to wait for children. */
void jr_signals_ignored(sigset_t *ret);

/* The usual uses, then the policy's. What was ignored on entry is not taken, except for SIGTERM:
 * there must be a way to stop a run. */
void jr_signals_make(struct jr_signals *ret, const struct jr_policy *policy,
                     const sigset_t *ignored);

/* The number of "USR1" or "RTMIN+3"; 0 if it is not one. */
int jr_signals_number(const char *name);

/* The signals to block and read. */
void jr_signals_set(const struct jr_signals *signals, sigset_t *ret);

/* Wait for a signal that stops a run, while all that jr_signals_set names are blocked: until
 * `until_ns` (CLOCK_MONOTONIC; 0: take what is pending), then returns 0. Suspends the process where
 * a signal says so; others are lost. */
int jr_signals_await(const struct jr_signals *signals, uint64_t until_ns);

/* Open a signalfd(2) of the signals that stop a run with this policy: it is readable while one that
 * is blocked is pending, which stays so, for nobody reads it. -1 with errno. */
int jr_signals_open_stops(const struct jr_policy *policy);

/* The next signal of a signalfd(2), 0 if there is none; *ret_pid is the process that it is
 * about. */
int jr_signal_read(int fd, pid_t *ret_pid);

#endif
