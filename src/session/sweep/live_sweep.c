/* Sweeps and cells that a command line names, and what is told to one that goes on. show_sweep.h
 * declares it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "base/pidfd.h"
#include "base/shell_words.h"
#include "doc/doc.h"
#include "record/live_run.h"
#include "session/slurm_queue.h"
#include "session/sweep/internal.h"
#include "session/sweep/show_sweep.h"
#include "spec/sweep_options.h"
#include "store/run_folder.h"
#include "sweep/sweep_file.h"
#include "sweep/cells.h"
#include "sweep/journal.h"

#include "base/banned.h"

#define STOPS ".stop"

/* The number of a cell by the name of its folder, "0007"; -1: it is none. */
static long number_of(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len < 11 && strspn(name, "0123456789") == len ? strtol(name, NULL, 10) : -1;
}

/* In the leader. */

static void stop_cell(struct jr_sweep_run *run, long number)
{
    for (size_t i = 0; i < run->running_count; i++) {
        struct jr_cell_process *process = &run->running[i];
        if ((long)run->states[process->cell].number != number)
            continue;
        if (process->on_node)
            jr_sweep_nodes_stop(run, process);
        else if (process->pid > 0)
            (void)kill(process->pid, SIGTERM);
    }
}

/* The folder, which is ours; NULL: there is none. */
static DIR *open_stops(int sweep_fd)
{
    struct stat st;
    int fd = openat(sweep_fd, STOPS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stops = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() ? fdopendir(fd) : NULL;
    if (stops == NULL && fd >= 0)
        (void)close(fd);
    return stops;
}

void jr_cell_stops_take(struct jr_sweep_run *run)
{
    const struct dirent *entry;
    DIR *stops = open_stops(run->dir.fd);
    while (stops != NULL && (entry = readdir(stops)) != NULL) {
        long number = number_of(entry->d_name);
        if (number >= 0 && unlinkat(dirfd(stops), entry->d_name, 0) == 0)
            stop_cell(run, number);
    }
    if (stops != NULL)
        (void)closedir(stops);
}

void jr_cell_stops_clear(const struct jr_sweep_run *run)
{
    const struct dirent *entry;
    DIR *stops = open_stops(run->dir.fd);
    if (stops == NULL)
        return;
    while ((entry = readdir(stops)) != NULL)
        if (number_of(entry->d_name) >= 0)
            (void)unlinkat(dirfd(stops), entry->d_name, 0);
    (void)closedir(stops);
    (void)unlinkat(run->dir.fd, STOPS, AT_REMOVEDIR);
}

/* In another jobrun. */

/* The folder of its sweep. */
static int open_sweep_of(const struct jr_far_cell *cell)
{
    JR_CLOSE int cells = open(cell->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return cells < 0 ? -1 : openat(cells, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* What the journal says last of a cell. */
struct last_line {
    long number;
    bool runs;
    char *host, *there; /* malloc'ed; NULL: not said */
};

/* A text of a line, in the place of another. */
static void keep_line_text(char **ret, const json_t *line, const char *key)
{
    const char *text = jr_json_get_str(line, key);
    free(*ret);
    *ret = text == NULL ? NULL : strdup(text);
}

static void take_last_line(void *data, enum jr_journal_event event, const json_t *line)
{
    struct last_line *last = data;
    if (event == JR_JOURNAL_SWEEP_RESUMED || event == JR_JOURNAL_SWEEP_ENDED)
        last->runs = false;
    if ((event != JR_JOURNAL_CELL_STARTED && event != JR_JOURNAL_CELL_ENDED) ||
        jr_json_get_int(line, "cell") != last->number)
        return;
    last->runs = event == JR_JOURNAL_CELL_STARTED;
    keep_line_text(&last->host, line, "host");
    keep_line_text(&last->there, line, "there");
}

static void read_last_line(struct last_line *ret, int sweep_fd, const char *id)
{
    *ret = (struct last_line){.number = number_of(id)};
    (void)jr_journal_read(sweep_fd, take_last_line, ret);
    ret->runs = ret->runs && jr_journal_holder(sweep_fd) != 0;
}

static void release_line(struct last_line *line)
{
    free(line->host);
    free(line->there);
}

/* Whether its files are here, and say that it runs here or has ended. */
static bool is_seen(const struct jr_far_cell *cell)
{
    struct jr_live live;
    if (jr_live_open(&live, cell->dir, cell->id, NULL) != 0)
        return false;
    bool seen = live.standing != JR_STANDING_ELSEWHERE;
    jr_live_close(&live);
    return seen;
}

bool jr_far_cell_runs(const struct jr_far_cell *cell)
{
    struct last_line last;
    JR_CLOSE int fd = open_sweep_of(cell);
    if (fd < 0 || number_of(cell->id) < 0 || is_seen(cell))
        return false;
    read_last_line(&last, fd, cell->id);
    release_line(&last);
    return last.runs;
}

/* Write the word. The folder may have been made by somebody before. */
static int leave_word(int sweep_fd, const char *id, struct jr_error *err)
{
    struct stat st;
    (void)mkdirat(sweep_fd, STOPS, S_IRWXU);
    JR_CLOSE int stops = openat(sweep_fd, STOPS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    JR_CLOSE int fd =
        stops < 0 || fstat(stops, &st) != 0 || st.st_uid != geteuid()
            ? -1
            : openat(stops, id, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    return fd >= 0 ? 0
                   : jr_error_sys(err, JR_STATUS_LAUNCH,
                                  "could not tell the jobrun of the sweep to stop cell %s", id);
}

/* Have the leader look for it. */
static int wake_leader(int sweep_fd, const char *id, struct jr_error *err)
{
    pid_t pid = jr_journal_holder(sweep_fd);
    if (pid == JR_JOURNAL_UNSEEN)
        return jr_error_set(
            err, JR_STATUS_LAUNCH,
            "cell %s is being run " JR_SWEEP_UNSEEN ": it can be stopped only there", id);
    struct jr_hold leader = jr_hold_open(pid);
    bool same = leader.pid > 0 && jr_journal_holder(sweep_fd) == pid;
    int failed = same ? leave_word(sweep_fd, id, err) : 0;
    if (failed == 0 && same && jr_hold_signal(&leader, SIGCHLD) != 0 && errno != ESRCH)
        failed = jr_error_sys(err, JR_STATUS_LAUNCH, "could not signal process %d", (int)pid);
    jr_hold_close(&leader);
    return failed;
}

int jr_far_cell_stop(const struct jr_far_cell *cell, struct jr_error *err)
{
    struct stat st;
    JR_CLOSE int fd = open_sweep_of(cell);
    if (fd < 0 || fstat(fd, &st) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", cell->dir);
    if (st.st_uid != geteuid())
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the sweep belongs to another user, and is left alone");
    return wake_leader(fd, cell->id, err);
}

bool jr_far_cell_await(const struct jr_far_cell *cell, uint64_t until_ns)
{
    enum { TURN_US = 50000, TURNS_MOST = 20 };
    for (unsigned turn = 0; !is_seen(cell); turn++) {
        /* To read the journal takes longer. */
        if (turn % TURNS_MOST == 0 && !jr_far_cell_runs(cell))
            return true;
        if (until_ns != 0 && jr_clock_ns() >= until_ns)
            return false;
        (void)usleep(TURN_US);
    }
    return true;
}

/* Append the command line of `verb` for it, to be typed here while it runs; nothing where its files
 * are here, or it does not run. */
static void far_cell_command(struct jr_buf *out, const struct jr_far_cell *cell, const char *verb)
{
    struct last_line last;
    JR_BUF_CLEANUP struct jr_buf there = JR_BUF_INIT;
    JR_CLOSE int fd = open_sweep_of(cell);
    if (fd < 0)
        return;
    read_last_line(&last, fd, cell->id);
    if (last.runs && last.host != NULL && last.there != NULL) {
        jr_shell_quote(&there, last.there); /* for the shell there */
        jr_buf_str(out, "ssh ");
        jr_buf_safe(out, last.host);
        jr_buf_printf(out, " jobrun %s %s --log-dir ", verb, cell->id);
        if (!there.failed)
            jr_shell_quote(out, there.data);
        out->failed |= there.failed;
    }
    release_line(&last);
}

bool jr_sweep_is_folder(int log_fd, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    int len = snprintf(path, sizeof path, "%s/" JR_SWEEP_FILE, name);
    return len > 0 && (size_t)len < sizeof path && jr_run_folder_is_id(name) &&
           fstatat(log_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* The only sweep whose id begins so. */
static bool find_by_beginning(char ret_id[static 256], int log_fd, const char *word)
{
    int again = dup(log_fd);
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    size_t found = 0;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if (strncmp(entry->d_name, word, strlen(word)) == 0 &&
            jr_sweep_is_folder(log_fd, entry->d_name)) {
            (void)stpcpy(ret_id, entry->d_name);
            found++;
        }
    if (entries != NULL)
        (void)closedir(entries);
    return found == 1;
}

bool jr_sweep_find(char ret_id[static 256], const char *log_dir, const char *word)
{
    char name[256];
    size_t len = strcspn(word, "/");
    JR_CLOSE int log_fd = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (log_fd < 0 || len == 0 || len >= sizeof name)
        return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)len, word);
    if (strcmp(name, "latest") == 0) {
        ssize_t got = readlinkat(log_fd, name, ret_id, 255);
        if (got <= 0 || got >= 255)
            return false;
        ret_id[got] = '\0';
        return jr_sweep_is_folder(log_fd, ret_id);
    }
    if (jr_sweep_is_folder(log_fd, name)) {
        (void)stpcpy(ret_id, name);
        return true;
    }
    return find_by_beginning(ret_id, log_fd, name);
}

size_t jr_sweep_count_cells(const char *log_dir, const char *id)
{
    json_t *sweep = jr_load_sweep(log_dir, id, NULL);
    size_t count = json_array_size(json_object_get(sweep, "cells"));
    json_decref(sweep);
    return count;
}

/* Whether a cell has the value that stands from `text` to `end`, PATH=VALUE. */
static bool has_value(const json_t *cell, const char *text, const char *end)
{
    const char *equals = memchr(text, '=', (size_t)(end - text));
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT, word JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_diags silent = JR_DIAGS_INIT;
    struct jr_doc doc = JR_DOC_INIT;
    bool same = false;
    if (equals == NULL)
        return false;
    jr_buf_add(&path, text, (size_t)(equals - text));
    jr_buf_add(&word, equals + 1, (size_t)(end - equals - 1));
    const json_t *value =
        path.data == NULL ? NULL : json_object_get(json_object_get(cell, "values"), path.data);
    if (value != NULL && word.data != NULL &&
        jr_doc_load_value(&doc, "CELL", word.data, 0, &silent) == 0 && silent.errors == 0) {
        json_t *wanted = jr_cell_value_json(doc.root);
        same = json_equal(value, wanted) != 0;
        json_decref(wanted);
    }
    jr_diags_release(&silent);
    jr_doc_release(&doc);
    return same;
}

/* Whether a cell has all values of "a=1,b=2". */
static bool has_values(const json_t *cell, const char *text)
{
    for (;;) {
        const char *end = jr_sweep_value_end(text);
        if (!has_value(cell, text, end))
            return false;
        if (*end == '\0')
            return true;
        text = end + 1;
    }
}

enum { MOST_TOLD = 8 }; /* values of a field */

/* The different values that cells have of the field `path`. */
static void add_field_values(struct jr_buf *out, const json_t *cells, const char *path)
{
    json_t *known = json_object();
    for (size_t i = 0; i < json_array_size(cells); i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        const json_t *value =
            json_object_get(json_object_get(json_array_get(cells, i), "values"), path);
        if (value != NULL)
            jr_cell_result_text(&text, value);
        if (text.len == 0 || text.failed || json_object_get(known, text.data) != NULL)
            continue;
        (void)json_object_set_new(known, text.data, json_true());
        size_t count = json_object_size(known);
        if (count <= MOST_TOLD)
            jr_buf_printf(out, "%s%s", count == 1 ? "" : ", ", text.data);
        else
            break;
    }
    if (json_object_size(known) > MOST_TOLD)
        jr_buf_str(out, ", ...");
    json_decref(known);
}

/* ": vars.lr is 1, 2" for the first pair of "a=1,b=2" that no cell has. */
static void add_known_values(struct jr_buf *out, const json_t *cells, const char *text)
{
    for (;;) {
        const char *end = jr_sweep_value_end(text);
        struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
        struct jr_buf values JR_BUF_CLEANUP = JR_BUF_INIT;
        size_t i = 0, len = strcspn(text, "=,");
        jr_buf_add(&path, text, len);
        while (i < json_array_size(cells) && !has_value(json_array_get(cells, i), text, end))
            i++;
        if (path.len > 0 && i == json_array_size(cells))
            add_field_values(&values, cells, path.data);
        if (values.len > 0 && !values.failed) {
            jr_buf_printf(out, ": %s is %s", path.data, values.data);
            return;
        }
        if (*end == '\0')
            return;
        text = end + 1;
    }
}

/* " 0 to 3", where no number between them is left out. */
static void add_known_numbers(struct jr_buf *out, const json_t *cells)
{
    size_t count = json_array_size(cells);
    json_int_t first = jr_json_get_int(json_array_get(cells, 0), "cell");
    json_int_t last = jr_json_get_int(json_array_get(cells, count - 1), "cell");
    if (count > 1 && last - first == (json_int_t)count - 1)
        jr_buf_printf(out, ": the cells are %lld to %lld", (long long)first, (long long)last);
    else if (count == 1)
        jr_buf_printf(out, ": the only cell is %lld", (long long)first);
}

/* `id`: of the sweep, for what is said. */
static int refuse_cell(const json_t *cells, const char *typed, const char *word, bool numbered,
                       struct jr_error *err)
{
    struct jr_buf known JR_BUF_CLEANUP = JR_BUF_INIT;
    if (!numbered)
        add_known_values(&known, cells, word);
    if (known.len == 0)
        add_known_numbers(&known, cells);
    return jr_error_set(err, JR_STATUS_USAGE,
                        "the sweep has no cell '%s'%s (jobrun show %s lists them)", word,
                        known.failed || known.len == 0 ? "" : known.data, typed);
}

static int find_cell_number(uint32_t *ret, const json_t *sweep, const char *typed, const char *word,
                            struct jr_error *err)
{
    const json_t *cells = json_object_get(sweep, "cells");
    const char *digits = word;
    size_t found = 0;
    uint64_t number;
    while (digits[0] == '0' && digits[1] != '\0')
        digits++;
    bool numbered = jr_num_u64(digits, &number);
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        json_int_t own = jr_json_get_int(cell, "cell");
        bool same = numbered ? own >= 0 && (uint64_t)own == number : has_values(cell, word);
        if (same)
            *ret = (uint32_t)own;
        found += same;
    }
    if (found == 1)
        return 0;
    if (found == 0)
        return refuse_cell(cells, typed, word, numbered, err);
    return jr_error_set(err, JR_STATUS_USAGE,
                        "several cells of the sweep have %s: state more "
                        "values, or a number, as jobrun show %s lists them",
                        word, typed);
}

int jr_sweep_find_cell(char **ret_dir, char ret_id[static 256], const char *log_dir,
                       const char *sweep_id, const char *cell, struct jr_error *err)
{
    uint32_t number = 0;
    char folder[16];
    json_t *sweep = jr_load_sweep(log_dir, sweep_id, err);
    struct jr_buf typed JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_record_words(&typed, log_dir, sweep_id);
    int status = sweep == NULL ? -1
                               : find_cell_number(&number, sweep,
                                                  typed.failed ? sweep_id : typed.data, cell, err);
    json_decref(sweep);
    if (status != 0)
        return -1;
    jr_cell_folder(folder, number);
    (void)stpcpy(ret_id, folder);
    if (asprintf(ret_dir, "%s/%s/" JR_SWEEP_CELLS, log_dir, sweep_id) >= 0)
        return 0;
    *ret_dir = NULL;
    return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
}

/* Append the host that a cell of that folder runs on, whose files are not here before it has ended;
 * nothing where it does not run. */
static void add_far_host(struct jr_buf *out, const char *dir, const char *id)
{
    long number = strtol(id, NULL, 10);
    JR_FREE char *log_dir = strdup(dir); /* LOG_DIR/SWEEP_ID/cells */
    char *slash = log_dir == NULL ? NULL : strrchr(log_dir, '/');
    if (slash == NULL)
        return;
    *slash = '\0';
    slash = strrchr(log_dir, '/');
    if (slash == NULL)
        return;
    *slash = '\0';
    json_t *sweep = jr_load_sweep(log_dir, slash + 1, NULL);
    const json_t *cells = json_object_get(sweep, "cells");
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const json_t *cell = json_array_get(cells, i);
        const char *status = jr_json_get_str(cell, "status"), *host = jr_json_get_str(cell, "host");
        if (jr_json_get_int(cell, "cell") == number && host != NULL && status != NULL &&
            strcmp(status, "running") == 0)
            jr_buf_safe(out, host);
    }
    json_decref(sweep);
}

/* Append the sweep whose cells are in `dir`, LOG_DIR/SWEEP_ID/cells, as it is typed. */
static void add_sweep_words(struct jr_buf *out, const char *dir)
{
    JR_FREE char *log_dir = strdup(dir);
    char *cells = log_dir == NULL ? NULL : strrchr(log_dir, '/');
    if (cells != NULL)
        *cells = '\0';
    char *id = cells == NULL ? NULL : strrchr(log_dir, '/');
    if (id == NULL)
        return;
    *id++ = '\0';
    jr_record_words(out, log_dir, id);
}

int jr_sweep_check_begun(const char *dir, const char *id, const char *word, const char *verb,
                         struct jr_error *err)
{
    char found[256];
    const struct jr_far_cell cell = {dir, id};
    struct jr_buf host JR_BUF_CLEANUP = JR_BUF_INIT, line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_record_find(found, dir, id, NULL) == 0)
        return 0;
    add_far_host(&host, dir, id);
    if (host.len == 0 || host.failed) {
        add_sweep_words(&line, dir);
        return jr_error_set(err, JR_STATUS_USAGE,
                            "cell %s has not begun, or its folder was removed: jobrun show %s",
                            word, line.failed ? "" : line.data);
    }
    if (verb != NULL)
        far_cell_command(&line, &cell, verb);
    return jr_error_set(
        err, JR_STATUS_USAGE, "cell %s runs on %s, and its files come here when it has ended%s%s",
        word, host.data, line.len > 0 ? "; until then: " : "", line.len > 0 ? line.data : "");
}

/* Signal the process that leads the sweep, which is held. */
static int stop_leader(int dir_fd, const struct jr_hold *leader, struct jr_error *err)
{
    struct stat st;
    if (fstat(dir_fd, &st) != 0 || st.st_uid != geteuid())
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the sweep belongs to another user, and is left alone");
    if (jr_hold_signal(leader, SIGTERM) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not stop process %d", (int)leader->pid);
    return 0;
}

/* Wait for the end of the process: false where the time was over. */
static bool await_leader(const struct jr_hold *leader, uint64_t until_ns)
{
    enum { TURN_MS = 60000 };
    uint64_t now = jr_clock_ns(), left_ms = TURN_MS;
    if (until_ns != 0 && until_ns <= now)
        return false;
    if (until_ns != 0 && (until_ns - now) / 1000000 < left_ms)
        left_ms = (until_ns - now) / 1000000 + 1;
    (void)jr_hold_await(leader, (int)left_ms);
    return true;
}

/* The exit status that the sweep ended with, which is more than that of its cells: a signal may
 * have come between two. One that was killed before its end has none,
 * and has not done what it was to do, whatever its cells did so far. */
static int own_exit_code(const json_t *sweep, int of_cells)
{
    const json_t *code = json_object_get(sweep, "exit_code");
    const char *job;
    if (json_is_integer(code) && json_integer_value(code) >= 0 && json_integer_value(code) < 256)
        return (int)json_integer_value(code);
    return of_cells == 0 && json_is_null(code) && !jr_sweep_is_submitted(sweep, &job)
               ? JR_STATUS_LAUNCH
               : of_cells;
}

int jr_sweep_exit_status(const char *log_dir, const char *id, int *ret_code, struct jr_error *err)
{
    json_t *sweep = jr_load_sweep(log_dir, id, err);
    const json_t *cells = json_object_get(sweep, "cells");
    int lowest = 0;
    bool whole = true;
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const char *word = jr_json_get_str(json_array_get(cells, i), "status");
        int code = word == NULL ? 0 : jr_cell_status_class(word);
        whole = whole && word != NULL && (code != 0 || strcmp(word, "succeeded") == 0);
        if (code != 0 && (lowest == 0 || code < lowest))
            lowest = code;
    }
    *ret_code = own_exit_code(sweep, lowest == 0 && !whole ? JR_STATUS_LAUNCH : lowest);
    bool good = sweep != NULL;
    json_decref(sweep);
    return good ? 0 : -1;
}

/* The job of a sweep that was submitted, in `arena`; false: it was not, or each of its cells has
 * ended. */
static bool find_array(const char *log_dir, const char *id, struct jr_arena *arena,
                       const char **ret_job)
{
    json_t *sweep = jr_load_sweep(log_dir, id, NULL);
    bool submitted = jr_sweep_is_submitted(sweep, ret_job) && !jr_sweep_is_over(sweep);
    *ret_job = jr_arena_strdup(arena, *ret_job);
    json_decref(sweep);
    return submitted;
}

bool jr_sweep_goes_on(const char *log_dir, const char *id)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const char *job;
    JR_CLOSE int fd = jr_sweep_open(log_dir, id);
    bool goes_on = fd >= 0 && (jr_journal_holder(fd) != 0 || find_array(log_dir, id, &arena, &job));
    jr_arena_release(&arena);
    return goes_on;
}

static int stop_array(struct jr_slurm_queue *queue, int dir_fd, const char *job,
                      struct jr_error *err)
{
    struct stat st;
    if (fstat(dir_fd, &st) != 0 || st.st_uid != geteuid())
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the sweep belongs to another user, and is left alone");
    if (jr_slurm_queue_find(queue, job) == JR_QUEUE_ENDED)
        return 0;
    const char *why = jr_slurm_cancel(queue, job);
    if (why == NULL)
        return 0;
    return jr_error_set(err, JR_STATUS_LAUNCH, "scancel, told to cancel job %s, %s",
                        job == NULL ? "(none)" : job, why);
}

/* Wait for the end of the array, as long as Slurm knows it. Returns as jr_sweep_await. */
static int await_array(struct jr_slurm_queue *queue, const char *job, uint64_t until_ns,
                       struct jr_error *err)
{
    enum { FIRST_MS = 250, MOST_MS = 10000 };
    uint64_t pause_ms = FIRST_MS;
    for (;;) {
        queue->asked = false;
        enum jr_queue_place place = jr_slurm_queue_find(queue, job);
        uint64_t now = jr_clock_ns();
        if (place == JR_QUEUE_ENDED || place == JR_QUEUE_NO_JOB)
            return 0;
        if (place == JR_QUEUE_SILENT)
            return jr_error_set(err, JR_STATUS_LAUNCH, "squeue, asked for job %s, %s", job,
                                queue->silent);
        if (until_ns != 0 && until_ns <= now)
            return 1;
        if (until_ns != 0 && (until_ns - now) / 1000000 < pause_ms)
            pause_ms = (until_ns - now) / 1000000 + 1;
        (void)usleep((useconds_t)(pause_ms * 1000));
        pause_ms = pause_ms * 2 < MOST_MS ? pause_ms * 2 : MOST_MS;
    }
}

/* The same for a sweep whose cells are tasks of an array. */
static int end_array(int dir_fd, const char *job, const struct jr_sweep_wait *wait,
                     struct jr_error *err)
{
    struct jr_slurm_queue queue;
    jr_slurm_queue_init(&queue, wait->envp);
    int status = wait->stop ? stop_array(&queue, dir_fd, job, err) : 0;
    if (status == 0)
        status = await_array(&queue, job, wait->until_ns, err);
    jr_slurm_queue_release(&queue);
    return status;
}

int jr_sweep_await(const char *log_dir, const char *id, const struct jr_sweep_wait *wait,
                   int *ret_code, struct jr_error *err)
{
    bool stop = wait->stop;
    struct jr_arena arena = JR_ARENA_INIT;
    const char *job;
    JR_CLOSE int fd = jr_sweep_open(log_dir, id);
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_USAGE, "%s/%s", log_dir, id);
    pid_t pid;
    while ((pid = jr_journal_holder(fd)) > 0) {
        struct jr_hold leader = jr_hold_open(pid);
        bool same = leader.pid > 0 && jr_journal_holder(fd) == pid;
        int failed = same && stop ? stop_leader(fd, &leader, err) : 0;
        bool in_time = failed == 0 && (!same || await_leader(&leader, wait->until_ns));
        stop = stop && !same;
        jr_hold_close(&leader);
        if (failed != 0)
            return -1;
        if (!in_time)
            return 1;
    }
    if (pid == JR_JOURNAL_UNSEEN)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the sweep %s is being run " JR_SWEEP_UNSEEN
                            ": it can be waited for, and stopped, only there",
                            id);
    int status = 0;
    if (find_array(log_dir, id, &arena, &job))
        status = end_array(fd, job, wait, err);
    jr_arena_release(&arena);
    return status != 0 ? status : jr_sweep_exit_status(log_dir, id, ret_code, err);
}
