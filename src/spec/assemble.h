/* From a document to the whole tree: parents, --set, ${...}. Private to this folder. */
#ifndef JR_ASSEMBLE_H
#define JR_ASSEMBLE_H

#include "doc/merge.h"
#include "doc/source_reader.h"
#include "spec/load.h"

/* What a document becomes the whole tree by: parents, --set, ${...}. */
struct jr_assembly {
    const struct jr_spec_options *options;
    struct jr_file file; /* that the document is from */
    const char *here;    /* absolute: what a path in --set is relative to */
};

/* Make doc->root the whole tree. Returns -1 with findings when there is no tree that it makes sense
 * to look at, else 0, with or without findings. */
int jr_assemble(struct jr_doc *doc, const struct jr_assembly *assembly, struct jr_diags *diags);

/* Whether the spec says that it is only a base for others. */
bool jr_assembly_is_template(const struct jr_node *root);

/* Whether the spec says that its hosts are reached by ssh, or what is wrong with that is
 * reported. */
bool jr_assembly_states_ssh(const struct jr_node *root);

/* Whether the document, once it is put together, is several specs, and whoever reads it wants to
 * know: options->sweeps. */
bool jr_assembly_sweeps(const struct jr_assembly *assembly, const struct jr_doc *doc);

/* The shapes of the field table. */
struct jr_shapes jr_shapes_make(void);

/* Whether a key is the user's own, which is kept and never read. */
bool jr_shapes_is_own(const char *key);

#endif
