#include "case.h"
#include "doc/doc.h"
#include "resolve/fingerprint.h"
#include "scratch.h"
#include "spec/field.h"

#define HEAD     "version: 1\n"
#define ENTRY    "entrypoint: [./train]\n"
#define PYTHON   "entrypoint: {python: {"
#define CALL     PYTHON "function: \"m:f\"}"
#define LIBRARY  "entrypoint: {library: {path: "
#define PROGRESS ENTRY "progress: {pattern: '(?<step>.)'"
#define RESULTS  ENTRY "results:\n  "
#define LOSS     RESULTS "fields: {loss: {type: number, "

/* For each field two specs that differ in it alone; both are resolved. A field of a part that does
 * not count must not change the fingerprint. NULL: there is no second value that goes with a
 * program. */
static const struct {
    const char *path, *a, *b;
} fields[] = {
    {"name", ENTRY "name: a\n", ENTRY "name: b\n"},
    {"labels", ENTRY "labels: {k: v}\n", ENTRY "labels: {k: w}\n"},
    {"extends", ENTRY, NULL},
    {"entrypoint.command", "entrypoint: {command: [./a]}\n", "entrypoint: {command: [./b]}\n"},
    {"entrypoint.shell", "entrypoint: {shell: \"./a\"}\n", "entrypoint: {shell: \"./a \"}\n"},
    {"entrypoint.args", "entrypoint: {command: [./a]}\n",
     "entrypoint: {command: [./a], args: [x]}\n"},
    {"env", ENTRY "env: {A: x}\n", ENTRY "env: {A: y}\n"},
    {"per_rank.*.args", ENTRY "per_rank: {0: {args: [a]}}\n", ENTRY "per_rank: {0: {args: [b]}}\n"},
    {"per_rank.*.env", ENTRY "per_rank: {0: {env: {A: 1}}}\n",
     ENTRY "per_rank: {0: {env: {A: 2}}}\n"},
    {"world_size", ENTRY "world_size: 2\n", ENTRY "world_size: 4\n"},
    {"local_world_size", ENTRY "world_size: 4\nlocal_world_size: 4\n",
     ENTRY "world_size: 4\nnode_rank: 0\nmaster_addr: h\nlocal_world_size: 2\n"},
    {"nodes", ENTRY "world_size: 4\n",
     ENTRY "world_size: 4\nnodes: 2\nnode_rank: 0\nmaster_addr: h\n"},
    {"spare_nodes", ENTRY "world_size: 2\nnodes: 1\nrestart: {max: 1}\n",
     ENTRY "world_size: 2\nnodes: 1\nrestart: {max: 1}\nspare_nodes: 1\n"},
    {"node_rank", ENTRY "world_size: 4\nnodes: 2\nnode_rank: 0\nmaster_addr: h\n",
     ENTRY "world_size: 4\nnodes: 2\nnode_rank: 1\nmaster_addr: h\n"},
    {"rank_start", ENTRY "world_size: 4\nnodes: 2\nnode_rank: 0\nmaster_addr: h\n",
     ENTRY "world_size: 4\nnodes: 2\nnode_rank: 1\nrank_start: 2\nmaster_addr: h\n"},
    {"hosts", ENTRY "hosts: [a]\n", ENTRY "hosts: [b]\n"},
    {"device", ENTRY "backends: mpi\ndevice: cpu\nlocal_world_size: 1\n",
     ENTRY "backends: mpi\ndevice: custom:a\nlocal_world_size: 1\n"},
    {"devices", ENTRY "device: cuda\ndevices: [0]\nworld_size: 2\n",
     ENTRY "device: cuda\ndevices: [1]\nworld_size: 2\n"},
    {"bind", ENTRY "bind: core\n", ENTRY "bind: none\n"},
    {"threads", ENTRY "threads: 1\n", ENTRY "threads: 2\n"},
    {"parallelism.model", ENTRY "parallelism: {data: 1, pipeline: 4}\n",
     ENTRY "world_size: 4\nparallelism: {data: 1, model: 4}\n"},
    {"parallelism.pipeline", ENTRY "world_size: 4\n",
     ENTRY "world_size: 4\nparallelism: {pipeline: 2}\n"},
    {"parallelism.data", ENTRY "parallelism: {data: 4}\n", ENTRY "parallelism: {data: 2}\n"},
    {"backends.default", ENTRY "backends: gloo\n", ENTRY "backends: mpi\n"},
    {"start_method", CALL "}\n", CALL "}\nstart_method: fork\n"},
    {"fork_threads", CALL "}\nstart_method: fork\n",
     CALL "}\nstart_method: fork\nfork_threads: refuse\n"},
    {"preload", CALL "}\nstart_method: fork\n", CALL "}\nstart_method: fork\npreload: [a]\n"},
    {"entrypoint.kwargs", CALL ", kwargs: {a: 1}}\n", CALL ", kwargs: {a: \"1\"}}\n"},
    {"entrypoint.python.script", PYTHON "script: a}}\n", PYTHON "script: b}}\n"},
    {"entrypoint.python.module", PYTHON "module: a}}\n", PYTHON "module: b}}\n"},
    {"entrypoint.python.function", CALL "}\n", PYTHON "function: \"m:g\"}}\n"},
    {"entrypoint.python.interpreter", PYTHON "module: a}}\n",
     PYTHON "module: a, interpreter: pypy3}}\n"},
    {"entrypoint.python.setup", CALL "}\n", PYTHON "function: \"m:f\", setup: \"m:g\"}}\n"},
    {"entrypoint.python.init", CALL "}\n", PYTHON "function: \"m:f\", init: torch}}\n"},
    {"entrypoint.python.smoke_test", PYTHON "function: \"m:f\", init: torch}}\n",
     PYTHON "function: \"m:f\", init: torch, smoke_test: true}}\n"},
    {"entrypoint.library.path", LIBRARY "a, symbol: s}}\n", LIBRARY "b, symbol: s}}\n"},
    {"entrypoint.library.symbol", LIBRARY "a, symbol: s}}\n", LIBRARY "a, symbol: t}}\n"},
    {"per_rank.*.kwargs", CALL "}\n", CALL "}\nper_rank: {0: {kwargs: {a: null}}}\n"},
    {"results.required", RESULTS "from: file\n", RESULTS "required: 0\n"},
    {"results.from", ENTRY "results: {from: stdout, pattern: \"(?<a>x)\"}\ntee: all\n",
     ENTRY "results: {from: stderr, pattern: \"(?<a>x)\"}\ntee: all\n"},
    {"results.file", RESULTS "from: file\n", RESULTS "file: out\n"},
    {"results.limit", RESULTS "from: file\n", RESULTS "limit: 1MiB\n"},
    {"results.pattern", ENTRY "results: {from: stdout, pattern: \"(?<a>x)\"}\ntee: all\n",
     ENTRY "results: {from: stdout, pattern: \"(?<a>y)\"}\ntee: all\n"},
    {"results.equal", RESULTS "from: file\n", RESULTS "equal: [a]\n"},
    {"results.distinct", RESULTS "from: file\n", RESULTS "distinct: [a]\n"},
    {"results.artifacts", RESULTS "from: file\n", RESULTS "artifacts: [a]\n"},
    {"results.fields.*.type", LOSS "required: true}}\n",
     RESULTS "fields: {loss: {type: integer}}\n"},
    {"results.fields.*.min", LOSS "min: 0}}\n", LOSS "min: 1}}\n"},
    {"results.fields.*.max", LOSS "max: 0}}\n", LOSS "max: 1}}\n"},
    {"results.fields.*.enum", LOSS "enum: [1]}}\n", LOSS "enum: [2]}}\n"},
    {"results.fields.*.pattern", RESULTS "fields: {s: {type: string, pattern: a}}\n",
     RESULTS "fields: {s: {type: string, pattern: b}}\n"},
    {"results.fields.*.required", LOSS "required: true}}\n", LOSS "required: false}}\n"},
    {"exit_barrier", CALL "}\n", CALL "}\nexit_barrier: false\n"},
    {"progress.from", PROGRESS "}\n", PROGRESS ", from: stderr}\n"},
    {"progress.pattern", PROGRESS "}\n", ENTRY "progress: {pattern: 'x(?<step>.)'}\n"},
    {"progress.ranks", PROGRESS "}\n", PROGRESS ", ranks: all}\n"},
    {"progress.of", PROGRESS "}\n", PROGRESS ", of: 9}\n"},
    {"code.link", ENTRY "code: freeze\n", ENTRY "code: {mode: freeze, link: [x]}\n"},
    {"progress.stall", PROGRESS "}\n", PROGRESS ", stall: 9}\n"},
    {"deadline.before", ENTRY "deadline: {before: 1m}\n", ENTRY "deadline: {before: 2m}\n"},
    {"deadline.signal", ENTRY "deadline: {before: 1m}\n",
     ENTRY "deadline: {before: 1m, signal: TERM}\n"},
    {"requeue.max", ENTRY "requeue: 2\n", ENTRY "requeue: 3\n"},
    {"requeue.on", ENTRY "requeue: 2\n", ENTRY "requeue: {on: preempted, max: 2}\n"},
    {"restart.backoff", ENTRY "restart: {max: 3}\n", ENTRY "restart: {max: 3, backoff: 2s}\n"},
    {"restart.window", ENTRY "restart: {max: 3}\n", ENTRY "restart: {max: 3, window: 1h}\n"},
    {"restart.on", ENTRY "restart: {max: 3}\n", ENTRY "restart: {max: 3, on: oom}\n"},
    {"restart.never", ENTRY "restart: {max: 3}\n", ENTRY "restart: {max: 3, never: oom}\n"}};

