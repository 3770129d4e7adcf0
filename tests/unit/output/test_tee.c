/* Streams of two ranks, which the test writes, through the tee into files and to a console that is
 * a pipe. */
#include "output/tee.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "output/catch_up.h"
#include "scratch.h"
#include "store/run_folder.h"

enum { RANKS = 2 };

struct desk {
    struct scratch scratch;
    struct jr_loop loop;
    struct jr_console_writer console;
    struct jr_events events;
    struct jr_policy policy;
    struct jr_plan_rank ranks[RANKS + 1];
    struct jr_plan plan;
    struct jr_run_folder dir;
    struct jr_run_options options;
    struct jr_rank_outcome outcomes[RANKS + 1];
    struct jr_remainder *remainder;
    struct jr_tee tee;
    int out[2];             /* the console; -1: closed */
    int ends[RANKS + 1][2]; /* what the ranks and the setup write to; -1 */
};

static void begin(struct desk *desk)
{
    *desk = (struct desk){.ends = {{-1, -1}, {-1, -1}, {-1, -1}}};
    scratch_start(&desk->scratch);
    CU_ASSERT_EQUAL_FATAL(dup2(desk->scratch.fd, JR_SLOT_DIR), JR_SLOT_DIR);
    CU_ASSERT_EQUAL_FATAL(pipe2(desk->out, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&desk->loop), 0);
    jr_console_writer_open(&desk->console, &desk->loop, desk->out[1], -1);
    jr_events_open(&desk->events, desk->scratch.fd, 0600);
    desk->dir.file_mode = 0600;
    desk->options =
        (struct jr_run_options){.dir = &desk->dir, .out_fd = desk->out[1], .err_fd = -1};
    for (uint32_t i = 0; i < RANKS; i++)
        desk->ranks[i] = (struct jr_plan_rank){.rank = i,
                                               .prefix = i == 0 ? "0 " : "1 ",
                                               .on_console = true,
                                               .out = JR_SINK_FILE | JR_SINK_CONSOLE,
                                               .err = JR_SINK_FILE};
    desk->ranks[RANKS] = (struct jr_plan_rank){
        .prefix = "setup ", .on_console = true, .out = JR_SINK_CONSOLE, .err = JR_SINK_CONSOLE};
    desk->plan = (struct jr_plan){.policy = &desk->policy, .ranks = desk->ranks, .count = RANKS};
    desk->remainder = jr_remainder_new(RANKS);
    const struct jr_tee_setup setup = {.loop = &desk->loop,
                                       .console = &desk->console,
                                       .events = &desk->events,
                                       .plan = &desk->plan,
                                       .options = &desk->options,
                                       .files = 4,
                                       .remainder = desk->remainder};
    CU_ASSERT_EQUAL_FATAL(jr_tee_open(&desk->tee, &setup), 0);
}

static void end(struct desk *desk)
{
    jr_tee_close(&desk->tee);
    jr_console_writer_close(&desk->console);
    jr_events_close(&desk->events);
    jr_remainder_free(desk->remainder);
    for (int i = 0; i <= RANKS; i++)
        for (int k = 0; k < 2; k++)
            if (desk->ends[i][k] >= 0)
                (void)close(desk->ends[i][k]);
    (void)close(desk->out[0]);
    (void)close(desk->out[1]);
    (void)close(desk->loop.epoll_fd);
    (void)close(JR_SLOT_DIR);
    scratch_end(&desk->scratch);
}

/* For the rest of the block. */
#define DESK(name)                                                                                 \
    struct desk name RELEASE(end);                                                                 \
    begin(&name)

/* Begin a stream of a rank, with a file at `path` where that is not NULL. */
static void add_stream(struct desk *desk, uint32_t i, int number, const char *path)
{
    struct jr_started started = JR_STARTED_NONE;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    desk->ends[i][number] = ends[1];
    started.pipes[number] = ends[0];
    if (path != NULL) {
        *(number == 0 ? &desk->ranks[i].out_path : &desk->ranks[i].err_path) = path;
        started.kept[number] = true;
    }
    CU_ASSERT_EQUAL(jr_tee_add(&desk->tee, i, &started, &desk->ranks[i], &desk->outcomes[i]), 0);
}

static void put(struct desk *desk, uint32_t i, int number, const char *text)
{
    CU_ASSERT_EQUAL(write(desk->ends[i][number], text, strlen(text)), (ssize_t)strlen(text));
}

static void end_stream(struct desk *desk, uint32_t i, int number)
{
    (void)close(desk->ends[i][number]);
    desk->ends[i][number] = -1;
}

/* Turn the loop while anything is ready. */
static void turn(struct desk *desk)
{
    while (jr_loop_turn(&desk->loop, true) > 0)
        continue;
}

