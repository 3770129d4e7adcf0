/*
 * close_range(2) of Linux 5.9, for which C libraries before 2.34 have no name,
 * and what stands for it on older kernels and in sandboxes that refuse it.
 */
#ifndef JR_CLOSE_RANGE_H
#define JR_CLOSE_RANGE_H

#include <stdbool.h>

/* The flags, which headers of older kernels do not have. */
#define JR_CLOSE_RANGE_UNSHARE (1U << 1) /* CLOSE_RANGE_UNSHARE */
#define JR_CLOSE_RANGE_CLOEXEC (1U << 2) /* CLOSE_RANGE_CLOEXEC, Linux 5.11 */

/* Whether the kernel has the call, and lets us make it. */
bool jr_close_range_works(void);

/* Close, or mark, the descriptors from `first` to `last`; `flags` are those of
 * close_range(2). Where the call is missing or refused, the descriptors are
 * found in /proc/self/fd; that is async-signal-safe, too. Returns 0, or -1 with
 * errno: of close_range(2), of unshare(2), or of the folder. */
int jr_close_range(unsigned first, unsigned last, unsigned flags);

#endif
