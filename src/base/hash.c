#include "hash.h"

#include <sha256.h>

#include "banned.h"

_Static_assert(JR_HASH_SIZE == SHA256_DIGEST_STRING_LENGTH,
               "the digest in hex, and a NUL");

void jr_hash(char ret[static JR_HASH_SIZE], const void *bytes, size_t len)
{
    /* It returns its argument; NULL is for a buffer that it would allocate. */
    (void)SHA256Data(bytes, len, ret);
}
