/* A spec, its text and its tree: how that is assembled, what load.c makes of
 * it, and what it can be asked; and the spec that is assumed if there is none,
 * in load.c, too. Private to this folder. */
#ifndef JR_SPEC_FILE_H
#define JR_SPEC_FILE_H

#include "doc/doc.h"
#include "doc/merge.h"
#include "doc/source_reader.h"
#include "spec/load.h"

struct jr_spec_file {
    struct jr_doc doc;
    struct jr_node *tree;
    const char *folder, *here, *stem; /* what binding takes besides the tree */
    bool base;                        /* a template */
    bool sweeps;                      /* see jr_spec_sweeps */
    struct jr_spec *spec;
};

/* The name of a spec that states none: that of its file, without the usual
 * ending, and with characters that a name may not contain replaced. In `arena`;
 * NULL if memory runs out. */
char *jr_spec_stem(struct jr_arena *arena, const char *path);

/* Append the spec of a bare command, NULL-terminated; `n` ranks, or 0 for as
 * many as there are to be. Memory failure shows in `arena` or `out`. */
void jr_spec_write_command(struct jr_buf *out, struct jr_arena *arena,
                           uint32_t n, char *const *argv);

/* What a document becomes the whole tree by: parents, --set, ${...}. */
struct jr_assembly {
    const struct jr_spec_options *options;
    struct jr_file file; /* that the document is from */
    const char *here;    /* absolute: what a path in --set is relative to */
};

/* Do it to doc->root. Returns -1 with findings when there is no tree that it
 * makes sense to look at, else 0, with or without findings. */
int jr_assemble(struct jr_doc *doc, const struct jr_assembly *assembly,
                struct jr_diags *diags);

/* Whether the spec says that it is only a base for others. */
bool jr_assembly_is_template(const struct jr_node *root);

/* Whether the document, once it is put together, is several specs, and whoever
 * reads it wants to know: options->sweeps. */
bool jr_assembly_sweeps(const struct jr_assembly *assembly,
                        const struct jr_doc *doc);

/* The shapes of the field table. */
struct jr_shapes jr_shapes_make(void);

/* Whether a key is the user's own, which is kept and never read. */
bool jr_shapes_is_own(const char *key);

#endif
