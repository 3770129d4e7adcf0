/* What is read of a stream in pieces of any size, until it is a whole line, or whatever else the
 * stream is made of. */
#ifndef JR_INLET_H
#define JR_INLET_H

#include "base/buf.h"

/* What has come and was not taken. It begins empty, with all bytes 0. */
struct jr_inlet {
    struct jr_buf bytes;
    size_t at; /* what was taken: the next line begins here */
};

/* Add what was read. Without memory `bytes` has failed, and stays so. */
void jr_inlet_add(struct jr_inlet *inlet, const char *bytes, size_t len);

/* Take the next line; NULL when there is no whole one left. It is valid until bytes are added; its
 * newline is not counted. */
const char *jr_inlet_line(struct jr_inlet *inlet, size_t *ret_len);

/* What is no whole line. Valid until bytes are added. */
const char *jr_inlet_rest(const struct jr_inlet *inlet, size_t *ret_len);

/* Free what was not taken. */
void jr_inlet_release(struct jr_inlet *inlet);

#endif
