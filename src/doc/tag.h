/* The tags of the YAML core schema; there are no others. */
#ifndef JR_TAG_H
#define JR_TAG_H

#include "doc/doc.h"

/* Let `tag` (as libyaml resolves it; NULL for none) say what `node` is: !!str
 * makes any scalar a string, the others state a type that the text must have.
 * An unknown or contradicting tag is a finding at `span`. */
void jr_tag_apply(struct jr_diags *diags, struct jr_node *node, const char *tag,
                  struct jr_span span);

#endif
