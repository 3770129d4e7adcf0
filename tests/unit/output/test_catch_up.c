#include "output/catch_up.h"
#include "base/clock.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"

#define SECOND_NS UINT64_C(1000000000)
#define MS_NS     UINT64_C(1000000)

enum { STREAMS = 3 };

/* Streams that are behind: 0 and 1 of rank 0 and 1 on standard output, and 2 is rank 1 on standard
 * error. The console is a file, or a pipe. */
struct fixture {
    char folder[64];
    struct jr_logfiles files;
    struct jr_loop loop;
    struct jr_console_writer console;
    struct jr_policy policy;
    struct jr_plan_rank ranks[2];
    struct jr_plan plan;
    struct jr_line_writer lines;
    struct jr_catch_up all;
    struct jr_follower streams[STREAMS];
    struct jr_times times[STREAMS];
    int pipe[2], err[2]; /* the console, where that is pipes; -1 */
    unsigned room;
    char bytes[JR_CATCH_UP_STEP];
};

static const char *const paths[] = {"0.log", "1.log", "2.log"};

static void count_room(void *owner, struct jr_output *output)
{
    struct fixture *fixture = owner;
    fixture->room++;
    jr_catch_up_step(&fixture->all, output);
}

static int open_console(struct fixture *fixture, bool piped)
{
    for (unsigned i = 0; i < 2; i++)
        fixture->pipe[i] = fixture->err[i] = -1;
    if (!piped)
        return openat(fixture->files.dir_fd, "out", O_CREAT | O_WRONLY, 0600);
    CU_ASSERT_EQUAL_FATAL(pipe2(fixture->pipe, O_NONBLOCK | O_CLOEXEC), 0);
    CU_ASSERT_EQUAL_FATAL(pipe2(fixture->err, O_NONBLOCK | O_CLOEXEC), 0);
    CU_ASSERT_EQUAL(fcntl(fixture->pipe[1], F_SETPIPE_SZ, JR_CATCH_UP_STEP), JR_CATCH_UP_STEP);
    return fixture->pipe[1];
}

static void begin(struct fixture *fixture, struct jr_console console, bool piped)
{
    *fixture = (struct fixture){.folder = "/tmp/jobrun behind XXXXXX"};
    fixture->policy.console = console;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(fixture->folder));
    fixture->files.dir_fd = open(fixture->folder, O_RDONLY | O_DIRECTORY);
    int out = open_console(fixture, piped);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&fixture->loop), 0);
    jr_console_writer_open(&fixture->console, &fixture->loop, out, fixture->err[1]);
    fixture->console.relieved = count_room;
    fixture->console.owner = fixture;
    fixture->ranks[0].prefix = "[0] ";
    fixture->ranks[1].prefix = "[1] ";
    fixture->plan =
        (struct jr_plan){.policy = &fixture->policy, .ranks = fixture->ranks, .count = 2};
    fixture->ranks[0].around[0] = fixture->ranks[1].around[0] = "[";
    fixture->ranks[0].around[1] = fixture->ranks[1].around[1] = "] ";
    fixture->ranks[1].rank = 1;
    CU_ASSERT_EQUAL_FATAL(jr_line_writer_open(&fixture->lines, piped ? &fixture->loop : NULL,
                                              &fixture->console, &fixture->plan, false),
                          0);
    fixture->all = (struct jr_catch_up){.console = &fixture->console,
                                        .lines = &fixture->lines,
                                        .files = &fixture->files,
                                        .bytes = fixture->bytes};
    for (uint32_t i = 0; i < STREAMS; i++)
        fixture->streams[i] = (struct jr_follower){
            .feed = jr_line_writer_feed(&fixture->lines, i > 0, &fixture->ranks[i > 0], i == 2),
            .path = paths[i],
            .ended = true};
}

static struct fixture *make(void)
{
    struct fixture *fixture = malloc(sizeof *fixture);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fixture);
    begin(fixture, (struct jr_console){0}, false);
    return fixture;
}

/* With a console that is a pipe of JR_CATCH_UP_STEP bytes, in a loop. */
static struct fixture *make_piped(struct jr_console console)
{
    struct fixture *fixture = malloc(sizeof *fixture);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fixture);
    begin(fixture, console, true);
    fixture->ranks[0].prefix = fixture->ranks[1].prefix = "";
    for (uint32_t i = 0; i < STREAMS; i++)
        fixture->streams[i].feed->prefix_len = 0;
    return fixture;
}

