#include "session/sweep/show_sweep.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "judge/judge.h"
#include "judge/words.h"
#include "record/live_run.h"
#include "record/record_folder.h"
#include "session/slurm_queue.h"
#include "session/sweep/internal.h"
#include "store/run_folder.h"
#include "sweep/sweep_file.h"
#include "sweep/journal.h"

#include "base/banned.h"

enum { MOST_BYTES = 256 << 20 };

/* What the journal says, by the number of a cell as a text. */
struct known {
    json_t *ends;  /* how it ended if it left no results; null: it has not */
    json_t *hosts; /* that they run or ran on */
    bool ended;    /* the sweep, as its last line says */
};

static void take_cell_line(void *data, enum jr_journal_event event, const json_t *line)
{
    struct known *known = data;
    char key[32];
    known->ended = event == JR_JOURNAL_SWEEP_ENDED;
    if (event != JR_JOURNAL_CELL_STARTED && event != JR_JOURNAL_CELL_ENDED)
        return;
    (void)snprintf(key, sizeof key, "%lld", (long long)jr_json_get_int(line, "cell"));
    const char *word = jr_json_get_str(line, "status");
    bool lost = word != NULL && strcmp(word, "lost") == 0;
    (void)json_object_set_new(known->ends, key,
                              event == JR_JOURNAL_CELL_ENDED
                                  ? json_string(lost ? "lost" : "launch_failed")
                                  : json_null());
    if (json_is_string(json_object_get(line, "host")))
        (void)json_object_set(known->hosts, key, json_object_get(line, "host"));
}

/* What a cell's own record says; false: it has no results. */
static bool take_results(json_t *cell, int dir_fd, uint32_t number)
{
    char folder[16], path[64];
    enum jr_run_status status;
    jr_cell_folder(folder, number);
    (void)snprintf(path, sizeof path, JR_SWEEP_CELLS "/%s", folder);
    JR_CLOSE int fd = jr_open_beneath(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    json_auto_t *results = fd < 0 ? NULL : jr_record_folder_json(fd, "results.json", NULL);
    const char *word = jr_json_get_str(results, "status");
    if (word == NULL || !jr_run_status_of(word, &status)) {
        return false;
    }
    json_t *result = jr_cell_result(results);
    jr_json_set_str(cell, "status", jr_run_status_word(status));
    jr_json_share(cell, results, "fingerprint");
    jr_json_share(cell, results, "seconds");
    jr_json_share(cell, json_array_get(json_object_get(results, "ranks"), 0), "host");
    jr_json_set(cell, "result", result == NULL ? json_null() : result);
    jr_json_set_str(cell, "run", path);
    return true;
}

/* Count the cells as they are now, and note the best of them. */
static void sum_up(json_t *sweep, const json_t *cells)
{
    json_t *counts = json_object(), *best = json_object_get(sweep, "best"), *found = NULL, *cell;
    const struct jr_sweep_best by = jr_sweep_best_of(best);
    double most = 0;
    size_t i;
    json_array_foreach(cells, i, cell) {
        const char *word = jr_json_get_str(cell, "status");
        if (word == NULL)
            continue;
        jr_json_set_int(counts, word, jr_json_get_int(counts, word) + 1);
        if (strcmp(word, "succeeded") == 0 &&
            jr_cell_result_beats(json_object_get(cell, "result"), &by, found != NULL, &most))
            found = cell;
    }
    jr_json_set(sweep, "counts", counts);
    if (json_is_object(best) && found != NULL)
        jr_json_share(best, found, "cell");
}

/* Bring the cells, each a task of a job array, to what their folders say. Whether one on another
 * machine that has begun, and has no results, still runs, only Slurm knows. */
static void update_tasks(json_t *sweep, const char *log_dir, const char *id, int dir_fd)
{
    json_t *cells = json_object_get(sweep, "cells"), *cell;
    struct jr_buf dir JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_slurm_queue queue;
    const char *job;
    size_t i;
    jr_buf_printf(&dir, "%s/%s/" JR_SWEEP_CELLS, log_dir, id);
    (void)jr_sweep_is_submitted(sweep, &job);
    jr_slurm_queue_init(&queue, environ);
    json_array_foreach(cells, i, cell) {
        uint32_t number = (uint32_t)jr_json_get_int(cell, "cell");
        struct jr_live live;
        char folder[16];
        jr_cell_folder(folder, number);
        if (dir.failed || take_results(cell, dir_fd, number) ||
            jr_live_open(&live, dir.data, folder, NULL) != 0)
            continue; /* the last: it has not begun */
        bool runs = live.standing == JR_STANDING_RUNNING;
        if (live.standing == JR_STANDING_ELSEWHERE) {
            enum jr_queue_place place = jr_slurm_queue_find(&queue, job);
            runs = place != JR_QUEUE_ENDED && place != JR_QUEUE_NO_JOB;
        }
        jr_live_close(&live);
        if (!take_results(cell, dir_fd, number)) /* it ended meanwhile */
            jr_json_set_str(cell, "status", runs ? "running" : "lost");
    }
    jr_slurm_queue_release(&queue);
    sum_up(sweep, cells);
}

bool jr_sweep_is_submitted(const json_t *sweep, const char **ret_job)
{
    const json_t *submitted = json_object_get(sweep, "submitted");
    *ret_job = jr_json_get_str(submitted, "job");
    return json_is_object(submitted);
}

bool jr_sweep_is_over(const json_t *sweep)
{
    const json_t *cells = json_object_get(sweep, "cells");
    bool over = true;
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const char *word = jr_json_get_str(json_array_get(cells, i), "status");
        over = over && word != NULL && strcmp(word, "running") != 0 &&
               strcmp(word, "not_started") != 0;
    }
    return over;
}

