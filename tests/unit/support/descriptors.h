/* Whether a descriptor is left open: count before, and after. */
#ifndef JR_DESCRIPTORS_H
#define JR_DESCRIPTORS_H

#include <dirent.h>

#include "unit.h"

/* Those of this process, and the one that counts. */
static inline unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    while (readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count;
}

#endif
