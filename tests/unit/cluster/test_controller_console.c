/* The console of several nodes: which lines are shown when, when agents are to keep theirs, and how
 * long it is waited for at the end. */
#include "cluster/internal.h"

#include "fake_controller.h"

enum { PIECE = 4096 };

static int out[2], errors; /* standard output is a pipe, standard error a file */

static void start(void)
{
    fake_start();
    jr_loop_timer(&fake.controller.loop, &fake.controller.deadline);
    CU_ASSERT_EQUAL_FATAL(pipe2(out, O_CLOEXEC), 0);
    errors = openat(fake.scratch.fd, "err", O_RDWR | O_CREAT, 0600);
    CU_ASSERT_TRUE_FATAL(errors >= 0);
    jr_controller_open_console(&fake.controller, out[1], errors);
}

static void end(void)
{
    fake_end();
    for (int i = 0; i < 2; i++)
        if (out[i] >= 0)
            (void)close(out[i]);
    (void)close(errors);
}

/* What stands in the pipe. Static. */
static const char *shown(void)
{
    static char text[65536];
    struct pollfd item = {.fd = out[0], .events = POLLIN};
    ssize_t len = poll(&item, 1, 0) == 1 ? read(out[0], text, sizeof text - 1) : 0;
    text[len < 0 ? 0 : len] = '\0';
    return text;
}

static void print(uint32_t node, enum jr_channel channel, const char *text)
{
    put(node, channel, text);
    jr_controller_read_lines(&fake.controller, node, channel);
}

/* Lines of a node, whole, by their streams; other channels are no lines. */
TEST_WITH(start, end, shows_whole_lines)
{
    print(1, JR_CHANNEL_OUT, "one\ntwo");
    JR_ASSERT_TEXT(shown(), "one\n");
    print(1, JR_CHANNEL_EVENT, "event\n");
    print(0, JR_CHANNEL_OUT, "other\n");
    JR_ASSERT_TEXT(shown(), "other\n");
    print(1, JR_CHANNEL_OUT, "\nthree\n\nfo");
    JR_ASSERT_TEXT(shown(), "two\nthree\n\n");
    print(1, JR_CHANNEL_ERR, "error\nrest");
    JR_ASSERT_TEXT(shown(), "");
    JR_ASSERT_TEXT(fake_read("err"), "error\n");
    JR_ASSERT_TEXT(fake.nodes[1].streams[JR_CHANNEL_EVENT].data, "event\n");
    CU_ASSERT_EQUAL(fake.nodes[1].streams[JR_CHANNEL_OUT].len, 2);
    print(1, JR_CHANNEL_OUT, "");
    JR_ASSERT_TEXT(shown(), "");
}

/* Before there is a console nothing is taken, and a second one is none. */
TEST(there_is_one_console)
{
    fake_start();
    print(0, JR_CHANNEL_OUT, "line\n");
    CU_ASSERT_EQUAL(fake.nodes[0].streams[JR_CHANNEL_OUT].len, 5);
    jr_controller_show(&fake.controller, 0, "x\n", 2);
    fake_end();
    start();
    jr_controller_open_console(&fake.controller, -1, -1);
    jr_controller_show(&fake.controller, 0, "x\n", 2);
    JR_ASSERT_TEXT(shown(), "x\n");
    end();
}

/* Show pieces until the agents are told to keep their lines. */
static unsigned fill(void)
{
    static char piece[PIECE];
    unsigned count = 0;
    memset(piece, 'x', sizeof piece - 1);
    piece[PIECE - 1] = '\n';
    for (; !fake.controller.held && count < 10000; count++)
        jr_controller_show(&fake.controller, 0, piece, sizeof piece);
    return count;
}

static void turn(void)
{
    (void)jr_loop_turn(&fake.controller.loop, true);
}

/* Take all that is shown, until nothing waits. */
static size_t drain(void)
{
    static char bytes[65536];
    size_t len = 0;
    while (fake.controller.held || jr_console_writer_is_waiting(&fake.controller.console)) {
        ssize_t some = read(out[0], bytes, sizeof bytes);
        len += some > 0 ? (size_t)some : 0;
        turn();
    }
    return len + strlen(shown());
}

/* A console that is full tells the agents to keep their lines, and one that has room again not to,
 * once each. Nothing is lost. */
TEST_WITH(start, end, a_full_console_holds_the_agents)
{
    for (int i = 0; i < 2; i++) {
        unsigned count = fill();
        CU_ASSERT_TRUE_FATAL(fake.controller.held);
        check_sent("hold");
        jr_controller_show(&fake.controller, 1, "error\n", 6);
        check_sent("");
        CU_ASSERT_EQUAL(drain(), (size_t)count * PIECE);
        check_sent("hold");
        CU_ASSERT_FALSE(fake.controller.held);
    }
}