/* For other fields, what a spec without them gets. */
static const char additions[] =
    "|description => description: other|template => template: false|vars => vars: {lr: "
    "1}|sweep.axes => sweep: {axes: {labels.a: [2]}}|sweep.exclude => sweep: {axes: {labels.a: [1, "
    "2]}, exclude: [{labels.a: 1}]}|sweep.include => sweep: {axes: {labels.a: [1]}, include: "
    "[{labels.a: 2}]}|sweep.samples => sweep: {axes: {labels.a: [1]}, samples: 2}|sweep.seed => "
    "sweep: {axes: {labels.a: [1]}, seed: 2}|sweep.parallel => sweep: {axes: {labels.a: [1]}, "
    "parallel: 2}|sweep.stop_after => sweep: {axes: {labels.a: [1]}, stop_after: "
    "2}|sweep.best.field => sweep: {best: {field: a, goal: max}}|sweep.best.goal => sweep: {best: "
    "{field: a, goal: min}}|sweep.best.of => sweep: {best: {field: a, goal: min, of: max}}|targets "
    "=> targets: [2x8:H100]|workdir => workdir: sub|per_rank => per_rank: {0: {}}|env_remove => "
    "env_remove: [\"LC_*\"]|env_profiles => env_profiles: []|secrets => secrets: "
    "[MINE]|master_addr => master_addr: 10.0.0.1|master_port => master_port: 4000|init_method => "
    "init_method: tcp://a:1|device_visibility => device_visibility: one|oversubscribe => "
    "oversubscribe: true|backends.model => backends: {model: mpi}|backends.pipeline => backends: "
    "{pipeline: mpi}|backends.data => backends: {data: mpi}|setup => setup: export A=1|redirects "
    "=> redirects: all|tee => tee: err|console.prefix => console: {prefix: \"> \"}|console.ranks "
    "=> console: {ranks: 0}|console.timestamps => console: {timestamps: true}|console.collapse => "
    "console: {collapse: true}|console.show => console: {show: a}|console.hide => console: {hide: "
    "a}|console.partial => console: {partial: 1s}|log_limit => log_limit: 1MiB|log_dir => log_dir: "
    "b|log_mode => log_mode: group|mpi => mpi: pmi1|isolation => isolation: pid|signals => "
    "signals: {USR1: stop}|limits.nofile => limits: {nofile: 9}|limits.core => limits: {core: "
    "0}|limits.memlock => limits: {memlock: 0}|limits.stack => limits: {stack: 8MiB}|limits.as => "
    "limits: {as: unlimited}|limits.nproc => limits: {nproc: 9}|timeouts.start => timeouts: "
    "{start: 1h}|timeouts.exit => timeouts: {exit: 1h}|timeouts.run => timeouts: {run: "
    "1h}|timeouts.silence => timeouts: {silence: 1h}|timeouts.after_first_exit => timeouts: "
    "{after_first_exit: 1h}|timeouts.progress => timeouts: {progress: 1h}|timeouts.first_step => "
    "timeouts: {first_step: 1h}|code.mode => code: freeze|on_hang.signal => on_hang: {signal: "
    "USR1}|on_hang.wait => on_hang: {wait: 1h}|on_end => on_end: [./notify]|on_hang.command => "
    "on_hang: {command: [gdb]}|timeouts.stop_grace => timeouts: {stop_grace: 1s}|stop_target => "
    "stop_target: group|on_failure => on_failure: continue|restart.max => restart: {max: "
    "3}|engine.slurm => engine: {slurm: {qos: a}}|engine.kubernetes.image => engine: {kubernetes: "
    "{image: a}}|engine.kubernetes.namespace => engine: {kubernetes: {namespace: "
    "a}}|engine.kubernetes.service_account => engine: {kubernetes: {service_account: "
    "a}}|engine.kubernetes.priority_class => engine: {kubernetes: {priority_class: "
    "a}}|engine.kubernetes.pull_secret => engine: {kubernetes: {pull_secret: "
    "a}}|engine.kubernetes.secret => engine: {kubernetes: {secret: a}}|engine.kubernetes.claim => "
    "engine: {kubernetes: {claim: a}}|engine.kubernetes.mount => engine: {kubernetes: {mount: "
    "/a}}|engine.kubernetes.shm => engine: {kubernetes: {shm: 1Gi}}|engine.kubernetes.cpu => "
    "engine: {kubernetes: {cpu: 2}}|engine.kubernetes.memory => engine: {kubernetes: {memory: "
    "1Gi}}|engine.kubernetes.device_resource => engine: {kubernetes: {device_resource: "
    "a.b/c}}|engine.mpi.dialect => engine: {mpi: {dialect: hydra}}|engine.mpi.launcher => engine: "
    "{mpi: {launcher: a}}|engine.ssh.options => engine: {ssh: {options: [-4]}}|engine.ssh.program "
    "=> engine: {ssh: {program: a}}|engine.ssh.copy => engine: {ssh: {copy: "
    "true}}|engine.ssh.collect => engine: {ssh: {collect: logs}}|engine.ssh.env => engine: {ssh: "
    "{env: [A]}}|exit_status => exit_status: rank|";

