/* Bytes as text, by RFC 4648, section 4: nettle's. */
#ifndef JR_BASE64_H
#define JR_BASE64_H

#include "base/buf.h"

/* Append the text of `len` bytes: four characters for every three of them. */
void jr_base64_add(struct jr_buf *out, const void *bytes, size_t len);

/* Append the bytes of a text. False, and nothing is appended, if it is not one;
 * blanks in it are passed over. */
bool jr_base64_take(struct jr_buf *out, const char *text, size_t len);

#endif
