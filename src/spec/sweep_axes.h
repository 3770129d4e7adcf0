/*
 * The field `sweep` of a spec that was put together (jr_spec_sweeps), and what
 * --sweep adds to it: the axes with their values, and what else it says, read
 * and held to the rest of the spec. Cells are made of it in the layer `sweep`.
 */
#ifndef JR_SWEEP_AXES_H
#define JR_SWEEP_AXES_H

#include "doc/override.h"
#include "spec/load.h"

/* A sweep of more cells is refused. */
#define JR_SWEEP_CELLS_MAX 100000u

/* Which cell of a sweep is the best. */
#define JR_SWEEP_GOALS(X)                                                                          \
    X(MAX, "max", "the one with the largest value")                                                \
    X(MIN, "min", "the one with the smallest value")

/* Which of the values of a cell's ranks counts. */
#define JR_SWEEP_OFS(X)                                                                            \
    X(MEAN, "mean", "the mean of all")                                                             \
    X(MIN, "min", "the smallest")                                                                  \
    X(MAX, "max", "the largest")                                                                   \
    X(FIRST, "first", "that of the first rank that has one")

#define JR_ENUM_SWEEP_GOAL(name, word, help) JR_GOAL_##name,
#define JR_ENUM_SWEEP_OF(name, word, help)   JR_OF_##name,

enum jr_sweep_goal { JR_SWEEP_GOALS(JR_ENUM_SWEEP_GOAL) };
enum jr_sweep_of { JR_SWEEP_OFS(JR_ENUM_SWEEP_OF) };

/* One of the fields of an axis, and where the key of the axis has it. */
struct jr_axis_field {
    const char *path;
    const struct jr_node *key;
    size_t at;
};

/* An axis: one field, or several that go together. The fields that are drawn make one axis, which
 * is the last, with a value for each draw. */
struct jr_sweep_axis {
    const struct jr_node *key; /* its path, or paths with commas */
    struct jr_axis_field *fields;
    size_t fields_count;
    struct jr_node **values; /* fields_count for each of them, in a row */
    size_t count;
    bool drawn;
};

/* An entry of `exclude` or `include`: what it says of fields. */
struct jr_sweep_choice {
    const struct jr_node *node; /* a mapping */
    struct jr_axis_field *fields;
    struct jr_node **values; /* of each */
    size_t count;
};

struct jr_sweep_best {
    const char *field; /* NULL: none is better than another */
    enum jr_sweep_goal goal;
    enum jr_sweep_of of;
};

/* All nodes are the spec's, and all else is in its memory, too. */
struct jr_sweep_axes {
    struct jr_arena *arena;
    const struct jr_node *node; /* the field `sweep`; NULL: --sweep alone */
    struct jr_span at;          /* of it, or of the first --sweep */
    struct jr_sweep_axis *axes;
    size_t count;
    uint64_t product; /* of the axes: 1 without any, which is no cell */
    struct jr_sweep_choice *excludes, *includes;
    size_t excludes_count, includes_count;
    uint32_t samples, seed;
    uint32_t parallel;   /* 0: as many as there is room for */
    uint32_t stop_after; /* 0: none */
    struct jr_sweep_best best;
};

/* What the command line adds. */
struct jr_sweep_words {
    char *const *sweeps; /* PATH=A,B of --sweep, NULL-terminated, or NULL */
    char *const *sets;   /* those of --set, which may be about no axis */
};

/* Read it. Returns 0, or -1 with findings at their positions. The time is that of reading the
 * values, and does not depend on how many cells they make: more than JR_SWEEP_CELLS_MAX are a
 * finding. */
int jr_sweep_axes_read(struct jr_sweep_axes *ret, struct jr_spec_file *file,
                       const struct jr_sweep_words *words, struct jr_diags *diags);

/* The axis that has the field, and the number of it there in *ret_field; NULL:
 * none has it. */
const struct jr_sweep_axis *jr_sweep_axes_find(const struct jr_sweep_axes *axes, const char *path,
                                               size_t *ret_field);

/* How two values are the same, in the order of qsort(3): 1 and 1.0 are not, 0.1 and 1e-1 are. */
int jr_sweep_values_compare(const struct jr_node *a, const struct jr_node *b);

#endif