/* The spec's fingerprint on two machines with two devices; told when it has none. */
static void take(char ret[static 65], const char *spec)
{
    struct scene SCENE_CLEANUP scene = {.resolution = JR_RESOLUTION_INIT};
    struct jr_buf JR_BUF_CLEANUP text = JR_BUF_INIT;
    const struct facts facts = {.on = "2x2:H100,8c"};
    struct jr_resolve_options options = {.local = false};
    scene_facts(&scene, &facts);
    jr_buf_printf(&text, "%s", spec);
    (void)jr_spec_load_text(&scene.file, "t.jobrun.yaml", "/srv/job", text.data, text.len,
                            &scene.diags);
    if (scene.file != NULL && jr_spec_get(scene.file) != NULL)
        scene.status = jr_resolve(&scene.resolution, scene.file, &scene.hw, &options, &scene.diags);
    size_t len = strlen(scene.resolution.job.fingerprint);
    if (len != 64)
        printf("\n%s\n%s", spec, scene_told(&scene));
    CU_ASSERT_EQUAL_FATAL(len, 64);
    (void)memcpy(ret, scene.resolution.job.fingerprint, len + 1);
}

static bool same(const char *a, const char *b)
{
    char left[65], right[65];
    take(left, a);
    take(right, b);
    return strcmp(left, right) == 0;
}

