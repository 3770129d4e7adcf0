#include "vcs/copy_tree.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>

#include "scratch.h"

#define NOW UINT64_MAX /* no file was changed since */

/* A tree in the folder "tree" of a scratch, and a copy of it in "copy". */
struct scene {
    struct scratch scratch;
    char top[64], to[64];
    struct jr_buf files, links;
    struct jr_copied_tree copied;
    struct jr_error err;
};

static void scene_start(struct scene *scene)
{
    *scene = (struct scene){0};
    scratch_start(&scene->scratch);
    (void)snprintf(scene->top, sizeof scene->top, "%s/tree", scene->scratch.dir);
    (void)snprintf(scene->to, sizeof scene->to, "%s/copy", scene->scratch.dir);
    CU_ASSERT_EQUAL_FATAL(mkdir(scene->top, 0700), 0);
}

static void scene_end(struct scene *scene)
{
    jr_copied_tree_release(&scene->copied);
    jr_buf_release(&scene->files);
    jr_buf_release(&scene->links);
    scratch_end(&scene->scratch);
}

static void make_folder(const struct scene *scene, const char *name)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "tree/%s", name);
    CU_ASSERT_EQUAL(mkdirat(scene->scratch.fd, path, 0700), 0);
}

static void write_file(const struct scene *scene, const char *name, const char *text, mode_t mode)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "tree/%s", name);
    scratch_write(&scene->scratch, path, text);
    CU_ASSERT_EQUAL(fchmodat(scene->scratch.fd, path, mode, 0), 0);
}

static void make_link(const struct scene *scene, const char *target, const char *name)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "tree/%s", name);
    CU_ASSERT_EQUAL(symlinkat(target, scene->scratch.fd, path), 0);
}

/* Paths up to a NULL. */
static void name_paths(struct jr_buf *to, ...)
{
    va_list list;
    const char *path;
    va_start(list, to);
    while ((path = va_arg(list, const char *)) != NULL)
        jr_buf_add(to, path, strlen(path) + 1);
    va_end(list);
}

static struct jr_copy_tree_request scene_request(const struct scene *scene)
{
    return (struct jr_copy_tree_request){
        .top = scene->top,
        .to = scene->to,
        .files = &scene->files,
        .links = &scene->links,
        .since_ns = NOW,
        .stop_fd = -1,
    };
}

static int copy_scene(struct scene *scene)
{
    struct jr_copy_tree_request request = scene_request(scene);
    return jr_copy_tree(&scene->copied, &request, &scene->err);
}

static void expect_text(const struct scene *scene, const char *name, const char *expected)
{
    char path[PATH_MAX], text[256];
    (void)snprintf(path, sizeof path, "copy/%s", name);
    int fd = openat(scene->scratch.fd, path, O_RDONLY | O_NOFOLLOW);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[len < 0 ? 0 : len] = '\0';
    JR_ASSERT_TEXT(len < 0 ? NULL : text, expected);
    (void)close(fd);
}

/* Where a link of the copy leads; "@" in what is expected is the tree. */
static void expect_link(const struct scene *scene, const char *name, const char *expected)
{
    char path[PATH_MAX], text[256];
    struct jr_buf whole = JR_BUF_INIT;
    (void)snprintf(path, sizeof path, "copy/%s", name);
    ssize_t len = readlinkat(scene->scratch.fd, path, text, sizeof text - 1);
    text[len < 0 ? 0 : len] = '\0';
    jr_buf_replaced(&whole, expected, "@", scene->top);
    JR_ASSERT_TEXT(len < 0 ? NULL : text, whole.data);
    jr_buf_release(&whole);
}

