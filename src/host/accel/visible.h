/*
 * What the visibility variables leave of a machine's devices. Each has a grammar of its own, and
 * its own rule for an element that it cannot use.
 */
#ifndef JR_VISIBLE_H
#define JR_VISIBLE_H

#include "host/host.h"

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