#define DEVICE "device: cpu\noversubscribe: true\n"

static const char *head_of(const char *body)
{
    return strstr(body, "device:") != NULL ? HEAD "oversubscribe: true\n" : HEAD DEVICE;
}

/* Whether two specs, which differ in a field alone, are one experiment where it is part of it. */
static void check_field(const char *path, const char *a, const char *b)
{
    struct jr_buf first JR_BUF_CLEANUP = JR_BUF_INIT, second JR_BUF_CLEANUP = JR_BUF_INIT;
    bool switches = strcmp(path, "oversubscribe") == 0;
    bool counts = jr_part_of(path) == JR_PART_EXPERIMENT;
    jr_buf_printf(&first, "%s%s", switches ? HEAD : head_of(a), a);
    jr_buf_printf(&second, "%s%s", switches ? HEAD : head_of(b), b);
    bool equal = same(first.data, second.data);
    if (equal == counts)
        printf("\n  %s", path);
    CU_ASSERT_EQUAL(equal, !counts);
}

TEST(counts_what_is_the_experiment)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].b != NULL)
            check_field(fields[i].path, fields[i].a, fields[i].b);
    EACH_PAIR(path, more, additions) {
        struct jr_buf spec JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&spec, ENTRY "%s\n", more);
        check_field(path, ENTRY, spec.data);
    }
}

