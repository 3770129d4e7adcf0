#include "base/num.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

bool jr_num_digits(const char **text, uint64_t *ret)
{
    const char *at = *text;
    uint64_t value = 0;
    if (!is_digit(*at) || (*at == '0' && is_digit(at[1])))
        return false;
    for (; is_digit(*at); at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    *text = at;
    *ret = value;
    return true;
}

bool jr_num_u64(const char *text, uint64_t *ret)
{
    uint64_t value;
    if (!jr_num_digits(&text, &value) || *text != '\0')
        return false;
    *ret = value;
    return true;
}

bool jr_num_i64(const char *text, int64_t *ret)
{
    bool negative = *text == '-';
    uint64_t value;
    if (!jr_num_u64(text + negative, &value))
        return false;
    if (value > (uint64_t)INT64_MAX + negative)
        return false;
    *ret = negative ? (int64_t)-value : (int64_t)value;
    return true;
}

bool jr_num_u32(const char *text, uint32_t *ret)
{
    uint64_t value;
    if (!jr_num_u64(text, &value) || value > UINT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

static size_t span_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* [+-]? ( digits [. digits?]? | . digits ) ( [eE] [+-]? digits )? */
static bool is_decimal_number(const char *text)
{
    text += *text == '-' || *text == '+';
    size_t whole = span_digits(text), fraction = 0;
    if (whole > 1 && *text == '0')
        return false;
    text += whole;
    if (*text == '.') {
        fraction = span_digits(text + 1);
        text += 1 + fraction;
    }
    if (whole + fraction == 0 || *text == '\0')
        return whole + fraction != 0;
    if (*text != 'e' && *text != 'E')
        return false;
    text += 1 + (text[1] == '-' || text[1] == '+');
    size_t digits = span_digits(text);
    return digits != 0 && text[digits] == '\0';
}

bool jr_num_double(const char *text, double *ret)
{
    if (!is_decimal_number(text))
        return false;
    /* strtod would want the decimal point of the process's locale. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return false;
    double value = strtod_l(text, NULL, plain);
    freelocale(plain);
    if (!isfinite(value))
        return false;
    *ret = value;
    return true;
}

void jr_num_add_double(struct jr_buf *out, double number)
{
    char text[32];
    int digits = DBL_DIG;
    do
        (void)snprintf(text, sizeof text, "%.*g", digits, number);
    while (digits++ < DBL_DECIMAL_DIG && strtod(text, NULL) != number);
    jr_buf_str(out, text);
}

/* A suffix and what one of it counts. */
struct unit {
    const char *suffix;
    uint64_t factor;
};

/* The unit at *text, stepping over it: the longest suffix that fits counts. Returns its index, or
 * `count`. */
static size_t read_unit(const char **text, const struct unit *units, size_t count)
{
    size_t len = strspn(*text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    for (size_t i = 0; i < count; i++) {
        if (strlen(units[i].suffix) == len && strncmp(*text, units[i].suffix, len) == 0) {
            *text += len;
            return i;
        }
    }
    return count;
}

/* Largest first. */
static const struct unit durations[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

enum { DURATIONS = sizeof durations / sizeof *durations };

bool jr_num_duration(const char *text, uint64_t *ret_ms)
{
    uint64_t total = 0;
    size_t next = 0;
    if (strcmp(text, "0") == 0) {
        *ret_ms = 0;
        return true;
    }
    do {
        uint64_t value;
        if (!jr_num_digits(&text, &value))
            return false;
        size_t unit = read_unit(&text, durations, DURATIONS);
        if (unit == DURATIONS || unit < next)
            return false;
        next = unit + 1;
        if (__builtin_mul_overflow(value, durations[unit].factor, &value) ||
            __builtin_add_overflow(total, value, &total))
            return false;
    } while (*text != '\0');
    *ret_ms = total;
    return true;
}

void jr_num_add_duration(struct jr_buf *out, uint64_t ms)
{
    if (ms == 0)
        jr_buf_char(out, '0');
    for (size_t i = 0; i < DURATIONS; i++) {
        unsigned long long whole = ms / durations[i].factor;
        if (whole != 0)
            jr_buf_printf(out, "%llu%s", whole, durations[i].suffix);
        ms %= durations[i].factor;
    }
}

bool jr_num_size(const char *text, uint64_t *ret_bytes)
{
    static const struct unit units[] = {
        {"", 1},
        {"KiB", (uint64_t)1 << 10},
        {"MiB", (uint64_t)1 << 20},
        {"GiB", (uint64_t)1 << 30},
        {"TiB", (uint64_t)1 << 40},
    };
    enum { UNITS = sizeof units / sizeof *units };
    uint64_t value;
    if (!jr_num_digits(&text, &value))
        return false;
    size_t unit = read_unit(&text, units, UNITS);
    if (unit == UNITS || *text != '\0' || __builtin_mul_overflow(value, units[unit].factor, &value))
        return false;
    *ret_bytes = value;
    return true;
}

static const double BEYOND = 9223372036854775808.0; /* 2^63 */
static const int64_t DENSE = INT64_C(1) << 53;      /* up to here, reals have parts */

struct jr_exact_number jr_exact_number_integer(int64_t integer)
{
    return (struct jr_exact_number){.whole = true, .integer = integer, .real = (double)integer};
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
    if (len == 0 || len >= sizeof digits || behind[strspn(behind, "0123456789")] != '\0')
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

/* One that is known exactly with one that is what it is as a double. */
static int compare_with_real(const struct jr_exact_number *exact, double real)
{
    int64_t integer = exact->integer;
    if (real >= BEYOND || real < -BEYOND)
        return real > 0 ? -1 : 1;
    int64_t part = (int64_t)real;
    int order =
        integer != part ? compare_integers(integer, part) : compare_reals((double)part, real);
    if (order == 0)
        return exact->fraction;
    bool dense = integer < DENSE && integer > -DENSE;
    return exact->fraction != 0 && dense ? compare_reals(exact->real, real) : order;
}

int jr_exact_number_compare(const struct jr_exact_number *a, const struct jr_exact_number *b)
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

struct jr_decimal_point jr_decimal_point_begin(void)
{
    struct jr_decimal_point point = {0};
    locale_t copy = duplocale(uselocale((locale_t)0));
    if (copy == (locale_t)0)
        return point;
    point.plain = newlocale(LC_NUMERIC_MASK, "C", copy);
    if (point.plain != (locale_t)0)
        point.before = uselocale(point.plain);
    else
        freelocale(copy);
    return point;
}

void jr_decimal_point_end(struct jr_decimal_point *point)
{
    if (point->plain == (locale_t)0)
        return;
    (void)uselocale(point->before);
    freelocale(point->plain);
}
