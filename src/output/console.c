#include "output/console.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

#include "base/banned.h"

#define BACKLOG_MOST (1U << 20) /* bytes; readers pause beyond it */
#define ERASE        "\r\033[K"
#define ERASE_BELOW  "\r\033[J" /* what a narrower terminal has wrapped, too */

static void open_output(struct jr_output *output, int fd)
{
    struct stat st;
    char path[64];
    if (fd < 0 || fstat(fd, &st) != 0)
        return;
    output->watch.fd = fd;
    output->terminal = isatty(fd) == 1;
    if (S_ISSOCK(st.st_mode)) {
        output->kind = JR_OUTPUT_SOCKET;
    } else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
        /* An open file description of our own, so that O_NONBLOCK does not affect processes that
         * share the caller's. That may not be allowed (another user's tty). */
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        output->kind = own < 0 ? JR_OUTPUT_SHARED : JR_OUTPUT_OPEN;
        output->watch.fd = own < 0 ? fd : own;
    } else {
        output->kind = JR_OUTPUT_FILE;
    }
}

static void take_backlog(void *owner, uint32_t events);
static void tell_of_closed_outputs(void *owner);

void jr_console_writer_open(struct jr_console_writer *console, struct jr_loop *loop, int out_fd,
                            int err_fd)
{
    struct stat out, err;
    *console = (struct jr_console_writer){
        .loop = loop, .gone = {.due = tell_of_closed_outputs, .owner = console}};
    jr_loop_timer(loop, &console->gone);
    for (int i = 0; i < 2; i++) {
        struct jr_output *output = &console->outputs[i];
        output->console = console;
        output->watch = (struct jr_watch){.fd = -1, .ready = take_backlog, .owner = output};
        console->streams[i] = output;
    }
    open_output(&console->outputs[0], out_fd);
    if (out_fd >= 0 && err_fd >= 0 && fstat(out_fd, &out) == 0 && fstat(err_fd, &err) == 0 &&
        out.st_dev == err.st_dev && out.st_ino == err.st_ino)
        console->streams[1] = &console->outputs[0];
    else
        open_output(&console->outputs[1], err_fd);
}

/* Watch for room as long as there is something that waits for it. A file, of which there always is,
 * cannot be watched, and need not. */
static void watch_output(struct jr_output *output)
{
    bool wanted = output->kind != JR_OUTPUT_CLOSED && !output->console->gated &&
                  (output->wanted || output->backlog.len > 0);
    if (wanted == output->watched)
        return;
    if (wanted)
        wanted = jr_loop_add(output->console->loop, &output->watch, EPOLLOUT) == 0;
    else
        jr_loop_remove(output->console->loop, &output->watch);
    output->watched = wanted;
}

static void close_output(struct jr_output *output)
{
    jr_buf_release(&output->backlog);
    output->taken = 0;
    output->wanted = false;
    watch_output(output);
    if (output->kind == JR_OUTPUT_OPEN)
        (void)close(output->watch.fd);
    output->watch.fd = -1;
    output->kind = JR_OUTPUT_CLOSED;
}

void jr_console_writer_close(struct jr_console_writer *console)
{
    for (int i = 0; i < 2; i++)
        close_output(&console->outputs[i]);
    jr_buf_release(&console->standing);
}

