#include "output/sanitize.h"
#include "unit.h"

struct vector {
    const char *in;
    const char *color, *plain; /* plain NULL: the same */
};

static void check_line(const char *in, bool color, const char *want)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_buf_str(&out, "");
    jr_sanitize_line(&out, in, strlen(in), color);
    JR_ASSERT_TEXT(out.data, want);
    jr_buf_release(&out);
}

TEST(lets_only_colors_through)
{
    static const struct vector vectors[] = {
        {"\033[2J", "", NULL},
        {"\033[", "", NULL},
        {"\033", "", NULL},
        {"a\033]0;title\ab", "ab", NULL},
        {"a\033]0;title\033\\b", "ab", NULL},
        {"a\033]0;never ended", "a", NULL},
        {"a\033Pdata\033\\b", "ab", NULL},
        {"a\033_data\ab\033^x\033\\c\033Xy\ad", "abcd", NULL},
        {"a\033(Bb", "ab", NULL},
        {"a\0337b\0338c\033cd\033Me", "abcde", NULL},
        {"a\033[?25lb", "ab", NULL},
        {"a\033[10;20Hb", "ab", NULL},
        {"a\033[6nb", "ab", NULL},
        {"a\033[>4mb", "ab", NULL},
        {"a\033[1 mb", "ab", NULL},
        {"a\033]8;;http://x\033\\link\033]8;;\033\\", "alink", NULL},
        {"\033[31mred\033[0m", "\033[31mred\033[0m\033[0m", "red"},
        {"\033[38;5;1mx", "\033[38;5;1mx\033[0m", "x"},
        {"\033[38:2:1:2:3mx", "\033[38:2:1:2:3mx\033[0m", "x"},
        {"\033[mx", "\033[mx\033[0m", "x"},
        {"\a\b\x7f", "\\x07\\x08\\x7f", NULL},
        {"\xff", "\\xff", NULL},
        {"\xc2\x9b"
         "2J",
         "\\xc2\\x9b"
         "2J",
         NULL},
        {"\xc3", "\\xc3", NULL},
        {"tab\there", "tab\there", NULL},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", NULL},
        {"", "", NULL},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const struct vector *vector = &vectors[i];
        check_line(vector->in, true, vector->color);
        check_line(vector->in, false, vector->plain == NULL ? vector->color : vector->plain);
    }
}

TEST(shows_a_nul)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_sanitize_line(&out, "a\0b", 3, true);
    JR_ASSERT_TEXT(out.data, "a\\x00b");
    jr_buf_release(&out);
}

/* What stands in memory behind the line is no part of it. */
TEST(ends_with_the_line)
{
    static const struct {
        const char *text;
        size_t len;
        const char *want;
    } vectors[] = {
        {"a\033[31m", 5, "a"},
        {"a\033[31m", 6, "a\033[31m\033[0m"},
        {"ab\033[31mc", 6, "ab"},
        {"ab\033[", 3, "ab"},
        {"\033[", 1, ""},
        {"a\xc3\xa4", 2, "a\\xc3"},
        {"abc\xe2\x82\xac", 5, "abc\\xe2\\x82"},
        {"a\033]0;\ab", 5, "a"},
        {"\033\0ab", 4, "ab"},
        {"\033]\ab", 4, "b"},
        {"\033]\033\\b", 5, "b"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct jr_buf out = JR_BUF_INIT;
        jr_buf_str(&out, "");
        jr_sanitize_line(&out, vectors[i].text, vectors[i].len, true);
        JR_ASSERT_TEXT(out.data, vectors[i].want);
        jr_buf_release(&out);
    }
}

TEST(takes_the_last_redrawing)
{
    static const struct vector vectors[] = {
        {"10%\r20%", "20%", NULL},
        {"10%\r20%\r", "20%", NULL},
        {"\r10%\r20%", "20%", NULL},
        {"dos\r", "dos", NULL},
        {"dos\r\r", "dos", NULL},
        {"plain", "plain", NULL},
        {"\r", "", NULL},
        {"", "", NULL},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        size_t len = strlen(vectors[i].in);
        const char *line = jr_sanitize_redrawn(vectors[i].in, &len);
        CU_ASSERT_EQUAL(len, strlen(vectors[i].color));
        CU_ASSERT_EQUAL(memcmp(line, vectors[i].color, len), 0);
    }
}
