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

static void finds_nothing_where_a_path_ends_early(void)
{
    static const char *const paths[] = {
        "",
        "nope",
        "results.nope",
        "results.fields.x.min.y",
        "hosts[3]",
        "hosts[-1]",
        "hosts[]",
        "hosts[1",
        "hosts.0",
        "hosts[1]x",
        "results[0]",
        ".results",
        "results.",
        "a..b",
        "hosts[99999999999999999999]",
        "hosts 1]",
        "]",
        "[0]",
        "results..fields",
        "hosts[0][0]",
        "hosts[ 0]",
        "hosts[0]]",
    };
    struct loaded got = load_sample();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        CU_ASSERT_PTR_NULL(jr_doc_find(got.doc.root, paths[i]));
    CU_ASSERT_PTR_NULL(jr_doc_find(NULL, "a"));
    CU_ASSERT_PTR_NULL(jr_doc_get(NULL, "a"));
    CU_ASSERT_PTR_NULL(jr_doc_get(jr_doc_get(got.doc.root, "hosts"), "a"));
    CU_ASSERT_PTR_NULL(jr_doc_get(jr_doc_get(got.doc.root, "none"), ""));
    unload(&got);
}

static void finds_by_path(void)
{
    struct loaded got = load_sample();
    const struct jr_node *root = got.doc.root;
    JR_ASSERT_TEXT(jr_doc_find(root, "results.fields.x.min")->text, "0.5");
    JR_ASSERT_TEXT(jr_doc_find(root, "hosts[1]")->text, "b");
    JR_ASSERT_TEXT(jr_doc_find(root, "hosts[2].c[0]")->text, "d");
    JR_ASSERT_TEXT(jr_doc_find(jr_doc_get(root, "hosts"), "[0]")->text, "a");
    CU_ASSERT_PTR_EQUAL(jr_doc_pair(root, "hosts")->value,
                        jr_doc_get(root, "hosts"));
    unload(&got);
}

static struct jr_buf emitted(const struct jr_node *node)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_doc_emit(&text, node);
    return text;
}

/* A path that does not fit is refused and leaves the tree as it was. */
static void refuses_paths_that_do_not_fit(void)
{
    static const char *const paths[] = {
        "",
        "backends.model",
        "hosts[4]",
        "hosts.x",
        "new[1]",
        "new.a[1].b",
        "results[0]",
        "a..b",
        "new.",
        "hosts[0].x",
        "[0]",
        "new[x]",
        "results.fields.x.min.y",
    };
    struct loaded got = load_sample();
    struct jr_node *one = jr_node_scalar(&got.doc.arena, "1", true);
    struct jr_buf before JR_BUF_CLEANUP = emitted(got.doc.root);
    struct jr_buf deep JR_BUF_CLEANUP = JR_BUF_INIT;
    for (int i = 0; i < 100000; i++)
        jr_buf_str(&deep, "a.");
    jr_buf_str(&deep, "a");
    struct jr_arena *arena = &got.doc.arena;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        CU_ASSERT_FALSE(jr_node_set_path(arena, got.doc.root, paths[i], one));
    CU_ASSERT_FALSE(jr_node_set_path(arena, got.doc.root, deep.data, one));
    CU_ASSERT_FALSE(jr_node_set_path(arena, got.doc.root, "a", NULL));
    CU_ASSERT_FALSE(jr_node_set_path(arena, NULL, "a", one));
    struct jr_buf after JR_BUF_CLEANUP = emitted(got.doc.root);
    JR_ASSERT_TEXT(after.data, before.data);
    unload(&got);
}

static void sets_by_path(void)
{
    static const struct {
        const char *path, *find;
    } cases[] = {
        {"new", "new"},
        {"backends", "backends"},
        {"none.a.b", "none.a.b"},
        {"p.q[0].r", "p.q[0].r"},
        {"hosts[0]", "hosts[0]"},
        {"hosts[3]", "hosts[3]"},
        {"hosts[2].c[1]", "hosts[2].c[1]"},
        {"results.fields.x.max", "results.fields.x.max"},
    };
    struct loaded got = load_sample();
    struct jr_arena *arena = &got.doc.arena;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jr_node *value = jr_node_scalar(arena, "1", true);
        CU_ASSERT_TRUE(
            jr_node_set_path(arena, got.doc.root, cases[i].path, value));
        CU_ASSERT_PTR_EQUAL(jr_doc_find(got.doc.root, cases[i].find), value);
    }
    JR_ASSERT_TEXT(jr_doc_find(got.doc.root, "results.fields.x.min")->text,
                   "0.5");
    CU_ASSERT_EQUAL(jr_doc_get(got.doc.root, "hosts")->count, 4);
    unload(&got);
}

static void builds_a_tree(void)
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

static void copies_are_apart(void)
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
static void survives_a_lack_of_memory(void)
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

JR_UNIT_MAIN("doc.node", CASE(finds_nothing_where_a_path_ends_early),
             CASE(finds_by_path), CASE(refuses_paths_that_do_not_fit),
             CASE(sets_by_path), CASE(builds_a_tree), CASE(copies_are_apart),
             CASE(survives_a_lack_of_memory))
