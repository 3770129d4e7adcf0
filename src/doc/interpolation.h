/*
 * The grammar of interpolation:
 *
 *   text       := { any text | reference }
 *   reference  := "${" PATH "}" | "${env:" NAME [ ":-" text ] "}"
 *   before {   a run of dollars stands for half as many; with an odd one the
 *              last begins a reference. So "$${" is a literal "${".
 *
 * Elsewhere a dollar is a dollar.
 */
#ifndef JR_INTERPOLATION_H
#define JR_INTERPOLATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* A part of a text. What is between the braces of a reference is its inside. */
struct jr_interpolation {
    enum {
        JR_INTERPOLATION_TEXT,
        JR_INTERPOLATION_REFERENCE,
        JR_INTERPOLATION_OPEN
    } kind;
    size_t start, end; /* bytes, from the start of the text */
};

/* Read the part at *at and move *at past it; false at the end of the text. A
 * reference that is never closed is JR_INTERPOLATION_OPEN, and the last part.
 */
bool jr_interpolation_next(const char *text, size_t len, size_t *at,
                           struct jr_interpolation *ret);

/* Append text so that it means itself, after what such calls appended before;
 * and a reference, as it is written. */
void jr_interpolation_escape(struct jr_buf *out, const char *text, size_t len);
void jr_interpolation_refer(struct jr_buf *out, const char *text, size_t len);

/* Append a text with references in it, after the same. */
void jr_interpolation_append(struct jr_buf *out, const char *text, size_t len);

#endif
