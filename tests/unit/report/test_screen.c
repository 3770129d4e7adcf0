/* A terminal that is taken over: what it gets, and that it is given back. */
#include "report/internal.h"

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "quoted.h"
#include "terminal.h"

#define TAKE "\033[?1049h\033[?25l\033[?7l\033[2J"
#define GIVE "\033[?7h\033[?25h\033[?1049l"

struct bench {
    int master, slave;
    struct jr_screen screen;
    char text[8192];
};

static void set_size(const struct bench *bench, unsigned short lines, unsigned short columns)
{
    const struct winsize size = {.ws_row = lines, .ws_col = columns};
    CU_ASSERT_EQUAL(ioctl(bench->master, TIOCSWINSZ, &size), 0);
}

static void open_terminal(struct bench *bench)
{
    struct termios plain;
    CU_ASSERT_EQUAL_FATAL(openpty(&bench->master, &bench->slave, NULL, NULL, NULL), 0);
    CU_ASSERT_EQUAL(tcgetattr(bench->slave, &plain), 0);
    plain.c_oflag &= ~(tcflag_t)OPOST;
    plain.c_lflag |= ICANON | ECHO;
    CU_ASSERT_EQUAL(tcsetattr(bench->slave, TCSANOW, &plain), 0);
    set_size(bench, 4, 10);
}

static void open_screen(struct bench *bench)
{
    open_terminal(bench);
    CU_ASSERT_TRUE_FATAL(jr_screen_open(&bench->screen, bench->slave, bench->slave));
}

static void close_terminal(struct bench *bench)
{
    (void)close(bench->slave);
    (void)close(bench->master);
}

static void close_screen(struct bench *bench)
{
    jr_screen_close(&bench->screen);
    close_terminal(bench);
}

static const char *shown(struct bench *bench)
{
    return terminal_text(bench->master, bench->slave, bench->text, sizeof bench->text);
}

static bool is_raw(const struct bench *bench)
{
    struct termios now;
    CU_ASSERT_EQUAL(tcgetattr(bench->slave, &now), 0);
    CU_ASSERT_EQUAL((now.c_lflag & ICANON) == 0, (now.c_lflag & ECHO) == 0);
    return (now.c_lflag & ICANON) == 0 && now.c_cc[VMIN] == 0 && now.c_cc[VTIME] == 0;
}

TEST(is_taken_and_given_back)
{
    struct bench bench;
    sigset_t before, meanwhile, after;
    open_terminal(&bench);
    (void)sigprocmask(SIG_BLOCK, NULL, &before);
    CU_ASSERT_TRUE_FATAL(jr_screen_open(&bench.screen, bench.slave, bench.slave));
    JR_ASSERT_TEXT(shown(&bench), TAKE);
    CU_ASSERT_TRUE(is_raw(&bench));
    (void)sigprocmask(SIG_BLOCK, NULL, &meanwhile);
    CU_ASSERT_EQUAL(sigismember(&meanwhile, SIGINT), 1);
    CU_ASSERT_EQUAL(sigismember(&meanwhile, SIGTTOU), 0);
    CU_ASSERT_EQUAL(sigismember(&meanwhile, SIGTTIN), 0);
    jr_screen_close(&bench.screen);
    JR_ASSERT_TEXT(shown(&bench), GIVE);
    CU_ASSERT_FALSE(is_raw(&bench));
    (void)sigprocmask(SIG_BLOCK, NULL, &after);
    for (int sig = 1; sig < SIGRTMAX; sig++)
        CU_ASSERT_EQUAL(sigismember(&after, sig), sigismember(&before, sig));
    jr_screen_close(&bench.screen); /* it is not open any more */
    JR_ASSERT_TEXT(shown(&bench), "");
    close_terminal(&bench);
}

/* What is typed comes from a file: there are no keys. */
TEST(needs_no_keyboard)
{
    struct bench bench;
    char keys[8];
    open_terminal(&bench);
    int file = open("/dev/null", O_RDONLY);
    CU_ASSERT_TRUE_FATAL(jr_screen_open(&bench.screen, file, bench.slave));
    CU_ASSERT_EQUAL(bench.screen.in, -1);
    CU_ASSERT_EQUAL(jr_screen_keys(&bench.screen, keys, sizeof keys), 0);
    CU_ASSERT_FALSE(is_raw(&bench));
    jr_screen_close(&bench.screen);
    (void)close(file);
    close_terminal(&bench);
}

