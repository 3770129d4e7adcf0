/* Runs and sweeps as rows of a list, and sweeps that are removed by it. show_sweep.h declares it.
 *
 * What a host has of sweeps that are another machine's (node_cells.h) are folders of LOG_DIR
 * without a sweep.json, in which there are folders of cells, node_N.TOKEN, or `cells` with the
 * parts of cells of several hosts. Such a folder, a part of a sweep, is a row among the runs there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "base/num.h"
#include "base/syscalls.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "session/slurm_queue.h"
#include "session/sweep/internal.h"
#include "session/sweep/show_sweep.h"
#include "store/run_folder.h"
#include "sweep/journal.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

#define TRACKED_IN ".gitignore" /* run_folder.c makes it in a new folder */

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The folders of cells in an open one that is a part. */
static struct jr_strv find_part_cells(struct jr_arena *arena, int fd)
{
    struct jr_strv all = {0}, found = {0};
    jr_io_names(&all, arena, fd, ".");
    for (size_t i = 0; i < all.count; i++)
        if (jr_own_cells_is(all.items[i]) || strcmp(all.items[i], JR_SWEEP_CELLS) == 0)
            jr_strv_push(&found, arena, all.items[i]);
    return found;
}

/* Whether the folder `name` of LOG_DIR, which is open, is a part. */
static bool is_part(int log_fd, const char *name)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    if (!jr_run_folder_is_id(name) || strcmp(name, "latest") == 0 ||
        jr_sweep_is_folder(log_fd, name))
        return false;
    JR_CLOSE int fd = open_folder(log_fd, name);
    return fd >= 0 && jr_access(fd, "run.json", F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
           find_part_cells(&arena, fd).count > 0;
}

/* The descriptor of the lock of a folder of cells, which is ours as long as that is open; -1:
 * somebody has it. Where there is none, that of the folder. */
