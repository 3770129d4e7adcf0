#include "base/hash.h"

#include <nettle/base16.h>
#include <nettle/sha2.h>

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
