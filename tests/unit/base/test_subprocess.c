/* Another program beside us: its descriptors, its place, its signals, and what is said where it
 * cannot be started; also in a sandbox that refuses clone3. As a task: what goes in and comes out,
 * and that it always ends. */
#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
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
TEST(starts_a_program)
{
    const struct jr_subprocess plain = {0};
    const struct jr_subprocess named = {.path = "/bin/sh"};
    check_output(plain, "echo $X; exit 3", "7\n", 3);
    check_output(named, "echo $0 $X", "sh 7\n", 0);
    check_output(plain, "read a; echo \"[$a]\"; echo lost >&2", "[]\n", 0);
}

/* By itself it stays where we are; else in a group, or a session, of its own.
 */
TEST(has_its_place)
{
    static const char where[] = "g=$(ps -o pgid= -p $$); s=$(ps -o sid= -p $$); "
                                "[ $g = $$ ] && echo group; [ $s = $$ ] && echo session; exit 0";
    check_output((struct jr_subprocess){0}, where, "", 0);
    check_output((struct jr_subprocess){.group = true}, where, "group\n", 0);
    check_output((struct jr_subprocess){.session = true}, where, "group\nsession\n", 0);
}

/* In a session of its own no signal is blocked or ignored; else as with us. */
TEST(has_its_signals)
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
TEST(takes_any_descriptors)
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
TEST(says_why_it_could_not)
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
TEST(does_without_clone3)
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

/* A task whose program is shell text, in a group of its own. */
static int begin_task(struct jr_task *ret, const char *text, const struct jr_buf *input)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)text, NULL};
    return jr_task_begin(
        ret, &(struct jr_subprocess){.argv = argv, .envp = environment, .group = true}, input);
}

static int keep(void *data, const char *bytes, size_t len)
{
    jr_buf_add(data, bytes, len);
    return 0;
}

static void check_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
    CU_ASSERT_EQUAL(errno, ECHILD);
}

/* What it reads is there, all of it; what it prints comes, all of it; and what it said. */
TEST(a_task_has_input_and_output)
{
    static const struct jr_task_limit for_ever = {.stop_fd = -1};
    struct jr_buf input = JR_BUF_INIT, out = JR_BUF_INIT;
    const struct jr_task_sink sink = {keep, &out}, none = {NULL, NULL};
    struct jr_task task;
    char said[16] = "";
    int status = -1;
    for (size_t size = 1; size <= 3000000; size *= 1000) {
        jr_buf_clear(&input);
        jr_buf_clear(&out);
        jr_buf_fill(&input, 'i', size);
        CU_ASSERT_EQUAL_FATAL(begin_task(&task, "cat; echo lost >&2; exit 3", &input), 0);
        CU_ASSERT_EQUAL(jr_task_end(&task, &sink, &for_ever, &status), 0);
        CU_ASSERT_EQUAL(WEXITSTATUS(status), 3);
        CU_ASSERT_EQUAL(out.len, size);
        CU_ASSERT_EQUAL(memcmp(out.data, input.data, size), 0);
        CU_ASSERT_EQUAL(pread(task.said, said, sizeof said, 0), 5);
        JR_ASSERT_TEXT(said, "lost\n");
        jr_task_cancel(&task);
        CU_ASSERT_EQUAL_FATAL(begin_task(&task, "cat; kill -9 $$", NULL), 0);
        CU_ASSERT_EQUAL(jr_task_end(&task, &none, &for_ever, &status), 0);
        CU_ASSERT_EQUAL(WTERMSIG(status), SIGKILL);
        jr_task_cancel(&task);
    }
    check_nothing_is_left();
    input.failed = true;
    CU_ASSERT_EQUAL(begin_task(&task, "cat", &input), -1);
    CU_ASSERT_EQUAL(errno, ENOMEM);
    CU_ASSERT_EQUAL(task.pid, 0);
    jr_buf_release(&input);
    jr_buf_release(&out);
}

static int come_back(void *data, const char *bytes, size_t len)
{
    jr_buf_add(data, bytes, len);
    return 1;
}

static int refuse(void *data, const char *bytes, size_t len)
{
    (void)data;
    (void)bytes;
    (void)len;
    return -1;
}

/* One may talk to it: a sink comes back with what there is, and for more; or ends it. */
TEST(a_task_is_talked_to)
{
    static const int fds[3] = {JR_FD_TASK, JR_FD_TASK, -1};
    static const struct jr_task_limit for_ever = {.stop_fd = -1};
    char *argv[] = {(char *)"cat", NULL};
    const struct jr_subprocess cat = {.argv = argv, .envp = environment, .fds = fds};
    struct jr_buf out = JR_BUF_INIT;
    const struct jr_task_sink sink = {come_back, &out}, no = {refuse, NULL};
    struct jr_task task;
    int status = -1;
    CU_ASSERT_EQUAL_FATAL(jr_task_begin(&task, &cat, NULL), 0);
    CU_ASSERT_EQUAL(task.said, -1);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(write(task.in, "ab", 2), 2);
        CU_ASSERT_EQUAL(jr_task_take(&task, &sink, &for_ever), 0);
    }
    JR_ASSERT_TEXT(out.data, "abab");
    CU_ASSERT_EQUAL(write(task.in, "ab", 2), 2);
    CU_ASSERT_EQUAL(jr_task_end(&task, &no, &for_ever, &status), ECANCELED);
    CU_ASSERT_EQUAL(status, -1);
    jr_task_cancel(&task);
    jr_buf_release(&out);
    check_nothing_is_left();
}

