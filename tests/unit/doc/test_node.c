#include "doc/doc.h"

#include "tree.h"
#include "unit.h"

static const char sample[] = "results:\n"
                             "  fields:\n"
                             "    x: {min: 0.5}\n"
                             "hosts: [a, b, {c: [d]}]\n"
                             "none:\n"
                             "backends: gloo\n";

static struct loaded load_sample(void)
{
    struct loaded got = load(sample, strlen(sample));
    CU_ASSERT_PTR_NOT_NULL_FATAL(got.doc.root);
    return got;
}

TEST(finds_nothing_where_a_path_ends_early)
{
    static const char paths[] =
        "|nope|results.nope|results.fields.x.min.y|hosts[3]|hosts[-1]|hosts[]|hosts[1|"
        "hosts.0|hosts[1]x|results[0]|.results|results.|a..b|hosts[99999999999999999999]|"
        "hosts 1]|]|[0]|results..fields|hosts[0][0]|hosts[ 0]|hosts[0]]";
    struct loaded got = load_sample();
    EACH_PART(path, paths)
        CU_ASSERT_PTR_NULL(jr_doc_find(got.doc.root, path));
    CU_ASSERT_PTR_NULL(jr_doc_find(NULL, "a"));
    CU_ASSERT_PTR_NULL(jr_doc_get(NULL, "a"));
    CU_ASSERT_PTR_NULL(jr_doc_get(jr_doc_get(got.doc.root, "hosts"), "a"));
    CU_ASSERT_PTR_NULL(jr_doc_get(jr_doc_get(got.doc.root, "none"), ""));
    unload(&got);
}

TEST(finds_by_path)
{
    struct loaded got = load_sample();
    const struct jr_node *root = got.doc.root;
    JR_ASSERT_TEXT(jr_doc_find(root, "results.fields.x.min")->text, "0.5");
    JR_ASSERT_TEXT(jr_doc_find(root, "hosts[1]")->text, "b");
    JR_ASSERT_TEXT(jr_doc_find(root, "hosts[2].c[0]")->text, "d");
    JR_ASSERT_TEXT(jr_doc_find(jr_doc_get(root, "hosts"), "[0]")->text, "a");
    CU_ASSERT_PTR_EQUAL(jr_doc_pair(root, "hosts")->value, jr_doc_get(root, "hosts"));
    unload(&got);
}

static struct jr_buf emitted(const struct jr_node *node)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_doc_emit(&text, node);
    return text;
}

/* A path that does not fit is refused and leaves the tree as it was. */
TEST(refuses_paths_that_do_not_fit)
{
    static const char paths[] = "|backends.model|hosts[4]|hosts.x|new[1]|new.a[1].b|results[0]|a.."
                                "b|new.|hosts[0].x|[0]|new[x]|results.fields.x.min.y";
    struct loaded got = load_sample();
    struct jr_node *one = jr_node_scalar(&got.doc.arena, "1", true);
    struct jr_buf before JR_BUF_CLEANUP = emitted(got.doc.root);
    struct jr_buf deep JR_BUF_CLEANUP = JR_BUF_INIT;
    for (int i = 0; i < 100000; i++)
        jr_buf_str(&deep, "a.");
    jr_buf_str(&deep, "a");
    struct jr_arena *arena = &got.doc.arena;
    EACH_PART(path, paths)
        CU_ASSERT_FALSE(jr_node_set_path(arena, got.doc.root, path, one));
    CU_ASSERT_FALSE(jr_node_set_path(arena, got.doc.root, deep.data, one));
    CU_ASSERT_FALSE(jr_node_set_path(arena, got.doc.root, "a", NULL));
    CU_ASSERT_FALSE(jr_node_set_path(arena, NULL, "a", one));
    struct jr_buf after JR_BUF_CLEANUP = emitted(got.doc.root);
    JR_ASSERT_TEXT(after.data, before.data);
    unload(&got);
}

TEST(sets_by_path)
{
    struct loaded got = load_sample();
    struct jr_arena *arena = &got.doc.arena;
    EACH_PART(path, "new|backends|none.a.b|p.q[0].r|hosts[0]|hosts[3]|hosts[2].c[1]|"
                    "results.fields.x.max") {
        struct jr_node *value = jr_node_scalar(arena, "1", true);
        CU_ASSERT_TRUE(jr_node_set_path(arena, got.doc.root, path, value));
        CU_ASSERT_PTR_EQUAL(jr_doc_find(got.doc.root, path), value);
    }
    JR_ASSERT_TEXT(jr_doc_find(got.doc.root, "results.fields.x.min")->text, "0.5");
    CU_ASSERT_EQUAL(jr_doc_get(got.doc.root, "hosts")->count, 4);
    unload(&got);
}

