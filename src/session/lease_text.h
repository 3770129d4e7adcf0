/* Who has leased which devices, as `doctor` prints it. */
#ifndef JR_LEASE_TEXT_H
#define JR_LEASE_TEXT_H

#include "base/buf.h"
#include "host/host.h"

/* Append a line for each lease of a device, "         held by run x (pid 7)",
 * and one for those who wait for it. */
void jr_lease_text_device(struct jr_buf *out,
                          const struct jr_host_device *device);

/* Append a line for each device that is leased, or waited for, and is none of
 * the machine's that jobrun knows: of a kind of the user's own, or one that
 * this process does not see. */
void jr_lease_text_others(struct jr_buf *out, const struct jr_host *host);

#endif
