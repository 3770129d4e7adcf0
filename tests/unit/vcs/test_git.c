#include <errno.h>

#include "base/buf.h"
#include "scratch.h"
#include "vcs/git.h"

#define HASH_A "0123456789abcdef0123456789abcdef01234567"
#define HASH_B "89abcdef0123456789abcdef0123456789abcdef"

static void commit_of(const struct scratch *scratch, const char *folder, const char *expected)
{
    char path[256], commit[JR_GIT_HASH];
    (void)snprintf(path, sizeof path, "%s/%s", scratch->dir, folder);
    CU_ASSERT_EQUAL(jr_git_commit(commit, path), expected[0] != '\0');
    JR_ASSERT_TEXT(commit, expected);
}

static void make(struct scratch *scratch, const char *folder)
{
    CU_ASSERT_EQUAL(mkdirat(scratch->fd, folder, 0700), 0);
}

static void no_work_tree(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    commit_of(&scratch, ".", "");
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
        {"ref: refs/heads/main\n", HASH_A "\n", HASH_B " refs/heads/main\n", HASH_A},
        {"ref: refs/heads/main\n", NULL,
         "# pack-refs with: peeled\n" HASH_B " refs/heads/a\n" HASH_A " refs/heads/main\n^" HASH_B
         "\n",
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

/* A git that says that it was started, in a folder of the scratch. */
static void make_git(struct scratch *scratch, const char *folder, mode_t mode)
{
    char name[64];
    make(scratch, folder);
    (void)fchmodat(scratch->fd, folder, mode, 0);
    (void)snprintf(name, sizeof name, "%s/git", folder);
    scratch_write(scratch, name, "#!/bin/sh\nexit 42\n");
    (void)fchmodat(scratch->fd, name, 0700, 0);
}

/* `path`, in which @ stands for the scratch folder. */
static int exit_with_path(const struct scratch *scratch, const char *path)
{
    static const char *const words[] = {"status", NULL};
    static const int fds[3] = {-1, -1, -1};
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_replaced(&text, path, "@", scratch->dir);
    char *envp[] = {text.data, NULL};
    pid_t pid = jr_git_spawn(scratch->dir, words, fds, envp);
    int result = pid < 0 ? -errno : jr_git_reap(pid);
    jr_buf_release(&text);
    return result;
}

/* What lies where the repository is, or where everybody may write, is not executed. */
static void git_is_found_in_safe_folders(void)
{
    struct scratch scratch;
    scratch_start(&scratch);
    make_git(&scratch, "safe", 0755);
    make_git(&scratch, "open", 0777);
    CU_ASSERT_EQUAL_FATAL(chdir(scratch.dir), 0);
    CU_ASSERT_EQUAL(exit_with_path(&scratch, "PATH=@/safe"), 42);
    CU_ASSERT_EQUAL(exit_with_path(&scratch, "PATH=@/open:@/safe"), 42);
    CU_ASSERT_EQUAL(exit_with_path(&scratch, "PATH=@/open"), -ENOENT);
    CU_ASSERT_EQUAL(exit_with_path(&scratch, "PATH=safe:./safe"), -ENOENT);
    CU_ASSERT_EQUAL(exit_with_path(&scratch, "PATH="), -ENOENT);
    CU_ASSERT_EQUAL(exit_with_path(&scratch, "P=@"), -ENOENT);
    CU_ASSERT_EQUAL(chdir("/"), 0);
    scratch_end(&scratch);
}

JR_UNIT_MAIN("git", CASE(no_work_tree), CASE(the_commit_is_read_from_files),
             CASE(linked_work_trees_share_the_refs), CASE(git_is_found_in_safe_folders))
