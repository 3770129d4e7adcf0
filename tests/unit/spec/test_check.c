/* Fields against each other, where the spec alone decides. */
#include "case.h"

TEST(divides_the_world)
{
    static const struct vector vectors[] = {
        {"world_size: 6\nparallelism: {model: 4}", "JR0310@4:22 parallelism.model"},
        {"world_size: 6\nparallelism: {pipeline: 4}", "JR0310@4:25 parallelism.pipeline"},
        {"world_size: 6\nparallelism: {model: 2, pipeline: 2}", "JR0310@4:22 parallelism.model"},
        {"nodes: 2\nlocal_world_size: 3\nparallelism: {model: 4}", "JR0310@5:22 parallelism.model"},
        {"local_world_size: [1, 2]\nparallelism: {model: 2}", "JR0310@4:22 parallelism.model"},
        {"world_size: 8\nparallelism: {data: 2, model: 2}", "JR0311@4:21 parallelism.data"},
        {"world_size: 8\nparallelism: {data: 2, model: 2, pipeline: 2}", ""},
        {"world_size: 8\nparallelism: {model: 2, pipeline: 2}", ""},
        {"parallelism: {data: 3, model: 2}", ""},
        {"nodes: 3\nparallelism: {model: 2}", ""},
    };
    CHECK_VECTORS(vectors);
}

static void check_help(const char *body, const char *message, const char *help)
{
    BODY_CASE(c, body);
    CU_ASSERT_EQUAL_FATAL(c.diags.count, 1);
    JR_ASSERT_TEXT(c.diags.items[0].message, message);
    JR_ASSERT_TEXT(c.diags.items[0].help, help);
    CU_ASSERT_PTR_NOT_NULL(c.diags.items[0].related);
}

TEST(names_the_nearest_sizes)
{
    check_help("world_size: 6\nparallelism: {model: 2, pipeline: 2}",
               "world_size 6 does not divide by model 2 x pipeline 2",
               "nearest world sizes that do: 4, 8");
    check_help("world_size: 3\nparallelism: {model: 4}", "world_size 3 does not divide by model 4",
               "the nearest world size that does: 4");
    check_help("nodes: 1\nlocal_world_size: 9\nparallelism: {pipeline: 4}",
               "nodes 1 x local_world_size 9 does not divide by pipeline 4",
               "nearest world sizes that do: 8, 12");
}

TEST(adds_up_the_nodes)
{
    static const struct vector vectors[] = {
        {"world_size: 6\nnodes: 2\nlocal_world_size: 4", "JR0312@5:19 local_world_size"},
        {"world_size: 6\nlocal_world_size: [4, 4]", "JR0312@4:19 local_world_size"},
        {"world_size: 6\nnodes: 4", "JR0312@4:8 nodes"},
        {"world_size: 6\nlocal_world_size: 4", "JR0312@4:19 local_world_size"},
        {"nodes: 2\nlocal_world_size: [1, 2, 3]", "JR0313@4:19 local_world_size"},
        {"nodes: 2\nhosts: [a]", "JR0313@4:8 hosts"},
        {"local_world_size: [1, 2]\nhosts: [a]", "JR0313@4:8 hosts"},
        {"nodes: 2\nnode_rank: 2", "JR0314@4:12 node_rank"},
        {"hosts: [a, b]\nnode_rank: 2", "JR0314@4:12 node_rank"},
        {"local_world_size: [1, 2]\nnode_rank: 2", "JR0314@4:12 node_rank"},
        {"world_size: 4\nrank_start: 4", "JR0314@4:13 rank_start"},
        {"nodes: 65536\nlocal_world_size: 65536", "JR0315@4:19 local_world_size"},
        {"local_world_size: [1048576, 1]", "JR0315@3:19 local_world_size"},
        {"parallelism: {model: 65536, pipeline: 65536}", "JR0315@3:22 parallelism.model"},
        {"parallelism: {model: 1048576, pipeline: 1048576, data: 1048576}",
         "JR0315@3:22 parallelism.model"},
        {"world_size: 6\nnodes: 2\nlocal_world_size: 3\nnode_rank: 1\n"
         "rank_start: 3\nhosts: [a, b]",
         ""},
        {"world_size: 6\nlocal_world_size: [4, 2]\nnodes: 2", ""},
        {"world_size: 6\nnodes: 3", ""},
        {"nodes: 1\nlocal_world_size: 1048576", ""},
        /* what is wrong itself is not held against others */
        {"world_size: 6x\nnodes: 4", "JR0211@3:13 world_size"},
    };
    CHECK_VECTORS(vectors);
}

