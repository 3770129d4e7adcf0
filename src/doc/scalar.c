/*
 * The YAML 1.2 core schema, made stricter where it and YAML 1.1 read the same
 * text differently: 0x10, 0o10 and 010 are 16, 8 and 10 to one and 16, a string
 * and 8 to the other. Here they are strings, so that a field that wants an
 * integer refuses them instead of guessing.
 */
#include "doc/doc.h"

#include <string.h>

#include "base/banned.h"

#define DIGITS "0123456789"

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static bool is_null_word(const char *text)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
    return is_one_of(text, words);
}

static bool is_bool(const char *text)
{
    static const char *const words[] = {"true",  "True",  "TRUE", "false",
                                        "False", "FALSE", NULL};
    return is_one_of(text, words);
}

static const char *skip_sign(const char *text)
{
    return text + (*text == '-' || *text == '+');
}

static bool is_int(const char *text)
{
    text = skip_sign(text);
    size_t digits = strspn(text, DIGITS);
    return digits != 0 && text[digits] == '\0' &&
           (digits == 1 || text[0] != '0');
}

/* [-+]? ( \.[0-9]+ | [0-9]+ (\.[0-9]*)? ) ([eE][-+]?[0-9]+)?, with a point or
 * an exponent: without either it is an integer, or nothing. */
static bool is_decimal_float(const char *text)
{
    text = skip_sign(text);
    size_t whole = strspn(text, DIGITS);
    text += whole;
    bool marked = *text == '.';
    size_t fraction = marked ? strspn(text + 1, DIGITS) : 0;
    text += marked ? fraction + 1 : 0;
    if (whole + fraction == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        marked = true;
        text = skip_sign(text + 1);
        size_t exponent = strspn(text, DIGITS);
        if (exponent == 0)
            return false;
        text += exponent;
    }
    return marked && *text == '\0';
}

static bool is_float(const char *text)
{
    static const char *const infinities[] = {".inf", ".Inf", ".INF", NULL};
    static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};
    return is_decimal_float(text) || is_one_of(skip_sign(text), infinities) ||
           is_one_of(text, nans);
}

enum jr_scalar_type jr_scalar_type(const struct jr_node *node)
{
    if (!node->plain)
        return JR_SCALAR_STRING;
    if (is_null_word(node->text))
        return JR_SCALAR_NULL;
    if (is_bool(node->text))
        return JR_SCALAR_BOOL;
    if (is_int(node->text))
        return JR_SCALAR_INT;
    return is_float(node->text) ? JR_SCALAR_FLOAT : JR_SCALAR_STRING;
}
