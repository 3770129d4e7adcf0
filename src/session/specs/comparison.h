/*
 * Two sides, their differences, and how these are printed.
 */
#ifndef JR_COMPARISON_H
#define JR_COMPARISON_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diff_table.h"
#include "base/json.h"
#include "base/strv.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "resolve/resolve.h"
#include "spec/load.h"

/*
 * The code of two runs side by side: whether it was the same, as the names of their trees say, and
 * which files differ, as far as the commits and patches tell. Nothing is checked out or applied: a
 * patch has the names of the contents before and behind it, `git diff-tree` those of two commits.
 */

enum jr_code_verdict {
    JR_CODES_NONE, /* these are not two runs */
    JR_CODES_SAME,
    JR_CODES_DIFFERENT,
    JR_CODES_UNKNOWN /* of one of them it is not recorded */
};

struct jr_code_side {
    json_t *run; /* run.json, which the strings are in */
    struct jr_record_code code;
    struct jr_buf patch;
};

struct jr_code_contrast {
    struct jr_arena arena;
    enum jr_code_verdict verdict;
    struct jr_code_side a, b;
    struct jr_strv files;  /* that differ */
    struct jr_strv unsure; /* that were left out of a patch */
    bool partial;          /* the commits differ, and are not here: more may */
};

#define JR_CODE_CONTRAST_INIT ((struct jr_code_contrast){0})

/* Compare the code of two runs; `envp` is what git runs with, less GIT_*. 0, or
 * -1 with `err` where a record cannot be read. Release in any case. */
int jr_code_contrast_make(struct jr_code_contrast *ret, const struct jr_run_place places[static 2],
                          char *const *envp, struct jr_error *err);

/* Append the patches of both runs for people. */
void jr_code_contrast_patches(struct jr_buf *out, const struct jr_code_contrast *contrast);

/* What `diff` sets side by side: a spec in a file, a spec at a revision of git, or a run. */
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

struct jr_comparison {
    struct jr_side a, b;
    struct jr_diff_table specs;
    struct jr_diff_table runs;    /* empty unless both are runs */
    struct jr_code_contrast code; /* the same */
    bool same;                    /* the experiment, as far as can be told */
};

#define JR_COMPARISON_INIT                                                                         \
    {                                                                                              \
        .a = JR_SIDE_INIT, .b = JR_SIDE_INIT                                                       \
    }

/* Resolve both sides for a machine (NULL: none, as they are written), and find
 * what differs. Where a spec cannot be resolved there, both are compared as
 * they are written, and `diags` has the reasons. Returns the exit status:
 * JR_STATUS_INVALID where a spec contradicts itself. */
int jr_comparison_make(struct jr_comparison *comparison, const struct jr_host *host,
                       struct jr_diags *diags, struct jr_error *err);

/* Whether there is more than times and places that is not the same. */
bool jr_comparison_differs(const struct jr_comparison *comparison);

/* Append it for people: names, tables, and the conclusion. */
void jr_comparison_text(struct jr_buf *out, const struct jr_comparison *comparison);

/* Append it for a comment: tables, and the conclusion. */
void jr_comparison_markdown(struct jr_buf *out, const struct jr_comparison *comparison);

/* An object of both sides, and of what differs; `patches`: with those of the code of runs. */
json_t *jr_comparison_json(const struct jr_comparison *comparison, bool patches);

/* Free both sides, and what differs. */
void jr_comparison_release(struct jr_comparison *comparison);

#endif
