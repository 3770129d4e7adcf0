#include "session/sweep/list_runs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/num.h"
#include "record/record_folder.h"
#include "record/record_code.h"
#include "session/sweep/show_sweep.h"
#include "sweep/cell_result.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

#define STEP "progress.step"

/* What is there of every run. */
static const char *const always[] = {"run_id",  "name",    "status",      "exit_code",
                                     "started", "seconds", "world_size",  STEP,
                                     "spec",    "host",    "fingerprint", NULL};

/* How the usual table calls these. */
static const struct jr_row_alias aliases[] = {{"run", "run_id"},       {"exit", "exit_code"},
                                              {"ranks", "world_size"}, {"took", "seconds"},
                                              {"step", STEP},          {NULL, NULL}};

static const struct jr_row_kind run_kind = {.what = "run", .always = always, .aliases = aliases};

/* All runs, and what of them is no part of a record. */
struct run_listing {
    const char *log_dir;
    const struct jr_runs_view *view;
    struct jr_records records;
    json_t *values; /* of cells: an object for each id */
    json_t *flat;   /* a row for each record */
    bool results;   /* what they delivered is wanted */
};

/* How much the table tells beside status, exit and id. */
enum breadth { BARE, NARROW, WHOLE };

/* The columns of the table before the id. */
enum { BEFORE_ID = 78, BEFORE_ID_NARROW = 43 };

/* What fits the terminal: a narrow table has no times, with which most ids begin, and no steps. */
static enum breadth find_breadth(const struct jr_buf *out, const struct jr_record *records,
                                 size_t count)
{
    size_t longest = 0;
    for (size_t i = 0; i < count; i++)
        if (strlen(records[i].id) > longest)
            longest = strlen(records[i].id);
    if (out->width == 0 || out->width >= BEFORE_ID + longest)
        return WHOLE;
    return out->width >= BEFORE_ID_NARROW + longest ? NARROW : BARE;
}

/* Ranks, times and steps. */
static void print_course(struct jr_buf *out, const struct jr_record *record, enum breadth breadth)
{
    JR_BUF_CLEANUP struct jr_buf took = JR_BUF_INIT, step = JR_BUF_INIT;
    char started[32], ranks[16] = "-", when[32] = "-";
    if (!jr_record_has_times(record)) {
        jr_buf_char(&took, '-');
        jr_buf_char(&step, '-');
    } else {
        jr_clock_rfc3339(started, jr_clock_ns_of(record->started));
        (void)snprintf(when, sizeof when, "%.19sZ", started);
        if (record->world_size > 0) /* a sweep has none of its own */
            (void)snprintf(ranks, sizeof ranks, "%u", record->world_size);
        if (strcmp(record->status, "lost") == 0)
            jr_buf_char(&took, '-'); /* nobody knows when it ended */
        else
            jr_clock_human(&took, jr_clock_ns_of(record->seconds));
        jr_record_step(&step, record);
    }
    out->failed |= took.failed || step.failed;
    if (out->failed)
        return;
    if (breadth == NARROW)
        jr_buf_printf(out, "  %7s  %-12s", ranks, took.data);
    else if (breadth == WHOLE)
        jr_buf_printf(out, "  %7s  %-20s  %-12s  %-11s", ranks, when, took.data, step.data);
}

static void print_run(struct jr_buf *out, const struct jr_record *record, enum breadth breadth)
{
    jr_buf_printf(out, "%-13s ", record->status);
    if (record->finished)
        jr_buf_printf(out, "%4d", record->exit_code);
    else
        jr_buf_str(out, "   -");
    print_course(out, record, breadth);
    jr_buf_printf(out, "  %s", record->id);
    if (record->damaged)
        jr_buf_str(out, "  (damaged record)");
    if (record->has_code) {
        jr_buf_str(out, "  (code: ");
        jr_record_size(out, record->code_bytes);
        jr_buf_char(out, ')');
    }
    if (!jr_trust_is_ours(&record->trust)) {
        jr_buf_str(out, "  (");
        jr_trust_explain(out, &record->trust);
        jr_buf_char(out, ')');
    }
    jr_buf_char(out, '\n');
}

static void print_heading(struct jr_buf *out, enum breadth breadth)
{
    if (breadth == BARE)
        jr_buf_printf(out, "%-13s %4s  %s\n", "status", "exit", "run");
    else if (breadth == NARROW)
        jr_buf_printf(out, "%-13s %4s  %7s  %-12s  %s\n", "status", "exit", "ranks", "took", "run");
    else
        jr_buf_printf(out, "%-13s %4s  %7s  %-20s  %-12s  %-11s  %s\n", "status", "exit", "ranks",
                      "started", "took", "step", "run");
}

