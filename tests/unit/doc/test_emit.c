#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tree.h"
#include "unit.h"

/* Load, emit, compare the text; then the text must read back the same. */
static void check(const char *text, const char *expected)
{
    struct loaded got = load(text, strlen(text));
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    CU_ASSERT_PTR_NOT_NULL_FATAL(got.doc.root);
    jr_doc_emit(&out, got.doc.root);
    JR_ASSERT_TEXT(out.data, expected);
    struct loaded again = load(out.data, out.len);
    CU_ASSERT_EQUAL(again.diags.count, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again.doc.root);
    CU_ASSERT_TRUE(same_tree(got.doc.root, again.doc.root));
    unload(&again);
    unload(&got);
}

/* A string comes out as `expected`, behind a key. */
static void check_string(const char *text, const char *expected)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node *root = jr_node_mapping(&arena);
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT, line = JR_BUF_INIT;
    jr_node_set(&arena, root, "k", jr_node_scalar(&arena, text, false));
    CU_ASSERT_FALSE_FATAL(arena.failed);
    jr_doc_emit(&out, root);
    jr_buf_printf(&line, "k: %s\n", expected);
    JR_ASSERT_TEXT(out.data, line.data);
    jr_arena_release(&arena);
}

TEST(quotes_what_a_reader_could_mistake)
{
    EACH_PART(text, "|yes|-.inf|1_000|190:20|- a|a: b|a #b|--- a|<html>|???") {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "\"%s\"", text);
        check_string(text, expected);
    }
}

TEST(leaves_plain_words_alone)
{
    static const char *const texts[] = {
        "a",         "gloo",        "./train", "/usr/bin/env", "--epochs",
        "-v",        "a b",         "a:b",     "a#b",          "tcp://h:1",
        "pkg.m:fn",  "10.0.0.1-a",  "30s",     "64KiB",        "1h30m",
        "$x ${a.b}", "it's \"so\"", "a\\b",    "0-3,8",        "\xc3\xa9t\xc3\xa9",
        "yes!",      "1d",          "none",    "~/x",          "a, b]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_string(texts[i], texts[i]);
}

TEST(escapes_what_cannot_be_shown)
{
    check_string("a\"b\\c ", "\"a\\\"b\\\\c \"");
    check_string("\t\r\x1b\x01\x7f", "\"\\t\\r\\e\\x01\\x7f\"");
    check_string("\xc2\x85\xe2\x80\xa8\xef\xbb\xbf", "\"\\x85\\u2028\\ufeff\"");
    check_string("\xef\xbf\xbe", "\"\\ufffe\"");
    check_string("a\xe2\x80\xae"
                 "b",
                 "\"a\\u202eb\"");
    check_string("\n", "\"\\n\"");
    check_string(" a\nb", "\" a\\nb\"");
    check_string("a\xff", "\"a\xef\xbf\xbd\"");
}

TEST(writes_lines_literally)
{
    check_string("a\nb", "|-\n  a\n  b");
    check_string("a\nb\n", "|\n  a\n  b");
    check_string("a\n\n\n", "|+\n  a\n\n");
    check_string("a\n\n  b \n", "|\n  a\n\n    b ");
    check_string("#x\n- y: z\n\tw\n", "|\n  #x\n  - y: z\n  \tw");
    check_string("a\n   ", "|-\n  a\n     ");
}

TEST(writes_blocks)
{
    check("{a: {b: {c: 1}}, d: [[x, [y]], {}, []], e: {}}",
          "a:\n  b:\n    c: 1\nd:\n  - - x\n    - [\"y\"]\n  - {}\n  - []\ne: {}\n");
    check("- {a: 1, b: [x]}\n- - c: 2\n    d: |\n      l\n      m\n",
          "- a: 1\n  b: [x]\n- - c: 2\n    d: |\n      l\n      m\n");
    check("[]", "[]\n");
    check("{}", "{}\n");
    check("'x'", "x\n");
    check("~", "~\n");
}

TEST(keeps_the_text_of_values)
{
    check("[1, 1e3, +.5, True, ~, NULL, -.INF, .nan, 99999999999999999999]",
          "- 1\n- 1e3\n- +.5\n- True\n- ~\n- NULL\n- -.INF\n- .nan\n- 99999999999999999999\n");
    check("a:\nb: [~, 'a,b', \"a'b\"]\n", "a: null\nb: [~, \"a,b\", a'b]\n");
    check("a: 0x10\nb: yes\nc: '1'\n", "a: \"0x10\"\nb: \"yes\"\nc: \"1\"\n");
}

TEST(writes_keys_as_text)
{
    check("? ''\n: 1\n'on': 2\n3: 4\n\"a\\nb\": 5\n'a: b': 6\n~: 7\n",
          "\"\": 1\n\"on\": 2\n3: 4\n\"a\\nb\": 5\n\"a: b\": 6\n~: 7\n");
}

/* libyaml reads `key:` up to 1,024 characters. */
TEST(writes_long_keys)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, expected = JR_BUF_INIT;
    jr_buf_str(&text, "a:\n - ? ");
    jr_buf_fill(&text, 'x', 5000);
    jr_buf_str(&text, "\n   : {b: c}\n");
    jr_buf_str(&expected, "a:\n  - ? ");
    jr_buf_fill(&expected, 'x', 5000);
    jr_buf_str(&expected, "\n    :\n      b: c\n");
    check(text.data, expected.data);
}

