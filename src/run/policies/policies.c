/*
 * The policies, as internal.h declares them. The order of the rows is the order of the calls. It
 * matters when a rank has ended:
 *
 * - `oom`, `fork_stall` and `fault_injection` settle how it ended: whom a
 *   SIGKILL came from, and what an end stands for that jobrun brought about.
 * - `exit_barrier` reads the rank's last message, which may be that it
 * returned; `mpi_world` reads whether it finalized or aborted MPI;
 * `pin_results` then looks at what a rank that ended well has delivered.
 * - `rank_events` writes the end as it stands now, before anything that
 *   follows from it.
 * - `first_exit_timeout` sees that a rank ended well before `stop` decides what
 *   the end means to the others, and asks `first_failure` for that.
 *
 * At a stop, `exit_barrier` lets go of those that have returned before `stop` sends its signal.
 */
#include "run/internal.h"

#include "base/banned.h"

static const struct jr_runner_policy *const policies[] = {
    &jr_commands_policy,
    &jr_lease_callers_policy,
    &jr_oom_policy,
    &jr_fork_stall_policy,
    &jr_fault_injection_policy,
    &jr_exit_barrier_policy,
    &jr_mpi_world_policy,
    &jr_pin_results_policy,
    &jr_rank_events_policy,
    &jr_first_exit_timeout_policy,
    &jr_first_failure_policy,
    &jr_deadline_policy,
    &jr_preemption_policy,
    &jr_hang_policy,
    &jr_output_timeout_policy,
    &jr_steps_policy,
    &jr_stop_policy,
    &jr_progress_policy,
};

#define COUNT (sizeof policies / sizeof policies[0])

int jr_policies_open(struct jr_runner *runner)
{
    for (size_t i = 0; i < COUNT; i++)
        if (policies[i]->open != NULL && policies[i]->open(runner) != 0)
            return -1;
    return 0;
}

/* Call a hook that cannot fail. */
#define CALL(hook, ...)                                                                            \
    do {                                                                                           \
        for (size_t i = 0; i < COUNT; i++)                                                         \
            if (policies[i]->hook != NULL)                                                         \
                policies[i]->hook(__VA_ARGS__);                                                    \
    } while (0)

void jr_policies_rank_started(struct jr_rank_run *rank)
{
    CALL(rank_started, rank);
}

void jr_policies_rank_ended(struct jr_rank_run *rank)
{
    CALL(rank_ended, rank);
}

void jr_policies_stopping(struct jr_runner *runner)
{
    CALL(stopping, runner);
}

void jr_policies_suspended(struct jr_runner *runner)
{
    CALL(suspended, runner);
}

void jr_policies_resumed(struct jr_runner *runner, uint64_t paused_ns)
{
    CALL(resumed, runner, paused_ns);
}

void jr_policies_close(struct jr_runner *runner)
{
    CALL(close, runner);
}

void jr_policies_print(struct jr_buf *out)
{
    for (size_t i = 0; i < COUNT; i++) {
        jr_buf_printf(out, "%-18s |", policies[i]->name);
#define WORD(hook, parameters, type)                                                               \
    jr_buf_printf(out, " %-12s", policies[i]->hook != NULL ? #hook : "-");
        JR_POLICY_HOOKS(WORD)
#undef WORD
        jr_buf_char(out, '\n');
    }
}
