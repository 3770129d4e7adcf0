/*
 * Going on with a sweep (sweep_run_parts.h): which one, which of its cells have delivered, and what
 * becomes of the others.
 *
 * A cell is known by its values, wherever they stand in the axes now, and keeps its number; values
 * that are new get numbers that no cell has had. What counts as delivered is the cell's own record:
 * status succeeded, with the fingerprint that the cell has now, and with its artifacts still there
 * as it delivered them. Neither sweep.json nor the journal is believed about that. The folder of a
 * cell that runs again is put aside, as 0007.1.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/diff_table.h"
#include "base/io.h"
#include "record/record_folder.h"
#include "resolve/spec_diff.h"
#include "run/policies/pin_results.h"
#include "session/render_session.h"
#include "session/slurm_queue.h"
#include "session/stages.h"
#include "session/sweep/cell_hosts.h"
#include "session/sweep/latest_sweep.h"
#include "session/sweep/live_sweep.h"
#include "session/sweep/load_sweep.h"
#include "session/sweep/settle_cell.h"
#include "session/sweep/sweep_run_parts.h"

#include "base/banned.h"

enum { MOST_ASIDE = 10000 };

/* A number that is larger is none that a sweep has given. */
enum { MOST_NUMBER = 1000000000 };

/* What the journal says last of a cell. */
enum course { COURSE_UNKNOWN, COURSE_CUT_SHORT, COURSE_LOST, COURSE_ENDED };

/* What is known of the sweep from before. */
struct past {
    struct jr_sweep_run *run;
    json_t *numbers; /* of cells, by their values as a text */
    json_t *values;  /* of cells that have a number, by that */
    char *course;    /* by number: a word of enum course, by the journal */
    size_t course_count;
    uint32_t next; /* number that no cell has had */
    struct jr_former_leader leader;
};

/* The values of a cell as a text, whatever their order. NULL without memory. */
static char *values_key(const json_t *values)
{
    return json_dumps(values, JSON_SORT_KEYS | JSON_COMPACT);
}

static void learn_number(struct past *past, const json_t *cell)
{
    const json_t *number = json_object_get(cell, "cell"), *values = json_object_get(cell, "values");
    json_int_t value = json_integer_value(number);
    if (!json_is_integer(number) || !json_is_object(values) || value < 0 || value > MOST_NUMBER)
        return;
    char *key = values_key(values), digits[32];
    (void)snprintf(digits, sizeof digits, "%lld", (long long)value);
    /* A number belongs to the first values that are said to have it. */
    if (key != NULL && json_object_get(past->numbers, key) == NULL &&
        json_object_get(past->values, digits) == NULL) {
        (void)json_object_set_new(past->numbers, key, json_integer(value));
        (void)json_object_set_new(past->values, digits, json_deep_copy(values));
    }
    free(key);
    if (value >= past->next)
        past->next = (uint32_t)value + 1;
}

/* Lines of the journal know cells, too: where sweep.json was lost they are what is left. */
static void learn_line(void *data, enum jr_journal_event event, const json_t *line)
{
    struct past *past = data;
    jr_former_leader_learn(&past->leader, event, line);
    if (event != JR_JOURNAL_CELL_STARTED && event != JR_JOURNAL_CELL_ENDED)
        return;
    learn_number(past, line);
    json_int_t number = jr_json_get_int(line, "cell");
    bool whole = event == JR_JOURNAL_CELL_ENDED && !jr_json_get_bool(line, "interrupted");
    if (number < 0 || (size_t)number >= past->course_count)
        return;
    past->course[number] = jr_journal_says_lost(event, line) ? COURSE_LOST
                           : whole                           ? COURSE_ENDED
                                                             : COURSE_CUT_SHORT;
}

static void learn_list(struct past *past, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        learn_number(past, json_array_get(list, i));
}

/* Give each cell of now its number. */
static int number_cells(struct past *past)
{
    struct jr_sweep_run *run = past->run;
    const struct jr_cells *cells = &run->session->swept->cells;
    for (size_t i = 0; i < cells->count; i++) {
        json_t *values = jr_cells_json(cells, i);
        char *key = values == NULL ? NULL : values_key(values);
        json_decref(values);
        if (key == NULL)
            return -1;
        const json_t *known = json_object_get(past->numbers, key);
        char digits[32];
        run->states[i].number = known != NULL ? (uint32_t)json_integer_value(known) : past->next++;
        (void)snprintf(digits, sizeof digits, "%u", run->states[i].number);
        (void)json_object_del(past->values, digits);
        free(key);
    }
    return 0;
}

