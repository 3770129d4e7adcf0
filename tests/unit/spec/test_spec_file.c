/* Specs that are put together: from parents, --set, and what ${...} reads. */
#include "case.h"
#include "pages.h"

#define TEXT_OF(text) ((char[]){text})

static void open_with(struct spec_case *c, const char *text, const struct jr_spec_options *options)
{
    const struct jr_spec_source source = {
        .name = "train.jobrun.yaml", .folder = "/jobs", .text = text, .len = strlen(text)};
    *c = (struct spec_case){0};
    (void)jr_spec_load(&c->file, &source, options, &c->diags);
    case_list_found(c);
}

static const char *found(const struct spec_case *c)
{
    return c->found.data == NULL ? "" : c->found.data;
}

static char variable[] = "SECRET=hunter2", number[] = "N=4", home[] = "H=/h";
static char *environment[] = {variable, number, home, NULL};
static char *none[] = {NULL};

TEST(binds_what_comes_of_it)
{
    static const struct page pages[] = {
        {"base", "version: 1\nextends: root\nentrypoint: [./train, -v]\n"
                 "workdir: work\nlog_dir: logs\nworld_size: 8\n"},
        {"root", "template: true\nbackends: nccl\nvars: {n: 2}\n"
                 "threads: ${vars.n}\nenv: {A: 1, B: 2}\n"},
        {0},
    };
    char *const sets[] = {TEXT_OF("world_size=${env:N}"), TEXT_OF("log_dir=here"), NULL};
    const struct jr_reader reader = {read_page, pages};
    const struct jr_spec_options options = {
        .sets = sets, .reader = &reader, .environ = environment};
    struct spec_case c RELEASE(case_close);
    open_with(&c,
              "extends: base\nvars: {n: 3}\nbackends: {data: gloo}\n"
              "env: {B: null, C: \"${env:SECRET}\"}\n"
              "entrypoint: {args: [\"$${x}\"]}\n",
              &options);
    JR_ASSERT_TEXT(found(&c), "");
    const struct jr_spec *spec = case_spec(&c);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    JR_ASSERT_TEXT(spec->name, "train");
    JR_ASSERT_TEXT(spec->workdir, "/bases/work");
    JR_ASSERT_TEXT(spec->log_dir, "/jobs/here");
    CU_ASSERT_EQUAL(*spec->world_size, 4);
    CU_ASSERT_EQUAL(*spec->threads, 3);
    JR_ASSERT_TEXT(spec->backends.fallback, "nccl");
    JR_ASSERT_TEXT(spec->backends.data, "gloo");
    CU_ASSERT_EQUAL_FATAL(spec->entrypoint.argv_count, 3);
    JR_ASSERT_TEXT(spec->entrypoint.argv[2], "${x}");
    CU_ASSERT_EQUAL_FATAL(spec->env_count, 3);
    JR_ASSERT_TEXT(spec->env[0].value, "1");
    CU_ASSERT_PTR_NULL(spec->env[1].value);
    JR_ASSERT_TEXT(spec->env[2].value, "hunter2");
    struct jr_span span = jr_spec_where(c.file, "world_size");
    JR_ASSERT_TEXT(span.source->name, "--set");
    CU_ASSERT_EQUAL(span.column, 12);
    span = jr_spec_overridden(c.file, "world_size", 0);
    JR_ASSERT_TEXT(span.source->name, "base");
    CU_ASSERT_EQUAL(span.line, 6);
    CU_ASSERT_EQUAL(jr_spec_overridden(c.file, "world_size", 1).line, 0);
    CU_ASSERT_EQUAL(jr_spec_overridden(c.file, "nodes", 0).line, 0);
}

