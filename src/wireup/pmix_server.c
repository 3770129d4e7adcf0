#include "wireup/pmix_server.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/rank_set.h"
#include "base/syscalls.h"
#include "wireup/exchange.h"
#include "wireup/pmix_abi.h"

#include "base/banned.h"

enum { END_MS = 1000, KEYS = 6, READ_AT_ONCE = 64 << 10 };

/* The descriptors of the server's process. What the library calls for a fence has no parameter for
 * the server, so that a number has to be it. */
enum {
    RUNNER_FD = 3,
    EXCHANGE_FD, /* the stream of the exchange, which blocks */
    REQUESTS_FD, /* a pipe: what the library's threads have for us, by its address */
    FREE_FD      /* others come after these */
};

/* What a thread of the library wants, or has found. */
struct pmix_request {
    struct jr_exchange_frame frame; /* its texts are allocated */
    struct jr_pmix_proc proc;       /* that is asked for; the last of a group */
    jr_pmix_exchanged *done;        /* what the library waits for; NULL: not */
    void *data;
    struct pmix_request *next;
};

/* The server's process. */
struct server {
    const struct jr_pmix_setup *setup;
    struct jr_pmix_library library;
    uint32_t first, count; /* the ranks here */
    uint32_t size;         /* ranks of the world */
    int waits[2];          /* a pipe: a byte for each operation that is done */
    int requests_fd;       /* the other end of that pipe */
    uint32_t token;        /* the last one */
    struct jr_inlet inlet;
    struct pmix_request *waiting; /* for what others answer */
};

static void send_event(enum jr_pmix_event_kind kind, uint32_t rank, int code)
{
    const struct jr_pmix_event event = {.kind = kind, .rank = rank, .code = code};
    (void)send(RUNNER_FD, &event, sizeof event, MSG_NOSIGNAL);
}

static void send_text(enum jr_pmix_event_kind kind, const struct jr_buf *text)
{
    struct jr_pmix_event event = {.kind = kind, .len = (uint32_t)text->len};
    struct iovec parts[] = {{&event, sizeof event}, {text->data, text->len}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = text->len == 0 ? 1 : 2};
    (void)sendmsg(RUNNER_FD, &message, MSG_NOSIGNAL);
}

_Noreturn static void refuse_to_serve(const char *what, const char *why)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "%s: %s", what, why == NULL ? "unknown error" : why);
    send_text(JR_PMIX_REFUSED, &text);
    _exit(1);
}

/* What the library calls, on a thread of its own. The event is on its way before the rank hears
 * that it is through, so that it comes before the end of the rank. */

static int tell_of_client(enum jr_pmix_event_kind kind, uint32_t rank, int code, jr_pmix_done *done,
                          void *data)
{
    send_event(kind, rank, code);
    if (done != NULL)
        done(JR_PMIX_SUCCESS, data);
    return JR_PMIX_SUCCESS;
}

static int on_client_connected(const struct jr_pmix_proc *proc, void *object, jr_pmix_done *done,
                               void *data)
{
    (void)object;
    return tell_of_client(JR_PMIX_CONNECTED, proc->rank, 0, done, data);
}

static int on_client_finalized(const struct jr_pmix_proc *proc, void *object, jr_pmix_done *done,
                               void *data)
{
    (void)object;
    return tell_of_client(JR_PMIX_FINISHED, proc->rank, 0, done, data);
}

static int on_client_abort(const struct jr_pmix_proc *proc, void *object, int status,
                           const char *message, struct jr_pmix_proc *procs, size_t count,
                           jr_pmix_done *done, void *data)
{
    (void)object, (void)message, (void)procs, (void)count;
    return tell_of_client(JR_PMIX_ABORTED, proc->rank, status, done, data);
}

static int on_client_spawn(const struct jr_pmix_proc *proc, const struct jr_pmix_info *infos,
                           size_t infos_count, const void *apps, size_t apps_count,
                           void (*done)(void), void *data)
{
    (void)infos, (void)infos_count, (void)apps, (void)apps_count;
    (void)done, (void)data;
    send_event(JR_PMIX_SPAWNED, proc->rank, 0);
    return JR_PMIX_NOT_SUPPORTED;
}

