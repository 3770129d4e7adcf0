#include "unit.h"

#include "base/buf.h"
#include "host/scheduler/hostlist.h"

/* What a list expands to, blanks between; "!OFFSET" when it is none. */
static void check(const char *list, const char *expected)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_strv hosts = {0};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const char *bad = NULL;
    if (!jr_hostlist_expand(&hosts, &arena, list, &bad))
        jr_buf_printf(&text, "!%td", bad - list);
    for (size_t i = 0; i < hosts.count; i++)
        jr_buf_printf(&text, "%s%s", i == 0 ? "" : " ", hosts.items[i]);
    if (strcmp(text.data, expected) != 0)
        printf("\n    list '%s'", list);
    JR_ASSERT_TEXT(text.data, expected);
}

struct vector {
    const char *list, *expected;
};

static void check_all(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(vectors[i].list, vectors[i].expected);
}

TEST(what_is_no_list_is_refused_at_its_place)
{
    static const struct vector vectors[] = {
        {"", "!0"},
        {",", "!0"},
        {"n1,", "!3"},
        {",n1", "!0"},
        {"n1,,n2", "!3"},
        {" n1", "!0"},
        {"n1 n2", "!2"},
        {"n1, n2", "!3"},
        {"n[1-3", "!5"},
        {"n1-3]", "!4"},
        {"n[]", "!2"},
        {"n[,1]", "!2"},
        {"n[1,]", "!4"},
        {"n[1-]", "!4"},
        {"n[-1]", "!2"},
        {"n[3-1]", "!2"},
        {"n[ 1-2]", "!2"},
        {"n[1-4:2]", "!5"},
        {"n[1-2]-ib", "!9"},
        {"n[a-b]", "!2"},
        {"n[1[2-3]]", "!3"},
        {"n[[1-2]]", "!2"},
        {"[1-2]", "!0"},
        {"n[001-2]", "!2"},
        {"n[1-2]]", "!6"},
        {"n[1-9999999999]", "!4"},
        {"n[0-65536]", "!2"},
        {"n[1-300]m[1-300]", "!0"},
        {"n[1-65536],m", "!11"},
        {"a[1]b[1]c[1]d[1]e[1]f[1]g[1]h[1]i[1]", "!32"},
        {"n/1", "!1"},
        {"n1\n", "!2"},
        {"n\xc3\xb6", "!1"},
    };
    check_all(vectors, sizeof vectors / sizeof *vectors);
}

TEST(lists_expand_as_scontrol_does_it)
{
    static const struct vector vectors[] = {
        {"localhost", "localhost"},
        {"a,b,a", "a b a"},
        {"gpu-a.example.org", "gpu-a.example.org"},
        {"gpu[01-04,7],login3", "gpu01 gpu02 gpu03 gpu04 gpu7 login3"},
        {"n[9-11]", "n9 n10 n11"},
        {"n[09-11]", "n09 n10 n11"},
        {"n[099-101]", "n099 n100 n101"},
        {"n[00-1]x", "!2"},
        {"n[0]", "n0"},
        {"n[000]", "n000"},
        {"n[3,1,3]", "n3 n1 n3"},
        {"x[1-2]y[8-9]", "x1y8 x1y9 x2y8 x2y9"},
        {"x[1-2]y[8-9],z", "x1y8 x1y9 x2y8 x2y9 z"},
        {"a[1-2]b[3-4]c[5-6]", "a1b3c5 a1b3c6 a2b3c5 a2b3c6 a1b4c5 a1b4c6 a2b4c5 a2b4c6"},
        {"a[1-2][3-4]", "a13 a14 a23 a24"},
    };
    check_all(vectors, sizeof vectors / sizeof *vectors);
}

TEST(the_largest_list_is_whole)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_strv hosts = {0};
    const char *bad;
    CU_ASSERT_TRUE_FATAL(jr_hostlist_expand(&hosts, &arena, "n[00000-65535]", &bad));
    CU_ASSERT_EQUAL(hosts.count, JR_HOSTLIST_MAX);
    JR_ASSERT_TEXT(hosts.items[7], "n00007");
    JR_ASSERT_TEXT(hosts.items[65535], "n65535");
}

/* What counts come to in the short form; "!" when they are none. */
static void check_counts(const char *text, const char *expected)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_counts counts = {0};
    bool read = jr_counts_expand(&counts, &arena, text);
    JR_ASSERT_TEXT(read ? jr_counts_print(&counts, &arena) : "!", expected);
}

TEST(counts_are_whole_or_nothing)
{
    static const struct vector vectors[] = {
        {"", "!"},
        {",", "!"},
        {"2,", "!"},
        {"0", "!"},
        {"2(x0)", "!"},
        {"2(x3", "!"},
        {"2(3)", "!"},
        {"2x3", "!"},
        {"-1", "!"},
        {" 2", "!"},
        {"2 ", "!"},
        {"2(x)", "!"},
        {"(x2)", "!"},
        {"2(x65537)", "!"},
        {"99999999999", "!"},
        {"2(x3)1", "!"},
        {"2", "2"},
        {"2(x1)", "2"},
        {"2(x3),1", "2(x3),1"},
        {"2,2,2,1", "2(x3),1"},
        {"1,2(x2),1", "1,2(x2),1"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check_counts(vectors[i].list, vectors[i].expected);
}