/* Bring the cells to what is known of them by now; a sweep that ended is as its file says. */
static void update_cells(json_t *sweep, int dir_fd)
{
    struct known known = {.ends = json_object(), .hosts = json_object()};
    json_t *cells = json_object_get(sweep, "cells"), *cell;
    size_t i;
    (void)jr_journal_read(dir_fd, take_cell_line, &known);
    bool led = jr_journal_holder(dir_fd) != 0, changes = led || !known.ended;
    json_array_foreach(cells, i, cell) {
        char key[32];
        json_int_t number = jr_json_get_int(cell, "cell");
        (void)snprintf(key, sizeof key, "%lld", (long long)number);
        const json_t *end = json_object_get(known.ends, key);
        json_t *host = json_object_get(known.hosts, key);
        if (!changes || end == NULL || take_results(cell, dir_fd, (uint32_t)number))
            continue;
        jr_json_set_str(cell, "status",
                        json_is_string(end) ? json_string_value(end)
                        : led               ? "running"
                                            : "lost");
        if (host != NULL)
            jr_json_set(cell, "host", json_incref(host));
    }
    if (changes)
        sum_up(sweep, cells);
    json_decref(known.ends);
    json_decref(known.hosts);
}

int jr_sweep_open(const char *log_dir, const char *id)
{
    JR_CLOSE int log_fd = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return log_fd < 0 ? -1 : openat(log_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

json_t *jr_load_sweep(const char *log_dir, const char *id, struct jr_error *err)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    JR_CLOSE int fd = jr_sweep_open(log_dir, id);
    if (fd < 0)
        return NULL;
    if (jr_run_file_read(&text, fd, JR_SWEEP_FILE, MOST_BYTES, err) != 0) {
        (void)jr_error_wrap(err, JR_SWEEP_FILE);
        return NULL;
    }
    json_t *sweep = jr_json_parse(text.data == NULL ? "" : text.data, text.len, err);
    if (sweep != NULL && json_is_array(json_object_get(sweep, "cells"))) {
        const char *job;
        if (jr_sweep_is_submitted(sweep, &job))
            update_tasks(sweep, log_dir, id, fd);
        else
            update_cells(sweep, fd);
        return sweep;
    }
    json_decref(sweep);
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "%s/%s/" JR_SWEEP_FILE " is not what jobrun writes",
                       log_dir, id);
    return NULL;
}

static const char *const always[] = {"cell", "status", "seconds", NULL};
static const char *const yielding[] = {"code", "host", NULL};

static const struct jr_row_kind cell_kind = {
    .what = "cell", .always = always, .yielding = yielding, .bare = true};

