/*
 * What the kernel tells of processes and threads: proc(5), /proc/PID/stat, and in which control
 * groups they are.
 */
#ifndef JR_PROC_H
#define JR_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process, or a thread of one. */
struct jr_proc {
    pid_t pid, parent, session;
    char state;    /* R running, S sleeping, D uninterruptible, T stopped... */
    char name[64]; /* as the kernel has it; may hold any byte but NUL */
    uint32_t threads;
    uint64_t cpu_ns;      /* it has used, in clock ticks' steps */
    uint64_t start_ticks; /* when it began, since the boot */
    uint64_t rss_bytes;
    uint32_t flags;   /* PF_* of the kernel's sched.h */
    uint32_t pending; /* signals that wait for this thread, bit N-1 for N */
};

/* Whether it is on its way out: it exits, or dies by a signal, or was sent one that no process
 * survives. Its descriptors may be closed long before it can be reaped. */
bool jr_proc_is_exiting(const struct jr_proc *proc);

/* The value that the process had for a variable of its environment when it began. False where that
 * cannot be seen, or `ret` is too small. */
bool jr_proc_variable(pid_t pid, const char *name, char *ret, size_t size);

/* Whether the process ignores the signal, by /proc/PID/status (SigIgn); `pid` is its number in
 * /proc. False where that cannot be seen. */
bool jr_proc_ignores(pid_t pid, int sig);

/* Read the file `path`, /proc/PID/stat or /proc/PID/task/TID/stat. False when it is not there, or
 * is none. */
bool jr_proc_read(struct jr_proc *ret, const char *path);

/* The same of a process by its number. */
bool jr_proc_of(struct jr_proc *ret, int64_t pid);

/* The same of a process by its number in our PID namespace, held by a pidfd while it is read: /proc
 * may belong to another namespace, in which the process has another number. Without pidfds, by the
 * numbers that /proc/PID/status lists (NSpid). */
bool jr_proc_own(struct jr_proc *ret, pid_t pid);

/* The number that /proc has for the process of a pidfd, by the folder `proc_fd` (AT_FDCWD: /proc
 * itself); 0 where it has none. */
pid_t jr_proc_number(int proc_fd, int pidfd);

/* The same of a child of ours, `pid` in our PID namespace, without a pidfd: by the lists of numbers
 * in /proc/PID/status (NSpid, Linux 4.1). 0 where it has none, or the kernel lists no children
 * (CONFIG_PROC_CHILDREN). */
pid_t jr_proc_child_number(int proc_fd, pid_t pid);

/* Whether /proc has the numbers of our own PID namespace. */
bool jr_proc_is_ours(void);

/* What tells our PID namespace from others of this boot (the inode of /proc/self/ns/pid,
 * pid_namespaces(7)); 0: unknown. */
uint64_t jr_proc_namespace(void);

/* All processes that are seen, by parent and then by number; malloc'ed, NULL if memory runs out or
 * /proc is missing. */
struct jr_proc *jr_proc_all(size_t *ret_count);

/* The process `pid` and its descendants out of such a list, parents before their children, as
 * indices into it: at most `most`. Returns how many; 0 when it is not in the list. */
size_t jr_proc_family(const struct jr_proc *all, size_t count, pid_t pid, size_t *ret, size_t most);

/*
 * Where a control group controller of a process lives: version 1, version 2, or both at once
 * (hybrid), seen from inside a cgroup namespace or not. From the texts of /proc/self/cgroup and
 * /proc/self/mountinfo (cgroups(7), proc(5)).
 */
struct jr_cgroup_hierarchy {
    bool v2;
    bool shown;        /* `leaf` is the process's own group. Else the mount
                          shows other ones, as in a container: its topmost is
                          the container's, which binds the process too */
    const char *point; /* where it is mounted; NULL: nowhere */
    const char *leaf;  /* the group below it: "", or "/a/b" */
};

/* Find the hierarchy of `controller` ("cpu", "memory"; NULL: the one of version 2). Both texts are
 * changed, and what is found points into them; NULL texts have nothing in them. */
struct jr_cgroup_hierarchy jr_cgroup_hierarchy_find(char *groups, char *mounts,
                                                    const char *controller);

#endif