static void free_request(struct pmix_request *request)
{
    if (request == NULL)
        return;
    free((char *)(uintptr_t)request->frame.group);
    free((char *)(uintptr_t)request->frame.data);
    free(request);
}

/* Hand it to the thread that exchanges: an address fits into a pipe whole. */
static int post_request(struct pmix_request *request)
{
    return jr_io_write_all(REQUESTS_FD, &request, sizeof request) == 0 ? JR_PMIX_SUCCESS
                                                                       : JR_PMIX_NO_MEMORY;
}

static int compare_ranks(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* The ranks that take part, as text; NULL without memory. */
static char *name_group(const struct jr_pmix_proc *procs, size_t count)
{
    struct jr_buf text = JR_BUF_INIT;
    uint32_t *ranks = calloc(count + 1, sizeof *ranks);
    bool all = false;
    for (size_t i = 0; ranks != NULL && i < count; i++) {
        ranks[i] = procs[i].rank;
        all = all || procs[i].rank == JR_PMIX_ALL_RANKS;
    }
    text.failed = ranks == NULL;
    if (all) {
        jr_buf_str(&text, "all");
    } else if (ranks != NULL) {
        qsort(ranks, count, sizeof *ranks, compare_ranks);
        jr_set_print(&text, ranks, count);
    }
    free(ranks);
    return jr_buf_detach(&text);
}

/* PMIx_Fence: the bytes are what the ranks here have, and ours. */
static int on_fence(const struct jr_pmix_proc *procs, size_t count,
                    const struct jr_pmix_info *infos, size_t infos_count, char *bytes, size_t len,
                    jr_pmix_exchanged *done, void *data)
{
    struct pmix_request *request = calloc(1, sizeof *request);
    char *group = name_group(procs, count);
    (void)infos, (void)infos_count;
    if (request == NULL || group == NULL) {
        free(request);
        free(group);
        return JR_PMIX_NO_MEMORY;
    }
    request->frame = (struct jr_exchange_frame){
        .kind = JR_EXCHANGE_FENCE, .group = group, .data = bytes, .len = len};
    request->proc = procs[0]; /* in the end the one with the highest number, or the name of all */
    for (size_t i = 1; i < count; i++)
        if (procs[i].rank > request->proc.rank)
            request->proc = procs[i];
    request->done = done;
    request->data = data;
    return post_request(request);
}

/* PMIx_Get of what a rank of another node has put since, or by itself. */
static int on_direct_modex(const struct jr_pmix_proc *proc, const struct jr_pmix_info *infos,
                           size_t infos_count, jr_pmix_exchanged *done, void *data)
{
    struct pmix_request *request = calloc(1, sizeof *request);
    (void)infos, (void)infos_count;
    if (request == NULL)
        return JR_PMIX_NO_MEMORY;
    request->frame = (struct jr_exchange_frame){.kind = JR_EXCHANGE_ASK, .rank = proc->rank};
    request->proc = *proc;
    request->done = done;
    request->data = data;
    return post_request(request);
}

/* What another server asked for is found, or is not there. */
static void on_found(int status, char *bytes, size_t len, void *data)
{
    struct pmix_request *request = data;
    char *copy = len == 0 ? NULL : malloc(len);
    if (copy != NULL)
        memcpy(copy, bytes, len);
    request->frame.status = len > 0 && copy == NULL ? JR_PMIX_NO_MEMORY : status;
    request->frame.data = copy;
    request->frame.len = copy == NULL ? 0 : len;
    (void)post_request(request);
}

/* The thread that exchanges. It ends with its process where something fails:
 * the runner then ends the run. */

static void send_frame(const struct jr_exchange_frame *frame)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_exchange_put(&out, frame);
    if (out.failed)
        _exit(1);
    for (size_t at = 0; at < out.len;) {
        ssize_t len = send(EXCHANGE_FD, out.data + at, out.len - at, MSG_NOSIGNAL);
        if (len < 0 && errno != EINTR)
            return; /* who reads it is gone */
        at += len < 0 ? 0 : (size_t)len;
    }
}

