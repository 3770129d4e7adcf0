/*
 * A growing byte buffer, always NUL-terminated once anything was added. Failure to grow is sticky:
 * later additions do nothing and `failed` is set.
 */
#ifndef JR_BUF_H
#define JR_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jr_arena;

struct jr_buf {
    char *data; /* NULL while empty */
    size_t len; /* bytes, without the terminating NUL */
    size_t cap;
    size_t width; /* of the lines that texts are broken into; 0: JR_BUF_WIDTH */
    bool failed;
};

#define JR_BUF_INIT    ((struct jr_buf){0})
#define JR_BUF_CLEANUP __attribute__((cleanup(jr_buf_release)))

/* Free the contents; the buffer is empty and usable afterwards. */
void jr_buf_release(struct jr_buf *buf);

/* A copy of the text, "" of an empty buffer. Where the buffer has failed
 * `arena` fails, too, and it is NULL: never a part of the text. */
char *jr_buf_keep(const struct jr_buf *buf, struct jr_arena *arena);

/* Make room for `extra` more bytes and a NUL. */
void jr_buf_reserve(struct jr_buf *buf, size_t extra);

/* Append `len` bytes. */
void jr_buf_add(struct jr_buf *buf, const void *bytes, size_t len);

/* Append a NUL-terminated text. */
void jr_buf_str(struct jr_buf *buf, const char *text);

/* Append one byte. */
void jr_buf_char(struct jr_buf *buf, char byte);

/* Append a number in decimal. */
void jr_buf_u64(struct jr_buf *buf, uint64_t number);

/* Append the same byte `count` times. */
void jr_buf_fill(struct jr_buf *buf, char byte, size_t count);

/* Append what printf(3) would print. */
void jr_buf_printf(struct jr_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append `len` bytes of text from outside, made safe to show: control bytes and broken UTF-8 as
 * \xNN, so that it cannot move a cursor or forge a line. */
void jr_buf_escaped(struct jr_buf *buf, const char *text, size_t len);

/* The same for a NUL-terminated text. */
void jr_buf_safe(struct jr_buf *buf, const char *text);

/* Append the text with each `from`, which is not empty, replaced by `to`. */
void jr_buf_replaced(struct jr_buf *buf, const char *text, const char *from, const char *to);

enum { JR_BUF_WIDTH = 80 };

/* Append the words of a text, broken into lines of at most `width` bytes; each
 * line but the first begins with `indent` blanks. The first continues where the
 * buffer's last line ends. No newline is added at the end. What stands between
 * `backticks` or quotes is one word unless it is longer than a line. */
void jr_buf_wrapped(struct jr_buf *buf, const char *text, size_t indent);

/* The same for the text of a table's row: a line is broken behind a comma, a semicolon or a colon,
 * or before a parenthesis, and elsewhere only where what is between two of these is longer than a
 * line. */
void jr_buf_phrases(struct jr_buf *buf, const char *text, size_t indent);

/* Forget the contents but keep the memory. */
void jr_buf_clear(struct jr_buf *buf);

/* The contents as a malloc'ed string that the caller frees; NULL if the buffer failed. An empty
 * buffer yields "". */
char *jr_buf_detach(struct jr_buf *buf);

/* What is read of a stream in pieces of any size, until it is a whole line, or whatever else the
 * stream is made of. It begins empty, with all bytes 0. */
struct jr_inlet {
    struct jr_buf bytes; /* what has come and was not taken */
    size_t at;           /* what was taken: the next line begins here */
};

/* Add what was read. Without memory `bytes` has failed, and stays so. */
void jr_inlet_add(struct jr_inlet *inlet, const char *bytes, size_t len);

/* Take the next line; NULL when there is no whole one left. It is valid until bytes are added; its
 * newline is not counted. */
const char *jr_inlet_line(struct jr_inlet *inlet, size_t *ret_len);

/* What is no whole line. Valid until bytes are added. */
const char *jr_inlet_rest(const struct jr_inlet *inlet, size_t *ret_len);

/* Free what was not taken. */
void jr_inlet_release(struct jr_inlet *inlet);

/* A receiver of a text that may be larger than memory, in pieces: `take` uses the contents and
 * clears them; a value other than 0 ends the output. */
struct jr_drain {
    int (*take)(void *data, struct jr_buf *text);
    void *data;
};

#endif
