#include "base/io.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"

#include "deny.h"
#include "scratch.h"

static struct scratch scratch;

/* A folder with a file, a folder with a file, and links to both. */
static void make_tree(void)
{
    scratch_start(&scratch);
    CU_ASSERT_EQUAL_FATAL(mkdirat(scratch.fd, "in", 0700), 0);
    scratch_write(&scratch, "file", "");
    scratch_write(&scratch, "in/file", "");
    CU_ASSERT_EQUAL(symlinkat("in", scratch.fd, "link"), 0);
    CU_ASSERT_EQUAL(symlinkat("file", scratch.fd, "in/link"), 0);
}

/* How many are not opened, or refused with an errno, as they should. */
static int try_beneath(void)
{
    static const struct {
        const char *path;
        int flags, error;
    } attempts[] = {
        {"file", O_RDONLY, 0},
        {"in/file", O_RDONLY, 0},
        {"in/new", O_WRONLY | O_CREAT | O_EXCL, 0},
        {"in/new", O_WRONLY | O_CREAT | O_EXCL, EEXIST},
        {"in/link", O_WRONLY | O_CREAT | O_EXCL, EEXIST},
        {"in", O_RDONLY | O_DIRECTORY, 0},
        {"none", O_RDONLY, ENOENT},
        {"none/file", O_RDONLY, ENOENT},
        {"in/link", O_RDONLY, ELOOP},
        {"in/link", O_WRONLY | O_CREAT, ELOOP},
        {"link/file", O_RDONLY, ELOOP},
        {"link/new", O_WRONLY | O_CREAT, ELOOP},
        {"file/x", O_RDONLY, ENOTDIR},
        {"../file", O_RDONLY, EXDEV},
        {"in/../../file", O_RDONLY, EXDEV},
        {"..", O_RDONLY, EXDEV},
        {"in//file", O_RDONLY, 0},
        {"in/", O_RDONLY | O_DIRECTORY, 0},
        {"in/", O_RDONLY, 0},
        {"file/", O_RDONLY, ENOTDIR},
        {"link/", O_RDONLY, ELOOP},
        {"/", O_RDONLY, EXDEV},
        {"/tmp", O_RDONLY, EXDEV},
        {"", O_RDONLY, ENOENT},
    };
    int wrong = 0;
    JR_EACH(row, attempts) {
        JR_CLOSE int got = jr_open_beneath(scratch.fd, row->path, row->flags | O_CLOEXEC, 0600);
        int error = got < 0 ? errno : 0;
        if (error != row->error)
            (void)printf("%s: %d\n", row->path, error);
        wrong += error != row->error;
    }
    return wrong;
}

/* Also as older kernels and the seccomp filters of some containers have it, without openat2. */
TEST(opens_through_no_link_and_never_up)
{
    static const unsigned errors[] = {0, ENOSYS, EPERM};
    JR_EACH(error, errors) {
        int status = -1;
        make_tree();
        pid_t child = fork();
        if (child == 0) {
            const struct deny_call calls[] = {{SYS_openat2, *error}};
            bool denied =
                *error == 0 || (deny(calls, 1) && syscall(SYS_openat2, -1, "x", NULL, 0) < 0 &&
                                errno == (int)*error);
            _exit(denied ? try_beneath() : 99);
        }
        CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
        CU_ASSERT_EQUAL(status, 0);
        scratch_end(&scratch);
    }
}

TEST(opens_the_folder_above)
{
    static const char *const paths[] = {"file", "in/file"};
    const char *name;
    struct stat st;
    make_tree();
    JR_EACH(path, paths) {
        JR_CLOSE int above = jr_open_above(scratch.fd, *path, &name);
        JR_ASSERT_TEXT(name, "file");
        CU_ASSERT_EQUAL(fstatat(above, name, &st, 0), 0);
    }
    CU_ASSERT_EQUAL(jr_open_above(scratch.fd, "link/file", &name), -1);
    CU_ASSERT_EQUAL(errno, ELOOP);
    scratch_end(&scratch);
}
