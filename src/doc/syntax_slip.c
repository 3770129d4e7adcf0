#include "doc/syntax_slip.h"

#include <ctype.h>
#include <string.h>

#include "doc/node_path.h"

#include "base/banned.h"

enum { LONGEST = 60 }; /* bytes of text that are written out as a help */

#define KEY_BYTES                                                                                  \
    "abcdefghijklmnopqrstuvwxyz"                                                                   \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

size_t jr_slip_line(const struct jr_stumble *s, size_t at)
{
    while (at > 0 && s->source->text[at - 1] != '\n')
        at--;
    return at;
}

static size_t slip_line_end(const struct jr_stumble *s, size_t at)
{
    return at + strcspn(s->source->text + at, "\r\n");
}

/* The start of the line above; of the first line itself. */
static size_t line_above(const struct jr_stumble *s, size_t at)
{
    at = jr_slip_line(s, at);
    return at == 0 ? 0 : jr_slip_line(s, at - 1);
}

struct jr_diag *jr_slip_report(const struct jr_stumble *s, size_t from, size_t to,
                               const char *message)
{
    return jr_diags_error(s->diags, JR_CODE_NOT_YAML, jr_point_bytes(s->source, from, to), NULL,
                          "%s", message);
}

void jr_slip_fix(const struct jr_stumble *s, struct jr_diag *diag, size_t from, size_t to,
                 const char *text)
{
    jr_diag_fix(s->diags, diag, jr_point_bytes(s->source, from, to), text);
}

/* Append bytes [from, to) of the source in quotes. */
static void add_quoted_slip(struct jr_buf *out, const struct jr_stumble *s, size_t from, size_t to)
{
    const char *text = s->source->text + from;
    bool single = memchr(text, '"', to - from) != NULL || memchr(text, '\\', to - from) != NULL;
    char quote = single ? '\'' : '"';
    jr_buf_char(out, quote);
    for (size_t i = 0; i < to - from; i++) {
        if (single && text[i] == '\'')
            jr_buf_char(out, '\'');
        jr_buf_char(out, text[i]);
    }
    jr_buf_char(out, quote);
}

void jr_slip_help_quote(const struct jr_stumble *s, struct jr_diag *diag, size_t from, size_t to,
                        const char *what)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    add_quoted_slip(&text, s, from, to);
    if (text.failed || to - from > LONGEST)
        jr_diag_help(s->diags, diag, "%s", what);
    else
        jr_diag_help(s->diags, diag, "%s: %s", what, text.data);
}

/* Whether a bracket or brace was open on the line before `at`. */
static bool is_in_brackets(const struct jr_stumble *s, size_t at)
{
    size_t start = jr_slip_line(s, at);
    const char *line = s->source->text + start;
    return memchr(line, '[', at - start) != NULL || memchr(line, '{', at - start) != NULL;
}

/* The end of a value that begins at `at`: before the next mark of a list, a comment or the end of
 * the line. */
static size_t word_end(const struct jr_stumble *s, size_t at)
{
    const char *ends = is_in_brackets(s, at) ? ",]}\r\n" : "\r\n";
    size_t len = strcspn(s->source->text + at, ends);
    const char *comment = memmem(s->source->text + at, len, " #", 2);
    if (comment != NULL)
        len = (size_t)(comment - s->source->text) - at;
    while (len > 0 && s->source->text[at + len - 1] == ' ')
        len--;
    return at + len;
}

/* "write KEY: VALUE", where the line's key ends at `key_end`, and its value is bytes [from, to). */
static void help_with_pair(const struct jr_stumble *s, struct jr_diag *diag, size_t key_end,
                           size_t from, size_t to)
{
    const char *text = s->source->text;
    size_t start = jr_slip_line(s, key_end);
    start += strspn(text + start, " -");
    if (to - start > LONGEST)
        jr_diag_help(s->diags, diag, "write `key: value`");
    else
        jr_diag_help(s->diags, diag, "write %.*s: %.*s", (int)(key_end - start), text + start,
                     (int)(to - from), text + from);
}

#define NO_BREAK "\xc2\xa0"

/* The colon of a line such as `world_size:4`, which is not a key because the space is missing.
 * NULL: there is none. */
