/*
 * What the fields of a spec are about: the experiment, or only where it ran,
 * what it is called, how it was written down.
 */
#ifndef JR_PART_H
#define JR_PART_H

#include <stdbool.h>
#include <stddef.h>

#define JR_PARTS(X)                                                            \
    X(EXPERIMENT, "experiment")                                                \
    X(PLACEMENT, "placement") /* where ranks run, and how that is found */     \
    X(LABEL, "label")         /* words for people */                           \
    X(RECORD, "record")       /* where the run's files go */                   \
    X(SOURCE, "source")       /* how the spec is written and checked */

#define JR_PART_ENUM(name, word) JR_PART_##name,
enum jr_part { JR_PARTS(JR_PART_ENUM) };

/* A top-level field that is not the experiment. */
struct jr_part_row {
    const char *key;
    enum jr_part part;
    bool moves; /* the resolver found it: a rerun finds it anew */
};
const struct jr_part_row *jr_part_rows(size_t *ret_count);

/* The part of a top-level key, or of the dotted path below one. */
enum jr_part jr_part_of(const char *path);
const char *jr_part_word(enum jr_part part);

#endif
