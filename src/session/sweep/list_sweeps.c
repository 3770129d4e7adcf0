/* Sweeps as rows of the list of runs. show_sweep.h declares it. */
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
#include "record/record_folder.h"
#include "session/slurm_queue.h"
#include "session/sweep/load_sweep.h"
#include "session/sweep/show_sweep.h"
#include "session/sweep/sweep_part.h"
#include "store/run_folder.h"
#include "sweep/cell_json.h"
#include "sweep/journal.h"
#include "sweep/sweep_file.h"

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

/* What the sweep itself ended with, if it is more than its cells got, as where a signal came
 * between two. */
static void take_own_code(struct jr_record *record, const json_t *sweep)
{
    const json_t *code = json_object_get(sweep, "exit_code");
    json_int_t own = json_integer_value(code);
    if (!json_is_integer(code) || own <= 0 || own > 255)
        return;
    record->exit_code = (int)own;
    if (strcmp(record->status, "succeeded") == 0)
        record->status = own > 128                     ? "stopped"
                         : own == JR_STATUS_INCOMPLETE ? "incomplete"
                                                       : "launch_failed";
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
    take_own_code(record, sweep);
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

void jr_sweep_cells_add(struct jr_records *records, json_t *values, const char *log_dir)
{
    struct listing listing = {.records = records, .values = values, .log_dir = log_dir};
    each_sweep(&listing, add_cells, NULL);
}
