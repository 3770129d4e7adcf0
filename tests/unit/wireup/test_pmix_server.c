/* The process that serves PMIx: what can go wrong before it is ready, what it tells, and that it
 * ends. Its library is fake_pmix.c. */
#include "wireup/pmix_server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "unit.h"
#include "wireup/exchange.h"

static char *const env[] = {(char *)"FAKE=1", NULL};

static char *const hosts[] = {(char *)"there", (char *)"here"};
static const uint32_t first[] = {0, 2, 4};

static struct jr_pmix_setup make_setup(const char *name)
{
    return (struct jr_pmix_setup){.library = FAKE_PMIX,
                                  .name = name,
                                  .folder = "/tmp",
                                  .env = env,
                                  .hosts = hosts + 1,
                                  .nodes = 1,
                                  .first = first,
                                  .exchange_fd = -1};
}

/* Start it, and wait for what it says of that. */
static int start_server(struct jr_pmix *pmix, const struct jr_pmix_setup *setup,
                        struct jr_error *err)
{
    int result = jr_pmix_start(pmix, setup, err) == 0 ? 1 : -1;
    while (result > 0) {
        struct pollfd item = {.fd = pmix->fd, .events = POLLIN};
        CU_ASSERT_EQUAL_FATAL(poll(&item, 1, 60000), 1);
        result = jr_pmix_take_start(pmix, err);
    }
    return result;
}

/* It is not started, for that reason, and leaves no process. */
static void check_refused(const struct jr_pmix_setup *setup, const char *why)
{
    struct jr_pmix pmix;
    struct jr_error err = {0};
    CU_ASSERT_EQUAL(start_server(&pmix, setup, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    if (strstr(err.text, why) == NULL)
        printf("\n    got      '%s'\n    expected '%s'\n", err.text, why);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
    CU_ASSERT_EQUAL(pmix.fd, -1);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
    CU_ASSERT_EQUAL(errno, ECHILD);
}

TEST(says_why_it_cannot_serve)
{
    static const struct {
        const char *name, *why;
    } vectors[] = {
        {"nspace", "PMIx_server_register_nspace: FAKE-FAILED"},
        {"client", "PMIx_server_register_client: FAKE-FAILED"},
        {"fork", "PMIx_server_setup_fork: FAKE-FAILED"},
        {"crash", "its process died"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct jr_pmix_setup setup = make_setup(vectors[i].name);
        check_refused(&setup, vectors[i].why);
    }
    struct jr_pmix_setup setup = make_setup("world");
    setup.folder = "/init";
    check_refused(&setup, "PMIx_server_init: FAKE-FAILED");
    setup.library = "/nowhere/libpmix.so.2";
    check_refused(&setup, "could not load the library: /nowhere/libpmix.so.2");
    setup.library = "libc.so.6";
    check_refused(&setup, "the library lacks: PMIx_server_init");
}

/* Take events until the server is gone; "connected 0; ". */
static void take_events(struct jr_pmix *pmix, struct jr_buf *out)
{
    static const char *const words[] = {
        [JR_PMIX_READY] = "ready",         [JR_PMIX_REFUSED] = "refused",
        [JR_PMIX_CONNECTED] = "connected", [JR_PMIX_FINISHED] = "finished",
        [JR_PMIX_ABORTED] = "aborted",     [JR_PMIX_SPAWNED] = "spawned"};
    struct jr_pmix_event event;
    bool ended = false;
    while (!ended) {
        struct pollfd item = {.fd = pmix->fd, .events = POLLIN};
        CU_ASSERT_EQUAL_FATAL(poll(&item, 1, 60000), 1);
        while (jr_pmix_next(pmix, &event, &ended))
            jr_buf_printf(out, "%s %u %d; ", words[event.kind], event.rank, event.code);
    }
}

TEST(serves_and_tells)
{
    struct jr_pmix pmix;
    struct jr_error err = {0};
    struct jr_buf told JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_pmix_event event;
    bool ended = true;
    const struct jr_pmix_setup setup = make_setup("world");
    CU_ASSERT_EQUAL_FATAL(start_server(&pmix, &setup, &err), 0);
    CU_ASSERT_EQUAL_FATAL(pmix.env.count, 2);
    JR_ASSERT_TEXT(pmix.env.items[0], "PMIX_NAMESPACE=fake");
    JR_ASSERT_TEXT(pmix.env.items[1], "PMIX_SERVER_URI=here");
    CU_ASSERT_TRUE(pmix.env.items[2] == NULL && !jr_pmix_next(&pmix, &event, &ended));
    CU_ASSERT_FALSE(ended);
    (void)shutdown(pmix.fd, SHUT_WR);
    take_events(&pmix, &told);
    JR_ASSERT_TEXT(told.data, "connected 0 0; connected 1 0; finished 0 0; "
                              "spawned 1 0; aborted 1 3; ");
    jr_pmix_end(&pmix);
    CU_ASSERT_EQUAL(pmix.fd, -1);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
}

/* By being told, after it was killed, and where it does not obey. */
TEST(ends_in_any_case)
{
    const struct jr_pmix_setup setup = make_setup("world");
    struct jr_error err = {0};
    static const int signals[] = {0, SIGKILL, SIGSTOP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct jr_pmix pmix;
        CU_ASSERT_EQUAL_FATAL(start_server(&pmix, &setup, &err), 0);
        pid_t pid = pmix.pid;
        if (signals[i] != 0)
            (void)kill(pid, signals[i]);
        jr_pmix_end(&pmix);
        CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), -1);
        CU_ASSERT_EQUAL(errno, ECHILD);
    }
}

/* The server of node 1, whose exchange is at our end of a socket. */
static int start_node(struct jr_pmix *pmix, const char *name)
{
    struct jr_pmix_setup setup = make_setup(name);
    struct jr_error err = {0};
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    setup.hosts = hosts;
    setup.nodes = 2;
    setup.node = 1;
    setup.exchange_fd = ends[1];
    CU_ASSERT_EQUAL_FATAL(start_server(pmix, &setup, &err), 0);
    (void)close(ends[1]);
    return ends[0];
}

/* The next frame: "fence all 'mine'; ". */
static void take_frame(struct jr_inlet *inlet, int fd, struct jr_buf *out)
{
    struct jr_exchange_frame frame;
    struct pollfd item = {.fd = fd, .events = POLLIN};
    char bytes[256];
    while (jr_exchange_next(inlet, &frame) == JR_EXCHANGE_NONE) {
        CU_ASSERT_EQUAL_FATAL(poll(&item, 1, 60000), 1);
        ssize_t len = read(fd, bytes, sizeof bytes);
        CU_ASSERT_TRUE_FATAL(len > 0);
        jr_inlet_add(inlet, bytes, (size_t)len);
    }
    if (frame.kind == JR_EXCHANGE_FENCE)
        jr_buf_printf(out, "fence %s '%.*s'; ", frame.group, (int)frame.len, frame.data);
    else
        jr_buf_printf(out, "%s %u by %u token %u status %d '%.*s'; ",
                      frame.kind == JR_EXCHANGE_ASK ? "ask" : "answer", frame.rank, frame.node,
                      frame.token, frame.status, (int)frame.len, frame.data);
}

static void put_frame(int fd, const struct jr_exchange_frame *frame)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_exchange_put(&out, frame);
    CU_ASSERT_EQUAL(send(fd, out.data, out.len, MSG_NOSIGNAL), (ssize_t)out.len);
}

