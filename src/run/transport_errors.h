/*
 * Failures of a kind that only a lost peer causes: a connection that was reset
 * or closed, a broken pipe, a collective or a store that timed out. The kinds
 * of exceptions and the texts are a table in transport_errors.c.
 */
#ifndef JR_TRANSPORT_ERRORS_H
#define JR_TRANSPORT_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

/* So much of the end of standard error is looked at. */
#define JR_LOST_PEER_TAIL (16U << 10)

/* Whether an error.json (jobrun's own form or torch's) has such an exception,
 * or one that was raised from such a one. NULL is none. */
bool jr_lost_peer_in_error(const json_t *error);

/* Whether the last output of a process that failed shows such a failure: `text`
 * is the end of its standard error, at most JR_LOST_PEER_TAIL bytes. An
 * uncaught exception is found by its traceback, or by what terminate() says;
 * without one, the last lines count. */
bool jr_lost_peer_in_output(const char *text, size_t len);

#endif
