#include "base/inlet.h"

#include <string.h>

#include "base/banned.h"

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
