/* libyaml's parser errors, as findings; and the slips of the hand that it stumbles over later, of
 * which more can be said than where that was; internal.h declares it. */
#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "doc/doc.h"
#include "doc/internal.h"

#include "base/banned.h"

/* What libyaml has complained of. */
struct stumble {
    struct jr_diags *diags;
    const struct jr_source *source;
    size_t at;      /* the byte that is the problem, */
    size_t context; /* and where began what it is a problem of */
    bool in_flow;   /* a ',' or a bracket was wanted there */
    bool in_block;  /* it belongs to no mapping or sequence */
    bool no_colon;  /* a line without one */
    bool colon;     /* or with one too many */
    bool word;      /* a value begins there that cannot */
    bool ended;     /* the text ends where a value is wanted */
    bool escape;    /* behind a backslash in double quotes */
};

enum { LONGEST = 60 }; /* bytes of text that are written out as a help */

#define KEY_BYTES                                                                                  \
    "abcdefghijklmnopqrstuvwxyz"                                                                   \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

/* The start of the line on which byte `at` is. */
static size_t slip_line(const struct stumble *s, size_t at)
{
    while (at > 0 && s->source->text[at - 1] != '\n')
        at--;
    return at;
}

static size_t slip_line_end(const struct stumble *s, size_t at)
{
    return at + strcspn(s->source->text + at, "\r\n");
}

/* The start of the line above; of the first line itself. */
static size_t line_above(const struct stumble *s, size_t at)
{
    at = slip_line(s, at);
    return at == 0 ? 0 : slip_line(s, at - 1);
}

static struct jr_diag *slip_report(const struct stumble *s, size_t from, size_t to,
                                   const char *message)
{
    return jr_diags_error(s->diags, JR_CODE_NOT_YAML, jr_point_bytes(s->source, from, to), NULL,
                          "%s", message);
}

/* Have --fix replace bytes [from, to). */
static void slip_fix(const struct stumble *s, struct jr_diag *diag, size_t from, size_t to,
                     const char *text)
{
    jr_diag_fix(s->diags, diag, jr_point_bytes(s->source, from, to), text);
}

/* Append bytes [from, to) of the source in quotes. */
static void add_quoted_slip(struct jr_buf *out, const struct stumble *s, size_t from, size_t to)
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

/* Help with "WHAT: "..."", with bytes [from, to) in quotes; WHAT alone where they are too many. */
static void slip_help_quote(const struct stumble *s, struct jr_diag *diag, size_t from, size_t to,
                            const char *what)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    add_quoted_slip(&text, s, from, to);
    if (text.failed || to - from > LONGEST)
        jr_diag_help(s->diags, diag, "%s", what);
    else
        jr_diag_help(s->diags, diag, "%s: %s", what, text.data);
}

/* The end of a value that begins at `at`: before the next mark of a list that is open on the line
 * before it, a comment or the end of the line. */
static size_t word_end(const struct stumble *s, size_t at)
{
    const char *text = s->source->text;
    size_t start = slip_line(s, at);
    bool listed = memchr(text + start, '[', at - start) != NULL ||
                  memchr(text + start, '{', at - start) != NULL;
    size_t len = strcspn(text + at, listed ? ",]}\r\n" : "\r\n");
    const char *comment = memmem(text + at, len, " #", 2);
    if (comment != NULL)
        len = (size_t)(comment - text) - at;
    while (len > 0 && text[at + len - 1] == ' ')
        len--;
    return at + len;
}

