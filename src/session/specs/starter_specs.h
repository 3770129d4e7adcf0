/* Commented specs to begin with. */
#ifndef JR_STARTER_SPECS_H
#define JR_STARTER_SPECS_H

#include "base/buf.h"

/* Their names; the first is the default. */
#define JR_STARTERS(X)                                                         \
    X(minimal, "a line of shell on as many ranks as fit")                      \
    X(torch, "a PyTorch script on the devices of one machine")                 \
    X(python, "a Python function whose results are checked")                   \
    X(mpi, "a C program that needs no MPI launcher")                           \
    X(slurm, "one job on the nodes of a Slurm allocation")                     \
    X(mesh, "model, pipeline and data parallel ranks")

struct jr_starter_spec {
    const char *word, *help;
    const char *text; /* YAML; a "#?" at the end of a line is replaced by the
                         help of the field on it */
};

/* NULL-worded at the end. */
extern const struct jr_starter_spec jr_starter_specs[];

/* The starter of that name; NULL is the default. NULL if there is none. */
const struct jr_starter_spec *jr_starter_spec_find(const char *word);

/* Append the starter as it is written to a file. */
void jr_starter_spec_print(struct jr_buf *out,
                           const struct jr_starter_spec *starter);

#endif
