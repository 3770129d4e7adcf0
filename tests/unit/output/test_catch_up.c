/* What a console has fallen behind with: shown while the run goes on, on pipes that take so much,
 * and after it, to a file, or to a pipe that takes nothing. */
#include "output/catch_up.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "scratch.h"

#define SECOND_NS UINT64_C(1000000000)
#define KIB       1024

enum { RANKS = 2, STREAMS = 3 };

/* Streams that are behind: 0 and 1 of rank 0 and 1 on standard output, and 2 is rank 1 on standard
 * error. Each output is a pipe; that of standard output takes JR_CATCH_UP_STEP bytes. */
struct live {
    struct scratch scratch;
    struct jr_logfiles files;
    struct jr_loop loop;
    struct jr_console_writer console;
    struct jr_policy policy;
    struct jr_plan_rank ranks[RANKS];
    struct jr_plan plan;
    struct jr_line_writer lines;
    struct jr_catch_up all;
    struct jr_follower streams[STREAMS];
    struct jr_times times[STREAMS];
    int out[2], err[2];
    unsigned room;
    char bytes[JR_CATCH_UP_STEP];
};

static const char *const paths[] = {"0.log", "1.log", "2.log"};

static void count_room(void *owner, struct jr_output *output)
{
    struct live *live = owner;
    live->room++;
    jr_catch_up_step(&live->all, output);
}

static struct live *go(struct jr_console console)
{
    struct live *live = calloc(1, sizeof *live);
    CU_ASSERT_PTR_NOT_NULL_FATAL(live);
    scratch_start(&live->scratch);
    live->policy.console = console;
    live->files.dir_fd = live->scratch.fd;
    CU_ASSERT_EQUAL_FATAL(pipe2(live->out, O_NONBLOCK | O_CLOEXEC), 0);
    CU_ASSERT_EQUAL_FATAL(pipe2(live->err, O_NONBLOCK | O_CLOEXEC), 0);
    CU_ASSERT_EQUAL(fcntl(live->out[1], F_SETPIPE_SZ, JR_CATCH_UP_STEP), JR_CATCH_UP_STEP);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&live->loop), 0);
    jr_console_writer_open(&live->console, &live->loop, live->out[1], live->err[1]);
    live->console.relieved = count_room;
    live->console.owner = live;
    for (uint32_t i = 0; i < RANKS; i++)
        live->ranks[i] = (struct jr_plan_rank){.rank = i, .prefix = "", .around = {"[", "] "}};
    live->plan = (struct jr_plan){.policy = &live->policy, .ranks = live->ranks, .count = RANKS};
    CU_ASSERT_EQUAL_FATAL(
        jr_line_writer_open(&live->lines, &live->loop, &live->console, &live->plan, false), 0);
    live->all = (struct jr_catch_up){.console = &live->console,
                                     .lines = &live->lines,
                                     .files = &live->files,
                                     .bytes = live->bytes};
    for (uint32_t i = 0; i < STREAMS; i++)
        live->streams[i] = (struct jr_follower){
            .feed = jr_line_writer_feed(&live->lines, i > 0, &live->ranks[i > 0], i == 2),
            .path = paths[i],
            .ended = true};
    return live;
}

/* A stream is behind like this. */
static void add(struct live *live, unsigned i, struct jr_shown shown)
{
    live->streams[i].shown = shown;
    jr_catch_up_add(&live->all, &live->streams[i]);
}

static void stop(struct live *const *place)
{
    struct live *live = *place;
    jr_line_writer_close(&live->lines);
    jr_console_writer_close(&live->console);
    for (unsigned i = 0; i < 2; i++) {
        (void)close(live->out[i]);
        (void)close(live->err[i]);
    }
    (void)close(live->loop.epoll_fd);
    scratch_end(&live->scratch);
    free(live);
}

/* For the rest of the block. */
#define LIVE(name, ...) struct live *name RELEASE(stop) = go(__VA_ARGS__)

