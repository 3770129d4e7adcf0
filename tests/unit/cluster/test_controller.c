/* A real controller and a fake srun: this very program, which is found in PATH
 * as `srun`, plays all agents by the script in its environment, a step a line:
 *
 *   hello N             facts and a hello of node N
 *   say TEXT, err TEXT  a line as it is
 *   flow N TYPE TEXT    bytes of a stream; \n in it is a newline
 *   wide N COUNT        so many lines of 1000 bytes for the console
 *   word N TYPE KEY=V   a word with one number in it
 *   begun N             by the clock of the node, see clock_of
 *   late N MS           the same, on its way for so long
 *   event N NAME R C    of rank R, with exit code C, by that clock
 *   report N NAME S     of all ranks of the node, silent for S seconds
 *   end N CODES         the outcome of its ranks, one digit each, and `done`;
 *                       with a q behind, they were silent for 6 s before
 *   await TYPE          until the controller has said it
 *   rest MS             do nothing
 *   leave               end, while another process goes on with the rest
 *   exit CODE, die SIG  end; without it at the end of the input
 *
 * What the controller says is noted line by line in the file HEARD.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/internal.h"
#include "cluster/transport.h"
#include "cluster/protocol.h"
#include "descriptors.h"
#include "generated/version.h"
#include "scratch.h"
#include "spawn/run_options.h"
#include "spawn/slurm_job.h"
#include "store/event_line.h"
#include "store/outcome.h"
#include "store/run_folder.h"
#include "unit.h"

#define SECOND_NS UINT64_C(1000000000)

enum { NODES = 2, RANKS = 4, EACH = 2 };

/* The clock of a node: that of node 1 is far ahead. */
static uint64_t clock_of(unsigned node)
{
    return jr_clock_ns() + node * 1000 * SECOND_NS;
}

/* srun. */

static FILE *heard;

static void need(bool good)
{
    if (!good)
        _exit(99);
}

static void write_out(struct jr_buf *text)
{
    need(write(STDOUT_FILENO, text->data, text->len) == (ssize_t)text->len);
    jr_buf_release(text);
}

/* Whatever it says: what no agent of this build would say, too. */
static void say_word(unsigned node, const char *type, json_t *more)
{
    struct jr_buf out = JR_BUF_INIT;
    json_t *word = json_object();
    jr_json_set_int(word, "n", node);
    jr_json_set_str(word, "t", type);
    (void)json_object_update(word, more);
    jr_json_print(&out, word, 0);
    jr_buf_char(&out, '\n');
    json_decref(word);
    json_decref(more);
    write_out(&out);
}

static void say_message(unsigned node, struct jr_message message)
{
    struct jr_buf out = JR_BUF_INIT;
    message.node = node;
    message.at_ns = (int64_t)clock_of(node);
    jr_message_put(&out, &message);
    write_out(&out);
}

static void say_flow(unsigned node, enum jr_channel flow, const char *text)
{
    struct jr_buf out = JR_BUF_INIT, bytes = JR_BUF_INIT;
    jr_buf_replaced(&bytes, text, "\\n", "\n");
    jr_channel_put(&out, &(struct jr_sender){.node = node}, flow, bytes.data, bytes.len);
    jr_buf_release(&bytes);
    write_out(&out);
}

static void play_hello(unsigned node)
{
    char host[16];
    (void)snprintf(host, sizeof host, "n%u", node);
    say_flow(node, JR_CHANNEL_FACTS, host);
    say_message(
        node, (struct jr_message){.type = JR_FROM_NODE_HELLO,
                                  .version = JR_VERSION,
                                  .host = host,
                                  .wall_ns = (int64_t)(jr_clock_wall_ns() + node * 500 * SECOND_NS),
                                  .port = 4000 + node});
}

static void play_event(unsigned node, const char *words)
{
    char name[64];
    struct jr_event event = {.name = JR_EVENT_UNKNOWN};
    int rank = 0, code = 0;
    need(sscanf(words, "%63s %d %d", name, &rank, &code) == 3);
    while (strcmp(jr_event_word(++event.name), name) != 0)
        continue;
    event.rank = (uint32_t)rank;
    event.pid = 100 + rank;
    event.exit_code = code;
    event.ns = clock_of(node);
    struct jr_buf line = JR_BUF_INIT, out = JR_BUF_INIT;
    jr_event_put(&line, &event);
    if (line.data[line.len - 1] != '\n')
        jr_buf_char(&line, '\n');
    jr_channel_put(&out, &(struct jr_sender){.node = node}, JR_CHANNEL_EVENT, line.data, line.len);
    jr_buf_release(&line);
    write_out(&out);
}

static void play_report(unsigned node, const char *words)
{
#define WORD(name, word, keys) word,
#define NO_WORD(name, word, keys)
    static const char *const types[] = {JR_MESSAGES(WORD, NO_WORD)};
    char name[64];
    int seconds = 0;
    (void)sscanf(words, "%63s %d", name, &seconds);
    unsigned type = JR_FROM_NODE_ALL_RETURNED;
    while (strcmp(types[type], name) != 0)
        need(++type < JR_MESSAGE_FROM_COUNT);
    say_message(node, (struct jr_message){.type = (enum jr_message_type)type,
                                          .for_ns = seconds * (int64_t)SECOND_NS});
}

/* x: it never started; k: it was killed by SIGKILL; ?: that is not known. */
static void play_end(unsigned node, const char *codes)
{
    struct jr_rank_outcome ranks[EACH] = {{0}};
    struct jr_outcome outcome = {.count = EACH, .ranks = ranks};
    struct jr_buf text = JR_BUF_INIT, out = JR_BUF_INIT;
    for (unsigned i = 0; i < EACH; i++) {
        ranks[i].pid = 100 + (int)(node * EACH + i);
        ranks[i].end = codes[i] == 'x'   ? JR_END_START
                       : codes[i] == 'k' ? JR_END_SIGNALED
                       : codes[i] == '?' ? JR_END_NONE
                                         : JR_END_EXITED;
        ranks[i].killed = codes[i] == '?';
        ranks[i].signal = codes[i] == 'k' ? SIGKILL : 0;
        ranks[i].exit_code = codes[i] <= '9' ? codes[i] - '0' : 0;
        ranks[i].started_ns = clock_of(node);
        ranks[i].ended_ns = ranks[i].heard_ns = clock_of(node);
        if (codes[EACH] == 'q')
            ranks[i].heard_ns -= 6 * SECOND_NS;
        ranks[i].alive_ns = ranks[i].exiting_ns = clock_of(node);
        ranks[i].told_ns = i == 0 ? clock_of(node) : 0;
        ranks[i].leaving_ns = ranks[i].told_ns;
    }
    outcome.left = 10;
    for (int i = 0; i < 10; i++)
        outcome.left_pids[i] = 1000 * (int)(node + 1) + i;
    outcome.pattern_limits = node + 1;
    (void)snprintf(outcome.start_text, 64, "text of %u", node);
    if (codes[EACH] == 't')
        outcome.timed_out_by = JR_TIMEOUT_RUN;
    if (codes[EACH] == 's')
        outcome.stop_signal = SIGINT;
    if (codes[EACH] == 'r')
        outcome.runner_signal = SIGSEGV;
    jr_outcome_message_add(&text, &outcome);
    jr_channel_put(&out, &(struct jr_sender){.node = node}, JR_CHANNEL_OUTCOME, text.data,
                   text.len);
    jr_buf_release(&text);
    write_out(&out);
    say_message(node, (struct jr_message){.type = JR_FROM_NODE_DONE,
                                          .port = 5000 + node,
                                          .behind = codes[EACH] == 'b'});
}

