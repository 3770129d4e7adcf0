#include "output/console.h"
#include "terminal.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void write_text(struct jr_console_writer *console, int stream, const char *text)
{
    jr_console_writer_write(console, stream, text, strlen(text));
}

static void count_relief(void *owner, struct jr_output *output)
{
    (void)output;
    (*(unsigned *)owner)++;
}

/* Write until nothing more is taken; returns the bytes that were written. */
static size_t fill(struct jr_console_writer *console)
{
    size_t written = 0;
    while (!jr_output_is_full(&console->outputs[0]) && written < 16 * 1024 * 1024) {
        write_text(console, 0, "0123456789abcdef0123456789abcde\n");
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
    struct jr_console_writer console;
    unsigned relieved = 0;
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&console, &loop, to, -1);
    console.relieved = count_relief;
    console.owner = &relieved;
    size_t written = fill(&console);
    CU_ASSERT_TRUE(written < 16 * 1024 * 1024);
    CU_ASSERT_TRUE(jr_console_writer_is_waiting(&console));
    CU_ASSERT_EQUAL(drain(from, &loop, written), written);
    CU_ASSERT_FALSE(jr_console_writer_is_waiting(&console));
    CU_ASSERT_EQUAL(relieved, 1);
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 0); /* nobody waits for room */
    CU_ASSERT_EQUAL(relieved, 1);
    CU_ASSERT_FALSE(console.failed);
    /* Ours to write without blocking, theirs as it was. */
    CU_ASSERT_EQUAL(fcntl(to, F_GETFL) & O_NONBLOCK, 0);
    (void)fill(&console);
    CU_ASSERT_TRUE(drain(from, &loop, 1 << 18) >= 1 << 18);
    CU_ASSERT_TRUE(jr_console_writer_is_waiting(&console));
    jr_console_writer_abandon(&console);
    CU_ASSERT_FALSE(jr_console_writer_is_waiting(&console));
    CU_ASSERT_FALSE(jr_output_is_full(&console.outputs[0]));
    CU_ASSERT_TRUE(jr_output_is_closed(&console.outputs[0]) && console.failed);
    CU_ASSERT_EQUAL(relieved, 2);
    jr_console_writer_close(&console);
    (void)close(loop.epoll_fd);
    (void)close(to);
    (void)close(from);
}

TEST(waits_for_a_slow_reader)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    check_slow_reader(ends[1], ends[0]);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    check_slow_reader(ends[1], ends[0]);
}

/* Where the description cannot be opened anew, room is asked for first. */
TEST(writes_to_what_it_cannot_reopen)
{
    struct jr_loop loop;
    struct jr_console_writer console;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&console, &loop, ends[1], -1);
    if (console.outputs[0].kind == JR_OUTPUT_OPEN)
        (void)close(console.outputs[0].watch.fd);
    console.outputs[0].kind = JR_OUTPUT_SHARED;
    console.outputs[0].watch.fd = ends[1];
    size_t written = fill(&console);
    CU_ASSERT_TRUE(written < 16 * 1024 * 1024);
    CU_ASSERT_EQUAL(drain(ends[0], &loop, written), written);
    jr_console_writer_close(&console);
    CU_ASSERT_EQUAL(fcntl(ends[1], F_GETFD) < 0, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(loop.epoll_fd);
}

TEST(tells_a_full_disk)
{
    struct jr_loop loop;
    struct jr_console_writer console;
    int full = open("/dev/full", O_WRONLY);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&console, &loop, full, -1);
    write_text(&console, 0, "to a disk\n");
    CU_ASSERT_TRUE(console.failed && console.error == ENOSPC);
    jr_console_writer_close(&console);
    (void)close(full);
    (void)close(loop.epoll_fd);
}

TEST(goes_on_without_a_reader)
{
    struct jr_loop loop;
    struct jr_console_writer console;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&console, &loop, -1, ends[1]);
    write_text(&console, 0, "to nobody\n");
    CU_ASSERT_FALSE(console.failed);
    (void)close(ends[0]);
    write_text(&console, 1, "to somebody who left\n");
    CU_ASSERT_TRUE(console.failed && console.error == 0);
    write_text(&console, 1, "again\n");
    CU_ASSERT_FALSE(jr_console_writer_is_waiting(&console));
    jr_console_writer_close(&console);
    (void)close(ends[1]);
    (void)close(loop.epoll_fd);
}

