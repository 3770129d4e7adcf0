#include "resolve/lease_socket.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/names.h"

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

/* Its length, as bind(2) wants it; 0: the name is too long. */
static socklen_t make_lease_address(struct sockaddr_un *ret, const char *name)
{
    size_t len = strlen(name);
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (len >= sizeof ret->sun_path) {
        errno = EINVAL;
        return 0;
    }
    memcpy(ret->sun_path + 1, name, len);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

/* A socket that blocks nobody, and the address of `name` for it; -1 with errno.
 */
static int open_lease_socket(const char *name, struct sockaddr_un *ret_address, socklen_t *ret_len)
{
    *ret_len = make_lease_address(ret_address, name);
    return *ret_len == 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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

/* The name in a line of the kernel's table that begins with `prefix`, ended in place; NULL: it has
 * none, or only the end of a connection has it. */
static const char *find_listed_name(char *line, const char *prefix)
{
    unsigned flags;
    char *name = strstr(line, " @");
    if (name == NULL || strncmp(name + 2, prefix, strlen(prefix)) != 0 ||
        sscanf(line, "%*s %*s %*s %x", &flags) != 1 || (flags & LISTENS) == 0)
        return NULL;
    name[strcspn(name, "\n")] = '\0';
    return name + 2;
}

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
        const char *name = find_listed_name(line, prefix);
        more = name == NULL || take(data, name);
    }
    (void)fclose(file);
}