static bool is_covered(const char *path)
{
    char row[160];
    (void)snprintf(row, sizeof row, "|%s => ", path);
    if (strstr(additions, row) != NULL)
        return true;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(fields[i].path, path) == 0)
            return true;
    return false;
}

/* How a spec is put together is nothing of the experiment. */
TEST(ignores_composition)
{
    CU_ASSERT_TRUE(same(HEAD "entrypoint: [./a, \"0.1\"]\n",
                        HEAD "vars: {lr: 0.1}\nentrypoint: [./a, \"${vars.lr}\"]\n"));
    CU_ASSERT_TRUE(same(HEAD "entrypoint: {shell: \"a ${b}\"}\n",
                        HEAD "entrypoint: {shell: \"a ${b}\"}\nvars: {}\n"));
    CU_ASSERT_FALSE(same(HEAD "entrypoint: [./a, \"$${b}\"]\n", HEAD "entrypoint: [./a, b]\n"));
}

/* Every field that works has a row above; a mapping's own fields stand for it. */
TEST(covers_every_field)
{
    size_t count;
    const struct jr_spec_group *groups = jr_field_groups(&count);
    for (size_t i = 0; i < count; i++)
        for (const struct jr_spec_field *field = groups[i].fields; field->key != NULL; field++) {
            char path[128];
            (void)snprintf(path, sizeof path, "%s%s%s", groups[i].path,
                           groups[i].path[0] != '\0' ? "." : "", field->key);
            if (field->since == NULL || field->type->kind == JR_KIND_MAP ||
                strcmp(path, "version") == 0 || strcmp(path, "results.fields") == 0)
                continue;
            if (!is_covered(path))
                printf("\n  '%s' has no row in this test", path);
            CU_ASSERT_TRUE(is_covered(path));
        }
}

