/*
 * What the machine and the scheduler offer: one record of facts, read through a settable root
 * prefix, so that a recorded machine is a folder of files and CI has machines that it does not
 * have.
 */
#ifndef JR_HOST_H
#define JR_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include <jobrun/error.h>
#include <jobrun/types.h>

#include "base/arena.h"
#include "host/scheduler/hostlist.h"

/* The kernel's default ephemeral ports, where the range cannot be read. */
#define JR_HOST_PORT_LOW  32768u
#define JR_HOST_PORT_HIGH 60999u

/* More CPUs than any kernel can be built for: a larger number is junk. */
#define JR_HOST_CPUS_MAX (1u << 16)

/* One accelerator of a node. */
struct jr_host_device {
    enum jr_device kind;
    uint32_t index;    /* absolute, in PCI bus order */
    const char *model; /* "NVIDIA H100 80GB HBM3" */
    const char *uuid;  /* "GPU-..."; NULL when unknown */
    const char *bus;   /* "0000:3b:00.0"; NULL when unknown */
    uint64_t memory;   /* bytes; 0 when unknown */
    int numa_node;     /* -1 when unknown */
    bool visible;      /* left by the inherited visibility variable */
};

/* A NUMA node with CPUs that this process may use. */
struct jr_host_numa {
    uint32_t index;
    const char *cpus; /* the usable ones: "0-3,8" */
};

/* Caches of a level and size, and by the usable CPUs that share it each one. */
struct jr_host_cache {
    uint32_t level;
    uint64_t size; /* bytes; 0 when unknown */
    struct jr_strv cpus;
};

/* The CPUs that this process may use. Counts are 0 when unknown. */
struct jr_host_cpus {
    uint32_t online;        /* logical CPUs that are online */
    uint32_t usable;        /* online, in affinity and in cpuset */
    uint32_t usable_cores;  /* physical cores among the usable ones */
    double quota;           /* CFS quota in CPUs; 0: none */
    const char *quota_from; /* the file that states it; NULL: none */
    const char *set;        /* usable CPUs, "0-3,8"; NULL when unknown */
    /* the usable CPUs of each usable core, by the first of them: "0,4"; no entries where every CPU
     * is a core */
    struct jr_strv cores;
    struct jr_host_numa *numa; /* no entries when unknown */
    uint32_t numa_count;
    struct jr_host_cache *caches; /* beyond the first level; no entries until
                                   they are asked for */
    uint32_t caches_count;
};

/* What the scheduler around this process says, and the launcher that started it
 * there: scheduler.h has who says it by which variable. What is not said is 0,
 * -1 or NULL. */
struct jr_host_scheduler {
    const char *name; /* "Slurm", "Open MPI under Slurm"; NULL: none */
    const char *job_id;
    bool step; /* this process is one of several, at least one per node;
                  otherwise there is one for the whole allocation */
    uint32_t nodes;
    int node_rank;
    struct jr_strv hosts;   /* one per node */
    uint32_t tasks_here;    /* processes of the step on this node */
    struct jr_counts tasks; /* per node, that the user asked for */
    bool slots;             /* those are CPU slots, no tasks that were named */
    const char *master_addr;
    uint32_t master_port;
    uint32_t restarts;   /* how often the job was started again */
    uint64_t end;        /* of the job's time, in seconds since 1970 */
    uint32_t kill_wait;  /* seconds from SIGTERM to SIGKILL, when it ends */
    const char *problem; /* why it cannot be believed; NULL: it can */
    const char *help;    /* what to do about that */
};

/* One of its variables, as `doctor` tells it. */
struct jr_host_variable {
    const char *system, *name, *value, *meaning;
    const char *fact; /* what it fills, as in a facts file; NULL: nothing */
    const char *trap; /* NULL: none */
};

/* What the environment says, of the variables that resolution may read. */
struct jr_host_environment {
    const char *backend;         /* TORCH_DISTRIBUTED_BACKEND */
    const char *omp_num_threads; /* OMP_NUM_THREADS */
    /* the visibility variable of each kind (JR_DEVICE_TRAITS); NULL: unset */
    const char *visible[JR_DEVICE_COUNT];
};

struct jr_host_problem {
    enum jr_device kind; /* whose driver; JR_DEVICE_CPU: not a device's */
    const char *message; /* what is wrong */
    const char *help;    /* what to do */
};

