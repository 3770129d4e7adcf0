#include "lease.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cleanup.h"

#include "banned.h"

/* How often the kernel may propose a port that another job has leased. */
#define ANY_TRIES 64

static socklen_t lease_name(struct sockaddr_un *ret, uint32_t port)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int len = snprintf(ret->sun_path + 1, sizeof ret->sun_path - 1,
                       "jobrun-port-%u", port);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)len);
}

/* The jobrun that holds a lease: it listens, so the kernel tells. */
static pid_t holder(const struct sockaddr_un *name, socklen_t len)
{
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    JR_CLOSE int fd =
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)name, len) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return 0;
    return peer.pid;
}

/* Say who has the port, when that is known. */
static int refuse(struct jr_error *err, uint32_t port, const char *how,
                  pid_t pid)
{
    if (pid > 0)
        jr_error_set(err, JR_STATUS_UNRESOLVED, "%u is %s pid %d", port, how,
                     (int)pid);
    else
        jr_error_set(err, JR_STATUS_UNRESOLVED, "%u is %s another process",
                     port, how);
    if (err != NULL)
        err->sys = EADDRINUSE;
    return -1;
}

static int hold(uint32_t port, struct jr_error *err)
{
    struct sockaddr_un name;
    socklen_t len = lease_name(&name, port);
    JR_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&name, len) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return jr_steal_fd(&fd);
    if (fd >= 0 && errno == EADDRINUSE)
        return refuse(err, port, "leased by jobrun,", holder(&name, len));
    return jr_error_sys(err, JR_STATUS_UNRESOLVED, "cannot lease port %u",
                        port);
}

/* Bind as rank 0 will; 0, or -1 with errno. A machine without IPv6 is fine. */
static int trial(int family, uint32_t port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any = {.sa_family = (sa_family_t)family}};
    socklen_t len = family == AF_INET ? sizeof address.v4 : sizeof address.v6;
    int on = 1;
    address.v4.sin_port = htons((uint16_t)port); /* where v6 has its own */
    JR_CLOSE int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno == EAFNOSUPPORT ? 0 : -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, &address.any, len) == 0 || errno == EADDRNOTAVAIL)
        return 0;
    return -1;
}

int jr_lease_take(uint32_t port, struct jr_error *err)
{
    JR_CLOSE int fd = hold(port, err);
    if (fd < 0)
        return -1;
    if (trial(AF_INET, port) == 0 && trial(AF_INET6, port) == 0)
        return jr_steal_fd(&fd);
    if (errno == EADDRINUSE)
        return refuse(err, port, "in use by", jr_lease_owner(port));
    return jr_error_sys(err, JR_STATUS_UNRESOLVED, "cannot bind port %u", port);
}

static int propose(uint32_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    JR_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return -1;
    *ret_port = ntohs(address.sin_port);
    return 0;
}

int jr_lease_any(uint32_t *ret_port, struct jr_error *err)
{
    struct jr_error last = {0};
    uint32_t port;
    for (int i = 0; i < ANY_TRIES; i++) {
        if (propose(&port) != 0)
            return jr_error_sys(err, JR_STATUS_UNRESOLVED,
                                "cannot find a free port");
        int fd = jr_lease_take(port, &last);
        if (fd < 0)
            continue;
        *ret_port = port;
        return fd;
    }
    return jr_error_set(err, JR_STATUS_UNRESOLVED, "no port is free: %s",
                        last.text);
}
