/*
 * What git says of the folder that a spec lies in: the commit, by reading
 * .git; and whether tracked files differ from it, by one `git status` that
 * runs while the caller does something else. Hooks, monitors and locks are
 * off, and the wait for it is bounded.
 *
 *     struct jr_git git = JR_GIT_INIT;
 *     jr_git_start(&git, folder, environ);
 *     ... make the plan ...
 *     jr_git_finish(&git, 300);
 *
 * Finish before jr_run: a run ends every descendant that it finds.
 */
#ifndef JR_GIT_H
#define JR_GIT_H

#include <stdbool.h>
#include <sys/types.h>

struct jr_git {
    char commit[72];  /* hex; "" where it could not be told */
    bool dirty_known; /* false: no git, no work tree, or no time */
    bool dirty;
    pid_t pid; /* of `git status`, until it is finished; 0: none */
    int fd;    /* its output */
};

#define JR_GIT_INIT ((struct jr_git){.fd = -1})

/* Find the work tree around the absolute path `folder`, read its commit, and
 * start `git status` with `envp` less what begins with GIT_. Nothing happens if
 * there is no work tree or no git. */
void jr_git_start(struct jr_git *git, const char *folder, char *const *environ);

/* Wait for it, at most `timeout_ms`; after that it is killed. Safe to call
 * twice, and after a start that did nothing. */
void jr_git_finish(struct jr_git *git, int timeout_ms);

#endif