TEST(reads_keys)
{
    struct bench bench;
    char keys[8] = "";
    open_screen(&bench);
    CU_ASSERT_EQUAL(write(bench.master, "qx", 2), 2);
    struct pollfd typed = {.fd = bench.screen.keys, .events = POLLIN};
    CU_ASSERT_EQUAL(poll(&typed, 1, 60000), 1);
    CU_ASSERT_EQUAL(jr_screen_keys(&bench.screen, keys, sizeof keys), 2);
    CU_ASSERT_EQUAL(memcmp(keys, "qx", 2), 0);
    CU_ASSERT_EQUAL(write(bench.master, "q", 1), 1);
    CU_ASSERT_EQUAL(poll(&typed, 1, 60000), 1);
    CU_ASSERT_EQUAL(jr_screen_keys(&bench.screen, keys, sizeof keys), 1);
    close_screen(&bench);
}

TEST(has_a_size)
{
    static const struct {
        unsigned short lines, columns;
        unsigned want_lines, want_columns;
    } vectors[] = {{4, 10, 4, 10}, {1, 1, 1, 1}, {0, 10, 24, 80}, {4, 0, 24, 80}};
    struct bench bench;
    open_screen(&bench);
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        set_size(&bench, vectors[i].lines, vectors[i].columns);
        struct jr_screen_size size = jr_screen_size(&bench.screen);
        CU_ASSERT_EQUAL(size.lines, vectors[i].want_lines);
        CU_ASSERT_EQUAL(size.columns, vectors[i].want_columns);
    }
    close_screen(&bench);
}

/* Lines are cut at the edges, and what was there before is erased. */
TEST(draws_what_fits)
{
    static const struct {
        const char *text, *drawn;
    } vectors[] = {{"", "\033[H\033[J"},
                   {"one", "\033[Hone\033[K\r\n\033[J"},
                   {"one\n", "\033[Hone\033[K\r\n\033[J"},
                   {"one\n\ntwo\n", "\033[Hone\033[K\r\n\033[K\r\ntwo\033[K\r\n\033[J"},
                   {"0123456789", "\033[H0123456789\r\n\033[J"}, /* to the edge */
                   {"0123456789x\ny", "\033[H0123456789\r\ny\033[K\r\n\033[J"},
                   {"a\nb\nc\nd\ne\n", "\033[Ha\033[K\r\nb\033[K\r\nc\033[K\r\nd\033[K"},
                   {"a\nb\nc\nd", "\033[Ha\033[K\r\nb\033[K\r\nc\033[K\r\nd\033[K"}};
    struct bench bench;
    open_screen(&bench);
    (void)shown(&bench);
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_str(&text, vectors[i].text);
        CU_ASSERT_TRUE(jr_screen_draw(&bench.screen, &text));
        JR_ASSERT_TEXT(shown(&bench), vectors[i].drawn);
    }
    close_screen(&bench);
}

/* Raise a signal, which is blocked, and see what becomes of it. */
static enum jr_screen_event hear(struct bench *bench, int sig, int *ret)
{
    *ret = 0;
    CU_ASSERT_EQUAL(raise(sig), 0);
    return jr_screen_signals(&bench->screen, ret);
}

