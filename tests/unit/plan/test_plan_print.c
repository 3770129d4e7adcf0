#include "sample.h"
#include "plan/plan_print.h"

/* The text of a sample's plan; NULL when there is no plan. */
static void print(struct jr_buf *out, struct sample *s, bool env)
{
    jr_buf_release(out);
    CU_ASSERT_EQUAL_FATAL(sample_build(s), JR_STATUS_OK);
    jr_plan_print(out, &s->plan, env, NULL);
    CU_ASSERT_FALSE(out->failed);
}

static void check(const struct jr_buf *out, const char *expected)
{
    bool there = strstr(out->data, expected) != NULL;
    if (!there)
        printf("\n    expected '%s'\n    in       '%s'\n", expected, out->data);
    CU_ASSERT_TRUE(there);
}

/* From the first character of `from` on. */
static const char *part(const struct jr_buf *out, const char *from)
{
    return strstr(out->data, from);
}

TEST(prints_the_whole_of_a_small_plan)
{
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    SAMPLE(s, 2, 2, 2);
    print(&out, &s, false);
    check(&out, "\n7     7      cpu     3        any\n\noutput    file + console\nenv       43 set "
                "by jobrun (--env shows them)\n");
    out.data[strlen(out.data) - 1] = '\0';
    *strrchr(out.data, '\n') = '\0';
    *strstr(out.data, "\n1     1") = '\0';
    JR_ASSERT_TEXT(out.data, "job       digits: 8 ranks on 1 node\n"
                             "command   ./train --epochs 5\n"
                             "workdir   /home/u/job\n"
                             "folder    /home/u/job/runs/run-1\n"
                             "master    127.0.0.1:29500\n"
                             "backends  gloo\n"
                             "\n"
                             "8 ranks = data 2 x pipeline 2 x model 2       "
                             "layout [data][pipeline][model], model fastest\n"
                             "                    model 0   model 1\n"
                             "data 0  pipeline 0  0         1\n"
                             "        pipeline 1  2         3\n"
                             "data 1  pipeline 0  4         5\n"
                             "        pipeline 1  6         7\n"
                             "groups  model 0,1 2,3 4,5 6,7   pipeline 0,2 1,3 4,6 5,7   "
                             "data 0,4 1,5 2,6 3,7      proved: each axis partitions 0-7\n"
                             "\n"
                             "rank  local  device  threads  cpus\n"
                             "0     0      cpu     3        any");
}

TEST(keeps_meshes_short)
{
    static const struct {
        uint32_t model, pipeline, data;
        const char *mesh;
    } rows[] = {
        {1, 1, 1,
         "groups  one rank, its own group on each axis      proved: each axis partitions 0-0\n"},
        {1, 1, 4, "model fastest\ngroups  data 0,1,2,3      proved: each axis partitions 0-3\n"},
        {1, 1, 4096, "groups  data 0-4095      proved: each axis partitions 0-4095\n"},
        {1, 2, 2,
         "        pipeline 0   pipeline 1\ndata 0  0            1\ndata 1  2            3\ngroups  "
         "pipeline 0,1 2,3   data 0,2 1,3      proved"},
        {16, 2, 1,
         "            model 0-15\npipeline 0  0-15\npipeline 1  16-31\ngroups  model 0-15 16-31   "
         "pipeline 0,16 1,17 2,18 3,19 .. 15,31 (16 groups)      proved: each axis partitions "
         "0-31\n"},
        {8, 1, 512,
         "data 7    56        57        58        59        60        61        62        63\n...  "
         "   503 more lines\ndata 511  4088      4089      4090      4091      4092      4093      "
         "4094      4095\ngroups  model 0-7 8-15 16-23 24-31 .. 4088-4095 (512 groups)\n        "
         "data 0-4088/8 1-4089/8 2-4090/8 3-4091/8 4-4092/8 5-4093/8 6-4094/8 7-4095/8      "
         "proved"}};
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        SAMPLE(s, rows[i].model, rows[i].pipeline, rows[i].data);
        print(&out, &s, false);
        check(&out, rows[i].mesh);
        CU_ASSERT_TRUE(out.len < 8192);
    }
}

#define LAYOUT "       layout [data][pipeline][model], model fastest\n"

/* The mesh and its groups, between blank lines. */
static void check_mesh(uint32_t model, uint32_t pipeline, uint32_t data, const char *expected)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT, mesh JR_BUF_CLEANUP = JR_BUF_INIT;
    SAMPLE(s, model, pipeline, data);
    print(&out, &s, false);
    jr_buf_printf(&mesh, "\n\n%s\n", expected);
    check(&out, mesh.data);
}