static bool is_copied(const struct scene *scene, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    (void)snprintf(path, sizeof path, "copy/%s", name);
    return fstatat(scene->scratch.fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void files_keep_mode_and_time(void)
{
    struct scene scene;
    struct stat st;
    const struct timespec times[2] = {{.tv_sec = 1234567, .tv_nsec = 89},
                                      {.tv_sec = 1234567, .tv_nsec = 89}};
    scene_start(&scene);
    make_folder(&scene, "deep");
    make_folder(&scene, "deep/er");
    write_file(&scene, "deep/er/run", "#!/bin/sh\n", 0755);
    write_file(&scene, "empty", "", 0400);
    CU_ASSERT_EQUAL(utimensat(scene.scratch.fd, "tree/deep/er/run", times, 0), 0);
    name_paths(&scene.files, "deep/er/run", "empty", NULL);
    CU_ASSERT_EQUAL(copy_scene(&scene), 0);
    expect_text(&scene, "deep/er/run", "#!/bin/sh\n");
    expect_text(&scene, "empty", "");
    CU_ASSERT_EQUAL(fstatat(scene.scratch.fd, "copy/deep/er/run", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_mode, S_IFREG | 0755);
    CU_ASSERT_EQUAL(st.st_mtim.tv_sec, 1234567);
    CU_ASSERT_EQUAL(st.st_mtim.tv_nsec, 89);
    CU_ASSERT_EQUAL(fstatat(scene.scratch.fd, "copy/empty", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_mode, S_IFREG | 0400);
    CU_ASSERT_EQUAL(scene.copied.files, 2);
    CU_ASSERT_EQUAL(scene.copied.bytes, 10);
    CU_ASSERT_FALSE(scene.copied.changing);
    scene_end(&scene);
}

/* A file that is larger than what is copied at once. */
static void long_files_are_whole(void)
{
    struct scene scene;
    struct stat st;
    struct jr_buf text = JR_BUF_INIT;
    scene_start(&scene);
    jr_buf_fill(&text, 'x', 700001);
    write_file(&scene, "long", text.data, 0600);
    name_paths(&scene.files, "long", NULL);
    CU_ASSERT_EQUAL(copy_scene(&scene), 0);
    CU_ASSERT_EQUAL(fstatat(scene.scratch.fd, "copy/long", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_size, 700001);
    CU_ASSERT_EQUAL(scene.copied.bytes, 700001);
    jr_buf_release(&text);
    scene_end(&scene);
}

static void what_is_gone_or_no_file_is_passed_over(void)
{
    struct scene scene;
    scene_start(&scene);
    make_folder(&scene, "folder");
    CU_ASSERT_EQUAL(mkfifoat(scene.scratch.fd, "tree/fifo", 0600), 0);
    write_file(&scene, "last", "1", 0600);
    name_paths(&scene.files, "gone", "none/below", "folder", "fifo", "last/below", "last", NULL);
    CU_ASSERT_EQUAL(copy_scene(&scene), 0);
    CU_ASSERT_EQUAL(scene.copied.files, 1);
    expect_text(&scene, "last", "1");
    CU_ASSERT_FALSE(is_copied(&scene, "fifo"));
    CU_ASSERT_FALSE(is_copied(&scene, "none"));
    scene_end(&scene);
}

static void links_lead_where_they_led(void)
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
    struct scene scene;
    scene_start(&scene);
    make_folder(&scene, "in");
    for (size_t i = 0; i < count; i++) {
        struct jr_buf target = JR_BUF_INIT;
        jr_buf_replaced(&target, cases[i].target, "@", scene.top);
        make_link(&scene, target.data, cases[i].name);
        name_paths(&scene.files, cases[i].name, NULL);
        jr_buf_release(&target);
    }
    CU_ASSERT_EQUAL(copy_scene(&scene), 0);
    for (size_t i = 0; i < count; i++)
        expect_link(&scene, cases[i].name, cases[i].expected);
    CU_ASSERT_EQUAL(scene.copied.files, 0);
    CU_ASSERT_EQUAL(scene.copied.links, 0);
    scene_end(&scene);
}

/* A link in the place of a folder, which another process may put there at any time, lets nothing in
 * from where it leads. */
static void no_link_is_followed(void)
{
    struct scene scene;
    scene_start(&scene);
    CU_ASSERT_EQUAL(mkdirat(scene.scratch.fd, "other", 0700), 0);
    scratch_write(&scene.scratch, "other/key", "private");
    make_link(&scene, "../other", "in");
    name_paths(&scene.files, "in/key", "in", NULL);
    CU_ASSERT_EQUAL(copy_scene(&scene), 0);
    expect_link(&scene, "in", "@/../other");
    CU_ASSERT_EQUAL(scene.copied.files, 0);
    scene_end(&scene);
}

static void links_stand_for_what_is_not_copied(void)
{
    struct scene scene;
    scene_start(&scene);
    make_folder(&scene, "in");
    write_file(&scene, "in/a", "1", 0600);
    name_paths(&scene.files, "in/a", NULL);
    name_paths(&scene.links, "data/", "in/cache/", "deep/er/x.so", NULL);
    CU_ASSERT_EQUAL(copy_scene(&scene), 0);
    expect_link(&scene, "data", "@/data");
    expect_link(&scene, "in/cache", "@/in/cache");
    expect_link(&scene, "deep/er/x.so", "@/deep/er/x.so");
    CU_ASSERT_EQUAL(scene.copied.links, 3);
    scene_end(&scene);
}

static void a_link_takes_no_place(void)
{
    struct scene scene;
    scene_start(&scene);
    write_file(&scene, "a", "1", 0600);
    name_paths(&scene.files, "a", NULL);
    name_paths(&scene.links, "a", NULL);
    CU_ASSERT_EQUAL(copy_scene(&scene), -1);
    CU_ASSERT_EQUAL(scene.err.sys, EEXIST);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene.err.text, "/tree/a could not"));
    expect_text(&scene, "a", "1");
    scene_end(&scene);
}

/* A folder of the copy that somebody puts a link in the place of. */
static void a_planted_link_lets_nothing_out(void)
{
    struct scene scene;
    struct stat st;
    scene_start(&scene);
    CU_ASSERT_EQUAL(mkdirat(scene.scratch.fd, "other", 0700), 0);
    make_folder(&scene, "in");
    write_file(&scene, "in/a", "1", 0600);
    make_link(&scene, "../other", "link");
    name_paths(&scene.files, "link", NULL);
    name_paths(&scene.links, "link/a", NULL);
    CU_ASSERT_EQUAL(copy_scene(&scene), -1);
    CU_ASSERT_EQUAL(scene.err.sys, EEXIST);
    CU_ASSERT_NOT_EQUAL(fstatat(scene.scratch.fd, "other/a", &st, 0), 0);
    scene_end(&scene);
}

static void there_is_no_copy_yet(void)
{
    struct scene scene;
    scene_start(&scene);
    CU_ASSERT_EQUAL(mkdir(scene.to, 0700), 0);
    CU_ASSERT_EQUAL(copy_scene(&scene), -1);
    CU_ASSERT_EQUAL(scene.err.sys, EEXIST);
    scene_end(&scene);
}

static void a_change_is_noticed(void)
{
    struct scene scene;
    scene_start(&scene);
    write_file(&scene, "a", "1", 0600);
    name_paths(&scene.files, "a", NULL);
    struct jr_copy_tree_request request = scene_request(&scene);
    request.since_ns = 0;
    CU_ASSERT_EQUAL(jr_copy_tree(&scene.copied, &request, &scene.err), 0);
    CU_ASSERT_TRUE(scene.copied.changing);
    scene_end(&scene);
}

static void it_can_be_stopped(void)
{
    struct scene scene;
    int ends[2];
    scene_start(&scene);
    write_file(&scene, "a", "1", 0600);
    name_paths(&scene.files, "a", NULL);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL(write(ends[1], "", 1), 1);
    struct jr_copy_tree_request request = scene_request(&scene);
    request.stop_fd = ends[0];
    CU_ASSERT_EQUAL(jr_copy_tree(&scene.copied, &request, &scene.err), -1);
    CU_ASSERT_EQUAL(scene.err.sys, EINTR);
    CU_ASSERT_FALSE(is_copied(&scene, "a"));
    (void)close(ends[0]);
    (void)close(ends[1]);
    scene_end(&scene);
}

static void names_are_escaped_in_errors(void)
{
    struct scene scene;
    scene_start(&scene);
    write_file(&scene, "a\x1b[2J", "1", 0600);
    name_paths(&scene.files, "a\x1b[2J", NULL);
    name_paths(&scene.links, "a\x1b[2J", NULL);
    CU_ASSERT_EQUAL(copy_scene(&scene), -1);
    CU_ASSERT_PTR_NULL(strchr(scene.err.text, '\x1b'));
    scene_end(&scene);
}

/* What a copy is made again from: its links are the originals already. */
static void a_copy_of_a_copy(void)
{
    struct scene scene;
    struct jr_copied_tree second = JR_COPIED_TREE_INIT;
    struct jr_buf files = JR_BUF_INIT, links = JR_BUF_INIT;
    char from[64];
    scene_start(&scene);
    make_folder(&scene, "in");
    write_file(&scene, "in/a b", "1", 0644);
    make_link(&scene, "../../x", "in/away");
    name_paths(&scene.files, "in/a b", "in/away", NULL);
    name_paths(&scene.links, "data/", NULL);
    CU_ASSERT_EQUAL(copy_scene(&scene), 0);
    CU_ASSERT_TRUE(jr_copied_tree_read(&scene.copied.list, &files, &links));
    CU_ASSERT_EQUAL(files.len, sizeof "in/a b" + sizeof "in/away");
    JR_ASSERT_TEXT(files.data, "in/a b");
    JR_ASSERT_TEXT(links.data, "data/");
    (void)snprintf(from, sizeof from, "%s/copy", scene.scratch.dir);
    (void)snprintf(scene.to, sizeof scene.to, "%s/again", scene.scratch.dir);
    struct jr_copy_tree_request request = scene_request(&scene);
    request.from = from;
    request.files = &files;
    request.links = &links;
    request.again = true;
    CU_ASSERT_EQUAL(jr_copy_tree(&second, &request, &scene.err), 0);
    CU_ASSERT_PTR_NULL(jr_copied_tree_differ(&scene.copied.list, &second.list));
    jr_copied_tree_release(&second);
    jr_buf_release(&files);
    jr_buf_release(&links);
    scene_end(&scene);
}

static void add_entry(struct jr_buf *list, const char *entry)
{
    jr_buf_add(list, entry, strlen(entry) + 1);
}

static void lists_differ_at_a_path(void)
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
static void wrong_lists_are_refused(void)
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

JR_UNIT_MAIN("copy_tree", CASE(files_keep_mode_and_time), CASE(long_files_are_whole),
             CASE(what_is_gone_or_no_file_is_passed_over), CASE(links_lead_where_they_led),
             CASE(no_link_is_followed), CASE(links_stand_for_what_is_not_copied),
             CASE(a_link_takes_no_place), CASE(a_planted_link_lets_nothing_out),
             CASE(there_is_no_copy_yet), CASE(a_change_is_noticed), CASE(it_can_be_stopped),
             CASE(names_are_escaped_in_errors), CASE(a_copy_of_a_copy),
             CASE(lists_differ_at_a_path), CASE(wrong_lists_are_refused))