TEST(breaks_sequences_at_the_width)
{
    check("a: [aaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbb, cccccccccccccccccccc, ddddddd]\n",
          "a: [aaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbb, cccccccccccccccccccc, ddddddd]\n");
    check("a: [aaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbb, cccccccccccccccccccc, dddddddd]\n",
          "a:\n  - aaaaaaaaaaaaaaaaaaaa\n  - bbbbbbbbbbbbbbbbbbbb\n"
          "  - cccccccccccccccccccc\n  - dddddddd\n");
    check("[a, \"b\\nc\"]", "- a\n- |-\n  b\n  c\n");
}

/* --- Random trees, the same ones in every run --- */

struct random {
    struct jr_arena arena;
    uint64_t state;
};

static uint32_t roll(struct random *random, uint32_t sides)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random->state >> 33) % sides;
}

/* Pieces that go wrong when they meet. */
static void add_piece(struct random *random, struct jr_buf *out)
{
    /* clang-format off */
    static const char *const pieces[] = {
        "a", "b c", " ", "  ", "\n", "\n\n", "\t", ":", ": ", "-", "- ", "#", " #", "?", "? ",
        ",", "[", "]", "{", "}", "&", "*", "!", "|", ">", "'", "\"", "%", "@", "`", "\\", "~",
        "=", "<<", "0", "1", ".", "e", "_", "x", "yes", "no", "y", "null", "inf", "nan", "true",
        "...", "---", "\r", "\x01", "\x7f", "/", "$", "${x}", "%{r}", "\xc3\xa9", "\xe2\x82\xac",
        "\xf0\x9f\x98\x80", "\xc2\x85", "\xc2\xa0", "\xe2\x80\xa8", "\xef\xbb\xbf",
        "\xef\xbf\xbf", "\xe2\x80\xae",
    };
    /* clang-format on */
    jr_buf_str(out, pieces[roll(random, sizeof pieces / sizeof *pieces)]);
}

static struct jr_node *random_string(struct random *random)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    uint32_t pieces = roll(random, 40) == 0 ? 600 : roll(random, 6);
    jr_buf_str(&text, "");
    for (uint32_t i = 0; i < pieces; i++)
        add_piece(random, &text);
    return jr_node_scalar(&random->arena, text.data == NULL ? "" : text.data, false);
}

/* Values that YAML 1.1 and 1.2 agree on. */
static struct jr_node *random_value(struct random *random)
{
    static const char *const values[] = {
        "~",   "null",  "true",   "false", "0",     "7", "-12",
        "0.5", "-2.25", "1.5e+3", ".inf",  "-.inf", "",
    };
    return jr_node_scalar(&random->arena, values[roll(random, sizeof values / sizeof *values)],
                          true);
}

static struct jr_node *random_tree(struct random *random, uint32_t depth)
{
    uint32_t kind = roll(random, depth == 0 ? 4 : 8);
    if (kind < 3)
        return random_string(random);
    if (kind == 3)
        return random_value(random);
    uint32_t count = roll(random, 6);
    struct jr_node *node =
        kind < 6 ? jr_node_mapping(&random->arena) : jr_node_sequence(&random->arena);
    for (uint32_t i = 0; i < count; i++) {
        struct jr_node *child = random_tree(random, depth - 1);
        if (node->kind == JR_NODE_SEQUENCE)
            jr_node_append(&random->arena, node, child);
        else
            jr_node_set(&random->arena, node, random_string(random)->text, child);
    }
    return node;
}

static struct jr_node *random_root(struct random *random, uint64_t seed)
{
    *random = (struct random){.state = seed};
    struct jr_node *root = jr_node_mapping(&random->arena);
    jr_node_set(&random->arena, root, "root", random_tree(random, 5));
    return root;
}

TEST(reads_back_random_trees)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct random random;
        const struct jr_node *root = random_root(&random, seed);
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_doc_emit(&out, root);
        struct loaded got = load(out.data, out.len);
        bool same = got.doc.root != NULL && same_tree(root, got.doc.root);
        if (!same || got.diags.count != 0)
            printf("\n    seed %llu:\n%s", (unsigned long long)seed, out.data);
        CU_ASSERT_EQUAL(got.diags.count, 0);
        CU_ASSERT_TRUE_FATAL(same);
        unload(&got);
        jr_arena_release(&random.arena);
    }
}

