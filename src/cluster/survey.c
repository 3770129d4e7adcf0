#include "cluster/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "cluster/internal.h"

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

void jr_reach_greet(int listener, const char *token)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        (void)send(fd, token, strlen(token), MSG_NOSIGNAL);
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

/* In a process of its own: what gai_strerror(3) takes, and whether it is an address of this
 * machine. */
static int answer_look_up(void *address, int fd)
{
    struct addrinfo *found = NULL;
    int answer[2] = {find_addresses(&found, address, NULL), 0};
    for (; found != NULL && answer[0] == 0 && answer[1] == 0; found = found->ai_next) {
        JR_CLOSE int own = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        answer[1] = own >= 0 && bind(own, found->ai_addr, found->ai_addrlen) == 0;
    }
    return write(fd, answer, sizeof answer) == sizeof answer ? 0 : 1;
}

/* It comes in one piece. */
static int take_look_up(void *data, const char *bytes, size_t len)
{
    bool whole = len == 2 * sizeof(int);
    memcpy(data, bytes, whole ? len : 0);
    return whole ? 0 : -1;
}

int jr_reach_resolve(const char *address, bool *ret_own, struct jr_error *err)
{
    int answer[2] = {EAI_SYSTEM, 0}, status = 0;
    const struct jr_subprocess asked = {
        .asked = true, .call = answer_look_up, .data = (void *)address};
    const struct jr_task_limit limit = {jr_clock_ns() + LOOK_UP_NS, -1};
    const struct jr_task_sink sink = {take_look_up, answer};
    struct jr_task task;
    int failed = jr_task_begin(&task, &asked, NULL) != 0
                     ? errno
                     : jr_task_end(&task, &sink, &limit, &status);
    jr_task_cancel(&task);
    errno = failed == 0 && status != 0 ? EIO : failed;
    if (failed == ETIMEDOUT)
        return jr_error_set(err, JR_STATUS_UNRESOLVED, "no answer within 10s");
    if (errno != 0)
        return jr_error_sys(err, JR_STATUS_UNRESOLVED, "it could not be looked up");
    if (answer[0] != 0)
        return jr_error_set(err, JR_STATUS_UNRESOLVED, "%s", gai_strerror(answer[0]));
    if (ret_own != NULL)
        *ret_own = answer[1];
    return 0;
}

/* Wait for an event of a connection's socket, and greet those meanwhile who reach us; false with
 * ETIMEDOUT when the time is over. */
static bool await_socket(int fd, short events, uint64_t until_ns, const char *token, int listener)
{
    struct pollfd wanted[2] = {{.fd = fd, .events = events}, {.fd = listener, .events = POLLIN}};
    while (wanted[0].revents == 0) {
        int found = poll(wanted, 2, jr_clock_poll_ms(until_ns));
        if (found == 0)
            errno = ETIMEDOUT;
        if (found == 0 || (found < 0 && errno != EINTR))
            return false;
        if (found > 0 && wanted[1].revents != 0)
            jr_reach_greet(listener, token);
    }
    return true;
}

/* A connected socket; -1 with errno. */
static int connect_address(const struct addrinfo *to, uint64_t until_ns, const char *token,
                           int listener)
{
    int fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol);
    if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) == 0)
        return fd;
    int error = errno;
    socklen_t len = sizeof error;
    if (error == EINPROGRESS && (!await_socket(fd, POLLOUT, until_ns, token, listener) ||
                                 getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0))
        error = errno;
    if (error == 0)
        return fd;
    (void)close(fd);
    errno = error;
    return -1;
}

