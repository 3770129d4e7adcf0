/*
 * For the step of a library entrypoint, in C or C++:
 *
 *     entrypoint:
 *       library: {path: ./libstep.so, symbol: step_main}
 *       args: [--epochs, 5]
 *
 *     int step_main(const struct jr_rank *rank, struct jr_result *result);
 *
 * jobrun loads the library in every rank and calls the symbol once. In C++ the function is declared
 * extern "C" and lets no exception out. Nothing must be linked: this header is all there is.
 *
 * A step that returns 0 has delivered what it gave to jr_result_set_json, or null. Any other value
 * is the rank's exit code (1 where it does not fit into 1..255). A step that calls exit(0) has not
 * delivered, and what a fork of the rank returns is not the rank's.
 */
#ifndef JOBRUN_RANK_H
#define JOBRUN_RANK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The axes of the mesh, fastest first: ranks are laid out [data][pipeline][model]. */
enum jr_rank_axis { JR_RANK_MODEL, JR_RANK_PIPELINE, JR_RANK_DATA };

/* The place of a rank on one axis. Member i of its group is the world rank first + i * stride, for
 * i below size. */
struct jr_rank_place {
    uint32_t size;  /* members of the group */
    uint32_t at;    /* this rank's coordinate: its index in the group */
    uint32_t group; /* index of the group among those of the axis */
    uint32_t first, stride;
    const char *backend; /* "gloo" */
};

/* What a rank has to know. All pointers are valid during the call. */
struct jr_rank {
    uint32_t rank, world_size;
    uint32_t local_rank, local_world_size; /* on its node */
    uint32_t node_rank, nodes;
    uint32_t attempt;             /* 0, or how often the job was restarted */
    struct jr_rank_place axes[3]; /* by enum jr_rank_axis */
    const char *master_addr;      /* where rank 0 listens */
    uint32_t master_port;
    const char *init_method; /* "env://" */
    const char *run_id;
    const char *run_dir, *rank_dir; /* absolute */
    int argc;                       /* `args` of the spec */
    char *const *argv;              /* argc of them, then NULL */
    /* For jr_progress below. */
    int (*progress)(const struct jr_rank *rank, int64_t step, int64_t of, const char *metrics_json);
};

/* Tell jobrun how far this rank is: it has made `step`, from 0, of `of` steps (0: unknown).
 * `metrics_json` is a JSON object of numbers, such as "{\"loss\": 0.3}", in which null stands for
 * what is no number; NULL: none. It costs about as much as a write(2). Returns 0, or a negative
 * errno: -EINVAL for what is none of this; the job does not fail for it. */
static inline int jr_progress(const struct jr_rank *rank, int64_t step, int64_t of,
                              const char *metrics_json)
{
    return rank->progress(rank, step, of, metrics_json);
}

/* Where the result goes. Its members are for the function below. */
struct jr_result {
    int (*set_json)(struct jr_result *result, const char *text, size_t length);
};

/* Deliver `length` bytes of JSON text, which are copied; the last call counts. Returns 0; -1 when
 * the text is not JSON (told on standard error) or if memory runs out: what was set before is then
 * kept. */
static inline int jr_result_set_json(struct jr_result *result, const char *text, size_t length)
{
    return result->set_json(result, text, length);
}

#ifdef __cplusplus
}
#endif

#endif
