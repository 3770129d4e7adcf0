/* Readers of lint.h for texts, paths, words, rank sets and patterns. */
#ifndef JR_LINT_VALUE_H
#define JR_LINT_VALUE_H

#include "spec/lint.h"

/* Whether the text matches the type's pattern as a whole; true without one. */
bool jr_lint_fits(struct jr_lint *lint, const struct jr_spec_type *type, const char *text,
                  size_t len);

/* The readers of the kinds that they are named after. */
jr_reader jr_read_text, jr_read_path, jr_read_word, jr_read_ranks;

jr_reader jr_read_pattern, jr_read_scalar;

/* The canonical text of a rank set: "0-3,8,10-14/2". */
const char *jr_ranks_text(struct jr_lint *lint, const struct jr_set *set);

/* The text of a type's words, NULL-terminated, for suggestions. */
const char *const *jr_did_you_mean_list(struct jr_lint *lint, const struct jr_spec_word *words);

#endif