/* Whether what a rank wants is of ranks that there are: PMIx_Get may be for any rank
 * (PMIX_RANK_UNDEF), and a program may name one that is none. */
static bool is_of_world(const struct server *server, const struct pmix_request *request)
{
    const struct jr_pmix_proc *proc = &request->proc;
    return strcmp(proc->nspace, server->setup->name) == 0 &&
           (proc->rank < server->size ||
            (request->frame.kind == JR_EXCHANGE_FENCE && proc->rank == JR_PMIX_ALL_RANKS));
}

static void take_request(struct server *server)
{
    struct pmix_request *request;
    if (read(server->requests_fd, &request, sizeof request) != (ssize_t)sizeof request)
        return;
    if (request->done != NULL && !is_of_world(server, request)) {
        request->done(JR_PMIX_NOT_FOUND, NULL, 0, request->data, free, NULL);
        free_request(request);
        return;
    }
    if (request->frame.kind == JR_EXCHANGE_ASK)
        request->frame.token = ++server->token;
    send_frame(&request->frame);
    if (request->done == NULL) {
        free_request(request);
        return;
    }
    free((char *)(uintptr_t)request->frame.data);
    request->frame.data = NULL;
    request->next = server->waiting;
    server->waiting = request;
}

/* Whether a frame is what a request waits for. */
static bool is_reply_to(const struct jr_exchange_frame *frame, const struct pmix_request *request)
{
    if (frame->kind == JR_EXCHANGE_FENCE)
        return request->frame.kind == JR_EXCHANGE_FENCE &&
               strcmp(frame->group, request->frame.group) == 0;
    return request->frame.kind == JR_EXCHANGE_ASK && frame->token == request->frame.token;
}

/* The library goes on, with a copy that it frees. */
static void take_reply(struct server *server, const struct jr_exchange_frame *frame)
{
    struct pmix_request **at = &server->waiting;
    while (*at != NULL && !is_reply_to(frame, *at))
        at = &(*at)->next;
    struct pmix_request *request = *at;
    if (request == NULL) /* it is for other nodes */
        return;
    char *copy = malloc(frame->len + 1);
    if (copy == NULL)
        _exit(1);
    if (frame->len > 0)
        memcpy(copy, frame->data, frame->len);
    *at = request->next;
    request->done(frame->status, copy, frame->len, request->data, free, copy);
    free_request(request);
}

/* The library finds it once the rank has put it. */
static void answer_question(const struct server *server, const struct jr_exchange_frame *frame)
{
    struct pmix_request *request = calloc(1, sizeof *request);
    struct jr_pmix_proc proc = {.rank = frame->rank};
    if (request == NULL)
        _exit(1);
    (void)stpncpy(proc.nspace, server->setup->name, sizeof proc.nspace - 1);
    request->frame = (struct jr_exchange_frame){
        .kind = JR_EXCHANGE_ANSWER, .node = frame->node, .token = frame->token};
    int status = server->library.PMIx_server_dmodex_request(&proc, on_found, request);
    if (status != JR_PMIX_SUCCESS)
        on_found(status, NULL, 0, request);
}

static void read_exchange(struct server *server)
{
    char bytes[READ_AT_ONCE];
    struct jr_exchange_frame frame;
    enum jr_exchange_result result;
    ssize_t len = recv(EXCHANGE_FD, bytes, sizeof bytes, MSG_DONTWAIT);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0) /* the agent's end is open as long as it takes part */
        _exit(1);
    jr_inlet_add(&server->inlet, bytes, (size_t)len);
    while ((result = jr_exchange_next(&server->inlet, &frame)) == JR_EXCHANGE_TAKEN) {
        if (frame.kind == JR_EXCHANGE_ASK && frame.rank >= server->first &&
            frame.rank - server->first < server->count)
            answer_question(server, &frame);
        else if (frame.kind == JR_EXCHANGE_FENCE ||
                 (frame.kind == JR_EXCHANGE_ANSWER && frame.node == server->setup->node))
            take_reply(server, &frame);
    }
    if (result == JR_EXCHANGE_BROKEN)
        _exit(1);
}

/* What the process does first. */

