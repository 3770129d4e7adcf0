/*
 * A kernel without some system calls, or a sandbox that refuses them, by a seccomp filter.
 *
 * usage: deny CALL=ERROR[,CALL=ERROR...] PROGRAM [ARGUMENT...]
 *
 * CALL is a name of the table below, or `all`; ERROR is ENOSYS, EPERM or EINVAL. A later pair for
 * the same call counts. The program and all that it starts get the error for the call.
 */
#include "deny.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of waitid, what waits for a pidfd alone. */
static const char *const names[] = {"memfd_create", "pidfd_send_signal", "pidfd_open",
                                    "clone3",       "close_range",       "openat2",
                                    "faccessat2",   "epoll_pwait2",      "waitid"};

enum { CALLS = sizeof names / sizeof *names };

static struct deny_call calls[CALLS] = {
    {SYS_memfd_create, 0}, {424, 0}, {434, 0}, {435, 0}, {436, 0}, {437, 0}, {439, 0}, {441, 0},
    {SYS_waitid, 0}};

static unsigned read_error(const char *name)
{
    if (strcmp(name, "ENOSYS") == 0)
        return ENOSYS;
    if (strcmp(name, "EPERM") == 0)
        return EPERM;
    return strcmp(name, "EINVAL") == 0 ? EINVAL : 0;
}

static int read_pairs(char *text)
{
    for (char *pair; (pair = strsep(&text, ",")) != NULL;) {
        char *error = strchr(pair, '=');
        int found = 0;
        if (error == NULL || read_error(error + 1) == 0)
            return -1;
        *error++ = '\0';
        for (int i = 0; i < CALLS; i++)
            if (strcmp(pair, "all") == 0 || strcmp(pair, names[i]) == 0) {
                calls[i].error = read_error(error);
                found = 1;
            }
        if (!found)
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3 || read_pairs(argv[1]) != 0) {
        (void)fprintf(stderr, "usage: deny CALL=ERROR[,...] PROGRAM ...\n");
        return 2;
    }
    if (!deny(calls, CALLS)) {
        perror("deny: no filter can be installed here");
        return 77;
    }
    (void)execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
