/* Keys that stand twice, among few and among many, and finding one of them. */
#include "doc/key.h"
#include "tree.h"
#include "unit.h"

/* A mapping of `count` keys k0 to kN, one on each line, and `more` behind it.
 */
static struct loaded load_keys(int count, const char *more)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (int i = 0; i < count; i++)
        jr_buf_printf(&text, "k%d: %d\n", i, i);
    jr_buf_str(&text, more);
    return load(text.data, text.len);
}

/* Each finding: where, and where the first one stands. */
static void check_found(struct loaded *got, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&text, "");
    jr_diags_sort(&got->diags);
    for (size_t i = 0; i < got->diags.count; i++) {
        const struct jr_diag *diag = &got->diags.items[i];
        CU_ASSERT_PTR_NOT_NULL_FATAL(diag->related);
        jr_buf_printf(&text, "%s%s %u:%u after %u:%u", i == 0 ? "" : ", ",
                      diag->code, diag->span.line, diag->span.column,
                      diag->related->span.line, diag->related->span.column);
        JR_ASSERT_TEXT(diag->related->message, "first stated here");
    }
    JR_ASSERT_TEXT(text.data, expected);
    unload(got);
}

static void finds_what_stands_twice(void)
{
    static const struct {
        int count;
        const char *more, *expected;
    } rows[] = {
        {1, "k0: 1\n", "JR0106 2:1 after 1:1"},
        {2, "k0: 1\nk1: 2\n", "JR0106 3:1 after 1:1, JR0106 4:1 after 2:1"},
        {2, "k0: 1\nk0: 2\n", "JR0106 3:1 after 1:1, JR0106 4:1 after 1:1"},
        {15, "k14: 1\n", "JR0106 16:1 after 15:1"},
        {16, "k15: 1\n", "JR0106 17:1 after 16:1"},
        {17, "k0: 1\n", "JR0106 18:1 after 1:1"},
        {100, "k99: 1\nk3: 1\n'k3': 2\nk0: 1\n",
         "JR0106 101:1 after 100:1, JR0106 102:1 after 4:1, "
         "JR0106 103:1 after 4:1, JR0106 104:1 after 1:1"},
        {1, "a: {b: 1, c: 2, b: 3}\n", "JR0106 2:17 after 2:5"},
        {1, "a: {b: 1}\nc: {b: 1}\n", ""},
        {0, "a: 1\n\"\\x61\": 2\n", "JR0106 2:1 after 1:1"},
        {0, "1: 1\n'1': 2\n", "JR0106 2:1 after 1:1"},
        {30, "K0: 1\nk00: 2\nk: 3\n", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct loaded got = load_keys(rows[i].count, rows[i].more);
        check_found(&got, rows[i].expected);
    }
}

/* Two keys of one sum by FNV-1a are two keys. */
#define ONE   "8yn0iYCKYHlIj4-BwPqk"
#define OTHER "GReLUrM4wMqfg9yzV3KQ"

static void tells_keys_of_one_sum_apart(void)
{
    struct loaded got = load_keys(20, ONE ": 1\n" OTHER ": 2\n");
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_key *sorted = jr_keys_sort(&arena, got.doc.root);
    CU_ASSERT_PTR_NOT_NULL_FATAL(sorted);
    const struct jr_pair *one = jr_keys_find(got.doc.root, sorted, ONE);
    const struct jr_pair *other = jr_keys_find(got.doc.root, sorted, OTHER);
    CU_ASSERT_PTR_NOT_NULL_FATAL(one);
    CU_ASSERT_PTR_NOT_NULL_FATAL(other);
    JR_ASSERT_TEXT(one->value->text, "1");
    JR_ASSERT_TEXT(other->value->text, "2");
    jr_arena_release(&arena);
    check_found(&got, "");
    got = load_keys(20, ONE ": 1\n" OTHER ": 2\n" ONE ": 3\n");
    check_found(&got, "JR0106 23:1 after 21:1");
}

static void finds_keys(void)
{
    static const int counts[] = {1, 16, 17, 1000};
    for (size_t i = 0; i < 4; i++) {
        struct loaded got = load_keys(counts[i], "");
        struct jr_arena arena = JR_ARENA_INIT;
        const struct jr_key *sorted = jr_keys_sort(&arena, got.doc.root);
        CU_ASSERT_EQUAL(sorted != NULL, counts[i] > 16);
        for (int k = 0; k < counts[i]; k++) {
            char key[16], value[16];
            (void)snprintf(key, sizeof key, "k%d", k);
            (void)snprintf(value, sizeof value, "%d", k);
            const struct jr_pair *pair =
                jr_keys_find(got.doc.root, sorted, key);
            CU_ASSERT_PTR_NOT_NULL_FATAL(pair);
            JR_ASSERT_TEXT(pair->value->text, value);
        }
        CU_ASSERT_PTR_NULL(jr_keys_find(got.doc.root, sorted, "k"));
        CU_ASSERT_PTR_NULL(jr_keys_find(got.doc.root, sorted, ""));
        jr_arena_release(&arena);
        unload(&got);
    }
}

/* A long key is cut in what is said of it, and not within a character. */
static void cuts_long_keys(void)
{
    static const char key[] = "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
                              "eeeeeeeeeeffffffffff\xc3\xa9";
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, "%s: 1\n%s: 2\n", key, key);
    struct loaded got = load(text.data, text.len);
    CU_ASSERT_EQUAL_FATAL(got.diags.count, 1);
    JR_ASSERT_TEXT(got.diags.items[0].message,
                   "duplicate key 'aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
                   "eeeeeeeeeeffffffffff'");
    unload(&got);
}

JR_UNIT_MAIN("doc.key", CASE(finds_what_stands_twice),
             CASE(tells_keys_of_one_sum_apart), CASE(finds_keys),
             CASE(cuts_long_keys))
