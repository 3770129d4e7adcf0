/*
 * Secrets in a text that somebody wrote, such as a file of settings or the difference between two
 * sources: the values of secret variables, and what is assigned to a name that is a secret's.
 *
 *     API_TOKEN=abc           as shells and .env files have it
 *     api_token: "abc..."     as YAML, JSON and programs have it
 *     aws_secret_key = a1b2c3d4
 *
 * The whole name has to match: MAX_TOKENS is none of *_TOKEN. What is assigned without quotes to a
 * name that is not in capitals counts only where it does not look like code: `token =
 * tokenizer.next()` is none. References ($NAME) are none.
 */
#ifndef JR_SECRET_LINES_H
#define JR_SECRET_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* What is secret. Borrowed. */
struct jr_secrets {
    char *const *globs; /* of names, as `secrets` of a spec has them */
    size_t count;
    char *const *values; /* NULL-terminated; NULL: none */
};

/* Whether the text has such an assignment, or a private key in PEM form (RFC 7468). A NUL follows
 * its `len` bytes. */
bool jr_secret_lines_assign(const struct jr_secrets *secrets, const char *text, size_t len);

/* Put JR_REDACTED in the place of every secret of the text. Returns whether there was one; the text
 * fails where memory runs out. */
bool jr_secret_lines_redact(const struct jr_secrets *secrets, struct jr_buf *text);

#endif
