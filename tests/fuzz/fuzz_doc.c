/*
 * Any bytes: loading ends, and what it finds can be rendered. What loads and is emitted loads
 * again, without findings, to an equal tree, and is emitted to the same text from then on.
 */
#include "fuzz.h"

#include "../unit/doc/tree.h"

#define ROW(name, word, help) JR_DIAG_##name,

static void render(const struct jr_diags *diags)
{
    static const enum jr_diag_format formats[] = {JR_DIAG_FORMATS(ROW)};
    struct jr_checked file = {.name = "fuzz",
                              .count = diags->count,
                              .errors = diags->errors,
                              .warnings = diags->warnings};
    struct jr_diag_report report = {
        .diags = diags, .files = &file, .files_count = 1, .color = true};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_diags_report(&text, &report, formats[i]);
        require(!text.failed && (diags->count == 0 || text.len != 0));
    }
}

/* Emission indents, so that a small text may become one over the limit. */
static void emit_and_load(const struct jr_node *root, struct jr_buf *ret)
{
    jr_doc_emit(ret, root);
    require(!ret->failed);
    if (ret->len > JR_DOC_MAX_BYTES)
        return;
    struct loaded again = load(ret->data, ret->len);
    require(again.result == 0 && again.diags.count == 0);
    require(same_tree(root, again.doc.root));
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_doc_emit(&text, again.doc.root);
    require(text.len == ret->len && memcmp(text.data, ret->data, text.len) == 0);
    unload(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct loaded got = load((const char *)data, size);
    require((got.result == 0) == (got.doc.root != NULL));
    require(got.result == 0 || got.diags.errors != 0);
    jr_diags_sort(&got.diags);
    render(&got.diags);
    if (got.diags.errors == 0) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        emit_and_load(got.doc.root, &text);
    }
    unload(&got);
    return 0;
}
