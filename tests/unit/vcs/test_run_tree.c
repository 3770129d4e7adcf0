/* The code of a run, recorded and made once more: names that are git's own, a patch that makes
 * them, what is left out and why, what a copy is made of, and stamps. */
#include "vcs/run_tree.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "repository.h"

#define LIMIT_MS 60000

static char *globs[] = {(char *)"*_TOKEN"};
static const struct jr_secrets secrets = {globs, 1, NULL};

struct bench {
    struct scratch scratch;
    char top[64], below[64];
    struct jr_run_tree_request request;
    struct jr_run_tree code;
    struct jr_error err;
};

static struct bench bench;

/* A repository in the folder "tree", of which `command` is run before the first commit; NULL: it
 * has none. */
static void begin(const char *command)
{
    char text[512];
    bench = (struct bench){0};
    scratch_start(&bench.scratch);
    (void)snprintf(bench.top, sizeof bench.top, "%s/tree", bench.scratch.dir);
    (void)snprintf(bench.below, sizeof bench.below, "%s/git", bench.scratch.dir);
    shell(&bench.scratch, "mkdir tree && cd tree && git init -q .");
    if (command != NULL) {
        (void)snprintf(text, sizeof text, "cd tree && { %s; } && " COMMIT, command);
        shell(&bench.scratch, text);
    }
    bench.request = (struct jr_run_tree_request){.folder = bench.top,
                                                 .scratch = bench.below,
                                                 .secrets = &secrets,
                                                 .envp = environ,
                                                 .limit_ms = LIMIT_MS,
                                                 .stop_fd = -1};
}

static int record(void)
{
    return jr_run_tree_record(&bench.code, &bench.request, &bench.err);
}

static void record_well(void)
{
    int result = record();
    if (result != 0)
        printf("\n    %s", bench.err.text);
    CU_ASSERT_EQUAL_FATAL(result, 0);
    struct stat st;
    CU_ASSERT_NOT_EQUAL(stat(bench.below, &st), 0); /* nothing stays */
}

static void end(void)
{
    jr_run_tree_release(&bench.code);
    scratch_end(&bench.scratch);
}

/* What git answers, without the newline. */
static void ask(const char *command, char *ret, size_t size)
{
    char text[512];
    (void)snprintf(text, sizeof text, "cd tree && { %s; } > ../answer", command);
    shell(&bench.scratch, text);
    (void)memset(ret, 0, size);
    int fd = openat(bench.scratch.fd, "answer", O_RDONLY);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_TRUE(read(fd, ret, size - 1) >= 0);
    (void)close(fd);
    ret[strcspn(ret, "\n")] = '\0';
}

static void check_answer(const char *command, const char *expected)
{
    char answer[128];
    ask(command, answer, sizeof answer);
    JR_ASSERT_TEXT(expected, answer);
}

/* "PATH: why, PATH: why" */
static void check_left_out(const char *expected)
{
    struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < bench.code.left_out_count; i++)
        jr_buf_printf(&text, "%s%s: %s", i == 0 ? "" : ", ", bench.code.left_out[i].path,
                      jr_left_out_word(bench.code.left_out[i].why));
    JR_ASSERT_TEXT(text.len == 0 ? "" : text.data, expected);
    jr_buf_release(&text);
}

static bool patch_has(const char *text)
{
    return bench.code.patch.len > 0 && strstr(bench.code.patch.data, text) != NULL;
}

/* Making it once more, by what was recorded. */
static int rebuild(struct jr_buf *files, char *const *aside)
{
    char again[80];
    (void)snprintf(again, sizeof again, "%s/again", bench.scratch.dir);
    const struct jr_rebuild_request request = {
        .top = bench.top,
        .commit = bench.code.commit[0] == '\0' ? NULL : bench.code.commit,
        .tree = bench.code.tree,
        .patch = &bench.code.patch,
        .files = aside,
        .log_dir = bench.request.log_dir,
        .scratch = again,
        .envp = environ,
        .limit = {.deadline_ns = jr_clock_ns() + LIMIT_MS * UINT64_C(1000000), .stop_fd = -1}};
    return jr_tree_rebuild(&request, files, &bench.err);
}

