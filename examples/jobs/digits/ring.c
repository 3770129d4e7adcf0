#include "ring.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 60000, RETRY_MS = 20 };

/* What a rank tells rank 0, and what it hears about its right neighbour. */
struct hello {
    int rank;
    socklen_t len;
    struct sockaddr_storage addr; /* where the rank listens */
};

static int say(const char *what)
{
    fprintf(stderr, "digits: %s: %s\n", what, strerror(errno));
    return -1;
}

static int transfer(int fd, void *bytes, size_t len, int writing)
{
    char *at = bytes;
    while (len > 0) {
        ssize_t n =
            writing ? send(fd, at, len, MSG_NOSIGNAL) : recv(fd, at, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ECONNRESET;
        if (n <= 0)
            return -1;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

/* A listening socket: on `port` for rank 0, on any free one for the others. */
static int listen_at(const struct sockaddr *addr, socklen_t len)
{
    int on = 1;
    int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, addr, len) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    close(fd);
    return -1;
}

static int accept_within(int listener)
{
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    int ready = poll(&waiting, 1, WAIT_MS);
    if (ready == 0)
        errno = ETIMEDOUT;
    return ready == 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
}

/* Connect, again while nobody listens there yet. */
static int connect_within(const struct sockaddr *addr, socklen_t len)
{
    const struct timespec pause = {.tv_nsec = RETRY_MS * 1000000L};
    for (int waited = 0; waited < WAIT_MS; waited += RETRY_MS) {
        int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            return -1;
        if (connect(fd, addr, len) == 0)
            return fd;
        int why = errno;
        close(fd);
        errno = why;
        if (why != ECONNREFUSED)
            return -1;
        nanosleep(&pause, NULL);
    }
    errno = ETIMEDOUT;
    return -1;
}

/* Rank 0: hear where everyone listens, tell everyone its right neighbour. */
static int introduce(struct hello *mine, int size, int listener)
{
    struct hello *all = calloc((size_t)size, sizeof *all);
    int *peers = calloc((size_t)size, sizeof *peers);
    int status = all != NULL && peers != NULL ? 0 : -1;
    if (status == 0)
        all[0] = *mine;
    for (int i = 1; i < size && status == 0; i++) {
        struct hello hello;
        int fd = accept_within(listener);
        if (fd < 0 || transfer(fd, &hello, sizeof hello, 0) != 0 ||
            hello.rank < 1 || hello.rank >= size || peers[hello.rank] != 0) {
            status = -1;
            break;
        }
        all[hello.rank] = hello;
        peers[hello.rank] = fd;
    }
    for (int i = 1; i < size && status == 0; i++)
        status = transfer(peers[i], &all[(i + 1) % size], sizeof *all, 1);
    if (status == 0)
        *mine = all[1 % size];
    for (int i = 1; peers != NULL && i < size; i++)
        if (peers[i] != 0)
            close(peers[i]);
    free(peers);
    free(all);
    return status;
}

/* The others: tell rank 0 where we listen, hear about the neighbour. */
static int ask(struct hello *mine, const struct addrinfo *master)
{
    int fd = connect_within(master->ai_addr, master->ai_addrlen);
    if (fd < 0)
        return -1;
    int status = transfer(fd, mine, sizeof *mine, 1);
    if (status == 0)
        status = transfer(fd, mine, sizeof *mine, 0);
    close(fd);
    return status;
}

/* Our own listening address: the master's address family, any port. */
static int open_door(struct hello *mine, const struct addrinfo *master)
{
    memcpy(&mine->addr, master->ai_addr, master->ai_addrlen);
    mine->len = master->ai_addrlen;
    if (mine->rank != 0 && master->ai_family == AF_INET)
        ((struct sockaddr_in *)&mine->addr)->sin_port = 0;
    else if (mine->rank != 0)
        ((struct sockaddr_in6 *)&mine->addr)->sin6_port = 0;
    int fd = listen_at((struct sockaddr *)&mine->addr, mine->len);
    if (fd >= 0)
        (void)getsockname(fd, (struct sockaddr *)&mine->addr, &mine->len);
    return fd;
}

static int form(struct ring *ring, const struct addrinfo *master)
{
    struct hello hello = {.rank = ring->rank};
    int on = 1;
    int door = open_door(&hello, master);
    if (door < 0)
        return say("cannot listen");
    int met = ring->rank == 0 ? introduce(&hello, ring->size, door)
                              : ask(&hello, master);
    if (met != 0) {
        close(door);
        return say("cannot meet the other ranks");
    }
    ring->right = connect_within((struct sockaddr *)&hello.addr, hello.len);
    ring->left = ring->right < 0 ? -1 : accept_within(door);
    close(door);
    if (ring->left < 0)
        return say("cannot reach the neighbours");
    (void)setsockopt(ring->right, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return 0;
}

int ring_open(struct ring *ring, int rank, int size, const char *addr,
              const char *port)
{
    *ring = (struct ring){.rank = rank, .size = size, .left = -1, .right = -1};
    if (size == 1)
        return 0;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *master;
    int error = getaddrinfo(addr, port, &hints, &master);
    if (error != 0) {
        fprintf(stderr, "digits: %s: %s\n", addr, gai_strerror(error));
        return -1;
    }
    int status = form(ring, master);
    freeaddrinfo(master);
    return status;
}

void ring_close(struct ring *ring)
{
    if (ring->left >= 0)
        close(ring->left);
    if (ring->right >= 0)
        close(ring->right);
    ring->left = ring->right = -1;
}

/* Bytes that are on their way: some may move, then more. */
struct flow {
    char *at;
    size_t left;
};

static int advance(struct flow *flow, int fd, short events)
{
    if (flow->left == 0 || events == 0)
        return 0;
    ssize_t n =
        (events & POLLOUT) != 0
            ? send(fd, flow->at, flow->left, MSG_DONTWAIT | MSG_NOSIGNAL)
            : recv(fd, flow->at, flow->left, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n == 0)
        errno = ECONNRESET;
    if (n <= 0)
        return -1;
    flow->at += n;
    flow->left -= (size_t)n;
    return 0;
}

/* Send to the right while receiving from the left: doing one after the other
 * would deadlock as soon as a message is larger than the sockets' buffers. */
static int exchange(const struct ring *ring, struct flow out, struct flow in)
{
    while (out.left > 0 || in.left > 0) {
        struct pollfd fds[2] = {
            {.fd = out.left > 0 ? ring->right : -1, .events = POLLOUT},
            {.fd = in.left > 0 ? ring->left : -1, .events = POLLIN},
        };
        int ready = poll(fds, 2, WAIT_MS);
        if (ready == 0)
            errno = ETIMEDOUT;
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return say("a neighbour is silent");
        if (advance(&out, ring->right, fds[0].revents != 0 ? POLLOUT : 0) ||
            advance(&in, ring->left, fds[1].revents != 0 ? POLLIN : 0))
            return say("a neighbour is gone");
    }
    return 0;
}

int ring_sum(const struct ring *ring, float *values, size_t count)
{
    size_t size = (size_t)ring->size, rank = (size_t)ring->rank;
    float *incoming = malloc((count / size + 1) * sizeof *incoming);
    int status = incoming != NULL ? 0 : say("out of memory");
    /* First size - 1 steps: each chunk collects its sum on the way round.
     * Then size - 1 more: the finished chunks go round. */
    for (size_t step = 0; step + 2 < 2 * size && status == 0; step++) {
        int adding = step + 1 < size;
        size_t give = (rank + 2 * size - step) % size;
        size_t take = (give + size - 1) % size;
        size_t give_at = count * give / size;
        size_t take_at = count * take / size;
        size_t give_n = count * (give + 1) / size - give_at;
        size_t take_n = count * (take + 1) / size - take_at;
        float *target = adding ? incoming : values + take_at;
        status = exchange(
            ring,
            (struct flow){(char *)(values + give_at), give_n * sizeof *values},
            (struct flow){(char *)target, take_n * sizeof *values});
        for (size_t i = 0; adding && status == 0 && i < take_n; i++)
            values[take_at + i] += incoming[i];
    }
    free(incoming);
    return status;
}
