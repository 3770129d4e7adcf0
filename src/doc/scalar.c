/*
 * The YAML 1.2 core schema, made stricter where it and YAML 1.1 read the same
 * text differently: 0x10, 0o10 and 010 are 16, 8 and 10 to one and 16, a string
 * and 8 to the other. Here they are strings, so that a field that wants an
 * integer refuses them instead of guessing.
 */
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "doc/doc.h"
#include "doc/scalar.h"

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

/* Whether a code point may be written as it is: printable to YAML, and visible
 * to a reader of the file. */
static bool is_point_shown(uint32_t point)
{
    return jr_utf8_is_shown(point) && point != 0xfffe && point != 0xffff;
}

/* What some reader takes for null, a boolean, an infinity or a merge; in any
 * case of letters. */
static bool is_reserved(const char *text)
{
    static const char *const words[] = {"~",    "null", "true", "false", "yes",
                                        "no",   "on",   "y",    "n",     "off",
                                        ".inf", ".nan", "=",    "<<"};
    text += *text == '-' || *text == '+';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/* Numbers in any base, 60 included, and dates: rather too many than too few. */
static bool is_numeric(const char *text, size_t len)
{
    if (strpbrk(text, "0123456789.") == NULL)
        return false;
    const char *digits = text + (*text == '-' || *text == '+');
    if (digits[0] == '0' && digits[1] != '\0' &&
        strchr("xXoObB", digits[1]) != NULL)
        return true;
    return strspn(text, "0123456789_.:+-eETtZz ") == len;
}

/* What may not begin a plain scalar. '-' may, before a letter, a digit or
 * another one, except for the mark of a document. */
static bool is_bad_start(const char *text)
{
    if (strchr("?:,[]{}#&*!|>'\"%@` ", *text) != NULL)
        return true;
    if (*text == '-' && strchr(" ,[]{}?:", text[1]) != NULL)
        return true;
    return strncmp(text, "---", 3) == 0 || strncmp(text, "...", 3) == 0;
}

/* Whether the character at `i` ends a plain scalar, or changes it. */
static bool is_indicator(const char *text, size_t i, bool flow)
{
    if (text[i] == ':')
        return text[i + 1] == ' ' || text[i + 1] == '\0';
    if (text[i] == '#')
        return text[i - 1] == ' ';
    return flow && strchr(",[]{}?", text[i]) != NULL;
}

bool jr_quote_needless(const char *text, size_t len, bool flow)
{
    uint32_t point;
    if (len == 0 || is_bad_start(text) || is_reserved(text) ||
        is_numeric(text, len) || text[len - 1] == ' ')
        return false;
    for (size_t i = 0, size; i < len; i += size) {
        size = jr_utf8_decode(text + i, len - i, &point);
        if (size == 0 || !is_point_shown(point) || is_indicator(text, i, flow))
            return false;
    }
    return true;
}

/* An indentation indicator is never needed: a text that begins with a blank is
 * left to the quotes. */
bool jr_quote_literal(const char *text, size_t len)
{
    uint32_t point;
    if (memchr(text, '\n', len) == NULL || strchr(" \t\n", *text) != NULL)
        return false;
    for (size_t i = 0, size; i < len; i += size) {
        size = jr_utf8_decode(text + i, len - i, &point);
        if (size == 0 ||
            (!is_point_shown(point) && point != '\n' && point != '\t'))
            return false;
    }
    return true;
}

static void add_escape(struct jr_buf *out, uint32_t point)
{
    static const char shorthands[][2] = {
        {'"', '"'},  {'\\', '\\'}, {'\n', 'n'},
        {'\t', 't'}, {'\r', 'r'},  {'\033', 'e'},
    };
    for (size_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++)
        if (point == (unsigned char)shorthands[i][0]) {
            jr_buf_char(out, '\\');
            jr_buf_char(out, shorthands[i][1]);
            return;
        }
    jr_buf_printf(out, point < 0x100 ? "\\x%02x" : "\\u%04x", point);
}

void jr_quote_double(struct jr_buf *out, const char *text, size_t len)
{
    jr_buf_char(out, '"');
    for (size_t i = 0, size; i < len; i += size) {
        uint32_t point;
        size = jr_utf8_decode(text + i, len - i, &point);
        if (size == 0) {
            jr_buf_str(out, "\xef\xbf\xbd");
            size = 1;
        } else if (!is_point_shown(point) || point == '"' || point == '\\') {
            add_escape(out, point);
        } else {
            jr_buf_add(out, text + i, size);
        }
    }
    jr_buf_char(out, '"');
}
