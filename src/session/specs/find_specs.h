/*
 * Which specs the words of a command line mean: a file is itself, a folder is every *.jobrun.yaml
 * or .yml below it, in the order of the names.
 *
 * Where specs are guessed, it is besides every other YAML file whose top level reads like a spec's;
 * and what is hidden, ignored by git, or of a run, is none.
 */
#ifndef JR_FIND_SPECS_H
#define JR_FIND_SPECS_H

#include "base/arena.h"

/* A spec, or a folder that has none for us. */
struct jr_found_specs {
    const char *path; /* as it was written, or below what was */
    const char *why;  /* why the folder cannot be checked; NULL: a spec */
    bool guessed;     /* by its text, not by its name */
};

struct jr_finds {
    struct jr_found_specs *items;
    size_t count;
    size_t passed; /* other YAML files, where specs are guessed */
};

/* Find them, in the order of the words, without following links below a folder.
 * `envp` is git's environment, where specs are to be guessed; else NULL. All
 * lives in `arena`, whose failure is the only one. */
void jr_find_specs(struct jr_finds *ret, struct jr_arena *arena, char *const *words, int count,
                   char *const *envp);

/* Whether a file's name is that of a spec. */
bool jr_find_is_named(const char *name);

/* Whether the text of a YAML file reads like a spec's: its top level has
 * `version` and another field of the spec, or a near miss of one. What is wrong
 * further down does not count. */
bool jr_find_reads_like_spec(const char *text);

#endif
