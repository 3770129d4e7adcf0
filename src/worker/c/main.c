/*
 * The program itself: what the command line asks for, a rank's place in the job, read from its
 * environment, and how it tells its progress. worker.h declares what other files need.
 */
#include "worker/c/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "base/num.h"
#include "worker/c/entry_call.h"
#include "worker/c/serve.h"

#include "base/banned.h"

/* What jr_progress of jobrun/rank.h promises: a JSON line in $JOBRUN_PROGRESS_FILE. */

/* The metrics, whose values must be numbers, or null; NULL: they are not. */
static json_t *read_metrics(const char *text)
{
    if (text == NULL)
        return json_object();
    json_t *metrics = jr_json_parse(text, strlen(text), NULL), *value;
    const char *name;
    bool good = json_is_object(metrics);
    json_object_foreach(metrics, name, value) {
        good = good && (json_is_number(value) || json_is_null(value)) &&
               strcmp(name, "step") != 0 && strcmp(name, "of") != 0;
    }
    if (!good) {
        json_decref(metrics);
        return NULL;
    }
    return metrics;
}

static int append_line(const struct jr_buf *line)
{
    const char *path = getenv("JOBRUN_PROGRESS_FILE");
    if (path == NULL)
        return -ENOENT;
    if (line->failed)
        return -ENOMEM;
    JR_CLOSE int fd =
        open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0 || jr_io_write_all(fd, line->data, line->len) != 0)
        return -errno;
    return 0;
}

int jr_worker_progress(const struct jr_rank *rank, int64_t step, int64_t of,
                       const char *metrics_json)
{
    (void)rank;
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    json_t *metrics = step < 0 || of < 0 ? NULL : read_metrics(metrics_json);
    if (metrics == NULL)
        return -EINVAL;
    json_auto_t *object = json_object();
    jr_json_set_int(object, "step", step);
    if (of > 0)
        jr_json_set_int(object, "of", of);
    (void)json_object_update(object, metrics);
    jr_json_print(&line, object, 0);
    jr_buf_char(&line, '\n');
    json_decref(metrics);
    return append_line(&line);
}

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
    return jr_error_set(err, JR_STATUS_LAUNCH, "%s is %s: this process is not a rank of jobrun",
                        number->name, text == NULL ? "not set" : "not a number");
}

static int read_axis(struct jr_rank_place *axis, const char *const names[3], struct jr_error *err)
{
    const struct number numbers[] = {
        {names[0], &axis->size}, {names[1], &axis->at}, {names[2], &axis->group}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (read_rank_number(&numbers[i], err) != 0)
            return -1;
    return 0;
}

#define AXIS(name)                                                                                 \
    {                                                                                              \
        name "_PARALLEL_SIZE", name "_PARALLEL_RANK", name "_PARALLEL_GROUP"                       \
    }

static int read_axes(struct jr_rank *rank, struct jr_error *err)
{
    static const char *const names[3][3] = {AXIS("MODEL"), AXIS("PIPELINE"), AXIS("DATA")};
    static const char *const backends[] = {"MODEL_PARALLEL_BACKEND", "PIPELINE_PARALLEL_BACKEND",
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
                           .rank_dir = getenv("JOBRUN_RANK_DIR"),
                           .progress = jr_worker_progress};
    const struct number numbers[] = {{"RANK", &rank.rank},
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

/* A rank has no other descriptor, so a socket there is the runner's. */
static void find_control(struct jr_worker *worker)
{
    struct stat st;
    worker->control = -1;
    if (fstat(JR_WORKER_CONTROL, &st) != 0 || !S_ISSOCK(st.st_mode))
        return;
    (void)fcntl(JR_WORKER_CONTROL, F_SETFD, FD_CLOEXEC);
    worker->control = JR_WORKER_CONTROL;
    worker->control_ino = st.st_ino;
}

int main(int argc, char **argv)
{
    struct jr_worker_words words = {argc, argv};
    bool refuse = argc == 4 && strcmp(argv[2], "--refuse-threads") == 0;
    bool serves = argc == 3 + refuse && strcmp(argv[1], "serve") == 0;
    if (serves)
        jr_worker_serve(argv[2 + refuse], refuse, &words);
    if (words.argc < 3) {
        (void)fprintf(stderr, "usage: jobrun-step PATH SYMBOL [ARG]...\n"
                              "       jobrun-step serve [--refuse-threads] PATH\n");
        return JR_WORKER_UNSTARTED;
    }
    struct jr_worker worker = {.path = words.argv[1],
                               .symbol = words.argv[2],
                               .argc = words.argc - 3,
                               .argv = words.argv + 3,
                               .forked = serves};
    find_control(&worker);
    return jr_worker_run(&worker);
}
