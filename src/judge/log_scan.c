#include "judge/log_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum {
    CHUNK = 1 << 20,   /* read at a time */
    OVERLAP = 1 << 16, /* the longest match that is sure to be found */
    CONTEXT = 256,     /* what ^ and a lookbehind see before the search */
    MOST_LIMITED = 10000
};

/* A part of the file. */
struct jr_scan_window {
    int fd;
    uint64_t at, end; /* where the next read begins, and before what it ends */
    size_t len;
    size_t from; /* where in the window the search goes on */
    bool by_line;
    bool eof;
    char data[CHUNK + OVERLAP + CONTEXT];
};

/* Remember the match that was just found, instead of the one before it. */
static void take_match(struct jr_scan *scan)
{
    scan->found = true;
    jr_buf_clear(&scan->text);
    for (size_t g = 0; g < jr_regex_group_count(scan->regex); g++) {
        struct jr_match part = {0};
        bool there = jr_regex_group(scan->regex, g, &part);
        size_t len = there ? part.end - part.start : 0;
        scan->groups[g] = (struct jr_scan_group){there, scan->text.len, len};
        jr_buf_add(&scan->text, scan->window->data + part.start, len);
        jr_buf_char(&scan->text, '\0');
    }
}

/* Behind the newline of the line at which the search goes on; the end of the
 * window if there is none. */
static size_t line_end(const struct jr_scan_window *window)
{
    const char *from = window->data + window->from;
    const char *newline = memchr(from, '\n', window->len - window->from);
    return newline == NULL ? window->len : (size_t)(newline + 1 - window->data);
}

/* Nothing was found before `end`. Returns whether to continue in this window.
 */
static bool pass_window_part(struct jr_scan *scan, size_t end, bool limited)
{
    struct jr_scan_window *window = scan->window;
    if (!window->by_line) {
        window->by_line = limited;
        return limited;
    }
    bool whole = window->eof || window->data[end - 1] == '\n';
    if (!whole) {
        scan->limited += limited && window->len - window->from > OVERLAP;
        return false;
    }
    scan->limited += limited;
    scan->given_up = scan->limited >= MOST_LIMITED;
    bool more = end > window->from && end < window->len;
    window->from = end;
    return more && !scan->given_up;
}

/* Take every match of the window and return where the next one has to begin.
 * A match at the very end might go on in the bytes to come ($ and greedy
 * repeats), so it is left for the next window. */
static size_t search_window(struct jr_scan *scan)
{
    struct jr_scan_window *window = scan->window;
    struct jr_match match;
    window->by_line = false;
    while (window->from <= window->len) {
        size_t end = window->by_line ? line_end(window) : window->len;
        bool limited = false;
        if (!jr_regex_find(scan->regex, window->data, end, window->from, &match,
                           &limited)) {
            if (!pass_window_part(scan, end, limited))
                break;
            continue;
        }
        bool at_end = match.end + 1 >= window->len;
        if (!window->eof && at_end && window->len - match.start <= OVERLAP)
            return match.start;
        take_match(scan);
        size_t next = match.end > match.start ? match.end : match.end + 1;
        window->from = next > window->from ? next : window->from + 1;
    }
    size_t tail = window->len > OVERLAP ? window->len - OVERLAP : 0;
    return window->from > tail ? window->from : tail;
}

/* Move the window on, so that it begins CONTEXT before `next`. */
static void slide_window(struct jr_scan_window *window, size_t next)
{
    if (next > window->len)
        next = window->len;
    size_t cut = next > CONTEXT ? next - CONTEXT : 0;
    memmove(window->data, window->data + cut, window->len - cut);
    window->len -= cut;
    window->from = next - cut;
}

static int fill_window(struct jr_scan_window *window)
{
    size_t room = sizeof window->data - window->len;
    uint64_t left = window->end - window->at;
    ssize_t got = 0;
    do
        got = pread(window->fd, window->data + window->len,
                    left < room ? (size_t)left : room, (off_t)window->at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -1;
    window->len += (size_t)got;
    window->at += (uint64_t)got;
    window->eof = got == 0;
    return 0;
}

int jr_scan_run(struct jr_scan *scan, struct jr_regex *regex, int fd,
                uint64_t from, uint64_t end)
{
    *scan = (struct jr_scan){.regex = regex};
    scan->groups =
        calloc(jr_regex_group_count(regex) + 1, sizeof *scan->groups);
    struct jr_scan_window *window = scan->window = malloc(sizeof *window);
    if (window == NULL || scan->groups == NULL)
        return -1;
    window->fd = fd;
    window->at = from;
    window->end = end;
    window->len = window->from = 0;
    window->eof = false;
    while (!window->eof && !scan->given_up) {
        if (fill_window(window) != 0)
            return -1;
        slide_window(window, search_window(scan));
    }
    scan->read = window->at - from;
    return scan->text.failed ? -1 : 0;
}

void jr_scan_release(struct jr_scan *scan)
{
    jr_buf_release(&scan->text);
    free(scan->groups);
    free(scan->window);
    *scan = (struct jr_scan){0};
}
