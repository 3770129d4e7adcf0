/* Values from the command line. */
#include "doc/override.h"
#include "toy.h"

static const char sample[] = "size: 8\nback: x\nentry: [a, b]\nlist: [1, 2]\n"
                             "map: {a: {b: 1}}\nnone:\n";

static const struct {
    const char *option, *path, *text; /* what then stands at the path */
} good[] = {{"size=4", "size", "4\n"},
            {"size=4x", "size", "4x\n"},
            {"size=\"4\"", "size", "\"4\"\n"},
            {"new=[1, {a: b}]", "new", "- 1\n- a: b\n"},
            {"new.deep.er=1", "new", "deep:\n  er: 1\n"},
            {"list[0]=9", "list", "- 9\n- 2\n"},
            {"list[2]=9", "list", "- 1\n- 2\n- 9\n"},
            {"list=9", "list", "9\n"},
            {"map={c: 1}", "map", "c: 1\n"},
            {"map.a.b=2", "map", "a:\n  b: 2\n"},
            {"map.a=null", "map", "a: null\n"},
            {"map.a=", "map", "a: null\n"},
            {"map.a= ", "map", "a: null\n"},
            {"none.k=1", "none", "k: 1\n"},
            {"none[0]=1", "none", "- 1\n"},
            {"back.data=w", "back", "default: x\ndata: w\n"},
            {"back=w", "back", "w\n"},
            {"entry.args=[c]", "entry", "command: [a, b]\nargs: [c]\n"},
            {"entry[1]=c", "entry", "- a\n- c\n"},
            {"entry.command[0]=c", "entry", "command: [c, b]\n"},
            {"entry.shell=x", "entry", "shell: x\n"},
            {"env.A=a=b", "env", "A: a=b\n"},
            {"size=k: v", "size", "k: v\n"},
            {"size=a #b", "size", "a\n"},
            {"size='#b'", "size", "\"#b\"\n"},
            {"env.A=${vars.x}", "env", "A: ${vars.x}\n"},
            {"+env.A=1", "env", "A: 1\n"},
            {"+vars.a=1", "vars", "a: 1\n"},
            {"+vars={a: 1}", "vars", "a: 1\n"},
            /* texts that look like other settings, and are none */
            {"env.A=a,size=4", "env", "A: a,size=4\n"},
            {"env.A=b=1,map.a=2", "env", "A: b=1,map.a=2\n"},
            {"back=a,other=4", "back", "a,other=4\n"},
            {"back=a size=4", "back", "a size=4\n"},
            {"back=a,size", "back", "a,size\n"},
            {"back=a,=4", "back", "a,=4\n"},
            {"back='a,size=4'", "back", "a,size=4\n"},
            {"+vars.a=a b=4", "vars", "a: a b=4\n"}};

TEST(sets)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct loaded got = toy_load(sample);
        jr_override(&got.doc, &toy, good[i].option, "/here", &got.diags);
        toy_found(&got.diags, "");
        const struct jr_node *node = jr_doc_find(got.doc.root, good[i].path);
        if (node == NULL)
            printf("\n  %s", good[i].option);
        CU_ASSERT_PTR_NOT_NULL_FATAL(node);
        toy_check(node, good[i].text);
        unload(&got);
    }
}

static const struct {
    const char *option, *found;
} bad[] = {{"", "0227@1:1"},
           {"size", "0227@1:1 size"},
           {"=1", "0227@1:1"},
           {"+", "0227@1:2"},
           {"+=1", "0227@1:2"},
           {"++env.A=1", "0227@1:2 +env.A"},
           {"+size=1", "0227@1:2 size"},
           {"vars.a=1", "0228@1:6 vars.a"},
           {"vars={a: 1}", "0228@1:7 vars.a"},
           {"a..b=1", "0227@1:2 a..b"},
           {".a=1", "0227@1:1 .a"},
           {"a.=1", "0227@1:2 a."},
           {"a[x]=1", "0227@1:2 a[x]"},
           {"a[1=1", "0227@1:2 a[1"},
           {"[0]=1", "0227@1:1 [0]"},
           {"size.a=1", "0227@1:5 size.a"},
           {"size[0]=1", "0227@1:5 size[0]"},
           {"list[3]=1", "0227@1:5 list[3]"},
           {"list.a=1", "0227@1:5 list.a"},
           {"map[0]=1", "0227@1:4 map[0]"},
           {"entry.args[1]=x", "0227@1:11 entry.args[1]"},
           {"extends=a", "0227@1:1 extends"},
           {"size=#1", "0227@1:1 size"},
           {"size=4,back=x", "0227@1:8 size"},
           {"size=4, map.new=x", "0227@1:9 size"},
           {"map.a=1;b=2", "0227@1:9 map.a"},
           {"map.a=1,size=2", "0227@1:9 map.a"},
           {"env.A=1,size.x=2", "0227@1:9 env.A"},
           {"+vars.a=1 size=2", "0227@1:11 vars.a"},
           {"size= # 1", "0227@1:1 size"},
           {"size=[1", "0102@1:6"},
           {"size=*a", "0111@1:6"},
           {"size={a: 1, a: 2}", "0106@1:13"},
           {"m\xc3\xa9.a=*b", "0111@1:6"}};

