#include "wireup/pmix_exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/rank_set.h"

#include "base/banned.h"

enum { READ_AT_ONCE = 64 << 10 };

/* What a thread of the library wants, or has found. */
struct jr_pmix_request {
    struct jr_exchange_frame frame; /* its texts are allocated */
    struct jr_pmix_proc proc;       /* that is asked for; the last of a group */
    jr_pmix_exchanged *done;        /* what the library waits for; NULL: not */
    void *data;
    struct jr_pmix_request *next;
};

static void free_request(struct jr_pmix_request *request)
{
    if (request == NULL)
        return;
    free((char *)(uintptr_t)request->frame.group);
    free((char *)(uintptr_t)request->frame.data);
    free(request);
}

/* The library's side, on its thread. */

/* Hand it to the thread that exchanges: an address fits into a pipe whole. */
static int post_request(struct jr_pmix_request *request)
{
    return jr_io_write_all(JR_PMIX_REQUESTS_FD, &request, sizeof request) == 0 ? JR_PMIX_SUCCESS
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

/* The one with the highest number; where all take part, that is their name. */
static struct jr_pmix_proc find_last_proc(const struct jr_pmix_proc *procs, size_t count)
{
    size_t last = 0;
    for (size_t i = 1; i < count; i++)
        if (procs[i].rank > procs[last].rank)
            last = i;
    return procs[last];
}

/* PMIx_Fence: the bytes are what the ranks here have, and ours. */
static int on_fence(const struct jr_pmix_proc *procs, size_t count,
                    const struct jr_pmix_info *infos, size_t infos_count, char *bytes, size_t len,
                    jr_pmix_exchanged *done, void *data)
{
    struct jr_pmix_request *request = calloc(1, sizeof *request);
    char *group = name_group(procs, count);
    (void)infos, (void)infos_count;
    if (request == NULL || group == NULL) {
        free(request);
        free(group);
        return JR_PMIX_NO_MEMORY;
    }
    request->frame = (struct jr_exchange_frame){
        .kind = JR_EXCHANGE_FENCE, .group = group, .data = bytes, .len = len};
    request->proc = find_last_proc(procs, count);
    request->done = done;
    request->data = data;
    return post_request(request);
}

/* PMIx_Get of what a rank of another node has put since, or by itself. */
static int on_direct_modex(const struct jr_pmix_proc *proc, const struct jr_pmix_info *infos,
                           size_t infos_count, jr_pmix_exchanged *done, void *data)
{
    struct jr_pmix_request *request = calloc(1, sizeof *request);
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
    struct jr_pmix_request *request = data;
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
        ssize_t len = send(JR_PMIX_EXCHANGE_FD, out.data + at, out.len - at, MSG_NOSIGNAL);
        if (len < 0 && errno != EINTR)
            return; /* who reads it is gone */
        at += len < 0 ? 0 : (size_t)len;
    }
}

/* Whether what a rank wants is of ranks that there are: PMIx_Get may be for any rank
 * (PMIX_RANK_UNDEF), and a program may name one that is none. */
static bool is_of_world(const struct jr_pmix_exchange *exchange,
                        const struct jr_pmix_request *request)
{
    const struct jr_pmix_proc *proc = &request->proc;
    return strcmp(proc->nspace, exchange->name) == 0 &&
           (proc->rank < exchange->size ||
            (request->frame.kind == JR_EXCHANGE_FENCE && proc->rank == JR_PMIX_ALL_RANKS));
}

static void take_request(struct jr_pmix_exchange *exchange)
{
    struct jr_pmix_request *request;
    if (read(exchange->requests_fd, &request, sizeof request) != (ssize_t)sizeof request)
        return;
    if (request->done != NULL && !is_of_world(exchange, request)) {
        request->done(JR_PMIX_NOT_FOUND, NULL, 0, request->data, free, NULL);
        free_request(request);
        return;
    }
    if (request->frame.kind == JR_EXCHANGE_ASK)
        request->frame.token = ++exchange->token;
    send_frame(&request->frame);
    if (request->done == NULL) {
        free_request(request);
        return;
    }
    free((char *)(uintptr_t)request->frame.data);
    request->frame.data = NULL;
    request->next = exchange->waiting;
    exchange->waiting = request;
}

