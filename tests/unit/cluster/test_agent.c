/* A real agent in a process of its own, at two pipes: what it says to whatever a controller may
 * say. Its hooks do what `go` has as the run's name. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cluster/agent.h"
#include "cluster/internal.h"
#include "cluster/protocol.h"
#include "cluster/survey.h"
#include "generated/version.h"
#include "spawn/run_options.h"
#include "agent_peer.h"
#include "unit.h"

enum { FLOOD = 3000, WIDE = 1000 };

/* The agent's side. */

struct hooks {
    char what[64]; /* what the next run does */
    uint32_t port; /* the one offered last */
    char code[64]; /* of the run, as far as it has come */
    bool has_code; /* and it is whole */
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

static int hook_resolve(void *data, const struct jr_message *spec, struct jr_agent_answer *ret,
                        struct jr_error *err)
{
    (void)data;
    if (spec->inject != NULL)
        return fail(err, JR_STATUS_USAGE, spec->inject);
    ret->mpi = "pmi1";
    ret->library = "libmpich.so.12";
    jr_buf_printf(&ret->resources, "resources of %s\n", spec->spec);
    return 0;
}

static int hook_join(void *data, const struct jr_message *spec, struct jr_error *err)
{
    (void)data;
    if (strcmp(spec->run_id, "full") == 0)
        return fail(err, JR_STATUS_LAUNCH, "no room here");
    return strcmp(spec->run_id, "code") == 0 ? JR_AGENT_WANTS_CODE : 0;
}

static int hook_prepare(void *data, const struct jr_message *go, struct jr_error *err)
{
    struct hooks *hooks = data;
    const char *what = go->run_id;
    if (what == NULL)
        return fail(err, JR_STATUS_LAUNCH, "nothing to do");
    (void)snprintf(hooks->what, sizeof hooks->what, "%s", what);
    if (strncmp(what, "apart", 5) == 0)
        return JR_AGENT_IS_APART;
    return strncmp(what, "code", 4) == 0 && !hooks->has_code ? JR_AGENT_WANTS_CODE : 0;
}

static int hook_take_code(void *data, const struct jr_message *code, struct jr_error *err)
{
    struct hooks *hooks = data;
    size_t len = strlen(hooks->code);
    if (code->bytes != NULL && strcmp(code->bytes, "bad") == 0)
        return fail(err, JR_STATUS_LAUNCH, "no such code");
    (void)snprintf(hooks->code + len, sizeof hooks->code - len, "%s",
                   code->bytes == NULL ? "" : code->bytes);
    hooks->has_code = code->on && code->folder != NULL;
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

static void on_signal(int sig)
{
    (void)sig;
}

/* Say which signal comes, and end with the second. */
static void echo_signals(const struct jr_agent_ends *ends)
{
    sigset_t set;
    (void)sigfillset(&set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    put(ends->events_fd, "ready\n");
    for (int i = 0; i < 2; i++) {
        int sig = sigwaitinfo(&set, NULL);
        put(ends->events_fd, sig == SIGUSR1 ? "USR1\n" : sig == SIGTERM ? "TERM\n" : "?\n");
    }
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

/* One report alone, and the others at once. */
static void write_reports(const struct jr_agent_ends *ends)
{
    static const struct jr_report reports[] = {
        {JR_REPORT_ALL_RETURNED, 0},
        {JR_REPORT_SILENT, 0},
        {JR_REPORT_QUIET, UINT64_C(6000000000)},
        {JR_REPORT_RELEASED, 0},
        {JR_REPORT_TERMINATED, 0},
        {JR_REPORT_INITIALIZED, 0},
    };
    const size_t size = sizeof reports[0], rest = sizeof reports - size;
    CU_ASSERT_EQUAL(write(ends->reports_fd, reports, size), (ssize_t)size);
    CU_ASSERT_EQUAL(write(ends->reports_fd, reports + 1, rest), (ssize_t)rest);
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

/* Another process of the run, which outlives the one that had the outcome, has one pipe and no
 * other, and says by it who its parent is then. */
static void outlive(const struct jr_agent_ends *ends, bool reports)
{
    static const struct jr_report report = {JR_REPORT_SILENT, 0};
    pid_t run = getpid(), agent = getppid();
    int kept = reports ? ends->reports_fd : ends->events_fd, life[2];
    char byte;
    if (pipe2(life, O_CLOEXEC) != 0 || fork() != 0)
        return;
    for (int fd = 0; fd < 256; fd++)
        if (fd != kept && fd != life[0])
            (void)close(fd);
    while (read(life[0], &byte, 1) > 0 || getppid() == run)
        continue;
    if (getppid() != agent)
        _exit(1);
    if (reports)
        _exit(write(kept, &report, sizeof report) != sizeof report);
    _exit(write(kept, "late event\n", 11) != 11);
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
    if (strcmp(what, "fail") == 0)
        return fail(err, JR_STATUS_LAUNCH, "no more processes");
    if (strcmp(what, "die") == 0)
        (void)kill(getpid(), SIGKILL);
    if (strncmp(what, "code", 4) == 0)
        put(ends->events_fd, hooks->code);
    if (strstr(what, "orders") != NULL)
        echo_orders(ends);
    if (strcmp(what, "signals") == 0)
        echo_signals(ends);
    if (strcmp(what, "flood") == 0)
        flood();
    if (strcmp(what, "say") == 0) {
        put(STDOUT_FILENO, "to out\n");
        put(STDERR_FILENO, "to err\n");
        put(ends->events_fd, "an event\n");
        put(ends->left_fd, "left there\n");
        CU_ASSERT_EQUAL(read(STDIN_FILENO, &byte, 1), 0);
    }
    if (strcmp(what, "report") == 0)
        write_reports(ends);
    if (strcmp(what, "exchange") == 0)
        echo_exchange(ends->exchange_fd);
    if (strncmp(what, "late", 4) == 0)
        outlive(ends, strcmp(what, "late report") == 0);
    if (strcmp(what, "lines") == 0) /* an order, a line */
        while (read(ends->commands_fd, &byte, 1) == 1) {
            put(STDOUT_FILENO, "a line\n");
            put(ends->events_fd, "wrote\n");
        }
    return 0;
}

static bool hook_is_behind(void *data)
{
    const struct hooks *hooks = data;
    return strncmp(hooks->what, "behind", 6) == 0;
}

static void hook_show(void *data)
{
    const struct hooks *hooks = data;
    (void)signal(SIGUSR2, on_signal);
    if (strcmp(hooks->what, "behind for ever") == 0) {
        struct pollfd reader = {.fd = STDOUT_FILENO};
        (void)poll(&reader, 1, 60000); /* until the agent reads no more */
    }
    put(STDOUT_FILENO, "late line\n");
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
    const struct jr_agent_hooks calls = {
        .data = &hooks,
        .describe = hook_tell,
        .offer = hook_offer,
        .resolve = hook_resolve,
        .join = hook_join,
        .prepare = hook_prepare,
        .take_code = hook_take_code,
        .run = hook_run,
        .is_behind = hook_is_behind,
        .show = hook_show,
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

/* The controller's side: agent_peer.h. */

static void start_peer(struct peer *peer)
{
    start_peer_after(peer, "");
}

static void tell_peer(struct peer *peer, const char *words)
{
    put(peer->to, words);
}

/* An agent that has said hello. */
static void meet_peer(struct peer *peer)
{
    start_peer(peer);
    JR_ASSERT_TEXT(next_word(peer), "hello");
}

/* The outcome that the agent told of its only rank. */
static void check_outcome(const struct peer *peer)
{
    struct jr_rank_outcome rank = {0};
    struct jr_outcome outcome = {.ranks = &rank};
    const struct jr_buf *text = &peer->streams[JR_CHANNEL_OUTCOME];
    CU_ASSERT_TRUE_FATAL(text->len > 0);
    CU_ASSERT_EQUAL(jr_outcome_message_read(&outcome, 1, text->data, text->len, NULL), 0);
    CU_ASSERT_EQUAL(rank.pid, 7);
    CU_ASSERT_EQUAL(rank.end, JR_END_EXITED);
}

/* The cases. */

TEST(says_who_it_is)
{
    struct peer peer;
    uint64_t before_ns = jr_clock_ns(), before_wall_ns = jr_clock_wall_ns();
    meet_peer(&peer);
    JR_ASSERT_TEXT(peer.noise, "");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_FACTS), "cpus: 4\n");
    JR_ASSERT_TEXT(jr_json_get_str(peer.word, "version"), JR_VERSION);
    JR_ASSERT_TEXT(jr_json_get_str(peer.word, "host"), "gpu\"03");
    CU_ASSERT_EQUAL(jr_json_get_int(peer.word, "port"), 101);
    uint64_t at = (uint64_t)jr_json_get_int(peer.word, "at");
    uint64_t wall = (uint64_t)jr_json_get_int(peer.word, "wall");
    CU_ASSERT_TRUE(at >= before_ns && at <= jr_clock_ns());
    CU_ASSERT_TRUE(wall >= before_wall_ns && wall <= jr_clock_wall_ns());
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* A prolog may have printed to the same stream, and not ended its line. */
TEST(is_heard_after_a_prolog)
{
    struct peer peer;
    start_peer_after(&peer, "module loaded");
    JR_ASSERT_TEXT(next_word(&peer), "hello");
    JR_ASSERT_TEXT(peer.noise, "module loaded");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_FACTS), "cpus: 4\n");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

TEST(says_why_it_cannot)
{
    struct peer peer;
    (void)setenv("NO_FACTS", "1", 1);
    start_peer(&peer);
    (void)unsetenv("NO_FACTS");
    JR_ASSERT_TEXT(next_word(&peer), "refuse");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_WHY), "no facts here");
    JR_ASSERT_TEXT(jr_json_get_str(peer.word, "host"), "gpu\"03");
    CU_ASSERT_EQUAL(jr_json_get_int(peer.word, "status"), JR_STATUS_UNRESOLVED);
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* Without descriptors for what it needs it says nothing, and fails. */
TEST(needs_descriptors)
{
    static const char *const rooms[] = {"0", "1"};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        struct peer peer;
        (void)setenv("ROOM", rooms[i], 1);
        start_peer(&peer);
        (void)unsetenv("ROOM");
        JR_ASSERT_TEXT(next_word(&peer), "");
        CU_ASSERT_EQUAL(end_peer(&peer), 9);
    }
}

TEST(takes_the_spec_or_says_why_not)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"spec\",\"spec\":\"demo\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "ready");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_RESOURCES), "resources of demo\n");
    JR_ASSERT_TEXT(jr_json_get_str(peer.word, "mpi"), "pmi1");
    JR_ASSERT_TEXT(jr_json_get_str(peer.word, "library"), "libmpich.so.12");
    CU_ASSERT_PTR_NULL(jr_json_get_str(peer.word, "obstacle"));
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"spec\",\"inject\":\"too small\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "refuse");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_WHY), "too small");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_RESOURCES), "");
    CU_ASSERT_EQUAL(jr_json_get_int(peer.word, "status"), JR_STATUS_USAGE);
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* Words that come in pieces, with strange ones among them. */
TEST(passes_over_what_it_does_not_know)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "\n{\n[1]\n{\"t\":7}\n{\"t\":\"nothing\"}\n{\"u\":1}\n");
    tell_peer(&peer, "{\"t\":\"stop\"}\n"); /* nothing runs */
    tell_peer(&peer, "{\"t\":\"signal\",\"signal\":9}\n");
    tell_peer(&peer, "{\"t\":\"heart");
    tell_peer(&peer, "beat\"}\n{\"t\":\"heartbeat\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "heartbeat");
    JR_ASSERT_TEXT(next_word(&peer), "heartbeat");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

TEST(carries_all_that_comes_from_a_run)
{
    struct peer peer;
    meet_peer(&peer);
    for (int i = 0; i < 2; i++) { /* one attempt, and another */
        tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"say\"}\n");
        JR_ASSERT_TEXT(next_word(&peer), "begun");
        JR_ASSERT_TEXT(next_word(&peer), "done");
        JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_OUT), "to out\n");
        JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_ERR), "to err\n");
        JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_EVENT), "an event\n");
        JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_LEFT), "left there\n");
        check_outcome(&peer);
        CU_ASSERT_EQUAL(jr_json_get_int(peer.word, "signal"), 0);
        CU_ASSERT_EQUAL(jr_json_get_int(peer.word, "port"), 102 + i);
        CU_ASSERT_FALSE(jr_json_get_bool(peer.word, "behind"));
        for (int flow = 0; flow < JR_CHANNEL_COUNT; flow++)
            jr_buf_clear(&peer.streams[flow]);
    }
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

