/*
 * Which specs the words of a command line mean: a file is itself, a folder is
 * every *.jobrun.yaml below it, in the order of the names.
 */
#ifndef JR_FIND_H
#define JR_FIND_H

#include "arena.h"

/* A spec, or a folder that has none for us. */
struct jr_found {
    const char *path; /* as it was written, or below what was */
    const char *why;  /* why the folder cannot be checked; NULL: a spec */
};

struct jr_finds {
    struct jr_found *items;
    size_t count;
};

/* Find them, in the order of the words, without following links below a folder.
 * All lives in `arena`, whose failure is the only one. */
void jr_find_specs(struct jr_finds *ret, struct jr_arena *arena,
                   char *const *words, int count);

#endif
