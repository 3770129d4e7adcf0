#include "base/proc.h"
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void reads_what_is_there(void)
{
    struct jr_proc proc = {.pid = -7};
    CU_ASSERT_FALSE(jr_proc_read(&proc, "/no/such/file"));
    CU_ASSERT_FALSE(jr_proc_read(&proc, "/proc/self/statm"));
    CU_ASSERT_FALSE(jr_proc_read(&proc, "/dev/null"));
    CU_ASSERT_FALSE(jr_proc_of(&proc, INT64_MAX));
    CU_ASSERT_EQUAL(proc.pid, -7);
    CU_ASSERT_TRUE_FATAL(jr_proc_of(&proc, getpid()));
    CU_ASSERT_EQUAL(proc.pid, getpid());
    CU_ASSERT_EQUAL(proc.parent, getppid());
    CU_ASSERT_EQUAL(proc.session, getsid(0));
    CU_ASSERT_EQUAL(proc.state, 'R');
    CU_ASSERT_EQUAL(proc.threads, 1);
    CU_ASSERT_TRUE(proc.rss_bytes > 0 && proc.start_ticks > 0);
}

/* As it was when the process began, and of exactly that name. */
static void reads_a_variable(void)
{
    char value[64], name[64], *end = strchr(environ[0], '=');
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    (void)snprintf(name, sizeof name, "%.*s", (int)(end - environ[0]), environ[0]);
    char *expected = strdup(end + 1);
    CU_ASSERT_TRUE_FATAL(strlen(expected) < sizeof value);
    CU_ASSERT_EQUAL(setenv(name, "changed", 1), 0);
    CU_ASSERT_TRUE(jr_proc_variable(getpid(), name, value, sizeof value));
    JR_ASSERT_TEXT(value, expected);
    CU_ASSERT_TRUE(jr_proc_variable(getpid(), name, value, strlen(expected) + 1));
    CU_ASSERT_FALSE(jr_proc_variable(getpid(), name, value, strlen(expected)));
    name[strlen(name) - 1] = '\0';
    CU_ASSERT_FALSE(jr_proc_variable(getpid(), name, value, sizeof value) &&
                    strcmp(value, expected) == 0);
    CU_ASSERT_FALSE(jr_proc_variable(-1, "PATH", value, sizeof value));
    free(expected);
}

/* Nothing in a name is taken for the fields behind it. */
static void names_hold_anything(void)
{
    static const char *const names[] = {"a) R 1 (b", ") Z 7 7", "", "\n\t ("};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct jr_proc proc;
        (void)prctl(PR_SET_NAME, names[i]);
        CU_ASSERT_TRUE(jr_proc_of(&proc, getpid()));
        JR_ASSERT_TEXT(proc.name, names[i]);
        CU_ASSERT_EQUAL(proc.state, 'R');
        CU_ASSERT_EQUAL(proc.parent, getppid());
    }
    (void)prctl(PR_SET_NAME, "test_proc");
}

/* A child that waits until it is killed, below one that waits, too. */
static pid_t make_family(pid_t *ret_grandchild)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild != 0)
            (void)!write(ends[1], &grandchild, sizeof grandchild);
        for (;;)
            (void)pause();
    }
    CU_ASSERT_EQUAL(read(ends[0], ret_grandchild, sizeof *ret_grandchild),
                    (ssize_t)sizeof *ret_grandchild);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return child;
}

static void families_are_found(void)
{
    size_t count = 0, family[4];
    pid_t grandchild = 0, child = make_family(&grandchild);
    struct jr_proc *all = jr_proc_all(&count);
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    CU_ASSERT_EQUAL(jr_proc_family(all, count, child, family, 4), 2);
    CU_ASSERT_EQUAL(all[family[0]].pid, child);
    CU_ASSERT_EQUAL(all[family[1]].pid, grandchild);
    CU_ASSERT_EQUAL(jr_proc_family(all, count, grandchild, family, 4), 1);
    CU_ASSERT_EQUAL(jr_proc_family(all, count, child, family, 1), 1);
    CU_ASSERT_EQUAL(jr_proc_family(all, count, child, family, 0), 0);
    CU_ASSERT_EQUAL(jr_proc_family(all, count, -1, family, 4), 0);
    CU_ASSERT_EQUAL(jr_proc_family(all, 0, child, family, 4), 0);
    free(all);
    (void)kill(grandchild, SIGKILL);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

/* A zombie has exited; what is stopped has not, until it is sent SIGKILL. */
static void who_is_on_its_way_out(void)
{
    struct jr_proc proc;
    pid_t child = fork();
    if (child == 0) {
        (void)raise(SIGSTOP);
        _exit(3);
    }
    CU_ASSERT_EQUAL(waitpid(child, NULL, WUNTRACED), child);
    CU_ASSERT_TRUE_FATAL(jr_proc_of(&proc, child));
    CU_ASSERT_FALSE(jr_proc_is_exiting(&proc));
    (void)kill(child, SIGCONT);
    siginfo_t info;
    CU_ASSERT_EQUAL(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    CU_ASSERT_TRUE_FATAL(jr_proc_of(&proc, child));
    CU_ASSERT_TRUE(jr_proc_is_exiting(&proc));
    CU_ASSERT_EQUAL(proc.parent, getpid());
    CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
    CU_ASSERT_TRUE_FATAL(jr_proc_of(&proc, getpid()));
    CU_ASSERT_FALSE(jr_proc_is_exiting(&proc));
}

JR_UNIT_MAIN("proc", CASE(reads_what_is_there), CASE(reads_a_variable), CASE(names_hold_anything),
             CASE(families_are_found), CASE(who_is_on_its_way_out))
