/*
 * Accelerators: a reader per vendor, and what the readers share. Each lists the devices of its kind
 * that this process may open, in the order of their indices; accel.c has the table of readers and
 * applies the visibility variables. The readers are amd.h, intel.h and nvidia.h, and in accel.c
 * those of vendors of which there is nothing but device nodes.
 */
#ifndef JR_ACCEL_H
#define JR_ACCEL_H

#include "base/strv.h"
#include "host/reader.h"

/* The devices of one kind, and how many of them cannot be used. In scratch. */
struct jr_accel_list {
    struct jr_host_device *devices;
    size_t count;
    size_t missing; /* no device node: nobody made it */
    size_t denied;  /* a node that this process may not open */
};

/* Find the NPUs of Ascend: accel.c. */
void jr_ascend_read(struct jr_host_reader *probe, struct jr_accel_list *found);

/* Find the MLUs of Cambricon: accel.c. */
void jr_cambricon_read(struct jr_host_reader *probe, struct jr_accel_list *found);

/* Append a device of the next index, visible to nobody yet, with the NUMA node of its bus (NULL:
 * unknown). NULL if memory runs out. */
struct jr_host_device *jr_accel_list_add(struct jr_host_reader *probe, struct jr_accel_list *found,
                                         enum jr_device kind, const char *bus);

/* 0, or why a device node cannot be used. Reading is asked for, and not just being there: that asks
 * the device controller of the process's cgroup too, which is how Slurm hands out GPUs, without
 * waking the device up. */
int jr_node_error(struct jr_host_reader *probe, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether the device's node can be used; if not, it is counted by the reason.
 */
bool jr_accel_list_usable(struct jr_host_reader *probe, struct jr_accel_list *found,
                          const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Whether something is there, below the root. */
bool jr_host_reader_exists(struct jr_host_reader *probe, const char *path);

/* The names in a folder, below the root, that have `part` in them, in the order of their numbers
 * (card2 before card10; bus addresses by domain first). Empty if there is no folder. In scratch. */
struct jr_strv jr_names_list(struct jr_host_reader *probe, const char *folder, const char *part);

/* The number that a name ends with, `card2`; false where it has none, or does not begin with
 * `prefix`. */
bool jr_name_number(uint32_t *ret, const char *name, const char *prefix);

/* A hexadecimal number of a file, with or without 0x; 0 when unreadable. */
uint64_t jr_host_reader_hex(struct jr_host_reader *probe, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
