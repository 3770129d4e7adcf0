/* One tree laid over another. */
#include "doc/merge.h"
#include "toy.h"

static const struct {
    const char *base, *over, *merged;
} vectors[] = {
    {"a: 1\nb: 2\n", "b: 3\nc: 4\n", "a: 1\nb: 3\nc: 4\n"},
    {"m: {a: {b: 1, c: 2}}\n", "m: {a: {b: 3}}\n", "m:\n  a:\n    b: 3\n    c: 2\n"},
    {"l: [1, 2, 3]\n", "l: [4]\n", "l: [4]\n"},
    {"l: [1]\n", "l: {a: 1}\n", "l:\n  a: 1\n"},
    {"m: {a: 1}\n", "m: x\n", "m: x\n"},
    /* null removes, where there is something to remove */
    {"a: 1\nm: {b: 2, c: 3}\n", "a: null\nm: {b: ~}\n", "m:\n  c: 3\n"},
    {"a: 1\n", "b: null\nm: {c: null}\n", "a: 1\nb: null\nm:\n  c: null\n"},
    {"a: null\n", "b: 1\n", "a: null\nb: 1\n"},
    {"a: 1\n", "a: \"null\"\n", "a: \"null\"\n"},
    {"env: {A: 1, B: 2}\n", "env: {A: null}\n", "env:\n  A: null\n  B: 2\n"},
    {"env: {A: 1}\n", "env: null\n", "{}\n"},
    /* shorthands */
    {"back: x\n", "back: {data: w}\n", "back:\n  default: x\n  data: w\n"},
    {"back: {default: x, data: w}\n", "back: z\n", "back: z\n"},
    {"back: null\n", "back: {data: w}\n", "back:\n  data: w\n"},
    {"entry: [a, b]\n", "entry: {args: [c]}\n", "entry:\n  command: [a, b]\n  args: [c]\n"},
    {"entry: {command: [a], args: [b]}\n", "entry: [c]\n", "entry: [c]\n"},
    {"entry: {command: [a], args: [b]}\n", "entry: {command: [c]}\n",
     "entry:\n  command: [c]\n  args: [b]\n"},
    /* another form is another entry */
    {"entry: {command: [a], args: [b]}\n", "entry: {shell: x}\n", "entry:\n  shell: x\n"},
    {"entry: [a]\n", "entry: {shell: x}\n", "entry:\n  shell: x\n"},
    {"entry: {args: [b]}\n", "entry: {shell: x}\n", "entry:\n  args: [b]\n  shell: x\n"}};

TEST(merges)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct loaded base = toy_load(vectors[i].base);
        struct loaded over = toy_load(vectors[i].over);
        struct jr_arena arena = JR_ARENA_INIT;
        const struct jr_merger merger = {&arena, &toy};
        toy_check(jr_merge(&merger, &toy.root, base.doc.root, over.doc.root), vectors[i].merged);
        jr_arena_release(&arena);
        unload(&base);
        unload(&over);
    }
}

/* Both trees stay as they are. */
TEST(changes_nothing)
{
    static const char a[] = "m:\n  a: 1\nback: x\n";
    static const char b[] = "m:\n  b: 2\nback:\n  data: w\n";
    struct loaded base = toy_load(a), over = toy_load(b);
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_merger merger = {&arena, &toy};
    (void)jr_merge(&merger, &toy.root, base.doc.root, over.doc.root);
    toy_check(base.doc.root, a);
    toy_check(over.doc.root, b);
    jr_arena_release(&arena);
    unload(&base);
    unload(&over);
}

/* Every value knows where it stands and what it replaced. */
TEST(remembers)
{
    struct loaded a = toy_load("x: 1\nm: {k: 1}\n");
    struct loaded b = toy_load("\nx: 2\nm: {k: 2}\n");
    struct loaded c = toy_load("\n\nx: 3\n");
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_merger merger = {&arena, &toy};
    struct jr_node *root = jr_merge(&merger, &toy.root, a.doc.root, b.doc.root);
    root = jr_merge(&merger, &toy.root, root, c.doc.root);
    const struct jr_node *x = jr_doc_get(root, "x");
    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    CU_ASSERT_EQUAL(x->span.line, 3);
    CU_ASSERT_EQUAL(x->under->span.line, 2);
    CU_ASSERT_EQUAL(x->under->under->span.line, 1);
    CU_ASSERT_PTR_NULL(x->under->under->under);
    CU_ASSERT_EQUAL(jr_doc_find(root, "m.k")->span.line, 3);
    CU_ASSERT_EQUAL(jr_doc_find(root, "m.k")->under->span.line, 2);
    CU_ASSERT_PTR_NULL(jr_doc_get(c.doc.root, "x")->under);
    jr_arena_release(&arena);
    unload(&a);
    unload(&b);
    unload(&c);
}

/* A tree over itself: what it replaces is never itself. */
TEST(lies_over_itself)
{
    struct loaded a = toy_load("x: 1\nl: [1]\n");
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_merger merger = {&arena, &toy};
    struct jr_node *root = jr_merge(&merger, &toy.root, a.doc.root, a.doc.root);
    const struct jr_node *x = jr_doc_get(root, "x");
    CU_ASSERT_PTR_NULL(x->under->under);
    toy_check(root, "x: 1\nl: [1]\n");
    jr_arena_release(&arena);
    unload(&a);
}

/* Linear in what there is: mappings of many keys are no matter. */
TEST(takes_many_keys)
{
    JR_BUF_CLEANUP struct jr_buf base = JR_BUF_INIT, over = JR_BUF_INIT;
    for (int i = 0; i < 20000; i++) {
        jr_buf_printf(&base, "a%d: %d\n", i, i);
        jr_buf_printf(&over, "a%d: x\n", i * 2);
    }
    struct loaded a = toy_load(base.data), b = toy_load(over.data);
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_merger merger = {&arena, &toy};
    const struct jr_node *root = jr_merge(&merger, &toy.root, a.doc.root, b.doc.root);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    CU_ASSERT_EQUAL(root->count, 30000);
    JR_ASSERT_TEXT(jr_doc_get(root, "a19998")->text, "x");
    JR_ASSERT_TEXT(jr_doc_get(root, "a19999")->text, "19999");
    jr_arena_release(&arena);
    unload(&a);
    unload(&b);
}
