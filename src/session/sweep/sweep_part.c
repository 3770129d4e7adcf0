#include "session/sweep/sweep_part.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/syscalls.h"
#include "session/sweep/own_cells.h"
#include "session/sweep/show_sweep.h"
#include "store/run_folder.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

#define TRACKED_IN ".gitignore" /* run_folder.c makes it in a new folder */

static int open_part(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Whether an entry holds cells. */
static bool has_cells(const char *name)
{
    return jr_own_cells_is(name) || strcmp(name, JR_SWEEP_CELLS) == 0;
}

/* Call `look` for each such entry of an open folder, until it returns false. */
static void each_cells(int fd, bool (*look)(void *data, const char *name), void *data)
{
    int again = fd < 0 ? -1 : open_part(fd, ".");
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if (has_cells(entry->d_name) && !look(data, entry->d_name))
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

/* The worst that cells got. */
static void take_worst(struct row *row, const struct jr_record *cell)
{
    struct jr_record *record = row->record;
    int code = cell->finished ? jr_cell_status_class(cell->status) : 0;
    if (code == 0 || (record->exit_code != 0 && code >= record->exit_code))
        return;
    record->exit_code = code;
    record->status = jr_arena_strdup(row->arena, cell->status);
}

/* When the first began, and when the last ended. */
static void take_times(struct row *row, const struct jr_record *cell)
{
    double end = cell->started + cell->seconds;
    if (cell->started <= 0)
        return;
    if (row->record->started == 0 || cell->started < row->record->started)
        row->record->started = cell->started;
    row->last = end > row->last ? end : row->last;
}

static void add_part_cell(struct row *row, const struct jr_record *cell)
{
    take_worst(row, cell);
    take_times(row, cell);
    if (row->record->name == NULL)
        row->record->name = jr_arena_strdup(row->arena, cell->name);
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

/* What is left of the folder where nobody has cells in it any more. */
static int remove_empty_part(int log_fd, int fd, const char *name)
{
    bool more = false;
    each_cells(fd, note_cells, &more);
    if (!more)
        (void)unlinkat(fd, TRACKED_IN, 0);
    return unlinkat(log_fd, name, AT_REMOVEDIR) == 0 || errno == ENOTEMPTY || errno == EEXIST ||
                   errno == ENOENT
               ? 0
               : -1;
}

int jr_sweep_part_remove(struct jr_pruned *pruned, int log_fd, const char *name)
{
    JR_CLOSE int fd = open_part(log_fd, name);
    struct removal removal = {.pruned = pruned, .fd = fd};
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    each_cells(fd, remove_cells, &removal);
    errno = removal.error;
    return removal.error != 0 ? -1 : remove_empty_part(log_fd, fd, name);
}
