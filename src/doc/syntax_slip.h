/* Slips of the hand that libyaml stumbles over later, and of which more can be
 * said than where that was. For syntax_error.c alone. */
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
};

/* Report the slip that it came of. Returns false, and nothing is reported,
 * where none is known. */
bool jr_syntax_slip(const struct jr_stumble *stumble);

#endif
