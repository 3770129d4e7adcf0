/* What helps with a text that does not match the pattern of its type: a URL where an address is
 * wanted, cuda:0 for a device's index, SIGABRT for ABRT, a size that is written otherwise, marks of
 * an editor of prose. */
#ifndef JR_LINT_TEXT_H
#define JR_LINT_TEXT_H

#include "spec/lint.h"

/* A size that is written otherwise, "64 GB", as jobrun writes it, "64GiB"; NULL where it is no
 * size. */
const char *jr_lint_near_size(struct jr_lint *lint, const char *text);

/* Whether a text says that there is no limit: -1, inf, none, unlimited. */
bool jr_lint_is_endless(const char *text);

/* Help for a text that is no size of the type. */
void jr_lint_suggest_size(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type, const struct jr_node *node);

/* Help for another text that does not match its type's pattern. */
void jr_lint_suggest_text(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type, const struct jr_node *node,
                          const struct jr_node_step *at);

/* The signal that a text may have been meant for, as jobrun writes it: "TERM" of SIGTERM, sigterm
 * and 15. NULL for none. */
const char *jr_lint_signal_name(struct jr_lint *lint, const char *text);

/* A plain scalar in typographic quotes as it was meant: in quotes of YAML. NULL for any other. */
const char *jr_lint_typed(struct jr_lint *lint, const struct jr_node *node);

/* The text without what nobody sees in it, such as zero-width spaces, whose first is *ret_point;
 * NULL: all of it is seen. In the arena of `lint`. */
const char *jr_lint_seen(struct jr_lint *lint, const char *text, uint32_t *ret_point);

/* The same for a key, without quotes; also one that begins with a space that is none to YAML. */
const char *jr_lint_typed_key(struct jr_lint *lint, const struct jr_node *key);

/* Warn of typographic marks in a scalar that was read without complaint. */
void jr_lint_typography(struct jr_lint *lint, const struct jr_node *node,
                        const struct jr_node_step *at);

#endif
