/* From a text in memory to a tree. */
#ifndef JR_COMPOSE_H
#define JR_COMPOSE_H

#include "doc/doc.h"

/* Set doc->root from `text`: that of doc->source, or one of as many code points in its place.
 * Findings go to `diags`; the root stays NULL when there is nothing to walk. */
void jr_compose(struct jr_doc *doc, const char *text, size_t len, struct jr_diags *diags);

#endif
