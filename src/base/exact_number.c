#include "base/exact_number.h"

#include <stddef.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

static const double BEYOND = 9223372036854775808.0; /* 2^63 */
static const int64_t DENSE = INT64_C(1)
                             << 53; /* up to here, reals have parts */

struct jr_exact_number jr_exact_number_integer(int64_t integer)
{
    return (struct jr_exact_number){
        .whole = true, .integer = integer, .real = (double)integer};
}

struct jr_exact_number jr_exact_number_real(double real)
{
    return (struct jr_exact_number){.real = real};
}

/* The digits before the point, where the text has no exponent. */
static bool read_whole_number(struct jr_exact_number *ret, const char *text)
{
    char digits[24];
    size_t len = strcspn(text, ".");
    const char *behind = text[len] == '.' ? text + len + 1 : "";
    if (len == 0 || len >= sizeof digits ||
        behind[strspn(behind, "0123456789")] != '\0')
        return false;
    (void)stpcpy(mempcpy(digits, text, len), "");
    if (!jr_num_i64(digits, &ret->integer))
        return false;
    bool more = behind[strspn(behind, "0")] != '\0';
    ret->fraction = !more ? 0 : *text == '-' ? -1 : 1;
    return true;
}

bool jr_exact_number_read(struct jr_exact_number *ret, const char *text)
{
    struct jr_exact_number number = {.whole = false};
    if (!jr_num_double(text, &number.real))
        return false;
    number.whole = read_whole_number(&number, text);
    *ret = number;
    return true;
}

static int compare_reals(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare_integers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_mixed(int64_t integer, double real)
{
    if (real >= BEYOND || real < -BEYOND)
        return real > 0 ? -1 : 1;
    int64_t part = (int64_t)real;
    return integer != part ? compare_integers(integer, part)
                           : compare_reals((double)part, real);
}

/* One that is known exactly with one that is what it is as a double. */
static int compare_with_real(const struct jr_exact_number *exact, double real)
{
    int order = compare_mixed(exact->integer, real);
    bool dense = exact->integer < DENSE && exact->integer > -DENSE;
    if (order == 0)
        return exact->fraction;
    return exact->fraction != 0 && dense ? compare_reals(exact->real, real)
                                         : order;
}

int jr_exact_number_compare(const struct jr_exact_number *a,
                            const struct jr_exact_number *b)
{
    if (!a->whole && !b->whole)
        return compare_reals(a->real, b->real);
    if (!b->whole)
        return compare_with_real(a, b->real);
    if (!a->whole)
        return -compare_with_real(b, a->real);
    if (a->integer != b->integer)
        return compare_integers(a->integer, b->integer);
    if (a->fraction != b->fraction)
        return a->fraction - b->fraction;
    return a->fraction == 0 ? 0 : compare_reals(a->real, b->real);
}
