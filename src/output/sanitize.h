/*
 * Lines from ranks, made fit for a terminal: colours pass; what moves the cursor, sets the title or
 * talks to the terminal does not.
 */
#ifndef JR_SANITIZE_H
#define JR_SANITIZE_H

#include <stdbool.h>

#include "base/buf.h"

/* What is left on the console of a line that redraws itself with carriage returns: the last piece
 * that is not empty. Returns its start and sets *len. Trailing returns (CR LF) are no part of
 * it. */
const char *jr_sanitize_redrawn(const char *line, size_t *len);

/* Append `line` (no newline in it) as a terminal may have it: other control bytes and broken UTF-8
 * as \xNN, escape sequences dropped, but for colours where `color`, which are then switched off at
 * the end. */
void jr_sanitize_line(struct jr_buf *out, const char *line, size_t len, bool color);

#endif
