/* Positions in a text, for the composer. libyaml's marks are code points from
 * 0, its reader's errors are bytes, and neither leads to the text; a place is
 * all of it. Sources are NUL-terminated. */
#ifndef JR_PLACE_H
#define JR_PLACE_H

#include <jobrun/error.h>

struct jr_place {
    size_t index, byte;    /* from 0: code points, bytes */
    uint32_t line, column; /* from 0 */
};

/* Walk forward to a code point or a byte; never backward, never past the end.
 * Linear in the distance. */
void jr_place_to_index(struct jr_place *place, const struct jr_source *source,
                       size_t index);

/* The same for a byte. */
void jr_place_to_byte(struct jr_place *place, const struct jr_source *source,
                      size_t byte);

/* The code point at the place; -1 at the end of the text. */
int jr_place_peek(const struct jr_place *place, const struct jr_source *source);

/* The span from `start` to before `end`. */
struct jr_span jr_place_span(const struct jr_source *source,
                             struct jr_place start, struct jr_place end);

#endif
