#include "doc/interpolation.h"

#include <string.h>

#include "base/banned.h"

/* Behind the brace that closes the reference at `at`; 0 where none does. */
static size_t find_close(const char *text, size_t len, size_t at)
{
    size_t open = 0;
    for (; at < len; at++) {
        if (text[at] == '$' && at + 1 < len && text[at + 1] == '{')
            open++;
        else if (text[at] == '}' && --open == 0)
            return at + 1;
    }
    return 0;
}

bool jr_interpolation_next(const char *text, size_t len, size_t *at,
                           struct jr_interpolation *ret)
{
    size_t start = *at;
    if (start >= len)
        return false;
    const char *mark = memmem(text + start, len - start, "${", 2);
    size_t brace = mark == NULL ? len : (size_t)(mark - text) + 1, run = brace;
    while (run > start && text[run - 1] == '$')
        run--;
    size_t dollars = mark == NULL ? 0 : brace - run;
    size_t literal = mark == NULL ? len : run + dollars / 2;
    *ret = (struct jr_interpolation){JR_INTERPOLATION_TEXT, start, literal};
    *at = dollars % 2 == 0 ? brace : brace - 1;
    if (literal > start || dollars != 1)
        return true;
    size_t close = find_close(text, len, start);
    ret->kind = close == 0 ? JR_INTERPOLATION_OPEN : JR_INTERPOLATION_REFERENCE;
    ret->end = *at = close == 0 ? len : close;
    return true;
}

/* Double the dollars that the buffer ends with: those of a run before a brace
 * or a reference. */
static void double_dollars(struct jr_buf *out)
{
    size_t run = 0;
    while (run < out->len && out->data[out->len - run - 1] == '$')
        run++;
    jr_buf_fill(out, '$', run);
}

void jr_interpolation_escape(struct jr_buf *out, const char *text, size_t len)
{
    const char *end = text + len;
    for (const char *brace; text < end; text = brace) {
        if (*text == '{')
            double_dollars(out);
        brace = memchr(text + 1, '{', (size_t)(end - text) - 1);
        brace = brace == NULL ? end : brace;
        jr_buf_add(out, text, (size_t)(brace - text));
    }
}

void jr_interpolation_refer(struct jr_buf *out, const char *text, size_t len)
{
    double_dollars(out);
    jr_buf_add(out, text, len);
}

void jr_interpolation_append(struct jr_buf *out, const char *text, size_t len)
{
    struct jr_interpolation part;
    for (size_t at = 0; jr_interpolation_next(text, len, &at, &part);) {
        size_t size = part.end - part.start;
        if (part.kind == JR_INTERPOLATION_TEXT)
            jr_interpolation_escape(out, text + part.start, size);
        else
            jr_interpolation_refer(out, text + part.start, size);
    }
}
