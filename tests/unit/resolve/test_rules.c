#include "case.h"

/* What is refused: the status, and what must be told, in parts that are separated by a bar. */
struct bad {
    const char *spec;
    struct facts facts;
    enum jr_status status;
    const char *told;
};

#define INVALID    JR_STATUS_INVALID
#define UNRESOLVED JR_STATUS_UNRESOLVED

static const uint32_t one = 1, five = 5;

static const struct bad bads[] = {
    /* the mesh */
    {"parallelism: {model: 3}\n", BRACED(.on = "1x8:H100"), UNRESOLVED,
     "3:22: error|JR0310|model 3 x pipeline 1|nearest|6, 9"},
    {"nodes: 3\nlocal_world_size: 2\nparallelism: {model: 4}\n", BRACED(0), INVALID,
     "5:22: error|JR0310|model 4|4, 8"},
    {"parallelism: {model: 16}\n", {.on = "1x8:H100"}, UNRESOLVED, "do: 16"},
    {"local_world_size: [2, 3]\nparallelism: {pipeline: 2}\n", BRACED(0), INVALID,
     "JR0310|pipeline 2|4, 6"},
    {"parallelism: {model: 2, data: 3}\nnodes: 4\n", BRACED(0), INVALID,
     "JR0402|world_size 6 (data x model x pipeline)|nodes 4|4, 8|[2, 2, 1, 1]"},
    {"parallelism: {data: 5}\nnodes: 2\nlocal_world_size: 2\n", BRACED(0), INVALID,
     "data 5|nodes 2 x local_world_size 2"},
    {"hosts: [a, b]\nmaster_addr: a\nnode_rank: 0\nlocal_world_size: 2\nparallelism: {data: 3}\n",
     BRACED(0), INVALID, "7:21: error|JR0311|data 3|2 hosts x local_world_size 2"},
    {"parallelism: {data: 3}\nhosts: [a, b]\nmaster_addr: a\nnode_rank: 0\n",
     BRACED(.on = "2x2:H100"), INVALID,
     "JR0402|world_size 3 (data x model x pipeline)|nodes 2 (one per entry of hosts)"},
    {"parallelism: {model: 1000, pipeline: 1000, data: 1000}\n", BRACED(0), INVALID,
     "JR0315|data 1000 x model 1000 x pipeline 1000|1048576"},
    {"nodes: 1048576\nmaster_addr: a\nnode_rank: 0\n", BRACED(.on = "1048576x8:H100"), UNRESOLVED,
     "JR0403|comes to 8388608|1048576"},
    {"world_size: 1048577\n", {0}, INVALID, "JR0211|1048577|too large"},
    /* sizes */
    {"world_size: 7\nnodes: 2\nmaster_addr: a\nnode_rank: 0\n", BRACED(0), INVALID,
     "world_size 7|nodes 2"},
    {"parallelism: {data: 6}\nlocal_world_size: 4\n", {0}, INVALID, "4, 8|[4, 2]"},
    {"world_size: 7\n", BRACED(.job_nodes = 2), UNRESOLVED,
     "JR0402|nodes 2 (scheduler: Slurm job 77)|[4, 3]"},
    {"world_size: 1\n", {.job_nodes = 2}, UNRESOLVED, "sizes that do: 2"},
    {"world_size: 9\nlocal_world_size: [4, 4]\n", {0}, INVALID, "8"},
    {"nodes: 3\nlocal_world_size: [4, 4]\n", {0}, INVALID, "nodes|2"},
    {"nodes: 3\nhosts: [a, b]\n", {0}, INVALID, "hosts"},
    {"world_size: 8\nlocal_world_size: 4\nhosts: [a, b, c]\n", {0}, INVALID, "world_size"},
    {"nodes: 4\n", BRACED(.job_nodes = 2), UNRESOLVED,
     "3:8: error|JR0423|nodes 4, but the allocation has 2|--local"},
    {"nodes: 4\n", {.on = "2x8:H100"}, UNRESOLVED, "JR0423|--on 2x8:H100 has"},
    /* more ranks than devices */
    {"world_size: 16\n", BRACED(.on = "1x8:H100"), UNRESOLVED,
     "JR0404|16 ranks|8 usable cuda devices|start at most 8 on a node|oversubscribe: true"},
    {"local_world_size: [2, 1]\nmaster_addr: a\nnode_rank: 0\n", BRACED(.on = "2x1:H100"),
     UNRESOLVED, "JR0404|2 ranks on a node with 1 usable cuda device [|start at most 1 on a node"},
    {"world_size: 4\ndevices: [0, 1]\n", {.on = "1x8:H100"}, UNRESOLVED, "2 us"},
    /* devices */
    {"",
     {.on = "1x2:H100", .second = JR_DEVICE_ROCM},
     UNRESOLVED,
     "JR0410|device: cuda or device: rocm"},
    {"", {.broken = JR_DEVICE_CUDA}, UNRESOLVED, "JR0411|no GPU|device: cpu"},
    {"device: cuda\n", BRACED(.on = "1x2:H100", .broken = JR_DEVICE_CUDA), UNRESOLVED,
     "3:9: error|JR0411"},
    {"device: cuda\n", {0}, UNRESOLVED, "3:9: error|JR0412|no cuda device"},
    {"device: cuda\n", {.on = "1x2:H100", .visible = "", .hidden = 3}, UNRESOLVED, "JR0412"},
    {"device: rocm\n", {.on = "1x2:H100"}, UNRESOLVED, "JR0412"},
    {"devices: [2, 0]\ndevice: npu\n", BRACED(.on = "1x4:910B"), INVALID,
     "JR0418|not in ascending order|device_visibility: one"},
    {"devices: [0, 2, 1]\n", {.on = "1x4:910B"}, UNRESOLVED, "JR0418|not in ascending order"},
    {"devices: [0, 9]\n", {.on = "1x2:H100"}, UNRESOLVED, "JR0413|device 9 does not"},
    {"devices: [1]\n", BRACED(.on = "1x2:H100", .visible = "0", .hidden = 2), UNRESOLVED,
     "JR0413|device 1 is not visible|CUDA_VISIBLE_DEVICES=0 hides it"},
    {"devices: [0, 1, 2]\nworld_size: 4\n", BRACED(.on = "1x4:H100", .job_nodes = 2, .job_rank = 1),
     UNRESOLVED, "3:10: error|JR0419|lists 3 devices|local_world_size 2|see 4:13"},
    {"device: npu\nworld_size: 2\n", BRACED(.real = true), UNRESOLVED,
     "3:9: error|JR0412|no npu device is visible here"},
    {"device: hpu\nlocal_world_size: 1\n", {0}, UNRESOLVED, "JR0412|hpu"},
    {"device: mlu\nworld_size: 1\n", {.real = true}, UNRESOLVED, "JR0412|mlu"},
    {"device: xpu\nworld_size: 1\n", {.real = true}, UNRESOLVED, "JR0412|xpu"},
    {"device: npu\ndevices: [4]\n", {.real = true}, UNRESOLVED, "JR0413|npu"},
    {"devices: [GPU-none]\n", {.on = "1x2:H100"}, UNRESOLVED, "GPU-none does not exist"},
    {"device: cpu\ndevices: [0]\n", {0}, INVALID, "devices"},
    {"devices: [0]\n", {0}, UNRESOLVED, "JR0417|device cpu"},
    {"device: cuda\ndevices: none\n", {.on = "1x2:H100"}, INVALID, "devices"},
    {"device: custom:tpu\nbackends: gloo\n", {0}, UNRESOLVED, "JR0450|local_wo"},
    {"device: custom:tpu\nworld_size: 2\n", {0}, INVALID, "JR0450|backends"},
    {"device: custom:tpu\nworld_size: 2\nenv_profiles: [megengine, mpi]\n", BRACED(0), INVALID,
     "JR0450|backends"},
    {"", {.on = "4x0"}, UNRESOLVED, "JR0450|cannot count the CPUs|4x0,32c"},
    /* several machines: one is named where its facts count, and only there */
    {"world_size: 16\n", BRACED(.on = "1x8:H100", .target = "gpus"), UNRESOLVED,
     "3:13: error: on gpus: 16 ranks|JR0404"},
    {"nodes: 4\n", BRACED(.on = "2x8:H100", .target = "gpus"), UNRESOLVED,
     "error: on gpus: nodes 4, but the target has 2|JR0423|the same number of nodes"},
    {"",
     {.on = "1x2:H100", .second = JR_DEVICE_ROCM, .target = "gpus"},
     UNRESOLVED,
     "t.yaml:9:5: error: on gpus: there are two kinds|JR0410"},
    {"devices: [0]\n", {.target = "cpus"}, UNRESOLVED, "error: on cpus: devices 0 contradicts"},
    /* backends */
    {"device: cpu\nbackends: nccl\n", {0}, INVALID, "nccl|cpu"},
    {"backends: nccl\n", {0}, UNRESOLVED, "3:11: error|JR0414|nccl cannot drive device cpu"},
    {"backends: {model: hccl}\n", {.on = "1x8:H100"}, UNRESOLVED, "JR0414|hccl"},
    {"", {.backend = "nccl"}, UNRESOLVED, "JR0414|unset TORCH_DISTRIBUTED_BACKEND"},
    {"", {.backend = "nncl"}, UNRESOLVED, "JR0416|'nncl'"},
    {"backends: gloo\n", {.on = "1x8:MI300X", .backend = "x"}, JR_STATUS_OK, ""},
    /* nodes */
    {"nodes: 2\n", BRACED(.real = true), UNRESOLVED,
     "3:8: error|JR0420|node_rank and master_addr are MISSING|--node-rank"
     "|hosts or master_addr|--local"},
    {"nodes: 2\n",
     {.recorded = TEST_SOURCE_DIR "/machines/dgx-h100.yaml"},
     UNRESOLVED,
     "JR0420|how many such machines|in the facts file"},
    {"nodes: 2\nmaster_addr: a\n", {.real = true}, UNRESOLVED, "node_rank is"},
    {"nodes: 2\nnode_rank: 1\n", {.real = true}, UNRESOLVED, "master_addr is"},
    {"hosts: [a, b]\n", {.real = true}, UNRESOLVED, "and node_rank is MISSING"},
    {"nodes: 2\nnode_rank: 2\nmaster_addr: a\n", {0}, INVALID, "node_rank"},
    {"nodes: 2\n", BRACED(.real = true, .node_rank = &five), UNRESOLVED,
     "JR0421|node_rank 5|from 0 to 1"},
    {"world_size: 8\nnodes: 2\nnode_rank: 1\nmaster_addr: a\nrank_start: 5\n", BRACED(0), INVALID,
     "7:13: error|JR0316|rank_start 5|4|see 5:12|see 3:13"},
    {"nodes: 2\nlocal_world_size: 4\nmaster_addr: a\nrank_start: 0\n", BRACED(.node_rank = &one),
     UNRESOLVED, "6:13: error|JR0422|rank_start 0 contradicts node_rank 1|state 4|see 4:19"},
    {"nodes: 2\nmaster_addr: a\nnode_rank: 1\nrank_start: 1\n", BRACED(.on = "2x2:H100"),
     UNRESOLVED, "6:13: error|JR0422|rank_start 1|see 5:12"},
    {"rank_start: 1\n", {.job_nodes = 2, .job_rank = 1}, UNRESOLVED, "JR0422|8"},
    {"nodes: 2\nmaster_port: 0\nmaster_addr: a\nnode_rank: 0\n", BRACED(.real = true), INVALID,
     "JR0431|nodes 2"},
    /* streams */
    {"local_world_size: 2\nredirects: \"5:3\"\n", {0}, INVALID, "5"},
    {"tee: \"8:1\"\n", {0}, UNRESOLVED, "3:|JR0440|tee|rank 8|0 to 7"},
    {"per_rank: {0: {}, 2-8/2: {}}\n", {0}, UNRESOLVED, "3:|JR0441|rank 8|world_size 8|0 to 7"},
    {"nodes: 1\nlocal_world_size: 2\nper_rank: {2: {}}\n", BRACED(0), INVALID,
     "JR0307|rank 2|2 ranks|the last is 1"}};