int jr_sweep_table_open(struct jr_sweep_table *ret, const char *log_dir, const char *id,
                        enum jr_row_format format, struct jr_error *err)
{
    *ret = (struct jr_sweep_table){.log_dir = log_dir, .id = id, .best = -1};
    ret->sweep = jr_load_sweep(log_dir, id, err);
    if (ret->sweep == NULL)
        return -1;
    const json_t *best = json_object_get(ret->sweep, "best"), *cell;
    const char *field = jr_json_get_str(best, "field"), *goal = jr_json_get_str(best, "goal");
    json_t *rows = json_array();
    size_t i;
    ret->fields = json_object();
    json_array_foreach(json_object_get(ret->sweep, "cells"), i, cell) {
        const json_t *values = json_object_get(cell, "values");
        json_t *row = json_object();
        for (size_t k = 0; always[k] != NULL; k++)
            jr_json_share(row, cell, always[k]);
        for (size_t k = 0; yielding[k] != NULL; k++)
            jr_json_share(row, cell, yielding[k]);
        jr_row_add_members(row, values, "");
        jr_row_add_members(row, json_object_get(cell, "result"), JR_ROW_RESULTS);
        jr_json_append(rows, row);
        jr_row_add_members(ret->fields, values, "");
    }
    jr_row_table_init(&ret->rows, rows, &cell_kind, format);
    ret->rows.of = jr_json_get_str(best, "of");
    ret->best_is_max = goal != NULL && strcmp(goal, "max") == 0;
    if (field != NULL) { /* of the results, also where an axis has the name */
        struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&name, JR_ROW_RESULTS "%s", field);
        ret->rows.arena.failed |= name.failed;
        if (!name.failed)
            ret->best_field = jr_row_table_name(&ret->rows, name.data, name.len);
    }
    if (json_is_integer(json_object_get(best, "cell")))
        ret->best = jr_json_get_int(best, "cell");
    return ret->rows.arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

void jr_sweep_table_close(struct jr_sweep_table *table)
{
    jr_row_table_release(&table->rows);
    json_decref(table->fields);
    json_decref(table->sweep);
}

static void add_field_columns(struct jr_sweep_table *table, bool all)
{
    const char *path;
    json_t *value;
    all = all || json_array_size(table->rows.rows) < 2;
    json_object_foreach(table->fields, path, value) {
        if (all || jr_row_table_differs(&table->rows, path))
            jr_row_table_add_column(&table->rows, path);
    }
}

/* Those that differ, and the host where cells ran on several. */
static void add_usual_columns(struct jr_sweep_table *table)
{
    struct jr_row_table *rows = &table->rows;
    bool csv = rows->format == JR_ROWS_CSV, several = false;
    const char *name, *first = NULL;
    json_t *value;
    if (!csv)
        add_field_columns(table, false);
    jr_row_table_add_column(rows, "status");
    if (csv) {
        jr_row_table_add_column(rows, "seconds");
        add_field_columns(table, true);
    }
    json_object_foreach(rows->names, name, value) {
        if (strncmp(name, JR_ROW_RESULTS, strlen(JR_ROW_RESULTS)) == 0 &&
            json_object_get(table->fields, name) == NULL)
            jr_row_table_add_column(rows, name);
    }
    jr_row_table_add_column(rows, "seconds");
    for (size_t i = 0; i < json_array_size(rows->rows); i++) {
        const char *host = jr_json_get_str(json_array_get(rows->rows, i), "host");
        several |= first != NULL && host != NULL && strcmp(host, first) != 0;
        first = first == NULL ? host : first;
    }
    if (!csv && several)
        jr_row_table_add_column(rows, "host");
}

int jr_sweep_table_arrange(struct jr_sweep_table *table, const struct jr_sweep_view *view,
                           struct jr_error *err)
{
    struct jr_row_table *rows = &table->rows;
    struct jr_buf best JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *sort = view->sort;
    if (view->columns == NULL)
        add_usual_columns(table);
    else if (jr_row_table_choose(rows, view->columns, err) != 0)
        return -1;
    if (sort == NULL && table->best_field != NULL) {
        jr_buf_str(&best, table->best_is_max ? "-" : "");
        jr_buf_str(&best, table->best_field);
        sort = best.data;
    }
    if (sort != NULL && jr_row_table_sort(rows, sort, err) != 0)
        return -1;
    if (view->top > 0 && view->top < rows->count)
        rows->count = view->top;
    return rows->arena.failed || best.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                                             : 0;
}

void jr_sweep_table_count(struct jr_buf *out, const struct jr_sweep_table *table)
{
    json_t *counts = json_object_get(table->sweep, "counts"), *count;
    const char *word;
    jr_buf_printf(out, "%lld of %zu delivered", (long long)jr_json_get_int(counts, "succeeded"),
                  json_array_size(table->rows.rows));
    json_object_foreach(counts, word, count) {
        if (strcmp(word, "succeeded") == 0)
            continue;
        jr_buf_printf(out, ", %lld ", (long long)json_integer_value(count));
        jr_buf_safe(out, strcmp(word, "not_started") == 0 ? "not started" : word);
    }
}

void jr_sweep_cell_reason(struct jr_buf *out, int dir_fd)
{
    json_auto_t *results = dir_fd < 0 ? NULL : jr_record_folder_json(dir_fd, "results.json", NULL);
    const json_t *cause = json_object_get(results, "root_cause");
    const char *message = jr_json_get_str(cause, "message");
    if (json_is_integer(json_object_get(cause, "rank")))
        jr_buf_printf(out, "rank %lld   ", (long long)jr_json_get_int(cause, "rank"));
    if (message != NULL)
        jr_buf_safe(out, message);
}

