#include <string.h>

#include "base/diff_table.h"
#include "base/utf8.h"

#include "unit.h"

/* Two values, and how each is shown: in a table, in a comment. */
static const struct {
    const char *a, *b;
    const char *text, *comment;
} values[] = {
    {NULL, "8", "f      -  8\n", "| `f` | | `8` |\n"},
    {"", "8", "f         8\n", "| `f` | <code></code> | `8` |\n"},
    {"a|b", "`", "f      a|b  `\n", "| `f` | <code>a&#124;b</code> | <code>&#96;</code> |\n"},
    {"a\\|b", " x", "f      a\\|b   x\n",
     "| `f` | <code>a&#92;&#124;b</code> | <code>&#32;x</code> |\n"},
    {"\033[2J\n", "\xff", "f      \\x1b[2J\\x0a  \\xff\n",
     "| `f` | <code>&#92;x1b&#91;2J&#92;x0a</code> | <code>&#92;xff</code> |\n"},
    {"<b>@all #1 *x*</b>", "1", "f      <b>@all #1 *x*</b>  1\n",
     "| `f` | `<b>@all #1 *x*</b>` | `1` |\n"},
    {"\xe6\x97\xa5", "x", "f      \xe6\x97\xa5  x\n", "| `f` | `\xe6\x97\xa5` | `x` |\n"},
};

static const char *behind(const char *text, int lines)
{
    for (; text != NULL && lines > 0; lines--) {
        text = strchr(text, '\n');
        text = text == NULL ? NULL : text + 1;
    }
    return text;
}

TEST(shows_values)
{
    JR_EACH(value, values) {
        RELEASE(jr_diff_table_release) struct jr_diff_table contrast = JR_DIFF_TABLE_INIT;
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        struct jr_diff_table_row *row = jr_diff_table_add(&contrast, "f");
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        row->a.value = value->a;
        row->b.value = value->b;
        CU_ASSERT_TRUE(jr_diff_table_differs(row));
        jr_diff_table_text(&out, &contrast, "field");
        JR_ASSERT_TEXT(behind(out.data, 1), value->text);
        jr_buf_clear(&out);
        jr_diff_table_markdown(&out, &contrast, "field");
        JR_ASSERT_TEXT(behind(out.data, 2), value->comment);
    }
}

TEST(stands_below_names_on_a_narrow_terminal)
{
    static const struct jr_source file = {.name = "train.jobrun.yaml"};
    static const char narrow[] = "entrypoint.command\n"
                                 "  A  [./train, --epochs, 5, --lr, 0.1, ...  train.jobrun.yaml:3\n"
                                 "  B  [./train]                              default\n"
                                 "threads\n"
                                 "  A  -\n"
                                 "  B  8  hardware\n";
    RELEASE(jr_diff_table_release) struct jr_diff_table contrast = JR_DIFF_TABLE_INIT;
    struct jr_buf out JR_BUF_CLEANUP = {.width = 80};
    struct jr_diff_table_row *row = jr_diff_table_add(&contrast, "entrypoint.command");
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    row->a = (struct jr_diff_table_side){.value = "[./train, --epochs, 5, --lr, 0.1, --batch, 256]",
                                         .at = {.source = &file, .line = 3}};
    row->b = (struct jr_diff_table_side){.value = "[./train]", .from = "default"};
    row = jr_diff_table_add(&contrast, "threads");
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    row->b = (struct jr_diff_table_side){.value = "8", .from = "hardware"};
    jr_diff_table_text(&out, &contrast, "field");
    JR_ASSERT_TEXT(out.data, narrow);
    jr_buf_clear(&out);
    out.width = 200;
    jr_diff_table_text(&out, &contrast, "field");
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "field  "));
}