TEST(tells_of_a_run_that_could_not_begin)
{
    struct peer peer;
    struct jr_rank_outcome rank;
    struct jr_outcome outcome = {.ranks = &rank};
    struct jr_error err = {0};
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"fail\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    JR_ASSERT_TEXT(next_word(&peer), "done");
    const struct jr_buf *text = &peer.streams[JR_CHANNEL_OUTCOME];
    CU_ASSERT_EQUAL(jr_outcome_message_read(&outcome, 1, text->data, text->len, &err), -1);
    JR_ASSERT_TEXT(err.text, "no more processes");
    tell_peer(&peer, "{\"t\":\"go\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    JR_ASSERT_TEXT(next_word(&peer), "refuse");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_WHY), "nothing to do");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* It begins behind the last of its code, and hears then what it was told meanwhile. */
TEST(waits_for_the_code_of_a_run)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"code\",\"b\":\"none is wanted\"}\n");
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"code orders\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    JR_ASSERT_TEXT(next_word(&peer), "want");
    tell_peer(&peer, "{\"t\":\"stop\"}\n");
    tell_peer(&peer, "{\"t\":\"code\",\"folder\":\"/a\",\"b\":\"first \"}\n");
    tell_peer(&peer, "{\"t\":\"code\",\"folder\":\"/a\",\"b\":\"last\\n\"}\n");
    tell_peer(&peer, "{\"t\":\"code\",\"folder\":\"/a\",\"on\":true}\n");
    CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_EVENT, "\ns\n"));
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_EVENT), "first last\nready\ns\n");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* With the spec of a run that has begun before, it is ready only once it is in the run, with the
 * code. */