TEST(builds_a_tree)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node *root = jr_node_mapping(&arena);
    struct jr_node *list = jr_node_sequence(&arena);
    jr_node_set(&arena, root, "list", list);
    CU_ASSERT_PTR_NULL(jr_node_scalar(&arena, NULL, false)); /* no memory */
    for (int i = 0; i < 20; i++)
        jr_node_append(&arena, list, jr_node_scalar(&arena, "x", false));
    jr_node_set(&arena, root, "a", jr_node_scalar(&arena, "1", true));
    jr_node_set(&arena, root, "a", jr_node_scalar(&arena, "2", true));
    CU_ASSERT_EQUAL(root->count, 2);
    CU_ASSERT_EQUAL(list->count, 20);
    JR_ASSERT_TEXT(jr_doc_get(root, "a")->text, "2");
    CU_ASSERT_EQUAL(root->span.line, 0);
    CU_ASSERT_FALSE(arena.failed);
    jr_arena_release(&arena);
}

TEST(copies_are_apart)
{
    struct loaded got = load_sample();
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node *copy = jr_node_copy(&arena, got.doc.root);
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    CU_ASSERT_TRUE(same_tree(copy, got.doc.root));
    struct jr_node *item = jr_node_scalar(&arena, "more", true);
    for (int i = 0; i < 9; i++)
        jr_node_append(&arena, jr_doc_get(copy, "hosts"), item);
    CU_ASSERT_EQUAL(jr_doc_get(copy, "hosts")->count, 12);
    CU_ASSERT_EQUAL(jr_doc_get(got.doc.root, "hosts")->count, 3);
    CU_ASSERT_EQUAL(jr_doc_get(copy, "backends")->span.line, 6);
    unload(&got);
    JR_ASSERT_TEXT(jr_doc_get(copy, "backends")->text, "gloo");
    jr_arena_release(&arena);
    CU_ASSERT_PTR_NULL(jr_node_copy(&arena, NULL));
}

/* At every possible moment: no crash, and the arena says so. */
TEST(survives_a_lack_of_memory)
{
    struct loaded got = load_sample();
    bool done = false;
    for (size_t limit = 16; !done; limit += 16) {
        struct jr_arena arena = {.limit = limit};
        struct jr_node *copy = jr_node_copy(&arena, got.doc.root);
        struct jr_node *root = jr_node_mapping(&arena);
        jr_node_append(&arena, root, copy);
        struct jr_node *value = jr_node_scalar(&arena, "1", true);
        bool set = jr_node_set_path(&arena, copy, "p.q[0].r", value);
        done = !arena.failed;
        CU_ASSERT_TRUE(set || arena.failed);
        jr_arena_release(&arena);
    }
    unload(&got);
}

/* A tag states what a value is; one that it is not is a mistake. */
TEST(holds_values_to_their_tags)
{
    static const struct {
        const char *text;
        enum jr_scalar_type type;
        bool good;
    } vectors[] = {
        {"a: !!int 4\n", JR_SCALAR_INT, true},        {"a: !!int \"4\"\n", JR_SCALAR_INT, true},
        {"a: !!int 4.5\n", JR_SCALAR_FLOAT, false},   {"a: !!float 4.5\n", JR_SCALAR_FLOAT, true},
        {"a: !!float 4\n", JR_SCALAR_INT, true},      {"a: !!float x\n", JR_SCALAR_STRING, false},
        {"a: !!float true\n", JR_SCALAR_BOOL, false}, {"a: !!bool true\n", JR_SCALAR_BOOL, true},
        {"a: !!bool 1\n", JR_SCALAR_INT, false},      {"a: !!null null\n", JR_SCALAR_NULL, true},
        {"a: !!null 0\n", JR_SCALAR_INT, false},      {"a: !!str 4\n", JR_SCALAR_STRING, true},
        {"a: !!str null\n", JR_SCALAR_STRING, true},  {"a: ! 4\n", JR_SCALAR_STRING, true},
        {"a: !!seq 4\n", JR_SCALAR_INT, false},       {"a: !!map 4\n", JR_SCALAR_INT, false}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct loaded got = load(vectors[i].text, strlen(vectors[i].text));
        CU_ASSERT_EQUAL(got.diags.errors, vectors[i].good ? 0 : 1);
        if (vectors[i].good) {
            CU_ASSERT_PTR_NOT_NULL_FATAL(got.doc.root);
            CU_ASSERT_EQUAL(jr_scalar_type(jr_doc_get(got.doc.root, "a")), vectors[i].type);
        } else {
            JR_ASSERT_TEXT(got.diags.items[0].code, "JR0115");
        }
        unload(&got);
    }
}

/* Where a part of a value stands in the file; the whole value where its text is not there as it
 * is. */
