#include "case.h"

/* Specs that are resolved, printed, and resolved again on another machine: the second time
 * everything is stated. */
struct trip {
    const char *spec;
    struct facts facts;
};

static char token[] = "HF_TOKEN=hunter2", size[] = "SIZE=4";
static char *environment[] = {token, size, NULL};
static char set_env[] = "env.B=$${b}", set_size[] = "world_size=${env:SIZE}";
static char *sets[] = {set_env, set_size, NULL};
static char set_call[] = "entrypoint={python: {function: \"m:f\", interpreter: venv/bin/python, "
                         "init: torch}, args: [1, \"1\", null, [true, {a: 0.50}], "
                         "\"$${x}%{rank}\"], kwargs: {on: \"yes\", none: ~, key: "
                         "\"k-${env:HF_TOKEN}\", deep: {\"%{rank}\": [~]}}}";
static char set_library[] = "entrypoint={library: {path: ./l.so, symbol: f}, args: [1]}";
static char set_fork[] = "start_method=fork", set_load[] = "preload=[a.b, c]";
static char set_more[] = "per_rank={0: {args: [~], kwargs: {none: 1}}}";
static char *calls[] = {set_call, set_fork, set_load, set_more, NULL};
static char *libraries[] = {set_library, set_fork, NULL};

static const struct trip trips[] = {
    {"", {0}},
    {"world_size: ???\nparallelism: {model: 2, pipeline: 2}\n", {.on = "1x8:H100,96c"}},
    {"local_world_size: [3, 2, 1]\nnode_rank: 1\nmaster_addr: \"::1\"\n", {.on = "3x4:H100"}},
    {"", {.job_nodes = 2, .job_rank = 1}},
    {"local_world_size: 4\noversubscribe: true\n", {.on = "1x2:H100"}},
    {"devices: [3, 1]\n", {.on = "1x4:MI300X"}},
    {"device: custom:tpu\nbackends: custom:xla\nworld_size: 2\n", {0}},
    {"name: \"010\"\nenv: {A: \"yes\", B: 1.10, C: null, D: \"???\"}\nenv_remove: [\"LC_*\"]\n",
     {0}},
    {"redirects: \"0:3,1:1\"\ntee: all\nlocal_world_size: 2\n", {0}},
    {"results: {fields: {loss: {type: number, max: 0.50}}, equal: [loss]}\n"
     "timeouts: {run: 1h30m}\nconsole: {prefix: \"%{rank}| \"}\n",
     {0}},
    {"x-note: {b: [1, 2], a: text}\nlabels: {team: vision}\n", {0}},
    {"backends: {default: nccl, data: gloo}\nlog_dir: ../runs\nworkdir: sub\n", {.on = "2x8:H100"}},
    {"vars: {a: 1, b: \"$${x}\"}\nenv: {A: \"${vars.b} $${y} $$ $${\"}\nlabels: {a: "
     "\"${vars.a}\"}\ndescription: \"$$$${vars.a}$${\"\nconsole: {prefix: \"$${p} \"}\n",
     {.environ = environment, .sets = sets}},
    {"env: {A: \"${env:HF_TOKEN}\", HF_TOKEN: \"${env:HF_TOKEN}\"}\n"
     "workdir: data/${env:HF_TOKEN}\nlog_dir: /l/${env:HF_TOKEN}\n"
     "name: n-${env:HF_TOKEN}\nhosts: [\"${env:HF_TOKEN}\"]\nmaster_addr: ${env:HF_TOKEN}\n"
     "results: {file: \"${env:HF_TOKEN}/%{rank}\"}\n"
     "per_rank: {0: {args: [\"--t=${env:HF_TOKEN}\"], env: {MY_TOKEN: x}}}\n",
     {.environ = environment}},
    {"setup: export A=\"${B}\" %{c}\nresults: {required: all}\n",
     {.environ = environment, .sets = calls}},
    {"", {.sets = libraries}},
    {"nodes: 2\nspare_nodes: 1\nrestart: {max: 1}\nhosts: [a, b, c]\n", {.on = "3x2:H100"}},
    {"nodes: 2\nspare_nodes: 1\nrestart: {max: 1}\n", {.job_nodes = 3}}};

