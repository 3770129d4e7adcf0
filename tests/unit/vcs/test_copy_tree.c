/* A copy of a work tree: what it has, where its links lead, and that nothing gets in or out by one.
 */
#include "vcs/copy_tree.h"

#include <errno.h>
#include <limits.h>

#include "repository.h"

/* A tree in the folder "tree" of a scratch, and a copy of it in "copy". */
static struct {
    struct scratch scratch;
    char top[64], to[64];
    struct jr_buf files, links;
    struct jr_copy_tree_request request;
    struct jr_copied_tree copied;
    struct jr_error err;
} scene;

/* Paths with a '|' between them. */
static void name_paths(struct jr_buf *to, const char *paths)
{
    for (size_t len; *paths != '\0'; paths += len + (paths[len] == '|')) {
        len = strcspn(paths, "|");
        jr_buf_add(to, paths, len);
        jr_buf_char(to, '\0');
    }
}

/* The tree is what shell text makes in it. */
static void begin(const char *text, const char *files, const char *links)
{
    char whole[1024];
    memset(&scene, 0, sizeof scene);
    scratch_start(&scene.scratch);
    (void)snprintf(scene.top, sizeof scene.top, "%s/tree", scene.scratch.dir);
    (void)snprintf(scene.to, sizeof scene.to, "%s/copy", scene.scratch.dir);
    (void)snprintf(whole, sizeof whole, "mkdir tree && cd tree && { %s; }", text);
    shell(&scene.scratch, whole);
    name_paths(&scene.files, files);
    name_paths(&scene.links, links);
    scene.request = (struct jr_copy_tree_request){.top = scene.top,
                                                  .to = scene.to,
                                                  .files = &scene.files,
                                                  .links = &scene.links,
                                                  .since_ns = UINT64_MAX, /* nothing changed */
                                                  .stop_fd = -1};
}

static int copy(void)
{
    return jr_copy_tree(&scene.copied, &scene.request, &scene.err);
}

static void end(void)
{
    jr_copied_tree_release(&scene.copied);
    jr_buf_release(&scene.files);
    jr_buf_release(&scene.links);
    scratch_end(&scene.scratch);
}

/* Where a link of the copy leads; "@" in what is expected is the tree. */
static void expect_link(const char *name, const char *expected)
{
    char path[PATH_MAX], text[256];
    struct jr_buf whole = JR_BUF_INIT;
    (void)snprintf(path, sizeof path, "copy/%s", name);
    ssize_t len = readlinkat(scene.scratch.fd, path, text, sizeof text - 1);
    text[len < 0 ? 0 : len] = '\0';
    jr_buf_replaced(&whole, expected, "@", scene.top);
    JR_ASSERT_TEXT(len < 0 ? NULL : text, whole.data);
    jr_buf_release(&whole);
}

TEST(files_keep_mode_and_time)
{
    begin(
        "mkdir -p deep/er && printf '#!/bin/sh\\n' >deep/er/run && chmod 755 deep/er/run && touch "
        "-d @1234567.000000089 deep/er/run && : >empty && chmod 400 empty",
        "deep/er/run|empty", "");
    CU_ASSERT_EQUAL(copy(), 0);
    shell(&scene.scratch,
          "cmp tree/deep/er/run copy/deep/er/run && test \"$(stat -c '%F %a %.9Y' "
          "copy/deep/er/run)\" "
          "= 'regular file 755 1234567.000000089' && test \"$(stat -c '%a %s' copy/empty)\" = '400 "
          "0'");
    CU_ASSERT_EQUAL(scene.copied.files, 2);
    CU_ASSERT_EQUAL(scene.copied.bytes, 10);
    CU_ASSERT_FALSE(scene.copied.changing);
    end();
}

/* A file that is larger than what is copied at once. */
TEST(long_files_are_whole)
{
    begin("head -c 700001 /dev/zero | tr '\\0' x >long", "long", "");
    CU_ASSERT_EQUAL(copy(), 0);
    shell(&scene.scratch, "cmp tree/long copy/long");
    CU_ASSERT_EQUAL(scene.copied.bytes, 700001);
    end();
}

TEST(what_is_gone_or_no_file_is_passed_over)
{
    begin("mkdir folder && mkfifo fifo && printf 1 >last",
          "gone|none/below|folder|fifo|last/below|last", "");
    CU_ASSERT_EQUAL(copy(), 0);
    CU_ASSERT_EQUAL(scene.copied.files, 1);
    shell(&scene.scratch, "test \"$(ls -A copy)\" = last && test \"$(cat copy/last)\" = 1");
    end();
}