TEST(points_into_values)
{
    static const struct {
        const char *text;
        size_t from, to;
        uint32_t line, column, end_line, end_column;
    } vectors[] = {{"a: word\n", 0, 4, 1, 4, 1, 8},
                   {"a: word\n", 1, 3, 1, 5, 1, 7},
                   {"a: word\n", 4, 4, 1, 8, 1, 8},
                   {"a: \"word\"\n", 1, 3, 1, 6, 1, 8},
                   {"a: 'word'\n", 0, 4, 1, 5, 1, 9},
                   {"a: \xc3\xa9x\xc3\xa9z\n", 2, 5, 1, 5, 1, 7},
                   /* escapes, and lines that are put together */
                   {"a: \"w\\x6frd\"\n", 1, 3, 1, 4, 1, 13},
                   {"a: 'it''s'\n", 0, 1, 1, 4, 1, 11},
                   {"a: one\n  two\n", 0, 3, 1, 4, 2, 6},
                   {"a: >\n  one\n  two\n", 0, 3, 1, 4, 4, 1},
                   /* lines as they are */
                   {"a: |\n  one\n  two\n", 0, 3, 2, 3, 2, 6},
                   {"a: |\n  one\n  two\n", 4, 7, 3, 3, 3, 6},
                   {"a: |\n  one\n  two\n", 5, 6, 3, 4, 3, 5},
                   {"a: |\n    one\n\n    two\n", 5, 8, 4, 5, 4, 8},
                   {"a: |\n  one\n    two\n", 6, 9, 3, 5, 3, 8},
                   {"a: |\n  \xc3\xa9ne\n", 2, 4, 2, 4, 2, 6},
                   {"a: |-\n  one\n", 0, 3, 1, 4, 3, 1},
                   /* from one line to the next is no part of a line */
                   {"a: |\n  one\n  two\n", 2, 5, 1, 4, 4, 1}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct loaded got = load(vectors[i].text, strlen(vectors[i].text));
        CU_ASSERT_PTR_NOT_NULL_FATAL(got.doc.root);
        const struct jr_node *node = jr_doc_get(got.doc.root, "a");
        struct jr_span span = jr_point_part(node, vectors[i].from, vectors[i].to);
        if (span.column != vectors[i].column || span.end_column != vectors[i].end_column)
            printf("\n    of '%s' %u:%u-%u:%u", vectors[i].text, span.line, span.column,
                   span.end_line, span.end_column);
        CU_ASSERT_EQUAL(span.line, vectors[i].line);
        CU_ASSERT_EQUAL(span.column, vectors[i].column);
        CU_ASSERT_EQUAL(span.end_line, vectors[i].end_line);
        CU_ASSERT_EQUAL(span.end_column, vectors[i].end_column);
        unload(&got);
    }
}

/* A tree in normal form does not know what was quoted in the file. */
TEST(points_into_values_in_normal_form)
{
    static const struct {
        const char *text;
        bool plain;
        uint32_t column, end_column;
    } vectors[] = {{"a: --lr=$LR\n", false, 9, 12},
                   {"a: \"--lr=$LR\"\n", true, 10, 13},
                   {"a: '--lr=$LR'\n", false, 10, 13},
                   {"a: \"--\\x6cr=$LR\"\n", false, 4, 17}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct loaded got = load(vectors[i].text, strlen(vectors[i].text));
        CU_ASSERT_PTR_NOT_NULL_FATAL(got.doc.root);
        struct jr_node node = *jr_doc_get(got.doc.root, "a");
        node.plain = vectors[i].plain;
        struct jr_span span = jr_point_part(&node, 5, 8);
        CU_ASSERT_EQUAL(span.column, vectors[i].column);
        CU_ASSERT_EQUAL(span.end_column, vectors[i].end_column);
        unload(&got);
    }
}

/* Keys that stand twice, among few and among many, and finding one of them. */

/* A mapping of `count` keys k0 to kN, one on each line, and `more` behind it. */
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
        jr_buf_printf(&text, "%s%s %u:%u after %u:%u", i == 0 ? "" : ", ", diag->code,
                      diag->span.line, diag->span.column, diag->related->span.line,
                      diag->related->span.column);
        JR_ASSERT_TEXT(diag->related->message, "first stated here");
    }
    JR_ASSERT_TEXT(text.data, expected);
    unload(got);
}

TEST(finds_what_stands_twice)
{
    static const struct {
        int count;
        const char *more, *expected;
    } rows[] = {{1, "k0: 1\n", "JR0106 2:1 after 1:1"},
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
                {30, "K0: 1\nk00: 2\nk: 3\n", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct loaded got = load_keys(rows[i].count, rows[i].more);
        check_found(&got, rows[i].expected);
    }
}

/* Two keys of one sum by FNV-1a are two keys. */
#define ONE   "8yn0iYCKYHlIj4-BwPqk"
#define OTHER "GReLUrM4wMqfg9yzV3KQ"

TEST(tells_keys_of_one_sum_apart)
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

TEST(finds_keys)
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
            const struct jr_pair *pair = jr_keys_find(got.doc.root, sorted, key);
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
TEST(cuts_long_keys)
{
    static const char key[] = "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
                              "eeeeeeeeeeffffffffff\xc3\xa9";
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, "%s: 1\n%s: 2\n", key, key);
    struct loaded got = load(text.data, text.len);
    CU_ASSERT_EQUAL_FATAL(got.diags.count, 1);
    JR_ASSERT_TEXT(got.diags.items[0].message,
                   "duplicate key 'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff'");
    unload(&got);
}