/* Outside of a work tree there is nothing, and that is no error. */
TEST(no_work_tree_is_no_error)
{
    begin(NULL);
    bench.request.folder = bench.scratch.dir;
    CU_ASSERT_EQUAL(record(), 0);
    CU_ASSERT_FALSE(bench.code.work_tree);
    CU_ASSERT_FALSE(bench.code.listed);
    JR_ASSERT_TEXT(bench.code.commit, "");
    JR_ASSERT_TEXT(bench.code.tree, "");
    end();
    begin(NULL);
    bench.request.folder = "/nosuch/folder";
    CU_ASSERT_EQUAL(record(), 0);
    CU_ASSERT_FALSE(bench.code.work_tree);
    end();
}

/* A clean tree is its commit's, from any folder of it. */
TEST(a_clean_tree_is_the_commits)
{
    char folder[80];
    begin("mkdir -p d/e && echo 1 > a && echo 2 > d/b && echo 3 > d/e/c");
    (void)snprintf(folder, sizeof folder, "%s/d/e", bench.top);
    bench.request.folder = folder;
    record_well();
    CU_ASSERT_TRUE(bench.code.work_tree);
    CU_ASSERT_TRUE(bench.code.listed);
    CU_ASSERT_FALSE(bench.code.changed);
    CU_ASSERT_FALSE(bench.code.dirty);
    CU_ASSERT_EQUAL(bench.code.patch.len, 0);
    JR_ASSERT_TEXT(bench.code.top, bench.top);
    check_answer("git rev-parse HEAD", bench.code.commit);
    check_answer("git rev-parse HEAD^{tree}", bench.code.tree);
    check_left_out("");
    end();
}

/* What differs has the name that it has once it is committed. */
TEST(a_change_has_the_name_of_its_commit)
{
    static const struct {
        const char *command;
        bool changed;
    } vectors[] = {
        {"echo 2 > a", true},
        {"echo 2 > new", false},
        {"rm a", true},
        {"git rm -q --cached a", true},
        {"git mv a b", true},
        {"chmod 755 a", true},
        {"rm a && ln -s d a", true},
        {"rm a && mkdir a && echo 4 > a/b", true},
        {"echo 2 > a && git add a", true},
        {"echo 2 > a && git add a && echo 3 > a", true},
        {"mkdir -p x/y && echo 2 > 'x/y/z z'", false},
        {": > empty", false},
        {"printf 'a\\0b' > binary", false},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char text[256];
        begin("mkdir d && echo 1 > a && echo 2 > d/b");
        (void)snprintf(text, sizeof text, "cd tree && { %s; }", vectors[i].command);
        shell(&bench.scratch, text);
        record_well();
        CU_ASSERT_EQUAL(bench.code.changed, vectors[i].changed);
        check_answer("git rev-parse HEAD", bench.code.commit);
        check_answer(COMMIT " --allow-empty && git rev-parse HEAD^{tree}", bench.code.tree);
        end();
    }
}

/* A tracked file that is taken out of the index and still lies there is as it was: the tree is not
 * dirty, though the index is. */
