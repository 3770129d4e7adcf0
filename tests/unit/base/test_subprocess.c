/* Another program beside us: its descriptors, its place, its signals, and what is said where it
 * cannot be started; also in a sandbox that refuses clone3. */
#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deny.h"
#include "unit.h"

static char *environment[] = {(char *)"PATH=/bin:/usr/bin", (char *)"X=7", NULL};

/* What shell text writes to its standard output; its exit code. Static. */
static const char *output_of(struct jr_subprocess program, const char *text, int *ret_code)
{
    static char out[512];
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)text, NULL};
    int ends[2], status = -1;
    size_t len = 0;
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    const int fds[3] = {-1, ends[1], -1};
    program.argv = argv;
    program.envp = environment;
    program.fds = fds;
    pid_t pid = jr_subprocess_start(&program);
    CU_ASSERT_TRUE_FATAL(pid > 0);
    (void)close(ends[1]);
    for (ssize_t got; (got = read(ends[0], out + len, sizeof out - 1 - len)) > 0;)
        len += (size_t)got;
    out[len] = '\0';
    (void)close(ends[0]);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    *ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
    return out;
}

static void check_output(struct jr_subprocess program, const char *text, const char *expected,
                         int expected_code)
{
    int code = -1;
    JR_ASSERT_TEXT(output_of(program, text, &code), expected);
    CU_ASSERT_EQUAL(code, expected_code);
}

/* It has its words, its environment, and three descriptors. */
static void starts_a_program(void)
{
    const struct jr_subprocess plain = {0};
    const struct jr_subprocess named = {.path = "/bin/sh"};
    check_output(plain, "echo $X; exit 3", "7\n", 3);
    check_output(named, "echo $0 $X", "sh 7\n", 0);
    check_output(plain, "read a; echo \"[$a]\"; echo lost >&2", "[]\n", 0);
}

/* By itself it stays where we are; else in a group, or a session, of its own.
 */
static void has_its_place(void)
{
    static const char where[] = "g=$(ps -o pgid= -p $$); s=$(ps -o sid= -p $$); "
                                "[ $g = $$ ] && echo group; [ $s = $$ ] && echo session; exit 0";
    check_output((struct jr_subprocess){0}, where, "", 0);
    check_output((struct jr_subprocess){.group = true}, where, "group\n", 0);
    check_output((struct jr_subprocess){.session = true}, where, "group\nsession\n", 0);
}

/* In a session of its own no signal is blocked or ignored; else as with us. */
static void has_its_signals(void)
{
    sigset_t usr1, before;
    (void)sigemptyset(&usr1);
    (void)sigaddset(&usr1, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &usr1, &before);
    (void)signal(SIGUSR2, SIG_IGN);
    for (int session = 0; session < 2; session++) {
        const struct jr_subprocess program = {.session = session != 0};
        check_output(program, "kill -USR1 $$; echo blocked", session ? "" : "blocked\n",
                     session ? 1000 : 0);
        check_output(program, "kill -USR2 $$; echo ignored", session ? "" : "ignored\n",
                     session ? 1000 : 0);
    }
    (void)signal(SIGUSR2, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Descriptors may be any, also those that it is to have. */
static void takes_any_descriptors(void)
{
    char text[16] = "";
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)"cat >&2", NULL};
    int in[2], out[2], status;
    CU_ASSERT_EQUAL_FATAL(pipe2(in, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL_FATAL(pipe2(out, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL(write(in[1], "bytes", 5), 5);
    (void)close(in[1]);
    const int fds[3] = {in[0], 1, out[1]};
    pid_t pid =
        jr_subprocess_start(&(struct jr_subprocess){.argv = argv, .envp = environment, .fds = fds});
    CU_ASSERT_TRUE_FATAL(pid > 0);
    (void)close(out[1]);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(read(out[0], text, sizeof text), 5);
    JR_ASSERT_TEXT(text, "bytes");
    (void)close(in[0]);
    (void)close(out[0]);
}

/* What cannot be started is an errno, and leaves nothing behind. */
static void says_why_it_could_not(void)
{
    static const struct {
        const char *path, *name;
        int error;
    } vectors[] = {
        {"/nosuch/program", "x", ENOENT},  {NULL, "nosuchprogram", ENOENT},
        {"/etc/passwd", "x", EACCES},      {"/etc", "x", EACCES},
        {NULL, "/nosuch/program", ENOENT},
    };
    static const int fds[3] = {-1, -1, -1};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char *argv[] = {(char *)vectors[i].name, NULL};
        const struct jr_subprocess program = {
            .path = vectors[i].path, .argv = argv, .envp = environment, .fds = fds};
        errno = 0;
        CU_ASSERT_EQUAL(jr_subprocess_start(&program), -1);
        CU_ASSERT_EQUAL(errno, vectors[i].error);
        CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
        CU_ASSERT_EQUAL(errno, ECHILD);
    }
}

/* The same, where a sandbox refuses clone3(2) and posix_spawn with it: all of it in another
 * process, which so has the filter. */
static void does_without_clone3(void)
{
    static const struct deny_call call = {SYS_clone3, EPERM};
    int status = -1;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (!deny(&call, 1))
            _exit(0); /* it cannot be shown here */
        starts_a_program();
        has_its_place();
        has_its_signals();
        takes_any_descriptors();
        says_why_it_could_not();
        _exit(CU_get_number_of_failures() == 0 ? 0 : 1);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0);
}

JR_UNIT_MAIN("subprocess", CASE(starts_a_program), CASE(has_its_place), CASE(has_its_signals),
             CASE(takes_any_descriptors), CASE(says_why_it_could_not), CASE(does_without_clone3))
