/* Documents that build on others, read from a table. */
#include "doc/extends.h"

#include "doc/override.h"
#include "pages.h"
#include "toy.h"

static struct loaded assemble_chosen(const char *top, const struct page *pages, const char *option)
{
    struct loaded got = load(top, strlen(top));
    const struct jr_reader reader = {read_page, pages};
    struct jr_parent_choice choice;
    struct jr_extends extends = {
        .shapes = &toy, .reader = &reader, .file = {"top", "top", "/"}, .choices = {.here = "/"}};
    CU_ASSERT_PTR_NOT_NULL_FATAL(got.doc.root);
    got.result = -1;
    if (option != NULL) {
        CU_ASSERT_TRUE(jr_override_is_parent(option));
        if (!jr_override_parent(&got.doc, option, &choice, &got.diags))
            return got;
        jr_parent_choices_add(&extends.choices, &got.doc.arena, &choice);
    }
    got.result = jr_extends_merge(&got.doc, &extends, &got.diags);
    return got;
}

static struct loaded assemble(const char *top, const struct page *pages)
{
    return assemble_chosen(top, pages, NULL);
}

static const struct page pages[] = {{"named", "extends: {one: left}\nd: named\n"},
                                    {"base", "a: base\nb: base\nmap: {a: {k: base}}\nl: [1, 2]\n"},
                                    {"left", "extends: base\nb: left\nc: left\n"},
                                    {"right", "extends: [base]\nc: right\ntemplate: true\n"},
                                    {"again", "extends: [left, right]\nb: null\n"},
                                    {"loop", "extends: loop\n"},
                                    {"ping", "extends: pong\n"},
                                    {"pong", "extends: [base, ping]\n"},
                                    {"up", "extends: top\n"},
                                    {"top", "extends: up\n"},
                                    {"list", "- a\n"},
                                    {"bad", "a: [\n"},
                                    {"twice", "k: 1\nk: 2\n"},
                                    {"null", "extends: null\n"},
                                    {"dollars", "a: ${b}\n"},
                                    {0}};

