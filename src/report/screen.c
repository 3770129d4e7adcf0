/* The terminal of `top`: see internal.h. */
#include "report/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/utf8.h"

#include "base/banned.h"

/* The other screen, no cursor, and no new line at the right edge (xterm's control sequences, DECSET
 * 1049, 25 and 7). */
#define TAKE  "\033[?1049h\033[?25l\033[?7l\033[2J"
#define CLEAR "\033[2J"
#define GIVE  "\033[?7h\033[?25h\033[?1049l"

enum { LINES = 24, COLUMNS = 80, PATIENCE_MS = 1000 };

/* Write what the terminal takes within a second: one that is paused, or whose other end is not
 * read, holds nothing up. What is cut off is drawn again with the next frame. False once the
 * terminal has gone. */
static bool write_screen(const struct jr_screen *screen, const char *bytes, size_t len)
{
    struct pollfd fds[] = {{.fd = screen->out, .events = POLLOUT},
                           {.fd = screen->signals, .events = POLLIN}};
    while (len > 0) {
        ssize_t written = write(screen->out, bytes, len);
        if (written < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (written < 0 && (poll(fds, 2, PATIENCE_MS) <= 0 || fds[1].revents != 0))
            return true;
        bytes += written > 0 ? written : 0;
        len -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* A process in the background is stopped here until it is in the foreground (SIGTTOU), as the
 * terminal is not its own. */
static void take_terminal(struct jr_screen *screen)
{
    screen->raw = screen->in >= 0 && tcgetattr(screen->in, &screen->before) == 0;
    if (screen->raw) {
        struct termios raw = screen->before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        (void)tcsetattr(screen->in, TCSANOW, &raw);
    }
    screen->keys = screen->raw ? screen->in : -1;
    (void)write_screen(screen, TAKE, strlen(TAKE));
    screen->taken = true;
}

static void give_terminal(struct jr_screen *screen)
{
    if (!screen->taken)
        return;
    (void)write_screen(screen, GIVE, strlen(GIVE));
    if (screen->raw)
        (void)tcsetattr(screen->in, TCSANOW, &screen->before);
    screen->taken = false;
}

bool jr_screen_open(struct jr_screen *ret, int in, int out)
{
    *ret = (struct jr_screen){.in = isatty(in) == 1 ? in : -1, .keys = -1};
    sigset_t blocked;
    char path[64];
    /* All but those that are ignored, and those by which the terminal stops a process that is not
     * in its foreground. */
    (void)sigfillset(&blocked);
    (void)sigdelset(&blocked, SIGTTIN);
    (void)sigdelset(&blocked, SIGTTOU);
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        struct sigaction action;
        if (sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            (void)sigdelset(&blocked, signal);
    }
    ret->signals = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (ret->signals < 0)
        return false;
    /* The terminal once more, so that it does not block: the descriptor that we were given is
     * shared with the shell. */
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", out);
    ret->out = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (ret->out < 0) {
        (void)close(ret->signals);
        return false;
    }
    (void)sigprocmask(SIG_BLOCK, &blocked, &ret->mask);
    take_terminal(ret);
    return true;
}

void jr_screen_close(struct jr_screen *screen)
{
    if (screen->signals < 0)
        return;
    give_terminal(screen);
    (void)close(screen->signals);
    (void)close(screen->out);
    screen->signals = screen->out = -1;
    (void)sigprocmask(SIG_SETMASK, &screen->mask, NULL);
}

struct jr_screen_size jr_screen_size(const struct jr_screen *screen)
{
    struct winsize window = {0};
    if (ioctl(screen->out, TIOCGWINSZ, &window) != 0 || window.ws_row == 0 || window.ws_col == 0)
        return (struct jr_screen_size){LINES, COLUMNS};
    return (struct jr_screen_size){window.ws_row, window.ws_col};
}

size_t jr_screen_keys(struct jr_screen *screen, char *ret, size_t size)
{
    if (screen->keys < 0)
        return 0;
    ssize_t len = read(screen->keys, ret, size);
    if (len > 0)
        return (size_t)len;
    if (len == 0 || (errno != EINTR && errno != EAGAIN))
        screen->keys = -1;
    return 0;
}

/* Stop as the signal wants it, with the terminal as it was before. */
static void stop_beside_terminal(struct jr_screen *screen, int signal)
{
    sigset_t one;
    give_terminal(screen);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, signal);
    (void)raise(signal);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL); /* it stops here */
    (void)sigprocmask(SIG_BLOCK, &one, NULL);
    take_terminal(screen);
}

static enum jr_screen_event take_screen_signal(struct jr_screen *screen, int signal,
                                               int *ret_signal)
{
    switch (signal) {
    case SIGWINCH:
        (void)write_screen(screen, CLEAR, strlen(CLEAR));
        return JR_SCREEN_REDRAW;
    case SIGTSTP:
        stop_beside_terminal(screen, signal);
        return JR_SCREEN_REDRAW;
    case SIGCONT: /* after a SIGSTOP, the shell had the terminal meanwhile */
        give_terminal(screen);
        take_terminal(screen);
        return JR_SCREEN_REDRAW;
    case SIGCHLD:
    case SIGURG:
        return JR_SCREEN_NOTHING;
    default:
        *ret_signal = signal;
        return JR_SCREEN_DIE;
    }
}

enum jr_screen_event jr_screen_signals(struct jr_screen *screen, int *ret_signal)
{
    struct signalfd_siginfo info;
    enum jr_screen_event event = JR_SCREEN_NOTHING;
    while (event != JR_SCREEN_DIE && read(screen->signals, &info, sizeof info) == sizeof info) {
        enum jr_screen_event next = take_screen_signal(screen, (int)info.ssi_signo, ret_signal);
        event = next != JR_SCREEN_NOTHING ? next : event;
    }
    return event;
}

bool jr_screen_draw(const struct jr_screen *screen, const struct jr_buf *text)
{
    struct jr_screen_size size = jr_screen_size(screen);
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    const char *at = text->len == 0 ? "" : text->data;
    unsigned line = 0;
    jr_buf_str(&out, "\033[H");
    for (; *at != '\0' && line < size.lines; line++) {
        size_t len = strcspn(at, "\n");
        jr_buf_str(&out, line == 0 ? "" : "\r\n");
        /* A line is cut at the edge; the rest of what stood there is erased. What reaches the edge
         * leaves nothing to erase, and the cursor on its last character. */
        size_t kept = jr_utf8_fit(at, len, size.columns);
        jr_buf_add(&out, at, kept);
        if (jr_utf8_columns(at, kept) < size.columns)
            jr_buf_str(&out, "\033[K");
        at += len + (at[len] == '\n');
    }
    if (line < size.lines)
        jr_buf_str(&out, line == 0 ? "\033[J" : "\r\n\033[J");
    return !out.failed && write_screen(screen, out.data, out.len);
}
