/*
 * Another program beside us: git, srun, sbatch. Ranks are not started by this (spawn/start.h).
 */
#ifndef JR_SUBPROCESS_H
#define JR_SUBPROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* What a program is started with. */
struct jr_subprocess {
    const char *path; /* NULL: argv[0], as execvp(3) looks for it in PATH */
    char *const *argv, *const *envp;
    const int *fds; /* three that become its 0, 1 and 2; -1: /dev/null */
    bool group;     /* leads a process group of its own */
    bool session;   /* in a session of its own, with no signal blocked, caught
                       or ignored */
    bool dies;      /* is killed when the calling thread ends */
};

/* Start a program: posix_spawnp(3), which in C libraries from 2.34 on fails where a sandbox refuses
 * clone3(2) with EPERM; then, and where it is to die with us, by fork(2). Returns its pid, or -1
 * with errno. */
pid_t jr_subprocess_start(const struct jr_subprocess *program);

#endif
