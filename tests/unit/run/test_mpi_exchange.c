/* The runner's stream to the process managers of other nodes, at one end of a real socket. */
#include "run/mpi_exchange.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

static struct jr_loop loop;
static struct jr_mpi_exchange exchange;
static struct jr_buf taken; /* groups of frames, or "broken" */
static int peer;

static void on_frame(void *owner, const struct jr_exchange_frame *frame)
{
    CU_ASSERT_PTR_EQUAL(owner, &taken);
    jr_buf_printf(&taken, "%s; ", frame == NULL ? "broken" : frame->group);
}

static void start(void)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    peer = ends[0];
    exchange = (struct jr_mpi_exchange){.owner = &taken, .take = on_frame};
    CU_ASSERT_EQUAL_FATAL(jr_mpi_exchange_open(&exchange, &loop, ends[1]), 0);
}

static void end(void)
{
    jr_mpi_exchange_close(&exchange);
    CU_ASSERT_EQUAL(exchange.watch.fd, -1);
    if (peer >= 0)
        (void)close(peer);
    (void)close(loop.epoll_fd);
    jr_buf_release(&taken);
}

static void check_taken(const char *expected)
{
    JR_ASSERT_TEXT(taken.len == 0 ? "" : taken.data, expected);
    jr_buf_clear(&taken);
}

static const struct jr_exchange_frame some_frame = {
    .kind = JR_EXCHANGE_FENCE, .group = "0-3", .data = "abc", .len = 3};

static void takes_frames(void)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    start();
    jr_exchange_put(&out, &some_frame);
    jr_exchange_put(&out, &some_frame);
    CU_ASSERT_EQUAL(send(peer, out.data, out.len - 1, 0), (ssize_t)out.len - 1);
    (void)jr_loop_turn(&loop, true);
    check_taken("0-3; ");
    CU_ASSERT_EQUAL(send(peer, out.data + out.len - 1, 1, 0), 1);
    (void)jr_loop_turn(&loop, true);
    check_taken("0-3; ");
    end();
}

/* The other end is closed, or what comes is no frame. */
static void tells_that_nothing_more_comes(void)
{
    start();
    (void)close(peer);
    peer = -1;
    (void)jr_loop_turn(&loop, true);
    check_taken("broken; ");
    CU_ASSERT_EQUAL(exchange.watch.fd, -1);
    end();
    start();
    CU_ASSERT_EQUAL(send(peer, "garbage longer than a head is", 29, 0), 29);
    (void)jr_loop_turn(&loop, true);
    check_taken("broken; ");
    CU_ASSERT_EQUAL(exchange.watch.fd, -1);
    end();
}

/* Much more than a socket takes: it waits, nothing blocks, and all comes. */
static void sends_as_there_is_room(void)
{
    enum { LARGE = 4 << 20 };
    static char data[LARGE], bytes[65536];
    struct jr_inlet inlet = {0};
    struct jr_exchange_frame frame;
    memset(data, 'x', sizeof data);
    start();
    CU_ASSERT_EQUAL(fcntl(peer, F_SETFL, O_NONBLOCK), 0);
    jr_mpi_exchange_send(
        &exchange, &(struct jr_exchange_frame){
                       .kind = JR_EXCHANGE_FENCE, .group = "all", .data = data, .len = LARGE});
    CU_ASSERT_TRUE(exchange.full);
    while (jr_exchange_next(&inlet, &frame) != JR_EXCHANGE_TAKEN) {
        ssize_t len = recv(peer, bytes, sizeof bytes, 0);
        if (len > 0)
            jr_inlet_add(&inlet, bytes, (size_t)len);
        else
            (void)jr_loop_turn(&loop, true);
    }
    CU_ASSERT_EQUAL(frame.len, LARGE);
    CU_ASSERT_EQUAL(memcmp(frame.data, data, LARGE), 0);
    (void)jr_loop_turn(&loop, true);
    CU_ASSERT_FALSE(exchange.full);
    CU_ASSERT_EQUAL(exchange.out.len, 0);
    jr_inlet_release(&inlet);
    end();
}

static void sends_nothing_to_nobody(void)
{
    (void)signal(SIGPIPE, SIG_DFL);
    start();
    (void)close(peer);
    peer = -1;
    jr_mpi_exchange_send(&exchange, &some_frame);
    check_taken("broken; ");
    CU_ASSERT_EQUAL(exchange.watch.fd, -1);
    jr_mpi_exchange_send(&exchange, &some_frame);
    check_taken("");
    end();
}

JR_UNIT_MAIN("mpi_exchange", CASE(takes_frames), CASE(tells_that_nothing_more_comes),
             CASE(sends_as_there_is_room), CASE(sends_nothing_to_nobody))
