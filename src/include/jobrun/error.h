/*
 * How things go wrong, in two shapes.
 *
 * A jr_error is one failure of the machine or the call: caller-owned, of fixed size, so that
 * reporting an error cannot itself fail. Functions that take one return 0 or -1, take it last,
 * leave it alone on success, and leave their outputs alone on failure.
 *
 * A jr_diag is one finding about a text that a person wrote: it has a code, a position and a help
 * line, and comes in lists, since all of them are told at once.
 */
#ifndef JOBRUN_ERROR_H
#define JOBRUN_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What libjobrun exports; all else is hidden. */
#define JR_API __attribute__((visibility("default")))

/* The exit status of every verb; the lowest that applies is not always the one that counts: see
 * jr_judgement. */
#define JR_STATUSES(X)                                                                             \
    X(OK, 0, "succeeded", "every rank ended well and delivered")                                   \
    X(FAILED, 1, "failed", "a rank failed")                                                        \
    X(USAGE, 2, "usage", "wrong usage of the command line")                                        \
    X(INVALID, 3, "invalid", "the spec is invalid or contradicts itself")                          \
    X(UNRESOLVED, 4, "unresolved", "the spec cannot be resolved on this machine")                  \
    X(INCOMPLETE, 5, "incomplete", "a rank ended with 0 but did not deliver")                      \
    X(TIMEOUT, 6, "timed_out", "timed out or hung")                                                \
    X(LAUNCH, 7, "launch_failed", "could not launch, or jobrun failed")                            \
    X(YIELDED, 8, "yielded", "to be continued: the ranks stopped for a deadline or a preemption")

#define JR_STATUS_ENUM(name, code, word, help) JR_STATUS_##name = (code),
enum jr_status { JR_STATUSES(JR_STATUS_ENUM) };

/* One failure. `status` is what it would make the program's exit status. */
struct jr_error {
    enum jr_status status;
    int sys; /* errno, or 0 */
    char text[1024];
};

#ifdef __cplusplus
extern "C" {
#endif

/* Set `err` (NULL is allowed) to the formatted text; always returns -1. A text that does not fit is
 * cut. */
JR_API int jr_error_set(struct jr_error *err, enum jr_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with ": " and strerror(errno) behind the text; keeps errno. */
JR_API int jr_error_sys(struct jr_error *err, enum jr_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "context: " before the text on the way up; always returns -1. */
JR_API int jr_error_wrap(struct jr_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

/* A text that positions refer to: a file, standard input, an option. */
struct jr_source {
    const char *name; /* as the user wrote it */
    const char *text; /* NULL when there is nothing to quote */
    size_t len;
    const char *folder; /* absolute: what paths in it are relative to; NULL:
                           nothing was said */
    bool option;        /* a word of the command line: it has no lines */
};

/* Where something stands; lines and columns count from 1, in code points; the end is exclusive.
 * line 0: nowhere, and `source` may be NULL. */
struct jr_span {
    const struct jr_source *source;
    uint32_t line, column;
    uint32_t end_line, end_column;
};

enum jr_severity { JR_SEVERITY_ERROR, JR_SEVERITY_WARNING };

/* Another position that belongs to a finding. */
struct jr_related {
    struct jr_span span;
    const char *message;
    struct jr_related *next; /* NULL: the last one */
    bool route;              /* it says why the finding's file is read, and nothing else */
};

/* Replace the span by `text`. */
struct jr_fix {
    struct jr_span span;
    const char *text;
};

struct jr_diag {
    enum jr_severity severity;
    const char *code; /* "JR0203"; see codes.h */
    struct jr_span span;
    const char *path;           /* dotted field path, or NULL */
    const char *message;        /* one line, no full stop */
    const char *help;           /* one line, or NULL */
    struct jr_related *related; /* the first; NULL if there is none */
    const struct jr_fix *fix;   /* NULL when none is sure */
};

/* Every form of a report: X(name, word, help). */
#define JR_DIAG_FORMATS(X)                                                                         \
    X(HUMAN, human, "for people: each line quoted, with a caret span")                             \
    X(SHORT, short, "FILE:LINE:COL: error: MESSAGE [CODE], one a line")                            \
    X(JSON, json, "one object with all findings")                                                  \
    X(JSONL, jsonl, "one object a line for each finding")                                          \
    X(GITHUB, github, "annotations of a step in GitHub Actions")                                   \
    X(GITLAB, gitlab, "a Code Quality report for GitLab")                                          \
    X(SARIF, sarif, "SARIF 2.1.0, for code scanning")                                              \
    X(JUNIT, junit, "JUnit XML: a test case for each file")

#define JR_DIAG_FORMAT_ENUM(name, word, help) JR_DIAG_##name,
enum jr_diag_format { JR_DIAG_FORMATS(JR_DIAG_FORMAT_ENUM) };

struct jr_diags; /* a growing list: see diag/diag.h */

#endif
