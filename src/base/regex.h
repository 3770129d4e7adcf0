/*
 * The only user of PCRE2. Patterns are bounded (match limit 100,000, a heap limit, no \C) and
 * JIT-compiled; subjects may hold broken UTF-8. `$` is the very end, not the place before a last
 * newline.
 */
#ifndef JR_REGEX_H
#define JR_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include <jobrun/error.h>

struct jr_regex;

/* Compile. On a bad pattern sets `err` to PCRE2's message (JR_STATUS_INVALID) and *ret_offset to
 * the offending byte, or its end; JR_STATUS_LAUNCH means that memory ran out. Free with
 * jr_regex_free. */
int jr_regex_new(struct jr_regex **ret, const char *pattern, size_t *ret_offset,
                 struct jr_error *err);

/* The same for a text of many lines, which end with a newline, a carriage return, or both: `^` and
 * `$` match at each line, and a match may begin in one and end in another. */
int jr_regex_new_lines(struct jr_regex **ret, const char *pattern, size_t *ret_offset,
                       struct jr_error *err);

/* Free an expression. NULL is allowed. */
void jr_regex_free(struct jr_regex *regex);

struct jr_match {
    size_t start, end; /* bytes within the subject */
};

/* Find the first match at or after `from`. *ret_limited is set when a limit was hit, or there was
 * no memory, which counts as no match. */
bool jr_regex_find(struct jr_regex *regex, const char *subject, size_t len, size_t from,
                   struct jr_match *ret, bool *ret_limited);

/* Whether each match begins with the same byte, which is looked for faster than a match is. */
bool jr_regex_has_first_byte(const struct jr_regex *regex);

/* An ASCII character that each match contains, in this or, where the pattern ignores case, in the
 * other case; -1: none is known. */
int jr_regex_required_char(const struct jr_regex *regex);

/* The number of named groups. */
size_t jr_regex_group_count(const struct jr_regex *regex);

/* The name of named group `i`, from 0, borrowed from the expression. */
const char *jr_regex_group_name(const struct jr_regex *regex, size_t i);

/* Where named group `i` took part in the last successful find; false when it did not. */
bool jr_regex_group(const struct jr_regex *regex, size_t i, struct jr_match *ret);

#endif