bool jr_sweep_table_reason(struct jr_buf *out, const struct jr_sweep_table *table,
                           const json_t *row)
{
    const char *status = jr_json_get_str(row, "status");
    struct jr_buf cells JR_BUF_CLEANUP = JR_BUF_INIT;
    char folder[16];
    if (status == NULL || strcmp(status, "succeeded") == 0 || strcmp(status, "running") == 0 ||
        strcmp(status, "not_started") == 0)
        return false;
    jr_buf_printf(&cells, "%s/%s/" JR_SWEEP_CELLS, table->log_dir, table->id);
    jr_cell_folder(folder, jr_json_get_u32(row, "cell"));
    JR_CLOSE int fd = cells.failed ? -1 : jr_record_folder_open(cells.data, folder, NULL);
    jr_sweep_cell_reason(out, fd);
    return true;
}

/* What a line of the table is besides its columns. */
struct cell_margin {
    const struct jr_sweep_table *table;
    const struct jr_sweep_view *view;
};

/* The best cell has a star. */
static const char *star(const void *data, const json_t *row)
{
    const struct cell_margin *margin = data;
    return jr_json_get_int(row, "cell") == margin->table->best ? "* " : "  ";
}

static void add_reason(const void *data, struct jr_buf *out, const json_t *row)
{
    const struct cell_margin *margin = data;
    const char *ran = jr_json_get_str(row, "code"), *status = jr_json_get_str(row, "status");
    const char *now = jr_json_get_str(margin->table->sweep, "code");
    if (margin->view->columns != NULL || margin->view->word == NULL)
        return;
    if (ran != NULL && now != NULL && strcmp(ran, now) != 0 && status != NULL &&
        strcmp(status, "succeeded") == 0)
        jr_buf_str(out, "other code"); /* than the sweep had at last */
    if (jr_sweep_table_reason(out, margin->table, row)) {
        jr_buf_str(out, "   (jobrun show ");
        JR_BUF_CLEANUP struct jr_buf cell = JR_BUF_INIT;
        jr_buf_printf(&cell, "%s/%lld", margin->view->word,
                      (long long)jr_json_get_int(row, "cell"));
        out->failed |= cell.failed;
        if (!cell.failed)
            jr_record_words(out, margin->table->log_dir, cell.data);
        jr_buf_char(out, ')');
    }
}

void jr_sweep_table_print(struct jr_buf *out, const struct jr_sweep_table *table,
                          const struct jr_sweep_view *view)
{
    const struct cell_margin data = {table, view};
    const struct jr_row_margin margin = {star, add_reason, &data};
    jr_row_table_print(out, &table->rows, &margin);
}

int jr_sweep_show(struct jr_buf *out, const char *log_dir, const char *id,
                  const struct jr_sweep_view *view, struct jr_error *err)
{
    struct jr_sweep_table table;
    const struct jr_row_table *rows = &table.rows;
    bool json = view->format == JR_ROWS_JSON;
    if (json && (view->sort != NULL || view->columns != NULL || view->top > 0))
        return jr_error_set(err, JR_STATUS_USAGE,
                            "--format json prints all of sweep.json: leave out --sort, --columns "
                            "and --top, or take --format csv");
    int status = jr_sweep_table_open(&table, log_dir, id, view->format, err);
    if (status == 0 && json) {
        jr_json_print(out, table.sweep, 2);
        jr_buf_char(out, '\n');
    } else if (status == 0) {
        status = jr_sweep_table_arrange(&table, view, err);
    }
    if (status == 0 && view->format == JR_ROWS_TEXT) {
        /* "lr-scan: 23 of 24 delivered, 1 failed      by accuracy, highest first" */
        const char *name = jr_json_get_str(table.sweep, "name");
        jr_buf_safe(out, name == NULL ? "sweep" : name);
        jr_buf_str(out, ": ");
        jr_sweep_table_count(out, &table);
        if (rows->sort != NULL) {
            jr_buf_str(out, "      by ");
            jr_buf_safe(out, jr_row_table_heading(rows, rows->sort));
            jr_buf_str(out, rows->falls ? ", highest first" : ", lowest first");
        }
        jr_buf_char(out, '\n');
    }
    if (status == 0 && !json)
        jr_sweep_table_print(out, &table, view);
    if (status == 0 && out->failed)
        status = jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    jr_sweep_table_close(&table);
    return status;
}
