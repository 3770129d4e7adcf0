/* Descriptors that are closed or marked by their range, by close_range(2) and
 * without it. */
#include "base/close_range.h"
#include "deny.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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
    wrong |= (jr_close_range(1000, 1099, JR_CLOSE_RANGE_CLOEXEC) != 0 ||
              !is_marked(1000) || !is_marked(1099) || is_marked(999) ||
              is_marked(1100) || count_open(FROM, LAST) != LAST - FROM + 1)
             << 0;
    if (pipe(ends) != 0)
        return 98;
    pid_t sharer = clone(wait_a_little, stack + sizeof stack,
                         CLONE_FILES | SIGCHLD, &ends[0]);
    wrong |= (jr_close_range(1200, ~0U, JR_CLOSE_RANGE_UNSHARE) != 0 ||
              count_open(FROM, LAST) != 1200 - FROM)
             << 1;
    (void)!write(ends[1], "", 1);
    wrong |=
        (sharer < 0 || waitpid(sharer, &status, 0) != sharer || status != 0)
        << 2;
    wrong |= (jr_close_range(FROM, 500, 0) != 0 ||
              count_open(FROM, LAST) != 1200 - 501 || !is_open(501))
             << 3;
    wrong |= (jr_close_range(600, FROM, 0) == 0 || errno != EINVAL) << 4;
    wrong |= (jr_close_range(3, ~0U, 0) != 0 || count_open(3, LAST) != 0 ||
              !is_open(2))
             << 5;
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

static void ranges_are_closed_and_marked(void)
{
    try_with(0);
}

static void they_are_without_the_call(void)
{
    try_with(ENOSYS);
    try_with(EPERM);
}

JR_UNIT_MAIN("close_range", CASE(ranges_are_closed_and_marked),
             CASE(they_are_without_the_call))
