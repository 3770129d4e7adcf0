#include "run/between_attempts.h"

#include <poll.h>
#include <sys/signalfd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "output/replay.h"

#include "base/banned.h"

void jr_between_attempts_open(struct jr_between_attempts *ret, const struct jr_policy *policy,
                              const sigset_t *ignored)
{
    sigset_t taken;
    jr_signals_make(&ret->signals, policy, ignored);
    jr_signals_set(&ret->signals, &taken);
    (void)sigprocmask(SIG_BLOCK, &taken, &ret->mask);
}

/* Sleep until a signal has come, all is shown, or the time is over. */
static void show_replay_until(const struct jr_between_attempts *pause, uint64_t until_ns,
                              struct jr_replay *replay)
{
    sigset_t taken;
    jr_signals_set(&pause->signals, &taken);
    JR_CLOSE int signals = signalfd(-1, &taken, SFD_CLOEXEC);
    struct pollfd fds[] = {{.fd = replay->loop.epoll_fd, .events = POLLIN},
                           {.fd = signals, .events = POLLIN}};
    jr_replay_turn(replay);
    while (signals >= 0 && !jr_replay_is_done(replay)) {
        if (poll(fds, 2, jr_clock_poll_ms(until_ns)) <= 0 || fds[1].revents != 0)
            return;
        jr_replay_turn(replay);
    }
}

int jr_between_attempts_wait(const struct jr_between_attempts *pause, uint64_t ms,
                             struct jr_replay *replay)
{
    uint64_t now = jr_clock_ns(), ns = UINT64_MAX - now;
    if (ms < ns / 1000000)
        ns = ms * 1000000;
    if (replay != NULL)
        show_replay_until(pause, now + ns, replay);
    return jr_signals_await(&pause->signals, now + ns);
}

void jr_between_attempts_close(const struct jr_between_attempts *pause)
{
    while (jr_signals_await(&pause->signals, 0) != 0)
        continue;
    (void)sigprocmask(SIG_SETMASK, &pause->mask, NULL);
}