TEST(dirty_is_what_the_tree_is)
{
    static const struct {
        const char *command;
        bool dirty;
    } vectors[] = {
        {"true", false},
        {"touch a", false},
        {"echo x > .gitignore && echo 1 > x && rm x && rm .gitignore", false},
        {"echo 1 > b", true},
        {"echo 2 > a", true},
        {"rm a", true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char text[256];
        begin("echo 1 > a");
        (void)snprintf(text, sizeof text, "cd tree && { %s; }", vectors[i].command);
        shell(&bench.scratch, text);
        record_well();
        CU_ASSERT_EQUAL(bench.code.dirty, vectors[i].dirty);
        CU_ASSERT_EQUAL(bench.code.patch.len != 0, vectors[i].dirty);
        end();
    }
}

/* Before the first commit everything is new. */
TEST(without_a_commit_all_is_new)
{
    begin(NULL);
    shell(&bench.scratch, "cd tree && echo 1 > a");
    record_well();
    JR_ASSERT_TEXT(bench.code.commit, "");
    CU_ASSERT_TRUE(bench.code.dirty);
    CU_ASSERT_TRUE(patch_has("+1"));
    struct jr_buf files = JR_BUF_INIT;
    CU_ASSERT_EQUAL(rebuild(&files, NULL), 0);
    check_paths(&files, "a");
    jr_buf_release(&files);
    check_answer(COMMIT " --allow-empty && git rev-parse HEAD^{tree}", bench.code.tree);
    end();
}

/* Of a repository; git may give an object that it has the time of now. */
static const char state[] =
    "{ find . -path ./.git/objects -prune -o -printf '%p %s %T@ %m\\n' && "
    "find .git/objects -printf '%p %s %m\\n'; } | LC_ALL=C sort | sha256sum";

/* The repository is as it was: its index, its objects, its files. */
TEST(writes_nothing_into_the_repository)
{
    char before[128];
    begin("echo 1 > a && echo 2 > b");
    shell(&bench.scratch, "cd tree && echo 2 > a && echo 3 > c && rm b");
    ask(state, before, sizeof before);
    record_well();
    check_answer(state, before);
    end();
}

/* What is ignored does not count, nor do the log_dir and the files of the request, by either name
 * of them. */
TEST(some_files_do_not_count)
{
    char log_dir[80], spec[80], link[80];
    begin("echo '*.bin' > .gitignore && echo 1 > a && echo 1 > spec.yaml");
    shell(&bench.scratch, "cd tree && echo 1 > x.bin && mkdir -p runs/1 runsx && echo 1 > "
                          "runs/1/out && echo 2 > spec.yaml && echo 2 > real.yaml && ln -s "
                          "real.yaml link.yaml");
    (void)snprintf(log_dir, sizeof log_dir, "%s/runs", bench.top);
    (void)snprintf(spec, sizeof spec, "%s/spec.yaml", bench.top);
    (void)snprintf(link, sizeof link, "%s/link.yaml", bench.top);
    char *files[] = {spec, link, NULL};
    bench.request.log_dir = log_dir;
    bench.request.files = files;
    record_well();
    CU_ASSERT_FALSE(bench.code.dirty);
    CU_ASSERT_TRUE(bench.code.changed); /* git sees spec.yaml differ */
    check_answer("git rm -q --cached spec.yaml && git write-tree", bench.code.tree);
    jr_run_tree_release(&bench.code);
    shell(&bench.scratch, "cd tree && echo 1 > runsx/a");
    record_well();
    CU_ASSERT_TRUE(bench.code.dirty); /* its name only begins alike */
    CU_ASSERT_TRUE(patch_has("runsx/a"));
    CU_ASSERT_FALSE(patch_has("runs/1"));
    end();
}

/* Secrets are replaced in the patch; a new file with one is not in it. */
TEST(secrets_stay_out)
{
    begin("printf 'A=1\\nHF_TOKEN=\\n' > env && echo 1 > a");
    shell(&bench.scratch, "cd tree && printf 'A=2\\nHF_TOKEN=hf_abcdef123\\n' > env && printf "
                          "'HF_TOKEN=hf_abcdef123\\n' > .env && printf 'fine\\n' > new");
    record_well();
    CU_ASSERT_FALSE(patch_has("hf_abcdef123"));
    CU_ASSERT_TRUE(patch_has("HF_TOKEN=<redacted>"));
    CU_ASSERT_TRUE(patch_has("+fine"));
    check_left_out(".env: secret, env: redacted");
    check_answer("git add -A && git write-tree", bench.code.tree);
    end();
}

/* What is too large for the patch counts by its name alone; the smallest new files are in it as
 * long as there is room. */
TEST(large_files_stay_out_of_the_patch)
{
    begin("echo 1 > a");
    shell(&bench.scratch, "cd tree && head -c 2000000 /dev/zero | tr '\\0' x > big && head -c "
                          "600000 /dev/zero | tr '\\0' y > half1 && head -c 600001 /dev/zero | "
                          "tr '\\0' z > half2 && echo small > small");
    record_well();
    CU_ASSERT_TRUE(patch_has("+small"));
    CU_ASSERT_TRUE(patch_has("half1"));
    CU_ASSERT_FALSE(patch_has("half2"));
    CU_ASSERT_TRUE(bench.code.patch.len <= JR_PATCH_MOST);
    CU_ASSERT_EQUAL(bench.code.left_out_count, 2);
    check_answer("git add -A && git write-tree", bench.code.tree);
    end();
}

/* More than can be read before each run is refused, with what is largest. */
TEST(too_much_is_refused)
{
    begin("echo 1 > a");
    shell(&bench.scratch, "cd tree && truncate -s 200M one && truncate -s 60M "
                          "two && for i in 1 2 3 4; do echo > $i; done");
    CU_ASSERT_EQUAL(record(), -1);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(bench.err.text, "260.0 MiB of files are changed or not tracked, more than 256 MiB: "
                               "one (200.0 MiB), two (60.0 MiB), 4 (0.0 MiB), 3 (0.0 MiB), 2 (0.0 "
                               "MiB) and 1 more; name what is no code in .gitignore"));
    CU_ASSERT_TRUE(bench.code.listed);
    check_answer("git rev-parse HEAD", bench.code.commit);
    JR_ASSERT_TEXT(bench.code.tree, "");
    end();
}