/* "write KEY: VALUE", where the line's key ends at `key_end`, and its value is bytes [from, to). */
static void help_with_pair(const struct stumble *s, struct jr_diag *diag, size_t key_end,
                           size_t from, size_t to)
{
    const char *text = s->source->text;
    size_t start = slip_line(s, key_end);
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
static const char *find_glued(const struct stumble *s, size_t start)
{
    const char *line = s->source->text + start;
    line += strspn(line, " -");
    const char *colon = line + strspn(line, KEY_BYTES);
    return colon > line && *colon == ':' && strchr(" \t\r\n", colon[1]) == NULL ? colon : NULL;
}

static bool slip_glued(const struct stumble *s)
{
    const char *glued = NULL;
    if (s->colon)
        glued = find_glued(s, line_above(s, s->at));
    if (glued == NULL && (s->colon || s->no_colon))
        glued = find_glued(s, slip_line(s, s->colon ? s->at : s->context));
    if (glued == NULL)
        return false;
    size_t at = (size_t)(glued - s->source->text);
    bool wide = strncmp(glued + 1, NO_BREAK, 2) == 0;
    struct jr_diag *diag =
        wide ? slip_report(s, at + 1, at + 3, "this is a no-break space (U+00A0), not a space")
             : slip_report(s, at, at + 1, "a space is missing after the ':'");
    size_t end = word_end(s, at + 1);
    if (wide)
        jr_diag_help(s->diags, diag, "type a space in its place");
    else
        help_with_pair(s, diag, at, at + 1, end);
    slip_fix(s, diag, at, at + (wide ? 3 : 1), ": ");
    return true;
}

/* The '=' of a line such as `world_size = 4`, or NULL. */
static const char *find_equals(const struct stumble *s, size_t start)
{
    const char *line = s->source->text + start;
    line += strspn(line, " ");
    const char *mark = line + strspn(line, KEY_BYTES);
    size_t blanks = strspn(mark, " ");
    return mark > line && mark[blanks] == '=' && mark[blanks + 1] != '=' ? mark + blanks : NULL;
}

static bool slip_equals(const struct stumble *s)
{
    const char *text = s->source->text, *mark = NULL;
    if (s->colon)
        mark = find_equals(s, line_above(s, s->at));
    if (mark == NULL && s->no_colon)
        mark = find_equals(s, slip_line(s, s->context));
    if (mark == NULL)
        return false;
    size_t at = (size_t)(mark - text), from = at;
    size_t to = at + 1 + strspn(mark + 1, " ");
    while (text[from - 1] == ' ')
        from--;
    struct jr_diag *diag = slip_report(s, at, at + 1, "a ':' is wanted here, not an '='");
    help_with_pair(s, diag, from, to, word_end(s, to));
    slip_fix(s, diag, from, to, ": ");
    return true;
}

/* `world_size 4` */
static bool slip_no_colon(const struct stumble *s)
{
    const char *text = s->source->text;
    size_t start = slip_line(s, s->context);
    start += strspn(text + start, " ");
    size_t end = start + strspn(text + start, KEY_BYTES);
    size_t value = end + strspn(text + end, " ");
    if (!s->no_colon || end == start || value == end || strchr("\r\n#", text[value]) != NULL)
        return false;
    struct jr_diag *diag = slip_report(s, start, start + 1, "a ':' is missing on this line");
    help_with_pair(s, diag, end, value, word_end(s, value));
    return true;
}

static bool is_letter(char byte)
{
    return isalnum((unsigned char)byte) || (unsigned char)byte >= 0x80;
}

/* The quote that closes a text which others of its kind are in: the first on the line behind which
 * something ends, and no other word begins. 0 where there is none. */
static size_t closing_quote(const struct stumble *s, size_t at, char quote)
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
static size_t opening_quote(const struct stumble *s, size_t at, char quote)
{
    size_t start = slip_line(s, at), open = at;
    while (open > start && s->source->text[open - 1] != quote)
        open--;
    return open > start ? open - 1 : at;
}

/* 'it's mine' */
static bool slip_apostrophe(const struct stumble *s)
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
        slip_report(s, at - 1, at, "this apostrophe ends the text in single quotes");
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
    slip_fix(s, diag, at - 1, at, "''");
    return true;
}