TEST(refuses)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct loaded got = toy_load(sample);
        struct jr_buf before JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_doc_emit(&before, got.doc.root);
        jr_override(&got.doc, &toy, bad[i].option, "/here", &got.diags);
        toy_found(&got.diags, bad[i].found);
        toy_check(got.doc.root, before.data);
        unload(&got);
    }
}

/* Positions are those of the option, and what was there is remembered. */
TEST(points_into_the_option)
{
    struct loaded got = toy_load(sample);
    jr_override(&got.doc, &toy, "size=4", "/here", &got.diags);
    jr_override(&got.doc, &toy, "new.deep=x", "/here", &got.diags);
    const struct jr_node *size = jr_doc_get(got.doc.root, "size");
    const struct jr_pair *new = jr_doc_pair(got.doc.root, "new");
    const struct jr_pair *deep = jr_doc_pair(new->value, "deep");
    JR_ASSERT_TEXT(size->span.source->name, "--set");
    JR_ASSERT_TEXT(size->span.source->text, "size=4");
    JR_ASSERT_TEXT(size->span.source->folder, "/here");
    CU_ASSERT_TRUE(size->span.source->option);
    CU_ASSERT_EQUAL(size->span.column, 6);
    CU_ASSERT_EQUAL(size->under->span.line, 1);
    JR_ASSERT_TEXT(size->under->text, "8");
    CU_ASSERT_EQUAL(new->key->span.column, 1);
    CU_ASSERT_EQUAL(deep->key->span.column, 5);
    CU_ASSERT_EQUAL(deep->key->span.end_column, 9);
    CU_ASSERT_EQUAL(deep->value->span.column, 10);
    unload(&got);
}

TEST(bounds_the_depth)
{
    struct jr_buf option JR_BUF_CLEANUP = JR_BUF_INIT;
    for (int i = 0; i < 100000; i++)
        jr_buf_str(&option, "a.");
    jr_buf_str(&option, "a=1");
    struct loaded got = toy_load(sample);
    jr_override(&got.doc, &toy, option.data, "/here", &got.diags);
    CU_ASSERT_EQUAL(got.diags.errors, 1);
    unload(&got);
}

/* As deep as a document may be, and no deeper; indices count, too. */
TEST(takes_paths_up_to_the_depth)
{
    static const struct {
        const char *last;
        unsigned steps;
        bool taken;
    } rows[] = {{"a", JR_DOC_MAX_DEPTH, true},
                {"a", JR_DOC_MAX_DEPTH + 1, false},
                {"a[0]", JR_DOC_MAX_DEPTH - 1, true},
                {"a[0]", JR_DOC_MAX_DEPTH, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_buf option JR_BUF_CLEANUP = JR_BUF_INIT;
        struct loaded got = toy_load(sample);
        jr_buf_str(&option, "new");
        for (unsigned k = 2; k < rows[i].steps; k++)
            jr_buf_str(&option, ".a");
        jr_buf_printf(&option, ".%s=1", rows[i].last);
        jr_override(&got.doc, &toy, option.data, "/here", &got.diags);
        CU_ASSERT_EQUAL(got.diags.errors, rows[i].taken ? 0 : 1);
        CU_ASSERT_EQUAL(jr_doc_get(got.doc.root, "new") != NULL, rows[i].taken);
        if (!rows[i].taken && got.diags.count == 1)
            JR_ASSERT_TEXT(got.diags.items[0].message, "the path is too long");
        unload(&got);
    }
}
