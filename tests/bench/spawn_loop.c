/*
 * spawn_loop N PROGRAM [ARG...]: the bare lower bound for a launcher. Starts N
 * processes by posix_spawn, then waits for all of them.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    long count = strtol(argv[1], NULL, 10);
    int failed = 0;
    for (long i = 0; i < count; i++) {
        pid_t pid;
        if (posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0) {
            perror(argv[2]);
            return 1;
        }
    }
    for (int status; wait(&status) > 0;)
        failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return failed;
}
