/* --debug: jobrun's own terminal at one end, here a pair of the test's, and the
 * rank's at the other. */
#include "spawn/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptors.h"
#include "elsewhere.h"
#include "spawn/child.h"

enum { WAIT_MS = 60000 };

/* In a session of its own, whose terminal is `own`: the test itself has none that it could be in
 * the foreground of. */
struct bench {
    int master, own; /* of the user's terminal */
    struct jr_terminal terminal;
    struct jr_loop loop;
    struct jr_error err;
};

static void need(bool good)
{
    if (!good)
        _exit(1);
}

static void open_bench(struct bench *bench)
{
    const struct winsize size = {.ws_row = 24, .ws_col = 90};
    *bench = (struct bench){0};
    (void)alarm(60);
    need(setsid() > 0);
    need(openpty(&bench->master, &bench->own, NULL, NULL, &size) == 0);
    need(ioctl(bench->own, TIOCSCTTY, 0) == 0);
    need(jr_loop_open(&bench->loop) == 0);
    need(jr_terminal_open(&bench->terminal, bench->own, &bench->err) == 0);
}

static bool is_raw(int fd)
{
    struct termios mode;
    return tcgetattr(fd, &mode) == 0 && (mode.c_lflag & (ICANON | ECHO | ISIG)) == 0;
}

/* Read until `text` has come; turn the loop meanwhile. */
static void await_text(struct bench *bench, int fd, const char *text)
{
    char got[512] = "";
    size_t len = 0;
    while (strstr(got, text) == NULL) {
        struct pollfd item = {.fd = fd, .events = POLLIN};
        (void)jr_loop_turn(&bench->loop, true);
        if (poll(&item, 1, 1) != 1)
            continue;
        ssize_t some = read(fd, got + len, sizeof got - 1 - len);
        need(some > 0);
        len += (size_t)some;
        got[len] = '\0';
    }
}

static void refuse_what_is_none(void)
{
    struct jr_terminal terminal;
    struct jr_error err = {0};
    int pair[2];
    need(pipe(pair) == 0);
    need(jr_terminal_open(&terminal, pair[0], &err) == -1);
    need(err.status == JR_STATUS_USAGE);
    need(strcmp(err.text, "--debug needs a terminal as standard input") == 0);
    need(terminal.fd == -1 && terminal.master == -1 && terminal.slave == -1);
    jr_terminal_close(&terminal);
    jr_terminal_restore(&terminal);
    jr_terminal_resize(&terminal);
    jr_terminal_end(&terminal);
}

static void refuse_background(void)
{
    struct jr_terminal terminal;
    struct jr_error err = {0};
    int master, own;
    (void)signal(SIGTTOU, SIG_IGN);
    need(setsid() > 0);
    need(openpty(&master, &own, NULL, NULL, NULL) == 0);
    need(ioctl(own, TIOCSCTTY, 0) == 0);
    pid_t other = fork();
    if (other == 0) {
        (void)setpgid(0, 0);
        (void)pause();
        _exit(0);
    }
    (void)setpgid(other, other);
    need(tcsetpgrp(own, other) == 0);
    need(jr_terminal_open(&terminal, own, &err) == -1);
    need(err.status == JR_STATUS_USAGE);
    need(strstr(err.text, "in the foreground of its terminal") != NULL);
    (void)kill(other, SIGKILL);
    (void)waitpid(other, NULL, 0);
}

/* Only a terminal in whose foreground we are. */
TEST(needs_a_terminal)
{
    ELSEWHERE((refuse_what_is_none(), true));
    ELSEWHERE((refuse_background(), true));
}

static void open_both(void)
{
    struct bench bench;
    struct winsize size = {0};
    struct termios own, rank;
    open_bench(&bench);
    const struct jr_terminal *terminal = &bench.terminal;
    const int fds[] = {terminal->fd, terminal->master, terminal->slave};
    for (int i = 0; i < 3; i++) /* no rank gets them by itself */
        need(fds[i] > 17 && fcntl(fds[i], F_GETFD) == FD_CLOEXEC);
    need((fcntl(terminal->fd, F_GETFL) & O_NONBLOCK) != 0);
    need((fcntl(bench.own, F_GETFL) & O_NONBLOCK) == 0);
    need(ioctl(terminal->slave, TIOCGWINSZ, &size) == 0);
    need(size.ws_row == 24 && size.ws_col == 90);
    need(tcgetattr(bench.own, &own) == 0 && tcgetattr(terminal->slave, &rank) == 0);
    need(own.c_lflag == rank.c_lflag && own.c_iflag == rank.c_iflag);
    need(!is_raw(bench.own)); /* until the rank starts */
    size = (struct winsize){.ws_row = 50, .ws_col = 132};
    need(ioctl(bench.own, TIOCSWINSZ, &size) == 0);
    jr_terminal_resize(terminal);
    need(ioctl(terminal->slave, TIOCGWINSZ, &size) == 0);
    need(size.ws_row == 50 && size.ws_col == 132);
    jr_terminal_close(&bench.terminal);
    need(terminal->fd == -1 && terminal->master == -1 && terminal->slave == -1);
    jr_terminal_close(&bench.terminal);
}

/* The rank's has the size and the mode of jobrun's. */
TEST(the_rank_has_one_like_ours)
{
    ELSEWHERE((open_both(), true));
}