TEST(enters_a_run_before_it_is_ready)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"spec\",\"spec\":\"demo\",\"run_id\":\"r\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "ready");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_RESOURCES), "resources of demo\n");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"spec\",\"spec\":\"demo\",\"run_id\":\"full\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "refuse");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_WHY), "no room here");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"spec\",\"spec\":\"demo\",\"run_id\":\"code\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "want");
    tell_peer(&peer, "{\"t\":\"code\",\"folder\":\"/a\",\"b\":\"all\"}\n");
    tell_peer(&peer, "{\"t\":\"code\",\"folder\":\"/a\",\"on\":true}\n");
    JR_ASSERT_TEXT(next_word(&peer), "ready");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_RESOURCES), "resources of demo\n");
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"code say\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    JR_ASSERT_TEXT(next_word(&peer), "done");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"spec\",\"spec\":\"demo\",\"run_id\":\"code\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "want");
    tell_peer(&peer, "{\"t\":\"code\",\"b\":\"bad\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "refuse");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_WHY), "no such code");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

TEST(says_that_its_files_are_its_own)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"apart\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    JR_ASSERT_TEXT(next_word(&peer), "apart");
    JR_ASSERT_TEXT(next_word(&peer), "done");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

TEST(says_why_there_is_no_code)
{
    static const struct {
        const char *code, *why;
    } vectors[] = {
        {"{\"t\":\"code\",\"b\":\"bad\"}\n", "no such code"},
        {"{\"t\":\"code\",\"on\":true}\n", "the code of the run did not come whole"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct peer peer;
        meet_peer(&peer);
        tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"code\"}\n");
        JR_ASSERT_TEXT(next_word(&peer), "begun");
        JR_ASSERT_TEXT(next_word(&peer), "want");
        tell_peer(&peer, vectors[i].code);
        JR_ASSERT_TEXT(next_word(&peer), "refuse");
        JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_WHY), vectors[i].why);
        /* What was on its way begins nothing any more. */
        tell_peer(&peer, "{\"t\":\"code\",\"folder\":\"/a\",\"on\":true}\n");
        tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"say\"}\n");
        JR_ASSERT_TEXT(next_word(&peer), "begun");
        JR_ASSERT_TEXT(next_word(&peer), "done");
        CU_ASSERT_EQUAL(end_peer(&peer), 0);
    }
}