static void emit(struct scene *scene, struct jr_buf *out)
{
    jr_buf_clear(out);
    jr_resolution_emit(out, &scene->resolution, scene->file);
}

/* Load what was printed, from another folder under another name: nothing that it was put together
 * from is needed, but secrets. */
static void reopen(struct scene *scene, const struct jr_buf *text, const struct facts *facts)
{
    struct jr_resolve_options options = {.keep_port = true};
    *scene = (struct scene){.resolution = JR_RESOLUTION_INIT};
    scene_facts(scene, facts);
    const struct jr_spec_source source = {
        .name = "resolved.yaml", .folder = "/elsewhere", .text = text->data, .len = text->len};
    const struct jr_spec_options read = {.environ = facts->environ};
    (void)jr_spec_load(&scene->file, &source, &read, &scene->diags);
    scene->status = JR_STATUS_INVALID;
    if (scene->file != NULL && jr_spec_get(scene->file) != NULL)
        scene->status =
            jr_resolve(&scene->resolution, scene->file, &scene->hw, &options, &scene->diags);
}

static void same_values(const struct scene *a, const struct scene *b)
{
    CU_ASSERT_EQUAL_FATAL(a->resolution.provenance_count, b->resolution.provenance_count);
    for (size_t i = 0; i < a->resolution.provenance_count; i++) {
        const struct jr_provenance *row = &a->resolution.provenance[i];
        if (strcmp(row->value, b->resolution.provenance[i].value) != 0)
            printf("\n  %s:", row->field);
        JR_ASSERT_TEXT(b->resolution.provenance[i].value, row->value);
    }
}

TEST(resolves_to_itself)
{
    struct jr_buf JR_BUF_CLEANUP first = JR_BUF_INIT, second = JR_BUF_INIT;
    for (size_t i = 0; i < sizeof trips / sizeof trips[0]; i++) {
        struct scene a, b;
        scene_open(&a, trips[i].spec, &trips[i].facts);
        if (a.status != JR_STATUS_OK)
            printf("\n%s%s\n", trips[i].spec, scene_told(&a));
        CU_ASSERT_EQUAL_FATAL(a.status, JR_STATUS_OK);
        emit(&a, &first);
        reopen(&b, &first, &trips[i].facts);
        if (b.status != JR_STATUS_OK)
            printf("\n%s\n%s\n", first.data, scene_told(&b));
        CU_ASSERT_EQUAL_FATAL(b.status, JR_STATUS_OK);
        emit(&b, &second);
        JR_ASSERT_TEXT(second.data, first.data);
        JR_ASSERT_TEXT(b.resolution.job.fingerprint, a.resolution.job.fingerprint);
        same_values(&a, &b);
        scene_close(&a);
        scene_close(&b);
    }
}

/* The whole text of one, as a person reads it. */
TEST(is_complete_and_in_order)
{
    const struct facts facts = {0};
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    SCENE(scene, "world_size: auto\n", &facts);
    emit(&scene, &out);
    const char *at = out.data;
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    EACH_PART(part, "version: 1\n|name: t\n|workdir: /srv/job\n|world_size: 8\n|nodes: "
                    "1\n|master_addr: \"127.0.0.1\"\n|init_method: env://|device: cpu\n|devices: "
                    "none\n|oversubscribe: false|parallelism:\n|  data: 8\n|backends:\n|  default: "
                    "gloo\n|start_method: spawn\n|log_dir: /srv/job/runs\n|stop_grace: 30s\n") {
        const char *found = strstr(at, part);
        if (found == NULL)
            printf("\n  no %s in:\n%s", part, at);
        CU_ASSERT_PTR_NOT_NULL_FATAL(found);
        at = found;
    }
    CU_ASSERT_PTR_NULL(strstr(out.data, "results"));
}

/* Neither a literal secret nor one that came from the environment. */
TEST(writes_no_secret)
{
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    for (size_t i = 0; i < sizeof trips / sizeof trips[0]; i++) {
        SCENE(scene, trips[i].spec, &trips[i].facts);
        CU_ASSERT_EQUAL_FATAL(scene.status, JR_STATUS_OK);
        emit(&scene, &out);
        CU_ASSERT_PTR_NULL(strstr(out.data, "hunter2"));
    }
}

