/* Scalars of each kind: what is taken and what is not. */
#include "case.h"

TEST(takes_plain_integers_only)
{
    static const struct vector vectors[] = {
        {"nodes: \"4\"", "JR0211@3:8 nodes"},
        {"nodes: '4'", "JR0211@3:8 nodes"},
        {"nodes: |\n  4\n", "JR0211@3:8 nodes"},
        {"nodes: 4x", "JR0211@3:8 nodes"},
        {"nodes: 04", "JR0211@3:8 nodes"},
        {"nodes: 0x4", "JR0211@3:8 nodes"},
        {"nodes: 0o4", "JR0211@3:8 nodes"},
        {"nodes: 1_000", "JR0211@3:8 nodes"},
        {"nodes: 4.0", "JR0211@3:8 nodes"},
        {"nodes: 1e2", "JR0211@3:8 nodes"},
        {"nodes: +4", "JR0211@3:8 nodes"},
        {"nodes: -4", "JR0211@3:8 nodes"},
        {"nodes: 0", "JR0211@3:8 nodes"},
        {"nodes: 1048577", "JR0211@3:8 nodes"},
        {"nodes: 18446744073709551616", "JR0211@3:8 nodes"},
        {"nodes: true", "JR0211@3:8 nodes"},
        {"nodes: [4]", "JR0211@3:8 nodes"},
        {"nodes: {a: 4}", "JR0211@3:8 nodes"},
        {"master_port: 65536", "JR0211@3:14 master_port"},
        {"nodes: 1048576", ""},
        {"node_rank: 0", ""},
        {"master_port: 65535", ""},
    };
    CHECK_VECTORS(vectors);
}

/* The fix that a finding offers, or NULL. */
static void check_fix(const char *body, const char *expected)
{
    BODY_CASE(c, body);
    CU_ASSERT_EQUAL_FATAL(c.diags.count, 1);
    const struct jr_fix *fix = c.diags.items[0].fix;
    if (expected == NULL)
        CU_ASSERT_PTR_NULL(fix)
    else
        JR_ASSERT_TEXT(fix == NULL ? NULL : fix->text, expected);
}

