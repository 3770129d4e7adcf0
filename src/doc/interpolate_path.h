/* What ${...} names, read and looked up: the second part of interpolator.h. */
#ifndef JR_INTERPOLATE_PATH_H
#define JR_INTERPOLATE_PATH_H

#include "doc/interpolator.h"

/* Add the value of the reference in bytes [from, to), braces included. */
void jr_interpolate_reference(struct jr_interpolator *filler, struct jr_filling *filling,
                              size_t from, size_t to);

#endif
