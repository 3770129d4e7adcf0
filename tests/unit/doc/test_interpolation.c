/* The grammar of ${...}. */
#include <stdint.h>

#include "doc/interpolate.h"
#include "unit.h"

/* The parts of a text: `literal`, <reference>, <open. */
static void check_parts(const char *text, const char *expected)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_interpolation part;
    for (size_t at = 0; jr_interpolation_next(text, strlen(text), &at, &part);) {
        bool literal = part.kind == JR_INTERPOLATION_TEXT;
        jr_buf_str(&out, literal ? "" : "<");
        jr_buf_add(&out, text + part.start, part.end - part.start);
        jr_buf_str(&out, part.kind == JR_INTERPOLATION_REFERENCE ? ">" : "");
    }
    JR_ASSERT_TEXT(out.data == NULL ? "" : out.data, expected);
}

TEST(cuts_texts)
{
    static const char *const vectors[][2] = {{"", ""},
                                             {"$", "$"},
                                             {"{}", "{}"},
                                             {"a$b $1 $$ $(c)", "a$b $1 $$ $(c)"},
                                             {"${", "<${"},
                                             {"a${b", "a<${b"},
                                             {"${a", "<${a"},
                                             {"${}", "<${}>"},
                                             {"${a}", "<${a}>"},
                                             {"x${a}y${b}z", "x<${a}>y<${b}>z"},
                                             {"${a}}", "<${a}>}"},
                                             {"$${a}", "${a}"},
                                             {"$$${a}", "$<${a}>"},
                                             {"$$$${a}", "$${a}"},
                                             {"$$$$${a}", "$$<${a}>"},
                                             {"${env:A:-${b}}c", "<${env:A:-${b}}>c"},
                                             {"${env:A:-${b}", "<${env:A:-${b}"},
                                             {"${a}$", "<${a}>$"},
                                             {"$${", "${"},
                                             {"$${a}${b}", "${a}<${b}>"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check_parts(vectors[i][0], vectors[i][1]);
}

/* Text that was escaped, cut into its parts, is that text again. */
TEST(escapes)
{
    static const char letters[] = "$${}a";
    uint32_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        char text[12];
        size_t len = 0, cut;
        for (; len < sizeof text - 1; len++) {
            seed = seed * 1664525 + 1013904223;
            text[len] = letters[(seed >> 16) % (sizeof letters - 1)];
        }
        text[len] = '\0';
        cut = (seed >> 8) % len;
        struct jr_buf escaped = JR_BUF_INIT, twice = JR_BUF_INIT;
        jr_interpolation_escape(&escaped, text, cut);
        jr_interpolation_escape(&escaped, text + cut, len - cut);
        jr_interpolation_refer(&escaped, "${x}", 4);
        jr_interpolation_append(&twice, escaped.data, escaped.len);
        JR_ASSERT_TEXT(twice.data, escaped.data);
        struct jr_buf back = JR_BUF_INIT;
        struct jr_interpolation part = {0};
        for (size_t at = 0; jr_interpolation_next(escaped.data, escaped.len, &at, &part);)
            if (part.kind == JR_INTERPOLATION_TEXT)
                jr_buf_add(&back, escaped.data + part.start, part.end - part.start);
        CU_ASSERT_EQUAL(part.kind, JR_INTERPOLATION_REFERENCE);
        CU_ASSERT_EQUAL(part.end - part.start, 4);
        JR_ASSERT_TEXT(back.data == NULL ? "" : back.data, text);
        jr_buf_release(&escaped);
        jr_buf_release(&twice);
        jr_buf_release(&back);
    }
}