static void play_wide(unsigned node, unsigned count)
{
    char line[1001];
    memset(line, 'w', 999);
    memcpy(line + 999, "\n", 2);
    for (unsigned i = 0; i < count; i++)
        say_flow(node, JR_CHANNEL_OUT, line);
}

static void play_await(const char *type)
{
    char line[65536], wanted[64];
    (void)snprintf(wanted, sizeof wanted, "\"%s\"", type);
    while (fgets(line, sizeof line, stdin) != NULL) {
        (void)fputs(line, heard);
        (void)fflush(heard);
        if (strstr(line, wanted) != NULL)
            return;
    }
    exit(0);
}

static void play_word(unsigned node, const char *rest)
{
    char type[32], key[32] = "";
    int value = 0;
    (void)sscanf(rest, "%31s %31[a-z]=%d", type, key, &value);
    json_t *word = json_object();
    if (strcmp(key, "behind") == 0)
        jr_json_set_bool(word, key, value != 0);
    else if (key[0] != '\0')
        jr_json_set_int(word, key, value);
    if (strcmp(type, "begun") == 0)
        jr_json_set_int(word, "at", (json_int_t)clock_of(node));
    say_word(node, type, word);
}

static void play_late(unsigned node, int ms)
{
    json_t *word = json_object();
    jr_json_set_int(word, "at", (json_int_t)clock_of(node));
    (void)poll(NULL, 0, ms);
    say_word(node, "begun", word);
}

static void play_text(int fd, const char *text)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&out, "%s\n", text);
    need(write(fd, out.data, out.len) == (ssize_t)out.len);
}

static void play_step(const char *step)
{
    unsigned node = 0;
    int at = 0;
    char verb[16] = "", type[16] = "";
    (void)sscanf(step, "%15s %n", verb, &at);
    const char *rest = step + at;
    if (strcmp(verb, "say") == 0)
        play_text(STDOUT_FILENO, rest);
    else if (strcmp(verb, "err") == 0)
        play_text(STDERR_FILENO, rest);
    else if (strcmp(verb, "await") == 0)
        play_await(rest);
    else if (strcmp(verb, "exit") == 0)
        _exit(atoi(rest));
    else if (strcmp(verb, "die") == 0)
        (void)kill(getpid(), atoi(rest));
    else if (strcmp(verb, "leave") == 0 && fork() != 0)
        _exit(0);
    else if (strcmp(verb, "rest") == 0)
        (void)poll(NULL, 0, atoi(rest));
    else if (strcmp(verb, "parent") == 0)
        (void)kill(getppid(), atoi(rest));
    (void)sscanf(rest, "%u %n", &node, &at);
    rest += at;
    if (strcmp(verb, "hello") == 0)
        play_hello(node);
    else if (strcmp(verb, "word") == 0)
        play_word(node, rest);
    else if (strcmp(verb, "begun") == 0)
        play_word(node, "begun");
    else if (strcmp(verb, "late") == 0)
        play_late(node, atoi(rest));
    else if (strcmp(verb, "event") == 0)
        play_event(node, rest);
    else if (strcmp(verb, "report") == 0)
        play_report(node, rest);
    else if (strcmp(verb, "end") == 0)
        play_end(node, rest);
    else if (strcmp(verb, "wide") == 0)
        play_wide(node, (unsigned)atoi(rest));
    else if (strcmp(verb, "flow") == 0) {
        (void)sscanf(rest, "%15s %n", type, &at);
        say_flow(node, jr_channel_find(type), rest + at);
    }
}

static int play_srun(char **argv)
{
    char script[8192], *rest = script, *step;
    (void)snprintf(script, sizeof script, "%s", getenv("SCRIPT"));
    heard = fopen(getenv("HEARD"), "a");
    for (int i = 0; argv[i] != NULL; i++)
        (void)fprintf(heard, "%s%s", argv[i], argv[i + 1] == NULL ? "\n" : " ");
    if (getenv("SLURM_LABELIO") != NULL)
        (void)fprintf(heard, "labels\n");
    (void)fflush(heard);
    while ((step = strsep(&rest, "\n")) != NULL)
        play_step(step);
    play_await("no such word");
    return 0;
}

/* The controller. */

struct bench {
    struct scratch scratch;
    char script[8192], heard_path[96], heard_env[128], notes[2048];
    char *envp[8];
    struct jr_controller_options options;
    struct jr_controller *controller;
    struct jr_policy policy;
    struct jr_plan_rank ranks[RANKS];
    struct jr_plan plan;
    struct jr_run_folder dir;
    struct jr_run_options run_options;
    struct jr_outcome outcome;
    struct jr_error err;
    uint32_t attempt;
    int out, err_out; /* files for the console */
};

static void take_note(void *data, const char *line)
{
    struct bench *bench = data;
    size_t len = strlen(bench->notes);
    (void)snprintf(bench->notes + len, sizeof bench->notes - len, "%s\n", line);
}