/* Whether all that comes is the token; false with errno, 0: something else. */
static bool is_greeted(int fd, uint64_t until_ns, const char *token, int listener)
{
    char text[TOKEN_MOST + 1];
    size_t len = 0;
    ssize_t got = 1;
    while (got > 0 && len < TOKEN_MOST) {
        if (!await_socket(fd, POLLIN, until_ns, token, listener))
            return false;
        got = recv(fd, text + len, TOKEN_MOST - len, 0);
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

enum jr_reach jr_reach_connect(const char *address, uint32_t port, const char *token, int listener,
                               struct jr_buf *why)
{
    struct addrinfo *found = NULL;
    char number[16];
    int error = ETIMEDOUT;
    bool greeted = false;
    (void)snprintf(number, sizeof number, "%u", port);
    int failed = find_addresses(&found, address, number);
    if (failed != 0) {
        jr_buf_str(why, gai_strerror(failed));
        return JR_REACH_UNKNOWN;
    }
    const uint64_t until_ns = jr_clock_ns() + LIMIT_NS;
    /* Each address of the name in turn, until one answers as it should. */
    for (const struct addrinfo *to = found; to != NULL && !greeted; to = to->ai_next) {
        JR_CLOSE int fd = connect_address(to, until_ns, token, listener);
        greeted = fd >= 0 && is_greeted(fd, until_ns, token, listener);
        error = errno;
    }
    freeaddrinfo(found);
    if (greeted)
        return JR_REACH_OK;
    jr_buf_str(why, error == 0 ? "something else answers" : strerror(error));
    if (error == 0)
        return JR_REACH_ANOTHER;
    if (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH)
        return JR_REACH_TIMED_OUT;
    return error == ECONNREFUSED ? JR_REACH_REFUSED : JR_REACH_FAILED;
}

/* The survey. */

#define MS       UINT64_C(1000000)
#define LIMIT_MS UINT64_C(60000)
#define REACH_MS UINT64_C(30000) /* more than a connection may take there */

/* A clock is asked a few times, and the quickest answer counts. */
enum { ROUNDS = 3 };

/* A host, and what it was asked last. */
struct surveyed {
    char *failure, *advice;
    char version[32];
    int64_t wall_ahead_ns; /* its wall clock less its monotonic one */
    uint64_t asked_ns;     /* our monotonic clock, when it was asked; 0: it is
                              not, or has answered */
    bool timed;
    int64_t offset_ns;
    uint64_t error_ns;
    bool tried;
    enum jr_reach reach;
};

struct jr_survey {
    struct jr_controller *controller;
    struct jr_survey_options options;
    struct surveyed *hosts;
    uint32_t count;
    int meeting;   /* the host that is to listen; -1: none is there */
    uint32_t port; /* at which it does; 0: it does not */
    char token[JR_TOKEN_SIZE];
};

/* What happens to the hosts. */

void jr_survey_fail(struct jr_survey *survey, uint32_t node, const char *what, const char *advice)
{
    struct surveyed *host = &survey->hosts[node];
    host->asked_ns = 0;
    if (host->failure != NULL)
        return;
    host->failure = strdup(what);
    if (advice != NULL)
        host->advice = strdup(advice);
}

void jr_survey_lose(struct jr_survey *survey, const struct jr_link *link)
{
    const struct jr_controller *controller = survey->controller;
    const struct jr_cluster_node *peer = &controller->nodes[link->node];
    struct jr_buf what JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf advice JR_BUF_CLEANUP = JR_BUF_INIT;
    bool answered = peer->state != JR_NODE_UNKNOWN;
    const char *line = jr_link_refusal(link);
    if (answered || line == NULL)
        jr_link_describe_end(&what, link, true);
    else
        jr_buf_str(&what, line);
    controller->transport->add_advice(&advice, line != NULL ? line : "",
                                      controller->options.hosts[link->node],
                                      controller->options.ssh);
    jr_survey_fail(survey, link->node, what.failed ? "lost" : what.data,
                   answered || advice.failed ? NULL : advice.data);
}

static void note_clock(struct surveyed *host, const struct jr_message *message)
{
    uint64_t now = jr_clock_ns();
    if (host->asked_ns == 0)
        return;
    uint64_t error_ns = (now - host->asked_ns) / 2;
    int64_t theirs = (int64_t)((uint64_t)message->at_ns + (uint64_t)host->wall_ahead_ns);
    if (!host->timed || error_ns < host->error_ns) {
        host->error_ns = error_ns;
        host->offset_ns = jr_clock_ahead(theirs, jr_clock_wall_ns() - error_ns);
    }
    host->timed = true;
    host->asked_ns = 0;
}

void jr_survey_take(struct jr_survey *survey, uint32_t node, const struct jr_message *message)
{
    struct surveyed *host = &survey->hosts[node];
    switch ((int)message->type) {
    case JR_FROM_NODE_HELLO:
        (void)snprintf(host->version, sizeof host->version, "%s",
                       message->version != NULL ? message->version : "unknown");
        host->wall_ahead_ns = jr_clock_ahead(message->wall_ns, (uint64_t)message->at_ns);
        break;
    case JR_FROM_NODE_HEARTBEAT:
        note_clock(host, message);
        break;
    case JR_FROM_NODE_LISTENING:
        if (host->asked_ns == 0 || (int)node != survey->meeting)
            break; /* nobody asked it */
        survey->port = (uint32_t)message->port;
        host->asked_ns = 0;
        break;
    case JR_FROM_NODE_REACHED:
        host->tried = host->asked_ns != 0;
        host->reach = message->code >= JR_REACH_OK && message->code <= JR_REACH_FAILED
                          ? (enum jr_reach)message->code
                          : JR_REACH_FAILED;
        host->asked_ns = 0;
        break;
    }
}

/* What is asked, one thing after the other. */

static bool can_answer(const struct jr_survey *survey, uint32_t node)
{
    return survey->hosts[node].failure == NULL &&
           survey->controller->nodes[node].state == JR_NODE_KNOWN;
}

/* Whether it has not answered what it was asked last; or not said hello. */
static bool owes_answer(const struct jr_survey *survey, uint32_t node, bool hello)
{
    const struct surveyed *host = &survey->hosts[node];
    return hello ? survey->controller->nodes[node].state == JR_NODE_UNKNOWN && host->failure == NULL
                 : host->asked_ns != 0;
}

static bool awaits_answers(const struct jr_survey *survey, bool hello)
{
    for (uint32_t i = 0; i < survey->count; i++)
        if (owes_answer(survey, i, hello))
            return true;
    return false;
}

/* Let all answer that were asked; who does not within `limit_ms` cannot take part. */
static void await_answers(struct jr_survey *survey, bool hello, uint64_t limit_ms)
{
    struct jr_controller *controller = survey->controller;
    controller->timed_out = false;
    controller->deadline.at = jr_clock_ns() + limit_ms * MS;
    while (awaits_answers(survey, hello) && !controller->timed_out)
        jr_controller_turn(controller);
    controller->deadline.at = 0;
    for (uint32_t i = 0; i < survey->count; i++) {
        struct jr_buf advice JR_BUF_CLEANUP = JR_BUF_INIT;
        char what[64];
        if (!owes_answer(survey, i, hello))
            continue;
        (void)snprintf(what, sizeof what, "no answer within %" PRIu64 " s",
                       (limit_ms + 999) / 1000);
        controller->transport->add_advice(&advice, "", controller->options.hosts[i],
                                          controller->options.ssh);
        jr_survey_fail(survey, i, what, advice.failed ? NULL : advice.data);
    }
}

static void ask_host(struct jr_survey *survey, uint32_t node, const struct jr_message *message)
{
    survey->hosts[node].asked_ns = jr_clock_ns();
    jr_controller_send_to(survey->controller, node, message);
}

static void ask_all(struct jr_survey *survey, const struct jr_message *message)
{
    for (uint32_t i = 0; i < survey->count; i++)
        if (can_answer(survey, i))
            ask_host(survey, i, message);
}

#define FIRST_PORT 29500u

static void ask_hosts(struct jr_survey *survey)
{
    const struct jr_controller *controller = survey->controller;
    const struct jr_survey_options *options = &survey->options;
    uint64_t limit_ms = options->limit_ms > 0 ? options->limit_ms : LIMIT_MS;
    await_answers(survey, true, limit_ms);
    for (int round = 0; round < ROUNDS; round++) {
        ask_all(survey, &(struct jr_message){.type = JR_TO_NODES_HEARTBEAT});
        await_answers(survey, false, limit_ms);
    }
    /* The first that is there listens, where ranks would meet at the next one without the first:
     * not at an address that is stated. */
    uint32_t most = options->address == NULL ? survey->count : 1, node = 0;
    while (node < most && !can_answer(survey, node))
        node++;
    if (node == most)
        return;
    survey->meeting = (int)node;
    jr_token(survey->token);
    uint32_t offered = controller->nodes[node].port;
    uint32_t port = offered != 0 ? offered : FIRST_PORT;
    ask_host(survey, node,
             &(struct jr_message){.type = JR_TO_NODES_LISTEN,
                                  .port = options->port != 0 ? options->port : port,
                                  .on = options->port != 0,
                                  .token = survey->token});
    await_answers(survey, false, REACH_MS);
    if (survey->port == 0)
        return;
    ask_all(survey,
            &(struct jr_message){.type = JR_TO_NODES_REACH,
                                 .host = options->address != NULL ? options->address
                                                                  : controller->options.hosts[node],
                                 .port = survey->port,
                                 .token = survey->token});
    await_answers(survey, false, REACH_MS);
}

int jr_survey_hosts(struct jr_survey **ret, const struct jr_controller_options *options,
                    const struct jr_survey_options *meeting, struct jr_error *err)
{
    struct jr_survey *survey = calloc(1, sizeof *survey);
    if (survey == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    *survey = (struct jr_survey){.options = *meeting, .count = options->nodes, .meeting = -1};
    survey->hosts = calloc(options->nodes, sizeof *survey->hosts);
    int failed = survey->hosts == NULL ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                                       : jr_controller_start(&survey->controller, options, err);
    if (failed != 0) {
        jr_survey_end(survey);
        return -1;
    }
    survey->controller->survey = survey;
    ask_hosts(survey);
    *ret = survey;
    return 0;
}

/* What was found out. */

static const char *stream_text(const struct jr_buf *stream)
{
    return stream->len > 0 && !stream->failed ? stream->data : "";
}

struct jr_survey_host jr_survey_host(const struct jr_survey *survey, uint32_t node)
{
    const struct surveyed *host = &survey->hosts[node];
    const struct jr_buf *streams = survey->controller->nodes[node].streams;
    return (struct jr_survey_host){
        .failure = host->failure,
        .advice = host->advice,
        .facts = stream_text(&streams[JR_CHANNEL_FACTS]),
        .facts_len = streams[JR_CHANNEL_FACTS].len,
        .version = host->version[0] != '\0' ? host->version : NULL,
        .timed = host->timed,
        .clock_offset_ns = host->offset_ns,
        .clock_error_ns = host->error_ns,
        .tried = host->tried,
        .reach = host->reach,
        .reach_why = stream_text(&streams[JR_CHANNEL_WHY]),
    };
}

int jr_survey_meeting(const struct jr_survey *survey, uint32_t *ret_port, const char **ret_why)
{
    *ret_why = NULL;
    if (survey->meeting < 0)
        return -1;
    if (survey->port == 0) {
        *ret_why = stream_text(&survey->controller->nodes[survey->meeting].streams[JR_CHANNEL_WHY]);
        return -1;
    }
    *ret_port = survey->port;
    return survey->meeting;
}

void jr_survey_end(struct jr_survey *survey)
{
    if (survey == NULL)
        return;
    jr_controller_close(survey->controller);
    for (uint32_t i = 0; survey->hosts != NULL && i < survey->count; i++) {
        free(survey->hosts[i].failure);
        free(survey->hosts[i].advice);
    }
    free(survey->hosts);
    free(survey);
}
