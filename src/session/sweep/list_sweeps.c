/* Sweeps as rows of the list of runs. show_sweep.h declares it. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "session/slurm_queue.h"
#include "session/sweep/load_sweep.h"
#include "session/sweep/show_sweep.h"
#include "sweep/journal.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

/* When a sweep began, and when its journal was last written to. */
struct times {
    double first, last;
    bool ended;
};

static void take_time(void *data, enum jr_journal_event event,
                      const json_t *line)
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
        record->exit_code = code;
        record->status = word;
    }
    if (record->exit_code == 0 && delivered < count)
        record->status = "stopped";
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
};

/* When the results of the cells were written last. */
static void find_last_end(struct times *times, const json_t *sweep, int dir_fd)
{
    const json_t *cells = json_object_get(sweep, "cells");
    char folder[16], path[64];
    struct stat st;
    for (size_t i = 0; i < json_array_size(cells); i++) {
        jr_cell_folder(folder, (uint32_t)jr_json_get_int(
                                   json_array_get(cells, i), "cell"));
        (void)snprintf(path, sizeof path, JR_SWEEP_CELLS "/%s/results.json",
                       folder);
        if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        double when =
            (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9;
        if (when > times->last)
            times->last = when;
    }
}

/* Whether Slurm still has what was submitted, so that cells may begin and end;
 * the end of what it has not is that of the last cell. */
static bool is_array_led(struct listing *listing, struct times *times,
                         const json_t *sweep, int dir_fd)
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

static void fill_record(struct listing *listing, struct jr_record *record,
                        const json_t *sweep, int dir_fd)
{
    struct times times = {0};
    struct jr_arena *arena = &listing->records->arena;
    (void)jr_journal_read(dir_fd, take_time, &times);
    bool led = jr_journal_holder(dir_fd) != 0 ||
               is_array_led(listing, &times, sweep, dir_fd);
    record->name = jr_arena_strdup(arena, jr_json_get_str(sweep, "name"));
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

static int compare_newest(const void *left, const void *right)
{
    const struct jr_record *a = left, *b = right;
    if (a->started != b->started)
        return a->started < b->started ? 1 : -1;
    return strcmp(b->id, a->id);
}

/* Append a row; all of them are moved to an array of their own. */
static void add_record(struct jr_records *records,
                       const struct jr_record *record)
{
    struct jr_record *items =
        jr_arena_array(&records->arena, records->count + 1, sizeof *items);
    if (items == NULL)
        return;
    if (records->count > 0)
        (void)memcpy(items, records->items, records->count * sizeof *items);
    items[records->count++] = *record;
    records->items = items;
}

static void add_sweep(struct listing *listing, const char *name)
{
    struct jr_record record = {0};
    if (!jr_sweep_is_folder(listing->log_fd, name))
        return;
    JR_CLOSE int fd = openat(listing->log_fd, name,
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    json_t *sweep = fd < 0 ? NULL : jr_load_sweep(listing->log_dir, name, NULL);
    if (sweep == NULL)
        return;
    record.id = jr_arena_strdup(&listing->records->arena, name);
    record.trust = jr_trust_run(listing->log_fd, fd);
    fill_record(listing, &record, sweep, fd);
    add_record(listing->records, &record);
    json_decref(sweep);
}

void jr_sweeps_add(struct jr_records *records, const char *log_dir,
                   char *const *envp)
{
    JR_CLOSE int log_fd = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct listing listing = {records, log_dir, log_fd, {.asked = false}};
    jr_slurm_queue_init(&listing.queue, envp);
    int again = log_fd < 0 ? -1 : dup(log_fd);
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "latest") != 0)
            add_sweep(&listing, entry->d_name);
    if (entries != NULL)
        (void)closedir(entries);
    jr_slurm_queue_release(&listing.queue);
    if (records->count > 0)
        qsort(records->items, records->count, sizeof *records->items,
              compare_newest);
}
