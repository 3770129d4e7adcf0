/* Values that are held against each other: what is said, word for word, and what to write
 * instead. */

#include "case.h"

struct vector {
    const char *spec;
    struct facts facts;
    enum jr_status status;
    const char *told;
};

static void check_all(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        SCENE(scene, vectors[i].spec, &vectors[i].facts);
        CU_ASSERT_EQUAL(scene.status, vectors[i].status);
        if (strcmp(scene_told(&scene), vectors[i].told) != 0)
            printf("\n    of       '%s'", vectors[i].spec);
        JR_ASSERT_TEXT(scene_told(&scene), vectors[i].told);
    }
}

#define CHECK_ALL(vectors) check_all(vectors, sizeof vectors / sizeof *vectors)

#define INVALID    JR_STATUS_INVALID
#define UNRESOLVED JR_STATUS_UNRESOLVED

/* Of what the machine or its scheduler says: what the spec alone says is held to itself when it is
 * loaded. */
TEST(holds_sizes_to_each_other)
{
    static const struct vector vectors[] = {
        {"world_size: 8\nlocal_world_size: 4\n", {.job_nodes = 2}, JR_STATUS_OK, ""},
        {"world_size: 9\nlocal_world_size: 4\n", BRACED(.job_nodes = 2), INVALID,
         "t.jobrun.yaml:4:19: error: world_size 9 is not a multiple of local_world_size 4 "
         "[JR0312]\nnodes that differ: local_world_size: [4, 4, 1]\nsee 3:13\n"},
        {"world_size: 8\nlocal_world_size: 3\n", BRACED(.job_nodes = 2), INVALID,
         "t.jobrun.yaml:4:19: error: world_size 8 is not a multiple of local_world_size 3 "
         "[JR0312]\nnodes that differ: local_world_size: [3, 3, 2]\nsee 3:13\n"},
        {"local_world_size: [4, 4, 4]\n", BRACED(.job_nodes = 2), UNRESOLVED,
         "t.jobrun.yaml:3:19: error: nodes 3 (one per entry of local_world_size), but the "
         "allocation has 2 [JR0423]\nask for more nodes, or rehearse here with --local\n"},
        {"world_size: 8\nlocal_world_size: [4, 4]\n", {.job_nodes = 2}, JR_STATUS_OK, ""},
        {"world_size: 9\nhosts: [a, b, c]\n", BRACED(.job_nodes = 2), UNRESOLVED,
         "t.jobrun.yaml:4:8: error: nodes 3 (one per entry of hosts), but the allocation has 2 "
         "[JR0423]\nask for more nodes, or rehearse here with --local\n"},
        {"parallelism: {model: 3}\n", BRACED(.on = "1x8:H100"), UNRESOLVED,
         "t.jobrun.yaml:3:22: error: world_size 8 (--on 1x8:H100: 8 NVIDIA H100 on this node) "
         "does not divide by model 3 x pipeline 1 [JR0310]\nnearest world sizes that do: 6, 9\n"},
        {"parallelism: {model: 4}\n", {.on = "1x8:H100"}, JR_STATUS_OK, ""},
        {"parallelism: {model: 2, data: 3}\n", {.on = "1x8:H100"}, JR_STATUS_OK, ""},
        {"parallelism: {model: 2, data: 5}\n", BRACED(.on = "1x8:H100"), UNRESOLVED,
         "t.jobrun.yaml:3:31: error: 10 ranks on a node with 8 usable cuda devices [JR0404]\nstart "
         "at most 8 on a node, or let ranks share devices (oversubscribe: true)\nsee 3:22\n"},
        {"local_world_size: 8\nparallelism: {model: 3}\n", BRACED(.job_nodes = 2), UNRESOLVED,
         "t.jobrun.yaml:4:22: error: world_size 16 (nodes x local_world_size) does not divide by "
         "model 3 x pipeline 1 [JR0310]\nnearest world sizes that do: 15, 18\nsee 3:19\n"},
        {"local_world_size: 8\nparallelism: {model: 3, data: 2}\n", BRACED(.job_nodes = 2), INVALID,
         "t.jobrun.yaml:4:22: error: world_size 6 (data x model x pipeline) does not divide by "
         "local_world_size 8 [JR0402]\nnearest world sizes that do: 8\nsee 3:19\nsee 4:31\n"}};
    CHECK_ALL(vectors);
}

