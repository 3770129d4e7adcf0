/* A sweep without memory for a part of it: nothing of it is told otherwise than it is, or left out
 * without a word. */
#include "doc/source_reader.h"
#include "scratch.h"
#include "starve.h"
#include "sweep/cells.h"
#include "sweep/sweep_file.h"
#include "sweep/journal.h"
#include "sweep/schedule.h"
#include "swept.h"

#define BODY                                                                                       \
    "sweep:\n  axes: {vars.lr: [0.1, 0.01], \"vars.seed,threads\": [[1, 2], "                      \
    "[3, 4]]}\n  exclude: [{vars.lr: 0.01, threads: 4}]\n"                                         \
    "  include: [{vars.lr: 7, env.A: [1, {b: 2}]}, {vars.seed: 9}]\n"                              \
    "  best: {field: loss, goal: min}\n"

static void add_cells(struct jr_buf *out, const struct jr_cells *cells)
{
    for (size_t i = 0; i < cells->count; i++) {
        jr_cells_text(out, cells, i);
        jr_buf_char(out, '\n');
    }
}

static bool open_cells(struct jr_buf *out)
{
    struct swept s;
    struct swept_text text;
    swept_read(&s, &text, BODY, NULL);
    starve_begin_json();
    int status = jr_swept_spec_open(&s.spec, text.file, &text.words, &s.diags);
    starve_end();
    CU_ASSERT_EQUAL(status == 0, s.diags.errors == 0);
    if (status == 0)
        add_cells(out, &s.spec.cells);
    jr_buf_release(&text.text);
    swept_close(&s);
    return status == 0;
}

TEST(leaves_no_cell_out)
{
    starve(open_cells);
}

static bool tell_cells(struct jr_buf *out)
{
    struct swept s;
    struct jr_cell_columns columns;
    swept_open(&s, BODY, NULL);
    starve_begin_json();
    add_cells(out, &s.spec.cells);
    jr_cell_columns_init(&columns, &s.spec.cells);
    jr_cell_columns_head(out, &columns);
    for (size_t i = 0; i < s.spec.cells.count; i++) {
        json_t *values = jr_cells_json(&s.spec.cells, i);
        jr_json_print(out, values, 0);
        json_decref(values);
        jr_cell_columns_row(out, &columns, i);
    }
    starve_end();
    bool good = !columns.arena.failed;
    jr_cell_columns_release(&columns);
    swept_close(&s);
    return good;
}

TEST(tells_no_other_values)
{
    starve(tell_cells);
}

/* What names no cell never does; what is said of it may be shorter. */
static bool choose_cells(struct jr_buf *out)
{
    static const struct {
        const char *text;
        bool names;
    } vectors[] = {{"vars.lr=0.01", true}, {"vars.lr=0.1,threads=4", true},
                   {"vars.seed=4", false}, {"vars.x=1", false},
                   {"latest", false},      {"vars.seed=9", true}};
    struct swept s;
    bool good = true;
    swept_open(&s, BODY, NULL);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_error err = {0};
        size_t cell = 77;
        starve_begin();
        int status = jr_cells_choose(&cell, &s.spec.cells, vectors[i].text, &err);
        starve_end();
        good &= status == 0 || !vectors[i].names;
        CU_ASSERT_TRUE(status == -1 || vectors[i].names);
        CU_ASSERT_EQUAL(err.text[0] == '\0', status == 0);
        CU_ASSERT_PTR_NULL(strstr(err.text, "(null)"));
        jr_buf_printf(out, "%zu ", cell);
    }
    swept_close(&s);
    return good;
}

TEST(chooses_no_other_cell)
{
    starve(choose_cells);
}

/* The parents of a cell are read from here. */
static int read_parent(const struct jr_reader *reader, struct jr_reading *reading,
                       struct jr_error *err)
{
    (void)reader;
    (void)err;
    jr_buf_printf(&reading->text, "env: {FROM: %s}\n", reading->path);
    reading->file = (struct jr_file){reading->path, reading->path, "/jobs"};
    return 0;
}

static bool load_cells(struct jr_buf *out)
{
    static const char text[] = "version: 1\nentrypoint: [./t]\nvars: {n: 0}\n"
                               "extends: {base: a.yaml}\nsweep: {axes: {extends.base: [b.yaml, "
                               "c.yaml], vars.n: [1, 2]}}\n";
    const struct jr_reader reader = {read_parent, NULL};
    const struct jr_spec_source source = {
        .name = "s.jobrun.yaml", .folder = "/jobs", .text = text, .len = sizeof text - 1};
    const struct jr_spec_options options = {.sweeps = true, .reader = &reader};
    const struct jr_swept_words words = {&source, &options, NULL};
    struct jr_spec_file *file = NULL;
    struct swept s = {0};
    bool good = true;
    CU_ASSERT_EQUAL_FATAL(jr_spec_load(&file, &source, &options, &s.diags), 0);
    CU_ASSERT_EQUAL_FATAL(jr_swept_spec_open(&s.spec, file, &words, &s.diags), 0);
    s.spec.files = reader;
    jr_cached_reader_init(&s.spec);
    s.spec.options.reader = &s.spec.reader;
    for (size_t i = 0; i < s.spec.cells.count; i++) {
        struct jr_spec_file *cell = NULL;
        starve_begin();
        int status = jr_swept_spec_load(&cell, &s.spec, i, &s.diags);
        starve_end();
        CU_ASSERT_TRUE(status == 0 || jr_spec_status(&s.diags) != JR_STATUS_OK);
        good &= status == 0;
        if (status == 0)
            jr_spec_emit(out, cell);
        jr_diags_release(&s.diags);
        jr_spec_free(cell);
    }
    swept_close(&s);
    return good;
}