static int hold_cells(int fd, const char *name)
{
    JR_CLOSE int cells = open_folder(fd, name);
    int lock = cells < 0
                   ? -1
                   : openat(cells, JR_OWN_CELLS_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (lock < 0)
        return cells < 0 ? -1 : dup(cells);
    if (flock(lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return lock;
    (void)close(lock);
    return -1;
}

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

/* The worst that the cells of a sweep got, and how many have delivered. */
static void judge_cells(struct jr_record *record, const json_t *sweep)
{
    const json_t *cells = json_object_get(sweep, "cells"), *cell;
    json_int_t delivered = 0, count = (json_int_t)json_array_size(cells);
    size_t i;
    record->status = "succeeded";
    json_array_foreach(cells, i, cell) {
        const char *word = jr_json_get_str(cell, "status");
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

/* The list on its way, and what of it is no part of a record. */
struct listing {
    struct jr_records *records;
    const char *log_dir;
    int log_fd;
    struct jr_slurm_queue queue;
    const struct jr_runs_view *view; /* as is the rest, NULL where only records are wanted */
    json_t *values;                  /* of cells: an object for each id */
    json_t *flat;                    /* a row for each record */
    bool results;                    /* what they delivered is wanted */
};

/* Whether Slurm still has what was submitted, so that cells may begin and end; the end of what it
 * has not is that of the last cell, when its results were written. */
static bool is_array_led(struct listing *listing, struct times *times, const json_t *sweep,
                         int dir_fd)
{
    const json_t *cells = json_object_get(sweep, "cells"), *cell;
    const char *job;
    char folder[16], path[64];
    struct stat st;
    size_t i;
    if (!jr_sweep_is_submitted(sweep, &job))
        return false;
    if (!jr_sweep_is_over(sweep)) {
        enum jr_queue_place place = jr_slurm_queue_find(&listing->queue, job);
        if (place == JR_QUEUE_QUEUED || place == JR_QUEUE_SILENT)
            return true;
    }
    times->ended = true;
    json_array_foreach(cells, i, cell) {
        jr_cell_folder(folder, (uint32_t)jr_json_get_int(cell, "cell"));
        (void)snprintf(path, sizeof path, JR_SWEEP_CELLS "/%s/results.json", folder);
        if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        double when = (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9;
        if (when > times->last)
            times->last = when;
    }
    return false;
}

/* The labels and vars of a cell, but those that vary. */
static void take_common_values(struct jr_record *record, const json_t *sweep, int dir_fd)
{
    const json_t *cells = json_object_get(sweep, "cells");
    const char *run = NULL, *path;
    json_t *value;
    size_t i = 0;
    for (; i < json_array_size(cells) && run == NULL; i++)
        run = jr_json_get_str(json_array_get(cells, i), "run");
    if (run == NULL)
        return;
    JR_CLOSE int fd = jr_open_beneath(dir_fd, run, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    json_auto_t *own = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", NULL);
    json_t *vars = json_object_get(own, "vars"), *labels = json_object_get(own, "labels");
    json_object_foreach(json_object_get(json_array_get(cells, i - 1), "values"), path, value) {
        if (strncmp(path, "vars.", 5) == 0)
            (void)json_object_del(vars, path + 5);
        if (strncmp(path, "labels.", 7) == 0)
            (void)json_object_del(labels, path + 7);
    }
    record->vars = json_is_object(vars) ? json_incref(vars) : NULL;
    record->labels = json_is_object(labels) ? json_incref(labels) : NULL;
}

static void add_sweep(struct listing *listing, const char *name)
{
    struct jr_arena *arena = &listing->records->arena;
    struct jr_record record = {.id = jr_arena_strdup(arena, name)};
    struct times times = {0};
    JR_CLOSE int fd = open_folder(listing->log_fd, name);
    json_t *sweep = fd < 0 ? NULL : jr_load_sweep(listing->log_dir, name, NULL);
    if (sweep == NULL)
        return;
    record.trust = jr_trust_run(listing->log_fd, fd);
    (void)jr_journal_read(fd, take_time, &times);
    bool led = jr_journal_holder(fd) != 0 || is_array_led(listing, &times, sweep, fd);
    record.name = jr_arena_strdup(arena, jr_json_get_str(sweep, "name"));
    record.spec = jr_arena_strdup(arena, jr_json_get_str(sweep, "spec"));
    judge_cells(&record, sweep);
    record.status = jr_arena_strdup(arena, record.status);
    record.started = times.first;
    record.finished = !led && times.ended;
    if (led)
        times.last = (double)jr_clock_wall_ns() / 1e9;
    record.seconds = times.last > times.first ? times.last - times.first : 0;
    if (!record.finished)
        record.status = led ? "running" : "lost";
    take_common_values(&record, sweep, fd);
    jr_records_add(listing->records, &record);
    json_decref(sweep);
}

/* What this host has of a sweep that another machine leads: the worst that cells got, when the
 * first began, and when the last ended. It is finished if all of its cells are, and nobody holds
 * it. */
static void add_part(struct listing *listing, const char *name)
{
    struct jr_arena *arena = &listing->records->arena;
    JR_CLOSE int fd = open_folder(listing->log_fd, name);
    struct jr_record record = {.id = jr_arena_strdup(arena, name),
                               .status = "succeeded",
                               .trust = jr_trust_run(listing->log_fd, fd)};
    const struct jr_strv folders = find_part_cells(arena, fd);
    double last = 0;
    bool runs = false, lost = false;
    for (size_t i = 0; i < folders.count; i++) {
        struct jr_records cells = JR_RECORDS_INIT;
        struct jr_buf dir JR_BUF_CLEANUP = JR_BUF_INIT;
        JR_CLOSE int lock = hold_cells(fd, folders.items[i]);
        runs |= lock < 0;
        jr_buf_printf(&dir, "%s/%s/%s", listing->log_dir, name, folders.items[i]);
        if (dir.failed || jr_records_list(&cells, dir.data, NULL) != 0)
            continue;
        for (size_t k = 0; k < cells.count; k++) {
            const struct jr_record *cell = &cells.items[k];
            int code = cell->finished ? jr_cell_status_class(cell->status) : 0;
            if (code != 0 && (record.exit_code == 0 || code < record.exit_code)) {
                record.exit_code = code;
                record.status = jr_arena_strdup(arena, cell->status);
            }
            if (cell->started > 0 && (record.started == 0 || cell->started < record.started))
                record.started = cell->started;
            if (cell->started > 0 && cell->started + cell->seconds > last)
                last = cell->started + cell->seconds;
            if (record.name == NULL)
                record.name = jr_arena_strdup(arena, cell->name);
            runs |= !cell->finished && strcmp(cell->status, "running") == 0;
            lost |= !cell->finished;
        }
        jr_records_release(&cells);
    }
    record.finished = !runs && !lost;
    if (!record.finished)
        record.status = runs ? "running" : "lost";
    if (runs)
        last = (double)jr_clock_wall_ns() / 1e9;
    record.seconds = last > record.started ? last - record.started : 0;
    jr_records_add(listing->records, &record);
}

typedef void add_row(struct listing *listing, const char *name);

/* Call `add` for each sweep of LOG_DIR, and `add_other`, unless it is NULL, for each part. */
static void each_sweep(struct listing *listing, add_row *add, add_row *add_other)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv names = {0};
    JR_CLOSE int log_fd = open(listing->log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    listing->log_fd = log_fd;
    jr_io_names(&names, &arena, log_fd, ".");
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i];
        if (name[0] == '.' || strcmp(name, "latest") == 0)
            continue;
        if (jr_sweep_is_folder(log_fd, name))
            add(listing, name);
        else if (add_other != NULL && is_part(log_fd, name))
            add_other(listing, name);
    }
    jr_records_order(listing->records);
}

void jr_sweeps_add(struct jr_records *records, const char *log_dir, char *const *envp)
{
    struct listing listing = {.records = records, .log_dir = log_dir};
    jr_slurm_queue_init(&listing.queue, envp);
    each_sweep(&listing, add_sweep, add_part);
    jr_slurm_queue_release(&listing.queue);
}

/* All cells of a sweep, those that have not begun as well, as SWEEP/7, and what the axes say of
 * each in listing->values, under its id. */
static void add_cells(struct listing *listing, const char *name)
{
    struct jr_records begun = JR_RECORDS_INIT;
    struct jr_arena *arena = &listing->records->arena;
    struct jr_buf dir JR_BUF_CLEANUP = JR_BUF_INIT;
    json_t *sweep = jr_load_sweep(listing->log_dir, name, NULL), *seen = json_object();
    const json_t *cells = json_object_get(sweep, "cells"), *cell;
    size_t i;
    JR_CLOSE int fd = open_folder(listing->log_fd, name);
    const struct jr_trust trust = jr_trust_run(listing->log_fd, fd);
    /* Those that have a folder. It is named after the number; what was put aside is 0007.1. */
    jr_buf_printf(&dir, "%s/%s/" JR_SWEEP_CELLS, listing->log_dir, name);
    if (!dir.failed && jr_records_list(&begun, dir.data, NULL) == 0) {
        for (size_t k = 0; k < begun.count; k++) {
            struct jr_record *record = &begun.items[k];
            const char *digits = record->id;
            uint32_t number;
            while (digits[0] == '0' && digits[1] != '\0')
                digits++;
            if (!jr_num_u32(digits, &number))
                continue;
            struct jr_record own = *record;
            own.id = jr_arena_printf(&begun.arena, "%s/%u", name, number);
            if (own.id != NULL)
                jr_json_set_bool(seen, own.id, true);
            jr_records_add(listing->records, &own);
            record->progress = record->vars = record->labels = NULL;
        }
        jr_arena_adopt(arena, &begun.arena);
        jr_records_release(&begun);
    }
    json_array_foreach(cells, i, cell) {
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
            .trust = trust,
        };
        if (record.id == NULL)
            continue;
        (void)json_object_set(listing->values, record.id, json_object_get(cell, "values"));
        if (json_object_get(seen, record.id) == NULL)
            jr_records_add(listing->records, &record);
    }
    json_decref(seen);
    json_decref(sweep);
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

static void print_run(struct jr_buf *out, const struct jr_record *record, enum breadth breadth)
{
    JR_BUF_CLEANUP struct jr_buf took = JR_BUF_INIT, step = JR_BUF_INIT;
    char started[32], ranks[16] = "-", when[32] = "-";
    bool timed = jr_record_has_times(record);
    jr_buf_printf(out, "%-13s ", record->status);
    if (record->finished)
        jr_buf_printf(out, "%4d", record->exit_code);
    else
        jr_buf_str(out, "   -");
    if (timed) {
        jr_clock_rfc3339(started, jr_clock_ns_of(record->started));
        (void)snprintf(when, sizeof when, "%.19sZ", started);
    }
    if (timed && record->world_size > 0) /* a sweep has none of its own */
        (void)snprintf(ranks, sizeof ranks, "%u", record->world_size);
    if (timed && strcmp(record->status, "lost") != 0)
        jr_clock_human(&took, jr_clock_ns_of(record->seconds));
    else
        jr_buf_char(&took, '-'); /* nobody knows when it ended */
    if (timed)
        jr_record_step(&step, record);
    else
        jr_buf_char(&step, '-');
    out->failed |= took.failed || step.failed;
    if (out->failed)
        return;
    if (breadth == NARROW)
        jr_buf_printf(out, "  %7s  %-12s", ranks, took.data);
    else if (breadth == WHOLE)
        jr_buf_printf(out, "  %7s  %-20s  %-12s  %-11s", ranks, when, took.data, step.data);
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
static json_t *read_result(const struct listing *listing, const struct jr_record *record)
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
    json_auto_t *results = fd < 0 ? NULL : jr_record_folder_json(fd, "results.json", NULL);
    json_t *result = results == NULL ? NULL : jr_cell_result(results);
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
static json_t *nested_run(const struct listing *listing, const struct jr_record *record,
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

static json_t *flat_run(const struct listing *listing, const struct jr_record *record)
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
    bool found = false;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        found |= strncmp(word, groups[i], strlen(groups[i])) == 0;
    for (size_t i = 0; always[i] != NULL; i++)
        found |= strlen(always[i]) == len && memcmp(always[i], word, len) == 0;
    for (size_t i = 0; aliases[i].word != NULL; i++)
        found |= strlen(aliases[i].word) == len && memcmp(aliases[i].word, word, len) == 0;
    return found;
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

static int load_listing(struct listing *listing, struct jr_error *err)
{
    struct jr_error why = {0};
    if (jr_records_list(listing->records, listing->log_dir, &why) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s", why.text);
    listing->values = json_object();
    if (listing->view->cells)
        each_sweep(listing, add_cells, NULL);
    else
        jr_sweeps_add(listing->records, listing->log_dir, listing->view->environ);
    listing->results = wants_results(listing->view);
    listing->flat = json_array();
    for (size_t i = 0; i < listing->records->count; i++)
        jr_json_append(listing->flat, flat_run(listing, &listing->records->items[i]));
    return listing->records->arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                                          : 0;
}

/* The usual table, or the usual objects. */
static void print_usual(struct jr_buf *out, const struct listing *listing,
                        const struct jr_row_table *table)
{
    json_auto_t *list = json_array();
    bool text = table->format == JR_ROWS_TEXT;
    enum breadth breadth = find_breadth(out, listing->records->items, listing->records->count);
    if (text && listing->records->count > 0)
        print_heading(out, breadth);
    for (size_t i = 0; i < table->count; i++) {
        const struct jr_record *record = &listing->records->items[table->order[i]];
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
}

int jr_runs_list(struct jr_buf *out, const char *log_dir, const struct jr_runs_view *view,
                 struct jr_error *err)
{
    static const char usual[] = "name,status,exit_code,world_size,started,seconds";
    struct jr_records records = JR_RECORDS_INIT;
    struct listing listing = {.records = &records, .log_dir = log_dir, .view = view};
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
    jr_records_release(&records);
    return status;
}

#define REMOVED ".pruned-"

/* What is removed, and what is told of it. */
struct pruning {
    struct jr_pruned *pruned;
    struct jr_buf *out, *bad;
    int log_fd;
    json_t *sizes; /* of the journals, by their sweeps, when we began; 0: there was none */
};

static void fail_removal(const struct pruning *pruning, const char *id, const char *why)
{
    pruning->pruned->failed++;
    jr_buf_printf(pruning->bad, "jobrun: %s could not be removed: %s\n", id, why);
}

/* Note the bytes of the journal of each sweep; and remove what a prune that was killed has left,
 * unless this one is dry. */
static void begin_prune(const struct pruning *pruning, bool dry)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv names = {0};
    struct stat st;
    jr_io_names(&names, &arena, pruning->log_fd, ".");
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.items[i];
        bool rest = strncmp(name, REMOVED, strlen(REMOVED)) == 0;
        bool sweep = jr_sweep_is_folder(pruning->log_fd, name);
        JR_CLOSE int fd = rest || sweep ? open_folder(pruning->log_fd, name) : -1;
        if (fd < 0)
            continue;
        struct jr_trust trust = jr_trust_run(pruning->log_fd, fd);
        if (sweep) {
            bool has = fstatat(fd, JR_JOURNAL_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0;
            jr_json_set_int(pruning->sizes, name, has ? (json_int_t)st.st_size : 0);
        }
        if (rest && !dry && jr_trust_is_ours(&trust) &&
            jr_prune_folder(pruning->pruned, pruning->log_fd, name) != 0)
            fail_removal(pruning, name, strerror(errno));
    }
}

/* Remove a part, but for what an agent has begun in it meanwhile: it holds that. 0, or -1 with the
 * errno of the first thing that stays. */
static int remove_part(const struct pruning *pruning, const char *name)
{
    struct jr_arena arena = JR_ARENA_INIT;
    JR_CLOSE int fd = open_folder(pruning->log_fd, name);
    int error = 0;
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    const struct jr_strv folders = find_part_cells(&arena, fd);
    for (size_t i = 0; i < folders.count; i++) {
        JR_CLOSE int lock = hold_cells(fd, folders.items[i]);
        if (lock >= 0 && jr_prune_folder(pruning->pruned, fd, folders.items[i]) != 0 && error == 0)
            error = errno;
    }
    /* What is left of the folder where nobody has cells in it any more. */
    if (error == 0 && find_part_cells(&arena, fd).count == 0)
        (void)unlinkat(fd, TRACKED_IN, 0);
    jr_arena_release(&arena);
    if (error == 0 && unlinkat(pruning->log_fd, name, AT_REMOVEDIR) != 0 && errno != ENOTEMPTY &&
        errno != EEXIST && errno != ENOENT)
        error = errno;
    errno = error;
    return error == 0 ? 0 : -1;
}

/* Remove a sweep that has ended, unless somebody goes on with it. */
static void remove_sweep(const struct pruning *pruning, const char *id)
{
    struct jr_journal journal = {.fd = -1};
    struct jr_pruned *pruned = pruning->pruned;
    struct jr_error err = {0};
    struct stat st;
    char name[sizeof REMOVED + 160];
    pid_t holder = 0;
    JR_CLOSE int fd = open_folder(pruning->log_fd, id);
    (void)snprintf(name, sizeof name, REMOVED "%s-%d", id, (int)getpid());
    if (fd < 0) {
        if (errno != ENOENT) /* or another prune has removed it */
            fail_removal(pruning, id, strerror(errno));
    } else if (jr_journal_open(&journal, fd, S_IRUSR | S_IWUSR, &holder, &err) != 0) {
        pruned->unfinished += holder != 0;
        if (holder == 0)
            fail_removal(pruning, id, err.text);
    } else if (fstat(journal.fd, &st) != 0 ||
               st.st_size > jr_json_get_int(pruning->sizes, id) + 1) {
        /* Something was written to it, but for the end of a line that was torn. */
        pruned->unfinished++;
    } else if (renameat(pruning->log_fd, id, pruning->log_fd, name) != 0) {
        fail_removal(pruning, id, strerror(errno));
    } else {
        pruned->removed++;
        jr_buf_printf(pruning->out, "%s\n", id);
        if (jr_prune_folder(pruned, pruning->log_fd, name) != 0)
            fail_removal(pruning, name, strerror(errno));
    }
    jr_journal_close(&journal);
}

void jr_sweeps_prune(struct jr_pruned *ret, struct jr_buf *out, struct jr_buf *bad,
                     const char *log_dir, struct jr_prune_options *options, char *const *envp)
{
    struct jr_records records = JR_RECORDS_INIT;
    struct jr_error err = {0};
    uint32_t rows = 0, runs = 0;
    double young = (double)jr_clock_wall_ns() / 1e9 - (double)options->older_ms / 1e3;
    JR_CLOSE int log_fd = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *ret = (struct jr_pruned){0};
    if (log_fd < 0 || jr_records_list(&records, log_dir, &err) != 0)
        return;
    struct pruning pruning = {ret, out, bad, log_fd, json_object()};
    begin_prune(&pruning, options->dry); /* before it is read how they stand */
    jr_sweeps_add(&records, log_dir, envp);
    for (size_t i = 0; i < records.count; i++) {
        const struct jr_record *record = &records.items[i];
        bool part = is_part(log_fd, record->id);
        bool sweep = part || jr_sweep_is_folder(log_fd, record->id);
        bool ours = jr_trust_is_ours(&record->trust);
        if (!ours || !record->finished) {
            ret->unfinished += sweep && ours;
            ret->foreign += sweep && !ours;
            continue;
        }
        bool kept = rows++ < options->keep || (options->older_ms > 0 && record->started > young);
        runs += kept && !sweep;
        ret->kept += kept && sweep;
        if (kept || !sweep)
            continue;
        if (!part && !options->dry) {
            remove_sweep(&pruning, record->id);
        } else if (part && !options->dry && remove_part(&pruning, record->id) != 0) {
            fail_removal(&pruning, record->id, strerror(errno));
        } else {
            ret->removed++;
            jr_buf_printf(out, "%s\n", record->id);
        }
    }
    if (!options->dry && ret->removed > 0)
        jr_prune_latest(log_fd);
    if (options->keep > 0)
        options->keep = runs;
    json_decref(pruning.sizes);
    jr_records_release(&records);
}
