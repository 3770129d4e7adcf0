#include "base/num.h"

#include <float.h>
#include <locale.h>
#include <math.h>
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

/* Nothing, or [eE] [+-]? digits */
static bool is_exponent(const char *text)
{
    if (*text == '\0')
        return true;
    if (*text != 'e' && *text != 'E')
        return false;
    text += 1 + (text[1] == '-' || text[1] == '+');
    size_t digits = span_digits(text);
    return digits != 0 && text[digits] == '\0';
}

/* [+-]? ( digits [. digits?]? | . digits ) exponent? */
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
    return whole + fraction != 0 && is_exponent(text);
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

/* The unit at *text, stepping over it: the longest suffix that fits counts.
 * Returns its index, or `count`. */
static size_t read_unit(const char **text, const struct unit *units,
                        size_t count)
{
    size_t len = strspn(*text, "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    for (size_t i = 0; i < count; i++) {
        if (strlen(units[i].suffix) == len &&
            strncmp(*text, units[i].suffix, len) == 0) {
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
    if (unit == UNITS || *text != '\0' ||
        __builtin_mul_overflow(value, units[unit].factor, &value))
        return false;
    *ret_bytes = value;
    return true;
}