void jr_runs_print(struct jr_buf *out, const struct jr_records *records)
{
    enum breadth breadth = find_breadth(out, records->items, records->count);
    print_heading(out, breadth);
    for (size_t i = 0; i < records->count; i++)
        print_run(out, &records->items[i], breadth);
}

/* The folder of a run, or of the cell SWEEP/7, below LOG_DIR. */
static int open_listed_run(const char *log_dir, const char *id)
{
    struct jr_buf dir JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *slash = strchr(id, '/');
    jr_buf_str(&dir, log_dir);
    if (slash != NULL)
        jr_buf_printf(&dir, "/%.*s/" JR_SWEEP_CELLS, (int)(slash - id), id);
    char folder[16];
    uint32_t number;
    if (slash != NULL && jr_num_u32(slash + 1, &number))
        jr_cell_folder(folder, number);
    return dir.failed ? -1 : jr_record_folder_open(dir.data, slash != NULL ? folder : id, NULL);
}

/* What the ranks of a run delivered; NULL: nothing that counts. */
static json_t *read_result(const struct run_listing *listing, const struct jr_record *record)
{
    if (!listing->results || !record->finished)
        return NULL;
    JR_CLOSE int fd = open_listed_run(listing->log_dir, record->id);
    json_t *results = fd < 0 ? NULL : jr_record_folder_json(fd, "results.json", NULL);
    json_t *result = results == NULL ? NULL : jr_cell_result(results);
    json_decref(results);
    return result;
}

/* The keys of a run that are no objects. */
static json_t *plain_run(const struct jr_record *record)
{
    json_t *object = json_object();
    jr_json_set_str(object, "run_id", record->id);
    jr_json_set_str(object, "name", record->name);
    jr_json_set_str(object, "status", record->status);
    if (record->finished)
        jr_json_set_int(object, "exit_code", record->exit_code);
    else
        jr_json_set_null(object, "exit_code");
    if (!jr_record_has_times(record)) {
        jr_json_set_null(object, "started");
        jr_json_set_null(object, "seconds");
        jr_json_set_null(object, "world_size");
    } else {
        jr_json_set_real(object, "started", record->started);
        jr_json_set_real(object, "seconds", record->seconds);
        jr_json_set_int(object, "world_size", record->world_size);
    }
    jr_json_set_str(object, "spec", record->spec);
    jr_json_set_str(object, "host", record->host);
    jr_json_set_str(object, "fingerprint", record->fingerprint);
    return object;
}

/* An object, or null for NULL, which is not taken over. */
static void share_object(json_t *to, const char *key, json_t *object)
{
    jr_json_set(to, key, object == NULL ? json_null() : json_incref(object));
}

/* A run as JSON has it without chosen columns. `flat` is its row. */
static json_t *nested_run(const struct run_listing *listing, const struct jr_record *record,
                          const json_t *flat)
{
    json_t *object = plain_run(record), *results = json_object();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)flat, name, value) {
        if (strncmp(name, JR_ROW_RESULTS, strlen(JR_ROW_RESULTS)) == 0)
            jr_json_set(results, name + strlen(JR_ROW_RESULTS), json_incref(value));
    }
    share_object(object, "progress", record->progress);
    if (record->has_code)
        jr_json_set_int(object, "code_bytes", (json_int_t)record->code_bytes);
    else
        jr_json_set_null(object, "code_bytes");
    jr_json_set_bool(object, "trusted", jr_trust_is_ours(&record->trust));
    share_object(object, "vars", record->vars);
    share_object(object, "labels", record->labels);
    if (listing->view->cells)
        share_object(object, "values", json_object_get(listing->values, record->id));
    jr_json_set(object, "results", results);
    return object;
}

static json_t *flat_run(const struct run_listing *listing, const struct jr_record *record)
{
    json_t *row = plain_run(record), *result = read_result(listing, record);
    json_t *step = json_object_get(record->progress, "step");
    jr_row_add_members(row, json_object_get(listing->values, record->id), "");
    jr_row_add_members(row, record->vars, "vars.");
    jr_row_add_members(row, record->labels, "labels.");
    jr_row_add_members(row, result, JR_ROW_RESULTS);
    if (json_is_integer(step))
        jr_json_set(row, STEP, json_incref(step));
    json_decref(result);
    return row;
}