static bool told(const char *text, const char *parts)
{
    char part[128];
    for (size_t len; *parts != '\0'; parts += len + (parts[len] == '|')) {
        len = strcspn(parts, "|");
        (void)snprintf(part, sizeof part, "%.*s", (int)len, parts);
        if (strstr(text, part) == NULL)
            return false;
    }
    return true;
}

TEST(refuses)
{
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        SCENE(scene, bads[i].spec, &bads[i].facts);
        const char *text = scene_told(&scene);
        if (scene.status != bads[i].status || !told(text, bads[i].told))
            printf("\n  spec:\n%s  status %d, expected %d\n  told: %s\n  expected: %s\n",
                   bads[i].spec, (int)scene.status, (int)bads[i].status, text, bads[i].told);
        CU_ASSERT_EQUAL(scene.status, bads[i].status);
        CU_ASSERT_TRUE(told(text, bads[i].told));
        if (bads[i].status != JR_STATUS_OK) {
            CU_ASSERT_EQUAL(scene.resolution.provenance_count, 0);
            CU_ASSERT_EQUAL(scene.resolution.lease_fd, -1);
        }
    }
}

/* What is resolved: FIELD=VALUE, separated by blanks. */
struct good {
    const char *spec;
    struct facts facts;
    const char *values;
    const char *told; /* warnings, as above */
};

