/* Single marks that do not belong where they are. syntax_slip.h declares it. */
#include <string.h>

#include "base/utf8.h"
#include "doc/syntax_slip.h"

#include "base/banned.h"

static size_t mark_line_end(const struct jr_stumble *s, size_t at)
{
    return at + strcspn(s->source->text + at, "\r\n");
}

/* The first of a text's bytes [from, to) that begins `mark`; NULL: none. */
static const char *find_mark(const struct jr_stumble *s, size_t from, size_t to, const char *mark)
{
    return memmem(s->source->text + from, to - from, mark, strlen(mark));
}

bool jr_slip_unseen(const struct jr_stumble *s)
{
    size_t start = jr_slip_line(s, s->at), end = mark_line_end(s, s->at);
    const char *text = s->source->text;
    for (size_t at = start, len; at < end; at += len) {
        uint32_t point = 0;
        len = jr_utf8_next(text + at, end - at, &point);
        if (!jr_utf8_is_unseen(point))
            continue;
        JR_BUF_CLEANUP struct jr_buf message = JR_BUF_INIT;
        jr_buf_printf(&message, "an invisible character stands here (U+%04X)", point);
        struct jr_diag *diag =
            jr_slip_report(s, at, at + len, message.failed ? "out of memory" : message.data);
        jr_diag_help(s->diags, diag, "delete it");
        jr_slip_fix(s, diag, at, at + len, "");
        return true;
    }
    return false;
}

#define WIDE_COLON "\xef\xbc\x9a"

/* version：1 */
static bool mark_wide_colon(const struct jr_stumble *s)
{
    size_t here = jr_slip_line(s, s->colon ? s->at : s->context);
    size_t from = here == 0 ? 0 : jr_slip_line(s, here - 1);
    const char *mark =
        s->colon || s->no_colon ? find_mark(s, from, mark_line_end(s, here), WIDE_COLON) : NULL;
    if (mark == NULL)
        return false;
    size_t at = (size_t)(mark - s->source->text);
    size_t to = at + strlen(WIDE_COLON);
    struct jr_diag *diag = jr_slip_report(s, at, to, "this is a full-width colon (U+FF1A)");
    jr_diag_help(s->diags, diag, "type ': ' in its place");
    jr_slip_fix(s, diag, at, to, s->source->text[to] == ' ' ? ":" : ": ");
    return true;
}

/* [./train]] */
static bool mark_stray_bracket(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    if (!s->in_block || (text[s->at] != ']' && text[s->at] != '}'))
        return false;
    struct jr_diag *diag =
        jr_slip_report(s, s->at, s->at + 1,
                       text[s->at] == ']' ? "this ']' closes nothing" : "this '}' closes nothing");
    jr_diag_help(s->diags, diag, "leave it out");
    jr_slip_fix(s, diag, s->at, s->at + 1, "");
    return true;
}

/* "data\\train" */
static bool mark_escape(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    size_t end = s->context + 1;
    if (!s->escape || text[s->context] != '"')
        return false;
    end += strcspn(text + end, "\"\r\n");
    size_t at = s->at;
    while (at > s->context && text[at] != '\\')
        at--;
    struct jr_diag *diag =
        jr_slip_report(s, at, at + 1, "unknown escape in a double-quoted string");
    if (text[end] == '"')
        jr_slip_help_quote(s, diag, s->context + 1, end, "in single quotes it stands for itself");
    else
        jr_diag_help(s->diags, diag,
                     "double it, or use single quotes, in which it stands for itself");
    return true;
}

/* ```yaml */
static bool mark_fence(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    size_t start = jr_slip_line(s, s->at);
    if (!s->word || strncmp(text + start, "```", 3) != 0)
        return false;
    struct jr_diag *diag = jr_slip_report(s, start, start + 3, "this line is a fence of Markdown");
    jr_diag_help(s->diags, diag, "delete the lines that begin with ```");
    return true;
}

/* [${{ github.sha }}] */
static bool mark_workflow(const struct jr_stumble *s)
{
    const char *text = s->source->text;
    size_t from = s->at, end = mark_line_end(s, s->at);
    if (!s->in_flow || from == 0 || strncmp(text + from - 1, "${{", 3) != 0)
        return false;
    const char *close = find_mark(s, from, end, "}}");
    struct jr_diag *diag =
        jr_slip_report(s, from - 1, close == NULL ? end : (size_t)(close - text) + 2,
                       "an expression of GitHub Actions, or of a template, is not evaluated here");
    jr_diag_help(s->diags, diag, "write \"${env:NAME}\" or \"${vars.NAME}\", in quotes");
    return true;
}

bool jr_slip_mark(const struct jr_stumble *stumble)
{
    return mark_wide_colon(stumble) || mark_stray_bracket(stumble) || mark_escape(stumble) ||
           mark_fence(stumble) || mark_workflow(stumble);
}
