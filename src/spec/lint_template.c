#include "spec/lint_template.h"

#include <string.h>
#include <strings.h>

#include <jobrun/template.h>

#include "base/did_you_mean.h"
#include "spec/lint_finding.h"
#include "spec/lint_suggest.h"

#include "base/banned.h"

/* At most this many mistakes of one scalar are reported, so that a scalar full of mistakes does not
 * take quadratic time. */
enum { MOST_TOLD = 8 };

#define WORD(name, word, help) word,

static const char *const names[] = {JR_TEMPLATE_NAMES(WORD) NULL};

static bool is_template_name(const char *name)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* The name that one is but for case, or a near one. */
static const char *near_template(const char *name)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcasecmp(names[i], name) == 0)
            return names[i];
    return jr_did_you_mean(name, names);
}

/* Help for a name that is none of a rank's. */
static void help_with_template(struct jr_lint *lint, struct jr_diag *diag, const char *name,
                               const char *near)
{
    static const char *const early[] = {"vars.", "env:", "env."};
    size_t i = 0, count = sizeof early / sizeof *early;
    while (i < count && strncmp(name, early[i], strlen(early[i])) != 0)
        i++;
    if (near != NULL)
        jr_diag_help(lint->diags, diag, "did you mean '%%{%s}'?", near);
    else if (i == 0)
        jr_diag_help(lint->diags, diag, "what all ranks share is written ${%s}", name);
    else if (i < count)
        jr_diag_help(lint->diags, diag, "an environment variable is written ${env:%s}", name + 4);
    else
        jr_diag_help(lint->diags, diag, "'%%%%{' is a literal '%%{'");
}

/* A "%{" that nothing closes. */
static void report_open_template(struct jr_lint *lint, const struct jr_node *node,
                                 const struct jr_node_step *at, size_t start)
{
    struct jr_span span = jr_lint_part(lint, node, start, start + 2);
    struct jr_diag *diag =
        jr_lint_error(lint, JR_CODE_WRONG_RANK_TEMPLATE, span, at, "'%%{' is not closed");
    const char *word = node->text + start + 2;
    size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz_");
    const char *name = jr_arena_strndup(lint->arena, word, len);
    if (name != NULL && is_template_name(name))
        jr_diag_help(lint->diags, diag, "the '}' is missing: %%{%s}; '%%%%{' is a literal '%%{'",
                     name);
    else
        jr_diag_help(lint->diags, diag, "'%%%%{' is a literal '%%{'");
}

/* Write `near` in the place of %{NAME}, if that is what the span covers. */
static void fix_word(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                     const char *name, const char *near)
{
    struct jr_span span = diag->span;
    bool exact = span.line == span.end_line && span.end_column - span.column == strlen(name) + 3;
    bool sure = strcasecmp(name, near) == 0 || jr_did_you_mean_near(name, names);
    if (!exact || node->shared || !sure)
        return;
    const char *text = jr_arena_printf(lint->arena, "%%{%s}", near);
    if (text != NULL)
        jr_diag_fix(lint->diags, diag, span, text);
}

/* Whether a name means nothing, because the spec is no cell of a sweep. */
static bool is_out_of_sweep(const struct jr_lint *lint, const char *name)
{
    return !lint->cell && !lint->base &&
           (strcmp(name, "cell") == 0 || strcmp(name, "sweep_id") == 0);
}

static void report_out_of_sweep(struct jr_lint *lint, const struct jr_node_step *at,
                                struct jr_span span, const char *name)
{
    struct jr_diag *diag = jr_lint_error(lint, JR_CODE_WRONG_RANK_TEMPLATE, span, at,
                                         "%%{%s} is known only in the cells of a sweep", name);
    jr_diag_help(lint->diags, diag,
                 "state `sweep`, or give --sweep PATH=A,B; %%{run_id} names any run");
}

/* The name that was meant by %{ rank }, %{gpu} or a misspelt one, or NULL. */
static const char *meant_template(struct jr_lint *lint, const char *name)
{
    static const char *const others[][2] = {
        {"gpu", "device"},      {"procid", "rank"},      {"localid", "local_rank"},
        {"node", "node_rank"},  {"nodeid", "node_rank"}, {"world", "world_size"},
        {"size", "world_size"}, {"port", "master_port"}, {"job_id", "run_id"}};
    name += strspn(name, " ");
    const char *bare = jr_arena_strndup(lint->arena, name, strcspn(name, " "));
    if (bare == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(bare, others[i][0]) == 0)
            return others[i][1];
    return near_template(bare);
}

/* The word of the %{...} at `start`. */
static bool check_template_word(struct jr_lint *lint, const struct jr_node *node,
                                const struct jr_node_step *at, size_t start)
{
    const char *word = node->text + start + 2;
    size_t len = strcspn(word, "%{}");
    if (word[len] != '}') {
        report_open_template(lint, node, at, start);
        return false;
    }
    const char *name = jr_arena_strndup(lint->arena, word, len);
    struct jr_span span = jr_lint_part(lint, node, start, start + len + 3);
    if (name != NULL && is_out_of_sweep(lint, name)) {
        report_out_of_sweep(lint, at, span, name);
        return false;
    }
    if (name == NULL || is_template_name(name))
        return name != NULL;
    struct jr_diag *diag =
        jr_lint_error(lint, JR_CODE_WRONG_RANK_TEMPLATE, span, at, "unknown per-rank template %s",
                      jr_lint_quoted(lint, name, len));
    const char *near = meant_template(lint, name);
    help_with_template(lint, diag, name, near);
    if (near != NULL)
        fix_word(lint, diag, node, name, near);
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

bool jr_template_is_absolute(const char *text)
{
    static const char *const folders[] = {"%{run_dir}", "%{rank_dir}"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(text, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
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