TEST(binds_per_rank)
{
    BODY_CASE(c, "per_rank:\n  0: {args: [a, 5]}\n"
                 "  2-8/2: {env: {A: 1, B: null, C: '\?\?\?'}}\n"
                 "  none: {}\n");
    JR_ASSERT_TEXT(found(&c), "");
    const struct jr_spec *spec = case_spec(&c);
    CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
    CU_ASSERT_EQUAL_FATAL(spec->per_rank_count, 3);
    const struct jr_rank_entry *entry = spec->per_rank;
    JR_ASSERT_TEXT(entry[0].ranks, "0");
    CU_ASSERT_EQUAL_FATAL(entry[0].args_count, 2);
    JR_ASSERT_TEXT(entry[0].args[1], "5");
    CU_ASSERT_EQUAL(entry[0].env_count, 0);
    JR_ASSERT_TEXT(entry[1].ranks, "2-8/2");
    CU_ASSERT_EQUAL_FATAL(entry[1].env_count, 3);
    JR_ASSERT_TEXT(entry[1].env[0].value, "1");
    CU_ASSERT_PTR_NULL(entry[1].env[1].value);
    CU_ASSERT_TRUE(entry[1].env[2].required);
    JR_ASSERT_TEXT(entry[2].ranks, "none");
}

TEST(refuses_per_rank)
{
    static const struct vector vectors[] = {
        {"per_rank: [a]", "JR0211@3:11 per_rank"},
        {"per_rank: {x: {}}", "JR0211@3:12 per_rank.x"},
        {"per_rank: {0: [a]}", "JR0211@3:15 per_rank.0"},
        {"per_rank: {0: {arg: [a]}}", "JR0203@3:16 per_rank.0.arg"},
        {"per_rank: {0: {args: a}}", "JR0211@3:22 per_rank.0.args"},
        {"per_rank: {0: {args: ['%{x}']}}", "JR0214@3:24 per_rank.0.args[0]"},
        {"per_rank: {0: {env: {'A=': 1}}}", "JR0219@3:22 per_rank.0.env.A="},
        {"per_rank: {0: {env: {WORLD_SIZE: 1}}}", "JR0207@3:22 per_rank.0.env.WORLD_SIZE"},
        {"per_rank: {0-3: {}, '2': {}}", "JR0218@3:21 per_rank.2"},
        {"per_rank: {0-3: {}, 1-9/2: {}, 4: {}}", "JR0218@3:21 per_rank.1-9/2"},
        {"per_rank: {all: {}, 4: {}}", "JR0218@3:12 per_rank.all"},
        {"per_rank: {0-4294967294/3: {}}", "JR0307@3:12 per_rank.0-4294967292/3"},
        {"per_rank: {all: {}}", ""},
        {"per_rank: {0-6/2: {}, 1-7/2: {}, none: {}}", ""},
        {"world_size: 2\nper_rank: {0: {}, 2: {}}", "JR0307@4:19 per_rank.2"},
        {"world_size: 2\nper_rank: {0: {}, 1: {}}", ""},
    };
    CHECK_VECTORS(vectors);
}

/* An entry for each of many ranks is no matter. */
TEST(takes_many_entries)
{
    struct jr_buf body JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_str(&body, "per_rank:\n");
    for (int i = 0; i < 20000; i++)
        jr_buf_printf(&body, "  %d: {}\n", i);
    jr_buf_str(&body, "  7-8: {}\n");
    BODY_CASE(c, body.data);
    JR_ASSERT_TEXT(found(&c), "JR0218@20004:3 per_rank.7-8");
}

