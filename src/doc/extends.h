/*
 * Documents that build on others: `extends: base.yaml`, a list of files, or a mapping of names to
 * files, which takes them in its order. --set extends.NAME=FILE takes another file for a name, in
 * whichever file of the family has it; null takes none.
 *
 *   top  --extends-->  parents  --extends-->  their parents ...
 *
 * Each file is taken in once; a document is merged over its parents (merge.h), the later of them
 * over the earlier. What is about a file itself, `extends` and `template`, is not handed down.
 */
#ifndef JR_EXTENDS_H
#define JR_EXTENDS_H

#include "doc/merge.h"
#include "doc/source_reader.h"

/* Files in all, the top one included; how often they are referred to, and the bytes that are read
 * for it. */
#define JR_EXTENDS_MAX_FILES 64u
#define JR_EXTENDS_MAX_TIMES 256u
#define JR_EXTENDS_MAX_BYTES (16u << 20)

struct jr_extends {
    const struct jr_shapes *shapes;
    const struct jr_reader *reader;
    struct jr_file file; /* that the document is from */
    struct jr_parent_choices choices;
};

/* Put the parents of `doc`, if it has any, under its root. Their texts and trees go to its arena.
 * Returns 0, or -1 with findings and without a tree that it makes sense to look at. */
int jr_extends_merge(struct jr_doc *doc, struct jr_extends *extends, struct jr_diags *diags);

/* Relate each finding from number `first` on that is in a file which `doc` extends to where that is
 * done, up to the document itself. */
void jr_extends_relate(const struct jr_doc *doc, struct jr_diags *diags, size_t first);

#endif
