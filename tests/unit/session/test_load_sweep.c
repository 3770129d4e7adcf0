/* Sweeps by their files: what became of each cell, which sweep and cell a command line means, and
 * the table of the cells. */
#include "session/sweep/internal.h"

#include <signal.h>
#include <sys/wait.h>

#include "scratch.h"
#include "session/sweep/show_sweep.h"
#include "sweep/journal.h"

#define CELL(number, lr, seed, status)                                                             \
    "{\"cell\": " #number ", \"values\": {\"vars.lr\": " #lr ", \"vars.seed\": " #seed             \
    "}, \"status\": \"" status "\", \"fingerprint\": null, \"code\": null, \"seconds\": null, "    \
    "\"result\": null, \"run\": null}"

/* Of the goal and the cells: how a sweep is written when it begins. */
#define SWEEP(more, cells)                                                                         \
    "{\"format_version\": 1, \"sweep_id\": \"scan-1\", " more "\"counts\": {}, \"cells\": [" cells \
    "]}"
#define BEST(goal, of)                                                                             \
    "\"best\": {\"field\": \"loss\", \"goal\": \"" goal "\", \"of\": \"" of "\", \"cell\": "       \
    "null}, "
#define FOUR                                                                                       \
    CELL(0, 0.1, 1, "not_started")                                                                 \
    ", " CELL(1, 0.1, 2, "not_started") ", " CELL(2, 0.01, 1, "not_started") ", " CELL(            \
        3, 0.01, 2, "not_started")

static struct scratch scratch;

static void put_folder(const char *path)
{
    CU_ASSERT_EQUAL_FATAL(mkdirat(scratch.fd, path, 0700), 0);
}

/* A sweep with this file and this journal. */
static void begin(const char *sweep, const char *journal)
{
    scratch_start(&scratch);
    put_folder("scan-1");
    put_folder("scan-1/cells");
    if (sweep != NULL)
        scratch_write(&scratch, "scan-1/sweep.json", sweep);
    if (journal != NULL)
        scratch_write(&scratch, "scan-1/journal.jsonl", journal);
}

/* The record of a cell of two ranks. */
static void put_cell(const char *number, const char *status, double seconds, const char *loss0,
                     const char *loss1)
{
    char path[64], text[512];
    (void)snprintf(path, sizeof path, "scan-1/cells/%s", number);
    put_folder(path);
    (void)snprintf(path, sizeof path, "scan-1/cells/%s/results.json", number);
    (void)snprintf(text, sizeof text,
                   "{\"status\": \"%s\", \"seconds\": %.1f, \"fingerprint\": \"f%s\", "
                   "\"root_cause\": {\"rank\": 1, \"message\": \"exit \\u0007 3\"}, \"ranks\": "
                   "[{\"host\": \"n7\", \"state\": \"succeeded\", \"result\": {\"loss\": %s}}, "
                   "{\"state\": \"succeeded\", \"result\": {\"loss\": %s}}]}",
                   status, seconds, number, loss0, loss1);
    scratch_write(&scratch, path, text);
}

static json_t *load(void)
{
    struct jr_error err = {0};
    json_t *sweep = jr_load_sweep(scratch.dir, "scan-1", &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(sweep);
    return sweep;
}

/* The words of all cells, with a blank behind each. */
static void check_statuses(const json_t *sweep, const char *expected)
{
    const json_t *cells = json_object_get(sweep, "cells");
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = 0; i < json_array_size(cells); i++)
        jr_buf_printf(&text, "%s ", jr_json_get_str(json_array_get(cells, i), "status"));
    JR_ASSERT_TEXT(text.data, expected);
}

static void check_text(const json_t *value, const char *expected)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_json_print(&text, value, 0);
    JR_ASSERT_TEXT(text.data, expected);
}

static json_int_t best_of(const json_t *sweep)
{
    const json_t *cell = json_object_get(json_object_get(sweep, "best"), "cell");
    return json_is_integer(cell) ? json_integer_value(cell) : -1;
}

