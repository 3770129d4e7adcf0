#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"

#include "base/banned.h"

enum { FIRST_CAP = 64, PRINT_ROOM = 63 };

void jr_buf_release(struct jr_buf *buf)
{
    free(buf->data);
    *buf = JR_BUF_INIT;
}

void jr_buf_reserve(struct jr_buf *buf, size_t extra)
{
    size_t need;
    if (buf->failed)
        return;
    if (__builtin_add_overflow(buf->len, extra, &need) || need > SIZE_MAX / 4) {
        buf->failed = true;
        return;
    }
    if (need < buf->cap)
        return;
    size_t cap = buf->cap == 0 ? FIRST_CAP : buf->cap;
    while (cap <= need)
        cap *= 2;
    char *data = realloc(buf->data, cap);
    if (data == NULL) {
        buf->failed = true;
        return;
    }
    data[buf->len] = '\0';
    buf->data = data;
    buf->cap = cap;
}

char *jr_buf_keep(const struct jr_buf *buf, struct jr_arena *arena)
{
    arena->failed |= buf->failed;
    return buf->failed ? NULL : jr_arena_strndup(arena, buf->len == 0 ? "" : buf->data, buf->len);
}

void jr_buf_add(struct jr_buf *buf, const void *bytes, size_t len)
{
    jr_buf_reserve(buf, len);
    if (buf->failed)
        return;
    if (len != 0)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void jr_buf_str(struct jr_buf *buf, const char *text)
{
    jr_buf_add(buf, text, strlen(text));
}

void jr_buf_char(struct jr_buf *buf, char byte)
{
    jr_buf_reserve(buf, 1);
    if (buf->failed)
        return;
    buf->data[buf->len++] = byte;
    buf->data[buf->len] = '\0';
}

/* In decimal, at a fraction of what printf costs: files with an entry for each rank are full of
 * numbers. */
void jr_buf_u64(struct jr_buf *buf, uint64_t number)
{
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    jr_buf_add(buf, digits + first, sizeof digits - first);
}

void jr_buf_fill(struct jr_buf *buf, char byte, size_t count)
{
    jr_buf_reserve(buf, count);
    if (buf->failed)
        return;
    memset(buf->data + buf->len, byte, count);
    buf->len += count;
    buf->data[buf->len] = '\0';
}

/* What is printed is mostly short, and then done at the first attempt. */
void jr_buf_printf(struct jr_buf *buf, const char *format, ...)
{
    size_t room = PRINT_ROOM;
    for (;;) {
        jr_buf_reserve(buf, room);
        if (buf->failed)
            return;
        va_list args;
        va_start(args, format);
        int len = vsnprintf(buf->data + buf->len, room + 1, format, args);
        va_end(args);
        if (len >= 0 && (size_t)len <= room) {
            buf->len += (size_t)len;
            return;
        }
        buf->data[buf->len] = '\0';
        buf->failed = len < 0;
        room = (size_t)len;
    }
}

void jr_buf_escaped(struct jr_buf *buf, const char *text, size_t len)
{
    size_t at = 0;
    while (at < len) {
        uint32_t point;
        size_t size = jr_utf8_decode(text + at, len - at, &point);
        if (size != 0 && jr_utf8_is_shown(point)) {
            jr_buf_add(buf, text + at, size);
            at += size;
            continue;
        }
        for (size_t end = at + (size == 0 ? 1 : size); at < end; at++)
            jr_buf_printf(buf, "\\x%02x", (unsigned char)text[at]);
    }
}

void jr_buf_safe(struct jr_buf *buf, const char *text)
{
    jr_buf_escaped(buf, text, strlen(text));
}

void jr_buf_replaced(struct jr_buf *buf, const char *text, const char *from, const char *to)
{
    for (const char *at; (at = strstr(text, from)) != NULL;) {
        jr_buf_add(buf, text, (size_t)(at - text));
        jr_buf_str(buf, to);
        text = at + strlen(from);
    }
    jr_buf_str(buf, text);
}

/* How wide the buffer's last line is so far. */
static size_t line_column(const struct jr_buf *buf)
{
    const char *start = buf->len == 0 ? NULL : memrchr(buf->data, '\n', buf->len);
    return start == NULL ? buf->len : (size_t)(buf->data + buf->len - start) - 1;
}

static size_t line_width(const struct jr_buf *buf)
{
    return buf->width == 0 ? JR_BUF_WIDTH : buf->width;
}

static void break_line(struct jr_buf *buf, size_t indent)
{
    jr_buf_char(buf, '\n');
    jr_buf_fill(buf, ' ', indent);
}

/* The length of the next word, of at most `most` bytes if it has blanks. Quotes that end in the
 * middle of a word are none, but apostrophes. */
static size_t word_length(const char *text, size_t most)
{
    size_t first = strcspn(text, " \n"), len = *text == '(';
    const char *open = text + len;
    bool typed = false;
    for (size_t i = 1; (*open == '\'' || *open == '"') && open[i] != '\0'; i++)
        if (open[i] == *open && (open[i + 1] == '\0' || strchr(" \n,.;:)?", open[i + 1]))) {
            len += i + 1;
            break;
        }
    for (; text[len] != '\0' && (typed || strchr(" \n", text[len]) == NULL); len++)
        typed = text[len] == '`' ? !typed : typed;
    return typed || len > most ? first : len;
}

void jr_buf_wrapped(struct jr_buf *buf, const char *text, size_t indent)
{
    size_t column = line_column(buf), width = line_width(buf);
    size_t room = width > indent ? width - indent : 1;
    bool first = true;
    for (text += strspn(text, " \n"); *text != '\0';) {
        size_t len = word_length(text, room);
        bool fits = column + len + !first <= width;
        if (!first && !fits) {
            break_line(buf, indent);
            column = indent;
        } else if (!first) {
            jr_buf_char(buf, ' ');
            column++;
        }
        for (size_t i = 0; i < len; i++)
            jr_buf_char(buf, text[i] == '\n' ? ' ' : text[i]);
        column += len;
        first = false;
        text += len + strspn(text + len, " \n");
    }
}

/* What is read in one breath, as is what stands in parentheses; the blank behind it is not
 * counted. */
static size_t phrase_length(const char *text)
{
    size_t len = 0;
    bool typed = false, within = text[0] == '(';
    for (; text[len] != '\0'; len++) {
        typed = text[len] == '`' ? !typed : typed;
        within = within && (len == 0 || text[len - 1] != ')');
        bool ends = len > 0 && strchr(",;:", text[len - 1]) != NULL;
        if (!typed && !within && text[len] == ' ' && (ends || text[len + 1] == '('))
            return len;
    }
    return len;
}

void jr_buf_phrases(struct jr_buf *buf, const char *text, size_t indent)
{
    JR_BUF_CLEANUP struct jr_buf phrase = JR_BUF_INIT;
    for (bool first = true; *text != '\0' && !buf->failed; first = false) {
        size_t len = phrase_length(text);
        jr_buf_clear(&phrase);
        jr_buf_add(&phrase, text, len);
        if (!first && line_column(buf) + 1 + len > line_width(buf))
            break_line(buf, indent);
        else if (!first)
            jr_buf_char(buf, ' ');
        jr_buf_wrapped(buf, phrase.failed ? "" : phrase.data, indent);
        buf->failed |= phrase.failed;
        text += len + (text[len] == ' ');
    }
}

void jr_buf_clear(struct jr_buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

char *jr_buf_detach(struct jr_buf *buf)
{
    jr_buf_reserve(buf, 0);
    char *data = buf->failed ? NULL : buf->data;
    if (data == NULL)
        free(buf->data);
    *buf = (struct jr_buf){.width = buf->width};
    return data;
}

void jr_inlet_add(struct jr_inlet *inlet, const char *bytes, size_t len)
{
    struct jr_buf *buf = &inlet->bytes;
    if (inlet->at > 0) {
        memmove(buf->data, buf->data + inlet->at, buf->len - inlet->at);
        buf->len -= inlet->at;
        inlet->at = 0;
    }
    jr_buf_add(buf, bytes, len);
}

const char *jr_inlet_line(struct jr_inlet *inlet, size_t *ret_len)
{
    size_t len;
    const char *line = jr_inlet_rest(inlet, &len);
    const char *end = len == 0 ? NULL : memchr(line, '\n', len);
    if (end == NULL)
        return NULL;
    *ret_len = (size_t)(end - line);
    inlet->at += *ret_len + 1;
    return line;
}

const char *jr_inlet_rest(const struct jr_inlet *inlet, size_t *ret_len)
{
    *ret_len = inlet->bytes.len - inlet->at;
    return *ret_len == 0 ? "" : inlet->bytes.data + inlet->at;
}

void jr_inlet_release(struct jr_inlet *inlet)
{
    jr_buf_release(&inlet->bytes);
    inlet->at = 0;
}
