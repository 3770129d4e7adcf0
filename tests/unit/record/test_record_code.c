/* The code of a run: what stands of it in run.json, what is made of that again, for people too, and
 * where copies are. */
#include "record/record_code.h"

#include <stdlib.h>

#include "base/buf.h"
#include "scratch.h"
#include "quoted.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define TREE   "fedcba9876543210fedcba9876543210fedcba98"

static char *specs[] = {(char *)"/w/job.yaml", NULL};
static char *links[] = {(char *)"data", (char *)"big\nfile", NULL};
static const struct jr_record_left_out left_out[] = {{"a", "size"}, {"b", "secret"}};

static const struct jr_record_code full = {
    .commit = COMMIT,
    .tree = TREE,
    .top = "/w",
    .dirty = true,
    .patch = true,
    .left_out = left_out,
    .left_out_count = 2,
    .left_out_all = 5,
    .specs = specs,
    .problem = "slow",
    .frozen = true,
    .files = 12,
    .bytes = 3 << 20,
    .links = links,
    .links_all = 9,
};

static void check_json(const struct jr_record_code *code, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    JSON *object = jr_record_code_json(code);
    jr_json_print(&text, object, 0);
    JR_ASSERT_TEXT(text.data, jq(expected));
}

#define NOTHING                                                                                    \
    "'patch': null, 'left_out': [], 'left_out_count': 0, 'frozen': false, 'top': null, 'specs': "  \
    "[], "                                                                                         \
    "'problem': null}"
#define FULL                                                                                       \
    "{'commit': '" COMMIT "', 'dirty': true, 'tree': '" TREE                                       \
    "', 'patch': 'code.patch', 'left_out': [{'path': 'a', 'why': 'size'}, {'path': 'b', 'why': "   \
    "'secret'}], 'left_out_count': 5, 'frozen': true, 'files': 12, 'bytes': 3145728, 'links': "    \
    "['data', 'big\\nfile'], 'links_count': 9, 'top': '/w', 'specs': ['/w/job.yaml'], 'problem': " \
    "'slow'}"

TEST(is_an_object)
{
    check_json(&(struct jr_record_code){0},
               "{'commit': null, 'dirty': null, 'tree': null, " NOTHING);
    check_json(&(struct jr_record_code){.commit = COMMIT, .tree = TREE},
               "{'commit': '" COMMIT "', 'dirty': false, 'tree': '" TREE "', " NOTHING);
    check_json(&full, FULL);
}

/* However many names there are: a thousand, or 64 KiB of them. */
TEST(stays_small)
{
    static const struct {
        size_t count, len, named;
    } vectors[] = {{1000, 3, 1000},  {1001, 3, 1000},        {9, 8192, 8},
                   {1, 64 << 10, 1}, {1, (64 << 10) + 1, 0}, {2, (64 << 10) - 1, 1}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        size_t count = vectors[i].count;
        char *name = malloc(vectors[i].len + 1);
        struct jr_record_left_out *items = calloc(count, sizeof *items);
        char **texts = calloc(count + 1, sizeof *texts);
        CU_ASSERT_TRUE_FATAL(name != NULL && items != NULL && texts != NULL);
        memset(name, 'x', vectors[i].len);
        name[vectors[i].len] = '\0';
        for (size_t k = 0; k < count; k++) {
            items[k] = (struct jr_record_left_out){name, "size"};
            texts[k] = name;
        }
        json_t *object = jr_record_code_json(&(struct jr_record_code){.left_out = items,
                                                                      .left_out_count = count,
                                                                      .left_out_all = count,
                                                                      .frozen = true,
                                                                      .links = texts,
                                                                      .links_all = count,
                                                                      .specs = texts});
        CU_ASSERT_EQUAL(json_array_size(json_object_get(object, "left_out")), vectors[i].named);
        CU_ASSERT_EQUAL(json_array_size(json_object_get(object, "links")), vectors[i].named);
        CU_ASSERT_EQUAL(jr_json_get_int(object, "left_out_count"), (json_int_t)count);
        CU_ASSERT_EQUAL(jr_json_get_int(object, "links_count"), (json_int_t)count);
        json_decref(object);
        free(texts);
        free(items);
        free(name);
    }
}

/* What is read of run.json, as it is written again; whether there is any. */
static bool check_read(const char *text, const char *expected)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_record_code code = full; /* nothing of it may stay */
    JSON *run = json_of(text);
    bool there = jr_record_code_read(&code, &arena, run);
    JSON *again = jr_record_code_json(&code);
    check_values(again, expected);
    if (!code.frozen) { /* which is not written then */
        char counts[64];
        (void)snprintf(counts, sizeof counts, "%zu %zu %zu", (size_t)code.files, (size_t)code.bytes,
                       code.links_all);
        JR_ASSERT_TEXT(counts, "0 0 0");
    }
    jr_arena_release(&arena);
    return there;
}

