#include "frame.h"

#include <string.h>

#include "banned.h"

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

/* RFC 4648, section 4. */
static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void add_base64(struct jr_buf *out, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i += 3) {
        uint32_t bits = 0;
        char four[4];
        size_t some = len - i < 3 ? len - i : 3;
        for (size_t j = 0; j < 3; j++)
            bits = bits << 8 | (j < some ? (unsigned char)bytes[i + j] : 0);
        for (size_t j = 0; j < 4; j++)
            four[j] = j > some ? '=' : digits[bits >> (18 - 6 * j) & 63];
        jr_buf_add(out, four, sizeof four);
    }
}

/* The value of a digit; 64: it is none. */
static uint32_t digit_value(char digit)
{
    const char *at = digit == '\0' ? NULL : strchr(digits, digit);
    return at == NULL ? 64 : (uint32_t)(at - digits);
}

static bool take_base64(struct jr_buf *to, const char *text, size_t len)
{
    if (len % 4 != 0)
        return false;
    for (size_t i = 0; i < len; i += 4) {
        uint32_t bits = 0;
        size_t some = 4;
        while (i + 4 == len && some > 2 && text[i + some - 1] == '=')
            some--;
        for (size_t j = 0; j < 4; j++) {
            uint32_t value = j < some ? digit_value(text[i + j]) : 0;
            if (value == 64)
                return false;
            bits = bits << 6 | value;
        }
        for (size_t j = 0; j + 1 < some; j++)
            jr_buf_char(to, (char)(bits >> (16 - 8 * j) & 255));
    }
    return true;
}

json_t *jr_frame_word(uint32_t node, const char *type)
{
    json_t *frame = json_object();
    jr_json_set_int(frame, "n", node);
    jr_json_set_str(frame, "t", type);
    return frame;
}

void jr_frame_add(struct jr_buf *out, json_t *frame)
{
    out->failed |= frame == NULL;
    if (frame != NULL)
        jr_json_print(out, frame, 0);
    jr_buf_char(out, '\n');
    json_decref(frame);
}

void jr_frame_bytes(struct jr_buf *out, uint32_t node, enum jr_flow type,
                    const char *bytes, size_t len)
{
    for (size_t at = 0; at < len; at += JR_FRAME_RAW) {
        size_t some = len - at < JR_FRAME_RAW ? len - at : JR_FRAME_RAW;
        jr_buf_printf(out, "{\"n\":%u,\"t\":\"%s\",\"b\":\"", node,
                      stream_words[type]);
        add_base64(out, bytes + at, some);
        jr_buf_str(out, "\"}\n");
    }
}

json_t *jr_frame_read(const char *line, size_t len)
{
    static const char head[] = "{\"n\":";
    if (len < sizeof head || memcmp(line, head, sizeof head - 1) != 0)
        return NULL;
    json_t *frame = jr_json_parse(line, len, NULL);
    json_int_t node = json_integer_value(json_object_get(frame, "n"));
    if (json_is_integer(json_object_get(frame, "n")) && node >= 0 &&
        node <= UINT32_MAX && jr_json_get_str(frame, "t") != NULL)
        return frame;
    json_decref(frame);
    return NULL;
}

bool jr_frame_take(struct jr_buf *to, const json_t *frame)
{
    const json_t *bytes = json_object_get(frame, "b");
    return json_is_string(bytes) &&
           take_base64(to, json_string_value(bytes), json_string_length(bytes));
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
