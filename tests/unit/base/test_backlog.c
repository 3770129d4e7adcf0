#include "descriptors.h"
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/backlog.h"

enum { WAIT_MS = 60000, WAITERS = 4096 };

static socklen_t make_own_address(struct sockaddr_un *ret, int which)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int len = snprintf(ret->sun_path + 1, sizeof ret->sun_path - 1, "jobrun-unit-backlog-%d-%d",
                       (int)getpid(), which);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

static int listen_at(int which)
{
    struct sockaddr_un address;
    socklen_t len = make_own_address(&address, which);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&address, len), 0);
    CU_ASSERT_EQUAL_FATAL(listen(fd, WAITERS), 0);
    return fd;
}

/* -1: the backlog is full. */
static int connect_to(int which)
{
    struct sockaddr_un address;
    socklen_t len = make_own_address(&address, which);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, len) == 0)
        return fd;
    CU_ASSERT_EQUAL(errno, EAGAIN);
    (void)close(fd);
    return -1;
}

static bool is_readable(int fd, int limit_ms)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    return poll(&end, 1, limit_ms) == 1;
}

/* Until there has been nothing to do for longer than any pause. */
static void turn_until_idle(struct jr_backlog *backlog)
{
    while (is_readable(backlog->epoll_fd, 10 * JR_BACKLOG_PAUSE_MS))
        jr_backlog_turn(backlog);
}

static void turn_until_kept(struct jr_backlog *backlog, size_t count)
{
    while (backlog->kept_count != count && is_readable(backlog->epoll_fd, WAIT_MS))
        jr_backlog_turn(backlog);
    CU_ASSERT_EQUAL(backlog->kept_count, count);
}

/* How many wait in the kernel; they are taken. */
static int count_waiting(int listener)
{
    int count = 0, fd;
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        (void)close(fd);
        count++;
    }
    return count;
}

static void open_one(struct jr_backlog *backlog, int *ret_listener)
{
    *ret_listener = listen_at(0);
    CU_ASSERT_EQUAL_FATAL(jr_backlog_open(backlog, ret_listener, 1), 0);
}

TEST(is_idle_without_sockets)
{
    struct jr_backlog backlog;
    const int none[] = {-1, -1};
    CU_ASSERT_EQUAL(jr_backlog_open(&backlog, NULL, 0), 0);
    CU_ASSERT_EQUAL(backlog.epoll_fd, -1);
    jr_backlog_turn(&backlog);
    jr_backlog_close(&backlog);
    CU_ASSERT_EQUAL(jr_backlog_open(&backlog, none, 2), 0);
    CU_ASSERT_EQUAL(backlog.count, 0);
    CU_ASSERT_FALSE(is_readable(backlog.epoll_fd, 0));
    jr_backlog_close(&backlog);
}

TEST(refuses_what_is_no_socket)
{
    struct jr_backlog backlog;
    const int bad[] = {9999};
    errno = 0;
    CU_ASSERT_EQUAL(jr_backlog_open(&backlog, bad, 1), -1);
    CU_ASSERT_EQUAL(errno, EBADF);
    CU_ASSERT_EQUAL(backlog.epoll_fd, -1);
    CU_ASSERT_PTR_NULL(backlog.sockets);
}

TEST(is_idle_while_nobody_comes)
{
    struct jr_backlog backlog;
    int listener;
    open_one(&backlog, &listener);
    CU_ASSERT_FALSE(is_readable(backlog.epoll_fd, 2 * JR_BACKLOG_PAUSE_MS));
    jr_backlog_close(&backlog);
    (void)close(listener);
}

TEST(takes_those_that_have_left)
{
    enum { ASKS = 1000 };
    struct jr_backlog backlog;
    int listener, asked = 0;
    open_one(&backlog, &listener);
    for (int i = 0; i < ASKS; i++) {
        int fd = connect_to(0);
        asked += fd >= 0;
        (void)close(fd);
    }
    CU_ASSERT_TRUE(asked > 0);
    turn_until_idle(&backlog);
    CU_ASSERT_EQUAL(count_waiting(listener), 0);
    CU_ASSERT_EQUAL(backlog.kept_count, 0);
    jr_backlog_close(&backlog);
    (void)close(listener);
}

