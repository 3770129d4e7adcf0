/* The readers of lint.h for text with something to fill in: by each rank for itself, %{rank}, and
 * before that from the spec, ${...}. */
#ifndef JR_LINT_TEMPLATE_H
#define JR_LINT_TEMPLATE_H

#include "spec/lint.h"

/* Read a scalar that contains ${...}: its normal form, or NULL after a finding.
 */
struct jr_node *jr_lint_filled(struct jr_lint *lint, const struct jr_spec_type *type,
                               const struct jr_node *node, const struct jr_node_step *at);

/* Complain about what a template gets wrong; whether it is good. */
bool jr_read_template(struct jr_lint *lint, const struct jr_node *node,
                      const struct jr_node_step *at);

/* Whether a good template begins with a word for a folder of the run: those are absolute. */
bool jr_template_is_absolute(const char *text);

/* The text as a template that means itself: each "%{" is "%%{". NULL if memory runs out. */
char *jr_template_literal(struct jr_arena *arena, const char *text);

/* What stands before the first word of a template, as it is: the way back. The rest is *ret_rest.
 * NULL if memory runs out. */
char *jr_template_head(struct jr_arena *arena, const char *text, const char **ret_rest);

#endif
