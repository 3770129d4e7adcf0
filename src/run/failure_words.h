/*
 * What the last words of a rank that failed tell: whether it failed as only who lost a peer does (a
 * connection that was reset or closed, a broken pipe, a collective or a store that timed out), and
 * whether others failed with the same words. The kinds of exceptions and the texts are a table in
 * failure_words.c.
 */
#ifndef JR_FAILURE_WORDS_H
#define JR_FAILURE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* So much of the end of standard error is looked at. */
#define JR_FAILURE_TAIL (16U << 10)

struct jr_failure_words {
    uint32_t hash;  /* of the exception's type, or else the last line; 0: none */
    bool lost_peer; /* the exception, or one that it was raised from, is of a
                       kind that only a lost peer causes */
};

/* Of an error.json (jobrun's own form or torch's); NULL is none. */
struct jr_failure_words jr_failure_words_of_error(const json_t *error);

/* Of the end of a standard error, at most JR_FAILURE_TAIL bytes. An uncaught exception is found by
 * its traceback, or by what terminate() says. */
struct jr_failure_words jr_failure_words_of_output(const char *text, size_t len);

#endif