/* With too few descriptors there is none, and nothing of it is left. */
static void run_short_of_descriptors(void)
{
    int master, own;
    struct rlimit limit;
    struct jr_terminal terminal;
    (void)alarm(60);
    need(setsid() > 0);
    need(openpty(&master, &own, NULL, NULL, NULL) == 0);
    need(ioctl(own, TIOCSCTTY, 0) == 0);
    need(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    unsigned open = count_descriptors();
    for (int have = 0; have < 4; have++) { /* where they are wanted */
        struct jr_error err = {0};
        limit.rlim_cur = (rlim_t)(JR_SLOT_END + have);
        need(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        int status = jr_terminal_open(&terminal, own, &err);
        need(status == (have < 3 ? -1 : 0));
        need(count_descriptors() == open + (have < 3 ? 0 : 3));
        if (have == 3)
            break;
        need(err.status == JR_STATUS_LAUNCH && err.sys != 0);
        need(strncmp(err.text, "a terminal for the rank: ", 25) == 0);
        need(terminal.fd == -1 && terminal.master == -1 && terminal.slave == -1);
        jr_terminal_restore(&terminal);
        jr_terminal_resize(&terminal);
    }
    jr_terminal_close(&terminal);
    need(count_descriptors() == open);
}

TEST(leaves_nothing_where_it_fails)
{
    ELSEWHERE((run_short_of_descriptors(), true));
}

/* Also from the background, where a terminal stops who changes it; and that is so again
 * afterwards. */
static void restore_from_behind(void)
{
    struct bench bench;
    sigset_t mask;
    open_bench(&bench);
    need(jr_terminal_begin(&bench.terminal, &bench.loop) == 0);
    need(is_raw(bench.own));
    pid_t other = fork();
    if (other == 0) {
        (void)setpgid(0, 0);
        (void)pause();
        _exit(0);
    }
    (void)setpgid(other, other);
    need(tcsetpgrp(bench.own, other) == 0);
    jr_terminal_restore(&bench.terminal);
    need(!is_raw(bench.own));
    need(sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
    need(sigismember(&mask, SIGTTOU) == 0);
    (void)kill(other, SIGKILL);
    (void)waitpid(other, NULL, 0);
}

TEST(is_restored_from_the_background)
{
    ELSEWHERE((restore_from_behind(), true));
}

/* From start to end bytes go both ways, and Ctrl-C is the rank's. */
static void move_both_ways(void)
{
    struct bench bench;
    open_bench(&bench);
    int rank = fcntl(bench.terminal.slave, F_DUPFD_CLOEXEC, 0);
    need(jr_terminal_begin(&bench.terminal, &bench.loop) == 0);
    need(bench.terminal.slave == -1);
    need(is_raw(bench.own));
    need(write(bench.master, "typed\r", 6) == 6);
    await_text(&bench, rank, "typed\n");
    need(write(rank, "shown\n", 6) == 6);
    await_text(&bench, bench.master, "shown\r\n");
    int turns = 0; /* with nothing to move there is nothing to do */
    while (jr_loop_turn(&bench.loop, true) > 0)
        need(++turns < 100);
    need(write(bench.master, "\004", 1) == 1); /* the end of the rank's input */
    struct pollfd item = {.fd = rank, .events = POLLIN};
    while (poll(&item, 1, 1) != 1)
        (void)jr_loop_turn(&bench.loop, true);
    char byte;
    need(read(rank, &byte, 1) == 0);
    need(write(rank, "last", 4) == 4);
    (void)close(rank);
    jr_terminal_end(&bench.terminal);
    await_text(&bench, bench.master, "last");
    need(!is_raw(bench.own));
    need(bench.terminal.loop == NULL && bench.terminal.master == -1);
    /* nor does the loop call for an event that was on its way */
    need(bench.terminal.near.fd == -1 && bench.terminal.far.fd == -1);
    jr_terminal_end(&bench.terminal); /* a second time is none */
}

TEST(moves_bytes_until_the_end)
{
    ELSEWHERE((move_both_ways(), true));
}

/* A large output comes whole, though the terminal takes little at once. */
static void move_much(void)
{
    enum { LINES = 3000 };
    struct bench bench;
    open_bench(&bench);
    int rank = fcntl(bench.terminal.slave, F_DUPFD_CLOEXEC, 0);
    need(jr_terminal_begin(&bench.terminal, &bench.loop) == 0);
    pid_t writer = fork();
    if (writer == 0) {
        char line[32];
        for (int i = 0; i < LINES; i++) {
            int len = snprintf(line, sizeof line, "line %d of many\n", i);
            need(write(rank, line, (size_t)len) == len);
        }
        need(write(rank, "end of it\n", 10) == 10);
        _exit(0);
    }
    size_t newlines = 0;
    char got[4096], tail[64] = "";
    memset(tail, ' ', sizeof tail - 1);
    while (strstr(tail, "end of it") == NULL) {
        struct pollfd item = {.fd = bench.master, .events = POLLIN};
        (void)jr_loop_turn(&bench.loop, true);
        if (poll(&item, 1, 1) != 1)
            continue;
        ssize_t len = read(bench.master, got, sizeof got);
        need(len > 0);
        for (ssize_t i = 0; i < len; i++) {
            newlines += got[i] == '\n';
            memmove(tail, tail + 1, sizeof tail - 2);
            tail[sizeof tail - 2] = got[i];
        }
    }
    need(newlines >= LINES);
    need(waitpid(writer, NULL, 0) == writer);
}

TEST(a_large_output_is_whole)
{
    ELSEWHERE((move_much(), true));
}
