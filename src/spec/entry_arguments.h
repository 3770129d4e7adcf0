/* The arguments of a function: values of any type that JSON has. Private to this folder. */
#ifndef JR_ENTRY_ARGUMENTS_H
#define JR_ENTRY_ARGUMENTS_H

#include "base/json.h"
#include "doc/doc.h"

/* Whether a spec (as read, or in normal form) calls a function, or has no entrypoint yet, so that
 * it may. */
bool jr_call_is_one(const struct jr_node *root);

/* Whether what an entrypoint (or NULL) names returns a result to jobrun: a function, or a library's
 * step. */
bool jr_call_returns(const struct jr_node *entry);

/* A node as JSON whose strings are per-rank templates, which keys are not: "%{" in them is escaped.
 * Scalars are typed by the YAML core schema. NULL if memory runs out, and for a number that JSON or
 * a 64-bit integer cannot hold. */
json_t *jr_call_json(const struct jr_node *node);

#endif