TEST(hears_signals)
{
    struct bench bench;
    int sig;
    open_screen(&bench);
    (void)shown(&bench);
    CU_ASSERT_EQUAL(jr_screen_signals(&bench.screen, &sig), JR_SCREEN_NOTHING);
    CU_ASSERT_EQUAL(hear(&bench, SIGCHLD, &sig), JR_SCREEN_NOTHING);
    CU_ASSERT_EQUAL(hear(&bench, SIGURG, &sig), JR_SCREEN_NOTHING);
    JR_ASSERT_TEXT(shown(&bench), "");
    CU_ASSERT_EQUAL(hear(&bench, SIGWINCH, &sig), JR_SCREEN_REDRAW);
    JR_ASSERT_TEXT(shown(&bench), "\033[2J");
    (void)raise(SIGWINCH); /* and what says nothing does not hide it */
    CU_ASSERT_EQUAL(hear(&bench, SIGCHLD, &sig), JR_SCREEN_REDRAW);
    (void)shown(&bench);
    CU_ASSERT_EQUAL(hear(&bench, SIGCONT, &sig), JR_SCREEN_REDRAW);
    JR_ASSERT_TEXT(shown(&bench), GIVE TAKE);
    CU_ASSERT_TRUE(is_raw(&bench));
    CU_ASSERT_EQUAL(sig, 0);
    CU_ASSERT_EQUAL(hear(&bench, SIGTERM, &sig), JR_SCREEN_DIE);
    CU_ASSERT_EQUAL(sig, SIGTERM);
    CU_ASSERT_EQUAL(hear(&bench, SIGINT, &sig), JR_SCREEN_DIE);
    CU_ASSERT_EQUAL(sig, SIGINT);
    close_screen(&bench);
}

/* In a process of its own: a stop by the keyboard, and the way back. */
static _Noreturn void be_stopped(struct bench *bench)
{
    int sig;
    (void)setpgid(0, 0); /* whose parent is beside it: it can be stopped */
    (void)alarm(60);
    if (!jr_screen_open(&bench->screen, bench->slave, bench->slave))
        _exit(2);
    (void)raise(SIGTSTP);
    if (jr_screen_signals(&bench->screen, &sig) != JR_SCREEN_REDRAW)
        _exit(3);
    _exit(is_raw(bench) ? 7 : 4);
}

TEST(gives_the_terminal_back_while_it_is_stopped)
{
    struct bench bench;
    int status = 0;
    open_terminal(&bench);
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        be_stopped(&bench);
    CU_ASSERT_EQUAL(waitpid(pid, &status, WUNTRACED), pid);
    CU_ASSERT_TRUE(WIFSTOPPED(status));
    JR_ASSERT_TEXT(shown(&bench), TAKE GIVE);
    CU_ASSERT_FALSE(is_raw(&bench));
    CU_ASSERT_EQUAL(kill(pid, SIGCONT), 0);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_TRUE(WIFEXITED(status));
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 7);
    JR_ASSERT_TEXT(shown(&bench), TAKE GIVE TAKE); /* SIGCONT came, too */
    close_terminal(&bench);
}

/* A signal that is ignored stays so. */
TEST(ignores_what_was_ignored)
{
    struct bench bench;
    sigset_t mask;
    open_terminal(&bench);
    (void)signal(SIGHUP, SIG_IGN);
    CU_ASSERT_TRUE_FATAL(jr_screen_open(&bench.screen, bench.slave, bench.slave));
    (void)sigprocmask(SIG_BLOCK, NULL, &mask);
    CU_ASSERT_EQUAL(sigismember(&mask, SIGHUP), 0);
    jr_screen_close(&bench.screen);
    (void)signal(SIGHUP, SIG_DFL);
    close_terminal(&bench);
}

TEST(is_not_opened_on_what_is_none)
{
    struct jr_screen screen;
    sigset_t before, after;
    (void)sigprocmask(SIG_BLOCK, NULL, &before);
    CU_ASSERT_FALSE(jr_screen_open(&screen, -1, 1023));
    (void)sigprocmask(SIG_BLOCK, NULL, &after);
    for (int sig = 1; sig < SIGRTMAX; sig++)
        CU_ASSERT_EQUAL(sigismember(&after, sig), sigismember(&before, sig));
}

/* A terminal whose other end has gone takes nothing, and types nothing. */
TEST(knows_that_the_terminal_has_gone)
{
    struct bench bench;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    char keys[8];
    (void)signal(SIGHUP, SIG_IGN);
    open_screen(&bench);
    (void)close(bench.master);
    jr_buf_str(&text, "words");
    CU_ASSERT_FALSE(jr_screen_draw(&bench.screen, &text));
    CU_ASSERT_EQUAL(jr_screen_keys(&bench.screen, keys, sizeof keys), 0);
    CU_ASSERT_EQUAL(bench.screen.keys, -1);
    jr_screen_close(&bench.screen);
    (void)close(bench.slave);
    (void)signal(SIGHUP, SIG_DFL);
}
