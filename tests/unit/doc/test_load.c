#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"
#include "unit.h"

/* What is wrong with a text: all its findings, in the short form. */
struct vector {
    const char *text;
    const char *findings;
    bool has_tree;
};

static void check(const struct vector *vector)
{
    struct loaded got = load(vector->text, strlen(vector->text));
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_diags_sort(&got.diags);
    jr_diags_render(&text, &got.diags, JR_DIAG_SHORT, false);
    /* The count of errors at the end is the renderer's own affair. */
    const char *findings = text.data == NULL ? "" : text.data;
    if (strncmp(findings, vector->findings, strlen(vector->findings)) != 0)
        printf("\n    of       '%s'\n    got      '%s'\n    expected '%s'\n", vector->text,
               findings, vector->findings);
    CU_ASSERT_NSTRING_EQUAL(findings, vector->findings, strlen(vector->findings));
    size_t count = 0;
    for (const char *at = vector->findings; (at = strchr(at, '\n')) != NULL;)
        count += *at++ == '\n';
    CU_ASSERT_EQUAL(got.diags.count, count);
    CU_ASSERT_EQUAL(got.result == 0, vector->has_tree);
    CU_ASSERT_EQUAL(got.doc.root != NULL, vector->has_tree);
    unload(&got);
}

static void check_all(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&vectors[i]);
}

#define CHECK_ALL(vectors) check_all(vectors, sizeof vectors / sizeof *vectors)

/* One of them; test_syntax_error.c has all. */
TEST(tells_syntax_errors)
{
    static const struct vector vectors[] = {
        {"a: [x, ???, b]\n", "t:1:9: error: a bare '?' is not allowed inside [ ] or { } [JR0102]\n",
         false},
        {"a: 1\n\tb: 2\n", "t:2:1: error: a tab cannot indent [JR0102]\n", false}};
    CHECK_ALL(vectors);
}

TEST(tells_bad_bytes)
{
    static const struct vector vectors[] = {
        {"\xff\xfe"
         "a",
         "t: error: this is UTF-16, not UTF-8 [JR0102]\n", false},
        {"a: 1\nb: \"\x1b[0m\"\n",
         "t:2:5: error: the control character U+001B is not allowed [JR0105]\n", false},
        {"a: \"\\0\"\n", "t:1:4: error: the control character U+0000 is not allowed [JR0105]\n",
         true}};
    CHECK_ALL(vectors);
    struct loaded got = load("a: 1\nb\0: 2\n", 11);
    CU_ASSERT_EQUAL(got.result, -1);
    CU_ASSERT_EQUAL_FATAL(got.diags.count, 1);
    JR_ASSERT_TEXT(got.diags.items[0].code, "JR0105");
    CU_ASSERT_EQUAL(got.diags.items[0].span.line, 2);
    CU_ASSERT_EQUAL(got.diags.items[0].span.column, 2);
    /* An escape is refused, too. */
    CU_ASSERT_PTR_NULL(got.diags.items[0].help);
    unload(&got);
}

TEST(tells_what_is_not_offered)
{
    static const struct vector vectors[] = {
        {"a: 1\n---\nb: 2\n", "t:2:1: error: a second document begins here [JR0107]\n", true},
        {"{[1]: 2, {}: 3}\n",
         "t:1:2: error: a key cannot be a sequence [JR0113]\n"
         "t:1:10: error: a key cannot be a mapping [JR0113]\n",
         true},
        {"a: {<<: {b: 1}}\n", "t:1:5: error: the merge key '<<' is not supported [JR0114]\n", true},
        {"a: &x !foo b\nc: !<tag:yaml.org,2002:set> {}\n",
         "t:1:4: error: unknown tag '!foo' [JR0115]\n"
         "t:2:4: error: unknown tag 'tag:yaml.org,2002:set' [JR0115]\n",
         true},
        {"a: !!int x\nb: !!map [1]\nc: !x!y 1\n",
         "t:1:4: error: this value does not have the type !!int [JR0115]\nt:2:4: error: this "
         "value does not have the type !!map [JR0115]\nt:3:4: error: unknown tag [JR0115]\n",
         false},
        {"", "t:1:1: error: the document is empty [JR0116]\n", false},
        {"# only this\n\n", "t:1:1: error: the document is empty [JR0116]\n", false},
        {"---\n...\n", "t:1:1: error: the document is empty [JR0116]\n", false},
        {"%YAML 2.0\n---\na: 1\n", "t:1:1: error: only YAML 1.1 and 1.2 are read [JR0117]\n",
         false},
        {"%FOO\n---\na: 1\n", "t:1:1: error: unknown directive [JR0117]\n", false}};
    CHECK_ALL(vectors);
}

