#include "resolve/lease.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/names.h"
#include "base/num.h"

#include "base/banned.h"

/* Connections that wait, at most; the kernel may allow fewer. */
#define BACKLOG 4096

void jr_holder_print(struct jr_buf *out, const struct jr_holder *holder)
{
    if (holder->pid > 0)
        jr_buf_printf(out, "pid %d", (int)holder->pid);
    else
        jr_buf_str(out, "another process");
    if (holder->uid != (uid_t)-1 && holder->uid != geteuid()) {
        jr_buf_str(out, " of user ");
        jr_user_print(out, holder->uid);
    }
}

/* A socket that blocks nobody, and the address of `name` for it; -1 with errno.
 */
static int open_lease_socket(const char *name, struct sockaddr_un *ret_address, socklen_t *ret_len)
{
    size_t len = strlen(name);
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (len >= sizeof ret_address->sun_path) {
        errno = EINVAL;
        return -1;
    }
    memcpy(ret_address->sun_path + 1, name, len);
    *ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int jr_lease_socket_hold(const char *name)
{
    struct sockaddr_un address;
    socklen_t len;
    JR_CLOSE int fd = open_lease_socket(name, &address, &len);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, len) == 0 &&
        listen(fd, BACKLOG) == 0)
        return jr_steal_fd(&fd);
    return -1;
}

int jr_lease_socket_connect(const char *name)
{
    struct sockaddr_un address;
    socklen_t len;
    JR_CLOSE int fd = open_lease_socket(name, &address, &len);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, len) == 0)
        return jr_steal_fd(&fd);
    return -1;
}

struct jr_holder jr_lease_socket_holder(const char *name)
{
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    JR_CLOSE int fd = jr_lease_socket_connect(name);
    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return JR_HOLDER_UNKNOWN;
    return (struct jr_holder){peer.pid, peer.uid};
}

/* SO_ACCEPTCON of /proc/net/unix: the socket listens. The ends of connections have the name of
 * their listener, too. */
#define LISTENS 0x10000u

void jr_lease_socket_list(const char *prefix, bool (*take)(void *data, const char *name),
                          void *data)
{
    JR_FREE char *line = NULL;
    size_t size = 0;
    bool more = true;
    FILE *file = fopen("/proc/net/unix", "re");
    if (file == NULL)
        return;
    while (more && getline(&line, &size, file) > 0) {
        unsigned flags;
        char *name = strstr(line, " @");
        if (name == NULL || strncmp(name + 2, prefix, strlen(prefix)) != 0 ||
            sscanf(line, "%*s %*s %*s %x", &flags) != 1 || (flags & LISTENS) == 0)
            continue;
        name[strcspn(name, "\n")] = '\0';
        more = take(data, name + 2);
    }
    (void)fclose(file);
}

/* How often the kernel may propose a port that another job has leased. */
#define ANY_TRIES 64

#define PREFIX "jobrun-port-"

enum { NAME_SIZE = 48 };

/* The name that all users have for a port, or the one of `user`. */
static void print_port_name(char ret[static NAME_SIZE], uint32_t port, const uid_t *user)
{
    if (user == NULL)
        (void)snprintf(ret, NAME_SIZE, PREFIX "%u", port);
    else
        (void)snprintf(ret, NAME_SIZE, PREFIX "%u-%u", port, *user);
}

/* Say who has the port, as far as that is known. */
static int refuse_port(struct jr_error *err, uint32_t port, const char *how,
                       const struct jr_holder *holder)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_holder_print(&text, holder);
    jr_error_set(err, JR_STATUS_UNRESOLVED, "%u is %s %s", port, how,
                 text.failed ? "another process" : text.data);
    if (err != NULL)
        err->sys = EADDRINUSE;
    return -1;
}

/* Where the ports of listed names go. */
struct port_list {
    uint32_t *ports;
    size_t count, most;
};

/* Only the names that all users have count. */
static bool add_listed_port(void *data, const char *name)
{
    struct port_list *list = data;
    uint64_t port = 0;
    name += sizeof PREFIX - 1;
    if (jr_num_digits(&name, &port) && *name == '\0' && port > 0 && port <= UINT16_MAX)
        list->ports[list->count++] = (uint32_t)port;
    return list->count < list->most;
}

/* Whether the holder has more leases than others need to respect. If there are only a few in total,
 * this is never so. */
static bool is_squatter(const struct jr_holder *holder)
{
    JR_FREE uint32_t *ports = calloc(UINT16_MAX, sizeof *ports);
    struct port_list list = {.ports = ports, .most = UINT16_MAX};
    char name[NAME_SIZE];
    size_t theirs = 0;
    if (ports != NULL)
        jr_lease_socket_list(PREFIX, add_listed_port, &list);
    if (list.count <= JR_LEASES_MOST)
        return false;
    for (size_t i = 0; i < list.count && theirs <= JR_LEASES_MOST; i++) {
        print_port_name(name, ports[i], NULL);
        theirs += jr_lease_socket_holder(name).uid == holder->uid;
    }
    return theirs > JR_LEASES_MOST;
}

/* Somebody else occupies the name that all users share; a name of our own user still separates our
 * own jobs. If that is occupied, too, any socket serves as the lease. */
static int hold_user_lease(uint32_t port, struct jr_error *err)
{
    const uid_t own = geteuid();
    char name[NAME_SIZE];
    print_port_name(name, port, &own);
    int fd = jr_lease_socket_hold(name);
    if (fd < 0 && errno == EADDRINUSE) {
        struct jr_holder holder = jr_lease_socket_holder(name);
        if (holder.uid == own)
            return refuse_port(err, port, "leased by jobrun,", &holder);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    }
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_UNRESOLVED, "cannot lease port %u", port);
    return fd;
}