static const char *find_glued(const struct jr_stumble *s, size_t start)
{
    const char *line = s->source->text + start;
    line += strspn(line, " -");
    const char *colon = line + strspn(line, KEY_BYTES);
    return colon > line && *colon == ':' && strchr(" \t\r\n", colon[1]) == NULL ? colon : NULL;
}

static bool slip_glued(const struct jr_stumble *s)
{
    const char *glued = NULL;
    if (s->colon)
        glued = find_glued(s, line_above(s, s->at));
    if (glued == NULL && (s->colon || s->no_colon))
        glued = find_glued(s, jr_slip_line(s, s->colon ? s->at : s->context));
    if (glued == NULL)
        return false;
    size_t at = (size_t)(glued - s->source->text);
    bool wide = strncmp(glued + 1, NO_BREAK, 2) == 0;
    struct jr_diag *diag =
        wide ? jr_slip_report(s, at + 1, at + 3, "this is a no-break space (U+00A0), not a space")
             : jr_slip_report(s, at, at + 1, "a space is missing after the ':'");
    size_t end = word_end(s, at + 1);
    if (wide)
        jr_diag_help(s->diags, diag, "type a space in its place");
    else
        help_with_pair(s, diag, at, at + 1, end);
    jr_slip_fix(s, diag, at, at + (wide ? 3 : 1), ": ");
    return true;
}

/* The '=' of a line such as `world_size = 4`, or NULL. */
static const char *find_equals(const struct jr_stumble *s, size_t start)
{
    const char *line = s->source->text + start;
    line += strspn(line, " ");
    const char *mark = line + strspn(line, KEY_BYTES);
    size_t blanks = strspn(mark, " ");
    return mark > line && mark[blanks] == '=' && mark[blanks + 1] != '=' ? mark + blanks : NULL;
}

static bool slip_equals(const struct jr_stumble *s)
{
    const char *text = s->source->text, *mark = NULL;
    if (s->colon)
        mark = find_equals(s, line_above(s, s->at));
    if (mark == NULL && s->no_colon)
        mark = find_equals(s, jr_slip_line(s, s->context));
    if (mark == NULL)
        return false;
    size_t at = (size_t)(mark - text), from = at;
    size_t to = at + 1 + strspn(mark + 1, " ");
    while (text[from - 1] == ' ')
        from--;
    struct jr_diag *diag = jr_slip_report(s, at, at + 1, "a ':' is wanted here, not an '='");
    help_with_pair(s, diag, from, to, word_end(s, to));
    jr_slip_fix(s, diag, from, to, ": ");
    return true;
}

/* `world_size 4` */
static bool slip_no_colon(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    size_t start = jr_slip_line(s, s->context);
    start += strspn(text + start, " ");
    size_t end = start + strspn(text + start, KEY_BYTES);
    size_t value = end + strspn(text + end, " ");
    if (!s->no_colon || end == start || value == end || strchr("\r\n#", text[value]) != NULL)
        return false;
    struct jr_diag *diag = jr_slip_report(s, start, start + 1, "a ':' is missing on this line");
    help_with_pair(s, diag, end, value, word_end(s, value));
    return true;
}

static bool is_letter(char byte)
{
    return isalnum((unsigned char)byte) || (unsigned char)byte >= 0x80;
}

/* The quote that closes a text which others of its kind are in: the first on the line behind which
 * something ends, and no other word begins. 0 where there is none. */
static size_t closing_quote(const struct jr_stumble *s, size_t at, char quote)
{
    const char *text = s->source->text;
    for (size_t end = slip_line_end(s, at); at < end; at++) {
        if (text[at] != quote)
            continue;
        size_t behind = at + 1 + strspn(text + at + 1, " ");
        if (behind >= end || strchr(",]}#", text[behind]) != NULL)
            return at;
    }
    return 0;
}

/* The quote of this kind that opens the text which ended at `at`; `at` where there is none. */
static size_t opening_quote(const struct jr_stumble *s, size_t at, char quote)
{
    size_t start = jr_slip_line(s, at), open = at;
    while (open > start && s->source->text[open - 1] != quote)
        open--;
    return open > start ? open - 1 : at;
}

