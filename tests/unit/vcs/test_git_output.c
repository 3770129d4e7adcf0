/* A git process under a deadline, with a shell script in git's place: what goes in and comes out,
 * what it complains about, and that it always ends. */
#include "vcs/git_output.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "scratch.h"

#define MINUTE_NS (UINT64_C(60) * 1000000000)

struct bench {
    struct scratch scratch;
    char path[64];
    char *envp[2];
    struct jr_git_command command;
    struct jr_buf out;
    struct jr_git_sink sink;
    struct jr_git_limit limit;
    struct jr_error err;
};

static struct bench bench;
static const char *const words[] = {"status", "--one", "a b", NULL};

/* Its git is a script of `text`. */
static void begin(const char *text)
{
    char script[512];
    bench = (struct bench){0};
    scratch_start(&bench.scratch);
    (void)snprintf(script, sizeof script, "#!/bin/sh\nPATH=/bin:/usr/bin\n%s\n", text);
    scratch_write(&bench.scratch, "git", script);
    CU_ASSERT_EQUAL(fchmodat(bench.scratch.fd, "git", 0700, 0), 0);
    (void)snprintf(bench.path, sizeof bench.path, "PATH=%s", bench.scratch.dir);
    bench.envp[0] = bench.path;
    bench.command = (struct jr_git_command){.folder = "/etc", .words = words, .envp = bench.envp};
    bench.sink = (struct jr_git_sink){jr_git_keep, &bench.out};
    bench.limit = (struct jr_git_limit){jr_clock_ns() + MINUTE_NS, -1};
}

static int run(const struct jr_buf *input)
{
    return jr_git_run(&bench.command, input, &bench.sink, &bench.limit, &bench.err);
}

static void end(void)
{
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left */
    CU_ASSERT_EQUAL(errno, ECHILD);
    jr_buf_release(&bench.out);
    scratch_end(&bench.scratch);
}

static void check_out(const char *expected)
{
    JR_ASSERT_TEXT(bench.out.len == 0 ? "" : bench.out.data, expected);
}

/* What it reads is there, all of it; what it writes comes, all of it. */
static void input_goes_in_and_output_comes(void)
{
    struct jr_buf input = JR_BUF_INIT;
    begin("cat");
    CU_ASSERT_EQUAL(run(NULL), 0);
    check_out("");
    end();
    for (size_t size = 1; size <= 3000000; size *= 1000) {
        jr_buf_clear(&input);
        jr_buf_fill(&input, 'i', size);
        begin("cat");
        CU_ASSERT_EQUAL(run(&input), 0);
        CU_ASSERT_EQUAL(bench.out.len, size);
        CU_ASSERT_EQUAL(memcmp(bench.out.data, input.data, size), 0);
        end();
    }
    jr_buf_release(&input);
}

/* It is asked in the folder, with the words last. */
static void is_asked_by_the_words(void)
{
    begin("echo \"$1 $2\"; while [ \"$1\" != status ]; do shift; done; echo \"$#|$1|$2|$3\"");
    CU_ASSERT_EQUAL(run(NULL), 0);
    check_out("-C /etc\n3|status|--one|a b\n");
    end();
}

/* Nobody is asked for anything, and variables of git's are not passed on. */
static void has_an_environment_of_its_own(void)
{
    static char *envp[4] = {NULL, (char *)"GIT_DIR=/elsewhere", (char *)"SSH_ASKPASS=x", NULL};
    begin("echo \"$GIT_DIR|$SSH_ASKPASS|$GIT_TERMINAL_PROMPT|$LC_ALL\"; read a || echo none");
    envp[0] = bench.path;
    bench.command.envp = envp;
    CU_ASSERT_EQUAL(run(NULL), 0);
    check_out("||0|C\nnone\n");
    end();
}

/* A sink may pass over what comes, or end it. */
static int take_ten(void *data, const char *bytes, size_t len)
{
    size_t *left = data;
    (void)bytes;
    if (len > *left)
        return -1;
    *left -= len;
    return 0;
}

static void a_sink_decides(void)
{
    size_t left = 10;
    begin("echo passed over");
    bench.sink = (struct jr_git_sink){0};
    CU_ASSERT_EQUAL(run(NULL), 0);
    end();
    begin("printf 0123456789");
    bench.sink = (struct jr_git_sink){take_ten, &left};
    CU_ASSERT_EQUAL(run(NULL), 0);
    CU_ASSERT_EQUAL(left, 0);
    end();
    begin("while :; do echo more; done");
    left = 10;
    bench.sink = (struct jr_git_sink){take_ten, &left};
    CU_ASSERT_EQUAL(run(NULL), -1);
    CU_ASSERT_EQUAL(bench.err.sys, ECANCELED);
    JR_ASSERT_TEXT(bench.err.text, "git printed too much");
    end();
}

