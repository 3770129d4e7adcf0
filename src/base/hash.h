/*
 * Digests and text forms of bytes, by nettle: SHA-256 (FIPS 180-4), base64 (RFC 4648, section 4),
 * and random words.
 */
#ifndef JR_HASH_H
#define JR_HASH_H

#include <stddef.h>

#include "base/buf.h"

enum { JR_HASH_SIZE = 65, JR_TOKEN_SIZE = 33 };

/* The digest of `len` bytes as 64 lower-case hex digits and a NUL. */
void jr_hash(char ret[static JR_HASH_SIZE], const void *bytes, size_t len);

/* Make a word that nobody can guess: 128 random bits (getrandom(2)) as 32 lower-case hex digits and
 * a NUL. Where the kernel has no random bits yet, it is one that no other process makes at this
 * moment. */
void jr_token(char ret[static JR_TOKEN_SIZE]);

/* Append the text of `len` bytes: four characters for every three of them. */
void jr_base64_add(struct jr_buf *out, const void *bytes, size_t len);

/* Append the bytes of a text. False, and nothing is appended, if it is not one; blanks in it are
 * passed over. */
bool jr_base64_take(struct jr_buf *out, const char *text, size_t len);

#endif
