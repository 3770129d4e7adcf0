/* The struct that a spec is bound to. */
#include "case.h"

static const char full[] = "version: 1\n"
                           "name: everything\n"
                           "description: \"tab\\t, no, \\u00e9 \\\\ # x\"\n"
                           "labels: {team: vision, n: 3}\n"
                           "entrypoint: {command: [./train, 5, yes, ''], args: [010, null]}\n"
                           "workdir: work\n"
                           "env:\n"
                           "  LR: 0.10\n"
                           "  GONE: null\n"
                           "  OUTSIDE: ???\n"
                           "  EMPTY: ''\n"
                           "  NULLISH: 'null'\n"
                           "  LINES: \"a\\n\\n b\\n\"\n"
                           "env_remove: [A, B*]\n"
                           "env_profiles: []\n"
                           "secrets: [X]\n"
                           "world_size: 8\n"
                           "local_world_size: [4, 4]\n"
                           "nodes: 2\n"
                           "node_rank: 1\n"
                           "rank_start: 4\n"
                           "hosts: [a, b]\n"
                           "master_addr: '::1'\n"
                           "master_port: 0\n"
                           "init_method: tcp://a:1\n"
                           "device: custom:tpu\n"
                           "devices: [0, GPU-1]\n"
                           "device_visibility: one\n"
                           "oversubscribe: true\n"
                           "threads: 3\n"
                           "parallelism: {model: 2, pipeline: 2, data: 2}\n"
                           "backends: {default: gloo, data: custom:b}\n"
                           "log_dir: /var/../tmp/logs\n"
                           "log_mode: umask\n"
                           "console: {prefix: '', ranks: '3,1', timestamps: true, partial: 2s}\n"
                           "timeouts: {run: 1h30m, stop_grace: 0}\n"
                           "isolation: pid\n"
                           "signals: {USR1: stop, RTMIN+2: ignore}\n"
                           "limits: {nofile: 10, core: unlimited, stack: 8MiB}\n"
                           "stop_target: group\n"
                           "on_failure: continue\n"
                           "exit_status: rank\n";

TEST(binds_every_field)
{
    SPEC_CASE(c, full);
    const struct jr_spec *spec = case_spec(&c);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    JR_ASSERT_TEXT(spec->name, "everything");
    JR_ASSERT_TEXT(spec->description, "tab\t, no, \xc3\xa9 \\ # x");
    JR_ASSERT_TEXT(spec->workdir, "/jobs/work");
    CU_ASSERT_EQUAL(spec->env_remove_count, 2);
    JR_ASSERT_TEXT(spec->env_remove[1], "B*");
    CU_ASSERT_EQUAL(spec->env_profiles_count, 0);
    CU_ASSERT_EQUAL(spec->secrets_count, 1);
    CU_ASSERT_EQUAL(*spec->world_size, 8);
    CU_ASSERT_EQUAL(spec->local_world_size_count, 2);
    CU_ASSERT_EQUAL(spec->local_world_size[1], 4);
    CU_ASSERT_EQUAL(*spec->nodes, 2);
    CU_ASSERT_EQUAL(*spec->node_rank, 1);
    CU_ASSERT_EQUAL(*spec->rank_start, 4);
    CU_ASSERT_EQUAL(spec->hosts_count, 2);
    JR_ASSERT_TEXT(spec->master_addr, "::1");
    CU_ASSERT_EQUAL(*spec->master_port, 0);
    JR_ASSERT_TEXT(spec->init_method, "tcp://a:1");
    JR_ASSERT_TEXT(spec->device, "custom:tpu");
    CU_ASSERT_EQUAL(spec->devices_count, 2);
    JR_ASSERT_TEXT(spec->devices[0], "0");
    CU_ASSERT_EQUAL(spec->device_visibility, JR_VISIBLE_ONE);
    CU_ASSERT_TRUE(spec->oversubscribe);
    CU_ASSERT_EQUAL(*spec->threads, 3);
    CU_ASSERT_EQUAL(*spec->parallelism.model, 2);
    CU_ASSERT_EQUAL(*spec->parallelism.pipeline, 2);
    CU_ASSERT_EQUAL(*spec->parallelism.data, 2);
    JR_ASSERT_TEXT(spec->backends.fallback, "gloo");
    JR_ASSERT_TEXT(spec->backends.data, "custom:b");
    CU_ASSERT_PTR_NULL(spec->backends.model);
    JR_ASSERT_TEXT(spec->log_dir, "/tmp/logs");
}

