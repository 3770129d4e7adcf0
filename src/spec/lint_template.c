/* The readers of text with something to fill in: by each rank for itself, %{rank}, and before that
 * from the spec, ${...}. internal.h has the whole. */
#include <string.h>
#include <strings.h>

#include <jobrun/template.h>

#include "base/did_you_mean.h"
#include "spec/internal.h"
#include "spec/template_text.h"

#include "base/banned.h"

/* At most this many mistakes of one scalar are reported, so that a scalar full of mistakes does not
 * take quadratic time. */
enum { MOST_TOLD = 8 };

#define WORD(name, word, help) word,

static const char *const names[] = {JR_TEMPLATE_NAMES(WORD) NULL};

static bool is_template_name(const char *name)
{
    size_t i = 0;
    while (names[i] != NULL && strcmp(names[i], name) != 0)
        i++;
    return names[i] != NULL;
}

/* The word of the %{...} at `start`. */
static bool check_template_word(struct jr_lint *lint, const struct jr_node *node,
                                const struct jr_node_step *at, size_t start)
{
    const char *word = node->text + start + 2, *near = NULL;
    size_t len = strcspn(word, "%{}");
    if (word[len] != '}') {
        struct jr_span span = jr_lint_part(lint, node, start, start + 2);
        jr_diag_help(
            lint->diags,
            jr_lint_error(lint, JR_CODE_WRONG_RANK_TEMPLATE, span, at, "'%%{' is not closed"),
            "'%%%%{' is a literal '%%{'");
        return false;
    }
    const char *name = jr_arena_strndup(lint->arena, word, len);
    struct jr_span span = jr_lint_part(lint, node, start, start + len + 3);
    if (name == NULL)
        return false;
    if (!lint->cell && !lint->base &&
        (strcmp(name, "cell") == 0 || strcmp(name, "sweep_id") == 0)) {
        jr_diag_help(lint->diags,
                     jr_lint_error(lint, JR_CODE_WRONG_RANK_TEMPLATE, span, at,
                                   "%%{%s} is known only in the cells of a sweep", name),
                     "state `sweep`, or give --sweep PATH=A,B; %%{run_id} names any run");
        return false;
    }
    if (is_template_name(name))
        return true;
    struct jr_diag *diag =
        jr_lint_error(lint, JR_CODE_WRONG_RANK_TEMPLATE, span, at, "unknown per-rank template %s",
                      jr_lint_quoted(lint, name, len));
    for (size_t i = 0; near == NULL && names[i] != NULL; i++)
        if (strcasecmp(names[i], name) == 0)
            near = names[i];
    bool sure = near != NULL || jr_did_you_mean_near(name, names);
    if (near == NULL)
        near = jr_did_you_mean(name, names);
    if (near != NULL)
        jr_diag_help(lint->diags, diag, "did you mean '%%{%s}'?", near);
    else if (strncmp(name, "vars.", 5) == 0)
        jr_diag_help(lint->diags, diag, "what all ranks share is written ${%s}", name);
    else if (strncmp(name, "env:", 4) == 0 || strncmp(name, "env.", 4) == 0)
        jr_diag_help(lint->diags, diag, "an environment variable is written ${env:%s}", name + 4);
    else
        jr_diag_help(lint->diags, diag, "'%%%%{' is a literal '%%{'");
    bool exact = span.line == span.end_line && span.end_column - span.column == len + 3;
    const char *text = near == NULL ? NULL : jr_arena_printf(lint->arena, "%%{%s}", near);
    if (text != NULL && sure && exact && !node->shared)
        jr_diag_fix(lint->diags, diag, span, text);
    return false;
}

bool jr_read_template(struct jr_lint *lint, const struct jr_node *node,
                      const struct jr_node_step *at)
{
    int bad = 0;
    const char *text = node->text;
    while (bad < MOST_TOLD && (text = strchr(text, '%')) != NULL) {
        if (strncmp(text, "%%{", 3) == 0) {
            text += 3;
        } else if (text[1] == '{') {
            bad += !check_template_word(lint, node, at, (size_t)(text - node->text));
            text += 2;
        } else {
            text++;
        }
    }
    return bad == 0;
}

/*
 * Scalars that contain ${...}. A value from the environment may be a secret, so it is in no
 * message: the field's reader reports nothing itself, and its findings are reported with the text
 * of the source.
 */

