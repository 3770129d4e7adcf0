/* close_range(2), for which C libraries before 2.34 have no name. */
#ifndef JR_CLOSE_RANGE_H
#define JR_CLOSE_RANGE_H

#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Close, or mark, the descriptors from `first` to `last`; `flags` are those of
 * close_range(2), as are what is returned and errno. */
static inline int jr_close_range(unsigned first, unsigned last, unsigned flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}

#endif
