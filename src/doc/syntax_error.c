#include "doc/syntax_error.h"

#include <string.h>

#include "base/utf8.h"
#include "doc/doc.h"
#include "doc/node_path.h"
#include "doc/syntax_slip.h"

#include "base/banned.h"

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

static const struct rule *find_rule(const char *problem, int byte)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].problem, problem) == 0 &&
            (rules[i].byte == ANY || rules[i].byte == byte))
            return &rules[i];
    return NULL;
}

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
    enum { LONGEST = 4, LEAD = 0xc0, TAIL = 0x80 };
    uint32_t point;
    for (size_t back = 1; back < LONGEST && back <= at; back++) {
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

/* Tell of a slip that explains the problem better than its rule, if there is one. */
static bool report_slip(struct jr_diags *diags, const struct rule *rule,
                        const struct jr_source *source, const struct jr_place *problem,
                        const struct jr_place *context)
{
    const char *text = rule->problem;
    const struct jr_stumble stumble = {
        .diags = diags,
        .source = source,
        .at = problem->byte,
        .context = context->byte,
        .in_flow = strcmp(text, BRACKET) == 0 || strcmp(text, BRACE) == 0,
        .in_block = strcmp(text, NO_KEY) == 0,
        .no_colon = strcmp(text, NO_COLON) == 0,
        .colon = strcmp(text, COLON) == 0,
        .word = strcmp(text, TOKEN) == 0 || strcmp(text, NAME) == 0 || strcmp(text, TAG) == 0,
        .ended = strcmp(text, CONTENT) == 0 && rule->byte == END,
        .escape = strcmp(text, ESCAPE) == 0 || strcmp(text, HEX) == 0,
    };
    return jr_syntax_slip(&stumble);
}

/* The number of the line that byte `at` of a source is on, from 1. */
static size_t line_number(const struct jr_source *source, size_t at)
{
    size_t number = 1;
    for (size_t i = 0; i < at; i++)
        number += source->text[i] == '\n';
    return number;
}

/* A bracket is open where the next field of the spec begins, at[0]; it opened at at[1]: say on
 * which line it ends. */
static void help_to_close_bracket(struct jr_diags *diags, struct jr_diag *diag,
                                  const struct jr_source *source, const size_t at[2], char close)
{
    const char *text = source->text;
    size_t start = at[0], last;
    while (start > 0 && text[start - 1] != '\n')
        start--;
    size_t key = strspn(text + start, "abcdefghijklmnopqrstuvwxyz_");
    for (last = start; last > 0 && strchr(" \t\r\n", text[last - 1]) != NULL;)
        last--;
    if (key == 0 || text[start + key] != ':' || at[1] >= start)
        return;
    jr_diag_help(diags, diag, "close it with %c on line %zu", close, line_number(source, last));
}

/* 'train.py]: where the quote was most likely to be closed. */
static void help_to_close_quote(struct jr_diags *diags, struct jr_diag *diag,
                                const struct jr_source *source, size_t open)
{
    enum { LONGEST = 60 };
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

/* What to write for something that was opened at at[1], and is missing at at[0]. */
static void help_to_close(struct jr_diags *diags, struct jr_diag *diag,
                          const struct jr_source *source, const struct rule *rule,
                          const size_t at[2])
{
    bool bracket = strcmp(rule->problem, BRACKET) == 0;
    bool quote = strcmp(rule->problem, END_QUOTE) == 0 || strcmp(rule->problem, DOC_QUOTE) == 0;
    if ((bracket || strcmp(rule->problem, BRACE) == 0) && rule->byte == ANY)
        help_to_close_bracket(diags, diag, source, at, bracket ? ']' : '}');
    else if (quote && strchr("'\"", source->text[at[1]]) != NULL)
        help_to_close_quote(diags, diag, source, at[1]);
}

/* A problem that has no rule is reported in libyaml's own words. */
static void report_problem(struct jr_diags *diags, const yaml_parser_t *parser,
                           const struct jr_source *source)
{
    struct jr_place problem = {0}, context = {0};
    jr_place_to_index(&problem, source, parser->problem_mark.index);
    jr_place_to_index(&context, source, parser->context_mark.index);
    const struct rule *rule = find_rule(parser->problem, jr_place_peek(&problem, source));
    if (rule == NULL) {
        const char *context_text = parser->context;
        jr_diags_error(diags, JR_CODE_NOT_YAML, problem_span(problem, source), NULL, "%s%s%s",
                       parser->problem, context_text == NULL ? "" : " ",
                       context_text == NULL ? "" : context_text);
        return;
    }
    if (report_slip(diags, rule, source, &problem, &context))
        return;
    bool at_context = rule->at_context && parser->context != NULL;
    struct jr_diag *diag =
        jr_diags_error(diags, rule->code, problem_span(at_context ? context : problem, source),
                       NULL, "%s", rule->message);
    if (rule->help != NULL)
        jr_diag_help(diags, diag, "%s", rule->help);
    else
        help_to_close(diags, diag, source, rule, (const size_t[]){problem.byte, context.byte});
    if (rule->related != NULL && parser->context != NULL)
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
