/* Sweeps and cells that a command line names, and what is told to one that goes on. show_sweep.h
 * declares it. */
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
#include "base/io.h"
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

/* The numbers that stand in the folder of words, each of which is removed; nothing where that is
 * not ours. */
static struct jr_strv take_stops(struct jr_arena *arena, int sweep_fd)
{
    struct stat st;
    struct jr_strv all = {0}, taken = {0};
    JR_CLOSE int fd = openat(sweep_fd, STOPS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid())
        jr_io_names(&all, arena, fd, ".");
    for (size_t i = 0; i < all.count; i++)
        if (number_of(all.items[i]) >= 0 && unlinkat(fd, all.items[i], 0) == 0)
            jr_strv_push(&taken, arena, all.items[i]);
    return taken;
}

void jr_cell_stops_take(struct jr_sweep_run *run)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_strv stops = take_stops(&arena, run->dir.fd);
    for (size_t k = 0; k < stops.count; k++)
        for (size_t i = 0; i < run->running_count; i++) {
            struct jr_cell_process *process = &run->running[i];
            if ((long)run->states[process->cell].number != number_of(stops.items[k]))
                continue;
            if (process->on_node)
                jr_sweep_nodes_stop(run, process);
            else if (process->pid > 0)
                (void)kill(process->pid, SIGTERM);
        }
}

void jr_cell_stops_clear(const struct jr_sweep_run *run)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    (void)take_stops(&arena, run->dir.fd);
    (void)unlinkat(run->dir.fd, STOPS, AT_REMOVEDIR);
}

/* In another jobrun. */

/* Whether the folder of the sweep is ours. -1 with `err`. */
static int check_owner(int sweep_fd, struct jr_error *err)
{
    struct stat st;
    if (fstat(sweep_fd, &st) == 0 && st.st_uid == geteuid())
        return 0;
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "the sweep belongs to another user, and is left alone");
}

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

