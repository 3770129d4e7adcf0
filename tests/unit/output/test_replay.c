/* What a run has left for its console, shown later: to a file, or to a pipe
 * that takes nothing. */
#include "output/replay.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "output/remainder.h"
#include "scratch.h"

#define SECOND_NS UINT64_C(1000000000)

enum { RANKS = 2 };

struct desk {
    struct scratch scratch;
    struct jr_policy policy;
    struct jr_plan_rank ranks[RANKS];
    struct jr_plan plan;
    struct jr_remainder *left;
    struct jr_replay replay;
    int out, err;
};

static void begin(struct desk *desk, int out)
{
    *desk = (struct desk){0};
    scratch_start(&desk->scratch);
    for (uint32_t i = 0; i < RANKS; i++)
        desk->ranks[i] = (struct jr_plan_rank){
            .rank = i,
            .prefix = i == 0 ? "0 " : "1 ",
            .around = {"[", "] "},
            .out_path = i == 0 ? "0.out" : "1.out",
            .err_path = i == 0 ? "0.err" : "1.err"};
    desk->plan = (struct jr_plan){
        .policy = &desk->policy, .ranks = desk->ranks, .count = RANKS};
    desk->left = jr_remainder_new(RANKS);
    CU_ASSERT_PTR_NOT_NULL_FATAL(desk->left);
    CU_ASSERT_EQUAL(desk->left->count, 2 * RANKS + 2);
    desk->out = out >= 0 ? out
                         : openat(desk->scratch.fd, "console",
                                  O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    desk->err = openat(desk->scratch.fd, "errors",
                       O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CU_ASSERT_EQUAL_FATAL(jr_replay_open(&desk->replay, desk->out, desk->err,
                                         desk->scratch.fd, false),
                          0);
}

static void end(struct desk *desk)
{
    jr_replay_close(&desk->replay);
    jr_remainder_free(desk->left);
    (void)close(desk->out);
    (void)close(desk->err);
    scratch_end(&desk->scratch);
}

static const char *content(int fd)
{
    static char text[8192];
    ssize_t len = pread(fd, text, sizeof text - 1, 0);
    text[len > 0 ? len : 0] = '\0';
    return text;
}

/* The stream is in `name`, and shown up to `at`. */
static void leave(struct desk *desk, uint32_t stream, const char *name,
                  const char *text, uint64_t at)
{
    scratch_write(&desk->scratch, name, text);
    desk->left->streams[stream] = (struct jr_shown){
        .file.total = strlen(text), .at = at, .behind = true};
}

static void leave_lines(struct desk *desk, size_t out, size_t err)
{
    static const char lines[] = "out\nerr\n";
    memcpy(desk->left->pending, lines, sizeof lines - 1);
    desk->left->pending_len[0] = out;
    desk->left->pending_len[1] = err;
}

static void finish(struct desk *desk)
{
    jr_replay_finish(&desk->replay, &desk->policy, &(sigset_t){0});
    CU_ASSERT_TRUE(jr_replay_is_done(&desk->replay));
}

static void shows_nothing_of_nothing(void)
{
    struct desk desk;
    begin(&desk, -1);
    jr_replay_add(&desk.replay, &desk.plan, desk.left);
    CU_ASSERT_TRUE(jr_replay_is_done(&desk.replay));
    finish(&desk);
    JR_ASSERT_TEXT(content(desk.out), "");
    JR_ASSERT_TEXT(content(desk.err), "");
    end(&desk);
}

/* Lines that were on their way first, then the streams; then what jobrun says,
 * and the next attempt. */
static void shows_attempt_after_attempt(void)
{
    struct desk desk;
    begin(&desk, -1);
    leave_lines(&desk, 4, 4);
    leave(&desk, 0, "0.out", "seen\nnext\nlast", 5);
    leave(&desk, 3, "1.err", "wrong\n", 0);
    leave(&desk, 2 * RANKS, "setup.log", "", 0);
    jr_replay_add(&desk.replay, &desk.plan, desk.left);
    CU_ASSERT_FALSE(jr_replay_is_done(&desk.replay));
    CU_ASSERT_TRUE(jr_replay_print(&desk.replay, "done\n", 5));
    memset(desk.left->streams, 0, 6 * sizeof *desk.left->streams);
    leave_lines(&desk, 0, 0);
    leave(&desk, 2, "1.out", "again\n", 0);
    jr_replay_add(&desk.replay, &desk.plan, desk.left);
    desk.ranks[1].prefix = "gone "; /* of which there is a copy */
    finish(&desk);
    JR_ASSERT_TEXT(content(desk.out), "out\n0 next\n0 last\n1 again\n");
    JR_ASSERT_TEXT(content(desk.err), "err\n1 wrong\ndone\n");
    CU_ASSERT_FALSE(desk.replay.cut);
    CU_ASSERT_FALSE(desk.replay.ended);
    end(&desk);
}

/* Lines of one output alone are shown, too. */
static void shows_what_only_one_output_left(void)
{
    for (int number = 0; number < 2; number++) {
        struct desk desk;
        begin(&desk, -1);
        leave_lines(&desk, number == 0 ? 4 : 0, number == 1 ? 4 : 0);
        jr_replay_add(&desk.replay, &desk.plan, desk.left);
        finish(&desk);
        JR_ASSERT_TEXT(content(desk.out), number == 0 ? "out\n" : "");
        JR_ASSERT_TEXT(content(desk.err), number == 1 ? "out\n" : "");
        end(&desk);
    }
}

/* As the run's own console would have: hidden lines, and the rest of one whose
 * beginning was. */
static void shows_it_as_the_console_does(void)
{
    struct desk desk;
    begin(&desk, -1);
    desk.policy.console.hide = (char[]){"secret"};
    leave(&desk, 0, "0.out", "secret\nof it\nseen\n", 7);
    desk.left->streams[0].begun = JR_BEGUN_HIDDEN;
    leave(&desk, 2, "1.out", "secret\nplain\n", 0);
    jr_replay_add(&desk.replay, &desk.plan, desk.left);
    desk.policy.console.hide = NULL;
    finish(&desk);
    JR_ASSERT_TEXT(content(desk.out), "0 seen\n1 plain\n");
    end(&desk);
    begin(&desk, -1);
    desk.policy.console.collapse = true;
    leave(&desk, 0, "0.out", "same\nown\n", 0);
    leave(&desk, 2, "1.out", "same\n", 0);
    jr_replay_add(&desk.replay, &desk.plan, desk.left);
    finish(&desk);
    JR_ASSERT_TEXT(content(desk.out), "[0-1] same\n0 own\n");
    end(&desk);
    begin(&desk, -1);
    desk.policy.console.timestamps = true;
    leave(&desk, 0, "0.out", "a\nb\n", 0);
    desk.left->times[0].count = 2;
    desk.left->times[0].items[0] =
        (struct jr_time){2, UINT64_C(1700000000123000000)};
    desk.left->times[0].items[1] =
        (struct jr_time){4, UINT64_C(1700000001000000000)};
    jr_replay_add(&desk.replay, &desk.plan, desk.left);
    finish(&desk);
    JR_ASSERT_TEXT(content(desk.out), "2023-11-14T22:13:20.123Z 0 a\n"
                                      "2023-11-14T22:13:21.000Z 0 b\n");
    end(&desk);
}

/* Lines of 1000 bytes. */
static void write_wide(const struct desk *desk, const char *name, int lines)
{
    char line[1000];
    int fd = openat(desk->scratch.fd, name, O_WRONLY | O_CREAT, 0600);
    memset(line, 'w', sizeof line);
    line[sizeof line - 1] = '\n';
    for (int i = 0; i < lines; i++)
        CU_ASSERT_EQUAL(write(fd, line, sizeof line), sizeof line);
    (void)close(fd);
}

/* All that the pipe has, while the replay goes on. */
static size_t drain(struct desk *desk, int from)
{
    static char bytes[65536];
    size_t got = 0;
    (void)fcntl(from, F_SETFL, O_NONBLOCK);
    for (int idle = 0; idle < 3; idle++) {
        ssize_t len = read(from, bytes, sizeof bytes);
        got += len > 0 ? (size_t)len : 0;
        idle = len > 0 ? -1 : idle;
        jr_replay_turn(&desk->replay);
    }
    return got;
}

static void begin_slow(struct desk *desk, int ends[2])
{
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    begin(desk, ends[1]);
    write_wide(desk, "0.out", 5000);
    desk->left->streams[0] =
        (struct jr_shown){.file.total = 5000000, .behind = true};
    jr_replay_add(&desk->replay, &desk->plan, desk->left);
    jr_replay_turn(&desk->replay);
    CU_ASSERT_FALSE(jr_replay_is_done(&desk->replay));
}

static void waits_for_a_console_that_is_slow(void)
{
    struct desk desk;
    int ends[2];
    begin_slow(&desk, ends);
    size_t held = desk.replay.screen.outputs[0].backlog.len;
    CU_ASSERT_TRUE(held > 0 && held < 4 << 20);
    CU_ASSERT_EQUAL(drain(&desk, ends[0]), 5000 * 1002);
    CU_ASSERT_TRUE(jr_replay_is_done(&desk.replay));
    CU_ASSERT_FALSE(desk.replay.screen.failed);
    (void)close(ends[0]);
    end(&desk);
}

/* Whoever stopped the run waits a second for a console that takes nothing, and
 * is told that there was more. */
static void leaves_a_console_that_takes_nothing(void)
{
    struct desk desk;
    int ends[2];
    begin_slow(&desk, ends);
    CU_ASSERT_TRUE(jr_replay_print(&desk.replay, "done\n", 5));
    jr_replay_hurry(&desk.replay);
    uint64_t before = jr_clock_ns();
    finish(&desk);
    CU_ASSERT_TRUE(jr_clock_ns() - before >= SECOND_NS / 2);
    CU_ASSERT_TRUE(desk.replay.cut);
    CU_ASSERT_TRUE(desk.replay.ended);
    CU_ASSERT_TRUE(desk.replay.screen.failed);
    (void)close(ends[0]);
    end(&desk);
}

/* A signal ends the files, and what jobrun says is still shown. */
static void is_ended_by_a_signal(void)
{
    struct desk desk;
    int ends[2];
    sigset_t set, before;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &set, &before);
    begin_slow(&desk, ends);
    CU_ASSERT_TRUE(jr_replay_print(&desk.replay, "told\n", 5));
    (void)raise(SIGTERM);
    pid_t pid = fork();
    if (pid == 0) { /* who reads, once the signal is there */
        static char bytes[65536];
        while (read(ends[0], bytes, sizeof bytes) > 0)
            continue;
        _exit(0);
    }
    finish(&desk);
    CU_ASSERT_TRUE(desk.replay.cut);
    JR_ASSERT_TEXT(content(desk.err), "told\n");
    (void)close(ends[0]);
    end(&desk);
    (void)kill(pid, SIGKILL); /* it holds the other end, too */
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* The runner's remainder: whole lines, as far as there is room. */
static void keeps_whole_lines(void)
{
    static char line[65537];
    struct jr_loop loop;
    struct jr_console_writer screen;
    struct jr_remainder *left = jr_remainder_new(1);
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&screen, &loop, ends[1], -1);
    memset(line, 'x', 65535);
    line[65535] = '\n';
    for (int i = 0; i < 80; i++)
        jr_console_writer_write(&screen, 0, line, 65536);
    jr_remainder_keep(left, &screen);
    CU_ASSERT_TRUE(left->pending_len[0] > 1 << 20);
    CU_ASSERT_EQUAL(left->pending[left->pending_len[0] - 1], '\n');
    CU_ASSERT_EQUAL(left->pending_len[1], 0);
    jr_console_writer_close(&screen);
    (void)close(loop.epoll_fd);
    (void)close(ends[0]);
    (void)close(ends[1]);
    jr_remainder_free(left);
    jr_remainder_free(NULL);
}

JR_UNIT_MAIN("replay", CASE(shows_nothing_of_nothing),
             CASE(shows_attempt_after_attempt),
             CASE(shows_what_only_one_output_left),
             CASE(shows_it_as_the_console_does),
             CASE(waits_for_a_console_that_is_slow),
             CASE(leaves_a_console_that_takes_nothing),
             CASE(is_ended_by_a_signal), CASE(keeps_whole_lines))