/* Nobody waits for code that will not come. */
TEST(ends_while_it_waits_for_code)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"code\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    JR_ASSERT_TEXT(next_word(&peer), "want");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* A run is over once all of its processes are, whoever of them writes last; the agent is the parent
 * of whoever is left. */
TEST(waits_for_all_processes_of_a_run)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"late event\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_EVENT, "late event\n"));
    JR_ASSERT_TEXT(next_word(&peer), "done");
    check_outcome(&peer);
    jr_buf_clear(&peer.streams[JR_CHANNEL_OUTCOME]);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"late report\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    JR_ASSERT_TEXT(next_word(&peer), "silent");
    JR_ASSERT_TEXT(next_word(&peer), "done");
    check_outcome(&peer);
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* What the other nodes have to know is said in messages of its own, each once and before the run is
 * over, and is no event. */
TEST(says_what_the_others_have_to_know)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"report\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    JR_ASSERT_TEXT(next_word(&peer), "all_returned");
    JR_ASSERT_TEXT(next_word(&peer), "silent");
    JR_ASSERT_TEXT(next_word(&peer), "quiet");
    CU_ASSERT_EQUAL(jr_json_get_int(peer.word, "for_ns"), INT64_C(6000000000));
    JR_ASSERT_TEXT(next_word(&peer), "released");
    JR_ASSERT_TEXT(next_word(&peer), "terminated");
    JR_ASSERT_TEXT(next_word(&peer), "initialized");
    JR_ASSERT_TEXT(next_word(&peer), "done");
    CU_ASSERT_EQUAL(peer.streams[JR_CHANNEL_EVENT].len, 0);
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* More than a socket holds, to MPI's process manager and back; without a run there is none. */
TEST(carries_the_exchange)
{
    enum { PIECES = 100, PIECE = 6000 };
    char bytes[PIECE];
    struct peer peer;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"exchange\",\"b\":\"bG9zdA==\"}\n");
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"exchange\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
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
    JR_ASSERT_TEXT(next_word(&peer), "done");
    const struct jr_buf *got = &peer.streams[JR_CHANNEL_EXCHANGE];
    CU_ASSERT_EQUAL_FATAL(got->len, PIECES * PIECE);
    for (int i = 0; i < PIECES; i++)
        CU_ASSERT_EQUAL(got->data[(i + 1) * PIECE - 2], 'a' + i % 26);
    CU_ASSERT_EQUAL(got->data[got->len - 1], '.');
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

