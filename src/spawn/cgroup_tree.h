/*
 * The run's control group: one of cgroup version 2 (cgroups(7)), below the group that jobrun was
 * started in, where the kernel and the owner of that group let us make one: as root, in a delegated
 * subtree, below a systemd user manager. Nothing depends on it; with it the run is killed in one
 * write, and a later jobrun can end what a run left whose two processes died at once.
 *
 * The runner lives in it and gives it to all that it starts for nothing; the guard stays outside.
 * There is no leaf per rank: it would cost each start a third more, and the kernel's log names an
 * OOM-killed process anyway.
 */
#ifndef JR_CGROUP_TREE_H
#define JR_CGROUP_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the name of a run's group begins with; its id follows. */
#define JR_GROUP_PREFIX "jobrun-"

/* What the runner calls itself (PR_SET_NAME). */
#define JR_RUNNER_NAME "jobrun-runner"

struct jr_group {
    char path[PATH_MAX]; /* absolute; "": there is none */
    char home[PATH_MAX]; /* the group that it was made below */
    int lock_fd;         /* of the folder, locked while guard or runner live */
};

/* Make the group of the run `id`, and remove those of ours beside it that a killed jobrun left
 * empty, which are not locked (flock(2)). If none can be made, *ret is empty. */
void jr_group_make(struct jr_group *ret, const char *id);

/* The two halves of it, for who makes many. Find the group that this process is in, where groups
 * can be made below it, and remove from there what was left empty; "" where there is none. */
void jr_group_find_home(char ret[static PATH_MAX]);

/* Make the group of the run `id` in that; "": none is made. */
void jr_group_make_in(struct jr_group *ret, const char *home, const char *id);

/* fork(2), with the child in the group: NULL and an empty one are no group. Moving a process makes
 * the kernel wait for all processors, 20 ms and more; clone3(2) with CLONE_INTO_CGROUP does not. */
pid_t jr_group_fork(const struct jr_group *group);

/* Move the calling process into the group. An empty group is none: nothing happens. Returns 0, or
 * -1 with errno. */
int jr_group_enter(const struct jr_group *group);

/* The same, back into the group above it, as it must be before it kills. */
int jr_group_leave(const struct jr_group *group);

/* SIGKILL to every process in it and below it, however they fork meanwhile (cgroup.kill). What is
 * killed may not be started in again. */
void jr_group_kill(const struct jr_group *group);

/* Remove the folder with what ranks made below it, and let go of it; a group with processes stays
 * as it is. */
void jr_group_remove(const struct jr_group *group);

/* A group that a record names, as it is found later: whether `path` is a group of the run `id`,
 * made by this user. */
bool jr_group_is_of(const char *path, const char *id);

/* Whether the group at `path` may have a living jobrun: one of its processes is a runner, or is not
 * to be seen from our PID namespace. */
bool jr_group_may_be_led(const char *path);

/* Kill all in the group at `path`, for which jr_group_is_of must be true; wait at most `limit_ns`
 * for them to be gone and remove it. Returns how many processes there were; *ret_left is whether
 * some still are. */
uint32_t jr_group_clear(const char *path, uint64_t limit_ns, bool *ret_left);

#endif
