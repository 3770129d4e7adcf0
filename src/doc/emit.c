/*
 * Types of scalars, and writing YAML: doc.h declares it. The YAML 1.2 core schema, made stricter
 * where it and YAML 1.1 read the same text differently: 0x10, 0o10 and 010 are 16, 8 and 10 to one
 * and 16, a string and 8 to the other. Here they are strings, so that a field that wants an integer
 * refuses them instead of guessing.
 */
#include "doc/doc.h"

#include <string.h>
#include <strings.h>

#include "base/utf8.h"

#include "base/banned.h"

#define DIGITS "0123456789"

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static const char *skip_sign(const char *text)
{
    return text + (*text == '-' || *text == '+');
}

/* [-+]? ( \.[0-9]+ | [0-9]+ (\.[0-9]*)? ) ([eE][-+]?[0-9]+)?, with a point or an exponent: without
 * either it is an integer, or nothing. */
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

enum jr_scalar_type jr_scalar_type(const struct jr_node *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const bools[] = {"true", "True", "TRUE", "false", "False", "FALSE", NULL};
    static const char *const infinities[] = {".inf", ".Inf", ".INF", NULL};
    static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};
    const char *text = node->text, *number = skip_sign(text);
    if (!node->plain)
        return JR_SCALAR_STRING;
    if (is_one_of(text, nulls))
        return JR_SCALAR_NULL;
    if (is_one_of(text, bools))
        return JR_SCALAR_BOOL;
    size_t digits = strspn(number, DIGITS);
    if (digits != 0 && number[digits] == '\0' && (digits == 1 || number[0] != '0'))
        return JR_SCALAR_INT;
    return is_decimal_float(text) || is_one_of(number, infinities) || is_one_of(text, nans)
               ? JR_SCALAR_FLOAT
               : JR_SCALAR_STRING;
}

/* Whether a code point may be written as it is: printable to YAML, and visible to a reader of the
 * file. */
static bool is_point_shown(uint32_t point)
{
    return jr_utf8_is_shown(point) && point != 0xfffe && point != 0xffff;
}

/* What some reader takes for null, a boolean, an infinity or a merge; in any case of letters. */
static bool is_reserved(const char *text)
{
    static const char *const words[] = {"~", "null", "true", "false", "yes",  "no", "on",
                                        "y", "n",    "off",  ".inf",  ".nan", "=",  "<<"};
    text = skip_sign(text);
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
    const char *digits = skip_sign(text);
    if (digits[0] == '0' && digits[1] != '\0' && strchr("xXoObB", digits[1]) != NULL)
        return true;
    return strspn(text, "0123456789_.:+-eETtZz ") == len;
}

/* What may not begin a plain scalar. '-' may, before a letter, a digit or another one, except for
 * the mark of a document. At the start of a line `<` by seven would be the mark of a merge's
 * conflict, and at that of a file some words tell of XML or a web page. */
static bool is_bad_start(const char *text)
{
    if (strchr("?:,[]{}#&*!|>'\"%@` ", *text) != NULL)
        return true;
    if (*text == '-' && strchr(" ,[]{}?:", text[1]) != NULL)
        return true;
    return strncmp(text, "---", 3) == 0 || strncmp(text, "...", 3) == 0 ||
           strncmp(text, "<<<<<<<", 7) == 0 || strncmp(text, "<?", 2) == 0 ||
           strncmp(text, "<!", 2) == 0 || strncasecmp(text, "<html", 5) == 0;
}

bool jr_quote_needless(const char *text, size_t len, bool flow)
{
    uint32_t point;
    if (len == 0 || is_bad_start(text) || is_reserved(text) || is_numeric(text, len) ||
        text[len - 1] == ' ')
        return false;
    for (size_t i = 0, size; i < len; i += size) {
        size = jr_utf8_decode(text + i, len - i, &point);
        if (size == 0 || !is_point_shown(point))
            return false;
        /* what ends a plain scalar, or changes it */
        if ((text[i] == ':' && (text[i + 1] == ' ' || text[i + 1] == '\0')) ||
            (text[i] == '#' && text[i - 1] == ' ') ||
            (flow && text[i] != ':' && text[i] != '#' && strchr(",[]{}?", text[i]) != NULL))
            return false;
    }
    return true;
}