/* 'it's mine' */
static bool slip_apostrophe(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    size_t at = s->at;
    if (at < 2 || text[at - 1] != '\'' || !is_letter(text[at - 2]) || !is_letter(text[at]))
        return false;
    size_t close = closing_quote(s, at, '\'');
    size_t open = opening_quote(s, at - 1, '\'');
    if (close == 0 || open == at - 1)
        return false;
    struct jr_diag *diag =
        jr_slip_report(s, at - 1, at, "this apostrophe ends the text in single quotes");
    JR_BUF_CLEANUP struct jr_buf whole = JR_BUF_INIT;
    for (size_t i = open; i <= close; i++) {
        jr_buf_char(&whole, text[i]);
        if (text[i] == '\'' && i > open && i < close)
            jr_buf_char(&whole, '\'');
    }
    if (!whole.failed && close - open <= LONGEST)
        jr_diag_help(s->diags, diag, "double it: %s", whole.data);
    else
        jr_diag_help(s->diags, diag, "double it");
    jr_slip_fix(s, diag, at - 1, at, "''");
    return true;
}

/* "say "hi" to all" */
static bool slip_inner_quotes(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    size_t at = s->at;
    if (at < 2 || text[at - 1] != '"' || !is_letter(text[at]))
        return false;
    size_t close = closing_quote(s, at, '"');
    size_t open = opening_quote(s, at - 1, '"');
    if (close == 0 || open == at - 1)
        return false;
    struct jr_diag *diag =
        jr_slip_report(s, at - 1, at, "this '\"' ends the text in double quotes");
    jr_slip_help_quote(s, diag, open + 1, close, "use single quotes around it");
    return true;
}

/* A ',' behind the value of a block mapping. */
static bool slip_comma(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    if (!s->in_block || text[s->at] != ',' ||
        strchr("\r\n#", text[s->at + 1 + strspn(text + s->at + 1, " \t")]) == NULL)
        return false;
    struct jr_diag *diag = jr_slip_report(s, s->at, s->at + 1, "a ',' cannot end a line here");
    jr_diag_help(s->diags, diag, "leave it out");
    jr_slip_fix(s, diag, s->at, s->at + 1, "");
    return true;
}

/* [${vars.lr}] */
static bool slip_reference(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    size_t from = s->at;
    if (!s->in_flow || from == 0 || text[from] != '{' || text[from - 1] != '$')
        return false;
    while (from > 0 && strchr(" \t\r\n,[{", text[from - 1]) == NULL)
        from--;
    size_t to = s->at + strcspn(text + s->at, "}\r\n");
    if (text[to] != '}')
        return false;
    to += 1 + strcspn(text + to + 1, ",]} \t\r\n");
    struct jr_diag *diag = jr_slip_report(s, from, to, "'${' must be in quotes within [ ] and { }");
    jr_slip_help_quote(s, diag, from, to, "quote it");
    return true;
}

/* `-b` below `- a` */
static bool slip_item(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    size_t at = jr_slip_line(s, s->context);
    at += strspn(text + at, " ");
    if (!s->no_colon || text[at] != '-' || !is_letter(text[at + 1]))
        return false;
    struct jr_diag *diag = jr_slip_report(s, at, at + 1, "a space is missing after the '-'");
    size_t end = word_end(s, at + 1);
    if (end - at <= LONGEST)
        jr_diag_help(s->diags, diag, "write - %.*s", (int)(end - at - 1), text + at + 1);
    return true;
}

/* description: a: b */
static bool slip_second_colon(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    size_t start = jr_slip_line(s, s->at), at = start;
    at += strspn(text + at, " -");
    at += strspn(text + at, KEY_BYTES);
    if (!s->colon || text[at] != ':' || text[at + 1] != ' ' || at >= s->at)
        return false;
    at += 1 + strspn(text + at + 1, " ");
    struct jr_diag *diag = jr_slip_report(s, s->at, s->at + 1, "a ':' is not expected here");
    size_t end = slip_line_end(s, at);
    const char *comment = memmem(text + at, end - at, " #", 2);
    jr_slip_help_quote(s, diag, at, comment == NULL ? end : (size_t)(comment - text),
                       "quote the value");
    return true;
}