/* The facts of one kind of node, and how many there are. */
struct jr_host {
    const char *origin;   /* "hardware", or "--on 2x8" for a profile */
    const char *name;     /* "node 0 (gpu01)", of several; NULL: this node */
    const char *hostname; /* NULL when unknown */
    uint32_t nodes;       /* from --on; 0: says nothing */
    struct jr_host_cpus cpus;
    /* For several nodes that differ, per node: visible devices, and CPUs that ranks may use.
     * Everything else is about the first. */
    struct jr_counts devices_each, cpus_each;
    uint64_t memory; /* usable bytes; 0 when unknown */
    /* The visible ones first, in the order of the visibility variable, which is the order in which
     * ranks get them. */
    struct jr_host_device *devices;
    uint32_t devices_count;
    /* The variable that narrows devices of the user's own kind; NULL: none. */
    const char *custom_variable;
    bool custom_counted; /* all of them are known, and there may be none */
    struct jr_host_scheduler scheduler;
    struct jr_host_variable *variables; /* that the scheduler has set */
    uint32_t variables_count;
    struct jr_host_environment environment;
    struct jr_host_problem *problems; /* a driver that is there but broken, ... */
    uint32_t problems_count;
    uint32_t port_low, port_high; /* the kernel's ephemeral range */
    uint64_t now;                 /* when it was read, in seconds since 1970; 0: unknown */
    bool real;                    /* this machine, now: ports can be tried */
};

/* Read the facts of a machine into `arena`. `root` is "" for this machine, else a folder that holds
 * its proc/, sys/, dev/ and, in place of sched_getaffinity, a file `affinity`; `envp` is the
 * environment to read. Facts that cannot be read are absent, never an error; -1 only without
 * memory. */
int jr_host_probe(struct jr_host *ret, struct jr_arena *arena, const char *root, char *const *envp,
                  struct jr_error *err);

/* Append the devices of the user's own kind that `from` has, with their variable, the visible ones
 * first, as that leaves them in the environment. The texts are borrowed. Out of memory shows in the
 * arena. */
void jr_host_add_custom(struct jr_host *hw, struct jr_arena *arena, const struct jr_host *from,
                        char *const *envp);

/* Complete what was probed below `root` by facts from which nothing is resolved, and which take
 * their time: caches, the memory of NVIDIA's GPUs. Who shows facts to people asks. Out of memory
 * shows in the arena. */
void jr_host_probe_more(struct jr_host *hw, struct jr_arena *arena, const char *root);

/* Which of `hosts` this machine is: the only one that has its name, in full or up to the first dot,
 * or an address of it that is not the loopback's; -1 if there is none, or more. Looks at the
 * machine. scheduler/scheduler.c */
int jr_host_find_self(const struct jr_host *hw, char *const *hosts, size_t count);

/* A part of the machine: numbers of cores, in the order of jr_host_core, and of devices, as they
 * lie in host->devices. */
struct jr_host_part {
    const uint32_t *cores;
    uint32_t cores_count; /* 0: all of them */
    const uint32_t *devices;
    uint32_t devices_count; /* 0: all of them */
};

/* How many cores can be told apart; 0: the machine's CPUs are not known. */
uint32_t jr_host_core_count(const struct jr_host *host);

/* Fill *ret with the facts about that part, in `arena`; what is not changed is shared with `host`.
 * Devices that are not of it are not visible any more, as by the visibility variable. Without
 * memory the arena has failed. */
void jr_host_narrow(struct jr_host *ret, const struct jr_host *host,
                    const struct jr_host_part *part, struct jr_arena *arena);

/*
 * What is wrong with a machine: things that work, but will not work well, or that somebody has left
 * behind. What keeps a job from being resolved at all is jr_host.problems and
 * jr_host_scheduler.problem, and is listed here, too.
 */

struct jr_host_finding {
    const char *message; /* what is wrong */
    const char *help;    /* what to do; NULL: nothing */
};

/* Less than this of /dev/shm is what container engines leave by default, and too little for NCCL
 * and for data loaders. */
#define JR_SHM_LEAST (UINT64_C(1) << 30)
/* Files that a process with a few hundred ranks or sockets opens. */
#define JR_NOFILE_LEAST 4096u

/* List the findings into `arena`, and return how many they are. `root` is the one that `hw` was
 * read below; NULL: the facts are all there is to look at. Out of memory shows in the arena. */
uint32_t jr_host_examine(struct jr_host_finding **ret, struct jr_arena *arena,
                         const struct jr_host *hw, const char *root, char *const *envp);

#endif