TEST(loads_each_cell_as_it_is)
{
    starve(load_cells);
}

static bool write_record(struct jr_buf *out)
{
    static const int code = 3;
    struct swept s;
    swept_open(&s, BODY, NULL);
    json_t *result = json_pack("{s:f}", "loss", 0.5);
    json_t *former = json_pack("[{s:i, s:{}}]", "cell", 9, "values");
    struct jr_cell_state states[8];
    for (uint32_t i = 0; i < 8; i++)
        states[i] = (struct jr_cell_state){.number = i,
                                           .status = "succeeded",
                                           .fingerprint = "ab",
                                           .code = "cd",
                                           .host = "n1",
                                           .result = result};
    const struct jr_sweep_record record = {.sweep_id = "id",
                                           .name = "s",
                                           .spec = "/s.yaml",
                                           .code = "cd",
                                           .cells = &s.spec.cells,
                                           .states = states,
                                           .submitted = true,
                                           .job = "12",
                                           .exit_code = &code,
                                           .former = former};
    CU_ASSERT_EQUAL_FATAL(s.spec.cells.count, 5);
    starve_begin_json();
    jr_sweep_record_json(out, &record, NULL);
    starve_end();
    starve_begin();
    jr_sweep_record_schema(out);
    starve_end();
    json_decref(result);
    json_decref(former);
    swept_close(&s);
    return true;
}

TEST(writes_no_record_that_lacks_something)
{
    starve(write_record);
}

#define RANK(result) "{\"state\": \"succeeded\", \"result\": " result "}"

static bool gather_result(struct jr_buf *out)
{
    static const char text[] =
        "{\"ranks\": [" RANK("{\"a\": 1, \"b\": [2]}") ", " RANK("{\"a\": 2, \"c\": \"x\"}") "]}";
    json_t *results = jr_json_parse(text, sizeof text - 1, NULL);
    starve_begin_json();
    json_t *result = jr_cell_result(results);
    if (result != NULL)
        jr_json_print(out, result, 0);
    starve_end();
    json_decref(results);
    json_decref(result);
    return result != NULL;
}

TEST(makes_no_other_result)
{
    starve(gather_result);
}

static void take_line(void *data, enum jr_journal_event event, const json_t *line)
{
    jr_buf_printf(data, "%d %s ", (int)event, jr_json_get_str(line, "status"));
}

static bool write_journal(struct jr_buf *out)
{
    const struct jr_journal_line line = {.event = JR_JOURNAL_CELL_ENDED, .status = "failed"};
    struct scratch scratch;
    struct jr_journal journal;
    pid_t holder;
    scratch_start(&scratch);
    CU_ASSERT_EQUAL_FATAL(jr_journal_open(&journal, scratch.fd, 0600, &holder, NULL), 0);
    starve_begin_json();
    jr_journal_add(&journal, &line);
    jr_journal_add(&journal, &line);
    starve_end();
    jr_journal_close(&journal);
    CU_ASSERT_TRUE(jr_journal_read(scratch.fd, take_line, out));
    scratch_end(&scratch);
    return !journal.failed;
}

TEST(loses_no_line_of_a_journal)
{
    starve(write_journal);
}

/* Lines that lie across the pieces in which it is read. */
static bool read_journal(struct jr_buf *out)
{
    struct scratch scratch;
    scratch_start(&scratch);
    FILE *file =
        fdopen(openat(scratch.fd, JR_JOURNAL_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    for (int i = 0; i < 3; i++)
        (void)fprintf(file, "{\"event\": \"cell_ended\", \"status\": \"%050000d\"}\n", i);
    (void)fclose(file);
    starve_begin();
    bool good = jr_journal_read(scratch.fd, take_line, out);
    starve_end();
    scratch_end(&scratch);
    return good;
}

TEST(reads_all_of_a_journal_or_says_so)
{
    starve(read_journal);
}

static bool play_schedule(struct jr_buf *out)
{
    static const struct jr_slots kinds[] = {{.cores = 1, .devices = 1}};
    static const uint32_t kind_of[2];
    static const bool skips[2];
    static const struct jr_node_room rooms[] = {{.cores = 1, .devices = 1},
                                                {.cores = 1, .devices = 1}};
    const struct jr_schedule with = {.kinds = kinds,
                                     .kinds_count = 1,
                                     .kind_of = kind_of,
                                     .skips = skips,
                                     .count = 2,
                                     .rooms = rooms,
                                     .nodes_count = 2};
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_schedule schedule;
    struct jr_grant grant;
    size_t cell;
    starve_begin();
    jr_schedule_init(&schedule, &with);
    while (!schedule.arena.failed && !arena.failed &&
           jr_schedule_next(&schedule, &arena, &cell, &grant)) {
        if (arena.failed)
            jr_schedule_end(&schedule, &grant);
        else
            jr_buf_printf(out, "%zu:%u:%u ", cell, grant.node, grant.cores[0]);
    }
    starve_end();
    bool good = !schedule.arena.failed && !arena.failed;
    jr_schedule_release(&schedule);
    jr_arena_release(&arena);
    return good;
}

TEST(grants_all_or_says_so)
{
    starve(play_schedule);
}
