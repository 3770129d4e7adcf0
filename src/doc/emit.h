/* Writing YAML: how a scalar must be written. The emitter of emit.c is declared in doc.h. */
#ifndef JR_EMIT_H
#define JR_EMIT_H

#include "doc/doc.h"

/* Whether `text` reads back as the same string without quotes, to YAML 1.2 and 1.1 readers alike;
 * `flow`: inside [ ]. */
bool jr_quote_needless(const char *text, size_t len, bool flow);

/* Whether the literal style (|) holds exactly this text. */
bool jr_quote_literal(const char *text, size_t len);

/* Append `text` in double quotes, on one line. Bytes that are not UTF-8, which YAML cannot hold,
 * become U+FFFD. */
void jr_quote_double(struct jr_buf *out, const char *text, size_t len);

#endif