/* Who left with something unread has left as well. */
TEST(goes_on_where_the_reader_was_reset)
{
    struct jr_loop loop;
    struct jr_console_writer console;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&console, &loop, ends[1], -1);
    write_text(&console, 0, "unread\n");
    (void)close(ends[0]);
    write_text(&console, 0, "to somebody who left\n");
    CU_ASSERT_TRUE(console.failed && console.error == 0);
    CU_ASSERT_TRUE(jr_output_is_closed(&console.outputs[0]));
    jr_console_writer_close(&console);
    (void)close(ends[1]);
    (void)close(loop.epoll_fd);
}

/* While somebody else writes there, all waits; then it comes at once. */
TEST(waits_at_the_gate)
{
    struct jr_loop loop;
    struct jr_console_writer console;
    char held[64] = "";
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_NONBLOCK), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    int err = open("/tmp", O_RDWR | O_TMPFILE, 0600);
    jr_console_writer_open(&console, &loop, ends[1], err);
    console.gated = true;
    write_text(&console, 0, "a\n");
    write_text(&console, 0, "b\n");
    write_text(&console, 1, "c\n");
    CU_ASSERT_TRUE(jr_console_writer_is_waiting(&console));
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 0); /* nothing is watched */
    CU_ASSERT_EQUAL(read(ends[0], held, sizeof held), -1);
    jr_console_writer_open_gate(&console);
    CU_ASSERT_EQUAL(read(ends[0], held, sizeof held), 4);
    JR_ASSERT_TEXT(held, "a\nb\n");
    CU_ASSERT_EQUAL(pread(err, held, sizeof held, 0), 2);
    CU_ASSERT_TRUE(!jr_console_writer_is_waiting(&console) && !console.failed);
    (void)close(err);
    jr_console_writer_close(&console);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(loop.epoll_fd);
}

/* `relieved` comes again and again while room is wanted; a file has it. */
TEST(tells_of_room_while_it_is_wanted)
{
    struct jr_loop loop;
    struct jr_console_writer console;
    unsigned relieved = 0;
    int ends[2], file = open("/tmp", O_RDWR | O_TMPFILE, 0600);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&console, &loop, ends[1], file);
    console.relieved = count_relief;
    console.owner = &relieved;
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 0);
    CU_ASSERT_TRUE(jr_output_want(&console.outputs[0], true));
    CU_ASSERT_TRUE(jr_loop_turn(&loop, true) > 0 && jr_loop_turn(&loop, true) > 0);
    CU_ASSERT_EQUAL(relieved, 2);
    CU_ASSERT_FALSE(jr_output_want(&console.outputs[0], false));
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 0);
    CU_ASSERT_FALSE(jr_output_want(&console.outputs[1], true));
    jr_console_writer_close(&console);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(file);
    (void)close(loop.epoll_fd);
}

/* Two streams to one file keep their order. */
TEST(keeps_the_order_within_one_file)
{
    struct jr_loop loop;
    struct jr_console_writer console;
    char path[] = "/tmp/jobrun-console-XXXXXX", held[64] = "";
    int fd = mkstemp(path);
    int again = open(path, O_WRONLY);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&console, &loop, fd, again);
    write_text(&console, 0, "a\n");
    write_text(&console, 1, "b\n");
    write_text(&console, 0, "c\n");
    jr_console_writer_draw(&console, "no terminal, no status");
    jr_console_writer_close(&console);
    CU_ASSERT_EQUAL(pread(fd, held, sizeof held - 1, 0), 6);
    JR_ASSERT_TEXT(held, "a\nb\nc\n");
    (void)close(fd);
    (void)close(again);
    (void)unlink(path);
    (void)close(loop.epoll_fd);
}

/* Each kind of file is written to in its own way; what was opened for that is closed again, and
 * what was the caller's is not. */
