/*
 * References that are lacking: entries of `vars` that no ${...} reads. The
 * header of this file is check.h.
 */
#include <string.h>

#include "base/did_you_mean.h"
#include "spec/check.h"

#include "base/banned.h"

enum { MOST_NAMES = 256 }; /* among so many a near one is looked for */

static bool is_set_outside(const struct jr_node *node)
{
    const struct jr_source *source = node->span.source;
    return source != NULL && strcmp(source->name, "--set") == 0;
}

/* Whether this spec, or --set, states a value: its parents may state more than
 * it reads. */
static bool is_stated_here(const struct jr_check *check,
                           const struct jr_node *node)
{
    const struct jr_source *source = node->span.source;
    return is_set_outside(node) ||
           (source != NULL && source == check->root->span.source);
}

/* Whether shell text has the reference, which means nothing there. */
static bool is_read_by_shell(const struct jr_check *check, const char *name)
{
    const char *shell = jr_check_text(check, "entrypoint.shell");
    const char *reference =
        jr_arena_printf(check->lint->arena, "${vars.%s}", name);
    return shell != NULL && reference != NULL &&
           strstr(shell, reference) != NULL;
}

/* The entry that is read and has nearly this name, or NULL. */
static const char *near_read_entry(const struct jr_node *vars, const char *name)
{
    const char *names[MOST_NAMES + 1];
    size_t count = 0;
    if (vars->count > MOST_NAMES)
        return NULL;
    for (size_t i = 0; i < vars->count; i++)
        if (vars->pairs[i].value->read)
            names[count++] = vars->pairs[i].key->text;
    names[count] = NULL;
    return jr_did_you_mean(name, names);
}

static void warn_of_unread_entry(const struct jr_check *check,
                                 const struct jr_node *vars,
                                 const struct jr_pair *pair, struct jr_span at)
{
    const struct jr_node_step up = {.key = "vars"};
    const struct jr_node_step step = {.up = &up, .key = pair->key->text};
    const char *path = jr_lint_path(check->lint, &step);
    const char *near = near_read_entry(vars, pair->key->text);
    struct jr_diags *diags = check->lint->diags;
    struct jr_diag *diag =
        jr_diags_warning(diags, JR_CODE_VARIABLE_UNREAD, at, path,
                         "nothing in the spec reads '%s'", path);
    if (is_read_by_shell(check, pair->key->text))
        jr_diag_help(diags, diag,
                     "shell text is left to the shell: pass it by a variable, "
                     "env: {NAME: ${%s}}",
                     path);
    else if (near != NULL)
        jr_diag_help(diags, diag, "did you mean 'vars.%s'?", near);
    else
        jr_diag_help(diags, diag, "refer to it as ${%s}, or leave it out",
                     path);
}

void jr_check_vars(const struct jr_check *check)
{
    const struct jr_node *vars = jr_check_raw(check, "vars");
    if (vars == NULL || vars->kind != JR_NODE_MAPPING || check->lint->base ||
        check->lint->garbled)
        return;
    for (size_t i = 0; i < vars->count; i++) {
        const struct jr_pair *pair = &vars->pairs[i];
        const struct jr_node *value = pair->value;
        const struct jr_node *at = is_set_outside(value) ? value : pair->key;
        if (!value->read && !value->shared && is_stated_here(check, at) &&
            !jr_lint_is_removed(check->lint, value))
            warn_of_unread_entry(check, vars, pair, at->span);
    }
}
