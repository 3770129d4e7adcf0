#include "base/io.h"
#include "deny.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A folder with a file, a folder with a file, and links to both; its descriptor. */
static int make(char folder[static 32])
{
    (void)stpcpy(folder, "/tmp/jobrun beneath XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    (void)mkdirat(fd, "in", 0700);
    (void)close(openat(fd, "file", O_WRONLY | O_CREAT, 0600));
    (void)close(openat(fd, "in/file", O_WRONLY | O_CREAT, 0600));
    (void)symlinkat("in", fd, "link");
    (void)symlinkat("file", fd, "in/link");
    return fd;
}

static void discard(const char *folder)
{
    char command[64];
    (void)snprintf(command, sizeof command, "rm -r '%s'", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

struct attempt {
    const char *path;
    int flags;
    int error; /* 0: it is opened */
};

static const struct attempt attempts[] = {
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

/* How many went otherwise. */
static int try_all(int fd)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        errno = 0;
        int got = jr_open_beneath(fd, attempts[i].path, attempts[i].flags | O_CLOEXEC, 0600);
        int error = got < 0 ? errno : 0;
        if (got >= 0)
            (void)close(got);
        if (error != attempts[i].error)
            (void)printf("%s: %d\n", attempts[i].path, error);
        wrong += error != attempts[i].error;
    }
    return wrong;
}

static void opens_through_no_link_and_never_up(void)
{
    char folder[32];
    int fd = make(folder);
    CU_ASSERT_EQUAL(try_all(fd), 0);
    (void)close(fd);
    discard(folder);
}

/* As older kernels and the seccomp filters of some containers do it. */
static bool forbid_openat2(unsigned error)
{
    const struct deny_call calls[] = {{SYS_openat2, error}};
    return deny(calls, 1) && syscall(SYS_openat2, -1, "x", NULL, 0) < 0 && errno == (int)error;
}

static void does_so_without_openat2(void)
{
    static const unsigned errors[] = {ENOSYS, EPERM};
    for (size_t i = 0; i < 2; i++) {
        char folder[32];
        int fd = make(folder), status = -1;
        pid_t child = fork();
        if (child == 0)
            _exit(forbid_openat2(errors[i]) ? try_all(fd) : 99);
        CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
        CU_ASSERT_EQUAL(status, 0);
        (void)close(fd);
        discard(folder);
    }
}

static void opens_the_folder_above(void)
{
    char folder[32];
    const char *name;
    struct stat st;
    int fd = make(folder);
    static const char *const paths[] = {"file", "in/file"};
    for (size_t i = 0; i < 2; i++) {
        int above = jr_open_above(fd, paths[i], &name);
        CU_ASSERT_TRUE(above >= 0);
        JR_ASSERT_TEXT(name, "file");
        CU_ASSERT_EQUAL(fstatat(above, name, &st, 0), 0);
        (void)close(above);
    }
    CU_ASSERT_EQUAL(jr_open_above(fd, "link/file", &name), -1);
    CU_ASSERT_EQUAL(errno, ELOOP);
    (void)close(fd);
    discard(folder);
}

JR_UNIT_MAIN("beneath", CASE(opens_through_no_link_and_never_up), CASE(does_so_without_openat2),
             CASE(opens_the_folder_above))
