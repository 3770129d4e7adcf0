#include "session/sweep/load_sweep.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "judge/words.h"
#include "record/record_folder.h"
#include "store/run_folder.h"
#include "sweep/cell_result.h"
#include "sweep/journal.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

enum { MOST_BYTES = 256 << 20 };

/* What the journal says, by the number of a cell as a text. */
struct known {
    json_t *events;
    bool ended; /* the sweep, as its last line says */
};

static void take_cell_line(void *data, enum jr_journal_event event,
                           const json_t *line)
{
    struct known *known = data;
    char key[32];
    known->ended = event == JR_JOURNAL_SWEEP_ENDED;
    if (event != JR_JOURNAL_CELL_STARTED && event != JR_JOURNAL_CELL_ENDED)
        return;
    (void)snprintf(key, sizeof key, "%lld",
                   (long long)jr_json_get_int(line, "cell"));
    (void)json_object_set_new(known->events, key, json_integer((int)event));
}

/* What a cell's own record says; false: it has no results. */
static bool take_results(json_t *cell, int dir_fd, uint32_t number)
{
    char folder[16], path[64];
    enum jr_run_status status;
    jr_cell_folder(folder, number);
    (void)snprintf(path, sizeof path, JR_SWEEP_CELLS "/%s", folder);
    JR_CLOSE int fd =
        jr_open_beneath(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    json_t *results =
        fd < 0 ? NULL : jr_record_folder_json(fd, "results.json", NULL);
    const char *word = jr_json_get_str(results, "status");
    if (word == NULL || !jr_run_status_of(word, &status)) {
        json_decref(results);
        return false;
    }
    json_t *result = jr_cell_result(results);
    jr_json_set_str(cell, "status", jr_run_status_word(status));
    jr_json_share(cell, results, "fingerprint");
    jr_json_share(cell, results, "seconds");
    jr_json_set(cell, "result", result == NULL ? json_null() : result);
    jr_json_set_str(cell, "run", path);
    json_decref(results);
    return true;
}

/* Bring a cell to what is known of it by now. */
static void update_cell(json_t *cell, const struct known *known, int dir_fd,
                        bool led)
{
    char key[32];
    json_int_t number = jr_json_get_int(cell, "cell");
    (void)snprintf(key, sizeof key, "%lld", (long long)number);
    const json_t *event = json_object_get(known->events, key);
    if (event == NULL || take_results(cell, dir_fd, (uint32_t)number))
        return;
    bool ended = json_integer_value(event) == JR_JOURNAL_CELL_ENDED;
    jr_json_set_str(cell, "status",
                    ended ? "launch_failed"
                    : led ? "running"
                          : "lost");
}

static void count_cells(json_t *sweep, const json_t *cells)
{
    json_t *counts = json_object();
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const char *word = jr_json_get_str(json_array_get(cells, i), "status");
        if (word != NULL)
            jr_json_set_int(counts, word, jr_json_get_int(counts, word) + 1);
    }
    jr_json_set(sweep, "counts", counts);
}

/* A sweep that ended is as its file says. */
static void update_cells(json_t *sweep, int dir_fd)
{
    struct known known = {.events = json_object()};
    json_t *cells = json_object_get(sweep, "cells");
    (void)jr_journal_read(dir_fd, take_cell_line, &known);
    bool led = jr_journal_holder(dir_fd) != 0;
    if (led || !known.ended) {
        for (size_t i = 0; i < json_array_size(cells); i++)
            update_cell(json_array_get(cells, i), &known, dir_fd, led);
        count_cells(sweep, cells);
    }
    json_decref(known.events);
}

json_t *jr_load_sweep(const char *log_dir, const char *id, struct jr_error *err)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    JR_CLOSE int log_fd = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    JR_CLOSE int fd =
        log_fd < 0 ? -1
                   : openat(log_fd, id,
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 ||
        jr_io_read_file(&text, fd, JR_SWEEP_FILE, MOST_BYTES, err) != 0)
        return NULL;
    json_t *sweep =
        jr_json_parse(text.data == NULL ? "" : text.data, text.len, err);
    if (sweep != NULL && json_is_array(json_object_get(sweep, "cells"))) {
        update_cells(sweep, fd);
        return sweep;
    }
    json_decref(sweep);
    (void)jr_error_set(err, JR_STATUS_LAUNCH,
                       "%s/%s/" JR_SWEEP_FILE " is not what jobrun writes",
                       log_dir, id);
    return NULL;
}
