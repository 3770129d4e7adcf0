/*
 * pump N PROGRAM [ARG...]: the lower bound for a launcher that keeps output.
 * Starts N processes with a pipe each, and writes what comes out of a pipe twice:
 * into the file raw.I in the current folder, and to standard output. It has no
 * eye for lines.
 */
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64, SIZE = 1 << 20 };

static int start(char **argv, int *ret_pipe)
{
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0 || posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    (void)fcntl(ends[1], F_SETPIPE_SZ, SIZE);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    int failed = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    *ret_pipe = ends[0];
    return failed ? -1 : 0;
}

static int open_raw(int i)
{
    char name[32];
    (void)snprintf(name, sizeof name, "raw.%d", i);
    return open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

/* Returns false at the end. */
static bool move(int from, int raw)
{
    static char bytes[SIZE];
    ssize_t len = read(from, bytes, sizeof bytes);
    if (len <= 0)
        return false;
    if (write(raw, bytes, (size_t)len) != len || write(1, bytes, (size_t)len) != len)
        exit(1);
    return true;
}

int main(int argc, char **argv)
{
    struct pollfd pipes[MOST];
    int raw[MOST], open = argc < 3 ? 0 : (int)strtol(argv[1], NULL, 10);
    nfds_t count = (nfds_t)open;
    if (open < 1 || open > MOST)
        return 2;
    for (int i = 0; i < open; i++) {
        pipes[i] = (struct pollfd){.events = POLLIN};
        raw[i] = open_raw(i);
        if (raw[i] < 0 || start(argv + 2, &pipes[i].fd) != 0)
            return 1;
    }
    while (open > 0 && poll(pipes, count, -1) > 0)
        for (nfds_t i = 0; i < count; i++)
            if (pipes[i].revents != 0 && !move(pipes[i].fd, raw[i])) {
                pipes[i].fd = -1;
                open--;
            }
    while (wait(NULL) > 0)
        continue;
    return 0;
}