static int open_file(struct bench *bench, const char *name)
{
    return openat(bench->scratch.fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/* A job of two nodes with two ranks each, and the srun of `script`. */
static void begin(struct bench *bench, const char *script)
{
    static char names[NODES][3] = {"n0", "n1"};
    static char *const hosts[] = {names[0], names[1]};
    static char labels[] = "SLURM_LABELIO=1";
    *bench = (struct bench){.attempt = 1};
    scratch_start(&bench->scratch);
    (void)snprintf(bench->script, sizeof bench->script, "SCRIPT=%s", script);
    (void)snprintf(bench->heard_path, sizeof bench->heard_path, "%s/heard", bench->scratch.dir);
    (void)snprintf(bench->heard_env, sizeof bench->heard_env, "HEARD=%s", bench->heard_path);
    bench->envp[0] = bench->script;
    bench->envp[1] = bench->heard_env;
    bench->envp[2] = labels;
    bench->options = (struct jr_controller_options){.transport = &jr_srun_transport,
                                                    .program = "/opt/jobrun",
                                                    .nodes = NODES,
                                                    .hosts = hosts,
                                                    .envp = bench->envp,
                                                    .start_ms = 30000,
                                                    .note = take_note,
                                                    .data = bench};
    for (uint32_t i = 0; i < RANKS; i++)
        bench->ranks[i] = (struct jr_plan_rank){.rank = i, .node_rank = i / EACH};
    bench->policy.timeouts.silence_ms = 5000;
    bench->plan = (struct jr_plan){.run_id = "run-7",
                                   .world_size = RANKS,
                                   .nodes = NODES,
                                   .master_port = 29500,
                                   .ranks = bench->ranks,
                                   .count = RANKS,
                                   .policy = &bench->policy};
    bench->dir = (struct jr_run_folder){.fd = bench->scratch.fd, .file_mode = 0600};
    bench->out = open_file(bench, "out");
    bench->err_out = open_file(bench, "err");
    bench->run_options =
        (struct jr_run_options){.dir = &bench->dir, .out_fd = bench->out, .err_fd = bench->err_out};
}

static void end(struct bench *bench)
{
    jr_controller_close(bench->controller);
    if (bench->outcome.ranks != NULL)
        jr_outcome_release(&bench->outcome);
    (void)close(bench->out);
    (void)close(bench->err_out);
    scratch_end(&bench->scratch);
}

/* Of a file of the folder. Static. */
static const char *content(const struct bench *bench, const char *name)
{
    static char text[65536];
    int fd = openat(bench->scratch.fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    if (fd >= 0)
        (void)close(fd);
    return text;
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        count++;
    return count;
}

/* How often the controller has said a word so far. */
static unsigned said(const struct bench *bench, const char *type)
{
    char word[64];
    (void)snprintf(word, sizeof word, "\"t\": \"%s\"", type);
    return count_of(content(bench, "heard"), word);
}

static int open_bench(struct bench *bench)
{
    return jr_controller_open(&bench->controller, &bench->options, &bench->err);
}

static int brief_bench(struct bench *bench)
{
    const struct jr_controller_spec spec = {
        .text = "name: demo", .inject = "kill@0", .cell = "7", .sweep = "s"};
    return jr_controller_send_spec(bench->controller, &spec, &bench->err);
}

static int run_bench(struct bench *bench)
{
    return jr_controller_run(bench->controller, &bench->outcome, &bench->plan, &bench->run_options,
                             bench->attempt, &bench->err);
}

#define HELLO "hello 0\nhello 1\n"
#define READY "await spec\nword 0 ready\nword 1 ready\n"
#define BEGUN "await go\nbegun 0\nbegun 1\n"

/* Open, hand out the spec, run; what came of it is in the bench. */
static int play(struct bench *bench, const char *script)
{
    char whole[8000];
    (void)snprintf(whole, sizeof whole, "%s", script);
    begin(bench, whole);
    CU_ASSERT_EQUAL_FATAL(open_bench(bench), 0);
    CU_ASSERT_EQUAL_FATAL(brief_bench(bench), 0);
    return run_bench(bench);
}

static void wait_for_srun(struct bench *bench)
{
    jr_controller_close(bench->controller);
    bench->controller = NULL;
}

/* Before a run. */

TEST(meets_all_nodes)
{
    struct bench bench;
    begin(&bench, HELLO);
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    for (uint32_t i = 0; i < NODES; i++) {
        struct jr_controller_node node = jr_controller_node(bench.controller, i);
        struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
        JR_ASSERT_TEXT(node.host, i == 0 ? "n0" : "n1");
        JR_ASSERT_TEXT(node.facts, i == 0 ? "n0" : "n1");
        CU_ASSERT_EQUAL(node.facts_len, 2);
        CU_ASSERT_EQUAL(node.resources_len, 0);
        JR_ASSERT_TEXT(node.resources, "");
        CU_ASSERT_EQUAL(node.port, 4000 + i);
        int64_t off = node.clock_offset_ns - (int64_t)(i * 500 * SECOND_NS);
        CU_ASSERT_TRUE(off > -(int64_t)(100 * SECOND_NS) && off < (int64_t)(100 * SECOND_NS));
        jr_controller_name(&name, bench.controller, i);
        JR_ASSERT_TEXT(name.data, i == 0 ? "node 0 (n0)" : "node 1 (n1)");
    }
    CU_ASSERT_PTR_NOT_NULL(jr_controller_lacks(bench.controller));
    wait_for_srun(&bench);
    const char *words = content(&bench, "heard");
    CU_ASSERT_PTR_NOT_NULL(strstr(words, "--nodes=2 --ntasks=2 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(words, " /opt/jobrun agent\n"));
    CU_ASSERT_PTR_NULL(strstr(words, "labels"));
    JR_ASSERT_TEXT(bench.notes, "");
    end(&bench);
}

/* What cannot begin: the script, and what is said of it. */
struct refusal {
    const char *script;
    uint64_t start_ms;
    enum jr_status status;
    const char *parts[3];
};

static void check_refusal(const struct refusal *refusal)
{
    struct bench bench;
    begin(&bench, refusal->script);
    if (refusal->start_ms != 0)
        bench.options.start_ms = refusal->start_ms;
    CU_ASSERT_EQUAL(open_bench(&bench), -1);
    CU_ASSERT_PTR_NULL(bench.controller);
    CU_ASSERT_EQUAL(bench.err.status, refusal->status);
    for (size_t i = 0; i < 3 && refusal->parts[i] != NULL; i++)
        if (strstr(bench.err.text, refusal->parts[i]) == NULL) {
            printf("\n    '%s' lacks '%s'\n", bench.err.text, refusal->parts[i]);
            CU_FAIL("the reason is not told");
        }
    end(&bench);
}

TEST(says_why_it_cannot_begin)
{
    static const struct refusal vectors[] = {
        {"exit 7", 0, JR_STATUS_LAUNCH, {"2 nodes", "exit code 7", "squeue"}},
        {"err srun: error: no such partition\nexit 1",
         0,
         JR_STATUS_LAUNCH,
         {"exit code 1", "no such partition"}},
        {"die 15", 0, JR_STATUS_LAUNCH, {"TERM"}},
        {"hello 0\nexit 3", 0, JR_STATUS_LAUNCH, {"node 1 (n1)", "code 3"}},
        {"hello 5\nsay {\"n\":0,\"t\":\"strange\"}\nerr last word\nhello 1",
         3000,
         JR_STATUS_LAUNCH,
         {"node 0 (n0)", "3s (timeouts.start", "last word"}},
        {"hello 0\nhello 0", 0, JR_STATUS_UNRESOLVED, {"node 0 (n0)", "more than one"}},
        {"say {\"n\":1,\"t\":\"hello\",\"version\":\"0.0.1\"}",
         0,
         JR_STATUS_LAUNCH,
         {"node 1 (n1)", "0.0.1", JR_VERSION}},
        {"say {\"n\":1,\"t\":\"hello\"}", 0, JR_STATUS_LAUNCH, {"node 1", "unknown"}},
        {"flow 0 why it is too old\nword 0 refuse status=2",
         0,
         (enum jr_status)2,
         {"node 0 (n0): it is too old"}},
        {"say {\"n\":1,\"t\":\"refuse\",\"host\":\"gpu9\",\"status\":99}",
         0,
         JR_STATUS_LAUNCH,
         {"node 1 (gpu9)"}},
        {"word 0 refuse status=0", 0, JR_STATUS_LAUNCH, {"node 0 (n0)"}},
        {"hello 0\nerr srun: error: n1: task 1: Killed",
         0,
         JR_STATUS_LAUNCH,
         {"node 1 (n1)", "task 1: Killed", "/opt/jobrun"}},
        {HELLO "err srun: error: n1: task 1: Killed\nexit 0", 0, JR_STATUS_LAUNCH, {NULL}},
    };
    /* The last one may have been met before: it is no vector. */
    for (size_t i = 0; i + 1 < sizeof vectors / sizeof *vectors; i++)
        check_refusal(&vectors[i]);
}

TEST(needs_srun)
{
    struct bench bench;
    char *path = strdup(getenv("PATH"));
    begin(&bench, "");
    (void)setenv("PATH", "/nonexistent", 1);
    CU_ASSERT_EQUAL(open_bench(&bench), -1);
    (void)setenv("PATH", path, 1);
    CU_ASSERT_EQUAL(bench.err.status, JR_STATUS_LAUNCH);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, "PATH"));
    free(path);
    end(&bench);
}

TEST(passes_on_what_is_no_word)
{
    struct bench bench;
    begin(&bench, "say welcome\nerr srun: warning: slow\nsay \nerr it lacks "
                  "support for cpu binding\nflow 0 out early\n" HELLO);
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    wait_for_srun(&bench);
    CU_ASSERT_EQUAL(count_of(bench.notes, "\n"), 2);
    CU_ASSERT_EQUAL(count_of(bench.notes, "welcome\n"), 1);
    CU_ASSERT_EQUAL(count_of(bench.notes, "srun: warning: slow\n"), 1);
    end(&bench);
}

TEST(hands_out_the_spec)
{
    struct bench bench;
    begin(&bench, HELLO "await spec\nflow 1 resources two\nflow 1 resources cpus\n"
                        "word 1 ready\nword 0 ready\n");
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    CU_ASSERT_EQUAL(brief_bench(&bench), 0);
    JR_ASSERT_TEXT(jr_controller_node(bench.controller, 1).resources, "twocpus");
    CU_ASSERT_EQUAL(jr_controller_node(bench.controller, 1).resources_len, 7);
    CU_ASSERT_EQUAL(said(&bench, "spec"), 1);
    CU_ASSERT_EQUAL(count_of(content(&bench, "heard"), "\"name: demo\", \"inject\": \"kill@0\""),
                    1);
    end(&bench);
}

TEST(says_which_node_cannot_take_the_spec)
{
    struct bench bench;
    begin(&bench, HELLO "await spec\nword 0 ready\nflow 1 why too few CPUs\n"
                        "word 1 refuse status=4\n");
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    CU_ASSERT_EQUAL(brief_bench(&bench), -1);
    CU_ASSERT_EQUAL(bench.err.status, 4);
    JR_ASSERT_TEXT(bench.err.text, "node 1 (n1): too few CPUs");
    end(&bench);
    begin(&bench, HELLO "await spec\nword 0 ready\nexit 1\n");
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    CU_ASSERT_EQUAL(brief_bench(&bench), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, "node 1 (n1) did not"));
    CU_ASSERT_PTR_NULL(strstr(bench.err.text, "squeue"));
    CU_ASSERT_PTR_NOT_NULL(jr_controller_lacks(bench.controller));
    end(&bench);
}

/* Runs. */

static bool is_between(uint64_t ns, uint64_t first, uint64_t last)
{
    return ns >= first && ns <= last;
}

/* Every time is ours, and none is before the run or after it. The clocks are known but for as long
 * as the message took. */
static void check_times(const struct bench *bench, uint64_t before)
{
    const struct jr_outcome *outcome = &bench->outcome;
    uint64_t now = jr_clock_ns() + outcome->clock_error_ns;
    before -= outcome->clock_error_ns;
    CU_ASSERT_TRUE(outcome->clock_error_ns > 0 && outcome->clock_error_ns < 50 * SECOND_NS);
    CU_ASSERT_TRUE(is_between(outcome->started_ns, before, now));
    CU_ASSERT_TRUE(is_between(outcome->ended_ns, outcome->started_ns + 1, now));
    CU_ASSERT_TRUE(2 * outcome->clock_error_ns <= outcome->ended_ns - outcome->started_ns);
    CU_ASSERT_TRUE(outcome->ended_wall_ns >= outcome->started_wall_ns);
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct jr_rank_outcome *rank = &outcome->ranks[i];
        CU_ASSERT_TRUE(is_between(rank->started_ns, before, now));
        CU_ASSERT_TRUE(is_between(rank->ended_ns, before, now));
        CU_ASSERT_TRUE(is_between(rank->heard_ns, before, now));
        CU_ASSERT_TRUE(is_between(rank->alive_ns, before, now));
        CU_ASSERT_TRUE(is_between(rank->exiting_ns, before, now));
        bool told = i % EACH == 0;
        CU_ASSERT_EQUAL(is_between(rank->told_ns, before, now), told);
        CU_ASSERT_EQUAL(is_between(rank->leaving_ns, before, now), told);
        CU_ASSERT_TRUE(told || rank->told_ns == 0);
        CU_ASSERT_TRUE(told || rank->leaving_ns == 0);
        CU_ASSERT_EQUAL(rank->clock_offset_ns,
                        jr_controller_node(bench->controller, i / EACH).clock_offset_ns);
    }
}

TEST(puts_the_outcomes_together)
{
    struct bench bench;
    uint64_t before = jr_clock_ns();
    CU_ASSERT_EQUAL(play(&bench, HELLO READY BEGUN "end 1 00\nend 0 00\n"), 0);
    const struct jr_outcome *outcome = &bench.outcome;
    CU_ASSERT_EQUAL_FATAL(outcome->count, RANKS);
    for (uint32_t i = 0; i < RANKS; i++) {
        CU_ASSERT_EQUAL(outcome->ranks[i].pid, 100 + (int32_t)i);
        CU_ASSERT_EQUAL(outcome->ranks[i].end, JR_END_EXITED);
    }
    check_times(&bench, before);
    CU_ASSERT_EQUAL(outcome->pattern_limits, 3);
    JR_ASSERT_TEXT(outcome->start_text, "text of 1"); /* it came first */
    CU_ASSERT_EQUAL(outcome->left, 20);
    CU_ASSERT_EQUAL(outcome->left_pids[0], 2000);
    CU_ASSERT_EQUAL(outcome->left_pids[9], 2009);
    CU_ASSERT_EQUAL(outcome->left_pids[10], 1000);
    CU_ASSERT_EQUAL(outcome->left_pids[15], 1005);
    CU_ASSERT_EQUAL(outcome->stop_signal, 0);
    CU_ASSERT_EQUAL(outcome->timed_out_by, JR_TIMEOUT_NONE);
    JR_ASSERT_TEXT(outcome->lost_text, "");
    CU_ASSERT_PTR_NULL(jr_controller_lacks(bench.controller));
    CU_ASSERT_EQUAL(jr_controller_node(bench.controller, 1).port, 5001);
    wait_for_srun(&bench);
    CU_ASSERT_EQUAL(said(&bench, "stop"), 0);
    CU_ASSERT_EQUAL(said(&bench, "go"), 1);
    CU_ASSERT_EQUAL(said(&bench, "release"), 1);
    const char *words = content(&bench, "heard");
    CU_ASSERT_PTR_NOT_NULL(strstr(words, "\"attempt\": 1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(words, "\"port\": 29500"));
    CU_ASSERT_PTR_NOT_NULL(strstr(words, "\"run_id\": \"run-7\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(words, "\"heartbeats\": true"));
    const char *events = content(&bench, "events.jsonl");
    CU_ASSERT_EQUAL(count_of(events, "\"agents\""), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(events, "\"nodes\":2"));
    CU_ASSERT_PTR_NULL(strstr(events, "\"heard\":0,"));
    end(&bench);
}

/* The answer of a node may have been on its way for as long as we know of: its times are wrong by
 * half of that at most. */
TEST(knows_clocks_as_far_as_it_says)
{
    struct bench bench;
    uint64_t before = jr_clock_ns();
    CU_ASSERT_EQUAL(play(&bench, HELLO READY "await go\nlate 0 300\nlate 1 300\n"
                                             "end 1 00\nend 0 00\n"),
                    0);
    CU_ASSERT_TRUE(bench.outcome.clock_error_ns >= 300 * SECOND_NS / 1000);
    check_times(&bench, before);
    end(&bench);
}

/* A second attempt by the same agents, which begins anew. */
TEST(runs_again)
{
    struct bench bench;
    CU_ASSERT_EQUAL(play(&bench,
                         HELLO READY BEGUN "flow 1 out begun in\nend 0 10t\nend 1 00b\n" BEGUN
                                           "flow 1 out anew\\n\nend 0 00\nend 1 00\n"),
                    0);
    CU_ASSERT_EQUAL(bench.outcome.timed_out_by, JR_TIMEOUT_RUN);
    jr_outcome_release(&bench.outcome);
    bench.attempt = 2;
    CU_ASSERT_EQUAL(run_bench(&bench), 0);
    CU_ASSERT_EQUAL(bench.outcome.timed_out_by, JR_TIMEOUT_NONE);
    CU_ASSERT_EQUAL(bench.outcome.ranks[0].exit_code, 0);
    CU_ASSERT_EQUAL(bench.outcome.left, 20);
    wait_for_srun(&bench);
    CU_ASSERT_EQUAL(said(&bench, "go"), 2);
    JR_ASSERT_TEXT(content(&bench, "out"), "anew\n");
    const char *told = content(&bench, "err"); /* what was not shown before */
    CU_ASSERT_TRUE(count_of(told, "attempt 1") > 0);
    CU_ASSERT_EQUAL(count_of(told, "attempt"), count_of(told, "attempt 1"));
    end(&bench);
}

/* How often `stop` is said where a node's part is so. */
TEST(stops_all_for_one)
{
    static const struct {
        const char *end;
        enum jr_on_failure on_failure;
        unsigned stops;
    } vectors[] = {
        {"end 0 01\n", JR_ON_FAILURE_STOP, 1},
        {"end 0 0k\n", JR_ON_FAILURE_STOP, 1},
        {"end 0 x0\n", JR_ON_FAILURE_STOP, 1},
        {"end 0 x0\n", JR_ON_FAILURE_CONTINUE, 1},
        {"end 0 00t\n", JR_ON_FAILURE_CONTINUE, 1},
        {"end 0 00s\n", JR_ON_FAILURE_CONTINUE, 1},
        {"end 0 00r\n", JR_ON_FAILURE_CONTINUE, 1},
        {"event 0 stop 0 0\nend 0 00\n", JR_ON_FAILURE_CONTINUE, 1},
        {"event 0 kill 0 0\nend 0 00\n", JR_ON_FAILURE_CONTINUE, 1},
        {"event 0 start_failed 0 0\nend 0 00\n", JR_ON_FAILURE_CONTINUE, 1},
        {"event 0 stop 0 0\nevent 0 kill 0 0\nend 0 1k\n", JR_ON_FAILURE_STOP, 1},
        {"end 0 01\n", JR_ON_FAILURE_CONTINUE, 0},
        {"end 0 0k\n", JR_ON_FAILURE_CONTINUE, 0},
        {"event 0 rank_ended 0 1\nend 0 00\n", JR_ON_FAILURE_STOP, 0},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct bench bench;
        char script[512];
        (void)snprintf(script, sizeof script, HELLO READY BEGUN "%s%send 1 00\n", vectors[i].end,
                       vectors[i].stops > 0 ? "await stop\n" : "");
        begin(&bench, script);
        bench.policy.on_failure = vectors[i].on_failure;
        CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
        CU_ASSERT_EQUAL_FATAL(brief_bench(&bench), 0);
        CU_ASSERT_EQUAL(run_bench(&bench), 0);
        wait_for_srun(&bench);
        if (said(&bench, "stop") != vectors[i].stops)
            printf("\n    %s", vectors[i].end);
        CU_ASSERT_EQUAL(said(&bench, "stop"), vectors[i].stops);
        end(&bench);
    }
}

TEST(keeps_what_stopped_it_first)
{
    struct bench bench;
    CU_ASSERT_EQUAL(play(&bench, HELLO READY BEGUN "end 0 00s\nend 1 00r\n"), 0);
    CU_ASSERT_EQUAL(bench.outcome.stop_signal, SIGINT);
    CU_ASSERT_EQUAL(bench.outcome.runner_signal, SIGSEGV);
    end(&bench);
}

TEST(says_which_node_could_not_begin)
{
    struct bench bench;
    CU_ASSERT_EQUAL(play(&bench, HELLO READY BEGUN
                         "flow 1 outcome {\"error\":\"no more processes\"}\nword 1 done\n"
                         "await stop\nend 0 00\n"),
                    -1);
    CU_ASSERT_EQUAL(bench.err.status, JR_STATUS_LAUNCH);
    JR_ASSERT_TEXT(bench.err.text, "node 1 (n1): no more processes");
    end(&bench);
    CU_ASSERT_EQUAL(play(&bench, HELLO READY "await go\nbegun 0\n"
                                             "flow 1 why no space\nword 1 refuse status=4\n"
                                             "await stop\nend 0 00\n"),
                    -1);
    CU_ASSERT_EQUAL(bench.err.status, 4);
    JR_ASSERT_TEXT(bench.err.text, "node 1 (n1): no space");
    end(&bench);
}

/* Its ranks are lost with it: those that had begun and not ended. */
TEST(loses_a_node_whose_runner_died)
{
    struct bench bench;
    CU_ASSERT_EQUAL(play(&bench, HELLO READY BEGUN "event 1 rank_started 2 0\n"
                                                   "event 1 rank_started 3 0\n"
                                                   "event 1 rank_started 0 0\n" /* not its own */
                                                   "event 1 rank_ended 3 5\n"
                                                   "word 1 done signal=11\nawait no word at all\n"),
                    0);
    const struct jr_rank_outcome *ranks = bench.outcome.ranks;
    CU_ASSERT_EQUAL(bench.outcome.runner_signal, 0);
    JR_ASSERT_TEXT(bench.outcome.lost_text, "its jobrun was killed by SIGSEGV");
    CU_ASSERT_EQUAL(ranks[2].pid, 102);
    CU_ASSERT_EQUAL(ranks[2].end, JR_END_LOST);
    CU_ASSERT_FALSE(ranks[2].killed);
    CU_ASSERT_TRUE(ranks[2].ended_ns >= ranks[2].started_ns);
    CU_ASSERT_EQUAL(ranks[3].end, JR_END_EXITED);
    CU_ASSERT_EQUAL(ranks[3].exit_code, 5);
    CU_ASSERT_EQUAL(ranks[0].pid, 0);
    end(&bench);
}

/* The guard tells of them, and of what could not be ended. */
TEST(loses_a_node_whose_guard_tells)
{
    struct bench bench;
    CU_ASSERT_EQUAL(play(&bench, HELLO READY BEGUN "end 1 5?r\nawait no word at all\n"), 0);
    const struct jr_rank_outcome *ranks = bench.outcome.ranks;
    CU_ASSERT_EQUAL(bench.outcome.runner_signal, 0);
    JR_ASSERT_TEXT(bench.outcome.lost_text, "its jobrun was killed by SIGSEGV");
    CU_ASSERT_EQUAL(ranks[2].exit_code, 5);
    CU_ASSERT_EQUAL(ranks[3].end, JR_END_LOST);
    CU_ASSERT_FALSE(ranks[3].killed);
    CU_ASSERT_TRUE(ranks[3].ended_ns >= ranks[3].started_ns);
    CU_ASSERT_EQUAL(bench.outcome.left, 10);
    CU_ASSERT_PTR_NOT_NULL(jr_controller_lacks(bench.controller));
    end(&bench);
}

TEST(loses_a_node)
{
    struct bench bench;
    CU_ASSERT_EQUAL(play(&bench, HELLO READY BEGUN "event 1 rank_started 2 0\n"
                                                   "event 1 rank_started 3 0\n"
                                                   "event 1 rank_ended 3 -1\n"
                                                   "err srun: error: n1: task 1: Killed\n"
                                                   "await no word at all\n"),
                    0);
    const struct jr_rank_outcome *ranks = bench.outcome.ranks;
    JR_ASSERT_TEXT(bench.outcome.lost_text, "srun: error: n1: task 1: Killed");
    CU_ASSERT_EQUAL(ranks[2].end, JR_END_LOST);
    CU_ASSERT_FALSE(ranks[2].killed);
    CU_ASSERT_TRUE(ranks[2].ended_ns >= ranks[2].started_ns);
    CU_ASSERT_EQUAL(ranks[3].end, JR_END_SIGNALED);
    CU_ASSERT_EQUAL(ranks[0].end, JR_END_NONE); /* srun ended with the input */
    CU_ASSERT_EQUAL(bench.outcome.runner_signal, 0);
    CU_ASSERT_EQUAL(said(&bench, "stop"), 0); /* its input has ended */
    CU_ASSERT_PTR_NOT_NULL(jr_controller_lacks(bench.controller));
    const char *events = content(&bench, "events.jsonl");
    CU_ASSERT_EQUAL(count_of(events, "\"node_lost\""), 2);
    end(&bench);
}

/* When it was ready, and others were still waited for: nothing more is awaited of it. */
TEST(loses_a_node_before_it_begins)
{
    struct bench bench;
    begin(&bench, HELLO READY "await go\nawait no word at all\n");
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    CU_ASSERT_EQUAL_FATAL(brief_bench(&bench), 0);
    struct jr_link *link = &bench.controller->links[0];
    (void)snprintf(link->last_line, sizeof link->last_line, "srun: error: n1: task 1: Killed");
    jr_controller_handle_errors(bench.controller, link);
    CU_ASSERT_EQUAL(bench.controller->nodes[1].state, JR_NODE_READY);
    CU_ASSERT_EQUAL(run_bench(&bench), 0);
    JR_ASSERT_TEXT(bench.outcome.lost_text, "srun: error: n1: task 1: Killed");
    CU_ASSERT_EQUAL(bench.outcome.ranks[2].end, JR_END_LOST);
    CU_ASSERT_EQUAL(bench.outcome.ranks[3].end, JR_END_LOST);
    CU_ASSERT_PTR_NOT_NULL(jr_controller_lacks(bench.controller));
    end(&bench);
}

/* The same is the end of a start. */
TEST(a_start_fails_where_a_ready_node_is_lost)
{
    struct bench bench;
    begin(&bench, HELLO READY);
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    struct jr_link *link = &bench.controller->links[0];
    (void)snprintf(link->last_line, sizeof link->last_line, "srun: error: n1: task 1: Killed");
    for (uint32_t i = 0; i < NODES; i++)
        bench.controller->nodes[i].state = JR_NODE_READY;
    jr_controller_handle_errors(bench.controller, link);
    CU_ASSERT_EQUAL(brief_bench(&bench), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, "node 1 (n1)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.err.text, "task 1: Killed"));
    end(&bench);
}

TEST(loses_all_with_srun)
{
    struct bench bench;
    CU_ASSERT_EQUAL(play(&bench, HELLO READY BEGUN "end 0 00\nerr it is over\nexit 4\n"), 0);
    CU_ASSERT_EQUAL(bench.outcome.ranks[1].end, JR_END_EXITED);
    CU_ASSERT_EQUAL(bench.outcome.ranks[2].end, JR_END_LOST);
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.outcome.lost_text, "exit code 4"));
    CU_ASSERT_PTR_NOT_NULL(strstr(bench.outcome.lost_text, "it is over"));
    JR_ASSERT_TEXT(jr_controller_lacks(bench.controller), "srun has ended");
    end(&bench);
}

