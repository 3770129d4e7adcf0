/* Slips of the hand that libyaml stumbles over later, and of which more can be said than where that
 * was. For syntax_error.c alone. */
#ifndef JR_SYNTAX_SLIP_H
#define JR_SYNTAX_SLIP_H

#include "diag/diag.h"

/* What libyaml has complained of. */
struct jr_stumble {
    struct jr_diags *diags;
    const struct jr_source *source;
    size_t at;      /* the byte that is the problem, */
    size_t context; /* and where began what it is a problem of */
    bool in_flow;   /* a ',' or a bracket was wanted there */
    bool in_block;  /* it belongs to no mapping or sequence */
    bool no_colon;  /* a line without one */
    bool colon;     /* or with one too many */
    bool word;      /* a value begins there that cannot */
    bool ended;     /* the text ends where a value is wanted */
    bool escape;    /* behind a backslash in double quotes */
};

/* Report the slip that it came of. Returns false, and nothing is reported, where none is known. */
bool jr_syntax_slip(const struct jr_stumble *stumble);

/* The same for single marks that do not belong there (syntax_mark.c): colons and brackets, escapes,
 * a fence of Markdown. */
bool jr_slip_mark(const struct jr_stumble *stumble);

/* The same for a code point that nobody sees on the line, which may as well have nothing to do with
 * it. */
bool jr_slip_unseen(const struct jr_stumble *stumble);

/* What the two share. */

/* The start of the line on which byte `at` is. */
size_t jr_slip_line(const struct jr_stumble *s, size_t at);

/* Report bytes [from, to). The finding is that of `diags`. */
struct jr_diag *jr_slip_report(const struct jr_stumble *s, size_t from, size_t to,
                               const char *message);

/* Have --fix replace bytes [from, to). */
void jr_slip_fix(const struct jr_stumble *s, struct jr_diag *diag, size_t from, size_t to,
                 const char *text);

/* Help with "WHAT: "..."", with bytes [from, to) in quotes; WHAT alone where they are too many. */
void jr_slip_help_quote(const struct jr_stumble *s, struct jr_diag *diag, size_t from, size_t to,
                        const char *what);

#endif