TEST(tells_all_mistakes_at_once)
{
    static const struct vector vectors[] = {
        {"a: 1\nb: {x: 1, y: 2, \"x\": 3, x: 4}\na: *q\nc: &s [*s]\n",
         "t:2:17: error: duplicate key 'x' [JR0106]\nt:2:25: error: duplicate key 'x' "
         "[JR0106]\nt:3:1: error: duplicate key 'a' [JR0106]\nt:3:4: error: unknown alias '*q' "
         "[JR0111]\nt:4:8: error: alias '*s' is inside its own anchor [JR0112]\n",
         true},
        {"a: *q\nb: @\n",
         "t:1:4: error: unknown alias '*q' [JR0111]\n"
         "t:2:4: error: a value cannot begin with '@' [JR0102]\n",
         false}};
    CHECK_ALL(vectors);
}

/* The span of the node at `path`: line, column, end line, end column. */
struct place {
    const char *text, *path;
    uint32_t line, column, end_line, end_column;
};

TEST(knows_where_nodes_stand)
{
    static const struct place places[] = {
        {"a: foo bar\n", "a", 1, 4, 1, 11},
        {"a: 'it''s' # x\n", "a", 1, 4, 1, 11},
        {"\xc3\xa9: \xe2\x82\xac\xe2\x82\xac\n", "\xc3\xa9", 1, 4, 1, 6},
        {"a: &x  !!str  b\n", "a", 1, 15, 1, 16},
        {"a: &x # why\n  b\n", "a", 2, 3, 2, 4},
        {"a: &x\nb: 1\n", "a", 1, 6, 1, 6},
        {"a: one\n  two\n", "a", 1, 4, 2, 6},
        {"a:\n  key: 1\n  b: 2\n", "a", 2, 3, 2, 6},
        {"a: &x\n  key: 1\n", "a", 2, 3, 2, 6},
        {"a:\n  - x\n  - y\n", "a", 2, 3, 2, 4},
        {"a:\n- x\n- yy\n", "a[1]", 3, 3, 3, 5},
        {"a: [1, 2]\n", "a", 1, 4, 1, 10},
        {"a: &x !!seq [1, 2]  # c\n", "a", 1, 13, 1, 19},
        {"a: {b: 1,\n    c: 2}\n", "a", 1, 4, 1, 5},
        {"a: {b: [x]}\n", "a.b[0]", 1, 9, 1, 10},
        {"a: &x {b: 1}\nc: *x\n", "c.b", 1, 11, 1, 12},
        {"\r\na: 1\r\nb: 2\r\n", "b", 3, 4, 3, 5},
        {"a: \"\xe2\x80\xa8\"\nb: 2\n", "b", 3, 4, 3, 5}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const struct place *at = &places[i];
        struct loaded got = load(at->text, strlen(at->text));
        CU_ASSERT_EQUAL_FATAL(got.result, 0);
        const struct jr_node *node = jr_doc_find(got.doc.root, at->path);
        CU_ASSERT_PTR_NOT_NULL_FATAL(node);
        const struct jr_span *span = &node->span;
        bool right = span->line == at->line && span->column == at->column &&
                     span->end_line == at->end_line && span->end_column == at->end_column;
        if (!right)
            printf("\n    '%s': %u:%u-%u:%u\n", at->text, span->line, span->column, span->end_line,
                   span->end_column);
        CU_ASSERT_TRUE(right);
        CU_ASSERT_PTR_EQUAL(span->source, got.doc.source);
        unload(&got);
    }
}

TEST(skips_a_byte_order_mark)
{
    static const char text[] = "\xef\xbb\xbf"
                               "a: 1\n";
    struct loaded got = load(text, strlen(text));
    CU_ASSERT_EQUAL_FATAL(got.result, 0);
    JR_ASSERT_TEXT(got.doc.source->text, "a: 1\n");
    CU_ASSERT_EQUAL(got.doc.root->span.column, 1);
    unload(&got);
}

