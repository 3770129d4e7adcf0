/*
 * From a document to a checked spec.
 *
 *   jr_spec_load
 *        doc, its parents, --set and ${...}, lint (every mistake in one pass),
 *        cross-field check, bind
 *
 * The loaded value keeps the tree, so that later stages can point at the text that a value came
 * from.
 */
#ifndef JR_LOAD_H
#define JR_LOAD_H

#include <jobrun/spec.h>

#include "base/arena.h"
#include "diag/diag.h"

struct jr_doc;
struct jr_node;
struct jr_reader;
struct jr_stated_value;
struct jr_spec_file; /* a spec, its text and its tree */

/* What goes into a spec besides. Zeroed: nothing does, and it is to be run. */
struct jr_spec_options {
    char *const *sets;                    /* PATH=VALUE of --set, NULL-terminated, or NULL */
    const struct jr_stated_value *values; /* of a cell (sweep_axes.h) */
    size_t values_count;
    const struct jr_doc *composed;  /* what the source, a text, was composed to,
                                       which is copied, and which outlives the
                                       spec; NULL: it is composed now */
    bool cell;                      /* it is one of a sweep's, so that %{cell} is known */
    bool pools;                     /* and its `hosts` are the sweep's: jr_spec_pools_hosts */
    bool sweeps;                    /* stop at a `sweep`: see jr_spec_sweeps */
    bool swept;                     /* and it is one without that field, too */
    bool ssh;                       /* state `engine.ssh`, unless it is stated */
    const char *root;               /* the folder below which parents lie; NULL: the top
                                       of the checkout around the spec, else its folder */
    const char *here;               /* absolute: what a path in --set is relative to; NULL: a
                                       text's own folder, else the current one */
    const struct jr_reader *reader; /* of parents; NULL: files below `root` */
    char *const *environ;           /* what ${env:NAME} reads; NULL: nothing */
    char *const *allow_env;         /* globs of what it may read, NULL-terminated; NULL:
                                       all of it */
    bool validate;                  /* what has to come from outside is not known, and that is no
                                       mistake; templates are good */
    bool strict;                    /* and yet it is one */
    bool unbound;                   /* leave the values to jr_spec_bind */
};

/* Returns 0 with a spec that has no mistake, or -1 with the mistakes in `diags` (and then *ret is
 * still set when there is a text to quote, so that the findings can be rendered; NULL otherwise).
 * Free with jr_spec_free, after the diags. */
int jr_spec_load(struct jr_spec_file **ret, const struct jr_spec_source *source,
                 const struct jr_spec_options *options, struct jr_diags *diags);

/* Whether a spec was loaded with `sweeps` and is several: it is put together, but nothing in it has
 * been read or checked, and it has no values. sweep_axes.h reads what it varies. */
bool jr_spec_sweeps(const struct jr_spec_file *file);

/* Make the values of a spec that was loaded `unbound` and has no mistake: they take longer than all
 * that finds mistakes. 0 at once when they are there, and for a template; -1 is jobrun's own
 * fault. */
int jr_spec_bind(struct jr_spec_file *file, struct jr_diags *diags);

/* What it means for a job that its spec was refused: JR_STATUS_UNRESOLVED where all that is wrong
 * is that something has to come from outside; _LAUNCH where nothing is wrong with the text, and
 * memory was short; else _INVALID. */
enum jr_status jr_spec_status(const struct jr_diags *diags);

/* The same of a text in `folder`, without options. */
int jr_spec_load_text(struct jr_spec_file **ret, const char *name, const char *folder,
                      const char *text, size_t len, struct jr_diags *diags);

/* The folder below which the parents of a spec in `folder` are read, without links; malloc'ed, or
 * NULL. `root` is that of jr_spec_options. One that is not there is as good as any: nothing is read
 * below it. */
char *jr_spec_parents_root(const char *root, const char *folder);

/* The absolute folder of `path`, malloc'ed, as jr_spec_load takes it; "-" and NULL mean the current
 * one. NULL if it cannot be determined. */
char *jr_spec_folder(const char *path);

/* Free a loaded spec, its text and its trees. NULL is allowed. */
void jr_spec_free(struct jr_spec_file *file);

/* Whether a spec that was put together says that its hosts are reached by ssh, or is no mapping,
 * which is reported elsewhere. */
bool jr_spec_states_ssh(const struct jr_spec_file *file);

/* Whether `hosts` are those of a sweep, which are reached by ssh: what was loaded is a cell of it,
 * and not resolved yet, which has as many of them as it is for nodes, and may be for one. */
bool jr_spec_pools_hosts(const struct jr_spec_file *file);

/* The absolute folder that contains it. */
const char *jr_spec_folder_of(const struct jr_spec_file *file);

/* The bound values; NULL when loading failed, and for a template. What is not known when validating
 * is left out, or its text is that of the source. */
const struct jr_spec *jr_spec_get(const struct jr_spec_file *file);

/* The tree as read, with all that was put in, and the tree in normal form (shorthands made long,
 * paths absolute, defaults not filled in). The source is that of the spec itself. */
const struct jr_doc *jr_spec_doc(const struct jr_spec_file *file);

/* The tree in normal form. */
const struct jr_node *jr_spec_tree(const struct jr_spec_file *file);

/* Turn a tree in normal form, or part of what it is made of, into one that can be emitted as a
 * spec: "${" that means itself is escaped, and secrets that came from variables are references to
 * them again. */
void jr_spec_escape(struct jr_arena *arena, struct jr_node *root);

/* Append the normal form as a spec. */
void jr_spec_emit(struct jr_buf *out, const struct jr_spec_file *file);

/* The text of a field that contains ${...}, for messages, which must not show inserted values: the
 * text of the source, shortened and safe to show. NULL if it contains none. Lists are shown with
 * commas. In `arena`. */
const char *jr_spec_written(const struct jr_spec_file *file, struct jr_arena *arena,
                            const char *path);

/* The value of a field that has a secret in it, with references in place of secrets; NULL where it
 * has none. In `arena`. */
const char *jr_spec_kept(const struct jr_spec_file *file, struct jr_arena *arena, const char *path);

/* Whether a field is stated, and validating does not know its value: it is then treated as not
 * stated, and nothing may be concluded from that. */
bool jr_spec_is_unknown(const struct jr_spec_file *file, const char *path);

/* Where the value of a field ("parallelism.model") was stated; line 0 when the spec does not state
 * it. */
struct jr_span jr_spec_where(const struct jr_spec_file *file, const char *path);

/* The same for a field that may be a part of what is stated, as an entry of a list or a variable of
 * `env`: the innermost part that is. Line 0 where the spec states none of them, or memory ran
 * out. */
struct jr_span jr_spec_where_within(const struct jr_spec_file *file, const char *path);

/* Where values of the field were stated that this one took the place of, the nearest first: number
 * `i` of them, or line 0. */
struct jr_span jr_spec_overridden(const struct jr_spec_file *file, const char *path, size_t i);

#endif