TEST(fixes_what_is_sure)
{
    static const struct vector vectors[] = {
        {"nodes: '4'", "4"},
        {"nodes: 1_000", "1000"},
        {"nodes: 1e2", "100"},
        {"nodes: 4.0", "4"},
        {"nodes: +4", "4"},
        {"nodes: 010", NULL},
        {"nodes: 0x10", NULL},
        {"nodes: 4x", NULL},
        {"nodes: 3.7", NULL},
        {"nodes: -1", NULL},
        {"nodes: 1e300", NULL},
        {"oversubscribe: yes", "true"},
        {"oversubscribe: Off", "false"},
        {"oversubscribe: 'false'", "false"},
        {"oversubscribe: maybe", NULL},
        {"results: {fields: {a: {type: number, min: '1'}}}", "1"},
        {"results: {fields: {a: {type: float}}}", "number"},
        {"start_method: Spawn", "spawn"},
        {"device: gpu", NULL}, /* rocm has them too */
        {"device: nvidia", "cuda"},
        {"device: toaster", NULL},
        {"redirects: stderr", "err"},
        {"redirects: {0:3}", "0: 3"},
        {"wrold_size: 4", "world_size"},
        {"console: {prefxi: x}", "prefix"},
        {"nprocs: 4", "world_size"},
        {"nproc-per-node: 4", "local_world_size"},
        {"gpus: 4", NULL}, /* which, or how many */
        {"tp: 2", NULL},   /* within another field */
        {"backend: nccl", "backends"},
        {"redirects: ALL", "all"},
        {"redirects: Std.ALL", "all"},
        {"redirects: {0: Std.OUT}", "out"},
        {"redirects: 0:3,1-3:Std.ERR", "err"},
        {"backends: NCCL", "nccl"},
        {"parallelism: {tp: 2}", "model"},
        {"parallelism: {nprocs: 2}", NULL},
        {"timeouts: {grace_period: 2s}", "stop_grace"},
        {"hosts: gpu01", "[gpu01]"},
        {"env_remove: PYTHONPATH", "[PYTHONPATH]"},
        {"env_remove: 'NCCL_*'", NULL},
        {"env_remove: A, B", "[A, B]"},
        {"workdir: 'a/%{node-rank}'", "%{node_rank}"},
        {"workdir: 'a/%{rnk}'", "%{rank}"},
        {"workdir: 'a/%{toast}'", NULL},
        {"workdir: \"\\x61/%{rnk}\"", NULL},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        check_fix(vectors[i].body, vectors[i].found);
}

/* What looks sure but would change more, or something else, or may be meant otherwise. */
TEST(fixes_nothing_that_may_be_otherwise)
{
    static const char *const bodies[] = {
        "nodes: 70000_00_00_000",              /* out of range */
        "nodes: \"\\x34\"",                    /* escaped */
        "nodes: |\n  4\n",                     /* a block */
        "nodes: !!str 4",                      /* the tag is wrong */
        "nodes: &n '4'",                       /* who else reads it? */
        "x-n: &n '4'\nnodes: *n",              /* the same */
        "x-n: &n {modle: 2}\nparallelism: *n", /* the same */
        "backends: ncl",                       /* nccl, cncl */
        "redirects:\n  ? 0:3",                 /* a blank makes another key */
        "redirects: {0:x}",
        "redirects: {x:3}",
        "world_size: 4\nnprocs: 4", /* there is one */
        "world_size: 4\nwrold_size: 4",
        "console: {rank: -1}",
        "redirects: \"0:\\x41LL\"",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        check_fix(bodies[i], NULL);
}

/* Two keys that may both be the same field: none is it for sure. */
TEST(fixes_no_key_with_a_rival)
{
    static const char *const bodies[] = {
        "wrold_size: 4\nwold_size: 4",
        "nprocs: 4\nnp: 4",
        "nprocs: 4\nwrold_size: 4",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        BODY_CASE(c, bodies[i]);
        CU_ASSERT_EQUAL_FATAL(c.diags.count, 2);
        CU_ASSERT_PTR_NULL(c.diags.items[0].fix);
        CU_ASSERT_PTR_NULL(c.diags.items[1].fix);
    }
}

TEST(takes_core_booleans_only)
{
    static const struct vector vectors[] = {
        {"oversubscribe: yes", "JR0211@3:16 oversubscribe"},
        {"oversubscribe: on", "JR0211@3:16 oversubscribe"},
        {"oversubscribe: 1", "JR0211@3:16 oversubscribe"},
        {"oversubscribe: 'true'", "JR0211@3:16 oversubscribe"},
        {"oversubscribe: tRUE", "JR0211@3:16 oversubscribe"},
        {"oversubscribe:", "JR0211@3:15 oversubscribe"},
        {"oversubscribe: true", ""},
        {"oversubscribe: FALSE", ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(takes_numbers)
{
#define BOUND(value) "results: {fields: {a: {type: number, min: " value "}}}"
#define REFUSED      "JR0211@3:43 results.fields.a.min"
    static const struct vector vectors[] = {
        {BOUND("x"), REFUSED},    {BOUND("'1'"), REFUSED},   {BOUND(".inf"), REFUSED},
        {BOUND(".nan"), REFUSED}, {BOUND("1e999"), REFUSED}, {BOUND("0x1"), REFUSED},
        {BOUND("0.9x"), REFUSED}, {BOUND("[1]"), REFUSED},   {BOUND("0.9"), ""},
        {BOUND("-1"), ""},        {BOUND("1e-3"), ""},       {BOUND(".5"), ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(takes_durations_and_ranks)
{
    static const struct vector vectors[] = {
        {"timeouts: {run: 30}", "JR0211@3:17 timeouts.run"},
        {"timeouts: {run: 1m1h}", "JR0211@3:17 timeouts.run"},
        {"timeouts: {run: -1s}", "JR0211@3:17 timeouts.run"},
        {"timeouts: {run: none}", "JR0211@3:17 timeouts.run"},
        {"timeouts: {run: '30s'}", ""},
        {"timeouts: {run: 0}", ""},
        {"timeouts: {run: 1d2h3m4s5ms}", ""},
        {"results: {required: 0-}", "JR0211@3:21 results.required"},
        {"results: {required: '0,1,x'}", "JR0211@3:26 results.required"},
        {"results: {required: '0-3,2'}", "JR0211@3:26 results.required"},
        {"results: {required: ''}", "JR0211@3:21 results.required"},
        {"results: {required: 0}", ""},
        {"results: {required: '0-3,8,10-14/2'}", ""},
        {"results: {required: none}", ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(holds_texts_to_their_pattern)
{
    static const struct vector vectors[] = {
        {"name: -a", "JR0211@3:7 name"},
        {"name: a b", "JR0211@3:7 name"},
        {"name: ''", "JR0211@3:7 name"},
        {"name: \"a\\n\"", "JR0211@3:7 name"},
        {"name: a123456789b123456789c123456789d123456789e123456789f1234567890123",
         "JR0211@3:7 name"},
        {"name: ../../etc", "JR0211@3:7 name"},
        {"name: 2", ""},
        {"name: true", ""},
        {"name: a123456789b123456789c123456789d123456789e123456789f123456789012", ""},
        {"hosts: [a b]", "JR0211@3:9 hosts[0]"},
        {"hosts: ['', b]", "JR0211@3:9 hosts[0]"},
        {"hosts: [gpu01, 10.0.0.1, 'fe80::1%eth0']", ""},
        {"init_method: tcp://a", "JR0211@3:14 init_method"},
        {"init_method: file:/a", "JR0211@3:14 init_method"},
        {"init_method: env:/", "JR0211@3:14 init_method"},
        {"init_method: file:///a/b", ""},
        {"init_method: 'tcp://[::1]:80'", ""},
        {"devices: [-1]", "JR0211@3:11 devices[0]"},
        {"devices: [MIG-1/2/3, 0]", ""},
        {"workdir: ~", "JR0211@3:10 workdir"},
        {"workdir: ~/a", "JR0211@3:10 workdir"},
        {"workdir: ''", "JR0211@3:10 workdir"},
        {"workdir: a/%{rank}", ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(compiles_patterns)
{
    static const struct vector vectors[] = {
        {"results: {from: stdout, pattern: '(?<a>[)'}", "JR0217@3:42 results.pattern"},
        {"results: {from: stdout, pattern: 'é(?<a>\\C)'}", "JR0217@3:43 results.pattern"},
        {"results: {fields: {a: {type: string, pattern: '*'}}}",
         "JR0217@3:48 results.fields.a.pattern"},
        {"results: {fields: {a: {type: string, pattern: '^a+$'}}}", ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(reads_templates)
{
    static const struct vector vectors[] = {
        {"env: {A: '%{rnk}'}", "JR0214@3:11 env.A"},
        {"env: {A: 'é %{rnk}'}", "JR0214@3:13 env.A"},
        {"env: {A: '%{rank'}", "JR0214@3:11 env.A"},
        {"env: {A: '%{ rank}'}", "JR0214@3:11 env.A"},
        {"env: {A: '%{model_size}'}", "JR0214@3:11 env.A"},
        {"env: {A: '%{a}%{b}'}", "JR0214@3:11 env.A\nJR0214@3:15 env.A"},
        {"env: {A: \"\\t%{b}\"}", "JR0214@3:10 env.A"},
        {"env:\n  A: |\n    one\n\n     two %{b}\n", "JR0214@7:10 env.A"},
        {"env:\n  A: >\n    one %{b}\n", "JR0214@4:6 env.A"},
        {"env: {A: '%%{rnk} %%%{rank} % {x} 100% %{rank}%{node_rank}'}", ""},
        {"results: {file: '%{run_dir}/%{attempt}/%{device}'}", ""},
        {"console: {prefix: '%{no}'}", "JR0214@3:20 console.prefix"},
        /* these are no templates */
        {"log_dir: 'a/%{x}'", ""},
        {"description: '%{x}'", ""},
    };
    CHECK_VECTORS(vectors);
}

/* Whose dollars are whose. */
TEST(leaves_dollars_alone)
{
    static const struct vector vectors[] = {
        {"description: $HOME $(id) {} $", ""},
        {"x-note: ${anything}", ""},
        {"labels: {x-own: 1, $schema: a}", ""},
    };
    CHECK_VECTORS(vectors);
    SPEC_CASE(c, "version: 1\nentrypoint: {shell: 'echo ${A:-1} $${B}'}");
    CU_ASSERT_EQUAL(c.diags.count, 0);
    JR_ASSERT_TEXT(case_spec(&c)->entrypoint.argv[0], "echo ${A:-1} $${B}");
}