/* "say "hi" to all" */
static bool slip_inner_quotes(const struct stumble *s)
{
    const char *text = s->source->text;
    size_t at = s->at;
    if (at < 2 || text[at - 1] != '"' || !is_letter(text[at]))
        return false;
    size_t close = closing_quote(s, at, '"');
    size_t open = opening_quote(s, at - 1, '"');
    if (close == 0 || open == at - 1)
        return false;
    struct jr_diag *diag = slip_report(s, at - 1, at, "this '\"' ends the text in double quotes");
    slip_help_quote(s, diag, open + 1, close, "use single quotes around it");
    return true;
}

/* [${vars.lr}] */
static bool slip_reference(const struct stumble *s)
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
    struct jr_diag *diag = slip_report(s, from, to, "'${' must be in quotes within [ ] and { }");
    slip_help_quote(s, diag, from, to, "quote it");
    return true;
}

/* `-b` below `- a` */
static bool slip_item(const struct stumble *s)
{
    const char *text = s->source->text;
    size_t at = slip_line(s, s->context);
    at += strspn(text + at, " ");
    if (!s->no_colon || text[at] != '-' || !is_letter(text[at + 1]))
        return false;
    struct jr_diag *diag = slip_report(s, at, at + 1, "a space is missing after the '-'");
    size_t end = word_end(s, at + 1);
    if (end - at <= LONGEST)
        jr_diag_help(s->diags, diag, "write - %.*s", (int)(end - at - 1), text + at + 1);
    return true;
}

/* description: a: b */
static bool slip_second_colon(const struct stumble *s)
{
    const char *text = s->source->text;
    size_t start = slip_line(s, s->at), at = start;
    at += strspn(text + at, " -");
    at += strspn(text + at, KEY_BYTES);
    if (!s->colon || text[at] != ':' || text[at + 1] != ' ' || at >= s->at)
        return false;
    at += 1 + strspn(text + at + 1, " ");
    struct jr_diag *diag = slip_report(s, s->at, s->at + 1, "a ':' is not expected here");
    size_t end = slip_line_end(s, at);
    const char *comment = memmem(text + at, end - at, " #", 2);
    slip_help_quote(s, diag, at, comment == NULL ? end : (size_t)(comment - text),
                    "quote the value");
    return true;
}

/* ` world_size: 4` below `version: 1`, whose value it goes on with. */
static bool slip_deeper(const struct stumble *s)
{
    const char *text = s->source->text;
    size_t start = slip_line(s, s->at), above = line_above(s, s->at);
    size_t indent = strspn(text + start, " ");
    size_t outer = above + strspn(text + above, " -");
    size_t key = outer + strspn(text + outer, KEY_BYTES);
    if (!s->colon || above == start || key == outer || text[key] != ':' ||
        strchr("\r\n|>", text[key + 1 + strspn(text + key + 1, " ")]) != NULL ||
        indent <= outer - above ||
        start + indent + strspn(text + start + indent, KEY_BYTES) != s->at)
        return false;
    struct jr_diag *diag = slip_report(s, start + indent, s->at,
                                       "this line is indented more than the one above, so it "
                                       "continues its value");
    jr_diag_help(s->diags, diag, "indent it as far as '%.*s'", (int)(key - outer), text + outer);
    return true;
}

/* @x, %x, *.csv: what means something else to YAML. */
static bool slip_word(const struct stumble *s)
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
    struct jr_diag *diag = slip_report(s, at, at + 1, rows[i].message);
    slip_help_quote(s, diag, at, word_end(s, at), "quote it");
    return true;
}

/* Where "//" or a C comment begins on a line; `from` is its start. 0 is no place but at the start
 * of the text. */
