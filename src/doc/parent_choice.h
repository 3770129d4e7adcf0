/*
 * Other files than those that are stated for named parents: --set
 * extends.NAME=FILE, and axes of a sweep. A name counts in every file of the
 * family that has it.
 */
#ifndef JR_PARENT_CHOICE_H
#define JR_PARENT_CHOICE_H

#include "base/strv.h"
#include "doc/doc.h"
#include "doc/source_reader.h"

struct jr_parent_choice {
    const char *name;
    struct jr_span at; /* of the name */
    struct jr_node *path;
    const struct jr_file *from; /* which it is relative to; NULL: `here` */
    bool taken;                 /* some file has the name */
};

struct jr_parent_choices {
    struct jr_parent_choice *items; /* the last one of a name counts */
    size_t count;
    const char *here;     /* absolute: what their paths are relative to */
    struct jr_strv names; /* that files have, each once */
};

/* Add a choice; both live in `arena`. */
void jr_parent_choices_add(struct jr_parent_choices *choices,
                           struct jr_arena *arena,
                           const struct jr_parent_choice *choice);

/* The path that was chosen for a name, or NULL. */
struct jr_node *jr_parent_choices_path(const struct jr_parent_choices *choices,
                                       const char *name);

/* The file that a path is relative to: of a choice what that says, else `own`,
 * which states it itself. `here` takes what is relative to the folder here. */
const struct jr_file *jr_parent_choices_from(
    const struct jr_parent_choices *choices, const struct jr_node *path,
    const struct jr_file *own, struct jr_file *here);

/* Note that a file has this name, which must outlive the choices. */
void jr_parent_choices_note(struct jr_parent_choices *choices,
                            struct jr_arena *arena, const char *name);

/* Refuse the choices for names that no file has. Returns whether there were
 * none. */
bool jr_parent_choices_check(const struct jr_parent_choices *choices,
                             struct jr_arena *arena, struct jr_diags *diags);

#endif
