/*
 * What may have been meant, as help for a finding of lint.h; and as a fix where
 * that is sure. Private to this folder.
 *
 *   jr_lint_suggest       a word of several          lint_suggest.c
 *   jr_lint_suggest_kind  another kind of value      lint_suggest.c
 *   jr_lint_suggest_shape the same for a field       lint_shape.c
 *   jr_lint_suggest_text  another text, or size      lint_text.c
 *   jr_lint_typed         “text” as "text"           lint_text.c
 *   jr_lint_unknown       a key that is not a field  lint_unknown.c,
 *                                                    lint_unknown_help.c
 */
#ifndef JR_LINT_SUGGEST_H
#define JR_LINT_SUGGEST_H

#include "spec/lint.h"

/* lint_suggest.c */

/* "help: did you mean 'X'?" when `words` holds a near one, with the fix where
 * it is the only one. */
void jr_lint_suggest(struct jr_lint *lint, struct jr_diag *diag,
                     const struct jr_node *node, const char *const *words);

/* The word that a text may have been meant for, and whether nothing else can be
 * meant; NULL for none. */
const char *jr_lint_near_word(const char *text, const char *const *words,
                              bool *ret_sure);

/* Give the finding a fix that replaces the scalar `node`, quotes and all (a
 * NULL text is no fix), or its text within them. Neither is done if it might
 * change more than the mistake: if the source differs from its text, or if it
 * has an anchor. */
void jr_lint_fix(struct jr_lint *lint, struct jr_diag *diag,
                 const struct jr_node *node, const char *text);

/* The same for the text within the quotes. */
void jr_lint_fix_text(struct jr_lint *lint, struct jr_diag *diag,
                      const struct jr_node *node, const char *text);

/* Report that a quoted scalar would be right without its quotes, and remove
 * them if possible. */
void jr_lint_unquote(struct jr_lint *lint, struct jr_diag *diag,
                     const struct jr_node *node);

/* Help for a text that is no size of the type. lint_text.c */
void jr_lint_suggest_size(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type,
                          const struct jr_node *node);

/* Help for another text that does not match its type's pattern. lint_text.c */
void jr_lint_suggest_text(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type,
                          const struct jr_node *node,
                          const struct jr_node_step *at);

/* The signal that a text may have been meant for, as jobrun writes it: "TERM"
 * of SIGTERM, sigterm and 15. NULL for none. lint_text.c */
const char *jr_lint_signal_name(struct jr_lint *lint, const char *text);

/* The time that a text is in words, as people write it elsewhere: 2 hours,
 * 10min, 1.5h. False for none. lint_duration.c */
bool jr_lint_read_words(const char *text, uint64_t *ret_ms);

/* Whether a text is a word that needs no quotes anywhere. */
bool jr_lint_is_bare(const char *text);

/* Help for a value of another kind than is wanted. */
void jr_lint_suggest_kind(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type,
                          const struct jr_node *node,
                          const struct jr_node_step *at);

/* The same where more is known of the field than its type. Returns whether
 * there was something to say. lint_shape.c */
bool jr_lint_suggest_shape(struct jr_lint *lint, struct jr_diag *diag,
                           const struct jr_spec_type *type,
                           const struct jr_node *node,
                           const struct jr_node_step *at);

/* lint_text.c */

/* A plain scalar in typographic quotes as it was meant: in quotes of YAML. NULL
 * for any other. */
const char *jr_lint_typed(struct jr_lint *lint, const struct jr_node *node);

/* The same for a key, without quotes; also one that begins with a space that is
 * none to YAML. */
const char *jr_lint_typed_key(struct jr_lint *lint, const struct jr_node *key);

/* Warn of typographic marks in a scalar that was read without complaint. */
void jr_lint_typography(struct jr_lint *lint, const struct jr_node *node,
                        const struct jr_node_step *at);

/* lint_unknown.c */

/* A key that none of the fields of its mapping has. */
struct jr_unknown {
    const struct jr_spec_field *fields;
    const struct jr_node *mapping, *key;
    const struct jr_node_step *at; /* of the key's value */
};

/* Refuse it, with the name of the field that was meant. */
void jr_lint_unknown(struct jr_lint *lint, const struct jr_unknown *unknown);

/* The keys of a mapping that may be suggested, NULL-terminated. */
const char *const *jr_lint_keys(struct jr_lint *lint,
                                const struct jr_spec_field *fields);

/* The value of the key. */
const struct jr_node *jr_unknown_value(const struct jr_unknown *unknown);

/* lint_unknown_help.c */

/* Give the finding about the key the best help there is for it, where `keys`
 * are those that may be suggested. Returns whether a key of the mapping may be
 * meant. */
bool jr_lint_unknown_help(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_unknown *unknown,
                          const char *const *keys);

/* How a value stands in a spec: "limits: {stack: 8MiB}" of the path
 * limits.stack. In the lint's arena. */
const char *jr_lint_nested(struct jr_lint *lint, const char *path,
                           const char *value);

/* The path of the group that has these fields: "results.fields.*". */
const char *jr_lint_group(const struct jr_spec_field *fields);

/* The one of the keys that is `name` except for case, dashes and underscores,
 * or NULL. */
const char *jr_lint_same_name(const char *name, const char *const *keys);

#endif
