#include "base/clock.h"
#include "vcs/internal.h"

#include "scratch.h"
#include "unit.h"

static char *globs[] = {(char *)"*_TOKEN"};
static const struct jr_secrets secrets = {globs, 1, NULL};

/* What a reader has made of a difference, handed over in pieces of a size. */
struct reading {
    struct jr_arena arena;
    struct jr_code_patch patch;
    struct jr_buf text;
};

static bool passes_spec(void *data, const char *path)
{
    (void)data;
    return strcmp(path, "spec.yaml") == 0;
}

static void read_all(struct reading *ret, const struct jr_buf *from, size_t size)
{
    *ret = (struct reading){0};
    ret->patch = (struct jr_code_patch){.arena = &ret->arena, .secrets = &secrets};
    struct jr_code_reader reader = {.patch = &ret->patch, .prefix = "sub/", .passes = passes_spec};
    for (size_t at = 0; at < from->len; at += size) {
        size_t left = from->len - at;
        CU_ASSERT_EQUAL(jr_code_reader_take(&reader, from->data + at, left < size ? left : size),
                        0);
    }
    jr_code_reader_end(&reader);
    CU_ASSERT_FALSE(ret->patch.failed);
    jr_code_patch_print(&ret->text, &ret->patch);
}

static void release(struct reading *reading)
{
    jr_code_patch_release(&reading->patch);
    jr_buf_release(&reading->text);
    jr_arena_release(&reading->arena);
}

static void add_record(struct jr_buf *to, char state, const char *path)
{
    jr_buf_printf(to, ":100644 100644 aa bb %c", state);
    jr_buf_char(to, '\0');
    jr_buf_str(to, path);
    jr_buf_char(to, '\0');
}

static void expect_left_out(const struct reading *reading, size_t i, const char *path,
                            const char *why)
{
    CU_ASSERT_TRUE_FATAL(i < reading->patch.left_out_count);
    JR_ASSERT_TEXT(reading->patch.left_out[i].path, path);
    JR_ASSERT_TEXT(jr_left_out_word(reading->patch.left_out[i].why), why);
}

/* However the bytes come in. */
static void texts_belong_to_their_paths(void)
{
    static const size_t sizes[] = {1, 2, 7, 1 << 20};
    struct jr_buf from = JR_BUF_INIT;
    add_record(&from, 'M', "a b");
    add_record(&from, 'T', "link");
    add_record(&from, 'M', "spec.yaml");
    add_record(&from, 'A', "image");
    add_record(&from, 'M', "env.py");
    jr_buf_char(&from, '\0');
    jr_buf_str(&from, "diff --git 1\n+one\ndiff --git 2\n-two\n"
                      "diff --git 3\n+three\ndiff --git 4\n+four\n"
                      "diff --git 5\nBinary files differ\n"
                      "diff --git 6\n+HF_TOKEN=abc\n");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct reading reading;
        read_all(&reading, &from, sizes[i]);
        JR_ASSERT_TEXT(reading.text.data, "diff --git 1\n+one\ndiff --git 2\n-two\n"
                                          "diff --git 3\n+three\n"
                                          "diff --git 6\n+HF_TOKEN=<redacted>\n");
        CU_ASSERT_TRUE(reading.patch.differs);
        CU_ASSERT_EQUAL(reading.patch.left_out_count, 2);
        expect_left_out(&reading, 0, "sub/image", "binary");
        expect_left_out(&reading, 1, "sub/env.py", "redacted");
        release(&reading);
    }
    jr_buf_release(&from);
}

static void what_passes_is_no_difference(void)
{
    struct jr_buf from = JR_BUF_INIT;
    struct reading reading;
    add_record(&from, 'M', "spec.yaml");
    jr_buf_char(&from, '\0');
    jr_buf_str(&from, "diff --git 1\n+one\n");
    read_all(&reading, &from, 5);
    CU_ASSERT_FALSE(reading.patch.differs);
    CU_ASSERT_EQUAL(reading.text.len, 0);
    release(&reading);
    jr_buf_clear(&from);
    read_all(&reading, &from, 5);
    CU_ASSERT_FALSE(reading.patch.differs);
    release(&reading);
    jr_buf_release(&from);
}