/* An operation of ours is done, on the library's thread. */
static void on_operation_done(int status, void *data)
{
    const struct server *server = data;
    (void)!write(server->waits[1], &status, sizeof status);
}

/* Wait for what an operation that was begun with `status` comes to. */
static void await_operation(const struct server *server, int status, const char *what)
{
    if (status == JR_PMIX_SUCCESS &&
        read(server->waits[0], &status, sizeof status) != (ssize_t)sizeof status)
        status = -1;
    if (status != JR_PMIX_SUCCESS)
        refuse_to_serve(what, server->library.PMIx_Error_string(status));
}

static void load_library(struct server *server)
{
    void *handle = dlopen(server->setup->library, RTLD_NOW | RTLD_GLOBAL);
    if (handle == NULL)
        refuse_to_serve("could not load the library", dlerror());
#define LOAD(name, type, parameters)                                                               \
    {                                                                                              \
        void *symbol = dlsym(handle, #name);                                                       \
        if (symbol == NULL)                                                                        \
            refuse_to_serve("the library lacks", #name);                                           \
        memcpy(&server->library.name, &symbol, sizeof symbol);                                     \
    }
    JR_PMIX_FUNCTIONS(LOAD)
#undef LOAD
}

static void set_text(struct jr_pmix_info *info, const char *key, char *text)
{
    (void)snprintf(info->key, sizeof info->key, "%s", key);
    info->value = (struct jr_pmix_value){.type = JR_PMIX_STRING, .data.string = text};
}

static void set_number(struct jr_pmix_info *info, const char *key, uint32_t number)
{
    (void)snprintf(info->key, sizeof info->key, "%s", key);
    info->value = (struct jr_pmix_value){.type = JR_PMIX_UINT32, .data.uint32 = number};
}

static void begin_to_serve(struct server *server)
{
    const struct jr_pmix_setup *setup = server->setup;
    struct jr_pmix_module own = {
        .client_connected = on_client_connected,
        .client_finalized = on_client_finalized,
        .abort = on_client_abort,
        .spawn = on_client_spawn,
    };
    struct jr_pmix_info infos[3] = {0};
    char *folder = strdup(setup->folder);
    if (folder == NULL)
        refuse_to_serve("could not begin", strerror(ENOMEM));
    set_text(&infos[0], "pmix.srvr.tmpdir", folder);
    set_text(&infos[1], "pmix.sys.tmpdir", folder);
    set_text(&infos[2], "pmix.hname", setup->hosts[setup->node]);
    if (setup->exchange_fd >= 0) {
        own.fence_nb = on_fence;
        own.direct_modex = on_direct_modex;
    }
    int status = server->library.PMIx_server_init(&own, infos, 3);
    if (status != JR_PMIX_SUCCESS)
        refuse_to_serve("PMIx_server_init", server->library.PMIx_Error_string(status));
}

static void add_ranks(struct jr_buf *out, const struct jr_pmix_setup *setup, uint32_t node)
{
    for (uint32_t rank = setup->first[node]; rank < setup->first[node + 1]; rank++)
        jr_buf_printf(out, rank == setup->first[node] ? "%u" : ",%u", rank);
}

static struct jr_pmix_proc make_proc(const struct server *server, uint32_t rank)
{
    struct jr_pmix_proc proc = {.rank = rank};
    (void)snprintf(proc.nspace, sizeof proc.nspace, "%s", server->setup->name);
    return proc;
}

/* The ranks here, and what a process of the world may ask of it. The maps are what the library
 * would make of its own short forms of them. */
static void register_world(struct server *server)
{
    const struct jr_pmix_setup *setup = server->setup;
    struct jr_pmix_info infos[KEYS] = {0};
    struct jr_buf nodes = JR_BUF_INIT, places = JR_BUF_INIT, peers = JR_BUF_INIT;
    for (uint32_t node = 0; node < setup->nodes; node++) {
        jr_buf_printf(&nodes, node == 0 ? "%s" : ",%s", setup->hosts[node]);
        jr_buf_str(&places, node == 0 ? "" : ";");
        add_ranks(&places, setup, node);
    }
    add_ranks(&peers, setup, setup->node);
    if (nodes.failed || places.failed || peers.failed)
        refuse_to_serve("could not describe the world", strerror(ENOMEM));
    set_text(&infos[0], "pmix.nmap", nodes.data);
    set_text(&infos[1], "pmix.pmap", places.data);
    set_number(&infos[2], "pmix.job.size", server->size);
    set_number(&infos[3], "pmix.univ.size", server->size);
    set_number(&infos[4], "pmix.local.size", server->count);
    set_text(&infos[5], "pmix.lpeers", peers.data);
    await_operation(server,
                    server->library.PMIx_server_register_nspace(
                        setup->name, (int)server->count, infos, KEYS, on_operation_done, server),
                    "PMIx_server_register_nspace");
    for (uint32_t i = 0; i < server->count; i++) {
        struct jr_pmix_proc proc = make_proc(server, server->first + i);
        await_operation(server,
                        server->library.PMIx_server_register_client(
                            &proc, geteuid(), getegid(), server, on_operation_done, server),
                        "PMIx_server_register_client");
    }
}

/* The variables of one rank, but for its number, are those of all. */
static void send_variables(const struct server *server)
{
    struct jr_pmix_proc proc = make_proc(server, server->first);
    struct jr_buf text = JR_BUF_INIT;
    char **env = NULL;
    int status = server->library.PMIx_server_setup_fork(&proc, &env);
    if (status != JR_PMIX_SUCCESS)
        refuse_to_serve("PMIx_server_setup_fork", server->library.PMIx_Error_string(status));
    for (char **item = env; item != NULL && *item != NULL; item++)
        if (strncmp(*item, "PMIX_RANK=", strlen("PMIX_RANK=")) != 0)
            jr_buf_add(&text, *item, strlen(*item) + 1);
    if (text.failed || text.len > JR_PMIX_TEXT_MAX)
        refuse_to_serve("could not describe the server", NULL);
    send_text(JR_PMIX_READY, &text);
}

/* Leave all that is the runner's, and no signal of its group. */
static void leave_runner(int fd, int exchange_fd)
{
    int null = open("/dev/null", O_RDWR);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "jobrun-pmix");
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int stream = 0; stream <= STDERR_FILENO; stream++)
        (void)dup2(null, stream);
    int runner = fcntl(fd, F_DUPFD_CLOEXEC, FREE_FD);
    int exchange = fcntl(exchange_fd, F_DUPFD_CLOEXEC, FREE_FD);
    (void)dup2(runner, RUNNER_FD);
    (void)dup2(exchange < 0 ? null : exchange, EXCHANGE_FD);
    (void)jr_close_range(REQUESTS_FD, ~0U, 0);
}

