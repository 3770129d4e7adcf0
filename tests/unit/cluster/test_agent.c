/* A real agent in a process of its own, at two pipes: what it says to whatever a controller may
 * say. Its hooks do what `go` has as the run's name. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cluster/agent.h"
#include "cluster/internal.h"
#include "cluster/protocol.h"
#include "generated/version.h"
#include "spawn/run_options.h"
#include "agent_peer.h"

enum { FLOOD = 3000, WIDE = 1000 };

/* The agent's side. */

struct hooks {
    char what[64]; /* what the next run does */
    uint32_t port; /* the one offered last */
};

static int fail(struct jr_error *err, enum jr_status status, const char *text)
{
    return jr_error_set(err, status, "%s", text);
}

static int hook_tell(void *data, struct jr_buf *out, struct jr_error *err)
{
    (void)data;
    if (getenv("NO_FACTS") != NULL)
        return fail(err, JR_STATUS_UNRESOLVED, "no facts here");
    jr_buf_str(out, "cpus: 4\n");
    return 0;
}

static uint32_t hook_offer(void *data)
{
    struct hooks *hooks = data;
    return ++hooks->port;
}

static int hook_prepare(void *data, const struct jr_message *go, struct jr_error *err)
{
    struct hooks *hooks = data;
    const char *what = go->run_id;
    (void)err;
    (void)snprintf(hooks->what, sizeof hooks->what, "%s", what);
    return strcmp(what, "code") == 0 ? JR_AGENT_WANTS_CODE : 0;
}

static int hook_take_code(void *data, const struct jr_message *code, struct jr_error *err)
{
    (void)data;
    return code->bytes != NULL ? fail(err, JR_STATUS_LAUNCH, "no such code") : 0;
}

static int hook_begin_cell(void *data, const struct jr_message *cell,
                           const struct jr_agent_cell_ends *ends, struct jr_error *err)
{
    (void)data;
    (void)cell;
    (void)ends;
    return fail(err, JR_STATUS_UNRESOLVED, "not here");
}

static void hook_leave_cells(void *data)
{
    (void)data;
}

static bool hook_next_end(void *data, struct jr_agent_cell_end *ret)
{
    (void)data;
    (void)ret;
    return false;
}

static size_t hook_count_cells(void *data)
{
    (void)data;
    return 0;
}

static void put(int fd, const char *text)
{
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* Each order as a line of the events, until they end. */
static void echo_orders(const struct jr_agent_ends *ends)
{
    char order[3] = {0, '\n', 0};
    put(ends->events_fd, "ready\n");
    while (read(ends->commands_fd, order, 1) == 1)
        put(ends->events_fd, order);
    put(ends->events_fd, "no more orders\n");
}

static int flooded[2]; /* a pipe: something stands there once all is written */

static void flood(void)
{
    char line[WIDE + 1];
    for (int i = 0; i < FLOOD; i++) {
        (void)snprintf(line, sizeof line, "%0*d", WIDE - 1, i);
        line[WIDE - 1] = '\n';
        size_t done = 0;
        while (done < WIDE) {
            ssize_t len = write(STDOUT_FILENO, line + done, WIDE - done);
            if (len < 0 && errno != EINTR)
                return;
            done += len > 0 ? (size_t)len : 0;
        }
    }
    put(flooded[1], "!");
}

/* As many bytes as come, back again, up to the last one, which is an end. */
static void echo_exchange(int fd)
{
    char bytes[4096];
    ssize_t len;
    do {
        len = read(fd, bytes, sizeof bytes);
        for (ssize_t at = 0; at < len;) {
            ssize_t part = write(fd, bytes + at, (size_t)(len - at));
            at += part < 0 ? len : part;
        }
    } while (len > 0 && bytes[len - 1] != '.');
}

static int hook_run(void *data, const struct jr_agent_ends *ends, struct jr_outcome *ret,
                    struct jr_error *err)
{
    static struct jr_rank_outcome ranks[1];
    const struct hooks *hooks = data;
    const char *what = hooks->what;
    char byte;
    *ret = (struct jr_outcome){.count = 1, .ranks = ranks};
    ranks[0] = (struct jr_rank_outcome){.pid = 7, .end = JR_END_EXITED};
    (void)err;
    if (strstr(what, "orders") != NULL)
        echo_orders(ends);
    if (strcmp(what, "flood") == 0)
        flood();
    if (strcmp(what, "exchange") == 0)
        echo_exchange(ends->exchange_fd);
    if (strcmp(what, "lines") == 0) /* an order, a line */
        while (read(ends->commands_fd, &byte, 1) == 1) {
            put(STDOUT_FILENO, "a line\n");
            put(ends->events_fd, "wrote\n");
        }
    return 0;
}

static bool hook_is_behind(void *data)
{
    (void)data;
    return false;
}

/* Leave room for so many descriptors more as ROOM says, if it does. */
static void limit_descriptors(void)
{
    enum { MOST = 64 };
    const char *room = getenv("ROOM");
    if (room == NULL)
        return;
    for (int fd = 3; fd < MOST; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)dup2(STDIN_FILENO, fd);
    rlim_t limit = (rlim_t)(MOST + atoi(room));
    for (int fd = MOST; fd < 1024; fd++)
        (void)close(fd);
    (void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){limit, limit});
}

