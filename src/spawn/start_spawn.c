#include "spawn/start.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strv.h"

#include "base/banned.h"

int jr_start_program(struct jr_starter *starter, struct jr_child *child,
                     struct jr_started *ret)
{
    bool searched = strchr(child->argv[0], '/') == NULL;
    const char *path = searched ? jr_env_get(child->env, "PATH") : NULL;
    ret->stage = JR_STAGE_EXEC;
    errno = jr_program_find(&starter->program, child->argv[0], path,
                            child->workdir);
    if (errno != 0)
        return -1;
    int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE_FILES | SIGCHLD;
    ret->pid = clone(jr_child_main, starter->stack, flags, child, &ret->pidfd);
    if (ret->pid < 0) {
        ret->stage = JR_STAGE_CLONE;
        return -1;
    }
    ret->stage = child->stage;
    if (ret->stage == JR_STAGE_NONE)
        return 0;
    (void)waitpid(ret->pid, NULL, 0);
    (void)close(ret->pidfd);
    ret->pidfd = -1;
    ret->pid = 0;
    errno = child->error;
    if (ret->stage == JR_STAGE_EXEC)
        errno = jr_program_blame(child->program, child->workdir, errno);
    return -1;
}

void jr_start_spawn(struct jr_starter *starter, const struct jr_plan_rank *rank,
                    struct jr_started *ret)
{
    struct jr_child child;
    if (jr_start_prepare(starter, rank, &child, ret) == 0)
        (void)jr_start_program(starter, &child, ret);
    jr_start_settle(ret);
}
