#include "base/signal_name.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

/* The names, by number; sigabbrev_np(3) is younger than many C libraries. */
static const char *const signal_names[] = {
    [SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",       [SIGQUIT] = "SIGQUIT",
    [SIGILL] = "SIGILL",   [SIGTRAP] = "SIGTRAP",     [SIGABRT] = "SIGABRT",
    [SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",       [SIGKILL] = "SIGKILL",
    [SIGUSR1] = "SIGUSR1", [SIGSEGV] = "SIGSEGV",     [SIGUSR2] = "SIGUSR2",
    [SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM",     [SIGTERM] = "SIGTERM",
    [SIGCHLD] = "SIGCHLD", [SIGSTKFLT] = "SIGSTKFLT", [SIGCONT] = "SIGCONT",
    [SIGSTOP] = "SIGSTOP", [SIGTSTP] = "SIGTSTP",     [SIGTTIN] = "SIGTTIN",
    [SIGTTOU] = "SIGTTOU", [SIGURG] = "SIGURG",       [SIGXCPU] = "SIGXCPU",
    [SIGXFSZ] = "SIGXFSZ", [SIGVTALRM] = "SIGVTALRM", [SIGPROF] = "SIGPROF",
    [SIGPOLL] = "SIGPOLL", [SIGWINCH] = "SIGWINCH",   [SIGPWR] = "SIGPWR",
    [SIGSYS] = "SIGSYS",
};

enum { SIGNAL_NAMES = sizeof signal_names / sizeof *signal_names };

void jr_signal_name(char out[static JR_SIGNAL_NAME], int signal)
{
    const char *name =
        signal > 0 && signal < SIGNAL_NAMES ? signal_names[signal] : NULL;
    if (name != NULL)
        (void)snprintf(out, JR_SIGNAL_NAME, "%s", name);
    else if (signal == SIGRTMIN)
        (void)snprintf(out, JR_SIGNAL_NAME, "SIGRTMIN");
    else if (signal > SIGRTMIN && signal <= SIGRTMAX)
        (void)snprintf(out, JR_SIGNAL_NAME, "SIGRTMIN+%d", signal - SIGRTMIN);
    else
        (void)snprintf(out, JR_SIGNAL_NAME, "signal %d", signal);
}

int jr_signal_of(const char *name)
{
    char candidate[JR_SIGNAL_NAME];
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        jr_signal_name(candidate, signal);
        if (strcmp(candidate, name) == 0)
            return signal;
    }
    return 0;
}
