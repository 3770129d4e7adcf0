/* What was probably meant: the word that is nearest to a misspelt one, and the file that a name
 * which is none stands for. */
#ifndef JR_DID_YOU_MEAN_H
#define JR_DID_YOU_MEAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* The length of a name without the end that YAML files have, .jobrun.yaml or .yaml; of one that has
 * none, all of it. */
size_t jr_near_file_stem(const char *name);

/* Whether a name ends as those of YAML files do. */
bool jr_near_file_is_yaml(const char *name);

/* Find the YAML file that `path` names without the end of its name ("train" is train.jobrun.yaml),
 * or misspells, in the same folder. Returns whether there is one, as a path that begins as `path`
 * does; *ret is emptied first. */
bool jr_near_file_find(struct jr_buf *ret, const char *path);

/* Find the one spec that a folder has: the file named *.jobrun.yaml or .yml, as a path from where
 * the folder's is from ("./a.jobrun.yaml" is "a.jobrun.yaml"). Returns whether there is exactly
 * one; *ret is emptied first. */
bool jr_near_file_only(struct jr_buf *ret, const char *folder);

/* Find the file whose name is nearest to that of `path`, which is not there, in the same folder; a
 * relative path is below `base`. Returns whether there is one, as a path that begins as `path`
 * does; *ret is emptied first. */
bool jr_near_file_any(struct jr_buf *ret, const char *base, const char *path);

/* The same for the name of a program, in the folders of `search` (a PATH; NULL:
 * none), relative ones below `base`. */
bool jr_near_program(struct jr_buf *ret, const char *base, const char *search, const char *name);

/* The number of single-character edits between two words, with transpositions (Damerau-Levenshtein,
 * restricted), capped at `limit` + 1. */
unsigned jr_edit_distance(const char *a, const char *b, unsigned limit);

/* The candidate nearest to `word` that is near enough to be a misspelling of it, or NULL.
 * `candidates` is NULL-terminated. */
const char *jr_did_you_mean(const char *word, const char *const *candidates);

/* The same, or else the first candidate that begins with `word`, which is no single letter or two:
 * "fail" is "failed". */
const char *jr_did_you_mean_longer(const char *word, const char *const *candidates);

/* Whether there is no doubt which of them was meant: one is near, and no other nearly as near. */
bool jr_did_you_mean_near(const char *word, const char *const *candidates);

#endif
