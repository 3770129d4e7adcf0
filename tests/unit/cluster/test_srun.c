#include "cluster/srun.h"

#include "unit.h"

struct vector {
    const char *line;
    uint32_t node;
    const char *host;
    bool lost;
};

static void hears_of_lost_nodes_and_of_nothing_else(void)
{
    static const struct vector vectors[] = {
        {"", 1, "n2", false},
        {"srun: error: ", 1, "n2", false},
        {"srun: error: n2: task", 1, "n2", false},
        {"srun: error: n2: task : Killed", 1, "n2", false},
        {"srun: error: n2: tasks x: Killed", 1, "n2", false},
        {"srun: error: n2: tasks 3-1: Killed", 2, "n3", false},
        {"error: n2: task 1: Killed", 1, "n2", false},
        {"srun: n2: task 1: running", 1, "n2", false},
        {"slurmstepd: error: n2: task 1: Killed", 1, "n2", false},
        {"srun: error: n2: task 1: Killed", 1, NULL, true},
        {"srun: error: n2: task 1: Killed", 0, "n1", false},
        {"srun: error: n2: task 1: Killed", 11, "n12", false},
        {"srun: error: n[2-3]: tasks 1-2: Exited with exit code 1", 1, "n2",
         true},
        {"srun: error: n[2-3]: tasks 1-2: Exited with exit code 1", 2, "n3",
         true},
        {"srun: error: n[2-3]: tasks 1-2: Exited with exit code 1", 3, "n4",
         false},
        {"srun: error: n[2,9]: tasks 1,8: Killed", 8, "n9", true},
        {"srun: error: Node failure on n2", 1, "n2", true},
        {"srun: error: Node failure on n2", 1, NULL, false},
        {"srun: error: Node failure on n2", 2, "n", false},
        {"srun: error: Node failure on n21", 1, "n2", false},
        {"srun: error: Node failure on gpu-n2", 1, "n2", false},
        {"srun: error: Node failure on n1,n2", 1, "n2", true},
        {"srun: error: Node failure on n1,n2", 0, "n1", true},
        {"srun: error: Unable to create step for job 7: busy", 0, "n1", false},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct vector *v = &vectors[i];
        if (jr_srun_lost(v->line, v->node, v->host) == v->lost)
            continue;
        printf("\n    '%s' node %u\n", v->line, v->node);
        CU_FAIL("srun was misheard");
    }
}

static void starts_one_agent_a_node(void)
{
    struct jr_arena arena = JR_ARENA_INIT;
    char **words = jr_srun_words(&arena, "/opt/a b/jobrun", 3);
    JR_ASSERT_TEXT(words[0], "srun");
    JR_ASSERT_TEXT(words[1], "--nodes=3");
    JR_ASSERT_TEXT(words[2], "--ntasks=3");
    JR_ASSERT_TEXT(words[3], "--ntasks-per-node=1");
    size_t count = 0;
    while (words[count] != NULL)
        count++;
    JR_ASSERT_TEXT(words[count - 2], "/opt/a b/jobrun");
    JR_ASSERT_TEXT(words[count - 1], "agent");
    jr_arena_release(&arena);
}

/* What a job's own options, or a shell, leave behind for srun to read. */
static void keeps_from_srun_what_would_change_it(void)
{
    char *const envp[] = {
        (char[]){"PATH=/bin"},          (char[]){"SLURM_JOB_ID=7"},
        (char[]){"SLURM_LABELIO=1"},    (char[]){"SLURM_NTASKS_PER_NODE=8"},
        (char[]){"SLURM_NTASKS=16"},    (char[]){"SRUN_CPUS_PER_TASK=4"},
        (char[]){"SLURM_CPU_BIND=cores"}, (char[]){"CUDA_VISIBLE_DEVICES=0"},
        (char[]){"SLURM_STEP_ID=3"},    NULL,
    };
    struct jr_arena arena = JR_ARENA_INIT;
    char **env = jr_srun_environment(&arena, envp);
    JR_ASSERT_TEXT(env[0], "PATH=/bin");
    JR_ASSERT_TEXT(env[1], "SLURM_JOB_ID=7");
    JR_ASSERT_TEXT(env[2], "CUDA_VISIBLE_DEVICES=0");
    CU_ASSERT_PTR_NULL(env[3]);
    jr_arena_release(&arena);
}

JR_UNIT_MAIN("said", CASE(hears_of_lost_nodes_and_of_nothing_else),
             CASE(starts_one_agent_a_node),
             CASE(keeps_from_srun_what_would_change_it))