static void add_large(struct jr_buf *to, char letter, size_t bytes)
{
    jr_buf_printf(to, "diff --git %c\n+", letter);
    jr_buf_fill(to, letter, bytes);
    jr_buf_char(to, '\n');
}

/* The order in which they come does not matter. */
static void the_largest_are_left_out(void)
{
    static const char *const orders[] = {"abc", "acb", "bac", "bca", "cab", "cba"};
    for (size_t i = 0; i < 6; i++) {
        struct jr_buf from = JR_BUF_INIT;
        struct reading reading;
        for (size_t j = 0; j < 3; j++)
            add_record(&from, 'M', (char[2]){orders[i][j], '\0'});
        jr_buf_char(&from, '\0');
        for (size_t j = 0; j < 3; j++)
            add_large(&from, orders[i][j], (size_t)(orders[i][j] - 'a' + 2) * 200000);
        read_all(&reading, &from, 60000);
        CU_ASSERT_EQUAL(reading.patch.count, 2);
        CU_ASSERT_TRUE(reading.text.len <= JR_PATCH_MOST);
        CU_ASSERT_EQUAL(reading.patch.left_out_count, 1);
        expect_left_out(&reading, 0, "sub/c", "size");
        release(&reading);
        jr_buf_release(&from);
    }
}

/* A line that goes on for megabytes, and has the head of a file in it. */
static void long_lines_forge_no_file(void)
{
    struct jr_buf from = JR_BUF_INIT;
    struct reading reading;
    add_record(&from, 'M', "a");
    add_record(&from, 'M', "b");
    jr_buf_char(&from, '\0');
    jr_buf_str(&from, "diff --git a\n+");
    for (size_t i = 0; i < 500000; i++)
        jr_buf_str(&from, "diff --git ");
    jr_buf_str(&from, "\ndiff --git b\n+small\n");
    read_all(&reading, &from, 65536);
    JR_ASSERT_TEXT(reading.text.data, "diff --git b\n+small\n");
    CU_ASSERT_EQUAL(reading.patch.left_out_count, 1);
    expect_left_out(&reading, 0, "sub/a", "size");
    release(&reading);
    jr_buf_release(&from);
}

/* A repository of a commit, which was changed since; what the changed tree is called, and the
 * difference. */
struct scene {
    struct scratch scratch;
    char top[64], folder[64], commit[JR_GIT_HASH], tree[JR_GIT_HASH];
    struct jr_buf patch, files;
    struct jr_error err;
};

/* Run git with a home and settings of its own. */
static void shell(const struct scene *scene, const char *command)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "cd '%s' && export HOME=\"$PWD\" GIT_CONFIG_NOSYSTEM=1 && git() { command git "
                   "-c user.name=n -c user.email=e@example.org \"$@\"; } && { %s; } 2>&1",
                   scene->top, command);
    CU_ASSERT_EQUAL_FATAL(system(text), 0);
}

/* What a command of the shell left in a file beside the repository. */
static void read_text(const struct scene *scene, const char *name, struct jr_buf *ret)
{
    char bytes[4096];
    ssize_t len;
    int fd = openat(scene->scratch.fd, name, O_RDONLY);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    while ((len = read(fd, bytes, sizeof bytes)) > 0)
        jr_buf_add(ret, bytes, (size_t)len);
    (void)close(fd);
}

static void read_name(const struct scene *scene, const char *name, char ret[static JR_GIT_HASH])
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    read_text(scene, name, &text);
    CU_ASSERT_TRUE_FATAL(text.len > 40 && text.len < JR_GIT_HASH);
    memcpy(ret, text.data, text.len - 1); /* less the newline */
    ret[text.len - 1] = '\0';
}

