/* The rule of check.h on code: links are those of a copy. */
#include "spec/check.h"

#include <string.h>

#include "base/banned.h"

void jr_check_code(const struct jr_check *check)
{
    const struct jr_node *link = jr_doc_find(check->tree, "code.link");
    const struct jr_node *where = jr_doc_find(check->tree, "code.mode");
    const char *mode = jr_check_text(check, "code.mode");
    if (link == NULL || (mode == NULL && jr_check_is_open(check, "code.mode")))
        return;
    if (mode != NULL && strcmp(mode, "freeze") == 0)
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_CODE_NOT_LINKED, link, where,
                       "'code.link' is only read with mode: freeze");
    jr_diag_help(check->lint->diags, diag,
                 "code: {mode: freeze, link: ...}, or leave 'link' out");
}
