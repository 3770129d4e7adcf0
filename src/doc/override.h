/*
 * Values that are put into a tree: of the command line, PATH=VALUE, and of the
 * cells of a sweep. PATH is dotted, with [i] for
 * sequences ("parallelism.data", "hosts[1]"); VALUE is YAML. What stood at PATH
 * is replaced whole, and mappings on the way there are made if there are none.
 * An entry of a mapping whose entries are declared (merge.h) is added only by
 * +PATH=VALUE, so that a mistyped name does not go unnoticed.
 * Positions are those in the option's own text, in a source named --set.
 */
#ifndef JR_OVERRIDE_H
#define JR_OVERRIDE_H

#include "doc/merge.h"

/* Whether an option names a parent: extends.NAME=PATH. */
bool jr_override_is_parent(const char *option);

/* Read such an option into the name and the path of a choice (merge.h), in the arena of `doc`.
 * Returns whether it could; else that was reported. */
bool jr_override_parent(struct jr_doc *doc, const char *option, struct jr_parent_choice *ret,
                        struct jr_diags *diags);

/* A value for a path that stands in a spec itself, as an axis of a sweep does.
 */
struct jr_stated_value {
    const char *path;
    const struct jr_node *key; /* the scalar that has the path in it */
    size_t at;                 /* the byte of its text where that begins */
    struct jr_node *value;     /* it keeps its position */
};

/* Whether such a value names a parent: extends.NAME. */
bool jr_stated_value_is_parent(const struct jr_stated_value *stated);

/* The choice of a parent that it is, whose path is relative to the file that states it; in the
 * arena of `doc`. */
struct jr_parent_choice jr_override_stated_parent(struct jr_doc *doc,
                                                  const struct jr_stated_value *stated);

/* Put it into the tree of `doc`, as jr_override does. */
void jr_override_stated(struct jr_doc *doc, const struct jr_shapes *shapes,
                        const struct jr_stated_value *stated, struct jr_diags *diags);

/* Put a value into the tree of `doc`, whose arena takes what is new. `folder` is what a path in the
 * value is relative to. Mistakes go to `diags`; the tree stays as it was then. */
void jr_override(struct jr_doc *doc, const struct jr_shapes *shapes, const char *option,
                 const char *folder, struct jr_diags *diags);

/*
 * Several settings in one option, vars.lr=1,vars.b=2, as other programs take them. YAML reads the
 * whole as one text, so nothing else would notice it.
 */
/* The settings of one document, and the option that is read. */
struct jr_joined_settings {
    struct jr_arena *arena;
    const struct jr_shapes *shapes;
    const struct jr_node *root; /* the document's; NULL: it is empty */
    const char *name;           /* of the option: "--set" */
    const char *path;           /* that it sets */
    bool adds;                  /* there is a plus before the path */
};

/* Whether `text` begins with PATH=, where the path is one that could be set beside that of the
 * option: a field, or an entry that is there. The length of the path; 0: it does not. */
size_t jr_joined_settings_name(const struct jr_joined_settings *settings, const char *text);

/* Append `--set PATH=VALUE`, as it is typed into a shell, of the first `len` bytes of `text`, after
 * a blank where there is something already. An entry beside that of the option gets the path of
 * their mapping. */
void jr_joined_settings_add(struct jr_buf *out, const struct jr_joined_settings *settings,
                            const char *text, size_t len);

/* Refuse an option whose value, a scalar without quotes, goes on with other settings. Returns
 * whether it does. */
bool jr_joined_settings_refuse(const struct jr_joined_settings *settings,
                               const struct jr_node *value, struct jr_diags *diags);

#endif