/* What it says when it fails, without its prefixes, and made safe. */
static void says_what_git_complains_about(void)
{
    static const struct {
        const char *text, *why;
    } vectors[] = {
        {"exit 1", "git gave no reason"},
        {"echo out; exit 1", "git gave no reason"},
        {"echo 'not a tree' >&2; exit 128", "not a tree"},
        {"echo 'fatal: not a tree' >&2; exit 128", "not a tree"},
        {"echo 'error: no object' >&2; exit 1", "no object"},
        {"echo warning >&2; echo 'fatal: bad' >&2; exit 1", "bad"},
        {"echo 'fatal: bad' >&2; echo hint >&2; exit 1", "bad"},
        {"printf 'fatal: no end' >&2; exit 1", "no end"},
        {"printf 'fatal: a\\033[2Jb' >&2; exit 1", "a\\x1b[2Jb"},
        {"kill -9 $$", "git gave no reason"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        begin(vectors[i].text);
        CU_ASSERT_EQUAL(run(NULL), -1);
        JR_ASSERT_TEXT(bench.err.text, vectors[i].why);
        CU_ASSERT_EQUAL(bench.err.sys, 0);
        CU_ASSERT_EQUAL(bench.err.status, JR_STATUS_LAUNCH);
        end();
    }
}

/* A complaint without a failure is none. */
static void a_warning_is_no_failure(void)
{
    begin("echo 'fatal: not really' >&2; echo out");
    CU_ASSERT_EQUAL(run(NULL), 0);
    check_out("out\n");
    JR_ASSERT_TEXT(bench.err.text, "");
    end();
}

/* Of a very long complaint the end is looked at. */
static void a_long_complaint_has_an_end(void)
{
    begin("head -c 100000 /dev/zero | tr '\\0' x >&2; echo >&2; echo 'fatal: last' >&2; exit 1");
    CU_ASSERT_EQUAL(run(NULL), -1);
    JR_ASSERT_TEXT(bench.err.text, "last");
    end();
}

/* It is ended where it takes too long, whatever it does: with its children. */
static void has_no_more_time_than_it_is_given(void)
{
    static const char *const texts[] = {"exec sleep 1000", "sleep 1000", "trap '' TERM; sleep 1000",
                                        "exec >&-; exec sleep 1000", "sleep 1000 & sleep 1000"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        begin(texts[i]);
        bench.limit.deadline_ns = jr_clock_ns();
        CU_ASSERT_EQUAL(run(NULL), -1);
        CU_ASSERT_EQUAL(bench.err.sys, ETIMEDOUT);
        JR_ASSERT_TEXT(bench.err.text, "git did not finish in time");
        end();
    }
}

/* So it is as soon as somebody says so, who is not read. */
static void stops_when_told(void)
{
    char byte;
    int pair[2];
    begin("exec sleep 1000");
    CU_ASSERT_EQUAL(pipe(pair), 0);
    CU_ASSERT_EQUAL(write(pair[1], "s", 1), 1);
    bench.limit.stop_fd = pair[0];
    CU_ASSERT_EQUAL(run(NULL), -1);
    CU_ASSERT_EQUAL(bench.err.sys, EINTR);
    JR_ASSERT_TEXT(bench.err.text, "git was stopped by a signal");
    CU_ASSERT_EQUAL(read(pair[0], &byte, 1), 1);
    (void)close(pair[0]);
    (void)close(pair[1]);
    end();
}

/* Without a git there is ENOENT, and nothing is started. */
static void there_may_be_none(void)
{
    struct jr_git_process process;
    begin("exit 0");
    (void)unlinkat(bench.scratch.fd, "git", 0);
    CU_ASSERT_EQUAL(jr_git_begin(&process, &bench.command, NULL, &bench.err), -1);
    CU_ASSERT_EQUAL(bench.err.sys, ENOENT);
    CU_ASSERT_EQUAL(strncmp(bench.err.text, "no git program was found", 24), 0);
    CU_ASSERT_EQUAL(process.pid, 0);
    jr_git_cancel(&process);
    end();
    begin("exit 0"); /* where everybody may write it could be anybody's */
    CU_ASSERT_EQUAL(fchmod(bench.scratch.fd, 0777), 0);
    CU_ASSERT_EQUAL(run(NULL), -1);
    CU_ASSERT_EQUAL(bench.err.sys, ENOENT);
    end();
}

/* One that is on its way can be cancelled, twice. */
static void can_be_cancelled(void)
{
    struct jr_git_process process;
    begin("exec sleep 1000");
    CU_ASSERT_EQUAL(jr_git_begin(&process, &bench.command, NULL, &bench.err), 0);
    CU_ASSERT_TRUE(process.pid > 0);
    CU_ASSERT_EQUAL(getpgid(process.pid), process.pid);
    jr_git_cancel(&process);
    CU_ASSERT_EQUAL(process.pid, 0);
    CU_ASSERT_EQUAL(process.from, -1);
    CU_ASSERT_EQUAL(process.said, -1);
    jr_git_cancel(&process);
    end();
}

/* Input that could not be made is no input. */
static void failed_input_starts_nothing(void)
{
    struct jr_buf input = JR_BUF_INIT;
    input.failed = true;
    begin("cat");
    CU_ASSERT_EQUAL(run(&input), -1);
    CU_ASSERT_EQUAL(bench.err.sys, ENOMEM);
    end();
}

JR_UNIT_MAIN("git_output", CASE(input_goes_in_and_output_comes), CASE(is_asked_by_the_words),
             CASE(has_an_environment_of_its_own), CASE(a_sink_decides),
             CASE(says_what_git_complains_about), CASE(a_warning_is_no_failure),
             CASE(a_long_complaint_has_an_end), CASE(has_no_more_time_than_it_is_given),
             CASE(stops_when_told), CASE(there_may_be_none), CASE(can_be_cancelled),
             CASE(failed_input_starts_nothing))
