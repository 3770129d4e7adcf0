/* Mappings and lists: keys, places, what is required, what MISSING means. */
#include "case.h"

static void check_text(const char *text, const char *expected)
{
    SPEC_CASE(c, text);
    JR_ASSERT_TEXT(c.found.data == NULL ? "" : c.found.data, expected);
}

TEST(wants_what_is_required)
{
    check_text("name: a\n", "JR0201@1:1 version\nJR0201@1:1 entrypoint");
    check_text("{}\n", "JR0201@1:1 version\nJR0201@1:1 entrypoint");
    check_text("version:\nentrypoint: [a]\n", "JR0211@1:9 version");
    check_text("version: 2\nentrypoint: [a]\n", "JR0211@1:10 version");
    check_text("version: '1'\nentrypoint: [a]\n", "JR0211@1:10 version");
    check_text("version: 1\nentrypoint: {args: [a]}\n", "JR0201@2:13 entrypoint");
    check_text("[]\n", "JR0211@1:1");
    check_text("hello\n", "JR0211@1:1");
}

TEST(refuses_unknown_keys)
{
    static const struct vector vectors[] = {
        {"worldsize: 4", "JR0203@3:1 worldsize"},
        {"World_size: 4", "JR0203@3:1 World_size"},
        {"results: {feilds: {}}", "JR0203@3:11 results.feilds"},
        {"results: {fields: {a: {type: string, mni: 1}}}", "JR0203@3:38 results.fields.a.mni"},
        {"\"a\\nb\": 1", "JR0203@3:1 a\\x0ab"},
        {"nprocs: 4\nn-gpus: 2\nMASTER_IP: a",
         "JR0204@3:1 nprocs\nJR0204@4:1 n-gpus\nJR0204@5:1 MASTER_IP"},
        {"x-a: 1\nx-b: {c: [1]}\n$schema: a\nconsole: {x-note: 1}", ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(takes_what_asks_for_nothing)
{
    static const struct vector vectors[] = {
        {"bind: none\ntemplate: false", ""},
        {"timeouts: {exit: 30s}\nconsole: {collapse: false}", ""},
        {"bind: auto", ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(knows_limits_of_logs)
{
    static const struct vector vectors[] = {
        {"log_limit: 10", "JR0211@3:12 log_limit"},
        {"log_limit: 65535", "JR0211@3:12 log_limit"},
        {"log_limit: 63KiB", "JR0211@3:12 log_limit"},
        {"log_limit: 0", "JR0211@3:12 log_limit"},
        {"log_limit: -1", "JR0211@3:12 log_limit"},
        {"log_limit: 1MB", "JR0211@3:12 log_limit"},
        {"log_limit: 1.5MiB", "JR0211@3:12 log_limit"},
        {"log_limit: 099999", "JR0211@3:12 log_limit"},
        {"log_limit: 65536", ""},
        {"log_limit: 64KiB", ""},
        {"log_limit: 1MiB", ""},
        {"log_limit: \"2TiB\"", ""},
        {"log_limit: 123456789012", ""},
    };
    CHECK_VECTORS(vectors);
}

TEST(knows_missing)
{
    static const struct vector vectors[] = {
        {"log_dir: ???", "JR0206@3:10 log_dir"},
        {"log_dir: '\?\?\?'", "JR0206@3:10 log_dir"},
        {"on_failure: auto", "JR0211@3:13 on_failure"},
        {"on_failure:", "JR0211@3:12 on_failure"},
        {"results: ", "JR0211@3:9 results"},
        {"world_size: 'null'", "JR0211@3:13 world_size"},
        {"world_size: ???\nnodes: auto\nhosts: ~\ndevices: 'auto'", ""},
        {"backends: ???\nthreads:\nparallelism: {data: null}", ""},
        {"env: {A: \?\?\?x, B: ~}\nlabels: {c: ~}", "JR0102@3:10"},
        {"env:\n  A: ???\n  B: ~\nlabels: {c: ~}", ""},
    };
    CHECK_VECTORS(vectors);
    BODY_CASE(c, "world_size: ???\nbackends: auto\nhosts:\n");
    CU_ASSERT_PTR_NULL(case_spec(&c)->world_size);
    CU_ASSERT_PTR_NULL(case_spec(&c)->backends.fallback);
    CU_ASSERT_PTR_NULL(case_spec(&c)->hosts);
    CU_ASSERT_PTR_NULL(jr_doc_get(jr_spec_tree(c.file), "world_size"));
}

TEST(knows_lists_from_scalars)
{
    static const struct vector vectors[] = {
        {"hosts: a", "JR0211@3:8 hosts"},
        {"hosts: {a: b}", "JR0211@3:8 hosts"},
        {"hosts: []", "JR0211@3:8 hosts"},
        {"hosts: [[a]]", "JR0211@3:9 hosts[0]"},
        {"hosts: [a, {b: c}, 'd e']", "JR0211@3:12 hosts[1]\nJR0211@3:20 hosts[2]"},
        {"env: A=1", "JR0211@3:6 env"},
        {"env: {A: [1]}", "JR0211@3:10 env.A"},
        {"env: {'': 1}", "JR0219@3:7 env."},
        {"env: {'A=B': 1}", "JR0219@3:7 env.A=B"},
        {"local_world_size: 4,4", "JR0211@3:19 local_world_size"},
        {"local_world_size: [4, x]", "JR0211@3:23 local_world_size[1]"},
        {"backends: [gloo]", "JR0211@3:11 backends"},
        {"devices: al", "JR0211@3:10 devices"},
        {"devices: all", ""},
        {"local_world_size: 4", ""},
        {"local_world_size: [4, 4]", ""},
        {"env: {}\nenv_remove: []\nresults: {}", ""},
    };
    CHECK_VECTORS(vectors);
    check_text("version: 1\nentrypoint: ./train\n", "JR0211@2:13 entrypoint");
    check_text("version: 1\nentrypoint: [a, [b]]\n", "JR0211@2:17 entrypoint[1]");
    check_text("version: 1\nentrypoint: {command: []}\n", "JR0211@2:23 entrypoint.command");
    check_text("version: 1\nentrypoint: {shell: }\n", "JR0211@2:21 entrypoint.shell");
}

TEST(finds_all_in_one_pass)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (int i = 0; i < 1500; i++)
        jr_buf_printf(&text, "unknown_%d: 1\n", i);
    BODY_CASE(c, text.data);
    CU_ASSERT_EQUAL(c.diags.errors, 1500);
    CU_ASSERT_EQUAL(c.diags.count, 1000);
}

/* What the document's reader has complained about is not told again. */
TEST(stays_silent_about_holes)
{
    check_found("env: *none", "JR0111@3:6");
    check_found("hosts: [a, *none]", "JR0111@3:12");
}
