/* Batch scripts: which options sbatch gets, and what each says. */
#include "render/render.h"
#include "unit.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static char run[] = "jobrun", verb[] = "run", spec[] = "a b.yaml";

struct option {
    const char *name, *value;
};

/* A job, and the options in its script behind those that all have. */
struct row {
    uint32_t nodes, spares, ranks, cpus; /* the first with its spares */
    enum jr_device device;
    uint64_t start_ms, run_ms, grace_ms;
    uint32_t restarts, requeues;
    uint64_t before_ms; /* of the deadline */
    const char *signal;
    struct option options[3]; /* of engine.slurm */
    const char *array;
    const char *expected;
};

static void check_script(const struct row *row)
{
    struct jr_env_entry entries[LENGTH(row->options)];
    uint32_t count = 0;
    for (; count < LENGTH(entries) && row->options[count].name != NULL; count++)
        entries[count] =
            (struct jr_env_entry){.name = (char *)(uintptr_t)row->options[count].name,
                                  .value = (char *)(uintptr_t)row->options[count].value};
    struct jr_policy policy = {.timeouts = {.start_ms = row->start_ms,
                                            .run_ms = row->run_ms,
                                            .stop_grace_ms = row->grace_ms},
                               .restart.max = row->restarts,
                               .requeue.max = row->requeues,
                               .deadline = {row->before_ms, (char *)(uintptr_t)row->signal},
                               .engine = {.slurm = entries, .slurm_count = count}};
    char *command[] = {run, verb, spec, NULL};
    const struct jr_engine_job job = {.name = "j",
                                      .nodes = row->nodes - row->spares,
                                      .spares = row->spares,
                                      .ranks = row->ranks,
                                      .cpus = row->cpus,
                                      .device = row->device,
                                      .policy = &policy,
                                      .array = row->array,
                                      .command = command};
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf all JR_BUF_CLEANUP = JR_BUF_INIT;
    CU_ASSERT_EQUAL(jr_engine_render(&out, JR_ENGINE_SLURM, &job, NULL), 0);
    jr_buf_printf(&all,
                  "#!/bin/sh\n#SBATCH --job-name=j\n#SBATCH --nodes=%u\n"
                  "#SBATCH --ntasks-per-node=1\n%s\nexec jobrun run%s 'a b.yaml'\n",
                  row->nodes, row->expected,
                  row->array == NULL ? "" : " --cell \"$SLURM_ARRAY_TASK_ID\"");
    JR_ASSERT_TEXT(out.data, all.data);
}

#define CHECK_ROWS(rows)                                                                           \
    for (size_t row_ = 0; row_ < LENGTH(rows); row_++)                                             \
    check_script(&(rows)[row_])

#define SIGNAL_30 "#SBATCH --signal=B:TERM@30\n"
#define ONCE      "#SBATCH --no-requeue\n"

TEST(asks_for_cpus_and_devices)
{
    static const struct row rows[] = {
        {.nodes = 1, .expected = SIGNAL_30 ONCE},
        {.nodes = 3, .ranks = 8, .expected = SIGNAL_30 ONCE},
        {.nodes = 2,
         .ranks = 8,
         .cpus = 96,
         .device = JR_DEVICE_CUDA,
         .expected = "#SBATCH --cpus-per-task=96\n#SBATCH --gpus-per-node=8\n" SIGNAL_30 ONCE},
        {.nodes = 1,
         .ranks = 4,
         .device = JR_DEVICE_NPU,
         .expected = "#SBATCH --gpus-per-node=4\n" SIGNAL_30 ONCE},
        {.nodes = 1,
         .ranks = 4,
         .cpus = 1,
         .device = JR_DEVICE_CPU,
         .expected = "#SBATCH --cpus-per-task=1\n" SIGNAL_30 ONCE},
    };
    CHECK_ROWS(rows);
}

/* The cells of a sweep are the tasks of an array, and each task runs its own.
 */
TEST(makes_an_array_of_cells)
{
    static const struct row rows[] = {
        {.nodes = 2, .array = "0-7,9%4", .expected = "#SBATCH --array=0-7,9%4\n" SIGNAL_30 ONCE},
        {.nodes = 1,
         .cpus = 2,
         .array = "3",
         .expected = "#SBATCH --array=3\n#SBATCH --cpus-per-task=2\n" SIGNAL_30 ONCE},
    };
    CHECK_ROWS(rows);
}