/* What a lack means: the spec is good, but not here. */
TEST(tells_lack_from_mistake)
{
    static const struct {
        const char *body;
        enum jr_status status;
    } vectors[] = {
        {"", JR_STATUS_OK},
        {"vars: {a: '\?\?\?'}\n", JR_STATUS_UNRESOLVED},
        {"name: \?\?\?\n", JR_STATUS_UNRESOLVED},
        {"name: ${env:NO}\nworkdir: \?\?\?\n", JR_STATUS_UNRESOLVED},
        {"name: ${env:NO}\nnodes: 0\n", JR_STATUS_INVALID},
        {"name: ${env:NO}\ntemplate: true\n", JR_STATUS_INVALID},
        {"env: {A: '\?\?\?'}\n", JR_STATUS_OK},
    };
    const struct jr_spec_options options = {.environ = environment};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        struct spec_case c RELEASE(case_close);
        jr_buf_printf(&text, HEAD "%s", vectors[i].body);
        open_with(&c, text.data, &options);
        CU_ASSERT_EQUAL(c.diags.errors == 0 ? JR_STATUS_OK : jr_spec_status(&c.diags),
                        vectors[i].status);
    }
}

TEST(waives_for_templates)
{
    const struct jr_spec_options validate = {.validate = true};
    const struct jr_spec_options run = {0};
    struct spec_case c;
    open_with(&c, "template: true\nresults: {fields: {a: {min: 1}}}\n", &validate);
    JR_ASSERT_TEXT(found(&c), "");
    CU_ASSERT_PTR_NULL(case_spec(&c));
    case_close(&c);
    open_with(&c, "template: false\n", &validate);
    JR_ASSERT_TEXT(found(&c), "JR0201@1:1 version\nJR0201@1:1 entrypoint");
    case_close(&c);
    open_with(&c, "template: true\nnodes: 0\n", &run);
    JR_ASSERT_TEXT(found(&c), "JR0208@1:1 template\nJR0211@2:8 nodes");
    case_close(&c);
}

#define FIELDS_UNKNOWN                                                                             \
    "tee: all\nresults:\n  from: stdout\n  pattern: ${env:X}\n"                                    \
    "  equal: [a]\n  fields: {a: {type: \"${env:X}\", enum: [1]}}\n"

/* What nobody knows is judged by nothing. */
TEST(guesses)
{
    static const char *const bodies[] = {
        "name: ${env:X}\n",
        "world_size: ${env:X}\nparallelism: {model: 3}\n",
        "nodes: ${env:X}\nhosts: [a, b]\nlocal_world_size: [1, 1]\n",
        "hosts: [\"${env:X}\", b]\nnodes: 1\n",
        "device: cuda\nbackends: ${env:X}\n",
        "start_method: ${env:X}\n",
        "redirects: ${env:X}\ntee: ${env:X}\n",
        "results: {from: \"${env:X}\", pattern: x}\n",
        FIELDS_UNKNOWN,
        "env: {A: \"%{x${env:X}}\"}\n",
        "timeouts: {run: \"${env:X}\"}\noversubscribe: ${env:X}\n",
        "workdir: ${env:X}/%{nope}\n",
        "vars: {a: '\?\?\?'}\nthreads: ${vars.a}\n",
        "log_dir: \?\?\?\nresults: \?\?\?\n",
        "console: {ranks: \"${env:X}\"}\nworld_size: 2\n",
        "per_rank: {0: {args: [\"${env:X}\"]}}\n",
    };
    const struct jr_spec_options options = {
        .validate = true, .environ = environment, .allow_env = none};
    const struct jr_spec_options strict = {
        .validate = true, .strict = true, .environ = environment, .allow_env = none};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        struct spec_case c;
        jr_buf_printf(&text, HEAD "%s", bodies[i]);
        open_with(&c, text.data, &options);
        JR_ASSERT_TEXT(found(&c), "");
        CU_ASSERT_PTR_NOT_NULL(case_spec(&c));
        case_close(&c);
        open_with(&c, text.data, &strict);
        CU_ASSERT_TRUE(c.diags.errors > 0);
        CU_ASSERT_EQUAL(jr_spec_status(&c.diags), JR_STATUS_UNRESOLVED);
        case_close(&c);
    }
}

