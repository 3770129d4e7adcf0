/*
 * What a rank is doing, as the kernel tells it: its processes, their threads, what each waits for,
 * and how much processor time they take. Of ranks of this run (see hang.c) and, from outside, of
 * another one's.
 */
#ifndef JR_PROCESS_PROBE_H
#define JR_PROCESS_PROBE_H

#include "base/arena.h"
#include "base/json.h"
#include "base/proc.h"

/* What is looked at, at most. */
#define JR_PROBE_PROCESSES 64  /* of a rank */
#define JR_PROBE_THREADS   128 /* of a process */

struct jr_process_probe_thread {
    struct jr_proc stat;
    uint64_t cpu_ns;   /* used so far, exactly */
    const char *wchan; /* function of the kernel that it waits in; NULL */
    const char *call;  /* system call that it is in; NULL: none, or unknown */
    const char *stack; /* in the kernel, one per line; NULL: not for us */
};

struct jr_process_probe_process {
    struct jr_proc stat;
    struct jr_process_probe_thread *threads; /* the first is the main thread */
    size_t count;
};

/* A rank at one moment: its leader first, parents before their children. */
struct jr_process_probe {
    struct jr_arena arena;
    struct jr_process_probe_process *items;
    size_t count;
};

/* Look at the process `leader` and all that descend from it, out of the list that jr_proc_all made.
 * What ends meanwhile is left out. */
void jr_process_probe_read(struct jr_process_probe *ret, const struct jr_proc *all, size_t count,
                           pid_t leader);

/* Free what was read; one that is zeroed holds nothing. */
void jr_process_probe_release(struct jr_process_probe *probe);

/* The processor time that all threads used between two looks; those that
 * `before` does not have count from their beginning. */
uint64_t jr_process_probe_used(const struct jr_process_probe *probe,
                               const struct jr_process_probe *before);

/* The processes as the list in hang.json: a new array. */
json_t *jr_process_probe_json(const struct jr_process_probe *probe,
                              const struct jr_process_probe *before);

#endif
