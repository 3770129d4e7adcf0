/* Files that are YAML or JSON, and yet no specs: those of other programs, and jobrun's own
 * records. */
#ifndef JR_OTHER_KIND_H
#define JR_OTHER_KIND_H

#include "doc/doc.h"

/* Report that a document, as read, is the file of another program, if its keys say so: one finding,
 * instead of one for each key. */
bool jr_other_kind_report(struct jr_diags *diags, const struct jr_node *root);

#endif
