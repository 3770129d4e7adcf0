/* What ${...} puts into a tree. */
#include "doc/interpolate.h"
#include "findings.h"
#include "toy.h"

static char set[] = "SET=x y", token[] = "HF_TOKEN=hunter2", dollar[] = "D=$",
            empty[] = "EMPTY=", ref[] = "REF=${vars.a}", bad[] = "BAD=\xff",
            secrets_glob[] = "*token*";
static char *environment[] = {set, token, dollar, empty, ref, bad, NULL};
static char *secrets[] = {secrets_glob};

static const struct jr_interpolate plain = {
    .shapes = &toy, .environ = environment, .secrets = secrets, .secrets_count = 1};

static struct loaded fill(const char *text, const struct jr_interpolate *how)
{
    struct loaded got = toy_load(text);
    jr_interpolate_in(&got.doc, how, &got.diags);
    return got;
}

TEST(fills)
{
    static const struct {
        const char *text, *filled;
    } vectors[] = {
        {"vars: {a: 1}\nb: ${vars.a}\n", "vars:\n  a: 1\nb: 1\n"},
        {"vars: {a: 1}\nb: \"${vars.a}\"\n", "vars:\n  a: 1\nb: \"1\"\n"},
        {"vars: {a: \"1\"}\nb: ${vars.a}\n", "vars:\n  a: \"1\"\nb: 1\n"},
        {"b: <${c}>\nc: ${d}${d}\nd: x\n", "b: <xx>\nc: xx\nd: x\n"},
        {"b: ${list[1]}\nlist: [1, 2]\n", "b: 2\nlist: [1, 2]\n"},
        {"list: [a, \"${list[0]}\"]\n", "list: [a, a]\n"},
        {"b: ${map.a.k}\nmap: {a: {k: v}}\n", "b: v\nmap:\n  a:\n    k: v\n"},
        {"b: ${back.default}\nback: x\n", "b: x\nback: x\n"},
        {"b: ${back}\nback: x\n", "b: x\nback: x\n"},
        {"b: ${entry.command[0]}\nentry: [x]\n", "b: x\nentry: [x]\n"},
        {"b: ${entry[0]}\nentry: [x]\n", "b: x\nentry: [x]\n"},
        {"b: ${env:SET}\n", "b: x y\n"},
        {"b: ${env:SET:-z}\n", "b: x y\n"},
        {"b: ${env:NO:-z}\n", "b: z\n"},
        {"b: ${env:NO:-}.\n", "b: \".\"\n"},
        {"b: ${env:EMPTY:-z}.\n", "b: \".\"\n"},
        {"c: 1\nb: ${env:NO:-${c}${env:NO:-2}}3\n", "c: 1\nb: 123\n"},
        /* what is put in is not looked at again */
        {"b: ${env:REF}\n", "b: ${vars.a}\n"},
        {"b: ${env:D}{c}\nc: 1\n", "b: ${c}\nc: 1\n"},
        {"b: $${c}\nd: ${b}\n", "b: ${c}\nd: ${c}\n"},
        /* keys, and values whose dollars are their own */
        {"x-a: ${b}\nc: 1\n", "x-a: ${b}\nc: 1\n"},
        {"${c}: ${c}\nc: 1\n", "${c}: 1\nc: 1\n"},
        {"entry: {shell: \"${c}\", args: [\"${c}\"]}\nc: 1\n",
         "entry:\n  shell: ${c}\n  args: [\"1\"]\nc: 1\n"},
        {"b: ${entry.shell}\nentry: {shell: \"${c}\"}\n", "b: ${c}\nentry:\n  shell: ${c}\n"},
        {"b: '${env:EMPTY}'\n", "b: \"\"\n"},
        {"b: ${env:EMPTY}\n", "b: null\n"},
        {"a: |\n  x ${c}\n  y\nc: 1\n", "a: |\n  x 1\n  y\nc: 1\n"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct loaded got = fill(vectors[i].text, &plain);
        toy_found(&got.diags, "");
        toy_check(got.doc.root, vectors[i].filled);
        unload(&got);
    }
}

static const struct {
    const char *text, *found;
} mistakes[] = {{"b: ${\n", "0220@1:4 b"},
                {"b: x${}y\n", "0220@1:5 b"},
                {"b: ${ c }\nc: 1\n", "0220@1:4 b"},
                {"b: ${c.}\nc: 1\n", "0220@1:4 b"},
                {"b: ${c..d}\nc: 1\n", "0220@1:4 b"},
                {"b: ${list[x]}\nlist: [1]\n", "0220@1:4 b"},
                {"b: ${env:}\n", "0220@1:4 b"},
                {"b: ${env:1}\n", "0220@1:4 b"},
                {"b: ${env:A-B}\n", "0220@1:4 b"},
                {"b: ${env:A:+B}\n", "0220@1:4 b"},
                {"b: ${c:-d}\nc: 1\n", "0220@1:4 b"},
                {"b: ${c}\n", "0221@1:4 b"},
                {"b: ${vars.c}\nvars: {d: 1}\n", "0221@1:4 b"},
                {"b: ${vars.c}\n", "0221@1:4 b"},
                {"b: ${list[1]}\nlist: [1]\n", "0221@1:4 b"},
                {"b: ${c.d}\nc: 1\n", "0221@1:4 b"},
                {"b: ${x-a}\nx-a: 1\n", "0221@1:4 b"},
                {"b: ${x-a.k}\nx-a: {k: 1}\n", "0221@1:4 b"},
                {"b: ${size}\n", "0222@1:4 b"},
                {"b: ${size}\nsize: ~\n", "0222@1:4 b"},
                {"b: ${size}\nsize: auto\n", "0222@1:4 b"},
                {"b: ${size}\nsize: \"???\"\n", "0222@1:4 b"},
                {"b: ${size}\nsize: ${env:EMPTY}\n", "0222@1:4 b"},
                {"b: ${map.b}\nmap: {b: null}\n", "0222@1:4 b"},
                {"b: ${map.b}\nmap: {}\n", "0222@1:4 b"},
                {"b: ${back.default}\n", "0222@1:4 b"},
                {"b: ${env.A}\nenv: {A: \"???\"}\n", "0222@1:4 b"},
                {"b: ${vars.a}\nvars: {a: \"???\"}\n", ""},
                {"b: ${b}\n", "0223@1:4 b"},
                {"b: ${c}\nc: ${d}\nd: ${b}\n", "0223@3:4 d"},
                {"a: ${b}\nb: ${c}\nc: ${b}\nd: ${a}\n", "0223@3:4 c"},
                {"b: ${c}\nc: [1]\n", "0224@1:4 b"},
                {"b: ${c}\nc: {d: 1}\n", "0224@1:4 b"},
                {"b: ${env:NO}\n", "0225@1:4 b"},
                {"b: ${env:BAD}\n", "0225@1:4 b"},
                {"b: ${env:NO:-${env:NO}}\n", "0225@1:14 b"},
                /* of the parts of a scalar each, and of the place where it is written */
                {"b: x${c} ${d}\n", "0221@1:5 b\n0221@1:10 b"},
                {"b: \"x${c}\"\n", "0221@1:6 b"},
                {"b: |\n  one\n  x ${c}\n", "0221@3:5 b"},
                {"b: ${c}\nc: ${d}\n", "0221@2:4 c"},
                {"list: [a, \"${c}\"]\n", "0221@1:12 list[1]"}};

TEST(refuses)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct loaded got = fill(mistakes[i].text, &plain);
        toy_found(&got.diags, mistakes[i].found);
        unload(&got);
    }
}