/* Links out of the tree, and repositories in it that are not tracked, are said. */
TEST(says_what_is_not_recorded)
{
    begin("echo 1 > a && ln -s /etc/hosts out && ln -s a in");
    shell(&bench.scratch, "cd tree && ln -s ../answer new && mkdir other && cd other && git "
                          "init -q . && echo 1 > x && " COMMIT " && touch ../../answer");
    record_well();
    check_left_out("other: repository, out: link, new: link");
    end();
}

/* A submodule counts by the tree of its files, in its patch under its path. */
TEST(a_submodule_counts_by_its_files)
{
    begin("mkdir sub && cd sub && git init -q . && echo 1 > x && " COMMIT " && cd ..");
    shell(&bench.scratch, "cd tree/sub && echo 2 > x");
    record_well();
    CU_ASSERT_TRUE(bench.code.dirty);
    CU_ASSERT_TRUE(patch_has("sub/x"));
    CU_ASSERT_TRUE(patch_has("+2"));
    char first[JR_GIT_HASH];
    (void)snprintf(first, sizeof first, "%s", bench.code.tree);
    jr_run_tree_release(&bench.code);
    shell(&bench.scratch, "cd tree/sub && " COMMIT);
    record_well();
    JR_ASSERT_TEXT(bench.code.tree, first); /* wherever its commit is */
    end();
}

/* What a copy is made of: tracked files, new ones without secrets, and links for what is ignored,
 * but for caches and the log_dir. */
TEST(lists_what_a_copy_is_made_of)
{
    char log_dir[80];
    begin("printf 'data/\\n*.bin\\nruns\\n__pycache__\\n*.pyc\\n' > .gitignore "
          "&& mkdir d && echo 1 > d/a && echo 1 > gone");
    shell(&bench.scratch, "cd tree && mkdir -p data d/__pycache__ runs/1 && echo 1 > data/x && "
                          "echo 1 > d/y.bin && echo 1 > d/__pycache__/z && echo 1 > a.pyc && "
                          "echo 1 > runs/1/out && echo 1 > new && rm gone && printf "
                          "'HF_TOKEN=hf_abcdef123\\n' > .env");
    (void)snprintf(log_dir, sizeof log_dir, "%s/runs", bench.top);
    bench.request.log_dir = log_dir;
    bench.request.whole = true;
    record_well();
    check_paths(&bench.code.files, "new, .gitignore, d/a, gone");
    check_paths(&bench.code.links, "d/y.bin, data/");
    jr_run_tree_release(&bench.code);
    bench.request.whole = false;
    record_well();
    CU_ASSERT_EQUAL(bench.code.files.len + bench.code.links.len, 0);
    end();
}