TEST(binds_policies)
{
    SPEC_CASE(c, full);
    CU_ASSERT_PTR_NOT_NULL_FATAL(case_spec(&c));
    const struct jr_policy *policy = &case_spec(&c)->policy;
    CU_ASSERT_EQUAL(policy->log_mode, JR_LOG_UMASK);
    CU_ASSERT_EQUAL(policy->isolation, JR_ISOLATION_PID);
    CU_ASSERT_EQUAL_FATAL(policy->signals_count, 2);
    JR_ASSERT_TEXT(policy->signals[1].name, "RTMIN+2");
    CU_ASSERT_EQUAL(policy->signals[1].use, JR_ON_SIGNAL_IGNORE);
    JR_ASSERT_TEXT(policy->limits.nofile, "10");
    JR_ASSERT_TEXT(policy->limits.stack, "8MiB");
    CU_ASSERT_PTR_NULL(policy->limits.as);
    JR_ASSERT_TEXT(policy->console.prefix, "");
    JR_ASSERT_TEXT(policy->console.ranks, "1,3");
    CU_ASSERT_TRUE(policy->console.timestamps);
    CU_ASSERT_EQUAL(policy->console.partial_ms, 2000);
    CU_ASSERT_EQUAL(policy->timeouts.run_ms, 5400000);
    CU_ASSERT_EQUAL(policy->timeouts.stop_grace_ms, 0);
    CU_ASSERT_EQUAL(policy->stop_target, JR_STOP_GROUP);
    CU_ASSERT_EQUAL(policy->on_failure, JR_ON_FAILURE_CONTINUE);
    CU_ASSERT_EQUAL(policy->exit_status, JR_EXIT_STATUS_RANK);
    CU_ASSERT_FALSE(policy->results.stated);
}

static void check_argv(const struct jr_entrypoint *entry, enum jr_form form,
                       const char *const *expected)
{
    CU_ASSERT_EQUAL(entry->form, form);
    uint32_t count = 0;
    for (; expected[count] != NULL && count < entry->argv_count; count++)
        JR_ASSERT_TEXT(entry->argv[count], expected[count]);
    CU_ASSERT_EQUAL(count, entry->argv_count);
    CU_ASSERT_PTR_NULL(expected[count]);
}

TEST(binds_entrypoints)
{
    static const char *const command[] = {"./train", "5", "yes", "", "010", "null", NULL};
    static const char *const list[] = {"a", "b c", NULL};
    static const char *const shell[] = {"a | b\nc ${D}\n", "x", NULL};
    struct spec_case c;
    case_open(&c, full);
    check_argv(&case_spec(&c)->entrypoint, JR_FORM_COMMAND, command);
    case_close(&c);
    case_open(&c, "version: 1\nentrypoint: [a, 'b c']\n");
    check_argv(&case_spec(&c)->entrypoint, JR_FORM_COMMAND, list);
    CU_ASSERT_EQUAL(case_spec(&c)->policy.stop_target, JR_STOP_LEADER);
    case_close(&c);
    case_open(&c, "version: 1\nentrypoint:\n  shell: |\n    a | b\n"
                  "    c ${D}\n  args: [x]\n");
    check_argv(&case_spec(&c)->entrypoint, JR_FORM_SHELL, shell);
    CU_ASSERT_EQUAL(case_spec(&c)->policy.stop_target, JR_STOP_GROUP);
    case_close(&c);
    case_open(&c, "version: 1\nentrypoint: {shell: a}\n"
                  "stop_target: leader\n");
    CU_ASSERT_EQUAL(case_spec(&c)->policy.stop_target, JR_STOP_LEADER);
    case_close(&c);
}

