/*
 * Rules of check.h on progress: a pattern where there is a stream to read, with
 * a group for the step.
 */
#include "spec/check.h"

#include <string.h>

#include "base/regex.h"

#include "base/banned.h"

/* Whether a pattern that compiles has no group `step`. */
static bool lacks_step(const struct jr_check *check, const char *pattern)
{
    struct jr_regex *regex = NULL;
    struct jr_error err = {0};
    size_t bad;
    if (jr_regex_new(&regex, pattern, &bad, &err) != 0) {
        check->lint->arena->failed |= err.status == JR_STATUS_LAUNCH;
        return false;
    }
    bool lacks = true;
    for (size_t i = 0; i < jr_regex_group_count(regex); i++)
        lacks = lacks && strcmp(jr_regex_group_name(regex, i), "step") != 0;
    jr_regex_free(regex);
    return lacks;
}

static void check_stream(const struct jr_check *check,
                         const struct jr_node *where, const char *from)
{
    const struct jr_node *pattern =
        jr_doc_find(check->tree, "progress.pattern");
    struct jr_diag *diag = NULL;
    if (jr_check_raw(check, "progress.pattern") == NULL) {
        diag = jr_check_clash(check, JR_CODE_PROGRESS_CONFLICT, where, NULL,
                              "steps on the %s of ranks need 'pattern'", from);
        jr_diag_help(check->lint->diags, diag,
                     "pattern: 'step (?<step>\\d+)'; or from: file, for "
                     "programs that call jobrun.progress()");
    } else if (pattern != NULL && pattern->kind == JR_NODE_SCALAR &&
               lacks_step(check, pattern->text)) {
        diag = jr_check_clash(check, JR_CODE_PROGRESS_CONFLICT, pattern, NULL,
                              "the pattern has no group named 'step'");
        jr_diag_help(check->lint->diags, diag, "name it: (?<step>\\d+)");
    }
    jr_check_kept(check, where, from);
}

void jr_check_progress(const struct jr_check *check)
{
    const struct jr_node *progress = jr_doc_get(check->tree, "progress");
    const struct jr_pair *pair = jr_doc_pair(check->tree, "progress");
    const char *from = jr_check_text(check, "progress.from");
    const struct jr_node *pattern =
        jr_doc_find(check->tree, "progress.pattern");
    if (progress == NULL || pair == NULL ||
        (from == NULL && jr_check_is_open(check, "progress.from")))
        return;
    const struct jr_node *where = jr_doc_get(progress, "from");
    if (from == NULL || strcmp(from, "file") != 0)
        check_stream(check, where == NULL ? pair->key : where,
                     from == NULL ? "stdout" : from);
    else if (pattern != NULL)
        (void)jr_check_clash(
            check, JR_CODE_PROGRESS_CONFLICT, pattern, where,
            "'progress.pattern' is only read with from: stdout or stderr");
}
