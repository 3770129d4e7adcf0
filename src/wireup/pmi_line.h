/* A line of PMI-1: words KEY=VALUE with blanks between them. */
#ifndef JR_PMI_LINE_H
#define JR_PMI_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a line. */
struct jr_pmi_text {
    const char *at;
    size_t len; /* bytes */
};

/* Whether the line is one: it begins with KEY=, and has no control bytes. */
bool jr_pmi_line_is_one(const char *line);

/* The value of the first word `key`, which ends at a blank. False, and *ret is empty, if there is
 * none. */
bool jr_pmi_line_word(const char *line, const char *key, struct jr_pmi_text *ret);

/* The same, up to the end of the line: a value that may have blanks. */
bool jr_pmi_line_rest(const char *line, const char *key, struct jr_pmi_text *ret);

/* Whether the first word of the line is KEY=VALUE. */
bool jr_pmi_line_begins(const char *line, const char *key, const char *value);

/* The value of the word `key` as a number. False, and *ret untouched, if there is none, or it does
 * not fit. */
bool jr_pmi_line_number(const char *line, const char *key, int64_t *ret);

#endif
