#include "diag/diag.h"

#include "unit.h"

#define BOM "\xef\xbb\xbf"

/* Where a fix stands and what it writes. */
struct wish {
    uint32_t line, column, end_line, end_column;
    const char *text;
};

enum { MOST = 4 };

struct vector {
    const char *before;
    struct wish wishes[MOST];
    size_t made;
    const char *after;
};

static void add(struct jr_diags *diags, const struct jr_source *source, const struct wish *wish)
{
    const struct jr_span span = {source, wish->line, wish->column, wish->end_line,
                                 wish->end_column};
    struct jr_diag *diag = jr_diags_error(diags, JR_CODE_UNKNOWN_FIELD, span, NULL, "wrong");
    jr_diag_fix(diags, diag, span, wish->text);
}

static void check(const struct vector *vector)
{
    const struct jr_source source = {
        .name = "a", .text = vector->before, .len = strlen(vector->before)};
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    size_t made;
    for (size_t i = 0; i < MOST && vector->wishes[i].text != NULL; i++)
        add(&diags, &source, &vector->wishes[i]);
    struct jr_edit *edits = jr_fix_choose(&arena, &source, &diags, &made);
    CU_ASSERT_EQUAL(edits == NULL, made == 0);
    CU_ASSERT_EQUAL(made, vector->made);
    jr_fix_apply(&out, &source, edits, made);
    JR_ASSERT_TEXT(out.data, vector->after);
}

#define CHECK_ALL(vectors)                                                                         \
    for (size_t i = 0; i < sizeof(vectors) / sizeof *(vectors); i++)                               \
    check(&(vectors)[i])

TEST(leaves_what_is_no_edit_of_the_text)
{
    static const struct vector vectors[] = {
        {"ab\ncd\n", {{0, 0, 0, 0, "x"}}, 0, "ab\ncd\n"},
        {"ab\ncd\n", {{1, 0, 1, 2, "x"}}, 0, "ab\ncd\n"},
        {"ab\ncd\n", {{1, 1, 1, 4, "x"}}, 0, "ab\ncd\n"}, /* behind the line */
        {"ab\ncd\n", {{1, 4, 1, 5, "x"}}, 0, "ab\ncd\n"},
        {"ab\ncd\n", {{4, 1, 4, 1, "x"}}, 0, "ab\ncd\n"}, /* no such line */
        {"ab\ncd\n", {{2, 1, 4, 1, "x"}}, 0, "ab\ncd\n"},
        {"ab\ncd", {{3, 1, 3, 1, "x"}}, 0, "ab\ncd"},
        {"ab\ncd\n", {{1, 2, 1, 1, "x"}}, 0, "ab\ncd\n"}, /* backwards */
        {"ab\ncd\n", {{2, 1, 1, 1, "x"}}, 0, "ab\ncd\n"},
        {"\xc3\xbc\n", {{1, 1, 1, 3, "x"}}, 0, "\xc3\xbc\n"},
        {"x", {{1, 1, 1, UINT32_MAX, "y"}}, 0, "x"},
        {"ab", {{1, 1, 1, 3, "ab"}}, 0, "ab"}, /* changes nothing */
        {"ab", {{1, 2, 1, 2, ""}}, 0, "ab"},
    };
    CHECK_ALL(vectors);
}

/* What was added first wins where two stand in the same place, what stands first where they
 * overlap. */
TEST(lets_what_overlaps_wait)
{
    static const struct vector vectors[] = {
        {"abcdef", {{1, 1, 1, 4, "x"}, {1, 3, 1, 6, "y"}}, 1, "xdef"},
        {"abcdef", {{1, 3, 1, 6, "y"}, {1, 1, 1, 4, "x"}}, 1, "xdef"},
        {"abcdef", {{1, 2, 1, 3, "x"}, {1, 1, 1, 7, "y"}}, 1, "y"},
        {"abcdef", {{1, 2, 1, 4, "x"}, {1, 2, 1, 4, "x"}}, 1, "axdef"},
        {"abcdef", {{1, 2, 1, 4, "x"}, {1, 2, 1, 3, "y"}}, 1, "axdef"},
        {"abcdef", {{1, 2, 1, 2, "x"}, {1, 2, 1, 2, "y"}}, 1, "axbcdef"},
        {"abcdef", {{1, 2, 1, 2, "x"}, {1, 2, 1, 4, "y"}}, 1, "axbcdef"},
        {"a\nb\nc", {{1, 1, 2, 2, "x"}, {2, 1, 3, 2, "y"}}, 1, "x\nc"},
    };
    CHECK_ALL(vectors);
}

