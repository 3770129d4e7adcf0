/* Walking through a text: code points, bytes, lines and columns. */
#include "doc/merge.h"
#include "unit.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static struct jr_source source_of(const char *text)
{
    return (struct jr_source){.name = "t", .text = text, .len = strlen(text)};
}

/* Where `index` code points are behind the beginning: byte, line and column from 0, and what stands
 * there. */
struct row {
    const char *text;
    size_t index, at, byte;
    uint32_t line, column;
    int peek;
};

static const struct row rows[] = {{"", 0, 0, 0, 0, 0, -1},
                                  {"", 5, 0, 0, 0, 0, -1},
                                  {"abc", 0, 0, 0, 0, 0, 'a'},
                                  {"abc", 2, 2, 2, 0, 2, 'c'},
                                  {"abc", 3, 3, 3, 0, 3, -1},
                                  {"abc", 9, 3, 3, 0, 3, -1},
                                  {"a\nb", 1, 1, 1, 0, 1, '\n'},
                                  {"a\nb", 2, 2, 2, 1, 0, 'b'},
                                  {"a\n\nb", 3, 3, 3, 2, 0, 'b'},
                                  /* one line ends at \r\n, not two; a lone \r ends one, too */
                                  {"a\r\nb", 2, 2, 2, 0, 2, '\n'},
                                  {"a\r\nb", 3, 3, 3, 1, 0, 'b'},
                                  {"a\rb", 2, 2, 2, 1, 0, 'b'},
                                  {"a\r", 2, 2, 2, 1, 0, -1},
                                  {"\tb", 1, 1, 1, 0, 1, 'b'},
                                  /* code points of several bytes, three of which end lines */
                                  {"\xc3\xa9x", 1, 1, 2, 0, 1, 'x'},
                                  {"\xe6\xbc\xa2x", 1, 1, 3, 0, 1, 'x'},
                                  {"\xf0\x9f\x98\x80x", 1, 1, 4, 0, 1, 'x'},
                                  {"a\xc2\x85x", 2, 2, 3, 1, 0, 'x'},
                                  {"a\xe2\x80\xa8x", 2, 2, 4, 1, 0, 'x'},
                                  {"a\xe2\x80\xa9x", 2, 2, 4, 1, 0, 'x'},
                                  {"a\xe2\x80\xaax", 2, 2, 4, 0, 2, 'x'},
                                  /* bytes that are no text count one each */
                                  {"\xff\xfex", 2, 2, 2, 0, 2, 'x'},
                                  {"\xc3x", 1, 1, 1, 0, 1, 'x'},
                                  {"ab\x7f"
                                   "cd",
                                   4, 4, 4, 0, 4, 'd'}};

TEST(walks_to_code_points)
{
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct jr_source source = source_of(rows[i].text);
        struct jr_place place = {0};
        jr_place_to_index(&place, &source, rows[i].index);
        CU_ASSERT_EQUAL(place.index, rows[i].at);
        CU_ASSERT_EQUAL(place.byte, rows[i].byte);
        CU_ASSERT_EQUAL(place.line, rows[i].line);
        CU_ASSERT_EQUAL(place.column, rows[i].column);
        CU_ASSERT_EQUAL(jr_place_peek(&place, &source), rows[i].peek);
    }
}

/* The same places by their bytes, and in as many steps as there are. */
TEST(walks_to_bytes)
{
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct jr_source source = source_of(rows[i].text);
        struct jr_place place = {0}, steps = {0};
        jr_place_to_byte(&place, &source, rows[i].byte);
        for (size_t k = 1; k <= rows[i].index; k++)
            jr_place_to_index(&steps, &source, k);
        CU_ASSERT_EQUAL(place.index, rows[i].at);
        CU_ASSERT_EQUAL(steps.byte, rows[i].byte);
        CU_ASSERT_EQUAL(steps.line, rows[i].line);
        CU_ASSERT_EQUAL(steps.column, rows[i].column);
    }
}

TEST(never_walks_back)
{
    const struct jr_source source = source_of("abc\ndef");
    struct jr_place place = {0};
    jr_place_to_index(&place, &source, 5);
    jr_place_to_index(&place, &source, 2);
    jr_place_to_byte(&place, &source, 1);
    CU_ASSERT_EQUAL(place.index, 5);
    CU_ASSERT_EQUAL(place.line, 1);
    CU_ASSERT_EQUAL(place.column, 1);
}

/* People count from 1. */
TEST(makes_spans)
{
    static const struct {
        const char *text;
        size_t from, to;
        uint32_t line, column, end_line, end_column;
    } spans[] = {{"abc", 0, 0, 1, 1, 1, 1},
                 {"abc", 0, 3, 1, 1, 1, 4},
                 {"abc", 1, 2, 1, 2, 1, 3},
                 {"a\nbc\nd", 2, 4, 2, 1, 2, 3},
                 {"a\nbc\nd", 3, 6, 2, 2, 3, 2},
                 {"\xc3\xa9"
                  "a\xc3\xa9",
                  2, 3, 1, 2, 1, 3},
                 {"\xc3\xa9"
                  "a\xc3\xa9",
                  3, 5, 1, 3, 1, 4}};
    for (size_t i = 0; i < LENGTH(spans); i++) {
        const struct jr_source source = source_of(spans[i].text);
        struct jr_span span = jr_point_bytes(&source, spans[i].from, spans[i].to);
        CU_ASSERT_PTR_EQUAL(span.source, &source);
        CU_ASSERT_EQUAL(span.line, spans[i].line);
        CU_ASSERT_EQUAL(span.column, spans[i].column);
        CU_ASSERT_EQUAL(span.end_line, spans[i].end_line);
        CU_ASSERT_EQUAL(span.end_column, spans[i].end_column);
    }
}

TEST(writes_paths)
{
    const struct jr_node_step results = {NULL, "results", 0};
    const struct jr_node_step fields = {&results, "fields", 0};
    const struct jr_node_step field = {&fields, "a\nb", 0};
    const struct jr_node_step second = {&field, NULL, 1};
    const struct jr_node_step third = {&second, NULL, 20};
    const struct jr_node_step last = {&third, "x", 0};
    const struct jr_node_step first = {NULL, NULL, 0};
    const struct {
        const struct jr_node_step *step;
        const char *path;
    } paths[] = {{NULL, ""},
                 {&results, "results"},
                 {&fields, "results.fields"},
                 {&field, "results.fields.a\\x0ab"},
                 {&last, "results.fields.a\\x0ab[1][20].x"},
                 {&first, "[0]"}};
    for (size_t i = 0; i < LENGTH(paths); i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_str(&out, "");
        jr_point_path(&out, paths[i].step);
        JR_ASSERT_TEXT(out.data, paths[i].path);
    }
}

/* A text is cut behind 48 bytes, never within a code point. */
TEST(cuts_long_texts)
{
#define FORTY "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
    static const char *const texts[][2] = {{"", ""},
                                           {FORTY "12345678", FORTY "12345678"},
                                           {FORTY "123456789", FORTY "12345678..."},
                                           {FORTY "1234567\xc3\xa9", FORTY "1234567..."},
                                           {FORTY "123456\xc3\xa9", FORTY "123456\xc3\xa9"},
                                           {"\x1b[31m", "\\x1b[31m"}};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_str(&out, "");
        jr_point_text(&out, texts[i][0], strlen(texts[i][0]));
        JR_ASSERT_TEXT(out.data, texts[i][1]);
    }
}
