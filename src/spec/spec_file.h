/* A spec, its text and its tree: what load.c makes of it, and what it can be asked; and the spec
 * that is assumed if there is none, in load.c, too. Private to this folder. */
#ifndef JR_SPEC_FILE_H
#define JR_SPEC_FILE_H

#include "doc/doc.h"
#include "spec/load.h"

struct jr_spec_file {
    struct jr_doc doc;
    struct jr_node *tree;
    const char *folder, *here, *stem; /* what binding takes besides the tree */
    bool base;                        /* a template */
    bool sweeps;                      /* see jr_spec_sweeps */
    bool pools;                       /* see jr_spec_pools_hosts */
    struct jr_spec *spec;
};

/* The name of a spec that states none: that of its file, without the usual ending, and with
 * characters that a name may not contain replaced. In `arena`; NULL if memory runs out. */
char *jr_spec_stem(struct jr_arena *arena, const char *path);

/* Append the spec of a bare command, NULL-terminated; `n` ranks, or 0 for as many as there are to
 * be. Memory failure shows in `arena` or `out`. */
void jr_spec_write_command(struct jr_buf *out, struct jr_arena *arena, uint32_t n,
                           char *const *argv);

#endif