/* What is done in each turn of the loop, after the deadline was looked at. */
struct step {
    struct jr_timer timer;
    unsigned turns;
    void (*act)(unsigned turn);
};

static struct step step;

static void on_step(void *owner)
{
    (void)owner;
    step.timer.at = 1; /* and in the next one */
    step.act(++step.turns);
}

static bool show_rest(void (*act)(unsigned turn), bool stopped)
{
    sigset_t ignored;
    (void)sigemptyset(&ignored);
    step = (struct step){.timer = {.at = 1, .due = on_step}, .act = act};
    jr_loop_timer(&fake.controller.loop, &step.timer);
    return jr_controller_show_rest(&fake.controller, &fake.policy, &ignored, stopped);
}

static void on_timeout(void *owner)
{
    struct jr_controller *controller = owner;
    controller->timed_out = true;
}

static void start_behind(void)
{
    start();
    fake.controller.deadline = (struct jr_timer){.due = on_timeout, .owner = &fake.controller};
    fake.controller.ended = false; /* srun goes on */
    fake.nodes[2].behind = true;
}

static void end_behind(void)
{
    fake.controller.ended = true;
    end();
}

static void catch_up_late(unsigned turn)
{
    CU_ASSERT_EQUAL(fake.controller.deadline.at, 0);
    if (turn == 3)
        fake.nodes[2].behind = false;
}

/* What a node has still to show is waited for as long as it takes, whatever limit the run before
 * came to, and what comes after that is shown to nobody. */
TEST_WITH(start_behind, end_behind, waits_for_all_that_is_left)
{
    fake.controller.timed_out = true;
    CU_ASSERT_TRUE(show_rest(catch_up_late, false));
    CU_ASSERT_EQUAL(step.turns, 3);
    jr_controller_show(&fake.controller, 0, "late\n", 5);
    JR_ASSERT_TEXT(shown(), "");
}

static void nothing(unsigned turn)
{
    (void)turn;
}

/* Where nothing is left, nothing is waited for, and the console stays open. */
TEST_WITH(start, end, waits_for_nothing)
{
    CU_ASSERT_TRUE(show_rest(nothing, true));
    CU_ASSERT_EQUAL(step.turns, 0);
    jr_controller_show(&fake.controller, 0, "more\n", 5);
    JR_ASSERT_TEXT(shown(), "more\n");
}

static uint64_t before;

static void see_patience(unsigned turn)
{
    struct jr_timer *deadline = &fake.controller.deadline;
    if (turn == 1)
        CU_ASSERT_TRUE(is_after(deadline->at, before, 1000));
    if (turn == 1)
        deadline->at = 1; /* it would be over */
    if (turn == 2)
        CU_ASSERT_TRUE(is_after(deadline->at, before, 1000));
    if (turn == 3)
        fake.nodes[2].behind = false;
}

/* In a run that was stopped a console has a second; one that takes all that there is has another
 * one. */
TEST_WITH(start_behind, end_behind, a_stopped_run_has_patience)
{
    before = jr_clock_ns();
    if (!show_rest(see_patience, true)) /* the machine was that slow */
        CU_ASSERT_TRUE(jr_clock_ns() - before >= 1000 * FAKE_MS);
    CU_ASSERT_EQUAL(fake.controller.deadline.at, 0);
}

static void end_patience(unsigned turn)
{
    if (turn == 1)
        fake.controller.deadline.at = 1;
}

/* One that takes nothing has no other: what it did not take is left. */
TEST_WITH(start_behind, end_behind, leaves_a_console_that_takes_nothing)
{
    (void)fill();
    check_sent("hold");
    CU_ASSERT_FALSE(show_rest(end_patience, true));
    CU_ASSERT_EQUAL(step.turns, 2);
    CU_ASSERT_FALSE(jr_console_writer_is_waiting(&fake.controller.console));
    CU_ASSERT_TRUE(fake.controller.console.failed);
}

static void stop_it(unsigned turn)
{
    if (turn == 1)
        (void)raise(SIGTERM);
    jr_controller_show(&fake.controller, 0, turn == 1 ? "first\n" : "late\n", turn == 1 ? 6 : 5);
}

/* A signal that stops runs ends it: agents keep their lines, and nothing more of them is shown. */
TEST(a_signal_ends_it)
{
    sigset_t set, mask;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &set, &mask);
    start_behind();
    CU_ASSERT_FALSE(show_rest(stop_it, false));
    CU_ASSERT_EQUAL(step.turns, 2);
    check_sent("hold");
    JR_ASSERT_TEXT(shown(), "first\n");
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    end_behind();
}

static void lose_srun(unsigned turn)
{
    (void)turn;
    fake.controller.ended = true;
}

/* Without srun nobody shows the rest: it is not waited for. */
TEST_WITH(start_behind, end_behind, ends_with_srun)
{
    CU_ASSERT_TRUE(show_rest(lose_srun, false));
    CU_ASSERT_EQUAL(step.turns, 1);
}