/* The batch of one pause, and the others after further ones. */
TEST(takes_a_batch_after_each_pause)
{
    struct jr_backlog backlog;
    int listener = listen_at(0), asked = 0;
    for (int i = 0; i < JR_BACKLOG_BATCH + 7; i++) {
        int fd = connect_to(0);
        asked += fd >= 0;
        (void)close(fd);
    }
    CU_ASSERT_EQUAL_FATAL(jr_backlog_open(&backlog, &listener, 1), 0);
    jr_backlog_turn(&backlog);
    CU_ASSERT_TRUE(backlog.pausing);
    CU_ASSERT_TRUE(is_readable(backlog.epoll_fd, WAIT_MS));
    jr_backlog_turn(&backlog);
    CU_ASSERT_FALSE(backlog.pausing);
    CU_ASSERT_EQUAL(count_waiting(listener),
                    asked > JR_BACKLOG_BATCH ? asked - JR_BACKLOG_BATCH : 0);
    jr_backlog_close(&backlog);
    (void)close(listener);
}

TEST(keeps_those_that_stay)
{
    struct jr_backlog backlog;
    int listener;
    open_one(&backlog, &listener);
    int stays = connect_to(0);
    (void)close(connect_to(0));
    turn_until_kept(&backlog, 1);
    CU_ASSERT_EQUAL(write(stays, "x", 1), 1); /* what it says is not read */
    turn_until_idle(&backlog);
    CU_ASSERT_EQUAL(backlog.kept_count, 1);
    CU_ASSERT_FALSE(is_readable(stays, 0));
    (void)close(stays);
    turn_until_kept(&backlog, 0);
    jr_backlog_close(&backlog);
    (void)close(listener);
}

TEST(hangs_up_when_it_is_closed)
{
    struct jr_backlog backlog;
    int listener;
    open_one(&backlog, &listener);
    int stays = connect_to(0);
    turn_until_kept(&backlog, 1);
    jr_backlog_close(&backlog);
    CU_ASSERT_TRUE(is_readable(stays, WAIT_MS));
    int again = connect_to(0); /* the socket is there still */
    CU_ASSERT_TRUE(again >= 0);
    (void)close(again);
    (void)close(stays);
    (void)close(listener);
}

/* Strangers who stay: the rest waits in the kernel, and costs nothing. */
TEST(keeps_so_many_and_no_more)
{
    enum { STRANGERS = JR_BACKLOG_KEPT + 5 };
    struct jr_backlog backlog;
    unsigned before = count_descriptors();
    int listener, strangers[STRANGERS];
    open_one(&backlog, &listener);
    for (int i = 0; i < STRANGERS; i++)
        strangers[i] = connect_to(0);
    turn_until_kept(&backlog, JR_BACKLOG_KEPT);
    CU_ASSERT_FALSE(is_readable(backlog.epoll_fd, 2 * JR_BACKLOG_PAUSE_MS));
    for (int i = 0; i < STRANGERS; i++)
        CU_ASSERT_FALSE(is_readable(strangers[i], 0));
    CU_ASSERT_EQUAL(count_descriptors(), before + 1 + STRANGERS + JR_BACKLOG_FDS);
    for (int i = 0; i < 2; i++)
        (void)close(strangers[i]);
    turn_until_idle(&backlog);
    CU_ASSERT_EQUAL(backlog.kept_count, JR_BACKLOG_KEPT);
    CU_ASSERT_EQUAL(count_waiting(listener), STRANGERS - 2 - JR_BACKLOG_KEPT);
    for (int i = 2; i < STRANGERS; i++)
        (void)close(strangers[i]);
    turn_until_kept(&backlog, 0);
    jr_backlog_close(&backlog);
    (void)close(listener);
}

TEST(serves_several_sockets)
{
    struct jr_backlog backlog;
    const int listeners[] = {listen_at(0), -1, listen_at(1)};
    CU_ASSERT_EQUAL_FATAL(jr_backlog_open(&backlog, listeners, 3), 0);
    CU_ASSERT_EQUAL(backlog.count, 2);
    int stays[] = {connect_to(0), connect_to(1)};
    turn_until_kept(&backlog, 2);
    for (int i = 0; i < 2; i++)
        (void)close(stays[i]);
    turn_until_kept(&backlog, 0);
    (void)close(connect_to(1));
    turn_until_idle(&backlog);
    CU_ASSERT_EQUAL(count_waiting(listeners[2]), 0);
    jr_backlog_close(&backlog);
    (void)close(listeners[0]);
    (void)close(listeners[2]);
}