/* How many descriptors are of epoll, of signals, or of the like. */
static unsigned count_anonymous(void)
{
    static const char begin[] = "anon_inode:";
    unsigned count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        char name[32], leads[sizeof begin] = "";
        (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        count += readlink(name, leads, sizeof leads - 1) > 0 && strcmp(leads, begin) == 0;
    }
    return count;
}

static _Noreturn void serve(int in, int out)
{
    struct hooks hooks = {.port = 100};
    struct jr_error err = {0};
    static const struct jr_agent_cell_hooks cells = {.begin = hook_begin_cell,
                                                     .next_end = hook_next_end,
                                                     .leave = hook_leave_cells,
                                                     .count = hook_count_cells};
    const struct jr_agent_hooks calls = {
        .data = &hooks,
        .describe = hook_tell,
        .offer = hook_offer,
        .prepare = hook_prepare,
        .take_code = hook_take_code,
        .run = hook_run,
        .is_behind = hook_is_behind,
        .cells = &cells,
    };
    (void)dup2(in, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)close(in);
    (void)close(out);
    limit_descriptors();
    unsigned before = count_anonymous();
    int result = jr_agent_serve(&calls, &(struct jr_sender){.node = NODE}, "gpu\"03", &err);
    if (count_anonymous() != before)
        _exit(8);
    _exit(result == 0 ? 0 : 9);
}

/* The outcome that the agent told of its only rank. */
static void check_outcome(struct peer *peer)
{
    struct jr_rank_outcome rank = {0};
    struct jr_outcome outcome = {.ranks = &rank};
    struct jr_buf *text = &peer->streams[JR_CHANNEL_OUTCOME];
    CU_ASSERT_TRUE_FATAL(text->len > 0);
    CU_ASSERT_EQUAL(jr_outcome_message_read(&outcome, 1, text->data, text->len, NULL), 0);
    CU_ASSERT_EQUAL(rank.pid, 7);
    CU_ASSERT_EQUAL(rank.end, JR_END_EXITED);
    jr_buf_clear(text);
}