/* The time is the run's own, its start, the grace, and 90 seconds around it; the signal comes 30
 * seconds before the grace begins. */
TEST(asks_for_the_time_of_the_run)
{
    static const struct row rows[] = {
        {.nodes = 1,
         .start_ms = 5000,
         .grace_ms = 30000,
         .expected = "#SBATCH --signal=B:TERM@60\n" ONCE},
        {.nodes = 1, .run_ms = 1, .expected = "#SBATCH --time=0-00:01:31\n" SIGNAL_30 ONCE},
        {.nodes = 1, .run_ms = 1000, .expected = "#SBATCH --time=0-00:01:31\n" SIGNAL_30 ONCE},
        {.nodes = 1, .run_ms = 1001, .expected = "#SBATCH --time=0-00:01:32\n" SIGNAL_30 ONCE},
        {.nodes = 1,
         .start_ms = 500,
         .run_ms = 500,
         .expected = "#SBATCH --time=0-00:01:31\n" SIGNAL_30 ONCE},
        {.nodes = 1, .run_ms = 510000, .expected = "#SBATCH --time=0-00:10:00\n" SIGNAL_30 ONCE},
        {.nodes = 1, .run_ms = 3510000, .expected = "#SBATCH --time=0-01:00:00\n" SIGNAL_30 ONCE},
        {.nodes = 1, .run_ms = 86310000, .expected = "#SBATCH --time=1-00:00:00\n" SIGNAL_30 ONCE},
        {.nodes = 1,
         .start_ms = 60000,
         .run_ms = UINT64_C(36000000000),
         .grace_ms = 30001,
         .expected = "#SBATCH --time=416-16:03:01\n"
                     "#SBATCH --signal=B:TERM@61\n" ONCE},
        /* sbatch takes no more seconds than these */
        {.nodes = 1,
         .grace_ms = UINT64_C(65505000),
         .expected = "#SBATCH --signal=B:TERM@65535\n" ONCE},
        {.nodes = 1,
         .grace_ms = UINT64_C(65506000),
         .expected = "#SBATCH --signal=B:TERM@65535\n" ONCE},
        {.nodes = 1,
         .grace_ms = UINT64_C(65504000),
         .expected = "#SBATCH --signal=B:TERM@65534\n" ONCE},
    };
    CHECK_ROWS(rows);
}

TEST(starts_again_where_the_spec_does)
{
    static const struct row rows[] = {
        {.nodes = 1, .restarts = 1, .expected = SIGNAL_30 "#SBATCH --requeue\n"},
        {.nodes = 1,
         .restarts = 1,
         .options = {{"no-requeue", "true"}},
         .expected = SIGNAL_30 "#SBATCH --no-requeue\n"},
        {.nodes = 1, .options = {{"requeue", "true"}}, .expected = SIGNAL_30 "#SBATCH --requeue\n"},
        {.nodes = 1, .options = {{"no-requeue", "false"}}, .expected = SIGNAL_30},
    };
    CHECK_ROWS(rows);
}

TEST(keeps_the_job_when_a_node_with_spares_fails)
{
    static const struct row rows[] = {
        {.nodes = 3,
         .spares = 1,
         .restarts = 1,
         .expected = SIGNAL_30 "#SBATCH --requeue\n#SBATCH --no-kill\n"},
        {.nodes = 3,
         .spares = 2,
         .restarts = 1,
         .options = {{"no-kill", "off"}},
         .expected = SIGNAL_30 "#SBATCH --requeue\n#SBATCH --no-kill=off\n"},
    };
    CHECK_ROWS(rows);
}

/* The warning comes so long before the end as the deadline says, besides what jobrun needs; what a
 * job that is queued again has printed is kept. */
