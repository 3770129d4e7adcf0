/* Where specs come from, and what they remember of it. */
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "case.h"
#include "spec/internal.h"

#define TEXT(text)    ((char[]){text})
#define LENGTH(array) (sizeof(array) / sizeof *(array))

static int load_file(struct jr_spec_file **ret, const char *path, struct jr_diags *diags)
{
    const struct jr_spec_options options = {0};
    const struct jr_spec_source source = {.path = path};
    return jr_spec_load(ret, &source, &options, diags);
}

static int load_command(struct jr_spec_file **ret, uint32_t n, char *const *argv,
                        struct jr_diags *diags)
{
    const struct jr_spec_options options = {0};
    const struct jr_spec_source source = {.argv = argv, .ranks = n};
    return jr_spec_load(ret, &source, &options, diags);
}

TEST(implies_a_spec_for_a_command)
{
    char *const argv[] = {TEXT("/usr/bin/my prog"),
                          TEXT("${HOME}"),
                          TEXT("%{rank}"),
                          TEXT("yes"),
                          TEXT(""),
                          TEXT("a\nb: c"),
                          NULL};
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    CU_ASSERT_EQUAL_FATAL(load_command(&file, 4, argv, &diags), 0);
    const struct jr_spec *spec = jr_spec_get(file);
    JR_ASSERT_TEXT(spec->name, "my-prog");
    CU_ASSERT_EQUAL(*spec->world_size, 4);
    CU_ASSERT_EQUAL(spec->entrypoint.form, JR_FORM_COMMAND);
    CU_ASSERT_EQUAL_FATAL(spec->entrypoint.argv_count, 6);
    for (size_t i = 0; i < 6; i++)
        JR_ASSERT_TEXT(spec->entrypoint.argv[i], argv[i]);
    char *here = getcwd(NULL, 0);
    JR_ASSERT_TEXT(spec->workdir, here);
    free(here);
    jr_spec_free(file);
}

/* A command's words are judged like a spec's, and quoted as they were typed:
 * nobody has seen the spec that they imply. */
TEST(judges_a_command)
{
    char *const argv[] = {TEXT("prog"), TEXT("a\nb c"), TEXT("x %{rnk}"), NULL};
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    CU_ASSERT_EQUAL(load_command(&file, 1, argv, &diags), -1);
    CU_ASSERT_EQUAL(diags.errors, 1);
    jr_diags_render(&out, &diags, JR_DIAG_HUMAN, false);
    JR_ASSERT_TEXT(out.data,
                   "command:9: error[JR0214]: unknown per-rank template 'rnk'\n     | b "
                   "c' 'x %{rnk}'\n     |         ^^^^^^ help: did you mean '%{rank}'?\n");
    jr_spec_free(file);
}

/* The number and the words, from which positions are told later, too. */
TEST(places_a_command)
{
    char *const argv[] = {TEXT("prog"), TEXT("--lr"), TEXT("${x}"), NULL};
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    CU_ASSERT_EQUAL_FATAL(load_command(&file, 12, argv, &diags), 0);
    struct jr_span span = jr_spec_where(file, "world_size");
    JR_ASSERT_TEXT(span.source->name, "-n");
    CU_ASSERT_EQUAL(span.end_column, 3);
    span = jr_spec_where(file, "entrypoint.command");
    JR_ASSERT_TEXT(span.source->text, "prog --lr ${x}");
    CU_ASSERT_EQUAL(span.column, 1);
    CU_ASSERT_EQUAL(span.end_column, 15);
    CU_ASSERT_EQUAL(jr_spec_where(file, "version").line, 0);
    jr_spec_free(file);
}