static const char *find_slashes(const struct stumble *s, size_t from)
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
static bool slip_comment(const struct stumble *s)
{
    size_t start = slip_line(s, s->at);
    const char *at = find_slashes(s, start);
    if (at == NULL)
        at = find_slashes(s, line_above(s, s->at));
    if (at == NULL)
        at = find_slashes(s, slip_line(s, s->context));
    if (at == NULL)
        return false;
    size_t from = (size_t)(at - s->source->text);
    const char *text = at + 2 + strspn(at + 2, " ");
    size_t len = strcspn(text, "\r\n");
    bool closes = at[1] == '*';
    while (closes && len > 0 && strchr("*/ ", text[len - 1]) != NULL)
        len--;
    struct jr_diag *diag = slip_report(s, from, from + 2,
                                       closes ? "a comment begins with '#', not with '/*'"
                                              : "a comment begins with '#', not with '//'");
    if (len > 0 && len <= LONGEST)
        jr_diag_help(s->diags, diag, "write # %.*s", (int)len, text);
    if (!closes)
        slip_fix(s, diag, from, from + 2, "#");
    return true;
}

/* `a: [` at the end of the text */
static bool slip_ended(const struct stumble *s)
{
    const char *text = s->source->text;
    size_t at = s->ended ? s->at : 0;
    while (at > 0 && strchr("[{", text[at - 1]) == NULL)
        at--;
    if (at == 0)
        return false;
    bool list = text[at - 1] == '[';
    struct jr_diag *diag =
        slip_report(s, at - 1, at, list ? "this '[' is never closed" : "this '{' is never closed");
    jr_diag_help(s->diags, diag, "write %s where it ends", list ? "]" : "}");
    return true;
}

/* A code point that nobody sees on the line, which may as well have nothing to do with it. */
static bool slip_unseen(const struct stumble *s)
{
    size_t start = slip_line(s, s->at), end = slip_line_end(s, s->at);
    const char *text = s->source->text;
    for (size_t at = start, len; at < end; at += len) {
        uint32_t point = 0;
        len = jr_utf8_next(text + at, end - at, &point);
        if (!jr_utf8_is_unseen(point))
            continue;
        JR_BUF_CLEANUP struct jr_buf message = JR_BUF_INIT;
        jr_buf_printf(&message, "an invisible character stands here (U+%04X)", point);
        struct jr_diag *diag =
            slip_report(s, at, at + len, message.failed ? "out of memory" : message.data);
        jr_diag_help(s->diags, diag, "delete it");
        slip_fix(s, diag, at, at + len, "");
        return true;
    }
    return false;
}

#define WIDE_COLON "\xef\xbc\x9a"

/* version：1 */
static bool slip_wide_colon(const struct stumble *s)
{
    size_t here = slip_line(s, s->colon ? s->at : s->context);
    size_t from = line_above(s, here);
    const char *mark = memmem(s->source->text + from, slip_line_end(s, here) - from, WIDE_COLON,
                              strlen(WIDE_COLON));
    if ((!s->colon && !s->no_colon) || mark == NULL)
        return false;
    size_t at = (size_t)(mark - s->source->text);
    size_t to = at + strlen(WIDE_COLON);
    struct jr_diag *diag = slip_report(s, at, to, "this is a full-width colon (U+FF1A)");
    jr_diag_help(s->diags, diag, "type ': ' in its place");
    slip_fix(s, diag, at, to, s->source->text[to] == ' ' ? ":" : ": ");
    return true;
}

/* A mark that does not belong there, which is left out. */
static bool report_stray(const struct stumble *s, const char *message)
{
    struct jr_diag *diag = slip_report(s, s->at, s->at + 1, message);
    jr_diag_help(s->diags, diag, "leave it out");
    slip_fix(s, diag, s->at, s->at + 1, "");
    return true;
}

/* [./train]] */
static bool slip_bracket(const struct stumble *s)
{
    char mark = s->source->text[s->at];
    return s->in_block && (mark == ']' || mark == '}') &&
           report_stray(s, mark == ']' ? "this ']' closes nothing" : "this '}' closes nothing");
}

/* A ',' behind the value of a block mapping. */
static bool slip_comma(const struct stumble *s)
{
    const char *text = s->source->text + s->at;
    return s->in_block && *text == ',' &&
           strchr("\r\n#", text[1 + strspn(text + 1, " \t")]) != NULL &&
           report_stray(s, "a ',' cannot end a line here");
}