/* An indentation indicator is never needed: a text that begins with a blank is left to the
 * quotes. */
bool jr_quote_literal(const char *text, size_t len)
{
    uint32_t point;
    if (memchr(text, '\n', len) == NULL || strchr(" \t\n", *text) != NULL)
        return false;
    for (size_t i = 0, size; i < len; i += size) {
        size = jr_utf8_decode(text + i, len - i, &point);
        if (size == 0 || (!is_point_shown(point) && point != '\n' && point != '\t'))
            return false;
    }
    return true;
}

static void add_escape(struct jr_buf *out, uint32_t point)
{
    static const char shorthands[][2] = {
        {'"', '"'}, {'\\', '\\'}, {'\n', 'n'}, {'\t', 't'}, {'\r', 'r'}, {'\033', 'e'},
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

/*
 * The emitter. A scalar that is a value of the core schema (null, boolean, number) is written
 * unchanged, so that its text survives; an empty null is written as `null`. A string is quoted
 * whenever a reader of YAML 1.2 or 1.1 could take it for anything else. (1e3 is a float to YAML 1.2
 * and to us, and a string to PyYAML: there is no spelling that keeps its text for both.)
 */

enum {
    STEP = 2,
    WIDTH = 78,    /* columns of a sequence on one line */
    MAX_KEY = 1000 /* bytes; libyaml reads `key:` up to 1,024 characters */
};

static void emit_entries(struct jr_buf *out, const struct jr_node *node, unsigned indent,
                         bool started);

static void emit_scalar(struct jr_buf *out, const struct jr_node *node, bool flow)
{
    enum jr_scalar_type type = jr_scalar_type(node);
    if (node->meant && type == JR_SCALAR_STRING)
        jr_buf_str(out, "!!str ");
    if (type == JR_SCALAR_NULL && node->len == 0)
        jr_buf_str(out, "null");
    else if (type != JR_SCALAR_STRING || jr_quote_needless(node->text, node->len, flow))
        jr_buf_add(out, node->text, node->len);
    else
        jr_quote_double(out, node->text, node->len);
}

/* A key is text, whatever its type: an empty one is not null. */
static void emit_key(struct jr_buf *out, const struct jr_node *key, unsigned indent)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (key->len == 0)
        jr_buf_str(&text, "\"\"");
    else
        emit_scalar(&text, key, false);
    if (text.failed) {
        out->failed = true;
        return;
    }
    bool explicit = text.len > MAX_KEY;
    if (explicit)
        jr_buf_str(out, "? ");
    jr_buf_add(out, text.data, text.len);
    if (explicit) {
        jr_buf_char(out, '\n');
        jr_buf_fill(out, ' ', indent);
    }
    jr_buf_char(out, ':');
}

/* The column, in code points, after the last output. */
static size_t output_column(const struct jr_buf *out)
{
    size_t points = 0;
    for (size_t at = out->len; at > 0 && out->data[at - 1] != '\n'; at--)
        points += (out->data[at - 1] & 0xc0) != 0x80;
    return points;
}

/* Write a sequence of scalars on the line, if it fits there. */
static bool emit_flow(struct jr_buf *out, const struct jr_node *node)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&text, " [");
    for (size_t i = 0; i < node->count; i++) {
        const struct jr_node *item = node->items[i];
        if (item->kind != JR_NODE_SCALAR || item->len > WIDTH ||
            memchr(item->text, '\n', item->len) != NULL || text.len > (size_t)4 * WIDTH)
            return false;
        jr_buf_str(&text, i == 0 ? "" : ", ");
        emit_scalar(&text, item, true);
    }
    jr_buf_char(&text, ']');
    out->failed |= text.failed;
    if (text.failed || output_column(out) + output_column(&text) > WIDTH)
        return false;
    jr_buf_add(out, text.data, text.len);
    return true;
}

