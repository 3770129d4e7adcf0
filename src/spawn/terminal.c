#include "spawn/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "spawn/child.h"

#include "base/banned.h"

#define PATIENCE_MS 1000 /* for a terminal that takes nothing, at the end */

/* From the background this would stop us (SIGTTOU); restoring the settings is right in that case,
 * too. */
static void set_mode(int fd, const struct termios *mode)
{
    sigset_t stop, before;
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &stop, &before);
    (void)tcsetattr(fd, TCSANOW, mode);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Not where the runner's slots will be. */
static int move_terminal_fd(int fd)
{
    int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    jr_close_fd(&fd);
    return moved;
}

static int open_pair(struct jr_terminal *terminal)
{
    terminal->master = move_terminal_fd(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    if (terminal->master < 0 || unlockpt(terminal->master) != 0)
        return -1;
    terminal->slave =
        move_terminal_fd(ioctl(terminal->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (terminal->slave < 0)
        return -1;
    (void)tcsetattr(terminal->slave, TCSANOW, &terminal->saved);
    jr_terminal_resize(terminal);
    return 0;
}

int jr_terminal_open(struct jr_terminal *ret, int fd, struct jr_error *err)
{
    char path[64];
    *ret = (struct jr_terminal)JR_TERMINAL_NONE;
    if (isatty(fd) != 1)
        return jr_error_set(err, JR_STATUS_USAGE, "--debug needs a terminal as standard input");
    if (tcgetpgrp(fd) != getpgrp())
        return jr_error_set(err, JR_STATUS_USAGE,
                            "--debug needs jobrun in the foreground of its "
                            "terminal (without & at the end)");
    /* Opened anew, O_NONBLOCK does not affect processes that share the caller's. */
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ret->fd = move_terminal_fd(open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (ret->fd >= 0 && tcgetattr(ret->fd, &ret->saved) == 0 && open_pair(ret) == 0)
        return 0;
    (void)jr_error_sys(err, JR_STATUS_LAUNCH, "a terminal for the rank");
    jr_close_fd(&ret->fd);
    jr_terminal_close(ret);
    return -1;
}

void jr_terminal_resize(const struct jr_terminal *terminal)
{
    struct winsize size;
    if (terminal->fd >= 0 && ioctl(terminal->fd, TIOCGWINSZ, &size) == 0)
        (void)ioctl(terminal->master, TIOCSWINSZ, &size);
}

void jr_terminal_restore(const struct jr_terminal *terminal)
{
    if (terminal->fd >= 0)
        set_mode(terminal->fd, &terminal->saved);
}

void jr_terminal_close(struct jr_terminal *terminal)
{
    jr_terminal_restore(terminal);
    jr_close_fd(&terminal->fd);
    jr_close_fd(&terminal->master);
    jr_close_fd(&terminal->slave);
}

/* Move what can be moved. False at an end. */
static bool copy_terminal_bytes(struct jr_channel *flow, int from, int to)
{
    ssize_t len = 1;
    if (flow->at == flow->end) {
        len = read(from, flow->bytes, sizeof flow->bytes);
        flow->at = 0;
        flow->end = len > 0 ? (size_t)len : 0;
    }
    if (len > 0 && flow->at < flow->end)
        len = write(to, flow->bytes + flow->at, flow->end - flow->at);
    else if (len == 0)
        return false;
    if (len > 0)
        flow->at += (size_t)len;
    return len > 0 || errno == EAGAIN || errno == EINTR;
}

static void stop_terminal(struct jr_terminal *terminal)
{
    if (terminal->loop == NULL)
        return;
    jr_loop_remove(terminal->loop, &terminal->near);
    jr_loop_remove(terminal->loop, &terminal->far);
    /* An event may be on its way, and what is typed is the user's again. */
    terminal->near.fd = terminal->far.fd = -1;
    terminal->loop = NULL;
    jr_terminal_restore(terminal);
    jr_close_fd(&terminal->master); /* a rank that is still there is hung up */
}

static void on_terminal_ready(void *owner, uint32_t events)
{
    (void)events;
    struct jr_terminal *terminal = owner;
    bool good = copy_terminal_bytes(&terminal->keys, terminal->fd, terminal->master);
    good = copy_terminal_bytes(&terminal->shown, terminal->master, terminal->fd) && good;
    bool typed = terminal->keys.at < terminal->keys.end;
    bool shown = terminal->shown.at < terminal->shown.end;
    if (!good) {
        jr_terminal_end(terminal);
        return;
    }
    /* What each is to wake us for. */
    (void)jr_loop_change(terminal->loop, &terminal->near,
                         (typed ? 0U : EPOLLIN) | (shown ? EPOLLOUT : 0U));
    (void)jr_loop_change(terminal->loop, &terminal->far,
                         (shown ? 0U : EPOLLIN) | (typed ? EPOLLOUT : 0U));
}

int jr_terminal_begin(struct jr_terminal *terminal, struct jr_loop *loop)
{
    struct termios raw = terminal->saved;
    jr_close_fd(&terminal->slave);
    terminal->near = terminal->far =
        (struct jr_watch){.ready = on_terminal_ready, .owner = terminal};
    terminal->near.fd = terminal->fd;
    terminal->far.fd = terminal->master;
    terminal->loop = loop;
    cfmakeraw(&raw);
    set_mode(terminal->fd, &raw);
    if (jr_loop_add(loop, &terminal->near, EPOLLIN) == 0 &&
        jr_loop_add(loop, &terminal->far, EPOLLIN) == 0)
        return 0;
    stop_terminal(terminal);
    return -1;
}

void jr_terminal_end(struct jr_terminal *terminal)
{
    struct pollfd room = {.fd = terminal->fd, .events = POLLOUT};
    if (terminal->loop == NULL)
        return;
    while (poll(&room, 1, PATIENCE_MS) == 1 && (room.revents & (POLLERR | POLLHUP)) == 0 &&
           copy_terminal_bytes(&terminal->shown, terminal->master, terminal->fd)) {
        struct pollfd more = {.fd = terminal->master, .events = POLLIN};
        if (terminal->shown.at == terminal->shown.end && poll(&more, 1, 0) != 1)
            break;
    }
    stop_terminal(terminal);
}
