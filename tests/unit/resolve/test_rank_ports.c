/* A port of each rank's own, as Paddle asks for: counted from the job's, where nothing can be
 * tried. */

#include "case.h"

TEST(counts_from_the_port_of_the_job)
{
    static const struct {
        const char *spec;
        struct facts facts;
        uint32_t count, ports[6];
    } vectors[] = {
        {"world_size: 3\n", {0}, 3, {29501, 29502, 29503}},
        {"world_size: 2\nmaster_port: 40000\n", {0}, 2, {40001, 40002}},
        {"world_size: 2\nmaster_port: 65533\n", {0}, 2, {65534, 65535}},
        /* On several nodes by the local rank, and all together by the rank. */
        {"world_size: 4\n", {.job_nodes = 2}, 4, {29501, 29502, 29501, 29502}},
        {"local_world_size: [1, 3]\n", {.job_nodes = 2}, 4, {29501, 29501, 29502, 29503}},
        {"world_size: 4\n", {.job_nodes = 2, .local = true}, 4, {29501, 29502, 29503, 29504}}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        char spec[128];
        (void)snprintf(spec, sizeof spec, "env_profiles: [paddle]\n%s", vectors[i].spec);
        SCENE(scene, spec, &vectors[i].facts);
        JR_ASSERT_TEXT(scene_told(&scene), "");
        CU_ASSERT_EQUAL_FATAL(scene.status, JR_STATUS_OK);
        struct jr_job *job = &scene.resolution.job;
        CU_ASSERT_EQUAL_FATAL(job->world_size, vectors[i].count);
        for (uint32_t rank = 0; rank < job->world_size; rank++)
            CU_ASSERT_EQUAL(job->rank_ports[rank], vectors[i].ports[rank]);
        uint32_t before = job->master_port;
        jr_resolution_set_port(&scene.resolution, before + 7);
        CU_ASSERT_EQUAL(job->master_port, before + 7);
        for (uint32_t rank = 0; rank < job->world_size; rank++)
            CU_ASSERT_EQUAL(job->rank_ports[rank], vectors[i].ports[rank] + 7);
    }
}

TEST(needs_no_ports_without_the_profile)
{
    SCENE(scene, "world_size: 2\n", &(struct facts){0});
    CU_ASSERT_EQUAL(scene.status, JR_STATUS_OK);
    CU_ASSERT_PTR_NULL(scene.resolution.job.rank_ports);
    jr_resolution_set_port(&scene.resolution, 40000);
    CU_ASSERT_EQUAL(scene.resolution.job.master_port, 40000);
}

TEST(refuses_what_there_is_no_port_for)
{
    static const struct {
        const char *spec;
        struct facts facts;
        enum jr_status status;
        const char *told;
    } vectors[] = {{"world_size: 3\nmaster_port: 65533\n",
                    {0},
                    JR_STATUS_INVALID,
                    "t.jobrun.yaml:5:14: error: the paddle profile gives each rank its "
                    "own port, from master_port + 1 on, and the port of rank 2 would be "
                    "above 65535 [JR0433]\nstate a lower master_port\n"},
                   {"world_size: 1\nmaster_port: 65535\n",
                    {0},
                    JR_STATUS_INVALID,
                    "t.jobrun.yaml:5:14: error: the paddle profile gives each rank its "
                    "own port, from master_port + 1 on, and the port of rank 0 would be "
                    "above 65535 [JR0433]\nstate a lower master_port\n"},
                   {"world_size: 4\nnodes: 2\nmaster_addr: a\nnode_rank: 0\n",
                    {.on = "2x2:H100"},
                    JR_STATUS_UNRESOLVED,
                    "t.jobrun.yaml:5:8: error: the paddle profile gives every rank the "
                    "addresses of all ranks, but that of node 0 is not known "
                    "[JR0433]\nstate hosts, one address per node; or --local\n"}};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        char spec[128];
        (void)snprintf(spec, sizeof spec, "env_profiles: [paddle]\n%s", vectors[i].spec);
        SCENE(scene, spec, &vectors[i].facts);
        CU_ASSERT_EQUAL(scene.status, vectors[i].status);
        JR_ASSERT_TEXT(scene_told(&scene), vectors[i].told);
    }
}
