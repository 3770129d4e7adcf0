/* sweep.json: what it says of the axes, the cells, and the best of them. */
#include "sweep/sweep_file.h"

#include <fcntl.h>
#include <jobrun/verdict.h>

#include "base/io.h"
#include "swept.h"

#define BODY                                                                                       \
    "sweep:\n  axes: {vars.lr: [0.1, 0.01], \"vars.seed,threads\": "                               \
    "[[1, 2]]}\n  best: {field: loss, goal: %s}\n"

static json_t *write_file(struct swept *s, struct jr_cell_state *states)
{
    struct jr_buf text = JR_BUF_INIT;
    const struct jr_sweep_record record = {
        .sweep_id = "id", .name = "s", .cells = &s->spec.cells, .states = states};
    jr_sweep_record_json(&text, &record, NULL);
    json_t *json = jr_json_parse(text.data, text.len, NULL);
    jr_buf_release(&text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    return json;
}

static void check_part(const json_t *json, const char *key, const char *expected)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_json_print(&out, json_object_get(json, key), 0);
    JR_ASSERT_TEXT(out.data, expected);
}

static void open_goal(struct swept *s, const char *goal)
{
    struct jr_buf body JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&body, BODY, goal);
    swept_open(s, body.data, NULL);
    CU_ASSERT_EQUAL_FATAL(s->status, 0);
    CU_ASSERT_EQUAL_FATAL(s->spec.cells.count, 2);
}

/* A line for each axis and each cell, so that two of them can be compared. */
TEST(has_a_line_for_each_cell)
{
    struct swept s RELEASE(swept_close);
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    json_auto_t *result = json_pack("{s:f}", "loss", 0.5);
    swept_open(&s, "sweep: {axes: {vars.lr: [1, 2], vars.seed: [3]}}\n", NULL);
    struct jr_cell_state states[] = {{.number = 0, .status = "not_started", .host = "a"},
                                     {.number = 1,
                                      .status = "failed",
                                      .fingerprint = "f",
                                      .code = "c",
                                      .seconds = 1.5,
                                      .result = result}};
    static const int code = 1;
    const struct jr_sweep_record record = {.sweep_id = "id",
                                           .spec = "/s.yaml",
                                           .code = "d",
                                           .cells = &s.spec.cells,
                                           .states = states,
                                           .exit_code = &code};
    jr_sweep_record_json(&text, &record, NULL);
    JR_ASSERT_TEXT(text.data, "{\n"
                              "  \"format_version\": 1,\n"
                              "  \"sweep_id\": \"id\",\n"
                              "  \"name\": null,\n"
                              "  \"spec\": \"/s.yaml\",\n"
                              "  \"code\": \"d\",\n"
                              "  \"exit_code\": 1,\n"
                              "  \"axes\": [\n"
                              "    {\"path\": \"vars.lr\", \"values\": [1, 2]},\n"
                              "    {\"path\": \"vars.seed\", \"values\": [3]}\n"
                              "  ],\n"
                              "  \"cells\": [\n"
                              "    {\"cell\": 0, \"values\": {\"vars.lr\": 1, \"vars.seed\": 3}, "
                              "\"status\": \"not_started\", \"fingerprint\": null, \"code\": null, "
                              "\"host\": \"a\", \"seconds\": null, \"result\": null, \"run\": "
                              "null},\n"
                              "    {\"cell\": 1, \"values\": {\"vars.lr\": 2, \"vars.seed\": 3}, "
                              "\"status\": \"failed\", \"fingerprint\": \"f\", \"code\": \"c\", "
                              "\"host\": null, \"seconds\": 1.5, \"result\": {\"loss\": 0.5}, "
                              "\"run\": \"cells/0001\"}\n"
                              "  ],\n"
                              "  \"counts\": {\"not_started\": 1, \"failed\": 1},\n"
                              "  \"best\": null\n"
                              "}\n");
}

TEST(says_what_has_not_begun)
{
    struct swept s RELEASE(swept_close);
    open_goal(&s, "min");
    struct jr_cell_state states[] = {
        {.number = 0, .status = "not_started"},
        {.number = 5, .status = "running", .code = "0123", .host = "n2"}};
    json_auto_t *json = write_file(&s, states);
    check_part(json, "axes",
               "[{\"path\": \"vars.lr\", \"values\": [0.1, 0.01]}, {\"path\": "
               "\"vars.seed,threads\", \"values\": [[1, 2]]}]");
    check_part(json, "counts", "{\"not_started\": 1, \"running\": 1}");
    check_part(json, "best",
               "{\"field\": \"loss\", \"goal\": \"min\", \"of\": \"mean\", \"cell\": null}");
    const json_t *cells = json_object_get(json, "cells");
    CU_ASSERT_EQUAL(json_array_size(cells), 2);
    check_part(json, "code", "null");
    check_part(json, "exit_code", "null");
    check_part(json_array_get(cells, 0), "code", "null");
    check_part(json_array_get(cells, 1), "code", "\"0123\"");
    check_part(json_array_get(cells, 0), "host", "null");
    check_part(json_array_get(cells, 1), "host", "\"n2\"");
    EACH_PAIR(given, wanted, "run => null|seconds => null|fingerprint => null")
        check_part(json_array_get(cells, 0), given, wanted);
    check_part(json_array_get(cells, 1), "cell", "5");
    check_part(json_array_get(cells, 1), "run", "\"cells/0005\"");
    check_part(json_array_get(cells, 1), "values",
               "{\"vars.lr\": 0.01, \"vars.seed\": 1, \"threads\": 2}");
}

