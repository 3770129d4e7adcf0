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
#include "base/syscalls.h"
#include "wireup/pmix_exchange.h"

#include "base/banned.h"

enum { END_MS = 1000, KEYS = 6 };

/* The server's process. What its library calls has no parameter for it but the object that a client
 * was registered with. */
struct server {
    const struct jr_pmix_setup *setup;
    struct jr_pmix_library library;
    struct jr_pmix_exchange exchange;
    uint32_t first, count; /* the ranks here */
    int fd;                /* to the runner */
    int waits[2];          /* a pipe: a byte for each operation that is done */
};

static void send_event(int fd, enum jr_pmix_event_kind kind, uint32_t rank, int code)
{
    const struct jr_pmix_event event = {.kind = kind, .rank = rank, .code = code};
    (void)send(fd, &event, sizeof event, MSG_NOSIGNAL);
}

static void send_text(int fd, enum jr_pmix_event_kind kind, const struct jr_buf *text)
{
    struct jr_pmix_event event = {.kind = kind, .len = (uint32_t)text->len};
    struct iovec parts[] = {{&event, sizeof event}, {text->data, text->len}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = text->len == 0 ? 1 : 2};
    (void)sendmsg(fd, &message, MSG_NOSIGNAL);
}

_Noreturn static void refuse_to_serve(int fd, const char *what, const char *why)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "%s: %s", what, why == NULL ? "unknown error" : why);
    send_text(fd, JR_PMIX_REFUSED, &text);
    _exit(1);
}

/* What the library calls, on a thread of its own: the object is our server. The event is on its way
 * before the rank hears that it is through, so that it comes before the end of the rank. */

static int on_client_connected(const struct jr_pmix_proc *proc, void *object, jr_pmix_done *done,
                               void *data)
{
    const struct server *server = object;
    send_event(server->fd, JR_PMIX_CONNECTED, proc->rank, 0);
    if (done != NULL)
        done(JR_PMIX_SUCCESS, data);
    return JR_PMIX_SUCCESS;
}

static int on_client_finalized(const struct jr_pmix_proc *proc, void *object, jr_pmix_done *done,
                               void *data)
{
    const struct server *server = object;
    send_event(server->fd, JR_PMIX_FINISHED, proc->rank, 0);
    if (done != NULL)
        done(JR_PMIX_SUCCESS, data);
    return JR_PMIX_SUCCESS;
}

static int on_client_abort(const struct jr_pmix_proc *proc, void *object, int status,
                           const char *message, struct jr_pmix_proc *procs, size_t count,
                           jr_pmix_done *done, void *data)
{
    const struct server *server = object;
    (void)message, (void)procs, (void)count;
    send_event(server->fd, JR_PMIX_ABORTED, proc->rank, status);
    if (done != NULL)
        done(JR_PMIX_SUCCESS, data);
    return JR_PMIX_SUCCESS;
}

static int on_client_spawn(const struct jr_pmix_proc *proc, const struct jr_pmix_info *infos,
                           size_t infos_count, const void *apps, size_t apps_count,
                           void (*done)(void), void *data)
{
    (void)infos, (void)infos_count, (void)apps, (void)apps_count;
    (void)done, (void)data;
    send_event(JR_PMIX_RUNNER_FD, JR_PMIX_SPAWNED, proc->rank, 0);
    return JR_PMIX_NOT_SUPPORTED;
}

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
        refuse_to_serve(server->fd, what, server->library.PMIx_Error_string(status));
}

