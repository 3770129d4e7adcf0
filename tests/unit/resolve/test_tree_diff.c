#include "unit.h"

#include "resolve/spec_diff.h"

/* Two texts ("" is no tree), and the changes as "PATH: A -> B" lines. */
static const struct {
    const char *a, *b, *changes;
} vectors[] = {{"a: 1", "a: 2", "a: 1 -> 2\n"},
               {"a: 1", "a: 1.0", "a: 1 -> 1.0\n"},
               {"a: null", "a: \"null\"", "a: null -> \"null\"\n"},
               {"a: ''", "a:", "a: \"\" -> null\n"},
               {"a: 1", "b: 1", "a: 1 -> -\nb: - -> 1\n"},
               {"a: {b: {c: 1, d: 2}}", "a: {b: {c: 3, d: 2}}", "a.b.c: 1 -> 3\n"},
               {"a: {b: 1, c: 2}", "", "a.b: 1 -> -\na.c: 2 -> -\n"},
               {"", "a: {b: {c: 1}}", "a.b.c: - -> 1\n"},
               {"a: {b: 1}", "a: [b, 1]", "a: {b: 1} -> [b, 1]\n"},
               {"a: {b: 1}", "a: x", "a: {b: 1} -> x\n"},
               {"a: [x, u]", "a: [x, z]", "a[1]: u -> z\n"},
               {"a: [x, u]", "a: [u]", "a: [x, u] -> [u]\n"},
               {"a: [{n: 1}, {n: 2}]", "a: [{n: 1}, {n: 3}]", "a[1].n: 2 -> 3\n"},
               {"a: [[1, 2], [3]]", "a: [[1, 2], [4]]", "a[1][0]: 3 -> 4\n"},
               {"a: []", "b: 1", "a: [] -> -\nb: - -> 1\n"},
               {"a: |\n  x\n  y\n", "a: x y", "a: \"x\\ny\\n\" -> x y\n"},
               {"a: [x]", "a: x", "a: [x] -> x\n"},
               {"a: 1\nb: 2", "b: 2\na: 1", ""},
               {"a: 1", "a: '1'", ""},
               {"a: ~", "a: null", ""},
               {"a: >-\n  x\n  y\n", "a: \"x y\"", ""},
               {"a: {}", "b: {}", ""},
               {"a: {b: {}}", "", ""},
               {"", "", ""},
               {"a: [1, {b: c}] # note", "a:\n- 1\n- b: c\n", ""}};

static const struct jr_node *load(struct jr_doc *doc, const char *text)
{
    struct jr_diags diags = JR_DIAGS_INIT;
    *doc = (struct jr_doc)JR_DOC_INIT;
    if (text[0] == '\0')
        return NULL;
    CU_ASSERT_EQUAL_FATAL(jr_doc_load(doc, "t", text, strlen(text), &diags), 0);
    CU_ASSERT_EQUAL(diags.count, 0);
    jr_diags_release(&diags);
    return doc->root;
}

static void add_value(struct jr_buf *out, const struct jr_node *node)
{
    if (node == NULL)
        jr_buf_char(out, '-');
    else
        jr_doc_emit_line(out, node);
}

static void say(struct jr_buf *out, const struct jr_changes *changes)
{
    jr_buf_clear(out);
    jr_buf_str(out, "");
    for (size_t i = 0; i < changes->count; i++) {
        jr_buf_printf(out, "%s: ", changes->items[i].path);
        add_value(out, changes->items[i].a);
        jr_buf_str(out, " -> ");
        add_value(out, changes->items[i].b);
        jr_buf_char(out, '\n');
    }
}

TEST(finds_changes)
{
    struct jr_buf JR_BUF_CLEANUP said = JR_BUF_INIT;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_doc a, b;
        struct jr_changes changes;
        const struct jr_node *left = load(&a, vectors[i].a);
        const struct jr_node *right = load(&b, vectors[i].b);
        jr_changes_find(&changes, left, right);
        CU_ASSERT_FALSE(changes.arena.failed);
        say(&said, &changes);
        JR_ASSERT_TEXT(said.data, vectors[i].changes);
        jr_changes_release(&changes);
        jr_doc_release(&a);
        jr_doc_release(&b);
    }
}

/* The other way round it is the same changes. */
TEST(is_symmetric)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_doc a, b;
        struct jr_changes one, other;
        const struct jr_node *left = load(&a, vectors[i].a);
        const struct jr_node *right = load(&b, vectors[i].b);
        jr_changes_find(&one, left, right);
        jr_changes_find(&other, right, left);
        CU_ASSERT_EQUAL(one.count, other.count);
        jr_changes_release(&one);
        jr_changes_find(&one, left, left);
        CU_ASSERT_EQUAL(one.count, 0);
        jr_changes_release(&one);
        jr_changes_release(&other);
        jr_doc_release(&a);
        jr_doc_release(&b);
    }
}