/* An axis alone needs no table. */
TEST(shows_one_axis_by_its_groups)
{
    check_mesh(1, 1, 1,
               "1 rank = data 1 x pipeline 1 x model 1" LAYOUT
               "groups  one rank, its own group on each axis      proved: each "
               "axis partitions 0-0\n");
    check_mesh(1, 1, 4,
               "4 ranks = data 4 x pipeline 1 x model 1" LAYOUT
               "groups  data 0,1,2,3      proved: each axis partitions 0-3\n");
    check_mesh(4, 1, 1,
               "4 ranks = data 1 x pipeline 1 x model 4" LAYOUT
               "groups  model 0,1,2,3      proved: each axis partitions 0-3\n");
    check_mesh(1, 5, 1,
               "5 ranks = data 1 x pipeline 5 x model 1" LAYOUT
               "groups  pipeline 0-4      proved: each axis partitions 0-4\n");
}

TEST(shows_a_line_along_the_fastest_axis)
{
    check_mesh(
        2, 1, 3,
        "6 ranks = data 3 x pipeline 1 x model 2" LAYOUT
        "        model 0   model 1\ndata 0  0         1\ndata 1  2         3\ndata 2  4         "
        "5\ngroups  model 0,1 2,3 4,5   data 0,2,4 1,3,5      proved: each axis partitions 0-5\n");
    check_mesh(2, 2, 2,
               "8 ranks = data 2 x pipeline 2 x model 2" LAYOUT
               "                    model 0   model 1\n"
               "data 0  pipeline 0  0         1\n"
               "        pipeline 1  2         3\n"
               "data 1  pipeline 0  4         5\n"
               "        pipeline 1  6         7\n"
               "groups  model 0,1 2,3 4,5 6,7   pipeline 0,2 1,3 4,6 5,7   "
               "data 0,4 1,5 2,6 3,7      proved: each axis partitions 0-7\n");
    check_mesh(1, 2, 2,
               "4 ranks = data 2 x pipeline 2 x model 1" LAYOUT "        pipeline 0   pipeline 1\n"
               "data 0  0            1\n"
               "data 1  2            3\n"
               "groups  pipeline 0,1 2,3   data 0,2 1,3      proved: each axis partitions 0-3\n");
    check_mesh(8, 1, 2,
               "16 ranks = data 2 x pipeline 1 x model 8" LAYOUT
               "        model 0   model 1   model 2   model 3   model 4   model 5   model 6   "
               "model 7\ndata 0  0         1         2         3         4         5         6     "
               "    7\ndata 1  8         9         10        11        12        13        14      "
               "  15\ngroups  model 0-7 8-15   data 0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15      "
               "proved: each axis partitions 0-15\n");
    check_mesh(9, 1, 2,
               "18 ranks = data 2 x pipeline 1 x model 9" LAYOUT
               "        model 0-8\ndata 0  0-8\ndata 1  9-17\ngroups  model 0-8 9-17   data 0,9 "
               "1,10 2,11 3,12 .. 8,17 (9 groups)      proved: each axis partitions 0-17\n");
}

/* A mesh of model 2: the first ranks line by line, and the last one where the others are cut. */
static void check_pairs(uint32_t data, const char *groups)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    int width = data > 10 ? 2 : 1;
    uint32_t shown = data > 16 ? 8 : data;
    jr_buf_printf(&text,
                  "%u ranks = data %u x pipeline 1 x model 2" LAYOUT "%*smodel 0   model 1\n",
                  2 * data, data, width + 7, "");
    for (uint32_t i = 0; i < data; i = i + 1 == shown && shown < data ? data - 1 : i + 1) {
        if (i >= shown)
            jr_buf_printf(&text, "...%*s%u more lines\n", width + 3, "", data - 1 - shown);
        jr_buf_printf(&text, "data %-*u  %-10u%u\n", width, i, 2 * i, 2 * i + 1);
    }
    jr_buf_printf(&text,
                  "groups  model 0,1 2,3 4,5 6,7 .. %u,%u (%u groups)   data %s      proved: each "
                  "axis partitions 0-%u\n",
                  2 * data - 2, 2 * data - 1, data, groups, 2 * data - 1);
    check_mesh(2, 1, data, text.data);
}