/* Who runs the cells of a sweep that was submitted, known or not yet. */
TEST(says_which_job_runs_the_cells)
{
    struct swept s RELEASE(swept_close);
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    open_goal(&s, "min");
    struct jr_cell_state states[] = {{.number = 0, .status = "not_started"},
                                     {.number = 1, .status = "not_started"}};
    struct jr_sweep_record record = {.sweep_id = "id", .cells = &s.spec.cells, .states = states};
    static const char *const vectors[][2] = {
        {NULL, "{\"engine\": \"slurm\", \"job\": null}"},
        {"12;c", "{\"engine\": \"slurm\", \"job\": \"12;c\"}"}};
    for (size_t i = 0; i < 2; i++) {
        record.submitted = true;
        record.job = vectors[i][0];
        jr_buf_clear(&text);
        jr_sweep_record_json(&text, &record, NULL);
        json_auto_t *json = jr_json_parse(text.data, text.len, NULL);
        check_part(json, "submitted", vectors[i][1]);
    }
    record.submitted = false;
    jr_buf_clear(&text);
    jr_sweep_record_json(&text, &record, NULL);
    json_auto_t *json = jr_json_parse(text.data, text.len, NULL);
    CU_ASSERT_PTR_NULL(json_object_get(json, "submitted"));
}

TEST(names_the_best_that_delivered)
{
    static const struct {
        const char *goal;
        double a, b;
        const char *a_status, *b_status;
        long best; /* the index of the cell, or -1 */
    } vectors[] = {
        {"min", 2, 1, "succeeded", "failed", 0},    {"min", 2, 1, "succeeded", "succeeded", 1},
        {"max", 2, 1, "succeeded", "succeeded", 0}, {"max", -2, -1, "succeeded", "succeeded", 1},
        {"min", 1, 1, "succeeded", "succeeded", 0}, {"max", 1, 1, "succeeded", "succeeded", 0},
        {"max", 1, 2, "stopped", "succeeded", 1},   {"max", 1, 2, "failed", "running", -1}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct swept s RELEASE(swept_close);
        open_goal(&s, vectors[i].goal);
        json_auto_t *a = json_pack("{s:f}", "loss", vectors[i].a);
        json_auto_t *b = json_pack("{s:f}", "loss", vectors[i].b);
        struct jr_cell_state *states = calloc(2, sizeof *states);
        CU_ASSERT_PTR_NOT_NULL_FATAL(states);
        states[0] = (struct jr_cell_state){.number = 3, .status = vectors[i].a_status, .result = a};
        states[1] = (struct jr_cell_state){.number = 7, .status = vectors[i].b_status, .result = b};
        const struct jr_sweep_record record = {.cells = &s.spec.cells, .states = states};
        CU_ASSERT_EQUAL(jr_sweep_record_best(&record), vectors[i].best);
        json_auto_t *json = write_file(&s, states);
        check_part(json_object_get(json, "best"), "cell",
                   vectors[i].best < 0    ? "null"
                   : vectors[i].best == 0 ? "3"
                                          : "7");
        free(states);
    }
}

/* What has no such field is no better than another. */
TEST(knows_no_best_without_its_field)
{
    struct swept s RELEASE(swept_close);
    open_goal(&s, "max");
    json_auto_t *other = json_pack("{s:f}", "accuracy", 0.5);
    json_auto_t *loss = json_pack("{s:f}", "loss", -1.0);
    struct jr_cell_state states[] = {{.number = 0, .status = "succeeded", .result = other},
                                     {.number = 1, .status = "succeeded", .result = loss}};
    const struct jr_sweep_record record = {.cells = &s.spec.cells, .states = states};
    CU_ASSERT_EQUAL(jr_sweep_record_best(&record), 1);
    states[1].result = NULL;
    CU_ASSERT_EQUAL(jr_sweep_record_best(&record), -1);
}

struct pieces {
    struct jr_buf text;
    int count, most; /* fails after so many; 0: never */
};

static int take_piece(void *data, struct jr_buf *text)
{
    struct pieces *pieces = data;
    CU_ASSERT_TRUE(text->len > 64 << 10);
    jr_buf_add(&pieces->text, text->data, text->len);
    jr_buf_clear(text);
    return ++pieces->count == pieces->most ? -1 : 0;
}

