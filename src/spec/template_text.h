/* What other folders need of the texts in which ranks fill something in: %{rank}. lint_template.c
 */
#ifndef JR_TEMPLATE_TEXT_H
#define JR_TEMPLATE_TEXT_H

#include "base/arena.h"

/* The text as a template that means itself: each "%{" is "%%{". NULL if memory runs out. */
char *jr_template_literal(struct jr_arena *arena, const char *text);

/* What stands before the first word of a template, as it is: the way back. The rest is *ret_rest.
 * NULL if memory runs out. */
char *jr_template_head(struct jr_arena *arena, const char *text, const char **ret_rest);

#endif