/* Cells that the axes do not have any more keep their numbers. */
static void keep_former(struct past *past)
{
    struct jr_sweep_run *run = past->run;
    const char *digits;
    json_t *values;
    run->former = json_array();
    json_object_foreach(past->values, digits, values) {
        json_t *cell = json_object();
        jr_json_set_int(cell, "cell", strtoll(digits, NULL, 10));
        jr_json_set(cell, "values", json_incref(values));
        jr_json_append(run->former, cell);
    }
}

/* The resolution of a cell's spec, for its experiment alone: no port is tried, so that one which is
 * in use now changes nothing. The file is the caller's to free. */
static bool resolve_cell(struct jr_sweep_run *run, struct jr_spec_file *file,
                         struct jr_resolution *ret)
{
    const struct jr_session *session = run->session;
    struct jr_diags silent = JR_DIAGS_INIT;
    const struct jr_resolve_options options = {
        .local = session->options.local,
        .node_rank = session->options.node_rank,
        .args = session->options.args,
        .environ = session->options.envp,
    };
    struct jr_error why = {0};
    struct jr_host host = run->submits ? session->host : jr_cell_host_for(session, file);
    bool good = !run->assumes || jr_machine_assume(&host, &run->session->arena, jr_spec_get(file),
                                                   &why) == JR_STATUS_OK;
    host.real = false;
    good = good && jr_resolve(ret, file, &host, &options, &silent) == JR_STATUS_OK;
    jr_diags_release(&silent);
    return good;
}

const char *jr_sweep_fingerprint(struct jr_sweep_run *run, size_t cell, struct jr_arena *arena)
{
    struct jr_diags silent = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    struct jr_resolution now = JR_RESOLUTION_INIT;
    const char *print = NULL;
    if (jr_swept_spec_load(&file, run->session->swept, cell, &silent) == 0 &&
        resolve_cell(run, file, &now)) {
        print = jr_arena_strdup(arena, now.job.fingerprint);
        jr_resolution_release(&now);
    }
    jr_diags_release(&silent);
    jr_spec_free(file);
    return print;
}

/* "world_size 8 -> 4, env.LR 0.1 -> 0.2": what of the experiment differs from what a cell ran. */
static void add_changes(struct jr_buf *out, const struct jr_diff_side *then,
                        const struct jr_diff_side *now)
{
    enum { MOST_TOLD = 3 };
    struct jr_diff_table table = {0};
    size_t told = 0;
    if (jr_diff_make(&table, then, now, NULL) != 0)
        return;
    for (size_t i = 0; i < table.count && told < MOST_TOLD; i++) {
        const struct jr_diff_table_row *row = &table.rows[i];
        if (row->part == NULL || strcmp(row->part, "experiment") != 0)
            continue;
        jr_buf_str(out, told++ == 0 ? ": " : ", ");
        jr_buf_safe(out, row->name);
        jr_buf_char(out, ' ');
        jr_buf_safe(out, row->a.value == NULL ? "-" : row->a.value);
        jr_buf_str(out, " -> ");
        jr_buf_safe(out, row->b.value == NULL ? "-" : row->b.value);
    }
    jr_diff_table_release(&table);
}

/* Tell what changed in a cell that had delivered. */
static void tell_change(struct jr_sweep_run *run, size_t cell, struct jr_spec_file *file,
                        const struct jr_resolution *now)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT, text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_diags silent = JR_DIAGS_INIT;
    struct jr_spec_file *then = NULL;
    struct jr_resolution old = JR_RESOLUTION_INIT;
    char path[64], folder[16];
    jr_cell_folder(folder, run->states[cell].number);
    (void)snprintf(path, sizeof path, "%s/resolved.yaml", folder);
    jr_buf_printf(&line, "cell %u has changed, and runs again", run->states[cell].number);
    const char *spec_folder = jr_spec_folder_of(file);
    if (jr_io_read_file(&text, run->cells_fd, path, 1 << 20, NULL) == 0 && text.data != NULL &&
        jr_spec_load_text(&then, path, spec_folder, text.data, text.len, &silent) == 0 &&
        resolve_cell(run, then, &old)) {
        const struct jr_diff_side a = {then, &old}, b = {file, now};
        add_changes(&line, &a, &b);
        jr_resolution_release(&old);
    }
    jr_diags_release(&silent);
    jr_spec_free(then);
    jr_session_note_buf(run->session, &line);
}

