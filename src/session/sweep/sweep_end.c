/* What became of a cell, by its own record, and of the sweep. sweep_run_parts.h declares it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/num.h"
#include "base/shell_words.h"
#include "judge/words.h"
#include "record/record_folder.h"
#include "session/stages.h"
#include "session/sweep/cell_session.h"
#include "session/sweep/sweep_run_parts.h"
#include "session/sweep/sweep_screen.h"
#include "session/sweep/sweep_table.h"
#include "sweep/cell_result.h"

#include "base/banned.h"

static void tell_line(struct jr_sweep_run *run, const struct jr_buf *line)
{
    jr_sweep_screen_hide(run);
    if (run->options->line != NULL && !line->failed && line->data != NULL)
        run->options->line(run->options->data, line->data);
}

/* The word of the contract, and no other text that a file may hold. */
static const char *known_status(const json_t *results)
{
    const char *word = jr_json_get_str(results, "status");
    enum jr_run_status status;
    if (word == NULL || !jr_run_status_of(word, &status))
        return "launch_failed";
    return jr_run_status_word(status);
}

/* The code that it ran with. */
static void read_code(struct jr_cell_state *state, int dir_fd)
{
    json_t *run = jr_record_folder_json(dir_fd, "run.json", NULL);
    const char *tree = jr_json_get_str(json_object_get(run, "code"), "tree");
    (void)snprintf(state->code, sizeof state->code, "%s", tree == NULL ? "" : tree);
    json_decref(run);
}

const char *jr_sweep_keep_host(struct jr_sweep_run *run, const char *host)
{
    struct jr_arena *arena = &run->session->arena;
    for (size_t i = 0; host != NULL && i < run->hosts.count; i++)
        if (strcmp(run->hosts.items[i], host) == 0)
            return run->hosts.items[i];
    char *kept = jr_arena_strdup(arena, host);
    if (kept != NULL)
        jr_strv_push(&run->hosts, arena, kept);
    return kept;
}

/* The machine of its first rank. */
static const char *read_host(const json_t *results)
{
    return jr_json_get_str(json_array_get(json_object_get(results, "ranks"), 0), "host");
}