/* The same, with the outcome told at the end. */
static void play_run(const char *script)
{
    struct peer peer;
    start_peer_after(&peer, "");
    await_word(&peer, "hello");
    play_on(&peer, script);
    check_outcome(&peer);
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* The cases. A prolog may have printed to the same stream, and not ended its line. */
TEST(says_who_it_is)
{
    static const char *const before[] = {"", "module loaded"};
    for (size_t i = 0; i < 2; i++) {
        struct peer peer;
        uint64_t before_ns = jr_clock_ns(), before_wall_ns = jr_clock_wall_ns();
        start_peer_after(&peer, before[i]);
        play_on(&peer, "< hello\n= facts cpus: 4|\n# version " JR_VERSION
                       "\n# host gpu\"03\n# port 101\n");
        JR_ASSERT_TEXT(peer.noise, before[i]);
        uint64_t at = (uint64_t)jr_json_get_int(peer.word, "at");
        uint64_t wall = (uint64_t)jr_json_get_int(peer.word, "wall");
        CU_ASSERT_TRUE(at >= before_ns && at <= jr_clock_ns());
        CU_ASSERT_TRUE(wall >= before_wall_ns && wall <= jr_clock_wall_ns());
        CU_ASSERT_EQUAL(end_peer(&peer), 0);
    }
}

/* Without facts it says why; without descriptors for what it needs it says nothing, and fails. */
TEST(says_why_it_cannot)
{
    static const struct {
        const char *variable, *value, *script;
        int code;
    } vectors[] = {
        {"NO_FACTS", "1", "< refuse\n= why no facts here\n# host gpu\"03\n# status 4\n", 0},
        {"ROOM", "0", "< \n", 9},
        {"ROOM", "1", "< \n", 9}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct peer peer;
        (void)setenv(vectors[i].variable, vectors[i].value, 1);
        start_peer_after(&peer, "");
        (void)unsetenv(vectors[i].variable);
        play_on(&peer, vectors[i].script);
        CU_ASSERT_EQUAL(end_peer(&peer), vectors[i].code);
    }
}

/* Words that come in pieces, with strange ones among them; nothing runs. */
TEST(passes_over_what_it_does_not_know)
{
    play("> \n> {\n> [1]\n> {'t':7}\n> {'t':'nothing'}\n> {'u':1}\n> {'t':'stop'}\n"
         "> {'t':'signal','signal':9}\n>+ {'t':'heart\n> beat'}\n> {'t':'heartbeat'}\n"
         "< heartbeat\n< heartbeat\n");
}

#define CODE(more) "> {'t':'code'," more "}\n"

/* What was on its way begins nothing any more. */
TEST(says_why_there_is_no_code)
{
#define CODE(more)  "> {'t':'code'," more "}\n"
#define LATER(more) "< refuse\n= why " more "\n" CODE("'folder':'/a','on':true") "go say\n< done\n"
    play("go code\n< want\n" CODE("'b':'bad'") LATER("no such code"));
    play("go code\n< want\n" CODE("'on':true") LATER("the code of the run did not come whole"));
}

TEST(says_why_it_refuses_a_cell)
{
    play("> {'t':'serve'}\n> {'t':'cell','as':3,'cell':'7','spec':'x'}\n< cell_ended\n# cell 7\n"
         "# status 4\n= note cell 7: not here|\n");
}

/* More than a socket holds, to MPI's process manager and back; without a run there is none. */
TEST(carries_the_exchange)
{
    enum { PIECES = 100, PIECE = 6000 };
    char bytes[PIECE];
    struct peer peer;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    start_peer_after(&peer, "");
    play_on(&peer, "< hello\n> {'t':'exchange','b':'bG9zdA=='}\ngo exchange\n");
    for (int i = 0; i < PIECES; i++) {
        memset(bytes, 'a' + i % 26, sizeof bytes);
        bytes[PIECE - 1] = i + 1 < PIECES ? '\n' : '.';
        jr_buf_str(&text, "{\"t\":\"exchange\",\"b\":\"");
        jr_base64_add(&text, bytes, sizeof bytes);
        jr_buf_str(&text, "\"}\n");
    }
    for (size_t at = 0; at < text.len;) { /* it answers meanwhile */
        struct pollfd items[] = {{.fd = peer.to, .events = POLLOUT},
                                 {.fd = peer.from, .events = POLLIN}};
        CU_ASSERT_TRUE_FATAL(poll(items, 2, WAIT_MS) > 0);
        if (items[1].revents != 0)
            (void)read_peer(&peer);
        size_t part = text.len - at < 4096 ? text.len - at : 4096;
        if (items[0].revents != 0)
            at += (size_t)write(peer.to, text.data + at, part);
    }
    await_word(&peer, "done");
    const struct jr_buf *got = &peer.streams[JR_CHANNEL_EXCHANGE];
    CU_ASSERT_EQUAL_FATAL(got->len, PIECES * PIECE);
    for (int i = 0; i < PIECES; i++)
        CU_ASSERT_EQUAL(got->data[(i + 1) * PIECE - 2], 'a' + i % 26);
    CU_ASSERT_EQUAL(got->data[got->len - 1], '.');
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* A second `go` begins nothing. The input's end is the orders' end, and the outcome is still
 * told. */
TEST(hands_orders_on)
{
    static const struct {
        const char *word;
        char order;
    } vectors[] = {{"stop", JR_COMMAND_STOP},
                   {"release", JR_COMMAND_RELEASE},
                   {"first", JR_COMMAND_FIRST},
                   {"query", JR_COMMAND_QUERY},
                   {"hang", JR_COMMAND_HANG},
                   {"preempted", JR_COMMAND_PREEMPTED},
                   {"not_preempted", JR_COMMAND_NOT_PREEMPTED},
                   {"no_step", JR_COMMAND_NO_STEP},
                   {"no_first_step", JR_COMMAND_NO_FIRST_STEP},
                   {"world", JR_COMMAND_INITIALIZED}};
    struct jr_buf script JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&script, "go orders\n~ event ready|\n= event ready|\n");
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        jr_buf_printf(&script, "> {'t':'%s'}\n~ event |\n= event %c|\n", vectors[i].word,
                      vectors[i].order);
    jr_buf_str(&script, "go say\n.\n~ event no more orders|\n< done\n= out \n");
    play_run(script.data);
}

/* The controller's console is full: lines wait where they are, and events do not. At the end of the
 * input all that there is comes. */
TEST(keeps_lines_while_it_is_told_to)
{
#define HOLD(on) "> {'t':'hold','on':" on "}\n"
    play("go lines\n" HOLD("true") "> {'t':'stop'}\n~ event wrote|\n> {'t':'heartbeat'}\n"
                                   "< heartbeat\n= out \n" HOLD("false") "~ out a line|\n" HOLD(
                                       "true") "> {'t':'stop'}\n~ event wrote|wrote|\n.\n< done\n"
                                               "= out a line|a line|\n");
}

/* However little is taken of it, the agent hears; and nothing is lost. */
TEST(waits_for_a_controller_that_does_not_read)
{
    struct peer peer;
    CU_ASSERT_EQUAL_FATAL(pipe2(flooded, O_CLOEXEC), 0);
    struct pollfd wait = {.fd = flooded[0], .events = POLLIN};
    start_peer_after(&peer, "");
    play_on(&peer, "< hello\ngo flood\n");
    CU_ASSERT_EQUAL(poll(&wait, 1, 200), 0); /* neither does it read all */
    play_on(&peer, "> {'t':'heartbeat'}\n< heartbeat\n");
    CU_ASSERT_TRUE(peer.streams[JR_CHANNEL_OUT].len < (size_t)FLOOD * WIDE);
    await_word(&peer, "done");
    const struct jr_buf *out = &peer.streams[JR_CHANNEL_OUT];
    CU_ASSERT_EQUAL_FATAL(out->len, (size_t)FLOOD * WIDE);
    int wrong = 0;
    for (int i = 0; i < FLOOD; i++)
        wrong += atoi(out->data + (size_t)i * WIDE) != i;
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(poll(&wait, 1, WAIT_MS), 1);
    (void)close(flooded[0]);
    (void)close(flooded[1]);
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* The first line says who it is; what follows stays where it is. */
TEST(awaits_its_assignment)
{
    static const struct {
        const char *input;
        int64_t as; /* -1: it is none */
    } vectors[] = {{"{\"t\":\"assign\",\"as\":4,\"host\":\"n5\"}\nrest", 4},
                   {"{\"t\":\"assign\",\"as\":0,\"host\":\"n1\",\"piece\":9}\nrest", 0},
                   {"{\"t\":\"assign\",\"as\":4}\nrest", -1},
                   {"{\"t\":\"spec\",\"host\":\"n5\"}\nrest", -1},
                   {"{\"t\":\"assign\",\"as\":4,\"host\":\"n5\"}", -1},
                   {"nonsense\nrest", -1},
                   {"", -1}};
    int kept = dup(STDIN_FILENO);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_message word = {0};
        struct jr_error err = {0};
        json_auto_t *object = NULL;
        char rest[8] = {0};
        int pair[2];
        CU_ASSERT_EQUAL_FATAL(pipe(pair), 0);
        put(pair[1], vectors[i].input);
        (void)close(pair[1]);
        (void)dup2(pair[0], STDIN_FILENO);
        (void)close(pair[0]);
        int failed = jr_agent_await_assignment(&word, &object, &err);
        CU_ASSERT_EQUAL(failed, vectors[i].as < 0 ? -1 : 0);
        if (failed == 0) {
            CU_ASSERT_EQUAL(word.as, vectors[i].as);
            CU_ASSERT_EQUAL(word.host[0], 'n');
            CU_ASSERT_EQUAL(read(STDIN_FILENO, rest, 7), 4);
            JR_ASSERT_TEXT(rest, "rest");
        } else {
            CU_ASSERT_EQUAL(err.status, JR_STATUS_USAGE);
            CU_ASSERT_PTR_NULL(object);
        }
    }
    (void)dup2(kept, STDIN_FILENO);
    (void)close(kept);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN); /* as jobrun does */
    return jr_unit_main();
}