TEST(opens_each_kind_of_output)
{
    static const enum jr_output_kind kinds[] = {JR_OUTPUT_OPEN, JR_OUTPUT_SOCKET, JR_OUTPUT_FILE,
                                                JR_OUTPUT_CLOSED};
    for (int stream = 0; stream < 2; stream++)
        for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            struct jr_console_writer console;
            struct jr_loop loop;
            char byte;
            int ends[2] = {-1, -1};
            if (kinds[i] == JR_OUTPUT_OPEN)
                CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
            if (kinds[i] == JR_OUTPUT_SOCKET)
                CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
            if (kinds[i] == JR_OUTPUT_FILE)
                ends[1] = open("/tmp", O_RDWR | O_TMPFILE, 0600);
            CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
            jr_console_writer_open(&console, &loop, stream == 0 ? ends[1] : -1,
                                   stream == 1 ? ends[1] : -1);
            CU_ASSERT_EQUAL(console.outputs[stream].kind, kinds[i]);
            CU_ASSERT_EQUAL(console.outputs[!stream].kind, JR_OUTPUT_CLOSED);
            CU_ASSERT_FALSE(console.outputs[stream].terminal);
            CU_ASSERT_EQUAL(console.outputs[stream].watch.fd == ends[1],
                            kinds[i] != JR_OUTPUT_OPEN);
            int own = console.outputs[stream].watch.fd;
            if (kinds[i] == JR_OUTPUT_OPEN) {
                CU_ASSERT_EQUAL(fcntl(own, F_GETFD), FD_CLOEXEC);
                CU_ASSERT_TRUE(fcntl(own, F_GETFL) & O_NONBLOCK);
            }
            jr_console_writer_close(&console);
            CU_ASSERT_TRUE(jr_output_is_closed(&console.outputs[stream]));
            CU_ASSERT_EQUAL(close(ends[1]), ends[1] >= 0 ? 0 : -1);
            if (kinds[i] == JR_OUTPUT_OPEN) /* no other end is open */
                CU_ASSERT_EQUAL(read(ends[0], &byte, 1), 0);
            if (ends[0] >= 0)
                (void)close(ends[0]);
            (void)close(loop.epoll_fd);
        }
}

/* One byte that waits is waited for, and nothing overtakes it. */
TEST(keeps_the_order_behind_one_byte)
{
    static char bytes[65536];
    struct jr_loop loop;
    struct jr_console_writer console;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_NONBLOCK), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&console, &loop, -1, ends[1]);
    while (write(ends[1], bytes, 4096) > 0)
        continue;
    write_text(&console, 1, "1");
    CU_ASSERT_TRUE(jr_output_is_waiting(&console.outputs[1]));
    CU_ASSERT_TRUE(jr_console_writer_is_waiting(&console));
    CU_ASSERT_TRUE(read(ends[0], bytes, sizeof bytes) > 0);
    write_text(&console, 1, "2\n");
    CU_ASSERT_EQUAL(read(ends[0], bytes, sizeof bytes), -1);
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 1);
    CU_ASSERT_EQUAL(read(ends[0], bytes, sizeof bytes), 3);
    CU_ASSERT_EQUAL(memcmp(bytes, "12\n", 3), 0);
    while (write(ends[1], bytes, 4096) > 0)
        continue;
    write_text(&console, 1, "3");
    CU_ASSERT_TRUE(read(ends[0], bytes, sizeof bytes) > 0);
    CU_ASSERT_EQUAL(jr_loop_turn(&loop, true), 1);
    CU_ASSERT_EQUAL(read(ends[0], bytes, sizeof bytes), 1);
    CU_ASSERT_FALSE(jr_console_writer_is_waiting(&console));
    jr_console_writer_close(&console);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(loop.epoll_fd);
}

TEST(is_full_beyond_its_backlog)
{
    static char bytes[1 << 20];
    struct jr_loop loop;
    struct jr_console_writer console;
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_NONBLOCK), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&console, &loop, ends[1], -1);
    console.gated = true;
    jr_console_writer_write(&console, 0, bytes, sizeof bytes);
    CU_ASSERT_FALSE(jr_output_is_full(&console.outputs[0]));
    write_text(&console, 0, "\n");
    CU_ASSERT_TRUE(jr_output_is_full(&console.outputs[0]));
    jr_console_writer_open_gate(&console); /* what the pipe takes counts */
    CU_ASSERT_FALSE(jr_output_is_full(&console.outputs[0]));
    CU_ASSERT_TRUE(jr_output_is_waiting(&console.outputs[0]));
    CU_ASSERT_EQUAL(drain(ends[0], &loop, sizeof bytes + 1), sizeof bytes + 1);
    jr_console_writer_close(&console);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)close(loop.epoll_fd);
}

