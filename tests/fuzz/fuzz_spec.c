/*
 * Any bytes as a spec: either there are findings, which can be rendered, or there is a struct; and
 * then the normal form is a spec of the same normal form, without findings but for warnings that
 * were there already: some are about a text that means what it says, such as $LR in a word of a
 * command.
 */
#include "fuzz.h"

#include "doc/doc.h"
#include "spec/load.h"

struct loaded {
    struct jr_diags diags;
    struct jr_spec_file *file;
    struct jr_buf normal;
};

static struct loaded load(const char *text, size_t len)
{
    struct loaded loaded = {0};
    int result = jr_spec_load_text(&loaded.file, "fuzz.yaml", "/fuzz", text, len, &loaded.diags);
    require((result == 0) == (loaded.diags.errors == 0));
    require((result == 0) == (jr_spec_get(loaded.file) != NULL));
    for (size_t i = 0; i < loaded.diags.count; i++)
        require(strcmp(loaded.diags.items[i].code, "JR0100") != 0);
    if (result == 0)
        jr_spec_emit(&loaded.normal, loaded.file);
    return loaded;
}

static void unload(struct loaded *loaded)
{
    jr_buf_release(&loaded->normal);
    jr_diags_release(&loaded->diags);
    jr_spec_free(loaded->file);
}

static bool has_warning(const struct jr_diags *diags, const char *code)
{
    for (size_t i = 0; i < diags->count; i++)
        if (diags->items[i].severity == JR_SEVERITY_WARNING &&
            strcmp(diags->items[i].code, code) == 0)
            return true;
    return false;
}

static void check_findings(const struct loaded *again, const struct loaded *first)
{
    require(again->diags.errors == 0 && again->diags.count <= first->diags.count);
    for (size_t i = 0; i < again->diags.count; i++)
        require(has_warning(&first->diags, again->diags.items[i].code));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct loaded first = load((const char *)data, size);
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_diags_sort(&first.diags);
    jr_diags_render(&text, &first.diags, JR_DIAG_HUMAN, true);
    if (jr_spec_get(first.file) != NULL) {
        struct loaded again = load(first.normal.data, first.normal.len);
        check_findings(&again, &first);
        require(again.normal.len == first.normal.len &&
                memcmp(again.normal.data, first.normal.data, first.normal.len) == 0);
        unload(&again);
    }
    unload(&first);
    return 0;
}