TEST(reads_a_file_beside_its_folder)
{
    char folder[] = "/tmp/jobrun-spec-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    char path[64], here[PATH_MAX], logs[PATH_MAX + 8];
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(here, sizeof here));
    (void)snprintf(path, sizeof path, "%s/job.yaml", folder);
    (void)snprintf(logs, sizeof logs, "%s/runs", here);
    FILE *stream = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    CU_ASSERT_TRUE(fputs(HEAD, stream) >= 0 && fclose(stream) == 0);
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    CU_ASSERT_EQUAL_FATAL(load_file(&file, path, &diags), 0);
    JR_ASSERT_TEXT(jr_spec_get(file)->workdir, folder);
    JR_ASSERT_TEXT(jr_spec_get(file)->log_dir, logs);
    JR_ASSERT_TEXT(jr_spec_doc(file)->source->name, path);
    jr_diags_release(&diags);
    jr_spec_free(file);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

TEST(remembers_where_values_stood)
{
    static const struct {
        const char *path;
        uint32_t line, column;
    } vectors[] = {
        {"world_size", 3, 13},         {"parallelism.model", 5, 10},
        {"backends.default", 6, 11},   {"hosts[1]", 7, 11},
        {"redirects", 8, 12},          {"timeouts.run", 9, 17},
        {"entrypoint.command", 2, 13}, {"nodes", 0, 0},
        {"parallelism.data", 0, 0},    {"no.such", 0, 0},
    };
    BODY_CASE(c, "world_size: 4\nparallelism:\n  model: 2\n"
                 "backends: gloo\nhosts: [a,b]\nredirects: 0:3\n"
                 "timeouts: {run: 90s}\nnode_rank: 1\n");
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_span span = jr_spec_where(c.file, vectors[i].path);
        CU_ASSERT_EQUAL(span.line, vectors[i].line);
        CU_ASSERT_EQUAL(span.column, vectors[i].column);
    }
}

