#ifndef JR_FINGERPRINT_H
#define JR_FINGERPRINT_H

#include "resolve/resolve.h"

/* Set job.fingerprint: SHA-256, in hex, over the resolved spec in a canonical
 * form without what does not change the experiment. Two runs with the same one
 * ran the same experiment. Without memory the resolution's arena fails. */
void jr_fingerprint(struct jr_resolution *resolution,
                    const struct jr_spec_file *file);

#endif