TEST(holds_nodes_to_the_allocation)
{
    static const struct vector vectors[] = {
        {"world_size: 4\nnodes: 4\n", BRACED(.job_nodes = 2), UNRESOLVED,
         "t.jobrun.yaml:4:8: error: nodes 4, but the allocation has 2 "
         "[JR0423]\nask for more nodes, or rehearse here with --local\n"},
        {"world_size: 4\nnodes: 4\n", BRACED(.on = "2x2:H100"), UNRESOLVED,
         "t.jobrun.yaml:4:8: error: nodes 4, but --on 2x2:H100 has 2 "
         "[JR0423]\nask for more nodes, or rehearse here with --local\n"},
        {"world_size: 4\nnodes: 4\n", BRACED(.on = "2x2:H100", .target = "big"), UNRESOLVED,
         "t.jobrun.yaml:4:8: error: on big: nodes 4, but the target has 2 [JR0423]\nthe target "
         "and the spec must have the same number of nodes\nsee 9:5\n"},
        {"world_size: 4\nnodes: 2\n", BRACED(0), UNRESOLVED,
         "t.jobrun.yaml:4:8: error: nodes 2, but --on 1x0,8c has 1 "
         "[JR0423]\nask for more nodes, or rehearse here with --local\n"},
        {"world_size: 4\nnodes: 2\n", BRACED(.real = true), UNRESOLVED,
         "t.jobrun.yaml:4:8: error: nodes 2, and node_rank and master_addr are MISSING "
         "[JR0420]\ngive each node its own --node-rank and the same --run-id, and state hosts or "
         "master_addr; or start the ranks of all nodes here with --local\n"},
        {"world_size: 4\nnodes: 2\nmaster_addr: a\n", BRACED(.real = true), UNRESOLVED,
         "t.jobrun.yaml:4:8: error: nodes 2, and node_rank is MISSING [JR0420]\ngive each node "
         "its own --node-rank and the same --run-id, and state hosts or master_addr; or start "
         "the ranks of all nodes here with --local\n"},
        {"world_size: 4\nnodes: 2\nmaster_addr: a\nnode_rank: 1\n", BRACED(.real = true),
         JR_STATUS_OK, ""},
        {"world_size: 4\nnodes: 2\n", {.local = true}, JR_STATUS_OK, ""}};
    CHECK_ALL(vectors);
}

#define SPARES "nodes: 2\nspare_nodes: 1\nrestart: {max: 1}\n"

TEST(holds_spares_to_the_machines)
{
    static const struct vector vectors[] = {
        {SPARES, {.on = "3x2:H100"}, JR_STATUS_OK, ""},
        {SPARES, {.job_nodes = 3}, JR_STATUS_OK, ""},
        {SPARES "world_size: 2\n", {.real = true, .local = true}, JR_STATUS_OK, ""},
        {SPARES, BRACED(.job_nodes = 2), UNRESOLVED,
         "t.jobrun.yaml:3:8: error: nodes 2 and spare_nodes 1, but the allocation has 2 "
         "[JR0423]\nask for more nodes, or rehearse here with --local\n"},
        {"vars: {n: 1}\nnodes: 2\nspare_nodes: ${vars.n}\nrestart: {max: 1}\n",
         BRACED(.job_nodes = 2), UNRESOLVED,
         "t.jobrun.yaml:4:8: error: nodes 2 and spare_nodes, but the allocation has 2 "
         "[JR0423]\nask for more nodes, or rehearse here with --local\n"},
        {SPARES "hosts: [a, b, c]\n", {.on = "3x2:H100"}, JR_STATUS_OK, ""},
        {SPARES "hosts: [a, b]\n", BRACED(.on = "3x2:H100"), UNRESOLVED,
         "t.jobrun.yaml:6:8: error: nodes 2 and spare_nodes 1, but hosts has 2 entries "
         "[JR0423]\nhosts has an entry for each node and for each spare, the spares last\n"},
        {SPARES "hosts: [a, b, c]\nnode_rank: 1\n", BRACED(.real = true), UNRESOLVED,
         "t.jobrun.yaml:3:8: error: nodes 2 and spare_nodes 1, but no jobrun leads all of them "
         "here [JR0427]\nstart it in the script or the shell of a Slurm allocation, or over ssh "
         "with --hosts; or leave spare_nodes out\n"},
        {SPARES "hosts: [a, b, c]\nnode_rank: 1\nengine: {ssh: {}}\n", BRACED(.real = true),
         JR_STATUS_OK, ""}};
    CHECK_ALL(vectors);
}

