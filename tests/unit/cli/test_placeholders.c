/* Synopses, and what may stand for their words. */
#include "base/buf.h"
#include "cli/placeholders.h"
#include "unit.h"

/* "SPEC0 ARG1+": each word, its position, and whether it may be repeated. */
static void walks_synopses(void)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"-x", ""},
        {"[-- ARG...]", ""},
        {"[-s FIELD=VALUE]... [-- ARG...]", ""},
        {"SPEC", "SPEC0 "},
        {"[RUN]", "RUN0 "},
        {"PATH...", "PATH0+ "},
        {"[PATH]...", "PATH0+ "},
        {"[PATH...]", "PATH0+ "},
        {"A B", "A0 B1 "},
        {"A [B_C]", "A0 B_C1 "},
        {"CODE|FIELD", "CODE0 FIELD0 "},
        {"[SPEC] [-- ARG...]", "SPEC0 "},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJ",
         "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDE0 "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_synopsis walk = {.at = rows[i][0]};
        struct jr_buf out = JR_BUF_INIT;
        char name[JR_VALUE_NAME];
        jr_buf_str(&out, "");
        while (jr_synopsis_next(&walk, name))
            jr_buf_printf(&out, "%s%u%s ", name, walk.position,
                          walk.many ? "+" : "");
        JR_ASSERT_TEXT(out.data, rows[i][1]);
        jr_buf_release(&out);
    }
}

static void finds_values_by_verb(void)
{
    CU_ASSERT_PTR_NULL(jr_value_find("NONSENSE", "run"));
    CU_ASSERT_PTR_NULL(jr_value_find("A", "run"));
    CU_ASSERT_PTR_NOT_NULL(jr_value_find("A", "diff"));
    const struct jr_value *one = jr_value_find("FORMAT", "doctor");
    const struct jr_value *other = jr_value_find("FORMAT", "plan");
    CU_ASSERT_PTR_NOT_NULL_FATAL(one);
    CU_ASSERT_PTR_NOT_NULL_FATAL(other);
    CU_ASSERT_PTR_NOT_EQUAL(one, other);
    JR_ASSERT_TEXT(one->words[1].word, "yaml");
    JR_ASSERT_TEXT(other->words[1].word, "json");
}

static void lists_words(void)
{
    static const char *const rows[][3] = {
        {"NONSENSE", "run", ""},
        {"SPEC", "run", ""},
        {"FORMAT", "doctor", ": text, yaml"},
        {"FORMAT", "validate", ": see below"},
        {"WHEN", "", ": auto, always, never"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_buf out = JR_BUF_INIT;
        jr_buf_str(&out, "");
        jr_value_words(&out, rows[i][0], rows[i][1]);
        JR_ASSERT_TEXT(out.data, rows[i][2]);
        jr_buf_release(&out);
    }
}

JR_UNIT_MAIN("cli.values", CASE(walks_synopses), CASE(finds_values_by_verb),
             CASE(lists_words))
