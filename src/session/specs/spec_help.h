/*
 * What helps to write a spec, for people and for programs: commented specs to begin with, explain,
 * schema, and the completion of a command line.
 */
#ifndef JR_SPEC_HELP_H
#define JR_SPEC_HELP_H

#include <jobrun/error.h>

#include "base/buf.h"

/* Their names; the first is the default. */
#define JR_STARTERS(X)                                                                             \
    X(minimal, "a line of shell on as many ranks as fit")                                          \
    X(torch, "a PyTorch script on the devices of one machine")                                     \
    X(python, "a Python function whose results are checked")                                       \
    X(mpi, "a C program that needs no MPI launcher")                                               \
    X(slurm, "one job on the nodes of a Slurm allocation")                                         \
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
void jr_starter_spec_print(struct jr_buf *out, const struct jr_starter_spec *starter);

/* Append all that is known of the field `path`, as a finding shows it: [2] is an item of a list. -1
 * with what was probably meant in `err`. */
int jr_spec_help_field(struct jr_buf *out, const char *path, struct jr_error *err);

/* Gets one text that may stand there, and a word on it or NULL. They live until it returns. */
typedef void jr_spec_help_offer(void *data, const char *text, const char *help);

/* Offer the path of each field. */
void jr_spec_help_paths(jr_spec_help_offer *offer, void *data);

/* Offer what --set may be given where `word` is its beginning: "nodes=", and once that is typed the
 * values that the field has words for. */
void jr_spec_help_settings(const char *word, jr_spec_help_offer *offer, void *data);

#endif