TEST(holds_ranks_to_devices)
{
    static const struct vector vectors[] = {
        {"world_size: 8\n", {.on = "1x8:H100"}, JR_STATUS_OK, ""},
        {"world_size: 9\n", BRACED(.on = "1x8:H100"), UNRESOLVED,
         "t.jobrun.yaml:3:13: error: 9 ranks on a node with 8 usable cuda devices "
         "[JR0404]\nstart at most 8 on a node, or let ranks share devices (oversubscribe: true)\n"},
        {"world_size: 17\n", BRACED(.on = "1x8:H100"), UNRESOLVED,
         "t.jobrun.yaml:3:13: error: 17 ranks on a node with 8 usable cuda devices "
         "[JR0404]\nstart at most 8 on a node, or let ranks share devices (oversubscribe: true)\n"},
        {"world_size: 2\n", BRACED(.on = "1x1:H100"), UNRESOLVED,
         "t.jobrun.yaml:3:13: error: 2 ranks on a node with 1 usable cuda device "
         "[JR0404]\nstart at most 1 on a node, or let ranks share devices (oversubscribe: true)\n"},
        {"world_size: 9\nnodes: 1\n", BRACED(.on = "3x8:H100"), UNRESOLVED,
         "t.jobrun.yaml:4:8: error: 9 ranks on a node with 8 usable cuda devices [JR0404]\nspread "
         "them (nodes: 3), or let ranks share devices (oversubscribe: true)\nsee 3:13\n"},
        {"world_size: 9\noversubscribe: true\n", {.on = "1x8:H100"}, JR_STATUS_OK, ""},
        {"world_size: 2\ndevices: [0, 1]\n", {.on = "1x8:H100"}, JR_STATUS_OK, ""},
        {"world_size: 2\ndevices: [0, 1, 2]\n", BRACED(.on = "1x8:H100"), INVALID,
         "t.jobrun.yaml:4:10: error: devices lists 3 devices, but the whole "
         "job has 2 ranks [JR0319]\nlocal rank i gets entry i: leave out the "
         "entries that no rank uses\nsee 3:13\n"},
        {"world_size: 8\n", {.on = "1x0,8c"}, JR_STATUS_OK, ""},
        {"world_size: 9\n", BRACED(.on = "1x0,8c"), JR_STATUS_OK,
         "t.jobrun.yaml:3:13: warning: 9 ranks on a node with 8 usable CPUs "
         "[JR0405]\noversubscribe: true allows this\n"},
        {"world_size: 2\n", BRACED(.on = "1x0,1c"), JR_STATUS_OK,
         "t.jobrun.yaml:3:13: warning: 2 ranks on a node with 1 usable CPU "
         "[JR0405]\noversubscribe: true allows this\n"},
        {"world_size: 9\noversubscribe: true\n", {.on = "1x0,8c"}, JR_STATUS_OK, ""},
        {"world_size: 3\n", BRACED(.on = "1x0,8c", .quota = 2), JR_STATUS_OK,
         "t.jobrun.yaml:3:13: warning: 3 ranks on a node with 2 usable CPUs "
         "[JR0405]\noversubscribe: true allows this\n"}};
    CHECK_ALL(vectors);
}