/* Whether the name that begins a word is one that needs no results. */
static bool is_recorded(const char *word)
{
    static const char *const groups[] = {"vars.", "labels.", "label."};
    word += *word == '-';
    size_t len = strcspn(word, ",!<>=");
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strncmp(word, groups[i], strlen(groups[i])) == 0)
            return true;
    for (size_t i = 0; always[i] != NULL; i++)
        if (strlen(always[i]) == len && memcmp(always[i], word, len) == 0)
            return true;
    for (size_t i = 0; aliases[i].word != NULL; i++)
        if (strlen(aliases[i].word) == len && memcmp(aliases[i].word, word, len) == 0)
            return true;
    return false;
}

/* The results of runs of many ranks are large, and are read only if something is asked of them. */
static bool wants_results(const struct jr_runs_view *view)
{
    const char *at = view->columns;
    if (at == NULL && view->format == JR_ROWS_JSON)
        return true;
    for (; at != NULL && *at != '\0'; at += *at == ',') {
        if (!is_recorded(at))
            return true;
        at += strcspn(at, ",");
    }
    for (size_t i = 0; i < view->where.count; i++)
        if (!is_recorded(view->where.items[i]))
            return true;
    return view->sort != NULL && !is_recorded(view->sort);
}

static int load_listing(struct run_listing *listing, struct jr_error *err)
{
    struct jr_error why = {0};
    if (jr_records_list(&listing->records, listing->log_dir, &why) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s", why.text);
    listing->values = json_object();
    if (listing->view->cells)
        jr_sweep_cells_add(&listing->records, listing->values, listing->log_dir);
    else
        jr_sweeps_add(&listing->records, listing->log_dir, listing->view->environ);
    listing->results = wants_results(listing->view);
    listing->flat = json_array();
    for (size_t i = 0; i < listing->records.count; i++)
        jr_json_append(listing->flat, flat_run(listing, &listing->records.items[i]));
    return listing->records.arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

static int arrange_runs(struct jr_row_table *table, const struct jr_runs_view *view,
                        struct jr_error *err)
{
    static const char usual[] = "name,status,exit_code,world_size,started,seconds";
    const char *columns = view->columns;
    if (columns == NULL)
        columns = usual;
    if (jr_row_table_choose(table, columns, err) != 0 ||
        jr_row_table_filter(table, view->where.items, err) != 0 ||
        (view->sort != NULL && jr_row_table_sort(table, view->sort, err) != 0))
        return -1;
    if (view->top > 0 && view->top < table->count)
        table->count = view->top;
    return 0;
}

/* The usual table, or the usual objects. */
static void print_usual(struct jr_buf *out, const struct run_listing *listing,
                        const struct jr_row_table *table)
{
    json_t *list = json_array();
    bool text = table->format == JR_ROWS_TEXT;
    enum breadth breadth = find_breadth(out, listing->records.items, listing->records.count);
    if (text && listing->records.count > 0)
        print_heading(out, breadth);
    for (size_t i = 0; i < table->count; i++) {
        const struct jr_record *record = &listing->records.items[table->order[i]];
        if (text)
            print_run(out, record, breadth);
        else
            jr_json_append(
                list, nested_run(listing, record, json_array_get(table->rows, table->order[i])));
    }
    if (!text) {
        json_t *top = json_object();
        jr_json_set_int(top, "format_version", 1);
        jr_json_set(top, "runs", json_incref(list));
        jr_json_print(out, top, 2);
        jr_buf_char(out, '\n');
        json_decref(top);
    }
    json_decref(list);
}

static void print_listing(struct jr_buf *out, const struct run_listing *listing,
                          const struct jr_row_table *table)
{
    bool lines = table->format == JR_ROWS_CSV || table->format == JR_ROWS_MARKDOWN;
    if (listing->view->columns == NULL && !lines) {
        print_usual(out, listing, table);
        return;
    }
    if (table->format == JR_ROWS_JSON)
        jr_buf_str(out, "{\"format_version\": 1, \"runs\": ");
    jr_row_table_print(out, table, NULL);
    if (table->format == JR_ROWS_JSON)
        jr_buf_str(out, "}\n");
}

int jr_runs_list(struct jr_buf *out, const char *log_dir, const struct jr_runs_view *view,
                 struct jr_error *err)
{
    struct run_listing listing = {.log_dir = log_dir, .view = view};
    struct jr_row_table table = {0};
    int status = load_listing(&listing, err);
    if (status == 0) {
        jr_row_table_init(&table, json_incref(listing.flat), &run_kind, view->format);
        status = arrange_runs(&table, view, err);
    }
    if (status == 0)
        print_listing(out, &listing, &table);
    if (status == 0 && (out->failed || table.arena.failed))
        status = jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    jr_row_table_release(&table);
    json_decref(listing.flat);
    json_decref(listing.values);
    jr_records_release(&listing.records);
    return status;
}