/* "data\\train" */
static bool slip_escape(const struct stumble *s)
{
    const char *text = s->source->text;
    size_t end = s->context + 1;
    if (!s->escape || text[s->context] != '"')
        return false;
    end += strcspn(text + end, "\"\r\n");
    size_t at = s->at;
    while (at > s->context && text[at] != '\\')
        at--;
    struct jr_diag *diag = slip_report(s, at, at + 1, "unknown escape in a double-quoted string");
    if (text[end] == '"')
        slip_help_quote(s, diag, s->context + 1, end, "in single quotes it stands for itself");
    else
        jr_diag_help(s->diags, diag,
                     "double it, or use single quotes, in which it stands for itself");
    return true;
}

/* ```yaml */
static bool slip_fence(const struct stumble *s)
{
    const char *text = s->source->text;
    size_t start = slip_line(s, s->at);
    if (!s->word || strncmp(text + start, "```", 3) != 0)
        return false;
    struct jr_diag *diag = slip_report(s, start, start + 3, "this line is a fence of Markdown");
    jr_diag_help(s->diags, diag, "delete the lines that begin with ```");
    return true;
}

/* [${{ github.sha }}] */
static bool slip_workflow(const struct stumble *s)
{
    const char *text = s->source->text;
    size_t from = s->at, end = slip_line_end(s, s->at);
    if (!s->in_flow || from == 0 || strncmp(text + from - 1, "${{", 3) != 0)
        return false;
    const char *close = memmem(text + from, end - from, "}}", 2);
    struct jr_diag *diag =
        slip_report(s, from - 1, close == NULL ? end : (size_t)(close - text) + 2,
                    "an expression of GitHub Actions, or of a template, is not evaluated here");
    jr_diag_help(s->diags, diag, "write \"${env:NAME}\" or \"${vars.NAME}\", in quotes");
    return true;
}

/* What may have been meant, the surest first. */
static bool (*const slips[])(const struct stumble *) = {
    slip_wide_colon,   slip_bracket,      slip_escape,    slip_fence,  slip_workflow,
    slip_comment,      slip_ended,        slip_glued,     slip_equals, slip_apostrophe,
    slip_inner_quotes, slip_comma,        slip_reference, slip_item,   slip_no_colon,
    slip_deeper,       slip_second_colon, slip_word,      slip_unseen,
};

enum { ANY = -2, END = -1 };

/* What a problem of libyaml 0.2.5 means to a person. */
struct rule {
    const char *problem; /* libyaml's words */
    int byte;            /* what is there: a byte, END or ANY */
    bool at_context;     /* point at where the construct began instead */
    enum jr_diag_code code;
    const char *message;
    const char *help;    /* NULL for none */
    const char *related; /* what began where libyaml's context is, or NULL */
};

#define TOKEN     "found character that cannot start any token"
#define TAB       "found a tab character that violates indentation"
#define TAB_BLOCK "found a tab character where an indentation space is expected"
#define CONTENT   "did not find expected node content"
#define BRACKET   "did not find expected ',' or ']'"
#define BRACE     "did not find expected ',' or '}'"
#define END_QUOTE "found unexpected end of stream"
#define DOC_QUOTE "found unexpected document indicator"
#define ESCAPE    "found unknown escape character"
#define HEX                                                                                        \
    "did not find expected hexdecimal number" /* as libyaml spells it                              \
                                               */
#define COLON     "mapping values are not allowed in this context"
#define NO_COLON  "could not find expected ':'"
#define NO_KEY    "did not find expected key"
#define NO_ITEM   "did not find expected '-' indicator"
#define ITEM      "block sequence entries are not allowed in this context"
#define HEADER    "did not find expected comment or line break"
#define NAME      "did not find expected alphabetic or numeric character"
#define TAG       "did not find expected whitespace or line break"
#define BEHIND    "did not find expected <document start>"
#define HANDLE    "found undefined tag handle"
#define VERSION   "found incompatible YAML document"
#define DIRECTIVE "found unknown directive name"
#define TWO_YAML  "found duplicate %YAML directive"
#define TWO_TAG   "found duplicate %TAG directive"

