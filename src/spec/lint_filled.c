/*
 * Scalars that contain ${...}. A value from the environment may be a secret,
 * so it is in no message: the field's reader reports nothing itself, and its
 * findings are reported with the text of the source. The header of this file is
 * lint.h.
 */
#include "spec/lint.h"

#include <string.h>

#include "base/banned.h"

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

/* The substitute for a value that is not known: the text of the source if any
 * text is allowed, else nothing. Its quotes are known. */
static struct jr_node *read_unknown(struct jr_lint *lint,
                                    const struct jr_spec_type *type,
                                    const struct jr_node *node,
                                    const struct jr_node_step *at)
{
    bool text = type->kind == JR_KIND_VALUE ||
                (type->kind == JR_KIND_TEXT && type->pattern == NULL);
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
                          const struct jr_node *node,
                          const struct jr_node_step *at)
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
static void report_filled_finding(struct jr_lint *lint,
                                  const struct jr_spec_type *type,
                                  const struct jr_node *node,
                                  const struct jr_node_step *at,
                                  const struct jr_diags *found)
{
    const struct jr_code *row =
        found->count > 0 ? jr_code_find(found->items[0].code) : NULL;
    struct jr_diag *diag;
    if (row == NULL || row->number == JR_CODE_WRONG_VALUE)
        diag = jr_lint_wrong(lint, type, node, at);
    else
        diag = jr_lint_error(lint, row->number, node->span, at,
                             "'%s' is wrong after substitution (%s): '%s'",
                             jr_lint_path(lint, at), row->title,
                             jr_lint_said(lint, node));
    if (is_good_plain(lint, type, node, at))
        jr_lint_unquote(lint, diag, node);
    jr_lint_relate_origin(lint, diag, node);
}

struct jr_node *jr_lint_filled(struct jr_lint *lint,
                               const struct jr_spec_type *type,
                               const struct jr_node *node,
                               const struct jr_node_step *at)
{
    struct jr_diags silent = JR_DIAGS_INIT, *diags = lint->diags;
    if (!can_be_scalar(type)) {
        (void)jr_lint_wrong(lint, type, node, at);
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