/* One attempt: bytes taken, or -1 with errno; EAGAIN when it would block. */
static ssize_t write_once(const struct jr_output *output, const char *bytes, size_t len)
{
    int fd = output->watch.fd;
    if (output->kind == JR_OUTPUT_SOCKET)
        return send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (output->kind != JR_OUTPUT_SHARED)
        return write(fd, bytes, len);
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    if (poll(&room, 1, 0) <= 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(fd, bytes, len < PIPE_BUF ? len : PIPE_BUF);
}

/* Write what can be written now. Returns the bytes that are done; the reader being gone counts as
 * all of them. */
static size_t write_now(struct jr_output *output, const char *bytes, size_t len)
{
    size_t done = 0;
    while (done < len && !output->console->gated) {
        ssize_t taken = write_once(output, bytes + done, len - done);
        if (taken >= 0) {
            done += (size_t)taken;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            output->console->failed = true;
            /* Where the reader has gone, nobody misses it. */
            if (errno != EPIPE && errno != ECONNRESET && !output->terminal)
                output->console->error = errno;
            close_output(output);
            output->console->gone.at = jr_clock_ns();
            return len;
        }
    }
    return done;
}

static void notify_console_room(struct jr_output *output)
{
    struct jr_console_writer *console = output->console;
    if (console->relieved != NULL)
        console->relieved(console->owner, output);
}

/* Whoever waits for room need not any more. Later, for the write that met the end may be within
 * what such a one does. */
static void tell_of_closed_outputs(void *owner)
{
    struct jr_console_writer *console = owner;
    for (int i = 0; i < 2; i++)
        if (jr_output_is_closed(&console->outputs[i]))
            notify_console_room(&console->outputs[i]);
}

static void take_backlog(void *owner, uint32_t events)
{
    (void)events;
    struct jr_output *output = owner;
    size_t left = output->backlog.len - output->taken;
    if (left > 0)
        output->taken += write_now(output, output->backlog.data + output->taken, left);
    if (output->taken < output->backlog.len)
        return;
    jr_buf_clear(&output->backlog);
    output->taken = 0;
    notify_console_room(output);
    watch_output(output);
}

static void write_output(struct jr_output *output, const char *bytes, size_t len)
{
    if (output->kind == JR_OUTPUT_CLOSED)
        return;
    bool waiting = output->backlog.len > 0;
    size_t done = waiting ? 0 : write_now(output, bytes, len);
    jr_buf_add(&output->backlog, bytes + done, len - done);
    watch_output(output);
}

/* The bytes of `text` that fit into `columns`. */
static size_t fit_columns(const char *text, unsigned columns)
{
    size_t len = strlen(text), at = 0;
    unsigned used = 0;
    while (at < len) {
        uint32_t point = 0;
        size_t size = jr_utf8_decode(text + at, len - at, &point);
        unsigned width = size == 0 ? 1 : jr_utf8_width(point);
        if (used + width > columns)
            break;
        used += width;
        at += size == 0 ? 1 : size;
    }
    return at;
}

unsigned jr_console_writer_columns(const struct jr_console_writer *console)
{
    const struct jr_output *output = console->streams[1];
    struct winsize size = {0};
    if (!output->terminal)
        return 0;
    (void)ioctl(output->watch.fd, TIOCGWINSZ, &size);
    return size.ws_col > 1 ? size.ws_col - 1U : 79;
}

/* Draw a line, or with "" erase what is drawn. A line that stands leaves the cursor where it
 * begins: if the terminal becomes narrower and wraps the line, the cursor is still in the first of
 * its rows. */
static void draw_line(struct jr_console_writer *console, const char *text, bool stands)
{
    struct jr_output *output = console->streams[1];
    bool erase = text[0] == '\0';
    /* Behind a backlog a temporary line would only be late. */
    if (!output->terminal || (erase && console->drawn_on == NULL) ||
        (!erase && (output->backlog.len > 0 || console->gated)))
        return;
    struct jr_buf line = JR_BUF_INIT;
    jr_buf_str(&line, stands ? ERASE_BELOW : ERASE);
    jr_buf_add(&line, text, fit_columns(text, jr_console_writer_columns(console)));
    jr_buf_str(&line, stands && !erase ? "\r" : "");
    write_output(output, line.data, line.len);
    jr_buf_release(&line);
    console->drawn_on = erase ? NULL : output;
}

void jr_console_writer_draw(struct jr_console_writer *console, const char *text)
{
    if (console->standing.len == 0)
        draw_line(console, text, false);
}

void jr_console_writer_stand(struct jr_console_writer *console, const char *text)
{
    bool stood = console->standing.len > 0;
    if (!console->streams[1]->terminal || (text[0] == '\0' && !stood))
        return;
    jr_buf_clear(&console->standing);
    jr_buf_str(&console->standing, text);
    draw_line(console, text, true);
}

void jr_console_writer_write(struct jr_console_writer *console, int stream, const char *bytes,
                             size_t len)
{
    bool stands = console->standing.len > 0;
    /* What does not go to a terminal does not disturb the line there. */
    if (stands && !console->streams[stream]->terminal) {
        write_output(console->streams[stream], bytes, len);
        return;
    }
    draw_line(console, "", stands);
    write_output(console->streams[stream], bytes, len);
    if (stands)
        draw_line(console, console->standing.data, true);
}

unsigned jr_output_rows(const struct jr_output *output)
{
    struct winsize size = {0};
    if (!output->terminal)
        return 0;
    (void)ioctl(output->watch.fd, TIOCGWINSZ, &size);
    return size.ws_row > 0 ? size.ws_row : 24;
}

bool jr_output_is_full(const struct jr_output *output)
{
    return output->backlog.len - output->taken > BACKLOG_MOST;
}

bool jr_output_is_waiting(const struct jr_output *output)
{
    return output->backlog.len > 0;
}

bool jr_output_is_closed(const struct jr_output *output)
{
    return output->kind == JR_OUTPUT_CLOSED;
}

bool jr_output_want(struct jr_output *output, bool wanted)
{
    output->wanted = wanted;
    watch_output(output);
    return output->watched;
}

bool jr_console_writer_is_waiting(const struct jr_console_writer *console)
{
    return console->outputs[0].backlog.len + console->outputs[1].backlog.len > 0;
}

void jr_console_writer_open_gate(struct jr_console_writer *console)
{
    console->gated = false;
    for (int i = 0; i < 2; i++) {
        take_backlog(&console->outputs[i], 0);
        watch_output(&console->outputs[i]); /* what it does not take at once */
    }
}

void jr_console_writer_abandon(struct jr_console_writer *console)
{
    for (int i = 0; i < 2; i++) {
        struct jr_output *output = &console->outputs[i];
        if (output->backlog.len == 0 && !output->wanted)
            continue;
        console->failed = true;
        close_output(output);
        notify_console_room(output);
    }
}
