/* Descriptors that are closed or marked by their range, by close_range(2) and without it. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/subprocess.h"
#include "base/syscalls.h"

#include "deny.h"
#include "unit.h"

enum { LAST = 1500, FROM = 20 };

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static bool is_marked(int fd)
{
    return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

/* More of them than fit into one read of the list. */
static void open_many(void)
{
    const struct rlimit limit = {LAST + 100, LAST + 100};
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    int null = open("/dev/null", O_RDONLY);
    for (int fd = FROM; fd <= LAST; fd++)
        if (dup2(null, fd) < 0)
            _exit(98);
}

static int count_open(int first, int last)
{
    int count = 0;
    for (int fd = first; fd <= last; fd++)
        count += is_open(fd);
    return count;
}

/* Another thread of control with the same table. */
static int wait_a_little(void *pipe)
{
    char byte;
    (void)!read(*(int *)pipe, &byte, 1);
    return count_open(FROM, LAST) == LAST - FROM + 1 ? 0 : 1;
}

/* What is wrong, as the bits of an exit code. */
static int try_ranges(void)
{
    int wrong = 0;
    static char stack[65536];
    int ends[2], status = -1;
    open_many();
    wrong |= (jr_close_range(1000, 1099, JR_CLOSE_RANGE_CLOEXEC) != 0 || !is_marked(1000) ||
              !is_marked(1099) || is_marked(999) || is_marked(1100) ||
              count_open(FROM, LAST) != LAST - FROM + 1)
             << 0;
    if (pipe(ends) != 0)
        return 98;
    pid_t sharer = clone(wait_a_little, stack + sizeof stack, CLONE_FILES | SIGCHLD, &ends[0]);
    wrong |= (jr_close_range(1200, ~0U, JR_CLOSE_RANGE_UNSHARE) != 0 ||
              count_open(FROM, LAST) != 1200 - FROM)
             << 1;
    (void)!write(ends[1], "", 1);
    wrong |= (sharer < 0 || waitpid(sharer, &status, 0) != sharer || status != 0) << 2;
    wrong |=
        (jr_close_range(FROM, 500, 0) != 0 || count_open(FROM, LAST) != 1200 - 501 || !is_open(501))
        << 3;
    wrong |= (jr_close_range(600, FROM, 0) == 0 || errno != EINVAL) << 4;
    wrong |= (jr_close_range(3, ~0U, 0) != 0 || count_open(3, LAST) != 0 || !is_open(2)) << 5;
    return wrong;
}

static void try_with(unsigned error)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        const struct deny_call calls[] = {{436, error}};
        if (error != 0 && (!deny(calls, 1) || jr_close_range_works()))
            _exit(99);
        _exit(try_ranges());
    }
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    if (status != 0)
        (void)printf("not so: %#x\n", (unsigned)status >> 8);
}

TEST(ranges_are_closed_and_marked)
{
    try_with(0);
}

TEST(they_are_without_the_call)
{
    try_with(ENOSYS);
    try_with(EPERM);
}

/* faccessat2(2), memfd_create(2) and clone3(2), and what stands for them. */

static int wrong;

static void check(bool good, const char *what)
{
    if (!good)
        (void)printf("not so: %s (%s)\n", what, strerror(errno));
    wrong += !good;
}
#define CHECK(what) check(what, #what)

/* The case in processes of its own, with the calls and without. */
static void run_each_way(void (*what)(void))
{
    static const unsigned errors[] = {0, ENOSYS, EPERM};
    for (size_t i = 0; i < 3; i++) {
        const struct deny_call calls[] = {
            {439, errors[i]}, {SYS_memfd_create, errors[i]}, {435, errors[i]}};
        int status = -1;
        (void)fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            wrong = 0;
            CHECK(errors[i] == 0 || deny(calls, 3));
            what();
            (void)fflush(stdout);
            _exit(wrong);
        }
        CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
        CU_ASSERT_EQUAL(status, 0);
    }
}

