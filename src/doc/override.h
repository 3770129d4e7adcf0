/*
 * Values from the command line: PATH=VALUE. PATH is dotted, with [i] for
 * sequences ("parallelism.data", "hosts[1]"); VALUE is YAML. What stood at PATH
 * is replaced whole, and mappings on the way there are made if there are none.
 * Positions are those in the option's own text, in a source named --set.
 */
#ifndef JR_OVERRIDE_H
#define JR_OVERRIDE_H

#include "doc/merge.h"

/* Put a value into the tree of `doc`, whose arena takes what is new. `folder`
 * is what a path in the value is relative to. Mistakes go to `diags`; the tree
 * stays as it was then. */
void jr_override(struct jr_doc *doc, const struct jr_shapes *shapes,
                 const char *option, const char *folder,
                 struct jr_diags *diags);

#endif