TEST(tells_where_from)
{
    static const struct jr_source file = {.name = "t.yaml"};
    RELEASE(jr_diff_table_release) struct jr_diff_table contrast = JR_DIFF_TABLE_INIT;
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    struct jr_diff_table_row *row = jr_diff_table_add(&contrast, "threads");
    row->a = (struct jr_diff_table_side){.value = "4", .from = "hardware"};
    row->b =
        (struct jr_diff_table_side){.value = "16", .at = {.source = &file, .line = 7, .column = 9}};
    row->part = "placement";
    jr_diff_table_text(&out, &contrast, "field");
    JR_ASSERT_TEXT(out.data, "field    A            B\n"
                             "threads  4  hardware  16  t.yaml:7\n");
    jr_buf_clear(&out);
    jr_diff_table_markdown(&out, &contrast, "field");
    JR_ASSERT_TEXT(out.data, "| field | A | B |\n|---|---|---|\n"
                             "| `threads` | `4` `hardware` | `16` `t.yaml:7` |\n");
    jr_buf_clear(&out);
    json_t *rows = jr_diff_table_json(&contrast);
    jr_json_print(&out, rows, 0);
    JR_ASSERT_TEXT(out.data, "[{\"field\": \"threads\", \"part\": \"placement\", \"a\": "
                             "{\"value\": \"4\", \"from\": \"hardware\", \"file\": null, "
                             "\"line\": null, \"column\": null}, \"b\": {\"value\": \"16\", "
                             "\"from\": null, \"file\": \"t.yaml\", \"line\": 7, \"column\": 9}}]");
    json_decref(rows);
}

/* Long values are cut where they begin to differ, between code points. */
TEST(cuts_around_the_difference)
{
    char a[400], b[400];
    for (size_t i = 0; i < sizeof a - 2; i += 2)
        (void)memcpy(a + i, "\xc3\xa9", 2);
    a[sizeof a - 2] = '\0';
    (void)memcpy(b, a, sizeof a);
    b[200] = 'X';
    b[201] = 'Y';
    RELEASE(jr_diff_table_release) struct jr_diff_table contrast = JR_DIFF_TABLE_INIT;
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    struct jr_diff_table_row *row = jr_diff_table_add(&contrast, "f");
    row->a.value = a;
    row->b.value = b;
    jr_diff_table_text(&out, &contrast, "field");
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "XY"));
    CU_ASSERT_PTR_NULL(strstr(out.data, "\\x"));
    CU_ASSERT_TRUE(out.len < 300);
    for (size_t at = 0, size; at < out.len; at += size) {
        uint32_t point;
        size = jr_utf8_decode(out.data + at, out.len - at, &point);
        CU_ASSERT_NOT_EQUAL_FATAL(size, 0);
    }
}

TEST(equal_values_do_not_differ)
{
    struct jr_diff_table contrast = JR_DIFF_TABLE_INIT;
    struct jr_buf out = JR_BUF_INIT;
    jr_diff_table_text(&out, &contrast, "field");
    jr_diff_table_markdown(&out, &contrast, "field");
    CU_ASSERT_EQUAL(out.len, 0);
    struct jr_diff_table_row *row = jr_diff_table_add(&contrast, "f");
    CU_ASSERT_FALSE(jr_diff_table_differs(row));
    row->a.value = "8";
    CU_ASSERT_TRUE(jr_diff_table_differs(row));
    row->b.value = "8";
    CU_ASSERT_FALSE(jr_diff_table_differs(row));
    jr_diff_table_release(&contrast);
    CU_ASSERT_EQUAL(contrast.count, 0);
}

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

TEST(aligns_cells)
{
    JR_EACH(row, vectors) {
        JR_BUF_CLEANUP struct jr_buf cells = JR_BUF_INIT, out = JR_BUF_INIT;
        jr_buf_str(&cells, row->cells);
        jr_buf_str(&out, ">");
        jr_table_add(&out, &cells, 2);
        CU_ASSERT_FALSE(out.failed);
        JR_ASSERT_TEXT(out.data + 1, row->table);
    }
}

TEST(passes_failure_on)
{
    JR_BUF_CLEANUP struct jr_buf cells = JR_BUF_INIT, out = JR_BUF_INIT;
    jr_buf_str(&cells, "a\n");
    cells.failed = true;
    jr_table_add(&out, &cells, 1);
    CU_ASSERT_TRUE(out.failed);
    CU_ASSERT_EQUAL(out.len, 0);
}
