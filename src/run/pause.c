#include "pause.h"

#include "clock.h"

#include "banned.h"

void jr_pause_open(struct jr_pause *ret, const struct jr_policy *policy,
                   const sigset_t *ignored)
{
    sigset_t taken;
    jr_signals_make(&ret->signals, policy, ignored);
    jr_signals_set(&ret->signals, &taken);
    (void)sigprocmask(SIG_BLOCK, &taken, &ret->mask);
}

int jr_pause_wait(const struct jr_pause *pause, uint64_t ms)
{
    uint64_t now = jr_clock_ns(), ns = UINT64_MAX - now;
    if (ms < ns / 1000000)
        ns = ms * 1000000;
    return jr_signals_await(&pause->signals, now + ns);
}

void jr_pause_close(const struct jr_pause *pause)
{
    while (jr_signals_await(&pause->signals, 0) != 0)
        continue;
    (void)sigprocmask(SIG_SETMASK, &pause->mask, NULL);
}
