/* Ending a run: who decides that it is to end, and how that is done; see stop.c. */
#ifndef JR_STOP_H
#define JR_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include <jobrun/run.h>

#include "eventloop/loop.h"
#include "run/policies/policies.h"

/* How long a process is waited for that SIGKILL does not end. */
#define JR_KILL_WAIT_NS (10 * UINT64_C(1000000000))

/* What the policy remembers. */
struct jr_stop {
    bool begun;            /* no further rank is started */
    bool forced;           /* SIGKILL was sent */
    bool given_up;         /* what is left does not die */
    uint64_t signalled_ns; /* when jobrun was last told to stop */
    uint32_t groups_gone;  /* ranks, from the first on, without a group left */
    struct jr_timer start, run, grace, kill;
};

extern const struct jr_runner_policy jr_stop_policy;

/* Record that a timeout has passed which ends the run; the first one counts. */
void jr_stop_timed_out(struct jr_runner *runner, enum jr_timeout by);

/* End the run: stop signal, SIGCONT, the grace, SIGKILL. Once. */
void jr_stop_begin(struct jr_runner *runner);

/* Whether the failure of a rank ends the run. */
bool jr_stop_follows(const struct jr_rank_run *rank);

/* A rank that has ended has failed: end the run, at once or, where its cause is not known yet, a
 * while later, if that is what failures do. */
void jr_stop_failed(struct jr_rank_run *rank);

/* Send SIGKILL now. */
void jr_stop_force(struct jr_runner *runner);

/* jobrun was sent a signal that stops it: the first begins, another forces. */
void jr_stop_signal(struct jr_runner *runner, int sig);

/* The same of one that came at `since_ns`, and had to be understood first:
 * ranks that it had ended by then share it. */
void jr_stop_signal_since(struct jr_runner *runner, int sig, uint64_t since_ns);

/* All ranks have started: `timeouts.start` counts no more. */
void jr_stop_end_start(struct jr_runner *runner);

/* Whether the run is being stopped, so that no further rank starts. */
bool jr_stop_has_begun(const struct jr_runner *runner);

/* Whether SIGKILL was sent. */
bool jr_stop_is_forced(const struct jr_runner *runner);

/* Whether what is left has not died of SIGKILL within JR_KILL_WAIT_NS. */
bool jr_stop_has_given_up(const struct jr_runner *runner);

/* Once no rank runs or is to come: whether they left processes in their groups, which were told to
 * stop and still have the grace. */
bool jr_stop_waits(struct jr_runner *runner);

/* When SIGKILL follows, by the monotonic clock; 0: it does not, or was sent. */
uint64_t jr_stop_kills_at(const struct jr_runner *runner);

/* Whether jobrun was told to stop by a signal. */
bool jr_stop_was_signalled(const struct jr_runner *runner);

#endif
