/* What people call the options of sbatch, and how they write their values. */
#include "spec/sbatch_options.h"

#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void check_meant(const char *key, const char *expected)
{
    const char *meant = jr_sbatch_meant(key);
    if (expected == NULL) {
        CU_ASSERT_PTR_NULL(meant);
        return;
    }
    JR_ASSERT_TEXT(meant, expected);
}

static void knows_options_by_other_names(void)
{
    static const char *const rows[][2] = {
        {"--partition", "partition"},
        {"-p", "partition"},
        {"p", "partition"},
        {"-J", "job-name"},
        {"-x", "exclude"},
        {"--p", NULL},
        {"-Z", NULL},
        {"", NULL},
        {"-", NULL},
        {"cpus_per_task", "cpus-per-task"},
        {"CpusPerTask", "cpus-per-task"},
        {"--Mem_Per_Cpu", "mem-per-cpu"},
        {"queue", "partition"},
        {"time_limit", "time"},
        {"tasks-per-node", "ntasks-per-node"},
        {"partitio", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        check_meant(rows[i][0], rows[i][1]);
    for (const char *const *name = jr_sbatch_names(); *name != NULL; name++)
        check_meant(*name, *name);
}

static void knows_what_the_job_decides(void)
{
    static const char *const rows[] = {"nodes",           "Nodes", "ntasks",
                                       "ntasks_per_node", "wrap",  "array"};
    for (size_t i = 0; i < COUNT(rows); i++)
        CU_ASSERT_PTR_NOT_NULL(jr_sbatch_decided(rows[i]));
    for (const char *const *name = jr_sbatch_names(); *name != NULL; name++)
        CU_ASSERT_PTR_NULL(jr_sbatch_decided(*name));
}

static void offers_values_in_the_form_of_sbatch(void)
{
    static const struct {
        enum jr_sbatch_form form;
        const char *text, *near;
    } rows[] = {
        {JR_SBATCH_TIME, "2 hours", "2:00:00"},
        {JR_SBATCH_TIME, "1h30m", "1:30:00"},
        {JR_SBATCH_TIME, "1.5 days", "1-12:00:00"},
        {JR_SBATCH_TIME, "500ms", NULL},
        {JR_SBATCH_TIME, "soon", NULL},
        {JR_SBATCH_TIME, "2 houses", NULL},
        {JR_SBATCH_MEMORY, "64GiB", "64G"},
        {JR_SBATCH_MEMORY, "64 gb", "64G"},
        {JR_SBATCH_MEMORY, "64 P", NULL},
        {JR_SBATCH_MEMORY, "G", NULL},
        {JR_SBATCH_GPUS, "a100x4", "a100:4"},
        {JR_SBATCH_GPUS, "a100 x 4", "a100:4"},
        {JR_SBATCH_GPUS, "a100=4", "a100:4"},
        {JR_SBATCH_GPUS, "4xa100", "a100:4"},
        {JR_SBATCH_GPUS, "4 a100", "a100:4"},
        {JR_SBATCH_GPUS, "a100", NULL},
        {JR_SBATCH_GPUS, "4", NULL},
        {JR_SBATCH_GPUS, "4x", NULL},
        {JR_SBATCH_GPUS, "x4", NULL},
        {JR_SBATCH_GPUS, "4x4", NULL},
        {JR_SBATCH_GPUS, "some a100 x4", NULL},
        {JR_SBATCH_GPUS, "", NULL},
        {JR_SBATCH_GRES, "gpu=4", "gpu:4"},
        {JR_SBATCH_GRES, "gpu=a100=4", "gpu:a100:4"},
        {JR_SBATCH_COUNT, "8 cores", "8"},
        {JR_SBATCH_COUNT, "8c", "8"},
        {JR_SBATCH_COUNT, "0 cores", NULL},
        {JR_SBATCH_COUNT, "cores", NULL},
        {JR_SBATCH_COUNT, "8.5", NULL},
        {JR_SBATCH_TEXT, "2 hours", NULL},
        {JR_SBATCH_SIGNAL, "2 hours", NULL},
    };
    struct jr_arena arena = JR_ARENA_INIT;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *near =
            jr_sbatch_near_value(&arena, rows[i].form, rows[i].text);
        if (rows[i].near == NULL) {
            CU_ASSERT_PTR_NULL(near);
            continue;
        }
        JR_ASSERT_TEXT(near, rows[i].near);
    }
    jr_arena_release(&arena);
}

JR_UNIT_MAIN("sbatch_options", CASE(knows_options_by_other_names),
             CASE(knows_what_the_job_decides),
             CASE(offers_values_in_the_form_of_sbatch))