TEST(links_lead_where_they_led)
{
    static const struct {
        const char *name, *target, *expected;
    } cases[] = {
        {"a", "b", "b"},
        {"in/a", "../b", "../b"},
        {"in/away", "../../x", "@/in/../../x"},
        {"away", "..", "@/.."},
        {"up", "in/../../x", "@/in/../../x"},
        {"dots", "./././in/..//in", "./././in/..//in"},
        {"far", "/etc/hosts", "/etc/hosts"},
        {"self", "@", "."},
        {"in/self", "@/in/a", "../in/a"},
        {"in/top", "@", "../"},
        {"aside", "@2/x", "@2/x"}, /* no folder of the tree */
    };
    const size_t count = sizeof cases / sizeof *cases;
    begin("mkdir in", "", "");
    for (size_t i = 0; i < count; i++) {
        struct jr_buf target = JR_BUF_INIT;
        char path[64];
        jr_buf_replaced(&target, cases[i].target, "@", scene.top);
        (void)snprintf(path, sizeof path, "tree/%s", cases[i].name);
        CU_ASSERT_EQUAL(symlinkat(target.data, scene.scratch.fd, path), 0);
        name_paths(&scene.files, cases[i].name);
        jr_buf_release(&target);
    }
    CU_ASSERT_EQUAL(copy(), 0);
    for (size_t i = 0; i < count; i++)
        expect_link(cases[i].name, cases[i].expected);
    CU_ASSERT_EQUAL(scene.copied.files, 0);
    CU_ASSERT_EQUAL(scene.copied.links, 0);
    end();
}

/* A link in the place of a folder, which another process may put there at any time, lets nothing in
 * from where it leads. */
TEST(no_link_is_followed)
{
    begin("mkdir ../other && printf private >../other/key && ln -s ../other in", "in/key|in", "");
    CU_ASSERT_EQUAL(copy(), 0);
    expect_link("in", "@/../other");
    CU_ASSERT_EQUAL(scene.copied.files, 0);
    end();
}

TEST(links_stand_for_what_is_not_copied)
{
    begin("mkdir in && printf 1 >in/a", "in/a", "data/|in/cache/|deep/er/x.so");
    CU_ASSERT_EQUAL(copy(), 0);
    expect_link("data", "@/data");
    expect_link("in/cache", "@/in/cache");
    expect_link("deep/er/x.so", "@/deep/er/x.so");
    CU_ASSERT_EQUAL(scene.copied.links, 3);
    end();
}

/* No link takes a place, nor does a copy: not through a link that somebody plants, either. Names
 * are escaped in what is said. */
