#include "worker/c/worker.h"

#include <stdlib.h>

#include "base/num.h"

#include "base/banned.h"

/* A number of the environment, and where it goes. */
struct number {
    const char *name;
    uint32_t *to;
};

static int read_rank_number(const struct number *number, struct jr_error *err)
{
    const char *text = getenv(number->name);
    if (text != NULL && jr_num_u32(text, number->to))
        return 0;
    return jr_error_set(
        err, JR_STATUS_LAUNCH, "%s is %s: this process is not a rank of jobrun",
        number->name, text == NULL ? "not set" : "not a number");
}

static int read_axis(struct jr_rank_place *axis, const char *const names[3],
                     struct jr_error *err)
{
    const struct number numbers[] = {{names[0], &axis->size},
                                     {names[1], &axis->at},
                                     {names[2], &axis->group}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (read_rank_number(&numbers[i], err) != 0)
            return -1;
    return 0;
}

#define AXIS(name)                                                             \
    {                                                                          \
        name "_PARALLEL_SIZE", name "_PARALLEL_RANK", name "_PARALLEL_GROUP"   \
    }

static int read_axes(struct jr_rank *rank, struct jr_error *err)
{
    static const char *const names[3][3] = {AXIS("MODEL"), AXIS("PIPELINE"),
                                            AXIS("DATA")};
    static const char *const backends[] = {"MODEL_PARALLEL_BACKEND",
                                           "PIPELINE_PARALLEL_BACKEND",
                                           "DATA_PARALLEL_BACKEND"};
    uint32_t stride = 1;
    for (int i = 0; i < 3; i++) {
        struct jr_rank_place *axis = &rank->axes[i];
        if (read_axis(axis, names[i], err) != 0)
            return -1;
        axis->stride = stride;
        axis->first = rank->rank - axis->at * stride;
        axis->backend = getenv(backends[i]);
        stride *= axis->size;
    }
    return 0;
}

int jr_worker_rank(struct jr_rank *ret, struct jr_error *err)
{
    struct jr_rank rank = {.master_addr = getenv("MASTER_ADDR"),
                           .init_method = getenv("INIT_METHOD"),
                           .run_id = getenv("JOBRUN_RUN_ID"),
                           .run_dir = getenv("JOBRUN_RUN_DIR"),
                           .rank_dir = getenv("JOBRUN_RANK_DIR")};
    const struct number numbers[] = {
        {"RANK", &rank.rank},
        {"WORLD_SIZE", &rank.world_size},
        {"LOCAL_RANK", &rank.local_rank},
        {"LOCAL_WORLD_SIZE", &rank.local_world_size},
        {"NODE_RANK", &rank.node_rank},
        {"GROUP_WORLD_SIZE", &rank.nodes},
        {"JOBRUN_ATTEMPT", &rank.attempt},
        {"MASTER_PORT", &rank.master_port}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (read_rank_number(&numbers[i], err) != 0)
            return -1;
    if (read_axes(&rank, err) != 0)
        return -1;
    *ret = rank;
    return 0;
}
