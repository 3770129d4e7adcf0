#include "run/mpi_exchange.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/banned.h"

enum { READ_AT_ONCE = 64 << 10 };

static void end_exchange(struct jr_mpi_exchange *exchange)
{
    if (exchange->watch.fd >= 0)
        jr_loop_remove(exchange->loop, &exchange->watch);
    jr_loop_close(&exchange->watch);
}

/* Nothing more will come. */
static void break_exchange(struct jr_mpi_exchange *exchange)
{
    end_exchange(exchange);
    exchange->take(exchange->owner, NULL);
}

static void await_exchange_room(struct jr_mpi_exchange *exchange, bool full)
{
    if (exchange->full == full)
        return;
    exchange->full = full;
    if (jr_loop_change(exchange->loop, &exchange->watch, full ? EPOLLIN | EPOLLOUT : EPOLLIN) != 0)
        break_exchange(exchange);
}

static void flush_exchange(struct jr_mpi_exchange *exchange)
{
    struct jr_buf *out = &exchange->out;
    while (exchange->watch.fd >= 0 && exchange->sent < out->len) {
        ssize_t len = send(exchange->watch.fd, out->data + exchange->sent,
                           out->len - exchange->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (len < 0 && errno == EAGAIN)
            break;
        if (len < 0 && errno != EINTR)
            break_exchange(exchange);
        else if (len > 0)
            exchange->sent += (size_t)len;
    }
    if (exchange->sent == out->len) {
        jr_buf_clear(out);
        exchange->sent = 0;
    }
    if (exchange->watch.fd >= 0)
        await_exchange_room(exchange, out->len > 0);
}

static void take_frames(struct jr_mpi_exchange *exchange)
{
    struct jr_exchange_frame frame;
    enum jr_exchange_result result;
    while ((result = jr_exchange_next(&exchange->inlet, &frame)) == JR_EXCHANGE_TAKEN)
        exchange->take(exchange->owner, &frame);
    if (result == JR_EXCHANGE_BROKEN)
        break_exchange(exchange);
}

static void on_exchange_ready(void *owner, uint32_t events)
{
    struct jr_mpi_exchange *exchange = owner;
    char bytes[READ_AT_ONCE];
    if ((events & EPOLLOUT) != 0)
        flush_exchange(exchange);
    if (exchange->watch.fd < 0 || (events & ~(uint32_t)EPOLLOUT) == 0)
        return;
    ssize_t len = recv(exchange->watch.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0) { /* the agent's end is open as long as it takes part */
        break_exchange(exchange);
        return;
    }
    jr_inlet_add(&exchange->inlet, bytes, (size_t)len);
    take_frames(exchange);
}

int jr_mpi_exchange_open(struct jr_mpi_exchange *exchange, struct jr_loop *loop, int fd)
{
    exchange->loop = loop;
    exchange->watch = (struct jr_watch){.fd = fd, .ready = on_exchange_ready, .owner = exchange};
    return jr_loop_add(loop, &exchange->watch, EPOLLIN);
}

void jr_mpi_exchange_send(struct jr_mpi_exchange *exchange, const struct jr_exchange_frame *frame)
{
    if (exchange->watch.fd < 0)
        return;
    jr_exchange_put(&exchange->out, frame);
    if (exchange->out.failed)
        break_exchange(exchange);
    else
        flush_exchange(exchange);
}

void jr_mpi_exchange_close(struct jr_mpi_exchange *exchange)
{
    end_exchange(exchange);
    jr_inlet_release(&exchange->inlet);
    jr_buf_release(&exchange->out);
}