TEST(hides_secrets)
{
    const struct facts facts = {0};
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    SCENE(scene, "env: {HF_TOKEN: hunter2, PLAIN: seen, A_SECRET: null}\n", &facts);
    CU_ASSERT_EQUAL_FATAL(scene.status, JR_STATUS_OK);
    emit(&scene, &out);
    CU_ASSERT_PTR_NULL(strstr(out.data, "hunter2"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "PLAIN: seen"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "A_SECRET: null"));
    struct scene again SCENE_CLEANUP;
    reopen(&again, &out, &facts);
    CU_ASSERT_EQUAL_FATAL(again.status, JR_STATUS_OK);
    const struct jr_job *job = &again.resolution.job;
    CU_ASSERT_EQUAL_FATAL(job->env_count, 3);
    JR_ASSERT_TEXT(job->env[0].name, "HF_TOKEN");
    CU_ASSERT_TRUE(job->env[0].required);
}

TEST(is_for_one_machine)
{
    const struct facts facts = {0};
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    SCENE(scene, "targets: [1x8:H100]\nlabels: {targets: kept}\n", &facts);
    CU_ASSERT_EQUAL_FATAL(scene.status, JR_STATUS_OK);
    emit(&scene, &out);
    CU_ASSERT_PTR_NULL(strstr(out.data, "\ntargets"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\n  targets: kept"));
}

/* Pairs of specs that are, or are not, the same experiment. */
static const struct {
    const char *a, *b;
    bool same;
} pairs[] = {{"world_size: 2\n", "world_size: 4\n", false},
             {"env: {A: \"\"}\n", "env: {A: null}\n", false},
             {"env: {A: b}\n", "env: {B: a}\n", false},
             {"env: {A: 1.1}\n", "env: {A: 1.10}\n", false},
             {"backends: gloo\n", "backends: mpi\n", false},
             {"parallelism: {model: 2}\n", "parallelism: {pipeline: 2}\n", false},
             {"env: {A: x, B: y}\n", "env: {B: y, A: x}\n", true},
             {"env: {A: 1}\n", "env: {A: \"1\"}\n", true},
             {"name: a\n", "name: b\ndescription: other\nlabels: {k: v}\n", true},
             {"x-a: 1\n", "", true},
             {"targets: [1x8:H100, 2x8]\n", "", true},
             {"threads: 1\nmaster_port: 4000\n", "threads: 2\n", true},
             {"start_method: spawn\n", "", true},
             {"world_size: 8\n", "", true},
             {"log_dir: a\n", "log_dir: b\nlog_mode: group\n", true},
             {"world_size: 8\noversubscribe: true\n", "local_world_size: 8\n", true},
             {"env: {HF_TOKEN: a}\n", "env: {HF_TOKEN: b}\n", true}};

TEST(fingerprints)
{
    const struct facts facts = {0};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct scene a, b;
        scene_open(&a, pairs[i].a, &facts);
        scene_open(&b, pairs[i].b, &facts);
        CU_ASSERT_EQUAL_FATAL(a.status, JR_STATUS_OK);
        CU_ASSERT_EQUAL_FATAL(b.status, JR_STATUS_OK);
        bool same = strcmp(a.resolution.job.fingerprint, b.resolution.job.fingerprint) == 0;
        if (same != pairs[i].same)
            printf("\n%s---\n%s", pairs[i].a, pairs[i].b);
        CU_ASSERT_EQUAL(same, pairs[i].same);
        CU_ASSERT_EQUAL(strspn(a.resolution.job.fingerprint, "0123456789abcdef"), 64);
        scene_close(&a);
        scene_close(&b);
    }
}

/* Where the ranks run is not what they compute. */
TEST(ignores_placement)
{
    const struct facts two = {.on = "2x4:H100"}, eight = {.on = "1x8:H100,9c"};
    struct scene a, b;
    scene_open(&a, "world_size: 8\n", &two);
    scene_open(&b, "world_size: 8\n", &eight);
    CU_ASSERT_EQUAL(a.resolution.job.nodes, 2);
    JR_ASSERT_TEXT(a.resolution.job.fingerprint, b.resolution.job.fingerprint);
    scene_close(&a);
    scene_close(&b);
}
