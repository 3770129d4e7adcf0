/* What doc has to know of the fields when it puts specs together. Private to
 * this folder. */
#ifndef JR_MERGE_SHAPES_H
#define JR_MERGE_SHAPES_H

#include "doc/shape.h"

/* The shapes of the field table. */
struct jr_shapes jr_shapes_make(void);

/* Whether a key is the user's own, which is kept and never read. */
bool jr_shapes_is_own(const char *key);

#endif
