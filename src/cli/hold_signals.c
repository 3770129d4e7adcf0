#include "cli/hold_signals.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "session/foreground.h"

#include "base/banned.h"

static const int stops[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

enum { STOPS = sizeof stops / sizeof stops[0] };

void jr_hold_signals(const struct jr_session *session)
{
    sigset_t set;
    jr_session_signals(session, &set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static void exit_by_signal(int sig)
{
    _exit(128 + sig);
}

void jr_hold_end(void)
{
    sigset_t held, set;
    (void)sigprocmask(SIG_BLOCK, NULL, &held);
    while (sigtimedwait(&held, NULL, &(struct timespec){0}) > 0)
        continue;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTSTP);
    (void)sigaddset(&set, SIGCONT);
    for (int i = 0; i < STOPS; i++) {
        struct sigaction action;
        (void)sigaddset(&set, stops[i]);
        if (sigaction(stops[i], NULL, &action) == 0 &&
            action.sa_handler == SIG_DFL)
            (void)signal(stops[i], exit_by_signal);
    }
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}