TEST(tells_what_a_run_died_of)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"die\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    JR_ASSERT_TEXT(next_word(&peer), "done");
    CU_ASSERT_EQUAL(jr_json_get_int(peer.word, "signal"), SIGKILL);
    CU_ASSERT_EQUAL(peer.streams[JR_CHANNEL_OUTCOME].len, 0);
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

TEST(hands_orders_on)
{
    static const struct {
        const char *word;
        char order;
    } vectors[] = {
        {"stop", JR_COMMAND_STOP},
        {"release", JR_COMMAND_RELEASE},
        {"first", JR_COMMAND_FIRST},
        {"query", JR_COMMAND_QUERY},
        {"hang", JR_COMMAND_HANG},
        {"preempted", JR_COMMAND_PREEMPTED},
        {"not_preempted", JR_COMMAND_NOT_PREEMPTED},
        {"no_step", JR_COMMAND_NO_STEP},
        {"no_first_step", JR_COMMAND_NO_FIRST_STEP},
        {"world", JR_COMMAND_INITIALIZED},
    };
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"orders\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_EVENT, "ready\n"));
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char word[64], echo[8];
        jr_buf_clear(&peer.streams[JR_CHANNEL_EVENT]);
        (void)snprintf(word, sizeof word, "{\"t\":\"%s\"}\n", vectors[i].word);
        (void)snprintf(echo, sizeof echo, "%c\n", vectors[i].order);
        tell_peer(&peer, word);
        CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_EVENT, "\n"));
        JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_EVENT), echo);
    }
    /* A second `go` begins nothing. */
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"say\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    /* The input's end is the orders' end, and the outcome is still told. */
    (void)close(peer.to);
    peer.to = -1;
    CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_EVENT, "no more orders\n"));
    JR_ASSERT_TEXT(next_word(&peer), "done");
    check_outcome(&peer);
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_OUT), "");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* From the controller as a word, or from the cluster to the agent itself. */
TEST(hands_signals_on)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"signals\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_EVENT, "ready\n"));
    tell_peer(&peer, "{\"t\":\"signal\",\"signal\":0}\n"
                     "{\"t\":\"signal\",\"signal\":65}\n"
                     "{\"t\":\"signal\",\"signal\":-9}\n");
    char word[64];
    (void)snprintf(word, sizeof word, "{\"t\":\"signal\",\"signal\":%d}\n", SIGUSR1);
    tell_peer(&peer, word);
    CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_EVENT, "\nUSR1\n"));
    (void)kill(peer.pid, SIGTERM);
    JR_ASSERT_TEXT(next_word(&peer), "done");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_EVENT), "ready\nUSR1\nTERM\n");
    CU_ASSERT_EQUAL(jr_json_get_int(peer.word, "signal"), 0);
    /* Nothing runs: others are nothing to it, and these are its end. */
    (void)kill(peer.pid, SIGHUP);
    tell_peer(&peer, "{\"t\":\"heartbeat\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "heartbeat");
    (void)kill(peer.pid, SIGTERM);
    JR_ASSERT_TEXT(next_word(&peer), "");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

TEST(ends_by_an_interrupt)
{
    struct peer peer;
    meet_peer(&peer);
    (void)kill(peer.pid, SIGINT);
    JR_ASSERT_TEXT(next_word(&peer), "");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* The controller's console is full: lines wait where they are, and events do not. */
TEST(keeps_lines_while_it_is_told_to)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"lines\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    tell_peer(&peer, "{\"t\":\"hold\",\"on\":true}\n{\"t\":\"stop\"}\n");
    CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_EVENT, "wrote\n"));
    tell_peer(&peer, "{\"t\":\"heartbeat\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "heartbeat");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_OUT), "");
    tell_peer(&peer, "{\"t\":\"hold\",\"on\":false}\n");
    CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_OUT, "a line\n"));
    tell_peer(&peer, "{\"t\":\"hold\",\"on\":true}\n{\"t\":\"stop\"}\n");
    CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_EVENT, "wrote\nwrote\n"));
    (void)close(peer.to);
    peer.to = -1;
    JR_ASSERT_TEXT(next_word(&peer), "done"); /* then all that there is comes */
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_OUT), "a line\na line\n");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

