/* The signals that jobrun takes, and what each means to a run: one table for
 * guard and runner. */
#ifndef JR_SIGNALS_H
#define JR_SIGNALS_H

#include <signal.h>

#include "run.h"

enum jr_signal_use {
    JR_SIGNAL_NONE,
    JR_SIGNAL_STOP,
    JR_SIGNAL_FORWARD,
    JR_SIGNAL_SUSPEND,
    JR_SIGNAL_RESUME
};

enum jr_signal_use jr_signal_use(int sig);

/* The signals to block and read: all of the table, without those that were
 * ignored on entry. */
void jr_signal_set(sigset_t *ret, const struct jr_run_options *options);

/* The next signal of a signalfd(2), 0 when there is none; *ret_pid is whose
 * it speaks of. */
int jr_signal_read(int fd, pid_t *ret_pid);

#endif