TEST(warns_of_the_deadline_and_queues_again)
{
#define AGAIN "#SBATCH --requeue\n#SBATCH --open-mode=append\n"
    static const struct row rows[] = {
        {.nodes = 1,
         .before_ms = 600000,
         .signal = "USR1",
         .expected = "#SBATCH --signal=B:USR1@630\n" ONCE},
        {.nodes = 1,
         .before_ms = 600001,
         .grace_ms = 5000,
         .signal = "USR2",
         .requeues = 3,
         .expected = "#SBATCH --signal=B:USR2@636\n" AGAIN},
        {.nodes = 1,
         .before_ms = 1000,
         .signal = "TERM",
         .requeues = 3,
         .expected = "#SBATCH --signal=B:USR1@31\n" AGAIN},
        {.nodes = 1,
         .before_ms = UINT64_C(86400000),
         .signal = "USR1",
         .expected = "#SBATCH --signal=B:USR1@65535\n" ONCE},
        {.nodes = 1,
         .requeues = 1,
         .options = {{"open-mode", "truncate"}},
         .expected = SIGNAL_30 "#SBATCH --requeue\n#SBATCH --open-mode=truncate\n"},
        {.nodes = 1,
         .requeues = 1,
         .before_ms = 1000,
         .signal = "USR1",
         .options = {{"signal", "B:USR1@99"}, {"no-requeue", "true"}},
         .expected = "#SBATCH --open-mode=append\n"
                     "#SBATCH --signal=B:USR1@99\n#SBATCH --no-requeue\n"},
    };
    CHECK_ROWS(rows);
}

/* What the user says stands in place of what jobrun would have said. */
TEST(leaves_what_the_user_says)
{
#define GPUS .nodes = 1, .ranks = 2, .cpus = 4, .device = JR_DEVICE_CUDA
#define CPUS "#SBATCH --cpus-per-task=4\n"
#define TWO  "#SBATCH --gpus-per-node=2\n"
    static const struct row rows[] = {
        {GPUS, .options = {{"partition", "gpu"}, {"account", "a b"}},
         .expected = CPUS TWO SIGNAL_30 ONCE "#SBATCH --partition=gpu\n"
                                             "#SBATCH --account='a b'\n"},
        {GPUS, .options = {{"exclusive", "true"}},
         .expected = TWO SIGNAL_30 ONCE "#SBATCH --exclusive\n"},
        {GPUS, .options = {{"exclusive", "user"}},
         .expected = TWO SIGNAL_30 ONCE "#SBATCH --exclusive=user\n"},
        {GPUS, .options = {{"cpus-per-gpu", "6"}},
         .expected = TWO SIGNAL_30 ONCE "#SBATCH --cpus-per-gpu=6\n"},
        {GPUS, .options = {{"cpus-per-task", "false"}}, .expected = TWO SIGNAL_30 ONCE},
        {GPUS, .options = {{"gres", "gpu:a100:2"}},
         .expected = CPUS SIGNAL_30 ONCE "#SBATCH --gres=gpu:a100:2\n"},
        {GPUS, .options = {{"gpus", "2"}, {"signal", "USR1@9"}},
         .expected = CPUS ONCE "#SBATCH --gpus=2\n#SBATCH --signal=USR1@9\n"},
        {GPUS, .options = {{"tres-per-node", "gres/gpu:2"}},
         .expected = CPUS SIGNAL_30 ONCE "#SBATCH --tres-per-node=gres/gpu:2\n"},
        {GPUS, .options = {{"gpus-per-task", "2"}},
         .expected = CPUS SIGNAL_30 ONCE "#SBATCH --gpus-per-task=2\n"},
        /* a part of such a name is another option */
        {GPUS, .options = {{"gpu", "x"}, {"per-task", "y"}, {"gpus-per", "z"}},
         .expected = CPUS TWO SIGNAL_30 ONCE
         "#SBATCH --gpu=x\n#SBATCH --per-task=y\n#SBATCH --gpus-per=z\n"},
        {.nodes = 1,
         .run_ms = 1,
         .options = {{"time", "5"}},
         .expected = SIGNAL_30 ONCE "#SBATCH --time=5\n"},
        {.nodes = 1,
         .run_ms = 1,
         .options = {{"time", "false"}, {"time-min", "1"}},
         .expected = SIGNAL_30 ONCE "#SBATCH --time-min=1\n"},
        {.nodes = 1,
         .options = {{"comment", ""}, {"wckey", "it's"}},
         .expected = SIGNAL_30 ONCE "#SBATCH --comment=''\n#SBATCH --wckey=it\\'s\n"},
    };
    CHECK_ROWS(rows);
}