/* The contract's own words on what an experiment is, apart from the table. */
TEST(is_of_the_parts_that_the_contract_names)
{
    static const struct {
        enum jr_part part;
        const char *paths[20];
    } rows[] = {
        {JR_PART_EXPERIMENT,
         {"entrypoint.command[0]", "entrypoint.args[1]", "env.LR", "per_rank.0-3.env.A",
          "world_size", "parallelism.model", "backends.default", "start_method",
          "results.fields.loss.max", "setup", "device"}},
        {JR_PART_PLACEMENT,
         {"hosts[2]", "master_addr", "master_port", "devices[0]", "nodes", "bind", "threads",
          "engine.slurm.qos", "local_world_size"}},
        {JR_PART_LABEL, {"name", "description", "labels.team"}},
        {JR_PART_OUTPUT, {"console.prefix", "console", "redirects", "tee.0", "console.show"}},
        {JR_PART_RECORD, {"log_dir", "log_mode", "log_limit", "secrets[0]"}},
        {JR_PART_SUPERVISION,
         {"timeouts.run", "timeouts", "restart.max", "on_hang.wait", "exit_status", "on_failure",
          "signals.USR1", "stop_target"}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; rows[i].paths[j] != NULL; j++) {
            if (jr_part_of(rows[i].paths[j]) != rows[i].part)
                printf("\n  %s", rows[i].paths[j]);
            CU_ASSERT_EQUAL(jr_part_of(rows[i].paths[j]), rows[i].part);
        }
}

/* A field that a later version brings, at its default, changes nothing. */
TEST(leaves_defaults_out)
{
    static const char *const rows[][2] = {
        {ENTRY, ENTRY "start_method: spawn\nenv_profiles: [torch]\ndevice_visibility: all\n"},
        {ENTRY "world_size: 4\n", ENTRY "world_size: 4\nparallelism: {model: 1, pipeline: 1, data: "
                                        "4}\nbackends: {default: gloo, data: gloo}\n"},
        {RESULTS "equal: [a]\n", RESULTS "equal: [a]\n  required: all\n  from: file\n"},
        {CALL "}\n", PYTHON "function: \"m:f\", interpreter: python3, smoke_test: false}}\n"},
        {LOSS "max: 1}}\n", LOSS "max: 1, required: true}}\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_buf JR_BUF_CLEANUP a = JR_BUF_INIT, b = JR_BUF_INIT;
        jr_buf_printf(&a, HEAD DEVICE "%s", rows[i][0]);
        jr_buf_printf(&b, HEAD DEVICE "%s", rows[i][1]);
        bool equal = same(a.data, b.data);
        if (!equal)
            printf("\n  %s", b.data);
        CU_ASSERT_TRUE(equal);
    }
    /* to state results at all is no default */
    CU_ASSERT_FALSE(same(HEAD DEVICE ENTRY, HEAD DEVICE RESULTS "from: file\n"));
}

/* What the resolver found, and so finds anew: no more, and no less. */
TEST(knows_what_moves)
{
    static const char *const moving[] = {"nodes", "node_rank",   "rank_start",  "local_world_size",
                                         "hosts", "master_addr", "master_port", "devices",
                                         "bind",  "threads"};
    size_t found = 0;
    for (const struct jr_spec_field *field = jr_field_root()->fields; field->key != NULL; field++)
        found += jr_part_moves(field->key);
    CU_ASSERT_EQUAL(found, sizeof moving / sizeof *moving);
    for (size_t i = 0; i < sizeof moving / sizeof *moving; i++)
        CU_ASSERT_TRUE(jr_part_moves(moving[i]));
}

TEST(parts_are_fields)
{
    CU_ASSERT_EQUAL(jr_part_of("$schema"), JR_PART_SOURCE);
    CU_ASSERT_EQUAL(jr_part_of("x-note.deep"), JR_PART_LABEL);
    CU_ASSERT_EQUAL(jr_part_of("hosts[2]"), JR_PART_PLACEMENT);
    CU_ASSERT_EQUAL(jr_part_of("labels.team"), JR_PART_LABEL);
    CU_ASSERT_EQUAL(jr_part_of("nodes_of_mine"), JR_PART_EXPERIMENT);
    CU_ASSERT_EQUAL(jr_part_of("node"), JR_PART_EXPERIMENT);
    JR_ASSERT_TEXT(jr_part_word(JR_PART_SOURCE), "source");
}

/* One spec, written in other ways. */
static const char *const spellings[] = {
    "version: 1\n"
    "entrypoint: {command: [./train, --epochs, \"5\"]}\n"
    "device: cpu\n"
    "world_size: 4\n"
    "env: {A: one two, B: \"1\"}\n"
    "backends: {default: gloo}\n"
    "results: {fields: {loss: {type: number, max: 0.5}}}\n",
    /* shorthands, other order, blocks, comments, defaults stated */
    "# the same\n"
    "results:\n"
    "  fields:\n"
    "    loss:   # of the last epoch\n"
    "      max: 0.5\n"
    "      type: number\n"
    "  required: all\n"
    "backends: gloo\n"
    "env:\n"
    "  B: 1\n"
    "  'A': >-\n"
    "    one\n"
    "    two\n"
    "world_size: 4\n"
    "start_method: spawn\n"
    "device: \"cpu\"\n"
    "entrypoint: [./train, '--epochs', 5]\n"
    "version: 1\n",
    /* labels, and what is nothing */
    "version: 1\n"
    "name: other\n"
    "description: \"for people\"\n"
    "labels: {team: a}\n"
    "x-note: [1, {2: 3}]\n"
    "env_remove: []\n"
    "entrypoint: {command: [./train, --epochs, 5], args: []}\n"
    "device: cpu\n"
    "parallelism: {data: 4}\n"
    "env: {A: \"one two\", B: '1'}\n"
    "results: {fields: {loss: {type: number, max: 0.5}}, equal: []}\n",
    /* JSON is YAML; aliases are what they stand for */
    "{\"version\": 1, \"entrypoint\": [\"./train\", \"--epochs\", \"5\"],\n\"device\": \"cpu\", "
    "\"world_size\": 4,\n\"env\": {\"A\": &a \"one two\", \"B\": \"1\"}, \"x-a\": "
    "*a,\n\"results\": {\"fields\": {\"loss\": {\"type\": \"number\",\n\"max\": 0.5}}}}\n",
};

TEST(ignores_how_it_is_written)
{
    for (size_t i = 1; i < sizeof spellings / sizeof *spellings; i++) {
        bool equal = same(spellings[0], spellings[i]);
        if (!equal)
            printf("\n  spelling %zu", i);
        CU_ASSERT_TRUE(equal);
    }
}

/* A tree beneath a folder of its own. */
struct desk {
    struct scratch scratch;
    struct jr_arena arena;
    struct jr_diags diags;
    struct jr_doc doc;
};

/* A spec in which @ stands for the scratch folder. */
static struct jr_node *load_text(struct desk *desk, const char *text)
{
    JR_BUF_CLEANUP struct jr_buf spec = JR_BUF_INIT;
    jr_buf_replaced(&spec, text, "@", desk->scratch.dir);
    CU_ASSERT_EQUAL_FATAL(jr_doc_load(&desk->doc, "t", spec.data, spec.len, &desk->diags), 0);
    return desk->doc.root;
}

static void check_related(struct desk *desk, const struct jr_node *root, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf want = JR_BUF_INIT, got = JR_BUF_INIT;
    jr_buf_replaced(&want, expected, "@", desk->scratch.dir);
    jr_doc_emit(&got, root);
    JR_ASSERT_TEXT(got.data, want.data);
    jr_doc_release(&desk->doc);
}

static void end_desk(struct desk *desk)
{
    jr_diags_release(&desk->diags);
    jr_arena_release(&desk->arena);
    scratch_end(&desk->scratch);
}

/* A work tree that was cloned to another place is the same one. */
TEST(relates_paths_to_their_work_tree)
{
    struct desk desk = {0};
    scratch_start(&desk.scratch);
    CU_ASSERT_EQUAL(mkdirat(desk.scratch.fd, "tree", 0700), 0);
    CU_ASSERT_EQUAL(mkdirat(desk.scratch.fd, "tree/.git", 0700), 0);
    CU_ASSERT_EQUAL(mkdirat(desk.scratch.fd, "tree/jobs", 0700), 0);
    CU_ASSERT_EQUAL(mkdirat(desk.scratch.fd, "outside", 0700), 0);
    EACH_PAIR(
        given, wanted,
        "workdir: @/tree\n => workdir: ./\n|workdir: @/tree/jobs\n => workdir: ./jobs\n|workdir: "
        "@/tree/jobs/deep/er\n => workdir: ./jobs/deep/er\n|workdir: @/outside\n => workdir: "
        "@/outside\n|workdir: tree/jobs\n => workdir: tree/jobs\n|name: @/tree/jobs\n => name: "
        "@/tree/jobs\n|log_dir: @/tree/jobs\n => log_dir: @/tree/jobs\n|description: x\nworkdir: "
        "@/tree/a\n => description: x\nworkdir: ./a\n|workdir: @/tree/a\ndescription: x\n => "
        "workdir: ./a\ndescription: x\n|entrypoint:\n  python:\n    script: @/tree/jobs/train.py\n "
        "=> entrypoint:\n  python:\n    script: ./jobs/train.py\n|entrypoint:\n  library:\n    "
        "path: @/tree/l.so\n    symbol: s\n => entrypoint:\n  library:\n    path: ./l.so\n    "
        "symbol: s\n|entrypoint:\n  args: [@/tree/jobs]\n => entrypoint:\n  args: "
        "[@/tree/jobs]\n|x-own: @/tree/jobs\n => x-own: @/tree/jobs\n") {
        struct jr_node *root = load_text(&desk, given);
        jr_part_relate_paths(&desk.arena, root);
        check_related(&desk, root, wanted);
    }
    end_desk(&desk);
}