bool jr_sweep_read_cell(struct jr_sweep_run *run, size_t cell)
{
    struct jr_cell_state *state = &run->states[cell];
    char folder[16];
    jr_cell_folder(folder, state->number);
    JR_CLOSE int fd =
        openat(run->cells_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    json_t *results = fd < 0 ? NULL : jr_record_folder_json(fd, "results.json", NULL);
    if (results == NULL)
        return false;
    read_code(state, fd);
    const char *print = jr_json_get_str(results, "fingerprint"), *host = read_host(results);
    json_decref(state->result);
    if (host != NULL)
        state->host = jr_sweep_keep_host(run, host);
    state->status = known_status(results);
    state->seconds = jr_json_get_real(results, "seconds");
    state->result = jr_cell_result(results);
    (void)snprintf(state->fingerprint, sizeof state->fingerprint, "%s", print == NULL ? "" : print);
    json_decref(results);
    return true;
}

/* "cell 7 failed after 1.2 s   vars.lr=0.1   accuracy 0.95" */
static void tell_cell(struct jr_sweep_run *run, size_t cell)
{
    const struct jr_cell_state *state = &run->states[cell];
    const struct jr_cells *cells = &run->session->swept->cells;
    const char *field = cells->axes->best.field;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line, "%zu/%zu  cell %04u %s after %.1f s   ", run->done, run->to_run,
                  state->number, state->status, state->seconds);
    jr_cells_text(&line, cells, cell);
    if (field != NULL && state->result != NULL) {
        jr_buf_str(&line, "   ");
        jr_buf_safe(&line, field);
        jr_buf_char(&line, ' ');
        jr_cell_result_text(&line, json_object_get(state->result, field));
    }
    if (strcmp(state->status, "succeeded") != 0) {
        char folder[16];
        jr_cell_folder(folder, state->number);
        JR_CLOSE int fd =
            openat(run->cells_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        jr_buf_str(&line, "   ");
        jr_sweep_cell_reason(&line, fd);
    }
    tell_line(run, &line);
}

/* A cell left no record. On a full disk all others would end like that, one after the other. */
static void note_full_disk(struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (run->closing || (!process->full && !jr_cell_disk_is_full(run->cells_fd)))
        return;
    run->closing = true;
    jr_buf_printf(&line,
                  "the disk of %s is full: no other cell begins. Once there is "
                  "space, go on with --resume=%s",
                  run->log_dir, run->dir.id);
    jr_session_note_buf(run->session, &line);
}

void jr_sweep_note_end(struct jr_sweep_run *run, size_t cell, bool interrupted)
{
    const struct jr_cell_state *state = &run->states[cell];
    json_t *values = jr_cells_json(&run->session->swept->cells, cell);
    const struct jr_journal_line line = {.event = JR_JOURNAL_CELL_ENDED,
                                         .cell = state->number,
                                         .values = values,
                                         .status = state->status,
                                         .host = state->host,
                                         .interrupted = interrupted};
    jr_journal_add(&run->journal, &line);
    json_decref(values);
}

/* What another machine has written is seen once the folder was opened anew:
 * nfs(5), close-to-open. */
static void renew_cells_folder(const struct jr_sweep_run *run)
{
    JR_CLOSE int fd = openat(run->cells_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)fd;
}

/* A cell that has not begun, because its devices were not to be had on its node within the time of
 * --wait: others would wait as long. */
static bool has_waited_in_vain(struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    if (!process->on_node || process->lost || process->code != JR_STATUS_UNRESOLVED ||
        process->grant.devices_count == 0 || run->session->options.wait_ms == 0)
        return false;
    run->states[process->cell].status = "not_started";
    run->states[process->cell].host = NULL;
    run->devices.over = run->closing = true;
    return true;
}

/* Whether the process of a cell says itself that the cell has not delivered. A
 * record that says otherwise is not its own: where it could not begin, because
 * something stood in the place of its folder. One that was killed says nothing:
 * its runner wrote the record. */
static bool has_process_failed(const struct jr_cell_process *process)
{
    if (process->on_node)
        return !process->lost && process->code != 0;
    return WIFEXITED(process->exit_status) && WEXITSTATUS(process->exit_status) != 0;
}

/* A cell left no record: its node was lost with it, or it could not begin. */
static void take_no_record(struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    struct jr_cell_state *state = &run->states[process->cell];
    state->status = process->lost ? "lost" : "launch_failed";
    if (process->lost)
        state->seconds = (double)(jr_clock_ns() - process->began_ns) / 1e9;
    else
        note_full_disk(run, process);
}

/* Take over what a cell that has ended left. False: it has not begun. */
static bool read_ended_cell(struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    struct jr_cell_state *state = &run->states[process->cell];
    uint32_t number = state->number;
    if (process->on_node)
        renew_cells_folder(run);
    if (!jr_sweep_read_cell(run, process->cell)) {
        if (has_waited_in_vain(run, process))
            return false;
        take_no_record(run, process);
    } else if (strcmp(state->status, "succeeded") == 0 && has_process_failed(process)) {
        json_decref(state->result);
        *state = (struct jr_cell_state){
            .number = number, .status = "launch_failed", .host = state->host};
    }
    return true;
}

bool jr_sweep_take_cell(struct jr_sweep_run *run, const struct jr_cell_process *process)
{
    struct jr_cell_state *state = &run->states[process->cell];
    if (!read_ended_cell(run, process))
        return false;
    bool good = strcmp(state->status, "succeeded") == 0;
    run->done++;
    bool interrupted = !good && (run->stop_signal != 0 || process->lost);
    if (!good && !interrupted) {
        uint32_t most = run->session->swept->axes.stop_after;
        run->failed++;
        run->closing |= most > 0 && run->failed >= most;
    }
    jr_sweep_note_end(run, process->cell, interrupted);
    jr_sweep_screen_stir(run);
    if (!good || !jr_sweep_screen_is_open(run))
        tell_cell(run, process->cell);
    return good;
}

/* How many cells have each of the ends, and the exit status of all. */
static int count_ends(const struct jr_sweep_run *run, size_t *ret_good, size_t *ret_bad)
{
    const struct jr_cells *cells = &run->session->swept->cells;
    int lowest = 0;
    *ret_good = *ret_bad = 0;
    for (size_t i = 0; i < cells->count; i++) {
        int code = jr_cell_status_class(run->states[i].status);
        bool good = strcmp(run->states[i].status, "succeeded") == 0;
        *ret_good += good;
        *ret_bad += code != 0;
        if (run->devices.over && strcmp(run->states[i].status, "not_started") == 0)
            code = JR_STATUS_UNRESOLVED;
        if (code != 0 && (lowest == 0 || code < lowest))
            lowest = code;
    }
    if (lowest == 0 && *ret_good < cells->count)
        lowest = JR_STATUS_LAUNCH;
    return run->stop_signal != 0 ? 128 + run->stop_signal : lowest;
}

/* "23 of 24 cells delivered, 1 did not; best cell 0002: accuracy 0.96" */
static void add_counts(struct jr_buf *out, const struct jr_sweep_record *record, size_t good,
                       size_t bad)
{
    size_t count = record->cells->count, left = count - good - bad;
    long best = jr_sweep_record_best(record);
    jr_buf_printf(out, "%zu of %zu cells delivered", good, count);
    if (bad > 0)
        jr_buf_printf(out, ", %zu did not", bad);
    if (left > 0)
        jr_buf_printf(out, ", %zu did not begin", left);
    if (best < 0)
        return;
    const char *field = record->cells->axes->best.field;
    jr_buf_printf(out, "; best cell %04u: ", record->states[best].number);
    jr_buf_safe(out, field);
    jr_buf_char(out, ' ');
    jr_cell_result_text(out, json_object_get(record->states[best].result, field));
}

static const char *best_mark(const void *data, const json_t *row)
{
    const struct jr_sweep_table *table = data;
    return jr_json_get_int(row, "cell") == table->best ? "* " : "  ";
}

static void add_nothing(const void *data, struct jr_buf *out, const json_t *row)
{
    (void)data;
    (void)out;
    (void)row;
}

/* The best of the cells that delivered, as `show` has them; nothing where none is better than
 * another. */
static void add_best_rows(struct jr_buf *out, const struct jr_sweep_run *run, size_t good)
{
    enum { MOST = 3 };
    struct jr_buf rows JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_sweep_table table;
    struct jr_error err;
    const struct jr_row_margin margin = {best_mark, add_nothing, &table};
    const struct jr_sweep_view view = {.top = good < MOST ? (uint32_t)good : MOST};
    if (jr_sweep_table_open(&table, run->log_dir, run->dir.id, JR_ROWS_TEXT, &err) == 0 &&
        table.best >= 0 && good > 1 && jr_sweep_table_arrange(&table, &view, &err) == 0)
        jr_row_table_print(&rows, &table.rows, &margin);
    for (size_t at = 0, len; at < rows.len && !rows.failed; at += len + 1) {
        len = strcspn(rows.data + at, "\n");
        jr_buf_str(out, "\n        ");
        jr_buf_add(out, rows.data + at, len);
    }
    jr_sweep_table_close(&table);
}

/* How to go on with a sweep that has not delivered all. */
static void add_way_on(struct jr_buf *out, const struct jr_sweep_run *run)
{
    const struct jr_session_options *options = &run->session->options;
    const char *spec = run->session->spec_name;
    bool plain = spec != NULL && strcmp(spec, "stdin") != 0 &&
                 (options->sets == NULL || options->sets[0] == NULL) &&
                 (options->sweeps == NULL || options->sweeps[0] == NULL);
    jr_buf_str(out, "\n        to go on: ");
    if (plain) {
        jr_buf_str(out, "jobrun ");
        jr_shell_quote(out, spec);
        jr_buf_str(out, " --resume");
    } else {
        jr_buf_printf(out, "the same command, with --resume=%s behind jobrun", run->dir.id);
    }
}

/* What became of all, the best cells, where the rest is, and how to go on. */
static void tell_end(struct jr_sweep_run *run, const struct jr_sweep_record *record, size_t good,
                     size_t bad)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT, path JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, "%s: ", run->name);
    add_counts(&text, record, good, bad);
    add_best_rows(&text, run, good);
    JR_FREE char *here = getcwd(NULL, 0);
    size_t above = here == NULL ? 0 : strlen(here);
    bool below = above > 1 && strncmp(run->log_dir, here, above) == 0 && run->log_dir[above] == '/';
    jr_buf_printf(&path, "%s/%s", run->log_dir + (below ? above + 1 : 0), run->dir.id);
    jr_buf_str(&text, "\n        ");
    jr_buf_safe(&text, path.failed ? run->dir.id : path.data);
    jr_buf_str(&text, "   (jobrun show latest");
    if (!path.failed)
        jr_words_log_dir(&text, path.data);
    jr_buf_char(&text, ')');
    if (good < record->cells->count)
        add_way_on(&text, run);
    tell_line(run, &text);
}