TEST(cuts_long_meshes)
{
    check_pairs(10, "0-18/2 1-19/2");
    check_pairs(11, "0-20/2 1-21/2");
    check_pairs(16, "0-30/2 1-31/2");
    check_pairs(17, "0-32/2 1-33/2");
    check_mesh(4, 8, 4,
               "128 ranks = data 4 x pipeline 8 x model 4" LAYOUT
               "                    model 0   model 1   model 2   model 3\n"
               "data 0  pipeline 0  0         1         2         3\n"
               "        pipeline 1  4         5         6         7\n"
               "        pipeline 2  8         9         10        11\n"
               "        pipeline 3  12        13        14        15\n"
               "        pipeline 4  16        17        18        19\n"
               "        pipeline 5  20        21        22        23\n"
               "        pipeline 6  24        25        26        27\n"
               "        pipeline 7  28        29        30        31\n"
               "...     23 more lines\n"
               "data 3  pipeline 7  124       125       126       127\n"
               "groups  model 0,1,2,3 4,5,6,7 8,9,10,11 12,13,14,15 .. "
               "124,125,126,127 (32 groups)\n"
               "        pipeline 0-28/4 1-29/4 2-30/4 3-31/4 .. 99-127/4 (16 groups)\n"
               "        data 0,32,64,96 1,33,65,97 2,34,66,98 3,35,67,99 .. "
               "31,63,95,127 (32 groups)      proved: each axis partitions 0-127\n");
}

TEST(tells_where_streams_go)
{
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    struct jr_stream_rule redirect = {TEXT("0"), JR_STREAM_OUT};
    struct jr_stream_rule tee = {TEXT("1-2"), JR_STREAM_ALL};
    SAMPLE(s, 1, 1, 3);
    s.job.redirects = &redirect;
    s.job.redirects_count = 1;
    s.job.tee = &tee;
    s.job.tee_count = 1;
    s.job.tee_stated = true;
    s.policy.console.ranks = TEXT("0-1");
    print(&out, &s, false);
    check(&out, "\n0     0      cpu     3        file             inherited        any\n");
    check(&out, "\n1     1      cpu     3        file + console   file + console   any\n");
    check(&out, "\n2     2      cpu     3        file, not shown  file, not shown  any\n");
}

TEST(tells_nodes_and_devices)
{
    char *devices[] = {TEXT("0"), TEXT("GPU-5a3b")};
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    SAMPLE(s, 1, 1, 4);
    sample_nodes(&s, 2);
    s.hosts[0] = TEXT("gpu07");
    s.job.node_rank = 1;
    s.job.rank_start = 2;
    s.job.device_name = "cuda";
    s.job.own.device_model = "H100";
    s.job.own.devices = devices;
    s.job.own.devices_count = 2;
    s.job.master_addr = "fe80::1";
    s.job.axis_backend[JR_AXIS_DATA] = "nccl";
    print(&out, &s, false);
    check(&out, "job       digits: 4 ranks on 2 nodes\nhere      node 1: ranks 2-3\n");
    check(&out, "\nmaster    [fe80::1]:29500\nbackends  gloo, data nccl\n");
    check(&out, "\nrank  node     local  device           threads  cpus\n");
    check(&out, "\n0     0 gpu07  0      GPU 0 (H100)     3        any\n");
    check(&out, "\n3     1        1      GPU-5a3b (H100)  3        any\n");
    s.job.device_name = "custom:tpu";
    print(&out, &s, false);
    check(&out, "  custom:tpu 0 (H100)  3        any\n");
}

TEST(tells_spares)
{
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    SAMPLE(s, 1, 1, 4);
    sample_nodes(&s, 2);
    s.job.spare_nodes = 2;
    s.hosts[3] = TEXT("gpu08");
    print(&out, &s, false);
    check(&out, "job       digits: 4 ranks on 2 nodes, and 2 spares\nhere      node 0: ranks "
                "0-1\nspares    node 2, gpu08: they take the place of a node that is lost\n");
    s.job.spare_nodes = 1;
    print(&out, &s, false);
    check(&out, " on 2 nodes, and 1 spare\n");
    check(&out, "spares    node 2: it takes the place of a node that is lost\n");
}

/* Two nodes that have told their own, of which the second has fewer. */
TEST(tells_what_each_node_has)
{
    char *near[] = {TEXT("0"), TEXT("1")}, *far[] = {TEXT("GPU-7f")};
    char *near_cpus[] = {TEXT("0-3"), TEXT("4-7")}, *far_cpus[] = {TEXT("9")};
    uint32_t sizes[] = {2, 1};
    struct jr_node_resources resources[] = {{near, 2, "H100", near_cpus, 2, 8, NULL},
                                            {far, 1, "A100", far_cpus, 1, 1, NULL}};
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    SAMPLE(s, 1, 1, 3);
    sample_nodes(&s, 2);
    s.job.local_world_sizes = sizes;
    s.job.device = JR_DEVICE_CUDA;
    s.job.device_name = "cuda";
    s.job.visibility_variable = "CUDA_VISIBLE_DEVICES";
    s.job.resources = resources;
    print(&out, &s, true);
    check(&out, "  GPU 0 (H100)   8        0-3\n");
    check(&out, "  GPU 1 (H100)   8        4-7\n");
    check(&out, "  GPU-7f (A100)  1        9\n");
    check(&out, "\n  OMP_NUM_THREADS=8\n");
    check(&out, "\n  CUDA_VISIBLE_DEVICES=0,1\n");
    check(&out, "\n  OMP_NUM_THREADS=1\n");
    check(&out, "\n  CUDA_VISIBLE_DEVICES=GPU-7f\n");
    s.job.device_visibility = JR_VISIBLE_ONE;
    print(&out, &s, true);
    check(&out, "\n  CUDA_VISIBLE_DEVICES=0\n");
    check(&out, "\n  CUDA_VISIBLE_DEVICES=1\n");
    check(&out, "\n  CUDA_VISIBLE_DEVICES=GPU-7f\n");
}