/* Without a scratch folder the files are only listed. */
TEST(lists_without_writing)
{
    begin("echo 1 > a");
    shell(&bench.scratch, "cd tree && echo 2 > a && echo 1 > b");
    bench.request.scratch = NULL;
    bench.request.whole = true;
    CU_ASSERT_EQUAL(record(), 0);
    CU_ASSERT_TRUE(bench.code.listed);
    CU_ASSERT_TRUE(bench.code.changed);
    JR_ASSERT_TEXT(bench.code.tree, "");
    CU_ASSERT_EQUAL(bench.code.patch.len, 0);
    check_paths(&bench.code.files, "b, a");
    end();
}

/* The scratch folder has to be new, and nothing is left in it. */
TEST(needs_a_new_scratch_folder)
{
    begin("echo 1 > a");
    shell(&bench.scratch, "mkdir git");
    CU_ASSERT_EQUAL(record(), -1);
    CU_ASSERT_EQUAL(bench.err.sys, EEXIST);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, bench.below));
    end();
}

/* A repository whose files are elsewhere, or that git cannot read, is an error that names it; the
 * commit is known all the same. */
TEST(a_broken_repository_is_an_error)
{
    begin("echo 1 > a");
    shell(&bench.scratch, "mkdir elsewhere && cd tree && git config core.worktree "
                          "\"$PWD/../elsewhere\"");
    CU_ASSERT_EQUAL(record(), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, "core.worktree"));
    end();
    begin("echo 1 > a");
    shell(&bench.scratch, "cd tree && printf '[x' >> .git/config");
    CU_ASSERT_EQUAL(record(), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, bench.top));
    CU_ASSERT_TRUE(bench.code.work_tree);
    CU_ASSERT_EQUAL(strlen(bench.code.commit), 40);
    end();
}

/* A git that never ends is killed, and an error of its own. */
TEST(has_a_limit)
{
    char path[128];
    char *const envp[] = {path, NULL};
    begin("echo 1 > a");
    shell(&bench.scratch, "mkdir bin && printf '#!/bin/sh\nexec sleep 3600\n' > bin/git && "
                          "chmod 755 bin/git");
    (void)snprintf(path, sizeof path, "PATH=%s/bin:/usr/bin:/bin", bench.scratch.dir);
    bench.request.envp = envp;
    bench.request.limit_ms = 1;
    CU_ASSERT_EQUAL(record(), -1);
    CU_ASSERT_EQUAL(bench.err.sys, ETIMEDOUT);
    JR_ASSERT_TEXT(bench.code.tree, "");
    struct stat st;
    CU_ASSERT_NOT_EQUAL(stat(bench.below, &st), 0);
    end();
}

/* Nothing that the repository configures is executed: neither when it is recorded nor when it is
 * made once more. */
TEST(executes_nothing)
{
    struct jr_buf files = JR_BUF_INIT;
    begin("echo '*.txt filter=x' > .gitattributes && echo 1 > a.txt");
    shell(&bench.scratch, "cd tree && git config filter.x.clean 'touch ../../ran; cat' && git "
                          "config filter.x.smudge 'touch \"$HOME/ran\"; cat' && printf "
                          "'#!/bin/sh\\ntouch %s/ran\\n' \"$HOME\" >.git/hooks/post-checkout && "
                          "chmod +x .git/hooks/post-checkout && git config core.fsmonitor 'touch "
                          "../ran' && printf '#!/bin/sh\\ntouch "
                          "../ran\\n' > .git/hooks/post-index-change && chmod +x "
                          ".git/hooks/post-index-change && echo 22 > a.txt");
    record_well();
    CU_ASSERT_TRUE(patch_has("+22"));
    CU_ASSERT_EQUAL(rebuild(&files, NULL), 0);
    jr_buf_release(&files);
    struct stat st;
    CU_ASSERT_NOT_EQUAL(fstatat(bench.scratch.fd, "ran", &st, 0), 0);
    end();
}