int jr_far_cell_stop(const struct jr_far_cell *cell, struct jr_error *err)
{
    JR_CLOSE int fd = open_sweep_of(cell);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", cell->dir);
    if (check_owner(fd, err) != 0)
        return -1;
    pid_t pid = jr_journal_holder(fd);
    if (pid == JR_JOURNAL_UNSEEN)
        return jr_error_set(
            err, JR_STATUS_LAUNCH,
            "cell %s is being run " JR_SWEEP_UNSEEN ": it can be stopped only there", cell->id);
    struct jr_hold leader = jr_hold_open(pid);
    int failed = 0;
    if (leader.pid > 0 && jr_journal_holder(fd) == pid) {
        /* Write the word, and have the leader look for it. The folder may have been made by
         * somebody before. */
        (void)mkdirat(fd, STOPS, S_IRWXU);
        JR_CLOSE int stops = openat(fd, STOPS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        JR_CLOSE int word =
            stops < 0 || fstat(stops, &st) != 0 || st.st_uid != geteuid()
                ? -1
                : openat(stops, cell->id, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                         S_IRUSR | S_IWUSR);
        if (word < 0)
            failed =
                jr_error_sys(err, JR_STATUS_LAUNCH,
                             "could not tell the jobrun of the sweep to stop cell %s", cell->id);
        else if (jr_hold_signal(&leader, SIGCHLD) != 0 && errno != ESRCH)
            failed = jr_error_sys(err, JR_STATUS_LAUNCH, "could not signal process %d", (int)pid);
    }
    jr_hold_close(&leader);
    return failed;
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

bool jr_sweep_is_folder(int log_fd, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    int len = snprintf(path, sizeof path, "%s/" JR_SWEEP_FILE, name);
    return len > 0 && (size_t)len < sizeof path && jr_run_folder_is_id(name) &&
           fstatat(log_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
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
    /* The only sweep whose id begins so. */
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv names = {0};
    size_t found = 0;
    jr_io_names(&names, &arena, log_fd, ".");
    for (size_t i = 0; i < names.count; i++)
        if (strncmp(names.items[i], name, len) == 0 && jr_sweep_is_folder(log_fd, names.items[i])) {
            (void)stpcpy(ret_id, names.items[i]);
            found++;
        }
    return found == 1;
}

size_t jr_sweep_count_cells(const char *log_dir, const char *id)
{
    json_auto_t *sweep = jr_load_sweep(log_dir, id, NULL);
    return json_array_size(json_object_get(sweep, "cells"));
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
    json_auto_t *known = json_object();
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

/* `typed`: the sweep, for what is said. */
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
    if (found == 0) {
        struct jr_buf known JR_BUF_CLEANUP = JR_BUF_INIT;
        size_t count = json_array_size(cells);
        json_int_t first = jr_json_get_int(json_array_get(cells, 0), "cell");
        json_int_t last = jr_json_get_int(json_array_get(cells, count - 1), "cell");
        if (!numbered)
            add_known_values(&known, cells, word);
        /* " 0 to 3", where no number between them is left out. */
        if (known.len == 0 && count > 1 && last - first == (json_int_t)count - 1)
            jr_buf_printf(&known, ": the cells are %lld to %lld", (long long)first,
                          (long long)last);
        else if (known.len == 0 && count == 1)
            jr_buf_printf(&known, ": the only cell is %lld", (long long)first);
        return jr_error_set(err, JR_STATUS_USAGE,
                            "the sweep has no cell '%s'%s (jobrun show %s lists them)", word,
                            known.failed || known.len == 0 ? "" : known.data, typed);
    }
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

int jr_sweep_check_begun(const char *dir, const char *id, const char *word, const char *verb,
                         struct jr_error *err)
{
    char found[256];
    long number = strtol(id, NULL, 10);
    struct jr_buf host JR_BUF_CLEANUP = JR_BUF_INIT, line JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf there JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_record_find(found, dir, id, NULL) == 0)
        return 0;
    JR_FREE char *log_dir = strdup(dir); /* LOG_DIR/SWEEP_ID/cells */
    char *slash = log_dir == NULL ? NULL : strrchr(log_dir, '/');
    if (slash != NULL)
        *slash = '\0';
    char *sweep_id = slash == NULL ? NULL : strrchr(log_dir, '/');
    if (sweep_id != NULL)
        *sweep_id++ = '\0';
    /* The host that it runs on, whose files are not here before it has ended. */
    json_t *sweep = sweep_id == NULL ? NULL : jr_load_sweep(log_dir, sweep_id, NULL), *one;
    size_t i;
    json_array_foreach(json_object_get(sweep, "cells"), i, one) {
        const char *status = jr_json_get_str(one, "status"), *own = jr_json_get_str(one, "host");
        if (jr_json_get_int(one, "cell") == number && own != NULL && status != NULL &&
            strcmp(status, "running") == 0)
            jr_buf_safe(&host, own);
    }
    json_decref(sweep);
    if (host.len == 0 || host.failed) {
        if (sweep_id != NULL)
            jr_record_words(&line, log_dir, sweep_id);
        return jr_error_set(err, JR_STATUS_USAGE,
                            "cell %s has not begun, or its folder was removed: jobrun show %s",
                            word, line.failed || line.data == NULL ? "" : line.data);
    }
    /* The command line of `verb` for it, to be typed here while it runs. */
    const struct jr_far_cell cell = {dir, id};
    JR_CLOSE int fd = verb == NULL ? -1 : open_sweep_of(&cell);
    struct last_line last = {0};
    if (fd >= 0)
        read_last_line(&last, fd, id);
    if (last.runs && last.host != NULL && last.there != NULL) {
        jr_shell_quote(&there, last.there); /* for the shell there */
        jr_buf_str(&line, "ssh ");
        jr_buf_safe(&line, last.host);
        jr_buf_printf(&line, " jobrun %s %s --log-dir ", verb, id);
        if (!there.failed)
            jr_shell_quote(&line, there.data);
        line.failed |= there.failed;
    }
    release_line(&last);
    return jr_error_set(
        err, JR_STATUS_USAGE, "cell %s runs on %s, and its files come here when it has ended%s%s",
        word, host.data, line.len > 0 ? "; until then: " : "", line.len > 0 ? line.data : "");
}

int jr_sweep_exit_status(const char *log_dir, const char *id, int *ret_code, struct jr_error *err)
{
    json_auto_t *sweep = jr_load_sweep(log_dir, id, err);
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
    if (lowest == 0 && !whole)
        lowest = JR_STATUS_LAUNCH;
    /* What the sweep ended with is more than what its cells did: a signal may have come between
     * two. One that was killed before its end has no exit status, and has not done what it was to
     * do, whatever its cells did so far. */
    const json_t *own = json_object_get(sweep, "exit_code");
    const char *job;
    if (json_is_integer(own) && json_integer_value(own) >= 0 && json_integer_value(own) < 256)
        lowest = (int)json_integer_value(own);
    else if (lowest == 0 && json_is_null(own) && !jr_sweep_is_submitted(sweep, &job))
        lowest = JR_STATUS_LAUNCH;
    *ret_code = lowest;
    bool good = sweep != NULL;
    return good ? 0 : -1;
}

/* The job of a sweep that was submitted, in `arena`; false: it was not, or each of its cells has
 * ended. */
static bool find_array(const char *log_dir, const char *id, struct jr_arena *arena,
                       const char **ret_job)
{
    json_auto_t *sweep = jr_load_sweep(log_dir, id, NULL);
    bool submitted = jr_sweep_is_submitted(sweep, ret_job) && !jr_sweep_is_over(sweep);
    *ret_job = jr_arena_strdup(arena, *ret_job);
    return submitted;
}

bool jr_sweep_goes_on(const char *log_dir, const char *id)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const char *job;
    JR_CLOSE int fd = jr_sweep_open(log_dir, id);
    return fd >= 0 && (jr_journal_holder(fd) != 0 || find_array(log_dir, id, &arena, &job));
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
    const char *why = NULL;
    int status = wait->stop ? check_owner(dir_fd, err) : 0;
    jr_slurm_queue_init(&queue, wait->envp);
    if (status == 0 && wait->stop && jr_slurm_queue_find(&queue, job) != JR_QUEUE_ENDED)
        why = jr_slurm_cancel(&queue, job);
    if (why != NULL)
        status = jr_error_set(err, JR_STATUS_LAUNCH, "scancel, told to cancel job %s, %s",
                              job == NULL ? "(none)" : job, why);
    if (status == 0)
        status = await_array(&queue, job, wait->until_ns, err);
    jr_slurm_queue_release(&queue);
    return status;
}

int jr_sweep_await(const char *log_dir, const char *id, const struct jr_sweep_wait *wait,
                   int *ret_code, struct jr_error *err)
{
    enum { TURN_MS = 60000 };
    bool stop = wait->stop;
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const char *job;
    JR_CLOSE int fd = jr_sweep_open(log_dir, id);
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_USAGE, "%s/%s", log_dir, id);
    pid_t pid;
    while ((pid = jr_journal_holder(fd)) > 0) {
        struct jr_hold leader = jr_hold_open(pid);
        bool same = leader.pid > 0 && jr_journal_holder(fd) == pid;
        int failed = same && stop ? check_owner(fd, err) : 0;
        if (failed == 0 && same && stop && jr_hold_signal(&leader, SIGTERM) != 0)
            failed = jr_error_sys(err, JR_STATUS_LAUNCH, "could not stop process %d", (int)pid);
        /* Wait for the end of the process, as long as there is time. */
        uint64_t now = jr_clock_ns(), left_ms = TURN_MS, until_ns = wait->until_ns;
        bool in_time = !same || until_ns == 0 || until_ns > now;
        if (until_ns > now && (until_ns - now) / 1000000 < left_ms)
            left_ms = (until_ns - now) / 1000000 + 1;
        if (failed == 0 && same && in_time)
            (void)jr_hold_await(&leader, (int)left_ms);
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
    return status != 0 ? status : jr_sweep_exit_status(log_dir, id, ret_code, err);
}
