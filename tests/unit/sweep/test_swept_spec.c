/* The spec of each cell: its values in their places, and what it is read from. */
#include "doc/source_reader.h"
#include "scratch.h"
#include "sweep/swept_spec.h"
#include "swept.h"

static void load_cell(struct swept *s, size_t i, struct jr_spec_file **ret)
{
    CU_ASSERT_EQUAL_FATAL(jr_swept_spec_load(ret, &s->spec, i, &s->diags), 0);
}

TEST(put_values_in_their_places)
{
    struct jr_spec_file *cell = NULL;
    SWEPT(s,
          "world_size: 8\nsweep:\n  axes: {vars.lr: [1, \"${vars.seed}0\"], world_size: [2, 4]}\n",
          NULL);
    load_cell(&s, 3, &cell);
    const struct jr_spec *spec = jr_spec_get(cell);
    CU_ASSERT_EQUAL(*spec->world_size, 4);
    JR_ASSERT_TEXT(spec->entrypoint.argv[1], "00");
    CU_ASSERT_PTR_NULL(jr_doc_get(jr_spec_tree(cell), "sweep"));
    const struct jr_span at = jr_spec_where(cell, "world_size");
    CU_ASSERT_EQUAL(at.line, 6);
    jr_spec_free(cell);
}

/* The hosts of a cell are those that its sweep has, and not where it runs. */
TEST(have_the_hosts_of_the_sweep)
{
    struct jr_spec_file *cell = NULL;
    SWEPT(s, "hosts: [a, b]\nengine: {ssh: {}}\nsweep: {axes: {vars.lr: [1, 2]}}\n", NULL);
    load_cell(&s, 1, &cell);
    CU_ASSERT_TRUE(jr_spec_pools_hosts(cell));
    jr_spec_free(cell);
}

TEST(know_the_number_of_the_cell)
{
    struct jr_spec_file *cell = NULL;
    SWEPT(s, "env: {C: \"%{cell}\", S: \"%{sweep_id}\"}\nsweep: {axes: {vars.lr: [1, 2]}}\n", NULL);
    load_cell(&s, 0, &cell);
    jr_spec_free(cell);
}

TEST(point_at_the_value_that_is_wrong)
{
    struct jr_spec_file *cell = NULL;
    SWEPT(s, "sweep: {axes: {threads: [1, x]}}\n", NULL);
    CU_ASSERT_EQUAL(jr_swept_spec_load(&cell, &s.spec, 1, &s.diags), -1);
    CU_ASSERT_EQUAL(s.diags.errors, 1);
    CU_ASSERT_EQUAL(s.diags.items[0].span.line, 4);
    CU_ASSERT_EQUAL(s.diags.items[0].span.column, 29);
    jr_diags_release(&s.diags);
    jr_spec_free(cell);
}

/* Parents, of which each reading is counted. */
struct pages {
    int read;
};

static int read_page(const struct jr_reader *reader, struct jr_reading *reading,
                     struct jr_error *err)
{
    union {
        const void *given;
        struct pages *pages;
    } context = {reader->context};
    context.pages->read++;
    if (strcmp(reading->path, "gone.yaml") == 0)
        return jr_error_set(err, JR_STATUS_INVALID, "there is none");
    jr_buf_printf(&reading->text, "env: {FROM: %s}\n", reading->path);
    reading->file = (struct jr_file){reading->path, reading->path, "/jobs"};
    return 0;
}