#define STARTED(n) "{\"event\": \"cell_started\", \"cell\": " #n "}\n"
#define ENDED(n)   "{\"event\": \"cell_ended\", \"cell\": " #n "}\n"
#define LOST(n)                                                                                    \
    "{\"event\": \"cell_ended\", \"cell\": " #n ", \"status\": \"lost\", \"interrupted\": true}\n"
#define OVER "{\"event\": \"sweep_ended\"}\n"

TEST(a_sweep_that_ended_is_as_its_file_says)
{
    begin(SWEEP(BEST("min", "mean"), FOUR), STARTED(0) ENDED(0) OVER);
    put_cell("0000", "failed", 3, "1", "1");
    json_auto_t *sweep = load();
    check_statuses(sweep, "not_started not_started not_started not_started ");
    check_text(json_object_get(sweep, "counts"), "{}");
    CU_ASSERT_EQUAL(best_of(sweep), -1);
    scratch_end(&scratch);
}

/* A node of theirs was lost: what a record says comes first. */
TEST(cells_are_lost_with_their_node)
{
    begin(SWEEP(BEST("min", "mean"), FOUR),
          STARTED(0) STARTED(1) LOST(0) LOST(1) STARTED(2) LOST(2) STARTED(2) ENDED(2));
    put_cell("0001", "succeeded", 3, "1", "1");
    json_auto_t *sweep = load();
    check_statuses(sweep, "lost succeeded launch_failed not_started ");
    scratch_end(&scratch);
}

/* Nobody leads it: what began and left no results is lost, what ended without results was not
 * launched, and the rest is in the records of the cells. */
TEST(a_sweep_that_was_killed_is_what_its_cells_say)
{
    begin(SWEEP(BEST("min", "mean"), FOUR ", " CELL(4, 1, 1, "not_started")),
          OVER STARTED(0) STARTED(1) ENDED(1) STARTED(3) STARTED(4) ENDED(4));
    put_cell("0003", "succeeded", 2.5, "4", "2");
    put_cell("0004", "nonsense", 9, "0", "0");
    put_cell("0002", "failed", 9, "0", "0"); /* of which nothing is known */
    json_auto_t *sweep = load();
    check_statuses(sweep, "lost launch_failed not_started succeeded launch_failed ");
    check_text(json_object_get(sweep, "counts"),
               "{\"lost\": 1, \"launch_failed\": 2, \"not_started\": 1, \"succeeded\": 1}");
    const json_t *cell = json_array_get(json_object_get(sweep, "cells"), 3);
    CU_ASSERT_EQUAL(json_number_value(json_object_get(cell, "seconds")), 2.5);
    JR_ASSERT_TEXT(jr_json_get_str(cell, "fingerprint"), "f0003");
    JR_ASSERT_TEXT(jr_json_get_str(cell, "host"), "n7");
    JR_ASSERT_TEXT(jr_json_get_str(cell, "run"), "cells/0003");
    check_text(json_object_get(cell, "result"),
               "{\"loss\": {\"mean\": 3.0, \"min\": 2.0, \"max\": 4.0, \"first\": 4}}");
    CU_ASSERT_EQUAL(best_of(sweep), 3);
    CU_ASSERT_FALSE(jr_sweep_is_over(sweep));
    scratch_end(&scratch);
}

