#include "base/base64.h"

#include <nettle/base64.h>

#include "base/banned.h"

void jr_base64_add(struct jr_buf *out, const void *bytes, size_t len)
{
    size_t text = BASE64_ENCODE_RAW_LENGTH(len);
    jr_buf_reserve(out, text);
    if (out->failed)
        return;
    base64_encode_raw(out->data + out->len, len, bytes);
    out->len += text;
    out->data[out->len] = '\0';
}

bool jr_base64_take(struct jr_buf *out, const char *text, size_t len)
{
    struct base64_decode_ctx context;
    size_t bytes;
    jr_buf_reserve(out, BASE64_DECODE_LENGTH(len));
    if (out->failed)
        return false;
    base64_decode_init(&context);
    bool whole =
        base64_decode_update(&context, &bytes, (uint8_t *)out->data + out->len,
                             len, text) &&
        base64_decode_final(&context);
    if (whole)
        out->len += bytes;
    out->data[out->len] = '\0';
    return whole;
}