static void keep(const struct fixture *fixture, unsigned i, const char *text)
{
    int fd = openat(fixture->files.dir_fd, paths[i], O_CREAT | O_WRONLY | O_TRUNC, 0600);
    CU_ASSERT_EQUAL(jr_io_write_all(fd, text, strlen(text)), 0);
    (void)close(fd);
}

/* A stream is behind like this. */
static void add(struct fixture *fixture, unsigned i, struct jr_shown shown)
{
    fixture->streams[i].shown = shown;
    jr_catch_up_add(&fixture->all, &fixture->streams[i]);
}

static void end(struct fixture *fixture)
{
    if (fixture->pipe[0] < 0)
        (void)close(fixture->console.outputs[0].watch.fd);
    jr_line_writer_close(&fixture->lines);
    jr_console_writer_close(&fixture->console);
    for (unsigned i = 0; i < 2 && fixture->pipe[i] >= 0; i++) {
        (void)close(fixture->pipe[i]);
        (void)close(fixture->err[i]);
    }
    for (unsigned i = 0; i < STREAMS; i++)
        (void)unlinkat(fixture->files.dir_fd, paths[i], 0);
    (void)unlinkat(fixture->files.dir_fd, "out", 0);
    (void)close(fixture->files.dir_fd);
    (void)close(fixture->loop.epoll_fd);
    CU_ASSERT_EQUAL(rmdir(fixture->folder), 0);
    free(fixture);
}

/* What the console shows, once it has caught up; the end of the fixture. */
static void check(struct fixture *fixture, const char *want)
{
    char held[4096] = "";
    jr_catch_up_step(&fixture->all, &fixture->console.outputs[0]);
    CU_ASSERT_FALSE(jr_catch_up_is_behind(&fixture->all));
    int out = openat(fixture->files.dir_fd, "out", O_RDONLY);
    CU_ASSERT_TRUE(read(out, held, sizeof held - 1) >= 0);
    JR_ASSERT_TEXT(held, want);
    (void)close(out);
    end(fixture);
}

