/* Who holds devices, as messages say it. */
#ifndef JR_DEVICE_HOLDERS_H
#define JR_DEVICE_HOLDERS_H

#include "resolve/device_lease.h"

/* Devices by the names that a job has for them, and by those of leases. */
struct jr_device_list {
    const char **names, **keys;
    uint32_t count;
};

/* Who asks: its own leases are nobody else's, and the run whose rank started it shares its devices
 * with it. */
struct jr_device_viewer {
    const struct jr_device_lease *own;
    uint32_t own_count;
    const char *around; /* the id of that run; NULL: there is none */
};

/* Append "0, 1 are held by run x (pid 7); 2 is held by pid 8": those of the list that others hold.
 * Returns how many holders there are; with 0 nothing was appended. */
size_t jr_device_holders_print(struct jr_buf *out, const struct jr_device_claims *claims,
                               const struct jr_device_list *list,
                               const struct jr_device_viewer *viewer);

/* Append "pid 7 waits for some of them, and came earlier", if somebody does who came before
 * `ticket` (0: at all). Returns whether. */
bool jr_device_waiters_print(struct jr_buf *out, const struct jr_device_claims *claims,
                             const struct jr_device_request *request, uint64_t ticket);

#endif
