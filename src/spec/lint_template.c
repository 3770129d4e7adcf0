/* The reader of lint.h for what each rank fills in for itself: %{rank}. */
#include "spec/lint.h"

#include <string.h>
#include <strings.h>

#include <jobrun/types.h>

#include "base/did_you_mean.h"

#include "base/banned.h"

/* At most this many mistakes of one scalar are reported, so that a scalar full
 * of mistakes does not take quadratic time. */
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
static void help_with_template(struct jr_lint *lint, struct jr_diag *diag,
                               const char *name, const char *near)
{
    static const char *const early[] = {"vars.", "env:", "env."};
    size_t i = 0, count = sizeof early / sizeof *early;
    while (i < count && strncmp(name, early[i], strlen(early[i])) != 0)
        i++;
    if (near != NULL)
        jr_diag_help(lint->diags, diag, "did you mean '%%{%s}'?", near);
    else if (i == 0)
        jr_diag_help(lint->diags, diag, "what all ranks share is written ${%s}",
                     name);
    else if (i < count)
        jr_diag_help(lint->diags, diag,
                     "an environment variable is written ${env:%s}", name + 4);
    else
        jr_diag_help(lint->diags, diag, "'%%%%{' is a literal '%%{'");
}

/* A "%{" that nothing closes. */
static void report_open_template(struct jr_lint *lint,
                                 const struct jr_node *node,
                                 const struct jr_node_step *at, size_t start)
{
    struct jr_span span = jr_lint_part(lint, node, start, start + 2);
    struct jr_diag *diag = jr_lint_error(lint, JR_CODE_WRONG_RANK_TEMPLATE,
                                         span, at, "'%%{' is not closed");
    const char *word = node->text + start + 2;
    size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz_");
    const char *name = jr_arena_strndup(lint->arena, word, len);
    if (name != NULL && is_template_name(name))
        jr_diag_help(lint->diags, diag,
                     "the '}' is missing: %%{%s}; '%%%%{' is a literal '%%{'",
                     name);
    else
        jr_diag_help(lint->diags, diag, "'%%%%{' is a literal '%%{'");
}

/* Write `near` in the place of %{NAME}, if that is what the span covers. */
static void fix_word(struct jr_lint *lint, struct jr_diag *diag,
                     const struct jr_node *node, const char *name,
                     const char *near)
{
    struct jr_span span = diag->span;
    bool exact = span.line == span.end_line &&
                 span.end_column - span.column == strlen(name) + 3;
    bool sure =
        strcasecmp(name, near) == 0 || jr_did_you_mean_near(name, names);
    if (!exact || node->shared || !sure)
        return;
    const char *text = jr_arena_printf(lint->arena, "%%{%s}", near);
    if (text != NULL)
        jr_diag_fix(lint->diags, diag, span, text);
}

/* The word of the %{...} at `start`. */
static bool check_template_word(struct jr_lint *lint,
                                const struct jr_node *node,
                                const struct jr_node_step *at, size_t start)
{
    const char *word = node->text + start + 2;
    size_t len = strcspn(word, "%{}");
    if (word[len] != '}') {
        report_open_template(lint, node, at, start);
        return false;
    }
    const char *name = jr_arena_strndup(lint->arena, word, len);
    if (name == NULL || is_template_name(name))
        return name != NULL;
    struct jr_span span = jr_lint_part(lint, node, start, start + len + 3);
    struct jr_diag *diag = jr_lint_error(
        lint, JR_CODE_WRONG_RANK_TEMPLATE, span, at,
        "unknown per-rank template %s", jr_lint_quoted(lint, name, len));
    const char *near = near_template(name);
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
            bad += !check_template_word(lint, node, at,
                                        (size_t)(text - node->text));
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
