#include "signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "banned.h"

struct signal_row {
    int sig;
    enum jr_signal_use use;
};

static const struct signal_row table[] = {
    {SIGTERM, JR_SIGNAL_STOP},    {SIGINT, JR_SIGNAL_STOP},
    {SIGHUP, JR_SIGNAL_STOP},     {SIGQUIT, JR_SIGNAL_STOP},
    {SIGUSR1, JR_SIGNAL_FORWARD}, {SIGUSR2, JR_SIGNAL_FORWARD},
    {SIGTSTP, JR_SIGNAL_SUSPEND}, {SIGCONT, JR_SIGNAL_RESUME},
};

enum jr_signal_use jr_signal_use(int sig)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].sig == sig)
            return table[i].use;
    return JR_SIGNAL_NONE;
}

void jr_signal_set(sigset_t *ret, const struct jr_run_options *options)
{
    (void)sigemptyset(ret);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        (void)sigaddset(ret, table[i].sig);
    if (!options->stop_on_hup)
        (void)sigdelset(ret, SIGHUP);
    if (!options->stop_on_int)
        (void)sigdelset(ret, SIGINT);
}

int jr_signal_read(int fd, pid_t *ret_pid)
{
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
        return 0;
    *ret_pid = (pid_t)info.ssi_pid;
    return (int)info.ssi_signo;
}
