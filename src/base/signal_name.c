#include "base/signal_name.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

void jr_signal_name(char out[static JR_SIGNAL_NAME], int signal)
{
    const char *name = sigabbrev_np(signal);
    if (name != NULL)
        (void)snprintf(out, JR_SIGNAL_NAME, "SIG%s", name);
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