/* The file of a stream has `count` KiB of lines, no two of them the same, and it is behind. */
static void add_kib(struct live *live, unsigned i, unsigned count)
{
    char line[KIB + 1];
    int fd = openat(live->scratch.fd, paths[i], O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (unsigned n = 0; n < count; n++) {
        (void)snprintf(line, sizeof line, "%01023u\n", n);
        CU_ASSERT_EQUAL(jr_io_write_all(fd, line, KIB), 0);
    }
    (void)close(fd);
    add(live, i, (struct jr_shown){.file.total = count * KIB});
}

/* What the pipe has: how many bytes, the last of them in `drained`. */
static char drained[4096];
static size_t drain(const struct live *live)
{
    size_t got = 0;
    ssize_t len;
    drained[0] = '\0';
    while ((len = read(live->out[0], drained, sizeof drained - 1)) > 0) {
        got += (size_t)len;
        drained[len] = '\0';
    }
    return got;
}

/* A turn shows so much, and then lets the loop have its turn. */
TEST(shows_so_much_in_a_turn)
{
    LIVE(live, (struct jr_console){0});
    struct jr_follower *stream = &live->streams[0];
    add_kib(live, 0, 1280);
    CU_ASSERT_TRUE(jr_loop_turn(&live->loop, true) > 0 && live->room == 1);
    CU_ASSERT_EQUAL(stream->shown.at, 1024 * KIB);
    CU_ASSERT_FALSE(jr_output_is_waiting(&live->console.outputs[0]));
    CU_ASSERT_EQUAL(jr_loop_turn(&live->loop, true), 0); /* it is full */
    CU_ASSERT_TRUE(drain(live) == 1024 * KIB && jr_loop_turn(&live->loop, true) > 0);
    CU_ASSERT_EQUAL(drain(live), 256 * KIB);
    CU_ASSERT_FALSE(jr_catch_up_is_behind(&live->all) || stream->shown.behind);
    CU_ASSERT_TRUE(jr_loop_turn(&live->loop, true) == 0 && live->room == 2);
}

/* Streams show a piece in turn, until one has come to its end. */
TEST(shows_streams_in_turn)
{
    LIVE(live, (struct jr_console){0});
    add_kib(live, 0, 768);
    add_kib(live, 1, 512);
    CU_ASSERT_TRUE(jr_loop_turn(&live->loop, true) > 0 && live->streams[0].shown.at == 512 * KIB);
    CU_ASSERT_TRUE(!live->streams[1].shown.behind && drain(live) == 1024 * KIB);
    CU_ASSERT_TRUE(jr_loop_turn(&live->loop, true) > 0 && drain(live) == 256 * KIB);
}

/* Each output goes on by itself. */
TEST(keeps_the_outputs_apart)
{
    LIVE(live, (struct jr_console){0});
    char held[64] = "";
    add_kib(live, 0, 1);
    scratch_write(&live->scratch, paths[2], "error\n");
    add(live, 2, (struct jr_shown){.file.total = 6});
    jr_catch_up_step(&live->all, &live->console.outputs[1]);
    CU_ASSERT_TRUE(jr_catch_up_is_behind(&live->all) && drain(live) == 0);
    CU_ASSERT_EQUAL(read(live->err[0], held, sizeof held), 6);
    JR_ASSERT_TEXT(held, "error\n");
    jr_catch_up_step(&live->all, &live->console.outputs[0]);
    CU_ASSERT_TRUE(!jr_catch_up_is_behind(&live->all) && drain(live) == KIB);
}

/* With console.collapse as well, in smaller pieces, so that the lines of all ranks meet; and the
 * lines that waited for the console go on to wait. */
TEST(collapses_what_it_shows)
{
    LIVE(live, (struct jr_console){.collapse = true});
    struct jr_collapse *collapse = live->lines.collapse;
    struct jr_follower *streams = live->streams;
    CU_ASSERT_PTR_NOT_NULL_FATAL(collapse);
    for (unsigned i = 0; i < 2; i++) {
        streams[i].ended = false;
        add_kib(live, i, 600);
    }
    CU_ASSERT_TRUE(jr_loop_turn(&live->loop, true) > 0);
    CU_ASSERT_TRUE(streams[0].shown.at == 512 * KIB && streams[1].shown.at == 512 * KIB);
    CU_ASSERT_EQUAL(drain(live), (KIB + strlen("[0-1] ")) * 512);
    CU_ASSERT_TRUE(jr_loop_turn(&live->loop, true) > 0);
    CU_ASSERT_EQUAL(drain(live), (KIB + strlen("[0-1] ")) * 88);
    add(live, 0, streams[0].shown); /* of which there is no more */
    CU_ASSERT_EQUAL(jr_feed_add(streams[0].feed, "one\n", 4), 4);
    collapse->timer.at = 0; /* as if it came while the console took nothing */
    CU_ASSERT_TRUE(jr_loop_turn(&live->loop, true) > 0);
    CU_ASSERT_NOT_EQUAL(collapse->timer.at, 0);
    CU_ASSERT_EQUAL(drain(live), 0);
}

/* Once it has caught up, an unfinished line is shown when it is due. */
TEST(awaits_the_rest_of_a_line)
{
    LIVE(live, (struct jr_console){.partial_ms = 3600000});
    struct jr_feed *feed = live->streams[0].feed;
    live->streams[0].ended = false;
    scratch_write(&live->scratch, paths[0], "a\nrest");
    add(live, 0, (struct jr_shown){.file.total = 6});
    CU_ASSERT_TRUE(feed->held);
    CU_ASSERT_TRUE(jr_loop_turn(&live->loop, true) > 0 && drain(live) == 2);
    CU_ASSERT_FALSE(feed->held);
    CU_ASSERT_NOT_EQUAL(live->lines.partial.at, 0);
    CU_ASSERT_EQUAL(jr_feed_add(feed, "!\n", 2), 2);
    CU_ASSERT_EQUAL(drain(live), strlen("rest!\n"));
}

/* A console that was closed has seen all that it will see. */
TEST(gives_up_a_console_that_has_gone)
{
    LIVE(live, (struct jr_console){0});
    add_kib(live, 0, 2);
    live->streams[0].shown.lost = 9;
    jr_console_writer_abandon(&live->console);
    CU_ASSERT_TRUE(!jr_catch_up_is_behind(&live->all) && !live->streams[0].shown.behind);
    CU_ASSERT_TRUE(live->streams[0].shown.at == 2 * KIB && drain(live) == 0);
}

/* Left as it is: a line that was begun is to be read again, from its start. */
TEST(leaves_the_beginning_of_a_line)
{
    LIVE(live, (struct jr_console){0});
    struct jr_follower *streams = live->streams;
    for (unsigned i = 0; i < STREAMS; i++) {
        add(live, i, (struct jr_shown){.file.total = 1000});
        CU_ASSERT_EQUAL(jr_feed_add(streams[i].feed, "a\nbeg", 5), 5);
        streams[i].shown.at = 5;
    }
    streams[1].feed->begun = JR_BEGUN_SHOWN;
    jr_catch_up_leave(&live->all);
    for (unsigned i = 0; i < STREAMS; i++) {
        CU_ASSERT_TRUE(streams[i].shown.at == 2 && streams[i].shown.behind);
    }
    CU_ASSERT_EQUAL(streams[0].shown.begun, JR_BEGUN_NOTHING);
    CU_ASSERT_EQUAL(streams[1].shown.begun, JR_BEGUN_SHOWN);
    CU_ASSERT_TRUE(!jr_catch_up_is_behind(&live->all) && jr_loop_turn(&live->loop, true) == 0);
    CU_ASSERT_EQUAL(live->room, 0);
}

/* Bytes that are lost while a stream is behind are told of in one number. */
TEST(counts_what_is_lost)
{
    LIVE(live, (struct jr_console){0});
    add(live, 0, (struct jr_shown){.lost = 5});
    jr_catch_up_note_bytes(&live->streams[0], 30);
    jr_catch_up_note_bytes(&live->streams[0], 7);
    jr_catch_up_step(&live->all, &live->console.outputs[0]);
    CU_ASSERT_FALSE(jr_catch_up_is_behind(&live->all));
    add(live, 0, live->streams[0].shown); /* behind once more */
    jr_catch_up_note_bytes(&live->streams[0], 1);
    jr_catch_up_step(&live->all, &live->console.outputs[0]);
    (void)drain(live);
    JR_ASSERT_TEXT(drained,
                   "[jobrun: 42 bytes are left out here: the console was not read in time]\n"
                   "[jobrun: 1 bytes are left out here: the console was not read in time]\n");
}

/* However many there are, so many are kept, the last of them always. */
TEST(remembers_times_more_coarsely)
{
    LIVE(live, (struct jr_console){0});
    struct jr_follower *stream = &live->streams[0];
    const struct jr_times *times = stream->times = &live->times[0];
    uint64_t before = jr_clock_wall_ns();
    for (unsigned i = 1; i <= 10 * JR_TIMES_MOST; i++) {
        stream->shown.file.total = i;
        jr_catch_up_note_bytes(stream, 0);
        CU_ASSERT_TRUE(times->count <= JR_TIMES_MOST && times->items[times->count - 1].end == i);
    }
    CU_ASSERT_TRUE(times->count >= JR_TIMES_MOST / 2 && times->items[0].wall_ns >= before);
    for (uint32_t i = 1; i < times->count; i++)
        CU_ASSERT_TRUE(times->items[i - 1].end < times->items[i].end &&
                       times->items[i - 1].wall_ns <= times->items[i].wall_ns);
    CU_ASSERT_EQUAL(live->times[1].count, 0);
}

/* With console.timestamps the times are those at which the lines came, and what comes later has its
 * own again. */
TEST(stamps_lines_with_their_time)
{
    LIVE(live, (struct jr_console){.timestamps = true});
    struct jr_follower *stream = &live->streams[0];
    stream->ended = false;
    stream->times = &live->times[0];
    scratch_write(&live->scratch, paths[0], "a\nb\n");
    add(live, 0, (struct jr_shown){.file.total = 4, .lost = 1});
    live->times[0] = (struct jr_times){.count = 2, .items = {{2, SECOND_NS}, {4, 2 * SECOND_NS}}};
    jr_catch_up_step(&live->all, &live->console.outputs[0]);
    CU_ASSERT_EQUAL(live->times[0].count, 0);
    (void)drain(live);
    static const char both[] = "1970-01-01T00:00:01.000Z a\n1970-01-01T00:00:02.000Z b\n";
    CU_ASSERT_EQUAL(strncmp(drained, both, strlen(both)), 0);
    CU_ASSERT_TRUE(memcmp(drained + strlen(both), "1970", 4) > 0); /* that one byte is left out */
}

/* After the run. */

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
        desk->ranks[i] = (struct jr_plan_rank){.rank = i,
                                               .prefix = i == 0 ? "0 " : "1 ",
                                               .around = {"[", "] "},
                                               .out_path = i == 0 ? "0.out" : "1.out",
                                               .err_path = i == 0 ? "0.err" : "1.err"};
    desk->plan = (struct jr_plan){.policy = &desk->policy, .ranks = desk->ranks, .count = RANKS};
    desk->left = jr_remainder_new(RANKS);
    CU_ASSERT_PTR_NOT_NULL_FATAL(desk->left);
    CU_ASSERT_EQUAL(desk->left->count, 2 * RANKS + 2);
    desk->out =
        out >= 0 ? out : openat(desk->scratch.fd, "console", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    desk->err = openat(desk->scratch.fd, "errors", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CU_ASSERT_EQUAL_FATAL(
        jr_replay_open(&desk->replay, desk->out, desk->err, desk->scratch.fd, false), 0);
}

static void end(struct desk *desk)
{
    int epoll_fd = desk->replay.loop.epoll_fd;
    jr_replay_close(&desk->replay);
    CU_ASSERT_EQUAL(fcntl(epoll_fd, F_GETFD), -1);
    jr_remainder_free(desk->left);
    (void)close(desk->out);
    (void)close(desk->err);
    scratch_end(&desk->scratch);
}

/* For the rest of the block. */
#define DESK(name, ...)                                                                            \
    struct desk name RELEASE(end);                                                                 \
    begin(&name, __VA_ARGS__)

static const char *content(int fd)
{
    static char text[8192];
    ssize_t len = pread(fd, text, sizeof text - 1, 0);
    text[len > 0 ? len : 0] = '\0';
    return text;
}

/* The stream is in `name`, and shown up to `at`. */
static void leave(struct desk *desk, uint32_t stream, const char *name, const char *text,
                  uint64_t at)
{
    scratch_write(&desk->scratch, name, text);
    desk->left->streams[stream] =
        (struct jr_shown){.file.total = strlen(text), .at = at, .behind = true};
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
    CU_ASSERT_TRUE(jr_replay_is_done(&desk->replay) && desk->replay.patience.at == 0);
    CU_ASSERT_EQUAL(desk->replay.signals.fd, -1);
    struct sigaction on_pipe;
    CU_ASSERT_EQUAL(sigaction(SIGPIPE, NULL, &on_pipe), 0);
    CU_ASSERT_TRUE(on_pipe.sa_handler == SIG_DFL);
}

/* More than there is memory for is not shown, and the caller is told. */
TEST(says_that_it_has_no_memory)
{
    volatile size_t len = SIZE_MAX;
    DESK(desk, -1);
    CU_ASSERT_FALSE(jr_replay_print(&desk.replay, "done\n", len));
    finish(&desk);
    JR_ASSERT_TEXT(content(desk.err), "");
}

TEST(shows_nothing_of_nothing)
{
    DESK(desk, -1);
    jr_replay_add(&desk.replay, &desk.plan, desk.left);
    CU_ASSERT_TRUE(jr_replay_is_done(&desk.replay));
    finish(&desk);
    JR_ASSERT_TEXT(content(desk.out), "");
    JR_ASSERT_TEXT(content(desk.err), "");
}

/* From where it was, with what is not there told of in its place: what log_limit left out includes
 * what the console had shown already. */
TEST(goes_on_where_it_was)
{
    static const struct {
        const char *text;
        struct jr_shown shown;
        const char *want;
    } vectors[] = {
        {"shown\nnext\nlast", {.file.total = 15, .at = 6}, "0 next\n0 last\n"},
        {"a\nz", {.file.total = 3, .at = 2}, "0 z\n"},
        {"a\n",
         {.file.total = 102, .lost = 7},
         "0 a\n"
         "0 [jobrun: 100 bytes are left out here: the log no longer has them]\n"
         "0 [jobrun: 7 bytes are left out here: the console was not read in time]\n"},
        {"a\nMARKER\nz\n",
         {.file = {1002, 2, 1000, 7}},
         "0 a\n0 [jobrun: log_limit: 998 bytes left out here]\n0 z\n"},
        {"a\nMARKER\nz\n",
         {.file = {1002, 2, 1000, 7}, .at = 500},
         "0 [jobrun: log_limit: 500 bytes left out here]\n0 z\n"},
        {"a\nMARKER\nz\n",
         {.file = {1002, 2, 1000, 7}, .at = 999},
         "0 [jobrun: log_limit: 1 bytes left out here]\n0 z\n"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        DESK(desk, -1);
        scratch_write(&desk.scratch, "0.out", vectors[i].text);
        desk.left->streams[0] = vectors[i].shown;
        desk.left->streams[0].behind = true;
        jr_replay_add(&desk.replay, &desk.plan, desk.left);
        finish(&desk);
        JR_ASSERT_TEXT(content(desk.out), vectors[i].want);
    }
}

/* Lines that were on their way first, then the streams; then what jobrun says, and the next
 * attempt. */
TEST(shows_attempt_after_attempt)
{
    DESK(desk, -1);
    leave_lines(&desk, 4, 4);
    leave(&desk, 0, "0.out", "seen\nnext\nlast", 5);
    leave(&desk, 3, "1.err", "wrong\n", 0);
    leave(&desk, 2 * RANKS, "setup.log", "", 0);
    jr_replay_add(&desk.replay, &desk.plan, desk.left);
    CU_ASSERT_TRUE(!jr_replay_is_done(&desk.replay) && jr_replay_print(&desk.replay, "done\n", 5));
    memset(desk.left->streams, 0, 6 * sizeof *desk.left->streams);
    leave_lines(&desk, 0, 0);
    leave(&desk, 2, "1.out", "again\n", 0);
    jr_replay_add(&desk.replay, &desk.plan, desk.left);
    desk.ranks[1].prefix = "gone "; /* of which there is a copy */
    finish(&desk);
    JR_ASSERT_TEXT(content(desk.out), "out\n0 next\n0 last\n1 again\n");
    JR_ASSERT_TEXT(content(desk.err), "err\n1 wrong\ndone\n");
    CU_ASSERT_TRUE(!desk.replay.cut && !desk.replay.ended);
    CU_ASSERT_TRUE(jr_replay_print(&desk.replay, "more\n", 5));
    finish(&desk);
    JR_ASSERT_TEXT(content(desk.err), "err\n1 wrong\ndone\nmore\n");
}

/* Lines of one output alone are shown, too. */
TEST(shows_what_only_one_output_left)
{
    for (int number = 0; number < 2; number++) {
        DESK(desk, -1);
        leave_lines(&desk, number == 0 ? 4 : 0, number == 1 ? 4 : 0);
        jr_replay_add(&desk.replay, &desk.plan, desk.left);
        finish(&desk);
        JR_ASSERT_TEXT(content(desk.out), number == 0 ? "out\n" : "");
        JR_ASSERT_TEXT(content(desk.err), number == 1 ? "out\n" : "");
    }
}

/* As the run's own console would have: hidden lines, and the rest of one whose beginning was. */
TEST(shows_it_as_the_console_does)
{
    struct desk desk;
    begin(&desk, -1);
    char hide[] = "secret", show[] = "s|p";
    desk.policy.console.hide = hide;
    desk.policy.console.show = show;
    leave(&desk, 0, "0.out", "secret\nof it\nseen\n", 7);
    desk.left->streams[0].begun = JR_BEGUN_HIDDEN;
    leave(&desk, 2, "1.out", "secret\nplain\n", 0);
    jr_replay_add(&desk.replay, &desk.plan, desk.left);
    memset(hide, 'x', strlen(hide)); /* of which there is a copy */
    memset(show, 'x', strlen(show));
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
    desk.left->times[0] = (struct jr_times){
        2, {{2, UINT64_C(1700000000123000000)}, {4, UINT64_C(1700000001000000000)}}};
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
static size_t drain_desk(struct desk *desk, int from)
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
    leave_lines(desk, 4, 4);
    desk->left->streams[0] = (struct jr_shown){.file.total = 5000000, .behind = true};
    jr_replay_add(&desk->replay, &desk->plan, desk->left);
    jr_replay_turn(&desk->replay);
    CU_ASSERT_FALSE(jr_replay_is_done(&desk->replay));
}

TEST(waits_for_a_console_that_is_slow)
{
    struct desk desk;
    int ends[2];
    begin_slow(&desk, ends);
    size_t held = desk.replay.console.outputs[0].backlog.len;
    CU_ASSERT_TRUE(held > 0 && held < 4 << 20);
    CU_ASSERT_EQUAL(drain_desk(&desk, ends[0]), 4 + 5000 * 1002);
    CU_ASSERT_TRUE(jr_replay_is_done(&desk.replay) && !desk.replay.console.failed);
    JR_ASSERT_TEXT(content(desk.err), "err\n");
    CU_ASSERT_EQUAL(jr_loop_turn(&desk.replay.loop, true), 0);
    (void)close(ends[0]);
    end(&desk);
}

/* Whoever stopped the run waits a second for a console that takes nothing, and is told that there
 * was more. */
TEST(leaves_a_console_that_takes_nothing)
{
    struct desk desk;
    int ends[2];
    begin_slow(&desk, ends);
    CU_ASSERT_TRUE(jr_replay_print(&desk.replay, "done\n", 5));
    jr_replay_hurry(&desk.replay);
    desk.replay.patience.at = 1; /* the second begins when it is waited for */
    uint64_t before = jr_clock_ns();
    finish(&desk);
    CU_ASSERT_TRUE(jr_clock_ns() - before >= SECOND_NS / 2);
    CU_ASSERT_TRUE(desk.replay.cut && desk.replay.ended && desk.replay.console.failed);
    (void)close(ends[0]);
    end(&desk);
}

/* A process that reads all that comes. */
static pid_t begin_reader(int from)
{
    static char bytes[65536];
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    while (read(from, bytes, sizeof bytes) > 0)
        continue;
    _exit(0);
}

static void end_reader(pid_t pid)
{
    (void)kill(pid, SIGKILL); /* it holds the other end, too */
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
}

/* However long it takes, where nobody is in a hurry; in a hurry no longer than until the limit,
 * even if the console takes something. */
TEST(shows_all_until_the_limit)
{
    for (int hurried = 0; hurried < 2; hurried++) {
        struct desk desk;
        int ends[2];
        begin_slow(&desk, ends);
        pid_t pid = begin_reader(ends[0]);
        (void)close(ends[0]);
        if (hurried) {
            jr_replay_hurry(&desk.replay);
            CU_ASSERT_TRUE(desk.replay.limit_ns > desk.replay.patience.at + 8 * SECOND_NS);
            CU_ASSERT_TRUE(desk.replay.limit_ns < desk.replay.patience.at + 10 * SECOND_NS);
            desk.replay.limit_ns = 1;
        }
        finish(&desk);
        CU_ASSERT_TRUE(desk.replay.cut == hurried && desk.replay.hurried == hurried);
        CU_ASSERT_EQUAL(desk.replay.console.failed, hurried);
        end(&desk);
        end_reader(pid);
    }
}

/* A reader that goes ends the files, not jobrun. */
TEST(outlives_its_console)
{
    struct desk desk;
    int ends[2];
    begin_slow(&desk, ends);
    CU_ASSERT_TRUE(jr_replay_print(&desk.replay, "told\n", 5));
    (void)close(ends[0]);
    finish(&desk);
    CU_ASSERT_TRUE(desk.replay.console.failed && desk.replay.console.error == 0);
    CU_ASSERT_FALSE(desk.replay.hurried);
    JR_ASSERT_TEXT(content(desk.err), "err\ntold\n");
    end(&desk);
}

/* One turn goes as far as the console allows, to the next part as well. */
TEST(goes_to_the_next_part_in_a_turn)
{
    static char bytes[65536];
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    DESK(desk, ends[1]);
    write_wide(&desk, "0.out", 100);
    desk.left->streams[0] = (struct jr_shown){.file.total = 100000, .behind = true};
    jr_replay_add(&desk.replay, &desk.plan, desk.left);
    CU_ASSERT_TRUE(jr_replay_print(&desk.replay, "done\n", 5));
    jr_replay_turn(&desk.replay);
    CU_ASSERT_FALSE(jr_replay_is_done(&desk.replay));
    CU_ASSERT_EQUAL(read(ends[0], bytes, sizeof bytes), sizeof bytes);
    jr_replay_turn(&desk.replay);
    CU_ASSERT_TRUE(jr_replay_is_done(&desk.replay));
    JR_ASSERT_TEXT(content(desk.err), "done\n");
    (void)close(ends[0]);
}

/* A signal ends the files, and what jobrun says is still shown. */
TEST(is_ended_by_a_signal)
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
    pid_t pid = begin_reader(ends[0]); /* once the signal is there */
    finish(&desk);
    CU_ASSERT_TRUE(desk.replay.cut && desk.replay.hurried);
    JR_ASSERT_TEXT(content(desk.err), "err\ntold\n");
    (void)close(ends[0]);
    end(&desk);
    end_reader(pid);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* One that suspends does so, and nothing is lost by it. */
TEST(is_suspended_by_a_signal)
{
    int status = 0;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct desk desk;
        int ends[2];
        sigset_t set;
        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGTSTP);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
        begin_slow(&desk, ends);
        (void)raise(SIGTSTP);
        pid_t reader = begin_reader(ends[0]);
        finish(&desk);
        bool whole = !desk.replay.cut && !desk.replay.hurried;
        (void)close(ends[0]);
        end(&desk);
        end_reader(reader);
        _exit(whole ? 7 : 8);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, WUNTRACED), pid);
    CU_ASSERT_TRUE(WIFSTOPPED(status));
    (void)kill(pid, SIGCONT);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 7 << 8);
}