/* As it was written; records of earlier versions, and what nobody should have written. */
TEST(is_read_as_far_as_it_goes)
{
    static const char none[] = "commit null | tree null | dirty null | patch null | frozen false | "
                               "left_out [] | left_out_count 0 | specs []";
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_record_code code;
    JSON *run = json_of("{'code': " FULL "}");
    CU_ASSERT_TRUE(jr_record_code_read(&code, &arena, run));
    check_json(&code, FULL);
    jr_arena_release(&arena);
    CU_ASSERT_FALSE(check_read("{}", none));
    CU_ASSERT_FALSE(check_read("{'code': null}", none));
    CU_ASSERT_FALSE(check_read("{'code': [1]}", none));
    CU_ASSERT_TRUE(check_read("{'code': {}}", none));
    CU_ASSERT_TRUE(check_read("{'code': {'left_out': 5, 'specs': {}, 'links': 'x'}}", none));
    CU_ASSERT_TRUE(
        check_read("{'code': {'left_out': [1, {'why': 'x'}, {'path': 'p'}], 'left_out_count': 0}}",
                   "left_out [{'path': 'p', 'why': 'unknown'}] | left_out_count 1"));
    CU_ASSERT_TRUE(check_read("{'code': {'left_out': [{'path': 'p'}], 'left_out_count': -4}}",
                              "left_out [{'path': 'p', 'why': 'unknown'}] | left_out_count 1"));
    CU_ASSERT_TRUE(check_read("{'code': {'left_out_count': 2}}", "left_out [] | left_out_count 2"));
    /* Numbers that cannot be are those that the rest of the record shows. */
    CU_ASSERT_TRUE(
        check_read("{'code': {'frozen': true, 'files': -1, 'bytes': -9, 'links_count': -2}}",
                   "files 0 | bytes 0 | links [] | links_count 0"));
    CU_ASSERT_TRUE(check_read("{'code': {'frozen': true, 'files': 7, 'bytes': 8, 'links_count': 1, "
                              "'links': ['a', 5, 'b']}}",
                              "files 7 | bytes 8 | links ['a', 'b'] | links_count 2"));
    CU_ASSERT_TRUE(check_read("{'code': {'frozen': true, 'files': '7', 'bytes': [], 'links_count': "
                              "3, 'links': ['a']}}",
                              "files 0 | bytes 0 | links ['a'] | links_count 3"));
}

TEST(sizes_are_for_people)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } vectors[] = {{0, "0.0 KiB"},
                   {1023, "1.0 KiB"},
                   {1536, "1.5 KiB"},
                   {1048575, "1024.0 KiB"},
                   {1048576, "1.0 MiB"},
                   {UINT64_C(5) << 30, "5.0 GiB"},
                   {UINT64_C(3) << 40, "3.0 TiB"},
                   {UINT64_C(2048) << 40, "2048.0 TiB"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_record_size(&text, vectors[i].bytes);
        JR_ASSERT_TEXT(text.data, vectors[i].text);
    }
}

