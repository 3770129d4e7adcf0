/*
 * Numbers that are compared as they are written: doubles alone hold no whole
 * number beyond 2^53, and 9007199254740993 is more than 9007199254740992.
 */
#ifndef JR_EXACT_NUMBER_H
#define JR_EXACT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

struct jr_exact_number {
    bool whole;      /* `integer` and `fraction` are set */
    int64_t integer; /* its whole part, towards 0 */
    int fraction;    /* the sign of what is left of it */
    double real;     /* the nearest */
};

struct jr_exact_number jr_exact_number_integer(int64_t integer);
struct jr_exact_number jr_exact_number_real(double real);

/* A number as jr_num_double reads it. False, and *ret untouched, when the text
 * is none. */
bool jr_exact_number_read(struct jr_exact_number *ret, const char *text);

/* Below, at or above 0, as `a` is less than, equal to or more than `b`. */
int jr_exact_number_compare(const struct jr_exact_number *a,
                            const struct jr_exact_number *b);

#endif