#define SPACES      "indent with spaces"
#define OPEN_QUOTE  "the quote that opens here is never closed"
#define QUOTE_COLON "quote a value that contains ': '; check the indentation"

/* Short names of the codes, for the table. */
#define YAML            JR_CODE_NOT_YAML
#define UNKNOWN_TAG     JR_CODE_UNKNOWN_TAG
#define WRONG_DIRECTIVE JR_CODE_WRONG_DIRECTIVE

/* The first row that fits. */
static const struct rule rules[] = {
    {TOKEN, '\t', false, YAML, "a tab cannot indent", SPACES, NULL},
    {TOKEN, ANY, false, YAML, "a value cannot begin with this", "quote it", NULL},
    {TAG, ANY, true, YAML, "a '!' begins a tag", "quote it", NULL},
    {TAB, ANY, false, YAML, "a tab cannot indent", SPACES, NULL},
    {TAB_BLOCK, ANY, false, YAML, "a tab cannot indent", SPACES, NULL},
    {CONTENT, '?', false, YAML, "a bare '?' is not allowed inside [ ] or { }",
     "write auto, or quote it: \"???\"", NULL},
    {CONTENT, END, true, YAML, "this is never closed", NULL, NULL},
    {CONTENT, ANY, false, YAML, "a value is missing before this", NULL, NULL},
    {BRACKET, END, true, YAML, "this '[' is never closed", "write ] where it ends", NULL},
    {BRACKET, ANY, false, YAML, "a ',' or ']' is missing before this", NULL, "this '[' is open"},
    {BRACE, END, true, YAML, "this '{' is never closed", "write } where it ends", NULL},
    {BRACE, ANY, false, YAML, "a ',' or '}' is missing before this", NULL, "this '{' is open"},
    {END_QUOTE, ANY, true, YAML, OPEN_QUOTE, NULL, NULL},
    {DOC_QUOTE, ANY, true, YAML, OPEN_QUOTE, NULL, NULL},
    {ESCAPE, ANY, false, YAML, "unknown escape in a double-quoted string",
     "double the backslash, or use single quotes", NULL},
    {HEX, ANY, false, YAML, "unknown escape in a double-quoted string",
     "double the backslash, or use single quotes", NULL},
    {COLON, ANY, false, YAML, "a ':' is not expected here", QUOTE_COLON, NULL},
    {NO_COLON, ANY, true, YAML, "a ':' is missing on this line", "write `key: value`", NULL},
    {NO_KEY, ANY, false, YAML, "this does not belong to the mapping around it",
     "check its indentation, and the quotes before it", "the mapping begins here"},
    {NO_ITEM, ANY, false, YAML, "this does not belong to the sequence before it",
     "begin each item with '- ', all in one column", "the sequence begins here"},
    {ITEM, ANY, false, YAML, "a '- ' item cannot begin on this line",
     "begin it on a line of its own, or write [a, b]", NULL},
    {HEADER, ANY, true, YAML, "no text is allowed on the line of a '|' or '>'",
     "begin it on the next line, indented; or quote it", NULL},
    {NAME, ANY, true, YAML, "'*' and '&' must be followed by a name",
     "quote a value that begins with one of them", NULL},
    {BEHIND, ANY, false, YAML, "the document has ended before this", "check the indentation", NULL},
    {HANDLE, ANY, false, UNKNOWN_TAG, "unknown tag", "leave it out", NULL},
    {VERSION, ANY, false, WRONG_DIRECTIVE, "only YAML 1.1 and 1.2 are read", NULL, NULL},
    {DIRECTIVE, ANY, true, WRONG_DIRECTIVE, "unknown directive",
     "only %YAML and %TAG may begin a line with '%'", NULL},
    {TWO_YAML, ANY, false, WRONG_DIRECTIVE, "a duplicate %YAML", NULL, NULL},
    {TWO_TAG, ANY, false, WRONG_DIRECTIVE, "a duplicate %TAG", NULL, NULL},
};

