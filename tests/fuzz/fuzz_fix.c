/*
 * Any bytes as a spec whose mistakes are mended: a fix that moves a field or leaves it out is an
 * edit of the text that leaves YAML with no more findings of its own than there were, and it is no
 * other launcher's field any more.
 */
#include "fuzz.h"

#include "diag/fix.h"
#include "doc/doc.h"
#include "spec/load.h"

/* How many findings the YAML itself has; there is a tree. */
static size_t read_yaml(const char *text, size_t len)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_doc doc;
    require(jr_doc_load(&doc, "fuzz.yaml", text, len, &diags) == 0);
    size_t count = diags.count;
    jr_diags_release(&diags);
    jr_doc_release(&doc);
    return count;
}

/* How many findings are about such fields. */
static size_t count_foreign(const struct jr_diags *diags)
{
    size_t count = 0;
    for (size_t i = 0; i < diags->count; i++)
        count += strcmp(diags->items[i].code, "JR0204") == 0;
    return count;
}

static void check_text(const struct jr_diags *before, const char *text, size_t len)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    (void)jr_spec_load_text(&file, "fuzz.yaml", "/fuzz", text, len, &diags);
    require(count_foreign(&diags) < count_foreign(before));
    jr_diags_release(&diags);
    jr_spec_free(file);
}

static void check_fix(struct jr_diags *diags, size_t index)
{
    const struct jr_fix *fix = diags->items[index].fix;
    struct jr_edit edit = {.diag = &diags->items[index]};
    const struct jr_source *source = fix->span.source;
    struct jr_buf out = JR_BUF_INIT;
    require(jr_fix_find(&fix->span, &edit.from, &edit.to));
    struct jr_span span = jr_fix_span(source, edit.from, edit.to);
    require(memcmp(&span, &fix->span, sizeof span) == 0);
    jr_fix_apply(&out, source, &edit, 1);
    require(!out.failed);
    require(read_yaml(out.data, out.len) <= read_yaml(source->text, source->len));
    check_text(diags, out.data, out.len);
    jr_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    (void)jr_spec_load_text(&file, "fuzz.yaml", "/fuzz", (const char *)data, size, &diags);
    for (size_t i = 0; i < diags.count && diags.count < 1000; i++)
        if (diags.items[i].fix != NULL && diags.items[i].fix->field != NULL)
            check_fix(&diags, i);
    jr_diags_release(&diags);
    jr_spec_free(file);
    return 0;
}
