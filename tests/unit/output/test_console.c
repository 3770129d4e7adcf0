#include "output/console.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static void write_text(struct jr_console_writer *screen, int stream, const char *text)
{
    jr_console_writer_write(screen, stream, text, strlen(text));
}

static void count_relief(void *owner, struct jr_output *output)
{
    (void)output;
    (*(unsigned *)owner)++;
}

/* Write until nothing more is taken; returns the bytes that were written. */
static size_t fill(struct jr_console_writer *screen)
{
    size_t written = 0;
    while (!jr_output_is_full(&screen->outputs[0]) && written < 16 * 1024 * 1024) {
        write_text(screen, 0, "0123456789abcdef0123456789abcde\n");
        written += 32;
    }
    return written;
}

static size_t drain(int fd, struct jr_loop *loop, size_t expected)
{
    static char bytes[65536];
    size_t got = 0;
    while (got < expected) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (poll(&wait, 1, 0) == 1) {
            ssize_t len = read(fd, bytes, sizeof bytes);
            got += len > 0 ? (size_t)len : 0;
        } else if (jr_loop_turn(loop, true) == 0) {
            break;
        }
    }
    return got;
}

static void check_slow_reader(int to, int from)
{
    struct jr_loop loop;
    struct jr_console_writer screen;
    unsigned relieved = 0;
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&screen, &loop, to, -1);
    screen.relieved = count_relief;
    screen.owner = &relieved;
    size_t written = fill(&screen);
    CU_ASSERT_TRUE(written < 16 * 1024 * 1024);
    CU_ASSERT_TRUE(jr_console_writer_is_waiting(&screen));
    CU_ASSERT_EQUAL(drain(from, &loop, written), written);
    CU_ASSERT_FALSE(jr_console_writer_is_waiting(&screen));
    CU_ASSERT_EQUAL(relieved, 1);
    CU_ASSERT_FALSE(screen.failed);
    /* Ours to write without blocking, theirs as it was. */
    CU_ASSERT_EQUAL(fcntl(to, F_GETFL) & O_NONBLOCK, 0);
    (void)fill(&screen);
    jr_console_writer_abandon(&screen);
    CU_ASSERT_FALSE(jr_console_writer_is_waiting(&screen));
    CU_ASSERT_TRUE(screen.failed);
    CU_ASSERT_EQUAL(relieved, 2);
    jr_console_writer_close(&screen);
    (void)close(loop.epoll_fd);
    (void)close(to);
    (void)close(from);
}

static void waits_for_a_slow_reader(void)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    check_slow_reader(ends[1], ends[0]);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    check_slow_reader(ends[1], ends[0]);
}

/* Where the description cannot be opened anew, room is asked for first. */
static void writes_to_what_it_cannot_reopen(void)
{
    struct jr_loop loop;
    struct jr_console_writer screen;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&screen, &loop, ends[1], -1);
    if (screen.outputs[0].kind == JR_OUTPUT_OPEN)
        (void)close(screen.outputs[0].watch.fd);
    screen.outputs[0].kind = JR_OUTPUT_SHARED;
    screen.outputs[0].watch.fd = ends[1];
    size_t written = fill(&screen);
    CU_ASSERT_TRUE(written < 16 * 1024 * 1024);
    CU_ASSERT_EQUAL(drain(ends[0], &loop, written), written);
    jr_console_writer_close(&screen);
    CU_ASSERT_EQUAL(fcntl(ends[1], F_GETFD) < 0, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(loop.epoll_fd);
}

static void tells_a_full_disk(void)
{
    struct jr_loop loop;
    struct jr_console_writer screen;
    int full = open("/dev/full", O_WRONLY);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&screen, &loop, full, -1);
    write_text(&screen, 0, "to a disk\n");
    CU_ASSERT_TRUE(screen.failed);
    CU_ASSERT_EQUAL(screen.error, ENOSPC);
    jr_console_writer_close(&screen);
    (void)close(full);
    (void)close(loop.epoll_fd);
}

static void goes_on_without_a_reader(void)
{
    struct jr_loop loop;
    struct jr_console_writer screen;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&screen, &loop, -1, ends[1]);
    write_text(&screen, 0, "to nobody\n");
    CU_ASSERT_FALSE(screen.failed);
    (void)close(ends[0]);
    write_text(&screen, 1, "to somebody who left\n");
    CU_ASSERT_TRUE(screen.failed);
    CU_ASSERT_EQUAL(screen.error, 0);
    write_text(&screen, 1, "again\n");
    CU_ASSERT_FALSE(jr_console_writer_is_waiting(&screen));
    jr_console_writer_close(&screen);
    (void)close(ends[1]);
    (void)close(loop.epoll_fd);
}