/* Whatever is wrong with a value, it is told without the value. */
TEST(keeps_values_out_of_messages)
{
#define ROW(name, word, help) JR_DIAG_##name,
    static const enum jr_diag_format formats[] = {JR_DIAG_FORMATS(ROW)};
    const struct jr_spec_options options = {.environ = environment};
    EACH_PART(part,
              "name: ${env:SECRET}/x\n|threads: ${env:SECRET}\n|threads: \"${env:SECRET}\"\n|"
              "oversubscribe: ${env:SECRET}\n|device: ${env:SECRET}\n|"
              "backends: {data: \"${env:SECRET}\"}\n|backends: ${env:SECRET}\n|"
              "devices: ${env:SECRET}\n|local_world_size: ${env:SECRET}\n|"
              "hosts: [\"${env:SECRET}!\"]\n|redirects: \"0:${env:SECRET}\"\n|"
              "redirects: {0: \"${env:SECRET}\"}\n|tee: ${env:SECRET}\n|"
              "timeouts: {run: \"${env:SECRET}\"}\n|console: {ranks: \"${env:SECRET}\"}\n|"
              "console: {prefix: \"%{${env:SECRET}}\"}\n|env: {A: \"%{${env:SECRET}}\"}\n|"
              "workdir: ~${env:SECRET}\n|results: {from: stdout, pattern: \"(${env:SECRET}\"}\n|"
              "results: {from: \"${env:SECRET}\"}\n|"
              "results: {fields: {a: {type: integer, enum: [\"${env:SECRET}\"]}}}\n|"
              "results: {fields: {a: {type: number, min: \"${env:SECRET}\"}}}\n|"
              "results: {fields: {a: {type: number}}, equal: [\"${env:SECRET}\"]}\n|"
              "results: {equal: [\"${env:SECRET}\", \"${env:SECRET}\"]}\n|"
              "per_rank: {0: {args: [\"%{${env:SECRET}}\"]}}\n|description: ${env:SECRET}${no}\n|"
              "vars: {a: \"${env:SECRET}\"}\nthreads: ${vars.a}\n") {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        struct spec_case c RELEASE(case_close);
        jr_buf_printf(&text, HEAD "%s", part);
        open_with(&c, text.data, &options);
        if (c.diags.errors == 0)
            printf("\n  %s", part);
        CU_ASSERT_TRUE(c.diags.errors > 0);
        for (size_t j = 0; j < sizeof formats / sizeof *formats; j++) {
            struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
            jr_diags_render(&out, &c.diags, formats[j], false);
            CU_ASSERT_PTR_NULL(strstr(out.data, "hunter"));
        }
        for (size_t j = 0; j < c.diags.count; j++)
            CU_ASSERT_PTR_NULL(c.diags.items[j].fix);
    }
}

/* Pieces of specs that go together in any choice, in any order of files. */
static const char *const pieces[] = {
    "labels: {a: 1, b: \"${vars.n}\"}\n",
    "labels: {a: null, c: x}\n",
    "vars: {n: 2, s: \"$${x}\"}\n",
    "vars: {n: 3}\n",
    "entrypoint: {command: [a, \"${vars.n}\"], args: [b]}\n",
    "entrypoint: {args: [\"$${y}\", '%{rank}']}\n",
    "entrypoint: [c, \"${vars.s}\"]\n",
    "entrypoint: {shell: 'x ${HOME} $${y}'}\n",
    "env: {A: 1, B: null}\n",
    "env: {A: null, C: \"${env:H}\"}\n",
    "backends: gloo\n",
    "backends: {data: mpi}\n",
    "backends: null\n",
    "redirects: {0: all}\n",
    "redirects: \"1:err\"\n",
    "timeouts: {run: \"${vars.n}m\", stop_grace: 5s}\n",
    "timeouts: {run: null}\n",
    "results: {fields: {x: {type: number, max: 1}}}\n",
    "results: {fields: {x: {type: integer}, y: {type: string}}}\n",
    "per_rank: {0: {args: [a]}}\n",
    "per_rank: {0: {env: {B: 1}}, 1-3: {}}\n",
    "workdir: w/${vars.n}\n",
    "log_dir: ${env:H}/l\n",
    "hosts: [a, b]\n",
    "hosts: null\n",
    "world_size: auto\n",
    "threads: ${vars.n}\n",
    "description: \"a: ${vars.s} $$ $${\"\n",
    "name: job\n",
};
enum { PIECES = sizeof pieces / sizeof *pieces };