TEST(take_other_parents_and_read_each_once)
{
    static const char text[] = "version: 1\nentrypoint: [./t]\nextends: {base: a.yaml}\n"
                               "sweep: {axes: {extends.base: [b.yaml, gone.yaml, b2.yaml]}}\n";
    struct pages pages = {0};
    const struct jr_reader reader = {read_page, &pages};
    const struct jr_spec_source source = {
        .name = "s.jobrun.yaml", .folder = "/jobs", .text = text, .len = sizeof text - 1};
    const struct jr_spec_options options = {.sweeps = true, .reader = &reader};
    const struct jr_swept_words words = {&source, &options, NULL};
    struct jr_spec_file *file = NULL, *cell = NULL;
    struct swept s RELEASE(swept_close) = {0};
    CU_ASSERT_EQUAL_FATAL(jr_spec_load(&file, &source, &options, &s.diags), 0);
    CU_ASSERT_EQUAL_FATAL(jr_swept_spec_open(&s.spec, file, &words, &s.diags), 0);
    s.spec.files = reader;
    jr_cached_reader_init(&s.spec);
    s.spec.options.reader = &s.spec.reader;
    pages.read = 0;
    for (int i = 0; i < 3; i++) {
        load_cell(&s, 0, &cell);
        JR_ASSERT_TEXT(jr_spec_get(cell)->env[0].value, "b.yaml");
        jr_spec_free(cell);
    }
    CU_ASSERT_EQUAL(pages.read, 1);
    CU_ASSERT_EQUAL(jr_swept_spec_load(&cell, &s.spec, 1, &s.diags), -1);
    CU_ASSERT_EQUAL(s.diags.items[0].span.line, 4);
    jr_diags_release(&s.diags);
    jr_spec_free(cell);
}

/* One path in two folders, or in files of another name, is two files. */
static int read_place(const struct jr_reader *reader, struct jr_reading *reading,
                      struct jr_error *err)
{
    union {
        const void *given;
        struct pages *pages;
    } context = {reader->context};
    (void)err;
    context.pages->read++;
    jr_buf_printf(&reading->text, "%s/%s: %s", reading->from->folder, reading->from->name,
                  reading->path);
    reading->file = (struct jr_file){"id", "its name", "/its/folder"};
    return 0;
}

TEST(know_files_by_who_names_them)
{
    static const struct {
        struct jr_file from;
        const char *path, *text;
    } vectors[] = {{{NULL, "a", "/jobs"}, "b.yaml", "/jobs/a: b.yaml"},
                   {{NULL, "a", "/jobs"}, "a.yaml", "/jobs/a: a.yaml"},
                   {{NULL, "a", "/more"}, "b.yaml", "/more/a: b.yaml"},
                   {{NULL, "c", "/jobs"}, "b.yaml", "/jobs/c: b.yaml"}};
    struct pages pages = {0};
    SWEPT(s, "sweep: {axes: {vars.lr: [1, 2]}}\n", NULL);
    s.spec.files = (struct jr_reader){read_place, &pages};
    jr_cached_reader_init(&s.spec);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
            struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
            struct jr_reading reading = {
                .path = vectors[i].path, .from = &vectors[i].from, .arena = &arena};
            CU_ASSERT_EQUAL_FATAL(s.spec.reader.read(&s.spec.reader, &reading, NULL), 0);
            JR_ASSERT_TEXT(reading.text.data, vectors[i].text);
            JR_ASSERT_TEXT(reading.file.id, "id");
            JR_ASSERT_TEXT(reading.file.name, "its name");
            JR_ASSERT_TEXT(reading.file.folder, "/its/folder");
            jr_buf_release(&reading.text);
        }
    CU_ASSERT_EQUAL(pages.read, 4);
}

/* A spec that is a file is read once, and what --set says of paths is relative to where we are. */
TEST(are_of_the_file_as_it_was_read)
{
    char *const sets[] = {(char[]){"log_dir=runs"}, NULL};
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_spec_file *file = NULL, *cell = NULL;
    struct swept s RELEASE(swept_close) = {0};
    SCRATCH(scratch);
    scratch_write(&scratch, "s.jobrun.yaml",
                  "version: 1\nentrypoint: [./t]\nenv: {FROM: first}\n"
                  "sweep: {axes: {threads: [1, 2]}}\n");
    jr_buf_printf(&path, "%s/s.jobrun.yaml", scratch.dir);
    const struct jr_spec_source source = {.path = path.data};
    const struct jr_spec_options options = {.sweeps = true, .sets = sets};
    const struct jr_swept_words words = {&source, &options, NULL};
    CU_ASSERT_EQUAL_FATAL(jr_spec_load(&file, &source, &options, &s.diags), 0);
    CU_ASSERT_EQUAL_FATAL(jr_swept_spec_open(&s.spec, file, &words, &s.diags), 0);
    scratch_write(&scratch, "s.jobrun.yaml", "version: 2\n");
    load_cell(&s, 1, &cell);
    CU_ASSERT_EQUAL(*jr_spec_get(cell)->threads, 2);
    JR_ASSERT_TEXT(jr_spec_get(cell)->env[0].value, "first");
    char *here = jr_spec_folder(NULL);
    jr_buf_clear(&path);
    jr_buf_printf(&path, "%s/runs", here);
    JR_ASSERT_TEXT(jr_spec_get(cell)->log_dir, path.data);
    JR_ASSERT_TEXT(jr_spec_folder_of(cell), scratch.dir);
    free(here);
    jr_spec_free(cell);
}