TEST(puts_together)
{
    static const struct {
        const char *top, *merged;
    } vectors[] = {
        {"a: 1\n", "a: 1\n"},
        {"extends: []\na: 1\n", "a: 1\n"},
        {"a: top\nextends: base\n", "a: top\nb: base\nmap:\n  a:\n    k: base\nl: [1, 2]\n"},
        {"extends: [left]\nl: [3]\n",
         "a: base\nb: left\nmap:\n  a:\n    k: base\nl: [3]\nc: left\n"},
        /* later parents over earlier ones, with all that they build on */
        {"extends: [left, right]\nl: null\nmap: null\n", "a: base\nb: base\nc: right\n"},
        {"extends: again\nl: null\nmap: null\n", "a: base\nc: right\n"},
        /* a mapping is taken in its order, and null is no parent */
        {"extends: {y: left, a: right, n: null}\nl: null\nmap: null\n",
         "a: base\nb: base\nc: right\n"},
        {"extends: {a: right, y: left}\nl: null\nmap: null\n", "a: base\nb: left\nc: left\n"},
        {"extends: {n: null}\na: 1\n", "a: 1\n"},
        {"extends: right\ntemplate: true\nl: null\nmap: null\n",
         "a: base\nb: base\nc: right\ntemplate: true\n"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct loaded got = assemble(vectors[i].top, pages);
        CU_ASSERT_EQUAL(got.result, 0);
        toy_found(&got.diags, "");
        toy_check(got.doc.root, vectors[i].merged);
        unload(&got);
    }
}

TEST(refuses)
{
    static const struct {
        const char *top, *found;
    } vectors[] = {{"extends: none", "0118@1:10 extends"},
                   {"extends: [base, none, list]", "0118@1:17 extends\n0118@1:23 extends"},
                   {"extends: top", "0120@1:10 extends"},
                   {"extends: loop", "0120@1:10 extends"},
                   {"extends: ping", "0120@1:17 extends"},
                   {"extends: up", "0120@1:10 extends"},
                   {"extends: bad", "0102@1:4"},
                   {"extends: twice", "0106@2:1"},
                   {"extends:", "0211@1:9 extends"},
                   {"extends: ''", "0211@1:10 extends"},
                   {"extends: {a: b}", "0118@1:14 extends"},
                   {"extends: {a: [base]}", "0211@1:14 extends"},
                   {"extends: {a: base, b: '${c}'}", "0211@1:23 extends"},
                   {"extends: {a b: base}", "0211@1:11 extends"},
                   {"extends: {a: top}", "0120@1:14 extends"},
                   {"extends: [base, [base]]", "0211@1:17 extends"},
                   {"extends: null", "0211@1:10 extends"},
                   {"extends: [null]", "0211@1:11 extends"},
                   {"extends: '${a}'", "0211@1:10 extends"},
                   {"extends: 'null'", "0211@1:10 extends"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct loaded got = assemble(vectors[i].top, pages);
        CU_ASSERT_EQUAL(got.result, -1);
        toy_found(&got.diags, vectors[i].found);
        unload(&got);
    }
}

/* Others than those that are stated, by their names. */
TEST(takes_choices)
{
    static const struct {
        const char *top, *option, *merged, *found;
    } vectors[] = {{"extends: {one: left}\nl: null\nmap: null\n", "extends.one=right",
                    "a: base\nb: base\nc: right\n", ""},
                   {"extends: {one: left}\na: 1\n", "extends.one=null", "a: 1\n", ""},
                   {"extends: {one: null}\nl: null\nmap: null\n", "extends.one=right",
                    "a: base\nb: base\nc: right\n", ""},
                   /* the name may be a parent's */
                   {"extends: named\nl: null\nmap: null\n", "extends.one=right",
                    "a: base\nb: base\nc: right\nd: named\n", ""},
                   {"extends: {one: left}", "extends.on=right", NULL, "0228@1:9 extends.on"},
                   {"extends: left", "extends.one=right", NULL, "0228@1:9 extends.one"},
                   {"a: 1", "extends.one=right", NULL, "0228@1:9 extends.one"},
                   {"a: 1", "extends.=right", NULL, "0228@1:9 extends."},
                   {"extends: {one: left}", "extends.one=[right]", NULL, "0211@1:13 extends"},
                   {"extends: {one: left}", "extends.one=none", NULL, "0118@1:13 extends"},
                   {"extends: {one: left}", "extends.one=#", NULL, "0227@1:1 extends.one"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct loaded got = assemble_chosen(vectors[i].top, pages, vectors[i].option);
        toy_found(&got.diags, vectors[i].found);
        CU_ASSERT_EQUAL(got.result, vectors[i].merged == NULL ? -1 : 0);
        if (vectors[i].merged != NULL)
            toy_check(got.doc.root, vectors[i].merged);
        unload(&got);
    }
}

TEST(tells_the_circle)
{
    struct loaded got = assemble("extends: ping", pages);
    CU_ASSERT_EQUAL_FATAL(got.diags.count, 1);
    JR_ASSERT_TEXT(got.diags.items[0].message, "'extends' goes in a circle: ping -> pong -> ping");
    JR_ASSERT_TEXT(got.diags.items[0].span.source->name, "pong");
    unload(&got);
}

TEST(points_into_parents)
{
    struct loaded got = assemble("extends: left\nb: top\n", pages);
    const struct jr_node *b = jr_doc_get(got.doc.root, "b");
    JR_ASSERT_TEXT(b->span.source->name, "t");
    JR_ASSERT_TEXT(b->under->span.source->name, "left");
    JR_ASSERT_TEXT(b->under->under->span.source->name, "base");
    JR_ASSERT_TEXT(jr_doc_get(got.doc.root, "a")->span.source->name, "base");
    CU_ASSERT_FALSE(got.doc.dollars);
    unload(&got);
    got = assemble("extends: dollars\n", pages);
    CU_ASSERT_TRUE(got.doc.dollars);
    unload(&got);
}

/* A file that many build on is one file. */
TEST(bounds_files)
{
    struct page many[80] = {{"base", "a: 1\n"}};
    char names[80][8], texts[80][64];
    for (int i = 1; i < 79; i++) {
        (void)snprintf(names[i], sizeof names[i], "p%d", i);
        (void)snprintf(texts[i], sizeof texts[i], "extends: [p%d, base]\n", i + 1);
        many[i] = (struct page){names[i], texts[i]};
    }
    many[62].text = "b: 1\n";
    struct loaded got = assemble("extends: p1\n", many);
    toy_found(&got.diags, "");
    toy_check(got.doc.root, "b: 1\na: 1\n");
    unload(&got);
    many[62].text = texts[62];
    got = assemble("extends: p1\n", many);
    toy_found(&got.diags, "0121@1:11 extends");
    unload(&got);
}

TEST(bounds_readings)
{
    struct jr_buf top JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&top, "extends:\n");
    for (int i = 0; i < 20000; i++)
        jr_buf_str(&top, "- base\n");
    struct loaded got = assemble(top.data, pages);
    toy_found(&got.diags, "0121@258:3 extends");
    unload(&got);
}

TEST(bounds_bytes)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&text, "a: 1\n#");
    jr_buf_fill(&text, 'x', JR_DOC_MAX_BYTES - text.len);
    const struct page big[] = {{"big", text.data}, {0}};
    struct loaded got = assemble("extends: [big, big]\n", big);
    toy_found(&got.diags, "");
    unload(&got);
    struct jr_buf top JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&top, "extends:\n");
    for (int i = 0; i < 20; i++)
        jr_buf_str(&top, "- big\n");
    got = assemble(top.data, big);
    toy_found(&got.diags, "0121@17:3 extends");
    unload(&got);
}
