/* What people are told about fields. */
#include "base/buf.h"
#include "diag/diag.h"
#include "doc/source_reader.h"
#include "spec/field.h"
#include "spec/foreign.h"
#include "spec/load.h"
#include "spec/manual.h"
#include "unit.h"

#define QUESTION_MARKS                                                                             \
    "?"                                                                                            \
    "?"                                                                                            \
    "?"

/* Calls `check` with every row of the table. */
static void each_field(void (*check)(const struct jr_spec_field *row))
{
    size_t count;
    const struct jr_spec_group *groups = jr_field_groups(&count);
    for (size_t i = 0; i < count; i++)
        for (const struct jr_spec_field *row = groups[i].fields; row->key; row++)
            check(row);
}

TEST(paths_lead_back)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    const char **paths = jr_field_paths(&arena);
    CU_ASSERT_PTR_NOT_NULL_FATAL(paths);
    JR_ASSERT_TEXT(paths[0], "version");
    size_t count = 0;
    for (; paths[count] != NULL; count++) {
        struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
        const struct jr_spec_field *field = jr_field_find(paths[count]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(field);
        jr_field_path(&path, field);
        JR_ASSERT_TEXT(path.data, paths[count]);
    }
    CU_ASSERT_TRUE(count > 80);
    JR_ASSERT_TEXT(paths[count - 1], "results.fields.*.required");
}

static void check_note(const struct jr_spec_field *row)
{
    const struct jr_field_note *note = jr_field_note(row);
    if (note == NULL || strstr(note->example, row->key) == NULL)
        printf("\n    no example for '%s' in manual.c\n", row->key);
    CU_ASSERT_PTR_NOT_NULL_FATAL(note);
    CU_ASSERT_PTR_NOT_NULL(strstr(note->example, row->key));
}

TEST(every_field_has_an_example)
{
    each_field(check_note);
}

/* Any file that an example refers to. */
static int read_nothing(const struct jr_reader *reader, struct jr_reading *reading,
                        struct jr_error *err)
{
    (void)reader;
    (void)err;
    jr_buf_str(&reading->text, "description: a file\n");
    reading->file = (struct jr_file){"base", "base", "/"};
    return 0;
}

/* The example as a whole spec: what it leaves out is put before it. */
static void check_example(const struct jr_spec_field *row)
{
    const struct jr_field_note *note = jr_field_note(row);
    if (note == NULL || row->since == NULL)
        return;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    bool version = strncmp(note->example, "version", 7) == 0;
    bool entry = strncmp(note->example, "entrypoint", 10) == 0;
    jr_buf_printf(&text, "%s%s%s\n", version ? "" : "version: 1\n",
                  entry ? "" : "entrypoint: [./train]\n", note->example);
    const struct jr_reader reader = {read_nothing, NULL};
    const struct jr_spec_source source = {
        .name = "example", .folder = "/", .text = text.data, .len = text.len};
    const struct jr_spec_options options = {.reader = &reader, .validate = true};
    int status = jr_spec_load(&file, &source, &options, &diags);
    if (status != 0) {
        jr_buf_clear(&text);
        jr_diags_render(&text, &diags, JR_DIAG_HUMAN, false);
        printf("\n%s", text.data);
    }
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(diags.warnings, 0);
    jr_spec_free(file);
}

TEST(examples_are_good_specs)
{
    each_field(check_example);
}

TEST(sections_are_in_order)
{
    size_t count, seen = 0;
    const struct jr_field_section *sections = jr_field_sections(&count);
    const struct jr_spec_field *row = jr_field_root()->fields;
    CU_ASSERT_PTR_EQUAL(jr_field_section_at(row), &sections[0]);
    for (; row->key != NULL; row++)
        if (jr_field_section_at(row) != NULL)
            CU_ASSERT_PTR_EQUAL(jr_field_section_at(row), &sections[seen++]);
    CU_ASSERT_EQUAL(seen, count);
    row = jr_field_find("results.fields.x.type");
    CU_ASSERT_PTR_NULL(jr_field_section_at(row));
}

