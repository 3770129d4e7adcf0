/* Runs and sweeps as rows of a list. show_sweep.h declares it. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/num.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "session/slurm_queue.h"
#include "session/sweep/internal.h"
#include "session/sweep/show_sweep.h"
#include "store/run_folder.h"
#include "sweep/sweep_file.h"
#include "sweep/journal.h"

#include "base/banned.h"

/* When a sweep began, and when its journal was last written to. */
struct times {
    double first, last;
    bool ended;
};

static void take_time(void *data, enum jr_journal_event event, const json_t *line)
{
    struct times *times = data;
    const char *text = jr_json_get_str(line, "time");
    double when = text == NULL ? 0 : jr_clock_of_rfc3339(text);
    if (times->first == 0)
        times->first = when;
    if (when > times->last)
        times->last = when;
    times->ended = event == JR_JOURNAL_SWEEP_ENDED;
}

/* The worst that its cells got, and how many have delivered. */
static void judge_cells(struct jr_record *record, const json_t *sweep)
{
    const json_t *cells = json_object_get(sweep, "cells");
    json_int_t delivered = 0, count = (json_int_t)json_array_size(cells);
    record->status = "succeeded";
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const char *word = jr_json_get_str(json_array_get(cells, i), "status");
        int code = word == NULL ? 0 : jr_cell_status_class(word);
        delivered += word != NULL && strcmp(word, "succeeded") == 0;
        if (code == 0 || (record->exit_code != 0 && code >= record->exit_code))
            continue;
        record->exit_code = code; /* only a sweep nobody leads is itself lost */
        record->status = strcmp(word, "lost") == 0 ? "launch_failed" : word;
    }
    if (record->exit_code == 0 && delivered < count)
        record->status = "stopped";
    /* What the sweep itself ended with, if it is more, as where a signal came between two. */
    json_int_t own = json_integer_value(json_object_get(sweep, "exit_code"));
    if (own > 0 && own <= 255) {
        record->exit_code = (int)own;
        if (strcmp(record->status, "succeeded") == 0)
            record->status = own > 128                     ? "stopped"
                             : own == JR_STATUS_INCOMPLETE ? "incomplete"
                                                           : "launch_failed";
    }
    record->progress = json_object();
    jr_json_set_int(record->progress, "step", delivered);
    jr_json_set_int(record->progress, "of", count);
}

/* The list on its way. */
struct listing {
    struct jr_records *records;
    const char *log_dir;
    int log_fd;
    struct jr_slurm_queue queue;
    json_t *values; /* of cells, by their ids in the list */
};

