/*
 * The code of a run: what run.json says of the work tree that it ran in, code.patch, the difference
 * of that to its commit, and where its copy is if it was frozen.
 */
#ifndef JR_RECORD_CODE_H
#define JR_RECORD_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

/* In the run folder: the frozen copy, and what is in that. */
#define JR_CODE_DIR  "code"
#define JR_CODE_LIST "code.files"

/* A file that is not in the patch as it was. */
struct jr_record_left_out {
    const char *path, *why; /* why: a word, "size", "secret" ... */
};

/* Strings are borrowed; NULL is null. */
struct jr_record_code {
    const char *commit;                        /* NULL: unknown, or there is none yet */
    const char *tree;                          /* as it stood; NULL: not recorded */
    const char *top;                           /* of the work tree */
    bool dirty;                                /* where there is a tree: it is not the commit's */
    bool patch;                                /* there is a JR_PATCH_FILE */
    const struct jr_record_left_out *left_out; /* as many as are named */
    size_t left_out_count;
    size_t left_out_all; /* how many there are */
    char *const *specs;  /* NULL-terminated: files of the spec, absolute, which
                            are no code; NULL: none */
    const char *problem; /* why a work tree was not recorded */
    /* Of a run whose code is frozen, in JR_CODE_DIR: */
    bool frozen;
    uint64_t files, bytes; /* that were copied */
    char *const *links;    /* what was not, and is a link to the original: as
                              many as are named, NULL-terminated; NULL: none */
    size_t links_all;      /* how many there are */
};

/* The object that is `code` of run.json. */
json_t *jr_record_code_json(const struct jr_record_code *code);

/* Read it back from run.json. False where there is none, as in records of earlier versions; then
 * `ret` says that it is not recorded. Strings are those of `run`. */
bool jr_record_code_read(struct jr_record_code *ret, struct jr_arena *arena, const json_t *run);

/* Append a size for people, "3.4 MiB". */
void jr_record_size(struct jr_buf *out, uint64_t bytes);

/* Append it for people: "commit 3f2a1b0c9d8e, changed (code.patch), tree 0123456789ab", or "not
 * recorded", with the reason. */
void jr_record_code_print(struct jr_buf *out, const struct jr_record_code *code);

/* Append the absolute folders of the copies of a run, one a line: one, or that of each node which
 * had a jobrun of its own. -1 with `err`, and status USAGE, where there is none. */
int jr_record_code_folders(struct jr_buf *out, const char *log_dir, const char *id,
                           struct jr_error *err);

#endif
