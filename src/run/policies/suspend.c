/*
 * Suspending a run: Ctrl-Z, or SIGTSTP by any other way.
 *
 * The ranks get SIGSTOP, each with its group, and no further one is started. No
 * time passes for them: timeouts stand still and go on with what they had left
 * once SIGCONT comes. A stop that has begun is not suspended, nor is its grace.
 */
#include "run/policies/suspend.h"

#include "run/runner.h"

#include "base/banned.h"

void jr_suspend_begin(struct jr_runner *runner)
{
    jr_loop_pause(&runner->loop);
    jr_status_pause(&runner->status);
    jr_runner_tell_all(runner, JR_RANK_ON_SUSPEND, 0);
}

void jr_suspend_end(struct jr_runner *runner)
{
    if (runner->loop.paused_ns != 0)
        jr_status_resume(&runner->status);
    uint64_t stood = jr_loop_resume(&runner->loop);
    jr_exit_barrier_shift(runner, stood);
    jr_fork_stall_shift(runner, stood);
    jr_output_timeout_shift(runner, stood);
    jr_runner_tell_all(runner, JR_RANK_ON_RESUME, 0);
    jr_inject_resumed(runner);
}
