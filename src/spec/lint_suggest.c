/* What may have been meant, as help; and as a fix where that is sure. */
#include "spec/lint.h"

#include <string.h>
#include <strings.h>

#include "base/did_you_mean.h"
#include "base/utf8.h"

#include "base/banned.h"

/* How many characters more than its text the source has for a scalar: 0 or the
 * two quotes. -1 where it holds something else than the text: escapes, a block.
 */
static int count_quotes(const struct jr_node *node)
{
    const struct jr_span *span = &node->span;
    const char *text = jr_lint_source(node);
    size_t width = span->end_column - span->column;
    size_t points = jr_utf8_points(text, strlen(text));
    if (span->line != span->end_line)
        return -1;
    return width == points ? 0 : width == points + 2 ? 2 : -1;
}

/* Whether it can be told what changes with the text of a scalar. */
static bool is_text_editable(const struct jr_node *node)
{
    return node->filled == NULL && !node->shared;
}

void jr_lint_fix(struct jr_lint *lint, struct jr_diag *diag,
                 const struct jr_node *node, const char *text)
{
    if (text != NULL && is_text_editable(node) &&
        count_quotes(node) == (node->plain ? 0 : 2))
        jr_diag_fix(lint->diags, diag, node->span, text);
}

void jr_lint_fix_text(struct jr_lint *lint, struct jr_diag *diag,
                      const struct jr_node *node, const char *text)
{
    struct jr_span span = node->span;
    int quotes = count_quotes(node);
    if (!is_text_editable(node) || quotes < 0)
        return;
    span.column += (uint32_t)quotes / 2;
    span.end_column -= (uint32_t)quotes / 2;
    jr_diag_fix(lint->diags, diag, span, text);
}

void jr_lint_unquote(struct jr_lint *lint, struct jr_diag *diag,
                     const struct jr_node *node)
{
    /* in brackets, braces must be quoted */
    bool stuck = node->filled != NULL && node->flow;
    jr_diag_help(lint->diags, diag, "quotes make it a string: write %s%s",
                 jr_lint_said(lint, node),
                 stuck ? ", on a line of its own" : "");
    if (!stuck && !node->shared && count_quotes(node) == 2)
        jr_diag_fix(lint->diags, diag, node->span, jr_lint_source(node));
}

bool jr_lint_is_bare(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-/";
    size_t len = strspn(text, letters);
    return len > 0 && text[len] == '\0' && text[0] != '-';
}

static bool is_word_among(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

/* The word that is this one except for case, or NULL. */
static const char *find_word_but_case(const char *text,
                                      const char *const *words)
{
    while (*words != NULL && strcasecmp(*words, text) != 0)
        words++;
    return *words;
}

const char *jr_lint_near_word(const char *text, const char *const *words,
                              bool *ret_sure)
{
    const char *near = jr_field_foreign_word(text);
    *ret_sure = jr_field_foreign_word_is_sure(text);
    if (near != NULL && is_word_among(near, words))
        return near;
    near = find_word_but_case(text, words);
    *ret_sure = near != NULL || jr_did_you_mean_near(text, words);
    return near != NULL ? near : jr_did_you_mean(text, words);
}

void jr_lint_suggest(struct jr_lint *lint, struct jr_diag *diag,
                     const struct jr_node *node, const char *const *words)
{
    bool sure;
    if (diag == &lint->diags->scratch || node->filled != NULL)
        return;
    const char *near = jr_lint_near_word(node->text, words, &sure);
    if (near == NULL)
        return;
    jr_diag_help(lint->diags, diag, "did you mean '%s'?", near);
    if (sure && jr_lint_is_bare(near))
        jr_lint_fix_text(lint, diag, node, near);
}