static const char *const rebuilt[] = {
    "true",
    "echo 2 > a",
    "rm a",
    "chmod 755 d/b",
    "echo 3 > 'new file'",
    ": > empty",
    "rm a && ln -s d/b a",
    "printf 'no end' > a",
    "printf 'a\\r\\nb\\r\\n' > a && printf 'x \\n\\t\\n' > blanks",
    "rm -r d && head -c 5000 /dev/zero > 'new x'",
};

TEST(makes_the_tree_once_more)
{
    for (size_t i = 0; i < sizeof rebuilt / sizeof *rebuilt; i++) {
        struct jr_buf files = JR_BUF_INIT;
        char text[256];
        begin("mkdir d && echo 1 > a && echo 2 > d/b");
        (void)snprintf(text, sizeof text, "cd tree && { %s; }", rebuilt[i]);
        shell(&bench.scratch, text);
        record_well();
        /* Whatever has become of it meanwhile. */
        shell(&bench.scratch, "cp -a tree before && rm -rf before/.git && cd "
                              "tree && rm -rf a d && " COMMIT);
        int result = rebuild(&files, NULL);
        if (result != 0)
            printf("\n    %s: %s", rebuilt[i], bench.err.text);
        CU_ASSERT_EQUAL(result, 0);
        shell(&bench.scratch, "diff -r --no-dereference before again/tree");
        jr_buf_release(&files);
        end();
    }
}

TEST(lists_what_it_has_made)
{
    struct jr_buf files = JR_BUF_INIT;
    begin("mkdir d && echo 1 > a && echo 2 > d/b");
    shell(&bench.scratch, "cd tree && echo 3 > c");
    record_well();
    char before[128];
    ask(state, before, sizeof before);
    CU_ASSERT_EQUAL(rebuild(&files, NULL), 0);
    check_paths(&files, "a, c, d/b");
    check_answer(state, before); /* nothing is written to the repository */
    jr_buf_release(&files);
    end();
}

/* What did not count is made, but is not held to the name. */
TEST(makes_what_did_not_count)
{
    struct jr_buf files = JR_BUF_INIT;
    char spec[80];
    begin("echo 1 > a && echo 1 > spec.yaml");
    (void)snprintf(spec, sizeof spec, "%s/spec.yaml", bench.top);
    char *aside[] = {spec, NULL};
    bench.request.files = aside;
    record_well();
    CU_ASSERT_EQUAL(rebuild(&files, aside), 0);
    check_paths(&files, "a, spec.yaml");
    jr_buf_release(&files);
    shell(&bench.scratch, "rm -r again");
    files = JR_BUF_INIT;
    CU_ASSERT_EQUAL(rebuild(&files, NULL), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, "make another tree"));
    jr_buf_release(&files);
    end();
}

/* What is not made once more: another tree, from what is not there, or out of the tree, which git
 * itself refuses. */
TEST(refuses_to_make_anything_else)
{
    static const struct {
        const char *what, *why;
    } rows[] = {
        {"tree", "make another tree, "},
        {"commit", "the commit of the run: "},
        {"text", "the patch of the run: "},
        {"scratch", "File exists"},
        {"../planted", "the patch of the run: "},
        {".git/hooks/planted", "the patch of the run: "},
        {"main/../../planted", "the patch of the run: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *what = rows[i].what;
        struct jr_buf files = JR_BUF_INIT;
        begin("echo one > a && ln -s a main");
        shell(&bench.scratch, "cd tree && echo two > a");
        record_well();
        if (strcmp(what, "tree") == 0) {
            memcpy(bench.code.tree, "0123456789abcdef", 16);
        } else if (strcmp(what, "commit") == 0) {
            memcpy(bench.code.commit, "0123456789abcdef", 16);
        } else if (strcmp(what, "text") == 0) {
            memcpy(strstr(bench.code.patch.data, "-one"), "-six", 4);
        } else if (strcmp(what, "scratch") == 0) {
            shell(&bench.scratch, "mkdir again");
        } else {
            jr_buf_clear(&bench.code.patch);
            jr_buf_printf(&bench.code.patch,
                          "diff --git a/%s b/%s\nnew file mode 100644\n"
                          "--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+x\n",
                          what, what, what);
        }
        CU_ASSERT_EQUAL(rebuild(&files, NULL), -1);
        if (strstr(bench.err.text, rows[i].why) == NULL)
            printf("\n    %s", bench.err.text);
        CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, rows[i].why));
        CU_ASSERT_TRUE(i != 0 || strstr(bench.err.text, "0123456789ab ") != NULL);
        shell(&bench.scratch, "test ! -e planted && test ! -e again/planted && "
                              "test ! -e tree/.git/hooks/planted");
        jr_buf_release(&files);
        end();
    }
}