/* Events by our clock, with their node; and what follows from them. */
TEST(writes_down_what_happens)
{
    struct bench bench;
    uint64_t before = jr_clock_ns();
    CU_ASSERT_EQUAL(play(&bench, HELLO READY BEGUN
                         "event 1 rank_started 3 0\nevent 1 first_output 3 0\n"
                         "flow 0 event {\"event\":\\nnonsense\\n\n"
                         "event 1 rank_ended 3 0\nawait first\nevent 1 rank_ended 2 0\n"
                         "report 0 all_returned 0\nreport 1 all_returned 0\n"
                         "await release\nend 0 00\nend 1 00\n"),
                    0);
    wait_for_srun(&bench);
    CU_ASSERT_EQUAL(said(&bench, "first"), 1);
    CU_ASSERT_EQUAL(said(&bench, "release"), 1);
    char *line = strdup(content(&bench, "events.jsonl")), *rest = line, *one;
    unsigned lines = 0;
    while ((one = strsep(&rest, "\n")) != NULL && one[0] != '\0') {
        struct jr_event event;
        CU_ASSERT_TRUE(jr_event_read(&event, one, strlen(one)));
        lines++;
        if (event.name == JR_EVENT_AGENTS)
            continue;
        CU_ASSERT_EQUAL(event.node, 1);
        CU_ASSERT_TRUE(is_between(event.ns, before - bench.outcome.clock_error_ns,
                                  jr_clock_ns() + bench.outcome.clock_error_ns));
        int64_t ago = (int64_t)(jr_clock_wall_ns() - event.wall_ns);
        CU_ASSERT_TRUE(ago > -(int64_t)(100 * SECOND_NS) && ago < (int64_t)(100 * SECOND_NS));
    }
    CU_ASSERT_EQUAL(lines, 5);
    free(line);
    end(&bench);
}