/* The pipe of requests. -1 with errno. */
static int open_requests(struct server *server)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    server->requests_fd = fcntl(ends[0], F_DUPFD_CLOEXEC, FREE_FD);
    int copied = fcntl(ends[1], F_DUPFD_CLOEXEC, FREE_FD);
    (void)close(ends[0]);
    (void)close(ends[1]);
    if (server->requests_fd < 0 || copied < 0 || dup2(copied, REQUESTS_FD) < 0)
        return -1;
    (void)close(copied);
    return 0;
}

/* Serve until the runner closes its end, or dies, which closes it too. */
_Noreturn static void serve(const struct jr_pmix_setup *setup, int fd)
{
    uint32_t first = setup->first[setup->node];
    struct server server = {.setup = setup,
                            .first = first,
                            .count = setup->first[setup->node + 1] - first,
                            .size = setup->first[setup->nodes]};
    leave_runner(fd, setup->exchange_fd);
    environ = (char **)(uintptr_t)setup->env;
    if (open_requests(&server) != 0 || pipe2(server.waits, O_CLOEXEC) != 0)
        refuse_to_serve("could not begin", strerror(errno));
    load_library(&server);
    begin_to_serve(&server);
    register_world(&server);
    send_variables(&server);
    for (bool there = true; there;) {
        struct pollfd items[] = {
            {.fd = RUNNER_FD, .events = POLLIN},
            {.fd = server.requests_fd, .events = POLLIN},
            {.fd = setup->exchange_fd < 0 ? -1 : EXCHANGE_FD, .events = POLLIN}};
        if (poll(items, 3, -1) < 0)
            continue;
        if (items[1].revents != 0)
            take_request(&server);
        if (items[2].revents != 0)
            read_exchange(&server);
        /* Whether the runner's end is still open; what it may say means nothing. */
        char byte;
        ssize_t len = items[0].revents == 0 ? 1 : recv(RUNNER_FD, &byte, 1, MSG_DONTWAIT);
        there = len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR));
    }
    (void)server.library.PMIx_server_finalize();
    _exit(0);
}