/* ` world_size: 4` below `version: 1`, whose value it goes on with. */
static bool slip_deeper(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    size_t start = jr_slip_line(s, s->at), above = line_above(s, s->at);
    size_t indent = strspn(text + start, " ");
    size_t outer = above + strspn(text + above, " -");
    size_t key = outer + strspn(text + outer, KEY_BYTES);
    if (!s->colon || above == start || key == outer || text[key] != ':' ||
        strchr("\r\n|>", text[key + 1 + strspn(text + key + 1, " ")]) != NULL ||
        indent <= outer - above ||
        start + indent + strspn(text + start + indent, KEY_BYTES) != s->at)
        return false;
    struct jr_diag *diag = jr_slip_report(s, start + indent, s->at,
                                          "this line is indented more than the one above, so it "
                                          "continues its value");
    jr_diag_help(s->diags, diag, "indent it as far as '%.*s'", (int)(key - outer), text + outer);
    return true;
}

/* @x, %x, *.csv: what means something else to YAML. */
static bool slip_word(const struct jr_stumble *s)
{
    static const struct {
        char first;
        const char *message;
    } rows[] = {
        {'@', "a value cannot begin with '@'"},      {'`', "a value cannot begin with '`'"},
        {'%', "a value cannot begin with '%'"},      {'*', "a '*' begins the name of an alias"},
        {'&', "a '&' begins the name of an anchor"}, {'!', "a '!' begins a tag"},
    };
    const char *text = s->source->text;
    size_t i = 0, count = sizeof rows / sizeof *rows;
    size_t at = strchr("@`%", text[s->at]) != NULL && text[s->at] != '\0' ? s->at : s->context;
    while (i < count && rows[i].first != text[at])
        i++;
    if (!s->word || i == count)
        return false;
    struct jr_diag *diag = jr_slip_report(s, at, at + 1, rows[i].message);
    jr_slip_help_quote(s, diag, at, word_end(s, at), "quote it");
    return true;
}

/* Where "//" or a C comment begins on a line; `from` is its start. 0 is no place but at the start
 * of the text. */
static const char *find_slashes(const struct jr_stumble *s, size_t from)
{
    const char *line = s->source->text + from;
    size_t len = strcspn(line, "\r\n");
    const char *at = line + strspn(line, " \t");
    if (strncmp(at, "//", 2) == 0 || strncmp(at, "/*", 2) == 0)
        return at;
    at = memmem(line, len, " // ", 4);
    return at == NULL ? NULL : at + 1;
}

/* // a comment of other languages */
static bool slip_comment(const struct jr_stumble *s)
{
    size_t start = jr_slip_line(s, s->at);
    const char *at = find_slashes(s, start);
    if (at == NULL)
        at = find_slashes(s, line_above(s, s->at));
    if (at == NULL)
        at = find_slashes(s, jr_slip_line(s, s->context));
    if (at == NULL)
        return false;
    size_t from = (size_t)(at - s->source->text);
    const char *text = at + 2 + strspn(at + 2, " ");
    size_t len = strcspn(text, "\r\n");
    bool closes = at[1] == '*';
    while (closes && len > 0 && strchr("*/ ", text[len - 1]) != NULL)
        len--;
    struct jr_diag *diag = jr_slip_report(s, from, from + 2,
                                          closes ? "a comment begins with '#', not with '/*'"
                                                 : "a comment begins with '#', not with '//'");
    if (len > 0 && len <= LONGEST)
        jr_diag_help(s->diags, diag, "write # %.*s", (int)len, text);
    if (!closes)
        jr_slip_fix(s, diag, from, from + 2, "#");
    return true;
}

/* `a: [` at the end of the text */
static bool slip_ended(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    size_t at = s->ended ? s->at : 0;
    while (at > 0 && strchr("[{", text[at - 1]) == NULL)
        at--;
    if (at == 0)
        return false;
    bool list = text[at - 1] == '[';
    struct jr_diag *diag = jr_slip_report(
        s, at - 1, at, list ? "this '[' is never closed" : "this '{' is never closed");
    jr_diag_help(s->diags, diag, "write %s where it ends", list ? "]" : "}");
    return true;
}

bool jr_syntax_slip(const struct jr_stumble *stumble)
{
    static bool (*const slips[])(const struct jr_stumble *) = {
        jr_slip_mark,    slip_comment,      slip_ended,        slip_glued,     slip_equals,
        slip_apostrophe, slip_inner_quotes, slip_comma,        slip_reference, slip_item,
        slip_no_colon,   slip_deeper,       slip_second_colon, slip_word,      jr_slip_unseen,
    };
    size_t i = 0, count = sizeof slips / sizeof *slips;
    while (i < count && !slips[i](stumble))
        i++;
    return i < count;
}