TEST(what_is_there_is_left_alone)
{
    static const struct {
        const char *make, *files, *links, *why, *check;
    } rows[] = {
        {"printf 1 >a", "a", "a", "/tree/a could not", "test \"$(cat copy/a)\" = 1"},
        {"mkdir ../other in && printf 1 >in/a && ln -s ../other link", "link", "link/a", "",
         "test ! -e other/a"},
        {"mkdir ../copy", "", "", "/copy: ", "test -z \"$(ls -A copy)\""},
        {"printf 1 >\"$(printf 'a\\033[2J')\"", "a\x1b[2J", "a\x1b[2J", "could not", "true"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(rows[i].make, rows[i].files, rows[i].links);
        CU_ASSERT_EQUAL(copy(), -1);
        CU_ASSERT_EQUAL(scene.err.sys, EEXIST);
        CU_ASSERT_PTR_NOT_NULL(strstr(scene.err.text, rows[i].why));
        CU_ASSERT_PTR_NULL(strchr(scene.err.text, '\x1b'));
        shell(&scene.scratch, rows[i].check);
        end();
    }
}

TEST(a_change_is_noticed)
{
    begin("printf 1 >a", "a", "");
    scene.request.since_ns = 0;
    CU_ASSERT_EQUAL(copy(), 0);
    CU_ASSERT_TRUE(scene.copied.changing);
    end();
}

TEST(it_can_be_stopped)
{
    int ends[2];
    begin("printf 1 >a", "a", "");
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL(write(ends[1], "", 1), 1);
    scene.request.stop_fd = ends[0];
    CU_ASSERT_EQUAL(copy(), -1);
    CU_ASSERT_EQUAL(scene.err.sys, EINTR);
    shell(&scene.scratch, "test ! -e copy/a");
    (void)close(ends[0]);
    (void)close(ends[1]);
    end();
}

/* What a copy is made again from: its links are the originals already. */
TEST(a_copy_of_a_copy)
{
    struct jr_copied_tree second = JR_COPIED_TREE_INIT;
    struct jr_buf files = JR_BUF_INIT, links = JR_BUF_INIT;
    char again[64];
    begin("mkdir in && printf 1 >'in/a b' && ln -s ../../x in/away", "in/a b|in/away", "data/");
    CU_ASSERT_EQUAL(copy(), 0);
    CU_ASSERT_TRUE(jr_copied_tree_read(&scene.copied.list, &files, &links));
    check_paths(&files, "in/a b, in/away");
    check_paths(&links, "data/");
    (void)snprintf(again, sizeof again, "%s/again", scene.scratch.dir);
    const struct jr_copy_tree_request request = {.top = scene.top,
                                                 .from = scene.to,
                                                 .to = again,
                                                 .files = &files,
                                                 .links = &links,
                                                 .again = true,
                                                 .since_ns = UINT64_MAX,
                                                 .stop_fd = -1};
    CU_ASSERT_EQUAL(jr_copy_tree(&second, &request, &scene.err), 0);
    CU_ASSERT_PTR_NULL(jr_copied_tree_differ(&scene.copied.list, &second.list));
    jr_copied_tree_release(&second);
    jr_buf_release(&files);
    jr_buf_release(&links);
    end();
}

static void add_entry(struct jr_buf *list, const char *entry)
{
    jr_buf_add(list, entry, strlen(entry) + 1);
}

TEST(lists_differ_at_a_path)
{
    static const struct {
        const char *a[2], *b[2], *path;
    } cases[] = {
        {{"f 100644 1 2 a", "l b/"}, {"f 100644 1 2 a", "l b/"}, NULL},
        {{"f 100644 1 2 a", "l b/"}, {"f 100644 1 3 a", "l b/"}, "a"},
        {{"f 100644 1 2 a", "l b/"}, {"f 100644 1 2 a", "l c/"}, "b/"},
        {{"f 100644 1 2 a", NULL}, {"f 100644 1 2 a", "f 1 2 3 x y"}, "x y"},
        {{"f 100644 1 2 a", "l b/"}, {"f 100644 1 2 a", NULL}, "b/"},
        {{NULL, NULL}, {NULL, NULL}, NULL},
        {{"junk", NULL}, {NULL, NULL}, "junk"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jr_buf a = JR_BUF_INIT, b = JR_BUF_INIT;
        for (size_t j = 0; j < 2; j++) {
            if (cases[i].a[j] != NULL)
                add_entry(&a, cases[i].a[j]);
            if (cases[i].b[j] != NULL)
                add_entry(&b, cases[i].b[j]);
        }
        const char *path = jr_copied_tree_differ(&a, &b);
        if (cases[i].path == NULL)
            CU_ASSERT_PTR_NULL(path)
        else
            JR_ASSERT_TEXT(path, cases[i].path);
        jr_buf_release(&a);
        jr_buf_release(&b);
    }
}

/* A list that somebody wrote: nothing but paths below the top. */
TEST(wrong_lists_are_refused)
{
    static const char *const wrong[] = {
        "junk",        "f 100644 1 2",  "f 100644 1 2 ",       "l",
        "l ",          "l /etc/passwd", "f 1 2 3 /etc",        "f 1 2 3 ../x",
        "l a/../../x", "l ..",          "f 100644 1 2 a/b/..", "x 1 2 3 a",
    };
    struct jr_buf files = JR_BUF_INIT, links = JR_BUF_INIT;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct jr_buf list = JR_BUF_INIT;
        add_entry(&list, "f 100644 1 2 good");
        add_entry(&list, wrong[i]);
        if (jr_copied_tree_read(&list, &files, &links))
            CU_FAIL(wrong[i]);
        jr_buf_release(&list);
    }
    struct jr_buf cut = JR_BUF_INIT;
    jr_buf_str(&cut, "l a..b/..c");
    CU_ASSERT_FALSE(jr_copied_tree_read(&cut, &files, &links));
    jr_buf_char(&cut, '\0');
    CU_ASSERT_TRUE(jr_copied_tree_read(&cut, &files, &links));
    jr_buf_release(&cut);
    jr_buf_release(&files);
    jr_buf_release(&links);
}