/* The ranks hang where those of all nodes have been silent for too long. */
TEST(asks_all_nodes_about_silence)
{
    static const struct {
        const char *answers, *word;
        unsigned hangs, queries;
    } vectors[] = {
        {"report 0 quiet 6\nreport 1 quiet 5\n", "await hang\n", 1, 1},
        {"report 0 quiet 6\nreport 1 quiet 4\n", "", 0, 1},
        {"report 1 quiet 4\nreport 0 quiet 6\n"
         "report 0 silent 0\nawait query\n"
         "report 1 quiet 7\nreport 0 quiet 6\n",
         "await hang\n", 1, 2},
        {"report 0 silent 0\nreport 0 quiet 6\nend 1 00q\n", "await hang\n", 1, 1},
        /* A node that has just ended was heard until then. */
        {"report 0 silent 0\nreport 0 quiet 6\nend 1 00\n", "", 0, 1},
        {"report 0 quiet 6\nreport 1 quiet 4\nend 1 00\n"
         "report 0 silent 0\nawait query\nreport 0 quiet 6\n",
         "", 0, 2},
        {"report 0 quiet 6\nreport 1 quiet 4\nend 1 00q\n"
         "report 0 silent 0\nawait query\nreport 0 quiet 6\n",
         "await hang\n", 1, 2},
        {"event 0 stop 0 0\nreport 0 quiet 6\nreport 1 quiet 6\n", "", 0, 1},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct bench bench;
        char script[1024];
        (void)snprintf(script, sizeof script,
                       HELLO READY BEGUN "report 1 silent 0\nawait query\n%s%send 0 00\n%s",
                       vectors[i].answers, vectors[i].word,
                       strstr(vectors[i].answers, "end 1") == NULL ? "end 1 00\n" : "");
        CU_ASSERT_EQUAL(play(&bench, script), 0);
        wait_for_srun(&bench);
        CU_ASSERT_EQUAL(said(&bench, "hang"), vectors[i].hangs);
        CU_ASSERT_EQUAL(said(&bench, "query"), vectors[i].queries);
        end(&bench);
    }
}