/* What is wrong, in words, and what to write instead. */
TEST(explains)
{
    static const struct {
        const char *text, *finding;
    } vectors[] = {
        {"b: ${c d}\n", "1:4-10 0220 this is not a reference | write ${vars.NAME}, ${FIELD} "
                        "or ${env:NAME}; '$${' is a literal '${'\n"},
        {"b: ${env:1}\n", "1:4-12 0220 this is not a reference | write "
                          "${env:NAME}, or ${env:NAME:-default}\n"},
        {"b: ${env:A b}\n", "1:4-14 0220 this is not a reference | write "
                            "${env:NAME}, or ${env:NAME:-default}\n"},
        {"b: ${vars.lr}\nvars: {lrs: 1, x: 2}\n",
         "1:4-14 0221 there is no 'vars.lr' | did you mean ${vars.lrs}?\n"},
        {"b: ${vars.lr.x}\nvars: {lrs: {x: 1}}\n",
         "1:4-16 0221 there is no 'vars.lr.x' | did you mean ${vars.lrs.x}?\n"},
        {"b: ${lst[0]}\nlist: [1]\n",
         "1:4-13 0221 there is no 'lst[0]' | did you mean ${list[0]}?\n"},
        {"b: ${HOME}\n", "1:4-11 0221 there is no 'HOME' | an environment "
                         "variable is written ${env:HOME}\n"},
        {"b: ${HOME_2}\n", "1:4-13 0221 there is no 'HOME_2' | an environment "
                           "variable is written ${env:HOME_2}\n"},
        {"b: ${HoME}\n", "1:4-11 0221 there is no 'HoME' | write ${vars.HoME}, and declare it: "
                         "vars: {HoME: VALUE}\n"},
        {"b: ${list[7]}\nlist: [1]\n", "1:4-14 0221 there is no 'list[7]' | "
                                       "the only entry is ${list[0]}\n"},
        {"b: ${list[2]}\nlist: [1, 2]\n",
         "1:4-14 0221 there is no 'list[2]' | the last of 2 entries is ${list[1]}\n"},
        {"b: ${list[0]}\nlist: []\n", "1:4-14 0221 there is no 'list[0]'\n"},
        {"b: ${x-a}\nx-a: 1\n", "1:4-10 0221 'x-a' is never read | put values "
                                "that are read into `vars`\n"},
        {"b: ${env:NO}\n", "1:4-13 0225 the variable 'NO' is not set | export "
                           "it, or give a default: ${env:NO:-...}\n"},
        {"b: ${env:BAD}\n", "1:4-14 0225 the variable 'BAD' is not UTF-8\n"},
        {"b: ${size}\nsize: auto\n", "1:4-11 0222 'size' is not known when the "
                                     "spec is read | @2:7-11 it is MISSING\n"},
        {"b: ${size}\n", "1:4-11 0222 'size' is not known when the spec is "
                         "read | the spec does not state it\n"},
        {"b: ${list}\nlist: [1]\n", "1:4-11 0224 'list' is a list: only scalars can be inserted | "
                                    "name an entry: ${list[0]}\n"},
        {"b: ${map}\nmap: {a: 1}\n", "1:4-10 0224 'map' is a mapping: only scalars can be inserted "
                                     "| name an entry: ${map.a}\n"},
        {"b: ${b}\n", "1:4-8 0223 ${...} goes in a circle: b -> b\n"},
        {"b: ${c}\nc: ${d}\nd: ${b}\n", "3:4-8 0223 ${...} goes in a circle: b -> c -> d -> b\n"},
        {"a: ${b}\nb: ${c}\nc: ${b}\n", "3:4-8 0223 ${...} goes in a circle: b -> c -> b\n"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct loaded got = fill(vectors[i].text, &plain);
        check_findings(vectors[i].text, &got.diags, vectors[i].finding);
        unload(&got);
    }
    static char *const allowed[] = {(char *)"HF_*", NULL};
    struct jr_interpolate how = plain;
    how.allow = allowed;
    struct loaded got = fill("b: ${env:SET}\n", &how);
    check_findings("b: ${env:SET}", &got.diags,
                   "1:4-14 0225 the variable 'SET' is not read here | pass "
                   "--allow-env for it, or give a default: ${env:SET:-...}\n");
    unload(&got);
}

/* The values of secrets, so that they are told nowhere; each once, and not the empty text, which is
 * everywhere. */
TEST(hides_secrets)
{
    static char one[] = "A_TOKEN=one", same[] = "B_TOKEN=one", two[] = "C_TOKEN=two",
                none[] = "D_TOKEN=", open[] = "E=three";
    static char *outer[] = {one, same, two, none, open, NULL};
    struct jr_interpolate how = plain;
    how.environ = outer;
    struct loaded got = fill("a: ${env:A_TOKEN}\nb: ${env:B_TOKEN}\nc: <${env:C_TOKEN}>\nd: "
                             "${env:D_TOKEN}\ne: ${env:E}\nf: ${env:C_TOKEN}\n",
                             &how);
    toy_found(&got.diags, "");
    CU_ASSERT_EQUAL_FATAL(got.doc.hidden.count, 2);
    CU_ASSERT_EQUAL_FATAL(got.doc.hidden_names.count, 2);
    JR_ASSERT_TEXT(got.doc.hidden.items[0], "one");
    JR_ASSERT_TEXT(got.doc.hidden_names.items[0], "A_TOKEN");
    JR_ASSERT_TEXT(got.doc.hidden.items[1], "two");
    JR_ASSERT_TEXT(got.doc.hidden_names.items[1], "C_TOKEN");
    unload(&got);
}

static const struct jr_filled *filled_of(const struct loaded *got, const char *path)
{
    const struct jr_node *node = jr_doc_find(got->doc.root, path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(node);
    CU_ASSERT_PTR_NOT_NULL_FATAL(node->filled);
    return node->filled;
}

TEST(guesses)
{
    static const char text[] = "a: ${env:SET}\nb: x-${a}\nc: ${env:NO:-d}\nvars: {v: \"???\"}\nd: "
                               "${vars.v}\nenv: {E: \"???\"}\ne: ${env.E}\nf: ${env:HF_TOKEN}\n";
    static char *const allowed[] = {(char *)"HF_*", NULL};
    struct jr_interpolate how = plain;
    how.guess = true;
    how.allow = allowed;
    struct loaded got = fill(text, &how);
    toy_found(&got.diags, "");
    CU_ASSERT_TRUE(filled_of(&got, "a")->unknown);
    CU_ASSERT_TRUE(filled_of(&got, "b")->unknown);
    CU_ASSERT_FALSE(filled_of(&got, "c")->unknown);
    CU_ASSERT_TRUE(filled_of(&got, "d")->unknown);
    CU_ASSERT_TRUE(filled_of(&got, "e")->unknown);
    CU_ASSERT_FALSE(filled_of(&got, "f")->unknown);
    JR_ASSERT_TEXT(jr_doc_get(got.doc.root, "b")->text, "x-${a}");
    unload(&got);
    how.guess = false;
    got = fill("a: ${env:SET}\n", &how);
    toy_found(&got.diags, "0225@1:4 a");
    unload(&got);
    how.environ = NULL;
    how.allow = NULL;
    got = fill("a: ${env:SET}\nb: ${env:NO:-1}\n", &how);
    toy_found(&got.diags, "0225@1:4 a");
    unload(&got);
}

TEST(remembers)
{
    struct loaded got = fill("a: \"4x\"\nb: ${a}\nc: ${b}\nd: ${c}!\n", &plain);
    const struct jr_filled *c = filled_of(&got, "c");
    JR_ASSERT_TEXT(c->written, "${b}");
    CU_ASSERT_PTR_EQUAL(c->from, jr_doc_get(got.doc.root, "b"));
    CU_ASSERT_PTR_EQUAL(c->from->filled->from, jr_doc_get(got.doc.root, "a"));
    CU_ASSERT_PTR_NULL(filled_of(&got, "d")->from);
    CU_ASSERT_PTR_NULL(filled_of(&got, "d")->kept);
    CU_ASSERT_PTR_NULL(jr_doc_get(got.doc.root, "a")->filled);
    unload(&got);
}

/* A tree as a source can state it fills to the same tree. */
TEST(undoes)
{
    static const struct {
        const char *text, *source;
    } vectors[] = {
        {"a: $${b}\n", "a: $${b}\n"},
        {"a: $x\n", "a: $x\n"},
        {"a: ${env:SET}\n", "a: x y\n"},
        {"a: ${env:REF}\n", "a: $${vars.a}\n"},
        {"a: ${env:D}{b}\n", "a: $${b}\n"},
        {"a: --t=${env:HF_TOKEN}!\n", "a: --t=${env:HF_TOKEN}!\n"},
        {"a: ${env:HF_TOKEN:-${b}}\nb: 1\n", "a: ${env:HF_TOKEN}\nb: 1\n"},
        {"a: ${env:HF_TOKEN}\nb: <${a}>\nc: ${b}${b}\n",
         "a: ${env:HF_TOKEN}\nb: <${env:HF_TOKEN}>\nc: <${env:HF_TOKEN}><${env:HF_TOKEN}>\n"},
        {"a: $$${env:HF_TOKEN}$${b}\n", "a: $$${env:HF_TOKEN}$${b}\n"},
        {"a: ${env:D}${env:HF_TOKEN}\n", "a: $$${env:HF_TOKEN}\n"},
        {"entry: {shell: \"${a}\"}\n", "entry:\n  shell: ${a}\n"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct loaded got = fill(vectors[i].text, &plain);
        toy_found(&got.diags, "");
        struct jr_arena arena = JR_ARENA_INIT;
        struct jr_node *copy = jr_node_copy(&arena, got.doc.root);
        jr_interpolate_undo(&arena, &toy, copy);
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_doc_emit(&text, copy);
        JR_ASSERT_TEXT(text.data, vectors[i].source);
        struct loaded again = fill(text.data, &plain);
        toy_found(&again.diags, "");
        CU_ASSERT_TRUE(same_tree(again.doc.root, got.doc.root));
        jr_arena_release(&arena);
        unload(&again);
        unload(&got);
    }
}

/* Each reads the one before it twice. */
TEST(bounds_bytes)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&text, "v0: x\n");
    for (int i = 1; i < 60; i++)
        jr_buf_printf(&text, "v%d: ${v%d}${v%d}\n", i, i - 1, i - 1);
    struct loaded got = fill(text.data, &plain);
    toy_found(&got.diags, "0226@21:6 v20");
    unload(&got);
}

TEST(bounds_depth)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (int i = 0; i < 20000; i++)
        jr_buf_printf(&text, "v%d: ${v%d}\n", i, i + 1);
    jr_buf_str(&text, "v20000: x\n");
    struct loaded got = fill(text.data, &plain);
    CU_ASSERT_TRUE(got.diags.errors > 0);
    JR_ASSERT_TEXT(got.diags.items[0].code, "JR0226");
    unload(&got);
    jr_buf_clear(&text);
    jr_buf_str(&text, "a: ");
    for (int i = 0; i < 20000; i++)
        jr_buf_str(&text, "${env:A:-");
    for (int i = 0; i < 20000; i++)
        jr_buf_str(&text, "}");
    jr_buf_str(&text, "\n");
    got = fill(text.data, &plain);
    toy_found(&got.diags, "0226@1:580 a");
    unload(&got);
}

/* Nothing is quadratic in the names, the references or the mistakes. */
TEST(bounds_time)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&text, "vars:\n");
    for (int i = 0; i < 30000; i++)
        jr_buf_printf(&text, "  v%d: 1\n", i);
    jr_buf_str(&text, "list:\n");
    for (int i = 0; i < 20000; i++)
        jr_buf_printf(&text, "- ${vars.v%d}\n", i);
    struct loaded got = fill(text.data, &plain);
    toy_found(&got.diags, "");
    unload(&got);
    jr_buf_clear(&text);
    jr_buf_str(&text, "a: ");
    for (int i = 0; i < 100000; i++)
        jr_buf_str(&text, "${x}");
    jr_buf_str(&text, "\n");
    got = fill(text.data, &plain);
    CU_ASSERT_EQUAL(got.diags.errors, 8);
    unload(&got);
}