static const struct good goods[] = {
    /* nothing is stated */
    {"", BRACED(0),
     "world_size=8 local_world_size=8 nodes=1 node_rank=0 rank_start=0 hosts=none "
     "master_addr=127.0.0.1 master_port=29500 init_method=env:// device=cpu devices=none "
     "threads=1 parallelism.model=1 parallelism.pipeline=1 parallelism.data=8 "
     "backends.default=gloo backends.model=gloo backends.pipeline=gloo backends.data=gloo",
     ""},
    {"", BRACED(.on = "1x4:H100,32c"),
     "world_size=4 device=cuda devices=0,1,2,3 backends.default=nccl threads=8", ""},
    {"", {.on = "2x8:MI300X"}, "world_size=16 nodes=2 backends.data=rccl", ""},
    {"", {.quota = 2.5}, "world_size=2 threads=1", ""},
    {"", {.quota = 0.5}, "world_size=1 threads=1", ""},
    {"world_size: 2\n", {.quota = 7.9}, "threads=3", ""},
    {"", {.on = "1x2:H100", .visible = "1", .hidden = 1}, "devices=1", ""},
    {"", BRACED(.on = "1x2:H100,4c", .visible = "", .hidden = 3),
     "device=cpu world_size=4 backends.default=gloo", ""},
    {"world_size: ???\nparallelism: {data: auto}\n", {0}, "world_size=8", ""},
    /* the mesh */
    {"parallelism: {model: 2, pipeline: 2}\n", BRACED(.on = "1x8:H100"),
     "world_size=8 parallelism.data=2", ""},
    {"parallelism: {model: 2, pipeline: 2, data: 2}\n", BRACED(.on = "4x2:H100"),
     "world_size=8 nodes=4 local_world_size=2", ""},
    {"parallelism: {data: 3}\n", {0}, "world_size=3 local_world_size=3", ""},
    {"world_size: 6\nparallelism: {model: 3}\n", {0}, "parallelism.data=2", ""},
    /* sizes */
    {"world_size: 4\n", {.on = "1x8:H100"}, "local_world_size=4", ""},
    {"world_size: 16\nlocal_world_size: 4\n", BRACED(.on = "4x8:H100"),
     "nodes=4 parallelism.data=16", ""},
    {"nodes: 1\nlocal_world_size: 3\n", {0}, "world_size=3", ""},
    {"local_world_size: [4]\n", {0}, "world_size=4 nodes=1", ""},
    {"local_world_size: [3, 2, 1]\nnode_rank: 2\nmaster_addr: a\n", BRACED(.on = "3x4:H100"),
     "world_size=6 nodes=3 rank_start=5 local_world_size=[3,2,1]", ""},
    {"local_world_size: [2, 2]\nnode_rank: 1\nmaster_addr: a\n", BRACED(.on = "2x2:H100"),
     "local_world_size=2 nodes=2 rank_start=2", ""},
    {"world_size: 9\n", {0}, "world_size=9 threads=1", "warning|JR0405|9 ranks"},
    {"world_size: 9\n", {.target = "cpus"}, "", "warning: on cpus: 9 ranks"},
    {"world_size: 9\noversubscribe: true\n", {0}, "world_size=9", ""},
    {"world_size: 9\n", {.on = "1x0"}, "world_size=9 threads=1", ""},
    {"", {.on = "1x0", .quota = 2.5}, "world_size=2 threads=1", ""},
    {"world_size: 4\noversubscribe: true\n", BRACED(.on = "1x2:H100"),
     "local_world_size=4 devices=0,1", ""},
    /* devices */
    {"device: cpu\n", {.on = "1x8:H100,4c"}, "world_size=4 devices=none", ""},
    {"devices: none\n", {.on = "1x8:H100,4c"}, "device=cpu world_size=4", ""},
    {"devices: none\n", {.broken = JR_DEVICE_CUDA}, "device=cpu", ""},
    {"device: cpu\n", {.broken = JR_DEVICE_CUDA}, "device=cpu", ""},
    {"device: cuda\n", {.on = "1x2:H100", .second = JR_DEVICE_ROCM}, "devices=0 world_size=1", ""},
    {"device: cuda\n", {.on = "1x2:H100", .broken = JR_DEVICE_NPU}, "", ""},
    {"devices: [3, 1]\n", {.on = "1x4:H100"}, "devices=3,1 world_size=2", ""},
    {"devices: all\n", {.on = "1x4:H100"}, "devices=0,1,2,3", ""},
    {"device: custom:tpu\nbackends: custom:xla\nworld_size: 2\n", BRACED(0),
     "device=custom:tpu devices=all local_world_size=2 backends.data=custom:xla", ""},
    {"device: custom:tpu\nworld_size: 2\nenv_profiles: [torch, paddle]\n", BRACED(0),
     "backends.default=xccl backends.model=xccl backends.data=xccl", ""},
    {"device: custom:tpu\nworld_size: 2\nenv_profiles: [paddle]\nbackends: custom:xla\n", BRACED(0),
     "backends.default=custom:xla", ""},
    {"device: xpu\ndevices: [4, 5]\nenv_profiles: [paddle]\n", BRACED(.real = true),
     "world_size=2 backends.default=bkcl", ""},
    /* backends */
    {"", {.backend = "mpi"}, "backends.default=mpi backends.data=mpi", ""},
    {"", {.backend = ""}, "backends.default=gloo", ""},
    {"backends: gloo\n", {.backend = "mpi"}, "backends.default=gloo", ""},
    {"backends: {default: nccl, data: gloo}\n", BRACED(.on = "1x8:H100"),
     "backends.default=nccl backends.model=nccl backends.data=gloo", ""},
    {"", {.on = "1x2:Gaudi2"}, "device=hpu backends.default=hccl", ""},
    {"", {.on = "1x2:PVC"}, "device=xpu backends.default=xccl", ""},
    {"", {.on = "1x2:MLU370"}, "device=mlu backends.default=cncl", ""},
    {"",
     {.recorded = TEST_SOURCE_DIR "/machines/mig.yaml"},
     "devices=MIG-b,MIG-a world_size=2 device=cuda",
     ""},
    /* threads */
    {"", {.omp = "3"}, "threads=3", ""},
    {"", {.omp = "4,3"}, "threads=4", ""},
    {"threads: 2\n", {.omp = "3"}, "threads=2", ""},
    {"", {.omp = ""}, "threads=1", ""},
    {"", {.omp = "0"}, "threads=1", "warning|JR0415|'0'"},
    {"", {.omp = "all"}, "threads=1", "JR0415"},
    {"world_size: 2\n", {.on = "1x0,16c", .omp = "-1"}, "", "JR0415"},
    /* nodes */
    {"local_world_size: 4\n", BRACED(.job_nodes = 2, .job_rank = 1),
     "nodes=2 world_size=8 node_rank=1 rank_start=4 hosts=gpu01,gpu02 "
     "master_addr=gpu01 master_port=29500",
     ""},
    {"nodes: 1\n", {.job_nodes = 2}, "hosts=gpu01 node_rank=0", ""},
    {"hosts: [x, y]\nnode_rank: 1\n", {.real = true}, "nodes=2 master_addr=x rank_start=8", ""},
    {"hosts: [x, y]\nrank_start: 8\n", {.real = true}, "node_rank=1 rank_start=8", ""},
    {"local_world_size: [1, 2, 1]\nmaster_addr: x\nrank_start: 3\n", BRACED(.real = true),
     "node_rank=2 rank_start=3", ""},
    {"hosts: [x, y]\nmaster_addr: \"::1\"\n", BRACED(.real = true, .node_rank = &one),
     "node_rank=1 master_addr=::1", ""},
    {"nodes: 2\nnode_rank: 0\nmaster_addr: a\n", BRACED(.real = true, .node_rank = &one),
     "node_rank=1 rank_start=8", ""},
    {"nodes: 2\nlocal_world_size: 2\n",
     {.real = true, .local = true},
     "node_rank=0 master_addr=127.0.0.1 world_size=4 threads=2 hosts=none",
     ""},
    {"hosts: [x, y]\nworld_size: 4\n", {.real = true, .local = true}, "master_addr=127.0.0.1", ""},
    {"world_size: 10\nnodes: 2\n",
     {.real = true, .local = true},
     "world_size=10",
     "JR0405|10 ranks"},
    {"", {.on = "2x8:H100"}, "node_rank=0 nodes=2 world_size=16", ""},
    {"master_port: 0\n", {0}, "master_port=29500", ""},
    {"master_port: 4000\n", {0}, "master_port=4000", ""},
    {"tee: \"7:1\"\n", {0}, "world_size=8", ""},
    {"redirects: \"2:3\"\nlocal_world_size: [3, 1]\nmaster_addr: a\n", BRACED(.on = "2x4:H100"),
     "world_size=4", ""}};

