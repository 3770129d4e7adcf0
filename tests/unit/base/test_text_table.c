#include "base/text_table.h"

#include "unit.h"

static const struct {
    const char *cells, *table;
} vectors[] = {
    {"", ""},
    {"\n", "\n"},
    {"\t\t\n", "\n"},
    {"a\n", "a\n"},
    {"a\tb\n", "a  b\n"},
    {"name\tn\nx\t12\n", "name  n\nx     12\n"},
    {"a\t\tb\nlong\t\tc\n", "a     b\nlong  c\n"}, /* a column of nothing */
    {"a\tb\tc\nlong\t\t\n", "a     b  c\nlong\n"}, /* no blanks at the end */
    {"a\n\tb\n", "a\n   b\n"},
    {"\xc3\xa9\tx\nab\ty\n", "\xc3\xa9   x\nab  y\n"},
    {"\xe6\x97\xa5\tx\nab\ty\n", "\xe6\x97\xa5  x\nab  y\n"},
};

static void aligns_cells(void)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf cells = JR_BUF_INIT, out = JR_BUF_INIT;
        jr_buf_str(&cells, vectors[i].cells);
        jr_buf_str(&out, ">");
        jr_table_add(&out, &cells, 2);
        CU_ASSERT_FALSE(out.failed);
        JR_ASSERT_TEXT(out.data + 1, vectors[i].table);
        jr_buf_release(&cells);
        jr_buf_release(&out);
    }
}

static void passes_failure_on(void)
{
    struct jr_buf cells = JR_BUF_INIT, out = JR_BUF_INIT;
    jr_buf_str(&cells, "a\n");
    cells.failed = true;
    jr_table_add(&out, &cells, 1);
    CU_ASSERT_TRUE(out.failed);
    CU_ASSERT_EQUAL(out.len, 0);
    jr_buf_release(&cells);
    jr_buf_release(&out);
}

JR_UNIT_MAIN("table", CASE(aligns_cells), CASE(passes_failure_on))
