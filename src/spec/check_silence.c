/* What `timeouts.silence` can detect. */
#include <string.h>

#include "base/num.h"
#include "spec/check.h"

#include "base/banned.h"

enum { MOST_FOLLOWED = 4096 }; /* local ranks */

static bool is_output_limited(const struct jr_node *silence)
{
    uint64_t ms = 0;
    return silence != NULL && silence->kind == JR_NODE_SCALAR &&
           jr_num_duration(silence->text, &ms) && ms > 0;
}

/* A stream that neither `tee` nor `redirects` takes goes by jobrun. Without
 * `tee` there is none. */
void jr_check_silence(const struct jr_check *check)
{
    static const char *const words[] = {"out", "err"};
    const struct jr_node *silence =
        jr_doc_find(check->tree, "timeouts.silence");
    const struct jr_node *tee = jr_doc_get(check->tree, "tee");
    const struct jr_node *redirects = jr_doc_get(check->tree, "redirects");
    struct jr_stated local = jr_check_number(check, "local_world_size");
    uint64_t ranks = local.node == NULL ? 1 : local.value;
    if (tee == NULL || !is_output_limited(silence))
        return;
    for (uint32_t n = 0; n < 2 * ranks && n < MOST_FOLLOWED; n++) {
        if (jr_check_takes(check, tee, words[n % 2], n / 2) ||
            jr_check_takes(check, redirects, words[n % 2], n / 2))
            continue;
        struct jr_diag *diag = jr_diags_warning(
            check->lint->diags, JR_CODE_SILENCE_UNDETECTABLE, silence->span,
            "timeouts.silence",
            "no hang can be detected: local rank %u inherits its std%s, which "
            "jobrun cannot see",
            n / 2, words[n % 2]);
        jr_diag_relate(check->lint->diags, diag, tee->span, "stated here");
        jr_diag_help(check->lint->diags, diag,
                     "leave tee out, or redirect that stream to its file");
        return;
    }
}