static void check_values(const struct scene *scene, const char *values)
{
    char got[256], expected[256];
    for (size_t len; *values != '\0'; values += len + (values[len] == ' ')) {
        len = strcspn(values, " ");
        size_t name = strcspn(values, "=");
        (void)snprintf(expected, sizeof expected, "%.*s", (int)len, values);
        (void)snprintf(got, sizeof got, "%.*s=%s", (int)name, values,
                       scene_value(scene, values, name));
        JR_ASSERT_TEXT(got, expected);
    }
}

TEST(resolves)
{
    for (size_t i = 0; i < sizeof goods / sizeof goods[0]; i++) {
        SCENE(scene, goods[i].spec, &goods[i].facts);
        const char *text = scene_told(&scene);
        bool quiet = goods[i].told[0] != '\0' || text[0] == '\0';
        if (scene.status != JR_STATUS_OK || !quiet || !told(text, goods[i].told))
            printf("\n  spec:\n%s  status %d\n  told: %s\n", goods[i].spec, (int)scene.status,
                   text);
        CU_ASSERT_EQUAL(scene.status, JR_STATUS_OK);
        CU_ASSERT_TRUE(quiet);
        CU_ASSERT_TRUE(told(text, goods[i].told));
        check_values(&scene, goods[i].values);
    }
}

