/*
 * Accelerators: a reader per vendor, and what the readers share. Each lists the devices of its kind
 * that this process may open, in the order of their indices; accel.c has the table of readers and
 * applies the visibility variables. nvidia.c is the reader that
 * needs a library; visible.c has the grammars of the variables.
 */
#ifndef JR_ACCEL_H
#define JR_ACCEL_H

#include "base/strv.h"
#include "host/internal.h"

/* The devices of one kind, and how many of them cannot be used. In scratch. */
struct jr_accel_list {
    struct jr_host_device *devices;
    size_t count;
    size_t missing; /* no device node: nobody made it */
    size_t denied;  /* a node that this process may not open */
};

/* Append a device of the next index, visible to nobody yet, with the NUMA node of its bus (NULL:
 * unknown). NULL if memory runs out. */
struct jr_host_device *jr_accel_list_add(struct jr_host_reader *probe, struct jr_accel_list *found,
                                         enum jr_device kind, const char *bus);

/* 0, or why a device node cannot be used. Reading is asked for, and not just being there: that asks
 * the device controller of the process's cgroup too, which is how Slurm hands out GPUs, without
 * waking the device up. */
int jr_node_error(struct jr_host_reader *probe, const char *path);

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

/* Find the GPUs of NVIDIA. */
void jr_nvidia_read(struct jr_host_reader *probe, struct jr_accel_list *found);

/* Ask NVIDIA's library for what only people want to know of GPUs that were found: their memory.
 * What it does not tell stays unknown. */
void jr_nvidia_complete(struct jr_host_reader *probe);

/* A GPU of a node whose driver sleeps takes seconds to wake up. */
#define JR_NVML_LIMIT_MS 30000u

enum jr_nvml_what { JR_NVML_GPUS, JR_NVML_INSTANCES };

/* Append all GPUs, or the MIG instances of all GPUs, in the library's order, which is the PCI
 * bus's: UUID, name, memory, and bus and NUMA node of their GPU; what it cannot tell about is left
 * out. Loads libnvidia-ml.so.1 by dlopen(3), below a root that is not "" from its top folder. NULL,
 * or why it did not answer within the limit, as a clause: "cannot be loaded". */
const char *jr_nvml_read(struct jr_host_reader *probe, struct jr_accel_list *found,
                         enum jr_nvml_what what, unsigned limit_ms);

/* The value names MIG instances, which are parts of a GPU. */
bool jr_visible_is_mig(const char *value);

/* Write the positions of the devices that `value` leaves to `order`, which has room for `count`, in
 * the order of the value, and return how many they are. NULL leaves all.
 *
 * As CUDA and PyTorch read it: a list of ordinals (each a number and whatever follows it: `1gpu` is
 * 1), or, where it begins with `GPU-` or `MIG-`, of such UUIDs, cut short as long as they are
 * unique. An element that names no device ends the list; so do a negative ordinal, a word, and
 * another kind of element. One that is there twice makes the whole list empty. */
uint32_t jr_visible_cuda(uint32_t *order, const struct jr_host_device *devices, uint32_t count,
                         const char *value);

/* The same for a kind of the user's own: indices and UUIDs between commas, the UUIDs cut short as
 * long as they are unique. What names no device, or one again, ends the list. */
uint32_t jr_visible_custom(uint32_t *order, const struct jr_host_device *devices, uint32_t count,
                           const char *value);

/* The same for any kind, by the environment: the variables of the kind, and their grammars, are in
 * the table of visible.c. Intel's may name parts of a device: those leave nothing, and are a
 * problem of the reader. */
uint32_t jr_visible(uint32_t *order, const struct jr_host_device *devices, uint32_t count,
                    enum jr_device kind, char *const *envp);

#endif
