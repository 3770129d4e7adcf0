/*
 * To be preloaded: a signal that comes at the very end. jobrun sends itself the signal number LATE
 * when it puts results.json in its place, before and after, and again when it exits.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void send_late_signal(void)
{
    const char *number = getenv("LATE");
    if (number != NULL && strcmp(program_invocation_short_name, "jobrun") == 0)
        (void)kill(getpid(), atoi(number));
}

int renameat(int old_dir, const char *old, int new_dir, const char *new)
{
    int (*real)(int, const char *, int, const char *);
    *(void **)&real = dlsym(RTLD_NEXT, "renameat");
    bool last = strcmp(new, "results.json") == 0;
    if (last)
        send_late_signal();
    int result = real(old_dir, old, new_dir, new);
    if (last)
        send_late_signal();
    return result;
}

__attribute__((destructor)) static void on_exit_of_process(void)
{
    send_late_signal();
}
