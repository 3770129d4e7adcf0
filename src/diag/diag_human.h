/* The form for people: position and message, the source line, a caret span. */
#ifndef JR_DIAG_HUMAN_H
#define JR_DIAG_HUMAN_H

#include "diag/diag_text.h"

/* Append the finding with the quoted line and its related position. */
void jr_diag_human(struct jr_buf *out, const struct jr_diag *diag, struct jr_diag_cursor *cursor,
                   bool color);

#endif