TEST(shows_what_is_left_behind_the_outcome)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"behind\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    JR_ASSERT_TEXT(next_word(&peer), "done");
    check_outcome(&peer);
    CU_ASSERT_TRUE(jr_json_get_bool(peer.word, "behind"));
    JR_ASSERT_TEXT(next_word(&peer), "shown");
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_OUT), "late line\n");
    /* The next attempt does not wait for what an earlier one shows. */
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"behind for ever\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    JR_ASSERT_TEXT(next_word(&peer), "done");
    CU_ASSERT_TRUE(jr_json_get_bool(peer.word, "behind"));
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"say\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    JR_ASSERT_TEXT(next_word(&peer), "done");
    CU_ASSERT_FALSE(jr_json_get_bool(peer.word, "behind"));
    JR_ASSERT_TEXT(text_of(&peer, JR_CHANNEL_OUT), "late line\nto out\n");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* Nobody is there to show the rest to: the outcome is the last that comes. */
TEST(shows_no_rest_after_its_input)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"behind orders\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_EVENT, "ready\n"));
    (void)close(peer.to);
    peer.to = -1;
    CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_EVENT, "no more orders\n"));
    JR_ASSERT_TEXT(next_word(&peer), "done");
    CU_ASSERT_FALSE(jr_json_get_bool(peer.word, "behind"));
    check_outcome(&peer);
    JR_ASSERT_TEXT(next_word(&peer), "");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

