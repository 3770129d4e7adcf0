/* The facts of a machine as a YAML file: what `doctor --format yaml` writes and
 * `--on FILE` reads. Private to this folder. */
#ifndef JR_FACTS_H
#define JR_FACTS_H

#include "doc/doc.h"
#include "resolve/resolve.h"

/* Read the facts file at `path` strictly into *ret, which has its defaults;
 * `arena` owns the text and the facts. Returns 0, or -1 with the mistakes in
 * `diags`. */
int jr_facts_load(struct jr_host *ret, struct jr_arena *arena, const char *path,
                  struct jr_diags *diags);

/* The same for the tree of a file that tells of the user's own devices: sets the devices, and the
 * variable that narrows them. */
int jr_facts_custom(struct jr_host *ret, struct jr_arena *arena, const struct jr_node *root,
                    struct jr_diags *diags);

/* The same for a text. */
int jr_facts_read(struct jr_host *ret, struct jr_arena *arena, const char *name, const char *text,
                  size_t len, struct jr_diags *diags);

#endif