/* By its id, its beginning where no other has it, and as the newest. */
TEST(a_sweep_is_found_by_its_name)
{
    static const struct {
        const char *word, *id; /* NULL: none */
    } vectors[] = {{"scan-1", "scan-1"},
                   {"scan-1/7", "scan-1"},
                   {"scan", NULL},
                   {"rate", "rate-2"},
                   {"rate/", "rate-2"},
                   {"latest", "rate-2"},
                   {"latest/0", "rate-2"},
                   {"run-1", NULL},
                   {"run", NULL},
                   {"link", NULL},
                   {"", NULL},
                   {"/scan-1", NULL}};
    begin(SWEEP("", FOUR), NULL);
    put_folder("scan-12");
    scratch_write(&scratch, "scan-12/sweep.json", "{}");
    put_folder("rate-2");
    scratch_write(&scratch, "rate-2/sweep.json", "{}");
    put_folder("run-1");
    put_folder("link-1");
    CU_ASSERT_EQUAL(symlinkat("../rate-2/sweep.json", scratch.fd, "link-1/sweep.json"), 0);
    CU_ASSERT_EQUAL(symlinkat("rate-2", scratch.fd, "latest"), 0);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char id[256] = "";
        CU_ASSERT_EQUAL(jr_sweep_find(id, scratch.dir, vectors[i].word), vectors[i].id != NULL);
        if (vectors[i].id != NULL)
            JR_ASSERT_TEXT(id, vectors[i].id);
    }
    CU_ASSERT_EQUAL(jr_sweep_count_cells(scratch.dir, "scan-1"), 4);
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "latest", 0), 0);
    CU_ASSERT_EQUAL(symlinkat("run-1", scratch.fd, "latest"), 0);
    CU_ASSERT_FALSE(jr_sweep_find((char[256]){0}, scratch.dir, "latest"));
    scratch_end(&scratch);
}

#define LISTED  " (jobrun show scan-1 --log-dir 'SCRATCH' lists them)"
#define NUMBERS ": the cells are 0 to 3" LISTED
#define VALUES  ": vars.lr is 0.1, 0.01" LISTED

TEST(a_cell_is_found_by_number_or_values)
{
    static const struct {
        const char *word, *id, *why;
    } vectors[] = {{"2", "0002", NULL},
                   {"0003", "0003", NULL},
                   {"0", "0000", NULL},
                   {"vars.lr=0.1,vars.seed=2", "0001", NULL},
                   {"vars.seed=1,vars.lr=1e-2", "0002", NULL},
                   {"4", NULL, "the sweep has no cell '4'" NUMBERS},
                   {"-1", NULL, "the sweep has no cell '-1'" NUMBERS},
                   {"vars.lr=0.1", NULL,
                    "several cells of the sweep have vars.lr=0.1: state more values, or a "
                    "number, as jobrun show scan-1 --log-dir 'SCRATCH' lists them"},
                   {"vars.lr=0.5", NULL, "the sweep has no cell 'vars.lr=0.5'" VALUES},
                   {"vars.lr=\"0.1\",vars.seed=2", NULL,
                    "the sweep has no cell 'vars.lr=\"0.1\",vars.seed=2'" VALUES},
                   {"vars.lr", NULL, "the sweep has no cell 'vars.lr'" VALUES},
                   {"vars.lr=0.1,vars.seed=2,", NULL,
                    "the sweep has no cell 'vars.lr=0.1,vars.seed=2,'" NUMBERS},
                   {"vars.lr=[", NULL, "the sweep has no cell 'vars.lr=['" VALUES}};
    begin(SWEEP("", FOUR), NULL);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_error err = {0};
        struct jr_buf expected JR_BUF_CLEANUP = JR_BUF_INIT;
        char *dir = NULL, id[256] = "";
        bool found = vectors[i].id != NULL;
        CU_ASSERT_EQUAL(jr_sweep_find_cell(&dir, id, scratch.dir, "scan-1", vectors[i].word, &err),
                        found ? 0 : -1);
        jr_buf_replaced(&expected, found ? "SCRATCH/scan-1/cells" : vectors[i].why, "SCRATCH",
                        scratch.dir);
        JR_ASSERT_TEXT(found ? dir : err.text, expected.data);
        JR_ASSERT_TEXT(id, found ? vectors[i].id : "");
        CU_ASSERT_EQUAL(err.status, found ? JR_STATUS_OK : JR_STATUS_USAGE);
        free(dir);
    }
    scratch_end(&scratch);
}

#define DONE                                                                                       \
    CELL(0, 0.1, 1, "not_started")                                                                 \
    ", " CELL(1, 0.2, 1, "not_started") ", " CELL(2, 0.3, 1, "not_started")
