/*
 * What the readers of one machine share. Each reader fills its part of `hw` from files below `root`
 * and leaves out what it cannot read: cpu.h, health.h, accel/ and scheduler/. host.c has the
 * functions that readers call.
 */
#ifndef JR_READER_H
#define JR_READER_H

#include "host/host.h"

struct jr_host_reader {
    struct jr_host *hw;      /* being filled */
    struct jr_arena *arena;  /* for what `hw` points at */
    struct jr_arena scratch; /* for texts on the way; gone after the probe */
    const char *root;        /* "" for this machine */
    const char *groups;      /* of this process, and the mounts that it sees, */
    const char *mounts;      /* once they were read: see cgroup.h */
    char *const *envp;
};

/* The larger readers are declared here; host.c has the others, and lists all. Out of memory shows
 * in the arenas. */

/* Read the devices of all vendors: accel/accel.c. */
void jr_host_reader_accelerators(struct jr_host_reader *probe);

/* Read what a scheduler says of this job: scheduler/scheduler.c. */
void jr_host_reader_scheduler(struct jr_host_reader *probe);

/* The text of the file whose absolute path the format gives, below the root, without its trailing
 * newline; NULL when it cannot be read. In scratch. */
char *jr_host_reader_text(struct jr_host_reader *probe, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The value of the line `KEY: value` of a text, without the blanks around it; NULL when no line
 * begins with `key`. In scratch. */
char *jr_host_reader_field(struct jr_host_reader *probe, const char *text, const char *key);

/* Record that something of the machine is broken. The texts are borrowed. */
void jr_host_reader_problem(struct jr_host_reader *probe, enum jr_device kind, const char *message,
                            const char *help);

#endif