/* When the results of the cells were written last. */
static void find_last_end(struct times *times, const json_t *sweep, int dir_fd)
{
    const json_t *cells = json_object_get(sweep, "cells");
    char folder[16], path[64];
    struct stat st;
    for (size_t i = 0; i < json_array_size(cells); i++) {
        jr_cell_folder(folder, (uint32_t)jr_json_get_int(json_array_get(cells, i), "cell"));
        (void)snprintf(path, sizeof path, JR_SWEEP_CELLS "/%s/results.json", folder);
        if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        double when = (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9;
        if (when > times->last)
            times->last = when;
    }
}

/* Whether Slurm still has what was submitted, so that cells may begin and end; the end of what it
 * has not is that of the last cell. */
static bool is_array_led(struct listing *listing, struct times *times, const json_t *sweep,
                         int dir_fd)
{
    const char *job;
    if (!jr_sweep_is_submitted(sweep, &job))
        return false;
    if (!jr_sweep_is_over(sweep)) {
        enum jr_queue_place place = jr_slurm_queue_find(&listing->queue, job);
        if (place == JR_QUEUE_QUEUED || place == JR_QUEUE_SILENT)
            return true;
    }
    times->ended = true;
    find_last_end(times, sweep, dir_fd);
    return false;
}

static void fill_record(struct listing *listing, struct jr_record *record, const json_t *sweep,
                        int dir_fd)
{
    struct times times = {0};
    struct jr_arena *arena = &listing->records->arena;
    (void)jr_journal_read(dir_fd, take_time, &times);
    bool led = jr_journal_holder(dir_fd) != 0 || is_array_led(listing, &times, sweep, dir_fd);
    record->name = jr_arena_strdup(arena, jr_json_get_str(sweep, "name"));
    record->spec = jr_arena_strdup(arena, jr_json_get_str(sweep, "spec"));
    judge_cells(record, sweep);
    record->status = jr_arena_strdup(arena, record->status);
    record->started = times.first;
    record->finished = !led && times.ended;
    if (led)
        times.last = (double)jr_clock_wall_ns() / 1e9;
    record->seconds = times.last > times.first ? times.last - times.first : 0;
    if (!record->finished)
        record->status = led ? "running" : "lost";
}

/* The labels and vars of a cell, but those that vary. */
static void take_common_values(struct jr_record *record, const json_t *sweep, int dir_fd)
{
    const json_t *cells = json_object_get(sweep, "cells");
    const char *run = NULL;
    size_t i = 0;
    for (; i < json_array_size(cells) && run == NULL; i++)
        run = jr_json_get_str(json_array_get(cells, i), "run");
    if (run == NULL)
        return;
    JR_CLOSE int fd = jr_open_beneath(dir_fd, run, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    json_t *record_json = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", NULL);
    json_t *vars = json_object_get(record_json, "vars");
    json_t *labels = json_object_get(record_json, "labels");
    json_t *values = json_object_get(json_array_get(cells, i - 1), "values");
    const char *path;
    json_t *value;
    json_object_foreach(values, path, value) {
        if (strncmp(path, "vars.", 5) == 0)
            (void)json_object_del(vars, path + 5);
        if (strncmp(path, "labels.", 7) == 0)
            (void)json_object_del(labels, path + 7);
    }
    record->vars = json_is_object(vars) ? json_incref(vars) : NULL;
    record->labels = json_is_object(labels) ? json_incref(labels) : NULL;
    json_decref(record_json);
}

static void add_sweep(struct listing *listing, const char *name)
{
    struct jr_records *records = listing->records;
    struct jr_record record = {0};
    JR_CLOSE int fd =
        openat(listing->log_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    json_t *sweep = fd < 0 ? NULL : jr_load_sweep(listing->log_dir, name, NULL);
    if (sweep == NULL)
        return;
    record.id = jr_arena_strdup(&records->arena, name);
    record.trust = jr_trust_run(listing->log_fd, fd);
    fill_record(listing, &record, sweep, fd);
    take_common_values(&record, sweep, fd);
    jr_records_add(records, &record);
    json_decref(sweep);
}

/* What this host has of a sweep that another machine leads. */
static void add_sweep_part(struct listing *listing, const char *name)
{
    struct jr_record record;
    jr_sweep_part_row(&record, listing->records, listing->log_dir, listing->log_fd, name);
    jr_records_add(listing->records, &record);
}

typedef void (*add_row)(struct listing *listing, const char *name);

/* Of what is a sweep, or a part of one. */
static void add_log_entry(struct listing *listing, const char *name, add_row add, add_row add_part)
{
    if (name[0] == '.' || strcmp(name, "latest") == 0)
        return;
    if (jr_sweep_is_folder(listing->log_fd, name))
        add(listing, name);
    else if (add_part != NULL && jr_sweep_part_is(listing->log_fd, name))
        add_part(listing, name);
}

/* Call `add` for each sweep of LOG_DIR, and `add_part`, unless it is NULL, for each of which there
 * is a part. */
static void each_sweep(struct listing *listing, add_row add, add_row add_part)
{
    JR_CLOSE int log_fd = open(listing->log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int again = log_fd < 0 ? -1 : dup(log_fd);
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    listing->log_fd = log_fd;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        add_log_entry(listing, entry->d_name, add, add_part);
    if (entries != NULL)
        (void)closedir(entries);
    jr_records_order(listing->records);
}

void jr_sweeps_add(struct jr_records *records, const char *log_dir, char *const *envp)
{
    struct listing listing = {.records = records, .log_dir = log_dir};
    jr_slurm_queue_init(&listing.queue, envp);
    each_sweep(&listing, add_sweep, add_sweep_part);
    jr_slurm_queue_release(&listing.queue);
}

/* What the axes say of the cells, by the ids that they have in the list. */
static void add_cell_values(json_t *values, const json_t *sweep, const char *name)
{
    const json_t *cells = json_object_get(sweep, "cells");
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        struct jr_buf id JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&id, "%s/%lld", name, (long long)jr_json_get_int(cell, "cell"));
        if (!id.failed)
            (void)json_object_set(values, id.data, json_object_get(cell, "values"));
    }
}

/* The cells that have a folder. It is named after the number; what was put aside is 0007.1. Their
 * ids become keys of `begun`. */
static void add_begun_cells(struct listing *listing, const char *name, json_t *begun)
{
    struct jr_records cells = JR_RECORDS_INIT;
    struct jr_buf dir JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&dir, "%s/%s/" JR_SWEEP_CELLS, listing->log_dir, name);
    if (dir.failed || jr_records_list(&cells, dir.data, NULL) != 0)
        return;
    for (size_t i = 0; i < cells.count; i++) {
        struct jr_record *record = &cells.items[i];
        uint32_t number;
        const char *digits = record->id;
        while (digits[0] == '0' && digits[1] != '\0')
            digits++;
        if (!jr_num_u32(digits, &number))
            continue;
        struct jr_record own = *record;
        own.id = jr_arena_printf(&cells.arena, "%s/%u", name, number);
        if (own.id != NULL)
            (void)json_object_set_new(begun, own.id, json_true());
        jr_records_add(listing->records, &own);
        record->progress = record->vars = record->labels = NULL;
    }
    jr_arena_adopt(&listing->records->arena, &cells.arena);
    jr_records_release(&cells);
}

/* A cell that has no folder, as its sweep has it. */
static void add_other_cell(struct listing *listing, const char *name, const json_t *sweep,
                           const json_t *cell, const struct jr_trust *trust)
{
    struct jr_arena *arena = &listing->records->arena;
    const char *word = jr_cell_json_status(cell);
    int code = word == NULL ? 0 : jr_cell_status_class(word);
    const struct jr_record record = {
        .id = jr_arena_printf(arena, "%s/%lld", name, (long long)jr_json_get_int(cell, "cell")),
        .name = jr_arena_strdup(arena, jr_json_get_str(sweep, "name")),
        .spec = jr_arena_strdup(arena, jr_json_get_str(sweep, "spec")),
        .fingerprint = jr_arena_strdup(arena, jr_json_get_str(cell, "fingerprint")),
        .status = word == NULL ? "unknown" : word,
        .finished = word != NULL && strcmp(word, "lost") != 0 &&
                    (code != 0 || strcmp(word, "succeeded") == 0),
        .exit_code = code,
        .no_folder = true,
        .trust = *trust,
    };
    if (record.id != NULL)
        jr_records_add(listing->records, &record);
}

/* All cells of a sweep, those that have not begun as well. */
static void add_cells(struct listing *listing, const char *name)
{
    json_t *sweep = jr_load_sweep(listing->log_dir, name, NULL);
    json_t *begun = json_object();
    const json_t *cells = json_object_get(sweep, "cells");
    JR_CLOSE int fd =
        openat(listing->log_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const struct jr_trust trust = jr_trust_run(listing->log_fd, fd);
    if (sweep != NULL)
        add_cell_values(listing->values, sweep, name);
    add_begun_cells(listing, name, begun);
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        struct jr_buf id JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&id, "%s/%lld", name, (long long)jr_json_get_int(cell, "cell"));
        if (!id.failed && json_object_get(begun, id.data) == NULL)
            add_other_cell(listing, name, sweep, cell, &trust);
    }
    json_decref(begun);
    json_decref(sweep);
}

