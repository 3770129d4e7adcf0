/*
 * What `diff` sets side by side: a spec in a file, a spec at a revision of git, or a run.
 */
#ifndef JR_DIFF_SIDE_H
#define JR_DIFF_SIDE_H

#include "doc/source_reader.h"
#include "resolve/resolve.h"
#include "spec/load.h"
#include "vcs/revision.h"

struct jr_diff_options;

struct jr_side {
    const char *name;          /* as it is shown; NULL: there is none */
    char run[256];             /* the id of a run; "": a spec */
    char *cells;               /* where that is, of a cell; NULL: it is none */
    struct jr_spec_file *file; /* NULL: none, or it has mistakes */
    struct jr_resolution resolution;
    bool resolved;        /* for the machine of the comparison */
    char fingerprint[65]; /* of a run, or once it is resolved; else "" */
};

#define JR_SIDE_INIT                                                                               \
    {                                                                                              \
        .resolution = JR_RESOLUTION_INIT                                                           \
    }

/* Load what `word` names: a file that is there, REV:FILE, a run, or a cell of a sweep. What is
 * wrong with a spec goes to `diags`, anything else to `err`. */
enum jr_status jr_side_load(struct jr_side *ret, const struct jr_diff_options *options,
                            const char *word, struct jr_diags *diags, struct jr_error *err);

/* The folder in which the run is. */
const char *jr_side_log_dir(const struct jr_side *side, const struct jr_diff_options *options);

/* Load a spec from a file. `environ` is what ${env:NAME} reads; NULL: nothing. What is not known is
 * no mistake. Returns what jr_spec_load does. */
int jr_side_load_file(struct jr_side *ret, const char *path, char *const *environ,
                      struct jr_diags *diags);

/* Whether what was loaded is only a base for others. */
bool jr_side_is_template(const struct jr_side *side);

/* Free what was loaded. */
void jr_side_release(struct jr_side *side);

/*
 * Specs as they were at a git revision, including the files that they extend. Paths are those of
 * the work tree: an old spec has the path that it would have now.
 */

/* A reader of the files below the top of the work tree. Borrows. */
struct jr_reader jr_rev_reader(struct jr_revision *revision);

/* Load the spec at `path`, which is from the top; `environ` as in jr_side. Returns what
 * jr_spec_load does; what keeps it from being read is a finding too. */
int jr_rev_load(struct jr_spec_file **ret, struct jr_revision *revision, const char *path,
                char *const *environ, struct jr_diags *diags);

#endif
