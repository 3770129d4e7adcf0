/*
 * peak COMMAND [ARG...]: run a command without its output and print the peak memory, in KiB, of the
 * largest process that it waited for. A program of its own, because a process that is started
 * counts the memory of the one that started it, and Python is larger than what is measured.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    pid_t pid;
    int status;
    if (argc < 2 || posix_spawn_file_actions_init(&actions) != 0)
        return 2;
    (void)posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&pid, argv[1], &actions, NULL, argv + 1, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (failed || wait4(pid, &status, 0, &usage) < 0)
        return 2;
    printf("%ld\n", usage.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
