/* The streams between the controller and its srun, without an srun: what is sent waits for room,
 * and what comes is taken line by line. */
#include "cluster/internal.h"

#include <errno.h>

#include "fake_controller.h"
#include "store/outcome.h"

static struct jr_link linked; /* as it was when it was left */
static char notes[1024];

static void take_note(void *data, const char *line)
{
    size_t len = strlen(notes);
    (void)data;
    (void)snprintf(notes + len, sizeof notes - len, "[%s]", line);
}

/* A real program in srun's place: a shell with `text`, which is found as srun. */
static void connect(const char *text)
{
    static char path[64], *envp[2];
    char file[512];
    fake_start();
    notes[0] = '\0';
    jr_link_close(&fake.link);
    (void)snprintf(path, sizeof path, "PATH=%s", fake.scratch.dir);
    envp[0] = path;
    CU_ASSERT_EQUAL(setenv("PATH", fake.scratch.dir, 1), 0);
    (void)snprintf(file, sizeof file, "#!/bin/sh\nPATH=/bin:/usr/bin\n%s\n", text);
    scratch_write(&fake.scratch, "srun", file);
    CU_ASSERT_EQUAL(fchmodat(fake.scratch.fd, "srun", 0700, 0), 0);
    fake.controller.options.envp = envp;
    fake.controller.options.note = take_note;
    fake.controller.bytes = malloc(JR_CONTROLLER_PIECE);
    fake.controller.run = NULL;
    CU_ASSERT_EQUAL_FATAL(jr_controller_connect(&fake.controller, &fake.err), 0);
}

static void leave(void)
{
    jr_loop_timer(&fake.controller.loop, &fake.controller.deadline);
    jr_controller_disconnect(&fake.controller);
    linked = fake.controller.links[0];
    free(fake.controller.links);
    free(fake.controller.bytes);
    fake_end();
}

/* Turn until srun is gone, and all it had is read. */
static void turn_to_the_end(void)
{
    while (!fake.controller.ended)
        jr_controller_turn(&fake.controller);
}

/* Without memory for a message, none that follows it may be sent, and the run is to end: by the
 * first link that this happened to. */
TEST(gives_up_a_link_without_memory)
{
    char byte;
    for (int each = 0; each < 2; each++) {
        struct jr_transport transport = jr_srun_transport;
        transport.each = each != 0;
        fake_start();
        fake.controller.transport = &transport;
        fake.link.node = 1;
        fake.link.outbox.failed = true;
        jr_controller_send_type(&fake.controller, JR_TO_NODES_QUERY);
        CU_ASSERT_EQUAL(fake.link.in.fd, -1);
        CU_ASSERT_EQUAL(read(fake.sent, &byte, 1), 0);
        CU_ASSERT_TRUE(fake.controller.refused);
        CU_ASSERT_EQUAL(fake.controller.refusal.status, JR_STATUS_LAUNCH);
        JR_ASSERT_TEXT(fake.controller.refusal.text,
                       each ? "node 1 (n1): there was no memory here for what it was to be told"
                            : "srun: there was no memory here for what it was to be told");
        fake.controller.refusal.text[0] = '\0';
        jr_controller_send_type(&fake.controller, JR_TO_NODES_STOP);
        CU_ASSERT_EQUAL(fake.link.outbox.len, 0);
        JR_ASSERT_TEXT(fake.controller.refusal.text, "");
        fake_end();
    }
}