/* Runs of like ranks, at most 64 of them. */
TEST(folds_a_large_world)
{
    char *devices[] = {TEXT("0"), TEXT("1"), TEXT("2"), TEXT("3")};
    struct jr_stream_rule even = {TEXT("0-998/2"), JR_STREAM_ALL};
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    SAMPLE(s, 1, 1, 1000);
    sample_nodes(&s, 2);
    s.job.device_name = "cuda";
    s.job.own.devices = devices;
    s.job.own.devices_count = 4;
    print(&out, &s, false);
    check(&out, "\n0-499    0     0-499  GPU 0 .. 3  3        any\n");
    check(&out, "\n500-999  1     0-499  GPU 0 .. 3  3        any\n");
    sample_nodes(&s, 1);
    s.job.redirects = &even;
    s.job.redirects_count = 1;
    print(&out, &s, false);
    check(&out, "\n63    63     GPU 3");
    CU_ASSERT_PTR_NULL(part(&out, "\n64    64"));
    check(&out, "\n...   ranks 64-999: --format json has them\n");
}

TEST(shows_the_environment)
{
    char *outer[] = {TEXT("HOME=/home/u"), NULL};
    struct jr_env_entry env[] = {{.name = TEXT("API_TOKEN"), .value = TEXT("s3cret")},
                                 {.name = TEXT("LINES"), .value = TEXT("a\nb\x1b[2J")}};
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    SAMPLE(s, 1, 1, 2);
    s.options.environ = outer;
    s.job.env = env;
    s.job.env_count = 2;
    print(&out, &s, false);
    check(&out, "\nenv       45 set by jobrun (--env shows them)\n");
    CU_ASSERT_PTR_NULL(part(&out, "WORLD_SIZE"));
    print(&out, &s, true);
    check(&out, "\nenvironment of every rank\n  WORLD_SIZE=2\n");
    check(&out, "\n  API_TOKEN=<redacted>\n");
    check(&out, "\n  LINES=a\\x0ab\\x1b[2J\n");
    check(&out, "\nenvironment of rank 1\n  RANK=1\n  LOCAL_RANK=1\n");
    CU_ASSERT_PTR_NULL(part(&out, "s3cret"));
    CU_ASSERT_PTR_NULL(part(&out, "HOME"));
    CU_ASSERT_PTR_NULL(part(&out, "(--env"));
}

TEST(quotes_the_command)
{
    static const struct {
        char text[32];
        const char *quoted;
    } rows[] = {{"", "''"},
                {"a b", "'a b'"},
                {"it's", "'it'\\''s'"},
                {"$HOME;", "'$HOME;'"},
                {"x\ny", "'x ...'"},
                {"it's\ny's", "'it'\\''s ...'"},
                {"x\ty", "'x\\x09y'"},
                {"--lr=0.1", "--lr=0.1"}};
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[32], line[64];
        SAMPLE(s, 1, 1, 2);
        memcpy(text, rows[i].text, sizeof text);
        s.argv[2] = text;
        print(&out, &s, false);
        (void)snprintf(line, sizeof line, "\ncommand   ./train --epochs %s\n", rows[i].quoted);
        check(&out, line);
        s.argv[2] = TEXT("%{rank}");
        print(&out, &s, false);
        check(&out, "\ncommand   ./train --epochs 0   (rank 0)\n");
    }
}

/* Text of a spec neither begins a line nor reaches the terminal raw. */
TEST(lets_no_text_forge_a_line)
{
    static const char evil[] = "x\njobrun: ok\x1b[2J";
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    SAMPLE(s, 1, 1, 1);
    s.job.name = s.job.workdir = s.job.log_dir = s.job.master_addr = evil;
    s.job.backend = s.job.device_name = s.job.own.device_model = evil;
    s.job.axis_backend[0] = "y\njobrun: ok\x1b[2J";
    s.job.own.devices = (char *[]){TEXT("x\njobrun: ok\x1b[2J")};
    s.job.own.devices_count = 1;
    s.argv[0] = TEXT("x\njobrun: ok\x1b[2J");
    print(&out, &s, true);
    CU_ASSERT_PTR_NULL(part(&out, "\njobrun: ok"));
    CU_ASSERT_PTR_NULL(strchr(out.data, '\x1b'));
}