TEST(leaves_the_fixes_of_other_texts)
{
    const struct jr_source mine = {.name = "a", .text = "ab", .len = 2};
    const struct jr_source other = mine;
    const struct wish wish = {1, 1, 1, 2, "x"};
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    size_t made = 7;
    add(&diags, &other, &wish);
    (void)jr_diags_error(&diags, JR_CODE_UNKNOWN_FIELD, (struct jr_span){&mine, 1, 1, 1, 2}, NULL,
                         "no fix");
    CU_ASSERT_PTR_NULL(jr_fix_choose(&arena, &mine, &diags, &made));
    CU_ASSERT_EQUAL(made, 0);
    CU_ASSERT_PTR_NOT_NULL(jr_fix_choose(&arena, &other, &diags, &made));
    CU_ASSERT_EQUAL(made, 1);
    arena.limit = arena.used;
    CU_ASSERT_PTR_NULL(jr_fix_choose(&arena, &other, &diags, &made));
    CU_ASSERT_EQUAL(made, 0);
    CU_ASSERT_TRUE(arena.failed);
}

TEST(writes_in_order)
{
    static const struct vector vectors[] = {
        {"", {{1, 1, 1, 1, "a"}}, 1, "a"},
        {"abcdef", {{1, 5, 1, 6, "y"}, {1, 2, 1, 3, "x"}}, 2, "axcdyf"},
        {"abcdef", {{1, 2, 1, 4, "x"}, {1, 4, 1, 5, ""}}, 2, "axef"},
        {"ab\ncd\nef",
         {{3, 1, 3, 3, "longer"}, {1, 3, 1, 3, "!"}, {2, 1, 2, 2, ""}},
         3,
         "ab!\nd\nlonger"},
        {"ab\ncd\n", {{1, 2, 2, 2, "-"}}, 1, "a-d\n"}, /* over a line's end */
        {"ab\n", {{2, 1, 2, 1, "cd\n"}}, 1, "ab\ncd\n"},
    };
    CHECK_ALL(vectors);
}

/* Columns are code points, lines end as YAML says, and nothing else moves. */
TEST(counts_as_positions_do)
{
    static const struct vector vectors[] = {
        {"\tk: \xe6\x97\xa5\xf0\x9f\x98\x80 # \xc3\xbc",
         {{1, 5, 1, 7, "v"}},
         1,
         "\tk: v # \xc3\xbc"},
        {"e\xcc\x81x", {{1, 3, 1, 4, "y"}}, 1, "e\xcc\x81y"}, /* combining */
        {"\xffx\xc3(", {{1, 2, 1, 4, "y"}}, 1, "\xffy("},
        {"a\r\nb\rc\xc2\x85"
         "d\xe2\x80\xa8"
         "e\n",
         {{2, 1, 2, 2, "B"}, {3, 1, 3, 2, "C"}, {4, 1, 4, 2, "D"}, {5, 1, 5, 2, "E"}},
         4,
         "a\r\nB\rC\xc2\x85"
         "D\xe2\x80\xa8"
         "E\n"},
        {"a\r\nb\r\n", {{1, 2, 1, 2, "!"}}, 1, "a!\r\nb\r\n"},
        {BOM "a\nb", {{1, 1, 1, 2, "x"}, {2, 1, 2, 2, "y"}}, 2, BOM "x\ny"},
    };
    CHECK_ALL(vectors);
}

/* One line, whatever the texts hold. */
TEST(tells_each)
{
    const char text[] = "a: \x1b[2J\n\xff: 1\nb: '4'\n";
    const struct jr_source source = {.name = "s\n.yaml", .text = text, .len = sizeof text - 1};
    const struct wish wishes[] = {{2, 1, 2, 2, "b\nc"}, {1, 4, 1, 8, ""}, {3, 4, 3, 7, "4"}};
    RELEASE(jr_diags_release) struct jr_diags diags = JR_DIAGS_INIT;
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    size_t count;
    for (size_t i = 0; i < 3; i++)
        add(&diags, &source, &wishes[i]);
    struct jr_edit *edits = jr_fix_choose(&arena, &source, &diags, &count);
    for (size_t i = 0; i < count; i++)
        jr_fix_tell(&out, &edits[i]);
    JR_ASSERT_TEXT(out.data, "s\\x0a.yaml:1:4: fixed: '\\x1b[2J' -> '' [JR0203]\n"
                             "s\\x0a.yaml:2:1: fixed: '\\xff' -> 'b\\x0ac' [JR0203]\n"
                             "s\\x0a.yaml:3:4: fixed: `'4'` -> `4` [JR0203]\n");
}
