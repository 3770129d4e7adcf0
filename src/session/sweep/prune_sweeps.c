/* Removing sweeps, and what hosts have of those that are another machine's. show_sweep.h declares
 * it. */
#include <dirent.h>
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
#include "base/syscalls.h"
#include "record/record_folder.h"
#include "session/sweep/internal.h"
#include "session/sweep/show_sweep.h"
#include "store/run_folder.h"
#include "sweep/journal.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

#define TRACKED_IN ".gitignore" /* run_folder.c makes it in a new folder */

static int open_part(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Call `look` for each entry of an open folder that holds cells, until it returns false. */
static void each_cells(int fd, bool (*look)(void *data, const char *name), void *data)
{
    int again = fd < 0 ? -1 : open_part(fd, ".");
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if ((jr_own_cells_is(entry->d_name) || strcmp(entry->d_name, JR_SWEEP_CELLS) == 0) &&
            !look(data, entry->d_name))
            break;
    if (entries != NULL)
        (void)closedir(entries);
}

static bool note_cells(void *data, const char *name)
{
    (void)name;
    *(bool *)data = true;
    return false;
}

bool jr_sweep_part_is(int log_fd, const char *name)
{
    bool found = false;
    if (!jr_run_folder_is_id(name) || strcmp(name, "latest") == 0 ||
        jr_sweep_is_folder(log_fd, name))
        return false;
    JR_CLOSE int fd = open_part(log_fd, name);
    if (fd >= 0 && jr_access(fd, "run.json", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        each_cells(fd, note_cells, &found);
    return found;
}

/* The descriptor of the lock of such a folder, which is ours as long as that is open; -1: somebody
 * has it. Where there is none, that of the folder. */
static int hold_cells(int fd, const char *name)
{
    JR_CLOSE int cells = open_part(fd, name);
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

/* The row on its way. */
struct row {
    struct jr_record *record;
    struct jr_arena *arena;
    const char *path; /* of the folder */
    int fd;           /* the same */
    double last;      /* when the last cell ended */
    bool runs, lost;
};

/* Take a cell into the row: the worst that cells got, when the first began, and when the last
 * ended. */
static void add_part_cell(struct row *row, const struct jr_record *cell)
{
    struct jr_record *record = row->record;
    int code = cell->finished ? jr_cell_status_class(cell->status) : 0;
    if (code != 0 && (record->exit_code == 0 || code < record->exit_code)) {
        record->exit_code = code;
        record->status = jr_arena_strdup(row->arena, cell->status);
    }
    if (cell->started > 0) {
        if (record->started == 0 || cell->started < record->started)
            record->started = cell->started;
        if (cell->started + cell->seconds > row->last)
            row->last = cell->started + cell->seconds;
    }
    if (record->name == NULL)
        record->name = jr_arena_strdup(row->arena, cell->name);
    row->runs |= !cell->finished && strcmp(cell->status, "running") == 0;
    row->lost |= !cell->finished;
}

static bool add_part_cells(void *data, const char *name)
{
    struct row *row = data;
    struct jr_records cells = JR_RECORDS_INIT;
    struct jr_buf dir JR_BUF_CLEANUP = JR_BUF_INIT;
    JR_CLOSE int lock = hold_cells(row->fd, name);
    row->runs |= lock < 0;
    jr_buf_printf(&dir, "%s/%s", row->path, name);
    if (dir.failed || jr_records_list(&cells, dir.data, NULL) != 0)
        return true;
    for (size_t i = 0; i < cells.count; i++)
        add_part_cell(row, &cells.items[i]);
    jr_records_release(&cells);
    return true;
}

void jr_sweep_part_row(struct jr_record *ret, struct jr_records *records, const char *log_dir,
                       int log_fd, const char *name)
{
    struct jr_arena *arena = &records->arena;
    JR_CLOSE int fd = open_part(log_fd, name);
    *ret = (struct jr_record){.id = jr_arena_strdup(arena, name),
                              .status = "succeeded",
                              .trust = jr_trust_run(log_fd, fd)};
    struct row row = {
        .record = ret,
        .arena = arena,
        .path = jr_arena_printf(arena, "%s/%s", log_dir, name),
        .fd = fd,
    };
    if (row.path != NULL)
        each_cells(fd, add_part_cells, &row);
    ret->finished = !row.runs && !row.lost;
    if (!ret->finished)
        ret->status = row.runs ? "running" : "lost";
    if (row.runs)
        row.last = (double)jr_clock_wall_ns() / 1e9;
    ret->seconds = row.last > ret->started ? row.last - ret->started : 0;
}

/* A removal on its way. */
struct removal {
    struct jr_pruned *pruned;
    int fd; /* of the folder */
    int error;
};

/* Whoever holds one has begun since. */
static bool remove_cells(void *data, const char *name)
{
    struct removal *removal = data;
    JR_CLOSE int lock = hold_cells(removal->fd, name);
    if (lock >= 0 && jr_prune_folder(removal->pruned, removal->fd, name) != 0 &&
        removal->error == 0)
        removal->error = errno;
    return true;
}

/* Remove it, but for what an agent has begun in it meanwhile. 0, or -1 with the errno of the first
 * thing that stays. */
static int sweep_part_remove(struct jr_pruned *pruned, int log_fd, const char *name)
{
    JR_CLOSE int fd = open_part(log_fd, name);
    struct removal removal = {.pruned = pruned, .fd = fd};
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    each_cells(fd, remove_cells, &removal);
    errno = removal.error;
    if (removal.error != 0)
        return -1;
    /* What is left of the folder where nobody has cells in it any more. */
    bool more = false;
    each_cells(fd, note_cells, &more);
    if (!more)
        (void)unlinkat(fd, TRACKED_IN, 0);
    return unlinkat(log_fd, name, AT_REMOVEDIR) == 0 || errno == ENOTEMPTY || errno == EEXIST ||
                   errno == ENOENT
               ? 0
               : -1;
}

#define REMOVED ".pruned-"

/* What is removed, and what is told of it. */
struct pruning {
    struct jr_pruned *pruned;
    struct jr_buf *out, *bad;
    int log_fd;
    bool dry;
    json_t *sizes; /* of the journals, by their sweeps, when we began */
};

static int open_log_entry(const struct pruning *pruning, const char *name)
{
    return openat(pruning->log_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Call `look` for each entry of LOG_DIR. */
static void each_log_entry(struct pruning *pruning,
                           void (*look)(struct pruning *pruning, const char *name))
{
    int again = open_log_entry(pruning, ".");
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        look(pruning, entry->d_name);
    if (entries != NULL)
        (void)closedir(entries);
}

/* Note the bytes of the journal of a sweep; 0: it has none. */
static void note_size(struct pruning *pruning, const char *name)
{
    struct stat st;
    JR_CLOSE int fd = open_log_entry(pruning, name);
    if (fd < 0 || !jr_sweep_is_folder(pruning->log_fd, name))
        return;
    bool has = fstatat(fd, JR_JOURNAL_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0;
    jr_json_set_int(pruning->sizes, name, has ? (json_int_t)st.st_size : 0);
}

static void fail_removal(const struct pruning *pruning, const char *id, const char *why)
{
    pruning->pruned->failed++;
    jr_buf_printf(pruning->bad, "jobrun: %s could not be removed: %s\n", id, why);
}

/* What a prune that was killed has left. */
static void remove_rest(struct pruning *pruning, const char *name)
{
    JR_CLOSE int fd =
        strncmp(name, REMOVED, strlen(REMOVED)) == 0 ? open_log_entry(pruning, name) : -1;
    struct jr_trust trust = jr_trust_run(pruning->log_fd, fd);
    if (fd < 0 || !jr_trust_is_ours(&trust))
        return;
    if (jr_prune_folder(pruning->pruned, pruning->log_fd, name) != 0)
        fail_removal(pruning, name, strerror(errno));
}

/* Remove the folder of a sweep whose journal is locked. */
static void remove_sweep(const struct pruning *pruning, const char *id)
{
    char name[sizeof REMOVED + 160];
    (void)snprintf(name, sizeof name, REMOVED "%s-%d", id, (int)getpid());
    if (renameat(pruning->log_fd, id, pruning->log_fd, name) != 0) {
        fail_removal(pruning, id, strerror(errno));
        return;
    }
    pruning->pruned->removed++;
    jr_buf_printf(pruning->out, "%s\n", id);
    if (jr_prune_folder(pruning->pruned, pruning->log_fd, name) != 0)
        fail_removal(pruning, name, strerror(errno));
}

/* Remove a sweep that has ended, unless somebody goes on with it; or what this host has of one that
 * another machine leads. */
static void prune_sweep(const struct pruning *pruning, const char *id)
{
    struct jr_journal journal = {.fd = -1};
    struct jr_error err = {0};
    struct stat st;
    pid_t holder = 0;
    bool part = jr_sweep_part_is(pruning->log_fd, id);
    JR_CLOSE int fd = open_log_entry(pruning, id);
    if (part && !pruning->dry && sweep_part_remove(pruning->pruned, pruning->log_fd, id) != 0) {
        fail_removal(pruning, id, strerror(errno));
    } else if (part || pruning->dry) {
        pruning->pruned->removed++;
        jr_buf_printf(pruning->out, "%s\n", id);
    } else if (fd < 0) {
        if (errno != ENOENT) /* or another prune has removed it */
            fail_removal(pruning, id, strerror(errno));
    } else if (jr_journal_open(&journal, fd, S_IRUSR | S_IWUSR, &holder, &err) != 0) {
        pruning->pruned->unfinished += holder != 0;
        if (holder == 0)
            fail_removal(pruning, id, err.text);
    } else if (fstat(journal.fd, &st) != 0 ||
               st.st_size > jr_json_get_int(pruning->sizes, id) + 1) {
        /* Something was written to it, but for the end of a line that was torn. */
        pruning->pruned->unfinished++;
    } else {
        remove_sweep(pruning, id);
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
    struct pruning pruning = {ret, out, bad, log_fd, options->dry, json_object()};
    each_log_entry(&pruning, note_size); /* before it is read how they stand */
    if (!options->dry)
        each_log_entry(&pruning, remove_rest);
    jr_sweeps_add(&records, log_dir, envp);
    for (size_t i = 0; i < records.count; i++) {
        const struct jr_record *record = &records.items[i];
        bool sweep = jr_sweep_is_folder(log_fd, record->id) || jr_sweep_part_is(log_fd, record->id);
        if (!jr_trust_is_ours(&record->trust) || !record->finished) {
            ret->unfinished += sweep && jr_trust_is_ours(&record->trust);
            ret->foreign += sweep && !jr_trust_is_ours(&record->trust);
            continue;
        }
        bool kept = rows++ < options->keep || (options->older_ms > 0 && record->started > young);
        runs += kept && !sweep;
        if (!sweep)
            continue;
        if (kept)
            ret->kept++;
        else
            prune_sweep(&pruning, record->id);
    }
    if (!options->dry && ret->removed > 0)
        jr_prune_latest(log_fd);
    if (options->keep > 0)
        options->keep = runs;
    json_decref(pruning.sizes);
    jr_records_release(&records);
}