/* Whether no string is a value of the type, and so nothing in quotes. */
static bool wants_plain(const struct jr_spec_type *type)
{
    if (type->kind == JR_KIND_LIST && type->lone)
        type = type->item;
    if (type->kind == JR_KIND_MAP && type->shorthand != NULL)
        type = jr_field_get(type->fields, type->shorthand)->type;
    return type->kind == JR_KIND_INTEGER || type->kind == JR_KIND_NUMBER ||
           type->kind == JR_KIND_BOOLEAN;
}

/* The substitute for a value that is not known: the text of the source if any text is allowed, else
 * nothing. Its quotes are known. */
static struct jr_node *read_unknown(struct jr_lint *lint, const struct jr_spec_type *type,
                                    const struct jr_node *node, const struct jr_node_step *at)
{
    bool text =
        type->kind == JR_KIND_VALUE || (type->kind == JR_KIND_TEXT && type->pattern == NULL);
    if (!node->plain && wants_plain(type))
        jr_lint_unquote(lint, jr_lint_wrong(lint, type, node, at), node);
    return text ? jr_lint_scalar(lint, node, node->text, false) : NULL;
}

/* Whether a scalar can be a value of the type at all, whatever its text is. */
static bool can_be_scalar(const struct jr_spec_type *type)
{
    if (type->kind == JR_KIND_MAP && type->shorthand != NULL)
        type = jr_field_get(type->fields, type->shorthand)->type;
    if (type->kind == JR_KIND_LIST)
        return type->lone || type->words != NULL;
    return type->kind < JR_KIND_LIST || type->kind >= JR_KIND_STREAMS;
}

/* Whether a scalar would be right without its quotes. */
static bool is_good_plain(struct jr_lint *lint, const struct jr_spec_type *type,
                          const struct jr_node *node, const struct jr_node_step *at)
{
    struct jr_diags silent = JR_DIAGS_INIT, *diags = lint->diags;
    struct jr_node plain = *node;
    plain.plain = true;
    lint->diags = &silent;
    bool good = !node->plain && wants_plain(type) &&
                jr_lint_reader(type->kind)(lint, type, &plain, at) != NULL;
    lint->diags = diags;
    jr_diags_release(&silent);
    return good;
}

/* The first of what was found, without what it quotes. */
static void report_filled_finding(struct jr_lint *lint, const struct jr_spec_type *type,
                                  const struct jr_node *node, const struct jr_node_step *at,
                                  const struct jr_diags *found)
{
    const struct jr_code *row = found->count > 0 ? jr_code_find(found->items[0].code) : NULL;
    struct jr_diag *diag;
    if (row == NULL || row->number == JR_CODE_WRONG_VALUE)
        diag = jr_lint_wrong(lint, type, node, at);
    else
        diag = jr_lint_error(lint, row->number, node->span, at,
                             "'%s' is wrong after substitution (%s): '%s'", jr_lint_path(lint, at),
                             row->title, jr_lint_said(lint, node));
    if (is_good_plain(lint, type, node, at))
        jr_lint_unquote(lint, diag, node);
    jr_lint_relate_origin(lint, diag, node);
}

struct jr_node *jr_lint_filled(struct jr_lint *lint, const struct jr_spec_type *type,
                               const struct jr_node *node, const struct jr_node_step *at)
{
    struct jr_diags silent = JR_DIAGS_INIT, *diags = lint->diags;
    if (!can_be_scalar(type)) {
        jr_lint_suggest_kind(lint, jr_lint_wrong(lint, type, node, at), type, node, at);
        return NULL;
    }
    if (node->filled->unknown)
        return read_unknown(lint, type, node, at);
    lint->diags = &silent;
    struct jr_node *out = jr_lint_reader(type->kind)(lint, type, node, at);
    lint->diags = diags;
    if (silent.errors > 0) {
        report_filled_finding(lint, type, node, at, &silent);
        out = NULL;
    }
    jr_diags_release(&silent);
    return out;
}

char *jr_template_literal(struct jr_arena *arena, const char *text)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    if (text == NULL) /* there was no memory for it */
        return NULL;
    jr_buf_replaced(&out, text, "%{", "%%{");
    return jr_buf_keep(&out, arena);
}

char *jr_template_head(struct jr_arena *arena, const char *text, const char **ret_rest)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *mark = strstr(text, "%{");
    for (; mark != NULL && mark > text && mark[-1] == '%'; mark = strstr(mark + 2, "%{"))
        ;
    *ret_rest = mark == NULL ? text + strlen(text) : mark;
    char *head = jr_arena_strndup(arena, text, (size_t)(*ret_rest - text));
    if (head == NULL)
        return NULL;
    jr_buf_replaced(&out, head, "%%{", "%{");
    return jr_buf_keep(&out, arena);
}