/* A terminal of so many columns, as jobrun's standard error. */
struct screen {
    struct jr_loop loop;
    struct jr_console_writer console;
    int master, slave;
    char text[1024];
};

static void screen_open(struct screen *screen, unsigned columns)
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    struct termios raw;
    CU_ASSERT_EQUAL_FATAL(openpty(&screen->master, &screen->slave, NULL, NULL, &size), 0);
    CU_ASSERT_EQUAL(tcgetattr(screen->slave, &raw), 0);
    cfmakeraw(&raw);
    CU_ASSERT_EQUAL(tcsetattr(screen->slave, TCSANOW, &raw), 0);
    CU_ASSERT_EQUAL(fcntl(screen->master, F_SETFL, O_NONBLOCK), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&screen->loop), 0);
    jr_console_writer_open(&screen->console, &screen->loop, -1, screen->slave);
    CU_ASSERT_TRUE(screen->console.outputs[1].terminal);
}

/* What it was sent since the last call. */
static const char *screen_text(struct screen *screen)
{
    return terminal_text(screen->master, screen->slave, screen->text, sizeof screen->text);
}

static void screen_close(struct screen *screen)
{
    jr_console_writer_close(&screen->console);
    (void)close(screen->master);
    (void)close(screen->slave);
    (void)close(screen->loop.epoll_fd);
}

