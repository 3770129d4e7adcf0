#include "base/hash.h"

#include <nettle/base16.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"

#include "base/banned.h"

_Static_assert(JR_HASH_SIZE == BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE) + 1,
               "the digest in hex, and a NUL");

void jr_hash(char ret[static JR_HASH_SIZE], const void *bytes, size_t len)
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&context);
    sha256_update(&context, len, bytes);
    sha256_digest(&context, sizeof digest, digest);
    base16_encode_update(ret, sizeof digest, digest);
    ret[JR_HASH_SIZE - 1] = '\0';
}

void jr_token(char ret[static JR_TOKEN_SIZE])
{
    uint64_t bits[2] = {jr_clock_ns(), (uint64_t)getpid()};
    (void)!getrandom(bits, sizeof bits, GRND_NONBLOCK);
    base16_encode_update(ret, sizeof bits, (const uint8_t *)bits);
    ret[JR_TOKEN_SIZE - 1] = '\0';
}

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
        base64_decode_update(&context, &bytes, (uint8_t *)out->data + out->len, len, text) &&
        base64_decode_final(&context);
    if (whole)
        out->len += bytes;
    out->data[out->len] = '\0';
    return whole;
}