/* The plain values that the plan reads. */
TEST(fills_the_job)
{
    struct scene SCENE_CLEANUP scene;
    const struct facts facts = {.on = "3x4:H100,16c"};
    scene_open(&scene,
               "local_world_size: [3, 2, 1]\nnode_rank: 1\nmaster_addr: a\n"
               "parallelism: {model: 2}\n",
               &facts);
    const struct jr_job *job = &scene.resolution.job;
    CU_ASSERT_EQUAL_FATAL(scene.status, JR_STATUS_OK);
    CU_ASSERT_TRUE(job->ragged);
    CU_ASSERT_EQUAL(job->local_world_sizes[1], 2);
    CU_ASSERT_EQUAL(job->rank_start, 3);
    CU_ASSERT_EQUAL(job->axis_size[JR_AXIS_MODEL], 2);
    CU_ASSERT_EQUAL(job->axis_size[JR_AXIS_DATA], 3);
    CU_ASSERT_EQUAL(job->device, JR_DEVICE_CUDA);
    CU_ASSERT_TRUE(job->devices_by_index);
    CU_ASSERT_EQUAL(job->own.devices_count, 4);
    CU_ASSERT_PTR_NULL(job->hosts[2]);
    CU_ASSERT_EQUAL(job->own.threads, 5);
    JR_ASSERT_TEXT(job->visibility_variable, "CUDA_VISIBLE_DEVICES");
    JR_ASSERT_TEXT(job->axis_backend[JR_AXIS_PIPELINE], "nccl");
    JR_ASSERT_TEXT(job->workdir, "/srv/job");
    JR_ASSERT_TEXT(job->name, "t");
    CU_ASSERT_EQUAL(strlen(job->fingerprint), 64);
}

