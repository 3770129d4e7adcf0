#include "cluster/message.h"

#include <string.h>

#include "base/base64.h"

#include "base/banned.h"

static const char *const stream_words[] = {
#define WORD(name, word) word,
    JR_FLOWS(WORD)
#undef WORD
};

const char *jr_flow_word(enum jr_flow type)
{
    return stream_words[type];
}

enum jr_flow jr_flow_find(const char *word)
{
    unsigned i = 0;
    while (i < JR_FLOW_COUNT && strcmp(stream_words[i], word) != 0)
        i++;
    return (enum jr_flow)i;
}

json_t *jr_message_word(uint32_t node, const char *type)
{
    json_t *frame = json_object();
    jr_json_set_int(frame, "n", node);
    jr_json_set_str(frame, "t", type);
    return frame;
}

void jr_message_add(struct jr_buf *out, json_t *frame)
{
    out->failed |= frame == NULL;
    if (frame != NULL)
        jr_json_print(out, frame, 0);
    jr_buf_char(out, '\n');
    json_decref(frame);
}

void jr_message_bytes(struct jr_buf *out, uint32_t node, enum jr_flow type,
                      const char *bytes, size_t len)
{
    for (size_t at = 0; at < len; at += JR_MESSAGE_RAW) {
        size_t some = len - at < JR_MESSAGE_RAW ? len - at : JR_MESSAGE_RAW;
        jr_buf_printf(out, "{\"n\":%u,\"t\":\"%s\",\"b\":\"", node,
                      stream_words[type]);
        jr_base64_add(out, bytes + at, some);
        jr_buf_str(out, "\"}\n");
    }
}

json_t *jr_message_read(const char *line, size_t len)
{
    static const char head[] = "{\"n\":";
    if (len < sizeof head || memcmp(line, head, sizeof head - 1) != 0)
        return NULL;
    json_t *frame = jr_json_parse(line, len, NULL);
    json_int_t node = jr_json_get_int(frame, "n");
    if (json_is_integer(json_object_get(frame, "n")) && node >= 0 &&
        node <= UINT32_MAX && jr_json_get_str(frame, "t") != NULL)
        return frame;
    json_decref(frame);
    return NULL;
}

bool jr_message_take(struct jr_buf *to, const json_t *frame)
{
    const json_t *bytes = json_object_get(frame, "b");
    return json_is_string(bytes) && jr_base64_take(to, json_string_value(bytes),
                                                   json_string_length(bytes));
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
