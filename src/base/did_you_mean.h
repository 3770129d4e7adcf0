/* Comparing words, for did-you-mean. */
#ifndef JR_DID_YOU_MEAN_H
#define JR_DID_YOU_MEAN_H

#include <stdbool.h>

/* The number of single-character edits between two words, with transpositions
 * (Damerau-Levenshtein, restricted), capped at `limit` + 1. */
unsigned jr_edit_distance(const char *a, const char *b, unsigned limit);

/* The candidate nearest to `word` that is near enough to be a misspelling of
 * it, or NULL. `candidates` is NULL-terminated. */
const char *jr_did_you_mean(const char *word, const char *const *candidates);

/* Whether there is no doubt which of them was meant: one is near, and no other
 * nearly as near. */
bool jr_did_you_mean_near(const char *word, const char *const *candidates);

#endif
