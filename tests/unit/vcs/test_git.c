/* The commit of a work tree, and a git process, with a shell script in git's place: how it is
 * asked, what it complains about, and that it always ends. */
#include "vcs/git.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "scratch.h"

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

TEST(no_work_tree)
{
    struct scratch scratch;
    scratch_start(&scratch);
    commit_of(&scratch, ".", "");
    commit_of(&scratch, "none", "");
    scratch_end(&scratch);
}

TEST(the_commit_is_read_from_files)
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

TEST(linked_work_trees_share_the_refs)
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

/* How a run of `words` ended, with git's complaint. `path` is its PATH, in which @ stands for the
 * scratch folder. */
static int run_git(const struct scratch *scratch, const char *path, struct jr_buf *out,
                   struct jr_error *ret_why, const struct jr_task_limit *limit)
{
    static const char *const words[] = {"status", "--one", "a b", NULL};
    const struct jr_task_limit minute = {jr_clock_ns() + UINT64_C(60000000000), -1};
    const struct jr_task_sink sink = {out == NULL ? NULL : jr_git_keep, out};
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_replaced(&text, path, "@", scratch->dir);
    char *envp[] = {text.data, (char *)"GIT_DIR=/elsewhere", (char *)"SSH_ASKPASS=x", NULL};
    const struct jr_git_command command = {.folder = "/etc", .words = words, .envp = envp};
    *ret_why = (struct jr_error){0};
    int failed = jr_git_run(&command, NULL, &sink, limit == NULL ? &minute : limit, ret_why);
    jr_buf_release(&text);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left */
    CU_ASSERT_EQUAL(errno, ECHILD);
    return failed;
}

/* What lies where the repository is, or where everybody may write, is not executed. */
TEST(git_is_found_in_safe_folders)
{
    static const struct {
        const char *path;
        bool found;
    } cases[] = {
        {"PATH=@/safe", true},  {"PATH=@/open:@/safe", true},
        {"PATH=@/open", false}, {"PATH=safe:./safe", false},
        {"PATH=", false},       {"P=@", false},
    };
    struct scratch scratch;
    struct jr_error why;
    scratch_start(&scratch);
    make_git(&scratch, "safe", 0755);
    make_git(&scratch, "open", 0777);
    CU_ASSERT_EQUAL_FATAL(chdir(scratch.dir), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_EQUAL(run_git(&scratch, cases[i].path, NULL, &why, NULL), -1);
        CU_ASSERT_EQUAL(why.sys, cases[i].found ? 0 : ENOENT);
        JR_ASSERT_TEXT(why.text,
                       cases[i].found
                           ? "git gave no reason"
                           : "no git program was found (jobrun looks only in absolute folders of "
                             "the PATH that not everybody may write to)");
    }
    CU_ASSERT_EQUAL(chdir("/"), 0);
    scratch_end(&scratch);
}

/* What a script in git's place prints, or is said to be wrong. */
TEST(answers_or_complains)
{
    static const struct {
        const char *text, *out, *why;
        int sys;
    } cases[] = {
        /* In the folder, with the words last, and an environment that asks nobody. */
        {"echo \"$1 $2\"; while [ \"$1\" != status ]; do shift; done; echo \"$#|$1|$2|$3\"",
         "-C /etc\n3|status|--one|a b\n", "", 0},
        {"echo \"$GIT_DIR|$SSH_ASKPASS|$GIT_TERMINAL_PROMPT|$LC_ALL\"; read a || echo none",
         "||0|C\nnone\n", "", 0},
        {"echo 'fatal: not really' >&2; echo out", "out\n", "", 0},
        {"exit 1", "", "git gave no reason", 0},
        {"echo out; exit 1", "out\n", "git gave no reason", 0},
        {"echo 'not a tree' >&2; exit 128", "", "not a tree", 0},
        {"echo 'fatal: not a tree' >&2; exit 128", "", "not a tree", 0},
        {"echo 'error: no object' >&2; exit 1", "", "no object", 0},
        {"echo warning >&2; echo 'fatal: bad' >&2; exit 1", "", "bad", 0},
        {"echo 'fatal: bad' >&2; echo hint >&2; exit 1", "", "bad", 0},
        {"printf 'fatal: no end' >&2; exit 1", "", "no end", 0},
        {"printf 'fatal: a\\033[2Jb' >&2; exit 1", "", "a\\x1b[2Jb", 0},
        {"kill -9 $$", "", "git gave no reason", 0},
        {"head -c 100000 /dev/zero | tr '\\0' x >&2; echo >&2; echo 'fatal: last' >&2; exit 1", "",
         "last", 0},
        {"exec cat /dev/zero", NULL, "git printed too much", ECANCELED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scratch scratch;
        struct jr_buf out = JR_BUF_INIT;
        struct jr_error why;
        char script[512];
        scratch_start(&scratch);
        make_git(&scratch, "bin", 0755);
        (void)snprintf(script, sizeof script, "#!/bin/sh\nPATH=/bin:/usr/bin\n%s\n", cases[i].text);
        scratch_write(&scratch, "bin/git", script);
        CU_ASSERT_EQUAL(run_git(&scratch, "PATH=@/bin", &out, &why, NULL),
                        cases[i].why[0] == '\0' ? 0 : -1);
        JR_ASSERT_TEXT(why.text, cases[i].why);
        CU_ASSERT_EQUAL(why.sys, cases[i].sys);
        if (cases[i].out != NULL)
            JR_ASSERT_TEXT(out.len == 0 ? "" : out.data, cases[i].out);
        jr_buf_release(&out);
        scratch_end(&scratch);
    }
}

/* It is ended where it takes too long, or as soon as somebody says so; and one that is on its way
 * can be cancelled. */
TEST(always_ends)
{
    const char *words[] = {"status", NULL};
    struct scratch scratch;
    struct jr_error why;
    struct jr_task task;
    struct jr_buf failed = {.failed = true};
    int pair[2];
    scratch_start(&scratch);
    make_git(&scratch, "bin", 0755);
    scratch_write(&scratch, "bin/git", "#!/bin/sh\nexec /bin/sleep 1000\n");
    const struct jr_task_limit now = {jr_clock_ns(), -1};
    CU_ASSERT_EQUAL(run_git(&scratch, "PATH=@/bin", NULL, &why, &now), -1);
    CU_ASSERT_EQUAL(why.sys, ETIMEDOUT);
    JR_ASSERT_TEXT(why.text, "git did not finish in time");
    CU_ASSERT_EQUAL(pipe(pair), 0);
    CU_ASSERT_EQUAL(write(pair[1], "s", 1), 1);
    const struct jr_task_limit told = {0, pair[0]};
    CU_ASSERT_EQUAL(run_git(&scratch, "PATH=@/bin", NULL, &why, &told), -1);
    CU_ASSERT_EQUAL(why.sys, EINTR);
    JR_ASSERT_TEXT(why.text, "git was stopped by a signal");
    (void)close(pair[0]);
    (void)close(pair[1]);
    char path[128];
    (void)snprintf(path, sizeof path, "PATH=%s/bin", scratch.dir);
    char *envp[] = {path, NULL};
    const struct jr_git_command command = {.folder = "/etc", .words = words, .envp = envp};
    CU_ASSERT_EQUAL(jr_git_begin(&task, &command, NULL, &why), 0);
    CU_ASSERT_EQUAL(getpgid(task.pid), task.pid);
    jr_task_cancel(&task);
    CU_ASSERT_EQUAL(jr_git_begin(&task, &command, &failed, &why), -1);
    CU_ASSERT_EQUAL(why.sys, ENOMEM);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
    scratch_end(&scratch);
}
