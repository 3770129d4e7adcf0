/*
 * spawn_loop N PROGRAM [ARG...]: the bare lower bound for a launcher. Starts N processes by
 * posix_spawn, each with its RANK, then waits for all of them. When one fails, the others are told
 * to stop.
 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int start(pid_t *ret, char **argv, long rank)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%ld", rank);
    (void)setenv("RANK", text, 1);
    return posix_spawnp(ret, argv[0], NULL, NULL, argv, environ);
}

static void stop(const pid_t *pids, long count, pid_t but)
{
    for (long i = 0; i < count; i++)
        if (pids[i] != but)
            (void)kill(pids[i], SIGTERM);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    long count = strtol(argv[1], NULL, 10);
    pid_t *pids = calloc((size_t)count + 1, sizeof *pids);
    int failed = 0;
    if (pids == NULL)
        return 1;
    for (long i = 0; i < count; i++)
        if (start(&pids[i], argv + 2, i) != 0) {
            perror(argv[2]);
            free(pids);
            return 1;
        }
    pid_t pid;
    for (int status; (pid = wait(&status)) > 0;) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        if (!failed)
            stop(pids, count, pid);
        failed = 1;
    }
    free(pids);
    return failed;
}
