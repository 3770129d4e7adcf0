/*
 * The outcome of an attempt on one node, as its agent sends it: one JSON object in which what is 0
 * is left out, so that a rank that ended well costs about 120 bytes.
 */
#ifndef JR_OUTCOME_MESSAGE_H
#define JR_OUTCOME_MESSAGE_H

#include <jobrun/run.h>

#include "base/buf.h"

/* Append the object. */
void jr_outcome_message_add(struct jr_buf *out, const struct jr_outcome *outcome);

/* The same where the run could not begin: why not. */
void jr_outcome_message_refuse(struct jr_buf *out, const struct jr_error *why);

/* Read it into *ret, whose `ranks` has room for `count`. -1 with why: it is none, it is of another
 * number of ranks, or the run there could not begin. */
int jr_outcome_message_read(struct jr_outcome *ret, uint32_t count, const char *text, size_t len,
                            struct jr_error *err);

#endif