/* And not on, once it cannot be written. */
TEST(is_written_in_pieces)
{
    struct jr_buf JR_BUF_CLEANUP text = JR_BUF_INIT, whole = JR_BUF_INIT;
    struct pieces pieces = {.text = JR_BUF_INIT};
    const struct jr_drain drain = {take_piece, &pieces};
    SWEPT(s, "sweep: {axes: {vars.lr: {from: 1, to: 2000}}}\n", NULL);
    struct jr_cell_state *states = calloc(2000, sizeof *states);
    CU_ASSERT_PTR_NOT_NULL_FATAL(states);
    for (uint32_t i = 0; i < 2000; i++)
        states[i] = (struct jr_cell_state){.number = i, .status = "failed"};
    const struct jr_sweep_record record = {
        .sweep_id = "i", .cells = &s.spec.cells, .states = states};
    jr_sweep_record_json(&whole, &record, NULL);
    jr_sweep_record_json(&text, &record, &drain);
    CU_ASSERT_TRUE(pieces.count > 2);
    jr_buf_add(&pieces.text, text.data, text.len);
    JR_ASSERT_TEXT(pieces.text.data, whole.data);
    jr_buf_clear(&text);
    pieces.count = 0;
    pieces.most = 2;
    jr_sweep_record_json(&text, &record, &drain);
    CU_ASSERT_EQUAL(pieces.count, 2);
    CU_ASSERT_EQUAL(text.len, 0);
    jr_buf_release(&pieces.text);
    free(states);
}

/* Each key that is written has its place in the schema, and each key of the schema is written
 * somewhere; those that need not be there are known. */
static void check_keys(const json_t *object, const json_t *schema, size_t optional)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *required = json_object_get(schema, "required");
    const char *key;
    json_t *value;
    CU_ASSERT_EQUAL(json_object_size(object), json_object_size(properties));
    json_object_foreach((json_t *)object, key, value) {
        CU_ASSERT_PTR_NOT_NULL(json_object_get(properties, key));
    }
    CU_ASSERT_EQUAL(json_array_size(required) + optional, json_object_size(properties));
    for (size_t i = 0; i < json_array_size(required); i++)
        CU_ASSERT_PTR_NOT_NULL(
            json_object_get(object, json_string_value(json_array_get(required, i))));
}

TEST(has_a_schema_of_its_keys)
{
    struct swept s RELEASE(swept_close);
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    open_goal(&s, "min");
    json_auto_t *former = json_pack("[{s:i, s:{}}]", "cell", 7, "values");
    struct jr_cell_state states[] = {{.number = 0, .status = "not_started"},
                                     {.number = 1, .status = "running"}};
    const struct jr_sweep_record record = {.sweep_id = "id",
                                           .cells = &s.spec.cells,
                                           .states = states,
                                           .submitted = true,
                                           .former = former};
    jr_sweep_record_json(&text, &record, NULL);
    json_auto_t *json = jr_json_parse(text.data, text.len, NULL);
    jr_buf_clear(&text);
    jr_sweep_record_schema(&text);
    json_auto_t *schema = jr_json_parse(text.data, text.len, NULL);
    json_t *parts = json_object_get(schema, "$defs");
    check_keys(json, schema, 3); /* exit_code, submitted, former */
    check_keys(json_array_get(json_object_get(json, "cells"), 0), json_object_get(parts, "cell"),
               1); /* host */
    check_keys(json_object_get(json, "best"), json_object_get(parts, "best"), 0);
    check_part(json, "former", "[{\"cell\": 7, \"values\": {}}]");
}

/* What is published says what is written. */
TEST(has_the_schema_that_is_published)
{
    struct jr_buf JR_BUF_CLEANUP file = JR_BUF_INIT, text = JR_BUF_INIT;
    CU_ASSERT_EQUAL_FATAL(jr_io_read_file(&file, AT_FDCWD,
                                          TEST_SOURCE_DIR "/../schemas/sweep-v1.schema.json",
                                          1 << 20, NULL),
                          0);
    jr_sweep_record_schema(&text);
    JR_ASSERT_TEXT(text.data, file.data);
}

/* A cell is a run, so each status of a run is one of a cell. */
TEST(has_each_status_of_a_run)
{
#define WORD(name, word) word,
    static const char *const words[] = {JR_RUN_STATUSES(WORD)};
#undef WORD
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        json_auto_t *cell = json_pack("{s:s}", "status", words[i]);
        const char *found = jr_cell_json_status(cell);
        CU_ASSERT_PTR_NOT_NULL_FATAL(found);
        JR_ASSERT_TEXT(found, words[i]);
        CU_ASSERT_EQUAL(jr_cell_status_class(words[i]) == 0, i == 0);
    }
    json_auto_t *other = json_pack("{s:s}", "status", "failed\033[m");
    CU_ASSERT_PTR_NULL(jr_cell_json_status(other));
    CU_ASSERT_EQUAL(jr_cell_status_class("running"), 0);
    CU_ASSERT_EQUAL(jr_cell_status_class("of another build"), 0);
    CU_ASSERT_EQUAL(jr_cell_status_class("timed_out"), JR_STATUS_TIMEOUT);
    CU_ASSERT_EQUAL(jr_cell_status_class("lost"), JR_STATUS_LAUNCH);
}

TEST(numbers_folders_in_four_digits)
{
    char folder[16];
    jr_cell_folder(folder, 7);
    JR_ASSERT_TEXT(folder, "0007");
    jr_cell_folder(folder, 99999);
    JR_ASSERT_TEXT(folder, "99999");
}
