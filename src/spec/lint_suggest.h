/*
 * What may have been meant, as help for a finding of lint.h; and as a fix where that is sure.
 * Private to this folder.
 *
 *   jr_lint_suggest       a word of several
 *   jr_lint_suggest_kind  another kind of value
 *   jr_lint_suggest_shape the same for a field       lint_shape.h
 *   jr_lint_suggest_text  another text, or size      lint_text.h
 *   jr_lint_typed         “text” as "text"           lint_text.h
 *   jr_lint_unknown_help  a key that is not a field  lint_unknown_help.h
 */
#ifndef JR_LINT_SUGGEST_H
#define JR_LINT_SUGGEST_H

#include "spec/lint.h"

/* "help: did you mean 'X'?" when `words` holds a near one, with the fix where it is the only
 * one. */
void jr_lint_suggest(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                     const char *const *words);

/* The word that a text may have been meant for, and whether nothing else can be meant; NULL for
 * none. */
const char *jr_lint_near_word(const char *text, const char *const *words, bool *ret_sure);

/* Give the finding a fix that replaces the scalar `node`, quotes and all (a NULL text is no fix),
 * or its text within them. Neither is done if it might change more than the mistake: if the source
 * differs from its text, or if it has an anchor. */
void jr_lint_fix(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                 const char *text);

/* The same for the text within the quotes. */
void jr_lint_fix_text(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                      const char *text);

/* Report that a quoted scalar would be right without its quotes, and remove them if possible. */
void jr_lint_unquote(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node);

/* Whether a text is a word that needs no quotes anywhere. */
bool jr_lint_is_bare(const char *text);

/* Help for a value of another kind than is wanted. */
void jr_lint_suggest_kind(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type, const struct jr_node *node,
                          const struct jr_node_step *at);

/* The words of a text as those of a list, "a, b", in quotes if it was (JSON
 * stays JSON), in the arena; or NULL where only a shell could tell them apart.
 */
const char *jr_lint_word_list(struct jr_lint *lint, const char *text, bool quoted);

#endif
