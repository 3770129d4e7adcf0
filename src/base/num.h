/*
 * Strict reading of numbers: the whole text or nothing. No blanks, no sign where none is allowed,
 * no octal by accident, no trailing junk. And a point in numbers, whatever the locale of the
 * program is.
 */
#ifndef JR_NUM_H
#define JR_NUM_H

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The digits at *text, stepped over, up to whatever follows them. */
bool jr_num_digits(const char **text, uint64_t *ret);

/* Decimal digits only (a leading '-' for the signed form), no leading zero but "0" itself. False,
 * and *ret untouched, when the text is anything else or does not fit. */
bool jr_num_u64(const char *text, uint64_t *ret);

/* The same with a sign. */
bool jr_num_i64(const char *text, int64_t *ret);

/* The same in 32 bits. */
bool jr_num_u32(const char *text, uint32_t *ret);

/* A finite decimal number, YAML 1.2 core: 3, -0.5, 1e3, .5 */
bool jr_num_double(const char *text, double *ret);

/* Append a number without noise: in the fewest digits, from 15 on, that read back as itself. 0.1,
 * not 0.10000000000000001. */
void jr_num_add_double(struct jr_buf *out, double number);

/* 500ms, 30s, 10m, 2h, 1d, 1h30m (units descending, each once), in milliseconds. A bare number is
 * refused, except for 0. */
bool jr_num_duration(const char *text, uint64_t *ret_ms);

/* Append a duration in milliseconds as it is read: 1h30m, 500ms. */
void jr_num_add_duration(struct jr_buf *out, uint64_t ms);

/* 64KiB, 10MiB, 2GiB, 1TiB, or plain bytes. */
bool jr_num_size(const char *text, uint64_t *ret_bytes);

/*
 * Numbers that are compared as they are written: doubles alone hold no whole number beyond 2^53,
 * and 9007199254740993 is more than 9007199254740992.
 */

struct jr_exact_number {
    bool whole;      /* `integer` and `fraction` are set */
    int64_t integer; /* its whole part, towards 0 */
    int fraction;    /* the sign of what is left of it */
    double real;     /* the nearest */
};

/* The exact form of a whole number. */
struct jr_exact_number jr_exact_number_integer(int64_t integer);

/* The exact form of a finite double. */
struct jr_exact_number jr_exact_number_real(double real);

/* A number as jr_num_double reads it. False, and *ret untouched, when the text is none. */
bool jr_exact_number_read(struct jr_exact_number *ret, const char *text);

/* Below, at or above 0, as `a` is less than, equal to or more than `b`. */
int jr_exact_number_compare(const struct jr_exact_number *a, const struct jr_exact_number *b);

/*
 * For libraries that read and write numbers as the locale has them: libcyaml, for one, would take
 * 0.5 for 0 where a comma is wanted.
 */
struct jr_decimal_point {
    locale_t plain, before; /* plain 0: there was no memory for it */
};

/* From here to the end of the block, in this thread; uselocale(3). */
#define JR_DECIMAL_POINT                                                                           \
    __attribute__((cleanup(jr_decimal_point_end), unused)) struct jr_decimal_point decimal_point = \
        jr_decimal_point_begin()

/* Have this thread read and write numbers with a point. */
struct jr_decimal_point jr_decimal_point_begin(void);

/* Give the thread its locale back. */
void jr_decimal_point_end(struct jr_decimal_point *point);

#endif
