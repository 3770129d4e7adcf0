/* Findings of lint.h, and how they show nodes, paths and texts. */
#ifndef JR_LINT_FINDING_H
#define JR_LINT_FINDING_H

#include "spec/lint.h"

/* Add a finding about the value at `at`, whose path it gets. */
struct jr_diag *jr_lint_error(struct jr_lint *lint, enum jr_diag_code code, struct jr_span span,
                              const struct jr_node_step *at, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* "'PATH' wants WANTS, not SHOWN" at the node. */
struct jr_diag *jr_lint_wrong(struct jr_lint *lint, const struct jr_spec_type *type,
                              const struct jr_node *node, const struct jr_node_step *at);

/* The dotted path of a step: "results.fields.loss", "hosts[2]"; "the spec" for NULL. In the lint's
 * arena, safe to show. */
const char *jr_lint_path(struct jr_lint *lint, const struct jr_node_step *at);

/* A node for people: 4x in quotes, `the string "4"`, "a list". */
const char *jr_lint_shown(struct jr_lint *lint, const struct jr_node *node);

/* What the source has for a scalar: its text, or the ${...} that made it. */
const char *jr_lint_source(const struct jr_node *node);

/* The same, made safe and short enough to show. */
const char *jr_lint_said(struct jr_lint *lint, const struct jr_node *node);

/* The scalar that a value repeats, however often it was handed on; or itself.
 */
const struct jr_node *jr_lint_origin(const struct jr_node *node);

/* Relate a finding to the origin of `node`, where that is another node. */
void jr_lint_relate_origin(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node);

/* Text made safe and short enough to show, in quotes. */
const char *jr_lint_quoted(struct jr_lint *lint, const char *text, size_t len);

/* The position of bytes [from, to) of a scalar's text; the whole node where the text in the file is
 * not the text itself (folded lines, escapes). */
struct jr_span jr_lint_part(const struct jr_lint *lint, const struct jr_node *node, size_t from,
                            size_t to);

/* A scalar at the position of `from`: a new one, or `from` itself if it is already right, because
 * both trees are only read. */
struct jr_node *jr_lint_scalar(struct jr_lint *lint, const struct jr_node *from, const char *text,
                               bool plain);

#endif
