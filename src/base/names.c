#include "base/names.h"

#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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
    const char *name = signal > 0 && signal < SIGNAL_NAMES ? signal_names[signal] : NULL;
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

/* The entry of a user, or NULL. Its strings lie in `text`. The first call in a process reads
 * nsswitch.conf(5) and loads what it names; glibc 2.36 crashes where there is no memory for that,
 * so it is not begun without some. */
static const struct passwd *read_entry(struct passwd *entry, char *text, size_t size, uid_t user)
{
    enum { NAME_SERVICE = 64 << 10 };
    void *volatile spare = malloc(NAME_SERVICE);
    struct passwd *found = NULL;
    free(spare);
    if (spare == NULL)
        return NULL;
    return getpwuid_r(user, entry, text, size, &found) == 0 ? found : NULL;
}

char *jr_user_name(struct jr_arena *arena, uid_t user)
{
    char text[4096];
    struct passwd entry;
    const struct passwd *found = read_entry(&entry, text, sizeof text, user);
    return found == NULL ? jr_arena_printf(arena, "%u", (unsigned)user)
                         : jr_arena_strdup(arena, found->pw_name);
}

void jr_user_print(struct jr_buf *out, uid_t user)
{
    char text[4096];
    struct passwd entry;
    const struct passwd *found = read_entry(&entry, text, sizeof text, user);
    if (found == NULL) {
        jr_buf_printf(out, "%u", (unsigned)user);
        return;
    }
    jr_buf_safe(out, found->pw_name);
    jr_buf_printf(out, " (uid %u)", (unsigned)user);
}
