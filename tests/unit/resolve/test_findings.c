#include "base/json.h"
#include "case.h"

static void explain(struct jr_buf *out, const char *spec, const struct facts *facts, bool json)
{
    SCENE(scene, spec, facts);
    CU_ASSERT_EQUAL_FATAL(scene.status, JR_STATUS_OK);
    jr_resolution_explain(out, &scene.resolution, json);
}

/* Rows of the table: the field, then what has to stand in its row in this order, separated by
 * bars. */
struct row {
    const char *spec;
    struct facts facts;
    const char *field, *parts;
};

static char set_size[] = "world_size=4", set_threads[] = "threads=2";
static char *sets[] = {set_size, set_threads, NULL};

static const struct row rows[] = {
    {"world_size: 8\n", {0}, "world_size", "8|t.jobrun.yaml:3:13"},
    {"", BRACED(.on = "1x8:H100"), "world_size",
     "8|--on 1x8:H100: 8 |H100|on this node|nodes x local_world_size"},
    {"", {.on = "1x8:H100"}, "local_world_size", "8|H100|devices per node"},
    {"", {.on = "1x0,4c"}, "local_world_size", "4|4 usable CPUs|quota"},
    {"parallelism: {model: 2}\n", BRACED(.on = "1x8:H100"), "parallelism.data",
     "4|derived|world_size / (model 2 x pipeline 1)"},
    {"", {0}, "parallelism.model", "1|default"},
    {"", {.on = "1x8:H100"}, "backends.default", "nccl|: device cuda|unset"},
    {"", {.backend = "mpi"}, "backends.default", "mpi|environment|TORCH_"},
    {"", {.on = "1x8:H100,96c"}, "threads", "/ 8 ranks|quota none, OMP_NUM_"},
    {"", {.quota = 2.5}, "threads", "1|quota 2.5 CPUs"},
    {"", {.on = "1x8:H100"}, "threads", "1|default|CPUs is not known"},
    {"", {.on = "1x0", .quota = 2.5}, "threads", "1|2 ranks|quota 2.5 CPUs"},
    {"", {.omp = "junk"}, "threads", "OMP_NUM_THREADS unusable"},
    {"", {.job_nodes = 2}, "nodes", "2|scheduler: Slurm job 77"},
    {"", {.job_nodes = 2}, "hosts", "gpu01,gpu02|scheduler"},
    {"", {.real = true}, "nodes", "1|default|no scheduler"},
    {"", {0}, "device", "cpu|default|no accelerator"},
    {"devices: none\n", {.on = "1x2:H100,8c"}, "device", "cpu|devices is none"},
    {"", BRACED(.on = "1x2:H100,8c", .visible = "", .hidden = 3), "device",
     "cpu|CUDA_VISIBLE_DEVICES hides all of the 2 devices"},
    {"", {.on = "2x2:H100"}, "node_rank", "0|--on 2x2:H100|first node"},
    {"nodes: 2\n", {.real = true, .local = true}, "node_rank", "option|--local"},
    {"", {0}, "master_port", "29500|default|not tried"},
    {"master_port: 0\n", {.real = true}, "master_port", "leased|any free one"},
    {"world_size: 8\n", {.sets = sets}, "world_size", "4|t.jobrun.yaml:3, overridden by --set:12"},
    {"", {.sets = sets}, "threads", "2|--set:9"}};

/* Whether the parts stand in the line, in their order. */
static bool has_parts(const char *line, size_t len, const char *parts)
{
    char part[128];
    const char *at = line;
    for (size_t n; *parts != '\0'; parts += n + (parts[n] == '|')) {
        n = strcspn(parts, "|");
        (void)snprintf(part, sizeof part, "%.*s", (int)n, parts);
        at = strstr(at, part);
        if (at == NULL || at + n > line + len)
            return false;
        at += n;
    }
    return true;
}

TEST(says_where_from)
{
    char start[64];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
        explain(&out, rows[i].spec, &rows[i].facts, false);
        (void)snprintf(start, sizeof start, "\n%s ", rows[i].field);
        const char *line = out.data != NULL ? strstr(out.data, start) : NULL;
        CU_ASSERT_PTR_NOT_NULL_FATAL(line);
        line++;
        bool good = has_parts(line, strcspn(line, "\n"), rows[i].parts);
        if (!good)
            printf("\n  %.*s\n  expected: %s\n", (int)strcspn(line, "\n"), line, rows[i].parts);
        CU_ASSERT_TRUE(good);
    }
}

/* Columns start under their titles, and no line ends in blanks. */
TEST(is_aligned)
{
    const struct facts facts = {.on = "2x8:H100,96c"};
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    explain(&out, "parallelism: {model: 2}\n", &facts, false);
    const char *from = strstr(out.data, "from ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(from);
    size_t column = (size_t)(from - out.data), lines = 0;
    for (const char *line = out.data; *line != '\0'; lines++) {
        size_t len = strcspn(line, "\n");
        CU_ASSERT_TRUE_FATAL(len > column);
        CU_ASSERT_EQUAL(line[column - 1], ' ');
        CU_ASSERT_NOT_EQUAL(line[column], ' ');
        CU_ASSERT_NOT_EQUAL(line[len - 1], ' ');
        line += len + 1;
    }
    CU_ASSERT_EQUAL(lines, 21);
}

TEST(is_json_too)
{
    const struct facts facts = {.on = "1x8:H100"};
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    struct jr_error err = {0};
    explain(&out, "world_size: 8\n", &facts, true);
    json_auto_t *root = jr_json_parse(out.data, out.len, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(root, "format_version")), 1);
    json_t *fields = json_object_get(root, "fields");
    CU_ASSERT_EQUAL(json_array_size(fields), 20);
    json_t *world = json_array_get(fields, 0), *local = json_array_get(fields, 1);
    JR_ASSERT_TEXT(json_string_value(json_object_get(world, "field")), "world_size");
    JR_ASSERT_TEXT(json_string_value(json_object_get(world, "origin")), "spec");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(world, "line")), 3);
    CU_ASSERT_TRUE(json_is_null(json_object_get(world, "rule")));
    JR_ASSERT_TEXT(json_string_value(json_object_get(local, "value")), "8");
    JR_ASSERT_TEXT(json_string_value(json_object_get(local, "origin")), "derived");
    CU_ASSERT_TRUE(json_is_null(json_object_get(local, "line")));
}
