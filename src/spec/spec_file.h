/* A spec, its text and its tree: what load.c makes and spec_file.c can be
 * asked. Private to this folder. */
#ifndef JR_SPEC_FILE_H
#define JR_SPEC_FILE_H

#include "doc/doc.h"
#include "spec/load.h"

struct jr_spec_file {
    struct jr_doc doc;
    struct jr_node *tree;
    const char *folder, *here, *stem; /* what binding takes besides the tree */
    bool base;                        /* a template */
    struct jr_spec *spec;
};

#endif