/* Add their cells instead, those that have begun, as SWEEP/7, and what the axes say of each to the
 * object `values`, under its id. */
static void sweep_cells_add(struct jr_records *records, json_t *values, const char *log_dir)
{
    struct listing listing = {.records = records, .values = values, .log_dir = log_dir};
    each_sweep(&listing, add_cells, NULL);
}

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

/* What the ranks of a run, or of the cell SWEEP/7, delivered; NULL: nothing that counts. */
static json_t *read_result(const struct run_listing *listing, const struct jr_record *record)
{
    struct jr_buf dir JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *slash = strchr(record->id, '/'), *id = record->id;
    char folder[16];
    uint32_t number;
    if (!listing->results || !record->finished)
        return NULL;
    jr_buf_str(&dir, listing->log_dir);
    if (slash != NULL && jr_num_u32(slash + 1, &number)) {
        jr_buf_printf(&dir, "/%.*s/" JR_SWEEP_CELLS, (int)(slash - id), id);
        jr_cell_folder(folder, number);
        id = folder;
    }
    JR_CLOSE int fd = dir.failed ? -1 : jr_record_folder_open(dir.data, id, NULL);
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
        sweep_cells_add(&listing->records, listing->values, listing->log_dir);
    else
        jr_sweeps_add(&listing->records, listing->log_dir, listing->view->environ);
    listing->results = wants_results(listing->view);
    listing->flat = json_array();
    for (size_t i = 0; i < listing->records.count; i++)
        jr_json_append(listing->flat, flat_run(listing, &listing->records.items[i]));
    return listing->records.arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
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

int jr_runs_list(struct jr_buf *out, const char *log_dir, const struct jr_runs_view *view,
                 struct jr_error *err)
{
    static const char usual[] = "name,status,exit_code,world_size,started,seconds";
    struct run_listing listing = {.log_dir = log_dir, .view = view};
    struct jr_row_table table = {0};
    bool json = view->format == JR_ROWS_JSON;
    int status = load_listing(&listing, err);
    if (status == 0) {
        jr_row_table_init(&table, json_incref(listing.flat), &run_kind, view->format);
        if (jr_row_table_choose(&table, view->columns == NULL ? usual : view->columns, err) != 0 ||
            jr_row_table_filter(&table, view->where.items, err) != 0 ||
            (view->sort != NULL && jr_row_table_sort(&table, view->sort, err) != 0))
            status = -1;
        if (view->top > 0 && view->top < table.count)
            table.count = view->top;
    }
    if (status == 0 && view->columns == NULL && (json || view->format == JR_ROWS_TEXT)) {
        print_usual(out, &listing, &table);
    } else if (status == 0) {
        jr_buf_str(out, json ? "{\"format_version\": 1, \"runs\": " : "");
        jr_row_table_print(out, &table, NULL);
        jr_buf_str(out, json ? "}\n" : "");
    }
    if (status == 0 && (out->failed || table.arena.failed))
        status = jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    jr_row_table_release(&table);
    json_decref(listing.flat);
    json_decref(listing.values);
    jr_records_release(&listing.records);
    return status;
}