/* The runner's side. */

/* Take one message; the length of its text, or -1. */
static ssize_t receive_event(int fd, struct jr_pmix_event *ret, char *text, size_t room)
{
    struct iovec parts[] = {{ret, sizeof *ret}, {text, room}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = room == 0 ? 1 : 2};
    ssize_t len = recvmsg(fd, &message, MSG_DONTWAIT);
    if (len < 0)
        return -1;
    errno = EPIPE;
    return len < (ssize_t)sizeof *ret ? -1 : len - (ssize_t)sizeof *ret;
}

/* `why` may be the server's own text, which ends with it. */
static int refuse_start(struct jr_pmix *pmix, const char *why, struct jr_error *err)
{
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "%s", why);
    jr_pmix_end(pmix);
    return -1;
}

int jr_pmix_take_start(struct jr_pmix *pmix, struct jr_error *err)
{
    struct jr_pmix_event event;
    char *text = jr_arena_alloc(&pmix->arena, JR_PMIX_TEXT_MAX + 1);
    if (text == NULL)
        return refuse_start(pmix, strerror(ENOMEM), err);
    ssize_t len = receive_event(pmix->fd, &event, text, JR_PMIX_TEXT_MAX);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return 1;
    if (len < 0 || (event.kind != JR_PMIX_READY && event.kind != JR_PMIX_REFUSED))
        return refuse_start(pmix, "its process died", err);
    text[len] = '\0';
    if (event.kind == JR_PMIX_REFUSED)
        return refuse_start(pmix, text, err);
    for (ssize_t at = 0; at < len; at += (ssize_t)strlen(text + at) + 1)
        jr_strv_push(&pmix->env, &pmix->arena, text + at);
    if (pmix->arena.failed)
        return refuse_start(pmix, strerror(ENOMEM), err);
    pmix->ready = true;
    return 0;
}

int jr_pmix_start(struct jr_pmix *ret, const struct jr_pmix_setup *setup, struct jr_error *err)
{
    int ends[2];
    *ret = (struct jr_pmix){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "no socket for PMIx");
    ret->pid = fork();
    if (ret->pid == 0)
        serve(setup, ends[1]);
    if (ret->pid < 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "no process for the PMIx server");
    ret->fd = ends[0];
    (void)close(ends[1]);
    if (ret->pid > 0)
        return 0;
    jr_pmix_end(ret);
    return -1;
}

bool jr_pmix_next(struct jr_pmix *pmix, struct jr_pmix_event *ret, bool *ret_ended)
{
    bool there = receive_event(pmix->fd, ret, NULL, 0) >= 0;
    *ret_ended = !there && errno != EAGAIN && errno != EINTR;
    return there;
}

void jr_pmix_end(struct jr_pmix *pmix)
{
    struct pollfd item = {.fd = pmix->fd, .events = POLLIN};
    struct jr_pmix_event event;
    bool ended = pmix->fd < 0 || !pmix->ready;
    if (pmix->fd >= 0)
        (void)shutdown(pmix->fd, SHUT_WR);
    /* Its end closes its end of the socket. */
    while (!ended && poll(&item, 1, END_MS) > 0)
        while (jr_pmix_next(pmix, &event, &ended)) {
        }
    jr_close_fd(&pmix->fd);
    /* Whoever has ended was reaped, by us or by another. */
    if (pmix->pid > 0 && waitpid(pmix->pid, NULL, WNOHANG) == 0) {
        (void)kill(pmix->pid, SIGKILL);
        (void)waitpid(pmix->pid, NULL, 0);
    }
    jr_arena_release(&pmix->arena);
    *pmix = (struct jr_pmix){.fd = -1};
}
