/*
 * Going on with a sweep (internal.h): which one, which of its cells have delivered, and what
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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/diff_table.h"
#include "base/io.h"
#include "base/shell_words.h"
#include "base/strv.h"
#include "record/live_run.h"
#include "record/record_folder.h"
#include "resolve/resolve.h"
#include "resolve/spec_diff.h"
#include "run/policies/pin_results.h"
#include "session/slurm_queue.h"
#include "session/sweep/internal.h"

#include "base/banned.h"

enum { MOST_BYTES = 256 << 20 };

/* A sweep that comes into question. */
struct candidate {
    char id[128];
    uint64_t written_ns; /* its journal; wall time */
    bool submitted;
};

/* sweep.json of an open folder, the caller's; NULL: it is not there, or none.
 */
static json_t *read_sweep_file(int dir_fd)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_io_read_file(&text, dir_fd, JR_SWEEP_FILE, MOST_BYTES, NULL) != 0 || text.data == NULL)
        return NULL;
    return jr_json_parse(text.data, text.len, NULL);
}

/* Read an entry of the log_dir. False: it is no sweep of ours and of the spec.
 */
static bool read_candidate(struct candidate *ret, int log_fd, const char *name, const char *spec)
{
    struct stat st;
    const char *job;
    JR_CLOSE int fd = openat(log_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstatat(fd, JR_JOURNAL_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        fstat(fd, &st) != 0 || st.st_uid != geteuid())
        return false;
    json_t *sweep = read_sweep_file(fd);
    const char *own = jr_json_get_str(sweep, "spec");
    bool same = spec == NULL ? own == NULL && sweep != NULL : own != NULL && strcmp(own, spec) == 0;
    ret->submitted = jr_sweep_is_submitted(sweep, &job);
    json_decref(sweep);
    if (fstatat(fd, JR_JOURNAL_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    ret->written_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
    (void)stpcpy(ret->id, name); /* 127 at most */
    return same;
}

/* The id of the latest sweep of the spec; false: there is none. The link `latest` of the log_dir
 * says which run or sweep began, or was gone on with, last, whatever the clock; but it may be
 * another spec's, and those that were submitted do not get it. The journal of a sweep tells when it
 * was written to last, by the clock, which may have been put back since: where only that says which
 * of several it is, that is noted. */
static bool find_latest_sweep(const struct jr_sweep_run *run, char ret[static 128])
{
    JR_FREE char *spec = jr_sweep_spec_path(run);
    JR_CLOSE int log_fd = open(run->log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct candidate last = {.written_ns = 0}, named = {.written_ns = 0};
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv names = {0};
    size_t count = 0;
    char link[128];
    ssize_t got = log_fd < 0 ? -1 : readlinkat(log_fd, "latest", link, sizeof link - 1);
    link[got > 0 ? got : 0] = '\0';
    jr_io_names(&names, &arena, log_fd, ".");
    for (size_t i = 0; i < names.count; i++) {
        struct candidate one;
        if (!jr_run_folder_is_id(names.items[i]) ||
            !read_candidate(&one, log_fd, names.items[i], spec))
            continue;
        count++;
        if (one.written_ns >= last.written_ns)
            last = one;
        if (strcmp(one.id, link) == 0)
            named = one;
    }
    if (count == 0)
        return false;
    bool by_link = named.id[0] != '\0' && !last.submitted;
    if (!by_link && count > 1 && strcmp(named.id, last.id) != 0) {
        jr_buf_printf(&line,
                      "going on with %s, which was written to last of %zu sweeps "
                      "of this spec: --resume=ID goes on with another",
                      last.id, count);
        jr_session_note_buf(run->session, &line);
    }
    (void)stpcpy(ret, by_link ? named.id : last.id);
    return true;
}

#define NS_PER_MS UINT64_C(1000000)

/* What is told to stop has its grace, and this to be reaped and recorded. */
enum { GRACE_MS = 30000, RECORD_MS = 5000 };

/* Whether the line says that a cell was lost with its node. */
static bool journal_says_lost(enum jr_journal_event event, const json_t *line)
{
    const char *status = jr_json_get_str(line, "status");
    return event == JR_JOURNAL_CELL_ENDED && status != NULL && strcmp(status, "lost") == 0;
}

/* A text of a line, which may be anything: "" where it is too long. */
static void learn_text(char *ret, size_t size, const json_t *line, const char *key)
{
    const char *text = jr_json_get_str(line, key);
    bool fits = text != NULL && strlen(text) < size;
    (void)snprintf(ret, size, "%s", fits ? text : "");
}

/* Whether a signal that stops runs has come. */
static bool is_told_to_stop(void)
{
    sigset_t pending;
    static const int stops[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    if (sigpending(&pending) != 0)
        return false;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (sigismember(&pending, stops[i]) == 1)
            return true;
    return false;
}

/* What is to be thought of a cell that cannot be seen: it may run, it is ending, or it is gone. */
enum trace { TRACE_MAY_RUN, TRACE_ENDING, TRACE_GONE };

static enum trace find_trace(const struct jr_sweep_run *run, struct jr_former_leader *leader,
                             bool lost)
{
    struct utsname here = {0};
    if (run->array_over)
        return TRACE_GONE;
    if (run->was_submitted)
        return TRACE_MAY_RUN;
    if (!leader->asked && leader->job[0] != '\0') {
        /* The job of Slurm's in which the sweep ran ends all that it ran. */
        struct jr_slurm_queue queue;
        jr_slurm_queue_init(&queue, run->session->options.envp);
        leader->asked = true;
        leader->job_over = jr_slurm_queue_find(&queue, leader->job) == JR_QUEUE_ENDED;
        jr_slurm_queue_release(&queue);
    }
    if (leader->job_over)
        return TRACE_GONE;
    bool was_here =
        uname(&here) == 0 && leader->host[0] != '\0' && strcmp(leader->host, here.nodename) == 0;
    return lost || was_here ? TRACE_ENDING : TRACE_MAY_RUN;
}

/* Until when the cells of a leader that is gone have come to their end: it went before we had the
 * lock, and a cell was lost when the journal says so. */
static uint64_t find_limit(const struct jr_sweep_run *run, const struct jr_former_leader *leader,
                           bool lost)
{
    const struct jr_session *session = run->session;
    const struct jr_spec *spec =
        session->cell_files_count > 0 ? jr_spec_get(session->cell_files[0]) : NULL;
    uint64_t ms = spec == NULL ? GRACE_MS : spec->policy.timeouts.stop_grace_ms;
    double passed = (double)jr_clock_wall_ns() / 1e9 - leader->lost;
    ms += RECORD_MS;
    /* A clock that was put back says nothing. */
    if (lost && passed > 0)
        ms -= passed * 1e3 < (double)ms ? (uint64_t)(passed * 1e3) : ms;
    return jr_clock_ns() + ms * NS_PER_MS;
}

/* Wait for the results of a cell on another machine, whose files tell of no change. `live` is how
 * it stands then. */
static void await_remote_end(struct jr_sweep_run *run, struct jr_live *live, const char *folder,
                             uint64_t until_ns)
{
    enum { TURN_MS = 250 };
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    int left_ms = jr_clock_poll_ms(until_ns);
    if (left_ms <= 0)
        return;
    jr_buf_printf(&line, "waiting for cell %s, which ", folder);
    jr_buf_safe(&line, live->host == NULL ? "another machine" : live->host);
    jr_buf_printf(&line, " may still be ending, for at most %d s", left_ms / 1000 + 1);
    jr_session_note_buf(run->session, &line);
    while (live->standing == JR_STANDING_ELSEWHERE && left_ms > 0 && !is_told_to_stop()) {
        (void)usleep((useconds_t)(left_ms < TURN_MS ? left_ms : TURN_MS) * 1000);
        jr_live_close(live);
        if (jr_live_open(live, run->cells_dir, folder, NULL) != 0)
            live->standing = JR_STANDING_LOST;
        left_ms = jr_clock_poll_ms(until_ns);
    }
}

/* The command line that stops the cell where it runs. */
static void add_stop_line(struct jr_buf *out, const struct jr_sweep_run *run, const char *folder)
{
    jr_buf_printf(out, "jobrun stop %s --log-dir ", folder);
    jr_shell_quote(out, run->cells_dir);
}

/* A cell that cannot be seen from here. */
static int settle_unseen(struct jr_sweep_run *run, struct jr_former_leader *leader,
                         struct jr_live *live, const char *folder, bool lost, struct jr_error *err)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    enum trace trace = find_trace(run, leader, lost);
    if (trace == TRACE_ENDING) {
        if (leader->until_ns == 0)
            leader->until_ns = find_limit(run, leader, lost);
        await_remote_end(run, live, folder, leader->until_ns);
    }
    if (live->standing != JR_STANDING_ELSEWHERE)
        return 0;
    const char *host = live->host == NULL ? "another machine" : live->host;
    if (trace != TRACE_MAY_RUN && !is_told_to_stop()) {
        jr_buf_printf(&line, "cell %s was lost on ", folder);
        jr_buf_safe(&line, host);
        jr_buf_str(&line, ", and runs again");
        jr_session_note_buf(run->session, &line);
        return 0;
    }
    jr_buf_printf(&line, "cell %s began %s", folder,
                  live->contained ? "in another container of " : "on ");
    jr_buf_safe(&line, host);
    jr_buf_str(&line, ", has no results, and may still run there: there, ");
    add_stop_line(&line, run, folder);
    jr_buf_str(&line, "; or, if nothing of it runs any more, (cd ");
    jr_shell_quote(&line, run->cells_dir);
    jr_buf_printf(&line, " && mv %s %s.lost)", folder, folder);
    return jr_error_set(err, JR_STATUS_USAGE, "%s", line.failed ? "out of memory" : line.data);
}

/* A cell that a jobrun which was killed is still ending here. */
static int await_local_end(struct jr_sweep_run *run, struct jr_live *live, const char *folder,
                           struct jr_error *err)
{
    enum { TURN_NS = 1000000000 };
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line, "waiting for cell %s, which an earlier jobrun is still ending", folder);
    jr_session_note_buf(run->session, &line);
    while (live->standing == JR_STANDING_RUNNING && !is_told_to_stop() &&
           jr_live_await(live, run->cells_dir, folder, jr_clock_ns() + TURN_NS, NULL) >= 0)
        continue;
    if (live->standing != JR_STANDING_RUNNING)
        return 0;
    jr_buf_clear(&line);
    add_stop_line(&line, run, folder);
    return jr_error_set(err, JR_STATUS_USAGE, "cell %s is being run: %s", folder,
                        line.failed ? "out of memory" : line.data);
}

/* Wait for the end of the cell in that folder, and end what a lost one has left
 * here. `lost`: the journal says it. 0; -1 with `err` where it goes on, or may.
 */
static int settle_cell(struct jr_sweep_run *run, struct jr_former_leader *leader,
                       const char *folder, bool lost, struct jr_error *err)
{
    struct jr_live live;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    int status = 0;
    if (jr_live_open(&live, run->cells_dir, folder, NULL) != 0)
        return 0;
    if (live.standing == JR_STANDING_RUNNING)
        status = await_local_end(run, &live, folder, err);
    else if (live.standing == JR_STANDING_ELSEWHERE)
        status = settle_unseen(run, leader, &live, folder, lost, err);
    jr_live_close(&live);
    if (status == 0 && jr_lost_sweep(&line, run->cells_dir, folder) > 0)
        jr_session_note_buf(run->session, &line);
    return status;
}

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
    struct jr_former_leader *leader = &past->leader;
    const char *time = jr_json_get_str(line, "time");
    if (event == JR_JOURNAL_SWEEP_STARTED || event == JR_JOURNAL_SWEEP_RESUMED) {
        learn_text(leader->host, sizeof leader->host, line, "host");
        learn_text(leader->job, sizeof leader->job, line, "job");
    }
    if (journal_says_lost(event, line))
        leader->lost = time == NULL ? 0 : jr_clock_of_rfc3339(time);
    if (event != JR_JOURNAL_CELL_STARTED && event != JR_JOURNAL_CELL_ENDED)
        return;
    learn_number(past, line);
    json_int_t number = jr_json_get_int(line, "cell");
    bool whole = event == JR_JOURNAL_CELL_ENDED && !jr_json_get_bool(line, "interrupted");
    if (number < 0 || (size_t)number >= past->course_count)
        return;
    past->course[number] = journal_says_lost(event, line) ? COURSE_LOST
                           : whole                        ? COURSE_ENDED
                                                          : COURSE_CUT_SHORT;
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
        jr_sweep_resolve_cell(run, then, &old)) {
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
        jr_sweep_resolve_cell(run, file, &now)) {
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

/* Whether a cell that has results stays as it is. With --skip-failed that is every one that came to
 * an end of its own; what ended with the sweep did not. Other code alone makes none run again,
 * unless that is asked for. */
static bool is_left(struct jr_sweep_run *run, size_t cell, bool good, enum course course)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (!good)
        return run->options->skip_failed && course != COURSE_CUT_SHORT && course != COURSE_LOST;
    if (!is_still_so(run, cell))
        return false;
    /* Whether it ran with other code than there is now, as far as both are known. */
    const char *ran = run->states[cell].code;
    if (ran[0] == '\0' || run->code.tree[0] == '\0' || strcmp(ran, run->code.tree) == 0)
        return true;
    run->other_code += !run->options->rerun_changed;
    if (!run->options->rerun_changed)
        return true;
    jr_buf_printf(&line, "cell %u ran with other code, and runs again", run->states[cell].number);
    jr_session_note_buf(run->session, &line);
    return false;
}

/* Look at what a cell left, and decide whether it runs; then its folder is put aside. */
static int review_cell(struct past *past, size_t cell, struct jr_error *err)
{
    struct jr_sweep_run *run = past->run;
    struct jr_cell_state *state = &run->states[cell];
    enum course course = state->number < past->course_count
                             ? (enum course)past->course[state->number]
                             : COURSE_UNKNOWN;
    struct stat st;
    char folder[16], name[32];
    jr_cell_folder(folder, state->number);
    if (fstatat(run->cells_fd, folder, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    if (settle_cell(run, &past->leader, folder, course == COURSE_LOST, err) != 0)
        return -1;
    bool known = jr_sweep_read_cell(run, cell);
    bool good = known && strcmp(state->status, "succeeded") == 0;
    if (known && is_left(run, cell, good, course)) {
        run->skips[cell] = true;
        run->to_run--;
        run->kept += good;
        if (course != COURSE_ENDED)
            jr_sweep_note_end(run, cell, false);
        return 0;
    }
    json_decref(state->result);
    *state = (struct jr_cell_state){.number = state->number, .status = "not_started"};
    for (int i = 1; i < MOST_ASIDE; i++) {
        (void)snprintf(name, sizeof name, "%s.%d", folder, i);
        if (fstatat(run->cells_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return renameat(run->cells_fd, folder, run->cells_fd, name) == 0
                       ? 0
                       : jr_error_sys(err, JR_STATUS_LAUNCH, "%s/%s", run->cells_dir, folder);
    }
    return jr_error_set(err, JR_STATUS_LAUNCH, "%s/%s has run too often", run->cells_dir, folder);
}

/* Lock the journal. A `prune` that had it locked before us may have removed the sweep: it takes
 * away its name first. */
static int open_journal(struct jr_sweep_run *run, struct jr_error *err)
{
    const struct jr_run_folder *dir = &run->dir;
    struct stat own, named;
    pid_t holder;
    struct jr_buf typed JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_journal_open(&run->journal, dir->fd, dir->file_mode, &holder, err) == 0) {
        if (fstat(dir->fd, &own) == 0 &&
            fstatat(dir->log_fd, dir->id, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
            own.st_ino == named.st_ino && own.st_dev == named.st_dev)
            return 0;
        return jr_error_set(err, JR_STATUS_USAGE, "the sweep %s was removed meanwhile", dir->id);
    }
    if (holder == 0)
        return -1;
    jr_record_words(&typed, run->log_dir, run->dir.id);
    const char *words = typed.failed ? run->dir.id : typed.data;
    if (holder == JR_JOURNAL_UNSEEN)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "the sweep %s is being run " JR_SWEEP_UNSEEN
                            ": there, jobrun wait %s, or jobrun stop %s",
                            dir->id, words, words);
    return jr_error_set(err, JR_STATUS_USAGE,
                        "the sweep %s is being run by process %d: jobrun "
                        "wait %s, or jobrun stop %s",
                        dir->id, (int)holder, words, words);
}

/* The tasks of a job array that goes on would run cells a second time. */
static int check_array(struct jr_sweep_run *run, struct jr_error *err)
{
    const char *job;
    struct jr_slurm_queue queue;
    int status = 0;
    json_auto_t *sweep = read_sweep_file(run->dir.fd);
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT, typed JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_record_words(&typed, run->log_dir, run->dir.id);
    const char *words = typed.failed ? run->dir.id : typed.data;
    jr_slurm_queue_init(&queue, run->session->options.envp);
    enum jr_queue_place place =
        jr_sweep_is_submitted(sweep, &job) ? jr_slurm_queue_find(&queue, job) : JR_QUEUE_ENDED;
    run->was_submitted = jr_sweep_is_submitted(sweep, &job);
    run->array_over = run->was_submitted && place == JR_QUEUE_ENDED;
    if (place == JR_QUEUE_QUEUED)
        status = jr_error_set(err, JR_STATUS_USAGE,
                              "the sweep %s is job %s of Slurm's, which has not "
                              "ended: jobrun wait %s, or jobrun stop %s",
                              run->dir.id, job, words, words);
    if (place == JR_QUEUE_SILENT)
        jr_buf_printf(&line,
                      "the sweep was job %s of Slurm's, and whether that has "
                      "ended is not known: squeue %s",
                      job, queue.silent);
    if (line.data != NULL && !line.failed)
        jr_session_note(run->session, line.data);
    jr_slurm_queue_release(&queue);
    return status;
}

/* Learn what there was, and decide about every cell. Those that the axes do not have any more keep
 * their numbers. */
static int review_cells(struct jr_sweep_run *run, struct jr_error *err)
{
    static const char *const lists[] = {"cells", "former"};
    struct past past = {.run = run,
                        .numbers = json_object(),
                        .values = json_object(),
                        .course_count = 4 * JR_SWEEP_CELLS_MAX};
    json_t *sweep = read_sweep_file(run->dir.fd), *values, *one;
    const char *digits;
    size_t i;
    int status = 0;
    past.course = calloc(past.course_count, sizeof *past.course);
    if (past.course == NULL)
        past.course_count = 0;
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        json_array_foreach(json_object_get(sweep, lists[k]), i, one)
            learn_number(&past, one);
    if (!jr_journal_read_own(&run->journal, learn_line, &past))
        jr_session_note(run->session, "the journal of the sweep could not be read to its end: "
                                      "cells go on by their own records");
    json_decref(sweep);
    if (number_cells(&past) != 0)
        status = jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    run->former = json_array();
    json_object_foreach(past.values, digits, values) {
        json_t *cell = json_object();
        jr_json_set_int(cell, "cell", strtoll(digits, NULL, 10));
        jr_json_set(cell, "values", json_incref(values));
        jr_json_append(run->former, cell);
    }
    for (size_t k = 0; status == 0 && k < run->session->swept->cells.count; k++)
        status = review_cell(&past, k, err);
    free(past.course);
    json_decref(past.numbers);
    json_decref(past.values);
    return status;
}

/* Open the sweep that the options name, and decide which of its cells run. 0; with *ret_found false
 * where there is none, which was noted; -1 with `err`. */
static int resume_sweep(struct jr_sweep_run *run, enum jr_log_mode mode, bool *ret_found,
                        struct jr_error *err)
{
    struct jr_run_folder *dir = &run->dir;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_journal_line resumed = {.event = JR_JOURNAL_SWEEP_RESUMED,
                                      .cell = JR_JOURNAL_NO_CELL};
    const char *given = run->options->resume;
    struct stat st;
    char id[128];
    *ret_found = false;
    if (*given == '\0' && !find_latest_sweep(run, id)) {
        jr_session_note(run->session, "there is no sweep of this spec to resume: a new one begins");
        return 0;
    }
    if (*given != '\0')
        (void)snprintf(id, sizeof id, "%s", given);
    if (jr_run_folder_join(dir, run->log_dir, id, mode, NULL) != 0)
        return jr_error_set(err, JR_STATUS_USAGE, "there is no sweep '%s' of yours in %s", id,
                            run->log_dir);
    if (fstatat(dir->fd, JR_JOURNAL_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
        fstatat(dir->fd, JR_SWEEP_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return jr_error_set(err, JR_STATUS_USAGE, "%s/%s is not a sweep", run->log_dir, id);
    *ret_found = true;
    if (open_journal(run, err) != 0 || check_array(run, err) != 0 ||
        jr_sweep_make_cells(run, err) != 0)
        return -1;
    jr_sweep_code_open(run);
    if (review_cells(run, err) != 0)
        return -1;
    /* Who leads it from now on: until here it is whoever did before. */
    jr_leader_of_now(run, &resumed);
    jr_journal_add(&run->journal, &resumed);
    if (jr_sweep_write(run, err) != 0)
        return -1;
    if (run->other_code > 0) {
        jr_buf_printf(&line,
                      "%zu cell%s that delivered ran with other code than there is "
                      "now: --rerun-changed runs %s again",
                      run->other_code, run->other_code == 1 ? "" : "s",
                      run->other_code == 1 ? "it" : "them");
        jr_session_note_buf(run->session, &line);
    }
    return run->submits ? 0 : jr_run_folder_latest(dir, err);
}

/* A fresh folder, and the sweep as it is before its first cell. */
static int make_sweep_folder(struct jr_sweep_run *run, enum jr_log_mode mode, struct jr_error *err)
{
    const char *given = run->session->options.run_id;
    struct jr_journal_line started = {.event = JR_JOURNAL_SWEEP_STARTED,
                                      .cell = JR_JOURNAL_NO_CELL};
    char id[128];
    pid_t holder;
    if (given == NULL)
        jr_run_folder_id(id, run->name);
    else if (strlen(given) > 100)
        return jr_error_set(err, JR_STATUS_USAGE, "--run-id of a sweep has at most 100 characters");
    if (jr_run_folder_create(&run->dir, run->log_dir, given != NULL ? given : id, given != NULL,
                             mode, err) != 0 ||
        jr_sweep_make_cells(run, err) != 0 ||
        jr_journal_open(&run->journal, run->dir.fd, run->dir.file_mode, &holder, err) != 0)
        return -1;
    jr_sweep_code_open(run);
    jr_leader_of_now(run, &started);
    jr_journal_add(&run->journal, &started);
    if (jr_sweep_write(run, err) != 0)
        return -1;
    return run->submits ? 0 : jr_run_folder_latest(&run->dir, err);
}

enum jr_status jr_sweep_open_folder(struct jr_sweep_run *run, const struct jr_spec *first,
                                    struct jr_error *err)
{
    struct jr_error why = {.status = JR_STATUS_LAUNCH, .text = "out of memory"};
    enum jr_log_mode mode = first->policy.log_mode;
    run->name = first->name;
    run->log_dir = first->log_dir;
    if (!run->session->arena.failed &&
        (run->options->resume == NULL || resume_sweep(run, mode, &run->resumed, &why) == 0) &&
        (run->resumed || make_sweep_folder(run, mode, &why) == 0))
        return JR_STATUS_OK;
    return jr_session_fail(err, &why);
}