/* All that is said of a field. */
static const char *explained(struct jr_buf *out, const char *path)
{
    jr_buf_clear(out);
    jr_field_explain(out, jr_field_find(path));
    return out->failed ? NULL : out->data;
}

TEST(explains_a_field)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    JR_ASSERT_TEXT(explained(&out, "threads"),
                   "threads: OMP_NUM_THREADS of the ranks\n\n"
                   "  accepts     an integer of at least 1\n"
                   "  unit        threads\n"
                   "  MISSING     (absent, null, auto or " QUESTION_MARKS
                   ") OMP_NUM_THREADS, else physical cores /\n"
                   "              local ranks\n"
                   "  elsewhere   cpus, cpus_per_task, "
                   "num_cpu_threads_per_process, omp_num_threads\n"
                   "  since       jobrun 0.1\n\n"
                   "The value is limited by the CPU quota, and is at least 1.\n\n"
                   "example:\n"
                   "  threads: 4\n");
}

/* Parts of what is told: path, and what must or ("!") must not be there. */
static const char *const parts[][2] = {
    {"start_method", "\n  default     spawn\n"},
    {"start_method", "!without it"},
    {"start_method", "\nwords:\n  spawn                a fresh process"},
    {"workdir", "\n  default     .\n  without it  the spec's folder\n"},
    {"workdir", "; per-rank templates such as %{rank} are replaced\n"},
    {"name", "\n  without it  the file's name"},
    {"name", "!MISSING"},
    {"timeouts.stop_grace", "!unit"},
    {"env_profiles", "\n  without it  [torch]\n"},
    {"env_profiles", "\n  mpi                  what Open MPI and MPICH set"},
    {"engine", "\n  mpi                  which MPI starts the ranks"},
    {"restart", "\n  never                causes that end the run"},
    {"signals", "\nexample:\n  signals: {USR1: forward"},
    {"limits.stack", "\n  accepts     bytes, a size"},
    {"parallelism", "\nfields:\n  model                the size"},
    {"results", "\n  fields               the fields"},
    {"results", "\n    min                the smallest"},
    {"results.fields.loss.min", "results.fields.*.min: the smallest"},
    {"results", "\nexample:\n  results:\n    fields:\n"},
};

TEST(explains_what_matters)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool absent = parts[i][1][0] == '!';
        const char *text = explained(&out, parts[i][0]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        bool found = strstr(text, parts[i][1] + absent) != NULL;
        if (found == absent)
            printf("\n    '%s' in\n%s", parts[i][1], text);
        CU_ASSERT_NOT_EQUAL(found, absent);
    }
}

static void check_lines(const struct jr_buf *text)
{
    CU_ASSERT_PTR_NOT_NULL_FATAL(text->data);
    for (const char *line = text->data; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        if (len > JR_BUF_WIDTH)
            printf("\n    too wide: %.*s\n", (int)len, line);
        CU_ASSERT_TRUE(len <= JR_BUF_WIDTH);
        CU_ASSERT_TRUE(len == 0 || line[len - 1] != ' ');
        CU_ASSERT_EQUAL_FATAL(line[len], '\n');
        line += len + 1;
    }
}

static void check_width(const struct jr_spec_field *row)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_field_explain(&out, row);
    check_lines(&out);
}

TEST(fits_a_terminal)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    each_field(check_width);
    jr_field_list(&out);
    check_lines(&out);
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\n\nThe mesh\n  parallelism          the mesh"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "\n    pipeline           the "));
}

TEST(tells_what_others_call_it)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_foreign_names(&out, "version");
    CU_ASSERT_EQUAL(out.len, 0);
    jr_foreign_names(&out, "backends");
    JR_ASSERT_TEXT(out.data, "backend");
    jr_foreign_names(&out, "start_method");
    JR_ASSERT_TEXT(out.data, "backendlaunch_method, mp_start_method");
}
