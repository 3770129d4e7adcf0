#include "unit.h"

#include "diag/fix.h"
#include "doc/doc.h"
#include "spec/migrate.h"

/* Languages that never were: 0 and 1 before version 2. */
static const struct jr_migration steps[] = {
    {.from = 0, .field = "nprocs", .key = "world_size"},
    {.from = 0, .field = "mesh.tp", .key = "model"},
    {.from = 0, .field = "mesh", .key = "parallelism"},
    {.from = 0, .field = "backend", .was = "NCCL", .word = "nccl"},
    {.from = 0, .field = "results.*.kind", .key = "type", .was = "float", .word = "number"},
    {.from = 1, .field = "backend", .key = "backends"},
};
static const struct jr_migrations table = {steps, sizeof steps / sizeof *steps, 2};

/* Bring a text up to date, and append what is wrong with it then. */
static void migrate(struct jr_buf *out, const char *text, const struct jr_migrations *migrations)
{
    struct jr_buf next = JR_BUF_INIT;
    size_t count = 1;
    jr_buf_clear(out);
    jr_buf_str(out, text);
    while (count > 0) {
        struct jr_diags diags = JR_DIAGS_INIT;
        struct jr_arena arena = JR_ARENA_INIT;
        struct jr_doc doc;
        CU_ASSERT_EQUAL_FATAL(jr_doc_load(&doc, "t", out->data, out->len, &diags), 0);
        jr_migrate_find(&diags, &doc, migrations);
        struct jr_edit *edits = jr_fix_choose(&arena, doc.source, &diags, &count);
        jr_buf_clear(&next);
        jr_fix_apply(&next, doc.source, edits, count);
        if (count == 0)
            jr_diags_render(&next, &diags, JR_DIAG_SHORT, false);
        jr_buf_clear(out);
        jr_buf_add(out, next.data, next.len);
        jr_arena_release(&arena);
        jr_diags_release(&diags);
        jr_doc_release(&doc);
    }
    jr_buf_release(&next);
}

static const struct {
    const char *before, *after;
} vectors[] = {
    /* what cannot be done is told, and left */
    {"nprocs: 4\n", "nprocs: 4\nt:1:1: error: 'version' is missing, so the "
                    "version of this spec is unknown [JR0201]\n"},
    {"version: 3 # new\n", "version: 3 # new\nt:1:10: error: version 3 is newer than what this "
                           "jobrun understands: version 2 [JR0211]\n"},
    {"version: [1]\n", "version: [1]\nt:1:10: error: 'version' is not a "
                       "version number: the current version is 2 [JR0211]\n"},
    {"version: \"1\"\n", "version: \"1\"\nt:1:10: error: 'version' is not a "
                         "version number: the current version is 2 [JR0211]\n"},
    {"version: 99999999999\n",
     "version: 99999999999\nt:1:10: error: 'version' is not a version number: "
     "the current version is 2 [JR0211]\n"},
    {"- version: 1\n", "- version: 1\nt:1:1: error: 'version' is missing, so "
                       "the version of this spec is unknown [JR0201]\n"},
    {"version: 0\nnprocs: 4\nbackend: NCCL\nworld_size: 8\n",
     "version: 0\nnprocs: 4\nbackend: NCCL\nworld_size: 8\nt:2:1: error: "
     "'nprocs' has been called 'world_size' since version 1, and the spec has "
     "both [JR0203]\nt:3:10: error: 'NCCL' has been 'nccl' since version 1 "
     "[JR0211]\nt:1:10: error: version 0 is not the current one [JR0211]\n"},
    /* the current one stays, whatever is in it */
    {"version: 2\nnprocs: 4\n", "version: 2\nnprocs: 4\n"},
    /* from version to version, with comments and layout */
    {"version: 1\nbackend: [a]\n", "version: 2\nbackends: [a]\n"},
    {"# head\n"
     "version:   0   # old\n"
     "'nprocs' :  4  # ranks\n"
     "mesh: {tp: 2,  other: tp}  # mesh\n"
     "backend: \"NCCL\"\n"
     "results:\n"
     "    a: {kind: float, max: 1}\n"
     "    b: {kind: int}   # kind\n"
     "x-kept: {nprocs: 1, backend: NCCL}\n",
     "# head\n"
     "version:   2   # old\n"
     "world_size :  4  # ranks\n"
     "parallelism: {model: 2,  other: tp}  # mesh\n"
     "backends: nccl\n"
     "results:\n"
     "    a: {type: number, max: 1}\n"
     "    b: {type: int}   # kind\n"
     "x-kept: {nprocs: 1, backend: NCCL}\n"},
};

static void goes_from_version_to_version(void)
{
    struct jr_buf out = JR_BUF_INIT;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        migrate(&out, vectors[i].before, &table);
        JR_ASSERT_TEXT(out.data, vectors[i].after);
    }
    jr_buf_release(&out);
}

/* Version 1 is the only one so far. */
static void the_program_knows_one_version(void)
{
    struct jr_buf out = JR_BUF_INIT;
    CU_ASSERT_EQUAL(jr_migrations()->current, 1);
    CU_ASSERT_EQUAL(jr_migrations()->count, 0);
    migrate(&out, "version: 1\nnprocs: 4\n", jr_migrations());
    JR_ASSERT_TEXT(out.data, "version: 1\nnprocs: 4\n");
    jr_buf_release(&out);
}

JR_UNIT_MAIN("migrate", CASE(goes_from_version_to_version), CASE(the_program_knows_one_version))
