#include "output/catch_up.h"
#include "base/clock.h"
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"

#define SECOND_NS UINT64_C(1000000000)

/* Two streams that are behind, whose console is a file. */
struct fixture {
    char folder[64];
    struct jr_logfiles files;
    struct jr_loop loop;
    struct jr_console_writer screen;
    struct jr_policy policy;
    struct jr_plan_rank ranks[2];
    struct jr_plan plan;
    struct jr_line_writer lines;
    struct jr_catch_up all;
    struct jr_follower streams[2];
    struct jr_times times[2];
    char bytes[JR_CATCH_UP_STEP];
};

static const char *const paths[] = {"0.log", "1.log"};

static void begin(struct fixture *fixture)
{
    *fixture = (struct fixture){.folder = "/tmp/jobrun behind XXXXXX"};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(fixture->folder));
    fixture->files.dir_fd = open(fixture->folder, O_RDONLY | O_DIRECTORY);
    int out = openat(fixture->files.dir_fd, "out", O_CREAT | O_WRONLY, 0600);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&fixture->loop), 0);
    jr_console_writer_open(&fixture->screen, &fixture->loop, out, -1);
    fixture->ranks[0].prefix = "[0] ";
    fixture->ranks[1].prefix = "[1] ";
    fixture->plan = (struct jr_plan){
        .policy = &fixture->policy, .ranks = fixture->ranks, .count = 2};
    CU_ASSERT_EQUAL_FATAL(jr_line_writer_open(&fixture->lines, NULL, &fixture->screen,
                                        &fixture->plan, false),
                          0);
    fixture->all = (struct jr_catch_up){.screen = &fixture->screen,
                                        .lines = &fixture->lines,
                                        .files = &fixture->files,
                                        .bytes = fixture->bytes};
    for (uint32_t i = 0; i < 2; i++)
        fixture->streams[i] = (struct jr_follower){
            .feed = jr_line_writer_feed(&fixture->lines, i, &fixture->ranks[i], 0),
            .path = paths[i],
            .ended = true};
}

static struct fixture *make(void)
{
    struct fixture *fixture = malloc(sizeof *fixture);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fixture);
    begin(fixture);
    return fixture;
}

static void keep(const struct fixture *fixture, unsigned i, const char *text)
{
    int fd = openat(fixture->files.dir_fd, paths[i],
                    O_CREAT | O_WRONLY | O_TRUNC, 0600);
    CU_ASSERT_EQUAL(jr_io_write_all(fd, text, strlen(text)), 0);
    (void)close(fd);
}

/* A stream is behind like this. */
static void add(struct fixture *fixture, unsigned i, struct jr_shown shown)
{
    fixture->streams[i].shown = shown;
    jr_catch_up_add(&fixture->all, &fixture->streams[i]);
}

/* What the console shows, once it has caught up; the end of the fixture. */
static void check(struct fixture *fixture, const char *want)
{
    char held[4096] = "";
    jr_catch_up_step(&fixture->all, &fixture->screen.outputs[0]);
    CU_ASSERT_FALSE(jr_catch_up_is_behind(&fixture->all));
    int out = openat(fixture->files.dir_fd, "out", O_RDONLY);
    CU_ASSERT_TRUE(read(out, held, sizeof held - 1) >= 0);
    JR_ASSERT_TEXT(held, want);
    (void)close(out);
    (void)close(fixture->screen.outputs[0].watch.fd);
    jr_line_writer_close(&fixture->lines);
    jr_console_writer_close(&fixture->screen);
    for (unsigned i = 0; i < 2; i++)
        (void)unlinkat(fixture->files.dir_fd, paths[i], 0);
    (void)unlinkat(fixture->files.dir_fd, "out", 0);
    (void)close(fixture->files.dir_fd);
    (void)close(fixture->loop.epoll_fd);
    CU_ASSERT_EQUAL(rmdir(fixture->folder), 0);
    free(fixture);
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
    check(
        fixture,
        "[0] a\n"
        "[1] [jobrun: 50 bytes are left out here: the log no longer has them]\n"
        "[0] [jobrun: 100 bytes are left out here: the log no longer has "
        "them]\n"
        "[0] [jobrun: 7 bytes are left out here: the console was not read in "
        "time]\n");
}

static void tells_of_a_limit(void)
{
    struct fixture *fixture = make();
    keep(fixture, 0, "a\nMARKER\nz\n");
    add(fixture, 0,
        (struct jr_shown){
            .file = {.total = 1002, .head = 2, .cut = 1000, .marker = 7}});
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
        (struct jr_shown){
            .file = {.total = 1002, .head = 2, .cut = 1000, .marker = 7},
            .at = 500});
    check(fixture, "[0] [jobrun: log_limit: 500 bytes left out here]\n"
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
            .count = 2,
            .items = {{2, (1 + i) * SECOND_NS}, {4, (3 + i) * SECOND_NS}}};
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
        jr_catch_up_came(stream, 0);
        CU_ASSERT_TRUE(times->count <= JR_TIMES_MOST);
        CU_ASSERT_EQUAL(times->items[times->count - 1].end, i);
    }
    CU_ASSERT_TRUE(times->count > JR_TIMES_MOST / 4);
    for (uint32_t i = 1; i < times->count; i++)
        CU_ASSERT_TRUE(times->items[i - 1].end < times->items[i].end &&
                       times->items[i - 1].wall_ns <= times->items[i].wall_ns);
    check(fixture, "");
}

/* What comes after a pause, however much it is, is not taken for what came
 * before. */
static void remembers_a_pause(void)
{
    struct fixture *fixture = make();
    struct jr_follower *stream = &fixture->streams[0];
    const struct jr_times *times = &fixture->times[0];
    stream->times = &fixture->times[0];
    fixture->times[0].count = 0;
    for (unsigned i = 1; i <= 8 * JR_TIMES_MOST; i++) {
        stream->shown.file.total = i;
        jr_catch_up_came(stream, 0);
        uint64_t until = jr_clock_wall_ns() + 50000000;
        while (i == 10 && jr_clock_wall_ns() < until)
            continue;
    }
    uint32_t after = 0;
    while (after < times->count && times->items[after].end <= 10)
        after++;
    CU_ASSERT_TRUE_FATAL(after > 0 && after < times->count);
    CU_ASSERT_EQUAL(times->items[after - 1].end, 10);
    CU_ASSERT_TRUE(times->items[after].wall_ns >=
                   times->items[after - 1].wall_ns + 50000000);
    check(fixture, "");
}

JR_UNIT_MAIN("catch_up", CASE(goes_on_where_it_was),
             CASE(tells_of_what_is_not_there), CASE(tells_of_a_limit),
             CASE(begins_within_a_gap), CASE(keeps_to_the_time),
             CASE(remembers_times_more_coarsely), CASE(remembers_a_pause))