TEST(holds_rules_to_ranks)
{
    static const struct vector vectors[] = {
        {"world_size: 2\nredirects: {\"0-1\": all}\n", {0}, JR_STATUS_OK, ""},
        {"world_size: 2\nredirects: {\"0\": out, \"2\": all}\n", BRACED(0), INVALID,
         "t.jobrun.yaml:4:23: error: redirects names local rank 2, but the whole job has 2 ranks "
         "[JR0317]\nlocal ranks count from 0: the last is 1\nsee 3:13\n"},
        {"world_size: 2\ntee: {\"0-7\": all}\n", BRACED(0), INVALID,
         "t.jobrun.yaml:4:7: error: tee names local rank 7, but the whole job has 2 ranks "
         "[JR0317]\nlocal ranks count from 0: the last is 1\nsee 3:13\n"},
        {"world_size: 2\nper_rank: {\"0\": {args: [a]}, \"1-2\": {args: [b]}}\n", BRACED(0),
         INVALID,
         "t.jobrun.yaml:4:30: error: 'per_rank' names rank 2, but the job has "
         "2 ranks [JR0307]\nranks count from 0: the last is 1\nsee 3:13\n"},
        {"world_size: 3\nper_rank: {\"1-2\": {args: [b]}}\n", {0}, JR_STATUS_OK, ""},
        {"redirects: {\"0\": out, \"4\": all}\n", BRACED(.on = "1x4:H100"), UNRESOLVED,
         "t.jobrun.yaml:3:12: error: redirects names local rank 4, but there is local_world_size "
         "4 (--on 1x4:H100: 4 NVIDIA H100 on this node) [JR0440]\nlocal ranks go from 0 to 3\n"},
        {"redirects: {\"0-3\": out}\n", {.on = "1x4:H100"}, JR_STATUS_OK, ""},
        {"redirects: {\"0\": out}\ntee: {\"1-9\": err}\n", BRACED(.on = "1x4:H100"), UNRESOLVED,
         "t.jobrun.yaml:4:6: error: tee names local rank 9, but there is local_world_size 4 "
         "(--on 1x4:H100: 4 NVIDIA H100 on this node) [JR0440]\nlocal ranks go from 0 to 3\n"},
        {"per_rank: {\"0\": {args: [a]}, \"2-4\": {args: [b]}}\n", BRACED(.on = "1x4:H100"),
         UNRESOLVED,
         "t.jobrun.yaml:3:37: error: per_rank names rank 4, but there is world_size 4 (--on "
         "1x4:H100: 4 NVIDIA H100 on this node) [JR0441]\nranks go from 0 to 3\n"},
        {"per_rank: {\"2-3\": {args: [b]}}\n", {.on = "1x4:H100"}, JR_STATUS_OK, ""},
        {"results: {required: 0-3}\nconsole: {ranks: 2-3}\n"
         "progress: {pattern: '(?<step>[0-9])', ranks: 3}\n",
         BRACED(.on = "1x4:H100"), JR_STATUS_OK, ""},
        {"results: {required: 0-4}\n", BRACED(.on = "1x4:H100"), UNRESOLVED,
         "t.jobrun.yaml:3:21: error: results.required names rank 4, but there is world_size 4 "
         "(--on 1x4:H100: 4 NVIDIA H100 on this node) [JR0441]\nranks go from 0 to 3\n"},
        {"console: {ranks: 0-5}\n", BRACED(.on = "1x4:H100"), UNRESOLVED,
         "t.jobrun.yaml:3:18: error: console.ranks names rank 5, but there is world_size 4 (--on "
         "1x4:H100: 4 NVIDIA H100 on this node) [JR0441]\nranks go from 0 to 3\n"},
        {"progress: {pattern: '(?<step>[0-9])', ranks: 4}\n", BRACED(.on = "1x4:H100"), UNRESOLVED,
         "t.jobrun.yaml:3:46: error: progress.ranks names rank 4, but there is world_size 4 "
         "(--on 1x4:H100: 4 NVIDIA H100 on this node) [JR0441]\nranks go from 0 to 3\n"},
        {"devices: [0, 1, 2]\nlocal_world_size: 2\n", BRACED(.job_nodes = 2), INVALID,
         "t.jobrun.yaml:3:10: error: devices lists 3 devices, but a node has 2 "
         "local ranks [JR0319]\nlocal rank i gets entry i: leave out the "
         "entries that no rank uses\nsee 4:19\n"}};
    CHECK_ALL(vectors);
}