/* --- What another reader makes of it --- */

static void describe_text(struct jr_buf *out, const struct jr_node *node)
{
    jr_buf_char(out, 's');
    for (size_t i = 0; i < node->len; i++)
        jr_buf_printf(out, "%02x", (unsigned char)node->text[i]);
}

static double as_double(const char *text)
{
    if (strstr(text, "inf") == NULL)
        return strtod(text, NULL);
    return text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
}

static void describe_scalar(struct jr_buf *out, const struct jr_node *node)
{
    switch (jr_scalar_type(node)) {
    case JR_SCALAR_NULL:
        jr_buf_char(out, 'n');
        break;
    case JR_SCALAR_BOOL:
    case JR_SCALAR_INT:
        jr_buf_str(out, node->text);
        break;
    case JR_SCALAR_FLOAT:
        jr_buf_printf(out, "f%g", as_double(node->text));
        break;
    case JR_SCALAR_STRING:
        describe_text(out, node);
        break;
    }
}

/* The tree in a form that the script below makes too. */
static void describe(struct jr_buf *out, const struct jr_node *node)
{
    if (node->kind == JR_NODE_SCALAR) {
        describe_scalar(out, node);
        return;
    }
    jr_buf_char(out, node->kind == JR_NODE_SEQUENCE ? '[' : '{');
    for (size_t i = 0; i < node->count; i++) {
        if (node->kind == JR_NODE_SEQUENCE) {
            describe(out, node->items[i]);
        } else {
            describe_text(out, node->pairs[i].key);
            jr_buf_char(out, ':');
            describe(out, node->pairs[i].value);
        }
        jr_buf_char(out, ',');
    }
    jr_buf_char(out, node->kind == JR_NODE_SEQUENCE ? ']' : '}');
}

static const char script[] = "import sys, yaml\n"
                             "def text(t):\n"
                             "    return 's' + t.encode('utf-8').hex()\n"
                             "def tell(x):\n"
                             "    if x is None: return 'n'\n"
                             "    if isinstance(x, bool): return str(x).lower()\n"
                             "    if isinstance(x, int): return str(x)\n"
                             "    if isinstance(x, float): return 'f%g' % x\n"
                             "    if isinstance(x, str): return text(x)\n"
                             "    if isinstance(x, list): return '[' + ''.join("
                             "tell(y) + ',' for y in x) + ']'\n"
                             "    return '{' + ''.join(text(k) + ':' + tell(v) + ',' "
                             "for k, v in x.items()) + '}'\n"
                             "for d in yaml.safe_load_all(open(sys.argv[1], 'rb')):\n"
                             "    print(tell(d))\n";

/* Read the emitted documents with PyYAML; what it prints, or NULL. */
static FILE *ask_python(const char *path)
{
    char command[4096];
    (void)snprintf(command, sizeof command, "python3 -c \"%s\" %s", script, path);
    return popen(command, "r");
}

static void compare_lines(FILE *python, const struct jr_buf *expected)
{
    char *line = NULL;
    size_t room = 0, at = 0;
    for (ssize_t got; (got = getline(&line, &room, python)) > 0;) {
        size_t len = (size_t)got;
        CU_ASSERT_TRUE_FATAL(expected->len - at >= len);
        if (memcmp(expected->data + at, line, len) != 0)
            printf("\n    PyYAML   %s    expected %.*s", line, (int)len, expected->data + at);
        CU_ASSERT_TRUE_FATAL(memcmp(expected->data + at, line, len) == 0);
        at += len;
    }
    CU_ASSERT_EQUAL(at, expected->len);
    free(line);
}

TEST(another_reader_agrees)
{
    if (system("python3 -c 'import yaml' 2>/dev/null") != 0) {
        printf("SKIPPED: PyYAML is not installed ");
        return;
    }
    char path[] = "/tmp/jr-emit-XXXXXX";
    int fd = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT, expected = JR_BUF_INIT;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random random;
        const struct jr_node *root = random_root(&random, seed);
        jr_buf_str(&out, "---\n");
        jr_doc_emit(&out, root);
        describe(&expected, root);
        jr_buf_char(&expected, '\n');
        jr_arena_release(&random.arena);
    }
    CU_ASSERT_EQUAL(write(fd, out.data, out.len), (ssize_t)out.len);
    (void)close(fd);
    FILE *python = ask_python(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(python);
    compare_lines(python, &expected);
    CU_ASSERT_EQUAL(pclose(python), 0);
    (void)unlink(path);
}