/* The normal form is a spec of the same normal form. */
TEST(normal_form_is_stable)
{
    struct spec_case first, second;
    struct jr_buf JR_BUF_CLEANUP once = JR_BUF_INIT, twice = JR_BUF_INIT;
    case_open_body(&first, "backends: gloo\nredirects: 4-9/3:3\n"
                           "timeouts: {run: 90m}\nname: 5\nworkdir: a/../b\n"
                           "env: {A: yes, B: ~, C: '\?\?\?'}\n");
    CU_ASSERT_EQUAL(first.diags.count, 0);
    jr_doc_emit(&once, jr_spec_tree(first.file));
    case_open(&second, once.data);
    CU_ASSERT_EQUAL(second.diags.count, 0);
    jr_doc_emit(&twice, jr_spec_tree(second.file));
    JR_ASSERT_TEXT(twice.data, once.data);
    CU_ASSERT_PTR_NOT_NULL(strstr(once.data, "workdir: /jobs/b\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(once.data, "run: 1h30m\n"));
    CU_ASSERT_PTR_NULL(strstr(once.data, "log_dir"));
    case_close(&first);
    case_close(&second);
}

/* A path that begins with a folder of the run is relative to nothing. */
TEST(leaves_folders_of_the_run_alone)
{
    static const char *const vectors[][2] = {
        {"'%{rank_dir}'", "%{rank_dir}"},
        {"'%{run_dir}/../%{rank}'", "%{run_dir}/../%{rank}"},
        {"'%%{rank_dir}'", "/jobs/%%{rank_dir}"},
        {"'x%{rank_dir}'", "/jobs/x%{rank_dir}"},
        {"'%{rank}'", "/jobs/%{rank}"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char body[64];
        (void)snprintf(body, sizeof body, "workdir: %s\n", vectors[i][0]);
        BODY_CASE(test, body);
        CU_ASSERT_EQUAL(test.diags.count, 0);
        JR_ASSERT_TEXT(jr_spec_get(test.file)->workdir, vectors[i][1]);
    }
}

TEST(binds_when_it_is_asked_to)
{
    static const char template[] = HEAD "template: true\n";
    const struct jr_spec_options options = {.validate = true, .unbound = true};
    struct jr_spec_source source = {
        .name = "train.jobrun.yaml", .folder = "/jobs", .text = HEAD, .len = strlen(HEAD)};
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_spec_file *file;
    CU_ASSERT_EQUAL(jr_spec_load(&file, &source, &options, &diags), 0);
    CU_ASSERT_PTR_NULL(jr_spec_get(file));
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(jr_spec_bind(file, &diags), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(jr_spec_get(file));
    JR_ASSERT_TEXT(jr_spec_get(file)->name, "train");
    JR_ASSERT_TEXT(jr_spec_get(file)->workdir, "/jobs");
    JR_ASSERT_TEXT(jr_spec_get(file)->log_dir, "/jobs/runs");
    jr_spec_free(file);

    source.text = template;
    source.len = strlen(template);
    CU_ASSERT_EQUAL(jr_spec_load(&file, &source, &options, &diags), 0);
    CU_ASSERT_EQUAL(jr_spec_bind(file, &diags), 0);
    CU_ASSERT_PTR_NULL(jr_spec_get(file));
    CU_ASSERT_EQUAL(diags.count, 0);
    jr_spec_free(file);
}

TEST(frees_nothing)
{
    jr_spec_free(NULL);
    CU_PASS("freed");
}

TEST(names_a_job_after_its_file)
{
    static const char *const rows[][2] = {
        {"", "job"},
        {"/", "job"},
        {".yaml", "xyaml"},
        {".jobrun.yaml", "xjobrun"},
        {"dir/.yml", "xyml"},
        {"train.yaml", "train"},
        {"train.yml", "train"},
        {"train.jobrun.yaml", "train"},
        {"train.jobrun.yml", "train"},
        {"train.jobrun", "train"},
        {"train.json", "train.json"},
        {"train.yaml.bak", "train.yaml.bak"},
        {"train.yml.yaml", "train"},
        {"train.yaml.yml", "train.yaml"},
        {"a/b.c/train.v2.yaml", "train.v2"},
        {"/abs/olute", "olute"},
        {"dir/", "job"},
        /* stand-ins for what no name may hold */
        {"my job.yaml", "my-job"},
        {"a+b,c.yaml", "a-b-c"},
        {"_x.yaml", "xx"},
        {"-x", "xx"},
        {".hidden", "xhidden"},
        {"a.b_c-d.yaml", "a.b_c-d"},
        {"9a", "9a"},
        {"\xc3\xa9t\xc3\xa9.yaml", "x-t--"},
        {"a\nb", "a-b"},
        /* at most 63 bytes */
        {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff123.yaml",
         "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff123"},
        {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff1234",
         "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff123"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        JR_ASSERT_TEXT(jr_spec_stem(&arena, rows[i][0]), rows[i][1]);
    }
}

TEST(writes_the_spec_of_a_command)
{
    static const struct {
        uint32_t ranks;
        const char *words[5], *expected;
    } rows[] = {
        {0, {"./train"}, "version: 1\nname: train\nentrypoint: [./train]\n"},
        {4,
         {"/bin/echo", "a b", "", "5"},
         "version: 1\nname: echo\nentrypoint: [/bin/echo, a b, \"\", \"5\"]\n"
         "world_size: 4\n"},
        /* words that a reader of specs would fill in are kept from it */
        {1,
         {"a", "${vars.x}", "%{rank}", "$$", "%%"},
         "version: 1\nname: a\nentrypoint: [a, \"$${vars.x}\", \"%{rank}\", $$, "
         "\"%%\"]\nworld_size: 1\n"},
        {4294967295u,
         {"sh", "-c", "exit 1"},
         "version: 1\nname: sh\nentrypoint: [sh, -c, exit 1]\n"
         "world_size: 4294967295\n"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        char *argv[LENGTH(rows[i].words) + 1] = {NULL};
        for (size_t k = 0; k < 5 && rows[i].words[k] != NULL; k++)
            argv[k] = jr_arena_strdup(&arena, rows[i].words[k]);
        jr_spec_write_command(&out, &arena, rows[i].ranks, argv);
        JR_ASSERT_TEXT(out.data, rows[i].expected);
    }
}
