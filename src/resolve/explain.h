/* Where a value comes from, in words. Private to this folder. */
#ifndef JR_EXPLAIN_H
#define JR_EXPLAIN_H

#include "resolve/resolve.h"

/* "derived"; for what the hardware said, what it is called: "--on 2x8". */
const char *jr_explain_origin(const struct jr_resolution *resolution,
                              enum jr_origin origin);

/* Append the position of what is stated, the origin of the rest, and the
 * detail: "hardware: 8 usable devices". */
void jr_explain_from(struct jr_buf *out, const struct jr_resolution *resolution,
                     const struct jr_provenance *row);

#endif