static void choose(struct jr_buf *out, uint32_t *seed, const char *head)
{
    uint64_t taken = 0;
    jr_buf_str(out, head);
    for (int i = 0; i < 6; i++) {
        *seed = *seed * 1664525 + 1013904223;
        size_t at = (*seed >> 8) % PIECES;
        size_t key = strcspn(pieces[at], ":");
        bool twice = false;
        for (size_t j = 0; j < PIECES; j++)
            twice =
                twice || ((taken >> j & 1) != 0 && strncmp(pieces[j], pieces[at], key + 1) == 0);
        if (twice)
            continue;
        taken |= UINT64_C(1) << at;
        jr_buf_str(out, pieces[at]);
    }
}

/* What was put together, written down, and read, is the same tree; and it is whole in itself. */
TEST(emits_what_it_read)
{
    uint32_t seed = 1;
    unsigned good = 0;
    for (int round = 0; round < 3000; round++) {
        struct jr_buf texts[4] = {0};
        choose(&texts[0], &seed, "version: 1\nextends: c\n");
        jr_buf_str(&texts[0],
                   strstr(texts[0].data, "\nentrypoint") != NULL ? "" : "entrypoint: [z]\n");
        choose(&texts[1], &seed, "extends: a\n");
        choose(&texts[2], &seed, "extends: [b, a]\n");
        const struct page pages[] = {
            {"a", texts[0].data}, {"b", texts[1].data}, {"c", "vars: {n: 1, s: s}\n"}, {0}};
        const struct jr_reader reader = {read_page, pages};
        const struct jr_spec_options options = {.reader = &reader, .environ = environment};
        const struct jr_spec_options alone = {0};
        struct spec_case one, two;
        open_with(&one, texts[2].data, &options);
        if (one.diags.errors == 0) {
            jr_spec_emit(&texts[3], one.file);
            open_with(&two, texts[3].data, &alone);
            JR_ASSERT_TEXT(found(&two), "");
            struct jr_buf again JR_BUF_CLEANUP = JR_BUF_INIT;
            if (two.diags.errors == 0)
                jr_spec_emit(&again, two.file);
            JR_ASSERT_TEXT(again.data, texts[3].data);
            case_close(&two);
            good++;
        }
        case_close(&one);
        for (int i = 0; i < 4; i++)
            jr_buf_release(&texts[i]);
    }
    CU_ASSERT_TRUE(good > 300);
}

/* Arguments of a command are what they are. */
TEST(keeps_dollars_of_commands)
{
    char *const argv[] = {TEXT_OF("echo"), TEXT_OF("${vars.x}"), TEXT_OF("$${y}"),
                          TEXT_OF("$"),    TEXT_OF("${env:H}"),  NULL};
    char *const sets[] = {TEXT_OF("name=a"), TEXT_OF("entrypoint[4]=${env:H}"), NULL};
    const struct jr_spec_source source = {.argv = argv, .ranks = 2};
    const struct jr_spec_options options = {.sets = sets, .environ = environment};
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    CU_ASSERT_EQUAL_FATAL(jr_spec_load(&file, &source, &options, &diags), 0);
    const struct jr_spec *spec = jr_spec_get(file);
    JR_ASSERT_TEXT(spec->name, "a");
    for (size_t i = 0; i < 4; i++)
        JR_ASSERT_TEXT(spec->entrypoint.argv[i], argv[i]);
    JR_ASSERT_TEXT(spec->entrypoint.argv[4], "/h");
    jr_spec_free(file);
}
