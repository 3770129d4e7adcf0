/*
 * Steps out of text as it passes by: of a stream the lines that match a pattern, of a progress file
 * each line, which is a JSON object. Lines end with a newline or a carriage return. Nothing is
 * looked at twice but the end of a piece, which is kept until its line is whole.
 *
 * Where streams together tell more than 20,000 steps a second, some are passed over, never the last
 * one of a piece: what is told stays true, and programs that print without end are not held up by
 * their steps, however many they are.
 */
#ifndef JR_STEP_LINES_H
#define JR_STEP_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "store/step_tracker.h"

struct jr_regex;

enum { JR_STEP_LINE_MOST = 64 << 10 /* bytes that are kept of a line */ };

/* What reads lines by one pattern, or JSON lines. */
struct jr_step_lines {
    struct jr_step_tracker *tracker; /* is told */
    struct jr_regex *line;           /* the pattern, for one line; NULL: JSON lines */
    struct jr_regex *ahead;          /* the same, to find the next line that may match
                                        among many; NULL: it cannot be used so */
    int landmark;                    /* a character of each line that matches, where it is found
                                        faster than by `ahead`; -1: none. Without either, each line
                                        is tried */
    unsigned limited;                /* lines that took the pattern too long */
    uint32_t credit;                 /* lines of all streams that may match before some
                                        are passed over, */
    uint64_t credited_ns;            /* counted up to then */
    uint64_t now_ns, wall_ns;        /* of the piece in hand */
    struct jr_step_report report;
};

/* The lines of one stream, or one file. */
struct jr_step_text {
    uint32_t i;         /* the rank's place */
    struct jr_buf rest; /* of a line without its end */
    bool skipped;       /* the line is too long: its end is waited for */
};

/* Read lines by a pattern, or JSON lines with NULL. 0, or -1 with errno. */
int jr_step_lines_open(struct jr_step_lines *lines, struct jr_step_tracker *tracker,
                       const char *pattern);

/* Free the patterns. */
void jr_step_lines_close(struct jr_step_lines *lines);

/* Take a piece of the text. */
void jr_step_lines_add(struct jr_step_lines *lines, struct jr_step_text *text, const char *bytes,
                       size_t len);

/* The text has come to its end: take what has no line's end, and free. */
void jr_step_lines_end(struct jr_step_lines *lines, struct jr_step_text *text);

#endif
