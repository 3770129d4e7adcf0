#include "cluster/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#include "base/banned.h"

#define LIMIT_NS    (UINT64_C(5) * 1000000000)
#define LOOK_UP_NS  (UINT64_C(10) * 1000000000)
#define PORTS_TRIED 64u
#define TOKEN_MOST  128u

/* Listening. */

/* For both versions of IP, where the kernel has both. */
static int open_listener(void)
{
    int off = 0, on = 1;
    const int flags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int fd = socket(AF_INET6, flags, 0);
    if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0) {
        (void)close(fd);
        fd = -1;
    }
    if (fd < 0)
        fd = socket(AF_INET, flags, 0);
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return fd;
}

static int bind_everywhere(int fd, uint32_t port)
{
    struct sockaddr_storage own = {0};
    socklen_t len = sizeof own;
    if (getsockname(fd, (struct sockaddr *)&own, &len) != 0)
        return -1;
    uint16_t number = htons((uint16_t)port);
    if (own.ss_family == AF_INET6)
        memcpy((char *)&own + offsetof(struct sockaddr_in6, sin6_port), &number, sizeof number);
    else
        memcpy((char *)&own + offsetof(struct sockaddr_in, sin_port), &number, sizeof number);
    return bind(fd, (const struct sockaddr *)&own, len);
}

/* A listener at a port; -1 with errno. */
static int listen_at(uint32_t port)
{
    int fd = open_listener();
    if (fd >= 0 && bind_everywhere(fd, port) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int error = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = error;
    return -1;
}

int jr_reach_listen(uint32_t *port, bool stated, struct jr_error *err)
{
    uint32_t first = *port, at = first;
    int fd = listen_at(at);
    while (fd < 0 && errno == EADDRINUSE && !stated && at - first < PORTS_TRIED && at < UINT16_MAX)
        fd = listen_at(++at);
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_UNRESOLVED, "could not listen at port %u", at);
    *port = at;
    return fd;
}

void jr_reach_greet(const struct jr_greeting *greeting)
{
    int fd;
    while ((fd = accept4(greeting->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        (void)send(fd, greeting->token, strlen(greeting->token), MSG_NOSIGNAL);
        (void)close(fd);
    }
}

/* Connecting. */

/* The name within brackets; false: it is longer than any. */
static bool bare_address(char ret[static NI_MAXHOST], const char *address)
{
    size_t len = strlen(address);
    if (address[0] == '[') { /* [fe80::1] */
        address++;
        len = strcspn(address, "]");
    }
    if (len >= NI_MAXHOST)
        return false;
    memcpy(ret, address, len);
    ret[len] = '\0';
    return true;
}

/* 0, or what gai_strerror(3) takes. */
static int find_addresses(struct addrinfo **ret, const char *address, const char *port)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    char name[NI_MAXHOST];
    return bare_address(name, address) ? getaddrinfo(name, port, &wanted, ret) : EAI_NONAME;
}

/* What the process that looks a name up has to say. */
struct answer {
    int failed; /* what gai_strerror(3) takes; 0 */
    bool own;
};

static bool is_own_address(const struct addrinfo *found)
{
    bool own = false;
    for (; found != NULL && !own; found = found->ai_next) {
        JR_CLOSE int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        own = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0;
    }
    return own;
}

static _Noreturn void answer_look_up(const char *address, int fd)
{
    struct addrinfo *found = NULL;
    struct answer answer = {find_addresses(&found, address, NULL), false};
    if (answer.failed == 0)
        answer.own = is_own_address(found);
    _exit(write(fd, &answer, sizeof answer) == sizeof answer ? 0 : 1);
}

/* -1 with errno: there is no answer. */
static int look_up(struct answer *ret, const char *address)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    JR_CLOSE int answers = ends[0];
    pid_t pid = fork();
    if (pid == 0)
        answer_look_up(address, ends[1]);
    int error = errno;
    (void)close(ends[1]);
    errno = error;
    if (pid < 0)
        return -1;
    struct pollfd wanted = {.fd = answers, .events = POLLIN};
    const uint64_t until = jr_clock_ns() + LOOK_UP_NS;
    uint64_t now;
    int ready = 0;
    while (ready <= 0 && (now = jr_clock_ns()) < until)
        ready = poll(&wanted, 1, (int)((until - now) / 1000000 + 1));
    bool told = ready > 0 && read(answers, ret, sizeof *ret) == (ssize_t)sizeof *ret;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    errno = ready > 0 ? EIO : ETIMEDOUT;
    return told ? 0 : -1;
}

