#include "base/rank_set.h"

#include "unit.h"

TEST(refuses_what_is_no_set)
{
    static const struct {
        const char *text;
        size_t at; /* offset of what is wrong */
    } bad[] = {
        {"", 0},           {",", 0},
        {"1,", 2},         {"a", 0},
        {"ALL", 0},        {"all,1", 0},
        {"1,all", 2},      {" 1", 0},
        {"1 ", 1},         {"-1", 0},
        {"1-", 2},         {"5-3", 2},
        {"0-4/", 4},       {"0-4/0", 4},
        {"3/2", 1},        {"01", 0},
        {"1,1", 2},        {"0-3,2", 4},
        {"2,0-4/2", 2},    {"0-6/2,3-9/3", 6},
        {"4294967296", 0}, {"0-4294967296", 2},
        {"1,,2", 2},       {"1;2", 1},
    };
    JR_EACH(row, bad) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_set set = {.count = 77};
        const char *at = NULL;
        CU_ASSERT_FALSE(jr_set_parse(&set, &arena, row->text, &at));
        CU_ASSERT_EQUAL(at - row->text, (ptrdiff_t)row->at);
        CU_ASSERT_EQUAL(set.count, 77);
    }
}

TEST(refuses_too_many_ranges)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_set set;
    const char *at = NULL;
    for (unsigned i = 0; i < 5000; i++)
        jr_buf_printf(&text, i == 0 ? "%u" : ",%u", 10000 + i * 2);
    CU_ASSERT_FALSE(jr_set_parse(&set, &arena, text.data, &at));
    CU_ASSERT_EQUAL(at - text.data, 4096 * 6);
}

/* Print the members below 32, of which there are two accounts. */
static void print_members(struct jr_buf *out, const struct jr_set *set)
{
    uint32_t ranks[32];
    unsigned filled[32] = {0};
    size_t count = 0;
    jr_set_fill(set, filled, 32, 7);
    for (uint32_t rank = 0; rank < 32; rank++) {
        CU_ASSERT_EQUAL(filled[rank], jr_set_has(set, rank) ? 7 : 0);
        if (jr_set_has(set, rank))
            ranks[count++] = rank;
    }
    jr_set_print(out, ranks, count);
}

TEST(reads_sets)
{
    EACH_PART(row, "all=0-31|none=none|0=0|3-3=3|0-3,8,10-14/2=0-3,8,10,12,14|8,0-3=0-3,8|"
                   "0-6/2,1-7/2=0-7|0-5/3=0,3|30-4294967295=30-31") {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_set set;
        const char *at = NULL;
        char *members = strchr(row, '=');
        *members++ = '\0';
        CU_ASSERT_TRUE_FATAL(jr_set_parse(&set, &arena, row, &at));
        print_members(&text, &set);
        JR_ASSERT_TEXT(text.data, members);
        for (size_t j = 1; j < set.count; j++)
            CU_ASSERT_TRUE(set.ranges[j - 1].first < set.ranges[j].first);
    }
}

TEST(finds_the_largest)
{
    EACH_PART(row, "all=|none=|0=0|9,3=9|0-9/4=8|0-20/10,5-7=20") {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_set set;
        const char *at;
        uint32_t largest = 0;
        char *found = strchr(row, '=');
        *found++ = '\0';
        CU_ASSERT_TRUE_FATAL(jr_set_parse(&set, &arena, row, &at));
        CU_ASSERT_EQUAL(jr_set_max(&set, &largest), *found != '\0');
        CU_ASSERT_EQUAL(largest, (uint32_t)strtoul(found, NULL, 10));
    }
}

/* 4,096 long ranges that interleave: a reader that walks them would take many minutes, which the
 * limit on this test's time would not give it. */
TEST(compares_without_walking)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_set set;
    const char *at;
    for (int i = 0; i < 4096; i++)
        jr_buf_printf(&text, "%s%d-4294967295/65536", i == 0 ? "" : ",", i);
    CU_ASSERT_TRUE(jr_set_parse(&set, &arena, text.data, &at));
    CU_ASSERT_EQUAL(set.count, 4096);
}

/* In whatever order they come. */
TEST(refuses_what_overlaps)
{
    static const struct {
        const char *a, *b;
        bool meet;
    } vectors[] = {
        {"0-3", "4-7", false},
        {"0-8/2", "1-9/2", false},
        {"0-3", "3-7", true},
        {"0-30/2", "5-30/3", true},
        {"0-100/6", "3-100/4", false},
        {"1,5,9", "2,6,9", true},
        {"0-4294967295/65536", "2-4294967295/65537", true},
        {"0-4294967295/65536", "1-4294967295/65536", false},
        {"4294967295", "0-4294967295/5", true},
        {"0-4294967294/4294967294", "4294967294-4294967295", true},
        {"1-4294967295/4294967293", "0-4294967295/4294967294", true},
        {"7-100/10", "50-100/3", true},
        {"7-76/10", "50-100/3", false},
    };
    for (size_t i = 0; i < 2 * (sizeof vectors / sizeof *vectors); i++) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        const char *a = vectors[i / 2].a, *b = vectors[i / 2].b, *at;
        struct jr_set set;
        jr_buf_printf(&text, "%s,%s", i % 2 == 0 ? a : b, i % 2 == 0 ? b : a);
        CU_ASSERT_NOT_EQUAL(jr_set_parse(&set, &arena, text.data, &at), vectors[i / 2].meet);
    }
}

TEST(prints)
{
    static const uint32_t ranks[] = {0, 1, 2, 4, 6, 7, 4294967295};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_set_print(&text, ranks, sizeof ranks / sizeof *ranks);
    jr_buf_char(&text, ' ');
    jr_set_print(&text, ranks, 1);
    jr_buf_char(&text, ' ');
    jr_set_print(&text, NULL, 0);
    JR_ASSERT_TEXT(text.data, "0-2,4,6-7,4294967295 0 none");
}

TEST(makes_masks)
{
    cpu_set_t cpus;
    EACH_PART(bad, "|all|none|1-|-1|1024|0-1024|x") {
        memset(&cpus, 0xff, sizeof cpus);
        CU_ASSERT_FALSE(jr_set_cpus(&cpus, sizeof cpus, bad));
        CU_ASSERT_EQUAL(CPU_COUNT(&cpus), 0);
    }
    CU_ASSERT_TRUE(jr_set_cpus(&cpus, sizeof cpus, "0-2,9,1023"));
    CU_ASSERT_EQUAL(CPU_COUNT(&cpus), 5);
    CU_ASSERT_TRUE(CPU_ISSET(1, &cpus) && CPU_ISSET(9, &cpus) && CPU_ISSET(1023, &cpus));
}