TEST(is_told_to_people)
{
    static char *many[] = {(char *)"1", (char *)"2", (char *)"3", (char *)"4",
                           (char *)"5", (char *)"6", NULL};
    static const struct jr_record_left_out out[] = {{"1", "a"}, {"2", "a"}, {"3", "a"},
                                                    {"4", "a"}, {"5", "a"}, {"6", "a"}};
    static const struct {
        struct jr_record_code code;
        const char *text;
    } vectors[] = {
        {{0}, "not recorded"},
        {{.problem = "git\n is slow", .frozen = true}, "not recorded: git\\x0a is slow"},
        {{.tree = "abc"}, "no commit yet, tree abc"},
        {{.tree = TREE, .commit = COMMIT}, "commit 0123456789ab, tree fedcba987654"},
        {{.tree = "a\033", .commit = "b"}, "commit b, tree a\\x1b"},
        {{.tree = "a", .commit = "b", .dirty = true},
         "commit b, tree a, with changes that were not committed"},
        {{.tree = "a", .commit = "b", .dirty = true, .patch = true},
         "commit b, tree a, with changes that were not committed (code.patch)"},
        {{.tree = "a", .commit = "b", .left_out = out, .left_out_count = 1, .left_out_all = 1},
         "commit b, tree a; not, or not whole, in the patch: 1 (a)"},
        {{.tree = "a", .commit = "b", .left_out = out, .left_out_count = 6, .left_out_all = 6},
         "commit b, tree a; not, or not whole, in the patch: 1 (a), 2 (a), 3 (a), 4 (a), 5 (a) and "
         "1 more"},
        {{.tree = "a", .commit = "b", .left_out_all = 3},
         "commit b, tree a; not, or not whole, in the patch: 3 that the record does not name"},
        {{.tree = "a", .commit = "b", .frozen = true, .links_all = 1},
         "commit b, tree a; frozen: 0 files, 0.0 KiB, and links to the original: 1 that the record "
         "does not name"},
        {{.tree = "a", .commit = "b", .frozen = true, .files = 1, .bytes = 512},
         "commit b, tree a; frozen: 1 files, 0.5 KiB"},
        {{.tree = "a", .commit = "b", .frozen = true, .links = many, .links_all = 9},
         "commit b, tree a; frozen: 0 files, 0.0 KiB, and links to the original: 1, 2, 3, 4, 5 and "
         "4 more"},
        {{.tree = "a", .commit = "b", .frozen = true, .links = links, .links_all = 2},
         "commit b, tree a; frozen: 0 files, 0.0 KiB, and links to the original: data, "
         "big\\x0afile"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_record_code_print(&text, &vectors[i].code);
        JR_ASSERT_TEXT(text.data, vectors[i].text);
    }
}

static void make_folder(const struct scratch *scratch, const char *path)
{
    CU_ASSERT_EQUAL(mkdirat(scratch->fd, path, 0700), 0);
}

/* The copies of one jobrun's run, and of each node that had its own. */
TEST(finds_the_copies)
{
    struct jr_error err = {0};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    char expected[256];
    SCRATCH(scratch);
    make_folder(&scratch, "one");
    make_folder(&scratch, "one/code");
    scratch_write(&scratch, "one/run.json", "{}");
    CU_ASSERT_EQUAL(jr_record_code_folders(&out, scratch.dir, "one", &err), 0);
    (void)snprintf(expected, sizeof expected, "%s/one/code\n", scratch.dir);
    JR_ASSERT_TEXT(out.data, expected);
    jr_buf_clear(&out);
    make_folder(&scratch, "two");
    for (int node = 0; node < 3; node++) {
        char path[64];
        (void)snprintf(path, sizeof path, "two/node_%d", node);
        make_folder(&scratch, path);
        (void)snprintf(path, sizeof path, "two/node_%d/run.json", node);
        scratch_write(&scratch, path, "{}");
        (void)snprintf(path, sizeof path, "two/node_%d/code", node);
        if (node != 1)
            make_folder(&scratch, path);
    }
    CU_ASSERT_EQUAL(jr_record_code_folders(&out, scratch.dir, "two", &err), 0);
    (void)snprintf(expected, sizeof expected, "%s/two/node_0/code\n%s/two/node_2/code\n",
                   scratch.dir, scratch.dir);
    JR_ASSERT_TEXT(out.data, expected);
}

/* Where there is none, what there is instead. */
TEST(says_why_there_is_no_copy)
{
    static const struct {
        const char *run, *text; /* NULL: there is no record */
    } vectors[] = {
        {NULL, "run r has no copy of its code: it was not frozen (code: freeze)"},
        {"{}", "run r has no copy of its code: it was not frozen (code: freeze)"},
        {"{\"code\": {\"tree\": \"a\"}}", "run r has no copy of its code: it was not frozen (code: "
                                          "freeze); its record has the commit"},
        {"{\"code\": {\"tree\": \"a\", \"patch\": \"code.patch\"}}",
         "run r has no copy of its code: it was not frozen (code: freeze); its record has the "
         "commit, and code.patch"},
        {"{\"code\": {\"frozen\": true}}", "run r has no copy of its code: its copy was removed"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_error err = {0};
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        SCRATCH(scratch);
        make_folder(&scratch, "r");
        if (vectors[i].run != NULL)
            scratch_write(&scratch, "r/run.json", vectors[i].run);
        /* What is no folder is no copy. */
        CU_ASSERT_EQUAL(symlinkat(".", scratch.fd, "r/code"), 0);
        CU_ASSERT_EQUAL(jr_record_code_folders(&out, scratch.dir, "r", &err), -1);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
        JR_ASSERT_TEXT(err.text, vectors[i].text);
        CU_ASSERT_EQUAL(out.len, 0);
    }
}
