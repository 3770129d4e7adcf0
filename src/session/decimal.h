/*
 * Numbers are read and written with a point, whatever the locale of the program
 * is: libcyaml, for one, would take 0.5 for 0 where a comma is wanted.
 */
#ifndef JR_DECIMAL_H
#define JR_DECIMAL_H

#include <locale.h>

struct jr_decimal_point {
    locale_t plain, before; /* plain 0: there was no memory for it */
};

/* From here to the end of the block, in this thread; uselocale(3). */
#define JR_DECIMAL_POINT                                                       \
    __attribute__((cleanup(jr_decimal_point_end),                              \
                   unused)) struct jr_decimal_point decimal_point =            \
        jr_decimal_point_begin()

struct jr_decimal_point jr_decimal_point_begin(void);
void jr_decimal_point_end(struct jr_decimal_point *point);

#endif
