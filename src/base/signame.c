#include "signame.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "banned.h"

void jr_signal_name(char out[static 16], int signal)
{
    const char *name = sigabbrev_np(signal);
    if (name != NULL)
        (void)snprintf(out, 16, "SIG%s", name);
    else if (signal == SIGRTMIN)
        (void)snprintf(out, 16, "SIGRTMIN");
    else if (signal > SIGRTMIN && signal <= SIGRTMAX)
        (void)snprintf(out, 16, "SIGRTMIN+%d", signal - SIGRTMIN);
    else
        (void)snprintf(out, 16, "signal %d", signal);
}

int jr_signal_of(const char *name)
{
    char candidate[16];
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        jr_signal_name(candidate, signal);
        if (strcmp(candidate, name) == 0)
            return signal;
    }
    return 0;
}
