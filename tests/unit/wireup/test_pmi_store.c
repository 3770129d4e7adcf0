/* The store of a process manager: what was put is got, and its size is known.
 */
#include "wireup/pmi_store.h"

#include "unit.h"

static struct jr_pmi_text text_of(const char *text)
{
    return (struct jr_pmi_text){text, strlen(text)};
}

static void has_nothing_at_first(void)
{
    struct jr_pmi_store store = {0};
    CU_ASSERT_PTR_NULL(jr_pmi_store_get(&store, text_of("a")));
    CU_ASSERT_PTR_NULL(jr_pmi_store_get(&store, text_of("")));
    jr_pmi_store_release(&store);
}

static void keeps_what_is_put(void)
{
    struct jr_pmi_store store = {0};
    size_t grown = 77;
    CU_ASSERT_TRUE(jr_pmi_store_put(&store, text_of("k"), text_of("one"), &grown));
    CU_ASSERT_EQUAL(grown, sizeof(struct jr_pmi_entry) + 4);
    JR_ASSERT_TEXT(jr_pmi_store_get(&store, text_of("k")), "one");
    CU_ASSERT_PTR_NULL(jr_pmi_store_get(&store, text_of("kk")));
    CU_ASSERT_TRUE(jr_pmi_store_put(&store, text_of("k"), text_of("longer"), &grown));
    CU_ASSERT_EQUAL(grown, 3);
    CU_ASSERT_TRUE(jr_pmi_store_put(&store, text_of("k"), text_of(""), &grown));
    CU_ASSERT_EQUAL(grown, 0);
    JR_ASSERT_TEXT(jr_pmi_store_get(&store, text_of("k")), "");
    CU_ASSERT_EQUAL(store.count, 1);
    jr_pmi_store_release(&store);
    CU_ASSERT_EQUAL(store.count, 0);
}

/* Texts are parts of lines: what follows them is not theirs. */
static void takes_parts_of_lines(void)
{
    struct jr_pmi_store store = {0};
    const char *line = "key1value1key2";
    size_t grown;
    CU_ASSERT_TRUE(jr_pmi_store_put(&store, (struct jr_pmi_text){line, 4},
                                    (struct jr_pmi_text){line + 4, 6}, &grown));
    JR_ASSERT_TEXT(jr_pmi_store_get(&store, text_of("key1")), "value1");
    CU_ASSERT_PTR_NULL(jr_pmi_store_get(&store, (struct jr_pmi_text){line + 10, 4}));
    jr_pmi_store_release(&store);
}

static void keeps_many_in_their_order(void)
{
    struct jr_pmi_store store = {0};
    char key[16];
    size_t grown;
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "k%u", (i * 7) % 1000);
        CU_ASSERT_TRUE(jr_pmi_store_put(&store, text_of(key), text_of(key), &grown));
    }
    CU_ASSERT_EQUAL(store.count, 1000);
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "k%u", i);
        JR_ASSERT_TEXT(jr_pmi_store_get(&store, text_of(key)), key);
    }
    JR_ASSERT_TEXT(store.entries[1]->key, "k7");
    jr_pmi_store_release(&store);
}

/* No key of a client is so long; it is none of the store's either. */
static void has_no_endless_keys(void)
{
    struct jr_pmi_store store = {0};
    char key[300];
    memset(key, 'k', sizeof key);
    CU_ASSERT_PTR_NULL(jr_pmi_store_get(&store, (struct jr_pmi_text){key, sizeof key}));
    jr_pmi_store_release(&store);
}

/* What other nodes have to know: each entry once, as it is now. */
static void tells_what_is_fresh(void)
{
    struct jr_pmi_store store = {0};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t grown;
    jr_pmi_store_take_fresh(&store, &out);
    CU_ASSERT_EQUAL(out.len, 0);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(jr_pmi_store_put(&store, text_of("a"), text_of("1"), &grown));
        CU_ASSERT_TRUE(jr_pmi_store_put(&store, text_of("b"), text_of("x y"), &grown));
        CU_ASSERT_TRUE(jr_pmi_store_put(&store, text_of("a"), text_of("2"), &grown));
        jr_pmi_store_take_fresh(&store, &out);
        JR_ASSERT_TEXT(out.data, "a 2\nb x y\n");
        jr_buf_clear(&out);
        jr_pmi_store_take_fresh(&store, &out);
        CU_ASSERT_EQUAL(out.len, 0);
    }
    jr_pmi_store_release(&store);
}

static void puts_lines_of_others(void)
{
    struct jr_pmi_store store = {0};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    static const char lines[] = "a 1\nb x y\na 2\nc \n";
    static const char *const none[] = {"a", "a 1", "a\n", "\n", "a 1\nb"};
    CU_ASSERT_TRUE(jr_pmi_store_put_lines(&store, lines, sizeof lines - 1));
    JR_ASSERT_TEXT(jr_pmi_store_get(&store, text_of("a")), "2");
    JR_ASSERT_TEXT(jr_pmi_store_get(&store, text_of("b")), "x y");
    JR_ASSERT_TEXT(jr_pmi_store_get(&store, text_of("c")), "");
    jr_pmi_store_take_fresh(&store, &out);
    CU_ASSERT_EQUAL(out.len, 0);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CU_ASSERT_FALSE(jr_pmi_store_put_lines(&store, none[i], strlen(none[i])));
    CU_ASSERT_TRUE(jr_pmi_store_put_lines(&store, NULL, 0));
    jr_pmi_store_release(&store);
}

JR_UNIT_MAIN("pmi_store", CASE(has_nothing_at_first), CASE(keeps_what_is_put),
             CASE(takes_parts_of_lines), CASE(keeps_many_in_their_order), CASE(has_no_endless_keys),
             CASE(tells_what_is_fresh), CASE(puts_lines_of_others))