/* The span at `start`: one code point, or a run of '?'. */
static struct jr_span problem_span(struct jr_place start, const struct jr_source *source)
{
    struct jr_place end = start;
    int byte = jr_place_peek(&start, source);
    if (byte >= 0 && byte != '\n' && byte != '\r')
        jr_place_to_index(&end, source, end.index + 1);
    while (byte == '?' && jr_place_peek(&end, source) == '?')
        jr_place_to_index(&end, source, end.index + 1);
    return jr_place_span(source, start, end);
}

/* The byte where what the reader stumbled over begins: of a sequence that is cut off, libyaml tells
 * the byte that is none of it. */
static size_t begin_of_bad(const struct jr_source *source, size_t at)
{
    enum { MOST = 4, LEAD = 0xc0, TAIL = 0x80 };
    uint32_t point;
    for (size_t back = 1; back < MOST && back <= at; back++) {
        const char *text = source->text + at - back;
        unsigned byte = (unsigned char)*text;
        if (byte >= LEAD && jr_utf8_decode(text, source->len - (at - back), &point) == 0)
            return at - back;
        if ((byte & LEAD) != TAIL)
            break;
    }
    return at;
}

/* The reader has no mark, only an offset in bytes. */
static void report_encoding(struct jr_diags *diags, const yaml_parser_t *parser,
                            const struct jr_source *source)
{
    struct jr_place at = {0};
    uint32_t point;
    jr_place_to_byte(&at, source, begin_of_bad(source, parser->problem_offset));
    struct jr_span span = problem_span(at, source);
    struct jr_diag *diag;
    if (jr_utf8_decode(source->text + at.byte, source->len - at.byte, &point) != 0) {
        diag = jr_diags_error(diags, JR_CODE_CONTROL_CHARACTER, span, NULL,
                              "the control character U+%04X is not allowed", point);
        if (point != 0)
            jr_diag_help(diags, diag, "in a double-quoted string, write \\u%04x", point);
        return;
    }
    diag = jr_diags_error(diags, JR_CODE_NOT_UTF8, span, NULL, "byte 0x%02x is not UTF-8",
                          (unsigned)jr_place_peek(&at, source) & 0xff);
    jr_diag_help(diags, diag, "save the file in UTF-8");
}

/* A bracket is open where the next field of the spec begins, `next`; it opened at `open`: say on
 * which line it ends. */
static void help_to_close_bracket(struct jr_diags *diags, struct jr_diag *diag,
                                  const struct jr_source *source, size_t next, size_t open,
                                  char close)
{
    const char *text = source->text;
    size_t start = next, last;
    while (start > 0 && text[start - 1] != '\n')
        start--;
    size_t key = strspn(text + start, "abcdefghijklmnopqrstuvwxyz_");
    for (last = start; last > 0 && strchr(" \t\r\n", text[last - 1]) != NULL;)
        last--;
    if (key == 0 || text[start + key] != ':' || open >= start)
        return;
    size_t number = 1;
    for (size_t i = 0; i < last; i++)
        number += text[i] == '\n';
    jr_diag_help(diags, diag, "close it with %c on line %zu", close, number);
}

/* 'train.py]: where the quote was most likely to be closed. */
static void help_to_close_quote(struct jr_diags *diags, struct jr_diag *diag,
                                const struct jr_source *source, size_t open)
{
    const char *text = source->text + open + 1;
    size_t start = open;
    while (start > 0 && source->text[start - 1] != '\n')
        start--;
    bool listed = memchr(source->text + start, '[', open - start) != NULL ||
                  memchr(source->text + start, '{', open - start) != NULL;
    size_t len = strcspn(text, listed ? ",]}\r\n" : "\r\n");
    const char *comment = memmem(text, len, " #", 2);
    if (comment != NULL)
        len = (size_t)(comment - text);
    while (len > 0 && text[len - 1] == ' ')
        len--;
    if (len > 0 && len <= LONGEST)
        jr_diag_help(diags, diag, "close it: %c%.*s%c", text[-1], (int)len, text, text[-1]);
}