/* The runner's remainder: whole lines, as far as there is room. */
TEST(keeps_whole_lines)
{
    static char line[65537];
    struct jr_loop loop;
    struct jr_console_writer console;
    struct jr_remainder *left = jr_remainder_new(1);
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&console, &loop, ends[1], -1);
    memset(line, 'x', 65535);
    line[65535] = '\n';
    for (int i = 0; i < 80; i++)
        jr_console_writer_write(&console, 0, line, 65536);
    jr_remainder_keep(left, &console);
    CU_ASSERT_TRUE(left->pending_len[0] > 1 << 20);
    CU_ASSERT_TRUE(left->pending[left->pending_len[0] - 1] == '\n' && left->pending_len[1] == 0);
    jr_console_writer_close(&console);
    (void)close(loop.epoll_fd);
    (void)close(ends[0]);
    (void)close(ends[1]);
    jr_remainder_free(left);
    jr_remainder_free(NULL);
}

/* Each part has room of its own, which is given back. */
TEST(has_room_for_all)
{
    for (uint32_t ranks = 0; ranks < 4; ranks++) {
        struct jr_remainder *left = jr_remainder_new(ranks);
        CU_ASSERT_PTR_NOT_NULL_FATAL(left);
        uint32_t count = left->count;
        CU_ASSERT_EQUAL(count, 2 * ranks + 2);
        memset(left->streams, 1, count * sizeof *left->streams);
        memset(left->times, 2, count * sizeof *left->times);
        CU_ASSERT_TRUE(left->room >= (16U << 20) + count * (2U << 20));
        memset(left->pending, 3, 16 << 20);
        CU_ASSERT_EQUAL(memchr(left->streams, 2, count * sizeof(*left->streams)), NULL);
        CU_ASSERT_EQUAL(memchr(left->streams, 3, count * sizeof(*left->streams)), NULL);
        CU_ASSERT_EQUAL(memchr(left->times, 3, count * sizeof(*left->times)), NULL);
        CU_ASSERT_EQUAL(left->count, count);
        char *end = left->pending + left->room;
        CU_ASSERT_EQUAL((size_t)(end - (char *)left), left->size);
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *last = (char *)left + (left->size - 1) / page * page;
        CU_ASSERT_EQUAL(msync(last, page, MS_ASYNC), 0);
        jr_remainder_free(left);
        CU_ASSERT_EQUAL(msync(left, page, MS_ASYNC), -1);
        CU_ASSERT_EQUAL(msync(last, page, MS_ASYNC), -1);
    }
}

