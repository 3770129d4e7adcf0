/* The three ranks of a node that is not the first, whose lines go to a file, a terminal, or a pipe
 * that is full. */
#include "output/line_writer.h"

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "scratch.h"
#include "terminal.h"

#define WALL_NS UINT64_C(1700000000123456789) /* 2023-11-14T22:13:20.123Z */

enum { PIECE = 64 << 10, RANKS = 3 };

struct desk {
    struct scratch scratch;
    struct jr_loop loop;
    struct jr_console_writer console;
    struct jr_policy policy;
    struct jr_plan_rank ranks[7], setup; /* 4 to 6 are this node's */
    struct jr_plan plan;
    struct jr_line_writer lines;
    struct jr_feed *feeds[RANKS + 1][2];
    int fds[2];
};

/* The console as `console` has it, on two descriptors, which are taken over. */
static void begin_at(struct desk *desk, const struct jr_console *console, int out, int err)
{
    desk->policy.console = *console;
    desk->fds[0] = out;
    desk->fds[1] = err;
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&desk->loop), 0);
    jr_console_writer_open(&desk->console, &desk->loop, out, err);
    static const char *const prefixes[] = {"[4] ", "[5] ", "[6] "};
    for (uint32_t i = 0; i < RANKS; i++)
        desk->ranks[4 + i] =
            (struct jr_plan_rank){.rank = 4 + i, .prefix = prefixes[i], .around = {"[", "] "}};
    desk->setup = (struct jr_plan_rank){.prefix = "setup: "};
    desk->plan =
        (struct jr_plan){.policy = &desk->policy, .ranks = desk->ranks, .first = 4, .count = RANKS};
    CU_ASSERT_EQUAL_FATAL(
        jr_line_writer_open(&desk->lines, &desk->loop, &desk->console, &desk->plan, false), 0);
    desk->lines.wall_ns = WALL_NS;
    for (uint32_t i = 0; i < RANKS; i++)
        for (int number = 0; number < 2; number++)
            desk->feeds[i][number] =
                jr_line_writer_feed(&desk->lines, i, &desk->ranks[4 + i], number);
}

static void begin(struct desk *desk, const struct jr_console *console)
{
    *desk = (struct desk){0};
    scratch_start(&desk->scratch);
    int out = openat(desk->scratch.fd, "out", O_RDWR | O_CREAT, 0600);
    int err = openat(desk->scratch.fd, "err", O_RDWR | O_CREAT, 0600);
    begin_at(desk, console, out, err);
}

static void end(struct desk *desk)
{
    jr_line_writer_close(&desk->lines);
    jr_console_writer_close(&desk->console);
    for (int i = 0; i < 2; i++)
        if (desk->fds[i] >= 0)
            (void)close(desk->fds[i]);
    (void)close(desk->loop.epoll_fd);
    scratch_end(&desk->scratch);
}

/* For the rest of the block. */
#define DESK(name, ...)                                                                            \
    struct desk name RELEASE(end);                                                                 \
    begin(&name, __VA_ARGS__)

static const char *shown(const struct desk *desk, int number)
{
    static char text[2][PIECE * 4];
    ssize_t len = pread(desk->fds[number], text[number], sizeof text[number] - 1, 0);
    text[number][len > 0 ? len : 0] = '\0';
    return text[number];
}

static void add(struct desk *desk, uint32_t i, int number, const char *text)
{
    CU_ASSERT_EQUAL(jr_feed_add(desk->feeds[i][number], text, strlen(text)), strlen(text));
}

/* RANK, then = for standard output or ! for standard error, and the bytes; or a dot and nothing for
 * the end of the stream, or # and a note. "f": show what waits. */
static void play(struct desk *desk, const char *step)
{
    uint32_t rank = (uint32_t)(step[0] - '0');
    int number = step[1] == '!';
    if (rank == RANKS) /* which has nobody's lines in common */
        desk->feeds[rank][number] = jr_line_writer_feed(&desk->lines, rank, &desk->setup, number);
    if (step[0] == 'f')
        jr_line_writer_flush(&desk->lines);
    else if (step[2] == '.')
        jr_feed_end(desk->feeds[rank][number]);
    else if (step[2] == '#')
        jr_feed_note(desk->feeds[rank][number], step + 3, strlen(step + 3));
    else
        add(desk, rank, number, step + 2);
}