/* The exit barrier is open once the ranks of all nodes have returned, and not before: what is said
 * in between shows when. */
TEST(waits_for_all_at_the_exit_barrier)
{
    static const char *const ends[] = {"report 1 all_returned 0\n", /* or is over, or is lost */
                                       "end 1 00\n", "err srun: error: n1: task 1: Killed\n"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct bench bench;
        char script[512];
        (void)snprintf(script, sizeof script,
                       HELLO READY BEGUN "report 0 all_returned 0\nreport 0 silent 0\n"
                                         "await query\nreport 0 quiet 0\nreport 1 quiet 0\n"
                                         "%sawait release\nend 0 00\n%s",
                       ends[i], i == 0 ? "end 1 00\n" : "");
        begin(&bench, script);
        bench.policy.on_failure = JR_ON_FAILURE_CONTINUE;
        CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
        CU_ASSERT_EQUAL_FATAL(brief_bench(&bench), 0);
        CU_ASSERT_EQUAL(run_bench(&bench), 0);
        wait_for_srun(&bench);
        const char *query = strstr(content(&bench, "heard"), "\"query\"");
        CU_ASSERT_PTR_NOT_NULL_FATAL(query);
        CU_ASSERT_PTR_NOT_NULL(strstr(query, "\"release\""));
        CU_ASSERT_EQUAL(said(&bench, "release"), 1);
        end(&bench);
    }
}

