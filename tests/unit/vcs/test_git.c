#include "base/clock.h"
#include "scratch.h"
#include "vcs/git.h"

#define HASH_A "0123456789abcdef0123456789abcdef01234567"
#define HASH_B "89abcdef0123456789abcdef0123456789abcdef"

static char *no_path[] = {NULL};

static void commit_of(const struct scratch *scratch, const char *folder,
                      const char *expected)
{
    struct jr_git git = JR_GIT_INIT;
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", scratch->dir, folder);
    jr_git_start(&git, path, no_path);
    jr_git_finish(&git, 5000);
    JR_ASSERT_TEXT(git.commit, expected);
}

static void make(struct scratch *scratch, const char *folder)
{
    CU_ASSERT_EQUAL(mkdirat(scratch->fd, folder, 0700), 0);
}

static void no_work_tree(void)
{
    struct scratch scratch;
    struct jr_git git = JR_GIT_INIT;
    scratch_start(&scratch);
    jr_git_start(&git, scratch.dir, no_path);
    CU_ASSERT_EQUAL(git.pid, 0);
    jr_git_finish(&git, 0);
    jr_git_finish(&git, 0);
    CU_ASSERT_FALSE(git.dirty_known);
    JR_ASSERT_TEXT(git.commit, "");
    commit_of(&scratch, "none", "");
    scratch_end(&scratch);
}

static void the_commit_is_read_from_files(void)
{
    static const struct {
        const char *head, *loose, *packed, *commit;
    } cases[] = {
        {"", NULL, NULL, ""},
        {"ref: refs/heads/main\n", NULL, NULL, ""},
        {"ref: refs/heads/main\n", "not a hash\n", NULL, ""},
        {"ref: refs/heads/main\n", NULL, HASH_A " refs/heads/main2\n", ""},
        {"ref: refs/heads/.invalid\n", NULL, NULL, ""},
        {HASH_A "\n", NULL, NULL, HASH_A},
        {"ref: refs/heads/main\n", HASH_A "\n", NULL, HASH_A},
        {"ref: refs/heads/main\n", HASH_A "\n", HASH_B " refs/heads/main\n",
         HASH_A},
        {"ref: refs/heads/main\n", NULL,
         "# pack-refs with: peeled\n" HASH_B " refs/heads/a\n" HASH_A
         " refs/heads/main\n^" HASH_B "\n",
         HASH_A},
        {"ref: refs/heads/main\n", NULL, HASH_A " refs/heads/main\n", HASH_A},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct scratch scratch;
        scratch_start(&scratch);
        make(&scratch, ".git");
        make(&scratch, ".git/refs");
        make(&scratch, ".git/refs/heads");
        make(&scratch, "deep");
        make(&scratch, "deep/er");
        scratch_write(&scratch, ".git/HEAD", cases[c].head);
        if (cases[c].loose != NULL)
            scratch_write(&scratch, ".git/refs/heads/main", cases[c].loose);
        if (cases[c].packed != NULL)
            scratch_write(&scratch, ".git/packed-refs", cases[c].packed);
        commit_of(&scratch, "deep/er", cases[c].commit);
        scratch_end(&scratch);
    }
}

static void linked_work_trees_share_the_refs(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    make(&scratch, "main.git");
    make(&scratch, "main.git/worktrees");
    make(&scratch, "main.git/worktrees/w");
    make(&scratch, "w");
    scratch_write(&scratch, "w/.git", "gitdir: ../main.git/worktrees/w\n");
    scratch_write(&scratch, "main.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    scratch_write(&scratch, "main.git/worktrees/w/commondir", "../..\n");
    scratch_write(&scratch, "main.git/packed-refs", HASH_B " refs/heads/w\n");
    commit_of(&scratch, "w", HASH_B);
    scratch_write(&scratch, "w/.git", "junk\n");
    commit_of(&scratch, "w", "");
    scratch_end(&scratch);
}

/* Run git with a home and settings of its own; false where there is none. */
static bool shell(const struct scratch *scratch, const char *command)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "cd '%s' && export HOME=\"$PWD\" GIT_CONFIG_NOSYSTEM=1 && "
                   "{ %s; } >/dev/null 2>&1",
                   scratch->dir, command);
    return system(text) == 0;
}

static void expect_dirty(const struct scratch *scratch, bool dirty)
{
    struct jr_git git = JR_GIT_INIT;
    jr_git_start(&git, scratch->dir, environ);
    CU_ASSERT_TRUE(git.pid > 0);
    jr_git_finish(&git, 20000);
    CU_ASSERT_TRUE(git.dirty_known);
    CU_ASSERT_EQUAL(git.dirty, dirty);
    CU_ASSERT_EQUAL(strlen(git.commit), 40);
    CU_ASSERT_EQUAL(git.pid, 0);
    CU_ASSERT_EQUAL(git.fd, -1);
}

static void tracked_changes_are_dirty(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    scratch_write(&scratch, "spec.yaml", "version: 1\n");
    if (shell(&scratch, "git init -q && git add spec.yaml && "
                        "git -c user.name=n -c user.email=e@example.org "
                        "commit -q -m m")) {
        expect_dirty(&scratch, false);
        scratch_write(&scratch, "untracked", "x");
        expect_dirty(&scratch, false);
        scratch_write(&scratch, "spec.yaml", "version: 1 # changed\n");
        expect_dirty(&scratch, true);
        /* A monitor would run for every status. */
        CU_ASSERT_TRUE(shell(&scratch, "git config core.fsmonitor "
                                    "'touch monitored; false'"));
        expect_dirty(&scratch, true);
        CU_ASSERT_EQUAL(faccessat(scratch.fd, "monitored", F_OK, 0), -1);
    }
    scratch_end(&scratch);
}

/* A git that never ends, as the only one on the PATH. */
static void the_wait_is_bounded(void)
{
    struct scratch scratch;
    struct jr_git git = JR_GIT_INIT;
    scratch_start(&scratch);
    make(&scratch, ".git");
    scratch_write(&scratch, "git", "#!/bin/sh\nexec /bin/sleep 60\n");
    (void)fchmodat(scratch.fd, "git", 0700, 0);
    char *old = strdup(getenv("PATH"));
    (void)setenv("PATH", scratch.dir, 1);
    uint64_t start = jr_clock_ns();
    jr_git_start(&git, scratch.dir, environ);
    CU_ASSERT_TRUE(git.pid > 0);
    jr_git_finish(&git, 50);
    uint64_t took = jr_clock_ns() - start;
    CU_ASSERT_TRUE(took >= 40 * UINT64_C(1000000000) / 1000);
    CU_ASSERT_TRUE(took < 20 * UINT64_C(1000000000));
    CU_ASSERT_FALSE(git.dirty_known);
    (void)unlinkat(scratch.fd, "git", 0);
    jr_git_start(&git, scratch.dir, environ);
    CU_ASSERT_EQUAL(git.pid, 0);
    jr_git_finish(&git, 50);
    (void)setenv("PATH", old, 1);
    free(old);
    scratch_end(&scratch);
}

JR_UNIT_MAIN("git", CASE(no_work_tree), CASE(the_commit_is_read_from_files),
             CASE(linked_work_trees_share_the_refs),
             CASE(tracked_changes_are_dirty), CASE(the_wait_is_bounded))
