#include "repository.h"
#include "vcs/revision.h"

/* Two commits: the files of the first are not there any more. */
static void make(struct scratch *scratch)
{
    scratch_start(scratch);
    shell(scratch, "mkdir -p 'sub/a b' && cd sub && printf one >x.yaml && printf two >'a "
                   "b/y\tz.yaml' && : >empty && head -c 100000 /dev/zero >big && ln -s x.yaml "
                   "link && printf \"it's\" >\"$(printf 'n\\nl')\"");
    shell(scratch, "git init -q . && " COMMIT " && git tag old");
    shell(scratch, "rm -rf sub && printf new >x.yaml && " COMMIT);
}

static void expect(struct jr_revision *rev, const char *path, const char *text)
{
    struct jr_buf got = JR_BUF_INIT;
    struct jr_error err = {0};
    CU_ASSERT_EQUAL(jr_revision_read(rev, path, 1000, &got, &err), 0);
    JR_ASSERT_TEXT(got.len == 0 ? "" : got.data, text);
    jr_buf_release(&got);
}

static void refuse(struct jr_revision *rev, const char *path, const char *why)
{
    struct jr_buf got = JR_BUF_INIT;
    struct jr_error err = {0};
    CU_ASSERT_EQUAL(jr_revision_read(rev, path, 1000, &got, &err), -1);
    if (strstr(err.text, why) == NULL)
        printf("\n  %s", err.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
    jr_buf_release(&got);
}

TEST(reads_what_is_gone)
{
    static const char *const paths[] = {"sub/a b/y\tz.yaml", "sub/big", "sub/empty", "sub/n\nl",
                                        "sub/x.yaml"};
    struct scratch scratch;
    struct jr_revision *rev = NULL;
    struct jr_error err = {0};
    char folder[128];
    make(&scratch);
    shell(&scratch, "mkdir -p deep/er");
    (void)snprintf(folder, sizeof folder, "%s/deep/er", scratch.dir);
    CU_ASSERT_EQUAL_FATAL(jr_revision_open(&rev, folder, "old", environ, &err), 0);
    JR_ASSERT_TEXT(jr_revision_name(rev), "old");
    JR_ASSERT_TEXT(jr_revision_top(rev), scratch.dir);
    CU_ASSERT_EQUAL_FATAL(jr_revision_count(rev), sizeof paths / sizeof *paths);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        JR_ASSERT_TEXT(jr_revision_path(rev, i), paths[i]);
    expect(rev, "sub/x.yaml", "one");
    refuse(rev, "sub/link", "No such file");
    refuse(rev, "x.yaml", "old:x.yaml: No such file");
    expect(rev, "sub/empty", "");
    expect(rev, "sub/n\nl", "it's");
    refuse(rev, "sub/big", "larger than 1000 bytes");
    expect(rev, "sub/a b/y\tz.yaml", "two");
    expect(rev, "sub/x.yaml", "one");
    CU_ASSERT_TRUE(jr_revision_has(rev, "sub/big"));
    CU_ASSERT_FALSE(jr_revision_has(rev, "sub"));
    jr_revision_close(rev);
    scratch_end(&scratch);
}

TEST(refuses_what_is_no_commit)
{
    static const char *const names[] = {"", "-r", "--help", "nosuch", "old:sub", "HEAD~7"};
    struct scratch scratch;
    make(&scratch);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct jr_revision *rev = NULL;
        struct jr_error err = {0};
        CU_ASSERT_EQUAL(jr_revision_open(&rev, scratch.dir, names[i], environ, &err), -1);
        CU_ASSERT_PTR_NULL(rev);
        CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
        CU_ASSERT_TRUE(strlen(err.text) > 0);
    }
    scratch_end(&scratch);
    scratch_start(&scratch);
    struct jr_revision *rev = NULL;
    struct jr_error err = {0};
    CU_ASSERT_EQUAL(jr_revision_open(&rev, scratch.dir, "HEAD", environ, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no git repository"));
    jr_revision_close(NULL);
    scratch_end(&scratch);
}

/* What the environment or the repository tells git to do is not done. */
TEST(runs_nothing_of_others)
{
    struct scratch scratch;
    struct jr_revision *rev = NULL;
    struct jr_error err = {0};
    make(&scratch);
    shell(&scratch, "git config core.fsmonitor 'touch monitored; false' && git config core.pager "
                    "'touch paged' && mkdir -p .git/hooks && printf '#!/bin/sh\\ntouch "
                    "hooked\\n' >.git/hooks/post-checkout && chmod +x .git/hooks/post-checkout");
    (void)setenv("GIT_DIR", "/nonexistent", 1);
    CU_ASSERT_EQUAL_FATAL(jr_revision_open(&rev, scratch.dir, "old", environ, &err), 0);
    (void)unsetenv("GIT_DIR");
    expect(rev, "sub/x.yaml", "one");
    jr_revision_close(rev);
    shell(&scratch, "! ls -a | grep -E 'monitored|paged|hooked'");
    scratch_end(&scratch);
}

/* A git that breaks off in the middle of an answer, and none at all. */
TEST(a_broken_git_is_an_error)
{
    struct scratch scratch;
    struct jr_revision *rev = NULL;
    struct jr_error err = {0};
    make(&scratch);
    scratch_write(&scratch, "git",
                  "#!/bin/sh\ncase \"$*\" in\n"
                  "*ls-tree*) printf '100644 blob abc\\tx.yaml\\0';;\n"
                  "*) read -r line; printf 'abc blob 10\\nhalf';;\nesac\n");
    (void)fchmodat(scratch.fd, "git", 0700, 0);
    char *old = strdup(getenv("PATH"));
    (void)setenv("PATH", scratch.dir, 1);
    CU_ASSERT_EQUAL_FATAL(jr_revision_open(&rev, scratch.dir, "old", environ, &err), 0);
    refuse(rev, "x.yaml", "broke off");
    jr_revision_close(rev);
    (void)unlinkat(scratch.fd, "git", 0);
    CU_ASSERT_EQUAL(jr_revision_open(&rev, scratch.dir, "old", environ, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    (void)setenv("PATH", old, 1);
    free(old);
    scratch_end(&scratch);
}