/* Whether a frame is what a request waits for. */
static bool is_reply_to(const struct jr_exchange_frame *frame,
                        const struct jr_pmix_request *request)
{
    if (frame->kind == JR_EXCHANGE_FENCE)
        return request->frame.kind == JR_EXCHANGE_FENCE &&
               strcmp(frame->group, request->frame.group) == 0;
    return request->frame.kind == JR_EXCHANGE_ASK && frame->token == request->frame.token;
}

/* The library goes on, with a copy that it frees. */
static void take_reply(struct jr_pmix_exchange *exchange, const struct jr_exchange_frame *frame)
{
    struct jr_pmix_request **at = &exchange->waiting;
    while (*at != NULL && !is_reply_to(frame, *at))
        at = &(*at)->next;
    struct jr_pmix_request *request = *at;
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
static void answer_question(const struct jr_pmix_exchange *exchange,
                            const struct jr_exchange_frame *frame)
{
    struct jr_pmix_request *request = calloc(1, sizeof *request);
    struct jr_pmix_proc proc = {.rank = frame->rank};
    if (request == NULL)
        _exit(1);
    (void)stpncpy(proc.nspace, exchange->name, sizeof proc.nspace - 1);
    request->frame = (struct jr_exchange_frame){
        .kind = JR_EXCHANGE_ANSWER, .node = frame->node, .token = frame->token};
    int status = exchange->library->PMIx_server_dmodex_request(&proc, on_found, request);
    if (status != JR_PMIX_SUCCESS)
        on_found(status, NULL, 0, request);
}

static void take_frame(struct jr_pmix_exchange *exchange, const struct jr_exchange_frame *frame)
{
    bool here = frame->rank >= exchange->first && frame->rank - exchange->first < exchange->count;
    if (frame->kind == JR_EXCHANGE_ASK && here)
        answer_question(exchange, frame);
    else if (frame->kind == JR_EXCHANGE_FENCE ||
             (frame->kind == JR_EXCHANGE_ANSWER && frame->node == exchange->node))
        take_reply(exchange, frame);
}

static void read_exchange(struct jr_pmix_exchange *exchange)
{
    char bytes[READ_AT_ONCE];
    struct jr_exchange_frame frame;
    enum jr_exchange_result result;
    ssize_t len = recv(JR_PMIX_EXCHANGE_FD, bytes, sizeof bytes, MSG_DONTWAIT);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0) /* the agent's end is open as long as it takes part */
        _exit(1);
    jr_inlet_add(&exchange->inlet, bytes, (size_t)len);
    while ((result = jr_exchange_next(&exchange->inlet, &frame)) == JR_EXCHANGE_TAKEN)
        take_frame(exchange, &frame);
    if (result == JR_EXCHANGE_BROKEN)
        _exit(1);
}

int jr_pmix_exchange_open(struct jr_pmix_exchange *exchange)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    exchange->requests_fd = fcntl(ends[0], F_DUPFD_CLOEXEC, JR_PMIX_FREE_FD);
    int copied = fcntl(ends[1], F_DUPFD_CLOEXEC, JR_PMIX_FREE_FD);
    (void)close(ends[0]);
    (void)close(ends[1]);
    if (exchange->requests_fd < 0 || copied < 0 || dup2(copied, JR_PMIX_REQUESTS_FD) < 0)
        return -1;
    (void)close(copied);
    return 0;
}

void jr_pmix_exchange_fill(struct jr_pmix_module *module)
{
    module->fence_nb = on_fence;
    module->direct_modex = on_direct_modex;
}

/* Whether the runner's end is still open; what it may say means nothing. */
static bool is_runner_there(void)
{
    char byte;
    ssize_t len = recv(JR_PMIX_RUNNER_FD, &byte, 1, MSG_DONTWAIT);
    return len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR));
}

void jr_pmix_exchange_serve(struct jr_pmix_exchange *exchange)
{
    bool there = true;
    while (there) {
        struct pollfd items[] = {
            {.fd = JR_PMIX_RUNNER_FD, .events = POLLIN},
            {.fd = exchange->requests_fd, .events = POLLIN},
            {.fd = exchange->ended ? -1 : JR_PMIX_EXCHANGE_FD, .events = POLLIN}};
        if (poll(items, 3, -1) < 0)
            continue;
        if (items[1].revents != 0)
            take_request(exchange);
        if (items[2].revents != 0)
            read_exchange(exchange);
        if (items[0].revents != 0)
            there = is_runner_there();
    }
}