TEST(keeps_style_and_text)
{
    static const char text[] = "a: 4\nb: '4'\nc: |\n  x\n  y\nd: !!str 4\n"
                               "e: !!int \"4\"\nf: [g, {h: i}]\n\"j\": \"\\x41\"\n";
    struct loaded got = load(text, strlen(text));
    const struct jr_node *root = got.doc.root;
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    CU_ASSERT_TRUE(jr_doc_get(root, "a")->plain);
    CU_ASSERT_FALSE(jr_doc_get(root, "b")->plain);
    CU_ASSERT_FALSE(jr_doc_get(root, "c")->plain);
    CU_ASSERT_FALSE(jr_doc_get(root, "d")->plain);
    CU_ASSERT_TRUE(jr_doc_get(root, "e")->plain);
    CU_ASSERT_FALSE(root->flow);
    CU_ASSERT_TRUE(jr_doc_get(root, "f")->flow);
    CU_ASSERT_TRUE(jr_doc_find(root, "f[1].h")->flow);
    JR_ASSERT_TEXT(jr_doc_get(root, "c")->text, "x\ny\n");
    JR_ASSERT_TEXT(jr_doc_get(root, "j")->text, "A");
    CU_ASSERT_FALSE(jr_doc_pair(root, "j")->key->plain);
    unload(&got);
}

/* A copy, so that changing one use leaves the others alone. */
TEST(copies_what_an_alias_names)
{
    static const char text[] = "a: &x {b: [1]}\nc: *x\nd: &x e\nf: *x\n*x : g\n";
    struct loaded got = load(text, strlen(text));
    const struct jr_node *root = got.doc.root;
    CU_ASSERT_EQUAL_FATAL(got.diags.count, 0);
    CU_ASSERT_TRUE(same_tree(jr_doc_get(root, "a"), jr_doc_get(root, "c")));
    CU_ASSERT_PTR_NOT_EQUAL(jr_doc_find(root, "a.b"), jr_doc_find(root, "c.b"));
    JR_ASSERT_TEXT(jr_doc_get(root, "f")->text, "e");
    JR_ASSERT_TEXT(jr_doc_get(root, "e")->text, "g");
    unload(&got);
}

/* Load a path; the only finding must be about the whole file. */
static void check_unreadable(const char *path, const char *message)
{
    struct jr_doc doc = JR_DOC_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    CU_ASSERT_EQUAL(jr_doc_load_file(&doc, path, &diags), -1);
    CU_ASSERT_EQUAL_FATAL(diags.count, 1);
    JR_ASSERT_TEXT(diags.items[0].code, "JR0101");
    JR_ASSERT_TEXT(diags.items[0].message, message);
    CU_ASSERT_EQUAL(diags.items[0].span.line, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(diags.items[0].span.source);
    JR_ASSERT_TEXT(diags.items[0].span.source->name, path);
    jr_diags_release(&diags);
    jr_doc_release(&doc);
}

TEST(refuses_what_is_no_file)
{
    char folder[] = "/tmp/jr-doc-XXXXXX", fifo[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    CU_ASSERT_EQUAL(mkfifo(fifo, 0600), 0);
    check_unreadable(fifo, "is a FIFO, not a regular file");
    check_unreadable(folder, "is a folder, not a regular file");
    check_unreadable("/dev/zero", "is a device, not a regular file");
    CU_ASSERT_EQUAL(unlink(fifo), 0);
    check_unreadable(fifo, "there is no such file");
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

/* With `fd` as standard input; the name is not a path. */
static void load_from(int fd, struct jr_doc *ret, struct jr_diags *diags)
{
    int saved = dup(STDIN_FILENO);
    CU_ASSERT_EQUAL_FATAL(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    (void)jr_doc_load_file(ret, "-", diags);
    CU_ASSERT_EQUAL_FATAL(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    (void)close(saved);
    (void)close(fd);
}

TEST(reads_standard_input)
{
    struct jr_doc doc = JR_DOC_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL(write(ends[1], "a: 1\n", 5), 5);
    (void)close(ends[1]);
    load_from(ends[0], &doc, &diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(doc.root);
    JR_ASSERT_TEXT(jr_doc_get(doc.root, "a")->text, "1");
    JR_ASSERT_TEXT(doc.source->name, "stdin");
    jr_diags_release(&diags);
    jr_doc_release(&doc);
}

TEST(reads_a_file)
{
    char path[] = "/tmp/jr-doc-XXXXXX";
    int fd = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, "a: [1]\n", 7), 7);
    (void)close(fd);
    struct jr_doc doc = JR_DOC_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    CU_ASSERT_EQUAL(jr_doc_load_file(&doc, path, &diags), 0);
    CU_ASSERT_PTR_NOT_NULL(jr_doc_find(doc.root, "a[0]"));
    JR_ASSERT_TEXT(doc.source->name, path);
    (void)unlink(path);
    jr_diags_release(&diags);
    jr_doc_release(&doc);
}