/* The file of a stream has `count` KiB of lines, no two of them the same. */
static void keep_kib(const struct fixture *fixture, unsigned i, unsigned count)
{
    char line[1025];
    int fd = openat(fixture->files.dir_fd, paths[i], O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (unsigned n = 0; n < count; n++) {
        (void)snprintf(line, sizeof line, "%01023u\n", n);
        CU_ASSERT_EQUAL(jr_io_write_all(fd, line, 1024), 0);
    }
    (void)close(fd);
}

/* What the pipe has; how many bytes. */
static size_t drain(const struct fixture *fixture)
{
    static char bytes[65536];
    size_t got = 0;
    ssize_t len;
    while ((len = read(fixture->pipe[0], bytes, sizeof bytes)) > 0)
        got += (size_t)len;
    return got;
}

static void goes_on_where_it_was(void)
{
    struct fixture *fixture = make();
    keep(fixture, 0, "shown\nnext\nlast");
    add(fixture, 0, (struct jr_shown){.file.total = 15, .at = 6});
    check(fixture, "[0] next\n[0] last\n");
}

static void tells_of_what_is_not_there(void)
{
    struct fixture *fixture = make();
    keep(fixture, 0, "a\n");
    add(fixture, 0, (struct jr_shown){.file.total = 102, .lost = 7});
    add(fixture, 1, (struct jr_shown){.file.total = 50});
    check(fixture, "[0] a\n"
                   "[1] [jobrun: 50 bytes are left out here: the log no longer has them]\n"
                   "[0] [jobrun: 100 bytes are left out here: the log no longer has them]\n"
                   "[0] [jobrun: 7 bytes are left out here: the console was not read in time]\n");
}

static void tells_of_a_limit(void)
{
    struct fixture *fixture = make();
    keep(fixture, 0, "a\nMARKER\nz\n");
    add(fixture, 0,
        (struct jr_shown){.file = {.total = 1002, .head = 2, .cut = 1000, .marker = 7}});
    check(fixture, "[0] a\n"
                   "[0] [jobrun: log_limit: 998 bytes left out here]\n"
                   "[0] z\n");
}

/* What was left out includes what the console had shown already. */
static void begins_within_a_gap(void)
{
    struct fixture *fixture = make();
    keep(fixture, 0, "a\nMARKER\nz\n");
    add(fixture, 0,
        (struct jr_shown){.file = {.total = 1002, .head = 2, .cut = 1000, .marker = 7}, .at = 500});
    check(fixture, "[0] [jobrun: log_limit: 500 bytes left out here]\n"
                   "[0] z\n");
}

static void begins_at_the_end_of_a_gap(void)
{
    struct fixture *fixture = make();
    keep(fixture, 0, "a\nMARKER\nz\n");
    add(fixture, 0,
        (struct jr_shown){.file = {.total = 1002, .head = 2, .cut = 1000, .marker = 7}, .at = 999});
    check(fixture, "[0] [jobrun: log_limit: 1 bytes left out here]\n"
                   "[0] z\n");
}

static void keeps_to_the_time(void)
{
    struct fixture *fixture = make();
    keep(fixture, 0, "1\n3\n");
    keep(fixture, 1, "2\n4\n");
    for (unsigned i = 0; i < 2; i++) {
        fixture->streams[i].times = &fixture->times[i];
        add(fixture, i, (struct jr_shown){.file.total = 4});
        fixture->times[i] = (struct jr_times){
            .count = 2, .items = {{2, (1 + i) * SECOND_NS}, {4, (3 + i) * SECOND_NS}}};
    }
    check(fixture, "[0] 1\n[1] 2\n[0] 3\n[1] 4\n");
}

static void remembers_times_more_coarsely(void)
{
    struct fixture *fixture = make();
    struct jr_follower *stream = &fixture->streams[0];
    const struct jr_times *times = &fixture->times[0];
    stream->times = &fixture->times[0];
    for (unsigned i = 1; i <= 10 * JR_TIMES_MOST; i++) {
        stream->shown.file.total = i;
        jr_catch_up_note_bytes(stream, 0);
        CU_ASSERT_TRUE(times->count <= JR_TIMES_MOST);
        CU_ASSERT_EQUAL(times->items[times->count - 1].end, i);
    }
    CU_ASSERT_TRUE(times->count > JR_TIMES_MOST / 4);
    for (uint32_t i = 1; i < times->count; i++)
        CU_ASSERT_TRUE(times->items[i - 1].end < times->items[i].end &&
                       times->items[i - 1].wall_ns <= times->items[i].wall_ns);
    check(fixture, "");
}

/* What comes after a pause, however much it is, is not taken for what came before. */
static void remembers_a_pause(void)
{
    struct fixture *fixture = make();
    struct jr_follower *stream = &fixture->streams[0];
    const struct jr_times *times = &fixture->times[0];
    stream->times = &fixture->times[0];
    fixture->times[0].count = 0;
    for (unsigned i = 1; i <= 8 * JR_TIMES_MOST; i++) {
        stream->shown.file.total = i;
        jr_catch_up_note_bytes(stream, 0);
        uint64_t until = jr_clock_wall_ns() + 50000000;
        while (i == 10 && jr_clock_wall_ns() < until)
            continue;
    }
    uint32_t after = 0;
    while (after < times->count && times->items[after].end <= 10)
        after++;
    CU_ASSERT_TRUE_FATAL(after > 0 && after < times->count);
    CU_ASSERT_EQUAL(times->items[after - 1].end, 10);
    CU_ASSERT_TRUE(times->items[after].wall_ns >= times->items[after - 1].wall_ns + 50000000);
    check(fixture, "");
}

/* Streams 0 and 1 with a byte and a newline at each time, in milliseconds;
 * `want` has the numbers of the streams in the order in which they are shown.
 */
static void keeps_to_any_times(void)
{
    static const struct {
        const char *want;
        unsigned times[2][5];
    } vectors[] = {
        {"0011", {{1000, 2000}, {3000, 4000}}},
        {"1100", {{3000, 4000}, {1000, 2000}}},
        {"100111", {{2000, 3000}, {1000, 4000, 5000, 6000}}},
        {"10", {{2000}, {1000}}},
        /* What came within a tenth of a second is shown in turns. */
        {"1010", {{1000, 1050}, {1001, 1051}}},
        {"101", {{1100}, {1000, 1150}}},
        {"110", {{1101}, {1000, 1100}}},
        /* Of a long time, what came within a part of it. */
        {"1011", {{4000}, {1000, 2000, 1000000}}},
        {"1101", {{5000}, {1000, 2000, 1000000}}},
        {"1101", {{1005000}, {1000000, 1002000, 2000000}}},
        {"10", {{1000}, {1100}}},
        {"0010", {{1000, 2000, 4000}, {3000}}},
    };
    for (size_t n = 0; n < sizeof vectors / sizeof vectors[0]; n++) {
        struct fixture *fixture = make();
        char want[64] = "";
        for (unsigned i = 0; i < 2; i++) {
            struct jr_times *times = &fixture->times[i];
            char text[16] = "";
            fixture->streams[i].times = times;
            times->count = 3; /* of what was shown before it was behind */
            for (unsigned k = 0; k < 8; k++)
                times->items[k] = (struct jr_time){k, 1 + k};
            add(fixture, i, (struct jr_shown){0});
            for (const unsigned *at = vectors[n].times[i]; *at != 0; at++) {
                (void)strncat(text, ".\n", sizeof text - strlen(text) - 1);
                times->items[times->count++] = (struct jr_time){strlen(text), *at * MS_NS};
            }
            fixture->streams[i].shown.file.total = strlen(text);
            keep(fixture, i, text);
        }
        for (const char *at = vectors[n].want; *at != '\0'; at++)
            (void)snprintf(want + strlen(want), sizeof want - strlen(want), "[%c] .\n", *at);
        check(fixture, want);
    }
}

/* When there is no room for one more time, that which is closest to the next goes, and nothing else
 * changes. */
static void forgets_the_closest_time(void)
{
    static const unsigned places[] = {0, 1, 100, JR_TIMES_MOST - 2};
    static const char other = 0x5a;
    for (size_t n = 0; n < sizeof places / sizeof places[0]; n++) {
        struct fixture *fixture = make();
        struct jr_follower *stream = &fixture->streams[0];
        struct jr_times *times = &fixture->times[0];
        stream->times = times;
        times->count = JR_TIMES_MOST;
        for (unsigned i = 0; i < JR_TIMES_MOST; i++)
            times->items[i] = (struct jr_time){1 + i, (1 + i) * SECOND_NS};
        if (places[n] > 0) /* else all are as close, and the first goes */
            times->items[places[n]].wall_ns += SECOND_NS / 2;
        memset(&fixture->times[1], other, sizeof fixture->times[1]);
        stream->shown.file.total = 1000;
        jr_catch_up_note_bytes(stream, 0);
        CU_ASSERT_EQUAL_FATAL(times->count, JR_TIMES_MOST);
        for (unsigned i = 0; i < JR_TIMES_MOST - 1; i++)
            CU_ASSERT_EQUAL(times->items[i].end, 1 + i + (i >= places[n]));
        CU_ASSERT_EQUAL(times->items[JR_TIMES_MOST - 1].end, 1000);
        CU_ASSERT_EQUAL(fixture->times[1].count, 0x5a5a5a5a);
        CU_ASSERT_EQUAL(memchr(&fixture->times[1], 0, sizeof *times), NULL);
        CU_ASSERT_TRUE(times->items[JR_TIMES_MOST - 1].wall_ns > JR_TIMES_MOST * SECOND_NS);
        check(fixture, "");
    }
}

/* The times are those at which the lines came, and what comes later has its own again. */
static void stamps_lines_with_their_time(void)
{
    struct fixture *fixture = make();
    fixture->lines.timestamps = true;
    fixture->streams[0].times = &fixture->times[0];
    fixture->streams[0].ended = false;
    keep(fixture, 0, "a\nb\n");
    add(fixture, 0, (struct jr_shown){.file.total = 4, .lost = 1});
    fixture->times[0] =
        (struct jr_times){.count = 2, .items = {{2, SECOND_NS}, {4, 2 * SECOND_NS}}};
    keep(fixture, 1, "c\n"); /* nobody knows when */
    add(fixture, 1, (struct jr_shown){.file.total = 2});
    jr_catch_up_step(&fixture->all, &fixture->console.outputs[0]);
    char held[1024] = "";
    int out = openat(fixture->files.dir_fd, "out", O_RDONLY);
    CU_ASSERT_TRUE(read(out, held, sizeof held - 1) > 0);
    (void)close(out);
    CU_ASSERT_PTR_NOT_NULL(strstr(held, "1970-01-01T00:00:01.000Z [0] a\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(held, "1970-01-01T00:00:02.000Z [0] b\n"));
    const char *note = strstr(held, "[0] [jobrun: 1 bytes are left out");
    CU_ASSERT_PTR_NOT_NULL_FATAL(note);
    CU_ASSERT_TRUE(memcmp(note - 25, "1970", 4) > 0);
    const char *line = strstr(held, "[1] c\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_TRUE(memcmp(line - 25, "1970", 4) > 0);
    end(fixture);
}

static void shows_a_single_byte(void)
{
    struct fixture *fixture = make();
    keep(fixture, 0, "a\nz");
    add(fixture, 0, (struct jr_shown){.file.total = 3, .at = 2});
    check(fixture, "[0] z\n");
}

/* Bytes that are lost while a stream is behind are told of in one number. */
static void counts_what_is_lost(void)
{
    struct fixture *fixture = make();
    add(fixture, 0, (struct jr_shown){.lost = 5});
    jr_catch_up_note_bytes(&fixture->streams[0], 30);
    jr_catch_up_note_bytes(&fixture->streams[0], 7);
    CU_ASSERT_EQUAL(fixture->times[0].count, 0);
    CU_ASSERT_TRUE(jr_catch_up_is_behind(&fixture->all));
    jr_catch_up_step(&fixture->all, &fixture->console.outputs[0]);
    CU_ASSERT_FALSE(jr_catch_up_is_behind(&fixture->all));
    add(fixture, 0, fixture->streams[0].shown); /* behind once more */
    jr_catch_up_note_bytes(&fixture->streams[0], 1);
    check(fixture, "[0] [jobrun: 42 bytes are left out here: the console was not read in time]\n"
                   "[0] [jobrun: 1 bytes are left out here: the console was not read in time]\n");
}

/* A turn shows so much, and then lets the loop have its turn; those that have to wait for others do
 * not count. */
static void shows_so_much_in_a_turn(void)
{
    struct fixture *fixture = make_piped((struct jr_console){0});
    struct jr_follower *streams = fixture->streams;
    keep_kib(fixture, 0, 1280);
    keep_kib(fixture, 1, 1);
    for (unsigned i = 0; i < 2; i++)
        streams[i].times = &fixture->times[i];
    add(fixture, 0, (struct jr_shown){.file.total = 1280 << 10});
    add(fixture, 1, (struct jr_shown){.file.total = 1 << 10});
    fixture->times[0] = (struct jr_times){1, {{1280 << 10, SECOND_NS}}};
    fixture->times[1] = (struct jr_times){1, {{1 << 10, 9 * SECOND_NS}}};
    CU_ASSERT_TRUE(jr_loop_turn(&fixture->loop, true) > 0);
    CU_ASSERT_EQUAL(fixture->room, 1);
    CU_ASSERT_EQUAL(streams[0].shown.at, 1024 << 10);
    CU_ASSERT_EQUAL(streams[1].shown.at, 0);
    CU_ASSERT_FALSE(jr_output_is_waiting(&fixture->console.outputs[0]));
    CU_ASSERT_EQUAL(jr_loop_turn(&fixture->loop, true), 0); /* it is full */
    CU_ASSERT_EQUAL(drain(fixture), 1024 << 10);
    CU_ASSERT_TRUE(jr_loop_turn(&fixture->loop, true) > 0);
    CU_ASSERT_EQUAL(drain(fixture), 257 << 10);
    CU_ASSERT_FALSE(jr_catch_up_is_behind(&fixture->all));
    CU_ASSERT_FALSE(streams[0].shown.behind || streams[1].shown.behind);
    CU_ASSERT_EQUAL(jr_loop_turn(&fixture->loop, true), 0);
    CU_ASSERT_EQUAL(fixture->room, 2);
    end(fixture);
}

/* So does one in which a stream comes to its end. */
static void ends_a_stream_in_a_turn(void)
{
    struct fixture *fixture = make_piped((struct jr_console){0});
    keep_kib(fixture, 0, 768);
    keep_kib(fixture, 1, 512);
    add(fixture, 0, (struct jr_shown){.file.total = 768 << 10});
    add(fixture, 1, (struct jr_shown){.file.total = 512 << 10});
    CU_ASSERT_TRUE(jr_loop_turn(&fixture->loop, true) > 0);
    CU_ASSERT_EQUAL(fixture->streams[0].shown.at, 512 << 10);
    CU_ASSERT_FALSE(fixture->streams[1].shown.behind);
    CU_ASSERT_EQUAL(drain(fixture), 1024 << 10);
    CU_ASSERT_TRUE(jr_loop_turn(&fixture->loop, true) > 0);
    CU_ASSERT_EQUAL(drain(fixture), 256 << 10);
    end(fixture);
}

/* Each output goes on by itself. */
static void keeps_the_outputs_apart(void)
{
    struct fixture *fixture = make_piped((struct jr_console){0});
    char held[64] = "";
    keep(fixture, 0, "out\n");
    keep(fixture, 2, "error\n");
    add(fixture, 2, (struct jr_shown){.file.total = 6});
    CU_ASSERT_TRUE(jr_catch_up_is_behind(&fixture->all));
    jr_catch_up_step(&fixture->all, &fixture->console.outputs[0]);
    CU_ASSERT_TRUE(jr_catch_up_is_behind(&fixture->all));
    add(fixture, 0, (struct jr_shown){.file.total = 4});
    jr_catch_up_step(&fixture->all, &fixture->console.outputs[1]);
    CU_ASSERT_TRUE(jr_catch_up_is_behind(&fixture->all));
    CU_ASSERT_EQUAL(read(fixture->pipe[0], held, sizeof held), -1);
    CU_ASSERT_EQUAL(read(fixture->err[0], held, sizeof held), 6);
    JR_ASSERT_TEXT(held, "error\n");
    jr_catch_up_step(&fixture->all, &fixture->console.outputs[0]);
    CU_ASSERT_FALSE(jr_catch_up_is_behind(&fixture->all));
    CU_ASSERT_EQUAL(drain(fixture), 4);
    end(fixture);
}

/* With console.collapse as well, in smaller pieces, so that the lines of all ranks meet; and the
 * lines that waited for the console go on to wait. */
static void collapses_what_it_shows(void)
{
    struct fixture *fixture = make_piped((struct jr_console){.collapse = true});
    struct jr_collapse *collapse = fixture->lines.collapse;
    CU_ASSERT_PTR_NOT_NULL_FATAL(collapse);
    for (unsigned i = 0; i < 2; i++) {
        keep_kib(fixture, i, 600);
        fixture->streams[i].ended = false;
        add(fixture, i, (struct jr_shown){.file.total = 600 << 10});
    }
    CU_ASSERT_TRUE(jr_loop_turn(&fixture->loop, true) > 0);
    CU_ASSERT_EQUAL(fixture->streams[0].shown.at, 512 << 10);
    CU_ASSERT_EQUAL(fixture->streams[1].shown.at, 512 << 10);
    CU_ASSERT_EQUAL(drain(fixture), (1024 + strlen("[0-1] ")) * 512);
    CU_ASSERT_TRUE(jr_loop_turn(&fixture->loop, true) > 0);
    CU_ASSERT_EQUAL(drain(fixture), (1024 + strlen("[0-1] ")) * 88);
    add(fixture, 0, fixture->streams[0].shown); /* of which there is no more */
    fixture->streams[0].shown.file.total = 600 << 10;
    CU_ASSERT_EQUAL(jr_feed_add(fixture->streams[0].feed, "one\n", 4), 4);
    collapse->timer.at = 0; /* as if it came while the console took nothing */
    CU_ASSERT_TRUE(jr_loop_turn(&fixture->loop, true) > 0);
    CU_ASSERT_NOT_EQUAL(collapse->timer.at, 0);
    CU_ASSERT_EQUAL(drain(fixture), 0);
    end(fixture);
}

/* Once it has caught up, an unfinished line is shown when it is due. */
static void awaits_the_rest_of_a_line(void)
{
    struct fixture *fixture = make_piped((struct jr_console){.partial_ms = 3600000});
    fixture->streams[0].ended = false;
    keep(fixture, 0, "a\nrest");
    add(fixture, 0, (struct jr_shown){.file.total = 6});
    CU_ASSERT_TRUE(fixture->streams[0].feed->held);
    CU_ASSERT_TRUE(jr_loop_turn(&fixture->loop, true) > 0);
    CU_ASSERT_EQUAL(drain(fixture), 2);
    CU_ASSERT_FALSE(fixture->streams[0].feed->held);
    CU_ASSERT_NOT_EQUAL(fixture->lines.partial.at, 0);
    CU_ASSERT_EQUAL(jr_feed_add(fixture->streams[0].feed, "!\n", 2), 2);
    CU_ASSERT_EQUAL(drain(fixture), strlen("rest!\n"));
    end(fixture);
}

/* A console that was closed has seen all that it will see. */
static void gives_up_a_console_that_has_gone(void)
{
    struct fixture *fixture = make_piped((struct jr_console){0});
    keep_kib(fixture, 0, 2);
    add(fixture, 0, (struct jr_shown){.file.total = 2 << 10, .lost = 9});
    jr_console_writer_abandon(&fixture->console);
    CU_ASSERT_FALSE(jr_catch_up_is_behind(&fixture->all));
    CU_ASSERT_FALSE(fixture->streams[0].shown.behind);
    CU_ASSERT_EQUAL(fixture->streams[0].shown.at, 2 << 10);
    CU_ASSERT_EQUAL(drain(fixture), 0);
    end(fixture);
}

/* Left as it is: a line that was begun is to be read again, from its start. */
static void leaves_the_beginning_of_a_line(void)
{
    struct fixture *fixture = make_piped((struct jr_console){0});
    struct jr_follower *streams = fixture->streams;
    for (unsigned i = 0; i < STREAMS; i++) {
        add(fixture, i, (struct jr_shown){.file.total = 1000});
        CU_ASSERT_EQUAL(jr_feed_add(streams[i].feed, "a\nbeg", 5), 5);
        streams[i].shown.at = 5;
    }
    streams[1].feed->begun = JR_BEGUN_SHOWN;
    jr_catch_up_leave(&fixture->all);
    for (unsigned i = 0; i < STREAMS; i++) {
        CU_ASSERT_EQUAL(streams[i].shown.at, 2);
        CU_ASSERT_TRUE(streams[i].shown.behind);
    }
    CU_ASSERT_EQUAL(streams[0].shown.begun, JR_BEGUN_NOTHING);
    CU_ASSERT_EQUAL(streams[1].shown.begun, JR_BEGUN_SHOWN);
    CU_ASSERT_FALSE(jr_catch_up_is_behind(&fixture->all));
    CU_ASSERT_EQUAL(jr_loop_turn(&fixture->loop, true), 0);
    CU_ASSERT_EQUAL(fixture->room, 0);
    end(fixture);
}

int main(void)
{
    static const struct jr_unit_case cases[] = {
        CASE(gives_up_a_console_that_has_gone),
        CASE(counts_what_is_lost),
        CASE(goes_on_where_it_was),
        CASE(shows_a_single_byte),
        CASE(tells_of_what_is_not_there),
        CASE(tells_of_a_limit),
        CASE(begins_within_a_gap),
        CASE(begins_at_the_end_of_a_gap),
        CASE(keeps_to_the_time),
        CASE(keeps_to_any_times),
        CASE(stamps_lines_with_their_time),
        CASE(remembers_times_more_coarsely),
        CASE(remembers_a_pause),
        CASE(forgets_the_closest_time),
        CASE(shows_so_much_in_a_turn),
        CASE(ends_a_stream_in_a_turn),
        CASE(keeps_the_outputs_apart),
        CASE(collapses_what_it_shows),
        CASE(awaits_the_rest_of_a_line),
        CASE(leaves_the_beginning_of_a_line),
    };
    return jr_unit_run("catch_up", cases, sizeof cases / sizeof cases[0]);
}
