/* Hostile input: an error, at once. What takes libyaml minutes must not. */
#include <time.h>

#include "tree.h"
#include "unit.h"

enum { MIB = 1 << 20, MOST_SECONDS = 30 };

/* A text of `head`, `count` times `unit`, and `tail`. */
static struct jr_buf repeat(const char *head, const char *unit, size_t count, const char *tail)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, head);
    for (size_t i = 0; i < count; i++)
        jr_buf_str(&text, unit);
    jr_buf_str(&text, tail);
    return text;
}

/* Load, and not for minutes of CPU time, as where the work grows with the square of the text: it
 * takes a tenth of a second, and in valgrind some. Expect one finding, or none for NULL. */
static void check(struct jr_buf *text, const char *name, const char *code)
{
    clock_t start = clock();
    struct loaded got = load(text->data, text->len);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    size_t expected = code == NULL ? 0 : 1;
    if (seconds > MOST_SECONDS || got.diags.count != expected)
        printf("\n    %s: %.3f s, %zu findings\n", name, seconds, got.diags.count);
    CU_ASSERT_TRUE(seconds <= MOST_SECONDS);
    CU_ASSERT_EQUAL(got.diags.count, expected);
    if (got.diags.count == 1 && code != NULL)
        JR_ASSERT_TEXT(got.diags.items[0].code, code);
    unload(&got);
    jr_buf_release(text);
}

struct repeated {
    const char *head, *unit;
    size_t count;
    const char *tail;
    const char *code;
};

static void check_all(const struct repeated *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct repeated *one = &cases[i];
        struct jr_buf text = repeat(one->head, one->unit, one->count, one->tail);
        check(&text, one->unit, one->code);
    }
}

#define CHECK_ALL(cases) check_all(cases, sizeof cases / sizeof *cases)

TEST(refuses_depth)
{
    static const struct repeated cases[] = {
        {"", "[", 100000, "", "JR0108"},    {"", "[", MIB, "", "JR0108"},
        {"", "{", MIB, "", "JR0108"},       {"", "{a: ", MIB / 4, "", "JR0108"},
        {"", "[\n", MIB / 2, "", "JR0108"}, {"", "- ", MIB / 2, "", "JR0108"},
        {"", "? ", MIB / 2, "", "JR0108"},  {"", "[", 65, "", "JR0108"},
        {"", "- ", 65, "x", "JR0108"},      {"", "- ", 64, "x", NULL},
        {"- ", "&a [", 64, "", "JR0108"}};
    CHECK_ALL(cases);
}

TEST(refuses_deep_indentation)
{
    struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < 1400; i++) {
        jr_buf_fill(&text, ' ', i);
        jr_buf_str(&text, "a:\n");
    }
    check(&text, "indented keys", "JR0108");
}

TEST(refuses_depth_by_aliases)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, "- &a0 [x]\n");
    for (int i = 1; i <= 64; i++)
        jr_buf_printf(&text, "- &a%d [*a%d]\n", i, i - 1);
    check(&text, "nested aliases", "JR0108");
}

TEST(refuses_size)
{
    static const struct repeated cases[] = {{"a: ", "x", MIB - 2, "", "JR0101"},
                                            {"a: ", "x", MIB - 3, "", NULL},
                                            {"", "x", 2 * MIB, "", "JR0101"}};
    CHECK_ALL(cases);
}

TEST(refuses_many_nodes)
{
    static const struct repeated cases[] = {
        {"[", "a,", 100000, "]", "JR0109"},      {"[", "a,", 99999, "]", NULL},
        {"", "- a\n", MIB / 4, "", "JR0109"},    {"[", "? a,", MIB / 5, "]", "JR0109"},
        {"", "- &a x\n", MIB / 7, "", "JR0109"}, {"", "- !!str\n", MIB / 8, "", "JR0109"}};
    CHECK_ALL(cases);
}

TEST(refuses_alias_bombs)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, "- &a0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 9; i++) {
        jr_buf_printf(&text, "- &a%d [", i);
        for (int j = 0; j < 9; j++)
            jr_buf_printf(&text, "*a%d, ", i - 1);
        jr_buf_str(&text, "]\n");
    }
    check(&text, "nine to the ninth", "JR0109");
}

TEST(refuses_many_or_large_aliases)
{
    static const struct repeated cases[] = {{"- &a x\n", "- *a\n", 1001, "", "JR0110"},
                                            {"- &a x\n", "- *a\n", 1000, "", NULL}};
    CHECK_ALL(cases);
    struct jr_buf text = repeat("- &a ", "x", MIB / 2, "\n- *a\n- *a\n- *a\n");
    check(&text, "large aliases", "JR0110");
}

TEST(refuses_many_directives)
{
    struct jr_buf text = JR_BUF_INIT;
    for (int i = 0; text.len < MIB - 64; i++)
        jr_buf_printf(&text, "%%TAG !a%d! tag:x\n", i);
    jr_buf_str(&text, "--- a\n");
    check(&text, "directives", "JR0117");
}

/* Only at the beginning of a line. */
TEST(allows_the_word_in_a_text)
{
    static const struct repeated cases[] = {{"a: ", "%TAG ", 100, "", "JR0102"},
                                            {"a: b", "%TAG ", 100, "", NULL}};
    CHECK_ALL(cases);
}

TEST(reads_long_things_fast)
{
    static const struct repeated cases[] = {{"", "a", MIB - 4, ": b", "JR0102"},
                                            {"&", "a", MIB - 4, " x", NULL},
                                            {"a: \"", "\\x41", MIB / 4 - 2, "\"", NULL},
                                            {"a: |\n", "  b\n", MIB / 4 - 2, "", NULL},
                                            {"a: >\n", " b\n\n", MIB / 4 - 2, "", NULL},
                                            {"", "#\n", MIB / 2, "", "JR0116"},
                                            {"", "\n", MIB, "", "JR0116"},
                                            {"a: '", "\n", MIB - 4, "", "JR0102"}};
    CHECK_ALL(cases);
}

TEST(finds_duplicates_among_many_keys)
{
    struct jr_buf text = JR_BUF_INIT;
    for (int i = 0; i < 45000; i++)
        jr_buf_printf(&text, "key%d: v\n", i);
    jr_buf_str(&text, "key7: again\n");
    check(&text, "keys", "JR0106");
}

TEST(keeps_many_anchors_apart)
{
    struct jr_buf text = JR_BUF_INIT;
    for (int i = 0; i < 40000; i++)
        jr_buf_printf(&text, "- &a%d x\n", i);
    for (int i = 0; i < 1000; i++)
        jr_buf_printf(&text, "- *a%d\n", i);
    check(&text, "anchors", NULL);
}