TEST(knows_what_backends_drive)
{
    static const struct vector vectors[] = {
        {"device: cpu\nbackends: nccl", "JR0308@4:11 backends.default"},
        {"device: cuda\nbackends: {data: rccl}", "JR0308@4:18 backends.data"},
        {"device: npu\nbackends: {default: hccl, model: gloo}", "JR0308@4:34 backends.model"},
        {"device: rocm\nbackends: nccl", ""},
        {"device: cpu\nbackends: {default: gloo, data: mpi}", ""},
        {"device: cpu\nbackends: custom:mine", ""},
        {"device: custom:mine\nbackends: nccl", ""},
        {"device: auto\nbackends: nccl", ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(guards_the_contract_variables)
{
    static const struct vector vectors[] = {
        {"env: {RANK: 0}", "JR0207@3:7 env.RANK"},
        {"env: {MASTER_PORT: null}", "JR0207@3:7 env.MASTER_PORT"},
        {"env: {DATA_PARALLEL_MEMBERS: 1}", "JR0207@3:7 env.DATA_PARALLEL_MEMBERS"},
        {"env: {ROLE_RANK: 0}", "JR0207@3:7 env.ROLE_RANK"},
        {"env: {ROLE_RANK: 0}\nenv_profiles: [torch]", "JR0207@3:7 env.ROLE_RANK"},
        {"env: {ROLE_RANK: 0}\nenv_profiles: []", ""},
        {"env: {rank: 0, PYTHONUNBUFFERED: 0, OMP_NUM_THREADS: 2}", ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(wants_one_form)
{
    static const struct {
        const char *entry, *found;
    } vectors[] = {
        {"{command: [a], shell: a}", "JR0301@2:28 entrypoint.shell"},
        {"{args: [a]}", "JR0201@2:13 entrypoint"},
        {"{}", "JR0201@2:13 entrypoint"},
        {"{python: {script: a}}", ""},
        {"{python: {}}", "JR0201@2:22 entrypoint.python"},
        {"{python: {interpreter: py}}", "JR0201@2:22 entrypoint.python"},
        {"{python: {scrip: a}}", "JR0203@2:23 entrypoint.python.scrip"},
        {"{python: {script: a, module: b}}", "JR0301@2:34 entrypoint.python.module"},
        {"{python: {module: a}, shell: b}", "JR0301@2:14 entrypoint.python"},
        {"{python: {module: a}}\nstart_method: fork", ""},
        {"{shel: a}", "JR0203@2:14 entrypoint.shel"},
        {"{command: a}", "JR0211@2:23 entrypoint.command"},
        {"[a]\nstart_method: fork", "JR0302@3:15 start_method"},
        {"{shell: a}\nstart_method: forkserver", "JR0302@3:15 start_method"},
        {"{shell: a}\nstart_method: spawn", ""},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&text, "version: 1\nentrypoint: %s\n", vectors[i].entry);
        SPEC_CASE(c, text.data);
        JR_ASSERT_TEXT(c.found.data == NULL ? "" : c.found.data, vectors[i].found);
    }
}

TEST(knows_sources_of_results)
{
#define PATTERN "pattern: '(?<a>.)'"
    static const struct vector vectors[] = {
        {"results: {from: stdout}", "JR0303@3:17 results.from"},
        {"results: {" PATTERN "}", "JR0303@3:20 results.pattern"},
        {"results: {from: stdout, pattern: '(.)'}", "JR0303@3:34 results.pattern"},
        {"results: {from: stderr, " PATTERN ", file: a}", "JR0303@3:51 results.file"},
        {"results: {from: return}", "JR0304@3:17 results.from"},
        {"results: {from: stdout, pattern: '('}", "JR0217@3:36 results.pattern"},
        {"tee: none\nresults: {from: stdout, " PATTERN "}", "JR0309@4:17 results.from"},
        {"tee: err\nredirects: 1-3:out\nresults: {from: stdout, " PATTERN "}",
         "JR0309@5:17 results.from"},
        {"local_world_size: 4\ntee: 0-2:out\n"
         "results: {from: stdout, " PATTERN "}",
         "JR0309@5:17 results.from"},
        {"tee: 0:out\nresults: {from: stdout, " PATTERN "}", ""},
        {"local_world_size: 4\ntee: 0-2:out\nredirects: 3:all\n"
         "results: {from: stdout, " PATTERN "}",
         ""},
        {"tee: 1:out\nresults: {from: stdout, required: 1, " PATTERN "}", ""},
        {"redirects: err\nresults: {from: stdout, " PATTERN "}", ""},
        {"results: {file: 'a/%{rank}'}", ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(holds_fields_together)
{
#define FIELDS(fields) "results: {fields: {" fields "}}"
    static const struct vector vectors[] = {
        {FIELDS("a: {type: number, min: 2, max: 1}"), "JR0305@3:51 results.fields.a.max"},
        {FIELDS("a: {type: string, max: 1}"), "JR0305@3:38 results.fields.a.max"},
        {FIELDS("a: {type: number, pattern: x}"), "JR0305@3:38 results.fields.a.pattern"},
        {FIELDS("a: {type: array, enum: [1]}"), "JR0305@3:37 results.fields.a.enum"},
        {FIELDS("a: {type: integer, enum: [1, 1.5, x]}"), "JR0305@3:49 results.fields.a.enum[1]\n"
                                                          "JR0305@3:54 results.fields.a.enum[2]"},
        {FIELDS("a: {type: boolean, enum: [yes]}"), "JR0305@3:46 results.fields.a.enum[0]"},
        {FIELDS("a: {type: number, min: 1, max: 1}"), ""},
        {FIELDS("a: {type: string, enum: [1, yes, a]}"), ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(knows_names_of_fields)
{
#define TYPED "fields: {a: {type: number}, b: {type: number}}"
    static const struct vector vectors[] = {
        {"results: {" TYPED ", equal: [c]}", "JR0306@3:67 results.equal[0]"},
        {"results: {equal: [a, a]}", "JR0306@3:22 results.equal[1]"},
        {"results: {equal: [a], distinct: [a]}", "JR0306@3:34 results.distinct[0]"},
        {"results: {from: stdout, " PATTERN ", equal: [b]}", "JR0306@3:53 results.equal[0]"},
        {"results: {from: stdout, " PATTERN ", fields: {b: {type: string}}}",
         "JR0306@3:54 results.fields.b"},
        {"results: {" TYPED ", equal: [a], distinct: [b]}", ""},
        {"results: {equal: [anything]}", ""},
        {"results: {from: stdout, " PATTERN ", fields: {b: {type: string, required: false}}}", ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(keeps_ranks_within_the_world)
{
    static const struct vector vectors[] = {
        {"world_size: 4\nresults: {required: 0-4}", "JR0307@4:21 results.required"},
        {"world_size: 4\nconsole: {ranks: '0,9'}", "JR0307@4:18 console.ranks"},
        {"world_size: 4\nresults: {required: 0-3}\nconsole: {ranks: all}", ""},
        {"results: {required: 0-99}", ""},
    };
    CHECK_VECTORS(vectors);
}
