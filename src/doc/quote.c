#include "doc/quote.h"

#include <string.h>
#include <strings.h>

#include "base/utf8.h"

#include "base/banned.h"

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