static void load_library(struct server *server)
{
    void *handle = dlopen(server->setup->library, RTLD_NOW | RTLD_GLOBAL);
    if (handle == NULL)
        refuse_to_serve(server->fd, "could not load the library", dlerror());
#define LOAD(name, type, parameters)                                                               \
    {                                                                                              \
        void *symbol = dlsym(handle, #name);                                                       \
        if (symbol == NULL)                                                                        \
            refuse_to_serve(server->fd, "the library lacks", #name);                               \
        memcpy(&server->library.name, &symbol, sizeof symbol);                                     \
    }
    JR_PMIX_FUNCTIONS(LOAD)
#undef LOAD
}

static void set_key(struct jr_pmix_info *info, const char *key, uint16_t type)
{
    (void)snprintf(info->key, sizeof info->key, "%s", key);
    info->value.type = type;
}

static void set_text(struct jr_pmix_info *info, const char *key, char *text)
{
    set_key(info, key, JR_PMIX_STRING);
    info->value.data.string = text;
}

static void set_number(struct jr_pmix_info *info, const char *key, uint32_t number)
{
    set_key(info, key, JR_PMIX_UINT32);
    info->value.data.uint32 = number;
}

static void begin_to_serve(struct server *server)
{
    static struct jr_pmix_module const module = {
        .client_connected = on_client_connected,
        .client_finalized = on_client_finalized,
        .abort = on_client_abort,
        .spawn = on_client_spawn,
    };
    const struct jr_pmix_setup *setup = server->setup;
    struct jr_pmix_module own = module;
    struct jr_pmix_info infos[3] = {0};
    char *folder = strdup(setup->folder);
    if (folder == NULL)
        refuse_to_serve(server->fd, "could not begin", strerror(ENOMEM));
    set_text(&infos[0], "pmix.srvr.tmpdir", folder);
    set_text(&infos[1], "pmix.sys.tmpdir", folder);
    set_text(&infos[2], "pmix.hname", setup->hosts[setup->node]);
    if (!server->exchange.ended)
        jr_pmix_exchange_fill(&own);
    int status = server->library.PMIx_server_init(&own, infos, 3);
    if (status != JR_PMIX_SUCCESS)
        refuse_to_serve(server->fd, "PMIx_server_init", server->library.PMIx_Error_string(status));
}

static void add_ranks(struct jr_buf *out, const struct jr_pmix_setup *setup, uint32_t node)
{
    for (uint32_t rank = setup->first[node]; rank < setup->first[node + 1]; rank++)
        jr_buf_printf(out, rank == setup->first[node] ? "%u" : ",%u", rank);
}

/* What a process of the world may ask of it. The maps are what the library would make of its own
 * short forms of them. */
static void register_world(const struct server *server)
{
    const struct jr_pmix_setup *setup = server->setup;
    struct jr_pmix_info infos[KEYS] = {0};
    struct jr_buf nodes = JR_BUF_INIT, places = JR_BUF_INIT, peers = JR_BUF_INIT;
    uint32_t size = setup->first[setup->nodes];
    for (uint32_t node = 0; node < setup->nodes; node++) {
        jr_buf_printf(&nodes, node == 0 ? "%s" : ",%s", setup->hosts[node]);
        jr_buf_str(&places, node == 0 ? "" : ";");
        add_ranks(&places, setup, node);
    }
    add_ranks(&peers, setup, setup->node);
    if (nodes.failed || places.failed || peers.failed)
        refuse_to_serve(server->fd, "could not describe the world", strerror(ENOMEM));
    set_text(&infos[0], "pmix.nmap", nodes.data);
    set_text(&infos[1], "pmix.pmap", places.data);
    set_number(&infos[2], "pmix.job.size", size);
    set_number(&infos[3], "pmix.univ.size", size);
    set_number(&infos[4], "pmix.local.size", server->count);
    set_text(&infos[5], "pmix.lpeers", peers.data);
    await_operation(server,
                    server->library.PMIx_server_register_nspace(setup->name, (int)server->count,
                                                                infos, KEYS, on_operation_done,
                                                                (void *)(uintptr_t)server),
                    "PMIx_server_register_nspace");
}

static struct jr_pmix_proc make_proc(const struct server *server, uint32_t rank)
{
    struct jr_pmix_proc proc = {.rank = rank};
    (void)snprintf(proc.nspace, sizeof proc.nspace, "%s", server->setup->name);
    return proc;
}

static void register_ranks(struct server *server)
{
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
        refuse_to_serve(server->fd, "PMIx_server_setup_fork",
                        server->library.PMIx_Error_string(status));
    for (char **item = env; item != NULL && *item != NULL; item++)
        if (strncmp(*item, "PMIX_RANK=", strlen("PMIX_RANK=")) != 0)
            jr_buf_add(&text, *item, strlen(*item) + 1);
    if (text.failed || text.len > JR_PMIX_TEXT_MAX)
        refuse_to_serve(server->fd, "could not describe the server", NULL);
    send_text(server->fd, JR_PMIX_READY, &text);
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
    int runner = fcntl(fd, F_DUPFD_CLOEXEC, JR_PMIX_FREE_FD);
    int exchange = fcntl(exchange_fd, F_DUPFD_CLOEXEC, JR_PMIX_FREE_FD);
    (void)dup2(runner, JR_PMIX_RUNNER_FD);
    (void)dup2(exchange < 0 ? null : exchange, JR_PMIX_EXCHANGE_FD);
    (void)jr_close_range(JR_PMIX_REQUESTS_FD, ~0U, 0);
}

_Noreturn static void serve(const struct jr_pmix_setup *setup, int fd)
{
    uint32_t first = setup->first[setup->node];
    struct server server = {.setup = setup,
                            .fd = JR_PMIX_RUNNER_FD,
                            .first = first,
                            .count = setup->first[setup->node + 1] - first};
    server.exchange = (struct jr_pmix_exchange){.library = &server.library,
                                                .name = setup->name,
                                                .node = setup->node,
                                                .first = first,
                                                .count = server.count,
                                                .size = setup->first[setup->nodes],
                                                .ended = setup->exchange_fd < 0};
    leave_runner(fd, setup->exchange_fd);
    environ = (char **)(uintptr_t)setup->env;
    if (jr_pmix_exchange_open(&server.exchange) != 0 || pipe2(server.waits, O_CLOEXEC) != 0)
        refuse_to_serve(server.fd, "could not begin", strerror(errno));
    load_library(&server);
    begin_to_serve(&server);
    register_world(&server);
    register_ranks(&server);
    send_variables(&server);
    jr_pmix_exchange_serve(&server.exchange);
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

/* Whether it has ended, and was reaped, by us or by another. */
static bool is_reaped(pid_t pid)
{
    return waitpid(pid, NULL, WNOHANG) != 0;
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
    if (pmix->fd >= 0)
        (void)close(pmix->fd);
    if (pmix->pid > 0 && !is_reaped(pmix->pid)) {
        (void)kill(pmix->pid, SIGKILL);
        (void)waitpid(pmix->pid, NULL, 0);
    }
    jr_arena_release(&pmix->arena);
    *pmix = (struct jr_pmix){.fd = -1};
}
