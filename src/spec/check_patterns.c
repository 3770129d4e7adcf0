#include "spec/check_patterns.h"

#include <ctype.h>
#include <string.h>

#include "spec/internal.h"

#include "base/banned.h"

struct pattern {
    char letter;
    const char *here; /* NULL: there is nothing of the kind */
};

static const struct pattern patterns[] = {
    {'j', "%{run_id}"}, {'J', "%{run_id}"}, {'A', "%{run_id}"}, {'x', "%{run_id}"},
    {'t', "%{rank}"},   {'r', "%{rank}"},   {'a', "%{cell}"},   {'n', "%{node_rank}"},
    {'N', NULL},        {'u', NULL}};

/* The first one in a text, and where it is; NULL: there is none. */
static const struct pattern *find_pattern(const char *text, size_t *ret_at)
{
    for (const char *at = text; (at = strchr(at, '%')) != NULL; at++) {
        if (at[1] == '\0' || isalnum((unsigned char)at[2]))
            continue;
        if (at[1] == '%') {
            at++;
            continue;
        }
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
            if (patterns[i].letter == at[1]) {
                *ret_at = (size_t)(at - text);
                return &patterns[i];
            }
    }
    return NULL;
}

static void check_path(const struct jr_check *check, const struct jr_node *node, const char *path)
{
    struct jr_lint *lint = check->lint;
    size_t at = 0;
    if (node == NULL || node->kind != JR_NODE_SCALAR)
        return;
    const struct jr_node *origin = jr_lint_origin(node);
    const char *text = jr_lint_source(origin);
    const struct pattern *pattern = origin->meant ? NULL : find_pattern(text, &at);
    if (pattern == NULL)
        return;
    struct jr_diag *diag = jr_diags_warning(
        lint->diags, JR_CODE_SHELL_SYNTAX, jr_lint_part(lint, origin, at, at + 2), path,
        "'%.2s' is not replaced: it is a pattern of sbatch and srun", text + at);
    if (strcmp(path, "log_dir") == 0)
        jr_diag_help(lint->diags, diag, "leave it out: each run has a folder of its own there");
    else if (pattern->here != NULL)
        jr_diag_help(lint->diags, diag, "write %s", pattern->here);
}

void jr_check_patterns(const struct jr_check *check)
{
    const struct jr_node *list = jr_doc_find(check->tree, "results.artifacts");
    check_path(check, jr_check_raw(check, "log_dir"), "log_dir");
    check_path(check, jr_check_raw(check, "results.file"), "results.file");
    for (size_t i = 0; list != NULL && i < list->count; i++)
        check_path(check, list->items[i], "results.artifacts");
}