/* The last column stays free, for there a terminal may go to the next line. */
TEST(cuts_the_status_to_the_columns)
{
    static const char digits[] =
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890";
    static const struct {
        const char *text;
        unsigned columns;
        const char *want;
    } vectors[] = {
        {"", 10, ""},
        {"123", 4, "123"},
        {"1234", 4, "123"},
        {"12", 2, "1"},
        {"12", 3, "12"},
        {"a\xc3\xa9\xc3\xa9z", 4, "a\xc3\xa9\xc3\xa9"},
        {"a\xe6\x97\xa5z", 3, "a"},
        {"a\xe6\x97\xa5z", 4, "a\xe6\x97\xa5"},
        {"a\xff\xfez", 3, "a\xff"},
        {"a\xff\xfez", 9, "a\xff\xfez"},
        {"ae\xcc\x81z", 4, "ae\xcc\x81z"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct screen screen;
        char want[64];
        screen_open(&screen, vectors[i].columns);
        jr_console_writer_draw(&screen.console, vectors[i].text);
        (void)snprintf(want, sizeof want, "\r\033[K%s", vectors[i].want);
        JR_ASSERT_TEXT(screen_text(&screen), i == 0 ? "" : want);
        screen_close(&screen);
    }
    for (unsigned columns = 0; columns < 2; columns++) {
        struct screen screen;
        screen_open(&screen, columns); /* it does not know */
        jr_console_writer_draw(&screen.console, digits);
        CU_ASSERT_EQUAL(strlen(screen_text(&screen)), 4 + 79);
        screen_close(&screen);
    }
}

#define BELOW "\r\033[J"

/* The last line stands below what is written, and leaves the cursor at its own begin, for a
 * terminal may wrap it. */
TEST(keeps_a_line_below_the_others)
{
    struct screen screen;
    screen_open(&screen, 80);
    jr_console_writer_stand(&screen.console, "");
    JR_ASSERT_TEXT(screen_text(&screen), "");
    jr_console_writer_draw(&screen.console, "temporary");
    jr_console_writer_stand(&screen.console, "50 %");
    JR_ASSERT_TEXT(screen_text(&screen), "\r\033[Ktemporary" BELOW "50 %\r");
    write_text(&screen.console, 1, "a\nb\n");
    JR_ASSERT_TEXT(screen_text(&screen), BELOW "a\nb\n" BELOW "50 %\r");
    /* what redraws itself has no place meanwhile */
    jr_console_writer_draw(&screen.console, "[0] 1%");
    jr_console_writer_draw(&screen.console, "");
    JR_ASSERT_TEXT(screen_text(&screen), "");
    jr_console_writer_stand(&screen.console, "60 %");
    JR_ASSERT_TEXT(screen_text(&screen), BELOW "60 %\r");
    write_text(&screen.console, 0, "b\n"); /* has no reader */
    JR_ASSERT_TEXT(screen_text(&screen), "");
    jr_console_writer_stand(&screen.console, "");
    JR_ASSERT_TEXT(screen_text(&screen), BELOW);
    write_text(&screen.console, 1, "c\n");
    jr_console_writer_draw(&screen.console, "temporary");
    JR_ASSERT_TEXT(screen_text(&screen), "c\n\r\033[Ktemporary");
    screen_close(&screen);
}

/* Behind a backlog, and while somebody else writes, there is none; it comes back with the next that
 * is written, cut to the width of that time. */
TEST(a_line_that_stands_comes_back)
{
    struct screen screen;
    struct winsize size = {.ws_col = 8, .ws_row = 24};
    screen_open(&screen, 80);
    screen.console.gated = true;
    jr_console_writer_stand(&screen.console, "1234567890");
    write_text(&screen.console, 1, "a\n");
    JR_ASSERT_TEXT(screen_text(&screen), "");
    jr_console_writer_open_gate(&screen.console);
    JR_ASSERT_TEXT(screen_text(&screen), "a\n");
    CU_ASSERT_EQUAL(jr_console_writer_columns(&screen.console), 79);
    CU_ASSERT_EQUAL(ioctl(screen.slave, TIOCSWINSZ, &size), 0);
    CU_ASSERT_EQUAL(jr_console_writer_columns(&screen.console), 7);
    write_text(&screen.console, 1, "b\n");
    JR_ASSERT_TEXT(screen_text(&screen), "b\n" BELOW "1234567\r");
    screen_close(&screen);
}

/* A pipe for standard output does not disturb the terminal, and a terminal is needed for a line to
 * stand on. */
TEST(stands_on_terminals_only)
{
    struct screen screen;
    struct jr_console_writer console;
    int ends[2];
    screen_open(&screen, 80);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    jr_console_writer_open(&console, &screen.loop, ends[1], screen.slave);
    jr_console_writer_stand(&console, "50 %");
    write_text(&console, 0, "a\n");
    JR_ASSERT_TEXT(screen_text(&screen), BELOW "50 %\r");
    jr_console_writer_close(&console);
    jr_console_writer_open(&console, &screen.loop, screen.slave, ends[1]);
    CU_ASSERT_EQUAL(jr_console_writer_columns(&console), 0);
    jr_console_writer_stand(&console, "50 %");
    write_text(&console, 0, "a\n");
    JR_ASSERT_TEXT(screen_text(&screen), "a\n");
    jr_console_writer_close(&console);
    (void)close(ends[0]);
    (void)close(ends[1]);
    screen_close(&screen);
}

/* It is erased before the next line, once, and not drawn behind others. */
TEST(draws_the_status_below_the_lines)
{
    struct screen screen;
    screen_open(&screen, 80);
    jr_console_writer_draw(&screen.console, "50 %");
    JR_ASSERT_TEXT(screen_text(&screen), "\r\033[K50 %");
    CU_ASSERT_PTR_EQUAL(screen.console.drawn_on, &screen.console.outputs[1]);
    write_text(&screen.console, 1, "a\n");
    JR_ASSERT_TEXT(screen_text(&screen), "\r\033[Ka\n");
    CU_ASSERT_PTR_NULL(screen.console.drawn_on);
    write_text(&screen.console, 0, "b\n"); /* has no reader */
    write_text(&screen.console, 1, "c\n");
    JR_ASSERT_TEXT(screen_text(&screen), "c\n");
    screen.console.gated = true;
    jr_console_writer_draw(&screen.console, "60 %");
    CU_ASSERT_FALSE(jr_console_writer_is_waiting(&screen.console));
    write_text(&screen.console, 1, "d\n");
    screen.console.gated = false;
    jr_console_writer_draw(&screen.console, "70 %");
    CU_ASSERT_PTR_NULL(screen.console.drawn_on);
    jr_console_writer_open_gate(&screen.console);
    JR_ASSERT_TEXT(screen_text(&screen), "d\n");
    jr_console_writer_draw(&screen.console, "");
    JR_ASSERT_TEXT(screen_text(&screen), "");
    screen_close(&screen);
}