/* UUIDs stay UUIDs unless an index stands beside them. */
TEST(keeps_uuids)
{
    static const struct {
        const char *spec, *devices;
        bool by_index;
    } rows[] = {{"devices: [GPU-b, GPU-a]\n", "GPU-b,GPU-a", false},
                {"devices: [GPU-b, 0]\n", "1,0", true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene SCENE_CLEANUP scene = {.resolution = JR_RESOLUTION_INIT};
        const struct facts facts = {.on = "1x2:H100"};
        const struct jr_resolve_options options = {0};
        scene_facts(&scene, &facts);
        scene.hw.devices[0].uuid = "GPU-a";
        scene.hw.devices[1].uuid = "GPU-b";
        scene_load(&scene, rows[i].spec);
        CU_ASSERT_EQUAL_FATAL(
            jr_resolve(&scene.resolution, scene.file, &scene.hw, &options, &scene.diags),
            JR_STATUS_OK);
        JR_ASSERT_TEXT(scene_value(&scene, "devices", 7), rows[i].devices);
        CU_ASSERT_EQUAL(scene.resolution.job.devices_by_index, rows[i].by_index);
    }
}

/* The resolver holds its sizes against each other once more, whatever the checks of the spec let
 * pass. */
TEST(trusts_no_sizes)
{
    struct scene SCENE_CLEANUP scene = {.resolution = JR_RESOLUTION_INIT};
    const struct facts facts = {.on = "2x2:H100"};
    const struct jr_resolve_options options = {0};
    const uint32_t five_ranks = 5;
    scene_facts(&scene, &facts);
    scene_load(&scene, "nodes: 2\nlocal_world_size: 2\nworld_size: 4\n");
    struct jr_spec *spec = (struct jr_spec *)jr_spec_get(scene.file);
    const uint32_t *before = spec->world_size;
    spec->world_size = (uint32_t *)&five_ranks;
    CU_ASSERT_EQUAL(jr_resolve(&scene.resolution, scene.file, &scene.hw, &options, &scene.diags),
                    INVALID);
    spec->world_size = (uint32_t *)before;
    CU_ASSERT_TRUE(told(scene_told(&scene), "JR0401|world_size 5|nodes 2"));
}

/* A device that is listed by its index and by its UUID is one device. */
TEST(knows_a_device_by_both_names)
{
    static const struct {
        const char *spec;
        enum jr_status status;
    } rows[] = {{"devices: [GPU-b, 1]\n", UNRESOLVED},
                {"devices: [GPU-b, 1]\noversubscribe: true\n", JR_STATUS_OK}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scene SCENE_CLEANUP scene = {.resolution = JR_RESOLUTION_INIT};
        const struct facts facts = {.on = "1x2:H100"};
        const struct jr_resolve_options options = {0};
        scene_facts(&scene, &facts);
        scene.hw.devices[1].uuid = "GPU-b";
        scene_load(&scene, rows[i].spec);
        CU_ASSERT_EQUAL(
            jr_resolve(&scene.resolution, scene.file, &scene.hw, &options, &scene.diags),
            rows[i].status);
        if (rows[i].status != JR_STATUS_OK)
            CU_ASSERT_TRUE(told(scene_told(&scene), "JR0419|devices[0] and devices[1] are"));
    }
}