/* sweep.json is not as it should be, as on a full disk: the journal and the cells' own records
 * still tell what became of each. */
static void note_unwritten_sweep(const struct jr_sweep_run *run, const struct jr_error *why)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line,
                  "%s/%s/%s; every cell that ended has its own record: once "
                  "that is mended, --resume=%s writes it",
                  run->log_dir, run->dir.id, why->text, run->dir.id);
    jr_session_note_buf(run->session, &line);
}

/* The line of the end says that sweep.json is whole, and the lock of the journal, which the caller
 * gives back, that all was told to whoever reads. */
int jr_sweep_end(struct jr_sweep_run *run)
{
    size_t good, bad;
    struct jr_error err = {0};
    const struct jr_sweep_record record = {.cells = &run->session->swept->cells,
                                           .states = run->states};
    int code = count_ends(run, &good, &bad);
    (void)jr_journal_sync(&run->journal, true);
    if (run->journal.failed)
        jr_session_note(run->session, "the journal of the sweep is not whole");
    if (run->journal.failed && code == 0)
        code = JR_STATUS_LAUNCH;
    run->exit_code = code;
    run->ended = true;
    if (jr_sweep_write(run, &err) != 0) {
        note_unwritten_sweep(run, &err);
        code = code == 0 ? JR_STATUS_LAUNCH : code;
    } else {
        jr_journal_add(&run->journal, &(struct jr_journal_line){.event = JR_JOURNAL_SWEEP_ENDED,
                                                                .cell = JR_JOURNAL_NO_CELL});
    }
    (void)jr_journal_sync(&run->journal, true);
    tell_end(run, &record, good, bad);
    return code;
}
