/* What cells have left on hosts that do not see the folder of the sweep: sent there, and taken
 * here. internal.h has its manual. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jobrun/contract.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "record/prune.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "session/left_files.h"
#include "session/sweep/internal.h"
#include "store/run_folder.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

/* What a run writes, by the folder that it is in. Nothing else is sent: ranks may leave any number
 * of bytes beside it. */
enum kind { KIND_RECORD, KIND_RESULT, KIND_LOG };

struct file_name {
    const char *name; /* NULL: behind the last */
    enum kind kind;
};

static const struct file_name run_files[] = {
    {"run.json", KIND_RECORD},      {"results.json", KIND_RECORD},  {"spec.yaml", KIND_RECORD},
    {"resolved.yaml", KIND_RECORD}, {"explain.json", KIND_RECORD},  {"plan.json", KIND_RECORD},
    {"events.jsonl", KIND_RECORD},  {"metrics.jsonl", KIND_RECORD}, {"progress.json", KIND_RECORD},
    {JR_PATCH_FILE, KIND_RECORD},   {JR_ON_END_LOG, KIND_LOG},      {NULL, KIND_RECORD}};
static const struct file_name attempt_files[] = {{"results.json", KIND_RECORD},
                                                 {JR_SETUP_LOG, KIND_LOG},
                                                 {JR_HELPER_LOG, KIND_LOG},
                                                 {NULL, KIND_RECORD}};
static const struct file_name rank_files[] = {
    {"result.json", KIND_RESULT}, {"error.json", KIND_RECORD}, {"hang.json", KIND_RECORD},
    {"hang.txt", KIND_RECORD},    {"stdout.log", KIND_LOG},    {"stderr.log", KIND_LOG},
    {NULL, KIND_RECORD}};

/* A cell on its way. */
struct cell_sender {
    struct jr_left_sender sender;
    json_t *head; /* of its records; with the path of a file */
    json_t *sent; /* an object with the paths of the files that were sent */
    bool results, logs;
};

/* A record or a result is sent whole or not at all, and what is too large can be none that a run
 * has written. */