/* However little is taken of it, the agent hears; and nothing is lost. */
TEST(waits_for_a_controller_that_does_not_read)
{
    struct peer peer;
    CU_ASSERT_EQUAL_FATAL(pipe2(flooded, O_CLOEXEC), 0);
    struct pollfd wait = {.fd = flooded[0], .events = POLLIN};
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"flood\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    CU_ASSERT_EQUAL(poll(&wait, 1, 200), 0); /* neither does it read all */
    tell_peer(&peer, "{\"t\":\"heartbeat\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "heartbeat");
    CU_ASSERT_TRUE(peer.streams[JR_CHANNEL_OUT].len < (size_t)FLOOD * WIDE);
    JR_ASSERT_TEXT(next_word_but_heartbeats(&peer), "done");
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

/* Nobody takes what it says: the ranks hear that their orders have ended. */
TEST(ends_without_a_controller)
{
    struct peer peer;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"go\",\"run_id\":\"orders\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "begun");
    CU_ASSERT_TRUE(await_text(&peer, JR_CHANNEL_EVENT, "ready\n"));
    (void)close(peer.from);
    peer.from = -1;
    tell_peer(&peer, "{\"t\":\"heartbeat\"}\n");
    int to = peer.to; /* which stays open: it is the output that is gone */
    peer.to = -1;
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
    (void)close(to);
}

/* The first line says who it is; what follows stays where it is. */
TEST(awaits_its_assignment)
{
    static const struct {
        const char *input;
        int64_t as; /* -1: it is none */
    } vectors[] = {
        {"{\"t\":\"assign\",\"as\":4,\"host\":\"n5\"}\nrest", 4},
        {"{\"t\":\"assign\",\"as\":0,\"host\":\"n1\",\"piece\":9}\nrest", 0},
        {"{\"t\":\"assign\",\"as\":4}\nrest", -1},
        {"{\"t\":\"spec\",\"host\":\"n5\"}\nrest", -1},
        {"{\"t\":\"assign\",\"as\":4,\"host\":\"n5\"}", -1},
        {"nonsense\nrest", -1},
        {"", -1},
    };
    int kept = dup(STDIN_FILENO);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_message word = {0};
        struct jr_error err = {0};
        json_t *object = NULL;
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
        json_decref(object);
    }
    (void)dup2(kept, STDIN_FILENO);
    (void)close(kept);
}

/* It listens where it is told to, greets who comes, and reaches itself. */
TEST(answers_a_survey)
{
    struct peer peer;
    char words[200];
    struct jr_buf why = JR_BUF_INIT;
    meet_peer(&peer);
    tell_peer(&peer, "{\"t\":\"listen\",\"port\":29700,\"token\":\"abc\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "listening");
    uint32_t port = jr_json_get_u32(peer.word, "port");
    CU_ASSERT_TRUE(port >= 29700);
    CU_ASSERT_EQUAL(jr_reach_connect("127.0.0.1", port, "abc", -1, &why), JR_REACH_OK);
    CU_ASSERT_EQUAL(jr_reach_connect("127.0.0.1", port, "abd", -1, &why), JR_REACH_ANOTHER);
    (void)snprintf(words, sizeof words,
                   "{\"t\":\"reach\",\"host\":\"127.0.0.1\",\"port\":%u,\"token\":\"abc\"}\n",
                   port);
    tell_peer(&peer, words);
    JR_ASSERT_TEXT(next_word(&peer), "reached");
    CU_ASSERT_EQUAL(jr_json_get_int(peer.word, "status"), JR_REACH_OK);
    (void)snprintf(words, sizeof words,
                   "{\"t\":\"listen\",\"port\":%u,\"on\":true,\"token\":\"abc\"}\n", port);
    tell_peer(&peer, words); /* the one before is closed */
    JR_ASSERT_TEXT(next_word(&peer), "listening");
    CU_ASSERT_EQUAL(jr_json_get_u32(peer.word, "port"), port);
    tell_peer(&peer,
              "{\"t\":\"reach\",\"host\":\"no.such.name.invalid\",\"port\":1,\"token\":\"abc\"}\n");
    JR_ASSERT_TEXT(next_word(&peer), "reached");
    CU_ASSERT_EQUAL(jr_json_get_int(peer.word, "status"), JR_REACH_UNKNOWN);
    CU_ASSERT_TRUE(peer.streams[JR_CHANNEL_WHY].len > 0);
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
    jr_buf_release(&why);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN); /* as jobrun does */
    return jr_unit_main();
}