static void scene_start(struct scene *scene, const char *change)
{
    *scene = (struct scene){0};
    scratch_start(&scene->scratch);
    (void)snprintf(scene->top, sizeof scene->top, "%s/tree", scene->scratch.dir);
    (void)snprintf(scene->folder, sizeof scene->folder, "%s/made", scene->scratch.dir);
    CU_ASSERT_EQUAL_FATAL(mkdir(scene->top, 0700), 0);
    shell(scene, "git init -q . && mkdir 'a b' && printf 'one\\n' >train.py && printf '1\\n' >'a "
                 "b/model.py' && ln -s train.py main && printf '#!/bin/sh\\n' >run && chmod +x "
                 "run && printf 'version: 1\\n' >spec.yaml && git add -A && git commit -qm m && "
                 "git rev-parse HEAD >../commit");
    shell(scene, change);
    shell(scene, "git add -A && git diff --cached --binary HEAD >../patch && git rm -q --cached "
                 "spec.yaml && git write-tree >../name && git read-tree HEAD");
    read_name(scene, "commit", scene->commit);
    read_name(scene, "name", scene->tree);
    read_text(scene, "patch", &scene->patch);
}

static void scene_end(struct scene *scene)
{
    jr_buf_release(&scene->patch);
    jr_buf_release(&scene->files);
    scratch_end(&scene->scratch);
}

static int rebuild_scene(struct scene *scene, const char *commit)
{
    char spec[128];
    char *files[] = {spec, NULL};
    (void)snprintf(spec, sizeof spec, "%s/spec.yaml", scene->top);
    const struct jr_rebuild_request request = {
        .top = scene->top,
        .commit = commit,
        .tree = scene->tree,
        .patch = &scene->patch,
        .files = files,
        .scratch = scene->folder,
        .envp = environ,
        .limit = {jr_clock_ns() + UINT64_C(60000000000), -1},
    };
    return jr_tree_rebuild(&request, &scene->files, &scene->err);
}

static void expect_rebuilt(struct scene *scene)
{
    int failed = rebuild_scene(scene, scene->commit);
    if (failed != 0)
        printf("\n    %s\n", scene->err.text);
    CU_ASSERT_EQUAL_FATAL(failed, 0);
}

static void expect_refused(struct scene *scene, const char *commit, const char *why)
{
    CU_ASSERT_EQUAL(rebuild_scene(scene, commit), -1);
    if (strstr(scene->err.text, why) == NULL)
        printf("\n    %s\n", scene->err.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene->err.text, why));
}

/* Whether the files of the tree are those that are expected, each with a space behind it. */
static void expect_paths(const struct scene *scene, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf all = JR_BUF_INIT;
    const struct jr_buf *files = &scene->files;
    for (size_t at = 0; at < files->len; at += strlen(files->data + at) + 1)
        jr_buf_printf(&all, "%s;", files->data + at);
    JR_ASSERT_TEXT(all.data, expected);
}

static void the_commit_alone(void)
{
    struct scene scene;
    scene_start(&scene, ":");
    CU_ASSERT_EQUAL(scene.patch.len, 0);
    expect_rebuilt(&scene);
    expect_paths(&scene, "a b/model.py;main;run;spec.yaml;train.py;");
    shell(&scene, "cd ../made/tree && test \"$(cat train.py)\" = one && "
                  "test -x run && test \"$(readlink main)\" = train.py");
    scene_end(&scene);
}

/* Changed, new, gone, moved, of another mode, and of other bytes than text. */
static void the_patch_besides(void)
{
    struct scene scene;
    scene_start(&scene, "printf 'two  \\n' >train.py && rm -r 'a b' && chmod -x run && head -c "
                        "5000 /dev/zero >'new x' && ln -sf run main");
    expect_rebuilt(&scene);
    expect_paths(&scene, "main;new x;run;spec.yaml;train.py;");
    shell(&scene, "cd ../made/tree && test \"$(cat train.py)\" = 'two  ' && test ! -x run && "
                  "test \"$(readlink main)\" = run && test \"$(wc -c <'new x')\" -eq 5000");
    scene_end(&scene);
}

static void no_commit_yet(void)
{
    struct scene scene;
    scene_start(&scene, ":");
    jr_buf_clear(&scene.patch);
    shell(&scene, "git diff --binary $(git hash-object -t tree /dev/null) HEAD >../patch");
    read_text(&scene, "patch", &scene.patch);
    CU_ASSERT_EQUAL_FATAL(rebuild_scene(&scene, NULL), 0);
    expect_paths(&scene, "a b/model.py;main;run;spec.yaml;train.py;");
    scene_end(&scene);
}

