#include "git.h"
#include "clock.h"
#include "fake.h"

#define HASH_A "0123456789abcdef0123456789abcdef01234567"
#define HASH_B "89abcdef0123456789abcdef0123456789abcdef"

static char *no_path[] = {NULL};

static void commit_of(const struct fake *fake, const char *folder,
                      const char *expected)
{
    struct jr_git git = JR_GIT_INIT;
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", fake->dir, folder);
    jr_git_start(&git, path, no_path);
    jr_git_finish(&git, 5000);
    JR_ASSERT_TEXT(git.commit, expected);
}

static void make(struct fake *fake, const char *folder)
{
    CU_ASSERT_EQUAL(mkdirat(fake->fd, folder, 0700), 0);
}

static void no_work_tree(void)
{
    struct fake fake;
    struct jr_git git = JR_GIT_INIT;
    fake_start(&fake, 1);
    jr_git_start(&git, fake.dir, no_path);
    CU_ASSERT_EQUAL(git.pid, 0);
    jr_git_finish(&git, 0);
    jr_git_finish(&git, 0);
    CU_ASSERT_FALSE(git.dirty_known);
    JR_ASSERT_TEXT(git.commit, "");
    commit_of(&fake, "attempt_0/0", "");
    fake_end(&fake);
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
        struct fake fake;
        fake_start(&fake, 1);
        make(&fake, ".git");
        make(&fake, ".git/refs");
        make(&fake, ".git/refs/heads");
        make(&fake, "deep");
        make(&fake, "deep/er");
        fake_write(&fake, ".git/HEAD", cases[c].head);
        if (cases[c].loose != NULL)
            fake_write(&fake, ".git/refs/heads/main", cases[c].loose);
        if (cases[c].packed != NULL)
            fake_write(&fake, ".git/packed-refs", cases[c].packed);
        commit_of(&fake, "deep/er", cases[c].commit);
        fake_end(&fake);
    }
}

static void linked_work_trees_share_the_refs(void)
{
    struct fake fake;
    fake_start(&fake, 1);
    make(&fake, "main.git");
    make(&fake, "main.git/worktrees");
    make(&fake, "main.git/worktrees/w");
    make(&fake, "w");
    fake_write(&fake, "w/.git", "gitdir: ../main.git/worktrees/w\n");
    fake_write(&fake, "main.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    fake_write(&fake, "main.git/worktrees/w/commondir", "../..\n");
    fake_write(&fake, "main.git/packed-refs", HASH_B " refs/heads/w\n");
    commit_of(&fake, "w", HASH_B);
    fake_write(&fake, "w/.git", "junk\n");
    commit_of(&fake, "w", "");
    fake_end(&fake);
}

/* Run git with a home and settings of its own; false where there is none. */
static bool shell(const struct fake *fake, const char *command)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "cd '%s' && export HOME=\"$PWD\" GIT_CONFIG_NOSYSTEM=1 && "
                   "{ %s; } >/dev/null 2>&1",
                   fake->dir, command);
    return system(text) == 0;
}

static void expect_dirty(const struct fake *fake, bool dirty)
{
    struct jr_git git = JR_GIT_INIT;
    jr_git_start(&git, fake->dir, environ);
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
    struct fake fake;
    fake_start(&fake, 1);
    fake_write(&fake, "spec.yaml", "version: 1\n");
    if (shell(&fake, "git init -q && git add spec.yaml && git -c user.name=n "
                     "-c user.email=e@example.org commit -q -m m")) {
        expect_dirty(&fake, false);
        fake_write(&fake, "untracked", "x");
        expect_dirty(&fake, false);
        fake_write(&fake, "spec.yaml", "version: 1 # changed\n");
        expect_dirty(&fake, true);
        /* A monitor would run for every status. */
        CU_ASSERT_TRUE(shell(&fake, "git config core.fsmonitor "
                                    "'touch monitored; false'"));
        expect_dirty(&fake, true);
        CU_ASSERT_EQUAL(faccessat(fake.fd, "monitored", F_OK, 0), -1);
    }
    fake_end(&fake);
}

/* A git that never ends, as the only one on the PATH. */
static void the_wait_is_bounded(void)
{
    struct fake fake;
    struct jr_git git = JR_GIT_INIT;
    fake_start(&fake, 1);
    make(&fake, ".git");
    fake_write(&fake, "git", "#!/bin/sh\nexec /bin/sleep 60\n");
    (void)fchmodat(fake.fd, "git", 0700, 0);
    char *old = strdup(getenv("PATH"));
    (void)setenv("PATH", fake.dir, 1);
    uint64_t start = jr_clock_ns();
    jr_git_start(&git, fake.dir, environ);
    CU_ASSERT_TRUE(git.pid > 0);
    jr_git_finish(&git, 50);
    uint64_t took = jr_clock_ns() - start;
    CU_ASSERT_TRUE(took >= 40 * FAKE_SECOND / 1000);
    CU_ASSERT_TRUE(took < 20 * FAKE_SECOND);
    CU_ASSERT_FALSE(git.dirty_known);
    (void)unlinkat(fake.fd, "git", 0);
    jr_git_start(&git, fake.dir, environ);
    CU_ASSERT_EQUAL(git.pid, 0);
    jr_git_finish(&git, 50);
    (void)setenv("PATH", old, 1);
    free(old);
    fake_end(&fake);
}

JR_UNIT_MAIN("git", CASE(no_work_tree), CASE(the_commit_is_read_from_files),
             CASE(linked_work_trees_share_the_refs),
             CASE(tracked_changes_are_dirty), CASE(the_wait_is_bounded))