/* A node that is lost was asked, and has nothing more to say: the others are enough to tell that
 * all hang. */
TEST(a_lost_node_is_silent_for_good)
{
    struct bench bench;
    begin(&bench, HELLO READY BEGUN "report 0 silent 0\nawait query\nreport 0 quiet 6\n"
                                    "err srun: error: n1: task 1: Killed\nawait hang\nend 0 00\n");
    bench.policy.on_failure = JR_ON_FAILURE_CONTINUE;
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    CU_ASSERT_EQUAL_FATAL(brief_bench(&bench), 0);
    CU_ASSERT_EQUAL(run_bench(&bench), 0);
    wait_for_srun(&bench);
    CU_ASSERT_EQUAL(said(&bench, "hang"), 1);
    CU_ASSERT_EQUAL(bench.outcome.ranks[2].end, JR_END_LOST);
    CU_ASSERT_EQUAL(bench.outcome.ranks[0].end, JR_END_EXITED);
    end(&bench);
}

/* Signals of the caller: one that stops, and one that is handed on. */
TEST(hands_signals_on)
{
    struct jr_signal_rule rule = {.name = (char[]){"USR2"}, .use = JR_ON_SIGNAL_FORWARD};
    struct bench bench;
    begin(&bench, HELLO READY BEGUN "parent 12\nawait signal\nparent 15\nawait signal\nawait stop\n"
                                    "end 0 0k\nend 1 0k\n");
    bench.policy.signals = &rule;
    bench.policy.signals_count = 1;
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    CU_ASSERT_EQUAL_FATAL(brief_bench(&bench), 0);
    CU_ASSERT_EQUAL(run_bench(&bench), 0);
    CU_ASSERT_EQUAL(bench.outcome.stop_signal, SIGTERM);
    wait_for_srun(&bench);
    const char *words = content(&bench, "heard");
    const char *first = strstr(words, "\"signal\": 12");
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    CU_ASSERT_PTR_NOT_NULL(strstr(first, "\"signal\": 15"));
    CU_ASSERT_EQUAL(said(&bench, "stop"), 1);
    CU_ASSERT_EQUAL(said(&bench, "away"), 0); /* it was no suspension */
    sigset_t mask;
    (void)sigprocmask(SIG_BLOCK, NULL, &mask);
    CU_ASSERT_FALSE(sigismember(&mask, SIGTERM)); /* as it was before */
    end(&bench);
}

/* A signal that may mean a preemption, when the run is over before Slurm has answered: it came
 * late, and nothing is asked any more. */
TEST(asks_no_longer_than_the_run)
{
    static char path[64];
    static char *env[] = {path, NULL};
    static const struct jr_slurm_self self = {.job = "12", .name = "12", .envp = env};
    struct bench bench;
    begin(&bench, HELLO READY BEGUN "parent 15\nreport 1 silent 0\n"
                                    "await query\nend 0 00\nend 1 00\n");
    (void)snprintf(path, sizeof path, "PATH=%s:/usr/bin:/bin", bench.scratch.dir);
    scratch_write(&bench.scratch, "scontrol", "#!/bin/sh\nexec sleep 1000\n");
    CU_ASSERT_EQUAL(fchmodat(bench.scratch.fd, "scontrol", 0700, 0), 0);
    bench.policy.requeue.max = 1;
    bench.run_options.slurm = &self;
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    CU_ASSERT_EQUAL_FATAL(brief_bench(&bench), 0);
    CU_ASSERT_EQUAL(run_bench(&bench), 0);
    CU_ASSERT_EQUAL(bench.outcome.late_signal, SIGTERM);
    CU_ASSERT_EQUAL(bench.outcome.stop_signal, 0);
    CU_ASSERT_FALSE(bench.outcome.preempted);
    wait_for_srun(&bench);
    CU_ASSERT_EQUAL(said(&bench, "stop") + said(&bench, "not_preempted"), 0);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    end(&bench);
}

/* The console. */

TEST(shows_lines_of_all_nodes)
{
    struct bench bench;
    CU_ASSERT_EQUAL(play(&bench, HELLO READY
                         "await go\nflow 0 out of before\nbegun 0\nbegun 1\n"
                         "flow 0 out [0] a\nflow 1 out [2] b\\n\nflow 0 out b\\nc\\n[0]\n"
                         "flow 1 err [2] e\\n\nsay a prolog\nerr srun: \x01 slow\n"
                         "flow 0 out d\\n\nflow 1 out \\n\nend 0 00\nend 1 00\n"),
                    0);
    CU_ASSERT_TRUE(jr_controller_show_rest(bench.controller, &bench.policy, &(sigset_t){0}, false));
    JR_ASSERT_TEXT(content(&bench, "out"), "[2] b\n[0] ab\nc\na prolog\n[0]d\n\n");
    JR_ASSERT_TEXT(content(&bench, "err"), "[2] e\nsrun: \\x01 slow\n");
    JR_ASSERT_TEXT(bench.notes, "");
    CU_ASSERT_FALSE(bench.outcome.console_failed);
    end(&bench);
}

TEST(says_that_the_disk_is_full)
{
    struct bench bench;
    begin(&bench, HELLO READY BEGUN "flow 0 out a\\n\nend 0 00\nend 1 00\n");
    bench.run_options.out_fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    CU_ASSERT_EQUAL_FATAL(brief_bench(&bench), 0);
    CU_ASSERT_EQUAL(run_bench(&bench), 0);
    CU_ASSERT_TRUE(bench.outcome.console_failed);
    CU_ASSERT_EQUAL(bench.outcome.console_errno, ENOSPC);
    (void)close(bench.run_options.out_fd);
    end(&bench);
}

