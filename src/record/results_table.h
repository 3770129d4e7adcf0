/*
 * results.json, key by key: tables whose rows say how each is written from a judged run, how it is
 * read back into one, and what it may be. A new key is a new row: in results_run.c of the run, in
 * results_rank.c of a rank, in results_cause.c of the root cause, and of what a rank's process did
 * in store/outcome_codec.c. results_policy.h has the values of some rows of the run. This is what
 * all of them share.
 */
#ifndef JR_RESULTS_TABLE_H
#define JR_RESULTS_TABLE_H

#include "base/json.h"
#include "base/json_shape.h"
#include "record/load_results.h"

/* What one rank's object is made of. */
struct jr_results_rank {
    const struct jr_plan_rank *plan;
    const struct jr_rank_outcome *outcome;
    const struct jr_rank_judgement *report;
    const char *host;
    const struct jr_progress *progress; /* NULL: unknown */
    size_t i;                           /* its place there */
};

/* What all of it is made of. */
struct jr_results_run {
    const struct jr_judgement *report;
    const struct jr_plan *plan;
    const struct jr_outcome *outcome;
};

/* The root cause. */
struct jr_results_cause {
    enum jr_cause_kind kind; /* NONE: nothing went wrong */
    const char *host;        /* NULL: none */
    int64_t rank;            /* -1: no rank, but jobrun itself or time */
    int32_t exit_code;       /* -1: none */
    int32_t signal;          /* 0: none */
    const char *message;
    const uint32_t *together; /* ranks that cannot be told apart from it */
    size_t together_count;
};

/* The words of an enum whose 0 is nothing, as a shape that may be null. */
#define JR_SHAPE_WORDS(array)                                                                      \
    {                                                                                              \
        .words = (array) + 1, .words_count = sizeof(array) / sizeof *(array)-1, .null = true       \
    }

struct jr_results_row;

typedef void jr_results_put(struct jr_buf *out, const struct jr_results_row *row,
                            const struct jr_results_run *run);
typedef void jr_results_get(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                            const json_t *value);

/* How the key is joined for a run whose nodes each had their own jobrun, from its value on each
 * node. */
enum jr_results_join {
    JR_JOIN_OWN,     /* merge_nodes.c makes it; null until then */
    JR_JOIN_ANY,     /* what the node says that decided, else the first */
    JR_JOIN_DECIDER, /* what the node says that decided; null: none did */
    JR_JOIN_FIRST,   /* the first that is not null */
    JR_JOIN_SUM,
    JR_JOIN_MOST, /* the largest number */
    JR_JOIN_LEAST
};

/* A key of the run. */
struct jr_results_row {
    const char *key;
    jr_results_put *put; /* NULL: it is not written here */
    jr_results_get *get; /* NULL: it is not read */
    enum jr_results_join join;
    size_t at; /* of a plain member of the plan */
    struct jr_json_shape shape;
    const char *help;
};

#endif