static int lease_port(uint32_t port, struct jr_error *err)
{
    char name[NAME_SIZE];
    print_port_name(name, port, NULL);
    int fd = jr_lease_socket_hold(name);
    if (fd >= 0)
        return fd;
    if (errno != EADDRINUSE)
        return jr_error_sys(err, JR_STATUS_UNRESOLVED, "cannot lease port %u", port);
    struct jr_holder holder = jr_lease_socket_holder(name);
    if (holder.uid == geteuid() || !is_squatter(&holder))
        return refuse_port(err, port, "leased by jobrun,", &holder);
    return hold_user_lease(port, err);
}

/* Bind all addresses of a family; 0, or -1 with errno. A machine without IPv6 is fine. `plain`: as
 * a program without options does, which TIME_WAIT keeps out, and whose socket of IPv6 takes the
 * addresses of IPv4 as well. */
static int try_bind(int family, uint32_t port, bool plain)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any = {.sa_family = (sa_family_t)family}};
    socklen_t len = family == AF_INET ? sizeof address.v4 : sizeof address.v6;
    int reuse = !plain, only_v6 = !plain;
    address.v4.sin_port = htons((uint16_t)port); /* where v6 has its own */
    JR_CLOSE int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno == EAFNOSUPPORT ? 0 : -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6);
    if (bind(fd, &address.any, len) == 0 || errno == EADDRNOTAVAIL)
        return 0;
    return -1;
}

static bool can_bind(uint32_t port, bool plain)
{
    return try_bind(AF_INET, port, plain) == 0 && try_bind(AF_INET6, port, plain) == 0;
}

/* Lease the port and try it. */
static int take_port(uint32_t port, bool plain, struct jr_error *err)
{
    JR_CLOSE int fd = lease_port(port, err);
    if (fd < 0)
        return -1;
    if (can_bind(port, plain))
        return jr_steal_fd(&fd);
    if (errno == EADDRINUSE && plain && can_bind(port, false)) {
        jr_error_set(err, JR_STATUS_UNRESOLVED,
                     "%u has connections that were closed a moment ago (TIME_WAIT)", port);
        if (err != NULL)
            err->sys = EADDRINUSE;
        return -1;
    }
    if (errno == EADDRINUSE) {
        struct jr_holder owner = jr_lease_owner(port);
        return refuse_port(err, port, "in use by", &owner);
    }
    return jr_error_sys(err, JR_STATUS_UNRESOLVED, "cannot bind port %u", port);
}

int jr_lease_take(uint32_t port, struct jr_error *err)
{
    return take_port(port, false, err);
}

int jr_lease_choose(uint32_t port, struct jr_error *err)
{
    return take_port(port, true, err);
}

int jr_lease_any(uint32_t *ret_port, struct jr_error *err)
{
    struct jr_error last = {0};
    for (int i = 0; i < ANY_TRIES; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET};
        socklen_t len = sizeof address;
        int proposed = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool bound = proposed >= 0 && bind(proposed, (struct sockaddr *)&address, len) == 0 &&
                     getsockname(proposed, (struct sockaddr *)&address, &len) == 0;
        if (!bound)
            (void)jr_error_sys(err, JR_STATUS_UNRESOLVED, "cannot find a free port");
        if (proposed >= 0)
            (void)close(proposed);
        if (!bound)
            return -1;
        uint32_t port = ntohs(address.sin_port);
        int fd = jr_lease_choose(port, &last);
        if (fd < 0)
            continue;
        *ret_port = port;
        return fd;
    }
    return jr_error_set(err, JR_STATUS_UNRESOLVED, "no port is free: %s", last.text);
}

/* The state LISTEN in /proc/net/tcp. */
#define TCP_LISTEN 0x0A

/* The inode of the socket that listens on `port` in one of the kernel's tables, and its user; 0 for
 * none. */
static uint64_t find_inode(const char *table, uint32_t port, uid_t *ret_user)
{
    char line[256];
    unsigned local, state, user;
    uint64_t inode, found = 0;
    FILE *file = fopen(table, "re");
    if (file == NULL)
        return 0;
    while (found == 0 && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%*d: %*[0-9A-F]:%x %*s %x %*s %*s %*s %u %*s %" SCNu64, &local, &state,
                   &user, &inode) == 4 &&
            local == port && state == TCP_LISTEN) {
            found = inode;
            *ret_user = user;
        }
    (void)fclose(file);
    return found;
}

/* Whether one of the process's descriptors is the socket called `link`. */
static bool has_socket(const char *pid, const char *link)
{
    char path[64], target[64];
    struct dirent *entry;
    bool found = false;
    (void)snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return false;
    while (!found && (entry = readdir(folder)) != NULL) {
        ssize_t len = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        target[len > 0 ? len : 0] = '\0';
        found = strcmp(target, link) == 0;
    }
    (void)closedir(folder);
    return found;
}

struct jr_holder jr_lease_owner(uint32_t port)
{
    struct jr_holder owner = JR_HOLDER_UNKNOWN;
    char link[64];
    struct dirent *entry;
    uint32_t pid = 0, found = 0;
    uint64_t inode = find_inode("/proc/net/tcp", port, &owner.uid);
    if (inode == 0)
        inode = find_inode("/proc/net/tcp6", port, &owner.uid);
    DIR *folder = inode != 0 ? opendir("/proc") : NULL;
    if (folder == NULL)
        return owner;
    (void)snprintf(link, sizeof link, "socket:[%" PRIu64 "]", inode);
    while (found == 0 && (entry = readdir(folder)) != NULL)
        if (jr_num_u32(entry->d_name, &pid) && has_socket(entry->d_name, link))
            found = pid;
    (void)closedir(folder);
    owner.pid = (pid_t)found;
    return owner;
}