/* A command line may be swept, too. */
TEST(are_of_a_command_line)
{
    char *const argv[] = {(char[]){"./t"}, (char[]){"--fast"}, NULL};
    char *const sweeps[] = {(char[]){"threads=1,2"}, NULL};
    const struct jr_spec_source source = {.argv = argv, .ranks = 3};
    const struct jr_spec_options options = {.sweeps = true, .swept = true};
    const struct jr_swept_words words = {&source, &options, sweeps};
    struct jr_spec_file *file = NULL, *cell = NULL;
    struct swept s RELEASE(swept_close) = {0};
    CU_ASSERT_EQUAL_FATAL(jr_spec_load(&file, &source, &options, &s.diags), 0);
    CU_ASSERT_EQUAL_FATAL(jr_swept_spec_open(&s.spec, file, &words, &s.diags), 0);
    load_cell(&s, 1, &cell);
    CU_ASSERT_EQUAL(*jr_spec_get(cell)->threads, 2);
    CU_ASSERT_EQUAL(*jr_spec_get(cell)->world_size, 3);
    JR_ASSERT_TEXT(jr_spec_get(cell)->entrypoint.argv[1], "--fast");
    jr_spec_free(cell);
}

/* Open a sweep that extends a spec in `folder`. */
static void open_extending(struct swept *s, const char *folder, const struct jr_reader *reader)
{
    static const char text[] = "version: 1\nentrypoint: [./t]\nvars: {n: 0}\nextends: base.yaml\n"
                               "sweep: {axes: {vars.n: [1, 2]}}\n";
    const struct jr_spec_source source = {
        .name = "s.jobrun.yaml", .folder = folder, .text = text, .len = sizeof text - 1};
    const struct jr_spec_options options = {.sweeps = true, .reader = reader};
    const struct jr_swept_words words = {&source, &options, NULL};
    struct jr_spec_file *file = NULL;
    *s = (struct swept){0};
    CU_ASSERT_EQUAL_FATAL(jr_spec_load(&file, &source, &options, &s->diags), 0);
    CU_ASSERT_EQUAL_FATAL(jr_swept_spec_open(&s->spec, file, &words, &s->diags), 0);
}

static void check_parent(struct swept *s, size_t i, const char *expected)
{
    struct jr_spec_file *cell = NULL;
    load_cell(s, i, &cell);
    JR_ASSERT_TEXT(jr_spec_get(cell)->env[0].value, expected);
    jr_spec_free(cell);
}

/* A cell that begins later is of the texts that the first one was of. */
TEST(keep_the_parents_as_they_were_read)
{
    struct swept s RELEASE(swept_close);
    SCRATCH(scratch);
    scratch_write(&scratch, "base.yaml", "env: {FROM: first}\n");
    open_extending(&s, scratch.dir, NULL);
    check_parent(&s, 0, "first");
    scratch_write(&scratch, "base.yaml", "env: {FROM: changed}\n");
    check_parent(&s, 1, "first");
}

/* Whoever has texts that are no files has them for each cell, too. */
TEST(read_their_parents_as_they_are_told)
{
    struct pages pages = {0};
    const struct jr_reader reader = {read_page, &pages};
    struct swept s RELEASE(swept_close);
    open_extending(&s, "/no/such/folder", &reader);
    pages.read = 0;
    check_parent(&s, 0, "base.yaml");
    check_parent(&s, 1, "base.yaml");
    CU_ASSERT_EQUAL(pages.read, 2);
}