/* A console that takes nothing until something is written to `go`, and tells how much it was. It is
 * a process that has nothing of the controller's. */
struct console {
    int out, go, count;
    pid_t pid;
};

static _Noreturn void read_console(int out, int go, int count)
{
    static char bytes[65536];
    uint64_t got = 0;
    ssize_t len = read(go, bytes, 1);
    while (len > 0 && (len = read(out, bytes, sizeof bytes)) > 0)
        got += (uint64_t)len;
    _exit(write(count, &got, sizeof got) == sizeof got ? 0 : 1);
}

static void start_console(struct console *console)
{
    int out[2], go[2], count[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(out, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL_FATAL(pipe2(go, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL_FATAL(pipe2(count, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(out[1]);
        (void)close(go[1]);
        read_console(out[0], go[0], count[1]);
    }
    (void)close(out[0]);
    (void)close(go[0]);
    (void)close(count[1]);
    *console = (struct console){out[1], go[1], count[0], pid};
}

/* How many bytes it took. */
static uint64_t end_console(struct console *console)
{
    uint64_t got = 0;
    (void)close(console->out);
    (void)close(console->go);
    CU_ASSERT_EQUAL(read(console->count, &got, sizeof got), sizeof got);
    (void)close(console->count);
    CU_ASSERT_EQUAL(waitpid(console->pid, NULL, 0), console->pid);
    return got;
}

/* A console that takes nothing holds the agents, and no outcome: `hold` is said, and taken back
 * once it has taken what there is. */
TEST(waits_for_the_console)
{
    struct bench bench;
    struct console console;
    start_console(&console);
    begin(&bench, HELLO READY BEGUN "wide 0 1200\nawait hold\nend 1 00\nend 0 00b\n"
                                    "await hold\nwide 0 10\nword 0 shown\n");
    bench.run_options.out_fd = console.out;
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    CU_ASSERT_EQUAL_FATAL(brief_bench(&bench), 0);
    CU_ASSERT_EQUAL(run_bench(&bench), 0);
    CU_ASSERT_EQUAL(said(&bench, "hold"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(content(&bench, "heard"), "\"on\": true"));
    CU_ASSERT_EQUAL(write(console.go, "!", 1), 1);
    CU_ASSERT_TRUE(jr_controller_show_rest(bench.controller, &bench.policy, &(sigset_t){0}, false));
    wait_for_srun(&bench);
    CU_ASSERT_PTR_NOT_NULL(strstr(content(&bench, "heard"), "\"on\": false"));
    CU_ASSERT_EQUAL(said(&bench, "hold"), 2);
    CU_ASSERT_EQUAL(end_console(&console), 1210000);
    end(&bench);
}

/* A job that was stopped does not wait for whoever does not read. */
TEST(leaves_what_nobody_takes)
{
    struct bench bench;
    struct console console;
    start_console(&console);
    begin(&bench, HELLO READY BEGUN "wide 0 1200\nawait hold\nend 0 00\nend 1 00\n");
    bench.run_options.out_fd = console.out;
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    CU_ASSERT_EQUAL_FATAL(brief_bench(&bench), 0);
    CU_ASSERT_EQUAL(run_bench(&bench), 0);
    uint64_t before = jr_clock_ns();
    CU_ASSERT_FALSE(jr_controller_show_rest(bench.controller, &bench.policy, &(sigset_t){0}, true));
    CU_ASSERT_TRUE(jr_clock_ns() - before >= SECOND_NS / 2);
    CU_ASSERT_TRUE(jr_controller_show_rest(bench.controller, &bench.policy, &(sigset_t){0}, true));
    wait_for_srun(&bench);
    CU_ASSERT_TRUE(end_console(&console) < 1200000);
    end(&bench);
}

/* A signal, too, ends the waiting. */
TEST(is_told_to_leave_the_console)
{
    struct bench bench;
    struct console console;
    sigset_t set, before;
    start_console(&console);
    begin(&bench, HELLO READY BEGUN "wide 0 1200\nawait hold\nend 0 00\nend 1 00b\n");
    bench.run_options.out_fd = console.out;
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    CU_ASSERT_EQUAL_FATAL(brief_bench(&bench), 0);
    CU_ASSERT_EQUAL(run_bench(&bench), 0);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &set, &before);
    (void)raise(SIGTERM);
    CU_ASSERT_FALSE(
        jr_controller_show_rest(bench.controller, &bench.policy, &(sigset_t){0}, false));
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    wait_for_srun(&bench);
    (void)end_console(&console);
    end(&bench);
}

/* What srun has said, or others may still say by its streams, counts. */
TEST(hears_all_of_an_srun_that_has_ended)
{
    struct bench bench;
    CU_ASSERT_EQUAL(play(&bench, HELLO READY BEGUN "leave\nrest 100\nend 0 00\nend 1 01\n"), 0);
    for (uint32_t i = 0; i < RANKS; i++)
        CU_ASSERT_EQUAL(bench.outcome.ranks[i].end, JR_END_EXITED);
    JR_ASSERT_TEXT(bench.outcome.lost_text, "");
    end(&bench);
}

/* A spec of more than the pipe to srun holds, which reads it late. */
TEST(hands_out_a_large_spec)
{
    static char large[3 << 20];
    struct bench bench;
    unsigned before = count_descriptors();
    memset(large, 'x', sizeof large - 1);
    begin(&bench, HELLO "rest 50\n" READY BEGUN "end 0 00\nend 1 00\n");
    CU_ASSERT_EQUAL_FATAL(open_bench(&bench), 0);
    const struct jr_controller_spec spec = {.text = large};
    CU_ASSERT_EQUAL(jr_controller_send_spec(bench.controller, &spec, &bench.err), 0);
    CU_ASSERT_EQUAL(run_bench(&bench), 0);
    wait_for_srun(&bench);
    struct stat st;
    CU_ASSERT_EQUAL(fstatat(bench.scratch.fd, "heard", &st, 0), 0);
    CU_ASSERT_TRUE(st.st_size > (off_t)sizeof large);
    CU_ASSERT_TRUE(st.st_size < (off_t)sizeof large + 2000);
    end(&bench);
    CU_ASSERT_EQUAL(count_descriptors(), before);
}

/* srun is this program, by another name: the first in PATH. */
static bool find_srun(char link[static 64])
{
    char own[4096] = "", dir[] = "/tmp/jr_srun_XXXXXX", *path;
    if (mkdtemp(dir) == NULL || readlink("/proc/self/exe", own, sizeof own - 1) <= 0 ||
        asprintf(&path, "%s:%s", dir, getenv("PATH")) < 0)
        return false;
    (void)snprintf(link, 64, "%s/srun", dir);
    (void)setenv("PATH", path, 1);
    free(path);
    return symlink(own, link) == 0;
}

int main(int argc, char **argv)
{
    char link[64];
    if (argc > 1 && strcmp(argv[0], "srun") == 0)
        return play_srun(argv);
    (void)signal(SIGPIPE, SIG_IGN); /* as jobrun does */
    if (!find_srun(link))
        return 1;
    int bad = jr_unit_main();
    (void)unlink(link);
    *strrchr(link, '/') = '\0';
    (void)rmdir(link);
    return bad;
}