/* It is ended where it takes too long, whatever it does, with its children; or as soon as somebody
 * says so, who is not read; and when it is cancelled, twice. */
TEST(a_task_always_ends)
{
    static const char *const texts[] = {"exec sleep 1000", "sleep 1000", "trap '' TERM; sleep 1000",
                                        "exec >&-; exec sleep 1000", "sleep 1000 & sleep 1000"};
    static const struct jr_task_sink none = {NULL, NULL};
    struct jr_task task;
    int pair[2], status = -1;
    char byte;
    CU_ASSERT_EQUAL(pipe(pair), 0);
    CU_ASSERT_EQUAL(write(pair[1], "s", 1), 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct jr_task_limit now = {jr_clock_ns(), -1}, told = {0, pair[0]};
        CU_ASSERT_EQUAL_FATAL(begin_task(&task, texts[i], NULL), 0);
        CU_ASSERT_EQUAL(jr_task_end(&task, &none, &now, &status), ETIMEDOUT);
        CU_ASSERT_EQUAL(read(task.out, &byte, 1), 0); /* nobody has it open */
        jr_task_cancel(&task);
        CU_ASSERT_EQUAL_FATAL(begin_task(&task, texts[i], NULL), 0);
        CU_ASSERT_EQUAL(jr_task_end(&task, &none, &told, &status), EINTR);
        jr_task_cancel(&task);
        CU_ASSERT_EQUAL_FATAL(begin_task(&task, texts[i], NULL), 0);
        jr_task_cancel(&task);
        jr_task_cancel(&task);
        CU_ASSERT_EQUAL(memcmp(&task, &JR_TASK_NONE, sizeof task), 0);
        check_nothing_is_left();
    }
    CU_ASSERT_EQUAL(read(pair[0], &byte, 1), 1);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static int answer_call(void *data, int out)
{
    int code = *(int *)data;
    return write(out, "call", 4) == 4 ? code : 99;
}

/* Why there is no answer is a clause. */
TEST(says_why_there_is_no_answer)
{
    static const struct {
        const char *text, *why, *out;
    } vectors[] = {
        {"echo $X; pwd", NULL, "7\n/etc\n"},
        {"exit 3", "exited with code 3", ""},
        {"kill -SEGV $$", "died by SIGSEGV", ""},
        {"exec sleep 1000", "gave no answer within 0.001 s", ""},
        {"exec >&-; exec sleep 1000", "gave no answer within 0.001 s", ""},
        {"sleep 1000 >/dev/null & echo x", NULL, "x\n"},
        {"echo 12345678901", "printed more than 10 bytes", "12345678901\n"},
        {"ulimit -c; ls /proc/self/fd | wc -l", NULL, "0\n4\n"},
    };
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf out = JR_BUF_INIT;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char *argv[] = {(char *)"sh", (char *)"-c", (char *)vectors[i].text, NULL};
        const struct jr_subprocess sh = {.argv = argv, .envp = environment, .workdir = "/etc"};
        jr_buf_clear(&out);
        const bool waits = vectors[i].why != NULL && vectors[i].why[0] == 'g';
        const char *why = jr_subprocess_ask(&out, &arena, &sh, waits ? 1 : 60000, 10);
        JR_ASSERT_TEXT(why == NULL ? "" : why, vectors[i].why == NULL ? "" : vectors[i].why);
        JR_ASSERT_TEXT(out.len == 0 ? "" : out.data, vectors[i].out);
        check_nothing_is_left();
    }
    for (int code = 0; code < 2; code++) {
        const struct jr_subprocess call = {.call = answer_call, .data = &code};
        jr_buf_clear(&out);
        const char *why = jr_subprocess_ask(&out, &arena, &call, 60000, 10);
        JR_ASSERT_TEXT(why == NULL ? "" : why, code == 0 ? "" : "exited with code 1");
        JR_ASSERT_TEXT(out.data, "call");
    }
    char *none[] = {(char *)"nosuchprogram", NULL}, said[64] = "";
    int ends[2];
    CU_ASSERT_EQUAL(pipe(ends), 0);
    const int fds[3] = {-1, JR_FD_TASK, ends[1]};
    const struct jr_subprocess nobody = {.argv = none, .envp = environment, .fds = fds};
    JR_ASSERT_TEXT(jr_subprocess_ask(&out, &arena, &nobody, 60000, 10), "exited with code 127");
    CU_ASSERT_TRUE(read(ends[0], said, sizeof said - 1) > 0);
    JR_ASSERT_TEXT(said, "No such file or directory\n");
    (void)close(ends[0]);
    (void)close(ends[1]);
    jr_buf_release(&out);
    jr_arena_release(&arena);
    check_nothing_is_left();
}