static void check_shared(const char *body, int status)
{
    struct jr_shared_files files RELEASE(jr_shared_files_release);
    int found = 0;
    SWEPT(s, body, NULL);
    jr_shared_files_init(&files);
    for (size_t i = 0; i < s.spec.cells.count; i++) {
        struct jr_spec_file *cell = NULL;
        load_cell(&s, i, &cell);
        found |= jr_shared_files_add(&files, cell, i, &s.diags);
        jr_spec_free(cell);
    }
    CU_ASSERT_EQUAL(found, status);
    jr_diags_release(&s.diags);
}

#define AXIS "world_size: 1\nsweep: {axes: {vars.lr: [1, 2]}}\n"

TEST(may_not_share_files)
{
    check_shared(AXIS "results: {file: out.json}\n", -1);
    check_shared(AXIS "results: {file: /tmp/out.json}\n", -1);
    check_shared(AXIS "results: {artifacts: [a, \"%{cell}/b\"]}\n", -1);
    check_shared(AXIS "results: {artifacts: [\"%{cell}/b\", a]}\n", -1);
    check_shared(AXIS "results: {artifacts: [\"w/%{rank}\"]}\n", -1);
    check_shared(AXIS "results: {file: \"%{cell}.json\"}\n", 0);
    check_shared(AXIS "results: {file: \"out/${vars.lr}.json\"}\n", 0);
    check_shared(AXIS "results: {artifacts: [\"%{rank_dir}/w\"]}\n", 0);
    check_shared(AXIS "workdir: \"%{rank_dir}\"\nresults: {file: out.json}\n", 0);
    check_shared(AXIS "workdir: \"%{rank_dir}\"\nresults: {file: o/o.json}\n", 0);
    check_shared(AXIS "workdir: \"%{rank_dir}\"\nresults: {file: /o.json}\n", -1);
    check_shared(
        "world_size: 1\nsweep: {include: [{vars.lr: 1, vars.seed: 11}, {vars.lr: 11, vars.seed: "
        "1}]}\nworkdir: \"/w${vars.lr}\"\nresults: {file: \"${vars.seed}.json\"}\n",
        0);
}

TEST(say_which_file_they_share)
{
    struct jr_shared_files files RELEASE(jr_shared_files_release);
    SWEPT(s, AXIS "results: {file: out.json}\n", NULL);
    jr_shared_files_init(&files);
    for (size_t i = 0; i < 2; i++) {
        struct jr_spec_file *cell = NULL;
        load_cell(&s, i, &cell);
        CU_ASSERT_EQUAL(jr_shared_files_add(&files, cell, i, &s.diags), i == 0 ? 0 : -1);
        if (i == 1) {
            CU_ASSERT_EQUAL_FATAL(s.diags.errors, 1);
            CU_ASSERT_EQUAL(s.diags.items[0].span.line, 6);
            JR_ASSERT_TEXT(s.diags.items[0].message,
                           "cells of the sweep would write the same file");
            JR_ASSERT_TEXT(s.diags.items[0].help, "put %{cell} into the path");
        }
        jr_diags_release(&s.diags);
        jr_spec_free(cell);
    }
}

/* What is not known yet may be another one in each. */
TEST(may_name_files_that_are_not_known_yet)
{
    struct jr_shared_files files RELEASE(jr_shared_files_release);
    SWEPT(s, AXIS "results: {file: \"${env:PLACE}/out.json\"}\n", NULL);
    s.spec.options.validate = true;
    jr_shared_files_init(&files);
    for (size_t i = 0; i < 2; i++) {
        struct jr_spec_file *cell = NULL;
        load_cell(&s, i, &cell);
        CU_ASSERT_EQUAL(jr_shared_files_add(&files, cell, i, &s.diags), 0);
        jr_diags_release(&s.diags);
        jr_spec_free(cell);
    }
}
