/* SHA-256 (FIPS 180-4): by nettle. */
#ifndef JR_HASH_H
#define JR_HASH_H

#include <stddef.h>

enum { JR_HASH_SIZE = 65 };

/* The digest of `len` bytes as 64 lower-case hex digits and a NUL. */
void jr_hash(char ret[static JR_HASH_SIZE], const void *bytes, size_t len);

#endif