static int denied(int at, const char *path, int mode, int flags)
{
    errno = 0;
    return jr_access(at, path, mode, flags) == 0 ? 0 : errno;
}

static void try_access_of(int at)
{
    CHECK(denied(at, "there", F_OK, 0) == 0);
    CHECK(denied(at, "there", R_OK, AT_EACCESS) == 0);
    CHECK(denied(at, "there", X_OK, AT_EACCESS) == EACCES);
    CHECK(denied(at, "program", X_OK, AT_EACCESS) == 0);
    CHECK(denied(at, "none", F_OK, 0) == ENOENT);
    CHECK(denied(at, "there/x", F_OK, 0) == ENOTDIR);
    CHECK(denied(at, "broken", F_OK, 0) == ENOENT);
    CHECK(denied(at, "broken", F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    CHECK(denied(at, "none", F_OK, AT_SYMLINK_NOFOLLOW) == ENOENT);
}

static void try_access(void)
{
    char folder[] = "/tmp/jobrun access XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    int at = open(folder, O_RDONLY | O_DIRECTORY);
    (void)close(openat(at, "there", O_WRONLY | O_CREAT, 0600));
    (void)close(openat(at, "program", O_WRONLY | O_CREAT, 0700));
    (void)symlinkat("nowhere", at, "broken");
    try_access_of(at);
    /* As somebody who is not the one that he acts as. */
    if (getuid() == 0 && fchmod(at, 0755) == 0 && seteuid(65534) == 0) {
        CHECK(denied(at, "there", F_OK, AT_EACCESS) == 0);
        CHECK(denied(at, "there", R_OK, AT_EACCESS) == EACCES);
        CHECK(denied(at, "program", X_OK, AT_EACCESS) == EACCES);
        CHECK(denied(at, ".", X_OK, AT_EACCESS) == 0);
        CHECK(seteuid(0) == 0);
    }
    static const char *const names[] = {"there", "program", "broken"};
    for (size_t i = 0; i < 3; i++)
        (void)unlinkat(at, names[i], 0);
    (void)close(at);
    (void)rmdir(folder);
}

TEST(access_is_as_the_file_has_it)
{
    run_each_way(try_access);
}

static void try_memory_file(void)
{
    char text[8] = "";
    struct stat st = {0};
    int fd = jr_memory_file("a name");
    CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK(write(fd, "words", 5) == 5 && lseek(fd, 0, SEEK_SET) == 0);
    CHECK(read(fd, text, sizeof text) == 5 && strcmp(text, "words") == 0);
    CHECK(fstat(fd, &st) == 0 && st.st_nlink == 0 && S_ISREG(st.st_mode));
    (void)close(fd);
}

TEST(files_without_a_name)
{
    run_each_way(try_memory_file);
}

static void try_program(void)
{
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"},
                          (char[]){"read x; read a b c d e s f < /proc/$$/stat; test $s = $$ && "
                                   "echo \"$x $WORD\"; kill -9 $$"},
                          NULL};
    char *const env[] = {(char[]){"WORD=heard"}, (char[]){"PATH=/usr/bin:/bin"}, NULL};
    char text[32] = "";
    int in = jr_memory_file("in"), out = jr_memory_file("out"), status = 0;
    const int fds[] = {in, out, -1};
    (void)!write(in, "we\n", 3);
    (void)lseek(in, 0, SEEK_SET);
    struct jr_subprocess program = {.argv = argv, .envp = env, .fds = fds, .session = true};
    pid_t pid = jr_subprocess_start(&program);
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK(pread(out, text, sizeof text - 1, 0) == 9);
    CHECK(strcmp(text, "we heard\n") == 0);
    char *const none[] = {(char[]){"no such program"}, NULL};
    program.argv = none;
    errno = 0;
    CHECK(jr_subprocess_start(&program) == -1 && errno == ENOENT);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

TEST(programs_are_started)
{
    run_each_way(try_program);
}