/* The repository is as it was, to the names of its objects. */
static void nothing_is_written_to_the_repository(void)
{
    struct scene scene;
    scene_start(&scene, "printf 'two\\n' >train.py");
    shell(&scene, "find . | LC_ALL=C sort >../before && cat .git/index >../index");
    expect_rebuilt(&scene);
    shell(&scene, "find . | LC_ALL=C sort | cmp - ../before && "
                  "cmp .git/index ../index && test \"$(cat train.py)\" = two");
    scene_end(&scene);
}

static void what_is_configured_is_not_executed(void)
{
    struct scene scene;
    scene_start(&scene, "printf '* filter=f\\n' >.gitattributes");
    shell(&scene, "git config filter.f.smudge 'touch \"$HOME/../planted\"' && git config "
                  "filter.f.clean 'touch \"$HOME/../planted\"' && mkdir -p .git/hooks && printf "
                  "'#!/bin/sh\\ntouch \"%s/../planted\"\\n' \"$PWD\" >.git/hooks/post-checkout "
                  "&& chmod +x .git/hooks/post-checkout && git config core.fsmonitor "
                  ".git/hooks/post-checkout && rm -f ../planted");
    expect_rebuilt(&scene);
    shell(&scene, "test ! -e ../planted");
    scene_end(&scene);
}

static void another_tree_is_refused(void)
{
    struct scene scene;
    scene_start(&scene, "printf 'two\\n' >train.py");
    memcpy(scene.tree, "0123456789abcdef", 16);
    expect_refused(&scene, scene.commit, "make another tree, ");
    CU_ASSERT_PTR_NOT_NULL(strstr(scene.err.text, "0123456789ab "));
    scene_end(&scene);
}

static void a_commit_that_is_gone(void)
{
    struct scene scene;
    scene_start(&scene, ":");
    expect_refused(&scene, "0123456789abcdef0123456789abcdef01234567", "the commit of the run: ");
    scene_end(&scene);
}

static void a_patch_that_does_not_fit(void)
{
    struct scene scene;
    scene_start(&scene, "printf 'two\\n' >train.py");
    char *old = strstr(scene.patch.data, "-one");
    CU_ASSERT_PTR_NOT_NULL_FATAL(old);
    memcpy(old, "-six", 4);
    expect_refused(&scene, scene.commit, "the patch of the run: ");
    scene_end(&scene);
}

/* git itself refuses what leads out of the tree. */
static void a_patch_that_leads_elsewhere(void)
{
    static const char *const paths[] = {"../planted", ".git/hooks/planted", "main/../../planted"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct scene scene;
        scene_start(&scene, ":");
        jr_buf_clear(&scene.patch);
        jr_buf_printf(&scene.patch,
                      "diff --git a/%s b/%s\nnew file mode 100644\n"
                      "--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+x\n",
                      paths[i], paths[i], paths[i]);
        expect_refused(&scene, scene.commit, "the patch of the run: ");
        shell(&scene, "test ! -e ../planted && test ! -e ../made/planted && "
                      "test ! -e .git/hooks/planted");
        scene_end(&scene);
    }
}

static void a_scratch_folder_that_is_there(void)
{
    struct scene scene;
    scene_start(&scene, ":");
    CU_ASSERT_EQUAL(mkdir(scene.folder, 0700), 0);
    expect_refused(&scene, scene.commit, "File exists");
    scene_end(&scene);
}

JR_UNIT_MAIN("code_patch", CASE(texts_belong_to_their_paths), CASE(what_passes_is_no_difference),
             CASE(the_largest_are_left_out), CASE(long_lines_forge_no_file), CASE(the_commit_alone),
             CASE(the_patch_besides), CASE(no_commit_yet),
             CASE(nothing_is_written_to_the_repository), CASE(what_is_configured_is_not_executed),
             CASE(another_tree_is_refused), CASE(a_commit_that_is_gone),
             CASE(a_patch_that_does_not_fit), CASE(a_patch_that_leads_elsewhere),
             CASE(a_scratch_folder_that_is_there))