TEST(binds_functions)
{
    static const char *const args[] = {
        "1", "\"1\"", "null", "true", "[2.5, {\"a\": null, \"%%{b\": \"%{rank}\"}]", NULL};
    SPEC_CASE(c, "version: 1\n"
                 "entrypoint:\n"
                 "  python: {function: 'a.b:c', interpreter: v/bin/python,\n"
                 "    setup: 'a:d', init: torch, smoke_test: true}\n"
                 "  args: [1, '1', ~, True, [2.50, {a: , '%{b': '%{rank}'}]]\n"
                 "  kwargs: {x: 1e1, y: '\\'}\n"
                 "per_rank: {1: {args: [x], kwargs: {x: null}}}\n"
                 "start_method: fork\npreload: [json]\nsetup: a %{b\n");
    const struct jr_spec *spec = case_spec(&c);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    const struct jr_entrypoint *entry = &spec->entrypoint;
    check_argv(entry, JR_FORM_PYTHON, args);
    CU_ASSERT_PTR_NULL(entry->library);
    CU_ASSERT_TRUE(jr_entrypoint_is_function(entry));
    JR_ASSERT_TEXT(entry->python->target, "a.b:c");
    JR_ASSERT_TEXT(entry->python->interpreter, "/jobs/v/bin/python");
    JR_ASSERT_TEXT(entry->python->setup, "a:d");
    CU_ASSERT_EQUAL(entry->python->init, JR_INIT_TORCH);
    CU_ASSERT_TRUE(entry->python->smoke_test);
    CU_ASSERT_EQUAL_FATAL(entry->kwargs_count, 2);
    JR_ASSERT_TEXT(entry->kwargs[0].name, "x");
    JR_ASSERT_TEXT(entry->kwargs[0].value, "10.0");
    JR_ASSERT_TEXT(entry->kwargs[1].value, "\"\\\\\"");
    JR_ASSERT_TEXT(spec->per_rank[0].args[0], "\"x\"");
    JR_ASSERT_TEXT(spec->per_rank[0].kwargs[0].value, "null");
    CU_ASSERT_EQUAL(spec->start_method, JR_START_FORK);
    JR_ASSERT_TEXT(spec->preload[0], "json");
    JR_ASSERT_TEXT(spec->setup, "a %{b");
    CU_ASSERT_TRUE(spec->policy.results.stated);
    CU_ASSERT_EQUAL(spec->policy.results.from, JR_FROM_RETURN);
}

