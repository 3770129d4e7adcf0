/* Merging trees, the shapes by which their values are merged and found, and which parents a tree is
 * merged over. */
#ifndef JR_MERGE_H
#define JR_MERGE_H

#include "base/strv.h"
#include "doc/doc.h"
#include "doc/source_reader.h"

/*
 * What putting documents together has to know of their values, and cannot know by itself: a layer
 * above has the table of fields, and tells.
 */

/* What is known of a value at some place of the tree. */
struct jr_shape {
    const void *type;         /* the teller's own; NULL: nothing is known */
    const char *shorthand;    /* mapping: the key that a short form sets */
    const char *const *forms; /* mapping: NULL-terminated keys of which it has
                                 one; another one makes it another mapping */
    bool open;                /* mapping: its keys are the user's own */
    bool text;                /* any text is a value of it */
    bool declared;            /* mapping: --set adds an entry only with + */
    bool keeps_null;          /* mapping: null is a value of its entries */
    bool resolvable;          /* null, auto and ??? say that it is MISSING */
    bool awaited;             /* the reader of the field reports a ??? there */
    bool literal;             /* "${" means itself */
    bool early;               /* read before documents are put together */
    bool own;                 /* the user's: never read */
};

/* The shape of the root, and what leads from any shape, an unknown one too, to those below it. */
struct jr_shapes {
    struct jr_shape root;
    /* The shape below `shape` at a key, or where that is NULL at an index. */
    struct jr_shape (*child)(const struct jr_shape *shape, const char *key);
};

/* Whether the value states nothing. */
bool jr_shape_is_missing(const struct jr_shape *shape, const struct jr_node *node);

/* The mapping that a bare value is short for, at the same position; NULL where it is short for
 * none. */
struct jr_node *jr_shape_unfold(struct jr_arena *arena, const struct jr_shape *shape,
                                struct jr_node *node);

/* The one of the shape's forms that a mapping has, or NULL. */
const char *jr_shape_form(const struct jr_shape *shape, const struct jr_node *mapping);

/* The shape of a value as written: for a short form, that of the field that it is short for. */
struct jr_shape jr_shape_of(const struct jr_shapes *shapes, const struct jr_shape *shape,
                            const struct jr_node *node);

/*
 * One tree laid over another.
 *
 *   mappings    merge entry by entry, deep
 *   others      replace what is there; so does a mapping of another form
 *   null        removes the entry under it, but where null is a value
 *   shorthands  a bare value under a mapping is made long first; over one it
 *               replaces it whole, like any other value
 *
 * Every node keeps the span of the text that it is from, and by `under` what it replaced. A null
 * that there is nothing under stays.
 */

struct jr_merger {
    struct jr_arena *arena; /* of what is new */
    const struct jr_shapes *shapes;
};

/* The tree that comes of laying `over` over `base`, both of one shape. It shares nodes with both,
 * which stay as they are. NULL if memory runs out. Linear in the nodes, except for sorting keys. */
struct jr_node *jr_merge(const struct jr_merger *merger, const struct jr_shape *shape,
                         struct jr_node *base, struct jr_node *over);

/* `over` in the place of `base`. */
struct jr_node *jr_merge_replace(struct jr_arena *arena, struct jr_node *base,
                                 const struct jr_node *over);

/*
 * Other files than those that are stated for named parents: --set extends.NAME=FILE, and axes of a
 * sweep. A name counts in every file of the family that has it.
 */
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
void jr_parent_choices_add(struct jr_parent_choices *choices, struct jr_arena *arena,
                           const struct jr_parent_choice *choice);

/* The path that was chosen for a name, or NULL. */
struct jr_node *jr_parent_choices_path(const struct jr_parent_choices *choices, const char *name);

/* The file that a path is relative to: of a choice what that says, else `own`, which states it
 * itself. `here` takes what is relative to the folder here. */
const struct jr_file *jr_parent_choices_from(const struct jr_parent_choices *choices,
                                             const struct jr_node *path, const struct jr_file *own,
                                             struct jr_file *here);

/* Note that a file has this name, which must outlive the choices. */
void jr_parent_choices_note(struct jr_parent_choices *choices, struct jr_arena *arena,
                            const char *name);

/* Refuse the choices for names that no file has. Returns whether there were none. */
bool jr_parent_choices_check(const struct jr_parent_choices *choices, struct jr_diags *diags);

#endif