struct vector {
    struct jr_console console;
    const char *steps[6], *out, *err;
};

static void check(const struct vector *vector)
{
    DESK(desk, &vector->console);
    for (size_t i = 0; i < 6 && vector->steps[i] != NULL; i++)
        play(&desk, vector->steps[i]);
    if (strcmp(shown(&desk, 0), vector->out) != 0)
        printf("\n    after %s", vector->steps[0]);
    JR_ASSERT_TEXT(shown(&desk, 0), vector->out);
    JR_ASSERT_TEXT(shown(&desk, 1), vector->err == NULL ? "" : vector->err);
}

TEST(makes_lines_whole)
{
    static const struct vector vectors[] = {
        {.steps = {"0=a"}, .out = ""},
        {.steps = {"0=a\n"}, .out = "[4] a\n"},
        {.steps = {"0=\n"}, .out = "[4] \n"},
        {.steps = {"0=\n\n"}, .out = "[4] \n[4] \n"},
        {.steps = {"0=a", "0=b", "0=c\nd"}, .out = "[4] abc\n"},
        {.steps = {"0=a", "1=b\n", "0=c\n"}, .out = "[5] b\n[4] ac\n"},
        {.steps = {"0=a\nb\nc", "0=."}, .out = "[4] a\n[4] b\n[4] c\n"},
        {.steps = {"0=a", "0!b\n", "0=\n"}, .out = "[4] a\n", .err = "[4] b\n"},
        {.steps = {"0=.", "1=a\n"}, .out = "[5] a\n"},
        {.steps = {"3=a\n", "3!b\n"}, .out = "setup: a\n", .err = "setup: b\n"},
        {.steps = {"0=10%\r20%\r30%\n"}, .out = "[4] 30%\n"},
        {.steps = {"0=10%\r", "0=20%\r", "0=30%", "0=\n"}, .out = "[4] 30%\n"},
        {.steps = {"0=dos\r\nunix\n"}, .out = "[4] dos\n[4] unix\n"},
        {.steps = {"0=a\rb", "0=."}, .out = "[4] b\n"},
        {.steps = {"0=\033[31mred\a\n"}, .out = "[4] \033[31mred\a\n"},
        {.steps = {"0=a", "0=#note", "0=b\n"}, .out = "[4] a\n[4] note\n[4] b\n"},
        {.steps = {"0=#note"}, .out = "[4] note\n"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check(&vectors[i]);
}

#define STAMP "2023-11-14T22:13:20.123Z "

TEST(says_when)
{
    static const struct vector vectors[] = {
        {{.timestamps = true}, {"0=a\nb\n"}, STAMP "[4] a\n" STAMP "[4] b\n", NULL},
        {{.timestamps = true}, {"0=1\r2\n", "0!c\n"}, STAMP "[4] 2\n", STAMP "[4] c\n"},
        {{.timestamps = true, .collapse = true}, {"0=a\n", "1=a\n", "f"}, STAMP "[4-5] a\n", NULL},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check(&vectors[i]);
}

TEST(leaves_lines_out)
{
    static char keep[] = "^keep", drop[] = "drop", empty[] = "^$", any[] = "a.b";
    static const struct vector vectors[] = {
        {{.show = keep}, {"0=keep\nno\n", "1!a\nkeep it\n"}, "[4] keep\n", "[5] keep it\n"},
        {{.hide = drop}, {"0=a drop\nb\n"}, "[4] b\n", NULL},
        {{.show = keep, .hide = drop}, {"0=keep\nkeep, drop\nx\n"}, "[4] keep\n", NULL},
        {{.show = keep}, {"0=ke", "0=ep\nkeep", "0=."}, "[4] keep\n[4] keep\n", NULL},
        {{.show = keep}, {"0=no\rkeep\n", "0=keep\rno\n"}, "[4] keep\n", NULL},
        {{.show = keep}, {"0=no", "0=#note", "0=keep\n"}, "[4] note\n[4] keep\n", NULL},
        {{.show = keep, .collapse = true}, {"0=no\nkeep\n", "1=keep\n", "f"}, "[4-5] keep\n", NULL},
        {{.show = empty}, {"0=\na\n"}, "[4] \n", NULL},
        {{.show = any},
         {"0=\xff"
          "a\tb\n"},
         "[4] \xff"
         "a\tb\n",
         NULL},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check(&vectors[i]);
}

/* The same line of several ranks becomes one, by their numbers in the world, and each rank's lines
 * keep their order; the setup's stay by themselves. */
TEST(joins_lines_of_ranks)
{
    static const struct vector vectors[] = {
        {{.collapse = true}, {"0=a\n"}, "", NULL},
        {{.collapse = true}, {"0=a\n", "1=a\n", "2=a\n", "0=b\n"}, "[4-6] a\n", NULL},
        {{.collapse = true}, {"0=a\n", "1=b\n", "2=a\n", "f"}, "[4,6] a\n[5] b\n", NULL},
        {{.collapse = true}, {"0=a\na\n", "1=a\n", "f"}, "[4-5] a\n[4] a\n", NULL},
        {{.collapse = true}, {"0=a\nb\n", "1=b\na\n", "f"}, "[4] a\n[4-5] b\n[5] a\n", NULL},
        {{.collapse = true}, {"0=a\n", "1=b\na\n", "0=b\n", "f"}, "[4] a\n[4-5] b\n[5] a\n", NULL},
        {{.collapse = true}, {"0=a\n", "1!a\n", "2=a\n", "f"}, "[4,6] a\n", "[5] a\n"},
        {{.collapse = true}, {"0=a\nb\nc\n", "1=a\nc\n", "f"}, "[4-5] a\n[4] b\n[4-5] c\n", NULL},
        {{.collapse = true},
         {"0=\naaaaaaaab\n", "1=\naaaaaaaac\n", "f"},
         "[4-5] \n[4] aaaaaaaab\n[5] aaaaaaaac\n",
         NULL},
        {{.collapse = true}, {"0=a\n", "0=.", "1=a\n", "1=b\n"}, "[4-5] a\n", NULL},
        {{.collapse = true}, {"0=x\ra\n", "1!a\n", "1=a\n", "f"}, "[4-5] a\n", "[5] a\n"},
        {{.collapse = true}, {"3=a\n"}, "setup: a\n", NULL},
        {{.collapse = false}, {"0=a\n", "1=a\n"}, "[4] a\n[5] a\n", NULL},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check(&vectors[i]);
}

/* What stands around the ranks is part of the line. */
TEST(keeps_other_prefixes_apart)
{
    DESK(desk, &(struct jr_console){.collapse = true});
    desk.ranks[5].around[0] = "[x";
    for (uint32_t i = 0; i < RANKS; i++)
        add(&desk, i, 0, "a\n");
    desk.ranks[6].around[1] = "]: ";
    add(&desk, 0, 0, "b\n");
    add(&desk, 2, 0, "b\n");
    jr_line_writer_flush(&desk.lines);
    JR_ASSERT_TEXT(shown(&desk, 0), "[4,6] a\n[5] a\n[4] b\n[6] b\n");
}

/* Ranks beyond the first word of bits, from a rank that is not 0 on. */
TEST(knows_many_ranks)
{
    static struct jr_plan_rank ranks[200];
    DESK(desk, &(struct jr_console){.collapse = true});
    jr_line_writer_close(&desk.lines);
    for (uint32_t i = 0; i < 200; i++)
        ranks[i] = (struct jr_plan_rank){.rank = 1000 + i, .prefix = "", .around = {"", "="}};
    desk.plan = (struct jr_plan){.policy = &desk.policy, .ranks = ranks, .count = 200};
    CU_ASSERT_EQUAL_FATAL(
        jr_line_writer_open(&desk.lines, &desk.loop, &desk.console, &desk.plan, false), 0);
    for (uint32_t i = 0; i < 200; i++)
        (void)jr_line_writer_feed(&desk.lines, i, &ranks[i], 0);
    for (uint32_t i = 0; i < 200; i += 67)
        CU_ASSERT_EQUAL(jr_feed_add(&desk.lines.feeds[2 * i], "a\nb\n", 4), 4);
    jr_line_writer_flush(&desk.lines);
    JR_ASSERT_TEXT(shown(&desk, 0), "1000,1067,1134=a\n1000,1067,1134=b\n");
}

/* The last line for which there is room waits with the others; with one more, or a byte more, the
 * first one leaves, and no other. */
TEST(bounds_what_waits)
{
    char *line = malloc(JR_COLLAPSE_BYTES_MOST);
    struct desk desk;
    struct stat st;
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    begin(&desk, &(struct jr_console){.collapse = true});
    for (int i = 0; i < JR_COLLAPSE_LINES_MOST - 1; i++)
        add(&desk, 0, 0, i == 0 ? "first\n" : "\n");
    add(&desk, 1, 0, "\n");
    JR_ASSERT_TEXT(shown(&desk, 0), "");
    add(&desk, 2, 0, "last\n");
    JR_ASSERT_TEXT(shown(&desk, 0), "[4] first\n");
    end(&desk);
    begin(&desk, &(struct jr_console){.collapse = true});
    memset(line, 'x', JR_COLLAPSE_BYTES_MOST - 2);
    line[JR_COLLAPSE_BYTES_MOST - 3] = '\n';
    CU_ASSERT_EQUAL(jr_feed_add(desk.feeds[0][0], line, JR_COLLAPSE_BYTES_MOST - 2),
                    JR_COLLAPSE_BYTES_MOST - 2);
    add(&desk, 1, 0, "b\n");
    add(&desk, 2, 0, "b\n"); /* which is another rank of the same line */
    CU_ASSERT_EQUAL(desk.lines.collapse->bytes, JR_COLLAPSE_BYTES_MOST);
    CU_ASSERT_EQUAL(fstat(desk.fds[0], &st), 0);
    CU_ASSERT_EQUAL(st.st_size, 0);
    add(&desk, 2, 0, "c\n");
    CU_ASSERT_EQUAL(fstat(desk.fds[0], &st), 0);
    CU_ASSERT_EQUAL(st.st_size, JR_COLLAPSE_BYTES_MOST - 2 + 4);
    CU_ASSERT_EQUAL(desk.lines.collapse->bytes, 4);
    end(&desk);
    free(line);
}

/* A line that came later waits longer. */
TEST(lets_lines_go_one_after_the_other)
{
    DESK(desk, &(struct jr_console){.collapse = true});
    const uint64_t *at = &desk.lines.collapse->timer.at;
    add(&desk, 0, 0, "a\n");
    uint64_t until = jr_clock_ns() + JR_COLLAPSE_WAIT_NS * 9 / 10;
    while (jr_clock_ns() < until)
        continue;
    uint64_t second = jr_clock_ns();
    add(&desk, 1, 0, "b\n");
    while (strcmp(shown(&desk, 0), "") == 0)
        (void)jr_loop_turn(&desk.loop, false);
    bool both = strcmp(shown(&desk, 0), "[4] a\n") != 0;
    CU_ASSERT_TRUE(!both || jr_clock_ns() >= second + JR_COLLAPSE_WAIT_NS);
    CU_ASSERT_EQUAL(both, *at == 0);
    CU_ASSERT_TRUE(both || *at >= second + JR_COLLAPSE_WAIT_NS);
    while (*at != 0)
        (void)jr_loop_turn(&desk.loop, false);
    JR_ASSERT_TEXT(shown(&desk, 0), "[4] a\n[5] b\n");
}

/* A pattern that takes too many steps hides its line, and after a hundred of them nothing. */
TEST(gives_up_a_pattern_that_takes_too_long)
{
    static const char line[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n";
    DESK(desk, &(struct jr_console){.show = (char[]){"^(a+)+$"}});
    for (int i = 0; i < JR_FILTER_LIMITED_MOST; i++)
        add(&desk, 0, 0, line);
    JR_ASSERT_TEXT(shown(&desk, 0), "");
    CU_ASSERT_EQUAL(desk.lines.limited, JR_FILTER_LIMITED_MOST);
    add(&desk, 0, 0, line);
    CU_ASSERT_EQUAL(strlen(shown(&desk, 0)), 4 + strlen(line));
}

/* Turn the loop until the console shows a text, or nothing more will happen. */
static void turn_until(struct desk *desk, const char *text)
{
    while (desk->lines.partial.at != 0 && strcmp(shown(desk, 0), text) != 0)
        (void)jr_loop_turn(&desk->loop, false);
}

TEST(shows_an_unfinished_line_after_a_while)
{
    struct desk desk;
    begin(&desk, &(struct jr_console){.partial_ms = 20});
    add(&desk, 0, 0, "half");
    JR_ASSERT_TEXT(shown(&desk, 0), "");
    uint64_t at = desk.lines.partial.at;
    CU_ASSERT_NOT_EQUAL(at, 0);
    add(&desk, 1, 0, "other"); /* it puts nothing off */
    CU_ASSERT_EQUAL(desk.lines.partial.at, at);
    jr_feed_hold(desk.feeds[1][0], true);
    turn_until(&desk, "[4] half\\\n");
    JR_ASSERT_TEXT(shown(&desk, 0), "[4] half\\\n");
    CU_ASSERT_EQUAL(desk.lines.partial.at, 0); /* the other is held */
    jr_feed_hold(desk.feeds[1][0], false);
    CU_ASSERT_NOT_EQUAL(desk.lines.partial.at, 0);
    add(&desk, 0, 0, " whole\n");
    turn_until(&desk, "[4] half\\\n[4]  whole\n[5] other\\\n");
    JR_ASSERT_TEXT(shown(&desk, 0), "[4] half\\\n[4]  whole\n[5] other\\\n");
    add(&desk, 0, 0, "10%\r"); /* what redraws itself waits for its end */
    CU_ASSERT_EQUAL(desk.lines.partial.at, 0);
    desk.lines.partial.due(desk.lines.partial.owner);
    JR_ASSERT_TEXT(shown(&desk, 0), "[4] half\\\n[4]  whole\n[5] other\\\n");
    end(&desk);
    begin(&desk, &(struct jr_console){.partial_ms = 0});
    add(&desk, 0, 0, "half");
    CU_ASSERT_EQUAL(desk.lines.partial.at, 0);
    end(&desk);
    begin(&desk, &(struct jr_console){.partial_ms = 20, .show = (char[]){"x"}});
    add(&desk, 0, 0, "half");
    CU_ASSERT_EQUAL(desk.lines.partial.at, 0);
    end(&desk);
}

/* Of lines that wait, each is shown in its turn, and the timer is that of the next: an hour is more
 * than any test takes. */
TEST(shows_unfinished_lines_one_by_one)
{
    static const uint64_t hour_ns = 3600 * UINT64_C(1000000000);
    DESK(desk, &(struct jr_console){.partial_ms = 3600000});
    struct jr_feed *first = desk.feeds[1][0], *second = desk.feeds[0][0], *third = desk.feeds[1][1];
    add(&desk, 1, 0, "first");
    add(&desk, 0, 0, "second");
    add(&desk, 1, 1, "third");
    third->rest_since += hour_ns;
    first->rest_since -= hour_ns;
    desk.lines.partial.due(desk.lines.partial.owner);
    JR_ASSERT_TEXT(shown(&desk, 0), "[5] first\\\n");
    CU_ASSERT_EQUAL(desk.lines.partial.at, second->rest_since + hour_ns);
    second->rest_since -= hour_ns;
    desk.lines.partial.due(desk.lines.partial.owner);
    JR_ASSERT_TEXT(shown(&desk, 0), "[5] first\\\n[4] second\\\n");
    CU_ASSERT_EQUAL(desk.lines.partial.at, third->rest_since + hour_ns);
    JR_ASSERT_TEXT(shown(&desk, 1), "");
    third->rest_since -= 2 * hour_ns;
    desk.lines.partial.due(desk.lines.partial.owner);
    JR_ASSERT_TEXT(shown(&desk, 1), "[5] third\\\n");
    CU_ASSERT_EQUAL(desk.lines.partial.at, 0);
}

TEST(breaks_a_line_that_does_not_end)
{
    static char wide[PIECE + 1];
    DESK(desk, &(struct jr_console){0});
    memset(wide, 'w', PIECE);
    CU_ASSERT_EQUAL(jr_feed_add(desk.feeds[0][0], wide, PIECE - 1), PIECE - 1);
    CU_ASSERT_EQUAL(strlen(shown(&desk, 0)), 0);
    add(&desk, 0, 0, "w");
    const char *text = shown(&desk, 0);
    CU_ASSERT_EQUAL(strlen(text), 4 + PIECE + 2);
    JR_ASSERT_TEXT(text + 4 + PIECE, "\\\n");
    add(&desk, 0, 0, "x\n");
    JR_ASSERT_TEXT(shown(&desk, 0) + 4 + PIECE + 2, "[4] x\n");
}

/* Its beginning decides of a line that is shown in pieces. */
TEST(hides_all_of_a_line)
{
    static char wide[PIECE + 1];
    DESK(desk, &(struct jr_console){.hide = (char[]){"^ww"}});
    memset(wide, 'w', PIECE);
    CU_ASSERT_EQUAL(jr_feed_add(desk.feeds[0][0], wide, PIECE), PIECE);
    add(&desk, 0, 0, "x\ny\n");
    JR_ASSERT_TEXT(shown(&desk, 0), "[4] y\n");
    memset(wide, 'v', PIECE);
    CU_ASSERT_EQUAL(jr_feed_add(desk.feeds[0][0], wide, PIECE), PIECE);
    add(&desk, 0, 0, "ww\nww\n");
    CU_ASSERT_EQUAL(strlen(shown(&desk, 0)), 6 + 4 + PIECE + 2 + 4 + 3);
}

/* Lines are given back while the console is full. */
TEST(takes_no_more_than_the_console)
{
    static char bytes[3 << 20];
    struct desk desk = {0};
    int ends[2];
    scratch_start(&desk.scratch);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    begin_at(&desk, &(struct jr_console){0}, ends[1], -1);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i % 64 == 63 ? '\n' : 'a';
    size_t taken = jr_feed_add(desk.feeds[0][0], bytes, sizeof bytes);
    CU_ASSERT_TRUE(taken > 1 << 20 && taken < sizeof bytes && taken % 64 == 0);
    CU_ASSERT_EQUAL(jr_feed_add(desk.feeds[0][0], bytes, 64), 0);
    CU_ASSERT_EQUAL(jr_feed_add(desk.feeds[1][0], bytes, 64), 0);
    (void)close(ends[0]);
    end(&desk);
}

/* A line that waits for the same one of another rank is let go after a while; but not while the
 * console is full, for there is time then. */
TEST(keeps_lines_while_the_console_is_full)
{
    static char bytes[1 << 20];
    struct desk desk = {0};
    int ends[2];
    scratch_start(&desk.scratch);
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    while (write(ends[1], bytes, sizeof bytes) > 0)
        continue;
    begin_at(&desk, &(struct jr_console){.collapse = true}, ends[1], -1);
    const struct jr_output *out = desk.console.streams[0];
    add(&desk, 0, 0, "one\n");
    CU_ASSERT_EQUAL(out->backlog.len, 0);
    while (desk.lines.collapse->timer.at != 0)
        (void)jr_loop_turn(&desk.loop, false);
    CU_ASSERT_EQUAL(out->backlog.len, strlen("[4] one\n"));
    add(&desk, 0, 0, "two\n");
    while (desk.lines.collapse->timer.at != 0)
        (void)jr_loop_turn(&desk.loop, false);
    CU_ASSERT_EQUAL(out->backlog.len, strlen("[4] one\n"));
    uint64_t before = jr_clock_ns();
    jr_line_writer_resume(&desk.lines);
    uint64_t at = desk.lines.collapse->timer.at;
    CU_ASSERT_TRUE(at >= before + JR_COLLAPSE_WAIT_NS && at <= jr_clock_ns() + JR_COLLAPSE_WAIT_NS);
    add(&desk, 1, 0, "two\n");
    CU_ASSERT_EQUAL(desk.lines.collapse->timer.at, at);
    jr_line_writer_flush(&desk.lines);
    CU_ASSERT_EQUAL(out->backlog.len, strlen("[4] one\n[4-5] two\n"));
    jr_line_writer_resume(&desk.lines); /* of which there is nothing */
    CU_ASSERT_EQUAL(desk.lines.collapse->timer.at, 0);
    (void)close(ends[0]);
    end(&desk);
}

/* A terminal in raw mode; its other end is returned. */
static int begin_terminal(struct desk *desk, const struct jr_console *console,
                          unsigned short columns)
{
    int master, slave;
    struct winsize size = {.ws_col = columns, .ws_row = 25};
    struct termios raw;
    *desk = (struct desk){0};
    scratch_start(&desk->scratch);
    CU_ASSERT_EQUAL_FATAL(openpty(&master, &slave, NULL, NULL, &size), 0);
    CU_ASSERT_EQUAL(tcgetattr(slave, &raw), 0);
    cfmakeraw(&raw);
    CU_ASSERT_EQUAL(tcsetattr(slave, TCSANOW, &raw), 0);
    begin_at(desk, console, slave, slave);
    desk->fds[1] = -1;
    return master;
}

/* All that the terminal was sent since the last call. Static. */
static const char *sent(const struct desk *desk, int master)
{
    static char text[4096];
    return terminal_text(master, desk->fds[0], text, sizeof text);
}

#define ERASE "\r\033[K"

TEST(is_careful_with_a_terminal)
{
    struct desk desk;
    int master = begin_terminal(&desk, &(struct jr_console){0}, 20);
    add(&desk, 0, 0, "\033[2J\033[31mred\a\n");
    JR_ASSERT_TEXT(sent(&desk, master), "[4] red\\x07\n");
    desk.lines.color = true;
    add(&desk, 0, 0, "\033[2J\033[31mred\n");
    JR_ASSERT_TEXT(sent(&desk, master), "[4] \033[31mred\033[0m\n");
    /* A line that redraws itself stands below, cut to the width. */
    add(&desk, 1, 1, "10%\r20% of very much more");
    JR_ASSERT_TEXT(sent(&desk, master), ERASE "[5] 20% of very muc");
    add(&desk, 0, 0, "a\n");
    JR_ASSERT_TEXT(sent(&desk, master), ERASE "[4] a\n");
    add(&desk, 1, 1, "\r100%\n");
    JR_ASSERT_TEXT(sent(&desk, master), "[5] 100%\n");
    end(&desk);
    (void)close(master);
}

TEST(keeps_a_bar_that_is_hidden_off_the_terminal)
{
    struct desk desk;
    int master = begin_terminal(&desk, &(struct jr_console){.hide = (char[]){"%"}}, 0);
    add(&desk, 0, 0, "10%\r20%");
    JR_ASSERT_TEXT(sent(&desk, master), "");
    add(&desk, 0, 0, "\rdone");
    JR_ASSERT_TEXT(sent(&desk, master), ERASE "[4] done");
    add(&desk, 0, 0, "\n");
    JR_ASSERT_TEXT(sent(&desk, master), ERASE "[4] done\n");
    end(&desk);
    (void)close(master);
}

/* What redraws itself for ever takes no more memory than its last state, and stands for the bytes
 * of that only. */
TEST(keeps_the_last_state_of_a_bar)
{
    DESK(desk, &(struct jr_console){0});
    for (int i = 0; i < 100000; i++)
        add(&desk, 0, 0, "\r  7% done");
    CU_ASSERT_TRUE(desk.feeds[0][0]->rest_len < 32 && desk.feeds[0][0]->rest_bytes < 32);
    CU_ASSERT_TRUE(desk.feeds[0][0]->rest_bytes >= 9);
    add(&desk, 0, 0, "\n");
    JR_ASSERT_TEXT(shown(&desk, 0), "[4]   7% done\n");
    CU_ASSERT_EQUAL(desk.feeds[0][0]->rest_bytes, 0);
}

TEST(refuses_a_pattern_that_is_none)
{
    struct jr_policy policy = {.console = {.show = (char[]){"("}}};
    struct jr_plan plan = {.policy = &policy};
    struct jr_console_writer console = {0};
    struct jr_line_writer lines;
    CU_ASSERT_EQUAL(jr_line_writer_open(&lines, NULL, &console, &plan, false), -1);
    jr_line_writer_close(&lines);
}
