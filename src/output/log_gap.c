#include "output/log_gap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

#include "base/banned.h"

uint64_t jr_log_gap_head(uint64_t limit)
{
    return limit / 2 < JR_LOG_HEAD ? limit / 2 : JR_LOG_HEAD;
}

void jr_log_gap_print(struct jr_buf *out, uint64_t dropped)
{
    jr_buf_printf(out, "%s%" PRIu64 "%s", JR_LOG_GAP_BEGIN, dropped, JR_LOG_GAP_END);
}

/* A line that begins at `line`, in a text that ends with NUL. */
static bool read_marker(const char *line, struct jr_log_gap *ret)
{
    size_t begin = sizeof JR_LOG_GAP_BEGIN - 1, end = sizeof JR_LOG_GAP_END - 1;
    char *after;
    if (strncmp(line, JR_LOG_GAP_BEGIN, begin) != 0)
        return false;
    ret->dropped = strtoull(line + begin, &after, 10);
    if (after == line + begin || strncmp(after, JR_LOG_GAP_END, end) != 0)
        return false;
    ret->len = (uint64_t)(after + end - line);
    return true;
}

bool jr_log_gap_find(int fd, struct jr_log_gap *ret)
{
    const size_t most = JR_LOG_HEAD + JR_LOG_SLACK;
    char *text = malloc(most + 1);
    bool found = false;
    *ret = (struct jr_log_gap){0};
    ssize_t len = text == NULL ? -1 : pread(fd, text, most, 0);
    const char *line = len > 0 ? text : NULL;
    if (len > 0)
        text[len] = '\0';
    while (line != NULL && !found) {
        ret->at = (uint64_t)(line - text);
        found = read_marker(line, ret);
        line = memchr(line, '\n', (size_t)(text + len - line));
        line = line == NULL ? NULL : line + 1;
    }
    free(text);
    if (!found)
        *ret = (struct jr_log_gap){0};
    return found;
}

uint64_t jr_log_gap_place(int fd, uint64_t limit, uint64_t bytes)
{
    struct jr_log_gap gap;
    if (limit == 0 || !jr_log_gap_find(fd, &gap))
        return bytes;
    /* A beginning without a newline was given one before the gap's line. */
    uint64_t head = gap.at > jr_log_gap_head(limit) ? gap.at - 1 : gap.at;
    if (bytes <= head)
        return bytes;
    if (bytes <= head + gap.dropped)
        return gap.at;
    return gap.at + gap.len + (bytes - head - gap.dropped);
}