/* The text in literal style. The mark after | tells how it ends: with no line break, with one, or
 * with more. */
static void emit_literal(struct jr_buf *out, const struct jr_node *node, unsigned indent)
{
    const char *text = node->text, *end = text + node->len;
    bool ended = end[-1] == '\n';
    jr_buf_str(out, !ended ? " |-" : end[-2] == '\n' ? " |+" : " |");
    while (text < end) {
        size_t size = strcspn(text, "\n");
        jr_buf_char(out, '\n');
        jr_buf_fill(out, ' ', size == 0 ? 0 : indent);
        jr_buf_add(out, text, size);
        text += size + 1;
    }
}

/* Write the value after `key:` or `-`, and the end of the line. A value of several lines is
 * indented by `indent`; after a `-`, its first entry stays on the line. */
static void emit_value(struct jr_buf *out, const struct jr_node *node, unsigned indent,
                       bool behind_dash)
{
    if (node->kind == JR_NODE_SCALAR) {
        if (jr_quote_literal(node->text, node->len)) {
            emit_literal(out, node, indent);
        } else {
            jr_buf_char(out, ' ');
            emit_scalar(out, node, false);
        }
    } else if (node->kind == JR_NODE_MAPPING && node->count == 0) {
        jr_buf_str(out, " {}");
    } else if (node->kind == JR_NODE_MAPPING || !emit_flow(out, node)) {
        jr_buf_char(out, behind_dash ? ' ' : '\n');
        emit_entries(out, node, indent, behind_dash);
        return;
    }
    jr_buf_char(out, '\n');
}

/* The entries of a collection, one below the other. `started`: the first one begins on the current
 * line. */
static void emit_entries(struct jr_buf *out, const struct jr_node *node, unsigned indent,
                         bool started)
{
    for (size_t i = 0; i < node->count; i++) {
        if (i != 0 || !started)
            jr_buf_fill(out, ' ', indent);
        if (node->kind == JR_NODE_SEQUENCE) {
            jr_buf_char(out, '-');
            emit_value(out, node->items[i], indent + STEP, true);
        } else {
            emit_key(out, node->pairs[i].key, indent);
            emit_value(out, node->pairs[i].value, indent + STEP, false);
        }
    }
}

void jr_doc_emit(struct jr_buf *out, const struct jr_node *node)
{
    if (node->kind != JR_NODE_SCALAR && node->count != 0) {
        emit_entries(out, node, 0, false);
        return;
    }
    const char *empty = node->kind == JR_NODE_MAPPING ? "{}" : "[]";
    if (node->kind == JR_NODE_SCALAR)
        emit_scalar(out, node, false);
    else
        jr_buf_str(out, empty);
    jr_buf_char(out, '\n');
}

static void emit_inline(struct jr_buf *out, const struct jr_node *node, bool flow)
{
    if (node->kind == JR_NODE_SCALAR) {
        emit_scalar(out, node, flow);
        return;
    }
    bool mapping = node->kind == JR_NODE_MAPPING;
    jr_buf_char(out, mapping ? '{' : '[');
    for (size_t i = 0; i < node->count; i++) {
        jr_buf_str(out, i == 0 ? "" : ", ");
        if (mapping) {
            emit_scalar(out, node->pairs[i].key, true);
            jr_buf_str(out, ": ");
        }
        emit_inline(out, mapping ? node->pairs[i].value : node->items[i], true);
    }
    jr_buf_char(out, mapping ? '}' : ']');
}

void jr_doc_emit_line(struct jr_buf *out, const struct jr_node *node)
{
    emit_inline(out, node, false);
}