/* A file of the folder. Static. */
static const char *content(const struct desk *desk, const char *name)
{
    static char text[8192];
    int fd = openat(desk->scratch.fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    if (fd >= 0)
        (void)close(fd);
    return text;
}

/* What the console was sent since the last call. Static. */
static const char *shown(const struct desk *desk)
{
    static char text[8192];
    (void)fcntl(desk->out[0], F_SETFL, O_NONBLOCK);
    ssize_t len = read(desk->out[0], text, sizeof text - 1);
    text[len > 0 ? len : 0] = '\0';
    return text;
}

static unsigned count_events(struct desk *desk, const char *name)
{
    unsigned count = 0;
    jr_events_flush(&desk->events);
    for (const char *at = content(desk, "events.jsonl"); (at = strstr(at, name)) != NULL;
         at += strlen(name))
        count++;
    return count;
}

TEST(writes_files_and_shows_lines)
{
    uint64_t before = jr_clock_ns();
    DESK(desk);
    add_stream(&desk, 0, 0, "0.out");
    add_stream(&desk, 0, 1, "0.err");
    add_stream(&desk, 1, 0, "1.out");
    put(&desk, 0, 0, "one\ntw");
    put(&desk, 0, 1, "err\n");
    turn(&desk);
    JR_ASSERT_TEXT(content(&desk, "0.out"), "one\ntw");
    JR_ASSERT_TEXT(content(&desk, "0.err"), "err\n");
    JR_ASSERT_TEXT(shown(&desk), "0 one\n");
    CU_ASSERT_TRUE(desk.outcomes[0].heard_ns >= before && desk.outcomes[1].heard_ns == 0);
    CU_ASSERT_EQUAL(count_events(&desk, "first_output"), 2);
    put(&desk, 0, 0, "o\n");
    put(&desk, 1, 0, "last");
    turn(&desk);
    JR_ASSERT_TEXT(shown(&desk), "0 two\n");
    CU_ASSERT_EQUAL(count_events(&desk, "first_output"), 3);
    CU_ASSERT_EQUAL(count_events(&desk, "\"rank\":1,\"stream\":1"), 1);
    CU_ASSERT_TRUE(count_events(&desk, "\"rank\":0,\"stream\":2") == 1 && desk.tee.open == 3);
    CU_ASSERT_EQUAL(desk.tee.files.open, 3);
    end_stream(&desk, 1, 0);
    turn(&desk);
    CU_ASSERT_TRUE(desk.tee.open == 2 && desk.tee.files.open == 2);
    JR_ASSERT_TEXT(shown(&desk), "1 last\n");
    JR_ASSERT_TEXT(content(&desk, "1.out"), "last");
}

/* Bytes that wait in the pipe are counted, and can be fetched. */
TEST(counts_and_pulls)
{
    DESK(desk);
    add_stream(&desk, 0, 0, "0.out");
    add_stream(&desk, 1, 1, "1.err");
    CU_ASSERT_EQUAL(jr_tee_bytes(&desk.tee, 0, 0), 0);
    put(&desk, 0, 0, "12345\n");
    put(&desk, 1, 1, "123\n");
    CU_ASSERT_TRUE(jr_tee_bytes(&desk.tee, 0, 0) == 6 && jr_tee_bytes(&desk.tee, 0, 1) == 0);
    CU_ASSERT_EQUAL(jr_tee_bytes(&desk.tee, 1, 1), 4);
    jr_tee_pull(&desk.tee, 0, 0);
    jr_tee_pull(&desk.tee, 0, 1); /* which is none of ours */
    JR_ASSERT_TEXT(content(&desk, "0.out"), "12345\n");
    JR_ASSERT_TEXT(content(&desk, "1.err"), "");
    put(&desk, 0, 0, "6\n");
    CU_ASSERT_EQUAL(jr_tee_bytes(&desk.tee, 0, 0), 8);
    jr_tee_pull(&desk.tee, 1, 1);
    JR_ASSERT_TEXT(content(&desk, "1.err"), "123\n");
    end_stream(&desk, 0, 0);
    turn(&desk);
    CU_ASSERT_EQUAL(jr_tee_bytes(&desk.tee, 0, 0), 8); /* it has ended */
    jr_tee_pull(&desk.tee, 0, 0);
}

/* A rank that was not started has no stream, not even standard input. */
TEST(leaves_other_descriptors_alone)
{
    struct desk desk;
    int own = fcntl(0, F_DUPFD_CLOEXEC, 100), ends[2];
    char bytes[8];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL_FATAL(dup2(ends[0], 0), 0);
    CU_ASSERT_EQUAL(write(ends[1], "12345", 5), 5);
    begin(&desk);
    add_stream(&desk, 1, 0, "1.out");
    for (uint32_t i = 0; i <= RANKS; i++) {
        CU_ASSERT_TRUE(jr_tee_bytes(&desk.tee, i, 0) == 0 && jr_tee_bytes(&desk.tee, i, 1) == 0);
    }
    jr_tee_drain(&desk.tee);
    CU_ASSERT_EQUAL(read(0, bytes, sizeof bytes), 5);
    end(&desk);
    (void)close(ends[0]);
    (void)close(ends[1]);
    if (own >= 0)
        CU_ASSERT_EQUAL(dup2(own, 0), 0);
    (void)close(own >= 0 ? own : 0);
}

/* A file that cannot be written, because somebody has put another one in its place, costs the file,
 * and nothing else. */
TEST(tells_of_a_file_that_failed)
{
    DESK(desk);
    CU_ASSERT_EQUAL(mkdirat(desk.scratch.fd, "taken", 0700), 0);
    add_stream(&desk, 1, 0, "taken");
    put(&desk, 1, 0, "a\n");
    turn(&desk);
    CU_ASSERT_EQUAL(desk.outcomes[1].log_errno, EISDIR);
    JR_ASSERT_TEXT(shown(&desk), "1 a\n");
    CU_ASSERT_EQUAL(count_events(&desk, "\"log_failed\""), 1);
    CU_ASSERT_EQUAL(count_events(&desk, "\"rank\":1,\"stream\":1"), 2);
    put(&desk, 1, 0, "b\n");
    turn(&desk);
    JR_ASSERT_TEXT(shown(&desk), "1 b\n");
    CU_ASSERT_EQUAL(count_events(&desk, "\"log_failed\""), 1);
}

/* A rank that is silent has no file for a while, and none at all where it ends before that; one
 * that runs longer has its files, and keeps them. */
TEST(makes_the_files_of_silent_streams_late)
{
    DESK(desk);
    add_stream(&desk, 0, 0, "0.out");
    add_stream(&desk, 1, 0, "1.out");
    add_stream(&desk, 1, 1, "1.err");
    end_stream(&desk, 0, 0);
    turn(&desk);
    CU_ASSERT_TRUE(desk.tee.logs.at > jr_clock_ns());
    CU_ASSERT_EQUAL(faccessat(desk.scratch.fd, "1.out", F_OK, 0), -1);
    desk.tee.logs.at = 1; /* as if the time had come for another one */
    turn(&desk);
    CU_ASSERT_TRUE(desk.tee.logs.at > jr_clock_ns());
    CU_ASSERT_EQUAL(faccessat(desk.scratch.fd, "1.out", F_OK, 0), -1);
    for (uint32_t i = 0; i < desk.tee.stream_count; i++)
        desk.tee.streams[i].began_ns = 0;
    desk.tee.logs.at = 1;
    turn(&desk);
    CU_ASSERT_EQUAL(desk.tee.logs.at, 0); /* nothing wakes it again */
    CU_ASSERT_EQUAL(faccessat(desk.scratch.fd, "0.out", F_OK, 0), -1);
    CU_ASSERT_EQUAL(faccessat(desk.scratch.fd, "1.out", F_OK, 0), 0);
    CU_ASSERT_EQUAL(faccessat(desk.scratch.fd, "1.err", F_OK, 0), 0);
    put(&desk, 1, 0, "a\n");
    turn(&desk);
    JR_ASSERT_TEXT(content(&desk, "1.out"), "a\n");
    CU_ASSERT_EQUAL(desk.outcomes[1].log_errno, 0);
}

TEST(keeps_to_the_limit_of_a_file)
{
    static char limit[] = "64K", line[1025];
    DESK(desk);
    desk.policy.log_limit = limit;
    desk.tee.limit = 64 << 10;
    desk.ranks[0].limited = true;
    desk.ranks[0].out = JR_SINK_FILE;
    desk.ranks[1].out = JR_SINK_FILE;
    add_stream(&desk, 0, 0, "0.out");
    add_stream(&desk, 1, 0, "1.out");
    memset(line, 'x', 1023);
    line[1023] = '\n';
    for (int i = 0; i < 200; i++) {
        put(&desk, 0, 0, line);
        put(&desk, 1, 0, line);
        turn(&desk);
    }
    CU_ASSERT_EQUAL(desk.tee.streams[0].file.limit, 64 << 10);
    CU_ASSERT_TRUE(desk.tee.streams[2].file.limit == 0 && desk.outcomes[0].dropped[0] > 64 << 10);
    CU_ASSERT_EQUAL(desk.outcomes[0].dropped[1], 0);
    CU_ASSERT_EQUAL(desk.outcomes[1].dropped[0], 0); /* it has no limit */
    struct stat st;
    CU_ASSERT_EQUAL(fstatat(desk.scratch.fd, "0.out", &st, 0), 0);
    CU_ASSERT_TRUE(st.st_size <= 80 << 10);
    CU_ASSERT_EQUAL(fstatat(desk.scratch.fd, "1.out", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_size, 200 << 10);
    JR_ASSERT_TEXT(shown(&desk), "");
}

/* `count` lines of 1000 bytes, as far as the pipe takes them; how many. */
static unsigned pour(struct desk *desk, uint32_t i, unsigned count)
{
    static char line[1001];
    unsigned done = 0;
    memset(line, 'p', 999);
    line[999] = '\n';
    (void)fcntl(desk->ends[i][0], F_SETFL, O_NONBLOCK);
    while (done < count && write(desk->ends[i][0], line, 1000) == 1000) {
        done++;
        if (done % 32 == 0)
            turn(desk);
    }
    turn(desk);
    return done;
}

/* All that the console is sent, while the loop turns. */
static size_t drain_console(struct desk *desk)
{
    static char bytes[65536];
    size_t got = 0;
    ssize_t len;
    (void)fcntl(desk->out[0], F_SETFL, O_NONBLOCK);
    do {
        turn(desk);
        while ((len = read(desk->out[0], bytes, sizeof bytes)) > 0)
            got += (size_t)len;
        turn(desk);
        len = read(desk->out[0], bytes, sizeof bytes);
        got += len > 0 ? (size_t)len : 0;
    } while (len > 0);
    return got;
}

/* Without a file a rank waits for the console; what it wrote comes later. */
TEST(holds_a_rank_that_has_no_file)
{
    DESK(desk);
    desk.ranks[0].out = JR_SINK_CONSOLE;
    add_stream(&desk, 0, 0, NULL);
    unsigned lines = pour(&desk, 0, 5000);
    CU_ASSERT_TRUE(lines > 1000 && lines < 3000);
    CU_ASSERT_TRUE(jr_output_is_full(&desk.console.outputs[0]));
    CU_ASSERT_TRUE(desk.tee.streams[0].follower.feed->held);
    uint64_t waiting = jr_tee_bytes(&desk.tee, 0, 0);
    CU_ASSERT_EQUAL(waiting, lines * 1000);
    jr_tee_pull(&desk.tee, 0, 0); /* neither does this take any */
    CU_ASSERT_TRUE(jr_tee_bytes(&desk.tee, 0, 0) == waiting && desk.tee.streams[0].total < waiting);
    CU_ASSERT_TRUE(drain_console(&desk) == lines * 1002 && desk.tee.streams[0].total == waiting);
    CU_ASSERT_TRUE(!desk.tee.streams[0].follower.feed->held && pour(&desk, 0, 1) == 1);
    CU_ASSERT_EQUAL(drain_console(&desk), 1002);
}

/* With a file it goes on, and the console catches up from there, to the end of a line that has
 * none. */
TEST(lets_a_rank_with_a_file_go_on)
{
    DESK(desk);
    add_stream(&desk, 0, 0, "0.out");
    CU_ASSERT_TRUE(pour(&desk, 0, 5000) == 5000 && desk.tee.streams[0].follower.shown.behind);
    struct stat st;
    CU_ASSERT_EQUAL(fstatat(desk.scratch.fd, "0.out", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_size, 5000000);
    CU_ASSERT_EQUAL(drain_console(&desk), 5000 * 1002);
    CU_ASSERT_TRUE(!desk.tee.streams[0].follower.shown.behind && pour(&desk, 0, 3000) == 3000);
    CU_ASSERT_TRUE(desk.tee.streams[0].follower.shown.behind);
    put(&desk, 0, 0, "last");
    end_stream(&desk, 0, 0);
    turn(&desk);
    CU_ASSERT_TRUE(desk.tee.open == 0 && drain_console(&desk) == 3000 * 1002 + strlen("0 last\n"));
}

/* Two streams in one file: what one's console lacks cannot be read from it. */
TEST(tells_what_a_shared_file_cannot_give)
{
    static const char note[] = "0 [jobrun: ";
    static char text[3 << 20];
    size_t got = 0;
    ssize_t len;
    DESK(desk);
    desk.ranks[0].err_path = "0.both";
    add_stream(&desk, 0, 0, "0.both");
    CU_ASSERT_EQUAL(pour(&desk, 0, 3000), 3000);
    (void)fcntl(desk.out[0], F_SETFL, O_NONBLOCK);
    while ((len = read(desk.out[0], text + got, sizeof text - 1 - got)) > 0) {
        got += (size_t)len;
        turn(&desk);
    }
    text[got] = '\0';
    const char *lost = strstr(text, note);
    CU_ASSERT_PTR_NOT_NULL_FATAL(lost);
    size_t lines = (size_t)(lost - text) / 1002;
    CU_ASSERT_TRUE(lines > 1000 && lines < 2500);
    CU_ASSERT_EQUAL(strtoul(lost + strlen(note), NULL, 10), 3000000 - 1000 * lines);
    struct stat st;
    CU_ASSERT_EQUAL(fstatat(desk.scratch.fd, "0.both", &st, 0), 0);
    CU_ASSERT_EQUAL(st.st_size, 3000000);
}

/* At the end: all that is in the pipes is taken, whoever still holds them, and what the console has
 * not shown is left for later. */
TEST(leaves_what_was_not_shown)
{
    DESK(desk);
    add_stream(&desk, 0, 0, "0.out");
    add_stream(&desk, 1, 0, "1.out");
    CU_ASSERT_EQUAL(pour(&desk, 1, 3000), 3000);
    put(&desk, 0, 0, "rest");
    jr_tee_drain(&desk.tee);
    JR_ASSERT_TEXT(content(&desk, "0.out"), "rest");
    CU_ASSERT_EQUAL(desk.remainder->times[2].count, 0); /* without timestamps nobody asks */
    const struct jr_shown *left = &desk.remainder->streams[2];
    CU_ASSERT_TRUE(left->behind && left->file.total == 3000000);
    CU_ASSERT_TRUE(left->at > 1 << 20 && left->at < 3000000 && left->at % 1000 == 0);
    CU_ASSERT_TRUE(desk.remainder->pending_len[0] > 0 && desk.remainder->pending_len[1] == 0);
    CU_ASSERT_EQUAL(desk.tee.open, 0);
}

/* Closed as it is: nothing is read any more, and no end is left open. */
TEST(closes_all_streams)
{
    DESK(desk);
    for (uint32_t i = 0; i <= RANKS; i++)
        for (int number = 0; number < 2; number++)
            add_stream(&desk, i, number, NULL);
    CU_ASSERT_EQUAL(desk.tee.open, 2 * RANKS + 2);
    jr_tee_close(&desk.tee);
    CU_ASSERT_EQUAL(desk.tee.open, 0);
    for (uint32_t i = 0; i <= RANKS; i++)
        for (int number = 0; number < 2; number++) {
            CU_ASSERT_EQUAL(write(desk.ends[i][number], "x", 1), -1);
            CU_ASSERT_EQUAL(errno, EPIPE);
        }
}

/* A line that has no end, of a rank whose descendants still hold the pipe. */
TEST(leaves_an_unfinished_line)
{
    DESK(desk);
    add_stream(&desk, 0, 0, "0.out");
    add_stream(&desk, RANKS, 1, NULL);
    desk.console.gated = true;
    put(&desk, 0, 0, "one\nrest");
    put(&desk, RANKS, 1, "setup");
    jr_tee_drain(&desk.tee);
    JR_ASSERT_TEXT(shown(&desk), "");
    CU_ASSERT_EQUAL(desk.remainder->pending_len[0], 13);
    CU_ASSERT_EQUAL(desk.remainder->pending_len[1], 0); /* it has no reader */
    JR_ASSERT_TEXT(desk.remainder->pending, "0 one\n0 rest\n");
}

/* Files hold `bytes` from here on, as on a disk that is full by then. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* What the console gets after the run, with what it had not been read of before; returns how
 * much. */
static size_t show_all_that_is_left(struct desk *desk, char *ret, size_t size)
{
    struct jr_replay replay;
    ssize_t len;
    size_t got = 0;
    /* The console is read at once, and no pipe has room for all. */
    int file = openat(desk->scratch.fd, "replayed", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    limit_files(RLIM_INFINITY);
    (void)fcntl(desk->out[0], F_SETFL, O_NONBLOCK);
    while ((len = read(desk->out[0], ret + got, size - 1 - got)) > 0)
        got += (size_t)len;
    CU_ASSERT_EQUAL_FATAL(jr_replay_open(&replay, file, -1, desk->scratch.fd, false), 0);
    jr_replay_add(&replay, &desk->plan, desk->remainder);
    jr_replay_finish(&replay, &desk->policy, &(sigset_t){0});
    CU_ASSERT_TRUE(jr_replay_is_done(&replay));
    jr_replay_close(&replay);
    (void)lseek(file, 0, SEEK_SET);
    while ((len = read(file, ret + got, size - 1 - got)) > 0)
        got += (size_t)len;
    ret[got] = '\0';
    (void)close(file);
    return got;
}

/* Lines of 1000 bytes, which come in pieces of 22400. */
static void pour_pieces(struct desk *desk, uint32_t i, size_t len)
{
    static char piece[22400];
    for (size_t at = 0; at < len; at += sizeof piece) {
        for (size_t k = 0; k < sizeof piece; k++)
            piece[k] = (at + k) % 1000 == 999 ? '\n' : 'p';
        CU_ASSERT_EQUAL(write(desk->ends[i][0], piece, sizeof piece), sizeof piece);
        turn(desk);
    }
}

/* What was read of a line whose end comes later is read again. */
TEST(leaves_the_beginning_of_a_line)
{
    static char bytes[65536];
    size_t got = 0;
    ssize_t len;
    DESK(desk);
    add_stream(&desk, 0, 0, "0.out");
    pour_pieces(&desk, 0, 3000000);
    const struct jr_shown *now = &desk.tee.streams[0].follower.shown;
    (void)fcntl(desk.out[0], F_SETFL, O_NONBLOCK);
    while (now->behind && now->at % 1000 == 0) {
        len = read(desk.out[0], bytes, sizeof bytes);
        got += len > 0 ? (size_t)len : 0;
        turn(&desk);
    }
    CU_ASSERT_TRUE(now->behind);
    jr_tee_drain(&desk.tee);
    CU_ASSERT_EQUAL(desk.remainder->streams[0].at % 1000, 0);
    while ((len = read(desk.out[0], bytes, sizeof bytes)) > 0)
        got += (size_t)len;
    CU_ASSERT_EQUAL(got + desk.remainder->pending_len[0],
                    desk.remainder->streams[0].at / 1000 * 1002);
}

/* Neither does a rank without a file wait for the console any more. */
TEST(drains_a_rank_that_waited)
{
    DESK(desk);
    desk.ranks[0].out = JR_SINK_CONSOLE;
    add_stream(&desk, 0, 0, NULL);
    unsigned lines = pour(&desk, 0, 5000);
    CU_ASSERT_PTR_NOT_NULL(desk.tee.paused);
    jr_tee_drain(&desk.tee);
    CU_ASSERT_TRUE(desk.tee.paused == NULL && desk.outcomes[0].log_errno == 0);
    CU_ASSERT_TRUE(desk.remainder->pending_len[0] > 1 << 20 && desk.remainder->streams[0].tail > 0);
    static char text[6 << 20];
    CU_ASSERT_EQUAL(show_all_that_is_left(&desk, text, sizeof text), lines * 1002);
}

/* Numbered lines of 100 bytes of rank `i`, from `*next` on and up to `most`, as far as its pipe
 * takes them. */
static void number(struct desk *desk, uint32_t i, unsigned *next, unsigned most)
{
    char line[128];
    (void)fcntl(desk->ends[i][0], F_SETFL, O_NONBLOCK);
    for (; *next < most; ++*next) {
        (void)snprintf(line, sizeof line, "%09u %089u\n", *next, i);
        if (write(desk->ends[i][0], line, 100) != 100)
            break;
        if (*next % 64 == 0)
            turn(desk);
    }
    turn(desk);
}

/* Each rank has all of its lines there, in their order, and nothing else is. */
static void check_numbered(const char *text, const unsigned lines[RANKS])
{
    unsigned seen[RANKS] = {0};
    for (const char *at = text; *at != '\0'; at += 102) {
        unsigned i = (unsigned)(at[0] - '0');
        CU_ASSERT_TRUE_FATAL(strnlen(at, 102) == 102 && i < RANKS && at[1] == ' ' &&
                             at[101] == '\n');
        CU_ASSERT_EQUAL_FATAL(strtoul(at + 2, NULL, 10), seen[i]);
        seen[i]++;
    }
    for (unsigned i = 0; i < RANKS; i++)
        CU_ASSERT_EQUAL(seen[i], lines[i]);
}

/* The ways in which a disk becomes full while the console is not read: the console had fallen
 * behind by then, or falls behind later; a file with a limit; one that two streams share; no file
 * at all. */
static const struct {
    rlim_t bytes; /* 0: there is no file */
    bool limited, shared;
    unsigned held; /* at least so many lines are written by then */
} fillings[] = {{2500050, false, false, 25000}, {300050, false, false, 10000},
                {1, false, false, 10000},       {60050, true, false, 10000},
                {300050, false, true, 10000},   {0, false, false, 10000}};

/* Two ranks write until they are held, and nobody reads. */
static void fill(struct desk *desk, size_t how, unsigned lines[RANKS])
{
    static const char *const names[] = {"0.out", "1.out"};
    static char limit[] = "64K";
    begin(desk);
    if (fillings[how].limited) {
        desk->policy.log_limit = limit;
        desk->tee.limit = 64 << 10;
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        bool file = fillings[how].bytes > 0;
        desk->ranks[i].limited = fillings[how].limited;
        if (!file)
            desk->ranks[i].out = JR_SINK_CONSOLE;
        if (fillings[how].shared)
            desk->ranks[i].err_path = names[i];
        add_stream(desk, i, 0, file ? names[i] : NULL);
        lines[i] = 0;
    }
    limit_files(fillings[how].bytes > 0 ? fillings[how].bytes : RLIM_INFINITY);
    for (unsigned more = 1000; more <= 60000; more += 1000)
        for (uint32_t i = 0; i < RANKS; i++)
            number(desk, i, &lines[i], more);
    for (uint32_t i = 0; i < RANKS; i++) {
        CU_ASSERT_TRUE(lines[i] >= fillings[how].held / RANKS);
        CU_ASSERT_TRUE(lines[i] < 60000); /* the rank is held */
        CU_ASSERT_TRUE(jr_tee_bytes(&desk->tee, i, 0) == 100 * lines[i]);
        CU_ASSERT_EQUAL(desk->outcomes[i].log_errno, fillings[how].bytes > 0 ? EFBIG : 0);
    }
}

/* What was written before and after a file cannot be written any more is shown whole, once the
 * console is read; and until then the ranks wait. */
TEST(shows_all_that_a_full_disk_refuses)
{
    static char text[16 << 20];
    for (size_t how = 0; how < sizeof fillings / sizeof *fillings; how++) {
        struct desk desk;
        unsigned lines[RANKS];
        size_t got = 0;
        ssize_t len;
        fill(&desk, how, lines);
        (void)fcntl(desk.out[0], F_SETFL, O_NONBLOCK);
        for (unsigned more = 0, idle = 0; idle < 3;) {
            len = read(desk.out[0], text + got, 50000);
            got += len > 0 ? (size_t)len : 0;
            idle = len > 0 ? 0 : idle + 1;
            turn(&desk);
            more += 100; /* they go on meanwhile, and are held again */
            for (uint32_t i = 0; i < RANKS && more <= 3000; i++)
                number(&desk, i, &lines[i], lines[i] + 100);
        }
        text[got] = '\0';
        check_numbered(text, lines);
        CU_ASSERT_PTR_NULL(desk.tee.paused);
        for (uint32_t i = 0; i < RANKS; i++) {
            CU_ASSERT_FALSE(desk.tee.streams[2 * i].follower.shown.behind);
            CU_ASSERT_PTR_NULL(desk.tee.streams[2 * i].follower.tail.data);
        }
        limit_files(RLIM_INFINITY);
        end(&desk);
    }
}

/* The end of the run waits for nobody; what is in memory, and in the pipes, is shown later with the
 * rest. */
TEST(leaves_all_that_a_full_disk_refuses)
{
    static char text[16 << 20];
    for (size_t how = 0; how < sizeof fillings / sizeof *fillings; how++) {
        struct desk desk;
        unsigned lines[RANKS];
        fill(&desk, how, lines);
        jr_tee_drain(&desk.tee);
        size_t got = show_all_that_is_left(&desk, text, sizeof text);
        CU_ASSERT_TRUE(got >= 102 * (size_t)(lines[0] + lines[1]));
        check_numbered(text, lines);
        limit_files(RLIM_INFINITY);
        end(&desk);
    }
}

/* Wherever the console stops, amid a line or between file and memory. */
TEST(leaves_what_the_console_stops_amid)
{
    static char text[16 << 20];
    for (size_t how = 0; how < sizeof fillings / sizeof *fillings; how++) {
        struct desk desk;
        unsigned lines[RANKS];
        fill(&desk, how, lines);
        (void)fcntl(desk.out[0], F_SETFL, O_NONBLOCK);
        size_t got = 0;
        ssize_t len;
        while (got < (1 << 20) + how * 333333 && (len = read(desk.out[0], text + got, 5000)) > 0) {
            got += (size_t)len;
            turn(&desk);
        }
        jr_tee_drain(&desk.tee);
        (void)show_all_that_is_left(&desk, text + got, sizeof text - got);
        check_numbered(text, lines);
        limit_files(RLIM_INFINITY);
        end(&desk);
    }
}

/* Ranks that are asked to end have their say, so far as that is little. */
TEST(lets_a_held_rank_end)
{
    struct desk desk;
    unsigned lines[RANKS];
    fill(&desk, 1, lines);
    CU_ASSERT_PTR_NOT_NULL(desk.tee.paused);
    jr_tee_hurry(&desk.tee);
    turn(&desk);
    unsigned before = lines[0];
    number(&desk, 0, &lines[0], lines[0] + 5000);
    CU_ASSERT_EQUAL(lines[0], before + 5000);
    number(&desk, 0, &lines[0], lines[0] + 60000);
    CU_ASSERT_TRUE(lines[0] < before + 40000); /* it is held again */
    limit_files(RLIM_INFINITY);
    end(&desk);
}

/* A console that is closed takes nothing, and holds nobody. */
TEST(lets_ranks_go_where_the_console_closes)
{
    for (int how = 0; how < 2; how++) {
        struct desk desk;
        unsigned lines[RANKS];
        fill(&desk, 1, lines);
        (void)signal(SIGPIPE, SIG_IGN);
        if (how == 0) {
            (void)close(desk.out[0]);
        } else { /* while something else is written there */
            (void)drain_console(&desk);
            number(&desk, 0, &lines[0], 100000);
            CU_ASSERT_PTR_NOT_NULL(desk.tee.paused);
            jr_buf_clear(&desk.console.outputs[0].backlog);
            desk.console.outputs[0].taken = 0;
            (void)close(desk.out[0]);
            jr_console_writer_write(&desk.console, 0, "x\n", 2);
        }
        for (uint32_t i = 0; i < RANKS; i++) {
            unsigned until = lines[i] + 60000;
            number(&desk, i, &lines[i], until);
            number(&desk, i, &lines[i], until);
            number(&desk, i, &lines[i], until);
            CU_ASSERT_EQUAL(lines[i], until);
        }
        desk.out[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        limit_files(RLIM_INFINITY);
        end(&desk);
    }
}

struct puller {
    struct desk *desk;
    struct jr_watch watch;
};

static void on_pull(void *owner, uint32_t events)
{
    struct puller *puller = owner;
    char byte;
    (void)events;
    CU_ASSERT_EQUAL(read(puller->watch.fd, &byte, 1), 1);
    jr_tee_pull(&puller->desk->tee, 0, 0);
}

/* Somebody else fetched what the loop tells of in the same turn. */
TEST(goes_on_where_nothing_is_left)
{
    int ends[2];
    DESK(desk);
    struct puller puller = {.desk = &desk};
    add_stream(&desk, 0, 0, "0.out");
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    puller.watch = (struct jr_watch){.fd = ends[0], .ready = on_pull, .owner = &puller};
    CU_ASSERT_EQUAL(jr_loop_add(&desk.loop, &puller.watch, EPOLLIN), 0);
    CU_ASSERT_EQUAL(write(ends[1], "!", 1), 1);
    put(&desk, 0, 0, "a\n");
    turn(&desk);
    JR_ASSERT_TEXT(shown(&desk), "0 a\n");
    CU_ASSERT_EQUAL(desk.tee.open, 1);
    end_stream(&desk, 0, 0);
    turn(&desk);
    CU_ASSERT_EQUAL(desk.tee.open, 0);
    jr_loop_close(&puller.watch);
    (void)close(ends[1]);
}

/* An expression that is none is refused, and the caller closes the rest. */
TEST(refuses_what_it_cannot_filter)
{
    DESK(desk);
    jr_tee_close(&desk.tee);
    desk.policy.console.show = (char[]){"("};
    const struct jr_tee_setup setup = {.loop = &desk.loop,
                                       .console = &desk.console,
                                       .events = &desk.events,
                                       .plan = &desk.plan,
                                       .options = &desk.options,
                                       .files = 4,
                                       .remainder = desk.remainder};
    CU_ASSERT_EQUAL(jr_tee_open(&desk.tee, &setup), -1);
}

/* A stream that cannot be watched is told of, and its end still closes it. */
TEST(tells_what_it_cannot_watch)
{
    struct jr_started started = JR_STARTED_NONE;
    int ends[2];
    char byte;
    DESK(desk);
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    started.pipes[0] = ends[0];
    int epoll_fd = desk.loop.epoll_fd;
    desk.loop.epoll_fd = -1;
    CU_ASSERT_NOT_EQUAL(jr_tee_add(&desk.tee, 0, &started, &desk.ranks[0], &desk.outcomes[0]), 0);
    desk.loop.epoll_fd = epoll_fd;
    jr_tee_drain(&desk.tee);
    CU_ASSERT_EQUAL(write(ends[1], "x", 1), -1);
    CU_ASSERT_EQUAL(errno, EPIPE);
    CU_ASSERT_EQUAL(read(ends[0], &byte, 1), -1);
    CU_ASSERT_PTR_NULL(desk.tee.streams); /* nothing of it is left */
    (void)close(ends[1]);
}

TEST(needs_no_console)
{
    DESK(desk);
    add_stream(&desk, 0, 0, "0.out");
    (void)close(desk.out[0]);
    desk.out[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CU_ASSERT_TRUE(pour(&desk, 0, 3000) == 3000 && !desk.tee.streams[0].follower.shown.behind);
    CU_ASSERT_TRUE(desk.console.failed);
    jr_tee_drain(&desk.tee);
    CU_ASSERT_FALSE(desk.remainder->streams[0].behind);
}

int main(void)
{
    (void)alarm(100);                        /* nothing here may block */
    (void)signal(SIGPIPE, SIG_IGN);          /* as jobrun does */
    for (int fd = 3; fd < JR_SLOT_END; fd++) /* the slots are the run's */
        (void)dup2(STDIN_FILENO, fd);
    return jr_unit_main();
}