/* Frames are messages, other lines notes; both streams, and last lines without an end. */
TEST(takes_lines)
{
    static const struct {
        const char *text, *notes, *last;
    } vectors[] = {{"exit 0", "", ""},
                   {"echo; echo >&2", "", ""},
                   {"echo 'x lacks support for cpu binding y' >&2", "", ""},
                   {"echo out", "[out]", ""},
                   {"printf out", "[out]", ""},
                   {"echo one >&2; echo two >&2", "[one][two]", "two"},
                   {"printf 'one\\ntwo' >&2", "[one][two]", "two"},
                   {"echo '{\"n\": 0, \"x\": 1}'", "[{\"n\": 0, \"x\": 1}]", ""},
                   {"echo '{\"n\": 0, \"t\": \"nonsense\"}'", "", ""},
                   {"printf '\\r'; exit 0", "[\r]", ""},
                   {"echo x; echo; echo y; echo one >&2; echo >&2", "[x][y][one]", "one"},
                   {"echo 'cpu binding' >&2", "[cpu binding]", "cpu binding"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        connect(vectors[i].text);
        turn_to_the_end();
        JR_ASSERT_TEXT(notes, vectors[i].notes);
        JR_ASSERT_TEXT(fake.controller.links[0].last_line, vectors[i].last);
        CU_ASSERT_EQUAL(fake.controller.links[0].pid, 0);
        leave();
    }
}

/* How srun ended, for people. */
TEST(says_how_srun_ended)
{
    static const struct {
        const char *text, *said;
    } vectors[] = {{"exit 0", "srun ended with exit code 0"},
                   {"exit 7", "srun ended with exit code 7"},
                   {"kill -9 $$", "srun was killed by SIGKILL"},
                   {"kill -15 $$", "srun was killed by SIGTERM"},
                   {"echo late >&2; exit 1", "srun ended with exit code 1; its last output: late"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        connect(vectors[i].text);
        turn_to_the_end();
        jr_link_describe_end(&text, &fake.controller.links[0], true);
        JR_ASSERT_TEXT(text.data, vectors[i].said);
        leave();
    }
}

/* What comes is counted; a line without an end is taken in pieces. */
TEST(a_line_without_an_end_is_taken)
{
    connect("head -c 400000 /dev/zero | tr '\\0' x; sleep 0.01; echo end");
    turn_to_the_end();
    CU_ASSERT_EQUAL(fake.controller.received_bytes, 400004);
    CU_ASSERT_TRUE(strlen(notes) > 100);
    leave();
}

/* What srun says while a run goes on is shown among its output, whole and escaped; what it says of
 * its own end is nobody's. */
TEST(what_srun_says_is_shown)
{
    for (int how = 0; how < 3; how++) {
        connect("echo one; printf 'two\\033\\n' >&2");
        int out = openat(fake.scratch.fd, "out", O_RDWR | O_CREAT, 0600);
        int errors = openat(fake.scratch.fd, "err", O_RDWR | O_CREAT, 0600);
        CU_ASSERT_TRUE_FATAL(out >= 0 && errors >= 0);
        if (how == 0) {
            jr_controller_open_console(&fake.controller, out, errors);
            fake.controller.run = &fake.run;
        } else if (how == 1)
            jr_controller_close_input(&fake.controller);
        else
            fake.controller.options.note = NULL;
        turn_to_the_end();
        JR_ASSERT_TEXT(notes, "");
        JR_ASSERT_TEXT(fake_read("out"), how == 0 ? "one\n" : "");
        JR_ASSERT_TEXT(fake_read("err"), how == 0 ? "two\\x1b\n" : "");
        fake.controller.run = NULL;
        leave();
        (void)close(out);
        (void)close(errors);
    }
}

static void expire(void *owner)
{
    struct jr_controller *controller = owner;
    controller->timed_out = true;
}

/* After its time it is killed, which is said. */
TEST(an_srun_that_hangs_is_killed)
{
    char expected[256];
    connect("trap '' TERM; echo ready; exec sleep 1000");
    fake.controller.deadline = (struct jr_timer){.due = expire, .owner = &fake.controller};
    while (notes[0] == '\0')
        jr_controller_turn(&fake.controller);
    notes[0] = '\0';
    int pid = fake.controller.links[0].pid;
    struct jr_timer now = {.at = 1, .due = expire, .owner = &fake.controller};
    jr_loop_timer(&fake.controller.loop, &now);
    leave();
    (void)snprintf(expected, sizeof expected,
                   "[srun (pid %d) did not end within 20s of its input, and was killed: a node or "
                   "its agent hangs; squeue --steps shows whether its step is gone]",
                   pid);
    JR_ASSERT_TEXT(notes, expected);
    CU_ASSERT_EQUAL(WTERMSIG(linked.status), SIGKILL);
}

/* Node 1 speaks for the others, node 2 for itself. */
static int start_liar(struct jr_carrier *ret, const struct jr_controller_options *options,
                      uint32_t node, struct jr_error *err)
{
    static char shell[] = "/bin/sh", option[] = "-c";
    static char lies[] = "echo '{\"n\":0,\"t\":\"ready\",\"at\":5}'; exec cat > /dev/null";
    static char tells[] = "echo '{\"n\":2,\"t\":\"ready\",\"at\":5}'; exec cat > /dev/null";
    static char stays[] = "exec cat > /dev/null";
    char *const argv[] = {shell, option, node == 0 ? stays : node == 1 ? lies : tells, NULL};
    (void)options;
    (void)err;
    return jr_carrier_start(ret, argv, (char *const[]){NULL}, false);
}

/* What a node says of another one is shown, and not believed. */
TEST(a_node_speaks_for_itself)
{
    static const struct jr_transport each = {
        .program = "liar", .each = true, .start = start_liar, .hang_hint = "look"};
    static char n0[] = "n0", n1[] = "n1", n2[] = "n2";
    static char *hosts[] = {n0, n1, n2};
    fake_start();
    jr_link_close(&fake.link);
    notes[0] = '\0';
    fake.controller.transport = &each;
    fake.controller.options.hosts = hosts;
    fake.controller.options.note = take_note;
    fake.controller.bytes = malloc(JR_CONTROLLER_PIECE);
    fake.controller.run = NULL;
    for (uint32_t i = 0; i < FAKE_NODES; i++)
        fake.nodes[i].state = JR_NODE_KNOWN;
    CU_ASSERT_EQUAL_FATAL(jr_controller_connect(&fake.controller, &fake.err), 0);
    while (fake.controller.received_bytes < 2 * sizeof "{'n':0,'t':'ready','at':5}")
        jr_controller_turn(&fake.controller);
    CU_ASSERT_EQUAL(fake.nodes[0].state, JR_NODE_KNOWN);
    CU_ASSERT_EQUAL(fake.nodes[1].state, JR_NODE_KNOWN);
    CU_ASSERT_EQUAL(fake.nodes[2].state, JR_NODE_READY);
    JR_ASSERT_TEXT(notes, "[{\"n\":0,\"t\":\"ready\",\"at\":5}]");
    jr_loop_timer(&fake.controller.loop, &fake.controller.deadline);
    jr_controller_disconnect(&fake.controller);
    free(fake.controller.links);
    free(fake.controller.bytes);
    fake_end();
}

/* A run of three nodes that are ready, with a console of files. */
static int run_nodes(struct jr_outcome *ret, uint32_t attempt)
{
    all_in(JR_NODE_READY);
    fake.options.out_fd = openat(fake.scratch.fd, "out", O_RDWR | O_CREAT, 0600);
    fake.options.err_fd = openat(fake.scratch.fd, "err", O_RDWR | O_CREAT, 0600);
    fake.folder.dir_mode = 0700;
    int result =
        jr_controller_run(&fake.controller, ret, &fake.plan, &fake.options, attempt, &fake.err);
    (void)close(fake.options.out_fd);
    (void)close(fake.options.err_fd);
    return result;
}

/* An agent that was ready, and ended while others were waited for, is awaited no more; what the
 * attempt before has left to show is told of, and who returned in it has not returned now. */
TEST(a_run_begins_without_a_node)
{
    struct jr_outcome outcome = {0};
    connect("exec cat > \"${0%/*}/heard\"");
    fake.nodes[1].loss = strdup("gone");
    fake.nodes[0].behind = fake.nodes[0].returned = fake.nodes[2].returned = true;
    CU_ASSERT_EQUAL_FATAL(run_nodes(&outcome, 2), 0);
    JR_ASSERT_TEXT(outcome.lost_text, "gone");
    CU_ASSERT_EQUAL(outcome.ranks[2].end, JR_END_LOST);
    CU_ASSERT_EQUAL(outcome.ranks[3].end, JR_END_LOST);
    CU_ASSERT_FALSE(fake.nodes[0].behind);
    CU_ASSERT_PTR_NULL(strstr(fake_read("heard"), "release"));
    CU_ASSERT_PTR_NOT_NULL(strstr(fake_read("err"), "had not shown all of attempt 1 when"));
    jr_outcome_release(&outcome);
    leave();
}

/* Signals of the caller: one that is handed on, and one that stops; the mask is as it was before.
 */
TEST(a_run_hands_signals_on)
{
    struct jr_signal_rule rule = {.name = (char[]){"USR2"}, .use = JR_ON_SIGNAL_FORWARD};
    struct jr_outcome outcome = {0};
    sigset_t mask;
    connect("while read -r line; do echo \"$line\" >> \"${0%/*}/heard\"; case $line in\n"
            "*'\"go\"'*) kill -USR2 $PPID;; *'\"signal\": 12'*) kill -TERM $PPID;;\n"
            "*'\"stop\"'*) exit;; esac; done");
    fake.policy.signals = &rule;
    fake.policy.signals_count = 1;
    CU_ASSERT_EQUAL_FATAL(run_nodes(&outcome, 1), 0);
    CU_ASSERT_EQUAL(outcome.stop_signal, SIGTERM);
    const char *first = strstr(fake_read("heard"), "\"signal\": 12");
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    const char *second = strstr(first, "\"signal\": 15");
    CU_ASSERT_PTR_NOT_NULL_FATAL(second);
    CU_ASSERT_PTR_NOT_NULL(strstr(second, "\"stop\""));
    CU_ASSERT_PTR_NULL(strstr(fake_read("heard"), "away")); /* it was no suspension */
    (void)sigprocmask(SIG_BLOCK, NULL, &mask);
    CU_ASSERT_FALSE(sigismember(&mask, SIGTERM));
    jr_outcome_release(&outcome);
    leave();
}
