/*
 * The code of two runs side by side: whether it was the same, as the names of their trees say, and
 * which files differ, as far as the commits and patches tell. Nothing is checked out or applied: a
 * patch has the names of the contents before and behind it, `git diff-tree` those of two commits.
 */
#ifndef JR_COMPARE_CODE_H
#define JR_COMPARE_CODE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/strv.h"
#include "record/record_code.h"
#include "record/record_folder.h"

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

/* Append which files differ: "train.py, model.py". */
void jr_code_contrast_names(struct jr_buf *out, const struct jr_code_contrast *contrast);

/* Append the patches of both runs for people. */
void jr_code_contrast_patches(struct jr_buf *out, const struct jr_code_contrast *contrast);

/* An object of it; null where these are not two runs. `patches`: with them. */
json_t *jr_code_contrast_json(const struct jr_code_contrast *contrast, bool patches);

/* Free it. */
void jr_code_contrast_release(struct jr_code_contrast *contrast);

#endif