/* Tell of a slip that explains the problem better than its rule, if there is one. */
static bool report_slip(struct jr_diags *diags, const struct rule *rule,
                        const struct jr_source *source, size_t problem, size_t context)
{
    const char *text = rule->problem;
    const struct stumble stumble = {
        .diags = diags,
        .source = source,
        .at = problem,
        .context = context,
        .in_flow = strcmp(text, BRACKET) == 0 || strcmp(text, BRACE) == 0,
        .in_block = strcmp(text, NO_KEY) == 0,
        .no_colon = strcmp(text, NO_COLON) == 0,
        .colon = strcmp(text, COLON) == 0,
        .word = strcmp(text, TOKEN) == 0 || strcmp(text, NAME) == 0 || strcmp(text, TAG) == 0,
        .ended = strcmp(text, CONTENT) == 0 && rule->byte == END,
        .escape = strcmp(text, ESCAPE) == 0 || strcmp(text, HEX) == 0,
    };
    size_t i = 0, count = sizeof slips / sizeof *slips;
    while (i < count && !slips[i](&stumble))
        i++;
    return i < count;
}

/* A problem that has no rule is reported in libyaml's own words. */
static void report_problem(struct jr_diags *diags, const yaml_parser_t *parser,
                           const struct jr_source *source)
{
    struct jr_place problem = {0}, context = {0};
    const char *text = parser->problem, *around = parser->context;
    jr_place_to_index(&problem, source, parser->problem_mark.index);
    jr_place_to_index(&context, source, parser->context_mark.index);
    int byte = jr_place_peek(&problem, source);
    size_t i = 0, count = sizeof rules / sizeof *rules;
    while (i < count &&
           (strcmp(rules[i].problem, text) != 0 || (rules[i].byte != ANY && rules[i].byte != byte)))
        i++;
    if (i == count) {
        jr_diags_error(diags, JR_CODE_NOT_YAML, problem_span(problem, source), NULL, "%s%s%s", text,
                       around == NULL ? "" : " ", around == NULL ? "" : around);
        return;
    }
    const struct rule *rule = &rules[i];
    if (report_slip(diags, rule, source, problem.byte, context.byte))
        return;
    struct jr_diag *diag =
        jr_diags_error(diags, rule->code,
                       problem_span(rule->at_context && around != NULL ? context : problem, source),
                       NULL, "%s", rule->message);
    bool bracket = strcmp(text, BRACKET) == 0;
    if (rule->help != NULL)
        jr_diag_help(diags, diag, "%s", rule->help);
    else if ((bracket || strcmp(text, BRACE) == 0) && rule->byte == ANY)
        help_to_close_bracket(diags, diag, source, problem.byte, context.byte, bracket ? ']' : '}');
    else if ((strcmp(text, END_QUOTE) == 0 || strcmp(text, DOC_QUOTE) == 0) &&
             strchr("'\"", source->text[context.byte]) != NULL)
        help_to_close_quote(diags, diag, source, context.byte);
    if (rule->related != NULL && around != NULL)
        jr_diag_relate(diags, diag, problem_span(context, source), rule->related);
}

void jr_syntax_report(struct jr_diags *diags, const yaml_parser_t *parser,
                      const struct jr_source *source)
{
    if (parser->error == YAML_READER_ERROR)
        report_encoding(diags, parser, source);
    else if (parser->error == YAML_MEMORY_ERROR || parser->problem == NULL)
        jr_diags_error(diags, JR_CODE_INTERNAL, (struct jr_span){.source = source}, NULL,
                       "out of memory");
    else
        report_problem(diags, parser, source);
}