/* Everything but a function takes strings. */
TEST(binds_scripts_and_libraries)
{
    static const char *const args[] = {"1", "null", NULL};
    struct spec_case c;
    case_open(&c, "version: 1\nentrypoint:\n  python: {script: a.py}\n"
                  "  args: [1, null]\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(case_spec(&c));
    check_argv(&case_spec(&c)->entrypoint, JR_FORM_PYTHON, args);
    const struct jr_python *python = case_spec(&c)->entrypoint.python;
    CU_ASSERT_EQUAL(python->what, JR_PYTHON_SCRIPT);
    JR_ASSERT_TEXT(python->target, "/jobs/a.py");
    JR_ASSERT_TEXT(python->interpreter, "python3");
    CU_ASSERT_PTR_NULL(python->setup);
    CU_ASSERT_EQUAL(python->init, JR_INIT_NONE);
    CU_ASSERT_FALSE(case_spec(&c)->policy.results.stated);
    CU_ASSERT_EQUAL(case_spec(&c)->policy.results.from, JR_FROM_FILE);
    case_close(&c);
    case_open(&c, "version: 1\nentrypoint:\n"
                  "  library: {path: ../a.so, symbol: f}\n  args: [1, null]\n"
                  "results: {required: 0}\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(case_spec(&c));
    const struct jr_entrypoint *entry = &case_spec(&c)->entrypoint;
    check_argv(entry, JR_FORM_LIBRARY, args);
    CU_ASSERT_PTR_NULL(entry->python);
    JR_ASSERT_TEXT(entry->library->path, "/a.so");
    JR_ASSERT_TEXT(entry->library->symbol, "f");
    CU_ASSERT_EQUAL(case_spec(&c)->policy.results.from, JR_FROM_RETURN);
    case_close(&c);
}

TEST(binds_the_environment)
{
    static const struct {
        const char *name, *value;
        bool required;
    } expected[] = {
        {"LR", "0.10", false}, {"GONE", NULL, false},      {"OUTSIDE", NULL, true},
        {"EMPTY", "", false},  {"NULLISH", "null", false}, {"LINES", "a\n\n b\n", false},
    };
    SPEC_CASE(c, full);
    const struct jr_spec *spec = case_spec(&c);
    CU_ASSERT_EQUAL_FATAL(spec->env_count, 6);
    for (size_t i = 0; i < 6; i++) {
        const struct jr_env_entry *entry = &spec->env[i];
        JR_ASSERT_TEXT(entry->name, expected[i].name);
        CU_ASSERT_EQUAL(entry->required, expected[i].required);
        if (expected[i].value == NULL)
            CU_ASSERT_PTR_NULL(entry->value)
        else
            JR_ASSERT_TEXT(entry->value, expected[i].value);
    }
}

TEST(fills_defaults)
{
    SPEC_CASE(c, HEAD);
    const struct jr_spec *spec = case_spec(&c);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    JR_ASSERT_TEXT(spec->name, "train");
    CU_ASSERT_PTR_NULL(spec->description);
    JR_ASSERT_TEXT(spec->workdir, "/jobs");
    JR_ASSERT_TEXT(spec->log_dir, "/jobs/runs");
    CU_ASSERT_EQUAL(spec->env_profiles_count, 1);
    JR_ASSERT_TEXT(spec->env_profiles[0], "torch");
    CU_ASSERT_EQUAL(spec->secrets_count, 9);
    JR_ASSERT_TEXT(spec->secrets[8], "*CREDENTIAL*");
    CU_ASSERT_PTR_NULL(spec->world_size);
    CU_ASSERT_PTR_NULL(spec->local_world_size);
    CU_ASSERT_PTR_NULL(spec->master_port);
    CU_ASSERT_PTR_NULL(spec->init_method);
    CU_ASSERT_PTR_NULL(spec->device);
    CU_ASSERT_PTR_NULL(spec->devices);
    CU_ASSERT_PTR_NULL(spec->parallelism.model);
    CU_ASSERT_EQUAL(spec->env_count, 0);
    CU_ASSERT_EQUAL(spec->device_visibility, JR_VISIBLE_ALL);
    CU_ASSERT_FALSE(spec->oversubscribe);
    CU_ASSERT_EQUAL(spec->start_method, JR_START_SPAWN);
    CU_ASSERT_EQUAL(spec->redirects_count, 0);
    CU_ASSERT_FALSE(spec->tee_stated);
    const struct jr_policy *policy = &spec->policy;
    CU_ASSERT_EQUAL(policy->log_mode, JR_LOG_PRIVATE);
    JR_ASSERT_TEXT(policy->console.prefix, "[%{rank}] ");
    JR_ASSERT_TEXT(policy->console.ranks, "all");
    CU_ASSERT_EQUAL(policy->console.partial_ms, 250);
    CU_ASSERT_EQUAL(policy->timeouts.run_ms, 0);
    CU_ASSERT_EQUAL(policy->timeouts.stop_grace_ms, 30000);
    CU_ASSERT_EQUAL(policy->on_failure, JR_ON_FAILURE_STOP);
    CU_ASSERT_EQUAL(policy->exit_status, JR_EXIT_STATUS_CLASS);
}

TEST(binds_results)
{
    BODY_CASE(c, "results:\n"
                 "  required: 0-3\n"
                 "  file: out/%{rank}\n"
                 "  fields:\n"
                 "    a: {type: number, min: -0.5, max: 1e3}\n"
                 "    b: {type: string, enum: [x, 1, 'q\"'],\n"
                 "        pattern: ^x, required: false}\n"
                 "    c: {type: integer, enum: [1, -2]}\n"
                 "    d: {type: number, enum: [1, .5, 1e2]}\n"
                 "    e: {type: boolean, enum: [TRUE]}\n"
                 "  equal: [a]\n"
                 "  distinct: [c, d]\n"
                 "  artifacts: ['%{rank}.bin']\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(case_spec(&c));
    const struct jr_results *results = &case_spec(&c)->policy.results;
    CU_ASSERT_TRUE(results->stated);
    JR_ASSERT_TEXT(results->required, "0-3");
    CU_ASSERT_EQUAL(results->from, JR_FROM_FILE);
    JR_ASSERT_TEXT(results->file, "out/%{rank}");
    CU_ASSERT_EQUAL_FATAL(results->fields_count, 5);
    const struct jr_result_field *fields = results->fields;
    JR_ASSERT_TEXT(fields[0].name, "a");
    CU_ASSERT_EQUAL(fields[0].type, JR_JSON_NUMBER);
    JR_ASSERT_TEXT(fields[0].min, "-0.5");
    JR_ASSERT_TEXT(fields[0].max, "1e3");
    CU_ASSERT_TRUE(fields[0].required);
    CU_ASSERT_PTR_NULL(fields[1].min);
    CU_ASSERT_FALSE(fields[1].required);
    JR_ASSERT_TEXT(fields[1].pattern, "^x");
    CU_ASSERT_EQUAL_FATAL(fields[1].enums_count, 3);
    JR_ASSERT_TEXT(fields[1].enums[0], "\"x\"");
    JR_ASSERT_TEXT(fields[1].enums[1], "\"1\"");
    JR_ASSERT_TEXT(fields[1].enums[2], "\"q\\\"\"");
    JR_ASSERT_TEXT(fields[2].enums[1], "-2");
    JR_ASSERT_TEXT(fields[3].enums[0], "1");
    JR_ASSERT_TEXT(fields[3].enums[1], "0.5");
    JR_ASSERT_TEXT(fields[3].enums[2], "100.0");
    JR_ASSERT_TEXT(fields[4].enums[0], "true");
    CU_ASSERT_EQUAL(results->equal_count, 1);
    CU_ASSERT_EQUAL(results->distinct_count, 2);
    JR_ASSERT_TEXT(results->artifacts[0], "%{rank}.bin");
}

/* `results` without more says that every rank has to deliver. */
TEST(knows_stated_results)
{
    struct spec_case c;
    case_open_body(&c, "results: {}\n");
    CU_ASSERT_TRUE(case_spec(&c)->policy.results.stated);
    JR_ASSERT_TEXT(case_spec(&c)->policy.results.required, "all");
    case_close(&c);
    case_open_body(&c, "results: {from: stderr, pattern: '(?<a>\\d)'}\n");
    CU_ASSERT_EQUAL(case_spec(&c)->policy.results.from, JR_FROM_STDERR);
    JR_ASSERT_TEXT(case_spec(&c)->policy.results.pattern, "(?<a>\\d)");
    case_close(&c);
}

TEST(binds_shorthands)
{
    BODY_CASE(c, "backends: gloo\ndevices: none\nlocal_world_size: 4\n");
    const struct jr_spec *spec = case_spec(&c);
    JR_ASSERT_TEXT(spec->backends.fallback, "gloo");
    CU_ASSERT_EQUAL(spec->devices_count, 1);
    JR_ASSERT_TEXT(spec->devices[0], "none");
    CU_ASSERT_EQUAL(spec->local_world_size_count, 1);
    CU_ASSERT_EQUAL(spec->local_world_size[0], 4);
}
