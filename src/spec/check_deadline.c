/*
 * Rules of check.h on the deadline: it comes before the end, and what ends for
 * it can be told from what is done.
 */
#include "spec/check.h"

#include <string.h>

#include "base/num.h"

#include "base/banned.h"

/* A duration that the spec states, in milliseconds; 0: it states none. */
static uint64_t read_stated_duration(const struct jr_check *check,
                                     const char *path)
{
    const char *text = jr_check_text(check, path);
    uint64_t ms = 0;
    return text != NULL && jr_num_duration(text, &ms) ? ms : 0;
}

/* Whether ranks deliver by returning, or results are demanded. */
static bool is_delivery_demanded(const struct jr_check *check)
{
    const struct jr_node *entry = jr_doc_get(check->tree, "entrypoint");
    const struct jr_node *python = jr_doc_get(entry, "python");
    return jr_doc_get(check->tree, "results") != NULL ||
           jr_doc_get(python, "function") != NULL ||
           jr_doc_get(entry, "library") != NULL;
}

void jr_check_deadline(const struct jr_check *check)
{
    const struct jr_pair *pair = jr_doc_pair(check->tree, "deadline");
    uint64_t before = read_stated_duration(check, "deadline.before");
    uint64_t run = read_stated_duration(check, "timeouts.run");
    struct jr_diag *diag;
    if (pair == NULL || before == 0)
        return;
    if (run != 0 && before >= run) {
        diag = jr_check_clash(
            check, JR_CODE_DEADLINE_CONFLICT,
            jr_doc_find(check->tree, "deadline.before"),
            jr_doc_find(check->tree, "timeouts.run"),
            "'deadline.before' must be shorter than 'timeouts.run'");
        jr_diag_help(check->lint->diags, diag,
                     "it is how long before that end the ranks are warned");
    }
    if (is_delivery_demanded(check) || jr_check_is_open(check, "results"))
        return;
    diag = jr_diags_warning(
        check->lint->diags, JR_CODE_DEADLINE_LOOSE, pair->key->span, "deadline",
        "without 'results', a rank that stops for the deadline with 0 has "
        "succeeded");
    jr_diag_help(check->lint->diags, diag,
                 "results: {from: file}; or end with 75 (EX_TEMPFAIL)");
}