/* Who left with something unread has left as well. */
static void goes_on_where_the_reader_was_reset(void)
{
    struct jr_loop loop;
    struct jr_console_writer screen;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&screen, &loop, ends[1], -1);
    write_text(&screen, 0, "unread\n");
    (void)close(ends[0]);
    write_text(&screen, 0, "to somebody who left\n");
    CU_ASSERT_TRUE(screen.failed);
    CU_ASSERT_EQUAL(screen.error, 0);
    CU_ASSERT_TRUE(jr_output_is_closed(&screen.outputs[0]));
    jr_console_writer_close(&screen);
    (void)close(ends[1]);
    (void)close(loop.epoll_fd);
}

/* While somebody else writes there, all waits; then it comes at once. */
static void waits_at_the_gate(void)
{
    struct jr_loop loop;
    struct jr_console_writer screen;
    char held[64] = "";
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_NONBLOCK), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    int err = open("/tmp", O_RDWR | O_TMPFILE, 0600);
    jr_console_writer_open(&screen, &loop, ends[1], err);
    screen.gated = true;
    write_text(&screen, 0, "a\n");
    write_text(&screen, 0, "b\n");
    write_text(&screen, 1, "c\n");
    CU_ASSERT_TRUE(jr_console_writer_is_waiting(&screen));
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 0); /* nothing is watched */
    CU_ASSERT_EQUAL(read(ends[0], held, sizeof held), -1);
    jr_console_writer_open_gate(&screen);
    CU_ASSERT_EQUAL(read(ends[0], held, sizeof held), 4);
    JR_ASSERT_TEXT(held, "a\nb\n");
    CU_ASSERT_EQUAL(pread(err, held, sizeof held, 0), 2);
    CU_ASSERT_FALSE(jr_console_writer_is_waiting(&screen));
    CU_ASSERT_FALSE(screen.failed);
    (void)close(err);
    jr_console_writer_close(&screen);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(loop.epoll_fd);
}

/* `relieved` comes again and again while room is wanted; a file has it. */
static void tells_of_room_while_it_is_wanted(void)
{
    struct jr_loop loop;
    struct jr_console_writer screen;
    unsigned relieved = 0;
    int ends[2], file = open("/tmp", O_RDWR | O_TMPFILE, 0600);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&screen, &loop, ends[1], file);
    screen.relieved = count_relief;
    screen.owner = &relieved;
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 0);
    CU_ASSERT_TRUE(jr_output_want(&screen.outputs[0], true));
    CU_ASSERT_TRUE(jr_loop_turn(&loop, true) > 0);
    CU_ASSERT_TRUE(jr_loop_turn(&loop, true) > 0);
    CU_ASSERT_EQUAL(relieved, 2);
    CU_ASSERT_FALSE(jr_output_want(&screen.outputs[0], false));
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 0);
    CU_ASSERT_FALSE(jr_output_want(&screen.outputs[1], true));
    jr_console_writer_close(&screen);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(file);
    (void)close(loop.epoll_fd);
}

/* Two streams to one file keep their order. */
static void keeps_the_order_within_one_file(void)
{
    struct jr_loop loop;
    struct jr_console_writer screen;
    char path[] = "/tmp/jobrun-screen-XXXXXX", held[64] = "";
    int fd = mkstemp(path);
    int again = open(path, O_WRONLY);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&screen, &loop, fd, again);
    write_text(&screen, 0, "a\n");
    write_text(&screen, 1, "b\n");
    write_text(&screen, 0, "c\n");
    jr_console_writer_light(&screen, "no terminal, no status");
    jr_console_writer_close(&screen);
    CU_ASSERT_EQUAL(pread(fd, held, sizeof held - 1, 0), 6);
    JR_ASSERT_TEXT(held, "a\nb\nc\n");
    (void)close(fd);
    (void)close(again);
    (void)unlink(path);
    (void)close(loop.epoll_fd);
}

JR_UNIT_MAIN("screen", CASE(waits_for_a_slow_reader),
             CASE(writes_to_what_it_cannot_reopen),
             CASE(goes_on_without_a_reader),
             CASE(goes_on_where_the_reader_was_reset), CASE(waits_at_the_gate),
             CASE(tells_of_room_while_it_is_wanted), CASE(tells_a_full_disk),
             CASE(keeps_the_order_within_one_file))