int jr_reach_resolve(const char *address, bool *ret_own, struct jr_error *err)
{
    struct answer answer = {0};
    if (look_up(&answer, address) != 0)
        return errno == ETIMEDOUT
                   ? jr_error_set(err, JR_STATUS_UNRESOLVED, "no answer within 10s")
                   : jr_error_sys(err, JR_STATUS_UNRESOLVED, "it could not be looked up");
    if (answer.failed != 0)
        return jr_error_set(err, JR_STATUS_UNRESOLVED, "%s", gai_strerror(answer.failed));
    if (ret_own != NULL)
        *ret_own = answer.own;
    return 0;
}

/* A connection on its way. */
struct attempt {
    int fd;
    uint64_t until_ns;
    const struct jr_greeting *greeting;
};

/* Wait for an event of its socket; false with ETIMEDOUT when the time is over.
 */
static bool await_socket(const struct attempt *attempt, short events)
{
    struct pollfd wanted[2] = {{.fd = attempt->fd, .events = events},
                               {.fd = attempt->greeting->listener, .events = POLLIN}};
    while (wanted[0].revents == 0) {
        uint64_t now = jr_clock_ns(), until = attempt->until_ns;
        int ms = now >= until ? 0 : (int)((until - now) / 1000000 + 1);
        int found = poll(wanted, 2, ms);
        if (found == 0)
            errno = ETIMEDOUT;
        if (found == 0 || (found < 0 && errno != EINTR))
            return false;
        if (found > 0 && wanted[1].revents != 0)
            jr_reach_greet(attempt->greeting);
    }
    return true;
}

static bool finish_connection(const struct attempt *attempt)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (!await_socket(attempt, POLLOUT) ||
        getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        return false;
    errno = error;
    return error == 0;
}

/* False with errno. */
static bool connect_attempt(struct attempt *attempt, const struct addrinfo *to)
{
    attempt->fd =
        socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol);
    return attempt->fd >= 0 && (connect(attempt->fd, to->ai_addr, to->ai_addrlen) == 0 ||
                                (errno == EINPROGRESS && finish_connection(attempt)));
}

/* Whether all that comes is the token; false with errno, 0: something else. */
static bool is_greeted(const struct attempt *attempt)
{
    const char *token = attempt->greeting->token;
    char text[TOKEN_MOST + 1];
    size_t len = 0;
    ssize_t got = 1;
    while (got > 0 && len < TOKEN_MOST) {
        if (!await_socket(attempt, POLLIN))
            return false;
        got = recv(attempt->fd, text + len, TOKEN_MOST - len, 0);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            got = 1;
        else if (got > 0)
            len += (size_t)got;
    }
    if (got < 0)
        return false;
    errno = 0;
    return len == strlen(token) && memcmp(text, token, len) == 0;
}

static enum jr_reach name_failure(int error)
{
    if (error == 0)
        return JR_REACH_ANOTHER;
    if (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH)
        return JR_REACH_TIMED_OUT;
    return error == ECONNREFUSED ? JR_REACH_REFUSED : JR_REACH_FAILED;
}

/* Each address of the name in turn, until one answers as it should. */
static enum jr_reach try_addresses(const struct addrinfo *found, const struct jr_greeting *greeting,
                                   struct jr_buf *why)
{
    struct attempt attempt = {.until_ns = jr_clock_ns() + LIMIT_NS, .greeting = greeting};
    int error = ETIMEDOUT;
    for (; found != NULL; found = found->ai_next) {
        bool greeted = connect_attempt(&attempt, found) && is_greeted(&attempt);
        error = errno;
        if (attempt.fd >= 0)
            (void)close(attempt.fd);
        if (greeted)
            return JR_REACH_OK;
    }
    jr_buf_str(why, error == 0 ? "something else answers" : strerror(error));
    return name_failure(error);
}

enum jr_reach jr_reach_connect(const char *address, uint32_t port,
                               const struct jr_greeting *greeting, struct jr_buf *why)
{
    struct addrinfo *found = NULL;
    char number[16];
    (void)snprintf(number, sizeof number, "%u", port);
    int failed = find_addresses(&found, address, number);
    if (failed != 0) {
        jr_buf_str(why, gai_strerror(failed));
        return JR_REACH_UNKNOWN;
    }
    enum jr_reach reach = try_addresses(found, greeting, why);
    freeaddrinfo(found);
    return reach;
}