static int send_path(const struct cell_sender *cell, const char *path, enum kind kind)
{
    struct stat st;
    uint64_t most = JR_LEFT_OTHER_MOST;
    if (kind == KIND_LOG)
        most = cell->logs ? JR_LEFT_ALL : JR_LEFT_LOG_MOST;
    else if ((kind == KIND_RESULT && !cell->results) ||
             fstatat(cell->sender.run_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
             (uint64_t)st.st_size > JR_LEFT_OTHER_MOST)
        return 0;
    if (json_object_get(cell->sent, path) != NULL)
        return 0;
    jr_json_set_bool(cell->sent, path, true);
    jr_json_set_str(cell->head, "file", path);
    return jr_left_send_file(&cell->sender, cell->head, path, most);
}

/* The files of a table, in a folder below the run's; "": in that itself. */
static int send_files(const struct cell_sender *cell, const char *folder,
                      const struct file_name *files)
{
    int failed = 0;
    for (; failed == 0 && files->name != NULL; files++) {
        JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
        jr_buf_printf(&path, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", files->name);
        failed = path.failed ? -1 : send_path(cell, path.data, files->kind);
    }
    return failed;
}

/* Ranks' folders are those of an attempt with a number for a name. */
static int send_attempts(const struct cell_sender *cell)
{
    const struct dirent *entry;
    char name[32];
    int failed = 0;
    for (unsigned i = 0; failed == 0; i++) {
        (void)snprintf(name, sizeof name, "attempt_%u", i);
        int fd = jr_open_beneath(cell->sender.run_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        DIR *entries = fd < 0 ? NULL : fdopendir(fd);
        if (entries == NULL && fd >= 0)
            (void)close(fd);
        if (entries == NULL)
            return 0;
        failed = send_files(cell, name, attempt_files);
        while (failed == 0 && (entry = readdir(entries)) != NULL) {
            JR_BUF_CLEANUP struct jr_buf folder = JR_BUF_INIT;
            if (entry->d_name[strspn(entry->d_name, "0123456789")] != '\0')
                continue;
            jr_buf_printf(&folder, "%s/%s", name, entry->d_name);
            failed = folder.failed ? -1 : send_files(cell, folder.data, rank_files);
        }
        (void)closedir(entries);
    }
    return failed;
}

/* `results.file` names others, as far as they are in the run folder. */
static int send_stated_results(const struct cell_sender *cell)
{
    const char *folder = cell->sender.folder;
    size_t len = strlen(folder);
    json_t *plan = jr_record_folder_json(cell->sender.run_fd, "plan.json", NULL);
    const json_t *ranks = json_object_get(plan, "ranks");
    int failed = 0;
    for (size_t i = 0; failed == 0 && i < json_array_size(ranks); i++) {
        const char *path =
            jr_json_get_str(json_object_get(json_array_get(ranks, i), "env"), "JOBRUN_RESULT_FILE");
        if (path != NULL && strncmp(path, folder, len) == 0 && path[len] == '/')
            failed = send_path(cell, path + len + 1, KIND_RESULT);
    }
    json_decref(plan);
    return failed;
}

static bool has_word(const char *words, const char *word)
{
    size_t len = strlen(word);
    const char *at = words == NULL ? NULL : strstr(words, word);
    return at != NULL && (at[len] == ',' || at[len] == '\0');
}

int jr_cell_send(const char *cells_dir, uint32_t number, const char *collect, int fd,
                 struct jr_error *err)
{
    char name[16];
    jr_cell_folder(name, number);
    JR_BUF_CLEANUP struct jr_buf folder = JR_BUF_INIT;
    JR_FREE char *piece = malloc(JR_LEFT_PIECE);
    jr_buf_printf(&folder, "%s/%s", cells_dir, name);
    if (piece == NULL || folder.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    JR_CLOSE int run_fd = jr_record_folder_open(cells_dir, name, NULL);
    struct cell_sender cell = {
        .sender = {.fd = fd, .piece = piece, .run_fd = run_fd, .folder = folder.data},
        .head = json_object(),
        .sent = json_object(),
        .results = has_word(collect, "results"),
        .logs = has_word(collect, "logs")};
    jr_json_set_int(cell.head, "cell", number);
    int failed = 0;
    if (run_fd >= 0) /* else it could not begin */
        failed = send_files(&cell, "", run_files) != 0 || send_attempts(&cell) != 0 ||
                 send_stated_results(&cell) != 0;
    if (failed == 0) {
        (void)json_object_del(cell.head, "file");
        jr_json_set_bool(cell.head, "whole", true);
        failed = jr_left_send_record(&cell.sender, cell.head, NULL, 0);
    }
    if (failed != 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "what it has left could not be sent");
    json_decref(cell.head);
    json_decref(cell.sent);
    return failed == 0 ? 0 : -1;
}

#define GATHERING     ".%s" /* by the name of its folder */
#define SYNC_EVERY_NS UINT64_C(1000000000)
#define FILES_MOST    100000 /* of a cell: no run on one host has as many */

void jr_cell_files_init(struct jr_cell_files *files, struct jr_sweep_run *run, uint32_t node)
{
    *files = (struct jr_cell_files){.run = run, .node = node, .dir_fd = -1, .fd = -1};
}

static void close_cell_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void name_gathering(char ret[static 32], uint32_t number)
{
    char folder[16];
    jr_cell_folder(folder, number);
    (void)snprintf(ret, 32, GATHERING, folder);
}

static void remove_gathering(const struct jr_cell_files *files)
{
    struct jr_pruned pruned = {0};
    char name[32];
    name_gathering(name, files->number);
    (void)jr_prune_folder(&pruned, files->run->cells_fd, name);
}

/* Not all of the cell will be here: what is takes room for nothing. */
static void fail_cell_files(struct jr_cell_files *files, int error)
{
    bool gathers = files->dir_fd >= 0;
    files->error = error;
    close_cell_fd(&files->fd);
    close_cell_fd(&files->dir_fd);
    if (gathers)
        remove_gathering(files);
}

/* How many bytes at most a host is to send of a file. */
static uint64_t find_room(const struct jr_spec *spec, const char *path)
{
    static const struct file_name *const tables[] = {run_files, attempt_files, rank_files};
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct file_name *file = tables[i]; file->name != NULL; file++)
            if (file->kind == KIND_LOG && strcmp(file->name, name) == 0)
                return jr_left_is_collected(spec->policy.engine.ssh, "logs") ? JR_LEFT_ALL
                                                                             : JR_LEFT_LOG_MOST;
    return JR_LEFT_OTHER_MOST;
}

/* Open a file that comes, in the folder in which those of its cell gather. One of that name was
 * left by a jobrun that was killed. */
static void open_cell_file(struct jr_cell_files *files, const json_t *head)
{
    const struct jr_sweep_run *run = files->run;
    const struct jr_spec *spec = jr_spec_get(run->session->cell_files[0]);
    char name[32];
    close_cell_fd(&files->fd);
    if (++files->count > FILES_MOST) {
        fail_cell_files(files, EFBIG);
        return;
    }
    if (files->dir_fd < 0) {
        name_gathering(name, files->number);
        remove_gathering(files);
        if (mkdirat(run->cells_fd, name, run->dir.dir_mode) == 0)
            files->dir_fd =
                openat(run->cells_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (files->dir_fd >= 0) {
        const struct jr_run_folder dir = {
            .fd = files->dir_fd, .dir_mode = run->dir.dir_mode, .file_mode = run->dir.file_mode};
        const struct jr_left_file file = {.dir = &dir,
                                          .path = jr_json_get_str(head, "file"),
                                          .host = run->nodes.hosts[files->node],
                                          .ssh = spec->policy.engine.ssh};
        files->room = find_room(spec, file.path);
        files->fd = jr_left_file_open(&file, head);
    }
    if (files->fd < 0)
        fail_cell_files(files, errno);
}

struct jr_cell_process *jr_sweep_nodes_find(struct jr_sweep_run *run, uint32_t node,
                                            uint32_t number)
{
    for (size_t i = 0; i < run->running_count; i++) {
        struct jr_cell_process *process = &run->running[i];
        if (process->on_node && process->grant.node == node &&
            run->states[process->cell].number == number)
            return process;
    }
    return NULL;
}

/* Take the head of a record. False: such a record may not come now. */
static bool begin_cell_record(void *data, const json_t *head)
{
    struct jr_cell_files *files = data;
    json_int_t number = jr_json_get_int(head, "cell");
    bool whole = jr_json_get_bool(head, "whole");
    const char *path = jr_json_get_str(head, "file");
    size_t len = path == NULL ? 0 : strlen(path), end = strlen(JR_LEFT_REST);
    if (number < 0 || number > UINT32_MAX || files->whole ||
        (files->any && files->number != number) ||
        jr_sweep_nodes_find(files->run, files->node, (uint32_t)number) == NULL)
        return false;
    files->any = true;
    files->number = (uint32_t)number;
    /* A word for ssh is ours alone to write. */
    if (!whole &&
        (len == 0 || path[0] == '/' || (len >= end && strcmp(path + len - end, JR_LEFT_REST) == 0)))
        return false;
    files->whole = whole;
    if (!whole && files->error == 0 && jr_json_get_bool(head, "first"))
        open_cell_file(files, head);
    return true;
}

static void take_cell_bytes(void *data, const char *bytes, size_t len)
{
    struct jr_cell_files *files = data;
    if (files->fd < 0)
        return;
    if (len > files->room)
        fail_cell_files(files, EFBIG);
    else if (jr_io_write_all(files->fd, bytes, len) != 0)
        fail_cell_files(files, errno);
    else
        files->room -= len;
}

static void end_cell_record(void *data)
{
    (void)data;
}

void jr_cell_files_take(struct jr_cell_files *files, const char *bytes, size_t len)
{
    const struct jr_left_taker taker = {files, begin_cell_record, take_cell_bytes, end_cell_record};
    jr_left_stream_take(&files->stream, &taker, bytes, len);
}

/* On its way to the disk, or there. What is not there needs no way. */
static int settle_record(const struct jr_cell_files *files, const char *name, bool sync)
{
    JR_CLOSE int fd = openat(files->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return sync && fdatasync(fd) != 0 && errno != EINVAL ? -1 : 0;
}

/* What has come is the cell's run from now on. As with a run's own (attempts.c), a crash of
 * the machine leaves whole records of all cells that have ended but for those of the last second.
 */
static void place_cell(struct jr_cell_files *files)
{
    struct jr_sweep_nodes *nodes = &files->run->nodes;
    int cells_fd = files->run->cells_fd;
    bool sync = nodes->synced_ns == 0 || jr_clock_ns() >= nodes->synced_ns + SYNC_EVERY_NS;
    char name[32];
    name_gathering(name, files->number);
    bool settled = settle_record(files, "run.json", sync) == 0 &&
                   settle_record(files, "results.json", sync) == 0;
    if (settled && sync)
        nodes->synced_ns = jr_clock_ns();
    if (!settled || renameat(cells_fd, name, cells_fd, name + 1) != 0)
        fail_cell_files(files, errno);
}

void jr_cell_files_end(struct jr_cell_files *files, struct jr_cell_process *process)
{
    const struct jr_sweep_run *run = files->run;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (files->stream.torn && files->error == 0)
        fail_cell_files(files, EPROTO);
    if (files->dir_fd >= 0 && files->whole && files->error == 0)
        place_cell(files);
    if (files->error != 0) {
        jr_buf_printf(&line, "cell %u: what it has left on ", run->states[process->cell].number);
        jr_buf_safe(&line, run->nodes.hosts[files->node]);
        if (files->error == EFBIG)
            jr_buf_str(&line, " is not taken: it sends more of a file than it was "
                              "to (engine.ssh.collect)");
        else
            jr_buf_printf(&line, " could not be written to %s: %s", run->cells_dir,
                          strerror(files->error));
        jr_session_note_buf(run->session, &line);
    }
    process->full = files->error == ENOSPC || files->error == EDQUOT;
    jr_cell_files_drop(files);
}

void jr_cell_files_drop(struct jr_cell_files *files)
{
    bool gathers = files->dir_fd >= 0 && !files->whole;
    close_cell_fd(&files->fd);
    close_cell_fd(&files->dir_fd);
    if (gathers)
        remove_gathering(files);
    jr_buf_release(&files->stream.head);
    jr_cell_files_init(files, files->run, files->node);
}
