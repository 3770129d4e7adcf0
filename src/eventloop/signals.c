#include "eventloop/signals.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/names.h"

#include "base/banned.h"

#define NS UINT64_C(1000000000) /* a second */

void jr_signals_ignored(sigset_t *ret)
{
    (void)sigemptyset(ret);
    for (int sig = 1; sig < NSIG; sig++) {
        struct sigaction action;
        if (sig != SIGPIPE && sig != SIGXFSZ && sig != SIGCHLD &&
            sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            (void)sigaddset(ret, sig);
    }
}

int jr_signals_number(const char *name)
{
    char whole[16];
    int len = snprintf(whole, sizeof whole, "SIG%s", name);
    return len > 0 && (size_t)len < sizeof whole ? jr_signal_of(whole) : 0;
}

void jr_signals_make(struct jr_signals *ret, const struct jr_policy *policy,
                     const sigset_t *ignored)
{
    static const enum jr_signal_use configured[] = {[JR_ON_SIGNAL_FORWARD] = JR_SIGNAL_FORWARD,
                                                    [JR_ON_SIGNAL_STOP] = JR_SIGNAL_STOP,
                                                    [JR_ON_SIGNAL_IGNORE] = JR_SIGNAL_DROP};
    *ret = (struct jr_signals){
        .use = {[SIGTERM] = JR_SIGNAL_STOP,
                [SIGINT] = JR_SIGNAL_STOP,
                [SIGHUP] = JR_SIGNAL_STOP,
                [SIGQUIT] = JR_SIGNAL_STOP,
                [SIGUSR1] = JR_SIGNAL_FORWARD,
                [SIGUSR2] = JR_SIGNAL_FORWARD,
                [SIGTSTP] = JR_SIGNAL_SUSPEND,
                [SIGCONT] = JR_SIGNAL_RESUME},
    };
    for (uint32_t i = 0; i < policy->signals_count; i++) {
        int sig = jr_signals_number(policy->signals[i].name);
        if (sig != 0)
            ret->use[sig] = configured[policy->signals[i].use];
    }
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGTERM && sigismember(ignored, sig) == 1)
            ret->use[sig] = JR_SIGNAL_NONE;
}

void jr_signals_set(const struct jr_signals *signals, sigset_t *ret)
{
    (void)sigemptyset(ret);
    for (int sig = 1; sig < NSIG; sig++)
        if (signals->use[sig] != JR_SIGNAL_NONE)
            (void)sigaddset(ret, sig);
}

int jr_signals_await(const struct jr_signals *signals, uint64_t until_ns)
{
    sigset_t taken;
    jr_signals_set(signals, &taken);
    for (;;) {
        uint64_t now = until_ns == 0 ? 0 : jr_clock_ns();
        uint64_t left = until_ns > now ? until_ns - now : 0;
        struct timespec time = {.tv_sec = (time_t)(left / NS), .tv_nsec = (long)(left % NS)};
        int sig = sigtimedwait(&taken, NULL, &time);
        if (sig < 0 && errno != EINTR)
            return 0;
        enum jr_signal_use use = sig < 0 ? JR_SIGNAL_NONE : signals->use[sig];
        if (use == JR_SIGNAL_STOP)
            return sig;
        if (use == JR_SIGNAL_SUSPEND && until_ns != 0)
            (void)kill(getpid(), SIGSTOP);
    }
}

int jr_signals_open_stops(const struct jr_policy *policy)
{
    struct jr_signals signals;
    sigset_t ignored, stops;
    jr_signals_ignored(&ignored);
    jr_signals_make(&signals, policy, &ignored);
    (void)sigemptyset(&stops);
    for (int sig = 1; sig < NSIG; sig++)
        if (signals.use[sig] == JR_SIGNAL_STOP)
            (void)sigaddset(&stops, sig);
    return signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK);
}

int jr_signal_read(int fd, pid_t *ret_pid)
{
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof info) != (ssize_t)sizeof info || info.ssi_signo >= NSIG)
        return 0;
    *ret_pid = (pid_t)info.ssi_pid;
    return (int)info.ssi_signo;
}