/* Whether an artifact is still there as the record says. Where it cannot be read it may have been
 * changed. */
static bool is_still_there(int cell_fd, const json_t *artifact)
{
    const char *path = jr_json_get_str(artifact, "path"),
               *digest = jr_json_get_str(artifact, "digest");
    struct stat st;
    if (path == NULL)
        return false;
    JR_CLOSE int fd =
        openat(cell_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if ((fd < 0 ? fstatat(cell_fd, path, &st, AT_SYMLINK_NOFOLLOW) : fstat(fd, &st)) != 0 ||
        !S_ISREG(st.st_mode) || st.st_size != jr_json_get_int(artifact, "bytes") ||
        (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec !=
            jr_json_get_int(artifact, "mtime_ns"))
        return false;
    if (digest == NULL)
        return true;
    return fd >= 0 && jr_pin_digest_fd(fd, (uint64_t)st.st_size) == strtoull(digest, NULL, 16);
}

/* Whether all artifacts of a cell are; a record of an earlier build names none, and those on
 * another host cannot be seen. */
static bool are_artifacts_there(struct jr_sweep_run *run, size_t cell)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    char folder[16];
    jr_cell_folder(folder, run->states[cell].number);
    JR_CLOSE int fd =
        openat(run->cells_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    json_t *results = fd < 0 ? NULL : jr_record_folder_json(fd, "results.json", NULL);
    const json_t *ranks = json_object_get(results, "ranks"), *rank, *artifact;
    size_t i, n;
    json_array_foreach(ranks, i, rank)
        json_array_foreach(json_object_get(rank, "artifacts"), n, artifact) {
            const char *path = jr_json_get_str(artifact, "path");
            if (line.len > 0 || is_still_there(fd, artifact))
                continue;
            jr_buf_printf(&line, "cell %u runs again: its artifact ", run->states[cell].number);
            jr_buf_safe(&line, path == NULL ? "" : path);
            jr_buf_str(&line, " is not there any more as the cell made it");
        }
    json_decref(results);
    if (line.len > 0)
        jr_session_note_buf(run->session, &line);
    return line.len == 0;
}

/* Whether what a cell delivered is of the experiment that it is now, and still there. */
static bool is_still_so(struct jr_sweep_run *run, size_t cell)
{
    struct jr_diags silent = JR_DIAGS_INIT;
    struct jr_spec_file *file = NULL;
    struct jr_resolution now = JR_RESOLUTION_INIT;
    bool same = false;
    if (jr_swept_spec_load(&file, run->session->swept, cell, &silent) == 0 &&
        resolve_cell(run, file, &now)) {
        same = strcmp(now.job.fingerprint, run->states[cell].fingerprint) == 0;
        if (!same)
            tell_change(run, cell, file, &now);
        if (same && jr_spec_get(file)->policy.results.artifacts_count > 0)
            same = are_artifacts_there(run, cell);
        jr_resolution_release(&now);
    }
    jr_diags_release(&silent);
    jr_spec_free(file);
    return same;
}

/* Put the folder of a cell aside. 0, or -1 with `err`. */
static int put_aside(struct jr_sweep_run *run, const char *folder, struct jr_error *err)
{
    char name[32];
    struct stat st;
    for (int i = 1; i < MOST_ASIDE; i++) {
        (void)snprintf(name, sizeof name, "%s.%d", folder, i);
        if (fstatat(run->cells_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return renameat(run->cells_fd, folder, run->cells_fd, name) == 0
                       ? 0
                       : jr_error_sys(err, JR_STATUS_LAUNCH, "%s/%s", run->cells_dir, folder);
    }
    return jr_error_set(err, JR_STATUS_LAUNCH, "%s/%s has run too often", run->cells_dir, folder);
}

static enum course course_of(const struct past *past, uint32_t number)
{
    return number < past->course_count ? (enum course)past->course[number] : COURSE_UNKNOWN;
}

/* Other code alone makes no cell run again, unless that is asked for. */
static bool is_to_run_changed(struct jr_sweep_run *run, size_t cell)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (!jr_sweep_code_differs(run, cell))
        return false;
    run->other_code += !run->options->rerun_changed;
    if (!run->options->rerun_changed)
        return false;
    jr_buf_printf(&line, "cell %u ran with other code, and runs again", run->states[cell].number);
    jr_session_note_buf(run->session, &line);
    return true;
}

/* Whether a cell stays as it is. With --skip-failed that is every one that came to an end of its
 * own; what ended with the sweep did not. */
static bool is_left(struct past *past, size_t cell, bool good)
{
    struct jr_sweep_run *run = past->run;
    if (good)
        return is_still_so(run, cell) && !is_to_run_changed(run, cell);
    enum course course = course_of(past, run->states[cell].number);
    return run->options->skip_failed && course != COURSE_CUT_SHORT && course != COURSE_LOST;
}

/* Look at what a cell left, and decide whether it runs. */
static int review_cell(struct past *past, size_t cell, struct jr_error *err)
{
    struct jr_sweep_run *run = past->run;
    struct jr_cell_state *state = &run->states[cell];
    struct stat st;
    char folder[16];
    jr_cell_folder(folder, state->number);
    if (fstatat(run->cells_fd, folder, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    bool lost = course_of(past, state->number) == COURSE_LOST;
    if (jr_settle_cell(run, &past->leader, folder, lost, err) != 0)
        return -1;
    bool known = jr_sweep_read_cell(run, cell);
    bool good = known && strcmp(state->status, "succeeded") == 0;
    if (known && is_left(past, cell, good)) {
        run->skips[cell] = true;
        run->to_run--;
        run->kept += good;
        if (course_of(past, state->number) != COURSE_ENDED)
            jr_sweep_note_end(run, cell, false);
        return 0;
    }
    json_decref(state->result);
    *state = (struct jr_cell_state){.number = state->number, .status = "not_started"};
    return put_aside(run, folder, err);
}

static int open_journal(struct jr_sweep_run *run, struct jr_error *err)
{
    pid_t holder;
    if (jr_journal_open(&run->journal, run->dir.fd, run->dir.file_mode, &holder, err) == 0)
        return 0;
    if (holder == 0)
        return -1;
    if (holder == JR_JOURNAL_UNSEEN)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "the sweep %s is being run " JR_SWEEP_UNSEEN
                            ": there, jobrun wait %s, or jobrun stop %s",
                            run->dir.id, run->dir.id, run->dir.id);
    return jr_error_set(err, JR_STATUS_USAGE,
                        "the sweep %s is being run by process %d: jobrun "
                        "wait %s, or jobrun stop %s",
                        run->dir.id, (int)holder, run->dir.id, run->dir.id);
}

/* A `prune` that had the journal locked before us may have removed the sweep:
 * it takes away its name first. */
static int check_place(const struct jr_sweep_run *run, struct jr_error *err)
{
    const struct jr_run_folder *dir = &run->dir;
    struct stat own, named;
    if (fstat(dir->fd, &own) == 0 &&
        fstatat(dir->log_fd, dir->id, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        own.st_ino == named.st_ino && own.st_dev == named.st_dev)
        return 0;
    return jr_error_set(err, JR_STATUS_USAGE, "the sweep %s was removed meanwhile", dir->id);
}

/* The tasks of a job array that goes on would run cells a second time. */
static int check_array(struct jr_sweep_run *run, struct jr_error *err)
{
    const char *job;
    struct jr_slurm_queue queue;
    int status = 0;
    json_t *sweep = jr_read_sweep_file(run->dir.fd);
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_slurm_queue_init(&queue, run->session->options.envp);
    enum jr_queue_place place =
        jr_sweep_is_submitted(sweep, &job) ? jr_slurm_queue_find(&queue, job) : JR_QUEUE_ENDED;
    run->was_submitted = jr_sweep_is_submitted(sweep, &job);
    run->array_over = run->was_submitted && place == JR_QUEUE_ENDED;
    if (place == JR_QUEUE_QUEUED)
        status = jr_error_set(err, JR_STATUS_USAGE,
                              "the sweep %s is job %s of Slurm's, which has not "
                              "ended: jobrun wait %s, or jobrun stop %s",
                              run->dir.id, job, run->dir.id, run->dir.id);
    if (place == JR_QUEUE_SILENT)
        jr_buf_printf(&line,
                      "the sweep was job %s of Slurm's, and whether that has "
                      "ended is not known: squeue %s",
                      job, queue.silent);
    if (line.data != NULL && !line.failed)
        jr_session_note(run->session, line.data);
    jr_slurm_queue_release(&queue);
    json_decref(sweep);
    return status;
}

/* Learn what there was, and decide about every cell. */
static int review_cells(struct jr_sweep_run *run, struct jr_error *err)
{
    struct past past = {.run = run,
                        .numbers = json_object(),
                        .values = json_object(),
                        .course_count = 4 * JR_SWEEP_CELLS_MAX};
    json_t *sweep = jr_read_sweep_file(run->dir.fd);
    int status = 0;
    past.course = calloc(past.course_count, sizeof *past.course);
    if (past.course == NULL)
        past.course_count = 0;
    learn_list(&past, json_object_get(sweep, "cells"));
    learn_list(&past, json_object_get(sweep, "former"));
    if (!jr_journal_read_own(&run->journal, learn_line, &past))
        jr_session_note(run->session, "the journal of the sweep could not be read to its end: "
                                      "cells go on by their own records");
    json_decref(sweep);
    if (number_cells(&past) != 0)
        status = jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    keep_former(&past);
    size_t count = run->session->swept->cells.count;
    for (size_t i = 0; status == 0 && i < count; i++)
        status = review_cell(&past, i, err);
    free(past.course);
    json_decref(past.numbers);
    json_decref(past.values);
    return status;
}

static void note_other_code(const struct jr_sweep_run *run)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (run->other_code == 0)
        return;
    jr_buf_printf(&line,
                  "%zu cell%s that delivered ran with other code than there is "
                  "now: --rerun-changed runs %s again",
                  run->other_code, run->other_code == 1 ? "" : "s",
                  run->other_code == 1 ? "it" : "them");
    jr_session_note_buf(run->session, &line);
}

int jr_sweep_resume(struct jr_sweep_run *run, enum jr_log_mode mode, bool *ret_found,
                    struct jr_error *err)
{
    char id[128];
    const char *given = run->options->resume;
    struct stat st;
    *ret_found = false;
    if (*given == '\0' && !jr_find_latest_sweep(run, id)) {
        jr_session_note(run->session, "there is no sweep of this spec to resume: a new one begins");
        return 0;
    }
    if (*given != '\0')
        (void)snprintf(id, sizeof id, "%s", given);
    if (jr_run_folder_join(&run->dir, run->log_dir, id, mode, NULL) != 0)
        return jr_error_set(err, JR_STATUS_USAGE, "there is no sweep '%s' of yours in %s", id,
                            run->log_dir);
    if (fstatat(run->dir.fd, JR_JOURNAL_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
        fstatat(run->dir.fd, JR_SWEEP_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return jr_error_set(err, JR_STATUS_USAGE, "%s/%s is not a sweep", run->log_dir, id);
    *ret_found = true;
    if (open_journal(run, err) != 0 || check_place(run, err) != 0 || check_array(run, err) != 0 ||
        jr_sweep_make_cells(run, err) != 0)
        return -1;
    jr_sweep_code_open(run);
    if (review_cells(run, err) != 0)
        return -1;
    /* Who leads it from now on: until here it is whoever did before. */
    struct jr_journal_line resumed = {.event = JR_JOURNAL_SWEEP_RESUMED,
                                      .cell = JR_JOURNAL_NO_CELL};
    jr_leader_of_now(run, &resumed);
    jr_journal_add(&run->journal, &resumed);
    if (jr_sweep_write(run, err) != 0)
        return -1;
    note_other_code(run);
    return run->submits ? 0 : jr_run_folder_latest(&run->dir, err);
}