/* What is for others is passed over; what is for us ends what waits for it. */
static void answer_all(int fd)
{
    static const struct jr_exchange_frame frames[] = {
        {.kind = JR_EXCHANGE_FENCE, .group = "1-2", .data = "x", .len = 1},
        {.kind = JR_EXCHANGE_ANSWER, .node = 0, .token = 1},
        {.kind = JR_EXCHANGE_ASK, .node = 0, .rank = 1, .token = 5},
        {.kind = JR_EXCHANGE_FENCE, .group = "0,3", .data = "3.", .len = 2},
        {.kind = JR_EXCHANGE_FENCE, .group = "all", .data = "1234.", .len = 5},
        {.kind = JR_EXCHANGE_ANSWER, .node = 1, .token = 1, .status = -46},
        {.kind = JR_EXCHANGE_ASK, .node = 0, .rank = 2, .token = 6},
        {.kind = JR_EXCHANGE_ASK, .node = 0, .rank = 3, .token = 7},
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        put_frame(fd, &frames[i]);
}

TEST(exchanges_with_other_nodes)
{
    struct jr_pmix pmix;
    struct jr_inlet inlet = {0};
    struct jr_buf told JR_BUF_CLEANUP = JR_BUF_INIT;
    int fd = start_node(&pmix, "nodes");
    for (int i = 0; i < 3; i++)
        take_frame(&inlet, fd, &told);
    JR_ASSERT_TEXT(told.data, "fence all 'mine'; fence 0,3 ''; ask 0 by 0 token 1 status 0 ''; ");
    jr_buf_clear(&told);
    answer_all(fd);
    for (int i = 0; i < 2; i++)
        take_frame(&inlet, fd, &told);
    JR_ASSERT_TEXT(told.data, "answer 0 by 0 token 6 status 0 'data of 2'; "
                              "answer 0 by 0 token 7 status -1 ''; ");
    jr_buf_clear(&told);
    (void)shutdown(pmix.fd, SHUT_WR);
    take_events(&pmix, &told);
    JR_ASSERT_TEXT(told.data, "aborted 1 2; aborted 0 5; aborted 2 -46; ");
    jr_pmix_end(&pmix);
    jr_inlet_release(&inlet);
    (void)close(fd);
}

/* The hub refuses what is of no rank: a program's mistake must not get there.
 */
TEST(answers_what_is_of_no_rank)
{
    struct jr_pmix pmix;
    struct jr_inlet inlet = {0};
    struct jr_buf told JR_BUF_CLEANUP = JR_BUF_INIT;
    int fd = start_node(&pmix, "strangers");
    for (int i = 0; i < 3; i++)
        take_frame(&inlet, fd, &told);
    JR_ASSERT_TEXT(told.data, "fence all 'mine'; fence 0,3 ''; ask 0 by 0 token 1 status 0 ''; ");
    jr_buf_clear(&told);
    (void)shutdown(pmix.fd, SHUT_WR);
    take_events(&pmix, &told);
    JR_ASSERT_TEXT(told.data, "aborted 0 -46; aborted 1 -46; aborted 2 -46; ");
    jr_pmix_end(&pmix);
    jr_inlet_release(&inlet);
    (void)close(fd);
}

/* Without those that it exchanges with, ranks would wait for ever: it dies. */
TEST(ends_with_the_exchange)
{
    static const char *const last[] = {"", "garbage that is longer than a head"};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
        struct jr_pmix pmix;
        struct jr_buf told JR_BUF_CLEANUP = JR_BUF_INIT;
        int fd = start_node(&pmix, "nodes");
        CU_ASSERT_EQUAL(send(fd, last[i], strlen(last[i]), MSG_NOSIGNAL), (ssize_t)strlen(last[i]));
        if (i == 0)
            (void)close(fd);
        take_events(&pmix, &told);
        CU_ASSERT_EQUAL(told.len, 0);
        jr_pmix_end(&pmix);
        if (i > 0)
            (void)close(fd);
    }
}