/* Of both outputs, the first's before the second's; of the second as many whole lines as there is
 * room for. */
TEST(keeps_both_outputs)
{
    enum { MOST = 16 << 20, LINE = 1 << 16 };
    static const struct {
        size_t first, lines, want[2];
    } vectors[] = {
        {0, 0, {0, 0}},
        {2, 3, {2, 3 * LINE}},
        {0, 256, {0, MOST}},
        {1, 256, {1, MOST - LINE}},
        {LINE, 256, {LINE, MOST - LINE}},
        {0, 300, {0, MOST}},
    };
    static char line[LINE];
    memset(line, 'x', LINE - 1);
    line[LINE - 1] = '\n';
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct jr_remainder *left = jr_remainder_new(1);
        struct jr_console_writer console = {.gated = true};
        for (int k = 0; k < 2; k++) {
            console.outputs[k].console = &console;
            console.outputs[k].kind = JR_OUTPUT_FILE;
            console.streams[k] = &console.outputs[k];
        }
        jr_buf_str(&console.outputs[0].backlog, "it has taken this");
        console.outputs[0].taken = console.outputs[0].backlog.len;
        jr_console_writer_write(&console, 0, line + LINE - vectors[i].first, vectors[i].first);
        for (size_t n = 0; n < vectors[i].lines; n++)
            jr_console_writer_write(&console, 1, line, LINE);
        jr_remainder_keep(left, &console);
        CU_ASSERT_EQUAL(left->pending_len[0], vectors[i].want[0]);
        CU_ASSERT_EQUAL(left->pending_len[1], vectors[i].want[1]);
        if (vectors[i].first > 0) {
            CU_ASSERT_EQUAL(left->pending[vectors[i].first - 1], '\n');
            CU_ASSERT_EQUAL(left->pending[vectors[i].first], 'x');
        }
        size_t all = left->pending_len[0] + left->pending_len[1];
        if (all > 0)
            CU_ASSERT_EQUAL(left->pending[all - 1], '\n');
        for (int k = 0; k < 2; k++)
            jr_buf_release(&console.outputs[k].backlog);
        jr_remainder_free(left);
    }
}