/* Stamps: what changes one, and when there is none. */

/* Files are made, and then the clock of files has moved on. */
static void let_clock_go_on(void)
{
    uint64_t until = jr_clock_wall_ns() + 50000000;
    while (jr_clock_wall_ns() < until)
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* Record the tree whole, and make its stamp. */
static bool stamp(uint64_t *ret)
{
    uint64_t now = jr_clock_wall_ns();
    bench.request.whole = true;
    jr_run_tree_release(&bench.code);
    record_well();
    return jr_tree_stamp_make(ret, &bench.code, now);
}

static uint64_t begin_stamped(void)
{
    uint64_t ret = 0;
    begin("mkdir -p a/b/c out data && echo 1 > a/b/c/f && echo 2 > g && echo out >.gitignore && "
          "echo '*.bin' >>.gitignore && echo 3 > data/x.bin");
    let_clock_go_on();
    CU_ASSERT_TRUE_FATAL(stamp(&ret));
    CU_ASSERT_TRUE(jr_tree_stamp_holds(ret, &bench.code));
    return ret;
}

#define COMMIT_ANEW                                                                                \
    "cd tree && git -c user.name=n -c user.email=e@example.org "                                   \
    "commit -q --allow-empty -m m"

TEST(a_stamp_changes_with_every_file)
{
    static const char *const commands[] = {
        "echo 9 > tree/a/b/c/f", /* another text of the same size */
        "echo more >> tree/g",   /* a larger one */
        "touch tree/g",          /* times alone; git is asked again */
        "chmod +x tree/g",       /* its mode */
        "rm tree/a/b/c/f",       /* one less */
        "echo > tree/new",       /* one more, at the top */
        "echo > tree/a/new",     /* where no file lies, only folders */
        "echo > tree/data/new",  /* where only ignored ones lie */
        "mkdir tree/a/b/d",      /* a folder, which may get files */
        "mv tree/g tree/h",      /* another name */
        "ln -sf nothing tree/g", /* a link in its place */
        COMMIT_ANEW /* another commit */};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        uint64_t made = begin_stamped();
        /* What is ignored changes nothing. */
        shell(&bench.scratch,
              "echo > tree/out/new && mkdir tree/out/more && echo 9 > tree/data/x.bin");
        CU_ASSERT_TRUE(jr_tree_stamp_holds(made, &bench.code));
        shell(&bench.scratch, commands[i]);
        bool holds = jr_tree_stamp_holds(made, &bench.code);
        if (holds)
            printf("\n    %s", commands[i]);
        CU_ASSERT_FALSE(holds);
        end();
    }
}

/* A file that was just written may be written again without another time; and there may be no
 * tree. */
TEST(there_may_be_no_stamp)
{
    struct jr_run_tree none = JR_RUN_TREE_INIT;
    uint64_t kept = 7, made = begin_stamped();
    for (int i = 0; i < 10; i++) {
        /* a clock that has moved on meanwhile makes it a good one */
        shell(&bench.scratch, "touch -d '+1 hour' tree/g");
        CU_ASSERT_FALSE(stamp(&kept));
    }
    CU_ASSERT_FALSE(jr_tree_stamp_make(&kept, &none, UINT64_MAX));
    CU_ASSERT_FALSE(jr_tree_stamp_holds(kept, &none));
    CU_ASSERT_EQUAL(kept, 7);
    shell(&bench.scratch, "rm -rf tree");
    CU_ASSERT_FALSE(jr_tree_stamp_holds(made, &bench.code));
    end();
}
